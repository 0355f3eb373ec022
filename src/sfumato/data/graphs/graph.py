"""The noun of graphs: people as vertices, and the ties between them as sorted arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import narwhals as nw
import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.data import PeopleData
from sfumato.core.randomness import row_keys
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.data.graphs.from_tables import DIRECTED, ascending, parts_of
from sfumato.data.graphs.known_ties import known_ties_of
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(NamedTuple):
    """Rows of neighbours: those of *v* are ``ends[starts[v]:starts[v + 1]]``, ascending."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int32]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours everybody has."""
        return np.diff(self.starts)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleGraph(PeopleData):
    """People and the ties between them.

    ``arcs`` has two rows, where ties begin and where they end, as the file has them: sorted, each
    once, none from a person to itself. ``own`` holds the people's own columns, row *v* for vertex
    *v*, without ids and direct identifiers; ``beside`` says what they are. ``directed`` is what is
    known of the direction of ties: True or False by the file or by what a step made, None of an
    edge list, where whoever looks says how to see it. What is released of a graph that is not known
    to be directed tells no direction: a tie is then written once, the smaller number first.

    People are numbered in the order of their ids. ``origin`` holds −1 for a person who was drawn
    and stands for nobody.

    >>> from sfumato import examples
    >>> karate = examples.karate()
    >>> karate.people, karate.counts()["edges"], int(karate.ties.degrees.max())
    (34, 78, 17)
    """

    nodes: int
    arcs: NDArray[np.int32]
    schema: Schema
    source: Source = dataclasses.field(default_factory=Source)
    beside: Schema | None = None
    own: pl.DataFrame | None = None
    directed: bool | None = None
    origin: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    shape: ClassVar[Shape] = Shape.GRAPH

    def __repr__(self) -> str:
        counts = self.counts()
        return f"PeopleGraph({counts['people']:,} people, {counts['edges']:,} edges)"

    @classmethod
    def fixed_form(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, pl.DataFrame]:
        """Ties between people who are listed: no tie can be an error."""
        return known_ties_of(tables, schemas)

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """Read a graph from its ties (``data``) and the people's own columns (``people``)."""
        parts = parts_of(tables, schemas, source)
        beside = schemas.get("people")
        return cls(
            parts.nodes,
            parts.arcs,
            schemas["data"],
            source,
            beside,
            parts.own,
            parts.directed,
            notes=parts.notes,
        )

    @classmethod
    def read_own_format(cls, path: Path) -> Mapping[str, pl.DataFrame] | None:
        """The tables of a GraphML file; None: this is no such file."""
        if path.suffix.lower() != ".graphml":
            return None
        # Imported here, as XML is needed for this format alone.
        from sfumato.data.graphs.graphml import read

        return read(path)

    @property
    def people(self) -> int:
        """Number of people, those without a tie too."""
        return self.nodes

    @cached_property
    def edges(self) -> NDArray[np.int32]:
        """Every tie once, whatever its direction: two rows, the smaller number first, sorted."""
        low = np.minimum(*self.arcs)
        high = np.maximum(*self.arcs)
        # Already as asked: no sorting, no copy.
        if (self.arcs[0] < self.arcs[1]).all():
            return self.arcs
        keys = ascending(low.astype(np.int64) * self.nodes + high)
        return np.stack([keys // self.nodes, keys % self.nodes]).astype(np.int32)

    @cached_property
    def ties(self) -> Rows:
        """The neighbours of everybody, whatever the direction of ties."""
        return rows_of(self.nodes, self.edges)

    @cached_property
    def out(self) -> Rows:
        """Where the ties of everybody lead."""
        return Rows(*kernels.graphs.build_arc_rows(self.nodes, self.arcs[0], self.arcs[1]))

    @cached_property
    def into(self) -> Rows:
        """Where the ties to everybody come from."""
        return Rows(*kernels.graphs.build_arc_rows(self.nodes, self.arcs[1], self.arcs[0]))

    def seen(self, asker: str, directed: bool = False) -> Self:
        """The same graph, if it may be looked at so: somebody who sees no direction refuses a
        directed graph by name.
        """
        # A graph of which nothing is known (None) may be seen either way.
        if self.directed is True and not directed:
            raise ParameterError(
                f"{asker}: the ties of {self.source.name} are directed, which this ignores; set "
                "'directed: true' where there is such a parameter, or read the graph as "
                "undirected"
            )
        if self.directed is False and directed:
            raise ParameterError(
                f"{asker}: directed is true, but the ties of {self.source.name} are "
                "undirected; leave directed out"
            )
        return self

    @property
    def quasi(self) -> tuple[str, ...]:
        """The people's own columns that an intruder may know."""
        if self.beside is None or self.own is None:
            return ()
        return tuple(c for c in self.beside.quasi if c in self.own)

    @cached_property
    def labels(self) -> NDArray[np.uint64]:
        """A word for everybody that is the same for the same quasi-identifiers, in any graph; 0
        where there are none.
        """
        return labels_in(self.own, self.quasi, self.nodes)

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """Ties, and the people's own columns under their numbers; who has no tie and no such row
        is unique in a row of ``data``.
        """
        tail = self.schema.columns(Role.FROM)[0]
        head = self.schema.columns(Role.TO)[0]
        # Unless a direction is known, none is released: which end came first may tell who asked
        # whom.
        ends = self.arcs if self.directed else self.edges
        unit = None
        if self.beside is not None:
            unit = self.beside.units[0]
        if unit is None:
            # With a table of people everybody is listed there; without one, people without ties
            # would be lost.
            lonely = np.flatnonzero(self.ties.degrees == 0)
        else:
            lonely = np.zeros(0, np.int64)
        alone = pl.Series(head, [None] * len(lonely), dtype=pl.Int64)
        data = pl.DataFrame({tail: np.append(ends[0].astype(np.int64), lonely)}).with_columns(
            pl.concat([pl.Series(head, ends[1].astype(np.int64)), alone])
        )
        if DIRECTED in self.schema.attributes:
            data = data.with_columns(pl.lit(bool(self.directed)).alias(DIRECTED))
        tables = {"data": data.sort(tail, head, nulls_last=True)}
        if unit is not None:
            numbers = pl.DataFrame({unit: np.arange(self.nodes, dtype=np.int64)})
            if self.own is None:
                tables["people"] = numbers
            else:
                tables["people"] = numbers.hstack(self.own.get_columns())
        return tables

    def to_graphml(self, path: str | Path) -> None:
        """Write the graph as GraphML, with the people's own columns; the numbers of people are
        their ids.
        """
        from sfumato.data.graphs.graphml import write

        write(self.to_tables(), Path(path), directed=bool(self.directed))

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people under new numbers; a direction that is not known to be one is
        forgotten.
        """
        order = stream.permutation(self.nodes)
        # Vertex ``order[i]`` gets the number i; this is the inverse.
        number = np.empty(self.nodes, dtype=np.int64)
        number[order] = np.arange(self.nodes)
        arcs = number[self.arcs]
        # After renumbering, the smaller number may be the second one.
        if not self.directed:
            arcs = np.stack([arcs.min(axis=0), arcs.max(axis=0)])
        keys = ascending(arcs[0] * self.nodes + arcs[1])
        if self.origin is None:
            origin = order
        else:
            origin = self.origin[order]
        return dataclasses.replace(
            self,
            arcs=np.stack([keys // self.nodes, keys % self.nodes]).astype(np.int32),
            own=None if self.own is None else self.own[order],
            origin=origin.astype(np.int64),
        )

    def counts(self) -> dict[str, int]:
        """People, edges (a pair that is tied in both directions counts twice, unless ties have no
        direction), and people without any.
        """
        return {
            "people": self.nodes,
            "edges": self.edges.shape[1] if self.directed is False else self.arcs.shape[1],
            "without_edges": int((self.ties.degrees == 0).sum()),
        }

    def with_edges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Self:
        """The same people with other ties, which have no direction."""
        # Sorted and each once: a tie that is added and was there already is still one.
        keys = ascending(
            np.minimum(low, high).astype(np.int64) * self.nodes + np.maximum(low, high)
        )
        arcs = np.stack([keys // self.nodes, keys % self.nodes]).astype(np.int32)
        return dataclasses.replace(self, arcs=arcs, directed=False)

    def with_arcs(self, tails: NDArray[np.int64], heads: NDArray[np.int64]) -> Self:
        """The same people with other ties, which have a direction."""
        keys = ascending(tails.astype(np.int64) * self.nodes + heads)
        arcs = np.stack([keys // self.nodes, keys % self.nodes]).astype(np.int32)
        return dataclasses.replace(self, arcs=arcs, directed=True)

    def with_own(self, own: pl.DataFrame | None) -> Self:
        """The same graph with other columns of the people."""
        return dataclasses.replace(self, own=own)


def labels_in(own: pl.DataFrame | None, quasi: tuple[str, ...], nodes: int) -> NDArray[np.uint64]:
    """The word of everybody's values in some columns; 0 where there are none."""
    if own is None or not quasi:
        return np.zeros(nodes, dtype=np.uint64)
    # Values are hashed, so that equal ones have equal words in any graph, however rows are coded.
    return row_keys(Table(nw.from_native(own.select(quasi), eager_only=True)))


def rows_of(nodes: int, edges: NDArray[np.int32]) -> Rows:
    """The rows of neighbours of edges that stand sorted, the smaller number first."""
    return Rows(*kernels.graphs.build_edge_rows(nodes, edges[0], edges[1]))
