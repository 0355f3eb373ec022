"""A table as equations: what an intruder who sees it can solve, and what must stay unknown."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEAR = 1e-7
"""Slack of a comparison, as a share of the largest value of the table: the solver's own is 1e-7."""
NOBODY = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    r"""Cells :math:`a` with :math:`Ma = 0`, what an intruder knows of them before, and how far some must stay unknown.

    ``matrix`` has a row for every sum: +1 for the parts, −1 for the whole. ``lower`` and ``upper`` are the intruder's bounds. A cell with ``primary``
    must not be narrowed down below ``value − down`` or above ``value + up``. ``free`` cells may be suppressed besides, at the cost ``weight``. ``owner`` is the
    respondent who is alone in a cell and so knows it (−1: nobody). ``whole`` tells that cells are counts.
    """

    matrix: Any
    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    primary: NDArray[np.bool_]
    up: NDArray[np.float64]
    down: NDArray[np.float64]
    weight: NDArray[np.float64]
    free: NDArray[np.bool_]
    owner: NDArray[np.int64]
    whole: bool = False

    @property
    def size(self) -> int:
        """Number of cells that differ."""
        return len(self.value)

    @cached_property
    def slack(self) -> float:
        """What counts as nothing in this table."""
        near = NEAR * max(1.0, float(np.abs(self.value).max(initial=0.0)))
        return min(near, 0.01) if self.whole else near

    @cached_property
    def by_cell(self) -> Any:
        """The equations, column by column."""
        return self.matrix.tocsc()

    @property
    def primaries(self) -> NDArray[np.int64]:
        """The cells that must stay unknown."""
        return np.flatnonzero(self.primary)

    def need(self, cell: int, sign: int) -> float:
        """How far up (sign 1) or down (sign −1) a cell must stay unknown."""
        return float(self.up[cell] if sign > 0 else self.down[cell])

    def known_to(self, owner: int) -> NDArray[np.bool_]:
        """The cells that one respondent knows because nobody else is in them."""
        return np.zeros(self.size, dtype=bool) if owner == NOBODY else self.owner == owner

    def movable(self, hidden: NDArray[np.bool_], owner: int = NOBODY) -> NDArray[np.bool_]:
        """The cells that an intruder does not know when these are suppressed."""
        return hidden if owner == NOBODY else hidden & (self.owner != owner)


def problem_of(
    matrix: Any,
    value: Sequence[float] | NDArray[np.float64],
    needs: dict[int, tuple[float, float]],
    *,
    owner: dict[int, int] | None = None,
    upper: float | None = None,
    whole: bool = False,
    weight: NDArray[np.float64] | None = None,
) -> Problem:
    """A problem from plain numbers: ``needs`` says how far down and up each primary cell must stay unknown."""
    from scipy import sparse

    values = np.asarray(value, dtype=np.float64)
    primary, up, down = np.zeros(len(values), dtype=bool), np.zeros(len(values)), np.zeros(len(values))
    for cell, (low, high) in needs.items():
        primary[cell], down[cell], up[cell] = True, low, high
    who = np.full(len(values), NOBODY, dtype=np.int64)
    for cell, respondent in (owner or {}).items():
        who[cell] = respondent
    ceiling = float(values.max(initial=0.0)) if upper is None else upper
    return Problem(
        sparse.csr_matrix(matrix),
        values,
        np.zeros(len(values)),
        np.full(len(values), ceiling),
        primary,
        up,
        down,
        values.copy() if weight is None else weight,
        values > 0,
        who,
        whole,
    )
