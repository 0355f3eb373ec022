"""How much ε an accuracy needs, and what an ε means for both sides: before anything is spent.

The error comes from the same noise and the same intervals as that of an answer, computed for a
table that you expect: ``rows`` rows (in a group, when there are groups) and a result of about
``value``. Say what you expect from public knowledge or an older publication; the data are not
looked at.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.core.budget import PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.core.words import percent
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.results.queries.quantiles import DEFAULT_GRID, chooser, grid
from sfumato.results.queries.question import CONFIDENCE
from sfumato.results.queries.question_plan import failure, noises_of
from sfumato.results.queries.statistics import statistic as made_of

# What ε buys, in the words of somebody who attacks.
#
# The intruder knows everybody else's rows and wants to know whether a person is in the table (or
# which of two values the person has). The answers change what can be known about it by a factor of
# e^ε, no more.


def belief_after(epsilon: float, prior: float = 0.5) -> float:
    """How sure the intruder can be at most after all answers: ``p·e^ε / (1 + p·(e^ε − 1))`` (pure
    ε).

    Args:
        epsilon: everything that was spent.
        prior: how sure the intruder was before.

    >>> round(belief_after(1.0), 3), round(belief_after(0.1, prior=0.01), 4), belief_after(0.0, 0.3)
    (0.731, 0.011, 0.3)
    """
    _require(epsilon, prior)
    # written with e^-ε, so that a large ε does not overflow
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def epsilon_for_belief(prior: float, belief: float) -> float:
    """The ε after which an intruder's belief cannot have grown beyond a limit: the inverse
    of :func:`belief_after`.

    >>> round(epsilon_for_belief(0.5, 0.75), 4)
    1.0986
    """
    _require(0.0, prior)
    if not prior < belief < 1:
        raise ParameterError("the acceptable belief must be between the prior and 1")
    return math.log(belief / (1 - belief)) - math.log(prior / (1 - prior))


def success(epsilon: float, *, prior: float = 0.5, delta: float = 0.0) -> float:
    """How often an intruder's best guess is right at most, with or without δ.

    The best test against (ε, δ)-DP has its two error rates at a corner of the trade-off curve: (0,
    1−δ), (1−δ, 0), or both (1−δ)/(1+e^ε) (Kairouz, Oh, Viswanath 2015); never guessing by the
    answer is possible, too. For a prior of one half it is ``(e^ε + δ)/(1 + e^ε)``.

    >>> round(success(1.0), 3), round(success(0.1), 3)
    (0.731, 0.525)
    >>> success(0.0, prior=0.9), success(0.0, delta=0.1)
    (0.9, 0.55)
    """
    _require(epsilon, prior)
    if not 0 <= delta < 1:
        raise ParameterError("delta must be at least 0 and below 1")
    # (1 − δ)/(1 + e^ε), written with e^−ε against overflow
    equal_error = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    corners = ((0.0, 1 - delta), (equal_error, equal_error), (1 - delta, 0.0))
    return max(prior * (1 - missed) + (1 - prior) * (1 - false) for false, missed in corners)


def _require(epsilon: float, prior: float) -> None:
    if not epsilon >= 0:
        raise ParameterError("epsilon must be 0 or more")
    if not 0 < prior < 1:
        raise ParameterError(
            "the prior (how sure the intruder is before) must be between 0 and 1, both excluded"
        )


STATISTICS = ("count", "sum", "mean", "variance", "quantile")
SMALLEST, LARGEST = 1e-6, 1e3
USUAL = (0.01, 0.05, 0.1, 0.3, 1.0, 3.0)


@dataclasses.dataclass(frozen=True)
class Choice:
    """One ε: how sure an intruder who was at 50 % can be afterwards, and the error of the question
    at 95 %.
    """

    epsilon: float
    belief: float
    attacker_success: float
    error: float
    relative_error: float

    def __str__(self) -> str:
        return (
            f"ε = {self.epsilon:g}: somebody who first gives a person's presence in the table a "
            f"chance of one half can become {percent(self.belief)} sure; the answer is within "
            f"±{self.error:.3g} ({percent(self.relative_error)})"
        )


def expected_error(
    statistic: str,
    epsilon: float,
    *,
    rows: float,
    value: float | None = None,
    bounds: tuple[float, float] | None = None,
    relation: Relation | None = None,
    groups: int = 1,
    candidates: int = DEFAULT_GRID,
) -> float:
    """Half the width of the 95 % interval that an answer at this ε would have on a table like the
    one expected.

    For a quantile it is an error of rank, as a share of the rows.

    >>> expected_error("count", 0.1, rows=1000)
    30.0
    """
    if statistic not in STATISTICS:
        raise ParameterError(f"statistic must be one of {', '.join(STATISTICS)}")
    if not rows >= 1:
        raise ParameterError("rows (how many rows you expect) must be at least 1")
    if bounds is None and statistic != "count":
        raise ParameterError(f"a {statistic} needs the bounds of its column")
    loss, neighbours = PrivacyLoss.of(epsilon=epsilon), relation or Relation()
    if statistic == "quantile":
        quantile_chooser = chooser(
            0.5, grid(bounds or (0.0, 1.0), candidates), neighbours, loss, cells=groups
        )
        return quantile_chooser.rank_error(1 - CONFIDENCE) / rows
    return _half_width(statistic, loss, rows, value, bounds or (0.0, 1.0), neighbours, groups)


def _half_width(
    statistic: str,
    loss: PrivacyLoss,
    rows: float,
    value: float | None,
    bounds: tuple[float, float],
    relation: Relation,
    groups: int,
) -> float:
    parts = made_of(statistic, bounds)
    noises = noises_of(parts, relation, loss, cells=groups)
    tails = [
        n.tail(failure(len(noises))) * t.step for n, t in zip(noises, parts.totals, strict=True)
    ]
    middle, half = sum(bounds) / 2, (bounds[1] - bounds[0]) / 2
    guess = middle if value is None else value
    if statistic == "variance":  # taken to lie around the middle
        shape = [
            rows,
            0.0,
            # a uniform distribution over the bounds has variance half²/3; the total of squares is
            # taken from half²/2 (see the variance of noisy totals)
            rows * ((half * half / 3 if value is None else value) - half * half / 2),
        ]
    else:
        shape = {"count": [rows], "sum": [guess], "mean": [rows, rows * (guess - middle)]}[
            statistic
        ]
    estimate = parts.combine([np.array([total]) for total in shape], tails)
    return float(estimate.high[0] - estimate.low[0]) / 2


def epsilon_for(
    statistic: str, *, within: float, rows: float, value: float | None = None, **query_options: Any
) -> float:
    """The smallest ε whose answer is within a share of the expected value with 95 %, to three
    digits, rounded up.

    Args:
        statistic: count, sum, mean, variance or quantile.
        within: the error that is acceptable, as a share of ``value``: 0.02 is ±2 %. For a quantile,
        a share of rows.
        rows: how many rows you expect (in a group, when there are groups).
        value: the result you expect; for a count it is ``rows``.
        query_options: ``bounds``, ``relation``, ``groups``, ``candidates``, as for
        :func:`expected_error`.

    >>> epsilon_for("count", within=0.02, rows=10_000)
    0.015
    """
    if not 0 < within < 1:
        raise ParameterError(
            "within (the acceptable share of error) must be between 0 and 1 (0.02 is ±2 %)"
        )
    allowed = within * _size(statistic, rows, value)

    def good(epsilon: float) -> bool:
        return (
            expected_error(statistic, epsilon, rows=rows, value=value, **query_options) <= allowed
        )

    if not good(LARGEST):
        raise Unsatisfiable(
            f"no ε up to {LARGEST:g} makes this {statistic} so exact; accept more error, or ask "
            "about more rows"
        )
    # halved on a log scale: ε spans nine orders of magnitude, and 22 halvings leave a relative
    # error of 5e-6, less than the third digit
    low, high = math.log(SMALLEST), math.log(LARGEST)
    for _ in range(22):
        middle = (low + high) / 2
        # high always is good enough, so what is returned is, too
        low, high = (low, middle) if good(math.exp(middle)) else (middle, high)
    return _rounded_up(math.exp(high))


def choices(
    statistic: str,
    *,
    rows: float,
    value: float | None = None,
    epsilons: Sequence[float] = USUAL,
    **query_options: Any,
) -> tuple[Choice, ...]:
    """What several ε mean: what an intruder can learn, and the error of the user's own question.

    >>> for choice in choices("count", rows=1000, epsilons=[0.1, 1.0]):
    ...     print(choice)
    ε = 0.1: somebody who first gives a person's presence in the table a chance of one half can
    become 52.5 % sure; the answer is within ±30 (3 %)
    ε = 1: somebody who first gives a person's presence in the table a chance of one half can become
    73.1 % sure; the answer is within ±3 (0.30 %)
    """
    size = _size(statistic, rows, value)
    ways = []
    for epsilon in epsilons:
        error = expected_error(statistic, epsilon, rows=rows, value=value, **query_options)
        ways.append(
            Choice(float(epsilon), belief_after(epsilon), success(epsilon), error, error / size)
        )
    return tuple(ways)


def _size(statistic: str, rows: float, value: float | None) -> float:
    """What an error is a share of."""
    if statistic == "count":
        return rows
    if statistic == "quantile":
        return 1.0
    if not value:
        raise ParameterError(
            f"give the {statistic} you expect (value=…, not 0), since the error is a share of it"
        )
    return abs(value)


def _rounded_up(number: float) -> float:
    """Three digits that are not below the number."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    # what has three digits already must not go up because of the division's rounding error
    return float(f"{math.ceil(number / unit * (1 - 1e-12)) * unit:.3g}")
