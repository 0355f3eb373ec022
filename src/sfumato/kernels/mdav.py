"""Loops of MDAV and V-MDAV: groups of k around the records that lie farthest out.

Records that are left stand first in their arrays, one dimension after the other, so that the distances of all of them are
one pass over memory; a record that goes is replaced by the last one. Ties go to the record that came first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.space import inner

_CHUNK = 1024


@inner
def _centre(columns, count, centre):
    for a in range(columns.shape[0]):
        total = 0.0
        for i in range(count):
            total += columns[a, i]
        centre[a] = total / count


@inner
def _distances(columns, low, high, centre, out):
    """Squared distances of the records low…high−1 from a point."""
    # views that start at 0: with a start that could be negative the loops would not be vectorised
    part = out[low:high]
    for a in range(columns.shape[0]):
        column, middle = columns[a, low:high], centre[a]
        if a == 0:
            for i in range(part.size):
                part[i] = (column[i] - middle) * (column[i] - middle)
        else:
            for i in range(part.size):
                part[i] += (column[i] - middle) * (column[i] - middle)


@inner
def _farthest(columns, numbers, count, centre, out):
    """The place of the record farthest from a point; ``out`` receives all distances."""
    best, most = 0, -1.0
    for low in range(0, count, _CHUNK):
        high = min(low + _CHUNK, count)
        _distances(columns, low, high, centre, out)
        part = out[low:high]
        for i in range(part.size):
            if part[i] >= most and (part[i] > most or numbers[low + i] < numbers[best]):
                best, most = low + i, part[i]
    return best


@inner
def _nearest(numbers, count, out, k, places):
    """The places of the k records with the least ``out``, in ``places``."""
    found = 0
    limit = np.inf
    for i in range(count):
        if out[i] > limit:
            continue
        if found == k and out[i] == limit and numbers[i] > numbers[places[k - 1]]:
            continue
        at = found if found < k else k - 1
        found = min(found + 1, k)
        while at > 0 and (
            out[places[at - 1]] > out[i] or (out[places[at - 1]] == out[i] and numbers[places[at - 1]] > numbers[i])
        ):
            places[at] = places[at - 1]
            at -= 1
        places[at] = i
        if found == k:
            limit = out[places[k - 1]]


@inner
def _take(columns, numbers, count, places, k, groups, group):
    """Put the records at some places into a group and close the gaps they leave; returns how many are left."""
    for a in range(k):
        groups[numbers[places[a]]] = group
    gone = np.sort(places[:k])
    for b in range(k - 1, -1, -1):
        count -= 1
        numbers[gone[b]] = numbers[count]
        for a in range(columns.shape[0]):
            columns[a, gone[b]] = columns[a, count]
    return count


@inner
def _copy_point(columns, place, centre):
    for a in range(columns.shape[0]):
        centre[a] = columns[a, place]


@njit(cache=True, nogil=True)
def mdav(columns, k, groups):
    """Maximum distance to average vector; returns the number of groups, ``groups`` receives them.

    ``columns`` has one row a dimension and is used up. As long as 3k records are left: the record r farthest from their mean
    and its k − 1 nearest are a group, the record s farthest from r and its k − 1 nearest are another; with 2k or more
    left, one more group around r; the rest is the last group.
    """
    count, made = columns.shape[1], 0
    numbers = np.arange(count)
    out, places = np.empty(count), np.empty(k, np.int64)
    centre, other = np.empty(columns.shape[0]), np.empty(columns.shape[0])
    while count >= 2 * k:
        both = count >= 3 * k
        _centre(columns, count, centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), other)
        _nearest(numbers, count, out, k, places)
        count = _take(columns, numbers, count, places, k, groups, made)
        made += 1
        if both:
            _distances(columns, 0, count, other, out)
            _nearest(numbers, count, out, k, places)
            count = _take(columns, numbers, count, places, k, groups, made)
            made += 1
    for i in range(count):
        groups[numbers[i]] = made
    return made + (1 if count > 0 else 0)


@inner
def _closest(columns, numbers, count, centre, out):
    """The place of the record closest to a point."""
    _distances(columns, 0, count, centre, out)
    best = 0
    for i in range(1, count):
        if out[i] < out[best] or (out[i] == out[best] and numbers[i] < numbers[best]):
            best = i
    return best


@inner
def _extend(columns, numbers, count, points, group, groups, members, size, most, gamma, out, reach):
    """Let records that lie nearer to the group than to any other record join it; returns how many are left.

    ``reach`` has the distance of every record that is left from the nearest member of the group.
    """
    while size < most and count > 0:
        best = 0
        for i in range(1, count):
            if reach[numbers[i]] < reach[numbers[best]] or (
                reach[numbers[i]] == reach[numbers[best]] and numbers[i] < numbers[best]
            ):
                best = i
        record, least = numbers[best], np.inf
        _distances(columns, 0, count, points[record], out)
        for i in range(count):
            if i != best:
                least = min(least, out[i])
        if not np.sqrt(reach[record]) < gamma * np.sqrt(least):
            break
        members[0] = best
        for i in range(count):
            reach[numbers[i]] = min(reach[numbers[i]], out[i])
        count = _take(columns, numbers, count, members, 1, groups, group)
        size += 1
    return count


@njit(cache=True, nogil=True)
def v_mdav(points, k, gamma, groups):
    """MDAV with groups of k to 2k − 1 records; returns the number of groups.

    Each time the record farthest from the mean of all and its k − 1 nearest are a group. The record that lies nearest to
    the group, at distance d_in from its nearest member, joins it when d_in < gamma · d_out, with d_out the distance to the
    nearest other record that is in no group yet. Fewer than k that are left join the groups whose means are nearest.
    """
    columns = points.T.copy()
    count, made = columns.shape[1], 0
    numbers = np.arange(count)
    out, places, one = np.empty(count), np.empty(k, np.int64), np.empty(1, np.int64)
    reach, middle = np.empty(count), np.empty(columns.shape[0])
    _centre(columns, count, middle)
    while count >= k:
        seed = numbers[_farthest(columns, numbers, count, middle, out)]
        _distances(columns, 0, count, points[seed], out)
        _nearest(numbers, count, out, k, places)
        for i in range(count):
            reach[numbers[i]] = np.inf
        taken = numbers[places]
        count = _take(columns, numbers, count, places, k, groups, made)
        for b in range(k):
            _distances(columns, 0, count, points[taken[b]], out)
            for i in range(count):
                reach[numbers[i]] = min(reach[numbers[i]], out[i])
        count = _extend(columns, numbers, count, points, made, groups, one, k, 2 * k - 1, gamma, out, reach)
        made += 1
    _join_nearest(points, numbers, count, groups, made)
    return made


@inner
def _join_nearest(points, numbers, count, groups, made):
    """Let the few records that are left join the groups with the nearest means."""
    n, d = points.shape
    if count == 0:
        return
    left = np.zeros(n, np.bool_)
    for i in range(count):
        left[numbers[i]] = True
    sums, sizes = np.zeros((made, d)), np.zeros(made)
    for i in range(n):
        if not left[i]:
            sizes[groups[i]] += 1.0
            for a in range(d):
                sums[groups[i], a] += points[i, a]
    for i in range(n):
        if left[i]:
            best, least = 0, np.inf
            for g in range(made):
                away = 0.0
                for a in range(d):
                    gap = points[i, a] - sums[g, a] / sizes[g]
                    away += gap * gap
                if away < least:
                    best, least = g, away
            groups[i] = best
