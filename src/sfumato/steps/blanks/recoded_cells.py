"""Recoding first, then cell suppression of what is still rare: the way of µ-Argus."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.steps.global_recoding import Recoding
    from sfumato.steps.partition.class_recoding import ClassRecoding


@dataclasses.dataclass(frozen=True, eq=False)
class RecodedCells:
    """A column recoding that drops no record, and the cells that are suppressed in the recoded table."""

    recoding: Recoding
    cells: ClassRecoding

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
