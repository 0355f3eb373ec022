"""How the privacy losses of several answers add up.

Three ways, all of them upper bounds:

- *basic*: ε₁ + ε₂ + …; exact for pure ε, whoever chooses the next question after having seen the last answer;
- *zero-concentrated* (zCDP): ρ₁ + ρ₂ + …, turned into (ε, δ) at the end; a pure ε counts ε²/2;
- *advanced*: for parameters fixed in advance only.

A session lets people choose the next ε by the last answer. Basic and zCDP composition hold for that (a fixed total of
ρ is a valid stopping rule: Feldman, Zrnic 2021), advanced composition with its printed constants does not. So a budget
is kept by the first two, and :func:`composed` is for planning a list of questions that is fixed beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from sfumato.errors import ParameterError

SEARCH_STEPS = 60
GOLDEN = (math.sqrt(5) - 1) / 2


def rho_of_epsilon(epsilon: float) -> float:
    """The ρ that a pure ε costs: ``ε²/2`` (Bun, Steinke 2016, Proposition 1.4).

    >>> rho_of_epsilon(0.1)
    0.005000000000000001
    """
    return epsilon * epsilon / 2


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The ε that holds with a probability of failure δ for a mechanism that is ρ-zCDP.

    ``ε = min over α > 1 of  αρ + (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α)``
    (Canonne, Kamath, Steinke 2020, Corollary 13). Every α gives a valid bound, so an inexact minimum is safe; it is
    never above ``ρ + 2√(ρ ln(1/δ))``, the bound of Bun and Steinke.

    >>> round(epsilon_of_rho(0.125, 1e-6), 4)
    2.4191
    >>> epsilon_of_rho(0.0, 1e-6)
    0.0
    """
    _require_delta(delta)
    if rho < 0 or not math.isfinite(rho):
        raise ParameterError("rho must be a finite number, 0 or more")
    if rho == 0:
        return 0.0

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return alpha * rho + (-math.log(delta) - math.log(alpha)) / excess + math.log(excess / alpha)

    centre = math.log(math.sqrt(math.log(1 / delta) / rho))  # the minimum of the bound of Bun and Steinke
    return max(0.0, _lowest(bound, centre - 10, centre + 10))


def rho_of_budget(epsilon: float, delta: float) -> float:
    """The largest ρ whose :func:`epsilon_of_rho` stays within ε, a little below the exact root.

    >>> round(rho_of_budget(1.0, 1e-6), 6)
    0.024356
    """
    low, high = 0.0, 1.0
    while epsilon_of_rho(high, delta) <= epsilon:
        high *= 2
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of_rho(middle, delta) <= epsilon * (1 - 1e-12) else (low, middle)
    return low


def advanced(epsilons: Iterable[float], delta: float) -> float:
    """The ε of several pure losses, fixed in advance, with a probability of failure δ.

    ``ε = min(Σεᵢ, Σ εᵢ tanh(εᵢ/2) + √(2 ln(1/δ) Σεᵢ²))`` (Kairouz, Oh, Viswanath 2015, Theorem 3.5; their middle
    term, better in few cases, is left out). No losses: 0.

    >>> round(advanced([0.1] * 100, 1e-6), 3), advanced([0.5], 1e-6)
    (5.756, 0.5)
    """
    _require_delta(delta)
    given = list(epsilons)
    spread = math.sqrt(2 * math.log(1 / delta) * math.fsum(e * e for e in given))
    return min(math.fsum(given), math.fsum(e * math.tanh(e / 2) for e in given) + spread)


def composed(epsilons: Iterable[float], delta: float = 0.0) -> float:
    """The best bound we know on the total ε of pure losses that are fixed in advance.

    The smallest of basic, advanced and zCDP composition; with δ = 0 it is the sum.

    >>> composed([0.25] * 4), round(composed([0.1] * 100, 1e-6), 3)
    (1.0, 5.222)
    """
    given = list(epsilons)
    if delta == 0:
        return math.fsum(given)
    rho = math.fsum(rho_of_epsilon(e) for e in given)
    return min(advanced(given, delta), epsilon_of_rho(rho, delta))


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError("delta must lie between 0 and 1, both excluded")


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """The lowest value met in a golden-section search."""
    best = math.inf
    for _ in range(SEARCH_STEPS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = function(left), function(right)
        best = min(best, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return best
