"""Groups that lie one after the other in an array: where each begins, and the place of a member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def group_starts(sizes: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Where each group begins, and the end of the last one.

    >>> group_starts([2, 3])
    array([0, 2, 5])
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    if len(sizes):
        np.cumsum(sizes, out=starts[1:])
    return starts


def places_in_groups(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of every member within its group.

    >>> places_in_groups(np.array([2, 3]))
    array([0, 1, 0, 1, 2])
    """
    starts = group_starts(sizes)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
