"""Attacks beside counting by hand, and worked numbers."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.step import Goal
from sfumato.data.graphs import FAMILIES
from sfumato.data.graphs.candidates import DegreeAttack, EgoGraph, HubFingerprint, VertexRefinement
from sfumato.data.graphs.neighbour_set_blowup import NeighbourSetBlowup
from sfumato.errors import ParameterError
from tests.data.graphs.graphs import as_networkx, graph, graphs

ATTACKS = [cls() for cls in FAMILIES["risk"].values()]


def naive(people, seed=3):
    """The release of somebody who only renumbers people."""
    return Scene.of(people, people.shuffled(np.random.default_rng(seed)))


def test_the_karate_club_renumbered():
    # Zachary's karate club: 6 alone by degree, 6, 23, 23 by refinement, 16 by ego graph, 2, 3, 8 by
    # hubs 33, 0, 32
    scene = naive(examples.karate())
    degree = DegreeAttack().attack(scene)
    assert len(degree.victims) == degree.details["alone"] == 6
    karate = scene.pair.original.ties.degrees
    assert sorted(karate[degree.victims].tolist()) == [1, 9, 10, 12, 16, 17]
    assert degree.value == pytest.approx(
        len(np.unique(karate)) / 34
    )  # one person of every degree, on average
    refinement = VertexRefinement(rounds=3).attack(scene)
    assert [round(34 * share) for _, share in refinement.details["curve"]["points"]] == [6, 23, 23]
    ego = EgoGraph().attack(scene)
    assert ego.details["alone"] == 16 and not ego.details["lower_bound"]
    hubs = HubFingerprint(hubs=3).attack(scene)
    assert [round(34 * share) for _, share in hubs.details["curve"]["points"]] == [2, 3, 8]


def test_beyond_the_cap_the_number_is_a_lower_bound():
    finding = EgoGraph(cap=4).attack(naive(examples.karate()))
    assert finding.details["lower_bound"] and "a lower bound" in finding.sentence
    assert finding.details["alone"] <= 16


@given(graphs(least=3), graphs(least=3), st.integers(0, 50))
def test_candidates_by_degree_as_counted_by_hand(original, other, seed):
    people = min(original.people, other.people)
    kept = [
        graph(people, [(u, v) for u, v in g.edges.T.tolist() if max(u, v) < people])
        for g in (original, other)
    ]
    released = kept[1].shuffled(np.random.default_rng(seed))
    finding = DegreeAttack().attack(Scene.of(kept[0], released))
    credit = []
    for person in range(people):
        wanted = kept[0].ties.degrees[person]
        candidates = [v for v in range(people) if released.ties.degrees[v] == wanted]
        right = any(released.origin[v] == person for v in candidates)
        credit.append(1 / len(candidates) if right else 0.0)
    assert finding.value == pytest.approx(np.mean(credit))
    assert finding.details["alone"] == credit.count(1.0)


@given(graphs(least=3))
def test_hub_fingerprints_as_networkx_measures_distances(people):
    oracle = as_networkx(people)
    hubs = sorted(oracle, key=lambda v: (-oracle.degree(v), v))[:2]
    answers = [
        tuple(
            nx.shortest_path_length(oracle, v, h) if nx.has_path(oracle, v, h) else -1 for h in hubs
        )
        for v in oracle
    ]
    alone = sum(answers.count(a) == 1 for a in answers)
    assert HubFingerprint(hubs=2).attack(naive(people)).details["alone"] == alone


def test_who_promises_k_leaves_at_least_k_candidates():
    karate = examples.karate()
    released = NeighbourSetBlowup(3).plan(karate, Goal()).graph.shuffled(np.random.default_rng(1))
    scene = Scene.of(karate, released)
    for attack in (DegreeAttack(), VertexRefinement(), EgoGraph()):
        finding = attack.attack(scene)
        assert finding.details["alone"] == 0
        assert (finding.details["fewest_candidates"] or 3) >= 3


def test_quasi_identifiers_narrow_candidates_and_missing_ones_do_not():
    pairs = [(0, 1), (2, 3), (4, 5)]
    people = graph(6, pairs, {"sex": list("fmffmm")}, {"quasi": "sex"})
    assert DegreeAttack().attack(naive(people)).details["fewest_candidates"] == 3
    masked = people.with_own(
        people.own.with_columns(sex=np.array(["f", "m", None, None, "m", "m"], dtype=object))
    )
    finding = DegreeAttack().attack(Scene.of(people, masked))
    # who is said to be f may be the f that is left or one of the two of whom nothing is said
    assert finding.details["right_one_among_them"] == 6
    assert finding.value == pytest.approx(np.mean([1 / 3, 1 / 5, 1 / 3, 1 / 3, 1 / 5, 1 / 5]))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_findings_are_rates_without_names(attack):
    scene = naive(examples.social_network(120, 2))
    assert attack.applies(scene) is None
    finding = attack.attack(scene)
    assert 0 <= finding.value <= 1
    assert finding.baseline > 0
    assert finding.attack == attack.name
    assert ((finding.victims >= 0) & (finding.victims < 120)).all()
    again = attack.attack(naive(examples.social_network(120, 2)))
    assert (again.value, again.sentence) == (finding.value, finding.sentence)


def test_where_ties_have_a_direction_attacks_look_at_it_or_say_that_they_do_not():
    arcs = examples.karate().with_arcs(*examples.karate().arcs.astype(np.int64))
    for attack in (EgoGraph(), HubFingerprint()):
        assert "the direction of ties is ignored" in attack.attack(naive(arcs)).sentence
    pairs = list(zip(arcs.out.degrees.tolist(), arcs.into.degrees.tolist(), strict=True))
    alone = sum(pairs.count(pair) == 1 for pair in pairs)
    assert DegreeAttack().attack(naive(arcs)).details["alone"] == alone > 6
    for attack in (DegreeAttack(directed=False), VertexRefinement(directed=False)):
        with pytest.raises(ParameterError, match="are directed"):
            attack.attack(naive(arcs))


# Seed and propagate.
