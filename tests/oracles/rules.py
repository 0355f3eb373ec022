"""Association rules straight from their definition: every subset is tried."""

from __future__ import annotations

import itertools
from fractions import Fraction


def support(transactions, itemset):
    return sum(set(itemset) <= set(one) for one in transactions)


def found(transactions, left, right, least, confidence):
    both = support(transactions, set(left) | set(right))
    return both >= least and both >= confidence * support(transactions, left)


def rules(transactions, least, confidence, largest):
    """All rules that are found."""
    items = sorted({item for one in transactions for item in one})
    result = set()
    for size in range(2, largest + 1):
        for both in itertools.combinations(items, size):
            for length in range(1, size):
                for left in itertools.combinations(both, length):
                    right = tuple(item for item in both if item not in left)
                    if found(transactions, left, right, least, confidence):
                        result.add((left, right))
    return result


def itemsets(transactions, least, largest):
    items = sorted({item for one in transactions for item in one})
    sets = (s for size in range(1, largest + 1) for s in itertools.combinations(items, size))
    return {one: support(transactions, one) for one in sets if support(transactions, one) >= least}


def sanitised(transactions, deletable):
    """Every way to take deletable items out, with their number."""
    cells = [
        (t, item) for t, one in enumerate(transactions) for item in sorted(one) if item in deletable
    ]
    for size in range(len(cells) + 1):
        for gone in itertools.combinations(cells, size):
            yield (
                size,
                [{i for i in one if (t, i) not in gone} for t, one in enumerate(transactions)],
            )


def best_for_rules(transactions, sensitive, least, confidence, largest):
    """(lost and ghost rules, items taken out) of the best way to hide rules."""
    confidence = Fraction(confidence)
    old = rules(transactions, least, confidence, largest) - set(sensitive)
    deletable = {item for left, right in sensitive for item in left + right}
    best = None
    for size, after in sanitised(transactions, deletable):
        if any(found(after, left, right, least, confidence) for left, right in sensitive):
            continue
        new = rules(after, least, confidence, largest) - set(sensitive)
        cost = (len(old ^ new), size)
        best = cost if best is None else min(best, cost)
    return best


def best_for_itemsets(transactions, sensitive, least, largest):
    """(lost itemsets, items taken out) of the best way to hide itemsets."""
    old = {
        s
        for s in itemsets(transactions, least, largest)
        if not any(set(one) <= set(s) for one in sensitive)
    }
    deletable = {item for one in sensitive for item in one}
    best = None
    for size, after in sanitised(transactions, deletable):
        if any(support(after, one) >= least for one in sensitive):
            continue
        cost = (len(old - set(itemsets(after, least, largest))), size)
        best = cost if best is None else min(best, cost)
    return best
