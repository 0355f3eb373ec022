"""What ε buys, in the words of somebody who attacks.

The attacker knows everybody else's rows and wants to know whether a person is in the table (or which of two values the
person has). The answers change what can be known about it by a factor of e^ε, no more.
"""

from __future__ import annotations

import math

from sfumato.errors import ParameterError


def belief_after(epsilon: float, prior: float = 0.5) -> float:
    """How sure the attacker can be at most after all answers: ``p·e^ε / (1 + p·(e^ε − 1))`` (pure ε).

    Args:
        epsilon: everything that was spent.
        prior: how sure the attacker was before.

    >>> round(belief_after(1.0), 3), round(belief_after(0.1, prior=0.01), 4), belief_after(0.0, 0.3)
    (0.731, 0.011, 0.3)
    """
    _require(epsilon, prior)
    # written with e^-ε, so that a large ε does not overflow
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def epsilon_for_belief(prior: float, belief: float) -> float:
    """The ε after which an attacker's belief cannot have grown beyond a limit: the inverse of :func:`belief_after`.

    >>> round(epsilon_for_belief(0.5, 0.75), 4)
    1.0986
    """
    _require(0.0, prior)
    if not prior < belief < 1:
        raise ParameterError("the belief that is still acceptable must lie between the prior and 1")
    return math.log(belief / (1 - belief)) - math.log(prior / (1 - prior))


def success(epsilon: float, *, prior: float = 0.5, delta: float = 0.0) -> float:
    """How often an attacker's best guess is right at most, with or without δ.

    The best test against (ε, δ)-DP has its two error rates at a corner of the trade-off curve: (0, 1−δ), (1−δ, 0), or
    both (1−δ)/(1+e^ε) (Kairouz, Oh, Viswanath 2015); never guessing by the answer is possible, too. For a prior of one
    half it is ``(e^ε + δ)/(1 + e^ε)``.

    >>> round(success(1.0), 3), round(success(0.1), 3), success(0.0, prior=0.9), success(0.0, delta=0.1)
    (0.731, 0.525, 0.9, 0.55)
    """
    _require(epsilon, prior)
    if not 0 <= delta < 1:
        raise ParameterError("delta must be at least 0 and below 1")
    both = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    corners = ((0.0, 1 - delta), (both, both), (1 - delta, 0.0))
    return max(prior * (1 - missed) + (1 - prior) * (1 - false) for false, missed in corners)


def _require(epsilon: float, prior: float) -> None:
    if not epsilon >= 0:
        raise ParameterError("epsilon must be 0 or more")
    if not 0 < prior < 1:
        raise ParameterError("the prior, how sure the attacker is before, must lie between 0 and 1, both excluded")
