"""Counting sets of items, against all subsets one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas import itemsets
from sfumato.methods.formulas.itemsets import ItemSets
from tests.oracles import baskets as oracle

BASKETS = st.lists(st.frozensets(st.integers(0, 6), max_size=5), min_size=1, max_size=9)


@given(BASKETS, st.integers(1, 4), st.integers(1, 4))
def test_violating_sets_are_those_of_the_definition(baskets, m, k):
    found = itemsets.violating(ItemSets.of(baskets, 7), m, k)
    wrong = oracle.minimal_violations(baskets, k, m)
    assert set(map(frozenset, found.sets())) == wrong
    assert len(found) == len(wrong)
    assert found.carriers.tolist() == [any(q <= basket for q in wrong) for basket in baskets]
    supports = {
        frozenset(row[row >= 0].tolist()): int(n)
        for row, n in zip(found.members, found.supports, strict=True)
    }
    assert supports == {q: oracle.support(baskets, q) for q in wrong}


@given(BASKETS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([0.3, 0.5, 2 / 3, 1.0]))
def test_violating_sets_with_private_items(baskets, m, k, h):
    private = frozenset({5, 6})
    public = ItemSets.of([basket - private for basket in baskets], 7)
    secret = ItemSets.of([[item - 5 for item in basket & private] for basket in baskets], 2)
    found = itemsets.violating(public, m, k, private=secret, share=h)
    assert set(map(frozenset, found.sets())) == oracle.minimal_violations(baskets, k, m, private, h)


@given(BASKETS, st.integers(1, 4))
def test_smallest_support(baskets, m):
    assert itemsets.smallest_support(ItemSets.of(baskets, 7), m) == oracle.least_support(baskets, m)


@given(BASKETS, st.integers(1, 3), st.integers(1, 3), st.frozensets(st.integers(0, 6)))
def test_only_sets_with_a_new_item(baskets, m, k, new):
    marks = np.isin(np.arange(7), sorted(new))
    found = itemsets.violating(ItemSets.of(baskets, 7), m, k, new=marks)
    wrong = {q for q in oracle.occurring(baskets, m) if q & new and oracle.support(baskets, q) < k}
    assert set(map(frozenset, found.sets())) == {
        q for q in wrong if not any(part < q for part in wrong)
    }


@given(BASKETS, st.integers(1, 5))
def test_known_sets(baskets, m):
    known = itemsets.known_sets(ItemSets.of(baskets, 7), m)
    assert known.alone == pytest.approx([float(x) for x in oracle.unique_share(baskets, m)])
    assert known.chance == pytest.approx([float(x) for x in oracle.mean_inverse(baskets, m)])
    rarest = [
        min((oracle.support(baskets, q) for q in oracle.exactly(b, m)), default=0) for b in baskets
    ]
    assert known.rarest.tolist() == rarest
    assert known.sets.tolist() == [len(oracle.exactly(b, m)) for b in baskets]


@given(BASKETS, st.integers(1, 4), st.integers(1, 4))
def test_frequent_sets(baskets, m, least):
    found = itemsets.frequent(ItemSets.of(baskets, 7), m, least)
    every = {q: oracle.support(baskets, q) for q in oracle.occurring(baskets, m)}
    assert {frozenset(q): n for q, n in found.items()} == {
        q: n for q, n in every.items() if n >= least
    }


@given(BASKETS)
def test_closed_sets(baskets):
    found = itemsets.closed_sets(ItemSets.of(baskets, 7))
    assert found == {q: oracle.support(baskets, q) for q in oracle.closed(baskets)}


@given(BASKETS, st.lists(st.integers(-1, 3), min_size=7, max_size=7))
def test_mapped_and_taken(baskets, image):
    sets = ItemSets.of(baskets, 7)
    mapped = sets.mapped(np.array(image), 4)
    assert [set(mapped[t].tolist()) for t in range(len(mapped))] == [
        {image[item] for item in basket if image[item] >= 0} for basket in baskets
    ]
    assert all(np.all(np.diff(mapped[t]) > 0) for t in range(len(mapped)))
    order = np.arange(len(baskets))[::-1].copy()
    assert [set(sets.taken(order)[t].tolist()) for t in range(len(baskets))] == [
        set(b) for b in baskets[::-1]
    ]


@given(BASKETS)
def test_whole_classes_and_pairs(baskets):
    sets = ItemSets.of(baskets, 7)
    codes, sizes = itemsets.whole_classes(sets)
    assert [int(sizes[c]) for c in codes] == [baskets.count(b) for b in baskets]
    twice = ItemSets.of_pairs(np.tile(sets.owners, 2), np.tile(sets.items, 2), len(sets), 7)
    assert (twice.pointers.tolist(), twice.items.tolist()) == (
        sets.pointers.tolist(),
        sets.items.tolist(),
    )


def test_more_sets_than_are_listed_are_counted():
    found = itemsets.violating(ItemSets.of([[0, 1, 2, 3]]), 1, 2, limit=3)
    assert len(found) == 4
    assert not found.complete
    assert itemsets.closed_sets(ItemSets.of([[0], [1], [2]]), limit=2) is None


def test_supports_of_sets():
    sets = ItemSets.of([[0, 1], [0, 1, 2], [], [1]])
    assert itemsets.supports_of(sets, [[], [1], [1, 0], [2, 0, 1]]).tolist() == [4, 3, 2, 1]
