r"""When sampling and k-anonymity together are differentially private.

Keep each record with probability β, generalise it by a rule that does not depend on the data, and suppress every class with
fewer than k records. For :math:`\varepsilon \ge -\ln(1 - \beta)` the result is (ε, δ)-private for adding or removing one record, with

.. math::
    \gamma = \frac{e^\varepsilon - 1 + \beta}{e^\varepsilon}, \qquad
    \delta(k, \beta, \varepsilon) = \max_{n \ge \lceil k/\gamma - 1 \rceil} \; \sum_{j > \gamma n}^{n} \binom{n}{j} \beta^j (1-\beta)^{n-j} .

Reference: Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.errors import ParameterError

SAFETY = 1e-9
"""Relative margin on δ for rounding in the binomial tails."""
LEAST_DELTA = 1e-300
CHUNK = 4096


def usual_beta(epsilon: float) -> float:
    """The largest share that may be sampled for ε: 1 − e^−ε.

    >>> round(usual_beta(1), 5)
    0.63212
    """
    if not 0 < epsilon < math.inf:
        raise ParameterError("epsilon must be a number above 0")
    return -math.expm1(-epsilon)


def delta_of(k: int, beta: float, epsilon: float) -> float:
    r"""The δ of safe k-anonymization.

    The terms for growing n are below :math:`c_n = e^{-n(\gamma \ln(\gamma/\beta) - (\gamma - \beta))}`, which falls, so the search
    ends once the largest term found exceeds it. What floating-point tails may be off is added; ARX computes with
    intervals and uses k + 1 in the place of k, which is more careful than need be.

    >>> f"{delta_of(10, 0.1, 1):.3g}", f"{delta_of(20, 0.1, 1):.3g}"
    ('6.84e-08', '4.07e-14')
    """
    from scipy.stats import binom

    gamma = _gamma(k, beta, epsilon)
    fall = gamma * math.log(gamma / beta) - (gamma - beta)
    start, worst = max(1, math.ceil(k / gamma - 1 - 1e-11)), 0.0
    while True:
        n = np.arange(start, start + CHUNK)
        worst = max(worst, float(binom.sf(np.floor(gamma * n + 1e-11), n, beta).max()))
        start += CHUNK
        bound = math.exp(-start * fall)
        if worst >= bound or bound < LEAST_DELTA:
            return min(1.0, max(worst, bound if bound < LEAST_DELTA else 0.0) * (1 + SAFETY))


def needed_k(delta: float, beta: float, epsilon: float) -> int:
    """The smallest k whose δ is at most the given one; δ never rises with k.

    >>> [needed_k(d, usual_beta(1), 1) for d in (1e-4, 1e-5, 1e-6)]
    [47, 61, 74]
    """
    if not 0 < delta < 1:
        raise ParameterError("delta must lie between 0 and 1; take much less than one over the number of people")
    low, high = 1, 2
    while delta_of(high, beta, epsilon) > delta:
        low, high = high, 2 * high
        if high > 1 << 24:
            raise ParameterError("no k in reach gives so small a delta; lower beta, or raise epsilon or delta")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if delta_of(middle, beta, epsilon) <= delta else (middle, high)
    return low if delta_of(low, beta, epsilon) <= delta else high


def _gamma(k: int, beta: float, epsilon: float) -> float:
    if k < 1:
        raise ParameterError("k must be at least 1")
    if not 0 < beta < 1:
        raise ParameterError("beta is the share that is sampled: above 0 and below 1")
    if beta > usual_beta(epsilon) * (1 + 1e-12):
        raise ParameterError(
            "beta is too large for epsilon: it may be at most 1 − e^−epsilon; sample less, or raise epsilon"
        )
    return (math.expm1(epsilon) + beta) * math.exp(-epsilon)
