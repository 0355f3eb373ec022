"""k-anonymity of neighbour sets: nobody is known even by who the neighbours are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.h_refinement import HRefinement
from sfumato.data.graphs.k_degree import KDegree
from sfumato.data.graphs.k_neighbour_sets import KNeighbourSets
from sfumato.data.graphs.k_neighbourhood import KNeighbourhood
from sfumato.data.graphs.neighbour_set_blowup import NeighbourSetBlowup
from sfumato.data.graphs.neighbourhood_anonymization import NeighbourhoodAnonymization
from sfumato.errors import Unsatisfiable
from tests.data.graphs.graphs import graph, graphs
from tests.data.graphs.test_means import made


@given(
    graphs(least=6, most=10),
    st.lists(st.sampled_from("xyz"), min_size=10, max_size=10),
    st.integers(0, 9),
)
def test_quasi_identifiers_are_covered_or_missing(people, values, seed):
    labelled = graph(
        people.people, people.edges.T.tolist(), {"sex": values[: people.people]}, {"quasi": "sex"}
    )
    goal = Goal(seed=Seed(seed))
    steps = [(NeighbourSetBlowup(2), KNeighbourSets(2)), (DegreeAnonymization(2), KDegree(2))]
    steps += [(NeighbourhoodAnonymization(2), KNeighbourhood(2))]
    for step, model in steps:
        try:
            plan = step.plan(labelled, goal)
        except Unsatisfiable:
            continue
        verdict = model.judge(Evidence(step.apply(labelled, plan)))
        assert verdict.holds
        assert "and in sex" in verdict.sentence
        kept = plan.graph.own["sex"]
        assert all(
            new is None or new == old for new, old in zip(kept, labelled.own["sex"], strict=True)
        )
        assert bool(kept.null_count()) == bool(plan.warnings and "missing" in plan.warnings[0])


@given(graphs(least=4, most=10), st.integers(2, 3), st.booleans())
def test_blow_ups_reach_their_promise(people, k, closed):
    released = made(NeighbourSetBlowup(k, closed=closed), people)
    assert KNeighbourSets(k, closed=closed).judge(Evidence(released)).holds
    if not closed:  # the strongest promise: all others follow
        for model in (KDegree(k), KNeighbourhood(k), HRefinement(k, rounds=4)):
            assert model.judge(Evidence(released)).holds
