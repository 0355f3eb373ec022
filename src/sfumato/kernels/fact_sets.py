"""Loops over facts (rows of a person in a related table): who shares some rows with a person, and
what the people who share them have in common.

Arrays. A person is a multiset of rows. The rows of person *t* are numbers
``items[pointers[t]:pointers[t + 1]]``, ascending; somebody who has a row three times has three
numbers that follow each other, the first, second and third copy of that row, and ``deeper`` marks
the second and third. A sub-multiset is so a set that holds no copy without those before it: behind
a number comes either its own next copy or the first copy of another row.

Sets are walked depth first as in :mod:`sfumato.kernels.baskets`: the people who have a prefix are
kept as a list, with the position of its last number in each of them, and the numbers behind that
position extend it. Rows are numbered by rising support, so lists get short early.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.group_closeness import measure_in_tree, measure_on_line
from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.kernels.group_closeness import ValueLine, ValueTree


class FactLists(NamedTuple):
    """People as multisets of rows, and per number who has it and where (see
    :func:`sfumato.kernels.baskets.transpose_items`).

    ``roots`` marks numbers of first copies.
    """

    pointers: NDArray[np.int64]
    items: NDArray[np.int32]
    deeper: NDArray[np.bool_]
    roots: NDArray[np.bool_]
    starts: NDArray[np.int64]
    people: NDArray[np.int32]
    positions: NDArray[np.int64]


class FactWalk(NamedTuple):
    """State of a walk. Lists of people stand behind one another, those of larger sets further on.

    ``spans[depth]`` is (next child, number of children, where the next child's list begins, where
    the lists end). ``counts`` per number is zero between calls.
    """

    people: NDArray[np.int32]
    positions: NDArray[np.int64]
    counts: NDArray[np.int64]
    touched: NDArray[np.int64]
    child_end: NDArray[np.int64]
    spans: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _longest_extension(rows):
    """The longest list of extensions that a single row can have."""
    longest = 0
    for root in range(rows.starts.size - 1):
        entries = 0
        for at in range(rows.starts[root], rows.starts[root + 1]):
            entries += rows.pointers[rows.people[at] + 1] - rows.positions[at] - 1
        longest = max(longest, entries)
    return longest


@njit(cache=True, nogil=True)
def _start_walk(rows, m):
    """Room for a walk over sets of at most ``m`` rows; the lists of single rows come first."""
    # No condition fails beyond the Durfee number: with fewer than ``size`` degrees of at least
    # ``size``, the remaining conditions follow from those before (Erdős–Gallai need not be checked
    # there). Room: the lists of single rows, then m − 1 depths that never need more than the first.
    base = rows.people.size
    size = rows.starts.size - 1
    wide = _longest_extension(rows)
    people = np.empty(base + wide * max(m - 1, 0), np.int32)
    positions = np.empty(base + wide * max(m - 1, 0), np.int64)
    people[:base] = rows.people
    positions[:base] = rows.positions
    spans = np.zeros((m + 1, 4), np.int64)
    spans[0, 3] = base
    children = min(size, wide) + 1
    return FactWalk(
        people,
        positions,
        np.zeros(size, np.int64),
        np.empty(children, np.int64),
        np.empty((m + 1, children), np.int64),
        spans,
    )


@njit(cache=True, nogil=True)
def _count_next(rows, walk, first, last):
    """Count, per number that may come next, the people of a list who have it. Returns how many
    numbers there are.
    """
    count = 0
    for at in range(first, last):
        # The next copy of the same row stands right behind the last number.
        behind = walk.positions[at] + 1
        for position in range(behind, rows.pointers[walk.people[at] + 1]):
            if rows.deeper[position] and position != behind:
                continue  # a later copy of another row, whose first copy is not in the set
            item = rows.items[position]
            if walk.counts[item] == 0:
                walk.touched[count] = item
                count += 1
            walk.counts[item] += 1
    return count


@njit(cache=True, nogil=True)
def _clear_counts(walk, count):
    """Set the counts of the first ``count`` touched numbers back to zero."""
    for j in range(count):
        walk.counts[walk.touched[j]] = 0


@njit(cache=True, nogil=True)
def _deepen(rows, walk, depth, first, last):
    """Write the lists of all extensions of a list behind the existing ones. Returns the
    new depth.
    """
    count = _count_next(rows, walk, first, last)
    base = walk.spans[depth, 3]
    end = base
    # A counting sort by number: counts become the offsets at which the lists begin …
    for j in range(count):
        item = walk.touched[j]
        length = walk.counts[item]
        walk.counts[item] = end
        end += length
    # … each person is written to the lists of all numbers that may come next …
    for at in range(first, last):
        person = walk.people[at]
        behind = walk.positions[at] + 1
        for position in range(behind, rows.pointers[person + 1]):
            if rows.deeper[position] and position != behind:
                continue
            item = rows.items[position]
            walk.people[walk.counts[item]] = person
            walk.positions[walk.counts[item]] = position
            walk.counts[item] += 1
    # … after which the offsets stand where the lists end.
    for j in range(count):
        walk.child_end[depth + 1, j] = walk.counts[walk.touched[j]]
    _clear_counts(walk, count)
    walk.spans[depth + 1, 0] = 0
    walk.spans[depth + 1, 1] = count
    walk.spans[depth + 1, 2] = base
    walk.spans[depth + 1, 3] = end
    return depth + 1


@njit(cache=True, nogil=True)
def _next(walk, depth):
    """The next set: its depth (−1: there is none), and where the list of its people begins and
    ends.
    """
    spans = walk.spans
    # Sets whose children are all visited are left.
    while depth > 0 and spans[depth, 0] == spans[depth, 1]:
        depth -= 1
    if depth == 0:
        return -1, np.int64(0), np.int64(0)
    child = spans[depth, 0]
    first = spans[depth, 2]
    last = walk.child_end[depth, child]
    spans[depth, 0] = child + 1
    spans[depth, 2] = last
    return depth, first, last


@njit(cache=True, nogil=True)
def _lower_support(walk, first, last, fewest, floor):
    """Lower the fewest sharers of everybody on a list to its length. Returns whether somebody on it
    is still above ``floor``.
    """
    support = last - first
    # One sharer above the floor is enough to go on.
    is_open = False
    for at in range(first, last):
        person = walk.people[at]
        if support < fewest[person]:
            fewest[person] = support
        if fewest[person] > floor:
            is_open = True
    return is_open


@njit(cache=True, nogil=True)
def _last_facts(rows, walk, first, last, fewest):
    """Extensions by a last row: their supports are enough, so no lists are written."""
    count = _count_next(rows, walk, first, last)
    for at in range(first, last):
        person = walk.people[at]
        behind = walk.positions[at] + 1
        for position in range(behind, rows.pointers[person + 1]):
            if rows.deeper[position] and position != behind:
                continue
            support = walk.counts[rows.items[position]]
            if support < fewest[person]:
                fewest[person] = support
    _clear_counts(walk, count)


@njit(cache=True, nogil=True)
def find_fewest_sharers(rows, m, floor, fewest):
    """Lower ``fewest[t]`` to the fewest people who share at most ``m`` rows of person *t*.

    Support is anti-monotone (Apriori: Agrawal, Imieliński & Swami 1993), so larger sets have fewer
    sharers; where everybody on a list is already among at most ``floor``, larger sets change
    nothing that matters and are not visited.
    """
    walk = _start_walk(rows, m)
    for root in range(rows.starts.size - 1):
        # Later copies are reached through the first one only.
        if not rows.roots[root]:
            continue
        depth = 0
        first = rows.starts[root]
        last = rows.starts[root + 1]
        while depth >= 0 and last > first:
            if _lower_support(walk, first, last, fewest, floor) and depth + 1 < m:
                # At the last size supports are enough.
                if depth + 2 == m:
                    _last_facts(rows, walk, first, last, fewest)
                else:
                    depth = _deepen(rows, walk, depth, first, last)
            depth, first, last = _next(walk, depth)


class ValueSets(NamedTuple):
    """The sensitive values of people: those of person *t* are ``codes[pointers[t]:pointers[t +
    1]]``, ascending, no repeats.

    ``kind`` numbers the people's sets of values, smaller sets first; those of set *s* are
    ``set_codes[set_pointers[s]:set_pointers[s + 1]]``. ``shares`` says what share of all people has
    each value, and at the end what share has none; ``common`` are the values from the most frequent
    one on. ``tally``, ``touched``, ``kind_marks`` and ``kinds`` are scratch, cleared after each
    call.
    """

    pointers: NDArray[np.int64]
    codes: NDArray[np.int64]
    kind: NDArray[np.int64]
    set_pointers: NDArray[np.int64]
    set_codes: NDArray[np.int64]
    shares: NDArray[np.float64]
    common: NDArray[np.int64]
    tally: NDArray[np.int64]
    touched: NDArray[np.int64]
    kind_marks: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    line: ValueLine
    tree: ValueTree


@njit(cache=True, nogil=True)
def _tally_values(secrets, people, first, last):
    """Count the values of the people of a list; the last entry of ``tally`` counts those without
    any. Returns how many different values there are.
    """
    # The last entry of ``tally`` stands for "no value".
    none = secrets.tally.size - 1
    count = 0
    for at in range(first, last):
        person = people[at]
        begin = secrets.pointers[person]
        end = secrets.pointers[person + 1]
        if begin == end:
            secrets.tally[none] += 1
        for position in range(begin, end):
            code = secrets.codes[position]
            if secrets.tally[code] == 0:
                secrets.touched[count] = code
                count += 1
            secrets.tally[code] += 1
    return count


@njit(cache=True, nogil=True)
def _clear_tally(secrets, count):
    """Set the tallies of the first ``count`` touched values, and of none, back to zero."""
    for j in range(count):
        secrets.tally[secrets.touched[j]] = 0
    secrets.tally[secrets.tally.size - 1] = 0


@njit(cache=True, nogil=True)
def _count_disjoint(secrets, people, first, last):
    """A number of people of a list who have pairwise no value in common: greedy, smaller sets of
    values first, so a lower bound of the largest such number. Who has no value counts once.
    """
    count = 0
    nobody = 0
    # People with the same set of values are met once.
    for at in range(first, last):
        kind = secrets.kind[people[at]]
        if secrets.set_pointers[kind] == secrets.set_pointers[kind + 1]:
            nobody = 1
        elif not secrets.kind_marks[kind]:
            secrets.kind_marks[kind] = True
            secrets.kinds[count] = kind
            count += 1
    # A set is picked if none of its values is marked; then its values are marked.
    sorted_kinds = np.sort(secrets.kinds[:count])
    disjoint = 0
    marked = 0
    for j in range(count):
        secrets.kind_marks[sorted_kinds[j]] = False
        begin = secrets.set_pointers[sorted_kinds[j]]
        end = secrets.set_pointers[sorted_kinds[j] + 1]
        free = True
        for position in range(begin, end):
            if secrets.tally[secrets.set_codes[position]]:
                free = False
                break
        if free:
            disjoint += 1
            for position in range(begin, end):
                secrets.tally[secrets.set_codes[position]] = 1
                secrets.touched[marked] = secrets.set_codes[position]
                marked += 1
    _clear_tally(secrets, marked)
    return disjoint + nobody if disjoint else 0


@njit(cache=True, nogil=True)
def _largest_share(secrets, count, size):
    """The share of the most frequent value."""
    largest = 0
    for j in range(count):
        largest = max(largest, secrets.tally[secrets.touched[j]])
    return largest / size


@njit(cache=True, nogil=True)
def _concentration(secrets, count, size):
    """exp(−entropy) of values of which everybody has one, or none."""
    entropy = 0.0
    none = secrets.tally[secrets.tally.size - 1]
    for j in range(count):
        share = secrets.tally[secrets.touched[j]] / size
        entropy -= share * math.log(share)
    # "No value" is one more outcome.
    if none:
        entropy -= none / size * math.log(none / size)
    return math.exp(-entropy) if count else 0.0


@njit(cache=True, nogil=True)
def _distance(secrets, count, size):
    """Total variation distance to all people, of values of which everybody has one, or none."""
    last = secrets.tally.size - 1
    apart = abs(secrets.tally[last] / size - secrets.shares[last])
    absent = 1.0 - secrets.shares[last]
    # What nobody on the list has differs by its share among all people.
    for j in range(count):
        code = secrets.touched[j]
        apart += abs(secrets.tally[code] / size - secrets.shares[code])
        absent -= secrets.shares[code]
    return (apart + max(absent, 0.0)) / 2.0


@njit(cache=True, nogil=True)
def _largest_change(secrets, count, size):
    """The largest difference of shares of one value."""
    largest = 0.0
    for j in range(count):
        code = secrets.touched[j]
        largest = max(largest, abs(secrets.tally[code] / size - secrets.shares[code]))
    for j in range(secrets.common.size):
        # The most frequent of the values that nobody on the list has differs by its whole share.
        if secrets.tally[secrets.common[j]] == 0:
            return max(largest, secrets.shares[secrets.common[j]])
    return largest


DISTINCT, FREQUENCY, ENTROPY, EQUAL, EACH, LINE, TREE = range(7)


@njit(cache=True, nogil=True)
def _measure_disclosure(secrets, measure, people, first, last):
    """What the people of a list disclose about each other by one measure: the larger, the more."""
    # These three keep their own counts …
    if measure == DISTINCT:
        apart = _count_disjoint(secrets, people, first, last)
        return 1.0 / apart if apart else 0.0
    if measure == LINE:
        return measure_on_line(secrets, people, first, last)
    if measure == TREE:
        return measure_in_tree(secrets, people, first, last)
    # … the others read one tally of the values, which is cleared afterwards.
    count = _tally_values(secrets, people, first, last)
    size = last - first
    if measure == FREQUENCY:
        worst = _largest_share(secrets, count, size)
    elif measure == ENTROPY:
        worst = _concentration(secrets, count, size)
    elif measure == EQUAL:
        worst = _distance(secrets, count, size)
    else:
        worst = _largest_change(secrets, count, size)
    _clear_tally(secrets, count)
    return worst


@njit(cache=True, nogil=True)
def measure_groups(secrets, measure, starts, people):
    """Disclosure within each group of people, ``people[starts[g]:starts[g + 1]]``."""
    disclosures = np.zeros(starts.size - 1)
    for group in range(starts.size - 1):
        if starts[group + 1] > starts[group]:
            disclosures[group] = _measure_disclosure(
                secrets, measure, people, starts[group], starts[group + 1]
            )
    return disclosures


@njit(cache=True, nogil=True)
def measure_facts(rows, secrets, m, measure, ceiling, worst):
    """Raise ``worst[t]`` to the largest disclosure among the people who share at most ``m`` rows of
    person *t*, over all such rows.

    A list of one person has no other extension than itself. Where everybody on a list is at
    ``ceiling`` or above, larger sets change nothing that matters and are not visited.
    """
    walk = _start_walk(rows, m)
    for root in range(rows.starts.size - 1):
        if not rows.roots[root]:
            continue
        depth = 0
        first = rows.starts[root]
        last = rows.starts[root + 1]
        while depth >= 0 and last > first:
            disclosure = _measure_disclosure(secrets, measure, walk.people, first, last)
            # Everybody on the list learns from it; the list is settled when all are at the ceiling.
            settled = True
            for at in range(first, last):
                person = walk.people[at]
                worst[person] = max(worst[person], disclosure)
                if worst[person] < ceiling:
                    settled = False
            if last - first > 1 and not settled and depth + 1 < m:
                depth = _deepen(rows, walk, depth, first, last)
            depth, first, last = _next(walk, depth)


@njit(cache=True, nogil=True)
def count_sub_multisets(pointers, deeper, m):
    """Over all people, how many different sub-multisets of 0, 1, … m of the own rows there are;
    copies beyond m do not matter.
    """
    totals = np.zeros(m + 1)
    ways = np.zeros(m + 1)
    fewer = np.zeros(m + 1)
    for person in range(pointers.size - 1):
        ways[:] = 0.0
        ways[0] = 1.0
        position = pointers[person]
        # ``ways[s]`` counts those of size s from the rows so far: a row with c copies adds 0 … c of
        # them, the product of generating polynomials 1 + x + … + xᶜ.
        while position < pointers[person + 1]:
            copies = 1
            while position + copies < pointers[person + 1] and deeper[position + copies]:
                copies += 1
            fewer[:] = ways
            for size in range(m, 0, -1):
                for copies_used in range(1, min(copies, size) + 1):
                    ways[size] += fewer[size - copies_used]
            position += copies
        for size in range(m + 1):
            totals[size] += ways[size]
    return totals


@njit(cache=True, nogil=True)
def _have_same_codes(pointers, codes, person, other_person):
    """Whether two people have the same codes."""
    first = pointers[person]
    second = pointers[other_person]
    length = pointers[person + 1] - first
    if pointers[other_person + 1] - second != length:
        return False
    for j in range(length):
        if codes[first + j] != codes[second + j]:
            return False
    return True


@njit(cache=True, nogil=True)
def group_equal_people(classes, pointers, codes):
    """Per person the number of the group of people in the same class who have exactly the same
    codes, numbered by first appearance.

    A hash table with linear probing finds who may be alike; they are compared code by code, so no
    collision can merge two groups. Costs one pass over the codes.
    """
    persons = classes.size
    # At most half full, a power of two: a probe wraps with a mask.
    room = 16
    while room < 2 * persons:
        room *= 2
    table = np.full(room, -1, np.int64)
    groups = np.empty(persons, np.int64)
    groups_so_far = 0
    for person in range(persons):
        # A multiplicative hash of class and codes; only speed depends on it.
        key = np.uint64(classes[person]) * np.uint64(0x9E3779B97F4A7C15)
        for position in range(pointers[person], pointers[person + 1]):
            key = (key ^ np.uint64(codes[position])) * np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(room - 1))
        while table[slot] >= 0:
            candidate = table[slot]
            if classes[candidate] == classes[person] and _have_same_codes(
                pointers, codes, person, candidate
            ):
                break
            slot = (slot + 1) & (room - 1)
        if table[slot] < 0:
            table[slot] = person
            groups[person] = groups_so_far
            groups_so_far += 1
        else:
            groups[person] = groups[table[slot]]
    return groups


@njit(cache=True, nogil=True)
def _rare_last(rows, walk, first, last, k, prefix, members, people, count):
    """Write the extensions of a set by a last row that fewer than ``k`` people share, once for
    everybody who has one. Returns how many there are then.
    """
    size = members.shape[1]
    touched_count = _count_next(rows, walk, first, last)
    for at in range(first, last):
        person = walk.people[at]
        behind = walk.positions[at] + 1
        for position in range(behind, rows.pointers[person + 1]):
            if rows.deeper[position] and position != behind:
                continue
            # Everybody who has a rare extension is written with it; beyond the room it is only
            # counted.
            if walk.counts[rows.items[position]] < k:
                if count < people.size:
                    members[count, : size - 1] = prefix[: size - 1]
                    members[count, size - 1] = rows.items[position]
                    people[count] = person
                count += 1
    _clear_counts(walk, touched_count)
    return count


@njit(cache=True, nogil=True)
def list_rare_sets(rows, size, k, members, people):
    """Write sets of exactly ``size`` rows that fewer than ``k`` people share, with each of these
    people, as long as there is room. Returns how many there are in all.

    Supersets of a rare set are skipped: they are rare as well (Apriori), and callers deal with
    smaller sets first.
    """
    walk = _start_walk(rows, size)
    prefix = np.empty(size, np.int64)
    count = 0
    for root in range(rows.starts.size - 1):
        # A single row that fewer than k share was dealt with as a set of size 1.
        if not rows.roots[root] or rows.starts[root + 1] - rows.starts[root] < k:
            continue
        depth = 0
        first = rows.starts[root]
        last = rows.starts[root + 1]
        while depth >= 0 and last > first:
            # The last number of the set is the same for everybody on the list, at their own
            # positions.
            prefix[depth] = rows.items[walk.positions[first]]
            if last - first >= k and depth + 2 < size:
                depth = _deepen(rows, walk, depth, first, last)
            elif last - first >= k and depth + 2 == size:
                count = _rare_last(rows, walk, first, last, k, prefix, members, people, count)
            depth, first, last = _next(walk, depth)
    return count


@njit(cache=True, nogil=True)
def count_fitting_people(pointers, codes, members, own_codes, true):
    """Among ``members``, the people who have no row beyond ``own_codes`` (ascending codes, copies
    repeated), and of these the ones with most rows.

    Returns how many such people there are, how many rows each has (−1: there are none), and whether
    ``true`` is one of them.
    """
    most_rows = -1
    count = 0
    has_true = False
    for at in range(members.size):
        person = members[at]
        first = pointers[person]
        last = pointers[person + 1]
        # Fewer rows than the best so far, or more than ``own_codes``: cannot win, or cannot fit.
        if last - first < most_rows or last - first > own_codes.size:
            continue
        j = 0
        fits = True
        # A merge of two ascending lists; each row of the person uses up one copy in the other list.
        for position in range(first, last):
            while j < own_codes.size and own_codes[j] < codes[position]:
                j += 1
            if j == own_codes.size or own_codes[j] != codes[position]:
                fits = False
                break
            j += 1
        if fits:
            if last - first > most_rows:
                most_rows = last - first
                count = 0
                has_true = False
            count += 1
            if person == true:
                has_true = True
    return count, most_rows, has_true
