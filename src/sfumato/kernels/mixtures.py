"""Loops over mixtures of two-sided exponential densities: what Laplace noise makes of counts on a line.

Points are numbered in ascending order; ``decay[j]`` is exp(−(x[j+1] − x[j])/scale). Densities are left without the factor
1/(2·scale), which cancels in every ratio. Sums run from point to point, so nothing overflows.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def mixture(mass, decay):
    """Density at every point when ``mass[j]`` values at point *j* get Laplace noise."""
    m = mass.size
    density = np.empty(m, np.float64)
    carried = 0.0
    for j in range(m):
        carried = mass[j] + (carried * decay[j - 1] if j else 0.0)
        density[j] = carried
    carried = 0.0
    for j in range(m - 2, -1, -1):
        carried = (carried + mass[j + 1]) * decay[j]
        density[j] += carried
    return density


@njit(cache=True, nogil=True)
def farthest_ratios(starts, points, counts, table, decay):
    """Per class, the largest ratio of its density to that of the table, either way round, at any point.

    Class *i* has ``counts`` at ``points``, in any order, from ``starts[i]`` to ``starts[i+1]``; ``table`` is the
    density of the table divided by its records.
    """
    classes = starts.size - 1
    found = np.ones(classes, np.float64)
    mass = np.zeros(table.size, np.float64)
    for i in range(classes):
        size = 0
        for entry in range(starts[i], starts[i + 1]):
            mass[points[entry]] += counts[entry]
            size += counts[entry]
        density = mixture(mass, decay)
        worst = 1.0
        for j in range(table.size):
            here = density[j] / size
            there = table[j]
            if here == 0.0 and there == 0.0:
                continue
            if here == 0.0 or there == 0.0:
                worst = np.inf
                break
            worst = max(worst, here / there, there / here)
        found[i] = worst
        for entry in range(starts[i], starts[i + 1]):
            mass[points[entry]] = 0.0
    return found
