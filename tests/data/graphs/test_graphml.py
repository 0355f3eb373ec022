"""GraphML: read by networkx, safely, and written back."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest

from sfumato import examples
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.errors import MissingExtra, SchemaError, UnreadableInput

ENDS = {"from": "source", "to": "target"}


def written(graph, path):
    nx.write_graphml_xml(graph, path)
    return path


def as_graph(path, ends=ENDS, people=None):
    return PeopleGraph.from_tables(
        PeopleGraph.read_own_format(path),
        {"data": Schema.from_roles(ends), "people": Schema.from_roles(people or {"person": "id"})},
        Source(path.name),
    )


def test_people_and_their_columns(tmp_path):
    oracle = nx.Graph()
    oracle.add_node("ada", age=36, sex="f")
    oracle.add_node("bob", age=41, sex="m")
    oracle.add_node("eve", age=29)
    oracle.add_edge("ada", "bob")
    made = as_graph(
        written(oracle, tmp_path / "g.graphml"), people={"person": "id", "quasi": ["age", "sex"]}
    )
    assert made.counts() == {"people": 3, "edges": 1, "without_edges": 1}
    assert made.own.to_dict(as_series=False) == {"age": [36, 41, 29], "sex": ["f", "m", None]}
    assert made.directed is None


def test_the_flag_of_directed_graphs(tmp_path):
    file = written(nx.DiGraph([("a", "b"), ("b", "c")]), tmp_path / "g.graphml")
    made = as_graph(file, {**ENDS, "keep": "directed"})
    assert made.directed is True
    assert made.arcs.T.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(SchemaError, match="'directed'"):
        as_graph(file)


def test_attributes_of_ties_need_a_role(tmp_path):
    file = written(nx.Graph([("a", "b", {"since": 3})]), tmp_path / "g.graphml")
    with pytest.raises(SchemaError, match="'since'"):
        as_graph(file)
    assert as_graph(file, {**ENDS, "drop": "since"}).people == 2


def test_parallel_ties_are_one(tmp_path):
    made = as_graph(
        written(nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")]), tmp_path / "g.graphml")
    )
    assert made.counts()["edges"] == 2
    assert made.notes == ("1 repeated tie(s) were removed",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM'
                ' "file:///etc/passwd">]><graphml>&x;</graphml>'
            ),
            "document type or entities",
        ),
        (
            (
                '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "aa"><!ENTITY b'
                ' "&a;&a;">]><graphml>&b;</graphml>'
            ),
            "document type or entities",
        ),
        ("<graphml><graph>", "line 1: this is not valid XML"),
        ("a,b\n1,2\n", "not valid XML"),
        ("<html></html>", "cannot read it as GraphML"),
    ],
)
def test_what_is_not_read(tmp_path, text, words):
    file = tmp_path / "g.graphml"
    file.write_text(text)
    with pytest.raises(UnreadableInput, match=words):
        PeopleGraph.read_own_format(file)


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    assert PeopleGraph.read_own_format(tmp_path / "ties.csv") is None
    with pytest.raises(UnreadableInput, match="cannot read"):
        PeopleGraph.read_own_format(tmp_path / "none.graphml")


def test_without_networkx_the_extra_is_named(tmp_path, monkeypatch):
    file = written(nx.path_graph(3), tmp_path / "g.graphml")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[graph\]'"):
        PeopleGraph.read_own_format(file)


@pytest.mark.parametrize("directed", [False, True])
def test_what_is_written_is_read_back(tmp_path, directed):
    karate = examples.karate()
    made = karate.with_arcs(*karate.arcs.astype(np.int64)) if directed else karate
    made.to_graphml(tmp_path / "out.graphml")
    again = as_graph(
        tmp_path / "out.graphml", {**ENDS, **({"keep": "directed"} if directed else {})}
    )
    assert again.arcs.tolist() == made.arcs.tolist()
    assert (again.people, bool(again.directed)) == (34, directed)


def test_ties_without_direction_have_none_whatever_the_order_of_the_file(tmp_path):
    there, back = nx.Graph([("a", "b"), ("b", "c")]), nx.Graph([("c", "b"), ("b", "a")])
    both = [
        as_graph(written(graph, tmp_path / f"{n}.graphml")) for n, graph in enumerate((there, back))
    ]
    assert both[0].arcs.tolist() == both[1].arcs.tolist()
