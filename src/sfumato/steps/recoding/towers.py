"""Towers of tables: coarser ones stacked upon finer ones, so that a search never goes back further than it must.

``Towers`` holds class tables, for any model. ``Tower`` holds groups of classes for one loop (see
:mod:`sfumato.kernels.lattice`), which tallies all levels of a column in one pass; it knows k-anonymity alone.
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
    from sfumato.steps.recoding.lattice import Lattice, Node


class Towers:
    """Coarse tables by number of columns shown and prefix decided, rolled up when first asked for.

    Tower *j* shows the columns up to *j*: those of the prefix at their decided levels, the others at their lowest;
    the columns after *j* stand at their highest level. A tower is a stack of tables for growing prefixes.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.columns = lattice.columns
        self._stacks: list[list[tuple[Node, ClassTable]]] = [[((), table)] for table in shown_tables(lattice)]

    def table(self, prefix: Node) -> ClassTable:
        """The table that shows the prefix and the column after it."""
        stack = self._stacks[len(prefix)]
        while prefix[: len(stack[-1][0])] != stack[-1][0]:
            stack.pop()
        while len(stack[-1][0]) < len(prefix):
            known, table = stack[-1]
            level = prefix[len(known)]
            stack.append(((*known, level), table.roll_up({self.columns[len(known)]: level})))
        return stack[-1][1]


def shown_tables(lattice: Lattice) -> list[ClassTable]:
    """Per column, the table in which it and those before it stand at their lowest level, those after it at their highest."""
    tables = []
    table = lattice.at(lattice.low)
    for shown in range(len(lattice.columns) - 1, -1, -1):
        tables.append(table)
        table = table.roll_up({lattice.columns[shown]: lattice.high[shown]})
    return tables[::-1]


# Which lattices the loop of towers takes, and what cells cost in it.


def smallest_class(lattice: Lattice) -> int | None:
    """The k of a lattice whose only promise is k-anonymity over records, whose keys and objective fit the loop; or None."""
    base = lattice.base
    if lattice.objective.own is not None:  # the loop keeps sums over columns only
        return None
    sizes = [model.crowd for model in lattice.models if model.crowd is not None]
    if len(sizes) != len(lattice.models) or not sizes or base.person is not None or base.population is not None:
        return None
    return max(sizes) if _fits(lattice) else None


def _fits(lattice: Lattice) -> bool:
    """Whether all columns but any one fit one word of a key."""
    levels = zip(lattice.base.ladders, lattice.low, strict=True)
    widths = [int(Layout.of([len(ladder.labels[low])]).widths[0]) for ladder, low in levels]
    return bool(widths) and sum(widths) - min(widths) <= 64


def raised(lattice: Lattice, k: int) -> Lattice:
    """The lattice without the lowest levels of a column that break k-anonymity beyond the budget whatever the others do.

    A value that fewer than *k* records have is in no larger class, so the column alone says how many must go at least.
    """
    low = list(lattice.low)
    for a, (records, ladder) in enumerate(zip(lattice.records_per_code, lattice.base.ladders, strict=True)):
        while low[a] < lattice.high[a]:
            sizes = np.bincount(ladder.climb(lattice.base.levels[a], low[a]), weights=records)
            if sizes[sizes < k].sum() <= lattice.budget:
                break
            low[a] += 1
    return lattice if tuple(low) == lattice.low else dataclasses.replace(lattice, low=tuple(low))


@dataclasses.dataclass(frozen=True)
class Prices:
    """What cells cost, by column and level, and to which of ``features`` sums the cells of a column count.

    An objective that is the weighted mean of all cells needs one sum of weighted costs, any other one a column.
    """

    cells: Sequence[Sequence[NDArray[np.float64]]]
    of: Sequence[int]
    features: int
    mean: bool

    @classmethod
    def of_lattice(cls, lattice: Lattice) -> Prices:
        """The costs of a lattice's objective."""
        costs = lattice.cell_costs
        if lattice.objective.score is objective_named("loss").score:
            weighted = [[w * level for level in levels] for w, levels in zip(lattice.weights, costs, strict=True)]
            return cls(weighted, (0,) * len(costs), 1, mean=True)
        return cls(costs, range(len(costs)), len(costs), mean=False)


class Tower:
    """Tables of groups, each rolled up from one below it; the last column is the one whose levels are tallied.

    ``known`` are the columns that cost something. ``tally`` gives what every level of the last column keeps, as arrays
    ``whole`` and ``lost`` that :func:`sfumato.kernels.lattice.climb` describes.
    """

    def __init__(
        self, lattice: Lattice, k: int, table: ClassTable, last: int, prices: Prices, known: Sequence[int]
    ) -> None:
        self.lattice, self.k, self.prices, self.last = lattice, k, prices, last
        others = [a for a in range(len(lattice.columns)) if a != last]
        place = Layout.of([len(lattice.base.ladders[a].labels[table.levels[a]]) for a in others])
        self._bits = {a: (int(place.shifts[i]), int(place.widths[i])) for i, a in enumerate(others)}
        self.groups, self.entries, self.costs = _singles(lattice, table, last, prices, known, self._bits)
        climbs = sum(lattice.high[a] - table.levels[a] for a in others)
        self.bounds = np.zeros((2 + climbs, 4), dtype=np.int64)
        self.bounds[0] = 0, len(table), 0, len(table)
        self._levels = [table.levels]
        self._last, levels = self._steps()
        self._codes = int(self._last[2][-1])
        self._scratch = _scratch(len(table), self._codes, self.entries.dtype)
        self.whole, self.lost = np.empty((levels, 4), dtype=np.int64), np.empty((levels, 1 + prices.features))
        self._put_together()

    def _put_together(self) -> None:
        """Classes become groups, and only those are kept."""
        nothing = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
        self._run((0, 1, 0, 0, 0, 0, 0), nothing, self.whole, self.lost)
        first, end, first_entry, end_entry = self.bounds[1].tolist()
        self.groups, self.costs = (_longer(one[first:end], 2 * (end - first)) for one in (self.groups, self.costs))
        self.entries = _longer(self.entries[first_entry:end_entry], 2 * (end_entry - first_entry))
        self.groups[: end - first, 1:] -= np.uint64(first_entry)
        self.bounds[0] = 0, end - first, 0, end_entry - first_entry
        self._scratch = _scratch(end - first, self._codes, self.entries.dtype)

    @property
    def height(self) -> int:
        """Number of tables."""
        return len(self._levels)

    def cut(self, height: int) -> None:
        """Take off all tables above a height."""
        del self._levels[height:]

    def climb(self, a: int, level: int, tally: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None) -> None:
        """Put a table on top, with one column at a higher level, and tally it where there is room to write that."""
        source, levels = self.height - 1, self._levels[-1]
        self._make_room(source)
        cells, ladder = self.prices.cells[a], self.lattice.base.ladders[a]
        maps = ladder.climb(levels[a], level), cells[levels[a]], cells[level]
        count = 0 if tally is None else len(tally[0])
        column = (source, source + 1, *self._bits[a], self.prices.of[a], self.k, count)
        self._run(column, maps, *(tally or (self.whole, self.lost)))
        self._levels.append((*levels[:a], level, *levels[a + 1 :]))

    def tally(self, tally: tuple[NDArray[np.int64], NDArray[np.float64]]) -> None:
        """Tally the table on top."""
        nothing, top = (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)), self.height - 1
        self._run((top, top, 0, 0, 0, self.k, len(tally[0])), nothing, *tally)

    def _run(self, column: tuple[int, ...], maps: tuple[Any, ...], whole: Any, lost: Any) -> None:
        kernels.lattice.climb(
            self.groups, self.entries, self.costs, self.bounds, column, maps, self._last, self._scratch, whole, lost
        )

    def _make_room(self, source: int) -> None:
        """Behind a table there must be room for one as large; more is made, so that this is rare."""
        first, end, first_entry, end_entry = self.bounds[source].tolist()
        if 2 * end - first > len(self.groups):
            room = 3 * end - first
            self.groups, self.costs = (_longer(one[:end], room) for one in (self.groups, self.costs))
        if 2 * end_entry - first_entry > len(self.entries):
            self.entries = _longer(self.entries[:end_entry], 3 * end_entry - first_entry)

    def _steps(self) -> tuple[tuple[NDArray[Any], ...], int]:
        """The levels of the last column one behind the other: one level up for every code, what a cell costs, where each begins."""
        a, lattice = self.last, self.lattice
        ladder, levels = lattice.base.ladders[a], range(lattice.low[a], lattice.high[a] + 1)
        sizes = [len(ladder.labels[level]) for level in levels]
        ups = [ladder.up[level] for level in levels[:-1]] + [np.zeros(sizes[-1], dtype=np.int64)]
        prices = np.concatenate([self.prices.cells[a][level] for level in levels])
        return (np.concatenate(ups).astype(np.uint32), prices, np.cumsum([0, *sizes]).astype(np.uint64)), len(levels)


def _singles(
    lattice: Lattice, table: ClassTable, last: int, prices: Prices, known: Sequence[int], bits: dict[int, Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Every class as a group of its own with one entry, and room for as many groups behind them."""
    n = len(table)
    keys, costs = np.zeros((n, 1), dtype=np.uint64), np.zeros((2 * n, prices.features))
    for a, (shift, _) in bits.items():
        codes = table.codes(lattice.columns[a])
        kernels.keys.pack(keys, codes, 0, shift)
        if a in known:
            costs[:n, prices.of[a]] += prices.cells[a][table.levels[a]][codes]
    groups = np.empty((2 * n, 3), dtype=np.uint64)
    groups[:n, 0], groups[:n, 1], groups[:n, 2] = keys[:, 0], np.arange(n), np.arange(1, n + 1)
    entries = np.empty((2 * n, 2), dtype=np.uint32 if lattice.records < 2**32 else np.uint64)
    entries[:n, 0], entries[:n, 1] = table.codes(lattice.columns[last]), table.records
    return groups, entries, costs


def _longer(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """The rows, and room for as many as make it so long."""
    longer = np.empty((size, rows.shape[1]), dtype=rows.dtype)
    longer[: len(rows)] = rows
    return longer


def _scratch(groups: int, codes: int, counts: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    """Room for the loop to work in."""
    slots = np.empty(1 << max(4, (2 * groups).bit_length()), dtype=np.int32)
    links = np.empty((3, groups), dtype=np.int32)
    return slots, links, np.empty(codes + 2, dtype=np.uint32), np.zeros(codes + 2, dtype=counts)


class Peaks:
    """One tower a column, as ``Towers`` has them: what every level of the column after a prefix keeps."""

    def __init__(self, lattice: Lattice, k: int, prices: Prices) -> None:
        shown = enumerate(shown_tables(lattice))
        self._towers = [Tower(lattice, k, table, a, prices, range(a + 1)) for a, table in shown]
        self._reached: list[list[tuple[Node, int]]] = [[((), tower.height)] for tower in self._towers]

    def at(self, prefix: Node) -> tuple[list[list[int]], list[list[float]]]:
        """By level of the next column: what :class:`Tower` tallies."""
        tower, reached = self._towers[len(prefix)], self._reached[len(prefix)]
        while prefix[: len(reached[-1][0])] != reached[-1][0]:
            reached.pop()
        tower.cut(reached[-1][1])
        higher = [a for a in range(len(reached[-1][0]), len(prefix)) if prefix[a] > tower.lattice.low[a]]
        tally = tower.whole, tower.lost
        for a in higher:
            tower.climb(a, prefix[a], tally if a == higher[-1] else None)
            reached.append((prefix[: a + 1], tower.height))
        if not higher:
            tower.tally(tally)
        return tower.whole.tolist(), tower.lost.tolist()
