"""k-degree anonymity: nobody is known by the number of ties."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.k_degree import KDegree
from sfumato.errors import Unsatisfiable
from tests.data.graphs.graphs import edges, graphs
from tests.data.graphs.test_means import made


@given(graphs(least=4, most=10), st.integers(2, 3), st.booleans(), st.integers(0, 99))
def test_degree_anonymization_reaches_its_promise(people, k, deletions, seed):
    step = DegreeAnonymization(k, deletions=deletions)
    try:
        released = made(step, people, Goal(seed=Seed(seed)))
    except Unsatisfiable:
        assume(False)
    assert KDegree(k).judge(Evidence(released)).holds
    if not deletions:
        assert edges(people) <= edges(released)
