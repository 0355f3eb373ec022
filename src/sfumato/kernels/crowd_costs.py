"""Loops of a bound for large lattices: what it costs at least that a class is in a crowd of k
records.

Two classes *meet* in a column at the lowest level on which their values are the same. A node puts
both into one class exactly when it is, in every column, at least on the level at which they meet.
``terms[a, l]`` is what column *a* costs at least on level *l* or above, so the sum of the terms of
the levels at which two classes meet bounds every node that puts them together.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def find_meeting_levels(class_number, codes, paths, starts, levels, meets, offsets):
    """Write, for every code of every column, the level at which it meets the code of one class.

    ``codes`` has a row a class and a column a column. ``paths[starts[a] + code * levels[a] + l]``
    is the code above a code on level *l*; levels are counted from the lowest that the search takes.
    ``meets[offsets[a] + code]`` receives the level, ``levels[a]`` where the two never meet. A code
    above is a function of the code below, so codes that are equal on a level are equal on all
    higher ones, and the first level is enough.
    """
    for a in range(levels.size):
        # One pass over the codes of the column; two codes are compared level by level from below.
        own = starts[a] + codes[class_number, a] * levels[a]
        for code in range(offsets[a + 1] - offsets[a]):
            path = starts[a] + code * levels[a]
            level = 0
            while level < levels[a] and paths[own + level] != paths[path + level]:
                level += 1
            meets[offsets[a] + code] = level


@njit(cache=True, nogil=True)
def sum_terms(codes, terms, meets, offsets, sums):
    """Write, for every class, the sum of the terms of the levels at which it meets the chosen one:
    one look-up a cell.
    """
    for s in range(codes.shape[0]):
        total = 0.0
        for a in range(codes.shape[1]):
            total += terms[a, meets[offsets[a] + codes[s, a]]]
        sums[s] = total


@njit(cache=True, nogil=True)
def find_crowd_sum(sums, records, count, k):
    """The least number such that ``k`` records have sums up to it; infinite where there are fewer
    records.

    The smallest sums are kept in order, no more of them than hold *k* records; most sums are larger
    than all of these and cost one comparison.
    """
    values = np.empty(k)
    weights = np.empty(k, np.int64)
    kept_values, weight = 0, 0
    for s in range(count):
        value = sums[s]
        # The list is full of k records and this value is above all of them: it changes nothing.
        if weight >= k and value >= values[kept_values - 1]:
            continue
        at = min(kept_values, k - 1)
        if kept_values == k:
            weight -= weights[kept_values - 1]
        else:
            kept_values += 1
        # Insertion at its place; a class of k records or more counts as k, since k is all that is
        # asked.
        while at > 0 and values[at - 1] > value:
            values[at], weights[at] = values[at - 1], weights[at - 1]
            at -= 1
        values[at], weights[at] = value, min(records[s], k)
        weight += weights[at]
        # Drop the largest values while the others still hold k records.
        while weight - weights[kept_values - 1] >= k:
            kept_values -= 1
            weight -= weights[kept_values]
    return values[kept_values - 1] if weight >= k else np.inf


PROVED, REFUTED, STOPPED = 0, 1, 2


@njit(cache=True, nogil=True)
def prove_crowd_cost(classes, terms, tree, order, sums, limits, work):
    """Whether every choice of levels that leaves each chosen class ``k`` records costs at least
    ``goal``.

    Columns are decided in ``order``, depth first. The *candidates* of a chosen class under a prefix
    are the classes that the decided levels leave together with it; ``sums[m]`` are the sums of
    terms of the *m*-th chosen class. A prefix is cut off when the candidates of one chosen class
    hold fewer than *k* records, for higher levels of other columns never bring a class back; when
    the decided terms and the least sums over the other columns of *k* records of one chosen class
    reach the goal, for *k* records must stay and each of them costs its sum; and when a lower level
    of its last column has the same candidates for all chosen classes, for that one costs no more
    and leaves the same choices.

    ``classes`` is the codes and the records of all classes, ``tree`` ``meets, offsets, levels`` as
    :func:`find_meeting_levels` has them, with a row of ``meets`` a chosen class; ``limits`` is
    ``goal, k, budget``. ``work[0]`` counts the candidates that are looked at, and the search ends
    unproved when they are more than ``budget``. Room: the candidates of one prefix a column and
    chosen class.
    """
    codes, records = classes
    (meets, offsets, levels), (goal, k, budget) = tree, limits
    n, columns = codes.shape
    members = sums.shape[0]
    candidates = np.empty((members, columns + 1, n), np.int32)
    open_sums = np.empty((members, columns + 1, n))
    sizes = np.zeros((columns + 1, members), np.int64)
    decided = np.zeros(columns + 1)
    level = np.full(columns + 1, -1, np.int64)
    before = np.full(columns + 1, -1, np.int64)
    sizes_of_candidates = np.empty(n, np.int64)
    for m in range(members):
        for s in range(n):
            if sums[m, s] < goal:
                candidates[m, 0, sizes[0, m]], open_sums[m, 0, sizes[0, m]] = s, sums[m, s]
                sizes[0, m] += 1
    # Prune: a class that costs the goal on its own is in no cheaper choice.
    depth = 0
    # Depth first branch and bound over the columns, without recursion: ``level`` is the path.
    while depth >= 0:
        # All columns are decided below the goal, and no class lost its crowd: a counterexample.
        if depth == columns:
            return REFUTED
        a = order[depth]
        level[depth] += 1
        # Terms rise with the levels, so all higher levels of this column reach the goal too.
        if level[depth] == levels[a] or decided[depth] + terms[a, level[depth]] >= goal:
            level[depth] = -1
            before[depth] = -1
            depth -= 1
            continue
        cost = decided[depth] + terms[a, level[depth]]
        total, cut = 0, False
        for m in range(members):
            work[0] += sizes[depth, m]
            size, weight = 0, 0
            # Candidates of the prefix are filtered, not searched again: each costs one look-up.
            for i in range(sizes[depth, m]):
                s = candidates[m, depth, i]
                at = meets[m, offsets[a] + codes[s, a]]
                if at <= level[depth]:
                    candidates[m, depth + 1, size] = s
                    open_sums[m, depth + 1, size] = open_sums[m, depth, i] - terms[a, at]
                    sizes_of_candidates[size] = records[s]
                    weight += records[s]
                    size += 1
            sizes[depth + 1, m] = size
            total += size
            # The two cuts of the docstring: too few candidates, or the bound reaches the goal.
            if (
                weight < k
                or cost + find_crowd_sum(open_sums[m, depth + 1], sizes_of_candidates, size, k)
                >= goal
            ):
                cut = True
                break
        if work[0] > budget:
            return STOPPED
        # Same candidates as on a lower level: dominated by it.
        if cut or total == before[depth]:
            continue
        before[depth] = total
        depth += 1
        decided[depth] = cost
    return PROVED
