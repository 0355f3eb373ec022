"""Propensity score mean squared error: can a model tell released records from original ones?"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.utility.columns import EMPTY, AllColumns, data_of, require_sense
from sfumato.utility.features import Features, features_of, says_nothing
from sfumato.utility.logistic import Refit, fit_logistic
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

ROUNDING = 1e-14
NOTHING_LIKE = "nothing was released that could be mistaken for the original"


@dataclasses.dataclass(frozen=True, eq=False)
class PropensityTest:
    """A pMSE and what it would be if released and original records could be exchanged.

    ``null_mean`` and ``null_deviation`` are over permutations (NaN without any, or with one); ``scores`` are the fitted probabilities of
    the released rows that were looked at, and ``share`` is that of released among all rows.
    """

    pmse: float
    share: float
    parameters: int
    null_mean: float
    null_deviation: float
    scores: NDArray[np.float64]

    @property
    def ratio(self) -> float:
        """The pMSE over its mean under exchange; 1 where both are 0."""
        if self.null_mean > 0:
            return self.pmse / self.null_mean
        return math.nan if math.isnan(self.null_mean) else (1.0 if self.pmse <= 0 else math.inf)

    @property
    def standardised(self) -> float:
        """The distance of the pMSE from its mean under exchange, in standard deviations; 0 where nothing varies."""
        if self.null_deviation > 0:
            return (self.pmse - self.null_mean) / self.null_deviation
        if math.isnan(self.null_deviation):
            return math.nan
        return 0.0 if self.pmse <= self.null_mean else math.inf


@parameters
class Propensity:
    r"""How well a model tells released records from original ones (pMSE).

    .. math:: \frac1n\sum_i(\hat p_i-c)^2

    Both tables are stacked to *n* rows; *c* is the share of released ones and :math:`\hat p_i` the fitted probability that row *i*
    is one, by logistic regression on all columns both tables have (main effects, small ridge). ``value`` is the share of
    :math:`c(1-c)`, which a model that errs nowhere reaches. A generalised category is spread over what it may stand for, a
    range stands for its middle, and columns mark blanks (a column of nothing but blanks is left out, as if it were not
    released); ``per_column`` is the value of a model of one column alone.

    Masked records belong to the people of the original table, so the closed forms for samples and for synthetic data
    (:func:`expected_between_samples`, :func:`expected_for_synthetic_data`) do not apply. The null distribution comes from
    exchanging the two records of the same person at random; the measure's meaning tells ratio and distance to it, and
    :func:`propensity_test` gives them as numbers. Records of which nothing was released stay on their side. Of larger tables a random
    sample of ``records`` people is looked at (by ``seed``).

    Reference: M.-J. Woo et al., JPC 1(1), 2009; J. Snoke et al., JRSS A 181(3), 2018, https://doi.org/10.1111/rssa.12358.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> round(Propensity(permutations=0).measure(Pair.of(examples.students(), examples.students())).value, 9)
    0.0
    """

    columns: AllColumns = None
    permutations: Annotated[int, Field(ge=0, le=10_000, description="exchanges that the null comes from")] = 20
    records: Annotated[int, Field(ge=2, description="people that are looked at, at most")] = 5_000
    seed: Annotated[int, Field(ge=0, description="for the sample and the exchanges")] = 1

    name: ClassVar[str] = "propensity"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are records and columns to compare."""
        if not records_of(pair):
            return EMPTY
        return None if data_of(pair, self.columns) else "there is no column to look at; name some"

    def measure(self, pair: Pair) -> Measure:
        """The pMSE."""
        require_sense(self, pair)
        if not len(pair.rows) or not _common(pair, self.columns):
            return Measure(self.name, 1.0, self.better, NOTHING_LIKE)
        features, people = _features(self, pair)
        found = _tested(self, features, people)
        best = found.share * (1 - found.share)
        columns = {}
        for name in dict.fromkeys(features.owners):
            columns[name] = min(1.0, _fitted(features.of([name]), found.share)[0] / best)
        told = ""
        if self.permutations > 1:
            told = f"; {found.ratio:.3g} times what exchanging records gives, {found.standardised:.3g} deviations away"
        return Measure(
            self.name,
            min(1.0, found.pmse / best),
            self.better,
            f"how well released records can be told from original ones, 1 is always{told}",
            raw=found.pmse,
            per_column=columns,
            per_record=found.scores if len(found.scores) == len(pair.rows) else None,
        )


def propensity_test(pair: Pair, metric: Propensity | None = None) -> PropensityTest:
    """The pMSE of a release with its null distribution; see :class:`Propensity`."""
    asked = metric or Propensity()
    require_sense(asked, pair)
    features, people = _features(asked, pair)
    return _tested(asked, features, people)


def expected_between_samples(parameters: int, rows: int, share: float) -> float:
    """The expected pMSE of two independent samples of one population: ``(k−1)·c(1−c)/n``.

    ``parameters`` counts the model's coefficients with its constant, ``rows`` both samples together, ``share`` those of one.

    >>> expected_between_samples(4, 600, 0.5)
    0.00125
    """
    return (parameters - 1) * share * (1 - share) / rows


def expected_for_synthetic_data(parameters: int, rows: int, share: float) -> float:
    """The expected pMSE of data drawn from a correct model that was fitted to the original: ``(k−1)(1−c)²c/n``.

    >>> expected_for_synthetic_data(4, 600, 0.5)
    0.000625
    """
    return (parameters - 1) * (1 - share) ** 2 * share / rows


def _common(pair: Pair, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(name for name in data_of(pair, columns) if not says_nothing(pair, name))


def _features(metric: Propensity, pair: Pair) -> tuple[Features, NDArray[np.int64]]:
    """The features of a sample of people, and per released row the place of its own original."""
    import numpy as np

    count = len(pair.original)
    stream = Seed(metric.seed).stream("propensity sample")
    chosen = np.arange(count) if count <= metric.records else np.sort(stream.permutation(count)[: metric.records])
    place = np.full(count, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    released = np.flatnonzero(place[pair.rows] >= 0)
    made = features_of(pair, _common(pair, metric.columns), chosen, released, blanks=True)
    return made, place[pair.rows[released]]


def _fitted(features: Features, share: float) -> tuple[float, NDArray[np.float64], int]:
    """The pMSE, the probabilities of the released rows and the number of parameters."""
    import numpy as np

    stacked, truth = _stacked(features)
    fit = fit_logistic(stacked, truth)
    pmse = float(((fit.probabilities - share) ** 2).mean())
    # what is left of identical tables is rounding
    scores = fit.probabilities[len(features.before) :]
    return (pmse if pmse > ROUNDING else 0.0), np.asarray(scores, dtype=np.float64), len(fit.coefficients)


def _stacked(features: Features) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both tables, one below the other, without constant columns; and which rows are released ones."""
    import numpy as np

    rows = np.concatenate([features.before, features.after])
    truth = np.concatenate([np.zeros(len(features.before)), np.ones(len(features.after))])
    return rows[:, rows.std(axis=0) > 0], truth


def _exchanged(metric: Propensity, features: Features, people: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """The pMSE after the two records of the same person, of some people drawn at random, were exchanged."""
    import numpy as np

    stacked, truth = _stacked(features)
    model = Refit(stacked)
    stream = Seed(metric.seed).stream("propensity exchange")
    found = np.zeros(metric.permutations)
    for turn in range(metric.permutations):
        swapped = stream.random(len(people)) < 0.5
        told = truth.copy()
        told[people[swapped]] = 1.0
        told[len(features.before) + np.flatnonzero(swapped)] = 0.0
        found[turn] = ((model.probabilities(told) - share) ** 2).mean()
    return found


def _tested(metric: Propensity, features: Features, people: NDArray[np.int64]) -> PropensityTest:
    share = len(features.after) / max(1, len(features.after) + len(features.before))
    pmse, scores, parameters = _fitted(features, share)
    if not metric.permutations:
        return PropensityTest(pmse, share, parameters, math.nan, math.nan, scores)
    null = _exchanged(metric, features, people, share)
    mean = float(null.mean())
    spread = float(null.std(ddof=1)) if len(null) > 1 else math.nan
    return PropensityTest(pmse, share, parameters, mean if mean > ROUNDING else 0.0, spread, scores)
