"""Disassociation: items of a person are not generalised or deleted, but no longer stand
together.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.disassociated import Cluster, Disassociated, released_schema
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.plans import aims
from sfumato.errors import Unsatisfiable
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DisassociationPlan(Plan):
    """The clusters, and who is in them."""

    clusters: tuple[Cluster, ...]
    people: NDArray[np.int64]
    left_out: int
    own_columns: int

    def describe(self) -> Document:
        """What was made, in counts."""
        return {
            "clusters": len(self.clusters),
            "smallest_cluster": min(cluster.size for cluster in self.clusters),
            "chunks": sum(len(cluster.chunks) for cluster in self.clusters),
            "bare_items": sum(len(cluster.terms) for cluster in self.clusters),
            "people_left_out": self.left_out,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Who and what is not in the release."""
        sentences = []
        if self.left_out:
            sentences.append(f"{self.left_out:,} people without items are not in the release")
        if self.own_columns:
            sentences.append(
                f"{self.own_columns:,} own column(s) of people are not in the release: its rows "
                "belong to no person"
            )
        return (
            *sentences,
            (
                "k people may have the known items, but not all equally likely; releases of this "
                "kind have been attacked through the method itself"
            ),
        )


@parameters
class Disassociation(Step):
    """Takes baskets apart: people are clustered, and within a cluster their items are released in
    chunks that cannot be joined.

    People are split by their most frequent item not used yet, until a cluster has fewer than
    ``size``. In each, items that fewer than k have are released as bare names; the others, by
    falling support, join a chunk as long as its parts stay k^m-anonymous. A cluster that breaks the
    rule of ``disassociated_km`` is joined to the next. Released are cluster, chunk, record within
    the chunk and item: a release of its own form, without own columns of people. It promises less
    than it seems (see that promise), so no recipe of ours proposes it.

    Reference: Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012, doi:10.14778/2336664.2336668;
    Barakat et al. 2016, doi:10.5220/0005969403180326, for what breaks it.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    size: Annotated[
        int, Field(ge=2, description="people from which a cluster is split further")
    ] = 50

    name: ClassVar[str] = "disassociation"
    tells: ClassVar[tuple[str, ...]] = (
        "clusters",
        "smallest_cluster",
        "chunks",
        "bare_items",
        "people_left_out",
    )

    def plan(self, people: Any, goal: Goal) -> DisassociationPlan:
        """Make the clusters."""
        aims(
            self.name,
            people,
            goal,
            lambda model: isinstance(model, DisassociatedKm),
            "disassociated_km",
        )
        promises: tuple[Any, ...] = goal.models
        km_models = [model for model in promises if isinstance(model, DisassociatedKm)]
        # One rule that is at least as strict as every promise of the recipe.
        rule = DisassociatedKm(
            max(model.k for model in km_models), max(model.m for model in km_models)
        )
        parts = horizontal(people.sets, max(self.size, rule.k))
        clusters_made: list[tuple[NDArray[np.int64], Cluster]] = []
        # Ends: every failure makes one cluster of two, and all people in one cluster either pass or
        # are refused.
        while parts:
            rows = parts.pop(0)
            cluster = vertical(people, rows, rule)
            if rule.allows(cluster):
                clusters_made.append((rows, cluster))
            elif parts:
                parts[0] = np.concatenate([rows, parts[0]])
            elif clusters_made:
                # The last one has no next. It goes back to the cluster before, which is remade.
                parts = [np.concatenate([clusters_made.pop()[0], rows])]
            else:
                raise Unsatisfiable(
                    f"disassociation does not reach {rule.promise}: even all people together can "
                    "be reconstructed in too few ways; ask for a smaller k or m",
                    closest={
                        "people": len(rows),
                        "chunks": len(cluster.chunks),
                        "bare_items": len(cluster.terms),
                    },
                )
        members = np.concatenate([rows for rows, _ in clusters_made])
        return DisassociationPlan(
            tuple(cluster for _, cluster in clusters_made),
            members,
            people.people - people.filled,
            people.own.width,
        )

    def apply(self, people: Any, plan: DisassociationPlan) -> Disassociated:
        """The clusters in the place of the people."""
        if people.origin is None:
            origin = plan.people
        else:
            origin = people.origin[plan.people]
        return Disassociated(
            released_schema(people.schema),
            people.source,
            plan.clusters,
            people.item,
            origin,
            people.notes,
        )


def horizontal(sets: ItemSets, size: int) -> list[NDArray[np.int64]]:
    """People with items in clusters of fewer than ``size``, split by the most frequent item that
    was not used above (ties in order).
    """
    waiting = [(np.flatnonzero(sets.lengths > 0), frozenset[int]())]
    parts_done: list[NDArray[np.int64]] = []
    while waiting:
        rows, used = waiting.pop()
        part = sets.taken(rows)
        supports = part.supports.copy()
        # An item that was used above is in all baskets of this part: it cannot split.
        supports[list(used)] = 0
        item = int(np.argmax(supports))
        # Small enough, or nothing left to split by (all baskets hold only items that were used).
        if len(rows) < size or not supports[item]:
            parts_done.append(rows)
            continue
        has = np.zeros(len(rows), dtype=bool)
        has[part.carriers(item)] = True
        if not has.all():
            waiting.append((rows[~has], used))
        # Pushed last, so taken first: parts come out with those alike in frequent items side by
        # side, which helps where clusters must be joined to the next.
        waiting.append((rows[has], used | {item}))
    return parts_done


def vertical(people: Baskets, rows: NDArray[np.int64], rule: DisassociatedKm) -> Cluster:
    """One cluster: its chunks by falling support of items, and the items that too few have."""
    part = people.sets.taken(rows)
    supports = part.supports
    names = people.labels
    baskets = [
        frozenset(names[item] for item in part[number].tolist()) for number in range(len(part))
    ]
    # Names settle ties, so that the chunks do not depend on the numbers of items.
    order = sorted(
        np.flatnonzero(supports).tolist(), key=lambda item: (-int(supports[item]), names[item])
    )
    items_left = [names[item] for item in order if supports[item] >= rule.k]
    terms = frozenset(names[item] for item in order if supports[item] < rule.k)
    chunks: list[tuple[frozenset[str], ...]] = []
    # Each round takes at least the first item left: alone it has k carriers. So this ends.
    while items_left:
        chunk: frozenset[str] = frozenset()
        for item in items_left:
            # An item that does not fit now may still fit into a later chunk; none is given up.
            if rule.kept_by(_projected(baskets, chunk | {item})):
                chunk |= {item}
        chunks.append(_projected(baskets, chunk))
        items_left = [item for item in items_left if item not in chunk]
    return Cluster(len(rows), tuple(chunks), terms)


def _projected(baskets: list[frozenset[str]], items: frozenset[str]) -> tuple[frozenset[str], ...]:
    """What everybody has of some items, in an order that reveals nothing of people; who has none
    has no part.
    """
    return tuple(sorted((part for basket in baskets if (part := basket & items)), key=sorted))


def reconstructed(people: Disassociated, stream: np.random.Generator) -> Baskets:
    """One way to put the baskets together: the parts of each chunk go to different people of the
    cluster, bare items to anybody.

    Analyse several of them, drawn by different streams: what they agree on is what the release
    tells.
    """
    baskets: list[set[str]] = []
    for cluster in people.clusters:
        own: list[set[str]] = [set() for _ in range(cluster.size)]
        for chunk in cluster.chunks:
            # A chunk has fewer parts than the cluster has people where some have none of its items.
            for person, part in zip(stream.permutation(cluster.size).tolist(), chunk, strict=False):
                own[person] |= part
        for item in sorted(cluster.terms):
            own[int(stream.integers(cluster.size))].add(item)
        baskets += own
    table = pl.DataFrame(
        {people.item: [sorted(own) for own in baskets]}, schema={people.item: pl.List(pl.String)}
    )
    schema = Schema(
        {people.item: Attribute((Role.ITEM,), hierarchy=people.schema[people.item].hierarchy)}
    )
    read: Baskets = Baskets.from_tables({"data": table}, {"data": schema}, people.source)
    return read
