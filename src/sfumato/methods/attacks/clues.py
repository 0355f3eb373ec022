"""How well each released record fits a target, column by column: a log-likelihood, −∞ where it
cannot be the record of the target.

Each function takes the values of the targets (codes of the original values) and gives an array of
targets × released rows. ``sound`` says that the true record never gets −∞.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.groups import group_starts
from sfumato.core.schema import Role
from sfumato.core.step import Centres, NoiseAdded, Randomised, RankWindow, Runs
from sfumato.methods.attacks.crowd import generalises

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading
    from sfumato.core.step import Step

    Scores = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

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
        # Labels that may stand for anything, whatever the value.
        is_missing = np.array([label is None for label in reading.labels])
        self.always = np.asarray(reading.everything, dtype=bool) | is_missing
        self.slack = 1e-9 * max(1.0, abs(reading.span))
        if reading.scale == "category":
            labels = np.repeat(np.arange(len(reading.labels)), np.diff(reading.starts))
            # The lists turned round: the labels of value v are labels[starts[v]:starts[v + 1]].
            self.labels = labels[np.argsort(reading.members, kind="stable")]
            counts = np.bincount(reading.members, minlength=len(reading.values))
            self.starts = group_starts(counts)
        else:
            pairs = []
            for label, values in reading.unplaced.items():
                for value in values:
                    pairs.append((value, label))
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
        low = reading.low - self.slack
        high = reading.high + self.slack
        possible |= (low <= position) & (position <= high)
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
    # 1e-9: p · N that is a whole number must not fall below it by rounding.
    reach = int(share * len(sorted_values) + 1e-9)
    low = np.searchsorted(sorted_values, released, side="left")
    high = np.searchsorted(sorted_values, released, side="right") - 1

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]]
        # Tie blocks of ranks: from lowest to highest on either side, and they must come within
        # reach.
        first = np.searchsorted(sorted_values, value, side="left")
        last = np.maximum(np.searchsorted(sorted_values, value, side="right") - 1, first)
        begins_before = low[None, :] <= last[:, None] + reach
        ends_behind = high[None, :] >= first[:, None] - reach
        near = begins_before & ends_behind
        value_missing = np.isnan(value)[:, None]
        released_missing = np.isnan(released)[None, :]
        both_missing = value_missing == released_missing
        is_near = np.where(value_missing, both_missing, near & ~released_missing)
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
    if len(centres):
        centres_below = np.concatenate([[-np.inf], centres[:-1]])
        centres_above = np.concatenate([centres[1:], [np.inf]])
        below = centres_below - slack
        above = centres_above + slack
    else:
        below = centres
        above = centres

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]][:, None]
        # Missing cells lie past the last centre; they are set right by both_missing below.
        last_centre = max(0, len(centres) - 1)
        spot = np.minimum(positions, last_centre)[None, :]
        inside = np.zeros((len(targets), len(released)), dtype=np.bool_)
        if len(centres):
            inside[:] = (below[spot] <= value) & (value <= above[spot])
        both_missing = np.isnan(value) & np.isnan(released)[None, :]
        return np.where(inside | both_missing, 0.0, -np.inf)

    return Likelihood((column,), score, True, "microaggregate")


def clue_from_differences(
    pair: TablePair,
    columns: tuple[str, ...],
    spread: Floats,
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
        original_points = np.nan_to_num(value) @ root.T
        released_points = np.nan_to_num(released) @ root.T
        # |a − b|² = |a|² + |b|² − 2ab for all pairs by one product of matrices.
        original_norms = (original_points**2).sum(axis=1)
        released_norms = (released_points**2).sum(axis=1)
        products = 2 * original_points @ released_points.T
        far = original_norms[:, None] + released_norms[None, :] - products
        unknown = np.any(np.isnan(value), axis=1, keepdims=True) | released_missing
        return np.where(unknown, 0.0, -0.5 * np.maximum(far, 0.0))

    return Likelihood(columns, score, sound=True, method=method, nearest=nearest)


def _root_of_inverse(spread: Floats) -> Floats:
    """A matrix R with RᵀR the pseudo-inverse; directions without any spread are left out (they
    would be infinitely telling).
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    positive = values > max(float(values.max(initial=0.0)), 1e-300) * 1e-10
    root: Floats = (vectors[:, positive] / np.sqrt(values[positive])).T
    return root


def clue_from_transitions(
    pair: TablePair, column: str, labels: tuple[Any, ...], matrix: Floats
) -> Likelihood:
    """Post-randomisation with a known matrix: the log of the chance that the value was released as
    this label.
    """
    reading = pair.reading(column)
    label_codes = {}
    for i, label in enumerate(labels):
        label_codes[label[0] if isinstance(label, tuple) else label] = i
    nowhere = -1
    value_codes = [nowhere if v is None else label_codes.get(v, nowhere) for v in reading.values]
    of_value = np.array(value_codes, dtype=np.int64)
    released_codes = [nowhere if c is None else label_codes.get(c, nowhere) for c in reading.labels]
    of_label = np.array(released_codes, dtype=np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    same_label = {label: code for code, label in enumerate(reading.labels)}
    own_label = np.array(
        [same_label.get(value, nowhere) for value in reading.values], dtype=np.int64
    )

    def score(targets: Codes) -> Scores:
        scores = np.empty((len(targets), len(reading.released)))
        for row, value in enumerate(reading.original[targets].tolist()):
            # A value outside the matrix was left as it is: only its own label is possible.
            is_own = np.arange(len(of_label)) == own_label[value]
            of_labels = np.where(is_own, 0.0, -np.inf)
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
    steps = {}
    for c in known_columns:
        steps[c] = [s for s in scene.steps if c in s.masks and not s.keeps_quasi]
    clues = []
    for c in known_columns:
        if not steps[c] and generalises(pair, c):
            clues.append(clue_from_cells(pair, c))
    alone = {c: column_steps[0] for c, column_steps in steps.items() if len(column_steps) == 1}
    # By identity: two steps may be equal and yet have masked different columns.
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
        # Released variances hold original and noise, (1 + α) times the original: α/(1 + α) is
        # noise.
        spread = (spread if clue.correlated else _diagonal(spread)) * clue.alpha / (1 + clue.alpha)
        return [clue_from_differences(pair, numbers, spread, step.name)]
    if clue is None or clue.within or pair.original.schema.columns(Role.STRATUM):
        return []
    if isinstance(clue, RankWindow):
        return [clue_from_ranks(pair, c, clue.share) for c in numbers]
    if isinstance(clue, Runs):
        return [clue_from_runs(pair, c) for c in numbers]
    if isinstance(clue, Centres) and numbers:
        # in some of its columns alone the nearest centre is often another's
        whole = set(numbers) == set(step.masks)
        spread = _diagonal(_covariance(pair, numbers))
        return [clue_from_differences(pair, numbers, spread, step.name, nearest=whole)]
    if isinstance(clue, Randomised):
        matrices = [t for t in step.transitions(pair.original) if t.columns[0] in columns]
        return [clue_from_transitions(pair, t.columns[0], t.labels, t.matrix) for t in matrices]
    return []


def _covariance(pair: TablePair, columns: tuple[str, ...]) -> Floats:
    values = np.stack([pair.reading(c).middle[pair.reading(c).released] for c in columns], axis=1)
    complete_rows = values[~np.isnan(values).any(axis=1)]
    if len(complete_rows) < 2:
        return np.eye(len(columns))
    return np.atleast_2d(np.cov(complete_rows, rowvar=False))


def _diagonal(matrix: Floats) -> Floats:
    return np.diag(np.diag(matrix))
