r"""Estimates from released values, corrected for what a method did to them: ``sf.analysis``.

Every function says what must be known of the method (the base of a rounding, the variance of a
noise, the matrix of PRAM), which the certificate of a release states, and what is assumed. What is
not listed here has no correction that we can vouch for: use the estimate as an approximation.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.methods.formulas.transition import checked_matrix, estimate_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclasses.dataclass(frozen=True)
class CorrectedEstimate:
    """An estimate and its standard error."""

    value: float
    standard_error: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the normal distribution at a level."""
        from statistics import NormalDist

        if not 0 < level < 1:
            raise ParameterError("the level of an interval lies between 0 and 1")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * self.standard_error
        return self.value - reach, self.value + reach


def mean(values: ArrayLike, *, fraction: float = 0.0) -> CorrectedEstimate:
    r"""The mean, for values that were rounded, given noise of mean 0, or microaggregated.

    Its expectation is the mean of the original values. The standard error
    :math:`s / \sqrt n \cdot \sqrt{1 - f}` holds for the released values: noise and rounding are in
    s already. After ``sample``, ``fraction`` is the share f that was sampled, if the records are
    the whole population; 0: the records are themselves a sample of a large population.

    >>> mean([1.0, 2.0, 3.0, 4.0]).value
    2.5
    """
    numbers = _numbers(values, at_least=2)
    if not 0 <= fraction <= 1:
        raise ParameterError("fraction is a share from 0 to 1")
    error = float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) * math.sqrt(1 - fraction)
    return CorrectedEstimate(float(numbers.mean()), error)


def variance_of_rounded(
    values: ArrayLike, base: float, *, variant: Literal["deterministic", "random"] = "deterministic"
) -> float:
    r"""The variance of the original values, from values rounded to multiples of a base b.

    Deterministic rounding: :math:`s^2 - b^2/12` (Sheppard's correction: the part below the base is
    uniform, which is close where the standard deviation is at least the base). Random rounding has
    an error of mean 0 and variance :math:`b^2 f (1 - f)`, on average :math:`b^2/6`, and at an
    uniform f: :math:`s^2 - b^2/6`.

    Reference: Sheppard 1898, doi:10.1112/plms/s1-29.1.353.

    >>> round(variance_of_rounded([0, 10, 20, 30], 10), 2)
    158.33
    """
    if not base > 0:
        raise ParameterError("base must be more than 0")
    divisor = {"deterministic": 12, "random": 6}.get(variant)
    if divisor is None:
        raise ParameterError("variant is 'deterministic' or 'random'")
    return max(0.0, _variance(values) - base**2 / divisor)


def variance_of_noisy(values: ArrayLike, noise_variance: float) -> float:
    r"""The variance of the original values, :math:`s^2 - \sigma^2`, from values with independent
    noise of variance :math:`\sigma^2`; 0 where that is negative.

    Noise that keeps the variance (``add_noise`` with ``variant: kim`` or ``sullivan``) needs no
    correction.
    """
    _require_variance(noise_variance)
    return max(0.0, _variance(values) - noise_variance)


def variance_of_microaggregated(values: ArrayLike, lost: float) -> float:
    r"""The variance of the original values, :math:`s^2 / (1 - L)`, from microaggregated values.

    ``lost`` is the share L of the variance that lay within the groups (SSE/SST), which the report
    states. Means of groups have the variance between groups only.
    """
    if not 0 <= lost < 1:
        raise ParameterError("lost is the share of variance within groups, from 0 to less than 1")
    return _variance(values) / (1 - lost)


def slope_with_noise(
    noisy: ArrayLike, outcome: ArrayLike, noise_variance: float
) -> CorrectedEstimate:
    r"""The slope of a regression of ``outcome`` on a column that got independent noise.

    Least squares on noisy values is too flat by the factor
    :math:`\sigma_x^2 / (\sigma_x^2 + \sigma_u^2)`. The corrected slope is
    :math:`b = m_{xy} / (m_{xx} - \sigma_u^2)`, with the standard error

    .. math:: \sqrt{\frac{m_{xx} s_v + b^2 \sigma_u^4}{(n - 1)(m_{xx} - \sigma_u^2)^2}}

    where :math:`s_v` is the variance of :math:`y - b x` and n the number of records.

    Reference: Fuller 1987, *Measurement Error Models*, doi:10.1002/9780470316665, section 1.2.

    >>> slope_with_noise([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0], 0.0).value
    1.0
    """
    _require_variance(noise_variance)
    x, y = _numbers(noisy, at_least=3), _numbers(outcome, at_least=3)
    if len(x) != len(y):
        raise ParameterError(f"noisy has {len(x):,} values, outcome {len(y):,}; give both alike")
    centred = x - x.mean()
    spread = float(centred @ centred) / (len(x) - 1)
    true_spread = spread - noise_variance
    if true_spread <= 0:
        raise ParameterError(
            "the noise has a variance as large as the released values; no slope can be estimated"
        )
    slope = float(centred @ (y - y.mean())) / (len(x) - 1) / true_spread
    residuals = y - y.mean() - slope * centred
    residual_variance = float(residuals @ residuals) / (len(x) - 2)
    variance = (spread * residual_variance + slope**2 * noise_variance**2) / true_spread**2
    return CorrectedEstimate(slope, math.sqrt(variance / (len(x) - 1)))


def counts_after_pram(counts: ArrayLike, matrix: object) -> tuple[CorrectedEstimate, ...]:
    r"""The original counts of a column that PRAM changed, each with its standard error.

    With the matrix P (row: original value) and released counts c, :math:`\hat t = P^{-T} c` is
    unbiased for the counts of these records, and its covariance over the draws of PRAM is
    :math:`P^{-T} V P^{-1}` with :math:`V = \sum_k \hat t_k (\mathrm{diag}(p_k) - p_k p_k^T)`.

    Reference: Gouweleeuw, Kooiman, Willenborg & De Wolf 1998, *Post randomisation for statistical
    disclosure control*, Journal of Official Statistics 14(4), 463–478.

    >>> [round(e.value, 6) for e in counts_after_pram([26, 14], [[0.8, 0.2], [0.2, 0.8]])]
    [30.0, 10.0]
    """
    transition = checked_matrix(matrix)
    # Refuses a wrong number of counts, and a matrix that forgets the original values.
    estimated = estimate_frequencies(counts, transition)
    inverse = np.linalg.inv(transition)
    covariance = np.zeros_like(transition)
    for count, row in zip(np.maximum(estimated, 0), transition, strict=True):
        covariance += count * (np.diag(row) - np.outer(row, row))
    spread = inverse.T @ covariance @ inverse
    errors = np.sqrt(np.maximum(np.diag(spread), 0))
    return tuple(
        CorrectedEstimate(float(value), float(error))
        for value, error in zip(estimated, errors, strict=True)
    )


def mean_between(low: Sequence[float | None], high: Sequence[float | None]) -> tuple[float, float]:
    """Between what the mean of the records lies, whatever values their ranges hide: no assumption.

    ``low`` and ``high`` are those of :meth:`sfumato.ReleasedTable.typed`; a range without an end
    has to get one first, from what is known of the column.

    >>> mean_between([20, 30], [29, 39])
    (25.0, 34.0)
    """
    lower = [end for end in low if end is not None]
    upper = [end for end in high if end is not None]
    if len(lower) < len(low) or len(upper) < len(high):
        raise ParameterError(
            "some ranges have no end, so the mean has no bound; leave these records out or give an"
            " end that the column cannot pass"
        )
    lowest, highest = _numbers(lower, at_least=1), _numbers(upper, at_least=1)
    if len(lowest) != len(highest) or bool((lowest > highest).any()):
        raise ParameterError("low and high must have one range for each record, low at most high")
    return float(lowest.mean()), float(highest.mean())


def share_with_suppressed(share: float, suppressed: float) -> tuple[float, float]:
    """Between what a share in the original lies, when a share of its records was suppressed.

    Suppressed records are the rare ones: that the others speak for them cannot be assumed.

    >>> low, high = share_with_suppressed(0.5, 0.1)
    >>> round(low, 3), round(high, 3)
    (0.45, 0.55)
    """
    if not (0 <= share <= 1 and 0 <= suppressed <= 1):
        raise ParameterError("share and suppressed are shares from 0 to 1")
    visible = share * (1 - suppressed)
    return visible, visible + suppressed


def _numbers(values: ArrayLike, *, at_least: int) -> NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < at_least or not np.isfinite(numbers).all():
        raise ParameterError(
            f"give one list of at least {at_least} numbers, none of them missing or infinite"
        )
    return numbers


def _variance(values: ArrayLike) -> float:
    return float(_numbers(values, at_least=2).var(ddof=1))


def _require_variance(noise_variance: float) -> None:
    if not (noise_variance >= 0 and math.isfinite(noise_variance)):
        raise ParameterError("noise_variance is 0 or more")
