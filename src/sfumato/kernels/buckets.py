"""Loops over classes of records on a line: the earth mover's distance of a class to the table,
swaps that lower it (t-closeness), and classes with a share of every bucket.

Arrays. Records are known by their rank 0 … n−1 on the line. ``gaps[r]`` is the length from rank r
to rank r + 1 as a share of the whole line, ``reach[r]`` the sum of the gaps before r,
``table_area[r]`` the sum of (q + 1)/n · gap q over q < r: the area below the table's cumulative
distribution. ``columns`` are points with one row per dimension and one column per record; records
without a class stand first, ``numbers`` are their original numbers, and ties go to the lower
number. ``groups[record]`` receives the class.

Between two of its members the cumulative distribution of a class is constant and that of the table
rises, so they cross once at most: a distance costs a few steps per member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit
from sfumato.kernels.microaggregation import _assign_records, _copy_point, _distances, _farthest
from sfumato.kernels.points import inner


class RankedLine(NamedTuple):
    """Where records lie: the rank of each, and the two sums over the gaps before a rank."""

    ranks: NDArray[np.int64]
    reach: NDArray[np.float64]
    table_area: NDArray[np.float64]


@inner
def _area_between(share, below, low, high, reach, table_area):
    """The area between the constant ``share`` and the table's cumulative distribution from rank low
    to rank high; the table passes the constant at rank ``below``.
    """
    cross = min(max(below, low), high)
    # Left of the crossing the class is above the table, right of it the table above the class.
    under = share * (reach[cross] - reach[low]) - (table_area[cross] - table_area[low])
    over = (table_area[high] - table_area[cross]) - share * (reach[high] - reach[cross])
    return under + over


@inner
def _measure_class(members, size, reach, table_area):
    """The earth mover's distance of the class with these ranks, ascending. Example: the class of
    all records has distance 0.
    """
    n = reach.size
    total, start = 0.0, 0
    # Between two ranks the distribution of the class is constant: one area a member, the whole line
    # is covered.
    for c in range(size + 1):
        end = members[c] if c < size else n - 1
        total += _area_between(c / size, c * n // size, start, end, reach, table_area)
        start = end
    return total


@njit(cache=True, nogil=True)
def measure_classes(starts, members, reach, table_area):
    """The distance of every class; class *i* has the ranks ``members[starts[i]:starts[i+1]]``,
    ascending.
    """
    class_distances = np.empty(starts.size - 1)
    for i in range(class_distances.size):
        class_distances[i] = _measure_class(
            members[starts[i] : starts[i + 1]], starts[i + 1] - starts[i], reach, table_area
        )
    return class_distances


@inner
def _exchange_member(members, size, out, rank, new_members):
    """Write the ascending ranks with the one at index ``out`` replaced by ``rank``: one
    merge pass.
    """
    at = 0
    placed = False
    for a in range(size):
        if a == out:
            continue
        if not placed and rank < members[a]:
            new_members[at] = rank
            at += 1
            placed = True
        new_members[at] = members[a]
        at += 1
    if not placed:
        new_members[at] = rank


@inner
def _swap_members(size, candidates, line, numbers, t, inside):
    """Replace members by candidates, nearest first, while that lowers the distance and it exceeds t
    (Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2015).

    ``inside`` are the positions of the members; they change. Costs candidates × size² steps at
    worst.
    """
    ranks, reach, table_area = line
    members = np.empty(size, np.int64)
    trial = np.empty(size, np.int64)
    best = np.empty(size, np.int64)
    order = np.argsort(ranks[numbers[inside[:size]]])
    # Members and their positions are kept in the order of the ranks, as a distance needs them.
    for a in range(size):
        members[a] = ranks[numbers[inside[order[a]]]]
    positions = inside[order]
    current = _measure_class(members, size, reach, table_area)
    # Greedy: a candidate replaces the member whose loss lowers the distance most.
    for c in range(candidates.size):
        if current <= t:
            break
        rank = ranks[numbers[candidates[c]]]
        out = -1
        lowest = current
        # Every member could be the one to go.
        for a in range(size):
            _exchange_member(members, size, a, rank, trial)
            distance = _measure_class(trial, size, reach, table_area)
            if distance < lowest:
                out, lowest = a, distance
                best[:] = trial
        if out < 0:
            continue
        # The new member goes where its rank stands; the other positions keep their order.
        index = 0
        while index < size and best[index] != rank:
            index += 1
        new_positions = np.empty(size, np.int64)
        at = 0
        for a in range(size):
            if a != out:
                new_positions[at + (1 if at >= index else 0)] = positions[a]
                at += 1
        new_positions[index] = candidates[c]
        positions = new_positions
        members[:] = best
        current = lowest
    inside[:size] = positions


@inner
def _build_class(remaining, line, centre, limits, out, groups, group):
    """Make a class of the k records nearest to a point; returns how many records remain.

    ``remaining`` is the points, their numbers and how many remain; ``limits`` is ``k, t``.
    """
    columns, numbers, count = remaining
    k, t = limits
    _distances(columns, 0, count, centre, out)
    order = np.argsort(out[:count], kind="mergesort")
    inside = order[:k].copy()
    _swap_members(k, order[k:], line, numbers, t, inside)
    return _assign_records(columns, numbers, count, inside, k, groups, group)


@njit(cache=True, nogil=True)
def build_close_classes(columns, ranks, k, t, reach, table_area, groups):
    """MDAV whose classes swap records until they are within t, where that is possible; returns the
    number of classes.

    ``columns`` is used up. A class looks at all remaining records, nearest to its seed first.
    """
    count = columns.shape[1]
    classes = 0
    line = RankedLine(ranks, reach, table_area)
    numbers = np.arange(count)
    out = np.empty(count)
    centre = np.empty(columns.shape[0])
    second_seed = np.empty(columns.shape[0])
    # MDAV (Domingo-Ferrer & Torra 2005): two classes a round, around the point farthest from the
    # mean and the one farthest from that; n² ∕ k distances.
    while count >= 2 * k:
        two_classes = count >= 3 * k
        for a in range(columns.shape[0]):
            centre[a] = columns[a, :count].sum() / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), second_seed)
        count = _build_class((columns, numbers, count), line, centre, (k, t), out, groups, classes)
        classes += 1
        if two_classes:
            count = _build_class(
                (columns, numbers, count), line, second_seed, (k, t), out, groups, classes
            )
            classes += 1
    # Fewer than 2k records remain: they are the last class.
    for i in range(count):
        groups[numbers[i]] = classes
    return classes + (1 if count > 0 else 0)


# Loops that share records out to classes: each class takes so many of every bucket, those nearest
# to its seed.
#
# Records that are left stand first in their arrays, as in :mod:`sfumato.kernels.microaggregation`;
# ties go to the record that came first.


@inner
def _find_limits(row, bucket_sizes, bounds, later, minimum, maximum):
    """How many of every bucket a class may take so that the classes after it can still be filled;
    False if none can. ``bounds`` is ``low, high`` of all classes, ``later`` their sums over this
    and the classes after it.
    """
    low, high = bounds
    later_low, later_high = later
    # What later classes can take at most must go now, what they need at least must stay.
    for j in range(bucket_sizes.size):
        later_low[j] -= low[row, j]
        later_high[j] -= high[row, j]
        minimum[j] = max(low[row, j], bucket_sizes[j] - later_high[j])
        maximum[j] = min(high[row, j], bucket_sizes[j] - later_low[j])
        if minimum[j] > maximum[j]:
            return False
    return True


@inner
def _list_nearest(numbers, buckets, count, out, maximum, counts, nearest):
    """For every bucket the positions of its ``maximum[j]`` records with the least distance ``out``,
    nearest first.
    """
    for j in range(counts.size):
        counts[j] = 0
    for i in range(count):
        j = buckets[i]
        room = maximum[j]
        if room == 0:
            continue
        at = counts[j]
        if at == room:
            last = nearest[j, room - 1]
            if out[i] > out[last] or (out[i] == out[last] and numbers[i] > numbers[last]):
                continue
            at -= 1
        else:
            counts[j] += 1
        # Insertion sort into at most ``maximum[j]`` places: one pass over the records.
        while at > 0:
            before = nearest[j, at - 1]
            if out[before] < out[i] or (out[before] == out[i] and numbers[before] < numbers[i]):
                break
            nearest[j, at] = before
            at -= 1
        nearest[j, at] = i


@inner
def _pick_members(numbers, out, minimum, counts, nearest, used, members):
    """Pick the least of every bucket, then the nearest of all buckets that have room; returns how
    many were picked. ``members`` has room for the size of the class.
    """
    count, size = 0, members.size
    for j in range(counts.size):
        used[j] = minimum[j]
        for a in range(minimum[j]):
            members[count] = nearest[j, a]
            count += 1
    # A merge of sorted lists, one for each bucket.
    while count < size:
        best = -1
        for j in range(counts.size):
            if used[j] < counts[j]:
                candidate = nearest[j, used[j]]
                if best < 0:
                    best = j
                    continue
                leader = nearest[best, used[best]]
                if out[candidate] < out[leader] or (
                    out[candidate] == out[leader] and numbers[candidate] < numbers[leader]
                ):
                    best = j
        if best < 0:
            return count
        members[count] = nearest[best, used[best]]
        used[best] += 1
        count += 1
    return count


@inner
def _remove_members(remaining, buckets, members, sums, bucket_sizes, groups, group):
    """Put the chosen records into a class and close the gaps; returns how many remain."""
    columns, numbers, count = remaining
    size = members.size
    positions = np.sort(members)
    for a in range(size):
        bucket_sizes[buckets[positions[a]]] -= 1
        for axis in range(columns.shape[0]):
            sums[axis] -= columns[axis, positions[a]]
    # From the end, as _take moves the points: the buckets must follow them.
    for b in range(size - 1, -1, -1):
        buckets[positions[b]] = buckets[count - (size - b)]
    return _assign_records(columns, numbers, count, members, size, groups, group)


@njit(cache=True, nogil=True)
def share_out(columns, buckets, sizes, low, high, groups):
    """Classes around the records that lie farthest from the mean of the remaining ones; returns the
    number of classes.

    ``buckets`` is the bucket of every record and is used up, like ``columns``. Class *c* gets
    ``sizes[c]`` records, of bucket *j* at least ``low[c, j]`` and at most ``high[c, j]``. Fewer
    classes than ``sizes`` are made where the counts of a class leave nothing for those after it;
    with ``low`` equal to ``high`` that cannot happen. Costs records × classes distances.
    """
    count = columns.shape[1]
    shares = low.shape[1]
    numbers = np.arange(count)
    bucket_sizes = np.zeros(shares, np.int64)
    for i in range(count):
        bucket_sizes[buckets[i]] += 1
    later_low = low.sum(axis=0)
    later_high = high.sum(axis=0)
    minimum = np.empty(shares, np.int64)
    maximum = np.empty(shares, np.int64)
    counts = np.empty(shares, np.int64)
    used = np.empty(shares, np.int64)
    nearest = np.empty((shares, high.max()), np.int64)
    room = np.empty(sizes.max(), np.int64)
    out = np.empty(count)
    centre = np.empty(columns.shape[0])
    sums = columns.sum(axis=1)
    # One class a turn, each a pass over the records that are left.
    for row in range(sizes.size):
        if not _find_limits(
            row, bucket_sizes, (low, high), (later_low, later_high), minimum, maximum
        ):
            return row
        if minimum.sum() > sizes[row] or maximum.sum() < sizes[row]:
            return row
        for axis in range(columns.shape[0]):
            centre[axis] = sums[axis] / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _distances(columns, 0, count, centre, out)
        _list_nearest(numbers, buckets, count, out, maximum, counts, nearest)
        members = room[: sizes[row]]
        if _pick_members(numbers, out, minimum, counts, nearest, used, members) < sizes[row]:
            return row
        count = _remove_members(
            (columns, numbers, count), buckets, members, sums, bucket_sizes, groups, row
        )
    return sizes.size
