"""Directed graphs: pairs of ties out and in, made k-anonymous."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.k_degree import KDegree
from sfumato.errors import ParameterError, Unsatisfiable
from tests.data.graphs.graphs import graphs
from tests.data.graphs.test_means import made


def test_pairs_of_a_larger_network():
    network = examples.social_network(400, 3)
    released = made(DegreeAnonymization(5, directed=True), network)
    assert KDegree(5, directed=True).judge(Evidence(released)).holds
    assert released.directed is True
    with pytest.raises(ParameterError, match="deletions are for undirected graphs"):
        DegreeAnonymization(5, directed=True, deletions=True)


@given(graphs(least=4, most=9), st.integers(2, 3), st.integers(0, 9))
@settings(max_examples=30)
def test_pairs_of_degrees_are_reached(people, k, seed):
    step = DegreeAnonymization(k, directed=True)
    try:
        released = made(step, people, Goal(seed=Seed(seed)))
    except Unsatisfiable:
        assume(False)
    assert KDegree(k, directed=True).judge(Evidence(released)).holds
    arcs = {tuple(arc) for arc in released.arcs.T.tolist()}
    assert {tuple(arc) for arc in people.arcs.T.tolist()} <= arcs
    assert all(u != v for u, v in arcs)
