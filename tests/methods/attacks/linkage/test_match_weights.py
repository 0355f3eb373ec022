"""What agreement and gaps weigh for an intruder who links records by probabilities, learnt without
the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.attacks.linkage.comparison_arrays import arrays_of
from sfumato.methods.attacks.linkage.files import files_of
from sfumato.methods.attacks.linkage.match_weights import (
    MatchNoise,
    Nearness,
    graded_rule,
    near_rule,
    nearness,
    told_by_gaps,
)
from sfumato.methods.attacks.linkage.search import Lookup
from tests.methods.attacks.linkage_scenes import scene_of


def test_what_a_gap_says_is_the_ratio_of_two_normal_densities():
    s, spread, reach = 0.2, 1.5, 0.01

    def normal(d, sigma):
        return math.exp(-d * d / (2 * sigma * sigma)) / (sigma * math.sqrt(2 * math.pi))

    close = (
        2 * reach * normal(0, spread)
    )  # so short a reach that the density is the same in all of it
    near = nearness(
        np.array([0.9, 0.1, 0, 0]),
        np.array([1 - close, close, 0, 0]),
        close / (2 * reach),
        spread,
        MatchNoise(s, 0.001),
    )
    for d in (0.0, 0.1, 0.5):
        assert near.top - near.slope * d * d == pytest.approx(
            math.log2(0.999 * normal(d, s) / normal(d, spread))
        )
    assert near.floor == pytest.approx(math.log2(0.001))


def test_the_error_of_linked_pairs_is_told_in_spite_of_outliers():
    gaps = np.abs(np.random.default_rng(1).normal(0, 0.3, 2000))
    gaps[:100] = 50.0
    assert told_by_gaps(gaps).error == pytest.approx(0.3, rel=0.05)
    assert told_by_gaps(gaps).outliers == pytest.approx(0.05, abs=0.01)
    assert told_by_gaps(gaps[:5]) is None


@given(seed=st.integers(0, 2**32))
def test_the_nearest_under_growing_costs_is_found_as_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 60))
    cells = [str(v) for v in range(12)] + ["2..7", "0..3", "*", None]
    release = {
        "n1": rng.choice(np.array(cells, dtype=object), size).tolist(),
        "c1": rng.choice(list("ab*"), size).tolist(),
    }
    original = {
        "n1": rng.choice(np.array(cells[:12]), size).tolist(),
        "c1": rng.choice(list("ab"), size).tolist(),
    }
    files = files_of(scene_of(original, release))
    near = Nearness(*rng.normal(1, 2, 1), float(rng.exponential(0.3)), -4.0)
    bits = np.append(np.sort(rng.normal(0, 2, 4)), 0.0)
    occur = np.array([True, True, *(rng.random(2) < 0.5)])
    rules = [
        (
            near_rule(column, bits, near, occur)[0]
            if column.scale == "number"
            else graded_rule(column, 0.1, bits)
        )
        for column in files.columns
    ]
    arrays = arrays_of(files, rules)
    asked = np.arange(len(arrays.intruder.records))
    least, tied, chosen = Lookup(arrays).nearest(asked)
    for i in asked:
        others = np.arange(len(arrays.released.records))
        total = arrays.costs(np.column_stack([np.full(len(others), i), others])).sum(axis=1)
        assert total.min() >= 0
        assert least[i] == pytest.approx(total.min())
        assert total[chosen[i]] == pytest.approx(total.min())
        assert tied[i] == arrays.released.records[total <= total.min() + 1e-8].sum()
