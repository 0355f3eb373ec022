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
from sfumato.core.schema import Role
from sfumato.core.step import Centres, NoiseAdded, Randomised, RankWindow, Runs
from sfumato.core.words import percent
from sfumato.methods.attacks.crowd import generalises
from sfumato.methods.attacks.linkage.comparable_columns import (
    common_columns,
    refusal,
    sampled_interval,
)
from sfumato.methods.attacks.linkage.files import files_of
from sfumato.methods.attacks.linkage.search import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading
    from sfumato.core.step import Step


# How well every released record fits a target, column by column: a log-likelihood, −∞ where it
# cannot be the target's.
#
# Each function takes the targets' values (codes of the original's values) and gives an array of
# targets × released rows. ``sound`` says that the true record never gets −∞.

if TYPE_CHECKING:
    Scores = NDArray[np.float64]
    Codes = NDArray[np.int64]


CELLS = "cells"
"""The method of a clue that the released cells give, whatever step made them."""


@dataclasses.dataclass(frozen=True, eq=False)
class Likelihood:
    """What some columns say: ``score(targets)`` for target rows of the original, and whether it
    never rules out the truth.

    ``nearest`` says that the records with the best score are candidates that almost always include
    the true one, to be intersected with what other columns say.
    """

    columns: tuple[str, ...]
    score: Callable[[Codes], Scores]
    sound: bool
    method: str
    nearest: bool = False


def clue_from_cells(pair: TablePair, column: str) -> Likelihood:
    """A column that was generalised, suppressed or left alone: a released cell must be able to
    stand for the value.
    """
    reading = pair.reading(column)
    possible = LabelsOfValues(reading)

    def score(targets: Codes) -> Scores:
        scores = np.empty((len(targets), len(reading.released)))
        for number, value in enumerate(reading.original[targets].tolist()):
            scores[number] = np.where(possible.of(value), 0.0, -np.inf)[reading.released]
        return scores

    return Likelihood((column,), score, True, CELLS)


class LabelsOfValues:
    """Which released labels may stand for a value, without a table of all values and labels; a
    missing label may stand for any.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.always = np.asarray(reading.everything, dtype=bool) | np.array(
            [label is None for label in reading.labels]
        )
        self.slack = 1e-9 * max(1.0, abs(reading.span))
        if reading.scale == "category":
            labels = np.repeat(np.arange(len(reading.labels)), np.diff(reading.starts))
            self.labels = labels[np.argsort(reading.members, kind="stable")]
            counts = np.bincount(reading.members, minlength=len(reading.values))
            self.starts = np.concatenate([[0], np.cumsum(counts)])
        else:
            pairs = [
                (value, label) for label, values in reading.unplaced.items() for value in values
            ]
            self.unplaced = np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def of(self, value: int) -> NDArray[np.bool_]:
        """Per label whether it may stand for a value, given by its code."""
        reading = self.reading
        possible: NDArray[np.bool_] = self.always.copy()
        if reading.values[value] is None:
            return possible
        if reading.scale == "category":
            possible[self.labels[self.starts[value] : self.starts[value + 1]]] = True
            return possible
        position = reading.places[value]
        possible |= (reading.low - self.slack <= position) & (position <= reading.high + self.slack)
        possible[self.unplaced[self.unplaced[:, 0] == value, 1]] = True
        return possible


def clue_from_ranks(pair: TablePair, column: str, share: float) -> Likelihood:
    r"""Rank swapping with known p: the released record's rank is within :math:`m=\lfloor pN\rfloor`
    of the value's own.

    Swapping keeps the values, so ranks of original values are read off the released column itself;
    with ties, from the lowest to the highest rank of equal values. Values outside the released
    column (people left out) take the place they would have. Within the window all ranks are alike
    here; where values tie, or values stayed where they were, the nearest of them is the better
    guess.
    Reference: Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006.
    """
    reading = pair.reading(column)
    released = reading.middle[reading.released]
    sorted_values = np.sort(released[~np.isnan(released)])
    reach = int(share * len(sorted_values) + 1e-9)
    low, high = (
        np.searchsorted(sorted_values, released, side="left"),
        np.searchsorted(sorted_values, released, side="right") - 1,
    )

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]]
        first = np.searchsorted(sorted_values, value, side="left")[:, None]
        last = np.maximum(
            np.searchsorted(sorted_values, value, side="right") - 1,
            np.searchsorted(sorted_values, value, side="left"),
        )
        near = (low[None, :] <= last[:, None] + reach) & (high[None, :] >= first - reach)
        both_missing = np.isnan(value)[:, None] == np.isnan(released)[None, :]
        is_near = np.where(
            np.isnan(value)[:, None], both_missing, near & ~np.isnan(released)[None, :]
        )
        return np.where(is_near, 0.0, -np.inf)

    return Likelihood((column,), score, True, "rank_swap")


def clue_from_runs(pair: TablePair, column: str) -> Likelihood:
    r"""Microaggregation of one column alone: groups are runs of neighbours,
    so :math:`c_{g-1} \le x \le c_{g+1}`.
    """
    reading = pair.reading(column)
    released = reading.middle[reading.released]
    centres = np.unique(released[~np.isnan(released)])
    positions = np.searchsorted(centres, released)
    slack = 1e-9 * max(1.0, abs(reading.span))
    below = np.concatenate([[-np.inf], centres[:-1]]) - slack if len(centres) else centres
    above = np.concatenate([centres[1:], [np.inf]]) + slack if len(centres) else centres

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]][:, None]
        spot = np.minimum(positions, max(0, len(centres) - 1))[None, :]
        inside = (
            (below[spot] <= value) & (value <= above[spot])
            if len(centres)
            else np.zeros((len(targets), len(released)))
        )
        both_missing = np.isnan(value) & np.isnan(released)[None, :]
        return np.where(inside.astype(bool) | both_missing, 0.0, -np.inf)

    return Likelihood((column,), score, True, "microaggregate")


def clue_from_differences(
    pair: TablePair,
    columns: tuple[str, ...],
    spread: NDArray[np.float64],
    method: str,
    *,
    nearest: bool = False,
) -> Likelihood:
    r"""Gaussian differences with known covariance: :math:`-\tfrac12 (y-x)^\top Q (y-x)`, :math:`Q`
    its (pseudo-)inverse.

    For noise that is the likelihood, and linking by it is the best attack there is; for
    microaggregation by blocks it finds the nearest centre, whose records are the candidates
    (``nearest``). Missing values say nothing.
    """
    readings = [pair.reading(c) for c in columns]
    released = np.stack([r.middle[r.released] for r in readings], axis=1)
    root = _root_of_inverse(spread)
    released_missing = np.any(np.isnan(released), axis=1)[None, :]

    def score(targets: Codes) -> Scores:
        value = np.stack([r.places[r.original[targets]] for r in readings], axis=1)
        original_points, released_points = (
            np.nan_to_num(value) @ root.T,
            np.nan_to_num(released) @ root.T,
        )
        far = (
            (original_points**2).sum(axis=1)[:, None]
            + (released_points**2).sum(axis=1)[None, :]
            - 2 * original_points @ released_points.T
        )
        unknown = np.any(np.isnan(value), axis=1, keepdims=True) | released_missing
        return np.where(unknown, 0.0, -0.5 * np.maximum(far, 0.0))

    return Likelihood(columns, score, True, method, nearest)


def _root_of_inverse(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with RᵀR the pseudo-inverse; directions without any spread are left out (they
    would be infinitely telling).
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    positive = values > max(float(values.max(initial=0.0)), 1e-300) * 1e-10
    root: NDArray[np.float64] = (vectors[:, positive] / np.sqrt(values[positive])).T
    return root


def clue_from_transitions(
    pair: TablePair, column: str, labels: tuple[Any, ...], matrix: NDArray[np.float64]
) -> Likelihood:
    """Post-randomisation with a known matrix: the log of the chance that the value was released as
    this label.
    """
    reading = pair.reading(column)
    label_codes = {
        label[0] if isinstance(label, tuple) else label: i for i, label in enumerate(labels)
    }
    nowhere = -1
    of_value = np.array(
        [nowhere if v is None else label_codes.get(v, nowhere) for v in reading.values],
        dtype=np.int64,
    )
    of_label = np.array(
        [nowhere if c is None else label_codes.get(c, nowhere) for c in reading.labels],
        dtype=np.int64,
    )
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    same_label = {label: code for code, label in enumerate(reading.labels)}
    own_label = np.array(
        [same_label.get(value, nowhere) for value in reading.values], dtype=np.int64
    )

    def score(targets: Codes) -> Scores:
        scores = np.empty((len(targets), len(reading.released)))
        for row, value in enumerate(reading.original[targets].tolist()):
            of_labels = np.where(np.arange(len(of_label)) == own_label[value], 0.0, -np.inf)
            if of_value[value] != nowhere:
                has_column = of_label != nowhere
                of_labels[has_column] = logs[of_value[value], of_label[has_column]]
            scores[row] = of_labels[reading.released]
        return scores

    return Likelihood((column,), score, True, "pram")


# Which clue each column gives: by the last step that masked it, and by its released cells where
# none did.


def clues_of(scene: Scene) -> list[Likelihood]:
    """The clues of all columns the intruder knows; columns that two steps masked in turn, or a step
    of another kind, give none.
    """
    pair = scene.pair
    known_columns = [c for c in scene.intruder.knows if c in pair.columns]
    steps = {
        c: [s for s in scene.steps if c in s.masks and not s.keeps_quasi] for c in known_columns
    }
    clues = [
        clue_from_cells(pair, c) for c in known_columns if not steps[c] and generalises(pair, c)
    ]
    alone = {c: column_steps[0] for c, column_steps in steps.items() if len(column_steps) == 1}
    for step in dict.fromkeys(map(id, alone.values())):
        step_object = next(s for s in alone.values() if id(s) == step)
        clues += _by_step(
            pair, step_object, tuple(c for c in known_columns if alone.get(c) is step_object)
        )
    return clues


def _by_step(pair: TablePair, step: Step, columns: tuple[str, ...]) -> list[Likelihood]:
    """What the clue of a step says of some of its columns; all but noise is worked out for whole
    tables only.
    """
    clue = step.clue
    numbers = tuple(c for c in columns if pair.reading(c).scale != "category")
    if isinstance(clue, NoiseAdded) and numbers:
        spread = _covariance(pair, numbers)
        spread = (spread if clue.correlated else _diagonal(spread)) * clue.alpha / (1 + clue.alpha)
        return [clue_from_differences(pair, numbers, spread, step.name)]
    if clue is None or clue.within or pair.original.schema.columns(Role.STRATUM):
        return []
    if isinstance(clue, RankWindow):
        return [clue_from_ranks(pair, c, clue.share) for c in numbers]
    if isinstance(clue, Runs):
        return [clue_from_runs(pair, c) for c in numbers]
    if isinstance(clue, Centres) and numbers:
        whole = set(numbers) == set(
            step.masks
        )  # in some of its columns alone the nearest centre is often another's
        spread = _diagonal(_covariance(pair, numbers))
        return [clue_from_differences(pair, numbers, spread, step.name, nearest=whole)]
    if isinstance(clue, Randomised):
        matrices = [t for t in step.transitions(pair.original) if t.columns[0] in columns]
        return [clue_from_transitions(pair, t.columns[0], t.labels, t.matrix) for t in matrices]
    return []


def _covariance(pair: TablePair, columns: tuple[str, ...]) -> NDArray[np.float64]:
    values = np.stack([pair.reading(c).middle[pair.reading(c).released] for c in columns], axis=1)
    complete_rows = values[~np.isnan(values).any(axis=1)]
    if len(complete_rows) < 2:
        return np.eye(len(columns))
    return np.atleast_2d(np.cov(complete_rows, rowvar=False))


def _diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diag(np.diag(matrix))


ARRAYS = 8
"""Arrays of targets × released rows that are held at a time, besides one for each column that
distances are made of.
"""
GUESSES = ("likeliest", "nearest", "likeliest candidate", "nearest candidate")
"""The likeliest record and the nearest one, of all that are possible and of the candidates that are
left.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Narrowed:
    """Per target: how many released records it may be, whether its own is among them, and the
    credit of each guess.

    ``targets`` are the rows of the original in question: all, or a random sample where all would be
    too much work.
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
    line: ClassVar[str] = "A person is found by who knows how the release was made"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when a step was used whose workings help an intruder."""
        telling = [step for step in scene.steps if step.clue is not None]
        if not telling:
            return NothingToAttack("no step was used whose parameters would help an intruder")
        if not (scene.intruder.truth != NOT_IN_FILE).any():
            return "nobody in the intruder's file is in the table"
        masked = {c for step in telling for c in step.masks}
        if not masked & set(scene.intruder.knows) & set(scene.pair.columns):
            return NothingToAttack("no column that this intruder knows was masked by such a step")
        if any(clue.method != CELLS for clue in clues_of(scene)):
            return None
        return (
            "what the method gives away of the masked columns this intruder knows is not worked out"
        )

    def attack(self, scene: Scene) -> Finding:
        """Intersect what all columns say of each target."""
        clues = clues_of(scene)
        people = np.flatnonzero(scene.intruder.truth != NOT_IN_FILE)
        narrowing = narrowed(scene, clues, people)
        credit = narrowing.credits[:, narrowing.best]
        single = narrowing.candidates == 1
        sure = single & narrowing.contained
        limited = len(narrowing.targets) < len(people)
        sample = (
            f" (a random sample of {len(narrowing.targets):,}, to bound the work)"
            if limited
            else ""
        )
        message = (
            f"knowing how it was made leaves {float(narrowing.candidates.mean()):,.1f} records a"
            f" person on average; {percent(float(credit.mean()))} of the people are found,"
            f" {int(sure.sum()):,} of {len(narrowing.targets):,} for certain{sample}"
        )
        return Finding(
            self.name,
            float(credit.mean()),
            message,
            interval=sampled_interval(credit, everybody=not limited and not scene.intruder.sampled),
            baseline=1 / max(1, len(scene.pair.released)),
            victims=np.unique(narrowing.targets[sure]),
            details={
                "mean_candidates": float(narrowing.candidates.mean()),
                "singletons": float(single.mean()),
                "correct_singletons": float(sure.mean()),
                "contained": float(narrowing.contained.mean()),
                "expected_by_candidates": float(
                    (narrowing.contained / np.maximum(1, narrowing.candidates)).mean()
                ),
                "guess": GUESSES[narrowing.best],
                "guesses": dict(zip(GUESSES, narrowing.credits.mean(axis=0).tolist(), strict=True)),
                "methods": sorted({clue.method for clue in clues}),
                "limited_by_work": limited,
            },
            trials=len(narrowing.targets),
        )


def narrowed(scene: Scene, clues: list[Likelihood], people: NDArray[np.int64]) -> Narrowed:
    """What all clues together leave of the released records, for rows of the intruder's file."""
    released = len(scene.pair.rows)
    own = np.full(len(scene.pair.original), -1, dtype=np.int64)
    own[scene.pair.rows] = np.arange(released)
    near = _nearness(scene)
    order = people[scene.seed.stream("transparency sample").permutation(len(people))]
    parts: list[tuple[Any, ...]] = []
    arrays = ARRAYS + len(clues) + len(common_columns(scene))
    affordable_count = scene.affordable(len(order), released * arrays)
    step = max(1, min(BLOCK_BYTES // 8, AT_ONCE) // max(1, released * arrays))
    for start in range(0, affordable_count, step):
        scene.require_time()
        batch = order[start : min(affordable_count, start + step)]
        targets = scene.intruder.truth[batch]
        scores, candidates = _intersected(clues, targets, released)
        parts.append((targets, *_judge_candidates(scores, near(batch), candidates, own[targets])))
        scene.progress(min(1.0, (start + step) / affordable_count), "intersecting clues")
    return Narrowed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _intersected(
    clues: list[Likelihood], targets: NDArray[np.int64], released: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How likely every released record is, and the candidates: possible, and in as many nearest
    groups as any record is.
    """
    total, agreeing = np.zeros((len(targets), released)), np.zeros((len(targets), released))
    for clue in clues:
        scores = clue.score(targets)
        total += scores
        if clue.nearest:
            agreeing += _best(scores, np.isfinite(scores))
    return total, _best(agreeing, np.isfinite(total))


def _nearness(scene: Scene) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """Per row of the intruder's file how near every released record is, by the distance of plain
    linkage, as a negative number.
    """
    if refusal(scene) is not None:
        return lambda people: np.zeros((len(people), len(scene.pair.rows)))
    files = files_of(scene)
    arrays = files.plain
    released_kinds = np.arange(len(files.ours.records))

    def near(people: NDArray[np.int64]) -> NDArray[np.float64]:
        kinds, kind_numbers = np.unique(files.theirs.kind_of[people], return_inverse=True)
        pairs = np.column_stack(
            [np.repeat(kinds, len(released_kinds)), np.tile(released_kinds, len(kinds))]
        ).astype(np.int64)
        distances = arrays.costs(pairs).sum(axis=1).reshape(len(kinds), len(released_kinds))
        return np.asarray(-distances[kind_numbers][:, files.ours.kind_of])

    return near


def _best(scores: NDArray[np.float64], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The records with the greatest score among some, ties included."""
    best = np.where(among, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    slack = TIE * (1.0 + np.abs(np.where(np.isfinite(best), best, 0.0)))
    return np.asarray(among & (scores >= best - slack))


def _judge_candidates(
    scores: NDArray[np.float64],
    near: NDArray[np.float64],
    candidates: NDArray[np.bool_],
    own: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    """How many candidates there are, whether the own record is one, and the credit of each
    guess.
    """
    is_released, record, line = own >= 0, np.maximum(own, 0), np.arange(len(own))
    shares = []
    for among in (np.isfinite(scores), candidates):
        for guess in (scores, near):
            tied = _best(guess, among)
            shares.append(
                np.where(is_released & tied[line, record], 1 / np.maximum(1, tied.sum(axis=1)), 0.0)
            )
    return candidates.sum(axis=1), is_released & candidates[line, record], np.column_stack(shares)
