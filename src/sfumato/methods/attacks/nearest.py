"""The released records nearest to people: both files as distinct records, and whom an attack is
tried on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.attack import NOT_IN_FILE, Scene
from sfumato.core.groups import group_starts
from sfumato.methods.attacks.linkage.comparable_columns import refusal
from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
from sfumato.methods.attacks.linkage.files import Files, files_of
from sfumato.methods.attacks.rates import Successes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


AT_MOST = 500
"""Targets an attack is tried on."""
TIE = 1e-9
Near = tuple[float, "NDArray[np.int64]"]
NEARBY_CODES = 1 << 16
"""Codes of all categories together that a search still finds in the processor's cache."""
FAR_CELL = 4
"""How many other cells one takes the time of where there are more codes: a tree leaves out little
then, and memory is slow.
"""
NO_CONTROL = (
    "nobody was set aside before the rows were made, so there is no control; let the step set a "
    "share of the people aside (holdout: 0.2), or, for a table made elsewhere, give people it was "
    "not made from (control)"
)


# How far every distinct released record is from a target, column by column.


@dataclasses.dataclass(frozen=True, eq=False)
class Surroundings:
    """Both files as distinct records; ``targets`` are rows of the intruder's file whose record was
    released.

    ``own`` is the released row of each target; ``names`` are the columns in the order of the costs.
    Of synthetic rows none is anybody's own: then the first ``members`` targets are
    people that the rows were learnt from, and the others, their control, such as were set aside.
    """

    files: Files
    arrays: Arrays
    targets: Ints
    own: Ints
    members: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the costs."""
        return tuple(self.arrays.names)

    def near(self, target: int, weights: Floats) -> tuple[Near, Near]:
        """How far the nearest released record is from a target, columns weighted, and all distinct
        records that are so near.

        First as it is, then as if the target had not taken part: infinitely far where no record is
        left then.
        """
        own = int(self.files.released.kind_of[self.own[target]])
        nearest_kinds = self.nearest(target, weights)
        # Where somebody else has the same record, it stays when the own one is taken out.
        if self.files.released.records[own] > 1:
            close_kinds = nearest_kinds
        else:
            close_kinds = self._near(target, weights, own)
        return nearest_kinds, close_kinds

    def nearest(self, target: int, weights: Floats | None = None) -> Near:
        """The first of these; without weights all columns count alike."""
        return self._near(target, np.ones(len(self.names)) if weights is None else weights, -1)

    def cost(self, target: int) -> float:
        """How far the nearest released record is from a target, all columns alike."""
        query = self._query(target, np.ones(len(self.names)), -1)
        cost: float = kernels.neighbours.find_least_cost(
            query, self.arrays.files, self.arrays.tree, self._buffers
        )
        return cost

    def tally(self, scene: Scene, purpose: str, succeeds: Callable[[int], bool]) -> Successes:
        """On how many members and on how many of their control an attack succeeds, of a random
        sample as large as the work allows.
        """
        outcomes = [
            (target < self.members, succeeds(target)) for target in self.sampled(scene, purpose)
        ]
        members = [hit for member, hit in outcomes if member]
        non_members = [hit for member, hit in outcomes if not member]
        return Successes(sum(members), len(members), sum(non_members), len(non_members))

    def _near(self, target: int, weights: Floats, skip: int) -> Near:
        query = self._query(target, weights, skip)
        near: Near = kernels.neighbours.list_nearest(
            query, self.arrays.files, self.arrays.tree, self._buffers
        )
        return near

    def _query(self, target: int, weights: Floats, skip: int) -> kernels.neighbours.Query:
        """A target that seeks its nearest released record, but for the one to skip."""
        record = int(self.files.intruder.kind_of[self.targets[target]])
        return kernels.neighbours.Query(record, skip, weights, TIE)

    @functools.cached_property
    def _buffers(self) -> kernels.neighbours.Buffers:
        """Memory of the searches, and how many records and boxes of records targets were compared
        with.
        """
        work = np.zeros(1, dtype=np.int64)
        buffers: kernels.neighbours.Buffers = kernels.neighbours.make_buffers(
            self.arrays.files, self.arrays.tree, work
        )
        return buffers

    @property
    def spent(self) -> int:
        """Cells that were compared so far, by the time they take."""
        return int(self._buffers.work[0]) * self._record_cost

    @property
    def full_cost(self) -> int:
        """Cells that one target is compared with at most, by the time they take."""
        return len(self.files.released.records) * self._record_cost

    @property
    def _record_cost(self) -> int:
        """What it costs to compare a target with one record."""
        far = int(self.arrays.released.bases[-1]) > NEARBY_CODES
        return len(self.names) * (FAR_CELL if far else 1)

    def sampled(self, scene: Scene, purpose: str) -> Iterator[int]:
        """Targets in a random order, as many as the work of an attack is enough for."""
        return scene.sampled(
            len(self.targets), purpose, cost=self.full_cost, spent=lambda: self.spent
        )

    @functools.cached_property
    def by_kind(self) -> tuple[Ints, Ints]:
        """The released rows in order of their distinct record, and where those of each begin."""
        released_kinds = self.files.released
        order = np.argsort(released_kinds.kind_of, kind="stable")
        return order, group_starts(released_kinds.records)

    def rows(self, kinds: Ints) -> Ints:
        """The released rows that have some of the distinct records, in order."""
        order, starts = self.by_kind
        # Of many rows one pass over all is faster than to sort the slices.
        if 8 * int(self.files.released.records[kinds].sum()) > len(order):
            is_kind = np.zeros(len(self.files.released.records), dtype=bool)
            is_kind[kinds] = True
            return np.flatnonzero(is_kind[self.files.released.kind_of])
        return np.sort(slices_of(order, starts[kinds], starts[kinds + 1]))


def slices_of(values: Ints, begins: Ints, ends: Ints) -> Ints:
    """The slices of an array that begin and end at these places, one after the other.

    >>> slices_of(np.arange(10, 20), np.array([6, 0, 3]), np.array([8, 1, 3])).tolist()
    [16, 17, 10]
    """
    if len(begins) == 1:
        return values[begins[0] : ends[0]]
    sizes = ends - begins
    # What earlier slices take: sizes 2, 1, 0 → 0, 2, 3.
    gone = np.cumsum(sizes) - sizes
    positions = np.arange(int(sizes.sum())) + np.repeat(begins - gone, sizes)
    slices: Ints = values[positions]
    return slices


def surroundings(scene: Scene, purpose: str, limit: int | None = None) -> Surroundings:
    """Read both files and draw the targets; where rows are synthetic, as many of the control
    besides.
    """
    files = files_of(scene)
    if limit is None:
        limit = scene.at_most(AT_MOST)
    if not scene.pair.aligned:
        sampled_groups = [
            _sample_rows(scene, group, purpose, limit) for group in beside_held_out(scene)
        ]
        nobody = np.full(sum(map(len, sampled_groups)), NOT_IN_FILE, dtype=np.int64)
        return Surroundings(
            files,
            files.plain,
            targets=np.concatenate(sampled_groups),
            own=nobody,
            members=len(sampled_groups[0]),
        )
    released = np.full(len(scene.pair.original), -1, dtype=np.int64)
    released[scene.pair.rows] = np.arange(len(scene.pair.rows))
    truth = scene.intruder.truth
    target_rows = _sample_rows(
        scene,
        # Strangers have a negative row; it is looked up as row 0 and left out by the first half.
        np.flatnonzero((truth != NOT_IN_FILE) & (released[np.maximum(truth, 0)] >= 0)),
        purpose,
        limit,
    )
    return Surroundings(
        files,
        files.plain,
        targets=target_rows,
        own=released[truth[target_rows]],
        members=len(target_rows),
    )


def _sample_rows(scene: Scene, rows: Ints, purpose: str, limit: int) -> Ints:
    """At most so many of some rows, in order."""
    if len(rows) <= limit:
        return rows
    return np.sort(
        scene.seed.stream(f"{purpose}: whom to attack").choice(rows, limit, replace=False)
    )


def beside_held_out(scene: Scene) -> tuple[Ints, Ints]:
    """Rows of the intruder's file: people that drawn rows were learnt from, and such as were set
    aside before.
    """
    pair = scene.pair
    truth = scene.intruder.truth
    none = np.zeros(0, dtype=np.int64)
    groups = (none if rows is None else rows for rows in (pair.learnt_from, pair.held_out))
    members, aside = (np.flatnonzero(np.isin(truth, group)) for group in groups)
    return members, aside


def no_control(scene: Scene) -> str | None:
    """Why nothing is known of an attack on synthetic rows: nobody was set aside; None:
    somebody was.
    """
    if scene.held_out is None or scene.pair.learnt_from is None:
        return NO_CONTROL
    members, aside = beside_held_out(scene)
    if not len(members) or not len(aside):
        return (
            f"the intruder knows {len(members):,} people used for training and {len(aside):,} "
            "people set aside; both are needed"
        )
    return None


def reason_not_to_try(scene: Scene) -> str | None:
    """Why there is nothing to attack, or None."""
    reason = refusal(scene)
    if reason is not None:
        return reason
    if not scene.pair.aligned:
        return no_control(scene)
    truth = scene.intruder.truth
    rows_known = truth[truth != NOT_IN_FILE]
    if not np.isin(rows_known, scene.pair.rows).any():
        return "no person that the intruder knows was released"
    if len(scene.pair.released) > 1:
        return None
    return "one record alone has no control"
