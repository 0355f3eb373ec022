"""Minimal sample uniques: groups of subsets and minimal sets, against their definition."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from sfumato.kernels import uniques


@pytest.mark.parametrize("room", [0, 1_000], ids=["hashed", "in a table"])
@pytest.mark.parametrize("seed", range(5))
def test_refined_groups_are_the_pairs_that_occur(seed, room):
    random = np.random.default_rng(seed)
    rows = 30
    ids = random.integers(0, 3, rows)
    codes = random.integers(0, 4, rows)
    sizes = random.integers(1, 4, rows)
    live = np.flatnonzero(random.random(rows) < 0.7)
    fresh, counts = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    table = np.empty(room, dtype=np.int64)
    found = uniques.refine_groups(ids[live], 3, (codes, 4), live, sizes, (fresh, counts), table)
    pairs = list(zip(ids[live].tolist(), codes[live].tolist(), strict=True))
    groups = fresh[: len(live)].tolist()
    assert found == len(set(pairs)) == len(set(zip(pairs, groups, strict=True)))
    amounts = Counter()
    for pair, row in zip(pairs, live.tolist(), strict=True):
        amounts[pair] += int(sizes[row])
    assert all(counts[group] == amounts[pair] for pair, group in zip(pairs, groups, strict=True))


def test_records_that_are_alone_are_marked_and_leave():
    live = np.array([0, 1, 2, 3])
    refined = np.array([0, 1, 1, 2]), np.array([1, 2, 1])
    bits = np.zeros((2, 2), dtype=np.uint64)
    live_next, next_ids = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    single = np.array([0, -1, -1, 1])
    going = uniques.mark_uniques(live, refined, single, bits, 65, live_next, next_ids)
    assert live_next[:going].tolist() == [1, 2]
    assert next_ids[:going].tolist() == [1, 1]
    # Subset 65 is the second bit of the second word.
    assert bits.tolist() == [[0, 2], [0, 2]]


@pytest.mark.parametrize("seed", range(10))
def test_scores_add_up_the_weights_of_minimal_sets(seed):
    random = np.random.default_rng(seed)
    table = random.integers(0, 3, (12, 3))
    subsets = [s for size in (1, 2, 3) for s in itertools.combinations(range(3), size)]
    masks = np.array([sum(1 << c for c in s) for s in subsets])
    index_of_mask = np.full(8, -1)
    index_of_mask[masks] = np.arange(len(masks))
    weights = random.random(len(masks))
    bits = np.zeros((len(table), 1), dtype=np.uint64)
    minimal = []
    for row in range(len(table)):
        alone = [s for s in subsets if sum((table[:, s] == table[row, s]).all(axis=1)) == 1]
        minimal.append([s for s in alone if not any(set(t) < set(s) for t in alone)])
        # The walk marks minimal sets at least; what lies above them it may leave out.
        for s in minimal[-1]:
            bits[row, 0] |= np.uint64(1 << subsets.index(s))
    scores, parts = np.zeros(len(table)), np.zeros((len(table), 3))
    amounts = np.zeros(len(table), dtype=np.int64)
    uniques.score_minimal_uniques(bits, masks, index_of_mask, weights, scores, parts, amounts)
    weight = dict(zip(subsets, weights.tolist(), strict=True))
    assert amounts.tolist() == [len(sets) for sets in minimal]
    assert scores == pytest.approx([sum(weight[s] for s in sets) for sets in minimal])
    for column in range(3):
        shares = [sum(weight[s] for s in sets if column in s) for sets in minimal]
        assert parts[:, column] == pytest.approx(shares)
