"""The nodes of a generalization lattice seen from above: what each keeps, costs and risks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLACK = 1e-12
"""Scores closer than this, relative to the smaller, are equal."""


@dataclasses.dataclass(frozen=True)
class Landscape:
    """Nodes of a lattice, one entry a node in every array; ``levels`` has one row a node and one column a column.

    ``whole`` tells that these are all nodes from ``low`` to ``high``, in the order of their levels (the last column
    fastest); otherwise they are some of them. ``score`` is the objective, made small; ``suppressed`` are the records that
    go and ``classes`` what is left, ``squares`` the sum of their squared sizes. ``precision`` is Sweeney's: 1 minus the
    mean level of a cell over the height of its hierarchy, a suppressed cell at the top. The risks are those of what would be
    released, with missing values as a category: ``marketer_risk`` the mean of 1/size over records,
    ``prosecutor_risk`` 1 over the smallest size; both are 0 where nothing is released. ``budget`` counts records.
    """

    columns: tuple[str, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    tops: tuple[int, ...]
    objective: str
    minimal: bool
    records: int
    budget: int
    whole: bool
    levels: NDArray[np.signedinteger[Any]]
    score: NDArray[np.float64]
    suppressed: NDArray[np.int64]
    classes: NDArray[np.int64]
    squares: NDArray[np.float64]
    precision: NDArray[np.float64]
    marketer_risk: NDArray[np.float64]
    prosecutor_risk: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def class_size(self) -> NDArray[np.float64]:
        """Average size of the released classes; the whole table where nothing is released."""
        import numpy as np

        kept = (self.records - self.suppressed) / np.maximum(self.classes, 1)
        return np.where(self.classes > 0, kept, float(self.records))

    @cached_property
    def discernibility(self) -> NDArray[np.float64]:
        """Sum of squared class sizes, a suppressed record costs N (Bayardo & Agrawal 2005)."""
        return self.squares + self.suppressed * float(self.records)

    def feasible(self, budget: int | None = None) -> NDArray[np.bool_]:
        """Which nodes may be released within a budget of suppressed records (by default the recipe's)."""
        within: NDArray[np.bool_] = self.suppressed <= (self.budget if budget is None else budget)
        return within if self.records == 0 else within & (self.classes > 0)

    def position(self, levels: Mapping[str, int]) -> int | None:
        """Which entry is the node with these levels, or None when it is not here."""
        import numpy as np

        wanted = [levels[name] for name in self.columns]
        found = np.flatnonzero((self.levels == np.array(wanted, dtype=self.levels.dtype)).all(axis=1))
        return int(found[0]) if len(found) else None

    def best(self, budget: int | None = None) -> int | None:
        """The node a search would choose within a budget, or None when there is none.

        The smallest score wins, then the smaller sum of levels, then the smaller tuple. Where the objective chooses
        among minimal nodes only (Samarati), these are found first, and ties go by her four preferences.
        """
        import numpy as np

        allowed = np.flatnonzero(self._minimal(self.feasible(budget)) if self.minimal else self.feasible(budget))
        if not len(allowed):
            return None
        least = float(self.score[allowed].min())
        near = allowed[self.score[allowed] <= least + SLACK * max(1.0, abs(least))]
        return int(min(near.tolist(), key=self._preference))

    def _preference(self, node: int) -> tuple[float | list[int], ...]:
        levels = self.levels[node].tolist()
        if not self.minimal:
            return sum(levels), levels
        relative = sum(level / max(1, top) for level, top in zip(levels, self.tops, strict=True))
        return sum(levels), relative, -int(self.classes[node]), int(self.suppressed[node]), levels

    def _minimal(self, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The feasible nodes that have no feasible node strictly below them; only where the lattice is whole."""
        import numpy as np

        shape = [high - low + 1 for low, high in zip(self.low, self.high, strict=True)]
        if not self.whole:
            return feasible
        reached = feasible.reshape(shape)
        for axis in range(len(shape)):
            reached = np.logical_or.accumulate(reached, axis=axis)
        beaten = np.zeros(shape, dtype=np.bool_)
        for axis in range(len(shape)):
            upper, lower = (tuple(part if a == axis else slice(None) for a in range(len(shape))) for part in _SHIFT)
            beaten[upper] |= reached[lower]
        return feasible & ~beaten.reshape(-1)

    def front(self) -> NDArray[np.int64]:
        """The nodes that no other beats: in score, both risks and suppressed records at once, by rising score.

        Nodes that release nothing are left out, and of nodes alike in all four only the lowest is kept.
        """
        return self._unbeaten(self.classes > 0, ("score", "marketer_risk", "prosecutor_risk", "suppressed"))

    def trade_off(self, risk: str = "marketer_risk") -> NDArray[np.int64]:
        """The nodes within the budget that no other such node beats in score and one risk, by rising score."""
        return self._unbeaten(self.feasible() & (self.classes > 0), ("score", risk))

    def _unbeaten(self, among: NDArray[np.bool_], names: tuple[str, ...]) -> NDArray[np.int64]:
        import numpy as np

        from sfumato.kernels.pareto import unbeaten

        nodes = np.flatnonzero(among)
        points = np.column_stack([getattr(self, name)[nodes].astype(np.float64) for name in names])
        points[:, 0] = np.round(points[:, 0], 12)  # what only rounding tells apart is equal
        ties = self.levels[nodes].sum(axis=1)
        order = np.lexsort((ties, *points.T[::-1]))
        found: NDArray[np.int64] = nodes[unbeaten(points, order)]
        return found[np.lexsort((self.marketer_risk[found], self.score[found]))]


_SHIFT = (slice(1, None), slice(None, -1))
