"""Attacks by what is known of a person's place: whoever answers alike is a candidate."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.graph import PeopleGraph, labels_in
from sfumato.data.graphs.k_neighbourhood import LARGEST_CAP
from sfumato.data.graphs.knowledge import (
    degree_words,
    egos,
    hub_words,
    joined,
    refined,
    top_degrees,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

AlongArcs = Annotated[
    bool | None,
    Field(
        description=(
            "whether ties from and to a person are distinguished; by default if the release does"
        )
    ),
]
BOUNDS = (1, 2, 5, 10, 20)
"""Numbers of candidates up to which people are counted."""


class Candidates:
    """For every original person: how many released ones answer alike, and whether the right one is
    among them.
    """

    def __init__(
        self, originals: NDArray[np.uint64], scene: Scene, answers: NDArray[np.uint64]
    ) -> None:
        original = scene.pair.original
        released = scene.pair.released
        truth = scene.pair.truth
        own, released_words, unsaid = _with_labels(originals, answers, original, released)
        # How many released people answer as this original person would.
        count = _counts(released_words, own)
        # The inverse of the truth: per original person the released row, −1 for who was left out.
        released_position = np.full(original.people, -1, dtype=np.int64)
        released_position[truth[truth >= 0]] = np.flatnonzero(truth >= 0)
        is_released = released_position >= 0
        right = np.zeros(original.people, dtype=np.bool_)
        # The right one is a candidate only if the release still answers the same; changed ties may
        # have taken the person out of the own crowd.
        right[is_released] = released_words[released_position[is_released]] == own[is_released]
        # whose quasi-identifiers are missing in the release may be anybody with this answer
        if unsaid is not None:
            # Added only where the two words differ, or the same people would be counted twice.
            count = count + np.where(unsaid == own, 0, _counts(released_words, unsaid))
            right[is_released] |= (
                released_words[released_position[is_released]] == unsaid[is_released]
            )
        self.count = count
        self.right = right

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Who is the only candidate, and rightly so."""
        alone: NDArray[np.bool_] = self.right & (self.count == 1)
        return alone

    @property
    def expected(self) -> float:
        """The share of people that guessing among candidates finds."""
        # Guessing among candidates: one in three is right a third of the time, and never if the
        # right one is gone.
        return float(np.where(self.right, 1 / np.maximum(self.count, 1), 0).mean())

    def details(self) -> Document:
        """How many candidates people have, in counts."""
        sizes = self.count[self.right]
        return {
            "alone": int(self.alone.sum()),
            "fewest_candidates": int(sizes.min()) if len(sizes) else None,
            "right_one_among_them": int(self.right.sum()),
            "people_with_at_most": {str(bound): int((sizes <= bound).sum()) for bound in BOUNDS},
        }


def _with_labels(
    originals: NDArray[np.uint64],
    answers: NDArray[np.uint64],
    original: PeopleGraph,
    released: PeopleGraph,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64] | None]:
    """Words with the quasi-identifiers that both graphs have; and the words of people of whom the
    release says none of them.
    """
    # Columns that only one of the graphs has cannot be compared.
    shared = tuple(name for name in original.quasi if name in released.quasi)
    if not shared:
        return originals, answers, None
    own, released_labels = (
        labels_in(graph.own, shared, graph.people) for graph in (original, released)
    )
    # The word of a row in which all of these are missing, as suppression leaves it behind.
    nothing = labels_in(pl.DataFrame({name: [None] for name in shared}), shared, 1)
    return (
        joined(originals, own),
        joined(answers, released_labels),
        joined(originals, np.repeat(nothing, len(originals))),
    )


def _counts(among: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How often each word occurs among others."""
    values, counts = np.unique(among, return_counts=True)
    # A word behind the last one is moved inside; it then differs from what stands there.
    positions = np.minimum(np.searchsorted(values, words), len(values) - 1)
    return np.where(values[positions] == words, counts[positions], 0).astype(np.int64)


def nobody(scene: Scene) -> str | None:
    """Why there is nobody to find, where all people of a release were drawn."""
    if not (scene.pair.truth >= 0).any():
        return NothingToAttack("the people of the release are synthetic")
    return None


def sight(asker: str, scene: Scene, directed: bool | None) -> tuple[PeopleGraph, PeopleGraph, bool]:
    """Original and release, and whether the intruder looks at the direction of ties: as asked, or
    where the release has one.
    """
    if directed is None:
        looks = bool(scene.pair.released.directed)
    else:
        looks = directed
    # Both graphs are asked, so that one without a direction is refused where one is looked at.
    return scene.pair.original.seen(asker, looks), scene.pair.released.seen(asker, looks), looks


def without_direction(scene: Scene) -> str:
    """What a sentence adds where an intruder could have looked at the direction of ties, and did
    not.
    """
    if scene.pair.released.directed:
        return "; a lower bound, since the direction of ties is ignored"
    return ""


class CandidateAttack(Attack):
    """An attack that asks one question of a person, and looks who answers alike."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    def applies(self, scene: Scene) -> str | None:
        """Not where nobody is anybody."""
        return nobody(scene)

    @abc.abstractmethod
    def attack(self, scene: Scene) -> Finding:
        """Carry it out."""

    def found(
        self, candidates: Candidates, knowledge: str, remark: str = "", **details: Any
    ) -> Finding:
        """The finding, told in counts."""
        people = len(candidates.count)
        alone = candidates.alone
        sentence = (
            f"somebody who knows {knowledge} identifies {int(alone.sum()):,} of "
            f"{people:,} people{remark}"
        )
        return Finding(
            attack=self.name,
            value=candidates.expected,
            sentence=sentence,
            baseline=1 / people,
            victims=np.flatnonzero(alone).astype(np.int64),
            details={**candidates.details(), **details},
        )


@parameters
class DegreeAttack(CandidateAttack):
    """Find people by how many ties they have.

    The intruder knows the number of ties of a person in the original (``directed``: out and in),
    and the own quasi-identifiers; candidates are those of the release who have the same. The value
    is the expected share of people found by guessing among candidates, 0 for who is not among them
    any more.

    Reference: Hay et al. 2008, doi:10.14778/1453856.1453873 (H₁).
    """

    directed: AlongArcs = None

    name: ClassVar[str] = "degree"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who counts a person's ties",)

    def attack(self, scene: Scene) -> Finding:
        """Compare degrees."""
        original, released, directed = sight(self.name, scene, self.directed)
        words = [degree_words(graph, directed) for graph in (original, released)]
        return self.found(Candidates(words[0], scene, words[1]), "how many ties a person has")


@parameters
class VertexRefinement(CandidateAttack):
    r"""Find people by the ties of their neighbours, of the neighbours of these, and so on.

    The intruder knows :math:`H_i`: :math:`H_1` is the degree, :math:`H_{i+1}` the multiset
    of :math:`H_i` of the neighbours. The curve shows *i* = 1 … ``rounds``, the value is that of the
    last. Answers are compared by words of 64 bits; two that collide merge candidates, so that the
    number of people alone is at most too low.

    Reference: Hay et al. 2008, doi:10.14778/1453856.1453873.
    """

    rounds: Annotated[int, Field(ge=1, le=20, description="how far the intruder sees")] = 4
    directed: AlongArcs = None

    name: ClassVar[str] = "vertex_refinement"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who sees friends of friends",)

    def attack(self, scene: Scene) -> Finding:
        """Refine both graphs alike."""
        original, released, directed = sight(self.name, scene, self.directed)
        refinements = [refined(graph, self.rounds, directed) for graph in (original, released)]
        # Round by round: the curve needs all of them, the value only the last.
        rounds = [
            Candidates(originals, scene, answers)
            for originals, answers in zip(*refinements, strict=True)
        ]
        knowledge = f"the ties around a person {self.rounds} steps far"
        return self.found(rounds[-1], knowledge, curve=curve("steps seen", rounds))


@parameters
class EgoGraph(CandidateAttack):
    """Find people by how their neighbours are tied to each other.

    Neighbourhoods are compared by invariants, and by canonical form up to ``cap`` neighbours.
    Beyond, equal invariants leave candidates together that may be
    different: then the number of people found alone is a lower bound, and the finding says so. So
    it is where ties have a direction, which this intruder does not look at.

    Reference: Zhou & Pei 2008, doi:10.1109/ICDE.2008.4497459.
    """

    cap: Annotated[
        int,
        Field(ge=1, le=LARGEST_CAP, description="neighbours up to which isomorphism is decided"),
    ] = 30

    name: ClassVar[str] = "ego_graph"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows who is friends",)

    def attack(self, scene: Scene) -> Finding:
        """Compare neighbourhoods."""
        originals = egos(scene.pair.original, self.cap)
        answers = egos(scene.pair.released, self.cap)
        open_cases = int((~originals.settled).sum())
        remark = ""
        if open_cases:
            remark = (
                f"; a lower bound, since {open_cases:,} neighbourhoods are too large to compare"
            )
        candidates = Candidates(originals.words, scene, answers.words)
        knowledge = "how a person's neighbours are tied to each other"
        remark += without_direction(scene)
        return self.found(
            candidates, knowledge, remark, lower_bound=bool(remark), undecided_people=open_cases
        )


@parameters
class HubFingerprint(CandidateAttack):
    """Find people by how far they are from the best-connected ones.

    The hubs are the people with most ties in the original, of equals the first; the intruder
    recognises them in the release, as one does with the famous, and knows a person's distances to
    the first 1 … ``hubs`` of them in the original, whatever the direction of ties. The curve shows
    each number of hubs.

    Reference: Hay et al. 2008, doi:10.14778/1453856.1453873.
    """

    hubs: Annotated[int, Field(ge=1, le=50, description="hubs to which distances are known")] = 3

    name: ClassVar[str] = "hub_fingerprint"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows the best-connected people",)

    def attack(self, scene: Scene) -> Finding:
        """Measure distances to the hubs in both graphs."""
        original = scene.pair.original
        released = scene.pair.released
        hubs = top_degrees(original, self.hubs)
        released_position = np.full(original.people, -1, dtype=np.int64)
        released_position[scene.pair.truth[scene.pair.truth >= 0]] = np.flatnonzero(
            scene.pair.truth >= 0
        )
        # A hub that was left out of the release is no landmark.
        hubs = hubs[released_position[hubs] >= 0]
        fingerprints = (hub_words(original, hubs), hub_words(released, released_position[hubs]))
        rounds = [
            Candidates(originals, scene, answers)
            for originals, answers in zip(*fingerprints, strict=True)
        ]
        knowledge = f"the distances to {len(hubs)} hub(s)"
        return self.found(
            rounds[-1], knowledge, without_direction(scene), curve=curve("hubs known", rounds)
        )


def curve(knowledge: str, rounds: Iterable[Candidates]) -> Document:
    """The share of people who are alone as the intruder knows more."""
    return {
        "known": knowledge,
        "points": [[i, float(candidates.alone.mean())] for i, candidates in enumerate(rounds, 1)],
    }
