"""What the six dimensions of data quality share: completeness, uniqueness, timeliness, validity, accuracy, consistency.

All are shares of 0 to 1 of which more is better. Suppressed records count with the others: nothing of them is complete,
unique, timely, valid, accurate or consistent. ``raw`` is the same dimension of the original table, where it has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.utility.columns import EMPTY
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


def why_not(pair: Pair, names: tuple[str, ...]) -> str | None:
    """The reason a dimension cannot be measured, or None."""
    if not records_of(pair):
        return EMPTY
    return None if names else "there is no column to look at; name some"


def share_of(pair: Pair, good: float, cells: int = 1) -> float:
    """Good cells or records as a share of all that there were."""
    return min(1.0, good / (cells * max(1, records_of(pair))))
