"""Seed and propagate: from a few people who are known in two graphs to all others."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.propagation import SeedAndPropagate
from sfumato.errors import ParameterError
from tests.data.graphs.graphs import as_networkx
from tests.data.graphs.test_candidates import naive


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
    with pytest.raises(ParameterError, match="are directed"):
        SeedAndPropagate(directed=False).attack(naive(arcs))


def test_when_time_runs_out_it_says_so(monkeypatch):
    monkeypatch.setattr("sfumato.data.graphs.propagation.BLOCK", 10)
    scene = dataclasses.replace(naive(examples.social_network(100, 3)), seconds=0.0)
    assert "because time was short" in SeedAndPropagate().attack(scene).sentence
