"""MDAV: groups of k around the records that lie farthest out."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.microaggregation.mdav import blocks_of, mdav_of


def test_the_worked_example():
    points = np.array([[2.0], [12], [16], [25], [29], [45]])
    assert mdav_of(points, 2).tolist() == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize(("records", "k"), [(10, 3), (11, 3), (12, 3), (5, 3)])
def test_groups_have_k_to_less_than_twice_k_records(records, k):
    points = np.random.default_rng(records).normal(size=(records, 2))
    sizes = np.bincount(mdav_of(points, k))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def test_blocks_are_small_part_the_records_and_hold_multiples_of_k():
    points = np.random.default_rng(1).normal(size=(103, 3))
    blocks = blocks_of(points, 4, 20)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(103))
    assert max(map(len, blocks)) <= 20
    assert sum(len(block) % 4 > 0 for block in blocks) == 1
