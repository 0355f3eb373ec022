"""Regions of a table: which classes are released together, and the recoding that follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.hierarchy import TOP
from sfumato.core.layout import Placement
from sfumato.steps.partition.cells import Cells, cells_of
from sfumato.steps.partition.class_recoding import SUPPRESSED, ClassRecoding, recode_classes
from sfumato.steps.partition.written_alike import written_alike

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.dataset import Dataset
    from sfumato.steps.partition.axes import Axis


@dataclasses.dataclass(frozen=True)
class Regions:
    """Classes region after region: region *r* holds ``members[ends[r−1]:ends[r]]``, ``amounts`` records of each.

    What comes after the last end is suppressed. A class may occur several times, with some of its records each.
    """

    members: NDArray[np.int64]
    amounts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def of(cls, groups: NDArray[np.int64], amounts: NDArray[np.int64]) -> Regions:
        """Class *i* goes to region ``groups[i]``, counted from 0 without gaps; below 0 it is suppressed."""
        import numpy as np

        order = np.argsort(np.where(groups < 0, np.iinfo(np.int64).max, groups), kind="stable")
        ends = np.cumsum(np.bincount(groups[groups >= 0]))
        return cls(order, amounts[order], ends.astype(np.int64))

    def numbers(self) -> NDArray[np.int64]:
        """The region of every member."""
        import numpy as np

        kept = int(self.ends[-1]) if len(self.ends) else 0
        numbers = np.full(len(self.members), SUPPRESSED, dtype=np.int64)
        numbers[:kept] = np.repeat(np.arange(len(self.ends)), np.diff(np.concatenate([[0], self.ends])))
        return numbers

    def loss(self, axes: Sequence[Axis], classes: ClassTable) -> float:
        """The loss of all cells of all records that are released."""
        import numpy as np

        starts = np.concatenate([[0], self.ends[:-1]]).astype(np.int64)
        records = np.add.reduceat(self.amounts, starts)
        return float(sum(records @ self.cells(axis, classes).losses for axis in axes))

    def cells(self, axis: Axis, classes: ClassTable) -> Cells:
        """What each region releases in one column."""
        kept = self.members[: int(self.ends[-1])]
        return cells_of(axis, axis.ranks[classes.codes(axis.column)[kept]], self.ends)


def recoding(
    classes: ClassTable,
    axes: Sequence[Axis],
    regions: Regions,
    *,
    method: str,
    notes: Mapping[str, Any],
) -> ClassRecoding:
    """The plan that releases these regions. Columns that no region changes are left alone."""
    cells = {axis.column: regions.cells(axis, classes) for axis in axes} if len(regions) else {}
    whole = classes.records > 0
    starts, amounts, numbers = _by_class(regions, classes)
    shown = [name for name, column in cells.items() if column.changed]
    return ClassRecoding(
        columns=classes.columns,
        placement=Placement(classes.ladders, classes.levels, classes.layout),
        keys=classes.keys[whole],
        starts=starts,
        amounts=amounts,
        regions=numbers,
        cells={name: cells[name].codes for name in shown},
        labels={name: cells[name].labels for name in shown},
        losses={name: column.losses for name, column in cells.items()},
        method=method,
        notes={"regions": len(regions), **notes},
    )


def _by_class(regions: Regions, classes: ClassTable) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Starts, amounts and regions of the parts, class after class; classes that only a population has are left out."""
    import numpy as np

    order = np.argsort(regions.members, kind="stable")
    order = order[classes.records[regions.members[order]] > 0]
    per_class = np.bincount(regions.members[order], minlength=len(classes))[classes.records > 0]
    starts = np.concatenate([[0], np.cumsum(per_class)]).astype(np.int64)
    return starts, regions.amounts[order], regions.numbers()[order]


def release_regions(dataset: Dataset, plan: ClassRecoding) -> Dataset:
    """Release the regions of a plan; what it leaves alone is written alike where it counts as equal.

    Ranges and sets are no nodes of a column's hierarchy and not listed in its order: such a column has neither any more.
    """
    released = recode_classes(dataset, plan)
    for name in plan.columns:
        if name not in plan.cells:
            released = written_alike(released, name)
    schema = released.schema
    for name in plan.cells:
        ladder = plan.placement.ladders[plan.columns.index(name)]
        known = {TOP, None}.union(*ladder.labels)
        if not known.issuperset(plan.labels[name]):
            schema = schema.replace(name, hierarchy=None, order=None)
    return released.with_schema(schema)
