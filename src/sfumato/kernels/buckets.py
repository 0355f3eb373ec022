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
from sfumato.kernels.microaggregation import _copy_point, _distances, _farthest, _take
from sfumato.kernels.points import inner


class RankedLine(NamedTuple):
    """Where records lie: the rank of each, and the two sums over the gaps before a rank."""

    ranks: NDArray[np.int64]
    reach: NDArray[np.float64]
    moved: NDArray[np.float64]


@inner
def _area(share, below, low, high, reach, moved):
    """The area between the constant ``share`` and the table's cumulative distribution from rank low
    to rank high; the table passes the constant at rank ``below``.
    """
    cross = min(max(below, low), high)
    # Left of the crossing the class is above the table, right of it the table above the class.
    under = share * (reach[cross] - reach[low]) - (moved[cross] - moved[low])
    over = (moved[high] - moved[cross]) - share * (reach[high] - reach[cross])
    return under + over


@inner
def _distance(members, size, reach, moved):
    """The earth mover's distance of the class with these ranks, ascending. Example: the class of
    all records has distance 0.
    """
    n = reach.size
    total, start = 0.0, 0
    # Between two ranks the distribution of the class is constant: one area a member, the whole line
    # is covered.
    for c in range(size + 1):
        end = members[c] if c < size else n - 1
        total += _area(c / size, c * n // size, start, end, reach, moved)
        start = end
    return total


@njit(cache=True, nogil=True)
def distances(starts, members, reach, moved):
    """The distance of every class; class *i* has the ranks ``members[starts[i]:starts[i+1]]``,
    ascending.
    """
    found = np.empty(starts.size - 1)
    for i in range(found.size):
        found[i] = _distance(
            members[starts[i] : starts[i + 1]], starts[i + 1] - starts[i], reach, moved
        )
    return found


@inner
def _exchanged(members, size, out, rank, made):
    """Write the ascending ranks with the one at index ``out`` replaced by ``rank``: one merge pass."""
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
def _swap(size, candidates, line, numbers, t, inside):
    """Replace members by candidates, nearest first, while that lowers the distance and it exceeds t
    (Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2015).

    ``inside`` are the positions of the members; they change. Costs candidates × size² steps at
    worst.
    """
    ranks, reach, moved = line
    members = np.empty(size, np.int64)
    made = np.empty(size, np.int64)
    best = np.empty(size, np.int64)
    order = np.argsort(ranks[numbers[inside[:size]]])
    # Members and their positions are kept in the order of the ranks, as a distance needs them.
    for a in range(size):
        members[a] = ranks[numbers[inside[order[a]]]]
    places = inside[order]
    now = _distance(members, size, reach, moved)
    # Greedy: a candidate replaces the member whose loss lowers the distance most.
    for c in range(candidates.size):
        if now <= t:
            break
        rank = ranks[numbers[candidates[c]]]
        out = -1
        least = now
        # Every member could be the one to go.
        for a in range(size):
            _exchanged(members, size, a, rank, made)
            tried = _distance(made, size, reach, moved)
            if tried < least:
                out, least = a, tried
                best[:] = made
        if out < 0:
            continue
        # The new member goes where its rank stands; the other positions keep their order.
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
def _around(remaining, line, centre, limits, out, groups, group):
    """Make a class of the k records nearest to a point; returns how many records remain.

    ``remaining`` is the points, their numbers and how many remain; ``limits`` is ``k, t``.
    """
    columns, numbers, count = remaining
    k, t = limits
    _distances(columns, 0, count, centre, out)
    order = np.argsort(out[:count], kind="mergesort")
    inside = order[:k].copy()
    _swap(k, order[k:], line, numbers, t, inside)
    return _take(columns, numbers, count, inside, k, groups, group)


@njit(cache=True, nogil=True)
def near_and_close(columns, ranks, k, t, reach, moved, groups):
    """MDAV whose classes swap records until they are within t, where that is possible; returns the
    number of classes.

    ``columns`` is used up. A class looks at all remaining records, nearest to its seed first.
    """
    count = columns.shape[1]
    made = 0
    line = RankedLine(ranks, reach, moved)
    numbers = np.arange(count)
    out = np.empty(count)
    centre = np.empty(columns.shape[0])
    other = np.empty(columns.shape[0])
    # MDAV (Domingo-Ferrer & Torra 2005): two classes a round, around the point farthest from the
    # mean and the one farthest from that; n² ∕ k distances.
    while count >= 2 * k:
        both = count >= 3 * k
        for a in range(columns.shape[0]):
            centre[a] = columns[a, :count].sum() / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), other)
        count = _around((columns, numbers, count), line, centre, (k, t), out, groups, made)
        made += 1
        if both:
            count = _around((columns, numbers, count), line, other, (k, t), out, groups, made)
            made += 1
    # Fewer than 2k records remain: they are the last class.
    for i in range(count):
        groups[numbers[i]] = made
    return made + (1 if count > 0 else 0)


# Loops that share records out to classes: each class takes so many of every bucket, those nearest
# to its seed.
#
# Records that are left stand first in their arrays, as in :mod:`sfumato.kernels.microaggregation`;
# ties go to the record that came first.


@inner
def _limits(row, left, bounds, later, least, most):
    """How many of every bucket a class may take so that the classes after it can still be filled;
    False if none can. ``bounds`` is ``low, high`` of all classes, ``later`` their sums over this
    and the classes after it.
    """
    low, high = bounds
    later_low, later_high = later
    # What later classes can take at most must go now, what they need at least must stay.
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
    """For every bucket the positions of its ``most[j]`` records with the least distance ``out``,
    nearest first.
    """
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
        # Insertion sort into at most ``most[j]`` places: one pass over the records.
        while at > 0:
            before = places[j, at - 1]
            if out[before] < out[i] or (out[before] == out[i] and numbers[before] < numbers[i]):
                break
            places[j, at] = before
            at -= 1
        places[j, at] = i


@inner
def _choose(numbers, out, least, found, places, taken, chosen):
    """Pick the least of every bucket, then the nearest of all buckets that have room; returns how
    many were picked. ``chosen`` has room for the size of the class.
    """
    count, size = 0, chosen.size
    for j in range(found.size):
        taken[j] = least[j]
        for a in range(least[j]):
            chosen[count] = places[j, a]
            count += 1
    # A merge of sorted lists, one for each bucket.
    while count < size:
        best = -1
        for j in range(found.size):
            if taken[j] < found[j]:
                here = places[j, taken[j]]
                if best < 0:
                    best = j
                    continue
                other = places[best, taken[best]]
                if out[here] < out[other] or (
                    out[here] == out[other] and numbers[here] < numbers[other]
                ):
                    best = j
        if best < 0:
            return count
        chosen[count] = places[best, taken[best]]
        taken[best] += 1
        count += 1
    return count


@inner
def _remove(remaining, buckets, chosen, sums, left, groups, group):
    """Put the chosen records into a class and close the gaps; returns how many remain."""
    columns, numbers, count = remaining
    size = chosen.size
    gone = np.sort(chosen)
    for a in range(size):
        left[buckets[gone[a]]] -= 1
        for axis in range(columns.shape[0]):
            sums[axis] -= columns[axis, gone[a]]
    # From the end, as _take moves the points: the buckets must follow them.
    for b in range(size - 1, -1, -1):
        buckets[gone[b]] = buckets[count - (size - b)]
    return _take(columns, numbers, count, chosen, size, groups, group)


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
    left = np.zeros(shares, np.int64)
    for i in range(count):
        left[buckets[i]] += 1
    later_low = low.sum(axis=0)
    later_high = high.sum(axis=0)
    least = np.empty(shares, np.int64)
    most = np.empty(shares, np.int64)
    found = np.empty(shares, np.int64)
    taken = np.empty(shares, np.int64)
    places = np.empty((shares, high.max()), np.int64)
    chosen = np.empty(sizes.max(), np.int64)
    out = np.empty(count)
    centre = np.empty(columns.shape[0])
    sums = columns.sum(axis=1)
    # One class a turn, each a pass over the records that are left.
    for row in range(sizes.size):
        if not _limits(row, left, (low, high), (later_low, later_high), least, most):
            return row
        if least.sum() > sizes[row] or most.sum() < sizes[row]:
            return row
        for axis in range(columns.shape[0]):
            centre[axis] = sums[axis] / count
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _distances(columns, 0, count, centre, out)
        _nearest_of_each(numbers, buckets, count, out, most, found, places)
        members = chosen[: sizes[row]]
        if _choose(numbers, out, least, found, places, taken, members) < sizes[row]:
            return row
        count = _remove((columns, numbers, count), buckets, members, sums, left, groups, row)
    return sizes.size
