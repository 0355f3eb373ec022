"""Baskets that were taken apart: clusters of people, and in each the items in chunks whose parts of
a person are not joined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from sfumato.core.data import PeopleData
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLUSTER, CHUNK, RECORD = "cluster", "chunk", "record"
TERMS = 0
"""The chunk of items that so few of a cluster have that nothing but their names is released."""
SIZE = -1
"""The chunk that says how many people a cluster has, as its one record."""


@dataclasses.dataclass(frozen=True, repr=False)
class Cluster:
    """People who were taken apart together: ``size`` of them, ``chunks`` of parts of baskets
    (shuffled), and bare ``terms``.

    The parts of a chunk are sets of its items, one for every person who has any; ``terms`` are
    items of which is said no more than that somebody in the cluster has them.
    """

    size: int
    chunks: tuple[tuple[frozenset[str], ...], ...]
    terms: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, eq=False)
class Disassociated(PeopleData):
    """People whose baskets were taken apart. ``origin`` only says who is in it: nobody has a row of
    the own.
    """

    schema: Schema
    source: Source
    clusters: tuple[Cluster, ...]
    item: str
    origin: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    beside: Schema | None = None

    shape: ClassVar[Shape] = Shape.BASKETS

    @staticmethod
    def is_one(data: pl.DataFrame, schema: Schema) -> bool:
        """Whether a table holds baskets that were taken apart."""
        items = schema.columns(Role.ITEM)
        # No other release has these four columns and nothing else.
        return len(items) == 1 and set(data.columns) == {CLUSTER, CHUNK, RECORD, items[0]}

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """Read the clusters back from the table that :meth:`written` gives."""
        data, item = tables["data"], schemas["data"].columns(Role.ITEM)[0]
        whole = [data.schema[name].is_integer() for name in (CLUSTER, CHUNK, RECORD)]
        if not all(whole) or any(data[name].null_count() for name in (CLUSTER, CHUNK, RECORD)):
            raise SchemaError(
                f"{source.name}: {CLUSTER}, {CHUNK} and {RECORD} must be whole numbers in every row"
            )
        rows = data.select(CLUSTER, CHUNK, RECORD, pl.col(item).cast(pl.String)).rows()
        return cls(_columns(schemas["data"], item), source, _clusters(rows, source), item)

    def __repr__(self) -> str:
        return f"Disassociated({self.people:,} people in {len(self.clusters):,} clusters)"

    @cached_property
    def people(self) -> int:
        """Number of persons."""
        return sum(cluster.size for cluster in self.clusters)

    def counts(self) -> dict[str, int]:
        """How many people, clusters, chunks, different items and bare items there are."""
        chunks = [chunk for cluster in self.clusters for chunk in cluster.chunks]
        items = {item for chunk in chunks for part in chunk for item in part}
        return {
            "people": self.people,
            "clusters": len(self.clusters),
            "chunks": len(chunks),
            "items": len(items.union(*(cluster.terms for cluster in self.clusters))),
            "bare items": sum(len(cluster.terms) for cluster in self.clusters),
        }

    def shuffled(self, stream: np.random.Generator) -> Self:
        """Clusters in a random order, and the parts of every chunk by themselves; whoever is in it
        is in it in a new order.
        """
        # A new order everywhere: by the order of the parts, chunks could be joined person by
        # person.
        order = stream.permutation(len(self.clusters)).tolist()
        shuffled_clusters = []
        for number in order:
            chunks = []
            for chunk in self.clusters[number].chunks:
                positions = stream.permutation(len(chunk)).tolist()
                chunks.append(tuple(chunk[i] for i in positions))
            cluster = dataclasses.replace(self.clusters[number], chunks=tuple(chunks))
            shuffled_clusters.append(cluster)
        clusters = tuple(shuffled_clusters)
        # Only who is in the release is kept of the origins, so their order must reveal nothing
        # either.
        if self.origin is None:
            origin = None
        else:
            origin = self.origin[stream.permutation(len(self.origin))]
        return dataclasses.replace(self, clusters=clusters, origin=origin)

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """One table: cluster, chunk (0: bare items, −1: the number of people), record within the
        chunk, item.
        """
        rows: list[tuple[int, int, int, str | None]] = []
        for number, cluster in enumerate(self.clusters, start=1):
            # The size stands where others have the number of a record. Parts are written only for
            # who has items of a chunk, so the rows alone would not tell how many people there are.
            rows.append((number, SIZE, cluster.size, None))
            rows += [
                (number, TERMS, term_number, item)
                for term_number, item in enumerate(sorted(cluster.terms), start=1)
            ]
            for chunk, parts in enumerate(cluster.chunks, start=1):
                for record, part in enumerate(parts, start=1):
                    rows += [(number, chunk, record, item) for item in sorted(part)]
        types = {CLUSTER: pl.Int64, CHUNK: pl.Int64, RECORD: pl.Int64, self.item: pl.String}
        return {"data": pl.DataFrame(rows, schema=types, orient="row")}


def _columns(schema: Schema, item: str) -> Schema:
    """What the columns of a release are."""
    plain = Attribute((Role.KEEP,))
    return Schema({CLUSTER: plain, CHUNK: plain, RECORD: plain, item: schema[item]})


def released_schema(schema: Schema) -> Schema:
    """The schema of a release of such baskets."""
    return _columns(schema, schema.columns(Role.ITEM)[0])


def _clusters(rows: list[tuple[Any, ...]], source: Source) -> tuple[Cluster, ...]:
    # Cluster → chunk → record → items.
    records_by_chunk: dict[int, dict[int, dict[int, set[str]]]] = {}
    for cluster, chunk, record, item in rows:
        parts = (
            records_by_chunk.setdefault(cluster, {}).setdefault(chunk, {}).setdefault(record, set())
        )
        if item is not None:
            parts.add(item)
    problems = [
        # A cluster says its size once: exactly one record in the chunk of sizes.
        cluster
        for cluster, chunks in records_by_chunk.items()
        if len(chunks.get(SIZE, {})) != 1
    ]
    if problems:
        raise SchemaError(
            f"{source.name}: {len(problems)} cluster(s) do not say how many people they have"
            " (chunk −1)"
        )
    return tuple(_cluster(records_by_chunk[number]) for number in sorted(records_by_chunk))


def _cluster(chunks: Mapping[int, Mapping[int, set[str]]]) -> Cluster:
    parts = (
        tuple(frozenset(part) for _, part in sorted(chunks[number].items()))
        for number in sorted(chunks)
        # Chunks 0 and −1 are no chunks of parts: the bare items and the size.
        if number > 0
    )
    bare: frozenset[str] = frozenset().union(*chunks.get(TERMS, {}).values())
    return Cluster(next(iter(chunks[SIZE])), tuple(parts), bare)
