"""Small graphs for tests: from pairs, drawn at random, and as networkx sees them."""

from __future__ import annotations

import networkx as nx
import polars as pl
from hypothesis import strategies as st

from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.graphs.graph import PeopleGraph

TIES = Schema.from_roles({"from": "a", "to": "b"})
PEOPLE = Schema.from_roles({"person": "id"})


def graph(people: int, pairs, own: dict | None = None, roles: dict | None = None) -> PeopleGraph:
    """A graph of people 0, 1, … with ties, and columns of their own."""
    data = pl.DataFrame(
        {"a": [u for u, _ in pairs], "b": [v for _, v in pairs]},
        schema={"a": pl.Int64, "b": pl.Int64},
    )
    table = pl.DataFrame({"id": list(range(people)), **(own or {})})
    beside = Schema.from_roles({"person": "id", **(roles or {})})
    return PeopleGraph.from_tables(
        {"data": data, "people": table}, {"data": TIES, "people": beside}, Source("ties")
    )


@st.composite
def graphs(draw, least=2, most=9):
    """Random graphs, some of them sparse."""
    people = draw(st.integers(least, most))
    pairs = [(u, v) for u in range(people) for v in range(u)]
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return graph(people, [pair for pair, there in zip(pairs, chosen, strict=True) if there])


def as_networkx(people: PeopleGraph) -> nx.Graph:
    """The same graph for the oracle."""
    oracle = nx.Graph()
    oracle.add_nodes_from(range(people.people))
    oracle.add_edges_from(people.edges.T.tolist())
    return oracle


def edges(people: PeopleGraph) -> set[tuple[int, int]]:
    """The ties, each once."""
    return {(int(u), int(v)) for u, v in people.edges.T}
