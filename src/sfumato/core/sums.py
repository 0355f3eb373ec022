"""Sums over the rows of large tables, part by part: as numpy adds up the whole, to the last bit,
without an array for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = 1 << 16
"""Rows of a part: with some columns of eight bytes they stay in the cache, and no memory is asked
of the system.
"""
Parts = Callable[[slice], "tuple[NDArray[Any], ...]"]


def sum_in_parts(rows: int, parts: Parts) -> tuple[float, ...]:
    """The sums of some arrays of so many rows, of which ``parts`` makes those of a slice.

    Numpy adds up in pairs: it halves an array, the first half at a multiple of eight, until 128
    numbers are left, and adds the sums of the halves. The same halves are made here, so the sum of
    parts is that of the whole array.

    >>> import numpy as np
    >>> values = np.random.default_rng(1).normal(size=200_001)
    >>> sum_in_parts(len(values), lambda part: (values[part] ** 2,)) == ((values**2).sum(),)
    True
    """
    return _sums(0, rows, parts)


def _sums(start: int, end: int, parts: Parts) -> tuple[float, ...]:
    rows = end - start
    if rows <= PART:
        return tuple([float(part.sum()) for part in parts(slice(start, end))])
    half = rows // 2
    half -= half % 8
    pairs = zip(_sums(start, start + half, parts), _sums(start + half, end, parts), strict=True)
    return tuple([total + addend for total, addend in pairs])
