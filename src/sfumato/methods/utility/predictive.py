"""Predictive accuracy: learn from the release, be tested on the original."""

from __future__ import annotations

import dataclasses
import math
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.metric import ColumnUtility, Measure, Utility
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.randomness import Seed
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.methods.utility.cell_averages import records_of
from sfumato.methods.utility.columns import EMPTY, AllColumns, data_of, require_sense
from sfumato.methods.utility.logistic_regression import (
    Features,
    Refit,
    features_of,
    fit_classes,
    fit_logistic,
    is_number,
    says_nothing,
    with_constant,
)
from sfumato.methods.utility.numeric import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


MOST_CLASSES = 100
Estimate = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
ROUNDING = 1e-14
NOTHING_LIKE = "nothing was released that could be mistaken for the original"
CELLS_AT_ONCE = 1_000_000
"""Records × exchanges that are fitted side by side."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelScores:
    """People set aside: their ``truth`` (positions in ``values``), and what two models say of them,
    a row a person and a column a value; ``released`` is None where nothing was released to learn
    from. ``majority`` is the most frequent value of those learned from.
    """

    values: tuple[str | None, ...]
    truth: Ints
    majority: int
    original: Floats
    released: Floats | None


@parameters
class PredictiveAccuracy(ColumnUtility):
    r"""How well a label is predicted in original records by a model that learned from released
    ones.

    .. math:: value = \frac{acc_{original} - acc_{released}}{acc_{original} - acc_{majority}}

    A share ``held_out`` of the people, drawn by ``seed``, is set aside; one model (multinomial
    logistic regression) learns from the original records of the others, one from what was released
    of them, and both are tested on the original records of those set aside, as is always answering
    the most frequent label. ``raw`` is the accuracy of the model that learned from the release;
    ``value`` the share of what can be learned that is lost, 0 where the columns say nothing about
    the label. Generalised predictors are taken as in :class:`Propensity`; released records whose
    label is no original one are not learned from. Of larger tables a random sample of ``records``
    people is looked at.

    Of synthetic rows the model learns from any of them, and is tested on the people who
    were set aside before the rows were drawn (train on synthetic, test on real); where none were,
    on a share ``held_out`` of the people, and the meaning says so.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> people = examples.survey()
    >>> PredictiveAccuracy(people.schema.quasi[0]).measure(TablePair.of(people, people)).value
    0.0
    """

    label: Annotated[str, COLUMNS, Field(min_length=1, description="the column to be predicted")]
    columns: AllColumns = None
    held_out: Annotated[
        float, Field(gt=0, lt=1, description="share of people the models are tested on")
    ] = 0.3
    records: Annotated[int, Field(ge=10, description="most people to use")] = 20_000
    seed: Annotated[int, Field(ge=0, description="for the draw")] = 1

    name: ClassVar[str] = "predictive_accuracy"
    title: ClassVar[str] = "Prediction"
    line: ClassVar[str] = "accuracy lost by a model trained on the release"

    def applies(self, pair: TablePair) -> str | None:
        """None where there is a label and something to predict it from."""
        pair.original.require([self.label])
        if not records_of(pair):
            return EMPTY
        if not self._predictors(pair):
            return "no released column is left to predict from"
        if (
            self.label in pair.released.columns
            and len(pair.reading(self.label).values) > MOST_CLASSES
        ):
            return (
                f"{self.label} has more than {MOST_CLASSES} different values; choose a label "
                "with fewer"
            )
        if self._people(pair)[0].size < 2 or not self._people(pair)[1].size:
            return "there are too few records to set some aside"
        return None

    def measure(self, pair: TablePair) -> Measure:
        """The share of what can be learned that is lost."""
        require_sense(self, pair)
        if not len(pair.released) or self.label not in pair.released.columns:
            return Measure(
                self.name, 1.0, self.better, f"nothing was released to learn {self.label} from"
            )
        learned, original, majority = self._accuracies(pair)
        gain = original - majority
        value = 0.0
        if gain > 0:
            value = min(1.0, max(0.0, (original - learned) / gain))
        accuracies = (
            f"accuracy {percent(learned)} from the release, {percent(original)} from the original,"
            f" {percent(majority)} by majority"
        )
        note = ", tested on people whom the synthetic rows may resemble"
        if pair.aligned or pair.held_out is not None:
            note = ""
        return Measure(
            self.name,
            value,
            self.better,
            f"share of what can be learned about {self.label} that is lost; {accuracies}{note}",
            raw=learned,
        )

    def _predictors(self, pair: TablePair) -> tuple[str, ...]:
        names = data_of(pair, self.columns)
        return tuple(name for name in names if name in pair.released.columns and name != self.label)

    def _people(self, pair: TablePair) -> tuple[Ints, Ints]:
        """The original rows to learn from, and those set aside."""
        # Drawn rows may repeat anybody they were learnt from: only who was set aside before is a
        # fair test.
        if not pair.aligned and pair.learnt_from is not None and pair.held_out is not None:
            stream = Seed(self.seed).stream("held out")
            tested = max(1, round(self.held_out * self.records))
            return sample_of(pair.learnt_from, self.records - tested, stream), sample_of(
                pair.held_out, tested, stream
            )
        order = Seed(self.seed).stream("held out").permutation(len(pair.original))[: self.records]
        tested = round(self.held_out * len(order))
        return np.sort(order[tested:]), np.sort(order[:tested])

    def _accuracies(self, pair: TablePair) -> tuple[float, float, float]:
        """The accuracy learned from the release, from the original, and of the most frequent
        label.
        """
        scores = self.label_scores(pair)
        by_majority = float((scores.truth == scores.majority).mean())
        # with nothing to learn from, everyone still knows the majority
        learned = by_majority
        if scores.released is not None:
            learned = float((scores.released.argmax(axis=1) == scores.truth).mean())
        is_right = scores.original.argmax(axis=1) == scores.truth
        return (learned, float(is_right.mean()), by_majority)

    def label_scores(self, pair: TablePair) -> LabelScores:
        """What both models say of the people set aside."""
        label = pair.reading(self.label)
        learn, test = self._people(pair)
        released_labels = pair.own_values(self.label)[label.released]
        released = self._released(pair, learn)
        # A generalised label is no original one (−1): there is no class to learn it as.
        released = released[released_labels[released] >= 0]
        features = features_of(
            pair, self._predictors(pair), np.concatenate([learn, test]), released
        )
        classes = len(label.values)
        # Rows to learn from come first, those to be tested on behind them.
        tested = with_constant(features.before[len(learn) :])
        fits = fit_classes(features.before[: len(learn)], label.original[learn], classes)
        majority = int(np.bincount(label.original[learn], minlength=classes).argmax())
        from_release = None
        if len(released):
            from_release = tested @ fit_classes(features.after, released_labels[released], classes)
        truth = label.original[test]
        return LabelScores(tuple(label.values), truth, majority, tested @ fits, from_release)

    def _released(self, pair: TablePair, learn: Ints) -> Ints:
        """The released rows to learn from: those of the people learned from, or as many of nobody's
        rows.
        """
        if not pair.aligned:
            every = np.arange(len(pair.released))
            return sample_of(every, self.records, Seed(self.seed).stream("rows drawn anew"))
        inside = np.zeros(len(pair.original), dtype=bool)
        inside[learn] = True
        return np.flatnonzero(inside[pair.rows])


def sample_of(rows: Ints, limit: int, stream: np.random.Generator) -> Ints:
    """At most so many of some rows, in order."""
    if len(rows) <= limit:
        return rows
    return np.sort(stream.choice(rows, limit, replace=False))


# Overlap of the confidence intervals of regression coefficients.


@parameters
class RegressionOverlap(Utility):
    r"""How much the confidence intervals of a regression's coefficients overlap, from original and
    from released data.

    .. math:: J = \frac12\left(\frac{o}{U-L}+\frac{o}{U'-L'}\right),
        \quad o = \max(0,\ \min(U,U')-\max(L,L'))

    for the intervals :math:`[L, U]` and :math:`[L', U']` of every coefficient but the constant.
    ``raw`` is the mean of *J* (1: the same intervals, 0: apart), ``value`` is 1 − *J*,
    ``per_column`` that of every predictor. The outcome is regressed linearly where it holds
    numbers, logistically where it has two values. A coefficient that cannot be estimated from the
    release (its column was dropped, or is constant now) does not overlap; one that could not be
    estimated before is left out. Generalised predictors are taken as in :class:`Propensity`; rows
    whose outcome is missing or a range that is not a point of the two values are left out.
    Predictors are standardised by the original, which changes no overlap.

    Reference: A. F. Karr et al., The American Statistician 60(3), 2006,
    https://doi.org/10.1198/000313006X124640.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1, 2, 2, 5, 4]})).with_roles(
    ...     keep=["x", "y"]
    ... )
    >>> RegressionOverlap("y", ["x"]).measure(TablePair.of(before, before)).raw
    1.0
    """

    outcome: Annotated[
        str, COLUMNS, Field(min_length=1, description="the column that is explained")
    ]
    predictors: Annotated[
        tuple[str, ...], COLUMNS, Field(min_length=1, description="the columns that explain it")
    ]
    level: Annotated[float, Field(gt=0, lt=1, description="confidence of the intervals")] = 0.95

    name: ClassVar[str] = "regression_overlap"
    title: ClassVar[str] = "Regression"
    line: ClassVar[str] = "how little the confidence intervals of coefficients overlap"

    def applies(self, pair: TablePair) -> str | None:
        """None where the regression can be run on the original."""
        pair.original.require([self.outcome, *self.predictors])
        if self.outcome in self.predictors:
            raise SchemaError(
                f"regression_overlap: the outcome {self.outcome!r} cannot explain "
                "itself; remove it from the predictors"
            )
        if not records_of(pair):
            return EMPTY
        if self.outcome not in pair.released.columns:
            return None
        if not is_number(pair, self.outcome) and len(self._values(pair)) != 2:
            return f"{self.outcome} holds neither numbers nor exactly two values"
        return None

    def measure(self, pair: TablePair) -> Measure:
        """One less the mean overlap."""
        require_sense(self, pair)
        meaning = (
            f"share of the confidence intervals of {len(self.predictors)} predictor(s) that do not"
            " overlap"
        )
        present = [name for name in self.predictors if name in pair.released.columns]
        if not len(pair.released) or self.outcome not in pair.released.columns or not present:
            return Measure(self.name, 1.0, self.better, meaning, raw=0.0)
        before, after = self._outcomes(pair)
        rows_before = np.flatnonzero(~np.isnan(before))
        rows_after = np.flatnonzero(~np.isnan(after))
        features = features_of(pair, present, rows_before, rows_after)
        old = self._fit(pair, features.before, before[rows_before])
        new = self._fit(pair, features.after, after[rows_after])
        # A predictor that was not released does not overlap: it counts with one 0.
        overlaps_of: dict[str, list[float]] = {}
        for name in self.predictors:
            if name in present:
                overlaps_of[name] = []
            else:
                overlaps_of[name] = [0.0]
        # Coefficient 0 is the constant, which is not compared.
        for number, owner in enumerate(features.owners, start=1):
            if not np.isnan(old[1][number]):
                overlaps_of[owner].append(_overlap(old, new, number))
        overlaps = list(chain.from_iterable(overlaps_of.values()))
        raw = float(np.mean(overlaps)) if overlaps else 1.0
        columns = {}
        for name, column_overlaps in overlaps_of.items():
            if column_overlaps:
                columns[name] = 1.0 - float(np.mean(column_overlaps))
        return Measure(self.name, 1.0 - raw, self.better, meaning, raw=raw, per_column=columns)

    def _values(self, pair: TablePair) -> list[str]:
        return [value for value in pair.reading(self.outcome).values if value is not None]

    def _outcomes(self, pair: TablePair) -> tuple[Floats, Floats]:
        """The outcome of every original and released row; NaN where there is none."""
        if is_number(pair, self.outcome):
            outcome_values = numbers(pair, self.outcome)
            return outcome_values.before, outcome_values.after
        reading = pair.reading(self.outcome)
        values = self._values(pair)
        code = {text: float(code_number) for code_number, text in enumerate(values)}
        old = np.array([np.nan if v is None else code[v] for v in reading.values])
        new = np.array([np.nan if v is None else code.get(v, np.nan) for v in reading.labels])
        return old[reading.original], new[reading.released]

    def _fit(self, pair: TablePair, features: Floats, outcome: Floats) -> Estimate:
        """Coefficients and half the widths of their intervals; NaN for those that cannot be
        estimated.
        """
        from scipy.stats import norm, t

        if len(features):
            # A constant column cannot be told from the constant term: it gets no coefficient.
            varying = np.concatenate([[True], features.std(axis=0) > 1e-12])
        else:
            varying = np.zeros(0, dtype=bool)
        centre = np.full(features.shape[1] + 1, np.nan)
        width = centre.copy()
        free = len(features) - int(varying.sum())
        if free <= 0:
            return centre, width
        design = with_constant(features)[:, varying]
        if is_number(pair, self.outcome):
            # The pseudo-inverse also serves where predictors depend on each other.
            covariance = np.linalg.pinv(design.T @ design, hermitian=True)
            coefficients = covariance @ design.T @ outcome
            residual = outcome - design @ coefficients
            covariance = covariance * float(residual @ residual) / free
            factor = float(t.ppf(0.5 + self.level / 2, free))
        else:
            fit = fit_logistic(design[:, 1:], outcome)
            coefficients = fit.coefficients
            covariance = fit.covariance
            factor = float(norm.ppf(0.5 + self.level / 2))
        centre[varying] = coefficients
        variances = np.maximum(0.0, np.diag(covariance))
        width[varying] = factor * np.sqrt(variances)
        return centre, width


def _overlap(old: Estimate, new: Estimate, number: int) -> float:
    """J of one coefficient; intervals of no width overlap where they are equal."""
    centre, width, centre_after, spread = (float(part[number]) for part in (*old, *new))
    if math.isnan(centre_after) or math.isnan(spread):
        return 0.0
    common = min(centre + width, centre_after + spread) - max(centre - width, centre_after - spread)
    # An exact fit has intervals of no width, over which no share can be taken.
    if width <= 0 or spread <= 0:
        return float(
            abs(centre - centre_after) <= 1e-9 * max(1.0, abs(centre))
            and width <= 0
            and spread <= 0
        )
    heights = 1 / (2 * width) + 1 / (2 * spread)
    return max(0.0, common) * heights / 2


# Propensity score mean squared error: can a model tell released records from original ones?


@dataclasses.dataclass(frozen=True, eq=False)
class PropensityTest:
    """A pMSE and what it would be if released and original records could be exchanged.

    ``null_mean`` and ``null_deviation`` are over permutations (NaN without any, or with one), or
    for synthetic rows those of draws from a right model; ``scores`` are the fitted probabilities
    of the released rows that were looked at, and ``share`` is that of released among all rows.
    """

    pmse: float
    share: float
    parameters: int
    null_mean: float
    null_deviation: float
    scores: Floats

    @property
    def ratio(self) -> float:
        """The pMSE over its mean under exchange; 1 where both are 0."""
        if self.null_mean > 0:
            return self.pmse / self.null_mean
        if math.isnan(self.null_mean):
            return math.nan
        if self.pmse <= 0:
            return 1.0
        return math.inf

    @property
    def standardised(self) -> float:
        """The distance of the pMSE from its mean under exchange, in standard deviations; 0 where
        nothing varies.
        """
        if self.null_deviation > 0:
            return (self.pmse - self.null_mean) / self.null_deviation
        if math.isnan(self.null_deviation):
            return math.nan
        if self.pmse <= self.null_mean:
            return 0.0
        return math.inf


@parameters
class Propensity(ColumnUtility):
    r"""How well a model tells released records from original ones (pMSE).

    .. math:: \frac1n\sum_i(\hat p_i-c)^2

    Both tables are stacked to *n* rows; *c* is the share of released ones and :math:`\hat p_i` the
    fitted probability that row *i* is one, by logistic regression on all columns both tables have
    (main effects, small ridge). ``value`` is the share of
    :math:`c(1-c)`, which a model that errs nowhere reaches. A generalised category is spread over
    what it may stand for, a range stands for its middle, and columns mark blanks (a column of
    nothing but blanks is left out, as if it were not released); ``per_column`` is the value of a
    model of one column alone.

    Masked records belong to the people of the original table, so the closed forms for samples and
    for synthetic data (:func:`expected_between_samples`, :func:`expected_for_synthetic_data`) do
    not apply. The null distribution comes from exchanging the two records of the same person at
    random; the measure's meaning tells ratio and distance to it, and
    :func:`propensity_test` gives them as numbers. Records of which nothing was released stay on
    their side. Of larger tables a random sample of ``records`` people is looked at (by ``seed``).

    Synthetic rows are compared with the people they were learnt from; their null is the
    closed form for draws from a correct model that was fitted to these, with
    mean :math:`(k-1)(1-c)^2c/n` and deviation :math:`\sqrt{2(k-1)}(1-c)^2c/n` for *k* parameters. A
    ratio near 1 is the best there is; far below 1 the rows are nearer to the people than draws from
    any model would be.

    Reference: M.-J. Woo et al., JPC 1(1), 2009; J. Snoke et al., JRSS A 181(3), 2018,
    https://doi.org/10.1111/rssa.12358.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> round(
    ...     Propensity(permutations=0)
    ...     .measure(TablePair.of(examples.students(), examples.students()))
    ...     .value,
    ...     9,
    ... )
    0.0
    """

    columns: AllColumns = None
    permutations: Annotated[
        int, Field(ge=0, le=10_000, description="exchanges that estimate the null")
    ] = 20
    records: Annotated[int, Field(ge=2, description="most people to use")] = 5_000
    seed: Annotated[int, Field(ge=0, description="for the sample and the exchanges")] = 1

    name: ClassVar[str] = "propensity"
    title: ClassVar[str] = "Propensity (pMSE)"
    line: ClassVar[str] = "how well a model tells released records from original ones"

    def applies(self, pair: TablePair) -> str | None:
        """None where there are records and columns to compare."""
        if not records_of(pair):
            return EMPTY
        if data_of(pair, self.columns):
            return None
        return "there is no column to compare; name some"

    def measure(self, pair: TablePair) -> Measure:
        """The pMSE."""
        require_sense(self, pair)
        if not len(pair.released) or not _common(pair, self.columns):
            return Measure(self.name, 1.0, self.better, NOTHING_LIKE)
        features, people = _features(self, pair)
        test = _test_propensity(self, features, people)
        best = test.share * (1 - test.share)
        columns = {}
        for name in dict.fromkeys(features.owners):
            alone = features.of([name])
            own_error = _fit_propensity(alone, test.share, *_stack_tables(alone))[0]
            columns[name] = min(1.0, own_error / best)
        beside_null = ""
        if self.permutations > 1:
            beside_null = (
                f"; {test.ratio:.3g} times what"
                f" {'exchanging records' if pair.aligned else 'draws from a correct model'} gives,"
                f" {test.standardised:.3g} deviations away"
            )
        return Measure(
            self.name,
            min(1.0, test.pmse / best),
            self.better,
            "how well released records can be distinguished from original ones, 1 is "
            f"always{beside_null}",
            raw=test.pmse,
            per_column=columns,
            # Of a sample there is no score for every released row.
            parts=test.scores if len(test.scores) == len(pair.released) else None,
        )


def propensity_test(pair: TablePair, metric: Propensity | None = None) -> PropensityTest:
    """The pMSE of a release with its null distribution; see :class:`Propensity`."""
    propensity_metric = metric or Propensity()
    require_sense(propensity_metric, pair)
    features, people = _features(propensity_metric, pair)
    return _test_propensity(propensity_metric, features, people)


def expected_between_samples(parameters: int, rows: int, share: float) -> float:
    """The expected pMSE of two independent samples of one population: ``(k−1)·c(1−c)/n``.

    ``parameters`` counts the model's coefficients with its constant, ``rows`` both samples
    together, ``share`` those of one.

    >>> expected_between_samples(4, 600, 0.5)
    0.00125
    """
    return (parameters - 1) * share * (1 - share) / rows


def expected_for_synthetic_data(parameters: int, rows: int, share: float) -> float:
    """The expected pMSE of data drawn from a correct model that was fitted to the original:
    ``(k−1)(1−c)²c/n``.

    >>> expected_for_synthetic_data(4, 600, 0.5)
    0.000625
    """
    return (parameters - 1) * (1 - share) ** 2 * share / rows


def _common(pair: TablePair, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(name for name in data_of(pair, columns) if not says_nothing(pair, name))


def _features(metric: Propensity, pair: TablePair) -> tuple[Features, Ints | None]:
    """The features of a sample of people, and per released row the place of its own original; None
    where it is nobody's.
    """
    count = len(pair.original)
    stream = Seed(metric.seed).stream("propensity sample")
    if not pair.aligned:
        if pair.learnt_from is None:
            people = np.arange(count)
        else:
            people = pair.learnt_from
        released_sample = sample_of(np.arange(len(pair.released)), metric.records, stream)
        original_sample = sample_of(people, metric.records, stream)
        return features_of(
            pair, _common(pair, metric.columns), original_sample, released_sample, blanks=True
        ), None
    if count <= metric.records:
        original_sample = np.arange(count)
    else:
        original_sample = np.sort(stream.permutation(count)[: metric.records])
    # Place of each original row in the sample; −1 outside it.
    sample_position = np.full(count, -1, dtype=np.int64)
    sample_position[original_sample] = np.arange(len(original_sample))
    released = np.flatnonzero(sample_position[pair.rows] >= 0)
    features = features_of(
        pair, _common(pair, metric.columns), original_sample, released, blanks=True
    )
    return features, sample_position[pair.rows[released]]


def _fit_propensity(
    features: Features, share: float, stacked: Floats, truth: Floats
) -> tuple[float, Floats, int]:
    """The pMSE, the probabilities of the released rows and the number of parameters."""
    fit = fit_logistic(stacked, truth)
    pmse = float(((fit.probabilities - share) ** 2).mean())
    # what is left of identical tables is rounding
    scores = fit.probabilities[len(features.before) :]
    return (
        (pmse if pmse > ROUNDING else 0.0),
        np.asarray(scores, dtype=np.float64),
        len(fit.coefficients),
    )


def _stack_tables(features: Features) -> tuple[Floats, Floats]:
    """Both tables, one below the other, without constant columns; and which rows are released
    ones.
    """
    rows = np.concatenate([features.before, features.after])
    original_marks = np.zeros(len(features.before))
    released_marks = np.ones(len(features.after))
    truth = np.concatenate([original_marks, released_marks])
    # A column that is constant over both tables cannot tell them apart.
    return rows[:, rows.std(axis=0) > 0], truth


def _exchange_people(
    metric: Propensity,
    features: Features,
    people: Ints,
    share: float,
    stacked: Floats,
    truth: Floats,
) -> Floats:
    """The pMSE after the two records of the same person, of some people drawn at random, were
    exchanged.
    """
    model = Refit(stacked)
    stream = Seed(metric.seed).stream("propensity exchange")
    errors = np.zeros(metric.permutations)
    at_once = max(1, CELLS_AT_ONCE // max(1, len(truth)))
    for start in range(0, metric.permutations, at_once):
        # A column an exchange: many are fitted side by side.
        sides = np.repeat(truth[:, None], min(at_once, metric.permutations - start), axis=1)
        for exchanged in sides.T:
            swapped = stream.random(len(people)) < 0.5
            # The person's original record goes over to the released side, and the released one
            # back.
            exchanged[people[swapped]] = 1.0
            exchanged[len(features.before) + np.flatnonzero(swapped)] = 0.0
        chances = np.ascontiguousarray(model.probabilities(sides).T)
        errors[start : start + len(chances)] = ((chances - share) ** 2).mean(axis=1)
    return errors


def _test_propensity(metric: Propensity, features: Features, people: Ints | None) -> PropensityTest:
    all_records = len(features.after) + len(features.before)
    share = len(features.after) / max(1, all_records)
    stacked, truth = _stack_tables(features)
    pmse, scores, parameters = _fit_propensity(features, share, stacked, truth)
    if not metric.permutations:
        return PropensityTest(
            pmse,
            share,
            parameters=parameters,
            null_mean=math.nan,
            null_deviation=math.nan,
            scores=scores,
        )
    if people is None:
        rows = len(stacked)
        expected = expected_for_synthetic_data(parameters, rows, share)
        spread = math.sqrt(2 * (parameters - 1)) * (1 - share) ** 2 * share / rows
        return PropensityTest(
            pmse,
            share,
            parameters=parameters,
            null_mean=expected,
            null_deviation=spread,
            scores=scores,
        )
    null = _exchange_people(metric, features, people, share=share, stacked=stacked, truth=truth)
    mean = float(null.mean())
    if len(null) > 1:
        spread = float(null.std(ddof=1))
    else:
        spread = math.nan
    return PropensityTest(
        pmse,
        share,
        parameters=parameters,
        null_mean=mean if mean > ROUNDING else 0.0,
        null_deviation=spread,
        scores=scores,
    )
