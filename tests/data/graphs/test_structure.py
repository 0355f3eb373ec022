"""Utilities beside networkx and numpy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Pair
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs import FAMILIES
from sfumato.data.graphs.private_degrees import PrivateDegrees
from sfumato.data.graphs.structure import (
    Clustering,
    DegreeDistance,
    EdgesChanged,
    PathLengths,
    Spectrum,
    clustering_of,
    mean_distance,
    top_eigenvalues,
)
from tests.data.graphs.graphs import as_networkx, edges, graph, graphs

METRICS = [cls() for cls in FAMILIES["utility"].values()]


@given(graphs())
def test_clustering_as_networkx_has_it(people):
    assert clustering_of(people) == pytest.approx(nx.average_clustering(as_networkx(people)))


@given(graphs())
def test_distances_as_networkx_has_them(people):
    lengths = [
        d
        for _, row in nx.all_pairs_shortest_path_length(as_networkx(people))
        for d in row.values()
        if d
    ]
    mean, reached = mean_distance(people, np.arange(people.people))
    assert mean == pytest.approx(np.mean(lengths) if lengths else 0.0)
    assert reached == pytest.approx(len(lengths) / (people.people * (people.people - 1)))


@given(graphs(), st.integers(1, 3))
def test_eigenvalues_as_numpy_has_them(people, count):
    matrix = nx.to_numpy_array(as_networkx(people), nodelist=range(people.people))
    wanted = np.sort(np.linalg.eigvalsh(matrix))[::-1][: min(count, people.people)]
    assert top_eigenvalues(people, min(count, people.people)) == pytest.approx(wanted, abs=1e-9)


def test_large_graphs_are_solved_by_iterations():
    network = examples.social_network(400, 4)
    matrix = nx.to_numpy_array(as_networkx(network), nodelist=range(400))
    assert top_eigenvalues(network, 4) == pytest.approx(
        np.sort(np.linalg.eigvalsh(matrix))[::-1][:4], rel=1e-5
    )
    assert top_eigenvalues(graph(60, []), 3).tolist() == [0, 0, 0]


@given(graphs(least=4), st.integers(0, 20))
def test_ties_changed_by_the_numbers_of_the_original(people, seed):
    stream = np.random.default_rng(seed)
    other = graph(
        people.people,
        [(u, v) for u in range(people.people) for v in range(u) if stream.random() < 0.4],
    )
    measure = EdgesChanged().measure(Pair(people, other.shuffled(stream)))
    before, after = edges(people), edges(other)
    assert measure.raw == len(before ^ after)
    assert measure.value == pytest.approx(
        len(before ^ after) / len(before | after) if before | after else 0.0
    )


@given(graphs(), graphs())
def test_degree_distance_is_the_earth_movers(one, other):
    from scipy.stats import wasserstein_distance

    people = min(one.people, other.people)
    cut = [
        graph(people, [(u, v) for u, v in g.edges.T.tolist() if max(u, v) < people])
        for g in (one, other)
    ]
    measure = DegreeDistance().measure(Pair(*cut))
    assert measure.raw == pytest.approx(
        wasserstein_distance(cut[0].ties.degrees, cut[1].ties.degrees)
    )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_renumbering_people_loses_nothing(metric):
    network = examples.social_network(200, 3)
    released = network.shuffled(np.random.default_rng(2))
    assert metric.applies(Pair(network, released)) is None
    measure = metric.measure(Pair(network, released))
    assert measure.value == pytest.approx(0.0, abs=1e-5)
    assert measure.name == metric.name


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_graph_without_ties_has_lost_something(metric):
    network = examples.social_network(100, 4)
    empty = network.with_edges(np.zeros(0, np.int64), np.zeros(0, np.int64))
    measure = metric.measure(Pair(network, empty))
    assert 0 < measure.value <= 1
    assert metric.measure(Pair(empty, empty)).value == 0.0


def test_who_was_drawn_has_no_tie_in_common():
    karate = examples.karate()
    drawn = PrivateDegrees(1.0).plan(karate, Goal(seed=Seed(1))).graph
    assert "are synthetic" in EdgesChanged().applies(Pair(karate, drawn))
    for metric in (Clustering(), PathLengths(), Spectrum()):
        assert 0 <= metric.measure(Pair(karate, drawn)).value <= 1
