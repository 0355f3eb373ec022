"""The noun: reading, refusing, writing, shuffling."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from sfumato import examples
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.errors import ParameterError, SchemaError, UnreadableInput
from tests.data.graphs.graphs import PEOPLE, TIES, edges, graph, graphs

SOURCE = Source("ties.csv", "csv")


def read(
    data: dict, people: dict | None = None, schema: Schema = TIES, beside: Schema = PEOPLE
) -> PeopleGraph:
    tables = {"data": pl.DataFrame(data, strict=False)}
    schemas = {"data": schema}
    if people is not None:
        tables["people"], schemas["people"] = pl.DataFrame(people), beside
    return PeopleGraph.from_tables(tables, schemas, SOURCE)


def test_loops_and_repeated_ties_are_left_out_and_counted():
    made = read({"a": [1, 2, 2, 1, 3], "b": [2, 1, 2, 2, None]})
    assert made.people == 3
    assert edges(made) == {(0, 1)}  # 1–2 and 2–1 are one tie where nobody asks for directions
    assert made.arcs.T.tolist() == [[0, 1], [1, 0]]
    assert made.notes == (
        "1 row(s) name a person without a tie",
        "1 tie(s) of people with themselves were removed",
        "1 repeated tie(s) were removed",
        "1 pair(s) are tied in both directions and count as one tie, unless the graph is read as directed",
    )
    assert made.counts() == {"people": 3, "edges": 2, "without_edges": 1}
    assert made.with_edges(*made.edges.astype(np.int64)).counts()["edges"] == 1


def test_ids_may_be_text_numbers_or_both():
    text = read({"a": ["x", "y"], "b": ["y", "z"]})
    whole = read({"a": [10.0, 20.0], "b": [20.0, 30.0]})
    mixed = read({"a": [1, 2], "b": ["2", "3"]})
    assert edges(text) == edges(whole) == edges(mixed) == {(0, 1), (1, 2)}


def test_isolated_people_come_from_their_table():
    made = read({"a": [1], "b": [2]}, {"id": [3, 2, 1]})
    assert made.people == 3
    assert made.ties.degrees.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("data", "people", "words"),
    [
        (
            {"a": [1], "b": [9]},
            {"id": [1, 2]},
            "name somebody who is missing from the table of people",
        ),
        ({"a": [1], "b": [1]}, None, "has 1 person"),
        (
            {"a": [1, None], "b": [2, 3]},
            None,
            "have an empty column of role from",
        ),
        (
            {"a": [1], "b": [2]},
            {"id": [1, 2, 2]},
            "1 row.s. of the people of ties.csv repeat an id",
        ),
        ({"a": [1], "b": [2]}, {"id": [1, 2, None]}, "1 of the people of ties.csv have no id"),
        ({"a": [1.5], "b": [2.0]}, None, "whole numbers or text"),
    ],
)
def test_bad_rows_are_named_with_counts(data, people, words):
    with pytest.raises(UnreadableInput, match=words):
        read(data, people)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"from": "a", "to": "b", "weight": "w"}, "weighted ties are not supported"),
        ({"from": "a", "to": "b", "keep": "w"}, "describe single ties"),
        ({"from": ["a", "b"], "drop": "w"}, "role to"),
        ({"from": "a", "to": "b"}, "has no role"),
        ({"from": "a", "to": "b", "drop": "w", "keep": "z"}, "has no column 'z'"),
    ],
)
def test_columns_that_do_not_fit_are_named(roles, words):
    with pytest.raises(SchemaError, match=words):
        read({"a": [1, 2], "b": [2, 3], "w": [0.5, 1.0]}, schema=Schema.from_roles(roles))


def test_a_column_of_role_direct_is_dropped_and_may_be_gone():
    schema = Schema.from_roles({"from": "a", "to": "b", "drop": "w"})
    assert edges(read({"a": [1], "b": [2], "w": ["x"]}, schema=schema)) == edges(
        read({"a": [1], "b": [2]}, schema=schema)
    )


def test_people_need_one_unit_and_no_hierarchies():
    from sfumato.methods.hierarchies import suppress

    beside = Schema(
        {"id": Attribute((Role.PERSON,)), "sex": Attribute((Role.QUASI,), hierarchy=suppress())}
    )
    with pytest.raises(SchemaError, match="remove the hierarchy of"):
        read({"a": [1], "b": [2]}, {"id": [1, 2], "sex": ["f", "m"]}, beside=beside)
    with pytest.raises(SchemaError, match="must have role person"):
        read({"a": [1], "b": [2]}, {"id": [1, 2]}, beside=Schema.from_roles({"quasi": "id"}))
    with pytest.raises(SchemaError, match="there is no table of people"):
        PeopleGraph.from_tables(
            {"data": pl.DataFrame({"a": [1], "b": [2]})}, {"data": TIES, "people": PEOPLE}, SOURCE
        )
    with pytest.raises(SchemaError, match="without descriptions of its columns"):
        PeopleGraph.from_tables(
            {"data": pl.DataFrame({"a": [1], "b": [2]}), "people": pl.DataFrame({"id": [1, 2]})},
            {"data": TIES},
            SOURCE,
        )


def test_errors_and_reprs_show_no_id():
    with pytest.raises(UnreadableInput) as error:
        read({"a": ["Ada Lovelace"], "b": ["Grace Hopper"]}, {"id": ["Grace Hopper", "somebody"]})
    assert "Ada" not in str(error.value) and "Grace" not in str(error.value)
    assert repr(read({"a": ["Ada"], "b": ["Grace"]})) == "PeopleGraph(2 people, 1 edges)"


def test_the_column_directed_says_it_of_all_ties():
    schema = Schema.from_roles({"from": "a", "to": "b", "keep": "directed"})
    made = read({"a": [1, 2], "b": [2, 3], "directed": [True, True]}, schema=schema)
    assert made.directed is True and made.to_tables()["data"]["directed"].to_list() == [True, True]
    assert (
        read({"a": [1, 2], "b": [2, 3], "directed": ["false", "false"]}, schema=schema).directed
        is False
    )
    with pytest.raises(UnreadableInput, match="true in every row"):
        read({"a": [1, 2], "b": [2, 3], "directed": [True, False]}, schema=schema)


def test_who_sees_no_direction_refuses_a_directed_graph_and_the_other_way_round():
    directed = graph(3, [(0, 1), (1, 2)]).with_arcs(np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(ParameterError, match="k_degree: the ties of ties are directed"):
        directed.seen("k_degree")
    with pytest.raises(ParameterError, match="are undirected"):
        graph(3, [(0, 1)]).with_edges(np.array([0]), np.array([1])).seen("k_degree", directed=True)


@given(graphs())
def test_what_is_written_is_read_back_the_same(people):
    shuffled = people.shuffled(np.random.default_rng(5))
    again = PeopleGraph.from_tables(shuffled.to_tables(), {"data": TIES, "people": PEOPLE}, SOURCE)
    assert again.arcs.tolist() == shuffled.arcs.tolist() and again.people == shuffled.people
    # without a table of people, whoever has no tie stands alone
    lonely = (
        PeopleGraph.from_tables({"data": people.to_tables()["data"]}, {"data": TIES}, SOURCE)
        if edges(people)
        else people
    )
    bare = PeopleGraph(people.people, people.arcs, TIES)
    if people.people >= 2:
        assert (
            PeopleGraph.from_tables(bare.to_tables(), {"data": TIES}, SOURCE).people
            == people.people
        )
    assert lonely.people <= people.people


@given(graphs())
def test_shuffling_keeps_who_is_tied_to_whom(people):
    shuffled = people.shuffled(np.random.default_rng(1))
    back = {
        tuple(sorted((int(shuffled.origin[u]), int(shuffled.origin[v]))))
        for u, v in shuffled.edges.T
    }
    assert back == edges(people)
    assert sorted(shuffled.origin.tolist()) == list(range(people.people))
    twice = shuffled.shuffled(np.random.default_rng(2))
    assert {
        tuple(sorted((int(twice.origin[u]), int(twice.origin[v])))) for u, v in twice.edges.T
    } == edges(people)


def test_a_direction_that_nobody_declared_is_not_released():
    made = read({"a": [3, 2], "b": [1, 1]}).shuffled(np.random.default_rng(0))
    data = made.to_tables()["data"]
    assert (data["a"] < data["b"]).all()
    arcs = (
        read({"a": [3, 2], "b": [1, 1]})
        .with_arcs(np.array([2, 1]), np.array([0, 0]))
        .shuffled(np.random.default_rng(0))
    )
    assert {
        (int(arcs.origin[u]), int(arcs.origin[v])) for u, v in arcs.to_tables()["data"].iter_rows()
    } == {
        (2, 0),
        (1, 0),
    }


def test_the_order_of_rows_does_not_matter():
    rows = [("x", "y"), ("z", "x"), ("y", "w")]
    one = read(
        {"a": [u for u, _ in rows], "b": [v for _, v in rows]},
        {"id": ["w", "x", "y", "z"], "sex": list("ffmm")},
        beside=Schema.from_roles({"person": "id", "quasi": "sex"}),
    )
    other = read(
        {"a": [u for u, _ in rows[::-1]], "b": [v for _, v in rows[::-1]]},
        {"id": ["z", "y", "x", "w"], "sex": list("mmff")},
        beside=Schema.from_roles({"person": "id", "quasi": "sex"}),
    )
    assert one.arcs.tolist() == other.arcs.tolist()
    assert one.own.equals(other.own)


def test_examples():
    karate = examples.karate()
    # Zachary 1977: 34 members, 78 ties
    assert karate.counts() == {"people": 34, "edges": 78, "without_edges": 0}
    network = examples.social_network(500, 4)
    assert network.people == 500
    assert edges(network) == edges(examples.social_network(500, 4))
    assert edges(network) != edges(examples.social_network(500, 4, seed=8))
    with pytest.raises(ParameterError, match="people"):
        examples.social_network(3, 4)
