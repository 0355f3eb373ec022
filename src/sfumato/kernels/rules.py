"""Loops of mining frequent itemsets (Agrawal, Imieliński & Swami 1993): count and list the
transactions that hold a prefix and one more item.

Arrays. The items of transaction *t* are ``items[starts[t]:starts[t + 1]]``, ascending. An itemset
is grown by items behind its last one: ``holders`` are the transactions that hold it,
``positions[h]`` where in ``items`` the item behind its last one stands, so each occurrence is
visited once per prefix.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def count_later_items(starts, items, holders, positions, kinds):
    """How many of the transactions that hold a prefix also hold each item behind it."""
    counts = np.zeros(kinds, np.int64)
    # Items before the position belong to other prefixes, so no itemset is counted twice.
    for h in range(len(holders)):
        for at in range(positions[h], starts[holders[h] + 1]):
            counts[items[at]] += 1
    return counts


@njit(cache=True, nogil=True)
def extend_prefix(starts, items, holders, positions, number_of_item):
    """The transactions that hold a prefix and one wanted item more: per wanted item, holders and
    where the item behind it stands.

    ``number_of_item[i]`` is the number of item *i* among those wanted, −1 for all others. Both
    lists come in runs, one per wanted item; ``runs`` are their ends. A counting sort: two passes.
    """
    amounts = np.zeros(number_of_item.max() + 2, np.int64)
    # First pass: lengths of the runs, shifted by one, so that their sums are offsets.
    for h in range(len(holders)):
        for at in range(positions[h], starts[holders[h] + 1]):
            if number_of_item[items[at]] >= 0:
                amounts[number_of_item[items[at]] + 1] += 1
    runs = np.cumsum(amounts)
    filled = runs[:-1].copy()
    # Second pass: each holder is written to the run of every wanted item behind the prefix.
    grown = np.empty(runs[-1], np.int64)
    behind = np.empty(runs[-1], np.int64)
    for h in range(len(holders)):
        for at in range(positions[h], starts[holders[h] + 1]):
            number = number_of_item[items[at]]
            if number >= 0:
                grown[filled[number]] = holders[h]
                behind[filled[number]] = at + 1
                filled[number] += 1
    return runs, grown, behind
