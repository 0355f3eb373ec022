"""Attribute suppression: columns are kept whole or dropped, nothing between."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.evidence import needed
from sfumato.core.hierarchy import Ladder, all_or_nothing, ends_of
from sfumato.core.objective import Objective, Tally
from sfumato.core.population import count_needed
from sfumato.core.step import Goal, Plan
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.steps.recoding.lattice import Lattice, normalised_weights
from sfumato.steps.recoding.optimal import Search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True)
class DroppedColumns(Plan):
    """Which quasi-identifiers are dropped; ``score`` is their share of all importance."""

    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    score: float
    looked_at: int

    objective = "importance_dropped"

    def describe(self) -> dict[str, Any]:
        """The plan as plain data: no data values."""
        return {"kind": "attribute suppression", "columns": list(self.dropped), "suppressed_records": 0}

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> dict[str, Any]:
        """How the plan was found, for the owner."""
        return {"objective": self.objective, "score": self.score, "nodes_looked_at": self.looked_at}


def least_important_columns(
    dataset: Dataset, goal: Goal, importance: Mapping[str, float], budget: float
) -> DroppedColumns:
    """The columns of least total importance without which the promises hold; at most a share of all columns.

    The lattice has two levels a column. Equal sets: fewer columns win, then those with many values are dropped.
    """
    classes = _counted(dataset, goal)
    allowed = math.floor(budget * len(classes.columns) + 1e-9)
    weights = normalised_weights(classes.columns, importance)
    lattice = Lattice(
        base=dataclasses.replace(classes, ladders=tuple(all_or_nothing(ladder) for ladder in classes.ladders)),
        schema=dataset.schema,
        models=goal.models,
        objective=_importance(dataset, goal, classes.columns, allowed),
        low=(0,) * len(weights),
        high=(1,) * len(weights),
        budget=0,
        weights=weights,
        reference={c: classes.counts[c].total() for c in needed(goal.models, dataset.schema).counts},
    )
    search = Search(lattice, goal.progress).run()
    if search.best is None or search.best.score > 1:
        promises = " and ".join(m.promise for m in goal.models)
        raise Unsatisfiable(
            f"no set of at most {allowed} dropped columns keeps {promises} and leaves a table to judge; "
            "raise the budget, lower the promise, or generalise or drop records instead",
            closest=search.closest,
        )
    gone = {name for name, level in zip(lattice.columns, search.best.node, strict=True) if level}
    quasi = dataset.schema.quasi
    return DroppedColumns(
        dropped=tuple(name for name in quasi if name in gone),
        kept=tuple(name for name in quasi if name not in gone),
        score=search.best.score,
        looked_at=search.looked_at,
    )


def _counted(dataset: Dataset, goal: Goal) -> ClassTable:
    classes = count_needed(dataset, needed(goal.models, dataset.schema), goal.population)
    values = {name: len(ladder.labels[0]) for name, ladder in zip(classes.columns, classes.ladders, strict=True)}
    return classes.reordered(sorted(classes.columns, key=lambda name: (values[name], name)))


def _importance(dataset: Dataset, goal: Goal, columns: tuple[str, ...], allowed: int) -> Objective:
    """Share of importance that is dropped; more than 1 where too much is dropped, or what the promises speak of."""

    def dropped(tally: Tally) -> float:
        gone = [name for name, level in zip(columns, tally.levels, strict=True) if level]
        if len(gone) > allowed or not _judgeable(dataset, goal, gone):
            return 2.0 + len(gone)
        return math.fsum(w for w, level in zip(tally.weights, tally.levels, strict=True) if level)

    return Objective("importance_dropped", "importance of the dropped columns", _no_cost, dropped)


def _judgeable(dataset: Dataset, goal: Goal, gone: list[str]) -> bool:
    try:
        needed(goal.models, dataset.schema.without(gone))
    except SchemaError:
        return False
    return True


def _no_cost(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    return [np.zeros(len(labels)) for labels in ladder.labels]


def ends_only(lattice: Lattice) -> Lattice:
    """The same lattice with nothing between the lowest and the highest level of a hierarchy.

    A column without a hierarchy stays as it is, and so does one whose levels are bounded below the top.
    """
    neither = [
        name
        for name, low, high, top in zip(lattice.columns, lattice.low, lattice.high, lattice.tops, strict=True)
        if 0 < low <= high < top
    ]
    if neither:
        raise ParameterError(
            f"attribute suppression keeps a column as it is or suppresses all of it; the level bounds of "
            f"{', '.join(neither)} allow neither"
        )
    return dataclasses.replace(
        lattice,
        base=dataclasses.replace(lattice.base, ladders=tuple(ends_of(ladder) for ladder in lattice.base.ladders)),
        low=tuple(int(low > 0) for low in lattice.low),
        high=tuple(int(high == top > 0) for high, top in zip(lattice.high, lattice.tops, strict=True)),
    )
