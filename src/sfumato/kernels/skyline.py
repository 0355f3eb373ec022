"""The loop that finds which points nothing beats: their skyline, or Pareto front.

``points`` has a row a point and a column a criterion, of which less is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit


def find_skyline(points: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of ``points`` that no other row is at most equal to in every entry (the Pareto
    front); of equal rows the first in ``order``.

    ``order`` sorts the rows by their first entry, then the second and so on, so that no row beats
    one before it. Costs rows × size of the front comparisons at worst.
    """
    # Not made by the loop: numba's own arrays take longer to load than the loop takes.
    front = np.empty(order.size, np.int64)
    return front[: _find_skyline(points, order, front)].copy()


@njit(cache=True, nogil=True)
def _find_skyline(points, order, front):
    """Write the rows of the front; returns how many there are. One that has just beaten another is
    compared first: neighbours are beaten by the same ones.
    """
    count = 0
    # Sort-filter skyline (Chomicki, Godfrey, Gryz & Liang 2003): what stands in the list is never
    # thrown out again, since no later row beats an earlier one.
    for i in order:
        beaten = False
        for at in range(count):
            rival = front[at]
            beaten = True
            for f in range(points.shape[1]):
                if points[rival, f] > points[i, f]:
                    beaten = False
                    break
            if beaten:
                # Move to front.
                for before in range(at, 0, -1):
                    front[before] = front[before - 1]
                front[0] = rival
                break
        if not beaten:
            front[count] = i
            count += 1
    return count
