"""Pitman's model of class sizes: where its likelihood has a maximum, and how many are unique in the population there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.uniqueness import Frequencies

STARTS = ((10.0, 0.3), (100.0, 0.5), (1000.0, 0.5), (500.0, 0.8), (1.0, 0.1))
BOUNDS = ((-20.0, 40.0), (-12.0, 12.0))
"""Where ln(θ + α) and the logit of α are looked for."""
AT_ONCE = 1_000_000
"""Terms of a sum that are held at a time."""
TURNS = 100


def pitman(sample: Frequencies) -> float | None:
    r"""Uniques of the population under Pitman's model, or None where it cannot be fitted.

    :math:`(\theta, \alpha)`, :math:`0 < \alpha < 1`, :math:`\theta > -\alpha`, maximise

    .. math::
        \sum_{i=1}^{u-1} \ln(\theta + i\alpha) - \sum_{i=1}^{n-1} \ln(\theta + i) + \sum_i u_i \sum_{j=1}^{i-1} \ln(j - \alpha)

    for *u* classes of *n* records, :math:`u_i` of them of size *i*; then
    :math:`U = \Gamma(\theta+1)/\Gamma(\theta+\alpha)\, N^\alpha`.

    Towards every end of that range the likelihood falls without bound, except towards α = 0, where the model is that of Ewens. It
    counts as fitted only where the maximum is inside: a point without slope at which the likelihood curves downwards and is
    above the best that α = 0 offers. A sample of nearly nothing but uniques often has its maximum at α = 0: no estimate.

    Reference: Pitman 1996; Hoshino 2001, *Applying Pitman's sampling formula to microdata disclosure risk assessment*.
    """
    from scipy.special import gammaln

    if sample.classes < 2 or sample.classes == sample.records:
        return None  # one class, or only uniques: the likelihood has no maximum inside
    top = pitman_maximum(sample)
    if top is None:
        return None
    theta, alpha = top
    return math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(sample.population))


def pitman_maximum(sample: Frequencies) -> tuple[float, float] | None:
    """θ and α where the likelihood is greatest, or None where it is greatest at α = 0."""
    from scipy.optimize import minimize

    def unlikely(at: Any) -> float:
        return -_rough_likelihood(sample, *_parameters(at))

    starts = [(math.log(theta + alpha), math.log(alpha / (1 - alpha))) for theta, alpha in STARTS]
    options = {"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-8}
    fits = [minimize(unlikely, at, method="Nelder-Mead", bounds=BOUNDS, options=options) for at in starts]
    top = _without_slope(sample, min(fits, key=lambda fit: float(fit.fun)).x)
    if top is None:
        return None
    theta, slope = _ewens(sample)
    if slope > 0 or _likelihood(sample, *top) > _likelihood(sample, theta, 0.0):
        return top
    return None


def _parameters(at: Any) -> tuple[float, float]:
    """θ and α of ln(θ + α) and the logit of α."""
    from scipy.special import expit

    alpha = float(expit(at[1]))
    return math.exp(at[0]) - alpha, alpha


def _without_slope(sample: Frequencies, at: NDArray[np.float64]) -> tuple[float, float] | None:
    """The maximum that Newton's steps reach from a point, or None where they reach none inside the range."""
    import numpy as np

    for _ in range(TURNS):
        slope, curve = _derivatives(sample, at)
        values, vectors = np.linalg.eigh(curve)
        step = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), 1e-300))
        if np.abs(step).max() < 1e-7:
            return _parameters(at) if values.max() < 0 else None
        at = at + step / max(1.0, float(np.abs(step).max()))
        if any(not low < x < high for x, (low, high) in zip(at, BOUNDS, strict=True)):
            return None
    return None


def _derivatives(sample: Frequencies, at: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slope and curvature of the likelihood in ln(θ + α) and the logit of α."""
    import numpy as np
    from scipy.special import polygamma, psi

    theta, alpha = _parameters(at)
    first, second = np.zeros(2), np.zeros(3)
    for i in _numbers(1, sample.classes):
        part, whole = theta + i * alpha, theta + i
        # written as one quotient: the difference of two is lost where both are small
        first += [(i * (1 - alpha) / (part * whole)).sum(), (i / part).sum()]
        second += [
            ((1 / whole - 1 / part) * (1 / whole + 1 / part)).sum(),
            -(i / part**2).sum(),
            -((i / part) ** 2).sum(),
        ]
    for i in _numbers(sample.classes, sample.records):
        first[0] -= (1 / (theta + i)).sum()
        second[0] += ((theta + i) ** -2.0).sum()
    first[1] -= sample.counts @ (psi(sample.sizes - alpha) - psi(1 - alpha))
    second[2] += sample.counts @ (polygamma(1, sample.sizes - alpha) - polygamma(1, 1 - alpha))
    return _in_coordinates(theta, alpha, first, second)


def _in_coordinates(
    theta: float, alpha: float, first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Derivatives by θ and α (and θθ, θα, αα) as those by ln(θ + α) and the logit of α."""
    import numpy as np

    rate = alpha * (1 - alpha)
    turn = np.array([[theta + alpha, -rate], [0.0, rate]])
    curve = turn.T @ np.array([[second[0], second[1]], [second[1], second[2]]]) @ turn
    curve += np.diag([first[0] * (theta + alpha), (first[1] - first[0]) * rate * (1 - 2 * alpha)])
    return turn.T @ first, curve


def _ewens(sample: Frequencies) -> tuple[float, float]:
    r"""The θ that is best at α = 0, and the slope in α there: :math:`\frac{u(u-1)}{2\theta} - \sum_i u_i \sum_{j=1}^{i-1} 1/j`."""
    from scipy.optimize import brentq
    from scipy.special import psi

    def missing(at: float) -> tuple[float, float]:
        theta = math.exp(at)
        parts = [(i / (theta + i), theta / (theta + i)) for i in _numbers(1, sample.records)]
        return sum(float(p.sum()) for p, _ in parts) - spare, -sum(float(p @ q) for p, q in parts)

    spare = sample.records - sample.classes
    at = float(brentq(lambda x: missing(x)[0], -50.0, 2 * math.log(sample.records) + 1, xtol=1e-2))
    for _ in range(4):
        value, slope = missing(at)
        at -= value / slope
    theta = math.exp(at)
    harmonic = float(sample.counts @ (psi(sample.sizes) - psi(1)))
    return theta, sample.classes * (sample.classes - 1) / (2 * theta) - harmonic


def _likelihood(sample: Frequencies, theta: float, alpha: float) -> float:
    """The log-likelihood, term by term, so that the large parts of it cancel before they are added up."""
    import numpy as np
    from scipy.special import gammaln

    total = float(sample.counts @ (gammaln(sample.sizes - alpha) - gammaln(1 - alpha)))
    for i in _numbers(1, sample.classes):
        total += float(np.log1p(-i * (1 - alpha) / (theta + i)).sum())
    for i in _numbers(sample.classes, sample.records):
        total -= float(np.log(theta + i).sum())
    return total


def _numbers(first: float, end: float) -> Iterator[NDArray[np.float64]]:
    """The whole numbers from ``first`` up to, not including, ``end``, some at a time."""
    import numpy as np

    for start in range(int(first), int(end), AT_ONCE):
        yield np.arange(start, min(start + AT_ONCE, int(end)), dtype=np.float64)


def _rough_likelihood(sample: Frequencies, theta: float, alpha: float) -> float:
    """The log-likelihood in a time that does not grow with the sample."""
    from scipy.special import gammaln

    classes, records = sample.classes, sample.records
    rising = (classes - 1) * math.log(alpha) + _log_rising(theta / alpha + 1, classes - 1)
    within = float(sample.counts @ (gammaln(sample.sizes - alpha) - gammaln(1 - alpha)))
    return rising - _log_rising(theta + 1, records - 1) + within


def _log_rising(start: float, factors: float) -> float:
    """Logarithm of start·(start+1)·…, without the cancellation that a difference of log-gammas has."""
    from scipy.special import betaln, gammaln

    return float(gammaln(factors) - betaln(start, factors))
