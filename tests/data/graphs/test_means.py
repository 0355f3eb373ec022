"""Means: every one reaches what it is for, on random graphs, and costs what the literature says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.k_degree import KDegree
from sfumato.data.graphs.neighbour_set_blowup import NeighbourSetBlowup
from sfumato.data.graphs.neighbourhood_anonymization import NeighbourhoodAnonymization
from sfumato.data.graphs.private_degrees import PrivateDegrees
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from tests.data.graphs.graphs import PEOPLE, TIES, edges, graph

GOAL = Goal(seed=Seed(1))


def made(step, people, goal=GOAL):
    return step.apply(people, step.plan(people, goal))


def test_degree_anonymization_of_the_karate_club():
    karate = examples.karate()
    for k in (2, 3, 5, 17):
        plan = DegreeAnonymization(k).plan(karate, GOAL)
        assert KDegree(k).judge(Evidence(plan.graph)).holds
        assert plan.describe()["removed_edges"] == 0
        assert 2 * plan.describe()["added_edges"] >= {2: 7, 3: 15, 5: 25}.get(
            k, 0
        )  # nobody can do better than the sequence
        fewer = DegreeAnonymization(k, deletions=True).plan(karate, GOAL)
        assert KDegree(k).judge(Evidence(fewer.graph)).holds
    assert (
        DegreeAnonymization(5, deletions=True).plan(karate, GOAL).scores()["edges_changed"]
        < DegreeAnonymization(5).plan(karate, GOAL).scores()["edges_changed"]
    )


def test_a_complete_graph_minus_a_tie_and_too_few_people():
    people = graph(3, [(0, 1), (1, 2)])
    assert edges(made(DegreeAnonymization(3), people)) == {(0, 1), (0, 2), (1, 2)}
    with pytest.raises(Unsatisfiable, match="with 3 people nobody can be one of"):
        made(DegreeAnonymization(4), people)


def test_what_cannot_be_reached_by_adding_is_said():
    # a star of three leaves: four people of the same odd degree are possible (3: complete), two and
    # two are not by adding
    assert (
        KDegree(2)
        .judge(Evidence(made(DegreeAnonymization(2), graph(4, [(0, 1), (0, 2), (0, 3)]))))
        .holds
    )
    # five people, one of them tied to all others: only a complete graph has all degrees alike
    released = made(DegreeAnonymization(5), graph(5, [(0, v) for v in range(1, 5)]))
    assert len(edges(released)) == 10


# Private degrees.


def test_the_number_of_people_must_be_public():
    bare = PeopleGraph.from_tables(
        {"data": pl.DataFrame({"a": [1], "b": [2]})}, {"data": TIES}, Source("t")
    )
    with pytest.raises(SchemaError, match="needs a table of people"):
        made(PrivateDegrees(1.0), bare)


# What holds for all of them.

STEPS = [
    DegreeAnonymization(3),
    DegreeAnonymization(3, deletions=True),
    DegreeAnonymization(3, directed=True),
    NeighbourSetBlowup(3),
    NeighbourhoodAnonymization(3),
    PrivateDegrees(1.0),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.name}")
def test_the_order_of_rows_changes_nothing(step):
    karate = examples.karate()
    rows = karate.to_tables()["data"]
    names = {v: f"p{v:02}" for v in range(34)}
    tables = [
        pl.DataFrame(
            {"a": [names[u] for u in table["person"]], "b": [names[v] for v in table["friend"]]}
        )
        for table in (rows, rows.sample(fraction=1.0, shuffle=True, seed=4))
    ]
    everybody = pl.DataFrame({"id": list(names.values())})
    schemas = {"data": TIES, "people": PEOPLE}
    released = [
        made(step, PeopleGraph.from_tables({"data": t, "people": everybody}, schemas, Source("t")))
        for t in tables
    ]
    assert released[0].arcs.tolist() == released[1].arcs.tolist()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.name}")
def test_plans_tell_counts_only_and_change_nothing(step):
    karate = examples.karate()
    before = karate.arcs.copy()
    plan = step.plan(karate, GOAL)
    assert (karate.arcs == before).all()
    assert all(
        isinstance(value, int | float | str | bool | None) for value in plan.describe().values()
    )
    assert step.apply(karate, plan).people == 34
    assert step.apply(karate, plan).schema == karate.schema


@pytest.mark.parametrize(
    "step", [s for s in STEPS if s.name not in ("degree_anonymization",)], ids=lambda s: s.name
)
def test_directed_graphs_are_refused_by_name(step):
    arcs = examples.karate().with_arcs(*examples.karate().arcs.astype(np.int64))
    with pytest.raises(ParameterError, match=f"{step.name}: the ties of karate are directed"):
        step.plan(arcs, GOAL)


def test_people_keep_their_other_columns():
    people = graph(
        6,
        [(0, 1), (1, 2), (3, 4)],
        {"ill": list("nynnyn"), "note": list("abcdef")},
        {"sensitive": "ill", "keep": "note"},
    )
    released = made(DegreeAnonymization(2), people)
    assert released.own.equals(people.own)
    assert (
        Schema.from_roles({"person": "id", "sensitive": "ill", "keep": "note"}) == released.beside
    )
    assert released.shuffled(np.random.default_rng(0)).to_tables()["people"].columns == [
        "id",
        "ill",
        "note",
    ]
