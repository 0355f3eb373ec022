"""Generalising columns on the engine before anything is counted, where the combinations of their values do not fit into memory.

Every value is replaced by one that stands for all that share its label at some level of the hierarchy; from that level on
nobody can tell the difference. What is planned on such counts is the best of what lies at these levels or above.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.classes import ladder_of
from sfumato.core.encoding import encode_column
from sfumato.core.hierarchy import Hierarchy, Ladder, Paths
from sfumato.core.progress import Progress
from sfumato.core.schema import Role
from sfumato.core.step import Plan, Step
from sfumato.engines.table import LazyTable, TooManyCombinations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.encoding import Encoded

VALUE, STANDS = "sfumato value", "sfumato representative"


@dataclasses.dataclass(frozen=True, eq=False)
class AllValues:
    """A quasi-identifier with all its values: as the engine holds them, as they are read, and their ladder."""

    raw: pl.Series
    read: pl.Series
    encoded: Encoded
    ladder: Ladder
    paths: Paths | None

    def values_at(self, level: int) -> int:
        """How many values there are at a level."""
        return len(self.ladder.labels[level])

    def next_level(self, level: int) -> int | None:
        """The lowest level above with fewer values, below the top, which would say nothing; None: there is none."""
        above = range(level + 1, self.ladder.top)
        return next((up for up in above if self.values_at(up) < self.values_at(level)), None)

    def rows_standing(self, level: int) -> NDArray[np.int64]:
        """For every value the row of the one that stands for it: the first of all that share its label."""
        place = {label: code for code, label in enumerate(self.ladder.labels[0])}
        codes = np.array([place[label] for label in self.encoded.labels], dtype=np.int64)[self.encoded.codes]
        first = np.full(self.values_at(0), len(codes), dtype=np.int64)
        np.minimum.at(first, codes, np.arange(len(codes)))
        above = self.ladder.climb(0, level)
        chosen = np.unique(above, return_index=True)[1]
        return first[chosen[above[codes]]]

    def table(self, values: pl.Series, level: int) -> pl.DataFrame:
        """Every value and the one that stands for it."""
        made = pl.DataFrame({VALUE: values, STANDS: values.gather(self.rows_standing(level))})
        return made.filter(made[VALUE].is_not_null()).unique(VALUE, keep="first", maintain_order=True)


@dataclasses.dataclass(frozen=True)
class Bound(Hierarchy):
    """A hierarchy that says of some values what it said of all: ranges and shares are those of the whole column."""

    known: Paths

    name: ClassVar[str] = "bound"

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """The paths of values that were there."""
        rows = {row[0]: row for row in self.known.rows}
        return dataclasses.replace(self.known, rows=tuple(rows[value] for value in values))


@dataclasses.dataclass(frozen=True, eq=False)
class Coarse:
    """The levels at which columns were counted, and what stands for each of their values there."""

    columns: Mapping[str, AllValues]
    levels: Mapping[str, int]

    def counted(self, table: LazyTable, seen: Sequence[str], tick: Any) -> Dataset | None:
        """The combinations of the generalised table, counted by the engine; None: it cannot generalise."""
        tables = {name: self.columns[name].table(self.columns[name].raw, level) for name, level in self.levels.items()}
        replaced = table.replaced(tables)
        return None if replaced is None else replaced.counted(seen, tick)

    def applied(self, rows: Dataset) -> Dataset:
        """Rows of the table with the values that stand for theirs."""
        fresh = dict[str, pl.Series]()
        for name, level in self.levels.items():
            table = self.columns[name].table(self.columns[name].read, level)
            held = pl.DataFrame({VALUE: rows.column(name)})
            fresh[name] = held.join(table, on=VALUE, how="left", maintain_order="left")[STANDS].alias(name)
        return rows.with_columns(fresh)

    def bound(self, counted: Dataset) -> Dataset:
        """The counted combinations with hierarchies that know all values, not only those that stand for them."""
        schema = counted.schema
        for name in self.levels:
            paths = self.columns[name].paths
            schema = schema if paths is None else schema.replace(name, hierarchy=Bound(paths))
        return counted.with_schema(schema)

    def begun(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps of which the first begins at these levels."""
        return (steps[0].begun_at(self.levels) or steps[0], *steps[1:])

    def told(self, plan: Plan) -> Plan:
        """The plan of the first step, which says so."""
        levels = ", ".join(f"{name} to level {level}" for name, level in self.levels.items())
        return plan.warning_of(
            f"combinations of values were too many to hold, so {levels} was generalised before counting: the levels are the best of "
            "those that are not lower, and what is told of the original is told of the table generalised so"
        )


def coarsely_counted(
    table: LazyTable, seen: Sequence[str], steps: Sequence[Step], refused: TooManyCombinations, progress: Progress
) -> tuple[Dataset, Coarse]:
    """Count a table after generalising, level by level, whichever quasi-identifier has most values.

    Raises:
        TooManyCombinations: the engine or the first step cannot begin at levels, or nothing that it may do is enough.
    """
    columns = _columns(table, steps, refused)
    levels = dict[str, int]()
    while True:
        ways = {
            name: up
            for name, column in columns.items()
            if (up := column.next_level(levels.get(name, 0))) is not None and steps[0].begun_at({name: up}) is not None
        }
        if not ways:
            raise refused
        widest = max(ways, key=lambda name: (columns[name].values_at(levels.get(name, 0)), name))
        levels[widest] = ways[widest]
        coarse = Coarse(columns, dict(levels))
        words = f"too many combinations: {widest} at level {levels[widest]}"
        try:
            counted = coarse.counted(table, seen, functools.partial(_tell, progress, words))
        except TooManyCombinations:
            continue
        if counted is None:
            raise refused
        return counted, coarse


def _tell(progress: Progress, words: str, rows: int) -> None:
    progress(0.0, f"{words}, counted {rows:,} rows")


def _columns(table: LazyTable, steps: Sequence[Step], refused: TooManyCombinations) -> dict[str, AllValues]:
    """The quasi-identifiers that may be generalised: they have a hierarchy, no other role and not too many values themselves."""
    quasi = [n for n in table.schema.quasi if table.schema[n].roles == (Role.QUASI,) and table.schema[n].hierarchy]
    if not steps or steps[0].begun_at({}) is None:
        raise refused
    found = dict[str, AllValues]()
    for name in quasi:
        try:
            raw, read = table.values_of(name)
        except TooManyCombinations:
            continue
        encoded, hierarchy = encode_column(read, name), table.schema[name].hierarchy
        present = [(v, c) for v, c in zip(encoded.labels, encoded.counts.tolist(), strict=True) if v is not None]
        paths = hierarchy.paths([v for v, _ in present], [c for _, c in present]) if hierarchy else None
        found[name] = AllValues(raw, read.column(name), encoded, ladder_of(read, name, encoded), paths)
    return found
