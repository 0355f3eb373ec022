"""Which two tables must look alike, and how far one person can move a total.

Two tables are neighbours when one protected unit (a person with all rows) is in one of them and not in the other
(``add_remove``) or has other rows (``change_one``: the number of units is public). A mechanism that is ε-DP for
``add_remove`` is at most 2ε-DP for ``change_one``.
"""

from __future__ import annotations

import dataclasses
import math

from sfumato.errors import ParameterError, did_you_mean

NEIGHBOURS = ("add_remove", "change_one")
ROW = "row"
"""What ``protects`` is called when every row is a person of its own."""


@dataclasses.dataclass(frozen=True)
class Relation:
    """Whom the answers protect: the unit's column (or ``row``), how many of its rows count, and who is a neighbour."""

    protects: str = ROW
    neighbours: str = "add_remove"
    contributions: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            known = did_you_mean(str(self.neighbours), NEIGHBOURS)
            raise ParameterError(f"neighbours must be add_remove or change_one.{known}")
        if type(self.contributions) is not int or self.contributions < 1:
            raise ParameterError("contributions, the rows of one unit that count, must be a whole number from 1")
        if self.protects == ROW and self.contributions != 1:
            raise ParameterError("contributions above 1 need a column that names the unit: protects='patient'")

    @property
    def words(self) -> str:
        """Whom the answers protect, in words."""
        if self.protects == ROW:
            who = "one row"
        else:
            who = f"one {self.protects} (at most {self.contributions} row{'s'[: self.contributions > 1]} of each count)"
        return f"{who} {'being there or not' if self.neighbours == 'add_remove' else 'being replaced'}"

    def reach(self, low: int, high: int, *, cells: int) -> tuple[int, float]:
        """How far one unit moves a vector of totals: its L1 and L2 sensitivity.

        Each row adds a number of [low, high] to one of the cells, or nothing (it is filtered out or missing). With
        ``M = max(|low|, |high|)``, ``R = max(high, 0) − min(low, 0)`` and c rows per unit:

        ========== ===== ======================= ====================
        neighbours cells L1                      L2
        ========== ===== ======================= ====================
        add_remove any   c·M                     c·M
        change_one 1     c·R                     c·R
        change_one more  2·c·M                   c·max(√2·M, R)
        ========== ===== ======================= ====================

        >>> Relation().reach(0, 1, cells=5), Relation(neighbours="change_one").reach(0, 1, cells=5)[0]
        ((1, 1.0), 2)
        >>> Relation(neighbours="change_one").reach(20, 100, cells=1)
        (100, 100.0)
        """
        most = max(abs(low), abs(high))
        spread = max(high, 0) - min(low, 0)
        rows = self.contributions
        if self.neighbours == "add_remove":
            return rows * most, float(rows * most)
        if cells == 1:
            return rows * spread, float(rows * spread)
        return 2 * rows * most, math.nextafter(rows * max(math.sqrt(2) * most, spread), math.inf)
