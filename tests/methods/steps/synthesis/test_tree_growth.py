"""Trees that say which records a value may be taken from, and draws from their leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas import trees
from sfumato.methods.steps.synthesis.tree_growth import bandwidths, pick_records


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_donors_are_those_of_the_leaf_that_may_be(seed, limited, not_self):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 40))
    bins, target = draw.integers(0, 4, (2, n)).astype(np.uint8), draw.integers(0, 3, n)
    tree = trees.grow(bins, target, classes=3, min_leaf=2)
    leaves = trees.route(tree, bins)
    allowed = draw.random(n) < 0.3 if limited else None
    own = np.where(draw.random(n) < 0.7, np.arange(n), -1) if not_self else None
    found = pick_records(tree, leaves, draw.random(n), allowed, own)
    for place, (leaf, donor) in enumerate(zip(leaves.tolist(), found.tolist(), strict=True)):
        node = leaf
        while True:
            open_ = [r for r in tree.records(node).tolist() if allowed is None or allowed[r]]
            open_ = [r for r in open_ if own is None or own[place] != r]
            if open_ or node == 0:
                break
            node = int(tree.parent[node])
        assert donor in open_ if open_ else donor == -1


def test_every_donor_of_a_leaf_is_equally_likely():
    # six chi-square tests: a right sampler fails one of them with probability 6 · 10⁻⁹
    from scipy import stats

    tree = trees.grow(
        np.array([[0] * 6 + [1] * 5], np.uint8), np.array([0] * 6 + [1] * 5), classes=2, min_leaf=5
    )
    allowed = np.array([True] * 3 + [False] * 3 + [True] * 5)
    uniforms = np.random.default_rng(5).random(60_000)
    leaves = np.repeat(tree.leaves, 30_000)
    own = np.tile(np.array([0, 6, -1]), 20_000)
    found = pick_records(tree, leaves, uniforms, allowed, own)
    for leaf, mine in itertools.product(tree.leaves.tolist(), (0, 6, -1)):
        here = found[(leaves == leaf) & (own == mine)]
        open_ = [r for r in tree.records(leaf).tolist() if allowed[r] and r != mine]
        counts = [int((here == record).sum()) for record in open_]
        assert sum(counts) == len(here)
        assert stats.chisquare(counts).pvalue > 1e-9


def test_widths_are_those_of_silverman():
    # 0.9 · min(s, IQR/1.34) · m^(−1/5) of (1, 2, 3, 4, 7): s = 2.3022, IQR/1.34 = 2/1.34; of one
    # value 0
    expected = 0.9 * (2 / 1.34) * 5**-0.2
    found = bandwidths(np.array([1.0, 2, 3, 4, 7, 5]), np.array([0, 5]), np.array([5, 6]))
    assert found.tolist() == pytest.approx([expected, 0.0])
