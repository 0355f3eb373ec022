"""Promises, attacks and measures of baskets as their definitions read: every subset of every basket
is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

Basket = frozenset


def support(baskets: Sequence[frozenset], wanted: Iterable) -> int:
    """How many baskets hold all of some items."""
    asked = frozenset(wanted)
    return sum(asked <= basket for basket in baskets)


def subsets(basket: frozenset, m: int) -> list[frozenset]:
    """Sets of 1 to m items of a basket."""
    return [frozenset(q) for size in range(1, m + 1) for q in combinations(sorted(basket), size)]


def occurring(baskets: Sequence[frozenset], m: int) -> set[frozenset]:
    """All sets of at most m items that somebody has."""
    return {q for basket in baskets for q in subsets(basket, m)}


def is_km(baskets: Sequence[frozenset], k: int, m: int) -> bool:
    """Terrovitis, Mamoulis and Kalnis 2008: every set of at most m items that occurs has at least k
    carriers.
    """
    return all(support(baskets, q) >= k for q in occurring(baskets, m))


def least_support(baskets: Sequence[frozenset], m: int) -> int | None:
    """The smallest support of a set that occurs."""
    return min((support(baskets, q) for q in occurring(baskets, m)), default=None)


def breaks(
    baskets: Sequence[frozenset], q: frozenset, k: int, private: frozenset, h: float
) -> bool:
    """Whether a set of public items has too few carriers, or too many of them share a private
    item.
    """
    carriers = [basket for basket in baskets if q <= basket]
    return len(carriers) < k or any(
        support(carriers, {e}) > h * len(carriers) + 1e-9 for e in private
    )


def minimal_violations(
    baskets: Sequence[frozenset], k: int, m: int, private: frozenset = frozenset(), h: float = 1.0
) -> set[frozenset]:
    """Violating sets of at most m public items no part of which violates."""
    public = [basket - private for basket in baskets]
    wrong = {q for q in occurring(public, m) if breaks(baskets, q, k, private, h)}
    return {q for q in wrong if not any(part < q for part in wrong)}


def is_rho(baskets: Sequence[frozenset], rho: float, sensitive: frozenset) -> bool:
    """Cao et al. 2010: for every part χ of a basket and sensitive α outside of it, conf(χ→α) <
    ρ.
    """
    return worst_rule(baskets, sensitive) < rho - 1e-12


def worst_rule(baskets: Sequence[frozenset], sensitive: frozenset) -> float:
    """The largest confidence of a rule to a sensitive item."""
    worst = 0.0
    for chi in {frozenset(), *(q for basket in baskets for q in subsets(basket, len(basket)))}:
        known = support(baskets, chi)
        worst = max(
            [worst, *(support(baskets, chi | {a}) / known for a in sensitive - chi if known)]
        )
    return worst


def unique_share(baskets: Sequence[frozenset], m: int) -> list[Fraction]:
    """Per basket: the share of its sets of m items (all of them, if it has fewer) that no other
    basket holds.
    """
    return [
        (
            Fraction(sum(support(baskets, q) == 1 for q in sets), len(sets))
            if (sets := exactly(basket, m))
            else Fraction(0)
        )
        for basket in baskets
    ]


def mean_inverse(baskets: Sequence[frozenset], m: int) -> list[Fraction]:
    """Per basket: the mean of 1/support over the same sets."""
    return [
        (
            sum((Fraction(1, support(baskets, q)) for q in sets), Fraction(0)) / len(sets)
            if (sets := exactly(basket, m))
            else Fraction(0)
        )
        for basket in baskets
    ]


def exactly(basket: frozenset, m: int) -> list[frozenset]:
    """Sets of min(m, size) items of a basket; none of an empty one."""
    return (
        [frozenset(q) for q in combinations(sorted(basket), min(m, len(basket)))] if basket else []
    )


def closed(baskets: Sequence[frozenset]) -> set[frozenset]:
    """All intersections of some of the baskets."""
    return {
        frozenset.intersection(*some)
        for size in range(1, len(baskets) + 1)
        for some in combinations(baskets, size)
    }
