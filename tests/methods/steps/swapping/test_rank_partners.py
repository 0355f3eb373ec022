"""Partners of near rank: mutual, within the limit and within strata."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.swapping.rank_partners import Ranking, share_of, sorted_within


def test_a_share_is_rounded_down_but_for_floating_point():
    assert [share_of(0.29, 100), share_of(0.5, 5), share_of(0.0, 9)] == [29, 2, 0]


def test_carriers_are_sorted_by_stratum_and_score():
    scores = np.array([3.0, 1.0, 2.0, 0.0])
    strata = np.array([0, 1, 0, 1])
    order, starts = sorted_within(scores, strata, np.arange(4), np.random.default_rng(1))
    assert order.tolist() == [2, 0, 3, 1]
    assert starts.tolist() == [0, 2, 4]


@pytest.mark.parametrize("variant", ["interval", "p_distribution", "p_buckets"])
def test_partners_are_mutual_and_of_one_stratum(variant):
    stream = np.random.default_rng(5)
    strata = np.repeat([0, 1], [60, 40])
    ranking = Ranking.of(stream.random(100), strata, np.arange(100), variant, stream)
    partners = ranking.partners(0.1)
    assert (partners[partners] == np.arange(100)).all()
    assert ((partners < 60) == (np.arange(100) < 60)).all()
    assert ranking.limits(0.1).tolist() == [6, 4]
    if variant == "interval":
        assert (np.abs(partners - np.arange(100)) <= 6).all()


def test_strata_too_small_for_an_exchange_are_idle():
    stream = np.random.default_rng(5)
    ranking = Ranking.of(
        stream.random(12), np.repeat([0, 1], [10, 2]), np.arange(12), "interval", stream
    )
    assert ranking.idle(0.2) == 2
