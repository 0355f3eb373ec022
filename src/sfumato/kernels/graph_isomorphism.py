"""Loops over neighbourhoods in graphs: which are isomorphic.

Vertices of a small graph are bits, so a graph of up to 62 vertices is a row of words. Rows of
neighbours are as in :mod:`sfumato.kernels.graphs`.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.graphs import mix
from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner


@inner
def _bits(word):
    count = 0
    while word:
        word &= word - np.uint64(1)
        count += 1
    return count


@inner
def _refined(rows, size, cells):
    """Number the cells of vertices 0, 1, … so that all of a cell have as many neighbours in every
    cell; how many there are.

    What a cell is split by does not depend on how the vertices are numbered.
    """
    members, words = np.empty(size, np.uint64), np.empty(size, np.uint64)
    count = 0
    for v in range(size):
        count = max(count, cells[v] + 1)
    while True:
        for c in range(count):
            members[c] = np.uint64(0)
        for v in range(size):
            members[cells[v]] |= np.uint64(1) << np.uint64(v)
        for v in range(size):
            word = np.uint64(0)
            for c in range(count):
                word = mix(word ^ np.uint64(_bits(rows[v] & members[c])))
            words[v] = word
        order = np.empty(size, np.int64)
        for v in range(size):  # by cell, then by word: insertion, since there are few
            at = v
            while at > 0 and (
                cells[order[at - 1]] > cells[v]
                or (cells[order[at - 1]] == cells[v] and words[order[at - 1]] > words[v])
            ):
                order[at] = order[at - 1]
                at -= 1
            order[at] = v
        fresh, now, before = np.empty(size, np.int64), -1, -1
        for i in range(size):
            v = order[i]
            if before < 0 or cells[v] != cells[before] or words[v] != words[before]:
                now += 1
            fresh[v] = now
            before = v
        for v in range(size):
            cells[v] = fresh[v]
        if now + 1 == count:
            return count
        count = now + 1


@inner
def _singled_out(cells, size, chosen, made):
    """The cells with one vertex before the others of its cell."""
    for v in range(size):
        made[v] = cells[v] + (
            1 if cells[v] > cells[chosen] or (cells[v] == cells[chosen] and v != chosen) else 0
        )


@inner
def _branch(cells, size, count):
    """The first of the smallest cells of several vertices; −1 where all stand alone."""
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
    both = (np.uint64(1) << np.uint64(u)) | (np.uint64(1) << np.uint64(v))
    return (rows[u] | both) == (rows[v] | both)


@inner
def _written_in_order(rows, size, cells, made):
    """The rows with vertices numbered by their cells."""
    for v in range(size):
        word, row = np.uint64(0), rows[v]
        for u in range(size):
            if (row >> np.uint64(u)) & np.uint64(1):
                word |= np.uint64(1) << np.uint64(cells[u])
        made[cells[v]] = word


@inner
def _canonical(rows, size, most, best):
    """The least rows that any numbering of the vertices gives; False when ``most`` numberings were
    not enough to find it.

    Vertices are refined, one of the first open cell is singled out, and so on. Of twins one
    is tried: the others give the same rows.
    """
    depth, leaves, known = 0, 0, False
    cells = np.zeros((size + 1, size), np.int64)
    branch, tried = np.empty(size + 1, np.int64), np.zeros((size + 1, size), np.bool_)
    made = np.empty(size, np.uint64)
    count = _refined(rows, size, cells[0])
    branch[0] = _branch(cells[0], size, count)
    while depth >= 0:
        if branch[depth] < 0:
            leaves += 1
            if leaves > most:
                return False
            _written_in_order(rows, size, cells[depth], made)
            less = not known
            if known:
                for v in range(size):
                    if made[v] != best[v]:
                        less = made[v] < best[v]
                        break
            if less:
                known = True
                for v in range(size):
                    best[v] = made[v]
            depth -= 1
            continue
        chosen = -1
        for v in range(size):
            if cells[depth, v] != branch[depth] or tried[depth, v]:
                continue
            fresh = True
            for u in range(size):
                if tried[depth, u] and _twins(rows, u, v):
                    fresh = False
                    break
            tried[depth, v] = True
            if fresh:
                chosen = v
                break
        if chosen < 0:
            for v in range(size):
                tried[depth, v] = False
            depth -= 1
            continue
        _singled_out(cells[depth], size, chosen, cells[depth + 1])
        count = _refined(rows, size, cells[depth + 1])
        branch[depth + 1] = _branch(cells[depth + 1], size, count)
        depth += 1
    return True


@inner
def _component(rows, size, left, inside):
    """The vertices that the first one left reaches, as numbers; how many."""
    word = left & (~left + np.uint64(1))
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
    first, size = starts[v], starts[v + 1] - starts[v]
    for i in range(size):
        word, at, u = np.uint64(0), first, ends[first + i]
        for place in range(starts[u], starts[u + 1]):
            while at < starts[v + 1] and ends[at] < ends[place]:
                at += 1
            if at < starts[v + 1] and ends[at] == ends[place]:
                word |= np.uint64(1) << np.uint64(at - first)
        rows[i] = word


@njit(cache=True, nogil=True)
def ego_codes(starts, ends, chosen, cap, most, codes):
    """Two words for every chosen vertex, equal just where neighbourhoods are isomorphic (but for a
    chance of 2⁻¹²⁸ a pair).

    The centre is joined to all, so it may be left out. Components are coded by their least rows,
    and their codes added up. False where a neighbourhood has more vertices than the cap, or takes
    more than ``most`` numberings.
    """
    settled = np.ones(chosen.size, np.bool_)
    rows, own, best = np.empty(64, np.uint64), np.empty(64, np.uint64), np.empty(64, np.uint64)
    inside = np.empty(64, np.int64)
    for i in range(chosen.size):
        v = chosen[i]
        size = starts[v + 1] - starts[v]
        codes[i, 0], codes[i, 1] = (
            mix(np.uint64(size)),
            mix(np.uint64(size) ^ np.uint64(0x5851F42D4C957F2D)),
        )
        if size > cap:
            settled[i] = False
            continue
        _inner_rows(starts, ends, v, rows)
        left = (np.uint64(1) << np.uint64(size)) - np.uint64(1)
        while left:
            count = _component(rows, size, left, inside)
            for a in range(count):
                left &= ~(np.uint64(1) << np.uint64(inside[a]))
                word = np.uint64(0)
                for b in range(count):
                    if (rows[inside[a]] >> np.uint64(inside[b])) & np.uint64(1):
                        word |= np.uint64(1) << np.uint64(b)
                own[a] = word
            if not _canonical(own[:count], count, most, best):
                settled[i] = False
                break
            one, two = mix(np.uint64(count)), mix(np.uint64(count) ^ np.uint64(0x9E3779B97F4A7C15))
            for a in range(count):
                one = mix(one ^ best[a])
                two = mix(two + best[a] * np.uint64(0xD1342543DE82EF95))
            codes[i, 0] += one
            codes[i, 1] += two
    return settled
