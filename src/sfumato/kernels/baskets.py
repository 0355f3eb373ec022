"""Loops over sets of items: how many people carry a set, which sets too few carry, who is alone
with one.

People are rows of a sparse matrix: the items of person *t* are
``items[pointers[t]:pointers[t + 1]]``, ascending numbers without repeats. Sets are walked
depth first: the people who carry a prefix are kept as a list, with the place of its last item in
each of them, and what stands behind that place extends it. Items are numbered by rising support, so
lists get short early; no table of counts of all sets is ever stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def transposed(pointers, items, size):
    """Per item the people who have it, ascending, and the places of the item in ``items``."""
    starts = np.zeros(size + 1, np.int64)
    for place in range(items.size):
        starts[items[place] + 1] += 1
    for item in range(size):
        starts[item + 1] += starts[item]
    cursor = starts[:-1].copy()
    people = np.empty(items.size, np.int32)
    places = np.empty(items.size, np.int64)
    for person in range(pointers.size - 1):
        for place in range(pointers[person], pointers[person + 1]):
            item = items[place]
            people[cursor[item]] = person
            places[cursor[item]] = place
            cursor[item] += 1
    return starts, people, places


@njit(cache=True, nogil=True)
def mapped(pointers, items, image):
    """The sets with every item replaced by its image (negative: left out), sorted, what became
    equal merged.
    """
    out_pointers = np.zeros(pointers.size, np.int64)
    out = np.empty(items.size, np.int32)
    written = 0
    for person in range(pointers.size - 1):
        begin = written
        for place in range(pointers[person], pointers[person + 1]):
            code = image[items[place]]
            if code < 0:
                continue
            at = written  # insertion: sets are small
            while at > begin and out[at - 1] > code:
                at -= 1
            if at > begin and out[at - 1] == code:
                continue
            for other in range(written, at, -1):
                out[other] = out[other - 1]
            out[at] = code
            written += 1
        out_pointers[person + 1] = written
    return out_pointers, out[:written].copy()


class Sets(NamedTuple):
    """People as sets of items, and per item the people who have it with the places of the item
    (see :func:`transposed`).
    """

    pointers: Any
    items: Any
    starts: Any
    people: Any
    places: Any


class Private(NamedTuple):
    """What carriers must not share too often: the private items of every person, and their number.
    May be empty.
    """

    pointers: Any
    items: Any
    tally: Any
    touched: Any


class Walk(NamedTuple):
    """Where a walk stands. Lists of carriers lie behind one another in ``people`` and ``places``,
    those of deeper sets further on.

    ``spans[depth]`` is (next child, number of children, where the next child's list begins, where
    the lists end).
    """

    pointers: Any
    items: Any
    people: Any
    places: Any
    counts: Any
    touched: Any
    child_item: Any
    child_end: Any
    spans: Any
    prefix: Any


class Listed(NamedTuple):
    """Sets that were found (−1 behind the last item), their supports and largest private counts,
    and who carries one.

    ``tallies`` is (how many are listed, how many there are, smallest support seen); ``worst`` the
    largest private share seen.
    """

    members: Any
    supports: Any
    private_counts: Any
    carriers: Any
    tallies: Any
    worst: Any


@njit(cache=True, nogil=True)
def _room(sets, roots):
    """The most entries that the extensions of one item need."""
    most = 0
    for root in range(roots):
        entries = 0
        for at in range(sets.starts[root], sets.starts[root + 1]):
            entries += sets.pointers[sets.people[at] + 1] - sets.places[at] - 1
        most = max(most, entries)
    return most


@njit(cache=True, nogil=True)
def _walk(sets, size, m, roots):
    """Room for a walk over sets of at most ``m`` items; the lists of single items come first."""
    base = sets.people.size
    room = base + _room(sets, roots) * max(m - 1, 0)
    people = np.empty(room, np.int32)
    places = np.empty(room, np.int64)
    people[:base] = sets.people
    places[:base] = sets.places
    spans = np.zeros((m + 1, 4), np.int64)
    spans[0, 3] = base
    return Walk(
        sets.pointers,
        sets.items,
        people,
        places,
        np.zeros(size, np.int64),
        np.empty(size + 1, np.int64),
        np.empty((m + 1, size), np.int64),
        np.empty((m + 1, size), np.int64),
        spans,
        np.full(m, -1, np.int32),
    )


@njit(cache=True, nogil=True)
def _count_next(walk, first, last):
    """How many people of a list have each item behind the place of the last one. Returns how many
    items there are.
    """
    found = 0
    for at in range(first, last):
        for place in range(walk.places[at] + 1, walk.pointers[walk.people[at] + 1]):
            item = walk.items[place]
            if walk.counts[item] == 0:
                walk.touched[found] = item
                found += 1
            walk.counts[item] += 1
    return found


@njit(cache=True, nogil=True)
def _forget(walk, found):
    for j in range(found):
        walk.counts[walk.touched[j]] = 0


@njit(cache=True, nogil=True)
def _deepen(walk, depth, first, last):
    """Write the lists of all extensions of a list behind those that are there. Returns the new
    depth.
    """
    found = _count_next(walk, first, last)
    base = walk.spans[depth, 3]
    at = base
    for j in range(found):
        item = walk.touched[j]
        length = walk.counts[item]
        walk.counts[item] = at
        at += length
    for entry in range(first, last):
        person = walk.people[entry]
        for place in range(walk.places[entry] + 1, walk.pointers[person + 1]):
            item = walk.items[place]
            walk.people[walk.counts[item]] = person
            walk.places[walk.counts[item]] = place
            walk.counts[item] += 1
    for j in range(found):
        item = walk.touched[j]
        walk.child_item[depth + 1, j] = item
        walk.child_end[depth + 1, j] = walk.counts[item]
        walk.counts[item] = 0
    walk.spans[depth + 1, 0] = 0
    walk.spans[depth + 1, 1] = found
    walk.spans[depth + 1, 2] = base
    walk.spans[depth + 1, 3] = at
    return depth + 1


@njit(cache=True, nogil=True)
def _next(walk, depth):
    """The next set: its depth (−1: there is none), and where the list of its carriers begins and
    ends.
    """
    spans = walk.spans
    while depth > 0 and spans[depth, 0] == spans[depth, 1]:
        depth -= 1
    if depth == 0:
        return -1, np.int64(0), np.int64(0)
    child = spans[depth, 0]
    first, last = spans[depth, 2], walk.child_end[depth, child]
    walk.prefix[depth] = walk.child_item[depth, child]
    spans[depth, 0] = child + 1
    spans[depth, 2] = last
    return depth, first, last


@njit(cache=True, nogil=True)
def _enter(listed, prefix, length, support, in_private):
    """Put a set on the list, as long as there is room."""
    at = listed.tallies[0]
    listed.tallies[1] += 1
    if at < listed.supports.size:
        for j in range(listed.members.shape[1]):
            listed.members[at, j] = prefix[j] if j < length else -1
        listed.supports[at] = support
        listed.private_counts[at] = in_private
        listed.tallies[0] = at + 1


@njit(cache=True, nogil=True)
def _most_private(private, people, first, last):
    """The largest number of people of a list who share one private item."""
    found = 0
    most = 0
    for at in range(first, last):
        person = people[at]
        for place in range(private.pointers[person], private.pointers[person + 1]):
            item = private.items[place]
            if private.tally[item] == 0:
                private.touched[found] = item
                found += 1
            private.tally[item] += 1
            most = max(most, private.tally[item])
    for j in range(found):
        private.tally[private.touched[j]] = 0
    return most


@njit(cache=True, nogil=True)
def _last_items(walk, depth, first, last, k, listed):
    """Extensions of a list by a last item: nothing is kept of them, their supports are enough."""
    found = _count_next(walk, first, last)
    broken = False
    for j in range(found):
        support = walk.counts[walk.touched[j]]
        listed.tallies[2] = min(listed.tallies[2], support)
        if support < k:
            broken = True
            walk.prefix[depth + 1] = walk.touched[j]
            _enter(listed, walk.prefix, depth + 2, support, 0)
    if broken:
        for at in range(first, last):
            for place in range(walk.places[at] + 1, walk.pointers[walk.people[at] + 1]):
                if walk.counts[walk.items[place]] < k:
                    listed.carriers[walk.people[at]] = True
                    break
    _forget(walk, found)


@njit(cache=True, nogil=True)
def violating(sets, private, m, k, share, roots, enough, listed):
    """Fill ``listed`` with sets of at most ``m`` items that fewer than ``k`` people carry, or whose
    carriers share a private item.

    ``share`` is the largest share of the carriers that may have one private item. Only sets whose
    first item is below ``roots`` are looked at, and none that begins with one that is listed. The
    walk ends when some set has at most ``enough`` carriers.
    """
    walk = _walk(sets, sets.starts.size - 1, m, roots)
    shared = private.items.size > 0
    for root in range(roots):
        depth, first, last = 0, sets.starts[root], sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0 and last > first:
            support = last - first
            in_private = _most_private(private, walk.people, first, last) if shared else 0
            listed.tallies[2] = min(listed.tallies[2], support)
            listed.worst[0] = max(listed.worst[0], in_private / support)
            if support < k or in_private > share * support + 1e-9:
                _enter(listed, walk.prefix, depth + 1, support, in_private)
                for at in range(first, last):
                    listed.carriers[walk.people[at]] = True
            elif depth + 2 == m and not shared:
                _last_items(walk, depth, first, last, k, listed)
            elif depth + 1 < m:
                depth = _deepen(walk, depth, first, last)
            if listed.tallies[2] <= enough:
                return
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def frequent(sets, m, least, listed):
    """Fill ``listed`` with the sets of at most ``m`` items that at least ``least`` people carry."""
    roots = sets.starts.size - 1
    walk = _walk(sets, roots, m, roots)
    for root in range(roots):
        depth, first, last = 0, sets.starts[root], sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0:
            if last - first >= least and last > first:
                _enter(listed, walk.prefix, depth + 1, last - first, 0)
                if depth + 2 == m:
                    found = _count_next(walk, first, last)
                    for j in range(found):
                        support = walk.counts[walk.touched[j]]
                        if support >= least:
                            walk.prefix[depth + 1] = walk.touched[j]
                            _enter(listed, walk.prefix, depth + 2, support, 0)
                    _forget(walk, found)
                elif depth + 1 < m:
                    depth = _deepen(walk, depth, first, last)
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def _choose(n, r):
    result = 1.0
    for j in range(r):
        result = result * (n - j) / (j + 1)
    return result


@njit(cache=True, nogil=True)
def _record(walk, person, amount, support, alone, inverse, rarest):
    if support == 1:
        alone[person] += amount
    inverse[person] += amount / support
    rarest[person] = min(rarest[person], support)


@njit(cache=True, nogil=True)
def _record_last(walk, first, last, alone, inverse, rarest):
    """Extensions by a last item: what every carrier's own ones come to."""
    found = _count_next(walk, first, last)
    for at in range(first, last):
        person = walk.people[at]
        for place in range(walk.places[at] + 1, walk.pointers[person + 1]):
            _record(walk, person, 1.0, walk.counts[walk.items[place]], alone, inverse, rarest)
    _forget(walk, found)


@njit(cache=True, nogil=True)
def known_sets(sets, m, alone, inverse, rarest):
    """Per person, over the sets of ``m`` of the own items: how many nobody else has, the sum of
    1/support, the smallest support.

    Who has fewer than ``m`` items is known by all of them. Whoever is alone with the first *j*
    items of a set is alone with every extension of them: these are counted, not walked.
    """
    roots = sets.starts.size - 1
    walk = _walk(sets, roots, m, roots)
    for root in range(roots):
        depth, first, last = 0, sets.starts[root], sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0 and last > first:
            support, length = last - first, depth + 1
            if support == 1 and length < m:
                person = walk.people[first]
                size = sets.pointers[person + 1] - sets.pointers[person]
                rest = sets.pointers[person + 1] - walk.places[first] - 1
                wanted = min(m, size) - length
                if rest >= wanted:
                    _record(walk, person, _choose(rest, wanted), 1, alone, inverse, rarest)
            else:
                for at in range(first, last):
                    person = walk.people[at]
                    if length == m or sets.pointers[person + 1] - sets.pointers[person] == length:
                        _record(walk, person, 1.0, support, alone, inverse, rarest)
                if depth + 2 == m:
                    _record_last(walk, first, last, alone, inverse, rarest)
                elif length < m:
                    depth = _deepen(walk, depth, first, last)
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def has(items, first, last, wanted):
    """Whether an ascending run holds a number."""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if items[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first < end and items[first] == wanted


@njit(cache=True, nogil=True)
def _within(items, first, last, low, high):
    """Whether an ascending run holds a number from ``low`` to below ``high``."""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if items[middle] < low:
            first = middle + 1
        else:
            last = middle
    return first < end and items[first] < high


@njit(cache=True, nogil=True)
def span_support(sets, spans, enough):
    """How many people have an item in each of some spans of items; counting ends at ``enough``."""
    best = 0
    for j in range(spans.shape[0]):
        length = sets.starts[spans[j, 1]] - sets.starts[spans[j, 0]]
        if length < sets.starts[spans[best, 1]] - sets.starts[spans[best, 0]]:
            best = j
    low = spans[best, 0]
    support = 0
    for at in range(sets.starts[low], sets.starts[spans[best, 1]]):
        person = sets.people[at]
        first, last = sets.pointers[person], sets.pointers[person + 1]
        place = sets.places[at]
        if place > first and sets.items[place - 1] >= low:
            continue  # counted by an earlier item of the same span
        both = True
        for j in range(spans.shape[0]):
            if j != best and not _within(sets.items, first, last, spans[j, 0], spans[j, 1]):
                both = False
                break
        if both:
            support += 1
            if support >= enough:
                return support
    return support


@njit(cache=True, nogil=True)
def first_untouched(members, order, touched, start):
    """From ``start`` on, the first place in ``order`` whose set has no touched item; the length of
    ``order`` when there is none.
    """
    for place in range(start, order.size):
        row = order[place]
        free = True
        for j in range(members.shape[1]):
            if members[row, j] >= 0 and touched[members[row, j]]:
                free = False
                break
        if free:
            return place
    return order.size


class Postings(NamedTuple):
    """Per known item who of the released people may have it, ascending:
    ``people[starts[i]:starts[i + 1]]``; ``free``: it tells nothing.
    """

    starts: Any
    people: Any
    free: Any


@njit(cache=True, nogil=True)
def _kept(source, first, last, people, begin, end, out, at):
    """Write those of an ascending list who are in another from ``at`` on. Returns where the new
    list ends.
    """
    if last - first <= end - begin:
        for place in range(first, last):
            if has(people, begin, end, source[place]):
                out[at] = source[place]
                at += 1
    else:
        for place in range(begin, end):
            if has(source, first, last, people[place]):
                out[at] = people[place]
                at += 1
    return at


@njit(cache=True, nogil=True)
def narrowed(postings, everybody, known, true, counts, right):
    """How many people are left after each of some known items, in the order given, and whether the
    true one is (``true`` −1: nowhere).
    """
    stack = np.empty(0, np.int32)
    filled = False
    for step in range(known.size):
        item = known[step]
        if not postings.free[item]:
            begin, end = postings.starts[item], postings.starts[item + 1]
            if not filled:
                stack = postings.people[begin:end].copy()
                filled = True
            else:
                out = np.empty(min(stack.size, end - begin), np.int32)
                size = _kept(stack, 0, stack.size, postings.people, begin, end, out, 0)
                stack = out[:size]
        counts[step] = stack.size if filled else everybody
        right[step] = true >= 0 and (not filled or has(stack, 0, stack.size, true))


@njit(cache=True, nogil=True)
def all_subsets(postings, everybody, known, true, m, sums):
    """Over all sets of 1 … m known items: how many leave the true person alone, the sum of the
    chances to name the person, and of the people left.

    ``sums[size - 1]`` gets (alone, chance, people left). Known items come rarest first, so that
    lists are short.
    """
    depth_of = np.empty(m, np.int64)  # per depth the place of its item among the known ones
    begin = np.zeros(m + 1, np.int64)
    end = np.zeros(m + 1, np.int64)
    filled = np.zeros(m + 1, np.bool_)
    room = 0
    for j in range(known.size):
        if not postings.free[known[j]]:
            room = max(room, postings.starts[known[j] + 1] - postings.starts[known[j]])
    stack = np.empty(room * m + 1, np.int32)
    depth, place = 0, 0
    while True:
        if place >= known.size or depth == m:
            if depth == 0:
                return
            depth -= 1
            place = depth_of[depth] + 1
            continue
        item = known[place]
        depth_of[depth] = place
        begin[depth + 1], end[depth + 1], filled[depth + 1] = end[depth], end[depth], filled[depth]
        if postings.free[item]:
            begin[depth + 1], end[depth + 1] = begin[depth], end[depth]
        elif filled[depth]:
            end[depth + 1] = _kept(
                stack,
                begin[depth],
                end[depth],
                postings.people,
                postings.starts[item],
                postings.starts[item + 1],
                stack,
                end[depth],
            )
        else:
            for at in range(postings.starts[item], postings.starts[item + 1]):
                stack[end[depth + 1]] = postings.people[at]
                end[depth + 1] += 1
            filled[depth + 1] = True
        depth += 1
        left = end[depth] - begin[depth] if filled[depth] else everybody
        found = true >= 0 and (not filled[depth] or has(stack, begin[depth], end[depth], true))
        sums[depth - 1, 2] += left
        if found:
            sums[depth - 1, 1] += 1.0 / left
            if left == 1:
                sums[depth - 1, 0] += 1.0
        place += 1
