"""Loops of microaggregation: MDAV, V-MDAV, local search, optimal runs, a genetic algorithm, k-Ward.

Arrays. ``columns`` has one row per dimension and one column per record, float64; records without a
group stand first, so that the distances of all of them are one pass over memory, and a record that
goes is replaced by the last one. ``numbers`` are the original numbers of the records at these
positions. ``points`` has one row per record. ``groups[record]`` receives the group, 0, 1, …. Ties
go to the record with the lower number. SSE is the sum of squared distances from group means.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.group_changes import (
    sum_squared_errors,
    try_create,
    try_dissolve,
    try_move,
    try_swap,
)
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner

# Distances of so many records, 8 kilobytes, are still in the first cache when they are compared.
_CHUNK = 1024


@inner
def _find_centre(columns, count, centre):
    """Write the mean of the first ``count`` records."""
    # Summed again in the order of the records: sums that were brought up to date would drift.
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
        column = columns[a, low:high]
        middle = centre[a]
        if a == 0:
            for i in range(part.size):
                part[i] = (column[i] - middle) * (column[i] - middle)
        else:
            for i in range(part.size):
                part[i] += (column[i] - middle) * (column[i] - middle)


@inner
def _farthest(columns, numbers, count, centre, out):
    """The position of the record farthest from a point; ``out`` receives all distances."""
    best, farthest = 0, -1.0
    # Chunk by chunk: distances by vector instructions, then the comparison, which is not.
    for low in range(0, count, _CHUNK):
        high = min(low + _CHUNK, count)
        _distances(columns, low, high, centre, out)
        part = out[low:high]
        for i in range(part.size):
            if part[i] >= farthest and (part[i] > farthest or numbers[low + i] < numbers[best]):
                best = low + i
                farthest = part[i]
    return best


@inner
def _nearest(numbers, count, out, k, positions):
    """Write the positions of the k records with the least distance ``out``, nearest first."""
    filled = 0
    limit = np.inf
    # Most records are farther than the k-th so far and cost one comparison.
    for i in range(count):
        if out[i] > limit:
            continue
        if filled == k and out[i] == limit and numbers[i] > numbers[positions[k - 1]]:
            continue
        at = filled if filled < k else k - 1
        filled = min(filled + 1, k)
        while at > 0 and (
            out[positions[at - 1]] > out[i]
            or (out[positions[at - 1]] == out[i] and numbers[positions[at - 1]] > numbers[i])
        ):
            positions[at] = positions[at - 1]
            at -= 1
        positions[at] = i
        if filled == k:
            limit = out[positions[k - 1]]


@inner
def _assign_records(columns, numbers, count, positions, k, groups, group):
    """Put the records at some positions into a group and close the gaps they leave; returns how
    many remain.
    """
    for a in range(k):
        groups[numbers[positions[a]]] = group
    gone = np.sort(positions[:k])
    # From the highest place down: the last record moves into the gap and is never one that goes.
    for b in range(k - 1, -1, -1):
        count -= 1
        numbers[gone[b]] = numbers[count]
        for a in range(columns.shape[0]):
            columns[a, gone[b]] = columns[a, count]
    return count


@inner
def _copy_point(columns, position, centre):
    """Copy the point at a position."""
    for a in range(columns.shape[0]):
        centre[a] = columns[a, position]


@njit(cache=True, nogil=True)
def build_mdav_groups(columns, k, groups):
    """Maximum distance to average vector; returns the number of groups, ``groups`` receives them.

    ``columns`` is used up. As long as 3k records remain: the record r farthest from their mean and
    its k − 1 nearest are a group, the record s farthest from r and its k − 1 nearest are another;
    with 2k or more remaining, one more group around r; the last records are the last group.
    """
    count = columns.shape[1]
    group_count = 0
    numbers = np.arange(count)
    out = np.empty(count)
    positions = np.empty(k, np.int64)
    centre = np.empty(columns.shape[0])
    second_seed = np.empty(columns.shape[0])
    # MDAV (Domingo-Ferrer & Torra 2005): n ∕ k groups with a pass over all records left, n² ∕ k in
    # all.
    while count >= 2 * k:
        two_groups = count >= 3 * k
        _find_centre(columns, count, centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), centre)
        _copy_point(columns, _farthest(columns, numbers, count, centre, out), second_seed)
        # Distances from r are still in ``out`` after the search for s.
        _nearest(numbers, count, out, k, positions)
        count = _assign_records(columns, numbers, count, positions, k, groups, group_count)
        group_count += 1
        if two_groups:
            _distances(columns, 0, count, second_seed, out)
            _nearest(numbers, count, out, k, positions)
            count = _assign_records(columns, numbers, count, positions, k, groups, group_count)
            group_count += 1
    for i in range(count):
        groups[numbers[i]] = group_count
    return group_count + (1 if count > 0 else 0)


@inner
def _extend(columns, numbers, count, points, group, groups, room, gamma, out, reach):
    """Let records that lie nearer to the group than to any other record join it; returns how many
    remain.

    ``reach[record]`` is the distance of every remaining record from the nearest member of the
    group, which has ``room`` for so many more.
    """
    members = np.empty(1, np.int64)
    while room > 0 and count > 0:
        best = 0
        # Positions change as records leave, so ties go by the number of the record.
        for i in range(1, count):
            if reach[numbers[i]] < reach[numbers[best]] or (
                reach[numbers[i]] == reach[numbers[best]] and numbers[i] < numbers[best]
            ):
                best = i
        record = numbers[best]
        # d_out: the distance to the nearest other record without a group.
        nearest = np.inf
        _distances(columns, 0, count, points[record], out)
        for i in range(count):
            if i != best:
                nearest = min(nearest, out[i])
        # d_in < gamma · d_out (Solanas & Martínez-Ballesté 2006); roots, since gamma is for
        # distances.
        if not np.sqrt(reach[record]) < gamma * np.sqrt(nearest):
            break
        # The new member may be nearer to those left than all others of the group.
        members[0] = best
        for i in range(count):
            reach[numbers[i]] = min(reach[numbers[i]], out[i])
        count = _assign_records(columns, numbers, count, members, 1, groups, group)
        room -= 1
    return count


@njit(cache=True, nogil=True)
def build_v_mdav_groups(points, k, gamma, groups):
    """MDAV with groups of k to 2k − 1 records (V-MDAV, Solanas & Martínez-Ballesté 2006); returns
    the number of groups.

    Each time the record farthest from the mean of all and its k − 1 nearest are a group. The record
    that lies nearest to the group, at distance d_in from its nearest member, joins it when d_in <
    gamma · d_out, with d_out the distance to the nearest other record that is in no group yet.
    Fewer than k remaining records join the groups whose means are nearest.
    """
    columns = points.T.copy()
    count = columns.shape[1]
    group_count = 0
    numbers = np.arange(count)
    out = np.empty(count)
    positions = np.empty(k, np.int64)
    reach = np.empty(count)
    middle = np.empty(columns.shape[0])
    _find_centre(columns, count, middle)
    # The mean of all records stays the reference: it is computed once (V-MDAV).
    while count >= k:
        seed = numbers[_farthest(columns, numbers, count, middle, out)]
        _distances(columns, 0, count, points[seed], out)
        _nearest(numbers, count, out, k, positions)
        for i in range(count):
            reach[numbers[i]] = np.inf
        members = numbers[positions]
        count = _assign_records(columns, numbers, count, positions, k, groups, group_count)
        # Distances of the others from the nearest of the k members.
        for b in range(k):
            _distances(columns, 0, count, points[members[b]], out)
            for i in range(count):
                reach[numbers[i]] = min(reach[numbers[i]], out[i])
        count = _extend(
            columns, numbers, count, points, group_count, groups, k - 1, gamma, out, reach
        )
        group_count += 1
    _join_nearest(points, numbers, count, groups, group_count)
    return group_count


@inner
def _join_nearest(points, numbers, count, groups, group_count):
    """Let the few remaining records join the groups with the nearest means."""
    n, d = points.shape
    if count == 0:
        return
    has_no_group = np.zeros(n, np.bool_)
    for i in range(count):
        has_no_group[numbers[i]] = True
    # Means of the groups as they are now: records that join do not change them.
    sums = np.zeros((group_count, d))
    sizes = np.zeros(group_count)
    for i in range(n):
        if not has_no_group[i]:
            sizes[groups[i]] += 1.0
            for a in range(d):
                sums[groups[i], a] += points[i, a]
    for i in range(n):
        if has_no_group[i]:
            best, lowest = 0, np.inf
            # Fewer than k records times all groups.
            for g in range(group_count):
                away = 0.0
                for a in range(d):
                    gap = points[i, a] - sums[g, a] / sizes[g]
                    away += gap * gap
                if away < lowest:
                    best, lowest = g, away
            groups[i] = best


# Loops that search good groups: downhill until nothing helps, and at random at a temperature.

_REACH = 12
"""Nearest neighbours whose groups may take in a record of a dissolved group."""
_DISSOLVE = 0.1
"""Share of the changes that dissolve a group; as many try to create one."""


@inner
def _draw_bits(draws):
    """64 random bits: xorshift64*, the same on every machine."""
    bits = draws[0]
    bits ^= bits >> np.uint64(12)
    bits ^= bits << np.uint64(25)
    bits ^= bits >> np.uint64(27)
    draws[0] = bits
    return bits * np.uint64(2685821657736338717)


@inner
def _draw_below(draws, count):
    """A random whole number from 0 to count − 1."""
    return np.int64((_draw_bits(draws) >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@inner
def _draw_uniform(draws):
    """A random number between 0 and 1, neither of them."""
    return (np.float64(_draw_bits(draws) >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True, nogil=True)
def anneal(state, k, draws, temperature, tries, active):
    """Try random changes of groups around the ``active`` records at one temperature.

    A change that adds x to the squared error is made with probability min(1, exp(−x/temperature)).
    Half of the neighbours that are looked at lie among the nearest 30 %.
    """
    width = state.near.shape[1]
    reach = min(width, _REACH)
    records = np.empty(state.members.shape[1], np.int64)
    homes = np.empty(state.members.shape[1], np.int64)
    # Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983); the acceptance limit is drawn first,
    # so that a change can be given up before it is complete.
    for _ in range(tries):
        limit = -temperature * np.log(_draw_uniform(draws))
        i = np.int64(active[_draw_below(draws, active.size)])
        kind = _draw_uniform(draws)
        if kind < _DISSOLVE:
            # Only groups of at most k + 1 records are dissolved.
            if state.sizes[state.groups[i]] <= k + 1:
                try_dissolve(state, state.groups[i], reach, limit, records, homes)
        elif kind < 2.0 * _DISSOLVE:
            try_create(state, k, i, limit, records, homes)
        else:
            # The smaller of two draws: near ones are more likely.
            j = np.int64(state.near[i, min(_draw_below(draws, width), _draw_below(draws, width))])
            if state.groups[j] != state.groups[i] and not try_move(
                state, k, i, state.groups[j], limit
            ):
                try_swap(state, i, j, limit)


@njit(cache=True, nogil=True)
def descend(state, k, active, minimum, rounds):
    """Make changes that lower the squared error by more than ``minimum`` each until there are none,
    at most so many rounds; returns how many changes.
    """
    width = state.near.shape[1]
    records = np.empty(state.members.shape[1], np.int64)
    homes = np.empty(state.members.shape[1], np.int64)
    total = 0
    # Every change lowers the error by more than ``minimum``, so this ends.
    for _ in range(rounds):
        changes = 0
        for b in range(active.size):
            i = np.int64(active[b])
            # Once a group: for its first member.
            if state.members[state.groups[i], 0] == i:
                changes += try_dissolve(state, state.groups[i], width, -minimum, records, homes)
            changes += try_create(state, k, i, -minimum, records, homes)
            for r in range(width):
                j = np.int64(state.near[i, r])
                if state.groups[i] != state.groups[j]:
                    if try_move(state, k, i, state.groups[j], -minimum) or try_swap(
                        state, i, j, -minimum
                    ):
                        changes += 1
        total += changes
        if changes == 0:
            break
    return total


# Loops over records in a given order: groups are runs of neighbours.


@njit(cache=True)
def cut_best_runs(points, k, groups):
    """Cut points, in their order, into runs of k to 2k − 1 with the least squared error (Hansen &
    Mukherjee 2003 for one dimension); returns the number of runs.

    A shortest path over the gaps between records: the arc from i to j costs the squared error of
    the records i…j−1 and exists for k ≤ j − i ≤ 2k − 1. The error grows by n/(n+1)·d² with each
    record, at distance d from the mean of the n before it: without the cancellation that
    differences of prefix sums suffer from. n · k steps per dimension.
    """
    n, d = points.shape
    cost = np.full(n + 1, np.inf)
    step = np.zeros(n + 1, np.int64)
    mean = np.empty(d)
    cost[0] = 0.0
    for i in range(n - k + 1):
        if cost[i] == np.inf:
            continue
        error = 0.0
        for a in range(d):
            mean[a] = 0.0
        # One walk to the right prices all arcs from i: mean and error are updated (Welford).
        for size in range(1, min(2 * k - 1, n - i) + 1):
            away = 0.0
            for a in range(d):
                gap = points[i + size - 1, a] - mean[a]
                away += gap * gap
                mean[a] += gap / size
            error += away * (size - 1.0) / size
            if size >= k and cost[i] + error < cost[i + size]:
                cost[i + size] = cost[i] + error
                step[i + size] = size
    # Follow the shortest path back from the end.
    run_count = np.int64(0)
    end = n
    while end > 0:
        for i in range(end - step[end], end):
            groups[i] = run_count
        run_count += 1
        end -= step[end]
    return run_count


# Loops of a genetic algorithm on partitions of a few dozen records.


@inner
def _sum_groups(points, groups, sums, sizes):
    """Sums and sizes of all groups."""
    sizes[:] = 0
    sums[:] = 0.0
    for i in range(points.shape[0]):
        sizes[groups[i]] += 1
        for a in range(points.shape[1]):
            sums[groups[i], a] += points[i, a]


@inner
def _squared_distance(points, i, sums, sizes, g):
    """The squared distance of a record from the mean of a group."""
    total = 0.0
    for a in range(points.shape[1]):
        gap = points[i, a] - sums[g, a] / sizes[g]
        total += gap * gap
    return total


@inner
def _dissolve_small(points, groups, k, sums, sizes):
    """Records of groups that are too small join the nearest group that is large enough."""
    _sum_groups(points, groups, sums, sizes)
    for i in range(points.shape[0]):
        if sizes[groups[i]] >= k:
            continue
        best = -1
        lowest = np.inf
        for g in range(sizes.size):
            if sizes[g] >= k:
                away = _squared_distance(points, i, sums, sizes, g)
                if away < lowest:
                    best, lowest = g, away
        if best < 0:
            best = 0  # nobody is large enough: all together
        groups[i] = best


@inner
def _split_large(points, groups, k, sums, sizes, away):
    """Groups of 2k or more are split: the record farthest from the mean and its k − 1 nearest are a
    group of their own.
    """
    _sum_groups(points, groups, sums, sizes)
    for g in range(sizes.size):
        while sizes[g] >= 2 * k:
            # An unused number for the new group; without one the group stays large.
            free = 0
            while free < sizes.size and sizes[free] > 0:
                free += 1
            if free == sizes.size:
                return
            seed, farthest = -1, -1.0
            # Distances from the seed within the group; records elsewhere are infinitely far.
            for i in range(points.shape[0]):
                if groups[i] == g and _squared_distance(points, i, sums, sizes, g) > farthest:
                    seed = i
                    farthest = _squared_distance(points, i, sums, sizes, g)
            for i in range(points.shape[0]):
                away[i] = np.inf
                if groups[i] == g:
                    away[i] = 0.0
                    for a in range(points.shape[1]):
                        gap = points[i, a] - points[seed, a]
                        away[i] += gap * gap
            away[seed] = -1.0
            for _ in range(k):
                nearest = np.argmin(away)
                groups[nearest] = free
                away[nearest] = np.inf
            _sum_groups(points, groups, sums, sizes)


@inner
def _cross_parents(child, mother, father, k, draw):
    """A child of the mother that has one group of the father; its number is one that the mother
    does not use, or −1.
    """
    child[:] = mother
    used = np.zeros(child.size // k + 2, np.bool_)
    for i in range(child.size):
        used[mother[i]] = True
    fresh = 0
    while used[fresh]:
        fresh += 1
    # The father's group of a random record becomes a group of the child.
    group = father[int(draw * child.size)]
    for i in range(child.size):
        if father[i] == group:
            child[i] = fresh


@njit(cache=True, nogil=True)
def evolve(points, k, start, randoms):
    """The best partition that some generations find; never worse than ``start``.

    ``randoms`` has one row of six numbers between 0 and 1 per generation. Each makes one child of
    two parents, each the better of two at random (tournament selection); with probability one half
    two of its records are exchanged; it is repaired (no group has fewer than k records or, as far
    as numbers last, 2k or more) and replaces the worst where it is better.
    """
    n = points.shape[0]
    population = 24
    people = np.empty((population, n), np.int64)
    errors = np.empty(population)
    count = n // k + 2
    sums = np.empty((count, points.shape[1]))
    sizes = np.empty(count, np.int64)
    away = np.empty(n)
    child = np.empty(n, np.int64)
    for p in range(population):
        # The first is ``start`` itself, the others have more and more random exchanges.
        people[p] = start
        for turn in range(2 * p):
            row = randoms[(p * 7 + turn) % randoms.shape[0]]
            i = int(row[turn % 6] * n)
            j = int(row[(turn + 3) % 6] * n)
            people[p, i], people[p, j] = people[p, j], people[p, i]
        errors[p] = sum_squared_errors(points, people[p], count)
    for turn in range(randoms.shape[0]):
        row = randoms[turn]
        a = int(row[0] * population)
        b = int(row[1] * population)
        c = int(row[2] * population)
        d = int(row[3] * population)
        mother = a if errors[a] <= errors[b] else b
        father = c if errors[c] <= errors[d] else d
        _cross_parents(child, people[mother], people[father], k, row[4])
        # Mutation: exchange two records.
        if row[5] < 0.5:
            i = int(row[5] * 2.0 * n)
            j = int((row[4] * 977.0) % 1.0 * n)
            child[i], child[j] = child[j], child[i]
        _dissolve_small(points, child, k, sums, sizes)
        _split_large(points, child, k, sums, sizes, away)
        error = sum_squared_errors(points, child, count)
        worst = np.argmax(errors)
        # Equal errors mean equal partitions, as good as always: no second copy.
        if error < errors[worst] and not np.any(errors == error):
            people[worst] = child
            errors[worst] = error
    return people[np.argmin(errors)]


# Loops of k-Ward: join the two groups whose union adds the least squared error, but never two that
# are large enough.


@inner
def _added_error(sums, sizes, g, h):
    """What joining two groups adds to the squared error: n·m/(n+m) times the squared distance of
    their means.
    """
    total = 0.0
    for a in range(sums.shape[1]):
        gap = sums[g, a] / sizes[g] - sums[h, a] / sizes[h]
        total += gap * gap
    return total * sizes[g] * sizes[h] / (sizes[g] + sizes[h])


@inner
def _find_partner(sums, sizes, alive, g, enough, partner, cost):
    """Find the cheapest group that may join a group; −1 where there is none."""
    partner[g] = -1
    cost[g] = np.inf
    for h in range(alive.size):
        if h == g or not alive[h] or (sizes[g] >= enough and sizes[h] >= enough):
            continue
        added = _added_error(sums, sizes, g, h)
        if added < cost[g]:
            partner[g] = h
            cost[g] = added


@inner
def _has_small_group(sizes, alive, k):
    """Whether some group has fewer than k records."""
    for g in range(alive.size):
        if alive[g] and sizes[g] < k:
            return True
    return False


@njit(cache=True, nogil=True)
def join_groups(points, groups, k, enough):
    """k-Ward (Domingo-Ferrer & Mateo-Sanz 2002): join groups until all have k records or none may
    join another; ``groups`` are numbered by their first records.

    Two groups with ``enough`` records each are never joined. Ties: the group that comes first, then
    the partner that does. The cheapest partner of every group is kept up to date: n² steps in the
    typical case.
    """
    n, d = points.shape
    sums = np.zeros((n, d))
    sizes = np.zeros(n)
    alive = np.zeros(n, np.bool_)
    partner = np.full(n, -1, np.int64)
    cost = np.full(n, np.inf)
    for i in range(n):
        alive[groups[i]] = True
        sizes[groups[i]] += 1.0
        for a in range(d):
            sums[groups[i], a] += points[i, a]
    for g in range(n):
        if alive[g]:
            _find_partner(sums, sizes, alive, g, enough, partner, cost)
    while _has_small_group(sizes, alive, k):
        # The cheapest join of all.
        g = -1
        lowest = np.inf
        for h in range(n):
            if alive[h] and cost[h] < lowest:
                g = h
                lowest = cost[h]
        if g < 0:
            break
        # h becomes part of g; sums and sizes are all that later joins need.
        h = partner[g]
        alive[h] = False
        sizes[g] += sizes[h]
        for a in range(d):
            sums[g, a] += sums[h, a]
        for i in range(n):
            if groups[i] == h:
                groups[i] = g
        _find_partner(sums, sizes, alive, g, enough, partner, cost)
        _update_partners(sums, sizes, alive, g, h, enough, partner, cost)


@inner
def _update_partners(sums, sizes, alive, g, h, enough, partner, cost):
    """After h has joined g: look again where one of them was the partner, and whether g is a better
    one now.
    """
    for c in range(alive.size):
        if not alive[c] or c == g:
            continue
        if partner[c] == g or partner[c] == h:
            _find_partner(sums, sizes, alive, c, enough, partner, cost)
        elif not (sizes[g] >= enough and sizes[c] >= enough):
            added = _added_error(sums, sizes, g, c)
            if added < cost[c] or (added == cost[c] and g < partner[c]):
                partner[c] = g
                cost[c] = added


@njit(cache=True, nogil=True)
def find_farthest_pair(points):
    """The two records that lie farthest apart; of equal pairs the first. All n² ∕ 2 pairs."""
    n, d = points.shape
    first = 0
    second = 0
    farthest = -1.0
    for i in range(n):
        for j in range(i + 1, n):
            away = 0.0
            for a in range(d):
                gap = points[i, a] - points[j, a]
                away += gap * gap
            if away > farthest:
                first = i
                second = j
                farthest = away
    return first, second
