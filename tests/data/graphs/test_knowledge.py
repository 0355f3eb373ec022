"""Promises beside their definitions: brute force on small random graphs, with networkx as the judge
of isomorphism.
"""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.graphs.h_refinement import HRefinement
from sfumato.data.graphs.k_degree import KDegree
from sfumato.data.graphs.k_neighbour_sets import KNeighbourSets
from sfumato.data.graphs.k_neighbourhood import KNeighbourhood
from sfumato.data.graphs.knowledge import (
    classes_of,
    ego_classes,
    egos,
    exact_classes,
    hub_words,
    refined,
    set_classes,
    top_degrees,
)
from sfumato.errors import ParameterError
from tests.data.graphs.graphs import as_networkx, graph, graphs


def smallest(answers) -> int:
    return min(Counter(answers).values())


def h(oracle: nx.Graph, rounds: int) -> dict:
    """H_i straight from the paper: nested sorted multisets."""
    known = {v: oracle.degree(v) for v in oracle}
    for _ in range(rounds - 1):
        known = {v: tuple(sorted((known[u] for u in oracle[v]), key=repr)) for v in oracle}
    return known


def ego_partition(oracle: nx.Graph) -> list[int]:
    """Sizes of the classes of isomorphic ego graphs, the centre being marked."""
    classes: list[list[nx.Graph]] = []
    for v in oracle:
        ego = nx.ego_graph(oracle, v)
        nx.set_node_attributes(ego, {u: u == v for u in ego}, "centre")
        same = lambda a, b: a["centre"] == b["centre"]  # noqa: E731
        home = next((c for c in classes if nx.is_isomorphic(c[0], ego, node_match=same)), None)
        if home is None:
            classes.append([ego])
        else:
            home.append(ego)
    return sorted(len(c) for c in classes)


@given(graphs(), st.integers(1, 4))
def test_k_degree(people, k):
    verdict = KDegree(k).judge(Evidence(people))
    degrees = dict(as_networkx(people).degree())
    assert verdict.attained == smallest(degrees.values())
    assert verdict.holds == (smallest(degrees.values()) >= k)
    assert verdict.records == sum(c for c in Counter(degrees.values()).values() if c < k)


@given(graphs(), st.integers(1, 4))
def test_h_refinement(people, rounds):
    known = h(as_networkx(people), rounds)
    assert HRefinement(2, rounds=rounds).judge(Evidence(people)).attained == smallest(
        known.values()
    )
    classes, _ = exact_classes(people, rounds)
    words = list(refined(people, rounds))[-1]
    for u in range(people.people):
        for v in range(people.people):
            assert (known[u] == known[v]) == (classes[u] == classes[v]) == (words[u] == words[v])


@given(graphs())
@settings(max_examples=40)
def test_k_neighbourhood(people):
    assert sorted(np.bincount(ego_classes(egos(people, 30))).tolist()) == ego_partition(
        as_networkx(people)
    )


@given(graphs(), st.booleans())
def test_k_neighbour_sets(people, closed):
    oracle = as_networkx(people)
    sets = [frozenset(oracle[v]) | ({v} if closed else set()) for v in oracle]
    assert KNeighbourSets(2, closed=closed).judge(Evidence(people)).attained == smallest(sets)


@given(graphs(), st.lists(st.sampled_from("xy"), min_size=9, max_size=9))
def test_attributes_count_with_the_place(people, values):
    pairs = people.edges.T.tolist()
    labelled = graph(people.people, pairs, {"sex": values[: people.people]}, {"quasi": "sex"})
    degrees = people.ties.degrees.tolist()
    both = list(zip(degrees, values, strict=False))
    assert KDegree(2).judge(Evidence(labelled)).attained == smallest(both)
    verdict = KDegree(2, with_attributes=False).judge(Evidence(labelled))
    assert verdict.attained == smallest(degrees)
    assert "knowledge of sex is not covered" in verdict.sentence
    known = list(zip(h(as_networkx(people), 2).values(), values, strict=False))
    assert HRefinement(2).judge(Evidence(labelled)).attained == smallest(known)


@given(graphs(most=7))
def test_the_strongest_promise_implies_the_others(people):
    for closed in (False, True):
        k = int(KNeighbourSets(1, closed=closed).judge(Evidence(people)).attained)
        for model in (KDegree(k), KNeighbourhood(k), HRefinement(k, rounds=3)):
            assert model.judge(Evidence(people)).holds


def test_karate_club():
    # Zachary's karate club: 6, 23, 23 and 16 people alone; ego classes 10, 4, 2, 2 and 16 ones;
    # neighbour sets 5, 2 and 27 ones
    karate = examples.karate()
    alone = [int((classes_of(words)[1] == 1).sum()) for words in refined(karate, 3)]
    assert alone == [6, 23, 23]
    assert sorted(
        karate.ties.degrees[np.isin(karate.ties.degrees, [1, 9, 10, 12, 16, 17])].tolist()
    ) == [
        1,
        9,
        10,
        12,
        16,
        17,
    ]
    assert Counter(np.bincount(ego_classes(egos(karate, 30))).tolist()) == {
        1: 16,
        2: 2,
        4: 1,
        10: 1,
    }
    assert Counter(set_classes(karate, closed=False)[1].tolist()) == {1: 27, 2: 1, 5: 1}
    hubs = top_degrees(karate, 3)
    assert hubs.tolist() == [33, 0, 32]
    assert [int((classes_of(words)[1] == 1).sum()) for words in hub_words(karate, hubs)] == [
        2,
        3,
        8,
    ]


def test_pairs_of_degrees_tell_more_than_degrees():
    # 1→2, 1→3, 2→3, 4→3, 4→1: out-degree alone leaves 2 people alone, pairs leave 4
    people = graph(4, [(0, 1), (0, 2), (1, 2), (3, 2), (3, 0)])
    assert sum(1 for c in Counter(people.out.degrees.tolist()).values() if c == 1) == 2
    verdict = KDegree(2, directed=True).judge(Evidence(people))
    assert verdict.sentence.startswith("4 of 4 people are unique")


@given(graphs(most=6), st.integers(1, 3))
def test_refinement_of_arcs(people, rounds):
    known = {
        v: (int(people.out.degrees[v]), int(people.into.degrees[v])) for v in range(people.people)
    }
    oracle = nx.DiGraph()
    oracle.add_nodes_from(range(people.people))
    oracle.add_edges_from(people.arcs.T.tolist())
    for _ in range(rounds - 1):
        known = {
            v: tuple(
                tuple(sorted((known[u] for u in side(v)), key=repr))
                for side in (oracle.successors, oracle.predecessors)
            )
            for v in oracle
        }
    assert HRefinement(1, rounds=rounds, directed=True).judge(
        Evidence(people)
    ).attained == smallest(known.values())


def test_what_is_too_large_is_unknown_and_does_not_hold():
    # two cliques of 7: everybody has six neighbours, all of them tied
    pairs = [(u + base, v + base) for base in (0, 7) for u in range(7) for v in range(u)]
    people = graph(14, pairs)
    assert KNeighbourhood(14).judge(Evidence(people)).holds
    verdict = KNeighbourhood(2, cap=5).judge(Evidence(people))
    assert not verdict.holds
    assert verdict.sentence.startswith("unknown for 14 of 14 people")
    assert KNeighbourhood(1, cap=5).judge(Evidence(people)).holds


@pytest.mark.parametrize(
    "pair",
    [  # regular graphs on which refinement alone decides nothing
        (
            nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(5)),
            nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)),
        ),
        (nx.circular_ladder_graph(5), nx.petersen_graph()),
        (nx.complete_bipartite_graph(3, 3), nx.circular_ladder_graph(3)),
    ],
)
def test_neighbourhoods_that_only_the_canonical_form_tells_apart(pair):
    def joined_with_centres(*inner):
        whole = nx.Graph()
        for number, part in enumerate(inner):
            base = whole.number_of_nodes()
            whole = nx.disjoint_union(whole, part)
            whole.add_node(f"centre {number}")
            whole.add_edges_from(
                (f"centre {number}", base + v) for v in range(part.number_of_nodes())
            )
            whole = nx.convert_node_labels_to_integers(whole)
        return whole

    different = joined_with_centres(*pair)
    people = graph(different.number_of_nodes(), list(different.edges))
    centres = [pair[0].number_of_nodes(), different.number_of_nodes() - 1]
    words = egos(people, 30).words
    assert words[centres[0]] != words[centres[1]]
    shuffled = np.random.default_rng(3).permutation(pair[0].number_of_nodes()).tolist()
    same = joined_with_centres(pair[0], nx.relabel_nodes(pair[0], dict(enumerate(shuffled))))
    people = graph(same.number_of_nodes(), list(same.edges))
    words = egos(people, 30).words
    assert words[pair[0].number_of_nodes()] == words[same.number_of_nodes() - 1]


@given(st.integers(3, 14), st.floats(0, 1), st.integers(0, 2**20))
@settings(max_examples=40)
def test_canonical_forms_do_not_depend_on_numbers(size, density, seed):
    stream = np.random.default_rng(seed)
    inner = [(u, v) for u in range(size) for v in range(u) if stream.random() < density]
    order = stream.permutation(size)
    other = [(size + 1 + int(order[u]), size + 1 + int(order[v])) for u, v in inner]
    spokes = [(size, v) for v in range(size)] + [(2 * size + 1, size + 1 + v) for v in range(size)]
    people = graph(2 * size + 2, inner + other + spokes)
    forms = egos(people, 30)
    assert forms.words[size] == forms.words[2 * size + 1]
    assert forms.settled[size] == forms.settled[2 * size + 1]


def test_parameters_are_checked():
    for wrong in (
        lambda: KDegree(0),
        lambda: HRefinement(2, rounds=0),
        lambda: KNeighbourhood(2, cap=63),
    ):
        with pytest.raises(ParameterError):
            wrong()
