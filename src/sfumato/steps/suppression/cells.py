"""Records with suppressed cells: what is hidden of whom, and how many records everyone may be confused with.

A suppressed cell is released as missing and matches everything. Records are compatible when they agree in every column
that is hidden in neither of them; ``f(x)`` is the number of records compatible with *x*, itself included.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.classes import ClassTable, Placement
from sfumato.core.evidence import count_compatible, field_mask, missing_cells, wildcard_columns
from sfumato.core.schema import Missing, Schema
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable, did_you_mean
from sfumato.steps.local.class_recoding import ClassRecoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Model

Combinations = int | Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Demand:
    """At least k records must be compatible with every record in these columns."""

    columns: tuple[str, ...]
    k: int


def demands_of(
    models: Sequence[Model], columns: Sequence[str], combinations: Combinations | None
) -> tuple[Demand, ...]:
    """What the models ask of a table; ``combinations`` asks for the same k on these columns instead."""
    unfit = [m.promise for m in models if m.crowds(columns) is None]
    if unfit or not models:
        raise ParameterError(
            "cell suppression reaches k-anonymity and k-anonymity on subsets of columns only"
            + (
                f", not {', '.join(unfit)}; reach that by recoding or by dropping records"
                if unfit
                else "; add one under 'meet'"
            )
        )
    asked = [Demand(tuple(names), k) for m in models for names, k in m.crowds(columns) or ()]
    if combinations is not None:
        k = max(demand.k for demand in asked)
        asked = [Demand(tuple(c), k) for c in combined(columns, combinations)]
    asked.sort(key=lambda d: (-len(d.columns), -d.k))
    kept: list[Demand] = []
    for demand in asked:
        if not any(set(demand.columns) <= set(other.columns) and demand.k <= other.k for other in kept):
            kept.append(demand)
    return tuple(kept)


def combined(columns: Sequence[str], combinations: Combinations) -> list[tuple[str, ...]]:
    """All combinations of so many columns, or those that are named."""
    if isinstance(combinations, int):
        if combinations > len(columns):
            raise SchemaError(
                f"combinations of {combinations} columns are asked for, but only {len(columns)} have role quasi"
            )
        return list(itertools.combinations(columns, combinations))
    require_known("combinations", [name for names in combinations for name in names], columns)
    return [tuple(c for c in columns if c in names) for names in combinations]


def require_known(what: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise one error that lists every name that is no quasi-identifier."""
    unknown = [name for name in dict.fromkeys(names) if name not in columns]
    if unknown:
        raise SchemaError([f"{what}: {n!r} is no column with role quasi.{did_you_mean(n, columns)}" for n in unknown])


def prices_of(classes: ClassTable, importance: Mapping[str, float]) -> dict[str, float]:
    """What a suppressed cell of each column costs, the columns to be suppressed first coming first.

    A column costs 1 unless its importance says otherwise. Among columns of one price those with most values come first.
    """
    require_known("importance", importance, classes.columns)
    if any(not math.isfinite(w) or w <= 0 for w in importance.values()):
        raise ParameterError("importance must be finite and greater than zero")
    values = {c: len(np.unique(classes.codes(c))) for c in classes.columns}
    price = {c: float(importance.get(c, 1.0)) for c in classes.columns}
    return {c: price[c] for c in sorted(classes.columns, key=lambda c: (price[c], -values[c], c))}


@dataclasses.dataclass(frozen=True)
class SuppressedParts:
    """The records of a table by class and by the cells that are suppressed in them.

    Part *p* holds ``amounts[p]`` records of class ``origin[p]``; bit *c* of ``hidden[p]`` says that their cells of column *c*
    are suppressed. Parts come in order of class and of what they hide. ``missing`` has, per class, bits for the cells
    that were missing before and match everything, as the schema says; ``absent`` those that were missing and match only
    missing ones: there is nothing to hide in them.
    """

    classes: ClassTable
    missing: NDArray[np.int64]
    absent: NDArray[np.int64]
    origin: NDArray[np.int64]
    hidden: NDArray[np.int64]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, classes: ClassTable, schema: Schema) -> SuppressedParts:
        """A table in which nothing is suppressed."""
        if classes.person is not None:
            raise SchemaError(
                f"cell suppression counts records, not the persons of column {classes.person!r}; "
                "recode or drop records instead, or keep one row a person"
            )
        if len(classes.columns) > 62:
            raise SchemaError(f"cell suppression takes at most 62 columns with role quasi, not {len(classes.columns)}")
        wild = set(wildcard_columns(schema, classes.columns))
        chosen = sum(1 << a for a, name in enumerate(classes.columns) if name in wild)
        missing = missing_cells(classes, classes.columns)
        zeros = np.zeros(len(classes), dtype=np.int64)
        return cls(classes, missing & chosen, missing & ~chosen, np.arange(len(classes)), zeros, classes.records)

    @cached_property
    def fields(self) -> NDArray[np.uint64]:
        """Per column, its bits in the words of a key."""
        return np.array([field_mask(self.classes, name) for name in self.classes.columns], dtype=np.uint64)

    def bits(self, columns: Iterable[str]) -> int:
        """A bit for every column."""
        return sum(1 << self.classes.columns.index(name) for name in columns)

    def keys(self, columns: Sequence[str]) -> NDArray[np.uint64]:
        """The keys of the parts with nothing but these columns."""
        seen = np.zeros(self.classes.keys.shape[1], dtype=np.uint64)
        for name in columns:
            seen |= self.fields[self.classes.columns.index(name)]
        return self.classes.keys[self.origin] & seen

    def blanks(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Per part, the columns of these that match everything, as bits."""
        return (self.missing[self.origin] | self.hidden) & self.bits(columns)

    def frequencies(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Per part, the records that are compatible with it in these columns."""
        return count_compatible(self.keys(columns), self.amounts, self.blanks(columns), self.fields)

    def hide(self, parts: NDArray[np.int64], hidden: NDArray[np.int64]) -> SuppressedParts:
        """Suppress cells: entry *i* hides the columns ``hidden[i]`` in one more record of part ``parts[i]``.

        A cell that is missing already has no value to hide.
        """
        left = self.amounts - np.bincount(parts, minlength=len(self.amounts))
        origin = np.concatenate([self.origin, self.origin[parts]])
        value_there = ~(self.missing | self.absent)[self.origin[parts]]
        bits = np.concatenate([self.hidden, self.hidden[parts] | (hidden & value_there)])
        amounts = np.concatenate([left, np.ones(len(parts), dtype=np.int64)])
        order = np.lexsort((bits, origin))
        order = order[amounts[order] > 0]
        origin, bits, amounts = origin[order], bits[order], amounts[order]
        fresh = np.flatnonzero(np.r_[True, (np.diff(origin) != 0) | (np.diff(bits) != 0)][: len(order)])
        return dataclasses.replace(
            self,
            origin=origin[fresh],
            hidden=bits[fresh],
            amounts=np.add.reduceat(amounts, fresh) if len(fresh) else amounts,
        )

    @property
    def records_hit(self) -> int:
        """Number of records with a suppressed cell."""
        return int(self.amounts[self.hidden != 0].sum())

    def cells(self) -> dict[str, int]:
        """Number of suppressed cells per column, columns without any left out."""
        counts = {
            name: int(self.amounts[(self.hidden >> a & 1) == 1].sum()) for a, name in enumerate(self.classes.columns)
        }
        return {name: count for name, count in counts.items() if count}

    def exposed(self, demands: Sequence[Demand]) -> int:
        """Records with suppressed cells whose true values fit fewer than k records of the release.

        ``f(x) ≥ k`` holds of what is released; someone who knows the true value of a suppressed cell is not confused by it.
        """
        hit = np.flatnonzero(self.hidden)
        rare = np.zeros(len(hit), dtype=np.bool_)
        for demand in demands:
            keys, bits = self.keys(demand.columns), self.bits(demand.columns)
            found = count_compatible(
                np.concatenate([keys, keys[hit]]),
                np.concatenate([self.amounts, np.zeros(len(hit), dtype=np.int64)]),
                np.concatenate([self.blanks(demand.columns), self.missing[self.origin[hit]] & bits]),
                self.fields,
            )
            rare |= found[len(keys) :] < demand.k
        return int(self.amounts[hit][rare].sum())

    def recoding(self, method: str, notes: Mapping[str, Any]) -> ClassRecoding:
        """The plan that releases the table so."""
        patterns, regions = np.unique(self.hidden, return_inverse=True)
        hidden = {
            name: (patterns >> a & 1) == 1 for a, name in enumerate(self.classes.columns) if (patterns >> a & 1).any()
        }
        return ClassRecoding(
            columns=self.classes.columns,
            placement=Placement(self.classes.ladders, self.classes.levels, self.classes.layout),
            keys=self.classes.keys,
            starts=np.searchsorted(self.origin, np.arange(len(self.classes) + 1)),
            amounts=self.amounts,
            regions=regions,
            cells={},
            labels={},
            losses={name: cells.astype(np.float64) for name, cells in hidden.items()},
            hidden=hidden,
            method=method,
            notes=notes,
        )


def with_wildcards(schema: Schema) -> Schema:
    """A schema in which missing values of every quasi-identifier match everything, as suppressed cells do."""
    for name in schema.quasi:
        schema = schema.replace(name, missing=Missing.WILDCARD)
    return schema


def require_enough(records: int, demands: Sequence[Demand]) -> None:
    """No suppression makes a crowd larger than the table."""
    k = max(demand.k for demand in demands)
    if 0 < records < k:
        raise Unsatisfiable(
            f"no record can be compatible with {k:,} records: the table has {records:,}. Lower k, or bring more records"
        )
