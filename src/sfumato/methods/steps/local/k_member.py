"""k-member clustering: join the records that lie nearest to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.parameters import parameters
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Goal, Span, Step
from sfumato.methods.steps.local.axes import Axis, axes_of, points_of, space_of
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.local.mondrian_cuts import blocks_of
from sfumato.methods.steps.local.promises import Promises
from sfumato.methods.steps.local.regions import ClassRecoding, Regions, recoding, release_regions
from sfumato.methods.steps.recoding.lattice import normalised_weights
from sfumato.methods.steps.step_fields import ColumnWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.kernels.points import Space

    Ints = NDArray[np.int64]

WORDS = "clustering"

Start = Literal["nearest", "farthest"]


@parameters
class KMember(Step):
    r"""Form clusters of at least k records that lie close together, and release what each has in
    common.

    A cluster grows until it has *k* records, each time by the class of equal records that adds the
    least loss,

    .. math:: n\,(\ell' - \ell) + m\,\ell'

    where *n* records lose :math:`\ell` each before *m* records join and all lose :math:`\ell'`
    after; the loss is the weighted sum over the cells that are released
    (see :mod:`sfumato.methods.steps.local.regions`). Fewer than *k* records that are left over at
    the end join the clusters where that costs least. *k* is that of the k-anonymity among the
    promises; without any, clusters start as classes of equal records, and those that break a
    promise are joined.

    The next cluster starts at the record nearest to the start of the last one, which loses less
    than the paper's ``farthest`` (Adult, eight columns, k = 5: 0.048 against 0.051). No
    random numbers: the first record is the first in the order of the columns. Equal records stay
    together; *k* equal ones are a cluster by themselves and lose nothing. Clusters that break
    another promise are joined with the one where that costs least, until all hold.

    Only the ``pool`` · *k* records nearest to its start are looked at when a cluster grows, so the
    work is of the order n²/k for n classes; 0 looks at all, as the paper does, in n². Tables with
    more than ``block`` different records are first cut into blocks as Mondrian would.

    Ranges of numbers and dates are unions of cells of a ``grid``, as
    with :class:`~sfumato.methods.steps.local.mondrian.Mondrian`, and the loss is that of these
    ranges: no range ends at the value of a person.

    Reference: Byun, Kamra, Bertino & Li 2007, doi:10.1007/978-3-540-71703-4_18.

    >>> from sfumato import examples
    >>> from sfumato.methods.models.k_anonymity import KAnonymity
    >>> people, step = examples.patients(), KMember(grid={"age": 1})
    >>> released = step.apply(people, step.plan(people, Goal((KAnonymity(2),))))
    >>> sorted(set(released.column("age").to_list()))
    ['25-26', '25-27', '27-28']
    """

    weights: ColumnWeights = Field(default_factory=dict)
    start: Annotated[
        Start, Field(description="where the next cluster starts, relative to the last one")
    ] = "nearest"
    pool: Annotated[
        int,
        Field(ge=0, description="how many times k records a cluster may choose from; 0 for all"),
    ] = 8
    block: Annotated[
        int, Field(ge=2, description="how many different records are clustered at once")
    ] = 50_000
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "k_member"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "": SearchKind("greedy", "bottom-up", "local", "hierarchy or partition")
    }
    recodes_quasi: ClassVar[bool] = True
    retold: ClassVar[tuple[str, ...]] = ("grid",)

    @property
    def coarsens(self) -> bool:
        """Cells become what holds those of their group."""
        return True

    def __post_init__(self) -> None:
        require_steps("KMember", self.grid)

    def plan(self, dataset: Table, goal: Goal) -> ClassRecoding:
        """Cluster the classes of a table."""
        return plan_k_member(
            dataset,
            goal,
            weights=self.weights,
            start=self.start,
            pool=self.pool,
            block=self.block,
            grid=self.grid,
        )

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def contradicted(
        self, plan_section: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That another grid was used."""
        return contradict_grid(self.name, plan_section, self.grid)

    def apply(self, dataset: Table, plan: ClassRecoding) -> Table:
        """Release the clusters."""
        return release_regions(dataset, plan)


def plan_k_member(
    dataset: Table,
    goal: Goal,
    *,
    weights: Mapping[str, float] | None = None,
    start: Start = "nearest",
    pool: int = 8,
    block: int = 50_000,
    grid: Mapping[str, int | float | str] | None = None,
) -> ClassRecoding:
    """The clusters that :class:`KMember` finds, as a plan for :func:`release_regions`."""
    promises = Promises.of(dataset, goal, "k_member")
    classes = promises.classes
    axes = axes_of(classes, dataset.schema, steps=grid)
    promises = promises.on(axes)
    # Refuses weights of unknown columns; the sum does not matter here.
    normalised_weights(classes.columns, weights or {})
    space = space_of(axes, [float((weights or {}).get(axis.column, 1.0)) for axis in axes])
    joining = Joining(promises, axes, space, pool=pool * promises.crowd, far=start == "farthest")
    if classes.total:
        groups = joining.clusters(block, goal.progress)
    else:
        groups = classes.records - 1
    regions = Regions.of(groups, classes.records)
    return recoding(
        classes,
        axes,
        regions,
        method="k-member",
        notes={"start": start, "pool": pool},
        weights=weights,
    )


class Joining:
    """Clusters of a table's classes under promises."""

    def __init__(
        self, promises: Promises, axes: Sequence[Axis], space: Space, *, pool: int, far: bool
    ) -> None:
        self.promises = promises
        self.axes = axes
        self.space = space
        self.pool = pool
        self.far = far
        self.points = points_of(promises.classes, axes)

    def clusters(self, block: int, progress: Progress) -> Ints:
        """The cluster of every class; −1 for those that only a population has."""
        classes = self.promises.classes
        crowd = self.promises.crowd
        groups = np.full(len(classes), -1, dtype=np.int64)
        # k equal records lose nothing as a cluster by themselves; only smaller classes need
        # company.
        alone = np.flatnonzero((classes.sizes >= crowd) & (classes.records > 0))
        groups[alone] = np.arange(len(alone))
        small = np.flatnonzero((classes.sizes < crowd) & (classes.records > 0))
        if len(small):
            self._cluster(small, groups, len(alone), block, progress)
        return self._joined(groups)

    def _cluster(
        self,
        small: Ints,
        groups: Ints,
        start: int,
        block: int,
        progress: Progress,
    ) -> None:
        """Cluster the classes that are no crowd by themselves; what is left over joins the nearest
        cluster of all.
        """
        # Growing one cluster looks at all classes of its block: n² in total, so large tables are
        # cut first.
        blocks = list(blocks_of(self.points[small], self.space, self.promises.crowd, block))
        with ThreadPoolExecutor(max_workers=2) as workers:
            for blocks_done, (members, clusters) in enumerate(
                workers.map(self._one_block, blocks), 1
            ):
                groups[members] = np.where(clusters < 0, -1, clusters + start)
                # Blocks number their clusters from 0; ``start`` makes them unique.
                start += int(clusters.max()) + 1
                progress(blocks_done / len(blocks), WORDS)
        # Each leftover is a group of its own for a moment, so that joining treats all alike.
        leftovers = small[groups[small] < 0]
        groups[leftovers] = start + np.arange(len(leftovers))
        if start:
            targets = np.arange(start)
        else:
            targets = np.array([start])
        self._join(groups, np.arange(start, start + len(leftovers)), targets)

    def _one_block(self, block: NDArray[np.int32]) -> tuple[Ints, Ints]:
        members = block[:, -1].astype(np.int64)
        clusters = np.empty(len(block), dtype=np.int64)
        sizes = self.promises.classes.sizes[members]
        scratch = kernels.points.make_scratch(self.space)
        kernels.partition.cluster_points(
            block,
            sizes,
            (self.promises.crowd, self.pool, self.far),
            self.space,
            scratch,
            clusters,
        )
        return members, clusters

    def _joined(self, groups: Ints) -> Ints:
        """Join clusters that break a promise with their nearest neighbours until all hold."""
        while True:
            # The same groups numbered from 0; −1 stays
            used, numbers = np.unique(groups, return_inverse=True)
            groups = numbers - (1 if len(used) and used[0] < 0 else 0)
            failing = np.flatnonzero(self._failing(groups))
            if not len(failing):
                return groups
            # Every round joins at least one group with another, so one is left at the latest.
            count = int(groups.max()) + 1
            if count == 1:
                raise self.promises.refuse(self.points, "k_member")
            self._join(groups, failing, np.arange(count))

    def _failing(self, groups: Ints) -> NDArray[np.bool_]:
        if not self.promises.settled:
            return self.promises.failing_together(
                Regions.of(groups, self.promises.classes.records), self.axes, self.points
            )
        members = np.flatnonzero(groups >= 0)
        return self.promises.failing(members, groups[members], int(groups.max()) + 1, self.points)

    def _join(
        self,
        groups: Ints,
        small_groups: Ints,
        candidates: Ints,
    ) -> None:
        """Join each of some clusters with the cheapest of the others, one after the other."""
        if not len(small_groups):
            return
        members = np.flatnonzero(groups >= 0)
        count = int(groups.max()) + 1
        # Only what the loss is computed from is needed of a group: its bounding box, its number of
        # different values for columns without order, its records.
        lows, highs = kernels.points.find_boxes(self.points, members, groups[members], count)
        distinct = np.stack(
            [
                _distinct(self.points[members, a], groups[members], count)
                for a in range(lows.shape[1])
            ],
            1,
        )
        records = np.bincount(groups[members], self.promises.classes.records[members], count)
        targets = kernels.partition.find_nearest_groups(
            small_groups, candidates, lows, highs, distinct, records, self.space
        )
        # Chains are followed: when 2 joined 5 and 5 joins 7, all three become 7.
        new = np.arange(count)
        for group, target in zip(small_groups.tolist(), targets.tolist(), strict=True):
            if target >= 0:
                new[new == new[group]] = new[target]
        groups[members] = new[groups[members]]


def _distinct(ranks: NDArray[np.int32], groups: Ints, count: int) -> Ints:
    """How many different ranks each group has."""
    # Group and rank in one word: the upper half is the group.
    pairs = np.unique(groups << 32 | ranks)
    return np.bincount(pairs >> 32, minlength=count)
