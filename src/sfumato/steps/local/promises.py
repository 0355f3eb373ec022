"""What every region must keep: the models of a goal, asked about groups of classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Counts, Layout
from sfumato.core.evidence import needed
from sfumato.core.hierarchy import Ladder
from sfumato.core.model import Evidence, Model, Needs, Verdict
from sfumato.core.population import count_needed
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal
    from sfumato.steps.local.axes import Axis
    from sfumato.steps.local.regions import RegionCells, Regions


@dataclasses.dataclass(frozen=True)
class Promises:
    """The models of a goal over the classes of a table.

    ``crowd`` is the k of the strictest k-anonymity (1 without any): records, or persons where the schema knows them.
    ``tests`` are the other models that judge a class by itself, ``wholes`` those that judge all of them together.
    Models that others imply are not asked.
    """

    classes: ClassTable
    schema: Schema
    models: tuple[Model, ...]
    crowd: int
    tests: tuple[Model, ...]
    wholes: tuple[Model, ...]
    reference: Mapping[Column, NDArray[np.int64]]

    @classmethod
    def of(cls, dataset: Dataset, goal: Goal, step: str) -> Promises:
        """Count the classes of a table and sort the models of a goal."""
        if not goal.models:
            raise ParameterError(f"{step} needs a promise to reach; add one under 'meet'")
        schema = dataset.schema
        needed(goal.models, schema)
        others = [m for i, m in enumerate(goal.models) if m.crowd is None and not _implied(i, goal.models)]
        seen = [m for m in others if _judged_on_classes(m, schema)]
        crowds = [_crowd(m, step) for m in goal.models if m.crowd is not None or (m in others and m not in seen)]
        needs = needed(seen, schema) if seen else Needs()
        classes = count_needed(dataset, needs, goal.population)
        return cls(
            classes=classes,
            schema=schema,
            models=goal.models,
            crowd=max(crowds, default=1),
            tests=tuple(m for m in seen if m.scope == "class"),
            wholes=tuple(m for m in seen if m.scope == "table"),
            reference={name: classes.counts[name].total() for name in needs.counts},
        )

    @property
    def only_crowds(self) -> bool:
        """Whether nothing but the number of records of a region matters."""
        return not self.tests and not self.wholes and self.classes.person is None

    @property
    def settled(self) -> bool:
        """Whether regions that hold by themselves surely hold together, even if several release the same cells."""
        return not self.wholes and all(m.monotone for m in self.tests)

    def failing(
        self, members: NDArray[np.int64], groups: NDArray[np.int64], count: int, points: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Which of ``count`` groups of classes break a promise by themselves; ``points`` has a row for every class."""
        merged = self._merged(members, groups, count, points)
        failing: NDArray[np.bool_] = merged.sizes < self.crowd
        for model in self.tests:
            left = np.flatnonzero(~failing)
            if not len(left):
                break
            kept = merged if len(left) == count else merged.take(~failing)
            failing[left[model.failing(Evidence(kept, self.schema, self.reference))]] = True
        return failing

    def failing_together(self, regions: Regions, axes: Sequence[Axis], points: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which regions break a promise when all are released: those with equal cells are judged as one class."""
        cells = [regions.cells(axis, self.classes) for axis in axes]
        table, released = _as_released(cells, axes)
        kept = regions.members[: int(regions.ends[-1])]
        groups = released[regions.numbers()[: len(kept)]]
        merged = dataclasses.replace(self._merged(kept, groups, len(table.keys), points), **vars(table))
        absent = 0 if merged.population is None else int(self._people().sum() - merged.population.sum())
        evidence = Evidence(merged, self.schema, self.reference, absent=absent)
        failing = merged.sizes < self.crowd
        for model in (*self.tests, *self.wholes):
            failing = failing | model.failing(evidence)
        return np.asarray(failing[released])

    def refuse(self, points: NDArray[np.int32], step: str) -> Unsatisfiable:
        """The error to raise when not even the whole table as one region holds; ``closest`` are its verdicts."""
        verdicts = self._verdicts_on_one(points)
        told = "; ".join(f"{v.promise}: {v.sentence}" for v in verdicts if not v.holds)
        advice = "lower the promise, or give the table more records"
        return Unsatisfiable(
            f"{step}: even with all records in one region the promise is not kept ({told}); {advice}", closest=verdicts
        )

    def _verdicts_on_one(self, points: NDArray[np.int32]) -> tuple[Verdict, ...]:
        n = len(self.classes)
        one = self._merged(np.arange(n), np.zeros(n, dtype=np.int64), 1, points)
        evidence = Evidence(one, self.schema, self.reference)
        asked = [m for m in self.models if m.crowd is not None or m in self.tests or m in self.wholes]
        return tuple(m.judge(evidence) for m in asked)

    def _merged(
        self, members: NDArray[np.int64], groups: NDArray[np.int64], count: int, points: NDArray[np.int32]
    ) -> ClassTable:
        """The classes that these groups form; each has the key of one of its members."""
        classes = self.classes
        first = np.zeros(count, dtype=np.int64)
        first[groups] = members
        return dataclasses.replace(
            classes,
            keys=classes.keys[first],
            records=kernels.keys.add_up(classes.records[members], groups, count),
            counts={name: _gathered(c, members).merged(groups, count) for name, c in classes.counts.items()},
            weights=None if classes.weights is None else kernels.keys.add_up(classes.weights[members], groups, count),
            population=None if classes.population is None else self._inside(members, groups, count, points),
        )

    def _people(self) -> NDArray[np.int64]:
        """The population of each class."""
        return np.zeros(0, dtype=np.int64) if self.classes.population is None else self.classes.population

    def _inside(
        self, members: NDArray[np.int64], groups: NDArray[np.int64], count: int, points: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The population of each group: who lies in the box around its records. A hierarchy may cover even more."""
        lows, highs = kernels.space.boxes(points, members, groups, count)
        found: NDArray[np.int64] = kernels.space.people_inside(points, members, groups, self._people(), lows, highs)
        return found


def _implied(i: int, models: Sequence[Model]) -> bool:
    """Whether another model implies model *i*; of two that imply each other the first stays."""
    model = models[i]
    return any(o.implies(model) and (j < i or not model.implies(o)) for j, o in enumerate(models) if j != i)


def _judged_on_classes(model: Model, schema: Schema) -> bool:
    needs = model.needs(schema)
    return not (needs.pairs or needs.posteriors)


def _crowd(model: Model, step: str) -> int:
    """The k from which k-anonymity keeps a promise."""
    if model.enough_k is None:
        raise ParameterError(
            f"{step} cannot plan for {model.promise}: it is judged on the finished release; use another step for it"
        )
    return model.enough_k


def _gathered(counts: Counts, members: NDArray[np.int64]) -> Counts:
    """Counts of some classes, in the order given."""
    lengths = np.diff(counts.starts)[members]
    ends = np.cumsum(lengths)
    taken = np.repeat(counts.starts[members] - ends + lengths, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    starts = np.concatenate([[0], ends]).astype(np.int64)
    return Counts(starts, counts.codes[taken], counts.counts[taken], counts.labels, counts.worked_out)


@dataclasses.dataclass(frozen=True)
class _Released:
    """The fields of a class table that say what the classes look like."""

    columns: tuple[str, ...]
    ladders: tuple[Ladder, ...]
    levels: tuple[int, ...]
    layout: Layout
    keys: NDArray[np.uint64]


def _as_released(cells: Sequence[RegionCells], axes: Sequence[Axis]) -> tuple[_Released, NDArray[np.int64]]:
    """The classes that the cells of regions form, and the class of every region."""
    layout = Layout.of([len(column.labels) for column in cells])
    keys = np.zeros((len(cells[0].codes), layout.length), dtype=np.uint64)
    for a, column in enumerate(cells):
        kernels.keys.pack(keys, column.codes, layout.words[a], layout.shifts[a])
    ids, first = kernels.keys.group(keys)
    ladders = tuple(Ladder((c.labels,), (), (np.ones(len(c.labels)),), (np.zeros(len(c.labels)),)) for c in cells)
    columns = tuple(axis.column for axis in axes)
    return _Released(columns, ladders, (0,) * len(columns), layout, keys[first]), ids
