"""What sets of cut points cost, and what every set between two of them costs at least."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from sfumato.core.layout import Layout
from sfumato.steps.cuts.cut import group_of_ranks
from sfumato.steps.cuts.ground import Ground
from sfumato.steps.cuts.points import Point, cuts_with

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

CutObjective = Literal["discernibility", "classification"]


@dataclasses.dataclass(frozen=True, eq=False)
class Grouped:
    """The classes under a set of cut points: which of them every finest class joins, and the records of each.

    ``table`` has what models must see besides, where that is more than the sizes.
    """

    points: frozenset[Point]
    ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    table: ClassTable | None = None


class CutCosts:
    """Costs of sets of cut points over a table.

    The classes under all points together are the finest there are; every other set merges them. ``budget`` is the number
    of records that may be suppressed; ``looked_at`` counts the sets whose classes were formed.
    """

    def __init__(self, ground: Ground, points: Collection[Point], objective: CutObjective, budget: int) -> None:
        self.ground = ground.coarsened(cuts_with(ground.axes, points))
        self.objective, self.budget, self.looked_at = objective, budget, 0
        self.records = ground.classes.total
        self.each = self.records if objective == "discernibility" else 1
        """What a suppressed record costs."""
        crowds = [int(getattr(m, "k", 1)) for m in ground.judge.models if m.name == "k_anonymity"]
        self.k = max(crowds, default=1)
        self.only_crowds = len(crowds) == len(ground.judge.models) and ground.classes.person is None
        self._finest: Grouped | None = None
        self._last: Grouped | None = None

    def cost(self, points: frozenset[Point]) -> float:
        """What a set costs; infinitely much where it suppresses too much or everything."""
        found = self._grouped(points)
        gone = found.sizes < self.k if found.table is None else self.ground.judge.failing(found.table)
        suppressed = int(found.sizes[gone].sum())
        if suppressed > self.budget or suppressed == self.records:
            return math.inf
        return float(self._kept_costs(found)[~gone].sum()) + suppressed * self.each

    def bound(self, head: frozenset[Point], everything: frozenset[Point]) -> tuple[float, int]:
        """What any set costs at least that has all of ``head`` and nothing outside ``everything``; and the head's classes."""
        import numpy as np

        found = self._grouped(head)
        if self._finest is None or self._finest.points != everything:
            self._finest = self._grouped(everything)
        gone = found.sizes < self.k if found.table is None else self._surely_gone(found.table)
        suppressed = int(found.sizes[gone].sum())
        if suppressed > self.budget or suppressed == self.records:
            return math.inf, len(found.sizes)
        member = np.zeros(len(self._finest.sizes), dtype=np.int64)
        member[self._finest.ids] = np.arange(len(found.ids))
        kept = ~gone[found.ids[member]]
        return float(self._least_costs(self._finest)[kept].sum()) + suppressed * self.each, len(found.sizes)

    def _grouped(self, points: frozenset[Point]) -> Grouped:
        if self._last is None or self._last.points != points:
            self.looked_at += 1
            self._last = self._group(points)
        return self._last

    def _group(self, points: frozenset[Point]) -> Grouped:
        import numpy as np

        from sfumato.kernels.keys import add_up, group, pack

        ground, cuts = self.ground, cuts_with(self.ground.axes, points)
        if not self.only_crowds:
            table, ids = ground.merged(cuts)
            return Grouped(points, ids, table.records, table)
        layout = Layout.of([len(cut) for cut in cuts])
        keys = np.zeros((len(ground.classes), layout.length), dtype=np.uint64)
        for a, cut in enumerate(cuts):
            if len(cut) > 1:
                ranges = group_of_ranks(cut, len(ground.axes[a].labels))
                pack(keys, ranges[ground.ranks[a]], layout.words[a], layout.shifts[a])
        ids, first = group(keys)
        return Grouped(points, ids, add_up(ground.classes.records, ids, len(first)))

    def _surely_gone(self, table: ClassTable) -> NDArray[np.bool_]:
        """Classes that every finer cut must suppress as a whole."""
        gone: NDArray[np.bool_] = self.ground.judge.forced(table) >= table.records
        return gone

    def _kept_costs(self, found: Grouped) -> NDArray[np.float64]:
        if self.objective == "classification":
            return self._minorities(found)
        return found.sizes.astype(float) ** 2

    def _least_costs(self, found: Grouped) -> NDArray[np.float64]:
        """What the records of the finest classes cost at least: they end in a class no smaller, and no smaller than k."""
        import numpy as np

        if self.objective == "classification":
            return self._minorities(found)
        crowd = min(self.k, self.records)
        return found.sizes.astype(float) * np.maximum(found.sizes, crowd)

    def _minorities(self, found: Grouped) -> NDArray[np.float64]:
        """Per class, the records that do not have its most frequent label."""
        import numpy as np

        counts = self.ground.classes.counts[self.ground.label or ""]
        labels = max(1, len(counts.labels))
        cells = np.repeat(found.ids, np.diff(counts.starts)) * labels + counts.codes
        table = np.bincount(cells, weights=counts.counts, minlength=len(found.sizes) * labels)
        return np.asarray(found.sizes - table.reshape(-1, labels).max(axis=1))
