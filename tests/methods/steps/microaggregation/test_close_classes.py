"""Classes that are close to the table by the earth mover's distance: three ways, and the merging
that makes sure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.steps.microaggregation.close_classes import (
    RecordLine,
    close_classes,
    merge_until_close,
)
from tests.methods.steps.microaggregation.test_t_closeness import METHODS
from tests.oracles.closeness_and_privacy import earth_movers


@given(st.lists(st.integers(0, 12), min_size=2, max_size=20), st.data())
def test_distances_are_areas_between_distribution_functions(places, data):
    groups = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(places), max_size=len(places)))
    )
    groups = np.unique(groups, return_inverse=True)[1]
    found = RecordLine.of(np.array(places, dtype=float)).distances(groups)
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        assert found[group] == pytest.approx(earth_movers(places, members), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(st.integers(4, 60), st.integers(2, 6), st.floats(0.01, 0.5), st.integers(0, 9))
def test_groups_are_large_and_close(method, n, k, t, seed):
    if k > n:
        return
    rng = np.random.default_rng(seed)
    points, places = rng.normal(size=(n, 2)), rng.integers(0, 30, n).astype(float)
    groups, _ = close_classes(points, RecordLine.of(places), k=k, t=t, method=method)
    assert np.bincount(groups).min() >= k
    for group in range(groups.max() + 1):
        assert earth_movers(places.tolist(), np.flatnonzero(groups == group)) <= t + 1e-8


@pytest.mark.parametrize(("n", "t", "size"), [(1000, 0.05, 10), (1080, 0.05, 10)])
def test_t_closeness_first_makes_classes_of_the_needed_size(n, t, size):
    """G12: k* records, one of each part; where k* divides n nothing is left to merge."""
    rng = np.random.default_rng(1)
    groups, notes = close_classes(
        rng.normal(size=(n, 2)),
        RecordLine.of(np.arange(n, dtype=float)),
        k=2,
        t=t,
        method="t_closeness_first",
    )
    assert notes == {"class_size": size, "merged": 0}
    assert set(np.bincount(groups).tolist()) == {size}


def test_classes_that_exceed_the_bound_are_merged():
    """G12: n = 1080, t = 0.01 asks for 49 records, which do not divide n: whatever exceeds t is
    joined with its neighbour.
    """
    points, places = np.random.default_rng(2).normal(size=(1080, 2)), np.arange(1080.0)
    groups, notes = close_classes(
        points, RecordLine.of(places), k=2, t=0.01, method="t_closeness_first"
    )
    assert notes["class_size"] == 49
    assert RecordLine.of(places).distances(groups).max() <= 0.01 + 1e-9


def test_swapping_finds_closer_groups_than_merging_alone():
    """What the paper shows: k-anonymity first keeps many more groups than merging MDAV's."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    line = RecordLine.of(points[:, 0] + 0.3 * rng.normal(size=300))
    made = {m: close_classes(points, line, k=5, t=0.15, method=m)[0].max() + 1 for m in METHODS}
    assert made["merge"] < made["k_anonymity_first"] < made["t_closeness_first"]


def test_merging_ends_with_the_table():
    points, places = np.arange(6.0)[:, None], np.array([0.0, 0, 0, 9, 9, 9])
    assert (
        merge_until_close(
            points, RecordLine.of(places), np.array([0, 0, 0, 1, 1, 1]), 0.01
        ).tolist()
        == [0] * 6
    )
