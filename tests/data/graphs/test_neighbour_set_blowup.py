"""Blow-ups: blocks of people with exactly the same neighbours."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.data.graphs.neighbour_set_blowup import NeighbourSetBlowup
from tests.data.graphs.graphs import edges, graphs
from tests.data.graphs.test_means import GOAL


def test_blow_ups_of_the_karate_club():
    # greedy blocks change 36, 59 and 78 ties for k = 2, 3, 5; the last is no better than deleting
    # all 78
    plans = {k: NeighbourSetBlowup(k).plan(examples.karate(), GOAL) for k in (2, 3, 5)}
    assert {k: plan.scores()["edges_changed"] for k, plan in plans.items()} == {
        2: 36.0,
        3: 59.0,
        5: 78.0,
    }
    assert not plans[2].warnings
    assert "removing all ties costs no more" in plans[5].warnings[0]


@given(graphs(least=4, most=9), st.integers(2, 3))
def test_blow_ups_cost_what_the_formula_says(people, k):
    from sfumato.data.graphs.neighbour_set_blowup import blocks_of

    blocks = blocks_of(people, np.zeros(people.people, np.int64), k)
    assert np.bincount(blocks).min() >= k
    there = edges(people)
    cost = 0
    for a, b in itertools.combinations_with_replacement(range(blocks.max() + 1), 2):
        pairs = {
            (min(u, v), max(u, v))
            for u in np.flatnonzero(blocks == a)
            for v in np.flatnonzero(blocks == b)
            if u != v
        }
        inside = len(pairs & there)
        cost += inside if a == b else min(inside, len(pairs) - inside)
    assert NeighbourSetBlowup(k).plan(people, GOAL).scores()["edges_changed"] == cost
