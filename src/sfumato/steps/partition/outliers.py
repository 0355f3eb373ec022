"""Suppressing outliers: a few records without which the others of their region lose much less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.steps.partition.axes import points_of
from sfumato.steps.partition.regions import Regions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.kernels.space import Space
    from sfumato.steps.partition.axes import Axis
    from sfumato.steps.partition.promises import Promises

AT_ONCE = 4
"""In a round the best one in so many trims is made; the others are measured again."""


def without_outliers(regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space, allowed: int) -> Regions:
    r"""Trim regions as long as that lowers the loss of the table, and at most ``allowed`` records go.

    A trim takes the lowest or highest values of a line, one value of a set, or all but one branch of a tree out of a
    region. With *r* of *n* records gone and :math:`\Delta` less loss per record left it gains
    :math:`(n - r)\Delta - r(d - \ell)`, as the :math:`r` records lose all *d* cells instead of :math:`\ell`;
    those that gain most per record go first. What is left of a region keeps the promises.
    """
    trimmed = _Trimming(regions, promises, axes, space).run(allowed)
    if promises.settled or not promises.failing_together(trimmed, axes, points_of(promises.classes, axes)).any():
        return trimmed
    return regions


class _Trimming:
    def __init__(self, regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space) -> None:
        import numpy as np

        from sfumato.kernels.space import scratch_for

        self.promises, self.space = promises, space
        self.original = points_of(promises.classes, axes)
        self.points = self.original[regions.members]
        self.points[:, -2] = regions.amounts
        self.starts = np.concatenate([[0], regions.ends[:-1]]).astype(np.int64)
        self.borders, self.ends = regions.ends, regions.ends.copy()
        self.scratch = scratch_for(space)
        self.trims = np.zeros((len(regions), 6))

    def run(self, allowed: int) -> Regions:
        """Trim the regions, the best trims first."""
        import numpy as np

        self._measure(np.arange(len(self.starts)))
        while allowed > 0:
            chosen = self._best(allowed)
            if not len(chosen):
                break
            done = self._trim(chosen)
            allowed -= int(self.trims[done, 5].sum())
            self.trims[chosen, 0] = 0.0
            self._measure(done)
        return self._regions()

    def _measure(self, some: NDArray[np.int64]) -> None:
        from sfumato.kernels.trimming import find_trims

        crowd = self.promises.crowd
        self.trims[some] = find_trims(self.points, self.starts[some], self.ends[some], crowd, self.space, self.scratch)

    def _best(self, allowed: int) -> NDArray[np.int64]:
        """The regions to trim in this round."""
        import numpy as np

        worth, gone = self.trims[:, 0], self.trims[:, 5]
        worthy = np.flatnonzero((worth > 1e-12) & (gone <= allowed))
        worthy = worthy[np.argsort(-worth[worthy], kind="stable")][: -(-len(worthy) // AT_ONCE)]
        return worthy[np.cumsum(gone[worthy]) <= allowed]

    def _trim(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Trim some regions; returns those that keep the promises even so, the others are left whole."""
        import numpy as np

        from sfumato.kernels.trimming import trim

        starts, before = self.starts[chosen], self.ends[chosen]
        self.ends[chosen] = trim(self.points, starts, before, self.trims[chosen])
        if self.promises.only_crowds:
            return chosen
        lengths = self.ends[chosen] - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        groups = np.repeat(np.arange(len(chosen)), lengths)
        members = self.points[places, -1].astype(np.int64)
        failing = self.promises.failing(members, groups, len(chosen), self.original)
        self.ends[chosen[failing]] = before[failing]
        return chosen[~failing]

    def _regions(self) -> Regions:
        import numpy as np

        lengths, whole = self.ends - self.starts, self.borders - self.starts
        within = np.arange(len(self.points)) - np.repeat(self.starts, whole)
        numbers = np.where(within < np.repeat(lengths, whole), np.repeat(np.arange(len(lengths)), whole), -1)
        ordered = Regions.of(numbers, self.points[:, -2].astype(np.int64))
        members = self.points[ordered.members, -1].astype(np.int64)
        return Regions(members, ordered.amounts, ordered.ends)
