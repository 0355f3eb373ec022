"""The transparency attack: the intruder knows by what method the release was made, and with what
parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.attack import AT_ONCE, BLOCK_BYTES, NOT_IN_FILE, Attack, Finding, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.methods.attacks.clues import CELLS, clues_of
from sfumato.methods.attacks.linkage.comparable_columns import common_columns, refusal
from sfumato.methods.attacks.linkage.files import files_of
from sfumato.methods.attacks.linkage.search import TIE
from sfumato.methods.attacks.linkage.success_rates import sampled_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.clues import Likelihood

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]


ARRAYS = 8
"""Arrays of targets × released rows that are held at a time, besides one for each column that
distances are made of.
"""
GUESSES = ("likeliest", "nearest", "likeliest candidate", "nearest candidate")
"""The likeliest record and the nearest one, of all that are possible and of the candidates that are
left.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class CandidateCounts:
    """Per target: how many released records it may be, whether its own is among them, and the
    credit of each guess.

    ``targets`` are the rows of the original in question: all, or a random sample where all would be
    too much work.
    """

    targets: Ints
    candidates: Ints
    contained: Flags
    credits: Floats

    @property
    def best(self) -> int:
        """The guess that finds most."""
        return int(self.credits.mean(axis=0).argmax())


@parameters
class Transparency(Attack):
    r"""The share of people found by an intruder who knows the method and its parameters.

    Every column the intruder knows rules out released records, or makes some likelier: rank
    swapping with known p by its window of ranks, microaggregation by the runs or centres of its
    groups, noise by its covariance, post-randomisation by its matrix, and generalised, suppressed
    or untouched columns by what their cells may stand for. What every column allows is intersected;
    microaggregation by blocks leaves the records of the nearest centre in each block (in most of
    the blocks, where no record is left of the intersection). The guess is the likeliest record or
    the nearest one by the distance of plain linkage, whichever finds more people; ties share the
    credit. With sound clues it is so never weaker than plain linkage.

    ``details`` tell the mean number of candidates, the share of people with a single one, and
    ``contained``: the share whose own record is among them, which is 1 where all clues are sound;
    microaggregation by blocks is not, its nearest centre is another's at times. Columns that
    several steps masked in turn give no clue. Where everybody would be too much work, a random
    sample of the people is sought; rates of a sample have Wilson's interval (95 %).
    References: Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006; Torra 2017,
    doi:10.1007/978-3-319-57358-8.
    """

    name: ClassVar[str] = "transparency"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person is found by somebody who knows how the release was made"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when a step was used whose workings help an intruder."""
        telling = [step for step in scene.steps if step.clue is not None]
        if not telling:
            return NothingToAttack("no step was used whose parameters would help an intruder")
        if not (scene.intruder.truth != NOT_IN_FILE).any():
            return "nobody in the intruder's file is in the table"
        masked: set[str] = set()
        for step in telling:
            masked.update(step.masks)
        if not masked & set(scene.intruder.knows) & set(scene.pair.columns):
            return NothingToAttack("no column that this intruder knows was masked by such a step")
        if any(clue.method != CELLS for clue in clues_of(scene)):
            return None
        return (
            "for the masked columns this intruder knows, the inference from the method "
            "is not implemented"
        )

    def attack(self, scene: Scene) -> Finding:
        """Intersect what all columns say of each target."""
        clues = clues_of(scene)
        people = np.flatnonzero(scene.intruder.truth != NOT_IN_FILE)
        narrowing = narrow_candidates(scene, clues, people)
        credit = narrowing.credits[:, narrowing.best]
        single = narrowing.candidates == 1
        sure = single & narrowing.contained
        limited = len(narrowing.targets) < len(people)
        sample = ""
        if limited:
            sample = f" (a random sample of {len(narrowing.targets):,}, to limit the work)"
        message = (
            f"knowledge of the method leaves {float(narrowing.candidates.mean()):,.1f} records per "
            f"person on average; {percent(float(credit.mean()))} of the people are found, "
            f"{int(sure.sum()):,} of {len(narrowing.targets):,} for certain{sample}"
        )
        everybody = not limited and not scene.intruder.sampled
        baseline = 1 / max(1, len(scene.pair.released))
        victims = narrowing.targets[sure]
        shares = narrowing.contained / np.maximum(1, narrowing.candidates)
        mean_credits = narrowing.credits.mean(axis=0).tolist()
        methods = sorted({clue.method for clue in clues})
        return Finding(
            self.name,
            float(credit.mean()),
            message,
            interval=sampled_interval(credit, everybody=everybody),
            baseline=baseline,
            victims=np.unique(victims),
            details={
                "mean_candidates": float(narrowing.candidates.mean()),
                "singletons": float(single.mean()),
                "correct_singletons": float(sure.mean()),
                "contained": float(narrowing.contained.mean()),
                "expected_by_candidates": float(shares.mean()),
                "guess": GUESSES[narrowing.best],
                "guesses": dict(zip(GUESSES, mean_credits, strict=True)),
                "methods": methods,
                "limited_by_work": limited,
            },
            trials=len(narrowing.targets),
        )


def narrow_candidates(scene: Scene, clues: list[Likelihood], people: Ints) -> CandidateCounts:
    """What all clues together leave of the released records, for rows of the intruder's file."""
    released = len(scene.pair.rows)
    # Who a row is about: the row itself, unless people have several.
    persons = scene.pair.persons
    if persons is None:
        persons = np.arange(len(scene.pair.original))
    released_persons = persons[scene.pair.rows]
    near = _nearness(scene)
    # In random order: those sought within the work are a random sample.
    order = people[scene.seed.stream("transparency sample").permutation(len(people))]
    parts: list[tuple[Any, ...]] = []
    arrays = ARRAYS + len(clues) + len(common_columns(scene))
    affordable_count = scene.affordable(len(order), released * arrays)
    # As many people at once as keep all arrays of eight-byte numbers within the block.
    step = max(1, min(BLOCK_BYTES // 8, AT_ONCE) // max(1, released * arrays))
    for start in range(0, affordable_count, step):
        scene.require_time()
        batch = order[start : min(affordable_count, start + step)]
        targets = scene.intruder.truth[batch]
        scores, candidates = _intersect_clues(clues, targets, released)
        own = released_persons == persons[targets][:, None]
        parts.append((targets, *_judge_candidates(scores, near(batch), candidates, own)))
        scene.progress(min(1.0, (start + step) / affordable_count), "intersecting clues")
    return CandidateCounts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _intersect_clues(clues: list[Likelihood], targets: Ints, released: int) -> tuple[Floats, Flags]:
    """How likely every released record is, and the candidates: possible, and in as many nearest
    groups as any record is.
    """
    total = np.zeros((len(targets), released))
    agreeing = np.zeros((len(targets), released))
    for clue in clues:
        scores = clue.score(targets)
        total += scores
        # The nearest centre is another's at times, so such clues vote; the others rule out by −∞.
        if clue.nearest:
            agreeing += _best(scores, np.isfinite(scores))
    return total, _best(agreeing, np.isfinite(total))


def _nearness(scene: Scene) -> Callable[[Ints], Floats]:
    """Per row of the intruder's file how near every released record is, by the distance of plain
    linkage, as a negative number.
    """
    if refusal(scene) is not None:
        return lambda people: np.zeros((len(people), len(scene.pair.rows)))
    files = files_of(scene)
    arrays = files.plain
    released_kinds = np.arange(len(files.released.records))

    def near(people: Ints) -> Floats:
        # People with equal records have equal distances, which are worked out once.
        kinds, kind_numbers = np.unique(files.intruder.kind_of[people], return_inverse=True)
        kind_pairs = [np.repeat(kinds, len(released_kinds)), np.tile(released_kinds, len(kinds))]
        pairs = np.column_stack(kind_pairs).astype(np.int64)
        distances = arrays.costs(pairs).sum(axis=1).reshape(len(kinds), len(released_kinds))
        return np.asarray(-distances[kind_numbers][:, files.released.kind_of])

    return near


def _best(scores: Floats, among: Flags) -> Flags:
    """The records with the greatest score among some, ties included."""
    best = np.where(among, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    # Where no record is possible the best is −∞, of which no slack can be taken.
    finite_best = np.where(np.isfinite(best), best, 0.0)
    slack = TIE * (1.0 + np.abs(finite_best))
    return np.asarray(among & (scores >= best - slack))


def _judge_candidates(
    scores: Floats,
    near: Floats,
    candidates: Flags,
    own: Flags,
) -> tuple[Ints, Flags, Floats]:
    """How many candidates there are, whether the own record is one, and the credit of each
    guess.
    """
    shares = []
    # Both guesses among all possible records, then both among the candidates: as GUESSES says.
    for among in (np.isfinite(scores), candidates):
        for guess in (scores, near):
            tied = _best(guess, among)
            # Of several own records any one will do.
            shares.append((tied & own).sum(axis=1) / np.maximum(1, tied.sum(axis=1)))
    contained: Flags = np.any(candidates & own, axis=1)
    return candidates.sum(axis=1), contained, np.column_stack(shares)
