"""Loops over the sensitive values of people who lie on a line or in a tree: the earth mover's
distance of some people to all people (t-closeness, Li, Li & Venkatasubramanian 2007).

Arrays. ``secrets`` is a :class:`sfumato.kernels.fact_sets.ValueSets`. A person's mass, 1, is shared
out evenly among the values of the person. Scratch arrays are all zeros between calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ValueLine(NamedTuple):
    """Values on a line from 0 to 1: ``value_ranks`` is the rank of every value, ``positions`` where
    each rank lies, ascending.

    ``shares`` is the share of all masses up to a rank, ``areas`` the area below it left of a rank.
    ``mass`` and ``ranks`` are scratch.
    """

    value_ranks: NDArray[np.int64]
    positions: NDArray[np.float64]
    shares: NDArray[np.float64]
    areas: NDArray[np.float64]
    mass: NDArray[np.float64]
    ranks: NDArray[np.int64]


class ValueTree(NamedTuple):
    """Values in a tree: ``ancestors`` are the nodes from a value up to below the top, ``expected``
    the mass of all people in each. ``mass`` and ``reached`` are scratch.
    """

    ancestors: NDArray[np.int64]
    expected: NDArray[np.float64]
    mass: NDArray[np.float64]
    reached: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _area_between(line, share, first, last):
    """Area between a constant share and the cumulative share of all people, between two ranks."""
    low, high = first, last
    # Binary search for the first rank from which on all people have more: there the curves cross.
    while low < high:
        middle = (low + high) // 2
        if line.shares[middle] > share:
            high = middle
        else:
            low = middle + 1
    under = share * (line.positions[low] - line.positions[first]) - (
        line.areas[low] - line.areas[first]
    )
    over = line.areas[last] - line.areas[low] - share * (line.positions[last] - line.positions[low])
    return max(under, 0.0) + max(over, 0.0)


@njit(cache=True, nogil=True)
def measure_on_line(secrets, people, first, last):
    """Earth mover's distance on a line. Having no value is as far from all values as can be; people
    who have values are moved among themselves.
    """
    line = secrets.line
    size = last - first
    none = 0
    count = 0
    # Tally the mass at each rank, noting ranks that are met for the first time.
    for at in range(first, last):
        begin = secrets.pointers[people[at]]
        end = secrets.pointers[people[at] + 1]
        if begin == end:
            none += 1
        for position in range(begin, end):
            rank = line.value_ranks[secrets.codes[position]]
            if line.mass[rank] == 0.0:
                line.ranks[count] = rank
                count += 1
            line.mass[rank] += 1.0 / (end - begin)
    without_here = none / size
    share_without = secrets.shares[secrets.shares.size - 1]
    area = 0.0
    # The cumulative share of these people is constant between two of their ranks.
    if count and line.positions.size > 1:
        ranks = np.sort(line.ranks[:count])
        area = _area_between(line, 0.0, 0, ranks[0])
        running = 0.0
        for j in range(count):
            running += line.mass[ranks[j]]
            last_rank = ranks[j + 1] if j + 1 < count else line.positions.size - 1
            area += _area_between(line, running / (size - none), ranks[j], last_rank)
    for j in range(count):
        line.mass[line.ranks[j]] = 0.0
    # The difference in having no value moves over the whole line; the others move within it.
    return abs(without_here - share_without) + (1.0 - max(without_here, share_without)) * area


@njit(cache=True, nogil=True)
def measure_in_tree(secrets, people, first, last):
    """Earth mover's distance in a tree whose levels are equally far apart; having no value is a
    branch of its own.
    """
    tree = secrets.tree
    height = tree.ancestors.shape[1]
    size = last - first
    none = 0
    count = 0
    # Mass of these people in every node above one of their values.
    for at in range(first, last):
        begin = secrets.pointers[people[at]]
        end = secrets.pointers[people[at] + 1]
        if begin == end:
            none += 1
        for position in range(begin, end):
            for level in range(height):
                node = tree.ancestors[secrets.codes[position], level]
                if tree.mass[node] == 0.0:
                    tree.reached[count] = node
                    count += 1
                tree.mass[node] += 1.0 / (end - begin)
    share_without = secrets.shares[secrets.shares.size - 1]
    # Half the sum over nodes of |difference of mass|. Nodes not reached differ by what is expected
    # there: start from all of it, and take the expected part of reached nodes back.
    apart = height * (abs(none / size - share_without) + 1.0 - share_without)
    for j in range(count):
        node = tree.reached[j]
        apart += abs(tree.mass[node] / size - tree.expected[node]) - tree.expected[node]
        tree.mass[node] = 0.0
    return max(apart, 0.0) / (2.0 * height)
