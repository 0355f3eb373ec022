"""Counting items that go along with others: what mining frequent itemsets spends its time on.

An itemset is grown by items behind its last one. For every transaction that holds it we know where
that last item stands, so that only what follows is looked at: each occurrence is visited once a
prefix, however many items there are.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def count_behind(starts, items, holders, places, kinds):
    """How many of the transactions that hold a prefix also hold each item behind it; ``places`` are
    where the next item stands.
    """
    found = np.zeros(kinds, np.int64)
    for h in range(len(holders)):
        for at in range(places[h], starts[holders[h] + 1]):
            found[items[at]] += 1
    return found


@njit(cache=True, nogil=True)
def grow(starts, items, holders, places, wanted):
    """The transactions that hold a prefix and one wanted item more: per wanted item, holders and
    where the item behind it stands.

    ``wanted[i]`` is the number of item *i* among those wanted, −1 for all others. Both lists come
    in runs, one a wanted item.
    """
    amounts = np.zeros(wanted.max() + 2, np.int64)
    for h in range(len(holders)):
        for at in range(places[h], starts[holders[h] + 1]):
            if wanted[items[at]] >= 0:
                amounts[wanted[items[at]] + 1] += 1
    runs = np.cumsum(amounts)
    filled = runs[:-1].copy()
    grown = np.empty(runs[-1], np.int64)
    behind = np.empty(runs[-1], np.int64)
    for h in range(len(holders)):
        for at in range(places[h], starts[holders[h] + 1]):
            number = wanted[items[at]]
            if number >= 0:
                grown[filled[number]] = holders[h]
                behind[filled[number]] = at + 1
                filled[number] += 1
    return runs, grown, behind
