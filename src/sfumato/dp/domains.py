"""What is publicly known of the columns: bounds of numbers, domains of words, and what a missing value counts as.

Nothing of it may be taken from the data: the lowest and highest value *in the table* are two people's values. A question
about a column without such a declaration is refused. What the data hold beyond the declaration raises no error, because
an error would tell: numbers are moved to the nearest bound, words count as ``(outside)``, and so does a missing value
unless a default is declared for it. A missing number without a default counts for nothing, as in SQL.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.schema import Schema, checked_bounds, checked_domain
from sfumato.errors import ParameterError, SchemaError, did_you_mean

OUTSIDE = "(outside)"


@dataclasses.dataclass(frozen=True)
class Declared:
    """Per column: ``bounds`` (lowest, highest), ``domains`` (values that may occur), ``missing`` (default)."""

    bounds: Mapping[str, tuple[float, float]]
    domains: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, float | str]

    def bounds_of(self, column: str) -> tuple[float, float]:
        """The bounds of a column, or a refusal."""
        if column not in self.bounds:
            raise ParameterError(
                f"column {column!r} has no declared bounds, so no noise would be enough and nothing is answered; declare "
                f"the lowest and highest value that counts (bounds={{{column!r}: (low, high)}}, or 'bounds: [low, high]' "
                "in the recipe), from public knowledge and not from the data." + did_you_mean(column, self.bounds)
            )
        return self.bounds[column]

    def domain_of(self, column: str) -> tuple[str, ...]:
        """The domain of a column, or a refusal."""
        if column not in self.domains:
            raise ParameterError(
                f"column {column!r} has no declared domain, and the values that occur would give people away; declare it "
                f"(domains={{{column!r}: ['a', 'b']}}, or 'domain: [a, b]' in the recipe), from public knowledge and not "
                "from the data." + did_you_mean(column, self.domains)
            )
        return self.domains[column]

    def about(self, columns: Sequence[str]) -> dict[str, Any]:
        """What is declared of some columns, as plain data: part of what makes a question the same question."""
        said: dict[str, Any] = {}
        for column in sorted(set(columns)):
            said[column] = {
                "bounds": list(self.bounds[column]) if column in self.bounds else None,
                "domain": list(self.domains[column]) if column in self.domains else None,
                "missing": self.missing.get(column),
            }
        return said


def declared(
    schema: Schema,
    *,
    bounds: Mapping[str, Any] | None = None,
    domains: Mapping[str, Any] | None = None,
    missing: Mapping[str, Any] | None = None,
) -> Declared:
    """Gather what the schema declares and what is given besides; what is given wins.

    >>> found = declared(Schema({}), bounds={"age": (0, 120)}, domains={"sex": ["f", "m"]}, missing={"age": 50})
    >>> found.bounds_of("age"), found.domain_of("sex"), found.missing
    ((0.0, 120.0), ('f', 'm'), {'age': 50.0})
    """
    limits = {n: a.bounds for n, a in schema.attributes.items() if a.bounds is not None}
    values = {n: a.domain for n, a in schema.attributes.items() if a.domain is not None}
    limits |= {n: _named(n, checked_bounds, b) for n, b in (bounds or {}).items()}
    values |= {n: _named(n, checked_domain, d) for n, d in (domains or {}).items()}
    for column, words in values.items():
        if OUTSIDE in words:
            raise ParameterError(
                f"the domain of column {column!r} cannot contain {OUTSIDE!r}: it names what is not in it"
            )
    both = sorted(limits.keys() & values.keys())
    if both:
        raise SchemaError([f"column {n!r} has both bounds and a domain; a column is a number or a word" for n in both])
    defaults = {n: _default(n, value, limits, values) for n, value in (missing or {}).items()}
    return Declared(limits, values, defaults)


def _named(column: str, check: Any, given: Any) -> Any:
    try:
        return check(given)
    except ParameterError as error:
        raise ParameterError(f"column {column!r}: {error}") from None


def _default(
    column: str, value: Any, bounds: Mapping[str, tuple[float, float]], domains: Mapping[str, tuple[str, ...]]
) -> float | str:
    """What a missing value of a column counts as; it must lie within what is declared."""
    if column in bounds:
        low, high = bounds[column]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not low <= value <= high:
            raise ParameterError(f"the default for missing values of column {column!r} must lie within its bounds")
        return float(value)
    if column in domains:
        if str(value) not in domains[column]:
            raise ParameterError(f"the default for missing values of column {column!r} must be in its domain")
        return str(value)
    raise ParameterError(f"column {column!r} has a default for missing values but neither bounds nor domain")
