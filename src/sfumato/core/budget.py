"""What may be lost about a person in total, and what one answer costs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from numbers import Real
from typing import Annotated

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError

# How the privacy losses of several answers add up.
#
# Three ways, all of them upper bounds:
#
# - *basic*: ε₁ + ε₂ + …; exact for pure ε, whoever chooses the next question after having seen the
# last answer;
# - *zero-concentrated* (zCDP): ρ₁ + ρ₂ + …, turned into (ε, δ) at the end; a pure ε counts ε²/2;
# - *advanced*: for parameters fixed in advance only.
#
# A session lets people choose the next ε by the last answer. Basic and zCDP composition hold for
# that (a fixed total of ρ is a valid stopping rule: Feldman, Zrnic 2021), advanced composition with
# its printed constants does not. So a budget is kept by the first two, and :func:`composed` is for
# planning a list of questions that is fixed beforehand.

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
    (Canonne, Kamath, Steinke 2020, Corollary 13). Every α gives a valid bound, so an inexact
    minimum is safe; it is never above ``ρ + 2√(ρ ln(1/δ))``, the bound of Bun and Steinke.

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
        tail = -math.log(delta) - math.log(alpha)
        return alpha * rho + tail / excess + math.log(excess / alpha)

    ratio = math.log(1 / delta) / rho
    centre = math.log(math.sqrt(ratio))  # the minimum of the bound of Bun and Steinke
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
        if epsilon_of_rho(middle, delta) <= epsilon * (1 - 1e-12):
            low = middle
        else:
            high = middle
    return low


def advanced(epsilons: Iterable[float], delta: float) -> float:
    """The ε of several pure losses, fixed in advance, with a probability of failure δ.

    ``ε = min(Σεᵢ, Σ εᵢ tanh(εᵢ/2) + √(2 ln(1/δ) Σεᵢ²))`` (Kairouz, Oh, Viswanath 2015, Theorem 3.5;
    their middle term, better in few cases, is left out). No losses: 0.

    >>> round(advanced([0.1] * 100, 1e-6), 3), advanced([0.5], 1e-6)
    (5.756, 0.5)
    """
    _require_delta(delta)
    losses = list(epsilons)
    squares = math.fsum(e * e for e in losses)
    spread = math.sqrt(2 * math.log(1 / delta) * squares)
    expected = math.fsum(e * math.tanh(e / 2) for e in losses)
    return min(math.fsum(losses), expected + spread)


def composed(epsilons: Iterable[float], delta: float = 0.0) -> float:
    """The best bound we know on the total ε of pure losses that are fixed in advance.

    The smallest of basic, advanced and zCDP composition; with δ = 0 it is the sum.

    >>> composed([0.25] * 4), round(composed([0.1] * 100, 1e-6), 3)
    (1.0, 5.222)
    """
    losses = list(epsilons)
    if delta == 0:
        return math.fsum(losses)
    rho = math.fsum(rho_of_epsilon(e) for e in losses)
    return min(advanced(losses, delta), epsilon_of_rho(rho, delta))


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError("delta must lie between 0 and 1, both excluded")


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """The lowest value met in a golden-section search."""
    best = math.inf
    for _ in range(SEARCH_STEPS):
        lower, upper = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = function(lower), function(upper)
        best = min(best, at_left, at_right)
        if at_left < at_right:
            high = upper
        else:
            low = lower
    return best


SAFETY = 1e-9
"""Logarithms are rounded: a converted total must stay this far, relatively, below the budget."""

SMALLEST, LARGEST = Fraction(1, 10**15), Fraction(10**15)
"""What may be asked for: less leaves no answer in the noise, more is no protection, and both leave
the range of numbers.
"""
LEAST_DELTA = 1e-100


def sensible(amount: object, title: str) -> Fraction:
    """A loss or a budget that somebody asks for: exact, and of a size that means something."""
    fraction = exact(amount, title)
    if not SMALLEST <= fraction <= LARGEST:
        raise ParameterError(f"{title} must lie between {float(SMALLEST):g} and {float(LARGEST):g}")
    return fraction


def exact(amount: object, title: str) -> Fraction:
    """A positive number as the decimal that was written, so that three times 0.1 is 0.3.

    >>> exact(0.1, "epsilon") * 3 == exact(0.3, "epsilon")
    True
    """
    if isinstance(amount, bool) or not isinstance(amount, Real | str):
        raise ParameterError(f"{title} must be a number")
    try:
        if isinstance(amount, Fraction):
            fraction = amount
        else:
            fraction = Fraction(str(float(amount)))
    except (ValueError, OverflowError):
        raise ParameterError(f"{title} must be a finite number") from None
    if fraction <= 0:
        raise ParameterError(
            f"{title} must be above 0: an answer without privacy loss does not exist"
        )
    return fraction


@dataclasses.dataclass(frozen=True)
class PrivacyLoss:
    """What one answer costs: a pure ``epsilon`` or a ``rho`` of zCDP, exactly as asked for."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: object = None, rho: object = None) -> PrivacyLoss:
        """A loss from numbers; exactly one of the two is given."""
        if (epsilon is None) == (rho is None):
            raise ParameterError(
                "say what the answer may cost: either epsilon (pure) or rho (zCDP)"
            )
        if epsilon is not None:
            return cls(epsilon=sensible(epsilon, "epsilon"))
        return cls(rho=sensible(rho, "rho"))

    @property
    def as_rho(self) -> Fraction:
        """The loss in zCDP: a pure ε counts ε²/2."""
        if self.epsilon is not None:
            return self.epsilon**2 / 2
        return self.rho or Fraction(0)

    def divided(self, parts: int) -> PrivacyLoss:
        """One of several equal parts; together they cost exactly this."""
        if self.epsilon is not None:
            return PrivacyLoss(epsilon=self.epsilon / parts)
        return PrivacyLoss(rho=self.as_rho / parts)

    def to_dict(self) -> dict[str, str]:
        """Plain data for a ledger."""
        if self.epsilon is not None:
            return {"epsilon": str(self.epsilon)}
        return {"rho": str(self.rho)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, str]) -> PrivacyLoss:
        """The inverse of :meth:`to_dict`."""
        read = {name: exact(Fraction(value), name) for name, value in plain.items()}
        if len(read) != 1:
            raise ParameterError("give either an epsilon or a rho, not both")
        return cls(**read)

    def __str__(self) -> str:
        if self.epsilon is not None:
            return f"ε = {float(self.epsilon):g}"
        return f"ρ = {float(self.as_rho):g}"


@dataclasses.dataclass(frozen=True)
class Spending:
    """Losses added up exactly: the sum of ε (None once a loss has no pure ε), the sum of ρ, and how
    many there were.
    """

    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    answers: int = 0

    def plus(self, losses: Iterable[PrivacyLoss]) -> Spending:
        """This and more."""
        epsilon, rho, answers = self.epsilon, self.rho, self.answers
        for loss in losses:
            if epsilon is None or loss.epsilon is None:
                epsilon = None
            else:
                epsilon = epsilon + loss.epsilon
            rho, answers = rho + loss.as_rho, answers + 1
        return Spending(epsilon, rho, answers)


NOTHING = Spending()


@parameters
class Budget:
    """The total that may be lost: pure ``Budget(1.0)``, ``Budget(1.0, delta=1e-6)``, or zCDP
    ``Budget(rho=0.1)``.

    With δ, what was asked is counted in both ways that hold for questions chosen one after the
    other, as a sum of ε and as zCDP converted to (ε, δ), and either must stay within the budget. A
    question counts only before it is answered, and sums are exact, so a budget is never overspent
    by rounding.
    """

    epsilon: Annotated[float | None, Field(gt=0, allow_inf_nan=False, description="ε in total")] = (
        None
    )
    delta: Annotated[
        float, Field(ge=0, lt=1, description="probability with which ε may fail; 0: never")
    ] = 0.0
    rho: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="ρ of zCDP in total, instead of ε"),
    ] = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError("give the budget either as epsilon or as rho, not both")
        if self.rho is not None and self.delta:
            raise ParameterError(
                "delta belongs to a budget in epsilon; a budget in rho needs none, so leave "
                "delta out"
            )
        sensible(*((self.rho, "rho") if self.epsilon is None else (self.epsilon, "epsilon")))
        if self.delta and self.delta < LEAST_DELTA:
            raise ParameterError(f"delta must be 0 or at least {LEAST_DELTA:g}")

    def affords(self, spending: Spending) -> bool:
        """Whether these losses together stay within the budget.

        >>> tenth = PrivacyLoss.of(epsilon=0.1)
        >>> (
        ...     Budget(0.3).affords(NOTHING.plus([tenth] * 3)),
        ...     Budget(0.3).affords(NOTHING.plus([tenth] * 4)),
        ... )
        (True, False)
        >>> Budget(0.3, delta=1e-6).affords(NOTHING.plus([PrivacyLoss.of(epsilon=0.001)] * 1000))
        True
        """
        if self.rho is not None:
            return spending.rho <= exact(self.rho, "rho")
        limit = exact(self.epsilon, "epsilon")
        if spending.epsilon is not None and spending.epsilon <= limit:
            return True
        return self.delta > 0 and epsilon_of_rho(float(spending.rho), self.delta) <= float(
            limit
        ) * (1 - SAFETY)

    def spent(self, spending: Spending) -> float:
        """What these losses come to together, in the currency of the budget (ε or ρ)."""
        if self.rho is not None:
            return float(spending.rho)
        if spending.epsilon is None:
            total = math.inf
        else:
            total = float(spending.epsilon)
        if self.delta:
            return min(total, epsilon_of_rho(float(spending.rho), self.delta))
        return total

    def largest_epsilon(self, spending: Spending) -> float:
        """The largest pure ε that one more answer could cost, rounded down to six digits."""
        if self.rho is not None:
            remaining = self.rho - float(spending.rho)
            largest = math.sqrt(2 * max(0.0, remaining))
        else:
            limit = exact(self.epsilon, "epsilon")
            if spending.epsilon is None:
                largest = 0.0
            else:
                largest = max(0.0, float(limit - spending.epsilon))
            if self.delta:
                usable_limit = float(limit) * (1 - SAFETY)
                remaining_rho = rho_of_budget(usable_limit, self.delta) - float(spending.rho)
                largest = max(largest, math.sqrt(2 * max(0.0, remaining_rho)))
        return math.floor(largest * 1e6 + 1e-6) / 1e6

    def to_dict(self) -> dict[str, float]:
        """Plain data for a ledger: the fields that were given."""
        limits = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {name: value for name, value in limits.items() if value is not None}

    def __str__(self) -> str:
        if self.rho is not None:
            return f"ρ = {self.rho:g} (zCDP)"
        return f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
