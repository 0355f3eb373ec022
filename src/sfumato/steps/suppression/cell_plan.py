"""Planning cell suppression: what is asked for, by which method, within what budget."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfumato.core.classes import count_classes
from sfumato.core.evidence import needed
from sfumato.core.step import Plan
from sfumato.errors import Unsatisfiable
from sfumato.steps.suppression.cells import Combinations, Demand, Parts, demands_of, prices_of, require_enough
from sfumato.steps.suppression.exact import fewest_cells, require_small, small_enough
from sfumato.steps.suppression.greedy import suppress_greedily

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.step import Goal
    from sfumato.steps.local.class_recoding import ClassRecoding
    from sfumato.steps.recoding.global_recoding import Recoding

Method = Literal["greedy", "exact", "auto"]
EFFORT = 1000
"""Nodes of each branch and bound of the exact method."""


@dataclasses.dataclass(frozen=True)
class CellSuppression:
    """How cells are to be suppressed. ``budget`` is the share of records that may have a suppressed cell."""

    budget: float = 1.0
    importance: Mapping[str, float] = dataclasses.field(default_factory=dict)
    combinations: Combinations | None = None
    method: Method = "greedy"
    effort: int = EFFORT

    def plan(self, dataset: Dataset, goal: Goal) -> ClassRecoding:
        """Choose the cells."""
        needed(goal.models, dataset.schema)
        demands = demands_of(goal.models, dataset.schema.quasi, self.combinations)
        classes = count_classes(dataset)
        parts = Parts.of(classes, dataset.schema)
        require_enough(len(dataset), demands)
        prices = prices_of(classes, self.importance)
        found, allowed = suppress_greedily(parts, demands, prices, goal.progress), self._allowed(len(dataset))
        method, notes = "greedy cell suppression", _notes(found, demands)
        if self._exactly(parts):
            found, gap = fewest_cells(parts, demands, prices, found, self.effort, allowed)
            method, notes = "exact cell suppression", _notes(found, demands) | gap
        _require_budget(found, len(dataset), allowed)
        return found.recoding(method, notes)

    def _exactly(self, parts: Parts) -> bool:
        if self.method == "exact":
            require_small(parts)
        return self.method == "exact" or (self.method == "auto" and small_enough(parts))

    def _allowed(self, records: int) -> int:
        """How many records may have a suppressed cell."""
        return math.floor(self.budget * records + 1e-9)


def _require_budget(found: Parts, records: int, allowed: int) -> None:
    if found.records_hit > allowed:
        raise Unsatisfiable(
            f"{found.records_hit:,} of {records:,} records would have suppressed cells; the budget allows {allowed:,}. "
            "Raise the budget, lower k, or generalise first",
            closest=found.cells(),
        )


def _notes(found: Parts, demands: tuple[Demand, ...]) -> dict[str, Any]:
    """What the owner should know of a suppression."""
    return {
        "suppressed_cells": sum(found.cells().values()),
        "records_with_suppressed_cells": found.records_hit,
        "of_these_rare_to_who_knows_the_true_values": found.exposed(demands),
    }


# Recoding first, then cell suppression of what is still rare: the way of µ-Argus.


@dataclasses.dataclass(frozen=True, eq=False)
class RecodedCells(Plan):
    """A column recoding that drops no record, and the cells that are suppressed in the recoded table."""

    recoding: Recoding
    cells: ClassRecoding

    recoded_cells: ClassVar[bool] = True

    @property
    def levels(self) -> dict[str, int]:
        """The level of every quasi-identifier."""
        return self.recoding.levels

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the search for the levels warns of."""
        return self.recoding.warnings

    def describe(self) -> dict[str, Any]:
        """Both plans as plain data: no data values."""
        return {
            **self.recoding.describe(),
            "kind": "column recoding, then cell suppression",
            "suppressed_cells": self.cells.suppressed_cells,
            "cells": self.cells.describe(),
        }

    def effort(self) -> dict[str, Any]:
        """How both plans were found, for the owner; the score is that of the levels, rare records counting as lost."""
        return {**self.recoding.effort(), "cells": self.cells.effort()}
