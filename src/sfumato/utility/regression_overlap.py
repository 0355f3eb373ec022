"""Overlap of the confidence intervals of regression coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError
from sfumato.utility.columns import EMPTY, require_sense
from sfumato.utility.features import features_of, is_number
from sfumato.utility.logistic import fit_logistic, with_constant
from sfumato.utility.numeric import numbers
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

Estimate = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


@parameters
class RegressionOverlap:
    r"""How much the confidence intervals of a regression's coefficients overlap, from original and from released data.

    .. math:: J = \frac12\left(\frac{o}{U-L}+\frac{o}{U'-L'}\right), \quad o = \max(0,\ \min(U,U')-\max(L,L'))

    for the intervals :math:`[L, U]` and :math:`[L', U']` of every coefficient but the constant. ``raw`` is the mean of *J* (1: the
    same intervals, 0: apart), ``value`` is 1 − *J*, ``per_column`` that of every predictor. The outcome is regressed linearly
    where it holds numbers, logistically where it has two values. A coefficient that cannot be estimated from the release
    (its column was dropped, or is constant now) does not overlap; one that could not be estimated before is left out.
    Generalised predictors are taken as in :class:`Propensity`; rows whose outcome is missing or a range that is not a
    point of the two values are left out. Predictors are standardised by the original, which changes no overlap.

    Reference: A. F. Karr et al., The American Statistician 60(3), 2006, https://doi.org/10.1198/000313006X124640.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1, 2, 2, 5, 4]})).with_roles(plain=["x", "y"])
    >>> RegressionOverlap("y", ["x"]).measure(Pair.of(before, before)).raw
    1.0
    """

    outcome: Annotated[str, Field(min_length=1, description="the column that is explained")]
    predictors: Annotated[tuple[str, ...], Field(min_length=1, description="the columns that explain it")]
    level: Annotated[float, Field(gt=0, lt=1, description="confidence of the intervals")] = 0.95

    name: ClassVar[str] = "regression_overlap"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where the regression can be run on the original."""
        pair.original.require([self.outcome, *self.predictors])
        if self.outcome in self.predictors:
            raise SchemaError(f"regression_overlap: the outcome {self.outcome!r} cannot explain itself")
        if not records_of(pair):
            return EMPTY
        if self.outcome not in pair.released.columns:
            return None
        if not is_number(pair, self.outcome) and len(self._values(pair)) != 2:
            return f"{self.outcome} holds neither numbers nor exactly two values"
        return None

    def measure(self, pair: Pair) -> Measure:
        """One less the mean overlap."""
        import numpy as np

        require_sense(self, pair)
        meaning = f"share of the confidence intervals of {len(self.predictors)} predictor(s) that do not overlap"
        there = [name for name in self.predictors if name in pair.released.columns]
        if not len(pair.rows) or self.outcome not in pair.released.columns or not there:
            return Measure(self.name, 1.0, self.better, meaning, raw=0.0)
        before, after = self._outcomes(pair)
        kept, given = np.flatnonzero(~np.isnan(before)), np.flatnonzero(~np.isnan(after))
        made = features_of(pair, there, kept, given)
        old, new = self._fit(pair, made.before, before[kept]), self._fit(pair, made.after, after[given])
        found: dict[str, list[float]] = {name: [] if name in there else [0.0] for name in self.predictors}
        for place, owner in enumerate(made.owners, start=1):
            if not np.isnan(old[1][place]):
                found[owner].append(_overlap(old, new, place))
        overlaps = [overlap for each in found.values() for overlap in each]
        raw = float(np.mean(overlaps)) if overlaps else 1.0
        columns = {name: 1.0 - float(np.mean(each)) for name, each in found.items() if each}
        return Measure(self.name, 1.0 - raw, self.better, meaning, raw=raw, per_column=columns)

    def _values(self, pair: Pair) -> list[str]:
        return [value for value in pair.reading(self.outcome).values if value is not None]

    def _outcomes(self, pair: Pair) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The outcome of every original and released row; NaN where there is none."""
        import numpy as np

        if is_number(pair, self.outcome):
            both = numbers(pair, self.outcome)
            return both.before, both.after
        reading, values = pair.reading(self.outcome), self._values(pair)
        code = {text: float(place) for place, text in enumerate(values)}
        old = np.array([np.nan if v is None else code[v] for v in reading.values])
        new = np.array([np.nan if v is None else code.get(v, np.nan) for v in reading.labels])
        return old[reading.original], new[reading.released]

    def _fit(self, pair: Pair, features: NDArray[np.float64], outcome: NDArray[np.float64]) -> Estimate:
        """Coefficients and half the widths of their intervals; NaN for those that cannot be estimated."""
        import numpy as np
        from scipy.stats import norm, t

        varying = np.concatenate([[True], features.std(axis=0) > 1e-12]) if len(features) else np.zeros(0, dtype=bool)
        centre = np.full(features.shape[1] + 1, np.nan)
        width = centre.copy()
        free = len(features) - int(varying.sum())
        if free <= 0:
            return centre, width
        design = with_constant(features)[:, varying]
        if is_number(pair, self.outcome):
            covariance = np.linalg.pinv(design.T @ design, hermitian=True)
            coefficients = covariance @ design.T @ outcome
            residual = outcome - design @ coefficients
            covariance = covariance * float(residual @ residual) / free
            factor = float(t.ppf(0.5 + self.level / 2, free))
        else:
            fit = fit_logistic(design[:, 1:], outcome)
            coefficients, covariance = fit.coefficients, fit.covariance
            factor = float(norm.ppf(0.5 + self.level / 2))
        centre[varying] = coefficients
        width[varying] = factor * np.sqrt(np.maximum(0.0, np.diag(covariance)))
        return centre, width


def _overlap(old: Estimate, new: Estimate, place: int) -> float:
    """J of one coefficient; intervals of no width overlap where they are equal."""
    import math

    centre, width, other, spread = (float(part[place]) for part in (*old, *new))
    if math.isnan(other) or math.isnan(spread):
        return 0.0
    common = min(centre + width, other + spread) - max(centre - width, other - spread)
    if width <= 0 or spread <= 0:
        return float(abs(centre - other) <= 1e-9 * max(1.0, abs(centre)) and width <= 0 and spread <= 0)
    return max(0.0, common) * (1 / (2 * width) + 1 / (2 * spread)) / 2
