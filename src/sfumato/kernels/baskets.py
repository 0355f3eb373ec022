"""Loops over baskets (one set of items per person): how many people carry a set, which sets too few
carry, who is alone with one.

Arrays. Baskets are a sparse matrix in compressed rows: the items of person *t* are
``items[pointers[t]:pointers[t + 1]]``, int32, ascending, without repeats; ``pointers`` is int64 and
one longer than the number of people. :func:`transpose_items` gives the same matrix by columns: the
carriers of item *i* are ``people[starts[i]:starts[i + 1]]``, and ``positions`` says where in
``items`` each of them has it.

Sets are walked depth first, as in Eclat: the carriers of a prefix are kept as a list, with the
position of its last item in each of them, and the items behind that position extend it. So every
set is met once, in ascending order of its items. Callers number items by rising support, so lists
get short early; no table of counts of all sets is ever stored. A walk costs one step per item that
any carrier of any visited prefix has behind that prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def transpose_items(pointers, items, size):
    """Per item the people who have it, ascending, and the positions of the item in ``items``: a
    counting sort, one pass to count and one to write.
    """
    starts = np.zeros(size + 1, np.int64)
    # Support of item i stands at starts[i + 1], so that the running sum turns counts into offsets:
    # supports 2, 0, 1 → starts 0, 2, 2, 3.
    for position in range(items.size):
        starts[items[position] + 1] += 1
    for item in range(size):
        starts[item + 1] += starts[item]
    cursor = starts[:-1].copy()
    people = np.empty(items.size, np.int32)
    positions = np.empty(items.size, np.int64)
    # People come in ascending order, so each list of carriers is ascending without sorting.
    for person in range(pointers.size - 1):
        for position in range(pointers[person], pointers[person + 1]):
            item = items[position]
            people[cursor[item]] = person
            positions[cursor[item]] = position
            cursor[item] += 1
    return starts, people, positions


@njit(cache=True, nogil=True)
def map_items(pointers, items, image):
    """The baskets with every item replaced by its image (negative: left out), sorted, equal items
    merged. Costs the square of the size of a basket at worst.
    """
    out_pointers = np.zeros(pointers.size, np.int64)
    out = np.empty(items.size, np.int32)
    end = 0
    # A merged or dropped item leaves no gap: the next one is written at ``end``.
    for person in range(pointers.size - 1):
        begin = end
        for position in range(pointers[person], pointers[person + 1]):
            code = image[items[position]]
            if code < 0:
                continue
            # Insertion sort, since baskets are small; a code that is there is not repeated.
            at = end
            while at > begin and out[at - 1] > code:
                at -= 1
            if at > begin and out[at - 1] == code:
                continue
            for i in range(end, at, -1):
                out[i] = out[i - 1]
            out[at] = code
            end += 1
        out_pointers[person + 1] = end
    return out_pointers, out[:end].copy()


class Sets(NamedTuple):
    """Baskets by rows and by columns (see :func:`transpose_items`)."""

    pointers: NDArray[np.int64]
    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    people: NDArray[np.int32]
    positions: NDArray[np.int64]


class Private(NamedTuple):
    """Private items of every person, of which no share of the carriers of a set may be too large.
    May be empty. ``tally`` and ``touched`` are scratch, all zeros between calls.
    """

    pointers: NDArray[np.int64]
    items: NDArray[np.int32]
    tally: NDArray[np.int64]
    touched: NDArray[np.int64]


class Walk(NamedTuple):
    """State of a depth-first walk. Lists of carriers stand behind one another in ``people`` and
    ``positions``, those of deeper sets further on; ``prefix`` is the current set.

    ``spans[depth]`` is (next child, number of children, where the next child's list begins, where
    the lists end). ``counts`` per item is zero between calls; ``touched`` lists the items that a
    call counted, so that clearing costs no more than counting.
    """

    pointers: NDArray[np.int64]
    items: NDArray[np.int32]
    people: NDArray[np.int32]
    positions: NDArray[np.int64]
    counts: NDArray[np.int64]
    touched: NDArray[np.int64]
    child_item: NDArray[np.int64]
    child_end: NDArray[np.int64]
    spans: NDArray[np.int64]
    prefix: NDArray[np.int32]


class SetList(NamedTuple):
    """Output of a walk: sets (−1 behind the last item), their supports, the largest count of one
    private item among the carriers, and per person whether he or she carries a listed set.

    ``tallies`` is (sets written, sets in all, smallest support of any visited set); ``worst`` the
    largest private share of any visited set.
    """

    members: NDArray[np.int32]
    supports: NDArray[np.int64]
    private_counts: NDArray[np.int64]
    carriers: NDArray[np.bool_]
    tallies: NDArray[np.int64]
    worst: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _longest_extension(sets, roots):
    """The longest list of extensions that a single item can have: for each carrier, the items
    behind it.
    """
    longest = 0
    for root in range(roots):
        # Items behind the root's position are the candidates of its extensions.
        entries = 0
        for at in range(sets.starts[root], sets.starts[root + 1]):
            entries += sets.pointers[sets.people[at] + 1] - sets.positions[at] - 1
        longest = max(longest, entries)
    return longest


@njit(cache=True, nogil=True)
def _start_walk(sets, size, m, roots):
    """Room for a walk over sets of at most ``m`` items; the lists of single items come first. A
    deeper list is a part of the one above, so each of the m − 1 depths needs at most the room of
    the first.
    """
    base = sets.people.size
    room = base + _longest_extension(sets, roots) * max(m - 1, 0)
    people = np.empty(room, np.int32)
    positions = np.empty(room, np.int64)
    people[:base] = sets.people
    positions[:base] = sets.positions
    # Depth 0 has no siblings of its own: the roots are visited by the caller.
    spans = np.zeros((m + 1, 4), np.int64)
    spans[0, 3] = base
    return Walk(
        sets.pointers,
        sets.items,
        people,
        positions,
        np.zeros(size, np.int64),
        np.empty(size + 1, np.int64),
        np.empty((m + 1, size), np.int64),
        np.empty((m + 1, size), np.int64),
        spans,
        np.full(m, -1, np.int32),
    )


@njit(cache=True, nogil=True)
def _count_next(walk, first, last):
    """Count, per item, the carriers ``first … last`` who have it behind the last item of the
    prefix. Returns how many different items there are.
    """
    count = 0
    for at in range(first, last):
        for position in range(walk.positions[at] + 1, walk.pointers[walk.people[at] + 1]):
            item = walk.items[position]
            # An item is noted when it is counted for the first time, for :func:`_clear_counts`.
            if walk.counts[item] == 0:
                walk.touched[count] = item
                count += 1
            walk.counts[item] += 1
    return count


@njit(cache=True, nogil=True)
def _clear_counts(walk, count):
    """Set the counts of the first ``count`` touched items back to zero."""
    for j in range(count):
        walk.counts[walk.touched[j]] = 0


@njit(cache=True, nogil=True)
def _deepen(walk, depth, first, last):
    """Write the lists of all extensions of a list behind the existing ones. Returns the
    new depth.
    """
    count = _count_next(walk, first, last)
    base = walk.spans[depth, 3]
    at = base
    # A counting sort by item: counts become the offsets at which the lists begin …
    for j in range(count):
        item = walk.touched[j]
        length = walk.counts[item]
        walk.counts[item] = at
        at += length
    # … each carrier is written to the lists of all its later items …
    for entry in range(first, last):
        person = walk.people[entry]
        for position in range(walk.positions[entry] + 1, walk.pointers[person + 1]):
            item = walk.items[position]
            walk.people[walk.counts[item]] = person
            walk.positions[walk.counts[item]] = position
            walk.counts[item] += 1
    # … after which the offsets stand where the lists end.
    for j in range(count):
        item = walk.touched[j]
        walk.child_item[depth + 1, j] = item
        walk.child_end[depth + 1, j] = walk.counts[item]
        walk.counts[item] = 0
    walk.spans[depth + 1, 0] = 0
    walk.spans[depth + 1, 1] = count
    walk.spans[depth + 1, 2] = base
    walk.spans[depth + 1, 3] = at
    return depth + 1


@njit(cache=True, nogil=True)
def _next(walk, depth):
    """The next set: its depth (−1: there is none), and where the list of its carriers begins and
    ends.
    """
    spans = walk.spans
    # Sets whose children are all visited are left; the room behind them is overwritten.
    while depth > 0 and spans[depth, 0] == spans[depth, 1]:
        depth -= 1
    if depth == 0:
        return -1, np.int64(0), np.int64(0)
    # Children lie behind one another: where a list ends, that of the next child begins.
    child = spans[depth, 0]
    first = spans[depth, 2]
    last = walk.child_end[depth, child]
    walk.prefix[depth] = walk.child_item[depth, child]
    spans[depth, 0] = child + 1
    spans[depth, 2] = last
    return depth, first, last


@njit(cache=True, nogil=True)
def _append_set(output, prefix, length, support, in_private):
    """Append a set to the output while there is room; count it in any case."""
    at = output.tallies[0]
    output.tallies[1] += 1
    if at < output.supports.size:
        # Members of a set shorter than m are filled up with −1.
        for j in range(output.members.shape[1]):
            output.members[at, j] = prefix[j] if j < length else -1
        output.supports[at] = support
        output.private_counts[at] = in_private
        output.tallies[0] = at + 1


@njit(cache=True, nogil=True)
def _count_most_private(private, people, first, last):
    """The largest number of people of a list who share one private item."""
    count = 0
    largest = 0
    # The maximum is kept while counting; afterwards only touched tallies are cleared.
    for at in range(first, last):
        person = people[at]
        for position in range(private.pointers[person], private.pointers[person + 1]):
            item = private.items[position]
            if private.tally[item] == 0:
                private.touched[count] = item
                count += 1
            private.tally[item] += 1
            largest = max(largest, private.tally[item])
    for j in range(count):
        private.tally[private.touched[j]] = 0
    return largest


@njit(cache=True, nogil=True)
def _last_items(walk, depth, first, last, k, output):
    """Extensions of a list by a last item: their supports are enough, so no lists are written."""
    count = _count_next(walk, first, last)
    broken = False
    for j in range(count):
        support = walk.counts[walk.touched[j]]
        output.tallies[2] = min(output.tallies[2], support)
        if support < k:
            broken = True
            walk.prefix[depth + 1] = walk.touched[j]
            _append_set(output, walk.prefix, depth + 2, support, 0)
    # Carriers are marked in a second pass, which most lists do not need.
    if broken:
        for at in range(first, last):
            for position in range(walk.positions[at] + 1, walk.pointers[walk.people[at] + 1]):
                if walk.counts[walk.items[position]] < k:
                    output.carriers[walk.people[at]] = True
                    break
    _clear_counts(walk, count)


@njit(cache=True, nogil=True)
def list_violating_sets(sets, private, m, k, share, roots, enough, output):
    """Fill ``output`` with sets of at most ``m`` items that fewer than ``k`` people carry
    (k^m-anonymity, Terrovitis, Mamoulis & Kalnis 2008), or too many of whose carriers share a
    private item.

    ``share`` is the largest share of the carriers that may have one private item. Only sets whose
    first item is below ``roots`` are visited. A listed set is not extended: support is
    anti-monotone (a superset has no more carriers, the Apriori property of Agrawal, Imieliński &
    Swami 1993), so what breaks k breaks it in every superset, and only the smallest such sets are
    wanted. The walk ends when some set has at most ``enough`` carriers.
    """
    walk = _start_walk(sets, sets.starts.size - 1, m, roots)
    shared = private.items.size > 0
    for root in range(roots):
        depth = 0
        first = sets.starts[root]
        last = sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0 and last > first:
            support = last - first
            in_private = _count_most_private(private, walk.people, first, last) if shared else 0
            output.tallies[2] = min(output.tallies[2], support)
            output.worst[0] = max(output.worst[0], in_private / support)
            # The tolerance keeps shares that are equal on paper, such as 3 of 10 at 0.3, from
            # failing.
            if support < k or in_private > share * support + 1e-9:
                _append_set(output, walk.prefix, depth + 1, support, in_private)
                for at in range(first, last):
                    output.carriers[walk.people[at]] = True
            # Without private items the last level needs supports only.
            elif depth + 2 == m and not shared:
                _last_items(walk, depth, first, last, k, output)
            elif depth + 1 < m:
                depth = _deepen(walk, depth, first, last)
            if output.tallies[2] <= enough:
                return
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def list_frequent_sets(sets, m, minimum, output):
    """Fill ``output`` with the sets of at most ``m`` items that at least ``minimum`` people carry.
    A set below is not extended: support is anti-monotone (Apriori).
    """
    roots = sets.starts.size - 1
    walk = _start_walk(sets, roots, m, roots)
    for root in range(roots):
        depth = 0
        first = sets.starts[root]
        last = sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0:
            if last - first >= minimum and last > first:
                _append_set(output, walk.prefix, depth + 1, last - first, 0)
                # The last level needs supports only, no lists.
                if depth + 2 == m:
                    count = _count_next(walk, first, last)
                    for j in range(count):
                        support = walk.counts[walk.touched[j]]
                        if support >= minimum:
                            walk.prefix[depth + 1] = walk.touched[j]
                            _append_set(output, walk.prefix, depth + 2, support, 0)
                    _clear_counts(walk, count)
                elif depth + 1 < m:
                    depth = _deepen(walk, depth, first, last)
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def _binomial(n, r):
    """The binomial coefficient, as a float: it may exceed 2⁶³."""
    result = 1.0
    for j in range(r):
        result = result * (n - j) / (j + 1)
    return result


@njit(cache=True, nogil=True)
def _record_sets(walk, person, amount, support, alone, inverse, rarest):
    """Count ``amount`` sets of one person that ``support`` people share."""
    if support == 1:
        alone[person] += amount
    inverse[person] += amount / support
    rarest[person] = min(rarest[person], support)


@njit(cache=True, nogil=True)
def _record_last(walk, first, last, alone, inverse, rarest):
    """Extensions by a last item, counted for each of their carriers."""
    count = _count_next(walk, first, last)
    # The support of an extension stands in ``counts`` while its carriers are passed again.
    for at in range(first, last):
        person = walk.people[at]
        for position in range(walk.positions[at] + 1, walk.pointers[person + 1]):
            _record_sets(
                walk, person, 1.0, walk.counts[walk.items[position]], alone, inverse, rarest
            )
    _clear_counts(walk, count)


@njit(cache=True, nogil=True)
def count_known_sets(sets, m, alone, inverse, rarest):
    """Per person, over the sets of ``m`` of the own items: how many nobody else has, the sum of
    1/support, the smallest support.

    Who has fewer than ``m`` items is known by all of them. Whoever is alone with the first *j*
    items of a set is alone with every extension of them: these are counted, not walked.
    """
    roots = sets.starts.size - 1
    walk = _start_walk(sets, roots, m, roots)
    for root in range(roots):
        depth = 0
        first = sets.starts[root]
        last = sets.starts[root + 1]
        walk.prefix[0] = root
        while depth >= 0 and last > first:
            support = last - first
            length = depth + 1
            # Lemma: carriers of a superset are carriers of the set. Alone with a prefix, a person
            # is alone with all its extensions; ``later`` items behind it give binomial(later,
            # missing) of them.
            if support == 1 and length < m:
                person = walk.people[first]
                size = sets.pointers[person + 1] - sets.pointers[person]
                later = sets.pointers[person + 1] - walk.positions[first] - 1
                missing = min(m, size) - length
                if later >= missing:
                    _record_sets(walk, person, _binomial(later, missing), 1, alone, inverse, rarest)
            else:
                for at in range(first, last):
                    person = walk.people[at]
                    # A basket of fewer than m items is one set: itself, known as a whole.
                    if length == m or sets.pointers[person + 1] - sets.pointers[person] == length:
                        _record_sets(walk, person, 1.0, support, alone, inverse, rarest)
                if depth + 2 == m:
                    _record_last(walk, first, last, alone, inverse, rarest)
                elif length < m:
                    depth = _deepen(walk, depth, first, last)
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def contains(items, first, last, number):
    """Whether an ascending run holds a number: binary search for the first entry that
    is not below.
    """
    end = last
    while first < last:
        middle = (first + last) >> 1
        if items[middle] < number:
            first = middle + 1
        else:
            last = middle
    return first < end and items[first] == number


@njit(cache=True, nogil=True)
def _contains_between(items, first, last, low, high):
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
def count_span_carriers(sets, spans, enough):
    """How many people have an item in each span ``spans[j, 0] … spans[j, 1] − 1`` of items;
    counting ends at ``enough``. Only carriers of the span with fewest entries are looked at, each
    with one binary search per other span.
    """
    # The shortest span decides which people are looked at.
    best = 0
    for j in range(spans.shape[0]):
        length = sets.starts[spans[j, 1]] - sets.starts[spans[j, 0]]
        if length < sets.starts[spans[best, 1]] - sets.starts[spans[best, 0]]:
            best = j
    low = spans[best, 0]
    support = 0
    for at in range(sets.starts[low], sets.starts[spans[best, 1]]):
        person = sets.people[at]
        first = sets.pointers[person]
        last = sets.pointers[person + 1]
        position = sets.positions[at]
        if position > first and sets.items[position - 1] >= low:
            continue
        complete = True
        for j in range(spans.shape[0]):
            if j != best and not _contains_between(
                sets.items, first, last, spans[j, 0], spans[j, 1]
            ):
                complete = False
                break
        if complete:
            support += 1
            if support >= enough:
                return support
    return support


@njit(cache=True, nogil=True)
def find_untouched_set(members, order, touched, start):
    """From ``start`` on, the first position in ``order`` whose set holds no touched item; the
    length of ``order`` when there is none.
    """
    for position in range(start, order.size):
        row = order[position]
        # Nobody is counted twice: an item of this span right before means he or she was met
        # already. Sets are short; the first touched item ends the look.
        free = True
        for j in range(members.shape[1]):
            if members[row, j] >= 0 and touched[members[row, j]]:
                free = False
                break
        if free:
            return position
    return order.size


class Postings(NamedTuple):
    """Per known item the released people who may have it, ascending: ``people[starts[i]:starts[i +
    1]]``. ``free`` marks items that exclude nobody.
    """

    starts: NDArray[np.int64]
    people: NDArray[np.int32]
    free: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _intersect(source, first, last, people, begin, end, out, at):
    """Write the intersection of two ascending lists from ``at`` on. Returns where it ends. Each
    entry of the shorter list is searched in the longer one.
    """
    if last - first <= end - begin:
        for i in range(first, last):
            if contains(people, begin, end, source[i]):
                out[at] = source[i]
                at += 1
    else:
        for i in range(begin, end):
            if contains(source, first, last, people[i]):
                out[at] = people[i]
                at += 1
    return at


@njit(cache=True, nogil=True)
def narrow_candidates(postings, everybody, items, true, counts, right):
    """How many people remain after each of some known items, in the given order, and whether the
    true one is among them (``true`` −1: not in the release).
    """
    stack = np.empty(0, np.int32)
    filled = False
    # Before the first item that excludes somebody, everybody remains and no list is needed.
    for step in range(items.size):
        item = items[step]
        if not postings.free[item]:
            begin = postings.starts[item]
            end = postings.starts[item + 1]
            if not filled:
                stack = postings.people[begin:end].copy()
                filled = True
            else:
                out = np.empty(min(stack.size, end - begin), np.int32)
                size = _intersect(stack, 0, stack.size, postings.people, begin, end, out, 0)
                stack = out[:size]
        counts[step] = stack.size if filled else everybody
        right[step] = true >= 0 and (not filled or contains(stack, 0, stack.size, true))


@njit(cache=True, nogil=True)
def sum_over_subsets(postings, everybody, items, true, m, sums):
    """Over all sets of 1 … m known items: how many leave the true person alone, the sum of the
    chances to pick the person at random, and the sum of the people who remain.

    ``sums[size - 1]`` gets (alone, chance, people). Known items come rarest first, so that lists
    are short. Sets are walked depth first; the list of people of each prefix stands behind that of
    the prefix before it in ``stack``.
    """
    depth_of = np.empty(m, np.int64)  # per depth the place of its item among the known ones
    begin = np.zeros(m + 1, np.int64)
    end = np.zeros(m + 1, np.int64)
    filled = np.zeros(m + 1, np.bool_)
    room = 0
    for j in range(items.size):
        if not postings.free[items[j]]:
            room = max(room, postings.starts[items[j] + 1] - postings.starts[items[j]])
    # Lists only shrink, so m lists of the longest first one fit.
    stack = np.empty(room * m + 1, np.int32)
    depth, position = 0, 0
    while True:
        # Backtrack: all items behind the last one of the prefix are tried.
        if position >= items.size or depth == m:
            if depth == 0:
                return
            depth -= 1
            position = depth_of[depth] + 1
            continue
        item = items[position]
        depth_of[depth] = position
        begin[depth + 1], end[depth + 1], filled[depth + 1] = end[depth], end[depth], filled[depth]
        # An item that excludes nobody shares the list of its prefix.
        if postings.free[item]:
            begin[depth + 1], end[depth + 1] = begin[depth], end[depth]
        elif filled[depth]:
            end[depth + 1] = _intersect(
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
        candidates = end[depth] - begin[depth] if filled[depth] else everybody
        holds_true = true >= 0 and (
            not filled[depth] or contains(stack, begin[depth], end[depth], true)
        )
        # A guess among the remaining people is right with chance 1 ∕ their number.
        sums[depth - 1, 2] += candidates
        if holds_true:
            sums[depth - 1, 1] += 1.0 / candidates
            if candidates == 1:
                sums[depth - 1, 0] += 1.0
        position += 1
