"""Small linear programs of an intruder, solved by our own simplex: a general solver takes longer to
be called than to solve them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats

MOST_ENTRIES = 40_000
"""Equations times cells up to which a program is small."""
MOST_STEPS = 2_000
AGAIN = 300
"""Programs after which the equations are solved again, so that rounding does not add up."""


class SmallProgram:
    """Equations between cells, and how far one of them can be pushed from the true table."""

    def __init__(self, matrix: Floats, slack: float) -> None:
        self.matrix, self.slack = matrix, slack
        self.prices: Floats = np.zeros(matrix.shape[1])
        self.solved = 0
        self.tableau: Floats | None = None
        self.basis: Codes = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, matrix: Any, slack: float) -> SmallProgram | None:
        """From sparse equations; None where there are too many."""
        rows, columns = matrix.shape
        if rows * columns <= MOST_ENTRIES:
            return cls(matrix.toarray(), slack)
        return None

    def pushed(
        self,
        value: Floats,
        low: Floats,
        high: Floats,
        at: int,
        sign: int,
    ) -> Floats | None:
        """A table that fulfils the equations, as ``value`` does, with one cell as far up or down as
        can be; None where no proved answer was found.

        Every answer is checked: equations and bounds hold, and what the room of all cells is worth
        (``prices``, of a unit each) is no more than what was reached, so that nothing further can
        be. A doubt, or no number, is no answer.
        """
        if self.tableau is None or self.solved % AGAIN == 0:
            self.tableau, self.basis = kernels.simplex.reduce_equations(
                self.matrix, np.minimum(value - low, high - value)
            )
        self.solved += 1
        point = value.astype(np.float64)
        near = 1e-3 * self.slack
        self.prices, best = kernels.simplex.push_variable(
            self.tableau, self.basis, point, (low, high), (at, float(sign)), near, MOST_STEPS
        )
        if best and self._proved(point, value, low, high, sign * float(point[at] - value[at])):
            return point
        # in doubt the equations are reduced again the next time
        self.tableau = None
        return None

    def _proved(
        self,
        point: Floats,
        value: Floats,
        low: Floats,
        high: Floats,
        reached: float,
    ) -> bool:
        """Whether a point is a table within the bounds, and the prices let no other go further."""
        near = 1e-3 * self.slack
        if not (
            np.isfinite(point).all()
            and (point >= low - near).all()
            and (point <= high + near).all()
        ):
            return False
        off = float(np.abs(self.matrix @ (point - value)).sum())
        rise, fall = np.flatnonzero(self.prices > 0), np.flatnonzero(self.prices < 0)
        # by duality no table goes further than what the room of all cells is worth at these prices:
        # where that is no more than was reached, the point is the best
        worth = self.prices[rise] @ (high - value)[rise] + self.prices[fall] @ (low - value)[fall]
        return off <= self.slack and float(worth) - reached <= self.slack
