"""Seed and propagate: from a few people who are known in two graphs to all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import Attack, Finding, stopped_short
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.candidates import AlongArcs, nobody, sight
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.knowledge import top_degrees
from sfumato.data.graphs.sequences import nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

BLOCK = 2000
"""People between two looks at the time that is left."""
KNOWN = "people known at the start"
CURVE_UP_TO = 5000
"""People up to which the attack is repeated with fewer seeds."""


@parameters
class SeedAndPropagate(Attack):
    r"""Find people by a second graph of the same people, from a few who are known in both.

    The intruder has a graph of his own: the first of the scene's others, who are the people of the
    original under the same numbers, or by default a random sample of the original's ties (each is
    known with probability ``known_ties``). ``seeds`` people with most ties are known. For everybody
    unmapped *u*, each mapped neighbour x → y adds
    :math:`1/\sqrt{\deg v}` to every free *v* in N(y); the best *v* is taken if it stands out, (max
    − second)/σ ≥ ``theta`` with σ over all people of the release, is single, and finds *u* from the
    other side. Sweeps are repeated until nothing changes. ``directed``: ties out and in are scored
    apart and added. The value is the share of all people but the seeds who are found rightly; when
    time runs out, what was found until then.

    Reference: Narayanan & Shmatikov 2009, doi:10.1109/SP.2009.22.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    seeds: Annotated[int, Field(ge=1, description="people known in both graphs at the start")] = 15
    theta: Annotated[
        float, Field(ge=0, description="standard deviations by which the best match must stand out")
    ] = 0.5
    known_ties: Annotated[
        float, Field(gt=0, le=1, description="share of the ties that the intruder knows")
    ] = 0.8
    directed: AlongArcs = None

    name: ClassVar[str] = "seed_and_propagate"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody with another network",)

    def applies(self, scene: Scene) -> str | None:
        """Not where nobody is anybody, or all are known to begin with."""
        if reason := nobody(scene):
            return reason
        if self.seeds >= scene.pair.original.people:
            return f"all {scene.pair.original.people:,} people would be seeds; choose fewer"
        return None

    def attack(self, scene: Scene) -> Finding:
        """Propagate from the seeds."""
        original, released, directed = sight(self.name, scene, self.directed)
        if scene.others:
            own = scene.others[0]
        else:
            own = self._sampled(original, scene, directed)
        # Per person of the original the released one; for seeds, and to judge in the end.
        released_position = np.full(original.people, -1, dtype=np.int64)
        released_position[scene.pair.truth[scene.pair.truth >= 0]] = np.flatnonzero(
            scene.pair.truth >= 0
        )
        seeds = top_degrees(original, min(self.seeds, original.people - 1))
        # Seeds must be found in the release to be of use.
        seeds = seeds[released_position[seeds] >= 0]
        mapping, complete = self._mapped(own, released, seeds, released_position, scene)
        # Who was left out has no position (-1), and so has who was not mapped: that is no success.
        right = (mapping >= 0) & (mapping == released_position)
        # Seeds were given; finding them is no success.
        right[seeds] = False
        targets = original.people - len(seeds)
        mapped = int((mapping >= 0).sum()) - len(seeds)
        by_seeds = self._by_seeds(
            own, released, seeds, released_position, scene, float(right.sum() / targets)
        )
        sentence = (
            f"{len(seeds)} known people lead to {mapped:,} others, {int(right.sum()):,} of them "
            f"correctly, of {targets:,}{stopped_short(int(complete), 1)}"
        )
        return Finding(
            attack=self.name,
            value=float(right.sum() / targets),
            sentence=sentence,
            baseline=1 / targets,
            victims=np.flatnonzero(right).astype(np.int64),
            details={
                "seeds": len(seeds),
                "mapped": mapped,
                "rightly": int(right.sum()),
                "curve": {"known": KNOWN, "points": by_seeds},
            },
            trials=targets,
        )

    def _sampled(self, graph: PeopleGraph, scene: Scene, directed: bool) -> PeopleGraph:
        """The ties of the original that the intruder knows."""
        stream = scene.seed.stream(f"{self.name}: known ties")
        # Without a direction a pair is known or not known as a whole.
        ends = (graph.arcs if directed else graph.edges).astype(np.int64)
        sample = ends[:, stream.random(ends.shape[1]) < self.known_ties]
        if directed:
            return graph.with_arcs(*sample)
        return graph.with_edges(*sample)

    def _mapped(
        self,
        own: PeopleGraph,
        released: PeopleGraph,
        seeds: NDArray[np.int64],
        released_position: NDArray[np.int64],
        scene: Scene,
    ) -> tuple[NDArray[np.int64], bool]:
        """Who is whom by the end, and whether it was the end."""
        mapping = np.full(own.people, -1, dtype=np.int64)
        reverse = np.full(released.people, -1, dtype=np.int64)
        # Kept both ways, so that nobody of the release is given to two people.
        mapping[seeds], reverse[released_position[seeds]] = released_position[seeds], seeds
        if self.directed is None:
            directed = bool(scene.pair.released.directed)
        else:
            directed = self.directed
        own_rows = _rows(own, directed)
        released_rows = _rows(released, directed)
        while True:
            matched = 0
            turn = np.arange(own.people, dtype=np.int64)
            # In blocks, so that the time that is left is looked at now and then.
            for start in range(0, own.people, BLOCK):
                if start and not scene.left:
                    return mapping, False
                matched += kernels.graphs.propagate_matches(
                    own_rows,
                    released_rows,
                    turn[start : start + BLOCK],
                    mapping,
                    reverse,
                    self.theta,
                )
            # A sweep without a new match would repeat itself.
            if not matched:
                return mapping, True

    def _by_seeds(
        self,
        own: PeopleGraph,
        released: PeopleGraph,
        seeds: NDArray[np.int64],
        released_position: NDArray[np.int64],
        scene: Scene,
        last: float,
    ) -> list[list[float]]:
        """How many seeds, and the share of others found with them; fewer seeds are tried in graphs
        that are small enough.
        """
        points: list[list[float]] = []
        # A third and two thirds of the seeds show how the success grows with them.
        for count in sorted({1, len(seeds) // 3, 2 * len(seeds) // 3} - {0, len(seeds)}):
            if own.people <= CURVE_UP_TO:
                mapping, _ = self._mapped(own, released, seeds[:count], released_position, scene)
                right = (mapping == released_position) & (mapping >= 0)
                # Seeds are right by themselves and leave both sides of the share.
                points.append([count, float((right.sum() - count) / (own.people - count))])
        return [*points, [len(seeds), last]]


def _rows(graph: PeopleGraph, directed: bool) -> tuple[NDArray[Any], ...]:
    """The rows that scores are added up along, each with its way back."""
    none = nothing(graph.people)
    if directed:
        # Ties out are followed back by ties in, and the other way round.
        four = (graph.out, graph.into, graph.into, graph.out)
    else:
        four = (graph.ties, graph.ties, none, none)
    return tuple(part for rows in four for part in rows)
