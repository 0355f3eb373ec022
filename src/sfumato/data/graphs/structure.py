"""What a graph is still worth: its ties, triangles, distances, degrees and eigenvalues beside those
of the original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.data import Pair
from sfumato.core.metric import Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.graphs.from_tables import ascending
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.knowledge import triangles_of
from sfumato.data.graphs.plans import in_both

if TYPE_CHECKING:
    from numpy.typing import NDArray


ENOUGH = 1e-6
"""Relative error of an eigenvalue at which iterations end."""


def _relative(before: float, after: float) -> float:
    """How far two numbers are apart as a share of the larger one: 0 to 1."""
    largest = max(abs(before), abs(after))
    if largest == 0:
        return 0.0
    return min(1.0, abs(before - after) / largest)


@parameters
class EdgesChanged(Utility):
    r"""Share of ties that came or went: :math:`|E \triangle E'| / |E \cup E'|`.

    E' is read with the original numbers of people. The direction of ties counts where both graphs
    are known to have one. 0: all ties are as they were; 1: none is.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})
    name: ClassVar[str] = "edges_changed"
    title: ClassVar[str] = "Ties changed"

    def applies(self, pair: Pair) -> str | None:
        """Not where people of the release stand for nobody."""
        released = pair.released
        if released.origin is not None and (released.origin < 0).any():
            return "the people of the release are synthetic, so no tie is the same"
        return None

    def measure(self, pair: Pair) -> Measure:
        """Compare ties by who they are between."""
        original = pair.original
        released = pair.released
        # A direction that one of the graphs lacks would make every tie a difference.
        directed = bool(original.directed and released.directed)
        old = _keys(original, original.arcs if directed else original.edges, None, directed)
        new = _keys(
            original, released.arcs if directed else released.edges, released.origin, directed
        )
        shared = in_both(old, new)
        # Ties of either graph, those of both counted once.
        total = len(old) + len(new) - shared
        changed = total - shared
        return Measure(
            self.name,
            changed / total if total else 0.0,
            "lower",
            f"{len(new) - shared:,} ties were added and {len(old) - shared:,} of "
            f"{len(old):,} were removed",
            raw=float(changed),
        )


def _keys(
    graph: PeopleGraph, ends: NDArray[np.int32], origin: NDArray[np.int64] | None, directed: bool
) -> NDArray[np.int64]:
    if origin is None:
        people = ends.astype(np.int64)
    else:
        people = origin[ends]
    if not directed:
        # Without a direction the smaller number comes first, also after going back to the
        # original's.
        people = np.sort(people, axis=0)
    return ascending(people[0] * graph.people + people[1])


@parameters
class Clustering(Utility):
    r"""Difference of the average clustering
    coefficient, :math:`\frac{1}{n}\sum_v \frac{2 t(v)}{d(v)(d(v)-1)}`, t(v) the triangles of v.

    People with fewer than two ties count 0. The direction of ties does not matter.

    Reference: Watts & Strogatz 1998, doi:10.1038/30918.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})
    name: ClassVar[str] = "clustering"

    def measure(self, pair: Pair) -> Measure:
        """Count triangles in both graphs."""
        original = pair.original
        released = pair.released
        before = clustering_of(original)
        after = clustering_of(released)
        meaning = f"average clustering {before:.4g} before, {after:.4g} after"
        return Measure(self.name, abs(before - after), "lower", meaning, raw=after)


def clustering_of(graph: PeopleGraph) -> float:
    """The average clustering coefficient."""
    degrees = graph.ties.degrees
    pairs = degrees * (degrees - 1)
    return float(
        # People with fewer than two ties have no pair of neighbours; they count 0.
        np.divide(
            2 * triangles_of(graph), pairs, out=np.zeros(graph.people), where=pairs > 0
        ).mean()
    )


@parameters
class PathLengths(Utility):
    r"""Difference of the average distance between people who reach each other, as a share of the
    larger average.

    Distances from ``sources`` people, the same ones before and after where the release says who is
    who; all people where there are no more of them. Direction does not matter.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    sources: Annotated[int, Field(ge=1, description="people from whom distances are measured")] = 50

    name: ClassVar[str] = "path_lengths"

    def measure(self, pair: Pair) -> Measure:
        """Breadth first from a sample, in both graphs."""
        original = pair.original
        released = pair.released
        # Always the same sample: a measure must not change from run to run.
        order = Seed(0).stream(self.name).permutation(original.people)[: self.sources]
        positions = order
        # Where people stand for nobody, any other people will do: only averages are compared.
        if released.origin is not None and (released.origin >= 0).all():
            number = np.full(original.people, -1, dtype=np.int64)
            number[released.origin] = np.arange(released.people)
            positions = number[order]
        before = mean_distance(original, order)
        after = mean_distance(released, positions[positions >= 0])
        meaning = (
            f"average distance {before[0]:.4g} before, {after[0]:.4g} after; {percent(before[1])} "
            f"and {percent(after[1])} of pairs are connected"
        )
        return Measure(self.name, _relative(before[0], after[0]), "lower", meaning, raw=after[0])


def mean_distance(graph: PeopleGraph, sources: NDArray[np.int64]) -> tuple[float, float]:
    """The average distance from some people to those they reach, and the share of pairs that do."""
    reached = np.empty(graph.people, dtype=np.int32)
    queue = np.empty(graph.people, dtype=np.int32)
    total, pairs = 0, 0
    for source in sources:
        count = kernels.graphs.search_breadth_first(*graph.ties, source, reached, queue)
        # 0 is the person itself, −1 who is not reached.
        total += int(reached[reached > 0].sum())
        pairs += int(count) - 1
    return total / pairs if pairs else 0.0, pairs / max(1, len(sources) * (graph.people - 1))


@parameters
class DegreeDistance(Utility):
    r"""Distance of the degree distributions, as a share of
    the ties: :math:`\sum_i |d_{(i)} - d'_{(i)}| / \sum_i \max(d_{(i)}, d'_{(i)})`.

    Sorted degrees are compared one by one, which is the earth mover's distance between both
    distributions; ``raw`` is that distance per person. Who is who does not matter.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})
    name: ClassVar[str] = "degree_distance"

    def measure(self, pair: Pair) -> Measure:
        """Compare sorted degrees."""
        original = pair.original
        released = pair.released
        # Both files are of the same number of people; the i-th smallest is compared with the i-th.
        before, after = (np.sort(graph.ties.degrees) for graph in (original, released))
        apart = np.abs(before - after).sum()
        largest = np.maximum(before, after).sum()
        meaning = (
            f"{apart / original.people:.4g} ties per person between both distributions of degrees"
        )
        return Measure(
            self.name,
            float(apart / largest) if largest else 0.0,
            "lower",
            meaning,
            raw=float(apart / original.people),
        )


@parameters
class Spectrum(Utility):
    r"""Distance of the largest eigenvalues of the adjacency matrix: :math:`\lVert \lambda -
    \lambda' \rVert_2 / (\lVert \lambda \rVert_2 + \lVert \lambda' \rVert_2)`.

    The ``values`` largest ones, fewer in small graphs, to one part in a million, by Lanczos
    iterations that always begin with the same vector. Direction does not matter.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    values: Annotated[int, Field(ge=1, le=100, description="how many eigenvalues are compared")] = 5

    name: ClassVar[str] = "spectrum"

    def measure(self, pair: Pair) -> Measure:
        """Compare the largest eigenvalues."""
        original = pair.original
        released = pair.released
        count = min(self.values, original.people)
        before = top_eigenvalues(original, count)
        after = top_eigenvalues(released, count)
        size = float(np.linalg.norm(before) + np.linalg.norm(after))
        apart = float(np.linalg.norm(before - after))
        meaning = f"largest eigenvalue {before[0]:.4g} before, {after[0]:.4g} after"
        return Measure(self.name, apart / size if size else 0.0, "lower", meaning, raw=apart)


def top_eigenvalues(graph: PeopleGraph, count: int) -> NDArray[np.float64]:
    """The largest eigenvalues, descending."""
    rows = graph.ties
    eigenvalues: Any
    # Lanczos needs room; small matrices are solved whole
    if count > graph.people - 2 or graph.people <= 50:
        matrix = np.zeros((graph.people, graph.people))
        matrix[np.repeat(np.arange(graph.people), rows.degrees), rows.ends] = 1.0
        eigenvalues = np.linalg.eigvalsh(matrix)[::-1][:count]
    elif not len(rows.ends):
        return np.zeros(count)
    else:
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import eigsh

        sparse = csr_array(
            (np.ones(len(rows.ends)), rows.ends, rows.starts), shape=(graph.people, graph.people)
        )
        # the same whatever the order of people is, up to that order
        begin = 1.0 + np.sqrt(rows.degrees)
        eigenvalues = eigsh(
            sparse, k=count, which="LA", v0=begin, tol=ENOUGH, return_eigenvectors=False
        )
    return np.sort(np.asarray(eigenvalues, dtype=np.float64))[::-1].copy()
