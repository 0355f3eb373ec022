"""Generalising columns before anything is counted, where the combinations of their values do not
fit into memory.

Every value is replaced by one that stands for all that share its label at some level of the
hierarchy; from that level on nobody can tell the difference. What is planned on such counts is the
best of what lies at these levels or above.

The levels are the first node of a chain (:func:`levels_in_turn`) at which the combinations fit, as
far as the first million rows tell, or as workers elsewhere estimate of all rows. Then all rows are
counted there: in batches that come by once, or by the engine, whose workers put places for values;
should there be more combinations than was thought, the next nodes of the chain are tried. So the
chain and its rule are the same for every engine.
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
from sfumato.core.labels import positions_in
from sfumato.core.objective import mean_log_count
from sfumato.core.progress import Progress
from sfumato.core.randomness import cell_keys, mixed
from sfumato.core.schema import Role
from sfumato.core.step import Plan, Step
from sfumato.data.lazy import table as engine_table
from sfumato.data.lazy.choice import distinct_rows
from sfumato.data.lazy.codes import Coder, counted_in_pieces
from sfumato.data.lazy.observed_values import Fingerprint, changed
from sfumato.data.lazy.on_polars import spare
from sfumato.data.lazy.parts import in_parallel
from sfumato.data.lazy.representatives import Representatives, limited, represented
from sfumato.data.lazy.table import LazyTable, TooManyCombinations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Encoded
    from sfumato.core.source import Source
    from sfumato.core.table import Table


AT_ONCE = 8
"""Nodes that workers estimate in one pass over the rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class AllValues:
    """A quasi-identifier with all its values, as they are read, and their ladder."""

    values: pl.Series
    encoded: Encoded
    ladder: Ladder

    @functools.cached_property
    def whole_ladder(self) -> Ladder:
        """The ladder, which also knows what some of its values do not tell: how many records share
        a value on average.
        """
        # Level-0 codes of the ladder need not be those of the encoding: counts are moved to their
        # place.
        counts = np.zeros(len(self.ladder.labels[0]), dtype=np.int64)
        counts[self.ladder.codes_of(self.encoded.labels)] = self.encoded.counts
        return dataclasses.replace(self.ladder, mean_log_count=mean_log_count(counts))

    def values_at(self, level: int) -> int:
        """How many values there are at a level."""
        return len(self.ladder.labels[level])

    def next_level(self, level: int, *, highest: int) -> int | None:
        """The lowest level above with fewer values, up to a highest one; None: there is none."""
        # Levels that merge nothing are skipped: climbing to them would lose detail of no use here.
        above = range(level + 1, highest + 1)
        return next((up for up in above if self.values_at(up) < self.values_at(level)), None)

    def groups(self, level: int) -> NDArray[np.int64]:
        """For every value the number of its label at a level."""
        return remap_to(self.ladder, self.encoded, level)[self.encoded.codes]


@dataclasses.dataclass(frozen=True)
class Bound(Hierarchy):
    """A hierarchy that says of some values what it said of all: ranges and shares are those of the
    whole column.

    Labels that a step released, such as ``20-24``, are none of these values: what it is of is asked
    about them.
    """

    known: Ladder
    hierarchy: Hierarchy

    name: ClassVar[str] = "bound"

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of values that were there."""
        # Position -1 says that a label is no original value, so the known ladder has no answer for
        # it.
        codes = positions_in(self.known.labels[0], [*values, *([None] if missing else [])])
        if (codes < 0).any():
            return self.hierarchy.ladder(values, missing=missing)
        return limited(self.known, np.unique(codes))

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """The paths of values that were there."""
        ladder = self.known
        codes = positions_in(ladder.labels[0], list(values))
        if (codes < 0).any():
            return self.hierarchy.paths(values, counts)
        # at[level][i] is the code of value i at that level.
        at = [ladder.climb(0, level)[codes].tolist() for level in range(ladder.depth)]
        columns = [
            [str(ladder.labels[level][code]) for code in level_codes]
            for level, level_codes in enumerate(at)
        ]
        return Paths(
            rows=tuple(zip(*columns, strict=True)),
            leaves=tuple(
                dict(zip(columns[j], ladder.leaves[j][level_codes].tolist(), strict=True))
                for j, level_codes in enumerate(at)
            ),
            loss=tuple(
                dict(zip(columns[j], ladder.loss[j][level_codes].tolist(), strict=True))
                for j, level_codes in enumerate(at)
            ),
            measured=ladder.measured,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Coarse:
    """The levels at which columns were counted, and what stands for each of their values there."""

    columns: Mapping[str, AllValues]
    levels: Mapping[str, int]

    def counted(
        self, table: LazyTable, column_names: Sequence[str], tick: engine_table.Tick
    ) -> Table | None:
        """The combinations of the generalised table; None: there are too many.

        Batches are counted by the places of what stands for their values, which are small numbers.
        """
        names = [name for name in table.columns if name in set(column_names)]
        if table.engine.workers is not None:
            return self._counted_by(table.engine.workers, table, names, tick)
        coder, count = Coder(), spare(names)

        # Columns with a level are coded in the worker threads. The coder gives numbers in the order
        # in which labels are met, so it is called below, in one thread and in the order of the
        # pieces.
        def placed(rows: Table) -> tuple[Table, dict[str, pl.Series]]:
            return rows, {n: self.column_codes(rows, n) for n in names if n in self.levels}

        sums = Fingerprint.fresh(names)
        see = engine_table.unseen if table.digested else sums.see
        pieces_of_table = table.pieces_of(names, tick, see)
        pieces = (
            pl.DataFrame(
                [
                    codes_by_column[name] if name in codes_by_column else coder.column(rows, name)
                    for name in names
                ]
            )
            for rows, codes_by_column in in_parallel(placed, pieces_of_table)
        )
        combinations = counted_in_pieces(
            pieces, names, count, engine_table.MOST_COMBINATIONS, coder
        )
        if combinations is None:
            return None
        table.memo["sums", tuple(names)] = sums
        # Codes mean labels of the coder in some columns, places among the stand-ins in the others.
        decoded = coder.decoded(combinations, [name for name in names if name not in self.levels])
        columns = decoded.with_columns(combinations.select(n for n in names if n in self.levels))
        return self._standing(table, names, columns.with_columns(combinations[count]))

    def _counted_by(
        self,
        workers: engine_table.Workers,
        table: LazyTable,
        names: Sequence[str],
        tick: engine_table.Tick,
    ) -> Table | None:
        """The same, counted by an engine whose workers put places for values."""
        counts = workers.counted_by_places(
            table.frame,
            names,
            list(self.levels),
            ColumnPlaces(self, table.source),
            engine_table.MOST_COMBINATIONS,
        )
        if counts is None:
            return None
        if not table.digested:
            table.memo["sums", tuple(names)] = sums = Fingerprint.fresh(names)
            workers.add_up(table.frame, names, sums)
        tick(int(counts.to_series(len(names)).sum()))
        return self._standing(table, names, counts)

    def _standing(self, table: LazyTable, names: Sequence[str], counts: pl.DataFrame) -> Table:
        """Counted combinations with what stands for values in the place of their numbers; the last
        column holds the counts.
        """
        stands = {
            n: self.representatives[n].stand.gather(counts[n]).alias(n)
            for n in names
            if n in self.levels
        }
        rows = counts.select(names).with_columns(**stands)
        copies = counts.to_series(counts.width - 1).to_numpy()
        return table.rows_in_memory(rows, copies).with_schema(table.part_of_schema(names))

    def __getstate__(self) -> dict[str, Any]:
        """For workers elsewhere: what stands for which value, and none of the ladders."""
        return {"columns": {}, "levels": self.levels, "representatives": self.representatives}

    def column_codes(self, rows: Table, name: str) -> pl.Series:
        """The places of what stands for the cells of a column, in the narrowest type."""
        stands, column = self.representatives[name], rows.column(name)
        codes = stands.places(column)
        # Missing cells and NaN have no place by right. Any other cell without one was not in the
        # table when its values were listed, so the table changed in between.
        absent = column.null_count()
        if column.dtype.is_float():
            absent += int(column.is_nan().sum() or 0)
        if column.dtype != stands.stand.dtype or codes.null_count() != absent:
            raise changed(rows.source.name)
        # The type is taken from an empty series: 200 places fit into UInt8, which makes keys short.
        narrow = pl.Series(
            np.zeros(0, dtype=np.min_scalar_type(max(1, len(stands.stand)) - 1))
        ).dtype
        return codes.cast(narrow).alias(name)

    def applied(self, rows: Table) -> Table:
        """Rows of the table with the values that stand for theirs."""
        return represented(rows, self.representatives)

    @functools.cached_property
    def representatives(self) -> dict[str, Representatives]:
        """What stands for the values of each column as they are read."""
        columns = self.columns
        return {
            n: Representatives.of(columns[n].values, columns[n].groups(level))
            for n, level in self.levels.items()
        }

    def bound(self, combinations: Table) -> Table:
        """The counted combinations with hierarchies that know all values, not only those that stand
        for them.
        """
        schema = combinations.schema
        for name, level in self.levels.items():
            hierarchy = schema[name].hierarchy
            if hierarchy is not None:
                # A value stands for all under its label here; scores must count all of them.
                whole_ladder = dataclasses.replace(
                    self.columns[name].whole_ladder, counted_at=level
                )
                schema = schema.replace(name, hierarchy=Bound(whole_ladder, hierarchy))
        return combinations.with_schema(schema)

    def begun(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps of which the first begins at these levels."""
        return (steps[0].begun_at(self.levels) or steps[0], *steps[1:])

    def told(self, plan: Plan) -> Plan:
        """The plan of the first step, which says so."""
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        return plan.warning_of(
            "the combinations of values did not fit into memory, so columns were generalised "
            f"before counting: the plan is at best the least within levels ≥ {levels}; lower "
            "levels were not tried, and figures of the original describe the table generalised to "
            "these levels"
        )


@dataclasses.dataclass(frozen=True)
class ColumnPlaces:
    """The places of what stands for the cells of rows as they came."""

    coarse: Coarse
    source: Source

    def __call__(self, rows: pl.DataFrame) -> dict[str, pl.Series]:
        """By column, where it was generalised."""
        read = engine_table.in_memory(rows, self.source)
        levels = self.coarse.levels
        return {n: self.coarse.column_codes(read, n) for n in levels if n in rows.columns}


@dataclasses.dataclass(frozen=True)
class NodeWords:
    """For every row a word for each of some nodes: rows share it where they share the combination
    of their labels there.

    ``finest`` are, by column, the places of its values at the lowest level above its values that a
    node names, and ``groups`` their labels at all such levels.
    """

    source: Source
    nodes: Sequence[Mapping[str, int]]
    finest: Mapping[str, Representatives]
    groups: Mapping[str, Mapping[int, NDArray[np.int64]]]

    @classmethod
    def of(
        cls, source: Source, columns: Mapping[str, AllValues], nodes: Sequence[Mapping[str, int]]
    ) -> NodeWords:
        """The words for some nodes of a chain."""
        finest: dict[str, Representatives] = {}
        groups: dict[str, Mapping[int, NDArray[np.int64]]] = {}
        for name, column in columns.items():
            levels = sorted({node[name] for node in nodes if name in node})
            if not levels:
                continue
            finest[name] = Representatives.of(column.values, column.groups(levels[0]))
            # Values that stand for others are values too: their labels higher up are known.
            first = positions_of(finest[name].stand, column.values)
            groups[name] = {level: column.groups(level)[first] for level in levels}
        return cls(source, tuple(nodes), finest, groups)

    def __call__(self, rows: pl.DataFrame) -> list[NDArray[np.uint64]]:
        """The words of rows as they came."""
        read = engine_table.in_memory(rows, self.source)
        cells = {(name, 0): cell_keys(read, name) for name in read.columns}
        for name, places in self.finest.items():
            # A missing cell, or one without a place, is a label of its own.
            row_places = places.places(read.column(name)).cast(pl.Int64).fill_null(-1).to_numpy()
            for level, labels in self.groups[name].items():
                codes = np.append(labels, -1)[row_places]
                cells[name, level] = mixed(codes.view(np.uint64))
        words = []
        for node in self.nodes:
            word = np.zeros(rows.height, dtype=np.uint64)
            for name in read.columns:
                word = mixed(word ^ cells[name, node.get(name, 0)])
            words.append(word)
        return words


def positions_of(some: pl.Series, values: pl.Series) -> NDArray[np.int64]:
    """Where each of some values is among all of them: at the first place."""
    places = pl.DataFrame({"value": values}).with_row_index("place").unique("value", keep="first")
    found = pl.DataFrame({"value": some}).join(
        places, on="value", how="left", maintain_order="left"
    )
    return found["place"].to_numpy().astype(np.int64)


def coarsely_counted(
    table: LazyTable,
    column_names: Sequence[str],
    steps: Sequence[Step],
    refused: TooManyCombinations,
    progress: Progress,
) -> tuple[Table, Coarse]:
    """Count a table after generalising it to the first node of a chain at which the combinations
    fit.

    Raises:
        TooManyCombinations: the engine or the first step cannot begin at levels, or nothing that it
        may do is enough.
    """
    columns = _columns(table, steps, refused)
    chain = list(levels_in_turn(columns, steps[0]))
    if table.engine.workers is None:
        start = _first_that_seems_to_fit(table, column_names, columns, chain)
    else:
        names = [name for name in table.columns if name in set(column_names)]
        start = _first_that_workers_estimate(table, table.engine.workers, names, columns, chain)
    # The start is an estimate from the first piece. Later nodes are counted in full until one fits.
    for levels in chain[start:]:
        coarse = Coarse(columns, levels)
        words = (
            "too many combinations:"
            f" {', '.join(f'{name} at level {at}' for name, at in levels.items())}"
        )
        combinations = coarse.counted(
            table, column_names, functools.partial(_tell, progress, words)
        )
        if combinations is not None:
            return combinations, coarse
    raise refused


def _first_that_seems_to_fit(
    table: LazyTable,
    column_names: Sequence[str],
    columns: Mapping[str, AllValues],
    chain: Sequence[Mapping[str, int]],
) -> int:
    """The place of the first node of a chain whose combinations fit, as far as the first rows tell;
    the last one if none does.

    Coarser nodes have no more combinations, so it is found by halving the chain.
    """
    names = [name for name in table.columns if name in set(column_names)]
    first = next(iter(table.pieces_of(names)))
    encoded = {name: encode_column(first, name) for name in names}

    def combinations(levels: Mapping[str, int]) -> int:
        codes = {
            name: (
                remap_to(columns[name].ladder, encoded_column, levels[name])[encoded_column.narrow]
                if name in levels
                else encoded_column.narrow
            )
            for name, encoded_column in encoded.items()
        }
        # The estimate is for all records, though only the first piece was looked at.
        return distinct_rows(pl.DataFrame(codes), names, table.records)

    # Smallest node whose estimate fits: all before low do not fit, all from high on do.
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        if combinations(chain[middle]) > engine_table.MOST_COMBINATIONS:
            low = middle + 1
        else:
            high = middle
    return min(low, max(0, len(chain) - 1))


def _first_that_workers_estimate(
    table: LazyTable,
    workers: engine_table.Workers,
    names: Sequence[str],
    columns: Mapping[str, AllValues],
    chain: Sequence[Mapping[str, int]],
) -> int:
    """The place of the first node of a chain whose combinations fit, as estimated of all rows; the
    last one if none does.

    Every pass over the rows looks at several nodes, spread evenly between those that do not fit and
    those that do.
    """
    low, high = 0, len(chain)
    while low < high:
        steps = np.linspace(low, high - 1, min(AT_ONCE, high - low))
        tried = np.unique(steps.astype(np.int64)).tolist()
        words = NodeWords.of(table.source, columns, [chain[number] for number in tried])
        about = workers.distinct(table.frame, names, words, len(tried))
        most = engine_table.MOST_COMBINATIONS
        fitting = [number for number, n in zip(tried, about, strict=True) if n <= most]
        high = min(fitting, default=high)
        low = max((number + 1 for number in tried if number < high), default=low)
    return min(low, max(0, len(chain) - 1))


def levels_in_turn(columns: Mapping[str, AllValues], step: Step) -> Iterator[dict[str, int]]:
    """Ever coarser nodes to count at: whichever column has most values climbs to its next level
    that has fewer.

    The top of a hierarchy, which says nothing, is the last resort: columns go there, again in the
    order of their values, when none can climb below it.
    """
    levels = dict.fromkeys(columns, 0)
    # First round: up to one level below the top. Second round: the top itself.
    for below_top in (1, 0):
        while True:
            ways = dict[str, int]()
            for name, column in columns.items():
                up = column.next_level(levels[name], highest=column.ladder.top - below_top)
                # A step may refuse to begin at a level, for instance above the highest it was
                # allowed.
                if up is not None and step.begun_at({name: up}) is not None:
                    ways[name] = up
            if not ways:
                break
            widest = max(ways, key=lambda name: (columns[name].values_at(levels[name]), name))
            levels[widest] = ways[widest]
            yield {name: level for name, level in levels.items() if level}


def _tell(progress: Progress, words: str, rows: int) -> None:
    progress(0.0, f"{words}, counted {rows:,} rows")


def _columns(
    table: LazyTable, steps: Sequence[Step], refused: TooManyCombinations
) -> dict[str, AllValues]:
    """The quasi-identifiers that may be generalised: they have a hierarchy, no other role and not
    too many values themselves.
    """
    if not steps or steps[0].begun_at({}) is None:
        raise refused
    quasi = [
        n
        for n in table.schema.quasi
        # A column with a second role, say a weight, is needed as it is and cannot be replaced.
        if table.schema[n].roles == (Role.QUASI,) and table.schema[n].hierarchy
    ]
    columns = dict[str, AllValues]()
    for name in quasi:
        try:
            read = table.values_of(name)
        # A column with too many values stays as it is; others may still be coarse enough together.
        except TooManyCombinations:
            continue
        encoded = encode_column(read, name)
        columns[name] = AllValues(read.column(name), encoded, ladder_of(read, name, encoded))
    return columns
