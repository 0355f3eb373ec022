"""The nearest records of one file to each record of another, exactly, by the tree of
:mod:`sfumato.kernels.record_tree`.

Arrays. Files are :class:`sfumato.kernels.linkage.FileArrays`; record *i* always belongs to the
first file (the intruder's) and *j* to the other (the released one). The tree holds boxes of records
of the other file: ``ends[node, k]`` the ends of the box and half a width, ``codes[node, k]`` the
lowest and highest code, ``holds[node, k]`` which kinds of cells occur.

A box of the tree is passed over only where a lower bound of the cost of all its records exceeds the
best cost so far: costs are never negative, so a sum of lower bounds over some columns bounds the
whole (branch and bound). No record that could be as near as the best is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.linkage import (
    BOTH_MISSING,
    CATEGORY,
    DIFFERENT,
    GRADED,
    INSIDE,
    MISSING,
    NEAR,
    NEARING,
    ONE_MISSING,
    OPEN,
    OPENED,
    REACH,
    SAME,
    SLACK,
    cell_cost,
    codes_agree,
    line_cost,
    stamp_agreeing,
)
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.record_tree import HAS_MISSING, HAS_OPEN, HAS_PLACE

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Buffers(NamedTuple):
    """Memory that searches use again and again."""

    stack: NDArray[np.int64]
    """Nodes still to be looked at."""
    bounds: NDArray[np.float64]
    """What any record of these nodes costs at least."""
    stamps: NDArray[np.int64]
    """Per code of the other file the record whose code it was last found to agree with."""
    work: NDArray[np.int64]
    """``work[0]`` grows by the boxes and records that were compared."""


class Query(NamedTuple):
    """A record that seeks its nearest."""

    record: int
    skip: int
    """A record of the tree that does not count; −1: all count."""
    weights: NDArray[np.float64]
    """(columns,): what the cost of each column is multiplied by."""
    slack: float
    """Costs that differ by no more than this, relative to one more than the least, are equal."""


class CodeHolders(NamedTuple):
    """Per column of categories, the records of the other file that hold each code."""

    lists: NDArray[np.int64]
    """Per column its first list, of records that are open in it; lists of the codes follow; −1: no
    categories.
    """
    starts: NDArray[np.int64]
    """Where each list begins in ``records``."""
    records: NDArray[np.int64]


@njit(cache=True, nogil=True)
def make_buffers(files, tree, work):
    """Buffers for searches of one tree."""
    # A depth-first stack never holds more nodes than the tree has.
    size = tree.spans.shape[0] + 1
    stamps = np.full(files.other_bases[-1] + 1, -1, np.int64)
    return Buffers(np.empty(size, np.int64), np.empty(size), stamps, work)


@njit(cache=True, nogil=True, inline="always")
def _bound_column(
    kinds, rules, numbers, marks, bases, starts, matches, ends, codes, holds, node, i, k
):
    """What any record of a node costs at least against record *i* in one column."""
    # Every case of a cell that the node holds (open, missing, a value) is a lower bound for its
    # records; the least of them bounds all.
    kind = kinds[k]
    mark = marks[i, k]
    occurring = holds[node, k]
    # Any open cell costs the same, whatever it meets.
    if mark == OPEN:
        return rules[k, OPENED]
    lowest = rules[k, OPENED] if occurring & HAS_OPEN else np.inf
    if occurring & HAS_MISSING:
        lowest = min(lowest, rules[k, BOTH_MISSING] if mark == MISSING else rules[k, ONE_MISSING])
    if occurring & HAS_PLACE:
        if kind == CATEGORY:
            # Differing may be the cheaper case, so it always counts; agreeing only if some code of
            # the node can agree.
            lowest = min(lowest, rules[k, DIFFERENT])
            first = codes[node, k, 0]
            last = codes[node, k, 1]
            if codes_agree(mark, first, last, bases[k], starts, matches):
                lowest = min(lowest, max(numbers[i, k, 2], ends[node, k, 2]))
        # Missing against a value costs the same for every value.
        elif mark == MISSING:
            lowest = min(lowest, rules[k, ONE_MISSING])
        else:
            low = numbers[i, k, 0]
            high = numbers[i, k, 1]
            # The gap to the box is no larger than that to any interval in it, and costs rise with
            # the gap.
            gap = max(0.0, ends[node, k, 0] - high, low - ends[node, k, 1])
            # The cheapest grade that the gap still allows.
            if kind == GRADED:
                lowest = min(lowest, rules[k, DIFFERENT])
                if gap <= rules[k, REACH] + SLACK:
                    lowest = min(lowest, rules[k, NEAR])
                if gap <= SLACK:
                    lowest = min(lowest, rules[k, SAME], rules[k, INSIDE])
            elif kind == NEARING:
                lowest = min(
                    lowest, rules[k, DIFFERENT], rules[k, NEAR] + rules[k, REACH] * gap * gap
                )
                if gap <= SLACK:
                    lowest = min(lowest, rules[k, SAME], rules[k, INSIDE])
            else:
                half = numbers[i, k, 2] + ends[node, k, 2]
                lowest = min(
                    lowest,
                    line_cost(kind, gap, half, False, rules[k, DIFFERENT], 0.0, 0.0, 0.0, 0.0),
                )
    return lowest


@njit(cache=True, nogil=True)
def _bound_node(
    kinds,
    rules,
    numbers,
    marks,
    bases,
    starts,
    matches,
    ends,
    codes,
    holds,
    node,
    i,
    weights,
    limit,
):
    """What any record of a node costs at least, columns weighted; given up as soon as that exceeds
    the limit.
    """
    total = 0.0
    # Costs are not negative, so a sum beyond the limit stays there: the branch is cut.
    for k in range(kinds.size):
        lowest = _bound_column(
            kinds, rules, numbers, marks, bases, starts, matches, ends, codes, holds, node, i, k
        )
        total += lowest * weights[k]
        if total > limit:
            break
    return total


@njit(cache=True, nogil=True)
def search_tree(query, best, counting, files, tree, buffers, listed):
    """The least cost of any record of the tree for a query, at most ``best``; or, counting, how
    many rows cost no more than ``best`` within the slack.

    Not counting, the second result is the record that costs least, −1 where none costs less than
    ``best``. Counting, it is the number of rows, and the records are written into ``listed`` too,
    where it has room for all; the third result is the number of records.
    """
    (
        kinds,
        rules,
        numbers,
        marks,
        bases,
        starts,
        matches,
        other_numbers,
        other_marks,
        other_records,
        other_bases,
    ) = files
    order, spans, children, ends, codes, holds = tree
    stack, bounds, stamps, work = buffers
    i, skip, weights, slack = query
    limit = best + slack * (1.0 + abs(best)) if counting else best
    result = 0 if counting else -1
    amount, height = 0, 1
    stack[0], bounds[0] = 0, -np.inf
    # Branch and bound in a tree of boxes (Friedman, Bentley & Finkel 1977): no record of a box
    # costs less than the bound of the box, so a box above the limit is passed over.
    while height > 0:
        height -= 1
        node = stack[height]
        if bounds[height] > limit:
            continue
        far, near = children[node, 0], children[node, 1]
        # An inner node: the nearer box goes on top of the stack, so that the limit falls early.
        if far >= 0:
            work[0] += 2
            far_bound = _bound_node(
                kinds,
                rules,
                numbers,
                marks,
                bases,
                starts,
                matches,
                ends,
                codes,
                holds,
                far,
                i,
                weights,
                limit,
            )
            near_bound = _bound_node(
                kinds,
                rules,
                numbers,
                marks,
                bases,
                starts,
                matches,
                ends,
                codes,
                holds,
                near,
                i,
                weights,
                limit,
            )
            if far_bound < near_bound:
                far, near, far_bound, near_bound = near, far, near_bound, far_bound
            stack[height], bounds[height] = far, far_bound
            stack[height + 1], bounds[height + 1] = near, near_bound
            height += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        # A leaf: records one by one, each given up as soon as it exceeds the limit.
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            if j == skip:
                continue
            total = 0.0
            for k in range(kinds.size):
                other_mark = other_marks[j, k]
                agreeing = (
                    kinds[k] == CATEGORY
                    and other_mark >= 0
                    and stamps[other_bases[k] + other_mark] == i
                )
                cost = cell_cost(
                    kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
                )
                total += weights[k] * cost
                if total > limit:
                    break
            if counting:
                if total <= limit:
                    result += other_records[j]
                    if listed.size:
                        listed[amount] = j
                    amount += 1
            elif total < best:
                best = limit = total
                result = j
    return best, result, amount


# The nearest records by category first, by the tree where that does not settle it.
#
# Per column of categories the records that hold each code are listed. A record that is on none of
# the lists of the columns looked through so far differs in all of them, which is what it costs
# at least: when that is more than the best so far, nothing else can be as near. This settles files
# with rare categories in a few hundred comparisons; the tree settles files of numbers and ranges,
# and starts from the best of the lists.

FEW, SHARE, SHARE_OF_CATEGORIES = 256, 64, 3
"""Lists of more records than the few, and than one in so many of all, are not looked through. Where
all columns are categories the tree can leave out little, and longer lists still pay.
"""


@njit(cache=True, nogil=True)
def _shortest(i, files, holders, visited):
    """The column not looked through yet in which the fewest records could agree, and how many those
    are; −1 without one.
    """
    column = -1
    shortest = np.int64(2**62)
    # Lengths are differences of starts: a few look-ups a column, nothing is compared.
    for k in range(files.marks.shape[1]):
        base = holders.lists[k]
        if base < 0 or visited[k] or files.marks[i, k] < 0:
            continue
        length = holders.starts[base + 1] - holders.starts[base]
        code = files.bases[k] + files.marks[i, k]
        for m in range(files.starts[code], files.starts[code + 1]):
            agreeing = base + 1 + files.matches[m]
            length += holders.starts[agreeing + 1] - holders.starts[agreeing]
        if length < shortest:
            column, shortest = k, length
    return column, shortest


class ComparedRecords(NamedTuple):
    """Records that were compared with one query, and what they cost."""

    last_query: NDArray[np.int64]
    """Per record the query it was last compared with."""
    records: NDArray[np.int64]
    costs: NDArray[np.float64]
    size: NDArray[np.int64]
    """``size[0]`` candidates are listed."""


@njit(cache=True, nogil=True)
def _compare_listed(query, column, best, files, holders, buffers, candidates):
    """Compare with all records that could agree in a column; the first list holds those that are
    open in it.

    Records that cost no more than the best before them are listed in ``candidates``. Returns the
    best cost.
    """
    (
        kinds,
        rules,
        numbers,
        marks,
        bases,
        starts,
        matches,
        other_numbers,
        other_marks,
        _,
        other_bases,
    ) = files
    _, _, stamps, work = buffers
    i, _, _, slack = query
    lists, list_starts, listed = holders
    last_query, candidate_records, costs, size = candidates
    code = bases[column] + marks[i, column]
    first = starts[code]
    last = starts[code + 1]
    for m in range(first - 1, last):
        # m = first − 1 stands for the list of open records, the others for the codes that agree.
        entry = lists[column]
        if m >= first:
            entry += 1 + matches[m]
        for p in range(list_starts[entry], list_starts[entry + 1]):
            j = listed[p]
            # Compared by way of another column already.
            if last_query[j] == i:
                continue
            last_query[j] = i
            work[0] += 1
            limit = best + slack * (1.0 + abs(best))
            total = 0.0
            for k in range(kinds.size):
                other_mark = other_marks[j, k]
                agreeing = (
                    kinds[k] == CATEGORY
                    and other_mark >= 0
                    and stamps[other_bases[k] + other_mark] == i
                )
                cost = cell_cost(
                    kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
                )
                total += cost
                # Costs are not negative: once beyond the limit the record is given up.
                if total > limit:
                    break
            if total <= limit:
                count = size[0]
                candidate_records[count] = j
                costs[count] = total
                size[0] += 1
                best = min(best, total)
    return best


@njit(cache=True, nogil=True)
def find_nearest(queries, files, tree, holders, slack, work):
    """Per query the least cost of any record of the other file, how many rows cost that, within the
    slack, and one such record.
    """
    nearest_records = np.full(queries.size, -1, np.int64)
    costs = np.full(queries.size, np.inf)
    tied = np.zeros(queries.size, np.int64)
    records = files.other_records
    columns = files.kinds.size
    buffers = make_buffers(files, tree, work)
    candidates = ComparedRecords(
        np.full(records.size, -1, np.int64),
        np.empty(records.size, np.int64),
        np.empty(records.size),
        np.zeros(1, np.int64),
    )
    visited = np.zeros(columns, np.bool_)
    equal_weights = np.ones(columns)
    no_list = np.empty(0, np.int64)
    # Lists of rare categories pay less where numbers let the tree prune.
    share = SHARE_OF_CATEGORIES
    for kind in files.kinds:
        if kind != CATEGORY:
            share = SHARE
    for q in range(queries.size):
        query = Query(queries[q], -1, equal_weights, slack)
        best = np.inf
        floor = 0.0
        settled = False
        visited[:] = False
        candidates.size[0] = 0
        stamp_agreeing(query.record, files, buffers.stamps)
        # Threshold rule (Fagin, Lotem & Naor 2003): records on no list so far cost at least
        # ``floor``; when that exceeds the best, no other can be as near.
        while not settled:
            k, length = _shortest(query.record, files, holders, visited)
            if k < 0 or length > max(FEW, records.size // share):
                break
            visited[k] = True
            best = _compare_listed(query, k, best, files, holders, buffers, candidates)
            floor += files.rules[k, DIFFERENT]  # whoever was not listed differs in this column too
            settled = floor > best + slack * (1.0 + abs(best))
        # Candidates were written when they were best; only those that cost the final best count.
        for c in range(candidates.size[0]):
            if candidates.costs[c] == best:
                nearest_records[q] = candidates.records[c]
            if settled and candidates.costs[c] <= best + slack * (1.0 + abs(best)):
                tied[q] += records[candidates.records[c]]
        # The lists did not settle it: search the tree for the best, then count those that tie with
        # it.
        if not settled:
            best, record, _ = search_tree(query, best, False, files, tree, buffers, no_list)
            if record >= 0:
                nearest_records[q] = record
            best, tied[q], _ = search_tree(query, best, True, files, tree, buffers, no_list)
        costs[q] = best
    return costs, tied, nearest_records


# All records that are nearest, and the nearest others of records whose own is known.


@njit(cache=True, nogil=True)
def list_nearest(query, files, tree, buffers):
    """The least weighted cost of any record for a query, and the records that cost that, within the
    slack.

    Buffers may be reused for another record: stamps hold the number of the record they belong to.
    """
    stamp_agreeing(query.record, files, buffers.stamps)
    no_list = np.empty(0, np.int64)
    # First the least cost, then all records that cost it.
    best, _, _ = search_tree(query, np.inf, False, files, tree, buffers, no_list)
    if best == np.inf:
        return best, no_list
    listed = np.empty(files.other_records.size, np.int64)
    _, _, amount = search_tree(query, best, True, files, tree, buffers, listed)
    return best, listed[:amount].copy()


@njit(cache=True, nogil=True)
def find_least_cost(query, files, tree, buffers):
    """The least weighted cost of any record for a query: the first half of :func:`list_nearest`."""
    stamp_agreeing(query.record, files, buffers.stamps)
    best, _, _ = search_tree(query, np.inf, False, files, tree, buffers, np.empty(0, np.int64))
    return best


class Impostors(NamedTuple):
    """The nearest records so far of one query, by rising distance; of equally near ones the lowest
    numbers come first.
    """

    records: NDArray[np.int64]
    distances: NDArray[np.float64]


class Own(NamedTuple):
    """A query's true record, and what it costs column by column."""

    record: int
    costs: NDArray[np.float64]
    apart: float
    """A record whose costs differ from these by no more than this in every column is a twin: as far
    under all weights.
    """


@njit(cache=True, nogil=True)
def _insert(distance, j, impostors):
    """Put a record in its place among the nearest so far; the last one drops out."""
    records = impostors.records
    distances = impostors.distances
    p = distances.size - 1
    # Insertion sort: the list is short.
    while p > 0 and (
        distances[p - 1] > distance or (distances[p - 1] == distance and records[p - 1] > j)
    ):
        distances[p], records[p] = distances[p - 1], records[p - 1]
        p -= 1
    distances[p] = distance
    records[p] = j


@njit(cache=True, nogil=True)
def _find_impostors(query, own, impostors, files, tree, lowest, buffers):
    """Write the nearest records to a query but for its true record and the twins of it.

    Branch and bound as in :func:`search_tree`. A box is also passed over where it can only tie with
    the last of the nearest, by records of higher numbers: ``lowest[node]`` is the lowest number in
    a box.
    """
    (
        kinds,
        rules,
        numbers,
        marks,
        bases,
        starts,
        matches,
        other_numbers,
        other_marks,
        _,
        other_bases,
    ) = files
    order, spans, children, ends, codes, holds = tree
    stack, bounds, stamps, work = buffers
    i, _, weights, _ = query
    own_record, own_costs, apart = own
    records, distances = impostors
    last = distances.size - 1
    height = 1
    stack[0] = 0
    bounds[0] = -np.inf
    while height > 0:
        height -= 1
        node = stack[height]
        limit = distances[last]
        # The limit is the distance of the last impostor so far; it only falls.
        if bounds[height] > limit or (
            bounds[height] == limit and 0 <= records[last] < lowest[node]
        ):
            continue
        far = children[node, 0]
        near = children[node, 1]
        if far >= 0:
            work[0] += 2
            far_bound = _bound_node(
                kinds,
                rules,
                numbers,
                marks,
                bases,
                starts,
                matches,
                ends,
                codes,
                holds,
                far,
                i,
                weights,
                limit,
            )
            near_bound = _bound_node(
                kinds,
                rules,
                numbers,
                marks,
                bases,
                starts,
                matches,
                ends,
                codes,
                holds,
                near,
                i,
                weights,
                limit,
            )
            # Of equal bounds the box with the lower number comes first, as ties are decided.
            if far_bound < near_bound or (far_bound == near_bound and lowest[far] < lowest[near]):
                far, near, far_bound, near_bound = near, far, near_bound, far_bound
            stack[height] = far
            bounds[height] = far_bound
            stack[height + 1] = near
            bounds[height + 1] = near_bound
            height += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        # A leaf. A record is given up once it exceeds the limit; a twin must be compared in full.
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            total, unlike = 0.0, 0.0
            for k in range(kinds.size):
                other_mark = other_marks[j, k]
                agreeing = (
                    kinds[k] == CATEGORY
                    and other_mark >= 0
                    and stamps[other_bases[k] + other_mark] == i
                )
                cost = cell_cost(
                    kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
                )
                total += cost * weights[k]
                unlike = max(unlike, abs(cost - own_costs[k]))
                if total > distances[last]:
                    break
            # The true record and its twins are no impostors.
            if j == own_record or unlike <= apart or total > distances[last]:
                continue
            if total < distances[last] or records[last] < 0 or j < records[last]:
                _insert(total, j, impostors)


@njit(cache=True, nogil=True)
def _count_twins(i, own, margin, tie, files, tree, buffers):
    """How many rows are as far from *i* as its true record in every column, and what a monotone
    distance can reach for it (see :func:`sfumato.kernels.linkage.find_impostors`).

    Only records no farther than the true record in any column, up to the margin, matter: nodes that
    are farther in one column are pruned, since the least cost of a node bounds all its records.
    """
    (
        kinds,
        rules,
        numbers,
        marks,
        bases,
        starts,
        matches,
        other_numbers,
        other_marks,
        other_records,
        other_bases,
    ) = files
    order, spans, children, ends, codes, holds = tree
    stack, _, stamps, work = buffers
    own_record, own_costs, apart = own
    twins, reach, height = 0, 2, 1
    stack[0] = 0
    while height > 0:
        height -= 1
        node = stack[height]
        beyond = False
        for k in range(kinds.size):
            lowest = _bound_column(
                kinds, rules, numbers, marks, bases, starts, matches, ends, codes, holds, node, i, k
            )
            if lowest - own_costs[k] >= margin:
                beyond = True
                break
        if beyond:
            continue
        if children[node, 0] >= 0:
            stack[height], stack[height + 1] = children[node, 0], children[node, 1]
            height += 2
            work[0] += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        # Twins, and records that dominate the true one: no farther in any column.
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            farthest = -np.inf
            unlike = 0.0
            for k in range(kinds.size):
                other_mark = other_marks[j, k]
                agreeing = (
                    kinds[k] == CATEGORY
                    and other_mark >= 0
                    and stamps[other_bases[k] + other_mark] == i
                )
                cost = cell_cost(
                    kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
                )
                gap = cost - own_costs[k]
                farthest = max(farthest, gap)
                unlike = max(unlike, abs(gap))
                if farthest >= margin:
                    break
            if j == own_record or farthest >= margin:
                continue
            if unlike <= apart:
                twins += other_records[j]
            else:
                reach = min(reach, 0 if farthest < -tie else 1)
    return twins, reach


class MeanSearch(NamedTuple):
    """What a search for impostors under a weighted mean looks for."""

    weights: NDArray[np.float64]
    impostor_count: int
    """How many impostors are listed for each unit."""
    counts_twins: bool
    """Whether twins and reach are counted: no weights change them, so the first search of several
    does.
    """
    margin: float
    """Distances that differ by less than this are not distinguished by a learner."""
    tie: float


@njit(cache=True, nogil=True)
def find_impostors(units, true_roots, search, files, tree, lowest, work):
    """What :func:`sfumato.kernels.linkage.find_impostors` finds for a weighted mean, without a look
    at records that are too far.

    ``true_roots`` are the roots of each unit's differences from its true record. Twins and reach
    are 0 where they are not counted.
    """
    size = units.shape[0]
    own_distances = np.empty(size)
    tied = np.zeros(size, np.int64)
    nearest = np.full((size, search.impostor_count), -1, np.int64)
    distances = np.full((size, search.impostor_count), np.inf)
    twins = np.zeros(size, np.int64)
    reach = np.zeros(size, np.int64)
    buffers = make_buffers(files, tree, work)
    no_list = np.empty(0, np.int64)
    costs = np.empty(files.kinds.size)
    for u in range(size):
        query = Query(units[u, 0], units[u, 1], search.weights, search.tie)
        own = Own(units[u, 1], costs, 0.1 * search.tie)
        stamp_agreeing(query.record, files, buffers.stamps)
        # The distance to the true record is the weighted sum of its squared roots.
        own_distances[u] = 0.0
        for k in range(files.kinds.size):
            costs[k] = true_roots[u, k] * true_roots[u, k]
            own_distances[u] += costs[k] * search.weights[k]
        _find_impostors(
            query, own, Impostors(nearest[u], distances[u]), files, tree, lowest, buffers
        )
        # Twins are as far as its own, up to a tenth of what is a tie.
        best = min(own_distances[u], distances[u, 0])
        if own_distances[u] <= best + search.tie * (1.0 + abs(best)):
            _, rows, _ = search_tree(query, best, True, files, tree, buffers, no_list)
            tied[u] = rows + files.other_records[own.record]
        if search.counts_twins:
            twins[u], reach[u] = _count_twins(
                query.record, own, search.margin, search.tie, files, tree, buffers
            )
    return own_distances, nearest, distances, tied, twins, reach
