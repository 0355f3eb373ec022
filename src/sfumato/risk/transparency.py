"""The transparency attack: the intruder knows by what method the release was made, and with what parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.core.attack import NOT_IN_FILE, Finding
from sfumato.core.parameters import parameters
from sfumato.risk.knowing.clues import TRANSPARENT, clues_of
from sfumato.risk.linkage.rates import wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.risk.knowing.evidence import Clue

AT_ONCE = 20_000_000
"""Cells of targets × released rows that are held at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Narrowed:
    """Per target: how many released records it may be, whether its own is among them, and the credit of the best guess."""

    candidates: NDArray[np.int64]
    contained: NDArray[np.bool_]
    credit: NDArray[np.float64]


@parameters
class Transparency:
    r"""The share of people found by an intruder who knows the method and its parameters.

    Every column the intruder knows rules out released records, or makes some likelier: rank swapping with known p by its window of ranks,
    microaggregation by the runs or centres of its groups, noise by its covariance, post-randomisation by its
    matrix, and generalised, suppressed or untouched columns by what their cells may stand for. What every column allows is intersected and
    the likeliest record that is left is the guess; ties share the credit.

    ``details`` tell the mean number of candidates, the share of people with a single one, and ``contained``: the share whose own
    record is among them, which is 1 where all clues are sound. Columns that several steps masked in turn give no clue.
    References: Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006; Torra 2017, doi:10.1007/978-3-319-57358-8.
    """

    name: ClassVar[str] = "transparency"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, scene: Scene) -> str | None:
        """None when a step was used whose workings help an intruder."""
        if not any(step.name in TRANSPARENT for step in scene.steps):
            return "no step was used whose parameters would help an intruder"
        if not (scene.intruder.truth != NOT_IN_FILE).any():
            return "nobody in the intruder's file is in the table"
        clues = clues_of(scene)
        return (
            None if any(clue.method in TRANSPARENT for clue in clues) else "no masked column gives this intruder a clue"
        )

    def attack(self, scene: Scene) -> Finding:
        """Intersect what all columns say of each target."""
        import numpy as np

        clues = clues_of(scene)
        targets = scene.intruder.truth[scene.intruder.truth != NOT_IN_FILE]
        found = narrowed(scene, clues, targets)
        single = found.candidates == 1
        sure = single & found.contained
        told = (
            f"knowing how it was made leaves {float(found.candidates.mean()):,.1f} records a person on average; "
            f"{float(found.credit.mean()):.1%} of the people are found, {int(sure.sum()):,} of {len(targets):,} for certain"
        )
        return Finding(
            self.name,
            float(found.credit.mean()),
            told,
            interval=wilson(float(found.credit.sum()), len(targets)),
            baseline=1 / max(1, len(scene.pair.released)),
            victims=np.unique(targets[sure]),
            details={
                "mean_candidates": float(found.candidates.mean()),
                "singletons": float(single.mean()),
                "correct_singletons": float(sure.mean()),
                "contained": float(found.contained.mean()),
                "expected_by_candidates": float((found.contained / np.maximum(1, found.candidates)).mean()),
                "methods": sorted({clue.method for clue in clues}),
            },
        )


def narrowed(scene: Scene, clues: list[Clue], targets: NDArray[np.int64]) -> Narrowed:
    """What all clues together leave of the released records, for target rows of the original."""
    import numpy as np

    released = len(scene.pair.rows)
    own = np.full(len(scene.pair.original), -1, dtype=np.int64)
    own[scene.pair.rows] = np.arange(released)
    parts = []
    step = max(1, AT_ONCE // max(1, released))
    for start in range(0, len(targets), step):
        some = targets[start : start + step]
        scores = np.zeros((len(some), released))
        for clue in clues:
            scores += clue.score(some)
        parts.append(_judged(scores, own[some]))
        scene.progress(min(1.0, (start + step) / len(targets)), "intersecting clues")
    return Narrowed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _judged(
    scores: NDArray[np.float64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    import numpy as np

    possible = np.isfinite(scores)
    best = scores.max(axis=1, keepdims=True)
    slack = 1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(best), best, 0.0)))
    tied = possible & (scores >= best - slack)
    there = own >= 0
    place = np.maximum(own, 0)
    line = np.arange(len(own))
    contained = there & possible[line, place]
    credit = np.where(there & tied[line, place], 1 / np.maximum(1, tied.sum(axis=1)), 0.0)
    return possible.sum(axis=1), contained, credit
