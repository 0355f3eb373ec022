"""Loops over classes of records on a line: the earth mover's distance of a class to the table, and swaps that lower it.

Records are known by their rank 0 … n−1 on the line. ``gaps[r]`` is the length from rank r to rank r + 1 as a share of the whole
line, ``reach[r]`` the sum of the gaps before r, ``moved[r]`` the sum of (q + 1)/n · gap q over q < r: the area below the table's
distribution function. Between two of its members the function of a class is constant, and the table's crosses it once at most, so
that the distance takes a few steps a member.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.mdav import _copy_point, _distances, _farthest, _take
from sfumato.kernels.space import inner


@inner
def _area(share, below, low, high, reach, moved):
    """The area between a constant and the table's function from rank low to rank high; the table passes it at ``below``."""
    cross = min(max(below, low), high)
    under = share * (reach[cross] - reach[low]) - (moved[cross] - moved[low])
    over = (moved[high] - moved[cross]) - share * (reach[high] - reach[cross])
    return under + over


@inner
def _distance(members, size, reach, moved):
    """The distance of the class with these ranks, ascending."""
    n = reach.size
    total, start = 0.0, 0
    for c in range(size + 1):
        end = members[c] if c < size else n - 1
        total += _area(c / size, c * n // size, start, end, reach, moved)
        start = end
    return total


@njit(cache=True, nogil=True)
def distances(starts, members, reach, moved):
    """The distance of every class; class *i* has the ranks ``members[starts[i]:starts[i+1]]``, ascending."""
    found = np.empty(starts.size - 1)
    for i in range(found.size):
        found[i] = _distance(members[starts[i] : starts[i + 1]], starts[i + 1] - starts[i], reach, moved)
    return found


@inner
def _exchanged(members, size, out, rank, made):
    """The ascending ranks with the one at place ``out`` replaced by another."""
    at = 0
    placed = False
    for a in range(size):
        if a == out:
            continue
        if not placed and rank < members[a]:
            made[at] = rank
            at += 1
            placed = True
        made[at] = members[a]
        at += 1
    if not placed:
        made[at] = rank


@inner
def _swap(size, candidates, ranks, numbers, t, reach, moved, inside):
    """Replace members by candidates, nearest first, while that lowers the distance and it exceeds t.

    ``inside`` are the places of the members; they change.
    """
    members, made, best = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    order = np.argsort(ranks[numbers[inside[:size]]])
    for a in range(size):
        members[a] = ranks[numbers[inside[order[a]]]]
    places = inside[order]
    now = _distance(members, size, reach, moved)
    for c in range(candidates.size):
        if now <= t:
            break
        rank, out, least = ranks[numbers[candidates[c]]], -1, now
        for a in range(size):
            _exchanged(members, size, a, rank, made)
            tried = _distance(made, size, reach, moved)
            if tried < least:
                out, least = a, tried
                best[:] = made
        if out < 0:
            continue
        gone = 0
        while gone < size and best[gone] != rank:
            gone += 1
        kept = np.empty(size, np.int64)
        at = 0
        for a in range(size):
            if a != out:
                kept[at + (1 if at >= gone else 0)] = places[a]
                at += 1
        kept[gone] = candidates[c]
        places = kept
        members[:] = best
        now = least
    inside[:size] = places


@inner
def _around(columns, numbers, count, ranks, centre, k, t, reach, moved, out, groups, group):
    """A class of k records around a point; returns how many are left."""
    _distances(columns, 0, count, centre, out)
    order = np.argsort(out[:count], kind="mergesort")
    inside = order[:k].copy()
    _swap(k, order[k:], ranks, numbers, t, reach, moved, inside)
    return _take(columns, numbers, count, inside, k, groups, group)


@njit(cache=True, nogil=True)
def near_and_close(columns, ranks, k, t, reach, moved, groups):
    """MDAV whose classes swap records until they are within t, where that is possible; the number of classes.

    ``columns`` has one row a dimension and is used up. A class looks at all records that are left, nearest to its seed first.
    """
    count, made = columns.shape[1], 0
    numbers = np.arange(count)
    out = np.empty(count)
    centre, other = np.empty(columns.shape[0]), np.empty(columns.shape[0])
    while count >= 2 * k:
        both = count >= 3 * k
        for a in range(columns.shape[0]):
            centre[a] = columns[a, :count].sum() / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), other)
        count = _around(columns, numbers, count, ranks, centre, k, t, reach, moved, out, groups, made)
        made += 1
        if both:
            count = _around(columns, numbers, count, ranks, other, k, t, reach, moved, out, groups, made)
            made += 1
    for i in range(count):
        groups[numbers[i]] = made
    return made + (1 if count > 0 else 0)
