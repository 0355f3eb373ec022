"""Neighbourhood anonymization: ties go, or come, until everybody's neighbourhood looks like those
of k − 1 others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.graphs.k_neighbourhood import KNeighbourhood
from sfumato.data.graphs.neighbourhood_anonymization import NeighbourhoodAnonymization
from sfumato.errors import Unsatisfiable
from tests.data.graphs.graphs import edges, graphs
from tests.data.graphs.test_means import made


@given(graphs(least=4, most=9), st.integers(2, 3))
@settings(max_examples=30)
def test_neighbourhood_anonymization_reaches_its_promise(people, k):
    released = made(NeighbourhoodAnonymization(k, budget=100), people)
    assert KNeighbourhood(k).judge(Evidence(released)).holds
    assert edges(released) <= edges(people)
    more = made(NeighbourhoodAnonymization(k, deletions=False, budget=100), people)
    assert KNeighbourhood(k).judge(Evidence(more)).holds
    assert edges(people) <= edges(more)


def test_neighbourhood_anonymization_says_where_it_ends():
    karate = examples.karate()
    assert KNeighbourhood(3).judge(Evidence(made(NeighbourhoodAnonymization(3), karate))).holds
    with pytest.raises(
        Unsatisfiable,
        match=(r"people with up to"),
    ):
        made(NeighbourhoodAnonymization(2, cap=10), karate)
    with pytest.raises(Unsatisfiable, match="budget of ties"):
        made(NeighbourhoodAnonymization(2, budget=0.05), karate)
    with pytest.raises(Unsatisfiable, match="handles up to"):
        made(NeighbourhoodAnonymization(2), examples.social_network(2100, 1))
