"""Loops over minimal sample uniques (SUDA): smallest sets of columns on which a record is alone.

Arrays. ``live`` are the rows still in the walk, ``ids`` the group of each of them on the present
subset of columns, ``sizes[row]`` how many records a row stands for; ``bits[record, word]`` has one
bit per subset.

Subsets of columns are walked depth first; each refines the groups of the one before by one column.
A record that is alone on a subset is alone on every larger one and shares its values with nobody,
so it leaves the walk below that subset.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def refine_groups(ids, groups, column, live, sizes, refined, table):
    """Groups refined by one column, for the ``live`` records.

    ``column`` is its codes and how many there are; ``refined`` receives the new ids and the sizes
    of the new groups. ``table`` is room for one number per pair of an old group and a code, or for
    a hash of such pairs. Returns the number of new groups.
    """
    codes, cardinality = column
    fresh, counts = refined
    pairs = groups * cardinality
    count = 0
    # A slot for every pair of group and code: nothing to hash, nothing to compare.
    if pairs <= table.size:
        for slot in range(pairs):
            table[slot] = -1
        # Group and code make a slot: constant time a record.
        for position in range(live.size):
            row = live[position]
            slot = ids[position] * cardinality + codes[row]
            if table[slot] < 0:
                table[slot] = count
                counts[count] = 0
                count += 1
            group = table[slot]
            fresh[position] = group
            counts[group] += sizes[row]
        return count
    return _refine_hashed(ids, codes, cardinality, live, sizes, fresh, counts)


@njit(cache=True, nogil=True)
def _refine_hashed(ids, codes, cardinality, live, sizes, fresh, counts):
    """:func:`refine_groups` by a hash table of the pairs that occur."""
    slots = 16
    # At most half full, so that a search ends after a step or two.
    while slots < 2 * live.size:
        slots *= 2
    mask = np.uint64(slots - 1)
    keys = np.empty(slots, np.int64)
    owner = np.full(slots, -1, np.int64)
    count = 0
    for position in range(live.size):
        row = live[position]
        key = ids[position] * cardinality + codes[row]
        slot = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        while owner[slot] >= 0 and keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if owner[slot] < 0:
            owner[slot] = count
            keys[slot] = key
            counts[count] = 0
            count += 1
        group = owner[slot]
        fresh[position] = group
        counts[group] += sizes[row]
    return count


@njit(cache=True, nogil=True)
def mark_uniques(live, refined, single, bits, subset, live_next, next_ids):
    """Set the bit of a subset for every record that is alone on it; the others go on. Returns how
    many go on.

    ``single`` is the number of a record among those that are alone on all columns, or −1: only they
    are marked. ``refined`` is as :func:`refine_groups` wrote it.
    """
    fresh, counts = refined
    word = subset >> 6
    bit = np.uint64(subset & 63)
    going = 0
    # Alone on a subset is alone on every superset, so the record leaves the walk (SUDA, Elliot,
    # Manning & Ford 2002).
    for position in range(live.size):
        row = live[position]
        if counts[fresh[position]] == 1:
            bits[single[row], word] |= np.uint64(1) << bit
        else:
            live_next[going] = row
            next_ids[going] = fresh[position]
            going += 1
    return going


@njit(cache=True, nogil=True)
def score_minimal_uniques(bits, masks, index_of_mask, weights, scores, parts, amounts):
    """Per record: the sum of the weights of its minimal subsets, the share of each column, and how
    many there are.

    ``masks[j]`` are the columns of subset *j* (a bit each), smaller subsets first;
    ``index_of_mask[mask]`` is *j*, or −1. A subset is minimal when the record is not alone on any
    subset with one column less.
    """
    columns = parts.shape[1]
    for row in range(bits.shape[0]):
        # Smaller subsets come first, so the bits of those below are final. Columns × subsets a
        # record.
        for subset in range(masks.size):
            mask = masks[subset]
            alone = bits[row, subset >> 6] >> np.uint64(subset & 63) & np.uint64(1)
            smaller = False
            for column in range(columns):
                if mask >> column & 1 and mask != 1 << column:
                    below = index_of_mask[mask ^ (1 << column)]
                    if bits[row, below >> 6] >> np.uint64(below & 63) & np.uint64(1):
                        smaller = True
                        break
            # Alone on a smaller subset: alone here too, though the walk had left it out.
            if smaller:
                bits[row, subset >> 6] |= np.uint64(1) << np.uint64(subset & 63)
            elif alone:
                amounts[row] += 1
                scores[row] += weights[subset]
                for column in range(columns):
                    if mask >> column & 1:
                        parts[row, column] += weights[subset]
