"""Loops over degrees of graphs: cheapest groups of degrees, graphs that have prescribed degrees,
and blocks of vertices with common neighbours.

Arrays. A graph has vertices 0 … n−1; the neighbours of vertex *v* are ``ends[starts[v]:starts[v +
1]]``, ascending, as in :mod:`sfumato.kernels.graphs`. Edges that are added or taken away are pairs
``low[e] < high[e]``, or a hash table of the numbers low · n + high.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.graphs import mix
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner

FREE, GONE = np.int64(-1), np.int64(-2)
"""Places of a set of edges that were never taken, and that are free again."""


@njit(cache=True, nogil=True)
def find_cheapest_groups(degrees, k, by_median):
    """Cut descending degrees into groups of k to 2k − 1 at least cost (Liu & Terzi 2008):
    ``cut[i]`` is where the group that ends before i begins; and the cost.

    A group is raised to its largest degree, or moved to its median. Dynamic programming over the
    end of the last group, n · k steps: larger groups are never needed, because a group of 2k can be
    cut in two without raising its cost. Sums of degrees give the cost of a group in constant time.
    """
    n = degrees.size
    before = np.zeros(n + 1, np.int64)
    for i in range(n):
        before[i + 1] = before[i] + degrees[i]
    # least_cost[i]: cost of the best groups of the first i degrees; ``far`` where there are none.
    far = np.int64(1) << np.int64(62)
    least_cost = np.full(n + 1, far, np.int64)
    cut = np.zeros(n + 1, np.int64)
    least_cost[0] = 0
    for i in range(k, n + 1):
        for t in range(max(0, i - 2 * k + 1), i - k + 1):
            if least_cost[t] >= far:
                continue
            if by_median:
                # Σ |degree − median|: those before the middle exceed it, those behind fall short of
                # it.
                middle = (t + i) // 2
                level = degrees[middle]
                cost = (before[middle] - before[t] - level * (middle - t)) + (
                    level * (i - middle) - (before[i] - before[middle])
                )
            else:
                cost = degrees[t] * (i - t) - (before[i] - before[t])
            if least_cost[t] + cost < least_cost[i]:
                least_cost[i] = least_cost[t] + cost
                cut[i] = t
    return cut, least_cost[n]


@njit(cache=True, nogil=True)
def is_graphical(degrees):
    """Whether descending degrees are those of a graph: an even sum, and the conditions of Erdős and
    Gallai. Linear time: ``large`` only falls.
    """
    n = degrees.size
    before = np.zeros(n + 1, np.int64)
    for i in range(n):
        if degrees[i] < 0 or degrees[i] >= n:
            return False
        before[i + 1] = before[i] + degrees[i]
    if before[n] % 2:
        return False
    # How many vertices have at least ``size`` neighbours: these count ``size`` each in the sum of
    # min(degree, size) over the vertices behind the first ``size``, the others their degree.
    large = n
    for size in range(1, n + 1):
        while large > 0 and degrees[large - 1] < size:
            large -= 1
        if large < size:
            return True
        if before[size] > size * (size - 1) + size * (large - size) + before[n] - before[large]:
            return False
    return True


@inner
def _in_row(starts, ends, u, v):
    """Whether u has an arc to v: binary search in its row."""
    low = starts[u]
    high = starts[u + 1]
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low < starts[u + 1] and ends[low] == v


@inner
def _adjacent(starts, ends, u, v):
    """Whether u and v are neighbours, looked up in the shorter row."""
    if starts[u + 1] - starts[u] > starts[v + 1] - starts[v]:
        return _in_row(starts, ends, v, u)
    return _in_row(starts, ends, u, v)


@inner
def _lower_demand(order, position_of, edge, want, u):
    """Lower the demand of a vertex by one: it changes places with the last one of its demand, so
    that ``order`` stays descending in constant time.
    """
    demand = want[u]
    # The last vertex of this demand moves up, u takes its index and now begins the demands below.
    last = edge[demand] - 1
    last_vertex = order[last]
    position = position_of[u]
    order[position] = last_vertex
    order[last] = u
    position_of[last_vertex] = position
    position_of[u] = last
    edge[demand] = last
    want[u] = demand - 1


@njit(cache=True, nogil=True)
def join_demands(starts, ends, want, low, high):
    """Join vertices that want more neighbours, the neediest with the next ones that it has no edge
    to; returns the number of new edges.

    ``want`` is used up as far as it could be met. Without edges to begin with this is the
    construction of Havel and Hakimi, which meets every graphical demand. ``edge[d]`` is where
    demands below d begin in the descending order of demands; demands 2, 0, 2, 1 → order 0, 2, 3, 1
    and edge[2] = 2.
    """
    n = want.size
    top = np.int64(0)
    for v in range(n):
        top = max(top, want[v])
    # A counting sort by falling demand.
    counts = np.zeros(top + 2, np.int64)
    for v in range(n):
        counts[want[v]] += 1
    edge = np.zeros(top + 2, np.int64)
    for d in range(top, -1, -1):
        edge[d] = edge[d + 1] + counts[d]
    at = np.zeros(top + 2, np.int64)
    for d in range(top + 1):
        at[d] = edge[d + 1]
    order = np.empty(n, np.int64)
    position_of = np.empty(n, np.int64)
    for v in range(n):
        order[at[want[v]]] = v
        position_of[v] = at[want[v]]
        at[want[v]] += 1
    edges = 0
    served = np.zeros(n, np.bool_)
    partners = np.empty(top + 1, np.int64)
    first = 0
    # The neediest vertex is served in full before the next one, and never again: vertices before
    # ``first`` are done.
    # The neediest vertex is served in full before the next one, and never again: vertices before
    # ``first`` are done.
    while first < n:
        v = order[first]
        if want[v] <= 0:
            break
        first += 1
        served[v] = True
        # Partners are listed first, since serving one reorders ``order``.
        # Partners are listed first, since serving one reorders ``order``.
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
            low[edges] = min(u, v)
            high[edges] = max(u, v)
            edges += 1
            _lower_demand(order, position_of, edge, want, u)
        want[v] -= count
    return edges


@njit(cache=True, nogil=True)
def join_arcs(starts, ends, out, into, tails, heads):
    """Add arcs that meet demands for arcs going out and coming in (Kleitman & Wang 1973); returns
    how many.

    The vertex that wants most arcs in is served first, from those who want most arcs out, of these
    from who wants most in. ``out`` and ``into`` are used up as far as they could be met.
    """
    n, arcs = out.size, 0
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
                tails[arcs] = u
                heads[arcs] = v
                arcs += 1
                out[u] -= 1
                into[v] -= 1
    return arcs


# Edges as a set of numbers low · n + high, for graphs that change.


@inner
def _find_slot(table, key):
    """The slot of a key in the hash table (linear probing), or −1."""
    mask = table.size - 1
    at = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    # Probing goes on past dropped keys and ends at a slot that was never used.
    while table[at] != FREE:
        if table[at] == key:
            return at
        at = (at + 1) & mask
    return np.int64(-1)


@inner
def _insert(table, key):
    """Insert a key that is not in the table; slots of dropped keys are used again."""
    mask = table.size - 1
    at = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while table[at] != FREE and table[at] != GONE:
        at = (at + 1) & mask
    table[at] = key


@inner
def _edge_key(n, u, v):
    """An edge as a number, the same for both directions."""
    return np.int64(min(u, v)) * n + max(u, v)


@inner
def _has_edge(table, n, u, v):
    """Whether an edge is in the table."""
    return _find_slot(table, _edge_key(n, u, v)) >= 0


@inner
def _remove_edge(table, n, u, v):
    """Take an edge out of the table; its slot stays marked, so that searches go on behind it."""
    table[_find_slot(table, _edge_key(n, u, v))] = GONE


@inner
def _move_edge(table, n, starts, ends, s, t):
    """Give one neighbour of s to t: both degrees change by one, no other does. False if none can
    go.
    """
    for at in range(starts[s], starts[s + 1]):
        x = ends[at]
        if x != t and _has_edge(table, n, s, x) and not _has_edge(table, n, t, x):
            _remove_edge(table, n, s, x)
            _insert(table, _edge_key(n, t, x))
            return True
    return False


@inner
def _remove_two_ends(table, n, starts, ends, s, r):
    """Take one edge from s and one from r (two from s where they are the same); False if nothing
    can go. Their former neighbours x and y get an edge, so that their degrees stay.
    """
    # An edge between the two is the shortest way: it lowers both degrees at once.
    if s != r and _has_edge(table, n, s, r):
        _remove_edge(table, n, s, r)
        return True
    for at in range(starts[s], starts[s + 1]):
        x = ends[at]
        if x == r or not _has_edge(table, n, s, x):
            continue
        for j in range(starts[r], starts[r + 1]):
            # s–x and r–y go, x–y comes.
            y = ends[j]
            if y != x and y != s and _has_edge(table, n, r, y) and not _has_edge(table, n, x, y):
                _remove_edge(table, n, s, x)
                _remove_edge(table, n, r, y)
                _insert(table, _edge_key(n, x, y))
                return True
    return False


@inner
def _add_two_ends(table, n, low, high, t, w, at):
    """Give t and w one edge more each (t two where they are the same) by breaking up an edge x–y
    into t–x and w–y; returns where to go on in the list of edges, or −1.
    """
    if t != w and not _has_edge(table, n, t, w):
        _insert(table, _edge_key(n, t, w))
        return at
    for _ in range(low.size):
        x = low[at]
        y = high[at]
        at = (at + 1) % low.size
        if x == t or x == w or y == t or y == w or not _has_edge(table, n, x, y):
            continue
        # If x–y does not fit this way round, y–x may.
        if _has_edge(table, n, t, x) or _has_edge(table, n, w, y):
            x, y = y, x
        if not _has_edge(table, n, t, x) and not _has_edge(table, n, w, y):
            _remove_edge(table, n, x, y)
            _insert(table, _edge_key(n, t, x))
            _insert(table, _edge_key(n, w, y))
            return at
    return np.int64(-1)


@njit(cache=True, nogil=True)
def switch_edges(starts, ends, low, high, change):
    """Change degrees by ``change`` with few switches of edges; returns the keys of all edges,
    sorted. What could not be reached remains in ``change``.
    """
    n = starts.size - 1
    m = low.size
    room = 16
    total_change = np.int64(0)
    for v in range(n):
        total_change += abs(change[v])
    # A power of two, at most a third full: probes stay short.
    # A power of two, at most a third full: probes stay short.
    while room < 3 * (m + total_change):
        room *= 2
    table = np.full(room, FREE, np.int64)
    # Edges between two vertices with too many neighbours serve both at once.
    # Edges between two vertices with too many neighbours serve both at once.
    for e in range(m):
        _insert(table, _edge_key(n, low[e], high[e]))
    for e in range(m):
        if change[low[e]] < 0 and change[high[e]] < 0:
            _remove_edge(table, n, low[e], high[e])
            change[low[e]] += 1
            change[high[e]] += 1
    lacking_vertices = np.flatnonzero(change > 0)
    surplus_vertices = np.flatnonzero(change < 0)
    _exchange(table, n, starts, ends, lacking_vertices, surplus_vertices, change)
    lacking_vertices = np.flatnonzero(change > 0)
    at = np.int64(0)
    i = 0
    j = 1
    # Pairs t, w with too few neighbours; a vertex that is the last one is paired with itself.
    while i < lacking_vertices.size and m:
        t = lacking_vertices[i]
        if change[t] <= 0:
            i += 1
            j = i + 1
            continue
        w = (
            t
            if change[t] > 1 and j >= lacking_vertices.size
            else (lacking_vertices[j] if j < lacking_vertices.size else -1)
        )
        if w < 0:
            break
        if w != t and change[w] <= 0:
            j += 1
            continue
        next_edge = _add_two_ends(table, n, low, high, t, w, at)
        if next_edge < 0:
            if w == t:
                break
            j += 1
            continue
        at = next_edge
        change[t] -= 1
        change[w] -= 1
    _remove_surplus(table, n, starts, ends, change)
    return np.sort(table[table >= 0])


@inner
def _exchange(table, n, starts, ends, lacking_vertices, surplus_vertices, change):
    """Give neighbours of vertices that have too many to vertices that have too few."""
    at = 0
    for i in range(lacking_vertices.size):
        t = lacking_vertices[i]
        while change[t] > 0 and at < surplus_vertices.size:
            s = surplus_vertices[at]
            # A vertex that can give nothing to t is passed over for good: each pair is tried once
            # at most.
            if change[s] >= 0 or not _move_edge(table, n, starts, ends, s, t):
                at += 1
                continue
            change[t] -= 1
            change[s] += 1


@inner
def _remove_surplus(table, n, starts, ends, change):
    """Take edges from pairs of vertices that have too many, joining the neighbours they lose."""
    surplus_vertices = np.flatnonzero(change < 0)
    for i in range(surplus_vertices.size):
        s = surplus_vertices[i]
        j = i + 1
        while change[s] < 0:
            while j < surplus_vertices.size and change[surplus_vertices[j]] >= 0:
                j += 1
            # Without a partner, a vertex that has two too many loses two edges of its own.
            r = surplus_vertices[j] if j < surplus_vertices.size else s
            if r == s and change[s] > -2:
                break
            if _remove_two_ends(table, n, starts, ends, s, r):
                change[s] += 1
                change[r] += 1
            elif r == s:
                break
            else:
                j += 1


# Blocks of vertices with neighbours in common.


@njit(cache=True, nogil=True)
def build_blocks(starts, ends, by_degree, labels, lasts, k):
    """Blocks of k vertices of one label: the vertex with most neighbours is taken with those whose
    neighbours differ least; the last ones join the last block. Returns the block of every vertex
    and the number of blocks.

    ``by_degree`` lists the vertices from few neighbours to many, ``labels`` are 0, 1, …, and
    ``lasts`` says how many vertices of a label there are. Two vertices differ by the neighbours
    that only one of them has: degree + degree − 2 · common. Costs the number of paths of length
    two.
    """
    n = starts.size - 1
    block = np.full(n, -1, np.int64)
    shared = np.zeros(n, np.int64)
    touched = np.empty(n, np.int64)
    blocks = 0
    remaining = lasts.copy()
    newest = np.full(lasts.size, -1, np.int64)
    cost = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    begin = np.zeros(lasts.size, np.int64)
    for i in range(n - 1, -1, -1):
        v = by_degree[i]
        label = labels[v]
        if block[v] >= 0:
            continue
        # Too few for two more blocks: all remaining vertices of the label go together.
        if remaining[label] < 2 * k:
            if newest[label] < 0 or remaining[label] >= k:
                newest[label] = blocks
                blocks += 1
            for u in range(n):
                if block[u] < 0 and labels[u] == label:
                    block[u] = newest[label]
            remaining[label] = 0
            continue
        block[v] = blocks
        count = 0
        # Paths v – x – u of length two count the common neighbours of v and u.
        for at in range(starts[v], starts[v + 1]):
            x = ends[at]
            for position in range(starts[x], starts[x + 1]):
                u = ends[position]
                if block[u] < 0 and labels[u] == label:
                    if shared[u] == 0:
                        touched[count] = u
                        count += 1
                    shared[u] += 1
        degree = starts[v + 1] - starts[v]
        for c in range(count):
            u = touched[c]
            number[c], cost[c] = u, degree + starts[u + 1] - starts[u] - 2 * shared[u]
        # Without a common neighbour the difference is the sum of both degrees: the k − 1 vertices
        # of lowest degree are enough. ``begin`` skips those that are taken for good.
        distant = 0
        position = begin[label]
        fresh = True
        while position < n and distant < k - 1:
            u = by_degree[position]
            if labels[u] == label and block[u] < 0:
                fresh = False
                if shared[u] == 0:
                    number[count], cost[count] = u, degree + starts[u + 1] - starts[u]
                    count += 1
                    distant += 1
            elif fresh:
                begin[label] = position
            position += 1
        for c in range(count):
            shared[number[c]] = 0
        # Cost first, number of the vertex second: cost · n + number sorts by both.
        order = np.argsort(cost[:count] * n + number[:count], kind="mergesort")
        for c in range(k - 1):
            block[number[order[c]]] = blocks
        remaining[label] -= k
        newest[label] = blocks
        blocks += 1
    return block, blocks
