"""Cell suppression for tables of any size: few cells, chosen greedily, so that every record has k compatible ones.

Sets of columns are tried in the order of their price. Records that agree outside a set form a group; where a group has k
records, hiding the set in one of them helps all the others at once, so that at most k − 1 records of a group are touched
however many are rare. Groups in which one suppression helps most come first, and what earlier ones hid counts. At the
end cells that turned out needless are shown again.

A missing value that is a category of its own has nothing to hide: such a record can only be helped by others. A record
whose cells are hidden can be confused with its whole group, whoever else hides what: nothing rests on a chain of
wildcards, and hiding more never makes anyone rarer. Both make the result valid by construction; it is counted anew all
the same.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.evidence import count_compatible
from sfumato.core.progress import Progress, silent
from sfumato.steps.suppression.cells import Demand, SuppressedParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LOOKS = 400_000_000
"""Classes looked at, over all sets of columns; then columns are only added one by one."""
MOST_SETS = 4096
MOST_MEMBERS = 4_000_000
"""Group members held at a time."""


def suppress_greedily(
    parts: SuppressedParts, demands: Sequence[Demand], prices: dict[str, float], progress: Progress = silent
) -> SuppressedParts:
    """Suppress cells until every demand is met. Meeting one never breaks another: hiding only adds compatible records."""
    for number, demand in enumerate(demands):
        progress(number / len(demands), "suppressing cells")
        restoring = True
        while len(rare := np.flatnonzero((found := parts.frequencies(demand.columns)) < demand.k)):
            cover = _Cover(parts, demand, {c: p for c, p in prices.items() if c in demand.columns}, found)
            restoring &= cover.run()
            if restoring:
                cover.restore(rare)
            restoring = False  # whoever is still rare is helped for good
            parts = parts.hide(*cover.suppressed())
    return parts


class _Cover:
    """One demand on a table: what was hidden so far, and how frequent everyone is by now."""

    def __init__(
        self, parts: SuppressedParts, demand: Demand, prices: dict[str, float], frequencies: NDArray[np.int64]
    ) -> None:
        self.parts, self.k, self.columns = parts, demand.k, demand.columns
        self.prices = {1 << parts.classes.columns.index(c): price for c, price in prices.items()}
        self.keys = parts.keys(demand.columns)
        self.missing = parts.blanks(demand.columns)
        self.absent = parts.absent[parts.origin]
        self.frequencies = frequencies
        self.left = parts.amounts.copy()
        self.words = parts.classes.layout.words
        self.fields = parts.fields[np.arange(len(self.words)), self.words]
        self.units: list[NDArray[np.int64]] = []
        self.hidden: list[NDArray[np.int64]] = []

    def run(self) -> bool:
        """Hide sets of columns, the cheapest first, until nobody is rare; tell whether that could be done."""
        most = min(MOST_SETS, max(2 * len(self.prices), MOST_LOOKS // len(self.keys)))
        sets = itertools.islice(cheapest_sets(self.prices), most)
        for _, equal in itertools.groupby(sets, key=lambda pair: round(pair[0], 9)):
            waiting = [hidden for _, hidden in equal]
            while waiting and len(rare := self.rare()):
                room = max(1, MOST_MEMBERS // len(rare))
                self.hide([(hidden, self.groups(rare, hidden)) for hidden in waiting[:room]])
                waiting = waiting[room:]
        self._add_columns()
        if len(self.rare()):
            self._hide_all()
            return False
        return True

    def _add_columns(self) -> None:
        """Hide one column more at a time, the one that helps most for its price: for what no tried set could help."""
        hidden = 0
        for _ in self.prices:
            if not len(rare := self.rare()):
                return
            more = {bit: self.groups(rare, hidden | bit) for bit in self.prices if not hidden & bit}
            best = max(more, key=lambda bit: len(more[bit][1]) / self.prices[bit])
            hidden |= best
            self.hide([(hidden, more[best])])

    def _hide_all(self) -> None:
        """Hide all there is of the rare, or of everyone once that is done.

        Only where every record lacks some value: none can then be compatible with all others by itself.
        """
        everything = sum(self.prices)
        has_more = (everything & ~(self.absent | self.missing)) != 0
        chosen = np.flatnonzero((self.frequencies < self.k) & (self.left > 0) & has_more)
        if not len(chosen):
            chosen = np.flatnonzero((self.left > 0) & has_more)
        units = np.repeat(chosen, self.left[chosen])
        self.units.append(units)
        self.hidden.append(np.full(len(units), everything))

    def rare(self) -> NDArray[np.int64]:
        """Units with records that show all their cells and are too rare."""
        return np.flatnonzero((self.frequencies < self.k) & (self.left > 0))

    def shown(self, hidden: int) -> NDArray[np.uint64]:
        """The bits of a key that are left when columns are hidden."""
        shown = np.full(self.keys.shape[1], np.iinfo(np.uint64).max, dtype=np.uint64)
        for a, field in enumerate(self.parts.fields):
            if hidden >> a & 1:
                shown &= ~field
        return shown

    def groups(self, rare: NDArray[np.int64], hidden: int) -> tuple[NDArray[np.int64], ...]:
        """Groups of units that agree when columns are hidden: starts, members, donors."""
        found: tuple[NDArray[np.int64], ...] = kernels.suppression.groups_of(
            self.keys,
            rare,
            self.shown(hidden),
            hidden,
            self.absent,
            self.parts.amounts,
            self.left,
            self.frequencies,
            self.k,
        )
        return found

    def hide(self, found: list[tuple[int, tuple[NDArray[np.int64], ...]]]) -> None:
        """Suppress records in the groups of sets of columns that cost the same."""
        sizes = np.concatenate([np.diff(starts) for _, (starts, _, _) in found])
        sets = np.repeat([hidden for hidden, _ in found], [len(donors) for _, (_, _, donors) in found])
        units, groups = kernels.suppression.cover(
            self.keys,
            self.words,
            self.fields,
            self.missing,
            self.absent,
            sets,
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([members for _, (_, members, _) in found]),
            np.concatenate([donors for _, (_, _, donors) in found]),
            self.k,
            self.frequencies,
            self.left,
        )
        self.units.append(units)
        self.hidden.append(sets[groups])

    def restore(self, watched: NDArray[np.int64]) -> None:
        """Show again what nobody needs, the dearest sets of columns first; ``watched`` were too rare before."""
        units, hidden = np.concatenate(self.units), np.concatenate(self.hidden)
        self.frequencies = self._recount(units, hidden)
        relied_on = self.left > 0
        price = {h: sum(p for bit, p in self.prices.items() if h & bit) for h in np.unique(hidden).tolist()}
        for pattern in sorted(price, key=lambda h: (-price[h], h)):
            chosen = np.flatnonzero(hidden == pattern)
            hidden[chosen] = kernels.suppression.restore(
                self.keys,
                self.words,
                self.fields,
                self.missing,
                self.shown(pattern),
                watched,
                units[chosen],
                pattern,
                self.k,
                self.frequencies,
                self.left,
                relied_on,
            )
        self.units, self.hidden = [units[hidden != 0]], [hidden[hidden != 0]]

    def _recount(self, units: NDArray[np.int64], hidden: NDArray[np.int64]) -> NDArray[np.int64]:
        """Frequencies counted anew: covering only counts what it is sure of."""
        found = count_compatible(
            np.concatenate([self.keys, self.keys[units]]),
            np.concatenate([self.left, np.ones(len(units), dtype=np.int64)]),
            np.concatenate([self.missing, self.missing[units] | hidden]),
            self.parts.fields,
        )
        return found[: len(self.left)]

    def suppressed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The parts of which a record is suppressed, and what is hidden of it."""
        return np.concatenate(self.units), np.concatenate(self.hidden)


def cheapest_sets(prices: dict[int, float]) -> Iterator[tuple[float, int]]:
    """All sets of columns but the empty one, by price; ``prices`` are in ascending order, and so are equal sets.

    >>> list(cheapest_sets({1: 1.0, 2: 1.0, 4: 1.5}))
    [(1.0, 1), (1.0, 2), (1.5, 4), (2.0, 3), (2.5, 5), (2.5, 6), (3.5, 7)]
    """
    bits, costs = list(prices), list(prices.values())
    heap: list[tuple[float, int, tuple[int, ...]]] = [(costs[0], 1, (0,))] if bits else []
    while heap:
        price, _, chosen = heapq.heappop(heap)
        yield price, sum(bits[i] for i in chosen)
        last = chosen[-1] + 1
        if last < len(bits):  # the next column instead of the last one, or in addition
            for more in ((*chosen[:-1], last), (*chosen, last)):
                heapq.heappush(heap, (sum(costs[i] for i in more), len(more), more))
