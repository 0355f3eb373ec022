"""The loop that finds which points nothing beats."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def unbeaten(points, order):
    """The rows of ``points`` that no other row is at most equal to in every entry; of equal rows the first in ``order``.

    ``order`` sorts the rows by their first entry, then the second and so on, so that no row beats one before it. A row
    that has just beaten another is asked first: neighbours are beaten by the same ones.
    """
    found = np.empty(order.size, np.int64)
    count = 0
    for i in order:
        beaten = False
        for at in range(count):
            other = found[at]
            beaten = True
            for f in range(points.shape[1]):
                if points[other, f] > points[i, f]:
                    beaten = False
                    break
            if beaten:
                for before in range(at, 0, -1):
                    found[before] = found[before - 1]
                found[0] = other
                break
        if not beaten:
            found[count] = i
            count += 1
    return found[:count].copy()
