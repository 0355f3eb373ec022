"""A question in its one normal form: the same question, however it was written, is the same
value.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.declared import OUTSIDE, Declared, DeclaredTable, Relation
from sfumato.core.fields import Document, Fields
from sfumato.core.words import percent
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.budget import PrivacyLoss

ALIASES = {"=": "in", "==": "in", "!=": "not in", "<>": "not in"}
COMPARISONS = ("<", "<=", ">", ">=")
OPERATORS = ("in", "not in", *COMPARISONS)


@dataclasses.dataclass(frozen=True, order=True)
class Condition:
    """One filter: a declared column, an operator, and the sorted values it is compared with."""

    column: str
    operator: str
    values: tuple[Any, ...]

    def mask(self, table: DeclaredTable) -> NDArray[np.bool_]:
        """Per row whether the condition holds. A missing number meets none; what is outside a
        domain is in no list.
        """
        if self.column in table.declared.domains:
            domain = table.declared.domains[self.column]
            # the last code is that of values outside the domain: no list holds them, so "not in" is
            # true
            listed = np.array([*(word in self.values for word in domain), False])
            return (listed if self.operator == "in" else ~listed)[table.codes(self.column)]
        values, present = table.numbers(self.column)
        if self.operator in COMPARISONS:
            compare: Any = {
                "<": np.less,
                "<=": np.less_equal,
                ">": np.greater,
                ">=": np.greater_equal,
            }[self.operator]
            met: NDArray[np.bool_] = present & compare(values, self.values[0])
            return met
        return present & np.isin(values, self.values, invert=self.operator == "not in")

    def __str__(self) -> str:
        if self.operator in COMPARISONS:
            return f"{self.column} {self.operator} {self.values[0]:g}"
        return f"{self.column} {self.operator} ({', '.join(_value_text(v) for v in self.values)})"


def condition(column: str, operator: str, value: Any, declared: Declared) -> Condition:
    """A condition in normal form, or a refusal that depends on what is declared and never on the
    data.
    """
    name = ALIASES.get(str(operator).lower(), str(operator).lower())
    if name not in OPERATORS:
        raise ParameterError(
            f"operator {str(operator)!r} is not known.{did_you_mean(name, [*ALIASES, *OPERATORS])}"
        )
    if isinstance(value, list | tuple | set | frozenset):
        values_given = list(value)
    else:
        values_given = [value]
    if not values_given or (name in COMPARISONS and len(values_given) > 1):
        raise ParameterError(
            f"column {column!r}: {name} compares with"
            f" {'one value' if values_given else 'at least one value'}"
        )
    if column in declared.domains:
        return Condition(column, name, _words(column, name, values_given, declared))
    if column not in declared.bounds:
        raise ParameterError(
            f"column {column!r} cannot be filtered by, since it has neither declared bounds nor a "
            "declared domain; declare one."
            + did_you_mean(column, [*declared.bounds, *declared.domains])
        )
    if not all(_is_finite(v) for v in values_given):
        raise ParameterError(f"column {column!r} has bounds, so it is compared with finite numbers")
    return Condition(column, name, tuple(sorted({float(v) for v in values_given})))


def _words(
    column: str, operator: str, values_given: list[Any], declared: Declared
) -> tuple[str, ...]:
    if operator in COMPARISONS:
        raise ParameterError(
            f"column {column!r} has a domain of words, so it is compared by =, !=, in and not in"
        )
    words = {
        ("true" if v else "false") if isinstance(v, bool) else _value_text(v) for v in values_given
    }
    unknown = sorted(words - set(declared.domains[column]))
    if unknown:
        raise ParameterError(
            f"{', '.join(map(repr, unknown[:3]))} is not in the declared domain of column"
            f" {column!r}"
        )
    return tuple(sorted(words))


def _is_finite(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


@dataclasses.dataclass(frozen=True)
class GroupAxis:
    """What groups are made by: a column with a domain, or a bounded one cut at ``edges``."""

    column: str
    edges: tuple[float, ...] | None = None

    def labels(self, declared: Declared) -> tuple[str, ...]:
        """The groups, known before the data are read; the last is for everything else."""
        if self.edges is None:
            return (*declared.domain_of(self.column), OUTSIDE)
        pairs = list(zip(self.edges[:-1], self.edges[1:], strict=True))
        texts = [
            f"[{low:g}, {high:g}{']' if high == self.edges[-1] else ')'}" for low, high in pairs
        ]
        return (*texts, OUTSIDE)

    def codes(self, table: DeclaredTable) -> NDArray[np.int64]:
        """The group of every row."""
        if self.edges is None:
            return table.codes(self.column)
        values, present = table.numbers(self.column)
        last = len(self.edges) - 1
        positions = np.searchsorted(self.edges, values, side="right") - 1
        # the last bin is closed on both sides, otherwise the upper bound itself would be outside
        positions = np.where(values == self.edges[-1], last - 1, positions)
        return np.where(present & (positions >= 0) & (positions < last), positions, last)


@dataclasses.dataclass(frozen=True)
class Question:
    """What is asked: a statistic of a column, per group, over the rows that meet all conditions."""

    statistic: str
    column: str | None = None
    by: tuple[GroupAxis, ...] = ()
    where: tuple[Condition, ...] = ()
    level: float | None = None
    candidates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        # neither order nor repetition of conditions makes another question that would be paid for
        # again
        object.__setattr__(self, "where", tuple(sorted(set(self.where), key=repr)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is looked at."""
        own = () if self.column is None else (self.column,)
        return (*own, *(axis.column for axis in self.by), *(c.column for c in self.where))

    def key(self, declared: Declared, relation: Relation, loss: PrivacyLoss) -> str:
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
        statistic_text = f"{level}{self.statistic}" + (
            f" of {self.column}" if self.column is not None else ""
        )
        if self.by:
            by = f" by {', '.join(axis.column for axis in self.by)}"
        else:
            by = ""
        if self.where:
            where = f" where {' and '.join(map(str, self.where))}"
        else:
            where = ""
        return statistic_text + by + where


# What a question gets: values, how far the noise may have moved them, and what it cost.

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Answer:
    """Noisy values, one each a group (a single one without groups), with the interval of the noise
    at 95 %.

    ``low`` and ``high`` bound the value that an exact answer on the same rows would have; they
    cover the noise and not the chance by which the rows came to be sampled, and each holds for its
    group alone. For quantiles they are empty: ``rank_error`` says how many rows farther from the
    asked rank the value may be than the best one of the grid. ``epsilon`` or ``rho`` is what the
    answer cost; ``repeated`` says that it was given before and cost nothing now; ``label`` is its
    name in a SELECT (AS).
    """

    question: str
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rank_error: float | None
    epsilon: float | None
    rho: float | None
    mechanism: str
    protects: str
    repeated: bool = False
    label: str | None = None

    @property
    def value(self) -> float:
        """The one value of a question without groups."""
        if self.by:
            raise ParameterError(
                f"the answer has {len(self.values)} groups; look at .values or .by_group"
            )
        return self.values[0]

    @property
    def by_group(self) -> dict[Any, float]:
        """Group → value; the group is a word, or several when there are several columns."""
        names = (group[0] if len(self.by) == 1 else group for group in self.groups)
        return dict(zip(names, self.values, strict=True))

    @property
    def cost(self) -> str:
        """What the answer cost, in words."""
        if self.epsilon is not None:
            spent = f"ε = {self.epsilon:g}"
        else:
            spent = f"ρ = {self.rho:g}"
        if not self.repeated:
            return spent
        return f"nothing more ({spent} before)"

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.rank_error is not None:
            error = (
                f"at {percent(CONFIDENCE)} its rank is at most {self.rank_error:.3g} rows worse "
                "than the best of the grid"
            )
        elif self.by:
            error = f"behind each, the interval that holds the noise at {percent(CONFIDENCE)}"
        else:
            error = (
                f"at {percent(CONFIDENCE)}, without noise, it is in [{self.low[0]:.6g}, "
                f"{self.high[0]:.6g}]"
            )
        if not self.by:
            value_text = f"{self.values[0]:.6g}"
        else:
            value_text = f"{len(self.values)} groups"
        if self.label:
            name = f"{self.label} ({self.question})"
        else:
            name = self.question
        return (
            f"{name}: {value_text}; {error}. It cost {self.cost} ({self.mechanism}) and protects"
            f" {self.protects}."
        )

    def __str__(self) -> str:
        lines = [self.sentence]
        for number, group in enumerate(self.groups if self.by else ()):
            if self.rank_error is not None:
                error = ""
            else:
                error = f"  [{self.low[number]:.6g}, {self.high[number]:.6g}]"
            lines.append(f"  {', '.join(group)}: {self.values[number]:.6g}{error}")
        return "\n".join(lines)

    def to_dict(self) -> Document:
        """Plain data, for JSON."""
        plain = dataclasses.asdict(self)
        return {
            **plain,
            "groups": [list(group) for group in self.groups],
            "sentence": self.sentence,
        }

    @classmethod
    def from_dict(cls, plain: Fields) -> Answer:
        """The inverse of :meth:`to_dict`."""
        fields = {field.name: plain[field.name] for field in dataclasses.fields(cls)}
        fields["groups"] = tuple(tuple(group) for group in fields["groups"])
        lists = {name: tuple(fields[name]) for name in ("by", "values", "low", "high")}
        return cls(**{**fields, **lists})
