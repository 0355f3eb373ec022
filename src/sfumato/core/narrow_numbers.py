"""Numbers of large tables in as little room as holds them.

What is remembered of a column with a million distinct values is mostly small whole numbers (a
level, a node, how often a value occurs: one byte each takes an eighth of the room) or one and the
same number a million times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 1 << 16
"""From so many numbers on, room is worth more than the moment it takes to widen them again."""


def narrowed(numbers: NDArray[Any], largest: int | None = None) -> NDArray[np.integer]:
    """The same whole numbers, none below 0, to be kept: in the narrowest type where there are many.

    ``largest`` says which number none is above, where that is known. Widen them with
    :func:`widened` before computing with them: in a narrow type sums and products overflow.

    >>> narrowed(np.arange(1 << 16)).dtype, narrowed(np.arange(3)).dtype
    (dtype('uint16'), dtype('int64'))
    """
    if len(numbers) < MANY:
        return numbers
    if largest is None:
        largest = int(numbers.max())
    return numbers.astype(np.min_scalar_type(max(0, largest)))


def widened(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Numbers to compute with."""
    return numbers.astype(np.int64, copy=False)


def repeated(number: float, count: int) -> NDArray[np.float64]:
    """The same number so many times; it is there once, and cannot be written to.

    Loops are compiled for arrays whose numbers lie one behind the other: hand them
    ``np.ascontiguousarray`` of it.

    >>> repeated(1.0, 3).tolist(), repeated(1.0, 1000).strides
    ([1.0, 1.0, 1.0], (0,))
    """
    return np.broadcast_to(np.float64(number), count)
