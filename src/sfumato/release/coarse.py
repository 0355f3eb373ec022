"""Generalising columns on the engine before anything is counted, where the combinations of their values do not fit into memory.

Every value is replaced by one that stands for all that share its label at some level of the hierarchy; from that level on
nobody can tell the difference. What is planned on such counts is the best of what lies at these levels or above.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.classes import ladder_of, remap_to
from sfumato.core.encoding import encode_column
from sfumato.core.hierarchy import Hierarchy, Ladder, Paths
from sfumato.core.progress import Progress
from sfumato.core.schema import Role
from sfumato.core.step import Plan, Step
from sfumato.data.lazy.table import LazyTable, TooManyCombinations
from sfumato.release.representatives import Representatives, first_rows, represented

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

    def next_level(self, level: int, *, highest: int) -> int | None:
        """The lowest level above with fewer values, up to a highest one; None: there is none."""
        above = range(level + 1, highest + 1)
        return next((up for up in above if self.values_at(up) < self.values_at(level)), None)

    def groups(self, level: int) -> NDArray[np.int64]:
        """For every value the number of its label at a level."""
        return remap_to(self.ladder, self.encoded, level)[self.encoded.codes]

    def table(self, level: int) -> pl.DataFrame:
        """Every value, as the engine holds it, and the one that stands for it: the first of all that share its label."""
        groups = self.groups(level)
        standing = first_rows(groups, self.values_at(level))[groups]
        made = pl.DataFrame({VALUE: self.raw, STANDS: self.raw.gather(standing)})
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
        tables = {name: self.columns[name].table(level) for name, level in self.levels.items()}
        replaced = table.replaced(tables)
        return None if replaced is None else replaced.counted(seen, tick)

    def applied(self, rows: Dataset) -> Dataset:
        """Rows of the table with the values that stand for theirs."""
        return represented(rows, self.representatives)

    @functools.cached_property
    def representatives(self) -> dict[str, Representatives]:
        """What stands for the values of each column as they are read."""
        columns = self.columns
        return {n: Representatives.of(columns[n].read, columns[n].groups(level)) for n, level in self.levels.items()}

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
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        return plan.warning_of(
            f"combinations of values were too many to hold, so columns were generalised before counting: the plan is at best the "
            f"least within levels ≥ {levels}; lower ones were not looked at, and what is told of the original is told of the table generalised so"
        )


def coarsely_counted(
    table: LazyTable, seen: Sequence[str], steps: Sequence[Step], refused: TooManyCombinations, progress: Progress
) -> tuple[Dataset, Coarse]:
    """Count a table after generalising it to the first node of a chain (:func:`levels_in_turn`) at which the combinations fit.

    Coarser nodes have no more combinations, so the first one that fits is found by halving the chain.

    Raises:
        TooManyCombinations: the engine or the first step cannot begin at levels, or nothing that it may do is enough.
    """
    columns = _columns(table, steps, refused)
    chain = list(levels_in_turn(columns, steps[0]))
    found: tuple[Dataset, Coarse] | None = None
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        coarse = Coarse(columns, chain[middle])
        words = f"too many combinations: {', '.join(f'{name} at level {at}' for name, at in chain[middle].items())}"
        try:
            counted = coarse.counted(table, seen, functools.partial(_tell, progress, words))
        except TooManyCombinations:
            low = middle + 1
            continue
        if counted is None:
            raise refused
        found, high = (counted, coarse), middle
    if found is None:
        raise refused
    return found


def levels_in_turn(columns: Mapping[str, AllValues], step: Step) -> Iterator[dict[str, int]]:
    """Ever coarser nodes to count at: whichever column has most values climbs to its next level that has fewer.

    The top of a hierarchy, which says nothing, is the last resort: columns go there, again in the order of their values, when
    none can climb below it.
    """
    levels = dict.fromkeys(columns, 0)
    for below_top in (1, 0):
        while True:
            ways = dict[str, int]()
            for name, column in columns.items():
                up = column.next_level(levels[name], highest=column.ladder.top - below_top)
                if up is not None and step.begun_at({name: up}) is not None:
                    ways[name] = up
            if not ways:
                break
            widest = max(ways, key=lambda name: (columns[name].values_at(levels[name]), name))
            levels[widest] = ways[widest]
            yield {name: level for name, level in levels.items() if level}


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
