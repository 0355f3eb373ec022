"""k-Ward: groups that grow by joining."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.microaggregation.k_ward import k_ward_of


def test_the_worked_example():
    points = np.array([[2.0], [12], [16], [25], [29], [45]])
    assert k_ward_of(points, 3, 3).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("records", [3, 5, 6, 20, 31])
def test_groups_have_at_least_k_records(records):
    points = np.random.default_rng(records).normal(size=(records, 2))
    assert np.bincount(k_ward_of(points, 3, 3)).min() >= 3


def test_the_two_ends_may_lie_within_k_records_of_each_other():
    points = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [0.0]])
    assert np.bincount(k_ward_of(points, 3, 3)).min() >= 3
