"""From regions to a plan: what each region releases, and whether the promises hold on all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.hierarchy import Ladder, bind
from sfumato.core.layout import Layout
from sfumato.steps.partition.class_recoding import SUPPRESSED, ClassRecoding
from sfumato.steps.search.reach import warnings_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.steps.local.parts import Parts, Shape
    from sfumato.steps.local.terrain import Atoms
    from sfumato.steps.search.lattice import Lattice


@dataclasses.dataclass(frozen=True)
class LocalPlan(ClassRecoding):
    """A class recoding whose rows are told apart by more than the quasi-identifiers: ``losses`` names only these."""

    @property
    def score(self) -> float:
        """Mean loss of a cell over all quasi-identifiers; the cells of dropped records count 1."""
        return dataclasses.replace(self, columns=tuple(self.losses)).plain_score()

    def plain_score(self) -> float:
        """The score over all columns that the plan has."""
        return ClassRecoding.score.fget(self)  # type: ignore[attr-defined,no-any-return]

    @property
    def warnings(self) -> tuple[str, ...]:
        """That the lattice it started from was too large to decide."""
        return warnings_of(self.notes)

    def describe(self) -> dict[str, Any]:
        """The plan as plain data: no data values."""
        warned = {"warning": self.warnings[0]} if self.warnings else {}
        return {**ClassRecoding.describe(self), "columns": list(self.losses), **warned}


@dataclasses.dataclass(frozen=True)
class Column:
    """What regions release in one column: ``labels[codes[region]]`` at a loss; ``changed``: not all as it was."""

    codes: NDArray[np.int64]
    labels: tuple[str | None, ...]
    losses: NDArray[np.float64]
    changed: bool


def column_of(ladder: Ladder, levels: NDArray[np.int64], codes: NDArray[np.int64]) -> Column:
    """The cells of one column, from the level of each region and the code of any record in it."""
    import numpy as np

    known: dict[str | None, int] = {}
    found = np.zeros(len(levels), dtype=np.int64)
    losses = np.zeros(len(levels))
    for level in np.unique(levels).tolist():
        at = np.flatnonzero(levels == level)
        nodes = ladder.climb(0, level)[codes[at]]
        names = ladder.labels[level]
        numbers = np.array([known.setdefault(names[node], len(known)) for node in np.unique(nodes).tolist()])
        found[at] = numbers[np.searchsorted(np.unique(nodes), nodes)]
        losses[at] = ladder.loss[level][nodes]
    return Column(found, tuple(known), losses, bool(len(levels)) and bool(levels.max() > 0))


def columns_of(lattice: Lattice, atoms: Atoms, shape: Shape) -> dict[str, Column]:
    """The cells of all quasi-identifiers."""
    ladders = lattice.base.ladders
    return {
        name: column_of(ladders[a], shape.levels[:, a], atoms.codes[shape.members, a])
        for a, name in enumerate(lattice.columns)
    }


def holds(lattice: Lattice, atoms: Atoms, parts: Parts, columns: Mapping[str, Column]) -> bool:
    """Whether all promises hold on what would be released; regions that look alike count as one class."""
    table = _released(atoms, parts, columns)
    return not lattice.failing(table).any() if len(table) else True


def _released(atoms: Atoms, parts: Parts, columns: Mapping[str, Column]) -> ClassTable:
    import numpy as np

    from sfumato.kernels.keys import group, pack

    layout = Layout.of([len(column.labels) for column in columns.values()])
    keys = np.zeros((parts.count, layout.length), dtype=np.uint64)
    for a, column in enumerate(columns.values()):
        pack(keys, column.codes, layout.words[a], layout.shifts[a])
    ids, first = group(keys)
    table = atoms.table(parts.atoms, parts.amounts, ids[parts.regions], len(first))
    return dataclasses.replace(
        table,
        ladders=tuple(_flat(column.labels) for column in columns.values()),
        levels=(0,) * len(columns),
        layout=layout,
        keys=keys[first],
    )


def _flat(labels: tuple[str | None, ...]) -> Ladder:
    """A ladder without steps whose codes are those of the labels."""
    import numpy as np

    ladder = bind(None, labels, [1] * len(labels))
    return dataclasses.replace(ladder, labels=(labels,), leaves=(np.ones(len(labels)),), loss=(np.zeros(len(labels)),))


def plan_of(
    atoms: Atoms, parts: Parts, columns: Mapping[str, Column], *, method: str, notes: Mapping[str, Any]
) -> LocalPlan:
    """The plan that releases these regions and drops what they do not hold."""
    import numpy as np

    left = parts.left(atoms)
    gone = np.flatnonzero(left)
    who = np.concatenate([parts.atoms, gone])
    regions = np.concatenate([parts.regions, np.full(len(gone), SUPPRESSED)])
    amounts = np.concatenate([parts.amounts, left[gone]])
    order = np.lexsort((np.where(regions == SUPPRESSED, parts.count, regions), who))
    starts = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=len(atoms)))]).astype(np.int64)
    shown = {name: column for name, column in columns.items() if column.changed}
    return LocalPlan(
        columns=atoms.columns,
        placement=atoms.placement,
        keys=atoms.keys,
        starts=starts,
        amounts=amounts[order],
        regions=regions[order],
        cells={name: column.codes for name, column in shown.items()},
        labels={name: column.labels for name, column in shown.items()},
        losses={name: column.losses for name, column in columns.items()},
        method=method,
        notes={"regions": parts.count, **notes},
    )
