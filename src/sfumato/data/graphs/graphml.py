"""GraphML: graphs as XML, read and written by networkx (extra ``graph``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.data.graphs.from_tables import DIRECTED
from sfumato.errors import UnreadableInput, require

if TYPE_CHECKING:
    from pathlib import Path

TAIL, HEAD, UNIT = "source", "target", "id"
"""What the columns of a GraphML file are called: the ends of ties, and the ids of people."""
NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
"""An id that is a number as numbers are written; where all are, they are numbers."""


def read(path: Path) -> dict[str, pl.DataFrame]:
    """The ties of a GraphML file and its people; columns are called as its attributes are. Where
    ties have a direction, ``directed`` says so.

    The file must do without a document type and entities: these let a file grow without end, or
    read others.
    """
    networkx = require("networkx", extra="graph", to="read GraphML files")
    # Before networkx parses it: entities could read other files, or grow without end.
    _refuse_entities(path)
    try:
        graph = networkx.read_graphml(path)
    # A broken file makes networkx raise errors of many kinds; readers need one message.
    except (networkx.NetworkXError, ValueError, KeyError, TypeError, AttributeError):
        raise UnreadableInput(
            f"{path.name} is XML, but networkx cannot read it as GraphML; save it as GraphML again"
        ) from None
    people = [
        {UNIT: node, **_free(values, (UNIT,), path)} for node, values in graph.nodes(data=True)
    ]
    arrows = graph.is_directed()
    ties = [
        {**_ends(u, v, arrows), **_free(values, (TAIL, HEAD), path)}
        for u, v, values in graph.edges(data=True)
    ]
    for tie in ties:
        # what networkx calls the name of an edge that the file itself gives it
        if isinstance(tie.get("id"), str):
            del tie["id"]
    # All ids or none: numbers and words in one column could not be put into one order.
    numbers = all(NUMBER.fullmatch(node) for node in graph.nodes)
    data = _frame(ties, (TAIL, HEAD), path, numbers)
    if arrows:
        data = data.with_columns(pl.lit(True).alias(DIRECTED))
    return {"data": data, "people": _frame(people, (UNIT,), path, numbers)}


def _ends(tail: str, head: str, arrows: bool) -> dict[str, str]:
    """The ends of a tie; one without a direction is the same whichever way the file has it, numbers
    ascending.
    """
    # Shorter texts first, so that 9 comes before 10, as numbers do.
    if arrows or (len(tail), tail) <= (len(head), head):
        low, high = (tail, head)
    else:
        low, high = (head, tail)
    return {TAIL: low, HEAD: high}


def _refuse_entities(path: Path) -> None:
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    try:
        # Reading through the file is enough: it raises at the first entity or document type.
        for _ in iterparse(path, forbid_dtd=True):
            pass
    except ParseError as error:
        line = error.position[0] if hasattr(error, "position") else 1
        raise UnreadableInput(
            f"{path.name}, line {line}: this is not valid XML; correct it or export the file again"
        ) from None
    except DefusedXmlException:
        raise UnreadableInput(
            f"{path.name} has a document type or entities, which are not read; remove the "
            "<!DOCTYPE …>"
        ) from None
    except OSError as error:
        raise UnreadableInput(f"cannot read {path.name}: {error.strerror}") from None


def _free(values: Fields, reserved: tuple[str, ...], path: Path) -> Fields:
    """Attributes, unless one is called as a column of ours."""
    clash = [name for name in reserved if name in values]
    if clash:
        raise UnreadableInput(
            f"{path.name} has an attribute called {clash[0]!r}, a name that sfumato uses "
            "itself; rename it"
        )
    return values


def _frame(
    rows: list[Document], own_columns: tuple[str, ...], path: Path, numbers: bool
) -> pl.DataFrame:
    # Attributes in the order in which they first occur; a row may lack some of them.
    names = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in own_columns
    ]
    try:
        columns = {name: pl.Series(name, [row.get(name) for row in rows]) for name in names}
    except (TypeError, pl.exceptions.PolarsError):
        raise UnreadableInput(
            f"an attribute of {path.name} has values of several types; use one type"
        ) from None
    ids = {
        name: pl.Series(name, [row[name] for row in rows], dtype=pl.String) for name in own_columns
    }
    frame = pl.DataFrame({**ids, **columns})
    if not numbers:
        return frame
    return frame.with_columns(pl.col(own_columns).cast(pl.Int64))


def write(tables: Mapping[str, pl.DataFrame], path: Path, *, directed: bool = False) -> None:
    """Write the tables of a graph as GraphML: the first two columns of ``data`` are the ends of
    ties, the first of ``people`` names them.
    """
    networkx = require("networkx", extra="graph", to="write GraphML files")
    graph = networkx.DiGraph() if directed else networkx.Graph()
    if "people" in tables:
        names = tables["people"].columns
        for row in tables["people"].iter_rows():
            values = {
                name: _plain(value)
                for name, value in zip(names[1:], row[1:], strict=True)
                if value is not None
            }
            graph.add_node(str(row[0]), **values)
    for tail, head in tables["data"].select(tables["data"].columns[:2]).iter_rows():
        # A row without a second end is a person without ties.
        if head is None:
            graph.add_node(str(tail))
        else:
            graph.add_edge(str(tail), str(head))
    networkx.write_graphml_xml(graph, path, encoding="utf-8")


def _plain(value: object) -> Any:
    """What GraphML has a type for, and text for everything else."""
    if isinstance(value, bool | int | float | str):
        return value
    return str(value)
