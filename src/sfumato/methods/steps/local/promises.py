"""What every region must keep: the models of a goal, asked about groups of classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Counts, Layout
from sfumato.core.evidence import needed
from sfumato.core.groups import places_in_groups
from sfumato.core.hierarchy import Ladder
from sfumato.core.model import ClassEvidence, Model, Needs
from sfumato.core.population import count_needed
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.methods.steps.local.atoms import Atoms, Outline, Parts, Terrain
from sfumato.methods.steps.local.axes import Axis, points_of
from sfumato.methods.steps.local.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal
    from sfumato.core.table import Table
    from sfumato.kernels.points import Space
    from sfumato.methods.steps.local.axes import Axis
    from sfumato.methods.steps.local.regions import RegionCells

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


LARGEST = 64
"""Regions with more parts than this are left alone: one record is rarely what makes them wide."""
GAIN = 1e-9
AT_ONCE = 4
"""In a round the best one in so many trims is made; the others are measured again."""


@dataclasses.dataclass(frozen=True)
class Promises:
    """The models of a goal over the classes of a table.

    ``crowd`` is the k of the strictest k-anonymity (1 without any): records, or persons where the
    schema knows them. ``tests`` are the other models that judge a class by itself, ``wholes`` those
    that judge all of them together. Models that others imply are not asked.
    """

    classes: ClassTable
    schema: Schema
    models: tuple[Model, ...]
    crowd: int
    tests: tuple[Model, ...]
    wholes: tuple[Model, ...]
    reference: Mapping[Column, Ints]
    cells: tuple[tuple[Ints, Ints], ...] = ()
    """Per dimension the first and last rank of the cell of every rank: a range covers all people of
    its cells.
    """

    @classmethod
    def of(cls, dataset: Table, goal: Goal, step: str) -> Promises:
        """Count the classes of a table and sort the models of a goal."""
        if not goal.models:
            raise ParameterError(f"{step} needs a promise to reach; add one under 'meet'")
        schema = dataset.schema
        needed(goal.models, schema)
        class_models = []
        crowds = []
        for i, model in enumerate(goal.models):
            if model.crowd is None and _is_implied(i, goal.models):
                continue
            if model.crowd is None and _judged_on_classes(model, schema):
                class_models.append(model)
            else:  # reached by a crowd that is large enough
                crowds.append(_crowd(model, step))
        needs = needed(class_models, schema) if class_models else Needs()
        classes = count_needed(dataset, needs, goal.population)
        reference = {name: classes.counts[name].total() for name in needs.counts}
        return cls(
            classes=classes,
            schema=schema,
            models=goal.models,
            crowd=max(crowds, default=1),
            tests=tuple(m for m in class_models if m.scope == "class"),
            wholes=tuple(m for m in class_models if m.scope == "table"),
            reference=reference,
        )

    def on(self, axes: Sequence[Axis]) -> Promises:
        """The same, about regions along some axes."""
        return dataclasses.replace(self, cells=tuple((axis.first, axis.last) for axis in axes))

    @property
    def only_crowds(self) -> bool:
        """Whether nothing but the number of records of a region matters."""
        return not self.tests and not self.wholes and self.classes.person is None

    @property
    def settled(self) -> bool:
        """Whether regions that hold by themselves surely hold together, even if several release the
        same cells.
        """
        return not self.wholes and all(m.monotone for m in self.tests)

    def failing(
        self,
        members: Ints,
        groups: Ints,
        count: int,
        points: NDArray[np.int32],
    ) -> Flags:
        """Which of ``count`` groups of classes break a promise by themselves; ``points`` has a row
        for every class.
        """
        merged = self._merged(members, groups, count, points)
        # Cheapest test first; each model sees only the groups that passed so far.
        failing: Flags = merged.sizes < self.crowd
        for model in self.tests:
            passing = np.flatnonzero(~failing)
            if not len(passing):
                break
            passing_classes = merged
            if len(passing) < count:
                passing_classes = merged.take(~failing)
            evidence = ClassEvidence(passing_classes, self.schema, self.reference)
            failing[passing[model.failing(evidence)]] = True
        return failing

    def failing_together(
        self, regions: Regions, axes: Sequence[Axis], points: NDArray[np.int32]
    ) -> Flags:
        """Which regions break a promise when all are released: those with equal cells are judged as
        one class.
        """
        cells = [regions.cells(axis, self.classes) for axis in axes]
        # Two regions with the same labels are one class in the release.
        table, released = _as_released(cells, axes)
        members = regions.members[: int(regions.ends[-1])]
        groups = released[regions.numbers()[: len(members)]]
        merged = dataclasses.replace(
            self._merged(members, groups, len(table.keys), points), **vars(table)
        )
        # People of the population who match no released cell.
        if merged.population is None:
            absent = 0
        else:
            absent = int(self._people().sum() - merged.population.sum())
        evidence = ClassEvidence(merged, self.schema, self.reference, absent=absent)
        failing = merged.sizes < self.crowd
        for model in (*self.tests, *self.wholes):
            failing = failing | model.failing(evidence)
        return np.asarray(failing[released])

    def refuse(self, points: NDArray[np.int32], step: str) -> Unsatisfiable:
        """The error to raise when not even the whole table as one region holds; ``closest`` are its
        verdicts.
        """
        n = len(self.classes)
        single_class = self._merged(np.arange(n), np.zeros(n, dtype=np.int64), 1, points)
        evidence = ClassEvidence(single_class, self.schema, self.reference)
        models = []
        for m in self.models:
            if m.crowd is not None or m in self.tests or m in self.wholes:
                models.append(m)
        verdicts = tuple(m.judge(evidence) for m in models)
        broken = "; ".join(f"{v.promise}: {v.sentence}" for v in verdicts if not v.holds)
        advice = "lower the promise, or give a table with more records"
        return Unsatisfiable(
            f"{step}: even one region of all records does not hold the promise ({broken}); "
            f"{advice}",
            closest=verdicts,
        )

    def _merged(
        self,
        members: Ints,
        groups: Ints,
        count: int,
        points: NDArray[np.int32],
    ) -> ClassTable:
        """The classes that these groups form; each has the key of one of its members."""
        classes = self.classes
        # The last member written stays: any one will do as a key.
        some_member = np.zeros(count, dtype=np.int64)
        some_member[groups] = members
        counts = {}
        for name, column in classes.counts.items():
            member_counts = _gather_counts(column, members)
            counts[name] = member_counts.merged(groups, count)
        weights = None
        if classes.weights is not None:
            weights = kernels.keys.add_up(classes.weights[members], groups, count)
        population = None
        if classes.population is not None:
            population = self._inside(members, groups, count, points)
        records = kernels.keys.add_up(classes.records[members], groups, count)
        return dataclasses.replace(
            classes,
            keys=classes.keys[some_member],
            records=records,
            counts=counts,
            weights=weights,
            population=population,
        )

    def _people(self) -> Ints:
        """The population of each class."""
        if self.classes.population is None:
            return np.zeros(0, dtype=np.int64)
        return self.classes.population

    def _inside(
        self,
        members: Ints,
        groups: Ints,
        count: int,
        points: NDArray[np.int32],
    ) -> Ints:
        """The population of each group: who lies in the box around its records. A hierarchy may
        cover even more.
        """
        lows, highs = kernels.points.find_boxes(points, members, groups, count)
        # A range is released as whole cells of the grid, and people of these cells match it.
        for a, (first, last) in enumerate(self.cells):
            wide = np.flatnonzero(lows[:, a] < highs[:, a])
            lows[wide, a], highs[wide, a] = first[lows[wide, a]], last[highs[wide, a]]
        people: Ints = kernels.points.count_people_inside(
            points, members, groups, self._people(), lows, highs
        )
        return people


def _is_implied(i: int, models: Sequence[Model]) -> bool:
    """Whether another model implies model *i*; of two that imply each other the first stays."""
    model = models[i]
    return any(
        o.implies(model) and (j < i or not model.implies(o)) for j, o in enumerate(models) if j != i
    )


def _judged_on_classes(model: Model, schema: Schema) -> bool:
    needs = model.needs(schema)
    return not (needs.pairs or needs.posteriors)


def _crowd(model: Model, step: str) -> int:
    """The k from which k-anonymity keeps a promise."""
    if model.enough_k is None:
        raise ParameterError(
            f"{step} cannot plan for {model.promise}: it is judged on the finished release; use"
            " another step for it"
        )
    return model.enough_k


def _gather_counts(counts: Counts, members: Ints) -> Counts:
    """Counts of some classes, in the order given."""
    lengths = np.diff(counts.starts)[members]
    ends = np.cumsum(lengths)
    # Entry j of member i moves from counts.starts[members[i]] + j to starts[i] + j.
    starts = np.concatenate([[0], ends]).astype(np.int64)
    shifts = np.repeat(counts.starts[members] - starts[:-1], lengths)
    positions = shifts + np.arange(starts[-1])
    return Counts(
        starts,
        counts.codes[positions],
        counts=counts.counts[positions],
        labels=counts.labels,
        worked_out=counts.worked_out,
    )


@dataclasses.dataclass(frozen=True)
class _ClassForm:
    """The fields of a class table that say what the classes look like."""

    columns: tuple[str, ...]
    ladders: tuple[Ladder, ...]
    levels: tuple[int, ...]
    layout: Layout
    keys: NDArray[np.uint64]


def _as_released(cells: Sequence[RegionCells], axes: Sequence[Axis]) -> tuple[_ClassForm, Ints]:
    """The classes that the cells of regions form, and the class of every region."""
    layout = Layout.of([len(column.labels) for column in cells])
    keys = np.zeros((len(cells[0].codes), layout.length), dtype=np.uint64)
    for a, column in enumerate(cells):
        kernels.keys.pack(keys, column.codes, layout.words[a], layout.shifts[a])
    ids, first = kernels.keys.group(keys)
    ladders = tuple(
        Ladder((c.labels,), (), (np.ones(len(c.labels)),), (np.zeros(len(c.labels)),))
        for c in cells
    )
    columns = tuple(axis.column for axis in axes)
    return _ClassForm(
        columns, ladders, levels=(0,) * len(columns), layout=layout, keys=keys[first]
    ), ids


# Dropping outliers: records without which the others of their region can be told more precisely.


def drop_outliers(
    parts: Parts,
    atoms: Atoms,
    terrain: Terrain,
    budget: int,
    failing: Callable[[ClassTable], Flags],
) -> Parts:
    """Drop the parts whose removal gains most, a dropped record counting as lost, until the budget
    is used up.

    One part a region and round: what its region then looks like decides about the next.
    """
    parts = parts.tidy()
    while budget > 0:
        candidates, gains = _candidates(parts, atoms, terrain, failing)
        # Greedy: the greatest gains first, as long as they fit into the budget together.
        order = np.lexsort((candidates, -gains))
        spent = np.cumsum(parts.amounts[candidates[order]])
        going = candidates[order][spent <= budget]
        if not len(going):
            break
        budget -= int(parts.amounts[going].sum())
        retained = np.ones(len(parts.atoms), dtype=np.bool_)
        retained[going] = False
        retained_parts = Parts(
            parts.atoms[retained], parts.regions[retained], parts.amounts[retained]
        )
        parts = retained_parts.tidy()
    return parts


def _candidates(
    parts: Parts, atoms: Atoms, terrain: Terrain, failing: Callable[[ClassTable], Flags]
) -> tuple[Ints, NDArray[np.float64]]:
    """The best part of each region to drop, where that gains and the others still hold; and the
    gains.
    """
    before = Outline.tightest(parts, atoms, terrain).costs(atoms, terrain)
    sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
    lengths = np.diff(parts.starts())
    # A dropped record loses 1, so a region that loses less than 1 in all cannot gain.
    open_ = (sizes * before > 1 + GAIN) & (lengths > 1) & (lengths <= LARGEST)
    dropped = np.flatnonzero(open_[parts.regions])
    if not len(dropped):
        return dropped, np.zeros(0)
    without = _without(parts, dropped, lengths)
    after = Outline.tightest(without, atoms, terrain).costs(atoms, terrain)
    region = parts.regions[dropped]
    lost = parts.amounts[dropped]
    # Loss before, less the loss of those who stay, less 1 for each dropped record.
    lost_risk = (sizes[region] - lost) * after
    gains = sizes[region] * before[region] - lost_risk - lost
    table = atoms.table(without.atoms, without.amounts, without.regions, len(dropped))
    good = (gains > GAIN) & ~failing(table)
    return _best_of_each(dropped[good], gains[good], region[good])


def _without(parts: Parts, dropped: Ints, lengths: Ints) -> Parts:
    """For each dropped part, the other parts of its region, as a region of their own."""
    group_sizes = lengths[parts.regions[dropped]]
    first = parts.starts()[parts.regions[dropped]]
    number = np.repeat(np.arange(len(dropped)), group_sizes)
    # Row q of the list is the part at first[number[q]] plus its place within its group.
    positions = places_in_groups(group_sizes) + first[number]
    is_other = positions != dropped[number]
    return Parts(
        parts.atoms[positions[is_other]], number[is_other], parts.amounts[positions[is_other]]
    )


def _best_of_each(
    dropped: Ints, gains: NDArray[np.float64], regions: Ints
) -> tuple[Ints, NDArray[np.float64]]:
    # Per region the greatest gain first, equal ones by position.
    order = np.lexsort((dropped, -gains, regions))
    first = order[np.flatnonzero(np.diff(regions[order], prepend=-1))]
    return dropped[first], gains[first]


# Suppressing outliers: a few records without which the others of their region lose much less.


def without_outliers(
    regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space, allowed: int
) -> Regions:
    r"""Trim regions as long as that lowers the loss of the table, and at most ``allowed`` records
    go.

    A trim takes the lowest or highest values of a line, one value of a set, or all but one branch
    of a tree out of a region. With *r* of *n* records gone and :math:`\Delta` less loss per record
    left it gains
    :math:`(n - r)\Delta - r(d - \ell)`, as the :math:`r` records lose all *d* cells instead
    of :math:`\ell`; those that gain most per record go first. What is left of a region keeps the
    promises.
    """
    trimmed = _Trimming(regions, promises, axes, space).run(allowed)
    if (
        promises.settled
        or not promises.failing_together(trimmed, axes, points_of(promises.classes, axes)).any()
    ):
        return trimmed
    return regions


class _Trimming:
    def __init__(
        self, regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space
    ) -> None:
        self.promises = promises
        self.space = space
        self.original = points_of(promises.classes, axes)
        self.points = self.original[regions.members]
        self.points[:, -2] = regions.amounts
        self.starts = np.concatenate([[0], regions.ends[:-1]]).astype(np.int64)
        self.borders = regions.ends
        self.ends = regions.ends.copy()
        self.scratch = kernels.points.make_scratch(space)
        self.trims = np.zeros((len(regions), 6))

    def run(self, allowed: int) -> Regions:
        """Trim the regions, the best trims first."""
        self._measure(np.arange(len(self.starts)))
        while allowed > 0:
            regions = self._best(allowed)
            if not len(regions):
                break
            trimmed_regions = self._trim(regions)
            allowed -= int(self.trims[trimmed_regions, 5].sum())
            self.trims[regions, 0] = 0.0
            self._measure(trimmed_regions)
        return self._regions()

    def _measure(self, regions: Ints) -> None:
        crowd = self.promises.crowd
        starts = self.starts[regions]
        ends = self.ends[regions]
        self.trims[regions] = kernels.partition.find_trims(
            self.points, starts, ends, crowd, self.space, self.scratch
        )

    def _best(self, allowed: int) -> Ints:
        """The regions to trim in this round."""
        worth = self.trims[:, 0]
        gone = self.trims[:, 5]
        worthy = np.flatnonzero((worth > 1e-12) & (gone <= allowed))
        batch = -(-len(worthy) // AT_ONCE)
        by_worth = np.argsort(-worth[worthy], kind="stable")
        worthy = worthy[by_worth][:batch]
        return worthy[np.cumsum(gone[worthy]) <= allowed]

    def _trim(self, regions: Ints) -> Ints:
        """Trim some regions; returns those that keep the promises even so, the others are left
        whole.
        """
        starts = self.starts[regions]
        before = self.ends[regions]
        self.ends[regions] = kernels.partition.trim_regions(
            self.points, starts, before, self.trims[regions]
        )
        if self.promises.only_crowds:
            return regions
        lengths = self.ends[regions] - starts
        shifts = starts - np.cumsum(lengths) + lengths
        positions = np.repeat(shifts, lengths) + np.arange(int(lengths.sum()))
        groups = np.repeat(np.arange(len(regions)), lengths)
        members = self.points[positions, -1].astype(np.int64)
        failing = self.promises.failing(members, groups, len(regions), self.original)
        self.ends[regions[failing]] = before[failing]
        return regions[~failing]

    def _regions(self) -> Regions:
        lengths = self.ends - self.starts
        whole = self.borders - self.starts
        within = np.arange(len(self.points)) - np.repeat(self.starts, whole)
        is_inside = within < np.repeat(lengths, whole)
        numbers_repeated = np.repeat(np.arange(len(lengths)), whole)
        numbers = np.where(is_inside, numbers_repeated, -1)
        ordered = Regions.of(numbers, self.points[:, -2].astype(np.int64))
        members = self.points[ordered.members, -1].astype(np.int64)
        return Regions(members, ordered.amounts, ordered.ends)
