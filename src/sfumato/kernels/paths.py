"""Loops over paths: subsequences of visits, windows of time, and how many candidates known points
leave.

Arrays. The points (visits) of person *i* stand from ``starts[i]`` to ``starts[i + 1]``, in the
order of time, then of location. ``ticks`` are times as integers, locations and numbered points are
0, 1, …. Lists by location or point (``post_starts``, ``people``) are the same visits, by whom they
belong to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.loop_cache import njit


class Visits(NamedTuple):
    """Runs of visits: when and where."""

    starts: np.ndarray
    ticks: np.ndarray
    locations: np.ndarray


class PostedPoints(NamedTuple):
    """People as ascending runs of numbered points, and per point who has it."""

    starts: np.ndarray
    items: np.ndarray
    post_starts: np.ndarray
    people: np.ndarray


# Subsequences.


@njit(cache=True, nogil=True)
def _list_locations(visits, person, matched, depth, marks, locations, points):
    """List the locations that can follow a matched sequence in one person's visits, each with its
    first such visit; returns how many there are.

    Visits of one time have no order among them, so the next one may be of the same time as the
    last, but never the same visit. ``matched`` are the visits of the sequence so far; ``marks``
    remains set for the listed locations.
    """
    count = 0
    # The earliest match of every step leaves most room for the next (greedy subsequence matching),
    # so one visit per location is enough.
    first = visits.starts[person]
    if depth:
        # Back to the first visit of the same time.
        first = matched[depth - 1]
        while (
            first > visits.starts[person]
            and visits.ticks[first - 1] == visits.ticks[matched[depth - 1]]
        ):
            first -= 1
    for point in range(first, visits.starts[person + 1]):
        location = visits.locations[point]
        if marks[location]:
            continue
        # A visit that is part of the sequence cannot be used twice.
        used = False
        for step in range(depth):
            if matched[step] == point:
                used = True
                break
        if not used:
            marks[location] = 1
            locations[count] = location
            points[count] = point
            count += 1
    return count


class Sequences(NamedTuple):
    """State of a walk over sequences: per depth the entries (person, visit, entry of the sequence
    before), grouped by the last location.

    ``ends[depth, number]`` is where the entries of location ``number`` end. The other arrays are
    scratch for one extension.
    """

    people: np.ndarray
    points: np.ndarray
    links: np.ndarray
    ends: np.ndarray
    counts: np.ndarray
    slots: np.ndarray
    position: np.ndarray
    marks: np.ndarray
    matched: np.ndarray


@njit(cache=True, nogil=True)
def _count_extensions(visits, search, depth, begin, end, near):
    """Count the people who can go on to each location from the sequence of entries ``begin`` to
    ``end``. Returns how many locations there are.
    """
    touched = 0
    for entry in range(begin, end):
        person = _enter_sequence(search, depth, entry)
        count = _list_locations(
            # Marks are cleared at once, for the next person.
            visits,
            person,
            search.matched,
            depth,
            search.marks,
            near[0],
            near[1],
        )
        for number in range(count):
            location = near[0, number]
            search.marks[location] = 0
            if search.counts[location] == 0:
                search.slots[touched] = location
                touched += 1
            search.counts[location] += 1
    return touched


@njit(cache=True, nogil=True)
def _enter_sequence(search, depth, entry):
    """The person of an entry, whose visits so far are written to ``matched`` by following the links
    back.
    """
    if depth == 0:
        return entry
    step = depth - 1
    link = entry
    while step >= 0:
        search.matched[step] = search.points[step, link]
        link = search.links[step, link]
        step -= 1
    return search.people[depth - 1, entry]


@njit(cache=True, nogil=True)
def _list_extensions(visits, search, depth, begin, end, near, k, carriers):
    """Write the entries of all extensions, by location, and mark whoever has one that is rare. The
    second pass of a counting sort, ``slots`` being the offsets.
    """
    for entry in range(begin, end):
        person = _enter_sequence(search, depth, entry)
        count = _list_locations(
            visits, person, search.matched, depth, search.marks, near[0], near[1]
        )
        for number in range(count):
            location = near[0, number]
            search.marks[location] = 0
            if search.counts[location] < k:
                carriers[person] = True
            # Entries of one location lie side by side: ``position`` leads to its offset.
            slot = search.slots[search.position[location]]
            search.slots[search.position[location]] += 1
            search.people[depth, slot] = person
            search.points[depth, slot] = near[1, number]
            search.links[depth, slot] = entry


@njit(cache=True, nogil=True)
def count_rare_sequences(visits, size, m, k, enough, carriers):
    """Count sequences of at most ``m`` locations that some, but fewer than ``k`` people visited in
    this order, walked depth first (as PrefixSpan does).

    A rare sequence is not extended: whoever has an extension has the sequence (anti-monotone
    support, Apriori), so extensions are rare as well. ``carriers`` is set for everybody who has a
    rare one. Ends after ``enough`` of them (0: never). Returns how many there are and the smallest
    number of people seen.
    """
    people = visits.starts.size - 1
    room = visits.ticks.size
    search = Sequences(
        np.empty((m, room), np.int64),
        np.empty((m, room), np.int64),
        np.empty((m, room), np.int64),
        np.empty((m, size + 1), np.int64),
        np.zeros(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros(size, np.int64),
        np.empty(m + 1, np.int64),
    )
    near = np.empty((2, size), np.int64)
    child = np.zeros(m + 1, np.int64)
    last = np.zeros(m + 1, np.int64)
    rare, fewest = 0, people + 1
    # The sequence to extend has ``depth`` locations and is carried by the entries begin … end − 1.
    depth = 0
    begin = 0
    end = people
    while True:
        touched = _count_extensions(visits, search, depth, begin, end, near)
        # Locations in ascending order: the walk, and what is counted before it ends, is
        # reproducible.
        order = np.sort(search.slots[:touched])
        # Offsets of the locations, and what is rare among them.
        total = 0
        for number in range(touched):
            location = order[number]
            search.slots[number] = total
            search.position[location] = number
            total += search.counts[location]
            search.ends[depth, number] = total
            fewest = min(fewest, search.counts[location])
            rare += search.counts[location] < k
        if enough and rare >= enough:
            return rare, fewest
        _list_extensions(visits, search, depth, begin, end, near, k, carriers)
        for number in range(touched):
            search.counts[order[number]] = 0
        child[depth] = -1
        last[depth] = touched
        # The next sequence to extend: one deeper, or the next beside this one or beside those above
        # it
        while True:
            child[depth] += 1
            if child[depth] >= last[depth] or depth + 1 >= m:
                depth -= 1
                if depth < 0:
                    return rare, fewest
                continue
            begin = 0 if child[depth] == 0 else search.ends[depth, child[depth] - 1]
            end = search.ends[depth, child[depth]]
            # Prune (Apriori): rare sequences are counted, not extended.
            if end - begin >= k:
                break
        depth += 1


@njit(cache=True, nogil=True)
def list_pairs(visits, size, keys):
    """Per person the pairs of locations visited in this order, each once, as ``first * size +
    then``; returns how many there are.

    ``keys`` is room for them; an empty one is only counted for. (x, y) is a pair if the first visit
    to x is not after the last to y, and (x, x) if there are two visits to x. Costs the square of
    the locations of a person.
    """
    pair_count = 0
    for person in range(visits.starts.size - 1):
        low = visits.starts[person]
        high = visits.starts[person + 1]
        order = np.argsort(visits.locations[low:high], kind="mergesort")
        count = 0
        locations = np.empty(high - low, np.int64)
        firsts = np.empty(high - low, np.int64)
        lasts = np.empty(high - low, np.int64)
        times = np.zeros(high - low, np.int64)
        # A stable sort by location keeps the order of time: first and last visit of each location.
        for number in range(order.size):
            point = low + order[number]
            if count == 0 or locations[count - 1] != visits.locations[point]:
                locations[count], firsts[count] = visits.locations[point], visits.ticks[point]
                count += 1
            lasts[count - 1] = visits.ticks[point]
            times[count - 1] += 1
        for i in range(count):
            for j in range(count):
                if (i != j and firsts[i] <= lasts[j]) or (i == j and times[i] > 1):
                    if keys.size:
                        keys[pair_count] = locations[i] * size + locations[j]
                    pair_count += 1
    return pair_count


# Windows.


@njit(cache=True, nogil=True)
def sum_windows(starts, ticks, hashes, low, high, sums, firsts, lasts):
    """Per person the sum of the hashes of the points from ``low`` up to below ``high``, and where
    they begin and end. Windows move forward only, so both ends do: each is passed once in all.
    """
    for person in range(starts.size - 1):
        first = firsts[person]
        while first < starts[person + 1] and ticks[first] < low:
            first += 1
        last = max(first, lasts[person])
        while last < starts[person + 1] and ticks[last] < high:
            last += 1
        # Sums of hashes do not depend on the order of the points.
        total = np.uint64(0)
        for point in range(first, last):
            total += hashes[point]
        sums[person] = total
        firsts[person] = first
        lasts[person] = last


@njit(cache=True, nogil=True)
def has_all_points(posted, person, items):
    """Whether a person has all of some points: one binary search each."""
    for number in range(items.size):
        low = posted.starts[person]
        high = posted.starts[person + 1]
        item = items[number]
        # Points of a person are ascending.
        while low < high:
            middle = (low + high) // 2
            if posted.items[middle] < item:
                low = middle + 1
            else:
                high = middle
        if low >= posted.starts[person + 1] or posted.items[low] != item:
            return False
    return True


@njit(cache=True, nogil=True)
def _find_rarest(posted, items):
    """The point of a set that the fewest people have."""
    best = items[0]
    for number in range(1, items.size):
        item = items[number]
        fewer = posted.post_starts[item + 1] - posted.post_starts[item]
        if fewer < posted.post_starts[best + 1] - posted.post_starts[best]:
            best = item
    return best


@njit(cache=True, nogil=True)
def count_carriers(posted, items, enough):
    """How many people have all of some points, and one of them; counting ends at ``enough``. Only
    people with the rarest point are looked at.
    """
    # Whoever has all points has the rarest one.
    best = _find_rarest(posted, items)
    count = 0
    carrier = np.int64(-1)
    for position in range(posted.post_starts[best], posted.post_starts[best + 1]):
        person = posted.people[position]
        if has_all_points(posted, person, items):
            count += 1
            carrier = person
            if count >= enough:
                break
    return count, carrier


@njit(cache=True, nogil=True)
def mark_small_windows(posted, firsts, lasts, sizes, k, small):
    """Mark people whose points of a window fewer than ``k`` people have; ``sizes`` is how many have
    exactly these: k or more settle it without a search.
    """
    for person in range(firsts.size):
        if lasts[person] > firsts[person] and sizes[person] < k and not small[person]:
            count, _ = count_carriers(posted, posted.items[firsts[person] : lasts[person]], k)
            small[person] = count < k


# Known points.


@njit(cache=True, nogil=True)
def _find_single(posted, points, count, truth):
    """1 where only the true person has all known points, 2 where only somebody else has, 0
    otherwise; unknown points (−1) are left out.
    """
    items = np.empty(count, np.int64)
    # Points that nobody of the release can have are left out.
    used = 0
    for number in range(count):
        if points[number] >= 0:
            items[used] = points[number]
            used += 1
    if used == 0:
        return 0
    carrier_count, carrier = count_carriers(posted, items[:used], 2)
    if carrier_count != 1:
        return 0
    return 1 if carrier == truth else 2


@njit(cache=True, nogil=True)
def sample_unicity(posted, known_starts, known_points, truth, uniforms, hits, wrong):
    """Add up, per person and number of known points, how often the person alone has them (unicity,
    de Montjoye et al. 2013): ``uniforms[person, draw]`` decide which points.

    The points of a draw are the beginning of one random order, so more points never leave more
    candidates.
    """
    point_count = uniforms.shape[2]
    sample = np.empty(point_count, np.int64)
    for person in range(known_starts.size - 1):
        own = known_points[known_starts[person] : known_starts[person + 1]].copy()
        for draw in range(uniforms.shape[1]):
            answer = 0
            for number in range(point_count):
                if number < own.size:
                    # A Fisher–Yates shuffle, one step per point.
                    exchange = number + np.int64(
                        uniforms[person, draw, number] * (own.size - number)
                    )
                    own[number], own[exchange] = own[exchange], own[number]
                    sample[number] = own[number]
                    newest = sample[number : number + 1]
                    # Once alone, the person stays alone while the new points are the person's own.
                    if answer != 1 or not (
                        newest[0] < 0 or has_all_points(posted, truth[person], newest)
                    ):
                        answer = _find_single(posted, sample, number + 1, truth[person])
                if answer == 1:
                    hits[person, number] += 1
                elif answer == 2:
                    wrong[number] += 1


@njit(cache=True, nogil=True)
def measure_unicity(posted, known_starts, known_points, truth, p, shares):
    """Per person the share of the sets of ``p`` own points that the person alone has; who has fewer
    is known by all of them. Visits all combinations.

    Returns how many sets point to somebody else alone.
    """
    wrong = 0
    for person in range(known_starts.size - 1):
        own = known_points[known_starts[person] : known_starts[person + 1]]
        size = min(p, own.size)
        if size == 0:
            continue
        # The first combination is 0, 1, … size − 1.
        indices = np.arange(size)
        sample = np.empty(size, np.int64)
        alone, total = 0, 0
        while True:
            for number in range(size):
                sample[number] = own[indices[number]]
            answer = _find_single(posted, sample, size, truth[person])
            total += 1
            alone += answer == 1
            wrong += answer == 2
            # The next combination in lexicographic order: raise the last index that can rise.
            position = size - 1
            while position >= 0 and indices[position] == own.size - size + position:
                position -= 1
            if position < 0:
                break
            indices[position] += 1
            for later in range(position + 1, size):
                indices[later] = indices[later - 1] + 1
        shares[person] = alone / total
    return wrong


@njit(cache=True, nogil=True)
def was_at(visits, person, tick, location):
    """Whether a person was at a location at a time: binary search by (time, location)."""
    low = visits.starts[person]
    high = visits.starts[person + 1]
    # Visits are sorted by time, then location.
    while low < high:
        middle = (low + high) // 2
        if visits.ticks[middle] < tick or (
            visits.ticks[middle] == tick and visits.locations[middle] < location
        ):
            low = middle + 1
        else:
            high = middle
    return (
        low < visits.starts[person + 1]
        and visits.ticks[low] == tick
        and visits.locations[low] == location
    )


@njit(cache=True, nogil=True)
def count_shifted_candidates(visits, post_starts, post_points, owners, knowledge, longest_shift):
    """How many people have known visits (times, locations) when all their times are moved by one
    shift of at most ``longest_shift``; and one of them. Counting ends at two.

    The visits at the first known location are the anchors: each gives the shift, which the others
    must keep.
    """
    times, locations = knowledge
    count = 0
    candidate = np.int64(-1)
    for entry in range(post_starts[locations[0]], post_starts[locations[0] + 1]):
        point = post_points[entry]
        shift = visits.ticks[point] - times[0]
        person = owners[point]
        # The same person again, or a shift that is too long.
        if person == candidate or shift > longest_shift or -shift > longest_shift:
            continue
        fits = True
        for number in range(1, times.size):
            if not was_at(visits, person, times[number] + shift, locations[number]):
                fits = False
                break
        if fits:
            count += 1
            candidate = person
            if count >= 2:
                break
    return count, candidate


@njit(cache=True, nogil=True)
def attack_shifts(visits, posting, known_visits, truth, draws, longest_shift, hits):
    """Add up per person and number of known points how often only the person fits, whatever the
    shift.

    ``draws[person, draw]`` are positions in the person's run of ``known_visits`` visits, those of
    the first points first. Once alone stays alone: further true points never bring candidates back.
    """
    post_starts, post_points, owners = posting
    for person in range(known_visits.starts.size - 1):
        base = known_visits.starts[person]
        size = known_visits.starts[person + 1] - base
        for draw in range(draws.shape[1]):
            alone = False
            for number in range(draws.shape[2]):
                if number < size and not alone:
                    count = 0
                    times = np.empty(number + 1, np.int64)
                    locations = np.empty(number + 1, np.int64)
                    for step in range(number + 1):
                        point = base + draws[person, draw, step]
                        if known_visits.locations[point] >= 0:
                            times[count], locations[count] = (
                                known_visits.ticks[point],
                                known_visits.locations[point],
                            )
                            count += 1
                    if count:
                        candidates, candidate = count_shifted_candidates(
                            visits,
                            post_starts,
                            post_points,
                            owners,
                            (times[:count], locations[:count]),
                            longest_shift,
                        )
                        alone = candidates == 1 and candidate == truth[person]
                if alone:
                    hits[person, number] += 1


# Suppression.


@njit(cache=True, nogil=True)
def bound_hitting_weight(members, weights, limit):
    """A lower bound for the weight of points that hit all sets (rows of ``members``, −1 behind the
    last); ends above ``limit``.

    Weak duality of the weighted hitting set: every set in turn takes as much as the lightest of its
    points has left; whoever deletes one of its points pays at least that, and no weight is used
    twice.
    """
    remaining = weights.copy()
    total = 0
    for row in range(members.shape[0]):
        lightest = remaining[members[row, 0]]
        for column in range(1, members.shape[1]):
            if members[row, column] >= 0:
                lightest = min(lightest, remaining[members[row, column]])
        # What the set takes is gone for the sets behind it.
        for column in range(members.shape[1]):
            if members[row, column] >= 0:
                remaining[members[row, column]] -= lightest
        total += lightest
        if total > limit:
            break
    return total
