"""A question in its one normal form: the same question, however it was written, is the same value."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from sfumato.dp.domains import OUTSIDE, Declared
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.dp.budget import Loss
    from sfumato.dp.relation import Relation
    from sfumato.dp.table import Table

ALIASES = {"=": "in", "==": "in", "!=": "not in", "<>": "not in"}
COMPARISONS = ("<", "<=", ">", ">=")
OPERATORS = ("in", "not in", *COMPARISONS)


@dataclasses.dataclass(frozen=True, order=True)
class Condition:
    """One filter: a declared column, an operator, and the sorted values it is compared with."""

    column: str
    operator: str
    values: tuple[Any, ...]

    def mask(self, table: Table) -> NDArray[np.bool_]:
        """Per row whether the condition holds. A missing number meets none; what is outside a domain is in no list."""
        import numpy as np

        if self.column in table.declared.domains:
            domain = table.declared.domains[self.column]
            listed = np.array([*(word in self.values for word in domain), False])
            return (listed if self.operator == "in" else ~listed)[table.codes(self.column)]
        values, present = table.numbers(self.column)
        if self.operator in COMPARISONS:
            compare: Any = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[self.operator]
            met: NDArray[np.bool_] = present & compare(values, self.values[0])
            return met
        return present & np.isin(values, self.values, invert=self.operator == "not in")

    def __str__(self) -> str:
        if self.operator in COMPARISONS:
            return f"{self.column} {self.operator} {self.values[0]:g}"
        return f"{self.column} {self.operator} ({', '.join(_shown(v) for v in self.values)})"


def condition(column: str, operator: str, value: Any, declared: Declared) -> Condition:
    """A condition in normal form, or a refusal that depends on what is declared and never on the data."""
    name = ALIASES.get(str(operator).lower(), str(operator).lower())
    if name not in OPERATORS:
        raise ParameterError(f"operator {str(operator)!r} is not known.{did_you_mean(name, [*ALIASES, *OPERATORS])}")
    given = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if not given or (name in COMPARISONS and len(given) > 1):
        raise ParameterError(
            f"column {column!r}: {name} compares with {'one value' if given else 'at least one value'}"
        )
    if column in declared.domains:
        return Condition(column, name, _words(column, name, given, declared))
    if column not in declared.bounds:
        raise ParameterError(
            f"column {column!r} cannot be filtered by: it has neither declared bounds nor a declared domain."
            + did_you_mean(column, [*declared.bounds, *declared.domains])
        )
    if not all(_is_finite(v) for v in given):
        raise ParameterError(f"column {column!r} has bounds, so it is compared with finite numbers")
    return Condition(column, name, tuple(sorted({float(v) for v in given})))


def _words(column: str, operator: str, given: list[Any], declared: Declared) -> tuple[str, ...]:
    if operator in COMPARISONS:
        raise ParameterError(f"column {column!r} has a domain of words: it is compared by =, !=, in and not in")
    words = {("true" if v else "false") if isinstance(v, bool) else _shown(v) for v in given}
    unknown = sorted(words - set(declared.domains[column]))
    if unknown:
        raise ParameterError(f"{', '.join(map(repr, unknown[:3]))} is not in the declared domain of column {column!r}")
    return tuple(sorted(words))


def _is_finite(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclasses.dataclass(frozen=True)
class Axis:
    """What groups are made by: a column with a domain, or a bounded one cut at ``edges``."""

    column: str
    edges: tuple[float, ...] | None = None

    def labels(self, declared: Declared) -> tuple[str, ...]:
        """The groups, known before the data are read; the last is for everything else."""
        if self.edges is None:
            return (*declared.domain_of(self.column), OUTSIDE)
        pairs = list(zip(self.edges[:-1], self.edges[1:], strict=True))
        shown = [f"[{low:g}, {high:g}{']' if high == self.edges[-1] else ')'}" for low, high in pairs]
        return (*shown, OUTSIDE)

    def codes(self, table: Table) -> NDArray[np.int64]:
        """The group of every row."""
        import numpy as np

        if self.edges is None:
            return table.codes(self.column)
        values, present = table.numbers(self.column)
        last = len(self.edges) - 1
        place = np.searchsorted(self.edges, values, side="right") - 1
        place = np.where(values == self.edges[-1], last - 1, place)
        return np.where(present & (place >= 0) & (place < last), place, last)


@dataclasses.dataclass(frozen=True)
class Question:
    """What is asked: a statistic of a column, per group, over the rows that meet all conditions."""

    statistic: str
    column: str | None = None
    by: tuple[Axis, ...] = ()
    where: tuple[Condition, ...] = ()
    level: float | None = None
    candidates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", tuple(sorted(set(self.where), key=repr)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is looked at."""
        own = () if self.column is None else (self.column,)
        return (*own, *(axis.column for axis in self.by), *(c.column for c in self.where))

    def key(self, declared: Declared, relation: Relation, loss: Loss) -> str:
        """The same text for the same question under the same declarations and loss."""
        whole = {
            "question": dataclasses.asdict(self),
            "declared": declared.about(self.columns),
            "relation": dataclasses.asdict(relation),
            "loss": loss.to_dict(),
        }
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        level = f"{self.level:g} " if self.level is not None else ""
        what = f"{level}{self.statistic}" + (f" of {self.column}" if self.column is not None else "")
        by = f" by {', '.join(axis.column for axis in self.by)}" if self.by else ""
        where = f" where {' and '.join(map(str, self.where))}" if self.where else ""
        return what + by + where
