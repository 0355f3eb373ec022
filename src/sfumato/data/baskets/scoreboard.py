"""Linkage of two files of baskets by similarity: the attack on film ratings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import NOT_IN_FILE, Attack, Finding, Scene
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.knowledge import Sight, cannot_be_tried, sampled, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Scored:
    """How well everybody in a release fits one description: ``scores``, the best one (−1: none),
    and by how much.

    ``eccentricity`` is (best − second)/σ over all people, ``entropy`` that of the posterior ∝
    exp(score/σ), in bits.
    """

    scores: NDArray[np.float64]
    best: int
    eccentricity: float
    entropy: float

    @classmethod
    def of(cls, scores: NDArray[np.float64]) -> Scored:
        """From the scores of everybody."""
        spread = float(scores.std())
        # Nobody stands out where all fit equally well: the intruder knows no more than a blind
        # guess.
        if len(scores) < 2 or spread == 0:
            return cls(scores, -1, 0.0, float(np.log2(max(len(scores), 1))))
        second, first = np.partition(scores, -2)[-2:]
        # Shifted by the best score, so that exp does not overflow; the shift cancels below.
        posterior = np.exp((scores - first) / spread)
        posterior /= posterior.sum()
        # among very many people some chances are too small for a number
        likely = posterior[posterior > 0]
        bits = float(-(likely * np.log2(likely)).sum())
        return cls(scores, int(np.argmax(scores)), float(first - second) / spread, bits)

    def claims(self, threshold: float) -> bool:
        """Whether the best one is said to be the person."""
        return self.best >= 0 and self.eccentricity >= threshold


@dataclasses.dataclass(frozen=True, eq=False)
class Description:
    """What an intruder has of one person: released items it may be (``codes``), and numbers about
    them where there are any.
    """

    codes: NDArray[np.int64]
    grades: dict[str, NDArray[np.float64]]
    true: int


@parameters
class Scoreboard(Attack):
    r"""Somebody with another file of the same people links the two by how alike baskets are, rare
    items counting more.

    .. math:: S(r) = \sum_{i\in \text{known}\cap r} \frac{s_i}{\ln\max(2, |T(i)|)}

    The best record is claimed if it leads the second by ``least`` standard deviations of all
    scores; otherwise nothing is claimed. For sets
    :math:`s_i = 1`; with a column of ratings it is exp(−|Δ|/1.5), to which a column of days adds
    exp(−|Δ|/30). The other file is the first one given, whose people are told by the names they
    have in both; without one, the intruder has ``known`` items of each person, the share ``wrong``
    of which are other people's. The control is the same description with the own record taken out:
    whatever is claimed then is wrong.

    Reference: Narayanan & Shmatikov 2008, doi:10.1109/SP.2008.33.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    known: Annotated[
        int,
        Field(
            ge=1, description="items the intruder knows of each person, if there is no other file"
        ),
    ] = 8
    wrong: Annotated[
        float, Field(ge=0, lt=1, description="share of these that belong to somebody else")
    ] = 0.25
    least: Annotated[
        float, Field(gt=0, description="lead in standard deviations that a claim needs")
    ] = 1.5
    ratings: Annotated[str | None, Field(description="column of ratings in both files")] = None
    days: Annotated[str | None, Field(description="column of days in both files")] = None
    people: Annotated[int, Field(ge=20, description="most people to attack")] = 500

    name: ClassVar[str] = "scoreboard"
    title: ClassVar[str] = "Scoreboard linkage"
    line: ClassVar[str] = "how many people are recognised by a noisy list of their items"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody with another file of the same people",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever people still have baskets, and those of another file can be told."""
        reason = cannot_be_tried(scene)
        if reason is None and scene.others and _match_names(scene) is None:
            return (
                "who is who in the other file is unknown: its people have neither names nor origins"
            )
        return reason

    def attack(self, scene: Scene) -> Finding:
        """Score everybody for each description, with and without the own record."""
        sight = Sight.of(scene)
        # An item that one person has would divide by ln 1 = 0; hence at least 2.
        weights = 1.0 / np.log(np.maximum(2, scene.pair.released.sets.supports))
        right = wrong = misled = present = absent = 0
        bits: list[float] = []
        victims = []
        for person, description in self._descriptions(scene, sight):
            scores = self.scores(scene.pair.released, description, weights)
            scored = Scored.of(scores)
            bits.append(scored.entropy)
            claimed = scored.claims(self.least)
            # Everybody is a control once, strangers to the release too.
            present, absent = present + (description.true >= 0), absent + 1
            right += claimed and scored.best == description.true
            wrong += claimed and scored.best != description.true
            if claimed and scored.best == description.true:
                victims.append(person)
            # The control: the same description, but the right answer is not there. A claim now is
            # false.
            if description.true < 0:
                without = scores
            else:
                without = np.delete(scores, description.true)
            misled += Scored.of(without).claims(self.least)
        return self._finding(scene, right, wrong, present, misled / max(absent, 1), bits, victims)

    def _descriptions(self, scene: Scene, sight: Sight) -> Any:
        """(original person or −1, what the intruder has) for one after the other."""
        stream = scene.seed.stream("scoreboard: what is known")
        if scene.others:
            auxiliary, person_of_row = scene.others[0], _match_names(scene)
            # Known items are numbered as in the other file, so the sight must be told what these
            # become.
            auxiliary_sight = dataclasses.replace(sight, original=auxiliary)
            for row_number in sampled(
                scene, np.flatnonzero(auxiliary.sets.lengths > 0), self.name, self.people
            ):
                person_number = int(person_of_row[row_number])  # type: ignore[index]
                yield (
                    person_number,
                    self._describe_person(
                        auxiliary_sight,
                        row_number,
                        auxiliary.sets[row_number],
                        NOT_IN_FILE if person_number < 0 else int(sight.where[person_number]),
                    ),
                )
            return
        every = scene.pair.original.sets
        for person in sampled(scene, sight.targets, self.name, self.people):
            own = stream.permutation(every[person])[: self.known]
            # Mistakes are drawn among occurrences, so that frequent items are the likeliest
            # mistakes.
            strange = stream.random(len(own)) < self.wrong
            items = np.where(
                strange, every.items[stream.integers(0, len(every.items), len(own))], own
            )
            yield (
                person,
                self._describe_person(sight, person, np.unique(items), int(sight.where[person])),
            )

    def _describe_person(
        self, sight: Sight, person: int, items: NDArray[Any], true: int
    ) -> Description:
        pairs = [(code, item) for item in items.tolist() for code in sight.codes[item]]
        codes = dict(pairs)  # a group that stands for several known items counts once
        grade_names = [
            name
            for name in (self.ratings, self.days)
            if name is not None and name in sight.original.grades
        ]
        # Grades stand in the order of ``sets.items``; this finds the place of each item of the
        # person.
        sets = sight.original.sets
        first = int(sets.pointers[person])
        own = {int(item): first + number for number, item in enumerate(sets[person])}
        owned = [(place, own[item]) for place, item in enumerate(codes.values()) if item in own]
        places, occurrences = np.array(owned, dtype=np.int64).reshape(-1, 2).T
        grades = {}
        for name in grade_names:
            grades[name] = np.full(len(codes), np.nan)
            grades[name][places] = np.asarray(sight.original.grades[name])[occurrences]
        return Description(np.array(list(codes), dtype=np.int64), grades, true)

    def scores(
        self, released: Baskets, description: Description, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How well everybody fits."""
        scores = np.zeros(released.people)
        starts, people, positions = released.sets.posted
        # Only those who have an item gain by it, so the lists of carriers are walked, not all
        # baskets.
        for number, code in enumerate(description.codes.tolist()):
            span = slice(starts[code], starts[code + 1])
            scores[people[span]] += weights[code] * self._alike(
                released, description, number, positions[span]
            )
        return scores

    def _alike(
        self, released: Baskets, description: Description, number: int, positions: NDArray[np.int64]
    ) -> NDArray[np.float64] | float:
        """How alike what is said of one item is, for all who have it; 1 where nothing is said."""
        parts = []
        for name, scale in ((self.ratings, 1.5), (self.days, 30.0)):
            if name is not None and name in description.grades and name in released.grades:
                away = np.abs(released.grades[name][positions] - description.grades[name][number])
                # What is missing on either side is no evidence: it adds nothing, rather than
                # spoiling the sum.
                parts.append(np.nan_to_num(np.exp(-away / scale), nan=0.0))
        return sum(parts) if parts else 1.0

    def _finding(
        self,
        scene: Scene,
        right: int,
        wrong: int,
        present: int,
        misled: float,
        bits: list[float],
        victims: list[int],
    ) -> Finding:
        share = right / max(present, 1)
        claims = right + wrong
        sentence = (
            f"of {present:,} people tried, {right:,} were recognised ({percent(share)}); {wrong:,} "
            f"of {claims:,} claims were wrong, and {percent(misled)} of the absent people were "
            "claimed to be present"
        )
        return Finding(
            self.name,
            share,
            sentence,
            interval=wilson(share, present),
            baseline=1.0 / max(scene.pair.released.people, 1),
            victims=np.array(sorted(victims), dtype=np.int64),
            details={
                "precision": None if not claims else round(right / claims, 6),
                "recall": round(share, 6),
                "wrong_claims": wrong,
                "claims_of_absent": round(misled, 6),
                "mean_entropy_bits": round(float(np.mean(bits)), 6) if bits else None,
            },
            trials=present,
        )


def _match_names(scene: Scene) -> NDArray[np.int64] | None:
    """Per person of the other file the number of the original one (−1: a stranger), by origin or by
    name; None: nobody knows.
    """
    auxiliary, original = scene.others[0], scene.pair.original
    if not isinstance(auxiliary, Baskets):
        return None
    if auxiliary.origin is not None:
        return auxiliary.origin
    # Without names or origins nobody can say which claims were right.
    if auxiliary.names is None or original.names is None:
        return None
    originals = pl.DataFrame(
        {"who": original.names.cast(pl.String), "at": np.arange(original.people)}
    )
    auxiliary_names = pl.DataFrame({"who": auxiliary.names.cast(pl.String)})
    at = auxiliary_names.join(originals, on="who", how="left", maintain_order="left")[
        "at"
    ].fill_null(NOT_IN_FILE)
    person_of_row: NDArray[np.int64] = at.cast(pl.Int64).to_numpy()
    return person_of_row
