"""Transition matrices of randomised answers: ``matrix[i, j]`` is the probability that value *i* is
released as *j*.

They keep frequencies :math:`p` in expectation where :math:`p R = p`; where they do not, frequencies
can be estimated back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""By how much the rows of a matrix may differ from 1 in sum."""


def checked_matrix(matrix: object) -> Floats:
    """A square matrix of probabilities whose rows add up to 1; anything else is refused."""
    try:
        square = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "a transition matrix must hold numbers, as many in each row as there are rows"
        ) from None
    if square.ndim != 2 or square.shape[0] != square.shape[1] or not square.size:
        raise ParameterError(
            "a transition matrix must be square: one row and one column for each value"
        )
    if not (square >= 0).all():
        raise ParameterError(
            "a transition matrix must hold probabilities; some entries are negative or missing"
        )
    # Rounding grows with the number of entries in a row.
    is_wrong = np.abs(square.sum(axis=1) - 1) > TOLERANCE * len(square)
    wrong = int(is_wrong.sum())
    if wrong:
        raise ParameterError(
            f"the rows of a transition matrix must add up to 1; {wrong} of {len(square)} do not"
        )
    return square


def uniform_matrix(size: int, retain: float) -> Floats:
    """Keep a value with probability ``retain``, otherwise release any other with the same
    probability.

    A single value is always kept.

    >>> uniform_matrix(3, 0.8).round(3).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    if size == 1:
        return np.ones((1, 1))
    matrix = np.full((size, size), (1 - retain) / (size - 1))
    np.fill_diagonal(matrix, retain)
    return matrix


def two_stage_invariant(matrix: object, shares: object, alpha: float = 1.0) -> Floats:
    r"""An invariant matrix from any matrix P: apply P, then go back by Bayes' rule.

    .. math:: q = p P, \qquad Q_{kj} = P_{jk}\, p_j / q_k, \qquad R = \alpha\, P Q + (1 - \alpha) I,
        \qquad p R = p

    Values that P never leads to (:math:`q_k = 0`) stay as they are in the second stage.

    Reference: Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, *Journal of Official Statistics*
    14(4), 463–478.

    >>> two_stage_invariant(
    ...     [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]], [0.5, 0.3, 0.2]
    ... ).round(4).tolist()
    [[0.7073, 0.1806, 0.1121], [0.301, 0.4994, 0.1996], [0.2802, 0.2994, 0.4204]]
    """
    first = checked_matrix(matrix)
    p = np.asarray(shares, dtype=np.float64)
    q = p @ first
    reached = q > 0
    back = np.eye(len(p))
    # Row k of the way back: which original values j a value k is likely to have come from.
    back[reached] = (first.T * p)[reached] / q[reached, None]
    return alpha * (first @ back) + (1 - alpha) * np.eye(len(p))


def direct_invariant(shares: object, theta: float) -> Floats:
    r"""An invariant matrix from the frequencies alone: the rarer a value, the more it is changed.

    .. math:: R_{ii} = 1 - \theta\, p_{min} / p_i, \qquad R_{ij} = \theta\, p_{min} / (p_i (m - 1))

    All m values must occur; a single one is always kept.

    >>> direct_invariant([.5, .3, .2], 0.5).round(4).tolist()
    [[0.8, 0.1, 0.1], [0.1667, 0.6667, 0.1667], [0.25, 0.25, 0.5]]
    """
    p = np.asarray(shares, dtype=np.float64)
    if not (p > 0).all():
        raise ParameterError(
            "the direct invariant matrix needs values that all occur; remove values without records"
        )
    if len(p) == 1:
        return np.ones((1, 1))
    # What leaves value i, p_i · leaving_i, is the same for all i: as much comes in as goes out.
    leaving = theta * p.min() / p
    chances = leaving[:, None] / (len(p) - 1)
    matrix = np.repeat(chances, len(p), axis=1)
    np.fill_diagonal(matrix, 1 - leaving)
    return matrix


def local_epsilon(matrix: object) -> float:
    r"""The ε of local differential privacy of one randomised answer.

    .. math:: e^\varepsilon = \max_j \max_{i, i'} P_{ij} / P_{i'j}

    Infinite where a released value rules some original value out. It holds for a matrix that was
    chosen without looking at the data.

    >>> round(local_epsilon([[.75, .25], [.25, .75]]), 4), round(math.log(3), 4)
    (1.0986, 1.0986)
    >>> local_epsilon([[1, 0], [.5, .5]])
    inf
    """
    square = checked_matrix(matrix)
    highest = square.max(axis=0)
    lowest = square.min(axis=0)
    # A column that one row can produce and another cannot tells them apart for certain.
    if (lowest[highest > 0] == 0).any():
        return math.inf
    ratios = np.log(highest[highest > 0]) - np.log(lowest[highest > 0])
    return float(ratios.max())


def estimate_frequencies(released_counts: object, matrix: object) -> Floats:
    r"""Unbiased estimate of the original counts (or shares) from the released ones.

    .. math:: \hat T = t' P^{-1}, \qquad E[t'] = T P

    Estimates may be negative where counts are small; they add up to the released total. A matrix
    that is singular, or so near to it that the estimate would be noise, is refused.

    >>> estimate_frequencies([40, 60], [[.75, .25], [.25, .75]]).round(6).tolist()
    [30.0, 70.0]
    """
    square = checked_matrix(matrix)
    counts = np.asarray(released_counts, dtype=np.float64)
    if counts.shape != (len(square),):
        raise ParameterError(f"give one count for each of the {len(square)} values of the matrix")
    # Near a singular matrix the estimate would multiply the noise of the counts.
    if np.linalg.cond(square) > 1e12:
        raise ParameterError(
            "this transition matrix erases the original values, so frequencies cannot be "
            "estimated from it"
        )
    return np.asarray(np.linalg.solve(square.T, counts), dtype=np.float64)
