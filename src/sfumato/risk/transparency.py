"""The transparency attack: the intruder knows by what method the release was made, and with what parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfumato.core.attack import NOT_IN_FILE, Finding, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.risk.knowing.clues import TRANSPARENT, clues_of
from sfumato.risk.linkage.compared import refusal
from sfumato.risk.linkage.distances import plain_arrays
from sfumato.risk.linkage.files import files_of
from sfumato.risk.linkage.rates import sampled_interval
from sfumato.risk.linkage.search import TIE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.risk.knowing.evidence import Clue

AT_ONCE = 2_000_000
"""Cells of targets × released rows that are held at a time; between them the clock is looked at."""
GUESSES = ("likeliest", "nearest", "likeliest candidate", "nearest candidate")
"""The likeliest record and the nearest one, of all that are possible and of the candidates that are left."""


@dataclasses.dataclass(frozen=True, eq=False)
class Narrowed:
    """Per target: how many released records it may be, whether its own is among them, and the credit of each guess.

    ``targets`` are the rows of the original in question: all, or a random sample where time ran out.
    """

    targets: NDArray[np.int64]
    candidates: NDArray[np.int64]
    contained: NDArray[np.bool_]
    credits: NDArray[np.float64]

    @property
    def best(self) -> int:
        """The guess that finds most."""
        return int(self.credits.mean(axis=0).argmax())


@parameters
class Transparency:
    r"""The share of people found by an intruder who knows the method and its parameters.

    Every column the intruder knows rules out released records, or makes some likelier: rank swapping with known p by its window of ranks,
    microaggregation by the runs or centres of its groups, noise by its covariance, post-randomisation by its
    matrix, and generalised, suppressed or untouched columns by what their cells may stand for. What every column allows is intersected;
    microaggregation by blocks leaves the records of the nearest centre in each block (in most of the blocks, where no record is
    left of the intersection). The guess is the likeliest record or the nearest one by the distance of plain linkage, whichever
    finds more people; ties share the credit. With sound clues it is so never weaker than plain linkage.

    ``details`` tell the mean number of candidates, the share of people with a single one, and ``contained``: the share whose own
    record is among them, which is 1 where all clues are sound; microaggregation by blocks is not, its nearest centre is another's
    at times. Columns that several steps masked in turn give no clue. Where time runs out, a random sample of
    the people was sought; rates of a sample have Wilson's interval (95 %).
    References: Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006; Torra 2017, doi:10.1007/978-3-319-57358-8.
    """

    name: ClassVar[str] = "transparency"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, scene: Scene) -> str | None:
        """None when a step was used whose workings help an intruder."""
        if not any(step.name in TRANSPARENT for step in scene.steps):
            return NothingToAttack("no step was used whose parameters would help an intruder")
        if not (scene.intruder.truth != NOT_IN_FILE).any():
            return "nobody in the intruder's file is in the table"
        masked = {c for step in scene.steps if step.name in TRANSPARENT for c in getattr(step, "columns", None) or ()}
        if not masked & set(scene.intruder.knows) & set(scene.pair.columns):
            return NothingToAttack("no column that this intruder knows was masked by such a step")
        if any(clue.method in TRANSPARENT for clue in clues_of(scene)):
            return None
        return "what the method gives away of the masked columns this intruder knows is not worked out"

    def attack(self, scene: Scene) -> Finding:
        """Intersect what all columns say of each target."""
        import numpy as np

        clues = clues_of(scene)
        people = np.flatnonzero(scene.intruder.truth != NOT_IN_FILE)
        found = narrowed(scene, clues, people)
        credit = found.credits[:, found.best]
        single = found.candidates == 1
        sure = single & found.contained
        stopped = len(found.targets) < len(people)
        sample = f" (a random sample of {len(found.targets):,}, for want of time)" if stopped else ""
        told = (
            f"knowing how it was made leaves {float(found.candidates.mean()):,.1f} records a person on average; "
            f"{float(credit.mean()):.1%} of the people are found, {int(sure.sum()):,} of {len(found.targets):,} for certain{sample}"
        )
        return Finding(
            self.name,
            float(credit.mean()),
            told,
            interval=sampled_interval(credit, everybody=not stopped and not scene.intruder.sampled),
            baseline=1 / max(1, len(scene.pair.released)),
            victims=np.unique(found.targets[sure]),
            details={
                "mean_candidates": float(found.candidates.mean()),
                "singletons": float(single.mean()),
                "correct_singletons": float(sure.mean()),
                "contained": float(found.contained.mean()),
                "expected_by_candidates": float((found.contained / np.maximum(1, found.candidates)).mean()),
                "guess": GUESSES[found.best],
                "guesses": dict(zip(GUESSES, found.credits.mean(axis=0).tolist(), strict=True)),
                "methods": sorted({clue.method for clue in clues}),
                "stopped_by_time": stopped,
            },
        )


def narrowed(scene: Scene, clues: list[Clue], people: NDArray[np.int64]) -> Narrowed:
    """What all clues together leave of the released records, for rows of the intruder's file."""
    import numpy as np

    released = len(scene.pair.rows)
    own = np.full(len(scene.pair.original), -1, dtype=np.int64)
    own[scene.pair.rows] = np.arange(released)
    near = _nearness(scene)
    order = people[scene.seed.stream("transparency sample").permutation(len(people))]
    parts: list[tuple[Any, ...]] = []
    step, start = max(1, AT_ONCE // max(1, released)), 0
    while start < len(order) and (start == 0 or scene.left > 0):
        some = order[start : start + step]
        targets = scene.intruder.truth[some]
        scores, candidates = _intersected(clues, targets, released)
        parts.append((targets, *_judged(scores, near(some), candidates, own[targets])))
        start += step
        scene.progress(min(1.0, start / len(order)), "intersecting clues")
    return Narrowed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _intersected(
    clues: list[Clue], targets: NDArray[np.int64], released: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How likely every released record is, and the candidates: possible, and in as many nearest groups as any record is."""
    import numpy as np

    total, agreeing = np.zeros((len(targets), released)), np.zeros((len(targets), released))
    for clue in clues:
        scores = clue.score(targets)
        total += scores
        if clue.nearest:
            agreeing += _best(scores, np.isfinite(scores))
    return total, _best(agreeing, np.isfinite(total))


def _nearness(scene: Scene) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """Per row of the intruder's file how near every released record is, by the distance of plain linkage, as a negative number."""
    import numpy as np

    if refusal(scene) is not None:
        return lambda people: np.zeros((len(people), len(scene.pair.rows)))
    files = files_of(scene)
    arrays = plain_arrays(files)
    ours = np.arange(len(files.ours.records))

    def near(people: NDArray[np.int64]) -> NDArray[np.float64]:
        kinds, place = np.unique(files.theirs.kind_of[people], return_inverse=True)
        pairs = np.column_stack([np.repeat(kinds, len(ours)), np.tile(ours, len(kinds))]).astype(np.int64)
        distances = arrays.costs(pairs).sum(axis=1).reshape(len(kinds), len(ours))
        return np.asarray(-distances[place][:, files.ours.kind_of])

    return near


def _best(scores: NDArray[np.float64], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The records with the greatest score among some, ties included."""
    import numpy as np

    best = np.where(among, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    slack = TIE * (1.0 + np.abs(np.where(np.isfinite(best), best, 0.0)))
    return np.asarray(among & (scores >= best - slack))


def _judged(
    scores: NDArray[np.float64], near: NDArray[np.float64], candidates: NDArray[np.bool_], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    """How many candidates there are, whether the own record is one, and the credit of each guess."""
    import numpy as np

    there, place, line = own >= 0, np.maximum(own, 0), np.arange(len(own))
    shares = []
    for among in (np.isfinite(scores), candidates):
        for guess in (scores, near):
            tied = _best(guess, among)
            shares.append(np.where(there & tied[line, place], 1 / np.maximum(1, tied.sum(axis=1)), 0.0))
    return candidates.sum(axis=1), there & candidates[line, place], np.column_stack(shares)
