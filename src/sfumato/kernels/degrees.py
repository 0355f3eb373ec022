"""Loops over degrees: cheapest groups, and graphs that have the degrees asked for. Rows of
neighbours are as in :mod:`sfumato.kernels.graphs`.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.graphs import mix
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner

FREE, GONE = np.int64(-1), np.int64(-2)
"""Places of a set of edges that were never taken, and that are free again."""


@njit(cache=True, nogil=True)
def cheapest_groups(degrees, k, by_median):
    """Cut descending degrees into groups of k to 2k − 1 at least cost (Liu & Terzi); where every
    group ends, and the cost.

    A group is raised to its largest degree, or moved to its median. Sums of degrees before a place
    give the cost of a group at once.
    """
    n = degrees.size
    before = np.zeros(n + 1, np.int64)
    for i in range(n):
        before[i + 1] = before[i] + degrees[i]
    far = np.int64(1) << np.int64(62)
    least, cut = np.full(n + 1, far, np.int64), np.zeros(n + 1, np.int64)
    least[0] = 0
    for i in range(k, n + 1):
        for t in range(max(0, i - 2 * k + 1), i - k + 1):
            if least[t] >= far:
                continue
            if by_median:
                middle = (t + i) // 2
                level = degrees[middle]
                cost = (before[middle] - before[t] - level * (middle - t)) + (
                    level * (i - middle) - (before[i] - before[middle])
                )
            else:
                cost = degrees[t] * (i - t) - (before[i] - before[t])
            if least[t] + cost < least[i]:
                least[i] = least[t] + cost
                cut[i] = t
    return cut, least[n]


@njit(cache=True, nogil=True)
def graphical(degrees):
    """Whether descending degrees are those of a graph: an even sum, and the conditions of Erdős and
    Gallai.
    """
    n = degrees.size
    before = np.zeros(n + 1, np.int64)
    for i in range(n):
        if degrees[i] < 0 or degrees[i] >= n:
            return False
        before[i + 1] = before[i] + degrees[i]
    if before[n] % 2:
        return False
    large = n  # how many have at least ``size`` neighbours
    for size in range(1, n + 1):
        while large > 0 and degrees[large - 1] < size:
            large -= 1
        if large < size:  # from here on the conditions follow
            return True
        if before[size] > size * (size - 1) + size * (large - size) + before[n] - before[large]:
            return False
    return True


@inner
def _in_row(starts, ends, u, v):
    low, high = starts[u], starts[u + 1]
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low < starts[u + 1] and ends[low] == v


@inner
def _adjacent(starts, ends, u, v):
    """Looked up in the shorter row."""
    if starts[u + 1] - starts[u] > starts[v + 1] - starts[v]:
        return _in_row(starts, ends, v, u)
    return _in_row(starts, ends, u, v)


@inner
def _sink(order, place, edge, want, u):
    """One demand less of a vertex: it changes places with the last one of its demand, so that the
    order stays.
    """
    demand = want[u]
    last = edge[demand] - 1
    other = order[last]
    here = place[u]
    order[here], order[last] = other, u
    place[other], place[u] = here, last
    edge[demand] = last
    want[u] = demand - 1


@njit(cache=True, nogil=True)
def join_demands(starts, ends, want, low, high):
    """Join vertices that want more neighbours, the neediest with the next ones that it has no edge
    to; the number of new edges.

    ``want`` is used up as far as it could be met. Without edges to begin with this is the
    construction of Havel and Hakimi. ``edge[d]`` is where demands below d begin in the descending
    order.
    """
    n = want.size
    top = np.int64(0)
    for v in range(n):
        top = max(top, want[v])
    counts = np.zeros(top + 2, np.int64)
    for v in range(n):
        counts[want[v]] += 1
    edge = np.zeros(top + 2, np.int64)
    for d in range(top, -1, -1):
        edge[d] = edge[d + 1] + counts[d]
    at = np.zeros(top + 2, np.int64)
    for d in range(top + 1):
        at[d] = edge[d + 1]
    order, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        order[at[want[v]]] = v
        place[v] = at[want[v]]
        at[want[v]] += 1
    made, done = 0, np.zeros(n, np.bool_)
    partners = np.empty(top + 1, np.int64)
    first = 0
    while first < n:
        v = order[first]
        if want[v] <= 0:
            break
        first += 1
        done[v] = True
        count = 0
        for i in range(first, n):
            u = order[i]
            if want[u] <= 0 or count >= want[v]:
                break
            if not _adjacent(starts, ends, v, u):
                partners[count] = u
                count += 1
        for c in range(count):
            u = partners[c]
            low[made], high[made] = min(u, v), max(u, v)
            made += 1
            _sink(order, place, edge, want, u)
        want[v] -= count
    return made


@njit(cache=True, nogil=True)
def join_arcs(starts, ends, out, into, tails, heads):
    """Add arcs that meet demands for arcs going out and coming in, who wants most arcs in first
    (Kleitman & Wang); how many.

    They come from those who want most arcs out, of these from who wants most in. ``out`` and
    ``into`` are used up as far as they could be met.
    """
    n, made = out.size, 0
    top = np.int64(1)
    for v in range(n):
        top = max(top, into[v] + 1)
    for v in np.argsort(-into, kind="mergesort"):
        if into[v] <= 0:
            break
        givers = np.flatnonzero(out > 0)
        for i in np.argsort(-(out[givers] * top + into[givers]), kind="mergesort"):
            u = givers[i]
            if into[v] <= 0:
                break
            if u != v and not _in_row(starts, ends, u, v):
                tails[made], heads[made] = u, v
                made += 1
                out[u] -= 1
                into[v] -= 1
    return made


# Edges as a set of numbers low · n + high, for graphs that change.


@inner
def _find(table, key):
    """Where a key stands, or −1."""
    mask = table.size - 1
    at = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while table[at] != FREE:
        if table[at] == key:
            return at
        at = (at + 1) & mask
    return np.int64(-1)


@inner
def _put(table, key):
    mask = table.size - 1
    at = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while table[at] != FREE and table[at] != GONE:
        at = (at + 1) & mask
    table[at] = key


@inner
def _key(n, u, v):
    return np.int64(min(u, v)) * n + max(u, v)


@inner
def _there(table, n, u, v):
    return _find(table, _key(n, u, v)) >= 0


@inner
def _drop(table, n, u, v):
    table[_find(table, _key(n, u, v))] = GONE


@inner
def _moved(table, n, starts, ends, s, t):
    """Give one neighbour of s to t; False if none can go."""
    for at in range(starts[s], starts[s + 1]):
        x = ends[at]
        if x != t and _there(table, n, s, x) and not _there(table, n, t, x):
            _drop(table, n, s, x)
            _put(table, _key(n, t, x))
            return True
    return False


@inner
def _less(table, n, starts, ends, s, r):
    """Take one edge from s and one from r (twice from s where they are the same); False if nothing
    can go.
    """
    if s != r and _there(table, n, s, r):
        _drop(table, n, s, r)
        return True
    for at in range(starts[s], starts[s + 1]):
        x = ends[at]
        if x == r or not _there(table, n, s, x):
            continue
        for place in range(starts[r], starts[r + 1]):
            y = ends[place]
            if y != x and y != s and _there(table, n, r, y) and not _there(table, n, x, y):
                _drop(table, n, s, x)
                _drop(table, n, r, y)
                _put(table, _key(n, x, y))
                return True
    return False


@inner
def _more(table, n, low, high, t, w, at):
    """Give t and w one edge more each (t two where they are the same) by breaking up an edge; where
    to go on, or −1.
    """
    if t != w and not _there(table, n, t, w):
        _put(table, _key(n, t, w))
        return at
    for _ in range(low.size):
        x, y = low[at], high[at]
        at = (at + 1) % low.size
        if x == t or x == w or y == t or y == w or not _there(table, n, x, y):
            continue
        if _there(table, n, t, x) or _there(table, n, w, y):
            x, y = y, x
        if not _there(table, n, t, x) and not _there(table, n, w, y):
            _drop(table, n, x, y)
            _put(table, _key(n, t, x))
            _put(table, _key(n, w, y))
            return at
    return np.int64(-1)


@njit(cache=True, nogil=True)
def switch_edges(starts, ends, low, high, change):
    """Change degrees by as much as is asked with few switches of edges; the keys of all edges,
    sorted; what could not be reached is left in ``change``.

    ``low`` and ``high`` are the edges in a random order. Edges between two vertices that have too
    many go first; then an edge of one that has too many is given to one that has too few; then
    pairs that have too few take an edge apart, and pairs that have too many join their neighbours.
    All other degrees stay as they are.
    """
    n, m = starts.size - 1, low.size
    room, asked = 16, np.int64(0)
    for v in range(n):
        asked += abs(change[v])
    while room < 3 * (m + asked):
        room *= 2
    table = np.full(room, FREE, np.int64)
    for e in range(m):
        _put(table, _key(n, low[e], high[e]))
    for e in range(m):
        if change[low[e]] < 0 and change[high[e]] < 0:
            _drop(table, n, low[e], high[e])
            change[low[e]] += 1
            change[high[e]] += 1
    few, many = np.flatnonzero(change > 0), np.flatnonzero(change < 0)
    _exchange(table, n, starts, ends, few, many, change)
    few = np.flatnonzero(change > 0)
    at, place, other = np.int64(0), 0, 1
    while place < few.size and m:
        t = few[place]
        if change[t] <= 0:
            place += 1
            other = place + 1
            continue
        w = t if change[t] > 1 and other >= few.size else (few[other] if other < few.size else -1)
        if w < 0:
            break
        if w != t and change[w] <= 0:
            other += 1
            continue
        found = _more(table, n, low, high, t, w, at)
        if found < 0:
            if w == t:
                break
            other += 1
            continue
        at = found
        change[t] -= 1
        change[w] -= 1
    _take_away(table, n, starts, ends, change)
    return np.sort(table[table >= 0])


@inner
def _exchange(table, n, starts, ends, few, many, change):
    at = 0
    for i in range(few.size):
        t = few[i]
        while change[t] > 0 and at < many.size:
            s = many[at]
            if change[s] >= 0 or not _moved(table, n, starts, ends, s, t):
                at += 1
                continue
            change[t] -= 1
            change[s] += 1


@inner
def _take_away(table, n, starts, ends, change):
    many = np.flatnonzero(change < 0)
    for i in range(many.size):
        s = many[i]
        other = i + 1
        while change[s] < 0:
            while other < many.size and change[many[other]] >= 0:
                other += 1
            r = many[other] if other < many.size else s
            if r == s and change[s] > -2:
                break
            if _less(table, n, starts, ends, s, r):
                change[s] += 1
                change[r] += 1
            elif r == s:
                break
            else:
                other += 1


# Blocks of vertices with neighbours in common.


@njit(cache=True, nogil=True)
def near_blocks(starts, ends, by_degree, labels, lasts, k):
    """Blocks of k vertices of one label: who has most neighbours is taken with those whose
    neighbours differ least; the rest joins the last.

    ``by_degree`` lists the vertices from few neighbours to many, ``labels`` are 0, 1, …, and
    ``lasts`` says how many vertices of a label there are. Vertices without a common neighbour
    differ by both degrees, so of these only the first ones by degree come into question.
    """
    n = starts.size - 1
    block, shared = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    touched, made = np.empty(n, np.int64), 0
    left, newest = lasts.copy(), np.full(lasts.size, -1, np.int64)
    cost, number = np.empty(n, np.int64), np.empty(n, np.int64)
    begin = np.zeros(lasts.size, np.int64)
    for i in range(n - 1, -1, -1):
        v = by_degree[i]
        label = labels[v]
        if block[v] >= 0:
            continue
        if left[label] < 2 * k:
            if newest[label] < 0 or left[label] >= k:
                newest[label] = made
                made += 1
            for u in range(n):
                if block[u] < 0 and labels[u] == label:
                    block[u] = newest[label]
            left[label] = 0
            continue
        block[v] = made
        count = 0
        for at in range(starts[v], starts[v + 1]):
            x = ends[at]
            for place in range(starts[x], starts[x + 1]):
                u = ends[place]
                if block[u] < 0 and labels[u] == label:
                    if shared[u] == 0:
                        touched[count] = u
                        count += 1
                    shared[u] += 1
        degree = starts[v + 1] - starts[v]
        for c in range(count):
            u = touched[c]
            number[c], cost[c] = u, degree + starts[u + 1] - starts[u] - 2 * shared[u]
        some, place = 0, begin[label]
        fresh = True
        while place < n and some < k - 1:
            u = by_degree[place]
            if labels[u] == label and block[u] < 0:
                fresh = False
                if shared[u] == 0:
                    number[count], cost[count] = u, degree + starts[u + 1] - starts[u]
                    count += 1
                    some += 1
            elif fresh:
                begin[label] = place
            place += 1
        for c in range(count):
            shared[number[c]] = 0
        chosen = np.argsort(cost[:count] * n + number[:count], kind="mergesort")
        for c in range(k - 1):
            block[number[chosen[c]]] = made
        left[label] -= k
        newest[label] = made
        made += 1
    return block, made
