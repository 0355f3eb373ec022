"""Loops of Mondrian (LeFevre, DeWitt & Ramakrishnan 2006), of trimming outliers, and of k-member
clustering (Byun, Kamra, Bertino & Li 2007).

Arrays. ``points`` has one row per class as in :mod:`sfumato.kernels.points`: a rank per dimension,
the records, the number of the class. A *segment* is a run of points; segments are cut in place. A
*cut* is five numbers: dimension, low, high, fill, left. Points with a rank from low to high go
left, as do records of rank high + 1 until ``fill`` of them have gone; ``left_records`` is how many
records that makes in all.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import (
    AMOUNT,
    AT,
    DISTINCT,
    FORM,
    HIGH,
    LINE,
    LOW,
    PLACE,
    RANK,
    SET,
    SIZE,
    TREE,
    TREE_AT,
    WEIGHT,
    cell_loss,
    count_values,
    find_meeting_level,
    inner,
    join_cells,
    measure_box,
    sort_dimensions,
)

_NONE = np.int64(0)


@inner
def _add_cut(cuts, count, a, low, high, fill, left_records):
    """Write a cut; returns the number of cuts."""
    cuts[count, 0] = a
    cuts[count, 1] = low
    cuts[count, 2] = high
    cuts[count, 3] = fill
    cuts[count, 4] = left_records
    return count + 1


@inner
def _copy_row(rows, i, j):
    """Copy row i to row j."""
    for c in range(rows.shape[1]):
        rows[j, c] = rows[i, c]


@inner
def _child_cuts(values, a, total, crowd, limit, space, scratch):
    """Cut off one child of the node above all values: the children nearest to half of the records
    come first.
    """
    cuts = scratch.cuts
    count = np.int64(0)
    level = find_meeting_level(space, a, scratch.box[LOW, a], scratch.box[HIGH, a]) - 1
    base = space.dims[TREE_AT, a] + level * space.dims[SIZE, a]
    i = 0
    # Values are in the order of the tree, so those of one child lie side by side: one pass.
    while i < values:
        first = i
        left_records = np.int64(0)
        while (
            i < values
            and space.nodes[base + scratch.values[RANK, i]]
            == space.nodes[base + scratch.values[RANK, first]]
        ):
            left_records += scratch.values[AMOUNT, i]
            i += 1
        if left_records < crowd or total - left_records < crowd:
            continue
        # Insertion into the best so far: there are few.
        j = count
        while j > 0 and abs(2 * cuts[j - 1, 4] - total) > abs(2 * left_records - total):
            if j < limit:
                _copy_row(cuts, j - 1, j)
            j -= 1
        if j < limit:
            _add_cut(
                cuts,
                j,
                a,
                scratch.values[RANK, first],
                scratch.values[RANK, i - 1],
                _NONE,
                left_records,
            )
            count = min(count + 1, limit)
    return count


@inner
def _value_cut(values, a, total, crowd, heavy, space, scratch):
    """Cut off the most frequent of the values that share their cell with others: those who have it
    are released with it.

    ``heavy``: only a value that half of the records have, otherwise only one that fewer have.
    Returns how many cuts that makes.
    """
    base = space.dims[AT, a]
    best = -1
    # The most frequent value that is not a cell by itself; of equals the first.
    for i in range(values):
        rank = scratch.values[RANK, i]
        alone = space.cells[LOW, base + rank] == space.cells[HIGH, base + rank]
        if not alone and (best < 0 or scratch.values[AMOUNT, i] > scratch.values[AMOUNT, best]):
            best = i
    if best < 0:
        return np.int64(0)
    rank = scratch.values[RANK, best]
    left_records = scratch.values[AMOUNT, best]
    if (2 * left_records >= total) != heavy or left_records < crowd or total - left_records < crowd:
        return np.int64(0)
    return _add_cut(scratch.cuts, np.int64(0), a, rank, rank, _NONE, left_records)


@inner
def _list_cuts(values, a, total, rule, count, space, scratch):
    """Append the cuts of one dimension that leave enough records on both sides, in the order in
    which they are tried; returns the number of cuts.

    Either the cuts that keep the values of a cell together, or (``shared``) the one that shares out
    those of the median. ``rule``: the crowd of either side, ``shared``, and how many cuts are kept.
    """
    crowd, shared, limit = rule
    cuts = scratch.cuts
    lowest = space.cells[LOW, space.dims[AT, a] + scratch.box[LOW, a]]
    if space.dims[FORM, a] == TREE and not shared:
        count = _child_cuts(values, a, total, crowd, limit, space, scratch)
    median = np.int64(0)
    below = np.int64(0)
    # The weighted median, by adding up the values in their order.
    while 2 * (below + scratch.values[AMOUNT, median]) < total:
        below += scratch.values[AMOUNT, median]
        median += 1
    upto = below + scratch.values[AMOUNT, median]
    half = (total + 1) // 2
    middle = scratch.values[RANK, median]
    first = space.cells[LOW, space.dims[AT, a] + middle]
    if shared:
        # Half of the records end within the median value: so many of it go left that both sides are
        # even.
        if below < half < upto and total - half >= crowd:
            count = _add_cut(cuts, count, a, lowest, middle - 1, half - below, half)
        elif (
            half == upto
            and total - half >= crowd
            and middle < space.cells[HIGH, space.dims[AT, a] + middle]
        ):
            # Between two values of one cell.
            count = _add_cut(cuts, count, a, lowest, middle, _NONE, half)
        return count
    # The median goes left, or else right: the two cuts nearest to half.
    if upto >= crowd and total - upto >= crowd:
        count = _add_cut(cuts, count, a, lowest, middle, _NONE, upto)
    if below >= crowd and total - below >= crowd:
        count = _add_cut(cuts, count, a, lowest, first - 1, _NONE, below)
    return count


@inner
def _find_cut(points, segment, rule, skip, space, scratch, next_cut):
    """Write the first cut but ``skip`` of a ``segment`` to ``next_cut``; whether there is one. A
    segment is its first point, its end and its records.

    ``rule``: the crowd that either side must keep, whether a value may be shared out, and how many
    cuts of a dimension are looked at.
    """
    start, end, total = segment
    crowd, relaxed, limit = rule
    # Two crowds do not fit (LeFevre, DeWitt & Ramakrishnan 2006: no allowable cut).
    if total < 2 * crowd:
        return False
    measure_box(points, start, end, space, scratch)
    sort_dimensions(space, scratch)
    # Cuts between cells first; where there is none one value of a cell is cut off, and then records
    # of one value are shared out. Dimensions with the widest box come first in each stage.
    for stage in range(2 + relaxed):
        for i in range(space.dims.shape[1]):
            a = scratch.box[PLACE, i]
            on_line = space.dims[FORM, a] == LINE
            if scratch.box[LOW, a] >= scratch.box[HIGH, a] or (stage == 1 and not on_line):
                continue
            values = count_values(points, start, end, a, scratch)
            count = np.int64(0)
            if on_line and stage < 2:
                count = _value_cut(values, a, total, crowd, stage == 0, space, scratch)
                values = join_cells(space, a, scratch.values, values)
            if stage != 1:
                count = _list_cuts(
                    values, a, total, (crowd, stage == 2, limit), count, space, scratch
                )
            # Cuts come in a fixed order, so the n-th is the same whenever it is asked for.
            if skip < count:
                for c in range(5):
                    next_cut[c] = scratch.cuts[skip, c]
                return True
            skip -= count
    return False


@njit(cache=True, nogil=True)
def find_cuts(points, segments, rule, space, scratch):
    """Per segment of points the cut number ``skips`` in the fixed order, and whether there is one.

    ``segments`` has the first point, the end, the records and the skips of each; ``rule`` as in
    :func:`_find_cut`.
    """
    starts, ends, totals, skips = segments
    cuts = np.zeros((starts.size, 5), np.int64)
    has_cut = np.zeros(starts.size, np.bool_)
    for s in range(starts.size):
        has_cut[s] = _find_cut(
            points,
            (starts[s], ends[s], totals[s]),
            rule,
            skips[s],
            space,
            scratch,
            cuts[s],
        )
    return cuts, has_cut


@inner
def _goes_left(rank, amount, next_cut, filled):
    """Whether a whole point goes left: points of the rank that is split go there while that comes
    nearer to half.
    """
    # Of the value that is shared out, a point goes left while at least half of it fits.
    if rank == next_cut[2] + 1 and next_cut[3] > 0:
        return 2 * filled + amount <= 2 * next_cut[3]
    return next_cut[1] <= rank <= next_cut[2]


@njit(cache=True, nogil=True)
def assign_sides(points, starts, ends, cuts):
    """The class of every point of some segments and its side: 2·segment for left, 2·segment + 1 for
    right.
    """
    d = points.shape[1] - 2
    # Points are only looked at: a cut whose sides break a promise leaves no trace.
    length = 0
    for s in range(starts.size):
        length += ends[s] - starts[s]
    members = np.empty(length, np.int64)
    halves = np.empty(length, np.int64)
    n = 0
    for s in range(starts.size):
        filled = np.int64(0)
        for i in range(starts[s], ends[s]):
            rank = np.int64(points[i, cuts[s, 0]])
            amount = np.int64(points[i, d])
            goes_left = _goes_left(rank, amount, cuts[s], filled)
            if goes_left and rank > cuts[s, 2]:
                filled += amount
            members[n] = points[i, d + 1]
            halves[n] = 2 * s if goes_left else 2 * s + 1
            n += 1
    return members, halves


@njit(cache=True, nogil=True)
def cut_segments(points, starts, ends, cuts):
    """Put the left points of each segment before the right ones; returns where the right ones
    begin, and left records.
    """
    d = points.shape[1] - 2
    middles = starts.copy()
    totals = np.zeros(starts.size, np.int64)
    # Partition in place, one swap a point that goes left (Lomuto).
    for s in range(starts.size):
        filled = np.int64(0)
        for i in range(starts[s], ends[s]):
            rank = np.int64(points[i, cuts[s, 0]])
            amount = np.int64(points[i, d])
            if _goes_left(rank, amount, cuts[s], filled):
                if rank > cuts[s, 2]:
                    filled += amount
                totals[s] += amount
                _swap_rows(points, i, middles[s])
                middles[s] += 1
    return middles, totals


@inner
def _swap_rows(points, i, j):
    """Exchange two rows."""
    if i != j:
        for c in range(points.shape[1]):
            points[i, c], points[j, c] = points[j, c], points[i, c]


@njit(cache=True, nogil=True)
def cut_segment(points, start, end, next_cut):
    """Like :func:`cut_segments` for one segment, but a point that would make the left side too
    large is divided.

    What is left of it is written behind the segment. Returns where the right side begins and where
    it ends.
    """
    d = points.shape[1] - 2
    middle = start
    last = end
    fill = next_cut[3]
    for i in range(start, end):
        rank = points[i, next_cut[0]]
        goes_left = next_cut[1] <= rank <= next_cut[2]
        if rank == next_cut[2] + 1 and fill > 0:
            goes_left = True
            # A point stands for equal records; it is divided so that exactly ``fill`` go left.
            if points[i, d] > fill:
                _copy_row(points, i, last)
                points[last, d] -= fill
                points[i, d] = fill
                last += 1
            fill -= points[i, d]
        if goes_left:
            _swap_rows(points, i, middle)
            middle += 1
    return middle, last


@njit(cache=True, nogil=True)
def partition_points(points, segment, rule, space, scratch, parts, ends):
    """Cut until nothing can be cut, with no other promise than a crowd on both sides.

    ``segment`` is how many of ``points`` are used, and their records; behind them is room where
    points are divided. ``rule``: the crowd, and whether a value may be shared out. ``parts``
    receives class and records, region after region, ``ends`` the ends of the regions in ``parts``.
    Returns the number of regions.

    The open segments lie one after the other; the last one is always next, so it can grow when it
    is cut.
    """
    count, total = segment
    crowd, relaxed = rule
    d = points.shape[1] - 2
    begins = np.zeros(ends.size + 1, np.int64)
    totals = np.zeros(ends.size + 1, np.int64)
    next_cut = np.zeros(5, np.int64)
    totals[0] = total
    waiting = 1
    top = count
    regions = 0
    parts_count = 0
    # Depth first with a stack of segments: the right side is next, and lies at the end of the
    # array. O(n log n) rows on balanced cuts.
    while waiting > 0:
        start = begins[waiting - 1]
        records = totals[waiting - 1]
        if _find_cut(
            points, (start, top, records), (crowd, relaxed, 1), 0, space, scratch, next_cut
        ):
            # Cut: the left side stays where it was, the right side is the next segment.
            middle, top = cut_segment(points, start, top, next_cut)
            totals[waiting - 1] = next_cut[4]
            begins[waiting], totals[waiting] = middle, records - next_cut[4]
            waiting += 1
            continue
        # No cut is legal: the segment is a region, and is written out.
        for i in range(start, top):
            parts[parts_count, 0] = points[i, d + 1]
            parts[parts_count, 1] = points[i, d]
            parts_count += 1
        ends[regions] = parts_count
        regions += 1
        top = start
        waiting -= 1
    return regions


# Loops that find outliers: records without which a region is much tighter.
#
# A *trim* is six numbers: what it is worth per record that goes, the dimension, the lowest and
# highest rank that stay, one between them that goes (−1: none), and how many records go.


@inner
def _consider_trim(a, values_kept, gone, region, space, scratch, trim):
    """Write a trim if it gains more per record than the best so far.

    ``values_kept`` is the first and last rank that stay and how many values. ``region`` is total
    records, crowd, loss of all its cells, and the loss of cells that are suppressed: those that
    stay lose less, those that go lose the difference to a suppressed record.
    """
    first, last, distinct = values_kept
    total, crowd, width, weight = region
    if total - gone < crowd:
        return False
    narrower = space.scales[WEIGHT, a] * (
        scratch.widths[a] - cell_loss(space, a, first, last, distinct)
    )
    # Gain of those who stay less the cost of those who go, per record that goes.
    worth = ((total - gone) * narrower - gone * (weight - width)) / gone
    if worth <= trim[0]:
        return False
    trim[0] = worth
    trim[1] = a
    trim[2] = first
    trim[3] = last
    trim[4] = -1
    trim[5] = gone
    return True


@inner
def _trim_line(count, a, region, space, scratch, trim):
    """Take values from either end of a line."""
    values = scratch.values
    below = np.int64(0)
    above = np.int64(0)
    # From either end, all prefixes and suffixes: sums go along.
    for i in range(count - 1):
        below += values[AMOUNT, i]
        above += values[AMOUNT, count - 1 - i]
        _consider_trim(
            a,
            (values[RANK, i + 1], values[RANK, count - 1], count),
            below,
            region,
            space,
            scratch,
            trim,
        )
        _consider_trim(
            a,
            (values[RANK, 0], values[RANK, count - 2 - i], count),
            above,
            region,
            space,
            scratch,
            trim,
        )


@inner
def _trim_set(count, a, region, space, scratch, trim):
    """Take one value from a set."""
    values = scratch.values
    for i in range(count):
        # The ends of the cell move only when the first or last value goes.
        first = values[RANK, 1 if i == 0 else 0]
        last = values[RANK, count - 2 if i == count - 1 else count - 1]
        if _consider_trim(
            a, (first, last, count - 1), values[AMOUNT, i], region, space, scratch, trim
        ):
            trim[4] = values[RANK, i]


@inner
def _trim_tree(count, a, region, space, scratch, trim):
    """Keep one child of the node above all values of a tree."""
    values = scratch.values
    level = find_meeting_level(space, a, values[RANK, 0], values[RANK, count - 1]) - 1
    base = space.dims[TREE_AT, a] + level * space.dims[SIZE, a]
    i = 0
    while i < count:
        # Values under one child lie side by side; all others go.
        first = i
        kept_records = np.int64(0)
        while (
            i < count
            and space.nodes[base + values[RANK, i]] == space.nodes[base + values[RANK, first]]
        ):
            kept_records += values[AMOUNT, i]
            i += 1
        _consider_trim(
            a,
            (values[RANK, first], values[RANK, i - 1], count),
            region[0] - kept_records,
            region,
            space,
            scratch,
            trim,
        )


@njit(cache=True, nogil=True)
def find_trims(points, starts, ends, crowd, space, scratch):
    """Per region the trim that gains most per record; its gain is 0 where none gains anything.
    Costs a pass over the values of every dimension.
    """
    d = points.shape[1] - 2
    trims = np.zeros((starts.size, 6))
    # All columns suppressed: the most that a record can lose.
    weight = 0.0
    for a in range(d):
        weight += space.scales[WEIGHT, a]
    for s in range(starts.size):
        total = np.int64(0)
        width = 0.0
        for i in range(starts[s], ends[s]):
            total += points[i, d]
        # Without records to spare nothing can go.
        if total <= crowd:
            continue
        measure_box(points, starts[s], ends[s], space, scratch)
        for a in range(d):
            width += space.scales[WEIGHT, a] * scratch.widths[a]
        region = (total, crowd, width, weight)
        for a in range(d):
            if scratch.box[LOW, a] >= scratch.box[HIGH, a]:
                continue
            count = count_values(points, starts[s], ends[s], a, scratch)
            if space.dims[FORM, a] == LINE:
                _trim_line(count, a, region, space, scratch, trims[s])
            elif space.dims[FORM, a] == SET:
                _trim_set(count, a, region, space, scratch, trims[s])
            else:
                _trim_tree(count, a, region, space, scratch, trims[s])
    return trims


@njit(cache=True, nogil=True)
def trim_regions(points, starts, ends, trims):
    """Put the points that stay before those that go; returns where those begin that go."""
    middles = starts.copy()
    # As cut_all: in place, those that stay first.
    for s in range(starts.size):
        for i in range(starts[s], ends[s]):
            rank = points[i, np.int64(trims[s, 1])]
            if trims[s, 2] <= rank <= trims[s, 3] and rank != trims[s, 4]:
                _swap_rows(points, i, middles[s])
                middles[s] += 1
    return middles


# Loops of k-member clustering: grow one cluster after the other around a point near to, or far
# from, the last start.

_BINS = 256


@inner
def _distances_from(points, seed, space, near):
    """Per dimension and rank, the weighted loss of a cell that covers the seed and that rank."""
    for a in range(space.dims.shape[1]):
        seed_rank = np.int64(points[seed, a])
        # Ranks lie on either side of the seed's.
        for rank in range(space.dims[SIZE, a]):
            loss = cell_loss(space, a, min(rank, seed_rank), max(rank, seed_rank), np.int64(2))
            near[space.dims[AT, a] + rank] = space.scales[WEIGHT, a] * loss


@inner
def _measure_from(points, seed, free, count, space, near, costs):
    """The distance of all points that are left from a seed: the loss of a cell that covers both."""
    _distances_from(points, seed, space, near)
    # Distances to all ranks were worked out once, so a point costs one look-up a dimension.
    for i in range(count):
        total = 0.0
        for a in range(space.dims.shape[1]):
            total += near[space.dims[AT, a] + points[free[i], a]]
        costs[free[i]] = total


@inner
def _find_seed(free, count, costs, far):
    """The point farthest from the last seed, or nearest to it; of equals the lower number."""
    seed = free[0]
    for i in range(1, count):
        better = costs[free[i]] > costs[seed] if far else costs[free[i]] < costs[seed]
        if better or (costs[free[i]] == costs[seed] and free[i] < seed):
            seed = free[i]
    return seed


@inner
def _list_nearest(free, count, costs, target_count, nearest):
    """Collect about ``target_count`` of the points that cost least; returns how many. By bins, so
    that one pass is enough: points in the last bin may be more, as far as there is room.
    """
    greatest = 0.0
    for i in range(count):
        greatest = max(greatest, costs[free[i]])
    bins = np.zeros(_BINS + 1, np.int64)
    scale = (_BINS - 1) / greatest if greatest > 0.0 else 0.0
    for i in range(count):
        bins[np.int64(costs[free[i]] * scale)] += 1
    # A histogram of 256 bins: linear, where a sort would take n log n for each cluster.
    limit, below = 0, bins[0]
    while below < target_count and limit < _BINS:
        limit += 1
        below += bins[limit]
    nearest_count = np.int64(0)
    for i in range(count):
        if np.int64(costs[free[i]] * scale) <= limit and nearest_count < nearest.size:
            nearest[nearest_count] = free[i]
            nearest_count += 1
    return nearest_count


@inner
def _open_box(points, i, space, scratch):
    """Start a box at one point."""
    scratch.stamps[-1] += 1
    for a in range(space.dims.shape[1]):
        scratch.box[LOW, a] = scratch.box[HIGH, a] = points[i, a]
        scratch.box[DISTINCT, a] = 1
        scratch.stamps[space.dims[AT, a] + points[i, a]] = scratch.stamps[-1]


@inner
def _loss_with(points, i, space, scratch):
    """The weighted loss of the box when it also covers a point."""
    total = 0.0
    for a in range(space.dims.shape[1]):
        rank = np.int64(points[i, a])
        distinct = scratch.box[DISTINCT, a]
        # A value of a set counts if it is not stamped, i.e. not in the box yet.
        if (
            space.dims[FORM, a] == SET
            and scratch.stamps[space.dims[AT, a] + rank] != scratch.stamps[-1]
        ):
            distinct += 1
        low = min(scratch.box[LOW, a], rank)
        high = max(scratch.box[HIGH, a], rank)
        total += space.scales[WEIGHT, a] * cell_loss(space, a, low, high, distinct)
    return total


@inner
def _widen(points, i, space, scratch):
    """Extend the box to a point."""
    for a in range(space.dims.shape[1]):
        rank = np.int64(points[i, a])
        scratch.box[LOW, a] = min(scratch.box[LOW, a], rank)
        scratch.box[HIGH, a] = max(scratch.box[HIGH, a], rank)
        if scratch.stamps[space.dims[AT, a] + rank] != scratch.stamps[-1]:
            scratch.stamps[space.dims[AT, a] + rank] = scratch.stamps[-1]
            scratch.box[DISTINCT, a] += 1


@inner
def _remove(free, where, count, i):
    """Take a point out of those that are left."""
    # The last one takes its place: constant time, and ``where`` finds it again.
    last = free[count - 1]
    free[where[i]] = last
    where[last] = where[i]
    where[i] = -1
    return count - 1


@njit(cache=True, nogil=True)
def cluster_points(points, sizes, rule, space, scratch, groups):
    """Cluster points so that each cluster has at least ``crowd`` of their ``sizes``; returns the
    number of clusters. ``rule`` is ``crowd, pool, far``.

    ``groups`` receives the cluster of each point, −1 for the few that remain at the end. A cluster
    starts at the point nearest to the start of the last one, or farthest (``far``), and grows by
    the point that adds the least loss, out of the ``pool`` nearest to its start (0: out of all). Of
    equal ones the first point is taken.
    """
    n = points.shape[0]
    d = points.shape[1] - 2
    crowd, pool, far = rule
    free = np.arange(n)
    where = np.arange(n)
    near = np.zeros(space.limits.shape[1])
    costs = np.zeros(n)
    candidates = np.empty(n if pool == 0 else min(n, 4 * pool), np.int64)
    count = n
    remaining = np.int64(0)
    clusters = np.int64(0)
    for i in range(n):
        groups[i] = -1
        remaining += sizes[i]
    _measure_from(points, free[0], free, count, space, near, costs)
    # k-member clustering (Byun, Kamra, Bertino & Li 2007): greedy, n ∕ k clusters of n distances
    # each, so n² ∕ k.
    while remaining >= crowd:
        seed = _find_seed(free, count, costs, far)
        _open_box(points, seed, space, scratch)
        count = _remove(free, where, count, seed)
        _measure_from(points, seed, free, count, space, near, costs)
        size = sizes[seed]
        records = np.float64(points[seed, d])
        loss = _loss_with(points, seed, space, scratch)
        groups[seed] = clusters
        candidate_count = np.int64(-1)
        while size < crowd:
            if candidate_count <= 0:
                candidate_count = _list_pool(free, count, pool, costs, candidates)
            best = 0
            lowest = np.inf
            worst = 0.0
            # All of the pool are tried again after each member: the box has grown, and with it all
            # losses.
            for c in range(candidate_count):
                grown = _loss_with(points, candidates[c], space, scratch)
                # Loss added to those who are in, and the loss of the newcomer's own records.
                score = records * (grown - loss) + points[candidates[c], d] * grown
                if score < lowest or (score == lowest and candidates[c] < candidates[best]):
                    best = c
                    lowest = score
                    worst = grown
            i = candidates[best]
            _widen(points, i, space, scratch)
            size = size + sizes[i]
            records = records + points[i, d]
            loss = worst
            groups[i] = clusters
            count = _remove(free, where, count, i)
            candidate_count -= 1
            candidates[best] = candidates[candidate_count]
        remaining -= size
        clusters += 1
    return clusters


@inner
def _list_pool(free, count, pool, costs, candidates):
    """Write the candidates for a growing cluster; returns how many."""
    if pool > 0:
        return _list_nearest(free, count, costs, pool, candidates)
    for i in range(count):
        candidates[i] = free[i]
    return count


@inner
def _union_loss(lows, highs, distinct, g, h, space):
    """The weighted loss of two boxes as one; values of a set are taken to be different in both."""
    total = 0.0
    for a in range(space.dims.shape[1]):
        low = min(lows[g, a], lows[h, a])
        high = max(highs[g, a], highs[h, a])
        values = (
            distinct[g, a] if g == h else min(distinct[g, a] + distinct[h, a], space.dims[SIZE, a])
        )
        total += space.scales[WEIGHT, a] * cell_loss(
            space, a, np.int64(low), np.int64(high), np.int64(values)
        )
    return total


@njit(cache=True, nogil=True)
def find_nearest_groups(groups, partners, lows, highs, distinct, records, space):
    """For each of some groups, the one of the others that it is cheapest to join; −1 where there is
    none.
    """
    alone = np.empty(records.size)
    # Loss of each group by itself, which a union replaces.
    for g in range(records.size):
        alone[g] = records[g] * _union_loss(lows, highs, distinct, g, g, space)
    nearest = np.full(groups.size, -1, np.int64)
    # All pairs; only the few groups that break a promise are on the left side.
    for s in range(groups.size):
        g = groups[s]
        lowest = np.inf
        for o in range(partners.size):
            h = partners[o]
            if h == g:
                continue
            cost = (
                (records[g] + records[h]) * _union_loss(lows, highs, distinct, g, h, space)
                - alone[g]
                - alone[h]
            )
            if cost < lowest:
                lowest = cost
                nearest[s] = h
    return nearest
