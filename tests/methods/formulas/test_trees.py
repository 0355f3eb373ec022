"""Trees on bins: the same splits as the textbook, records where they belong, and an order of
records that does not matter.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InternalError
from sfumato.methods.formulas import trees
from tests.oracles.trees import gini, grown


@st.composite
def small_tables(draw):
    n, predictors = draw(st.integers(2, 30)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bins = rng.integers(0, draw(st.integers(1, 6)), (predictors, n)).astype(np.uint8)
    return bins, rng.integers(0, draw(st.integers(1, 4)), n), draw(st.integers(1, 4))


@given(small_tables())
def test_splits_for_classes_are_those_of_the_textbook(table):
    bins, target, min_leaf = table
    tree = trees.grow(bins, target, classes=4, min_leaf=min_leaf)
    assert tree.canonical() == grown(
        bins.tolist(), target.tolist(), numbers=False, min_leaf=min_leaf
    )


@given(small_tables())
def test_splits_for_numbers_are_those_of_the_textbook(table):
    bins, target, min_leaf = table
    tree = trees.grow(bins, target, classes=None, min_leaf=min_leaf)
    assert tree.canonical() == grown(
        bins.tolist(), target.tolist(), numbers=True, min_leaf=min_leaf
    )


@given(small_tables(), st.booleans())
def test_records_lie_in_the_leaf_they_are_sent_to(table, numbers):
    bins, target, min_leaf = table
    tree = trees.grow(bins, target, classes=None if numbers else 4, min_leaf=min_leaf)
    leaf = trees.route(tree, bins)
    assert sorted(tree.order.tolist()) == list(range(len(target)))
    for node in tree.leaves.tolist():
        assert sorted(tree.records(node).tolist()) == np.flatnonzero(leaf == node).tolist()
        assert len(tree.records(node)) >= min(min_leaf, len(target))
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        left, right = tree.left[node], tree.right[node]
        assert left == node + 1  # preorder
        assert tree.parent[left] == tree.parent[right] == node
        assert (tree.lo[node], tree.hi[left], tree.hi[node]) == (
            tree.lo[left],
            tree.lo[right],
            tree.hi[right],
        )


@given(small_tables(), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter_for_splits(table, random):
    bins, target, min_leaf = table
    shuffled = list(range(len(target)))
    random.shuffle(shuffled)
    one = trees.grow(bins, target, classes=4, min_leaf=min_leaf)
    other = trees.grow(bins[:, shuffled], target[shuffled], classes=4, min_leaf=min_leaf)
    assert one.canonical() == other.canonical()
    assert one.majority(target, 4).tolist() == other.majority(target[shuffled], 4).tolist()


def test_counting_and_walking_give_the_same_tree():
    # nodes with as many records as bins × classes are counted, smaller ones walked: with 256 bins
    # all are walked
    rng = np.random.default_rng(3)
    few = rng.integers(0, 3, (4, 2000)).astype(np.uint8)
    target = (few[0] + (rng.random(2000) < 0.3) * few[1]) % 3
    wide = few.copy() * np.uint8(120)
    counted = trees.grow(few, target, classes=3, min_leaf=5)
    walked = trees.grow(wide, target, classes=3, min_leaf=5)
    assert walked.feature.tolist() == counted.feature.tolist()
    assert np.array_equal(walked.cut[walked.feature >= 0], 120 * counted.cut[counted.feature >= 0])
    assert walked.order.tolist() == counted.order.tolist()


def test_depth_and_complexity_stop_a_tree():
    bins = np.arange(16, dtype=np.uint8)[None, :]
    target = np.arange(16) % 2
    assert trees.grow(bins, target, classes=2, min_leaf=1, depth=0).canonical() == "."
    assert len(trees.grow(bins, np.arange(16), classes=None, min_leaf=1, depth=2).leaves) == 4
    assert trees.grow(bins, target, classes=2, min_leaf=1, complexity=1.0).canonical() == "."
    assert len(trees.grow(bins, target, classes=2, min_leaf=1).leaves) == 16


def test_what_did_not_occur_goes_where_more_records_went():
    bins = np.array([[0, 1, 1, 1]], dtype=np.uint8)
    tree = trees.grow(bins, np.array([0, 1, 1, 1]), classes=2, min_leaf=1)
    assert trees.route(tree, np.array([[trees.UNSEEN]], dtype=np.uint8)).tolist() == [2]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=4, max_size=25))
def test_with_two_classes_the_order_of_levels_has_the_best_way_to_part_them(records):
    levels, target = np.array([r[0] for r in records]), np.array([r[1] for r in records])
    order = trees.level_order(levels, 6, target, 2)
    tree = trees.grow(order[levels][None, :], target, classes=2, min_leaf=1, depth=1)
    parts = [target[tree.records(leaf)].tolist() for leaf in tree.leaves.tolist()]
    present = sorted(set(levels.tolist()))
    groups = itertools.chain.from_iterable(
        itertools.combinations(present, size) for size in range(1, len(present))
    )
    best = min(
        (_parted(levels, target, set(group)) for group in groups), default=gini(target.tolist())
    )
    assert sum(gini(part) for part in parts) == min(best, gini(target.tolist()))


def _parted(levels, target, group):
    inside = [level in group for level in levels.tolist()]
    one = [t for t, is_in in zip(target.tolist(), inside, strict=True) if is_in]
    other = [t for t, is_in in zip(target.tolist(), inside, strict=True) if not is_in]
    return gini(one) + gini(other)


def test_levels_for_numbers_are_in_the_order_of_their_means():
    levels, target = np.array([0, 0, 1, 2, 2, 3]), np.array([5.0, 7.0, 1.0, 9.0, 9.0, 1.0])
    assert trees.level_order(levels, 5, target, None).tolist() == [2, 0, 3, 1, trees.UNSEEN]


def test_many_levels_share_bins_with_their_neighbours():
    levels = np.arange(1000)
    bins = trees.level_order(levels, 1000, levels.astype(float), None)
    assert bins.max() < trees.UNSEEN
    assert (np.diff(bins.astype(int)) >= 0).all()


@given(
    st.lists(
        st.one_of(st.integers(-50, 50).map(float), st.just(float("nan"))), min_size=1, max_size=60
    ),
    st.integers(2, 9),
)
def test_bins_keep_the_order_and_cut_between_values_that_occur(numbers, most):
    values = np.array(numbers)
    cuts = trees.cuts_of(values, most)
    bins = trees.bin_numbers(values, cuts)
    known = ~np.isnan(values)
    assert (bins[~known] == 0).all()
    assert len(cuts) < most
    assert not set(cuts.tolist()) & set(values[known].tolist())
    ordered = bins[known][np.argsort(values[known])].astype(int)
    assert (np.diff(ordered) >= 0).all()
    if len(set(values[known].tolist())) <= most:
        assert len(set(ordered.tolist())) == len(set(values[known].tolist()))
    assert all((ordered > 0).tolist())


def test_a_tree_of_nothing_and_one_of_the_wrong_shape():
    assert (
        trees.grow(
            np.zeros((0, 3), np.uint8), np.array([1, 2, 3]), classes=4, min_leaf=1
        ).canonical()
        == "."
    )
    with pytest.raises(InternalError):
        trees.grow(np.zeros((1, 2), np.uint8), np.array([1, 2, 3]), classes=4, min_leaf=1)
    with pytest.raises(InternalError):
        trees.grow(np.zeros((1, 1), np.uint8), np.array([0]), classes=300, min_leaf=1)
