"""A table as equations: what an intruder who sees it can solve, and what must stay unknown."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.results.tables.linear_programs import SmallProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEAR = 1e-9
"""Slack of a comparison, as a share of the largest value of the table: what sums of doubles are off
by.
"""
SOLVER = 1e-6
"""Slack of a comparison in any table: the solver's own is 1e-7 for every sum."""
NOBODY = -1
SEVERAL = -2
"""Who knows a cell that more than one lone respondent knows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    r"""Cells :math:`a` with :math:`Ma = 0`, what an intruder knows of them before, and how far some
    must stay unknown.

    ``matrix`` has a row for every sum: +1 for the parts, −1 for the whole. ``lower`` and ``upper``
    are the intruder's bounds. A cell with ``primary`` must not be narrowed down below
    ``value − down`` or above ``value + up``. ``free`` cells may be suppressed besides, at the cost
    ``weight``. ``owner`` is the respondent who is alone in a cell and so knows it (−1: nobody).
    ``whole`` tells that cells are counts. ``aside`` cells are in no table that is about to
    be published: an intruder does not know them whatever is decided. ``slide`` is how wide the
    interval of a cell must be, wherever it lies.
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
    aside: NDArray[np.bool_] | None = None
    slide: NDArray[np.float64] | None = None

    @cached_property
    def unknown(self) -> NDArray[np.bool_]:
        """The cells that are suppressed whatever else is: those that must stay unknown, and those
        that nobody publishes.
        """
        return self.primary if self.aside is None else self.primary | self.aside

    @property
    def size(self) -> int:
        """Number of cells that differ."""
        return len(self.value)

    @cached_property
    def slack(self) -> float:
        """What counts as nothing in this table."""
        most = float(np.abs(self.value).max(initial=0.0))
        return min(max(SOLVER * min(1.0, most), NEAR * most), 0.01 if self.whole else np.inf)

    @cached_property
    def by_cell(self) -> Any:
        """The equations, column by column."""
        return self.matrix.tocsc()

    @cached_property
    def small(self) -> SmallProgram | None:
        """The equations as a small program, where they are one."""
        return SmallProgram.of(self.matrix, self.slack)

    @property
    def primaries(self) -> NDArray[np.int64]:
        """The cells that must stay unknown."""
        return np.flatnonzero(self.primary)

    @cached_property
    def owned(self) -> dict[int, list[int]]:
        """Every respondent who is alone in some cells → these cells."""
        found: dict[int, list[int]] = {}
        for cell in np.flatnonzero(self.owner != NOBODY).tolist():
            found.setdefault(int(self.owner[cell]), []).append(cell)
        return found

    @cached_property
    def _wholes(self) -> list[tuple[int, ...]]:
        """Per cell the cells that it is a part of by one sum."""
        lines = self.matrix.tocoo()
        whole = np.full(self.matrix.shape[0], -1, dtype=np.int64)
        whole[lines.row[lines.data < 0]] = lines.col[lines.data < 0]
        found: list[list[int]] = [[] for _ in range(self.size)]
        parts = lines.data > 0
        for row, cell in zip(lines.row[parts].tolist(), lines.col[parts].tolist(), strict=True):
            found[cell].append(int(whole[row]))
        return [tuple(one) for one in found]

    def above(self, cell: int) -> set[int]:
        """All cells that hold what a cell holds, and itself."""
        found, left = {cell}, [cell]
        while left:
            fresh = [one for one in self._wholes[left.pop()] if one not in found]
            found.update(fresh)
            left += fresh
        return found

    @cached_property
    def _brought(self) -> dict[int, dict[int, float]]:
        """Per lone respondent the cells above the own ones, and what is in them for certain."""
        found: dict[int, dict[int, float]] = {}
        for owner, cells in self.owned.items():
            known = found.setdefault(owner, {})
            for own in self._pieces(cells):
                for cell in self.above(own):
                    known[cell] = max(known.get(cell, 0.0), float(self.value[own]))
        return found

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        """Per cell that is a sum all the cells that it is a sum of."""
        found: dict[int, list[int]] = {}
        for part, wholes in enumerate(self._wholes):
            for whole in wholes:
                found.setdefault(whole, []).append(part)
        return found

    def _pieces(self, cells: Sequence[int]) -> set[int]:
        """Cells of a lone respondent and all parts of them that hold anything: what is in these is
        the respondent's, too.
        """
        found, left = set(cells), list(cells)
        while left:
            fresh = [
                one
                for one in self._parts.get(left.pop(), ())
                if one not in found and self.value[one] != 0
            ]
            found.update(fresh)
            left += fresh
        return found

    def need(self, cell: int, sign: int, owner: int = NOBODY) -> float:
        """How far up (sign 1) or down (sign −1) a cell must stay unknown to everybody, or to one
        who is alone in some cells.

        Nobody believes in less than nothing, nor one respondent in less than the own cells that the
        cell holds: down is asked for as far as that.
        """
        if sign > 0:
            return float(self.up[cell])
        down = float(self.down[cell])
        if owner == NOBODY or self.lower[cell] < 0:
            return down
        return min(
            down, max(0.0, float(self.value[cell]) - self._brought.get(owner, {}).get(cell, 0.0))
        )

    def wide(self, cell: int) -> float:
        """How wide the interval of a cell must be, wherever it lies."""
        return 0.0 if self.slide is None else float(self.slide[cell])

    @cached_property
    def _inside(self) -> dict[int, NDArray[np.int64]]:
        """Per lone respondent the own cells and all that these are sums of, empty ones too: nobody
        else is in any of them.
        """
        open_to = self.free | self.unknown  # the others are told to be empty
        found: dict[int, NDArray[np.int64]] = {}
        for owner, cells in self.owned.items():
            met, left = set(cells), list(cells)
            while left:
                fresh = [
                    one
                    for one in self._parts.get(left.pop(), ())
                    if one not in met and open_to[one]
                ]
                met.update(fresh)
                left += fresh
            found[owner] = np.array(sorted(met), dtype=np.int64)
        return found

    @cached_property
    def knower(self) -> NDArray[np.int64]:
        """Per cell the lone respondent who knows it: ``NOBODY``, or ``SEVERAL``, as where a
        combination of values lies in the cells of two of them.
        """
        knower = self.owner.copy()
        for owner, cells in self._inside.items():
            other = (knower[cells] != NOBODY) & (knower[cells] != owner)
            knower[cells] = np.where(other, SEVERAL, owner)
        return knower

    def knowers(self, cells: NDArray[np.int64]) -> set[int]:
        """All lone respondents who know some of these cells."""
        known = np.unique(self.knower[cells])
        found = {int(one) for one in known if one not in (NOBODY, SEVERAL)}
        if SEVERAL in known:
            found |= {owner for owner, own in self._inside.items() if np.isin(cells, own).any()}
        return found

    def known_to(self, owner: int) -> NDArray[np.bool_]:
        """The cells that one respondent knows because nobody else is in them."""
        known = np.zeros(self.size, dtype=bool)
        if owner in self._inside:
            known[self._inside[owner]] = True
        return known

    def movable(self, hidden: NDArray[np.bool_], owner: int = NOBODY) -> NDArray[np.bool_]:
        """The cells that an intruder does not know when these are suppressed."""
        return hidden if owner == NOBODY else hidden & ~self.known_to(owner)


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
    """A problem from plain numbers: ``needs`` says how far down and up each primary cell must stay
    unknown.
    """
    from scipy import sparse

    values = np.asarray(value, dtype=np.float64)
    primary, up, down = (
        np.zeros(len(values), dtype=bool),
        np.zeros(len(values)),
        np.zeros(len(values)),
    )
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
