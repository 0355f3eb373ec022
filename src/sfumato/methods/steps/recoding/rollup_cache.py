"""Towers of tables: coarser ones stacked upon finer ones, so that a search never goes back further
than it must.

``Towers`` holds class tables, for any model. ``Tower`` holds groups of classes for one loop (see
:mod:`sfumato.kernels.lattice`), which tallies all levels of a column in one pass; it knows
k-anonymity alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.classes import Layout
from sfumato.core.objective import objective_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.methods.steps.recoding.lattice import Lattice, Node


class Towers:
    """Coarse tables by number of columns shown and prefix decided, rolled up when first asked for.

    Tower *j* shows the columns up to *j*: those of the prefix at their decided levels, the others
    at their lowest; the columns after *j* stand at their highest level. A tower is a stack of
    tables for growing prefixes.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.columns = lattice.columns
        self._stacks: list[list[tuple[Node, ClassTable]]] = [
            [((), table)] for table in shown_tables(lattice)
        ]

    def table(self, prefix: Node) -> ClassTable:
        """The table that shows the prefix and the column after it."""
        stack = self._stacks[len(prefix)]
        # Tables of other prefixes are dropped: the search is depth first and does not come back to
        # them.
        while prefix[: len(stack[-1][0])] != stack[-1][0]:
            stack.pop()
        # Roll-up property (LeFevre et al. 2005): each table is counted from the one below it, which
        # is smaller than the finest.
        while len(stack[-1][0]) < len(prefix):
            decided, table = stack[-1]
            level = prefix[len(decided)]
            rolled_up = table.roll_up({self.columns[len(decided)]: level})
            stack.append(((*decided, level), rolled_up))
        return stack[-1][1]


def shown_tables(lattice: Lattice) -> list[ClassTable]:
    """Per column, the table in which it and those before it stand at their lowest level, those
    after it at their highest.
    """
    tables = []
    table = lattice.at(lattice.low)
    # From the last column to the first: each table hides one column more, and is rolled up from the
    # one before.
    for column in range(len(lattice.columns) - 1, -1, -1):
        tables.append(table)
        table = table.roll_up({lattice.columns[column]: lattice.high[column]})
    return tables[::-1]


# Which lattices the loop of towers takes, and what cells cost in it.


def smallest_class(lattice: Lattice) -> int | None:
    """The k of a lattice whose only promise is k-anonymity over records, whose keys and objective
    fit the loop; or None.
    """
    base = lattice.base
    if lattice.objective.own is not None:  # the loop keeps sums over columns only
        return None
    # Several promises of k-anonymity are one: the largest k implies all others.
    sizes = [model.crowd for model in lattice.models if model.crowd is not None]
    if (
        len(sizes) != len(lattice.models)
        or not sizes
        or base.person is not None
        or base.population is not None
    ):
        return None
    # All columns but any one must fit one word of a key; the worst case is that the narrowest
    # column is the one kept outside the key.
    levels = zip(base.ladders, lattice.low, strict=True)
    widths = [int(Layout.of([len(ladder.labels[low])]).widths[0]) for ladder, low in levels]
    fits = bool(widths) and sum(widths) - min(widths) <= 64
    return max(sizes) if fits else None


def raise_lowest_levels(lattice: Lattice, k: int) -> Lattice:
    """The lattice without the lowest levels of a column that break k-anonymity beyond the budget
    whatever the others do.

    A value that fewer than *k* records have is in no larger class, so the column alone says how
    many must go at least.
    """
    low = list(lattice.low)
    for a, (records, ladder) in enumerate(
        zip(lattice.records_per_code, lattice.base.ladders, strict=True)
    ):
        # Subset property (LeFevre et al. 2005) with one column: what it suppresses alone, every
        # node with this level suppresses at least.
        start = lattice.base.levels[a]
        while low[a] < lattice.high[a]:
            sizes = records
            if low[a] > start:
                sizes = np.bincount(ladder.climb(start, low[a]), weights=records)
            if sizes[sizes < k].sum() <= lattice.budget:
                break
            low[a] += 1
    if tuple(low) == lattice.low:
        return lattice
    return lattice.from_level(tuple(low))


@dataclasses.dataclass(frozen=True)
class Prices:
    """What cells cost, by column and level, and to which of ``features`` sums the cells of a column
    count.

    An objective that is the weighted mean of all cells needs one sum of weighted costs, any other
    one a column.
    """

    cells: Sequence[Sequence[NDArray[np.float64]]]
    of: Sequence[int]
    features: int
    mean: bool

    @classmethod
    def of_lattice(cls, lattice: Lattice) -> Prices:
        """The costs of a lattice's objective."""
        costs = lattice.cell_costs
        # The mean is linear, so the costs of all columns may be added before anything is
        # suppressed.
        if lattice.objective.score is objective_named("loss").score:
            weighted = []
            for w, levels in zip(lattice.weights, costs, strict=True):
                weighted.append([w * level for level in levels])
            return cls(weighted, (0,) * len(costs), 1, mean=True)
        return cls(costs, range(len(costs)), len(costs), mean=False)


class Steps:
    """The levels of all columns of a lattice one behind the other,
    as :func:`sfumato.kernels.lattice.climb` takes them.
    """

    def __init__(self, lattice: Lattice, prices: Prices) -> None:
        self.lattice = lattice
        self.prices = prices
        ups = []
        cells = []
        sizes = [0]
        self._first = []
        for a, (ladder, low, high) in enumerate(
            zip(lattice.base.ladders, lattice.low, lattice.high, strict=True)
        ):
            self._first.append(len(sizes) - 1 - low)
            for level in range(low, high + 1):
                size = len(ladder.labels[level])
                ups.append(ladder.up[level] if level < high else np.zeros(size, dtype=np.int64))
                cells.append(prices.cells[a][level])
                sizes.append(size)
        self.levels = kernels.lattice.ColumnLevels(
            np.concatenate(ups).astype(np.uint32),
            np.concatenate(cells),
            np.cumsum(sizes).astype(np.uint64),
        )

    def position(self, a: int, level: int) -> int:
        """The place of a level of a column."""
        return self._first[a] + level

    def last_columns(self, last: int, second: int | None = None) -> kernels.lattice.LastColumns:
        """The levels of the last column alone, or of the last two as if they were one."""
        ups = []
        folds = []
        prices = []
        second_prices = []
        starts = []
        lasts = self._levels_of(last)
        if second is None:
            seconds = [(NO_CODE, np.zeros(1))]
        else:
            seconds = self._levels_of(second)
        position = 0
        # Codes of a level in the order of the second column, then the last: 2 × 3 codes are (0, 0),
        # (0, 1), (0, 2), (1, 0), … The last column climbs within a chain, the second from chain to
        # chain.
        for chain, (second_up, second_cells) in enumerate(seconds):
            begins = []
            chain_size = sum(len(cells) for _, cells in lasts) * len(second_cells)
            for level, (up, cells) in enumerate(lasts):
                begins.append(position)
                size = len(cells)
                position += size * len(second_cells)
                above = np.zeros((len(second_cells), size), dtype=np.int64)
                if level + 1 < len(lasts):
                    width = len(lasts[level + 1][1])
                    codes = np.arange(len(second_cells)) * width
                    above = np.add.outer(codes, up)
                ups.append(position + above.ravel())
                fold = np.zeros(above.size, dtype=np.int64)
                # Only the lowest level of a chain is folded: its higher levels follow from there.
                if level == 0 and chain + 1 < len(seconds):
                    next_chain = begins[0] + chain_size + SPARE
                    folded_codes = np.add.outer(second_up * size, np.arange(size))
                    fold = next_chain + folded_codes.ravel()
                folds.append(fold)
                prices.append(np.tile(cells, len(second_cells)))
                second_prices.append(np.repeat(second_cells, size))
            starts.append([*begins, position])
            position += SPARE
            for codes_above in (ups, folds):
                codes_above.append(np.zeros(SPARE, dtype=np.int64))
            for costs in (prices, second_prices):
                costs.append(np.zeros(SPARE))
        price = np.concatenate(prices)
        second_price = np.concatenate(second_prices)
        feature = -1
        if self.prices.mean:
            price = price + second_price
        elif second is not None:
            feature = self.prices.of[second]
        all_ups = np.concatenate(ups).astype(np.uint32)
        all_folds = np.concatenate(folds).astype(np.uint32)
        return kernels.lattice.LastColumns(
            ups=all_ups,
            folds=all_folds,
            prices=price,
            second_prices=second_price,
            starts=np.array(starts, dtype=np.uint64),
            feature=feature,
        )

    def _levels_of(self, a: int) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Per level of a column that is searched, the code above each code and what a cell
        costs.
        """
        ladder = self.lattice.base.ladders[a]
        high = self.lattice.high[a]
        levels = range(self.lattice.low[a], high + 1)
        return [
            (ladder.up[level] if level < high else NO_CODE, self.prices.cells[a][level])
            for level in levels
        ]


NO_CODE = np.zeros(0, dtype=np.int64)
"""Above the highest level there is no code."""
SPARE = 2
"""Codes behind a chain: all its codes go to the first of them, and the loop writes one further."""
NOTHING = np.zeros((0, 5), dtype=np.int64)
"""No column climbs."""
Tally = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""Where :func:`sfumato.kernels.lattice.climb` writes what the levels of a column keep and lose."""


class Tower:
    """Tables of groups, each rolled up from one below it; the last column is the one whose levels
    are tallied.

    ``priced`` are the columns that cost something. ``tally`` gives what every level of the last
    column keeps, as arrays ``whole`` and ``lost`` that :func:`sfumato.kernels.lattice.climb`
    describes; of levels that suppress more than ``budget`` records only that they do.
    """

    def __init__(
        self,
        lattice: Lattice,
        k: int,
        table: ClassTable,
        last: int,
        steps: Steps,
        priced: Sequence[int],
        *,
        budget: int,
        second: int | None = None,
    ) -> None:
        self.lattice = lattice
        self.k = k
        self.steps = steps
        self.last = last
        self.budget = budget
        prices = steps.prices
        # Columns of the key, by which classes are grouped.
        key_columns = [a for a in range(len(lattice.columns)) if a not in {last, second}]
        lasts = [last] if second is None else [second, last]
        keys, codes, self._bits = _split_keys(table, key_columns, lasts)
        costing = []
        for a in key_columns:
            if a in priced:
                position = steps.position(a, table.levels[a])
                costing.append((*self._bits[a], prices.of[a], position))
        # Half the memory where every count fits 32 bits: more of a table stays in the cache.
        size = len(table)
        counts = np.uint32 if lattice.records < 2**32 else np.uint64
        # Room behind the lowest table for as large a one; pages that nobody writes to take no
        # memory.
        climbs = sum(lattice.high[a] - table.levels[a] for a in key_columns)
        self._arrays = kernels.lattice.TowerArrays(
            groups=np.empty((2 * size, 3), dtype=np.uint64),
            entries=np.empty((2 * size, 2), dtype=counts),
            costs=np.empty((2 * size, prices.features)),
            bounds=np.zeros((2 + climbs, 4), dtype=np.int64),
        )
        slot_bits = max(4, (2 * size).bit_length())
        slots = np.full(1 << slot_bits, -1, dtype=np.int32)
        costed_columns = np.array(costing, dtype=np.int64)
        scratch = np.empty((3, size + 1), dtype=np.int64)
        self.size = kernels.lattice.lay_groups(
            keys,
            codes,
            table.records,
            costed_columns.reshape(-1, 4),
            steps.levels,
            (slots, scratch),
            self._arrays,
        )
        self._levels = [table.levels]
        self.low = lattice.low[last]
        self._last = steps.last_columns(last, second)
        chains, levels = self._last.starts.shape
        levels = chains * (levels - 1)
        # Room for the loop to work in: for the groups of a table, and for the codes of the last
        # column and of all columns on all levels.
        groups, codes_of_last = self.size, len(self._last.ups)
        all_codes = len(steps.levels.ups)
        slot_count = 1 << max(4, (2 * groups).bit_length())
        self._room = kernels.lattice.Room(
            slots=np.empty(slot_count, dtype=np.int32),
            links=np.empty((3, groups), dtype=np.int32),
            codes=np.empty(codes_of_last, dtype=np.uint32),
            sums=np.zeros(codes_of_last, dtype=counts),
            jumps=np.empty(codes_of_last, dtype=np.uint32),
            changes=np.empty(all_codes, dtype=np.uint64),
            rises=np.empty(all_codes),
            begins=np.empty(len(lattice.columns), dtype=np.uint64),
        )
        self.whole, self.lost = (
            np.empty((levels, 4), dtype=np.int64),
            np.empty((levels, 1 + prices.features)),
        )

    def without_last(self, table: ClassTable) -> ClassTable:
        """The table that this tower was made of, with the last column at its highest level."""
        name = table.columns[self.last]
        high = self.lattice.high[self.last]
        if len(table.ladders[self.last].labels[high]) > 1 or table.keys.shape[1] > 1:
            return table.roll_up({name: high})
        # All codes become one, so the groups are the classes.
        groups, entries, _, _ = self._arrays
        # The group's records are the sums of its run of entries.
        begins = groups[: self.size, 1].astype(np.int64)
        records = np.add.reduceat(entries[: len(table), 1], begins, dtype=np.int64)
        later_levels = table.levels[self.last + 1 :]
        levels = (*table.levels[: self.last], high, *later_levels)
        keys = groups[: self.size, :1].copy()
        return dataclasses.replace(table, levels=levels, keys=keys, records=records)

    @property
    def height(self) -> int:
        """Number of tables."""
        return len(self._levels)

    @property
    def entries_on_top(self) -> int:
        """Entries of the table on top: pairs of a group and a code of the last column."""
        _, _, first_entry, end_entry = self._arrays.bounds[self.height - 1].tolist()
        return int(end_entry - first_entry)

    def cut(self, height: int) -> None:
        """Take off all tables above a height."""
        del self._levels[height:]

    @property
    def levels(self) -> Node:
        """The levels of the table on top."""
        return self._levels[-1]

    def climb(self, levels: Node, tally: Tally | None = None, *, writes: bool = True) -> None:
        """Put a table on top, with columns at higher levels, and tally it where there is room to
        write that; without ``writes`` nothing can be rolled up from it.
        """
        # The table on top is the smallest finer one at hand (roll-up property).
        source = self.height - 1
        self._lengthen(source)
        whole, lost = tally or (self.whole, self.lost)
        job = kernels.lattice.ClimbJob(
            source=source,
            target=source + 1,
            k=self.k,
            levels=0 if tally is None else len(whole),
            budget=self.budget,
            writes=writes,
            climbs=self._between(self._levels[-1], levels),
        )
        self._run(job, whole, lost)
        self._levels.append(levels)

    def _between(self, before: Node, after: Node) -> NDArray[np.int64]:
        """The columns that climb, as the loop takes them."""
        rows = []
        for a, level in enumerate(after):
            if level != before[a]:
                rows.append(
                    (
                        *self._bits[a],
                        self.steps.prices.of[a],
                        self.steps.position(a, before[a]),
                        level - before[a],
                    )
                )
        return np.array(rows, dtype=np.int64)

    def tally(self, tally: Tally) -> None:
        """Tally the table on top."""
        top = self.height - 1
        whole, lost = tally
        job = kernels.lattice.ClimbJob(
            source=top,
            target=top,
            k=self.k,
            levels=len(whole),
            budget=self.budget,
            writes=False,
            climbs=NOTHING,
        )
        self._run(job, whole, lost)

    def _run(
        self, job: kernels.lattice.ClimbJob, whole: NDArray[np.int64], lost: NDArray[np.float64]
    ) -> None:
        kernels.lattice.climb(
            self._arrays, job, self.steps.levels, self._last, self._room, whole, lost
        )

    def _lengthen(self, source: int) -> None:
        """Behind a table there must be room for one as large; more is made, so that this is
        rare.
        """
        groups, entries, costs, bounds = self._arrays
        first, end, first_entry, end_entry = bounds[source].tolist()
        # A coarser table is never larger than the one it is rolled up from.
        if 2 * end - first > len(groups):
            size = 3 * end - first
            groups = _longer(groups[:end], size)
            costs = _longer(costs[:end], size)
            self._arrays = self._arrays._replace(groups=groups, costs=costs)
        if 2 * end_entry - first_entry > len(entries):
            entries = _longer(entries[:end_entry], 3 * end_entry - first_entry)
            self._arrays = self._arrays._replace(entries=entries)


def _split_keys(
    table: ClassTable, key_columns: Sequence[int], lasts: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], dict[int, tuple[int, int]]]:
    """Keys of the classes without the last columns, the codes of those as one number, and where the
    bits of the others lie.

    Keys of one word are taken as they are; of longer ones all columns but one fit a word (see
    ``smallest_class``).
    """
    # The codes of the last columns as one number: second · size + last.
    codes = np.zeros(len(table), dtype=np.int64)
    # Exclusive or with the codes clears their bits.
    for a in lasts:
        level = table.levels[a]
        own_codes = table.codes(table.columns[a])
        code_count = len(table.ladders[a].labels[level])
        codes = codes * code_count + own_codes
    layout = table.layout
    if table.keys.shape[1] == 1:
        keys = table.keys[:, 0].copy()
        for a in lasts:
            keys ^= table.codes(table.columns[a]).astype(np.uint64) << np.uint64(layout.shifts[a])
        fields = {a: (int(layout.shifts[a]), int(layout.widths[a])) for a in key_columns}
        return keys, codes, fields
    sizes = [len(table.ladders[a].labels[table.levels[a]]) for a in key_columns]
    layout = Layout.of(sizes)
    bits = {a: (int(layout.shifts[i]), int(layout.widths[i])) for i, a in enumerate(key_columns)}
    keys = np.zeros((len(table), 1), dtype=np.uint64)
    for a, (shift, _) in bits.items():
        kernels.keys.pack(keys, table.codes(table.columns[a]), 0, shift)
    return keys[:, 0], codes, bits


def _longer(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """The rows, and room for as many as make it so long."""
    longer = np.empty((size, rows.shape[1]), dtype=rows.dtype)
    longer[: len(rows)] = rows
    return longer


FEW_SUPPRESSED = 200
"""Levels of pairs of columns are looked at where at most one record in so many may be suppressed.

Where more may be, hardly a pair of columns exceeds the budget by itself."""
PAIR_CELLS = 1 << 16
"""Pairs of columns that make more cells than this are not looked at."""


def _levels_beside(
    lattice: Lattice, k: int, table: ClassTable, last: int, steps: Steps
) -> list[list[int]]:
    """For every column before the last one and each of its levels, the lowest level that the last
    one may have.
    """
    spans = [high - low + 1 for low, high in zip(lattice.low, lattice.high, strict=True)][
        : last + 1
    ]
    layout = table.layout
    columns = []
    for a in range(last + 1):
        position = steps.position(a, lattice.low[a])
        columns.append((layout.shifts[a], layout.widths[a], position, spans[a]))
    levels = np.zeros((last, max(spans)), dtype=np.int64)
    column_rows = np.array(columns, dtype=np.int64)
    kernels.level_pairs.find_least_levels(
        table.keys[:, 0],
        table.records,
        column_rows,
        steps.levels,
        (k, lattice.budget),
        np.empty((3, PAIR_CELLS), dtype=np.int64),
        levels,
    )
    return [[lattice.low[last] + level for level in row] for row in levels.tolist()]


def _by_earlier_column(
    lattice: Lattice, rows: Sequence[Sequence[Sequence[int]]]
) -> list[list[Node]]:
    """By column and level, the lowest levels of all columns beside it: ``rows[j][i][l]`` turned
    round.

    Columns up to the one in question are at their lowest levels: they are decided before it.
    """
    count = len(lattice.columns)
    beside = []
    for a in range(count):
        # Later columns only: those before are decided already.
        span = range(lattice.high[a] - lattice.low[a] + 1)
        before = lattice.low[: a + 1]
        beside.append(
            [(*before, *(rows[later][a][level] for later in range(a + 1, count))) for level in span]
        )
    return beside


class Peaks:
    """One tower a column, as ``Towers`` has them: what every level of the column after a prefix
    keeps.
    """

    def __init__(self, lattice: Lattice, k: int, prices: Prices) -> None:
        steps = Steps(lattice, prices)
        self._budget = lattice.budget
        self._least = list(lattice.low)
        self._towers: list[Tower] = []
        self.least_beside: list[list[Node]] = []
        table = lattice.at(lattice.low)
        paired = lattice.budget * FEW_SUPPRESSED <= lattice.records and table.keys.shape[1] == 1
        rows: list[list[list[int]]] = []
        # Tower a shows the columns up to a, with a as the last one; those after it are at the top.
        for a in range(len(lattice.columns) - 1, -1, -1):
            tower = Tower(
                lattice,
                k,
                table=table,
                last=a,
                steps=steps,
                priced=range(a + 1),
                budget=lattice.budget,
            )
            self._towers.insert(0, tower)
            # Levels of pairs: the subset property with two columns.
            if paired:
                rows.insert(0, _levels_beside(lattice, k, table, a, steps))
            table = tower.without_last(table)
        if paired:
            self.least_beside = _by_earlier_column(lattice, rows)

    def at(self, prefix: Node) -> tuple[list[list[int]], list[list[float]]]:
        """By level of the next column: what :class:`Tower` tallies."""
        tower = self._towers[len(prefix)]
        size = len(prefix)
        # Tables that are not finer than the prefix cannot be rolled up to it.
        while any(level < finest for level, finest in zip(prefix, tower.levels, strict=False)):
            tower.cut(tower.height - 1)
        open_levels = tower.levels[size:]
        tally = (tower.whole, tower.lost)
        # Other levels of the columns decided last are asked for next: tables that all of those can
        # be rolled up from.
        for shared in range(max(0, size - 2), size):
            if tower.levels[:shared] != prefix[:shared]:
                lowest = min(prefix[shared], max(self._least[shared], tower.levels[shared]))
                if shared < size - 1 or lowest < prefix[shared]:
                    decided = prefix[:shared]
                    later_levels = tower.levels[shared + 1 :]
                    tower.climb((*decided, lowest, *later_levels))
        if tower.levels[:size] == prefix:
            tower.tally(tally)
        else:
            tower.climb((*prefix, *open_levels), tally)
        whole = tower.whole.tolist()
        # Levels beyond the budget are the lowest ones, so their number says where the feasible ones
        # begin: tables for prefixes to come need not be finer than that.
        self._least[size] = tower.low + sum(level[0] > self._budget for level in whole)
        return whole, tower.lost.tolist()
