"""Logistic regression: of two classes by Newton's method, of several by quasi-Newton steps."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.encoding import missing_in
from sfumato.core.schema import Kind
from sfumato.methods.utility.cells import cells_of
from sfumato.methods.utility.numeric import numbers, plainly_numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


RIDGE = 1e-6
"""Penalty per row on squared coefficients, the constant left out: it keeps them finite where
classes can be separated.
"""
FARTHEST = 30.0
MOST_STEPS = 40
MOST_REFITS = 400
CLOSE_ENOUGH = 1e-8
MOST_VALUES = 20
"""Categories beyond the most frequent ones share a column."""
Both = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients (the constant first), fitted probabilities, and the covariance of the
    coefficients.
    """

    coefficients: Floats
    probabilities: Floats
    design: Floats
    penalty: Floats

    @functools.cached_property
    def covariance(self) -> Floats:
        """How uncertain the coefficients are; dear where there are many, and asked for by few."""
        curvature = _curvature(self.design, self.probabilities, self.penalty)
        return np.asarray(np.linalg.pinv(curvature, hermitian=True), dtype=np.float64)


def with_constant(features: Floats) -> Floats:
    """The features with a column of ones before them."""
    return np.concatenate([np.ones((len(features), 1)), features], axis=1)


def fit_logistic(features: Floats, truth: Floats, *, ridge: float = RIDGE) -> Fit:
    """Fit the probability that ``truth`` is 1, by iteratively reweighted least squares with a small
    ridge.

    >>> import numpy as np
    >>> fit = fit_logistic(np.zeros((4, 0)), np.array([0.0, 0, 0, 1]))
    >>> fit.probabilities.round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    design = with_constant(features)
    penalty = np.full(design.shape[1], ridge * len(design))
    penalty[0] = 0.0
    share = min(max(float(truth.mean()), 1e-9), 1 - 1e-9)
    coefficients = np.zeros(design.shape[1])
    coefficients[0] = np.log(share / (1 - share))
    worst = _deviance(design, truth, coefficients, penalty)
    for _ in range(MOST_STEPS):
        chance = _chance(_times(design, coefficients))
        gradient = kernels.designs.multiply_transposed(design, (truth - chance)[:, None])
        slope = gradient[:, 0] - penalty * coefficients
        step = _newton_step(_curvature(design, chance, penalty), slope)
        for _ in range(MOST_STEPS):
            trial_deviance = _deviance(design, truth, coefficients + step, penalty)
            if trial_deviance <= worst + 1e-12 * abs(worst):
                break
            step = step / 2
        coefficients = coefficients + step
        if worst - trial_deviance <= CLOSE_ENOUGH * (abs(worst) + CLOSE_ENOUGH):
            break
        worst = trial_deviance
    chance = _chance(_times(design, coefficients))
    return Fit(coefficients, chance, design, penalty)


class Refit:
    """Fits of many truths to the same features: steps that a bound on the curvature makes safe need
    one factorisation.

    The curvature of a logistic regression is nowhere above a quarter of the features' products
    (Böhning & Lindsay 1988), and close to it where no feature tells much, as under a null
    hypothesis.
    """

    def __init__(self, features: Floats, *, ridge: float = RIDGE) -> None:
        self.design = with_constant(features)
        self.penalty = np.full(self.design.shape[1], ridge * len(self.design))
        gram = kernels.designs.compute_gram(self.design, np.ones(len(self.design)))
        ridge_matrix = np.diag(self.penalty + 1e-12 * len(self.design))
        bound = 0.25 * gram + ridge_matrix
        self.penalty[0] = 0.0
        self.factor = np.linalg.cholesky(bound)

    def probabilities(self, truths: Floats) -> Floats:
        """Per truth, a column each, the fitted probabilities that it is 1; all are fitted side by
        side, each until it is close.
        """
        coefficients = np.zeros((self.design.shape[1], truths.shape[1]))
        active = np.arange(truths.shape[1])
        for _ in range(MOST_REFITS):
            now = coefficients.take(active, axis=1)
            apart = truths.take(active, axis=1) - _chance(
                kernels.designs.multiply(self.design, now)
            )
            slope = (
                kernels.designs.multiply_transposed(self.design, apart)
                - self.penalty[:, None] * now
            )
            step = kernels.designs.solve_cholesky(self.factor, slope)
            coefficients[:, active] = now + step
            active = active[(slope * step).sum(axis=0) > 1e-7 * len(truths)]
            if not active.size:
                break
        return _chance(kernels.designs.multiply(self.design, coefficients))


def _newton_step(curvature: Floats, slope: Floats) -> Floats:
    """A Newton step; columns that depend on each other share it."""
    try:
        return np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0], dtype=np.float64)


def _chance(scores: Floats) -> Floats:
    odds = np.exp(-np.clip(scores, -FARTHEST, FARTHEST))
    chances: Floats = 1.0 / (1.0 + odds)
    return chances


def _curvature(design: Floats, chance: Floats, penalty: Floats) -> Floats:
    curvature: Floats = kernels.designs.compute_gram(design, chance * (1 - chance)) + np.diag(
        penalty
    )
    return curvature


def _times(design: Floats, coefficients: Floats) -> Floats:
    product: Floats = kernels.designs.multiply(design, coefficients[:, None])[:, 0]
    return product


def _deviance(
    design: Floats,
    truth: Floats,
    coefficients: Floats,
    penalty: Floats,
) -> float:
    scores = np.clip(_times(design, coefficients), -FARTHEST, FARTHEST)
    deviance = (np.logaddexp(0.0, scores) - truth * scores).sum()
    ridge_cost = 0.5 * (penalty * coefficients**2).sum()
    return float(deviance + ridge_cost)


def fit_classes(features: Floats, truth: Ints, classes: int, *, ridge: float = 1e-4) -> Floats:
    """Coefficients, one column a class, of multinomial logistic regression (the constant first).

    >>> import numpy as np
    >>> made = fit_classes(np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1]), 2)
    >>> predict(made, np.array([[0.0], [2.0]])).tolist()
    [0, 1]
    """
    from scipy.optimize import minimize

    design = with_constant(features)
    target = np.zeros((len(design), classes))
    target[np.arange(len(design)), truth] = 1.0
    shape = (design.shape[1], classes)
    free = np.ones(shape)
    free[0] = 0.0

    def cost(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = design @ weights
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        fit = float((target * logs).sum())
        ridge_cost = 0.5 * ridge * float((free * weights**2).sum())
        value = -fit / len(design) + ridge_cost
        residuals = np.exp(logs) - target
        ridge_slope = ridge * free * weights
        slope = design.T @ residuals / len(design) + ridge_slope
        return value, slope.ravel()

    fit = minimize(
        cost, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    coefficients: Floats = fit.x.reshape(shape)
    return coefficients


def predict(coefficients: Floats, features: Floats) -> Ints:
    """The likeliest class of every row."""
    return np.asarray((with_constant(features) @ coefficients).argmax(axis=1), dtype=np.int64)


# Both sides of a pair as the same columns of numbers, for models that learn from them.
#
# Numbers, dates and ordered values are standardised by the original; a range stands for its middle.
# A category is a column per value (the frequent ones; the rest share one), where a generalised
# label is spread over what it may stand for, in the proportions of the original column: nothing
# better is known about it than how often values occur.


@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """Columns of numbers: ``before`` of original rows, ``after`` of released rows; ``owners`` names
    where each comes from.
    """

    owners: tuple[str, ...]
    before: Floats
    after: Floats

    def of(self, names: Sequence[str]) -> Features:
        """The features of some columns only."""
        column_numbers = [j for j, owner in enumerate(self.owners) if owner in names]
        owners = tuple(self.owners[j] for j in column_numbers)
        before = self.before[:, column_numbers]
        after = self.after[:, column_numbers]
        return Features(owners, before, after)


def is_number(pair: TablePair, name: str) -> bool:
    """Whether both sides of a column can be read as numbers."""
    attribute = pair.original.schema[name]
    if attribute.order is None and attribute.kind not in (Kind.NUMERIC, Kind.DATE):
        return False
    return plainly_numeric(pair, name) or pair.reading(name).scale != "category"


def says_nothing(pair: TablePair, name: str) -> bool:
    """Whether every released cell of a column is suppressed."""
    if plainly_numeric(pair, name):
        return bool(pair.released.column(name).null_count() == len(pair.released))
    if name not in pair.released.columns:
        return True
    return bool(_lost_labels(pair, name)[pair.reading(name).released].all())


def _lost_labels(pair: TablePair, name: str) -> NDArray[np.bool_]:
    """Per released label whether nothing is left of some cell that has it."""
    reading = pair.reading(name)
    # nobody's cell was anything before: one that is missing says so, where the original has such
    # cells
    if not pair.aligned:
        blank_in_original = missing_in(reading.labels) & (None not in reading.values)
        lost: NDArray[np.bool_] = reading.everything | blank_in_original
        return lost
    lost = np.zeros(len(reading.labels), dtype=bool)
    cells = cells_of(pair, name)
    if cells is not None:
        lost[cells.label[cells.lost]] = True
    return lost


def features_of(
    pair: TablePair,
    names: Sequence[str],
    original: Ints,
    released: Ints,
    *,
    blanks: bool = False,
) -> Features:
    """Features of some original and some released rows; ``blanks`` adds columns that mark missing
    and suppressed cells.
    """
    owners: list[str] = []
    before_parts: list[Floats] = [np.zeros((len(original), 0))]
    after_parts: list[Floats] = [np.zeros((len(released), 0))]
    for name in names:
        make = _numeric if is_number(pair, name) else _category
        before, after = make(pair, name, original, released, blanks)
        owners += [name] * before.shape[1]
        before_parts.append(before)
        after_parts.append(after)
    return Features(
        tuple(owners), np.concatenate(before_parts, axis=1), np.concatenate(after_parts, axis=1)
    )


@np.errstate(over="ignore", invalid="ignore")  # squares of very large numbers are infinite
def _numeric(
    pair: TablePair,
    name: str,
    original: Ints,
    released: Ints,
    blanks: bool,
) -> Both:
    values = numbers(pair, name)
    present = values.before[~np.isnan(values.before)]
    mean = float(present.mean()) if len(present) else 0.0
    deviation = float(present.std()) if len(present) else 0.0
    sides = []
    for column in (values.before[original], values.after[released]):
        absent = np.isnan(column)
        scaled = np.where(absent, 0.0, (column - mean) / (deviation or 1.0))
        if blanks:
            sides_of_column = [scaled, absent.astype(np.float64)]
        else:
            sides_of_column = [scaled]
        sides.append(np.stack(sides_of_column, axis=1))
    return sides[0], sides[1]


def _category(
    pair: TablePair,
    name: str,
    original: Ints,
    released: Ints,
    blanks: bool,
) -> Both:
    """A column a value, the rarest together; the most frequent value is what the others are
    compared with.
    """
    reading = pair.reading(name)
    counts = np.bincount(reading.before.narrow, minlength=len(reading.values))
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    width = max(1, min(len(counts), MOST_VALUES + 1))
    feature = np.minimum(rank, width - 1)
    before = np.zeros((len(original), width))
    before[np.arange(len(original)), feature[reading.before.narrow[original]]] = 1.0
    lost = _lost_labels(pair, name)
    used, which = np.unique(reading.after.narrow[released], return_inverse=True)
    own_values = pair.own_values(name)
    labels, odd = _label_rows((feature, width), reading, own_values, used.astype(np.int64), lost)
    before = before[:, 1:]
    after = labels[which, 1:]
    if blanks:
        before = np.concatenate([before, np.zeros((len(before), 1))], axis=1)
        after = np.concatenate([after, odd[which, None]], axis=1)
    return before, after


def _label_rows(
    features: tuple[Ints, int],
    reading: Reading,
    own: Ints,
    used: Ints,
    lost: NDArray[np.bool_],
) -> Both:
    """Per label that is used the mean of the values it may stand for, and whether it says nothing
    or something unknown.

    ``features`` are the column of each value and how many columns there are, ``own`` the value that
    each label is written as.
    """
    feature, width = features
    counts = reading.before.counts.astype(np.float64)
    rows = np.zeros((len(used), width))
    own = own[used]
    itself = np.flatnonzero(own >= 0)
    rows[itself, feature[own[itself]]] = 1.0
    sizes = (own >= 0).astype(np.float64)
    for number in np.flatnonzero(own < 0).tolist():
        start = reading.starts[used[number]]
        end = reading.starts[used[number] + 1]
        members = reading.members[start:end]
        sizes[number] = counts[members].sum()
        sums = np.bincount(feature[members], weights=counts[members], minlength=width)
        rows[number] = sums / max(sizes[number], 1.0)
    unknown = lost[used] | (sizes == 0)
    shares = np.bincount(feature, weights=counts, minlength=width)
    rows[unknown] = shares / max(1.0, float(counts.sum()))
    return rows, unknown.astype(np.float64)
