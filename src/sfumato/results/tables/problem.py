"""A table as equations: what an intruder who sees it can solve, and what must stay unknown."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.results.tables.linear_programs import SmallProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.results.tables.arrays import Codes, Floats, Mask

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
    value: Floats
    lower: Floats
    upper: Floats
    primary: Mask
    up: Floats
    down: Floats
    weight: Floats
    free: Mask
    owner: Codes
    whole: bool = False
    aside: Mask | None = None
    slide: Floats | None = None

    @cached_property
    def unknown(self) -> Mask:
        """The cells that are suppressed whatever else is: those that must stay unknown, and those
        that nobody publishes.
        """
        if self.aside is None:
            return self.primary
        return self.primary | self.aside

    @property
    def size(self) -> int:
        """Number of cells that differ."""
        return len(self.value)

    @cached_property
    def slack(self) -> float:
        """What counts as nothing in this table."""
        # relative to the largest cell, but with counts never so much that a person could hide in it
        largest = float(np.abs(self.value).max(initial=0.0))
        return min(max(SOLVER * min(1.0, largest), NEAR * largest), 0.01 if self.whole else np.inf)

    @cached_property
    def by_cell(self) -> Any:
        """The equations, column by column."""
        return self.matrix.tocsc()

    @cached_property
    def small(self) -> SmallProgram | None:
        """The equations as a small program, where they are one."""
        return SmallProgram.of(self.matrix, self.slack)

    @property
    def primaries(self) -> Codes:
        """The cells that must stay unknown."""
        return np.flatnonzero(self.primary)

    @cached_property
    def owned(self) -> dict[int, list[int]]:
        """Every respondent who is alone in some cells → these cells."""
        cells_by_owner: dict[int, list[int]] = {}
        for cell in np.flatnonzero(self.owner != NOBODY).tolist():
            cells_by_owner.setdefault(int(self.owner[cell]), []).append(cell)
        return cells_by_owner

    @cached_property
    def _wholes(self) -> list[tuple[int, ...]]:
        """Per cell the cells that it is a part of by one sum."""
        lines = self.matrix.tocoo()
        # the cell with −1 is the whole of a row
        whole = np.full(self.matrix.shape[0], -1, dtype=np.int64)
        whole[lines.row[lines.data < 0]] = lines.col[lines.data < 0]
        wholes: list[list[int]] = [[] for _ in range(self.size)]
        parts = lines.data > 0
        for row, cell in zip(lines.row[parts].tolist(), lines.col[parts].tolist(), strict=True):
            wholes[cell].append(int(whole[row]))
        return [tuple(cell_wholes) for cell_wholes in wholes]

    def above(self, cell: int) -> set[int]:
        """All cells that hold what a cell holds, and itself."""
        cells_above, waiting = {cell}, [cell]
        while waiting:
            fresh = [whole for whole in self._wholes[waiting.pop()] if whole not in cells_above]
            cells_above.update(fresh)
            waiting += fresh
        return cells_above

    @cached_property
    def _brought(self) -> dict[int, dict[int, float]]:
        """Per lone respondent the cells above the own ones, and what is in them for certain."""
        amounts_by_owner: dict[int, dict[int, float]] = {}
        for owner, cells in self.owned.items():
            owner_amounts = amounts_by_owner.setdefault(owner, {})
            for own in self._pieces(cells):
                for cell in self.above(own):
                    # the same contribution comes by several ways up: the largest is certain to be
                    # in, the sum of all is not
                    owner_amounts[cell] = max(owner_amounts.get(cell, 0.0), float(self.value[own]))
        return amounts_by_owner

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        """Per cell that is a sum all the cells that it is a sum of."""
        parts_of_whole: dict[int, list[int]] = {}
        for part, wholes in enumerate(self._wholes):
            for whole in wholes:
                parts_of_whole.setdefault(whole, []).append(part)
        return parts_of_whole

    def _pieces(self, cells: Sequence[int]) -> set[int]:
        """Cells of a lone respondent and all parts of them that hold anything: what is in these is
        the respondent's, too.
        """
        pieces, waiting = set(cells), list(cells)
        while waiting:
            fresh = [
                part
                for part in self._parts.get(waiting.pop(), ())
                if part not in pieces and self.value[part] != 0
            ]
            pieces.update(fresh)
            waiting += fresh
        return pieces

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
        # who contributed 5 of 7 does not believe in less than 5: down is asked for by 2 at most
        return min(
            down, max(0.0, float(self.value[cell]) - self._brought.get(owner, {}).get(cell, 0.0))
        )

    def wide(self, cell: int) -> float:
        """How wide the interval of a cell must be, wherever it lies."""
        if self.slide is None:
            return 0.0
        return float(self.slide[cell])

    @cached_property
    def _inside(self) -> dict[int, Codes]:
        """Per lone respondent the own cells and all that these are sums of, empty ones too: nobody
        else is in any of them.
        """
        open_to = self.free | self.unknown  # the others are told to be empty
        cells_by_owner: dict[int, Codes] = {}
        for owner, cells in self.owned.items():
            met, waiting = set(cells), list(cells)
            while waiting:
                fresh = [
                    part
                    for part in self._parts.get(waiting.pop(), ())
                    if part not in met and open_to[part]
                ]
                met.update(fresh)
                waiting += fresh
            cells_by_owner[owner] = np.array(sorted(met), dtype=np.int64)
        return cells_by_owner

    @cached_property
    def knower(self) -> Codes:
        """Per cell the lone respondent who knows it: ``NOBODY``, or ``SEVERAL``, as where a
        combination of values lies in the cells of two of them.
        """
        # cells within those of two lone respondents are known to both, so one number cannot name
        # them
        knower = self.owner.copy()
        for owner, cells in self._inside.items():
            has_other = (knower[cells] != NOBODY) & (knower[cells] != owner)
            knower[cells] = np.where(has_other, SEVERAL, owner)
        return knower

    def knowers(self, cells: Codes) -> set[int]:
        """All lone respondents who know some of these cells."""
        knower_codes = np.unique(self.knower[cells])
        owners = {
            int(owner_code) for owner_code in knower_codes if owner_code not in (NOBODY, SEVERAL)
        }
        if SEVERAL in knower_codes:
            owners |= {owner for owner, own in self._inside.items() if np.isin(cells, own).any()}
        return owners

    def known_to(self, owner: int) -> Mask:
        """The cells that one respondent knows because nobody else is in them."""
        is_known = np.zeros(self.size, dtype=bool)
        if owner in self._inside:
            is_known[self._inside[owner]] = True
        return is_known

    def movable(self, hidden: Mask, owner: int = NOBODY) -> Mask:
        """The cells that an intruder does not know when these are suppressed."""
        if owner == NOBODY:
            return hidden
        return hidden & ~self.known_to(owner)


def problem_of(
    matrix: object,
    value: Sequence[float] | Floats,
    needs: dict[int, tuple[float, float]],
    *,
    owner: dict[int, int] | None = None,
    upper: float | None = None,
    whole: bool = False,
    weight: Floats | None = None,
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
    owners = np.full(len(values), NOBODY, dtype=np.int64)
    for cell, respondent in (owner or {}).items():
        owners[cell] = respondent
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
        owners,
        whole,
    )
