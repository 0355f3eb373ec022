"""Attacks beside counting by hand, and worked numbers."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs import FAMILIES
from sfumato.data.graphs.candidates import DegreeAttack, EgoGraph, HubFingerprint, VertexRefinement
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.neighbour_set_blowup import NeighbourSetBlowup
from sfumato.data.graphs.private_degrees import PrivateDegrees
from sfumato.data.graphs.propagation import SeedAndPropagate
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
def test_nobody_is_found_among_the_drawn(attack):
    karate = examples.karate()
    scene = Scene.of(karate, PrivateDegrees(1.0).plan(karate, Goal(seed=Seed(1))).graph)
    assert isinstance(attack.applies(scene), NothingToAttack)


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
        assert "the direction of ties is not looked at" in attack.attack(naive(arcs)).sentence
    pairs = list(zip(arcs.out.degrees.tolist(), arcs.into.degrees.tolist(), strict=True))
    alone = sum(pairs.count(pair) == 1 for pair in pairs)
    assert DegreeAttack().attack(naive(arcs)).details["alone"] == alone > 6
    for attack in (DegreeAttack(directed=False), VertexRefinement(directed=False)):
        with pytest.raises(ParameterError, match="have a direction"):
            attack.attack(naive(arcs))


# Seed and propagate.


def two_samples(keep, seed):
    """A network of 300 people, and two independent samples of its ties, the second renumbered."""
    network = examples.social_network(300, 5, seed=seed)
    stream = np.random.default_rng(seed)
    ends = network.edges.astype(np.int64)
    one, other = (
        network.with_edges(*ends[:, stream.random(ends.shape[1]) < keep]) for _ in range(2)
    )
    return Scene.of(network, other.shuffled(stream), others=(one,))


@pytest.mark.parametrize(
    ("keep", "theta", "right", "mapped", "slack"),
    # simulation: n = 300, 5 ties a person, 15 seeds with most ties, mean of three: 285/285,
    # 277/283, 251/275
    [
        (1.0, 0.5, 285, 285, 0),
        (0.9, 0.5, 277, 283, 8),
        (0.8, 0.5, 251, 275, 20),
    ],
)
def test_propagation_finds_as_many_as_the_simulation(keep, theta, right, mapped, slack):
    found = [
        SeedAndPropagate(theta=theta).attack(two_samples(keep, seed)).details for seed in (1, 2, 3)
    ]
    assert abs(np.mean([f["rightly"] for f in found]) - right) <= slack
    assert abs(np.mean([f["mapped"] for f in found]) - mapped) <= slack


def test_a_higher_threshold_maps_fewer_and_errs_less():
    for seed in (1, 2):
        low, high = (
            SeedAndPropagate(theta=theta).attack(two_samples(0.8, seed)).details
            for theta in (0.5, 1.5)
        )
        assert high["mapped"] - high["rightly"] <= low["mapped"] - low["rightly"]
        assert high["mapped"] <= low["mapped"]


def propagated(one: nx.Graph, other: nx.Graph, known: dict, theta: float) -> dict:
    """The algorithm by its definition, with dictionaries."""

    def best(mine, theirs, mapping, u):
        scores = dict.fromkeys(theirs, 0.0)
        for x in mine[u]:
            if x in mapping:
                for v in theirs[mapping[x]]:
                    scores[v] += 1 / np.sqrt(theirs.degree(v))
        for v in mapping.values():
            scores[v] = 0.0
        values = sorted(scores.values(), reverse=True)
        spread = np.std(list(scores.values()))
        if spread == 0 or values[0] - values[1] < 1e-12 or (values[0] - values[1]) / spread < theta:
            return None
        return max(scores, key=scores.get)

    known = dict(known)
    changed = True
    while changed:
        changed = False
        for u in sorted(one):
            if u in known:
                continue
            v = best(one, other, known, u)
            if v is not None and best(other, one, {b: a for a, b in known.items()}, v) == u:
                known[u] = v
                changed = True
    return known


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_propagation_as_defined(seed):
    network = examples.social_network(40, 3, seed=seed)
    stream = np.random.default_rng(seed)
    ends = network.edges.astype(np.int64)
    one = network.with_edges(*ends[:, stream.random(ends.shape[1]) < 0.9])
    scene = Scene.of(network, network, others=(one,))
    seeds = np.lexsort((np.arange(40), -network.ties.degrees))[:5].tolist()
    wanted = propagated(as_networkx(one), as_networkx(network), {s: s for s in seeds}, 0.5)
    details = SeedAndPropagate(seeds=5).attack(scene).details
    assert details["mapped"] == len(wanted) - 5
    assert details["rightly"] == sum(u == v for u, v in wanted.items()) - 5


def test_by_default_the_intruder_knows_a_sample_of_the_original():
    network = examples.social_network(300, 5)
    released = (
        DegreeAnonymization(5)
        .plan(network, Goal(seed=Seed(1)))
        .graph.shuffled(np.random.default_rng(1))
    )
    finding = SeedAndPropagate().attack(Scene.of(network, released, seed=Seed(4)))
    assert finding.trials == 285
    assert finding.value == len(finding.victims) / 285
    assert [known for known, _ in finding.details["curve"]["points"]] == [1, 5, 10, 15]
    assert "seeds" in str(SeedAndPropagate(seeds=300).applies(Scene.of(network, released)))


def test_who_was_left_out_and_is_not_mapped_is_not_found():
    network = examples.social_network(60, 3, seed=1)
    origin = np.where(np.arange(60) < 20, np.arange(60), -1)
    scene = Scene.of(network, dataclasses.replace(network, origin=origin))
    finding = SeedAndPropagate(seeds=5, known_ties=0.1).attack(scene)
    assert finding.details["rightly"] <= finding.details["mapped"]
    assert all(victim < 20 for victim in finding.victims)


def test_propagation_over_arcs():
    network = examples.social_network(200, 4)
    arcs = network.with_arcs(*network.arcs.astype(np.int64))
    finding = SeedAndPropagate(directed=True, known_ties=1.0).attack(naive(arcs))
    assert finding.value > 0.9
    with pytest.raises(ParameterError, match="have a direction"):
        SeedAndPropagate(directed=False).attack(naive(arcs))


def test_when_time_runs_out_it_says_so(monkeypatch):
    monkeypatch.setattr("sfumato.data.graphs.propagation.BLOCK", 10)
    scene = dataclasses.replace(naive(examples.social_network(100, 3)), seconds=0.0)
    assert "for want of time" in SeedAndPropagate().attack(scene).sentence
