"""Loops that share records out to classes: each class takes so many of every bucket, those nearest to its seed.

Records that are left stand first in their arrays, as in :mod:`sfumato.kernels.mdav`; ties go to the record that came first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.mdav import _copy_point, _distances, _farthest, _take
from sfumato.kernels.space import inner


@inner
def _limits(row, left, low, high, later_low, later_high, least, most):
    """How many of every bucket a class may take so that the classes after it can still be filled; False if none can."""
    for j in range(left.size):
        later_low[j] -= low[row, j]
        later_high[j] -= high[row, j]
        least[j] = max(low[row, j], left[j] - later_high[j])
        most[j] = min(high[row, j], left[j] - later_low[j])
        if least[j] > most[j]:
            return False
    return True


@inner
def _nearest_of_each(numbers, buckets, count, out, most, found, places):
    """For every bucket the places of its ``most[j]`` records with the least ``out``, nearest first."""
    for j in range(found.size):
        found[j] = 0
    for i in range(count):
        j = buckets[i]
        room = most[j]
        if room == 0:
            continue
        at = found[j]
        if at == room:
            last = places[j, room - 1]
            if out[i] > out[last] or (out[i] == out[last] and numbers[i] > numbers[last]):
                continue
            at -= 1
        else:
            found[j] += 1
        while at > 0:
            before = places[j, at - 1]
            if out[before] < out[i] or (out[before] == out[i] and numbers[before] < numbers[i]):
                break
            places[j, at] = before
            at -= 1
        places[j, at] = i


@inner
def _choose(size, numbers, out, least, found, places, taken, chosen):
    """Take the least of every bucket, then the nearest of all buckets that have room; how many were found."""
    count = 0
    for j in range(found.size):
        taken[j] = least[j]
        for a in range(least[j]):
            chosen[count] = places[j, a]
            count += 1
    while count < size:
        best = -1
        for j in range(found.size):
            if taken[j] < found[j]:
                here = places[j, taken[j]]
                if best < 0:
                    best = j
                    continue
                other = places[best, taken[best]]
                if out[here] < out[other] or (out[here] == out[other] and numbers[here] < numbers[other]):
                    best = j
        if best < 0:
            return count
        chosen[count] = places[best, taken[best]]
        taken[best] += 1
        count += 1
    return count


@inner
def _remove(columns, numbers, buckets, count, chosen, size, sums, left, groups, group):
    """Put the chosen records into a class and close the gaps; returns how many are left."""
    gone = np.sort(chosen[:size])
    for a in range(size):
        left[buckets[gone[a]]] -= 1
        for axis in range(columns.shape[0]):
            sums[axis] -= columns[axis, gone[a]]
    for b in range(size - 1, -1, -1):
        buckets[gone[b]] = buckets[count - (size - b)]
    return _take(columns, numbers, count, chosen, size, groups, group)


@njit(cache=True, nogil=True)
def share_out(columns, buckets, sizes, low, high, groups):
    """Classes around the records that lie farthest from the mean of those that are left; the number of classes made.

    ``columns`` has one row a dimension and is used up, like ``buckets``, the bucket of every record. Class *c* gets ``sizes[c]``
    records, of bucket *j* at least ``low[c, j]`` and at most ``high[c, j]``. Fewer classes than asked for were made where the
    counts of a class leave nothing for those after it; with ``low`` equal to ``high`` that cannot happen.
    """
    count, shares = columns.shape[1], low.shape[1]
    numbers = np.arange(count)
    left = np.zeros(shares, np.int64)
    for i in range(count):
        left[buckets[i]] += 1
    later_low, later_high = low.sum(axis=0), high.sum(axis=0)
    least, most = np.empty(shares, np.int64), np.empty(shares, np.int64)
    found, taken = np.empty(shares, np.int64), np.empty(shares, np.int64)
    places, chosen = np.empty((shares, high.max()), np.int64), np.empty(sizes.max(), np.int64)
    out, centre, sums = np.empty(count), np.empty(columns.shape[0]), columns.sum(axis=1)
    for row in range(sizes.size):
        if not _limits(row, left, low, high, later_low, later_high, least, most):
            return row
        if least.sum() > sizes[row] or most.sum() < sizes[row]:
            return row
        for axis in range(columns.shape[0]):
            centre[axis] = sums[axis] / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _distances(columns, 0, count, centre, out)
        _nearest_of_each(numbers, buckets, count, out, most, found, places)
        if _choose(sizes[row], numbers, out, least, found, places, taken, chosen) < sizes[row]:
            return row
        count = _remove(columns, numbers, buckets, count, chosen, sizes[row], sums, left, groups, row)
    return sizes.size
