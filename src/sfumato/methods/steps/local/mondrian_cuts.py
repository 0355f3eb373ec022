"""How Mondrian cuts: fast where only crowds count, in rounds where models must be asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.progress import Progress, silent
from sfumato.methods.steps.local.axes import Axis, points_of
from sfumato.methods.steps.local.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.kernels.points import Space
    from sfumato.methods.steps.local.promises import Promises

    Ints = NDArray[np.int64]

SHARED = 200_000
"""Tables with more classes than this are cut into blocks that two threads share."""

BLOCKS = 16
CHILDREN = 3
"""How many children of a tree's node are tried where models are asked."""

WORDS = "cutting"


def cut_by_crowd(
    points: NDArray[np.int32], space: Space, crowd: int, *, relaxed: bool, progress: Progress
) -> Regions:
    """Cut until no cut leaves a crowd on both sides. ``points`` are used up."""
    if len(points) <= SHARED:
        block_size = len(points)
    else:
        block_size = len(points) // BLOCKS
    # Cuts of disjoint blocks do not depend on each other, so the blocks may be cut side by side.
    # Their order, and with it the numbers of the regions, stays that of one thread.
    blocks = list(blocks_of(points, space, crowd, block_size, relaxed=relaxed))
    with ThreadPoolExecutor(max_workers=2) as pool:
        pieces = []
        for block in pool.map(lambda b: _partition_block(b, space, crowd, relaxed), blocks):
            pieces.append(block)
            progress(len(pieces) / len(blocks), WORDS)
    parts = np.concatenate([part for part, _ in pieces])
    # The ends of a block count from its own start: ends [3, 5] and [2] become [3, 5, 7].
    offsets = np.cumsum([0, *(len(part) for part, _ in pieces[:-1])])
    ends = np.concatenate([end + offset for (_, end), offset in zip(pieces, offsets, strict=True)])
    return Regions(parts[:, 0].astype(np.int64), parts[:, 1].astype(np.int64), ends)


def _partition_block(
    block: NDArray[np.int32], space: Space, crowd: int, relaxed: bool
) -> tuple[NDArray[np.int32], Ints]:
    """The parts and ends of the regions of a block."""
    # The last two columns of a point are its records and the number of its class.
    total = int(block[:, -2].sum(dtype=np.int64))
    # Every region has at least a crowd of records, which bounds how many there are.
    max_parts = max(1, total // crowd)
    # Each relaxed cut may split one class in two: one row more a cut.
    if relaxed:
        points = np.concatenate([block, np.empty((max_parts, block.shape[1]), np.int32)])
    else:
        points = block
    room = len(points)
    parts = np.empty((room, 2), dtype=np.int32)
    ends = np.empty(min(max_parts, room), dtype=np.int64)
    count = kernels.partition.partition_points(
        points,
        (len(block), total),
        (crowd, relaxed),
        space,
        kernels.points.make_scratch(space),
        parts,
        ends,
    )
    return parts[: ends[count - 1]].copy() if relaxed else parts, ends[:count].copy()


def blocks_of(
    points: NDArray[np.int32], space: Space, crowd: int, block_size: int, *, relaxed: bool = False
) -> Iterator[NDArray[np.int32]]:
    """Cut as :func:`partition` would, but only until no block has more than ``block_size`` points.
    ``points`` are used up.
    """
    if len(points) <= block_size:
        yield points
        return
    # The kernel works on many segments; here there is one, from 0 to the last point.
    start_array = np.zeros(1, dtype=np.int64)
    total = points[:, -2].sum(dtype=np.int64)
    scratch = kernels.points.make_scratch(space)
    cuts, has_cut = kernels.partition.find_cuts(
        points,
        (start_array, start_array + len(points), start_array + total, start_array),
        (crowd, relaxed, 1),
        space,
        scratch,
    )
    if not has_cut[0]:
        yield points
        return
    if relaxed:
        # Room for the class that a relaxed cut may split.
        roomy = np.concatenate([points, points[:1]])
    else:
        roomy = points
    middle, end = kernels.partition.cut_segment(roomy, 0, len(points), cuts[0])
    yield from blocks_of(roomy[:middle], space, crowd, block_size, relaxed=relaxed)
    yield from blocks_of(roomy[middle:end], space, crowd, block_size, relaxed=relaxed)


def cut_by_promises(
    promises: Promises, axes: Sequence[Axis], space: Space, *, relaxed: bool, progress: Progress
) -> Regions:
    """Cut as long as the promises hold.

    Models that judge all classes together are reached in two ways, and the one that loses less
    is taken: cuts of regions that fail are taken back, or larger crowds are asked for, the smallest
    with which the models hold.
    """
    regions = Cutting(promises, axes, space, relaxed=relaxed).run(progress).regions()
    if not promises.wholes:
        return regions
    crowded = _in_larger_crowds(promises, axes, space, relaxed)
    return min(regions, crowded, key=lambda cut: cut.loss(axes, promises.classes))


def _in_larger_crowds(
    promises: Promises, axes: Sequence[Axis], space: Space, relaxed: bool
) -> Regions:
    """Regions of the smallest crowds with which all models hold, by doubling and halving."""
    # Persons are counted where records name them: a crowd is then one of persons.
    person = promises.classes.person
    low = promises.crowd - 1
    high = promises.crowd
    if person is None:
        total = promises.classes.total
    else:
        total = len(promises.classes.counts[person].labels)
    best: Regions | None = None
    # Binary search: below ``low`` the models fail, at ``high`` they hold once ``best`` is there.
    # Before that, ``high`` is doubled. It is no proof, as models need not hold for all larger
    # crowds.
    while best is None or high - low > 1:
        middle = high if best is None else (low + high) // 2
        stricter = dataclasses.replace(promises, crowd=middle, wholes=())
        regions = Cutting(stricter, axes, space, relaxed=relaxed).run(silent).regions()
        if promises.failing_together(regions, axes, points_of(promises.classes, axes)).any():
            low = middle
            if best is None:
                high = min(2 * middle, total)
        else:
            best, high = regions, middle
    return best


class Cutting:
    """Regions cut in rounds: in each, all regions not yet done propose their next cut, and the
    models are asked once.

    Regions are segments of ``points``; a cut puts the points of one side before those of the other,
    so that the region a cut was made in is found again by joining neighbours.
    """

    def __init__(
        self, promises: Promises, axes: Sequence[Axis], space: Space, *, relaxed: bool
    ) -> None:
        self.promises = promises
        self.axes = axes
        self.space = space
        self.relaxed = relaxed
        self.original = points_of(promises.classes, axes)
        self.points = self.original.copy()
        self.scratch = kernels.points.make_scratch(space, CHILDREN)
        # The tree of regions as arrays: start and end in points, records, parent; the root has
        # none.
        whole = []
        for n in (0, len(self.points), promises.classes.total, -1):
            whole.append(np.array([n], dtype=np.int64))
        self.starts, self.ends, self.totals, self.parents = whole
        self.leaf = np.ones(1, dtype=np.bool_)

    def run(self, progress: Progress) -> Cutting:
        """Cut as long as the promises hold; refuse a table that does not hold as one region."""
        n = len(self.points)
        end = np.array([n], dtype=np.int64)
        alone = Regions(np.arange(n), self.promises.classes.records, end)
        if self.promises.failing_together(alone, self.axes, self.original).any():
            raise self.promises.refuse(self.original, "mondrian")
        waiting = np.zeros(1, dtype=np.int64)
        skips = np.zeros(1, dtype=np.int64)
        # One call of the models a round judges the halves of all waiting regions at once: the cost
        # is rounds × models, not regions × models.
        while len(waiting):
            cuts, has_cut = self._proposed(waiting, skips)
            waiting = waiting[has_cut]
            skips = skips[has_cut]
            cuts = cuts[has_cut]
            holds = self._cuts_that_hold(waiting, cuts)
            children = self._cut(waiting[holds], cuts[holds])
            waiting = np.concatenate([waiting[~holds], children])
            # A refused cut is skipped next time; children start with their best one.
            later_skips = skips[~holds] + 1
            skips = np.concatenate([later_skips, np.zeros(len(children), dtype=np.int64)])
            lengths = self.ends[waiting] - self.starts[waiting]
            open_points = int(lengths.sum())
            progress(1 - open_points / len(self.points), WORDS)
        if not self.promises.settled:
            self._take_back()
        return self

    def regions(self) -> Regions:
        """The regions that are left."""
        leaves = np.flatnonzero(self.leaf)
        # Leaves by where they start: then their ends part the points.
        leaves = leaves[np.argsort(self.starts[leaves])]
        members = self.points[:, -1].astype(np.int64)
        return Regions(members, self.points[:, -2].astype(np.int64), self.ends[leaves])

    def _proposed(self, waiting: Ints, skips: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The next cut of each region, and whether it has one."""
        ranges = self.starts[waiting], self.ends[waiting], self.totals[waiting], skips
        rules = self.promises.crowd, self.relaxed, CHILDREN
        cuts, has_cut = kernels.partition.find_cuts(
            self.points, ranges, rules, self.space, self.scratch
        )
        return cuts, has_cut

    def _cuts_that_hold(self, waiting: Ints, cuts: Ints) -> NDArray[np.bool_]:
        """Whether both sides of each cut keep the promises."""
        if not len(waiting):
            return np.zeros(0, dtype=np.bool_)
        members, halves = kernels.partition.assign_sides(
            self.points, self.starts[waiting], self.ends[waiting], cuts
        )
        failing = self.promises.failing(members, halves, 2 * len(waiting), self.original)
        # Halves stand side by side: 0 and 1 are of the first cut, 2 and 3 of the second.
        return np.asarray(~(failing[0::2] | failing[1::2]))

    def _cut(self, waiting: Ints, cuts: Ints) -> Ints:
        """Make the cuts; returns the new regions."""
        starts = self.starts[waiting]
        ends = self.ends[waiting]
        middles, left_totals = kernels.partition.cut_segments(self.points, starts, ends, cuts)
        children = np.arange(len(self.starts), len(self.starts) + 2 * len(waiting))
        self.leaf[waiting] = False
        self.starts = np.concatenate([self.starts, starts, middles])
        self.ends = np.concatenate([self.ends, middles, ends])
        right_totals = self.totals[waiting] - left_totals
        self.totals = np.concatenate([self.totals, left_totals, right_totals])
        self.parents = np.concatenate([self.parents, waiting, waiting])
        self.leaf = np.concatenate([self.leaf, np.ones(len(children), dtype=np.bool_)])
        return children

    def _take_back(self) -> None:
        """Undo the last cuts of regions that fail when all are released together, until none
        does.
        """
        while True:
            leaves = np.flatnonzero(self.leaf)
            leaves = leaves[np.argsort(self.starts[leaves])]
            failing = self.promises.failing_together(self.regions(), self.axes, self.original)
            if not failing.any():
                return
            # A failing region falls back to its parent, whose other half goes with it. Each round
            # joins at least two regions, so it ends; the root alone was judged before.
            joined = np.unique(self.parents[leaves[failing]])
            joined = joined[joined >= 0]
            if not len(joined):
                raise self.promises.refuse(self.original, "mondrian")
            self.leaf[joined] = True
            self._drop_below(joined)

    def _drop_below(self, joined: Ints) -> None:
        """Regions inside the joined ones are regions no more."""
        # Joined segments are nested or disjoint. Sorted by start, longest first, the running
        # maximum of ends tells for each leaf whether one of them covers it.
        sort_keys = -self.ends[joined], self.starts[joined]
        order = joined[np.lexsort(sort_keys)]
        reach = np.maximum.accumulate(self.ends[order])
        leaves = np.flatnonzero(self.leaf)
        at = np.searchsorted(self.starts[order], self.starts[leaves], side="right") - 1
        reach_before = reach[np.maximum(at, 0)]
        inside = (at >= 0) & (reach_before >= self.ends[leaves])
        outermost = np.zeros(len(self.leaf), dtype=np.bool_)
        outermost[order[np.concatenate([[True], self.ends[order][1:] > reach[:-1]])]] = True
        self.leaf[leaves[inside & ~outermost[leaves]]] = False
