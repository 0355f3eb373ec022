"""Loops over neighbourhoods in graphs: which are isomorphic.

Arrays. Rows of neighbours ``starts``, ``ends`` are as in :mod:`sfumato.kernels.graphs`. A
neighbourhood of up to 62 vertices is an array of uint64 words: bit u of ``rows[v]`` says whether v
and u are neighbours, so that intersections are one instruction. ``cells[v]`` is the cell (colour)
of a vertex in an ordered partition, numbered 0, 1, ….

Canonical forms are found as in nauty (McKay): refine the partition by numbers of neighbours, single
out a vertex of a cell that is not yet a single vertex, refine again; every leaf is a numbering of
the vertices, and the least rows over all leaves are the canonical form. Exponential at worst;
callers give a budget of leaves.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.graphs import mix
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner


@inner
def _count_bits(word):
    """How many bits of a word are set: each step clears the lowest one (Kernighan)."""
    count = 0
    while word:
        word &= word - np.uint64(1)
        count += 1
    return count


@inner
def _refine_cells(rows, size, cells):
    """Refine the cells until all vertices of a cell have as many neighbours in every cell
    (1-dimensional Weisfeiler–Leman); returns the number of cells.

    A cell is split by hashes of numbers of neighbours, never by numbers of vertices, so isomorphic
    graphs get corresponding cells. Rounds × size × cells words.
    """
    members = np.empty(size, np.uint64)
    words = np.empty(size, np.uint64)
    count = 0
    for v in range(size):
        count = max(count, cells[v] + 1)
    while True:
        # The cells as bit sets: neighbours in a cell are then the bits of one intersection.
        for c in range(count):
            members[c] = np.uint64(0)
        for v in range(size):
            members[cells[v]] |= np.uint64(1) << np.uint64(v)
        for v in range(size):
            # Equal words for equal numbers of neighbours in all cells, cell by cell.
            word = np.uint64(0)
            for c in range(count):
                word = mix(word ^ np.uint64(_count_bits(rows[v] & members[c])))
            words[v] = word
        order = np.empty(size, np.int64)
        # By cell, then by word: insertion sort, since there are few.
        for v in range(size):
            at = v
            while at > 0 and (
                cells[order[at - 1]] > cells[v]
                or (cells[order[at - 1]] == cells[v] and words[order[at - 1]] > words[v])
            ):
                order[at] = order[at - 1]
                at -= 1
            order[at] = v
        # Cells split in place: the order of the old cells stays, new numbers follow the sorted
        # words.
        fresh = np.empty(size, np.int64)
        now = -1
        before = -1
        for i in range(size):
            v = order[i]
            if before < 0 or cells[v] != cells[before] or words[v] != words[before]:
                now += 1
            fresh[v] = now
            before = v
        for v in range(size):
            cells[v] = fresh[v]
        # No cell was split: the partition is equitable.
        if now + 1 == count:
            return count
        count = now + 1


@inner
def _single_out(cells, size, vertex, new_cells):
    """Write the cells with one vertex before the others of its cell; cells behind move
    up by one.
    """
    for v in range(size):
        new_cells[v] = cells[v] + (
            1 if cells[v] > cells[vertex] or (cells[v] == cells[vertex] and v != vertex) else 0
        )


@inner
def _choose_cell(cells, size, count):
    """The first of the smallest cells of several vertices; −1 where all cells are
    single vertices.
    """
    sizes = np.zeros(count, np.int64)
    for v in range(size):
        sizes[cells[v]] += 1
    best = -1
    for c in range(count):
        if sizes[c] > 1 and (best < 0 or sizes[c] < sizes[best]):
            best = c
    return best


@inner
def _twins(rows, u, v):
    """Whether exchanging two vertices changes nothing: all their other neighbours are the same."""
    pair = (np.uint64(1) << np.uint64(u)) | (np.uint64(1) << np.uint64(v))
    # Their own two bits are set on both sides, so that an edge between the twins does not matter.
    return (rows[u] | pair) == (rows[v] | pair)


@inner
def _renumber_rows(rows, size, cells, new_rows):
    """Write the rows with vertices numbered by their cells, which are all single vertices."""
    for v in range(size):
        word = np.uint64(0)
        row = rows[v]
        for u in range(size):
            if (row >> np.uint64(u)) & np.uint64(1):
                word |= np.uint64(1) << np.uint64(cells[u])
        new_rows[cells[v]] = word


@inner
def _find_canonical_rows(rows, size, budget, best):
    """Write to ``best`` the least rows that any leaf of the search gives; False when ``budget``
    leaves were not enough.

    Depth first, without recursion: ``cells[depth]`` is the partition and ``branch[depth]`` the cell
    whose vertices are singled out one after the other. Of twins one is tried: exchanging them is an
    automorphism, so the others give the same rows.
    """
    depth, leaves, has_best = 0, 0, False
    cells = np.zeros((size + 1, size), np.int64)
    branch = np.empty(size + 1, np.int64)
    visited = np.zeros((size + 1, size), np.bool_)
    leaf_rows = np.empty(size, np.uint64)
    count = _refine_cells(rows, size, cells[0])
    branch[0] = _choose_cell(cells[0], size, count)
    while depth >= 0:
        # A leaf: compare with the best rows so far, word by word.
        if branch[depth] < 0:
            leaves += 1
            if leaves > budget:
                return False
            _renumber_rows(rows, size, cells[depth], leaf_rows)
            is_lower = not has_best
            if has_best:
                for v in range(size):
                    if leaf_rows[v] != best[v]:
                        is_lower = leaf_rows[v] < best[v]
                        break
            if is_lower:
                has_best = True
                for v in range(size):
                    best[v] = leaf_rows[v]
            depth -= 1
            continue
        # The next vertex of the cell that is no twin of one that was tried.
        vertex = -1
        for v in range(size):
            if cells[depth, v] != branch[depth] or visited[depth, v]:
                continue
            fresh = True
            for u in range(size):
                if visited[depth, u] and _twins(rows, u, v):
                    fresh = False
                    break
            visited[depth, v] = True
            if fresh:
                vertex = v
                break
        # All are tried: back to the cell above.
        if vertex < 0:
            for v in range(size):
                visited[depth, v] = False
            depth -= 1
            continue
        _single_out(cells[depth], size, vertex, cells[depth + 1])
        count = _refine_cells(rows, size, cells[depth + 1])
        branch[depth + 1] = _choose_cell(cells[depth + 1], size, count)
        depth += 1
    return True


@inner
def _list_component(rows, size, remaining, inside):
    """List the vertices of the connected component of the first vertex in ``remaining``; returns
    how many.
    """
    word = remaining & (~remaining + np.uint64(1))
    # Union of the rows of all vertices so far, until nothing is added: at most ``size`` rounds.
    while True:
        grown = word
        for v in range(size):
            if (word >> np.uint64(v)) & np.uint64(1):
                grown |= rows[v]
        if grown == word:
            break
        word = grown
    count = 0
    for v in range(size):
        if (word >> np.uint64(v)) & np.uint64(1):
            inside[count] = v
            count += 1
    return count


@inner
def _inner_rows(starts, ends, v, rows):
    """The graph between the neighbours of a vertex, as words."""
    first = starts[v]
    size = starts[v + 1] - starts[v]
    for i in range(size):
        word = np.uint64(0)
        at = first
        u = ends[first + i]
        # Both rows are ascending: a merge finds the neighbours of u that are neighbours of v.
        for j in range(starts[u], starts[u + 1]):
            while at < starts[v + 1] and ends[at] < ends[j]:
                at += 1
            if at < starts[v + 1] and ends[at] == ends[j]:
                word |= np.uint64(1) << np.uint64(at - first)
        rows[i] = word


@njit(cache=True, nogil=True)
def code_neighbourhoods(starts, ends, vertices, cap, budget, codes):
    """Two words for every chosen vertex, equal just where neighbourhoods are isomorphic (but for a
    chance of 2⁻¹²⁸ a pair).

    The centre is joined to all, so it may be left out. Components are coded by their least rows,
    and their codes added up. False where a neighbourhood has more vertices than the cap, or takes
    more than ``budget`` numberings.
    """
    settled = np.ones(vertices.size, np.bool_)
    rows = np.empty(64, np.uint64)
    own = np.empty(64, np.uint64)
    best = np.empty(64, np.uint64)
    inside = np.empty(64, np.int64)
    for i in range(vertices.size):
        v = vertices[i]
        size = starts[v + 1] - starts[v]
        codes[i, 0] = mix(np.uint64(size))
        codes[i, 1] = mix(np.uint64(size) ^ np.uint64(0x5851F42D4C957F2D))
        if size > cap:
            settled[i] = False
            continue
        _inner_rows(starts, ends, v, rows)
        remaining = (np.uint64(1) << np.uint64(size)) - np.uint64(1)
        # Sums do not depend on the order of components. Two hashes of 64 bits each.
        while remaining:
            count = _list_component(rows, size, remaining, inside)
            # The component with its vertices renumbered 0, 1, … count − 1.
            for a in range(count):
                remaining &= ~(np.uint64(1) << np.uint64(inside[a]))
                word = np.uint64(0)
                for b in range(count):
                    if (rows[inside[a]] >> np.uint64(inside[b])) & np.uint64(1):
                        word |= np.uint64(1) << np.uint64(b)
                own[a] = word
            if not _find_canonical_rows(own[:count], count, budget, best):
                settled[i] = False
                break
            first_hash = mix(np.uint64(count))
            second_hash = mix(np.uint64(count) ^ np.uint64(0x9E3779B97F4A7C15))
            for a in range(count):
                first_hash = mix(first_hash ^ best[a])
                second_hash = mix(second_hash + best[a] * np.uint64(0xD1342543DE82EF95))
            codes[i, 0] += first_hash
            codes[i, 1] += second_hash
    return settled
