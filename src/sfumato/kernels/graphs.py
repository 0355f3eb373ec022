"""Loops over graphs: rows of neighbours in sorted arrays (CSR).

Arrays. The neighbours of *v* are ``ends[starts[v]:starts[v + 1]]``, ascending; of an undirected
graph every edge stands in both rows. ``starts`` is int64 with one entry more than vertices,
``ends`` int32. ``colours`` are uint64 words, one per vertex. Sums of mixed words do not depend on
the order of neighbours.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner


@inner
def mix(word):
    """A word whose bits all depend on all bits of the given one (the finalizer of SplitMix64)."""
    word = np.uint64(word) + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def build_edge_rows(n, low, high):
    """Rows of neighbours from edges low < high that are sorted by (low, high). A counting sort,
    linear time.
    """
    starts = np.zeros(n + 1, np.int64)
    # Degrees, shifted by one, become offsets: degrees 1, 2, 1 → starts 0, 1, 3, 4.
    for e in range(low.size):
        starts[low[e] + 1] += 1
        starts[high[e] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    ends = np.empty(2 * low.size, np.int32)
    at = starts[:-1].copy()
    # Smaller neighbours are written first, in ascending order, then the larger ones: rows are
    # sorted.
    for e in range(low.size):
        ends[at[high[e]]] = low[e]
        at[high[e]] += 1
    for e in range(low.size):
        ends[at[low[e]]] = high[e]
        at[low[e]] += 1
    return starts, ends


@njit(cache=True, nogil=True)
def build_arc_rows(n, tails, heads):
    """Rows of heads from arcs that are sorted by (head, tail) or (tail, head): a counting sort by
    tail keeps the order of heads.
    """
    starts = np.zeros(n + 1, np.int64)
    # Out-degrees, shifted by one, become offsets.
    for e in range(tails.size):
        starts[tails[e] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    ends = np.empty(tails.size, np.int32)
    at = starts[:-1].copy()
    # Arcs with the same tail keep their order, so heads stay ascending.
    for e in range(tails.size):
        ends[at[tails[e]]] = heads[e]
        at[tails[e]] += 1
    return starts, ends


@njit(cache=True, nogil=True)
def add_neighbour_colours(starts, ends, colours, salt, sums):
    """Add, per vertex, the mixed colours of its neighbours: one round of colour refinement
    (Weisfeiler–Leman), one step per edge. The salt keeps arcs in and out apart.
    """
    for v in range(starts.size - 1):
        # Sums wrap at 2⁶⁴; equal multisets of colours give equal sums.
        total = np.uint64(0)
        for at in range(starts[v], starts[v + 1]):
            total += mix(colours[ends[at]] ^ salt)
        sums[v] += total


@njit(cache=True, nogil=True)
def rows_agree(starts, ends, colours, classes, first):
    """Whether the colours of neighbours are the same multiset throughout every class; ``first`` is
    a member of each. Exact: what hashes of colours suggest is checked here, one sort per row.
    """
    for v in range(starts.size - 1):
        # Equality is transitive: comparing with one member of the class is enough.
        representative = first[classes[v]]
        if representative == v:
            continue
        size = starts[v + 1] - starts[v]
        if starts[representative + 1] - starts[representative] != size:
            return False
        own_colours = np.sort(colours[ends[starts[v] : starts[v + 1]]])
        its_colours = np.sort(colours[ends[starts[representative] : starts[representative + 1]]])
        for i in range(size):
            if own_colours[i] != its_colours[i]:
                return False
    return True


@njit(cache=True, nogil=True)
def search_breadth_first(starts, ends, source, reached, queue):
    """Breadth-first search from one vertex: writes distances to ``reached``, −1 where there is no
    path, and returns how many vertices it reaches. ``queue`` has room for all vertices.
    """
    for v in range(reached.size):
        reached[v] = -1
    reached[source] = 0
    queue[0] = source
    first, last = 0, 1
    # Vertices are queued by rising distance, so the first way to reach one is a shortest.
    while first < last:
        v = queue[first]
        first += 1
        for at in range(starts[v], starts[v + 1]):
            u = ends[at]
            if reached[u] < 0:
                reached[u] = reached[v] + 1
                queue[last] = u
                last += 1
    return last


# Triangles: the edges inside the neighbourhood of a vertex, found from lists that lead from few
# neighbours to many.


@njit(cache=True, nogil=True)
def orient_edges(starts, ends, rank):
    """Every edge once, from lower to higher rank; rows sorted by the number of the vertex. ``rank``
    orders by (degree, number), so no vertex has more than √(2 · edges) higher neighbours.
    """
    n = starts.size - 1
    begins = np.zeros(n + 1, np.int64)
    # Once to count, once to write.
    for v in range(n):
        for at in range(starts[v], starts[v + 1]):
            if rank[ends[at]] > rank[v]:
                begins[v + 1] += 1
    for v in range(n):
        begins[v + 1] += begins[v]
    heads = np.empty(begins[n], np.int32)
    for v in range(n):
        position = begins[v]
        for at in range(starts[v], starts[v + 1]):
            if rank[ends[at]] > rank[v]:
                heads[position] = ends[at]
                position += 1
    return begins, heads


@njit(cache=True, nogil=True)
def count_triangles(begins, heads, common):
    """Count for every forward edge the neighbours that its ends have in common; returns the number
    of triangles.

    Each triangle u < v < w by rank is met once, at the edge u–v, by merging two sorted rows:
    edges^1.5 steps at worst.
    """
    total = 0
    for u in range(begins.size - 1):
        for uv in range(begins[u], begins[u + 1]):
            v = heads[uv]
            uw = begins[u]
            vw = begins[v]
            while uw < begins[u + 1] and vw < begins[v + 1]:
                if heads[uw] < heads[vw]:
                    uw += 1
                elif heads[uw] > heads[vw]:
                    vw += 1
                else:
                    # w completes the triangle u, v, w: all three edges get one common neighbour
                    # more.
                    common[uv] += 1
                    common[uw] += 1
                    common[vw] += 1
                    total += 1
                    uw += 1
                    vw += 1
    return total


@njit(cache=True, nogil=True)
def add_ego_invariants(begins, heads, common, invariants):
    """A word for every vertex that is equal where neighbourhoods are isomorphic: inner degrees,
    refined once.

    ``common`` of an edge is the inner degree of either end in the neighbourhood of the other.
    ``ahead`` gathers the inner degrees around its head in the neighbourhood of its tail, ``back``
    those around its tail in that of its head.
    """
    ahead = np.zeros(heads.size, np.uint64)
    back = np.zeros(heads.size, np.uint64)
    # The triangles again: each adds to all six pairs of an edge and a vertex opposite to it.
    for u in range(begins.size - 1):
        for uv in range(begins[u], begins[u + 1]):
            v = heads[uv]
            uw = begins[u]
            vw = begins[v]
            while uw < begins[u + 1] and vw < begins[v + 1]:
                if heads[uw] < heads[vw]:
                    uw += 1
                elif heads[uw] > heads[vw]:
                    vw += 1
                else:
                    ahead[uv] += mix(common[uw])
                    ahead[uw] += mix(common[uv])
                    back[uv] += mix(common[vw])
                    ahead[vw] += mix(common[uv])
                    back[uw] += mix(common[vw])
                    back[vw] += mix(common[uw])
                    uw += 1
                    vw += 1
    # Sums over neighbours: independent of how vertices are numbered.
    for u in range(begins.size - 1):
        for uv in range(begins[u], begins[u + 1]):
            inside = mix(common[uv])
            invariants[u] += mix(inside ^ ahead[uv])
            invariants[heads[uv]] += mix(inside ^ back[uv])


# Two graphs: who is whom, from a few who are known.


@inner
def _add_scores(rows, matches, reverse_matches, u, score, touched, count):
    """Add to the scores of the other graph's vertices what the matched neighbours of u suggest;
    returns how many vertices have a score.

    ``rows`` are (starts, ends) of our graph, the ``starts`` whose differences are degrees in the
    other graph, and (``back_starts``, ``back_ends``) of the other graph, which lead from a
    neighbour back to the vertices it is a neighbour of.
    """
    starts, ends, degrees, back_starts, back_ends = rows
    for at in range(starts[u], starts[u + 1]):
        # A neighbour of u that is matched with y supports everybody whose neighbour y is; those
        # with many neighbours are met by chance more often, hence the cosine-like 1 ∕ √degree.
        y = matches[ends[at]]
        if y < 0:
            continue
        for j in range(back_starts[y], back_starts[y + 1]):
            v = back_ends[j]
            if reverse_matches[v] >= 0:
                continue
            if score[v] == 0.0:
                touched[count] = v
                count += 1
            score[v] += 1.0 / np.sqrt(degrees[v + 1] - degrees[v])
    return count


@inner
def _score_vertices(own_rows, other_rows, matches, reverse_matches, u, score, touched):
    """Score the other graph's vertices for u, by arcs of the first kind and of the second."""
    first = (own_rows[0], own_rows[1], other_rows[0], other_rows[2], other_rows[3])
    second = (own_rows[4], own_rows[5], other_rows[4], other_rows[6], other_rows[7])
    count = _add_scores(first, matches, reverse_matches, u, score, touched, 0)
    return _add_scores(second, matches, reverse_matches, u, score, touched, count)


@inner
def _find_best(score, touched, count, n, theta):
    """The vertex with the highest score if it exceeds the second by θ standard deviations over all
    n (the eccentricity of Narayanan & Shmatikov), or −1; scores are set back to 0.
    """
    first = 0.0
    second = 0.0
    best = -1
    tied = False
    total, squares = 0.0, 0.0
    # Moments over all n vertices; those without a score add 0.
    for c in range(count):
        v = touched[c]
        s = score[v]
        score[v] = 0.0
        total += s
        squares += s * s
        if s > first:
            first, second, best, tied = s, first, v, False
        elif s == first:
            tied, second = True, s
        elif s > second:
            second = s
    if best < 0 or tied:
        return -1
    # Eccentricity: how far the best stands out, in standard deviations.
    spread = np.sqrt(max(0.0, squares / n - (total / n) ** 2))
    return best if spread > 0 and (first - second) / spread >= theta else -1


@njit(cache=True, nogil=True)
def propagate_matches(own_rows, other_rows, turn, matches, reverse_matches, theta):
    """One sweep of the propagation of Narayanan & Shmatikov (2009) over some vertices of our graph;
    returns how many were matched.

    ``own_rows`` and ``other_rows`` are four rows of neighbours each, as (starts, ends): arcs out
    and their way back (arcs in), arcs in and their way back; of an undirected graph its edges
    twice, and nothing twice. ``matches[u]`` is the match of our vertex u and ``reverse_matches[v]``
    that of their vertex v, −1 without.
    """
    matched = 0
    n = own_rows[0].size - 1
    m = other_rows[0].size - 1
    score = np.zeros(max(n, m))
    touched = np.empty(max(n, m), np.int64)
    for u in turn:
        if matches[u] >= 0:
            continue
        v = _find_best(
            score,
            touched,
            _score_vertices(own_rows, other_rows, matches, reverse_matches, u, score, touched),
            m,
            theta,
        )
        if v < 0:
            continue
        # A match counts only if the same search from the other side leads back.
        if (
            _find_best(
                score,
                touched,
                _score_vertices(other_rows, own_rows, reverse_matches, matches, v, score, touched),
                n,
                theta,
            )
            == u
        ):
            matches[u] = v
            reverse_matches[v] = u
            matched += 1
    return matched
