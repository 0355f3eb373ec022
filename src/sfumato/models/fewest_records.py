r"""Which classes go so that a sum over the rest is small enough and the fewest records are lost.

A promise about the whole table asks :math:`\sum_{E \text{ kept}} x_E \le s`: every class has an excess :math:`x_E` (its harm less what
the promise allows its records) and there may be a slack *s*. Dropping the class *E* costs :math:`n_E` records, so this is a
knapsack: the least cost at which the excess is made up for. The riskiest classes, which have the largest excess a record,
go first, one by one; equal ones by their keys, so that the order of the rows does not matter.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

NEAR = 1e-12
"""Share of the whole excess that rounding may hide."""
MOST_WORK = 20_000_000
"""Classes times records up to which the fewest records are decided by trying all sums."""


def fewest_records(
    classes: ClassTable, members: NDArray[np.int64], excess: NDArray[np.float64], slack: float = 0.0
) -> NDArray[np.bool_]:
    """The classes to drop: as few members as possible, so that the excess of the rest is at most ``slack``.

    ``members`` are what the promise counts in each class, records or persons, and ``excess`` is that of one of them.
    Where the larger classes do not have the smaller excess, the fewest records are a sum to be hit; it is searched for
    within ``MOST_WORK``, and beyond that less than one class too many goes. Everything goes when nothing less will do.
    """
    gains = excess * members
    dropped = np.zeros(len(gains), dtype=np.bool_)
    need, near = float(gains.sum()) - slack, NEAR * float(np.abs(gains).sum())
    if need <= near:
        return dropped
    order = _riskiest_first(classes, members, excess)
    sack = _Sack(members[order], gains[order], need - near)
    if sack.enough is None:
        return ~dropped
    dropped[order[sack.fewest()]] = True
    return dropped


def _riskiest_first(
    classes: ClassTable, members: NDArray[np.int64], excess: NDArray[np.float64]
) -> NDArray[np.signedinteger[Any]]:
    """The classes whose dropping helps, the largest excess a member first, then the smallest, then by their keys."""
    useful = np.flatnonzero(excess > 0)
    keys, sizes = classes.keys[useful], classes.sizes[useful]
    return useful[np.lexsort((*keys.T[::-1], members[useful], sizes, -excess[useful]))]


@dataclasses.dataclass(frozen=True)
class _Sack:
    """Classes in the order in which they go: what each costs, what it helps, and what is needed in all."""

    costs: NDArray[np.int64]
    gains: NDArray[np.float64]
    need: float

    @property
    def enough(self) -> int | None:
        """How many go, one after the other, until that is enough."""
        sums = np.cumsum(self.gains)
        return int(np.searchsorted(sums, self.need)) + 1 if len(sums) and sums[-1] >= self.need else None

    def fewest(self) -> NDArray[np.int64]:
        """Positions of the classes that go."""
        first = np.arange(self.enough or 0)
        if (np.diff(self.costs) >= 0).all() and (np.diff(self.gains) <= NEAR * self.need).all():
            return first  # no set of fewer classes is enough, and none of as many has fewer records
        found = self._without_needless(first)
        spent = int(self.costs[found].sum())
        return found if spent <= self._least(len(first)) else self._hit(spent - 1, found)

    def _least(self, many: int) -> int:
        """Records that are lost at least: as if a part of the last class could go."""
        before, last = slice(0, many - 1), many - 1
        part = self.costs[last] * (self.need - float(self.gains[before].sum())) / self.gains[last]
        step = math.gcd(*self.costs.tolist())
        return step * math.ceil((int(self.costs[before].sum()) + float(part)) / step * (1 - NEAR))

    def _without_needless(self, first: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep again what need not go, the least risky first; classes alike are taken together."""
        spare = float(self.gains[first].sum()) - self.need
        kept = np.zeros(len(first), dtype=np.bool_)
        alike = np.flatnonzero((np.diff(self.costs[first]) != 0) | (np.diff(self.gains[first]) != 0)) + 1
        for start, end in zip([0, *alike.tolist()][::-1], [*alike.tolist(), len(first)][::-1], strict=True):
            many = min(end - start, int(spare / self.gains[start]))
            kept[end - many : end] = True
            spare -= many * float(self.gains[start])
        return first[~kept]

    def _hit(self, most: int, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """A set with at most so many records that is enough, of the fewest records; ``known`` where there is none."""
        items = self._few_enough(most)
        if len(items) * (most + 1) > MOST_WORK:
            return known
        best = np.zeros(most + 1)
        taken = np.zeros((len(items), most + 1), dtype=np.bool_)
        for row, item in zip(taken, items.tolist(), strict=True):
            cost = int(self.costs[item])
            more = best[: most + 1 - cost] + self.gains[item]
            row[cost:] = more > best[cost:] + NEAR * self.need
            best[cost:] = np.where(row[cost:], more, best[cost:])
        hits = np.flatnonzero(best >= self.need)
        return self._read_back(items, taken, int(hits[0])) if len(hits) else known

    def _few_enough(self, most: int) -> NDArray[np.int64]:
        """The classes that may take part: of those with one number of records the most helpful, as many as fit."""
        order = np.lexsort((np.arange(len(self.costs)), -self.gains, self.costs))
        rank = np.arange(len(order)) - np.searchsorted(self.costs[order], self.costs[order])
        return np.sort(order[(rank + 1) * self.costs[order] <= most])[::-1]

    def _read_back(self, items: NDArray[np.int64], taken: NDArray[np.bool_], records: int) -> NDArray[np.int64]:
        """The set that the table of sums stands for."""
        found = []
        for row, item in zip(taken[::-1], items[::-1].tolist(), strict=True):
            if row[records]:
                found.append(item)
                records -= int(self.costs[item])
        return np.array(found, dtype=np.int64)
