"""How many people are unique in the population, estimated from a sample.

All estimators see the sample through its *frequencies of frequencies*: ``counts[i]`` classes have
``sizes[i]`` records. ``fraction`` is the sampled share of the population: n records of N =
n/fraction people. A person who is unique in the population is unique in the sample too, so no
estimate exceeds the sample uniques divided by the fraction.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.polynomial.laguerre import laggauss
from pydantic import Field

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


MANY = 50
"""From this size on the risk is integrated: scipy's hypergeometric series breaks down at 100."""
STARTS = ((10.0, 0.3), (100.0, 0.5), (1000.0, 0.5), (500.0, 0.8), (1.0, 0.1))
BOUNDS = ((-20.0, 40.0), (-12.0, 12.0))
"""Where ln(θ + α) and the logit of α are looked for."""
AT_ONCE = 1_000_000
"""Terms of a sum that are held at a time."""
TURNS = 100
Estimator = Literal["zayatz", "pitman", "snb", "dankar"]
SamplingFraction = Annotated[
    float | None, Field(gt=0, le=1, description="share of the population that was sampled")
]
_SNB_STARTS = ((-1.0, -2.0), (0.0, 0.0), (-2.0, -4.0), (-0.5, -5.0), (1.0, 1.0))


# The risk of a record from a sample: how many people of the population it could be.


def individual_risk(sample: ArrayLike, population: ArrayLike) -> Floats:
    r"""Chance that a record of the sample is linked rightly: the mean of 1/F given f sampled
    records of the same keys.

    .. math::
        r = E[1/F \mid f] = \int_0^1 \frac{u^{f-1}}{1 + (\hat F/f - 1)\,u}\,du
          = \frac{\hat p}{f}\,{}_2F_1(1, 1; f+1; 1 - \hat p)

    *F*, the records of the population with these keys, is *f* plus a negative binomial number with
    *f* successes of probability
    :math:`\hat p = f/\hat F`; :math:`\hat F` is estimated, mostly by a sum of survey weights. It
    equals the usual form
    :math:`\hat p^f/f \cdot {}_2F_1(f, f; f+1; 1 - \hat p)` and is 1/f where :math:`\hat F \le f`
    (everybody was sampled). The short cut :math:`\hat p/(f - (1 - \hat p))` that some tools use for
    large f is up to 4 % too high at f = 3.

    Reference: Benedetti & Franconi 1998; Franconi & Polettini 2004, *Individual risk estimation in
    µ-Argus: a review*.

    >>> individual_risk([1, 2, 3], [17, 110, 30]).round(6).tolist()
    [0.177076, 0.017144, 0.046368]
    """
    from scipy.special import hyp2f1

    f, weights = np.broadcast_arrays(
        np.asarray(sample, dtype=np.float64), np.asarray(population, dtype=np.float64)
    )
    whole_weights = np.maximum(weights, np.finfo(np.float64).tiny)
    share = np.minimum(f / whole_weights, 1)
    is_small = f < MANY
    risk = np.empty(f.shape)
    series = hyp2f1(1.0, 1.0, f[is_small] + 1, 1 - share[is_small])
    risk[is_small] = share[is_small] / f[is_small] * series
    risk[~is_small] = _of_many(f[~is_small], share[~is_small])
    return risk


def _of_many(f: Floats, share: Floats) -> Floats:
    """The same by Gauss–Laguerre quadrature of exp(−x)/(1 + (1/p − 1) exp(−x/f)), exact to ten
    digits for these sizes.
    """
    nodes, weights = laggauss(40)
    decays = np.exp(-nodes / f[:, None])
    odds = (1 / share - 1)[:, None] * decays
    return np.asarray((1 / (1 + odds)) @ weights / f)


# Pitman's model of class sizes: where its likelihood has a maximum, and how many are unique in the
# population there.


def pitman(sample: Frequencies) -> float | None:
    r"""Uniques of the population under Pitman's model, or None where it cannot be fitted.

    :math:`(\theta, \alpha)`, :math:`0 < \alpha < 1`, :math:`\theta > -\alpha`, maximise

    .. math::
        \sum_{i=1}^{u-1} \ln(\theta + i\alpha) - \sum_{i=1}^{n-1} \ln(\theta + i) + \sum_i u_i
        \sum_{j=1}^{i-1} \ln(j - \alpha)

    for *u* classes of *n* records, :math:`u_i` of them of size *i*; then
    :math:`U = \Gamma(\theta+1)/\Gamma(\theta+\alpha)\, N^\alpha`.

    Towards every end of that range the likelihood falls without bound, except towards α = 0, where
    the model is that of Ewens. It counts as fitted only where the maximum is inside: a point
    without slope at which the likelihood curves downwards and is above the best that α = 0 offers.
    A sample of nearly nothing but uniques often has its maximum at α = 0: no estimate.

    Reference: Pitman 1996; Hoshino 2001, *Applying Pitman's sampling formula to microdata
    disclosure risk assessment*.
    """
    from scipy.special import gammaln

    if sample.classes < 2 or sample.classes == sample.records:
        return None  # one class, or only uniques: the likelihood has no maximum inside
    top = pitman_maximum(sample)
    if top is None:
        return None
    theta, alpha = top
    growth = alpha * math.log(sample.population)
    return math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + growth)


def pitman_maximum(sample: Frequencies) -> tuple[float, float] | None:
    """θ and α where the likelihood is greatest, or None where it is greatest at α = 0."""
    from scipy.optimize import minimize

    def unlikely(at: object) -> float:
        return -_rough_likelihood(sample, *_parameters(at))

    starts = [(math.log(theta + alpha), math.log(alpha / (1 - alpha))) for theta, alpha in STARTS]
    options = {"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-8}
    # The likelihood may have several hills: five starts, the best one is refined by Newton's
    # steps.
    fits = [
        minimize(unlikely, at, method="Nelder-Mead", bounds=BOUNDS, options=options)
        for at in starts
    ]
    top = _without_slope(sample, min(fits, key=lambda fit: float(fit.fun)).x)
    if top is None:
        return None
    theta, slope = _ewens(sample)
    # At the border α = 0 (Ewens) it may be higher still; then there is no maximum inside.
    if slope > 0 or _likelihood(sample, *top) > _likelihood(sample, theta, 0.0):
        return top
    return None


def _parameters(at: Any) -> tuple[float, float]:
    """θ and α of ln(θ + α) and the logit of α."""
    from scipy.special import expit

    alpha = float(expit(at[1]))
    return math.exp(at[0]) - alpha, alpha


def _without_slope(sample: Frequencies, at: Floats) -> tuple[float, float] | None:
    """The maximum that Newton's steps reach from a point, or None where they reach none inside the
    range.
    """
    for _ in range(TURNS):
        slope, curve = _derivatives(sample, at)
        values, vectors = np.linalg.eigh(curve)
        # Absolute eigenvalues: uphill also where the surface is not concave.
        projected_slope = vectors.T @ slope
        step = vectors @ (projected_slope / np.maximum(np.abs(values), 1e-300))
        if np.abs(step).max() < 1e-7:
            return _parameters(at) if values.max() < 0 else None
        # Steps of at most 1 in either coordinate.
        longest_step = max(1.0, float(np.abs(step).max()))
        at = at + step / longest_step
        if any(not low < x < high for x, (low, high) in zip(at, BOUNDS, strict=True)):
            return None
    return None


def _derivatives(sample: Frequencies, at: Floats) -> tuple[Floats, Floats]:
    """Slope and curvature of the likelihood in ln(θ + α) and the logit of α."""
    from scipy.special import polygamma, psi

    theta, alpha = _parameters(at)
    first = np.zeros(2)
    second = np.zeros(3)
    for i in _numbers(1, sample.classes):
        part = theta + i * alpha
        whole = theta + i
        # written as one quotient: the difference of two is lost where both are small
        by_rate = (i * (1 - alpha) / (part * whole)).sum()
        first += [by_rate, (i / part).sum()]
        mixed_term = ((1 / whole - 1 / part) * (1 / whole + 1 / part)).sum()
        part_term = -(i / part**2).sum()
        ratio_term = -((i / part) ** 2).sum()
        second += [mixed_term, part_term, ratio_term]
    for i in _numbers(sample.classes, sample.records):
        first[0] -= (1 / (theta + i)).sum()
        second[0] += ((theta + i) ** -2.0).sum()
    slope_terms = psi(sample.sizes - alpha)
    first[1] -= sample.counts @ (slope_terms - psi(1 - alpha))
    curvature_terms = polygamma(1, sample.sizes - alpha)
    second[2] += sample.counts @ (curvature_terms - polygamma(1, 1 - alpha))
    return _in_coordinates(theta, alpha, first, second)


def _in_coordinates(
    theta: float, alpha: float, first: Floats, second: Floats
) -> tuple[Floats, Floats]:
    """Derivatives by θ and α (and θθ, θα, αα) as those by ln(θ + α) and the logit of α."""
    rate = alpha * (1 - alpha)
    turn = np.array([[theta + alpha, -rate], [0.0, rate]])
    curvature = np.array([[second[0], second[1]], [second[1], second[2]]])
    curve = turn.T @ curvature @ turn
    first_entry = first[0] * (theta + alpha)
    second_entry = (first[1] - first[0]) * rate * (1 - 2 * alpha)
    curve += np.diag([first_entry, second_entry])
    return turn.T @ first, curve


def _ewens(sample: Frequencies) -> tuple[float, float]:
    r"""The θ that is best at α = 0, and the slope in
    α there: :math:`\frac{u(u-1)}{2\theta} - \sum_i u_i \sum_{j=1}^{i-1} 1/j`.
    """
    from scipy.optimize import brentq
    from scipy.special import psi

    def missing(at: float) -> tuple[float, float]:
        theta = math.exp(at)
        parts = [(i / (theta + i), theta / (theta + i)) for i in _numbers(1, sample.records)]
        total_gap = sum(float(p.sum()) for p, _ in parts) - spare
        derivative = -sum(float(p @ q) for p, q in parts)
        return total_gap, derivative

    spare = sample.records - sample.classes
    # Bisection finds the root roughly, four Newton steps to full precision.
    at = float(brentq(lambda x: missing(x)[0], -50.0, 2 * math.log(sample.records) + 1, xtol=1e-2))
    for _ in range(4):
        value, slope = missing(at)
        at -= value / slope
    theta = math.exp(at)
    harmonic = float(sample.counts @ (psi(sample.sizes) - psi(1)))
    pairs_of_classes = sample.classes * (sample.classes - 1) / (2 * theta)
    return theta, pairs_of_classes - harmonic


def _likelihood(sample: Frequencies, theta: float, alpha: float) -> float:
    """The log-likelihood, term by term, so that the large parts of it cancel before they are added
    up.
    """
    from scipy.special import gammaln

    log_terms = gammaln(sample.sizes - alpha) - gammaln(1 - alpha)
    total = float(sample.counts @ log_terms)
    for i in _numbers(1, sample.classes):
        shrinkage = -i * (1 - alpha) / (theta + i)
        total += float(np.log1p(shrinkage).sum())
    for i in _numbers(sample.classes, sample.records):
        total -= float(np.log(theta + i).sum())
    return total


def _numbers(first: float, end: float) -> Iterator[Floats]:
    """The whole numbers from ``first`` up to, not including, ``end``, some at a time."""
    for start in range(int(first), int(end), AT_ONCE):
        yield np.arange(start, min(start + AT_ONCE, int(end)), dtype=np.float64)


def _rough_likelihood(sample: Frequencies, theta: float, alpha: float) -> float:
    """The log-likelihood in a time that does not grow with the sample."""
    from scipy.special import gammaln

    classes = sample.classes
    records = sample.records
    rising = (classes - 1) * math.log(alpha) + _log_rising(theta / alpha + 1, classes - 1)
    log_terms = gammaln(sample.sizes - alpha) - gammaln(1 - alpha)
    within = float(sample.counts @ log_terms)
    return rising - _log_rising(theta + 1, records - 1) + within


def _log_rising(start: float, factors: float) -> float:
    """Logarithm of start·(start+1)·…, without the cancellation that a difference of log-gammas
    has.
    """
    from scipy.special import betaln, gammaln

    return float(gammaln(factors) - betaln(start, factors))


@dataclasses.dataclass(frozen=True)
class Frequencies:
    """``counts[i]`` classes of the sample have ``sizes[i]`` records; sizes ascend."""

    sizes: Floats
    counts: Floats
    fraction: float

    @classmethod
    def of(cls, class_sizes: ArrayLike, fraction: float) -> Frequencies:
        """The frequencies of the sizes of all classes."""
        if not 0 < fraction <= 1:
            raise ParameterError("the sampled fraction must be greater than 0 and at most 1")
        sizes, counts = np.unique(np.asarray(class_sizes, dtype=np.int64), return_counts=True)
        return cls(sizes.astype(np.float64), counts.astype(np.float64), fraction)

    @property
    def records(self) -> float:
        """Number of records, n."""
        return float(self.sizes @ self.counts)

    @property
    def classes(self) -> float:
        """Number of classes, u."""
        return float(self.counts.sum())

    @property
    def population(self) -> int:
        """Size of the population, N."""
        return round(self.records / self.fraction)

    def having(self, size: int) -> float:
        """Number of classes with this size."""
        return float(self.counts[self.sizes == size].sum())


@dataclasses.dataclass(frozen=True)
class Uniques:
    """An estimate of the people who are unique in the population; ``estimator`` is the one that
    gave it.

    ``capped`` says that the estimator gave more than the sample allows, so that the number is the
    most there can be.
    """

    number: float
    population: int
    estimator: str
    capped: bool = False

    @property
    def share(self) -> float:
        """Share of the population that is unique, which is also that of the sample."""
        if not self.population:
            return 0.0
        return self.number / self.population

    @property
    def how(self) -> str:
        """By which estimator, and whether it was capped."""
        if self.capped:
            return f"{self.estimator}, capped at what the sample allows"
        return self.estimator


def population_uniques(
    class_sizes: ArrayLike, fraction: float, estimator: Estimator = "dankar"
) -> Uniques:
    r"""Estimate how many people are unique in the population a sample was drawn from.

    ``dankar`` chooses: up to a fraction of 0.1 the Pitman model (Zayatz where it cannot be fitted),
    above it the smaller of the slide negative binomial and Zayatz. A model asked for by name that
    cannot be fitted to the sample gives way to Zayatz, and the answer says so. With the whole
    population sampled, uniques are counted.

    Reference: Dankar, El Emam, Neisa & Roffey 2012, doi:10.1186/1472-6947-12-66.

    >>> found = population_uniques([1] * 60 + [2] * 15 + [5] * 4, fraction=0.2, estimator="zayatz")
    >>> round(found.number, 2), found.population, found.estimator
    (195.07, 550, 'zayatz')
    """
    sample = Frequencies.of(class_sizes, fraction)
    largest = sample.having(1) / fraction
    if not largest or fraction == 1:
        return Uniques(largest, sample.population, "counted" if fraction == 1 else estimator)
    number, used = _estimate(sample, estimator)
    return Uniques(min(number, largest), sample.population, used, capped=number > largest)


def _estimate(sample: Frequencies, estimator: Estimator) -> tuple[float, str]:
    simple = zayatz(sample)
    if estimator == "dankar":
        # Dankar's rule: Pitman for small fractions, SNB for larger ones, Zayatz where it is lower.
        estimator_used = "pitman" if sample.fraction <= 0.1 else "snb"
    else:
        estimator_used = estimator
    fitted = None
    if estimator_used != "zayatz":
        fitted = {"pitman": pitman, "snb": slide_negative_binomial}[estimator_used](sample)
    if fitted is None or (estimator == "dankar" and estimator_used == "snb" and simple < fitted):
        return simple, "zayatz"
    return fitted, estimator_used


def zayatz(sample: Frequencies) -> float:
    r"""Uniques of the population, if class sizes in it were distributed as in the sample.

    .. math::
        P(PU \mid SU) = \frac{u_1 h(1;1)}{\sum_i u_i h(1;i)}, \qquad U = u_1\, P(PU \mid SU)\, N/n

    :math:`u_i` classes have *i* records; :math:`h(1;i)` is the hypergeometric chance that one of
    *i* people is drawn when n of N are.

    Reference: Zayatz 1991, *Estimation of the percent of unique population elements on a microdata
    file using the sample*.
    """
    from scipy.stats import hypergeom

    once = sample.counts * hypergeom.pmf(1, sample.population, sample.sizes, sample.records)
    unique = sample.having(1)
    if not unique:
        return 0.0
    uniques_seen = once[sample.sizes == 1].sum()
    scaled_uniques = unique * uniques_seen / once.sum()
    return float(scaled_uniques * sample.population / sample.records)


def slide_negative_binomial(sample: Frequencies) -> float | None:
    r"""Uniques of the population if class sizes there are one more than a negative binomial number,
    or None.

    With :math:`G(z) = z (\beta/(1 - (1-\beta) z))^\alpha`, sampling fraction *f* and *K* classes in
    the population,
    :math:`(\alpha, \beta)` solve

    .. math:: K f\, G'(1-f) = u_1, \qquad K \tfrac{f^2}{2} G''(1-f) = u_2, \qquad U = K \beta^\alpha

    *K* is estimated by :func:`classes_of_population`. ARX has a factor of the second equation
    upside down and finds no root where there is one.

    Reference: Chen & Keller-McNulty 1998, *Estimation of identification disclosure risk in
    microdata*.
    """
    from scipy.optimize import least_squares

    unique = sample.having(1)
    double = sample.having(2)
    f = sample.fraction
    classes = classes_of_population(sample)
    if not unique or not double or not math.isfinite(classes):
        return None

    def misses(at: Any) -> list[float]:
        alpha = math.exp(at[0])
        beta = 1 / (1 + math.exp(-at[1]))
        hidden = (1 - f) * (1 - beta)
        ratio = (beta / (1 - hidden)) ** alpha
        first = classes * f * ratio * (alpha * hidden / (1 - hidden) + 1)
        squares = classes * f**2
        rest_term = 2 - (1 - alpha) * hidden
        second = (
            squares / 2 * alpha * (1 - beta) * beta**alpha * rest_term / (1 - hidden) ** (alpha + 2)
        )
        return [first / unique - 1, second / double - 1]

    bounds = ([-20.0, -30.0], [10.0, 30.0])
    # Two equations in two unknowns; several starts, as one may end in a hollow.
    best = min(
        (least_squares(misses, at, bounds=bounds) for at in _SNB_STARTS), key=lambda r: r.cost
    )
    if best.cost > 1e-10:
        return None
    shown = 1 / (1 + np.exp(-best.x[1]))
    return float(classes * shown ** np.exp(best.x[0]))


def classes_of_population(sample: Frequencies) -> float:
    r"""Number of classes in the population, after Shlosser.

    .. math::
        K = u + u_1 \frac{\sum_i i f^2 (1-f^2)^{i-1} u_i}{\sum_i (1-f)^i ((1+f)^i - 1) u_i}
            \left(\frac{\sum_i (1-f)^i u_i}{\sum_i i f (1-f)^{i-1} u_i}\right)^2

    Reference: Haas, Naughton, Seshadri & Stokes 1995; Shlosser 1981.
    """
    i = sample.sizes
    u = sample.counts
    f = sample.fraction
    missed_before = (1 - f**2) ** (i - 1)
    seen_twice = u @ (i * f**2 * missed_before)
    # (1−f)^i ((1+f)^i − 1) in a form that large classes do not overflow
    not_twice = (1 - f**2) ** i
    pairs = u @ (not_twice - (1 - f) ** i)
    hidden = u @ (1 - f) ** i
    once = u @ (i * f * (1 - f) ** (i - 1))
    if not pairs or not once:
        return float("inf")
    unseen = sample.having(1) * seen_twice / pairs
    return float(sample.classes + unseen * np.square(hidden / once))
