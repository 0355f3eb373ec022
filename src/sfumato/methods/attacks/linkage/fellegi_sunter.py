"""Fellegi and Sunter's model of record linkage: what agreement is worth, estimated from patterns of
agreement.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Fellegi and Sunter's model of record linkage, over distinct patterns of agreement with their
# counts.
#
# A pair of records has per column a level of agreement :math:`\gamma_k` (3 exact, 2 covered by a
# range or set, 1 close, 0 different, 4 nothing can be said). Levels are independent given whether
# the pair is a match:
#
# .. math:: m_{kl} = P(\gamma_k = l \mid M), \quad u_{kl} = P(\gamma_k = l \mid U), \quad
#           R(\gamma) = \sum_k \log_2 \frac{m_{k\gamma_k}}{u_{k\gamma_k}}
#
# where a column of which nothing can be said adds nothing. Reference: Fellegi & Sunter 1969,
# doi:10.1080/01621459.1969.10501049.

LEVELS, NOTHING = 5, 4
LEAST = 1e-6
SLACK = 1e-9
"""Gaps on the line up to this are none, as in the loops."""
ROUNDS, SMALL, FEWEST_ROUNDS = 500, 1e-10, 5
ROOM = 1 << 23
"""Cells of patterns up to which the estimate keeps them as numbers for all its rounds."""


@dataclasses.dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct patterns (a row each, a level per column) and how many pairs have each."""

    levels: NDArray[np.int64]
    counts: Floats

    @functools.cached_property
    def having(self) -> tuple[NDArray[Any], ...]:
        """Per level of which something can be said, which cells have it: as numbers where these
        take little room.
        """
        kind = np.dtype(np.float64 if self.levels.size <= ROOM else np.bool_)
        return tuple((self.levels == level).astype(kind) for level in range(NOTHING))

    @functools.cached_property
    def occur(self) -> NDArray[np.bool_]:
        """Per column and level whether it occurs."""
        return np.stack([(self.levels == level).any(axis=0) for level in range(NOTHING)], axis=1)

    @functools.cached_property
    def nothing(self) -> Floats:
        """Per column the share of pairs of which nothing can be said."""
        nothing_shares = self.counts @ (self.levels == NOTHING) / max(self.counts.sum(), 1e-300)
        return np.asarray(nothing_shares, dtype=np.float64)

    @functools.cached_property
    def by_column(self) -> NDArray[np.int8]:
        """The levels, a row a column."""
        return np.ascontiguousarray(self.levels.T.astype(np.int8))


@dataclasses.dataclass(frozen=True, eq=False)
class Parameters:
    """What the model knows: ``m`` and ``u`` per column and level, and ``prior``, the share of
    matches among pairs.
    """

    m: Floats
    u: Floats
    prior: float
    rounds: int = 0
    stopped: bool = False
    """Whether the estimate had not settled when it became too much work."""

    @property
    def weights(self) -> Floats:
        """Per column and level the bits in favour of a match; 0 where nothing can be said.

        Closeness is held to weigh less than agreement: where the estimate says otherwise (one
        column alone cannot tell), it weighs halfway between differing and agreeing. A level of
        agreement that did not occur weighs as the best that did.
        """
        bits = np.log2(np.maximum(self.m, LEAST) / np.maximum(self.u, LEAST))
        occur = self.u > 0
        for k in range(len(bits)):
            agreeing = bits[k, 2:][occur[k, 2:]]
            if len(agreeing) and occur[k, 1] and bits[k, 1] >= agreeing.min():
                bits[k, 1] = (bits[k, 0] + agreeing.min()) / 2
            best = bits[k, 1:][occur[k, 1:]].max(initial=0.0)
            bits[k, 1:][~occur[k, 1:]] = best
        return np.column_stack([bits, np.zeros(len(bits))])


@dataclasses.dataclass(frozen=True, eq=False)
class LinkDecision:
    """Where links begin and non-links end, in bits, and per pattern 1 link, 0 clerical, −1
    non-link.
    """

    upper: float
    lower: float
    verdicts: NDArray[np.int64]


def shares(patterns: Patterns, weights: Floats) -> Floats:
    """Per column the share of each level among pairs of which something can be said, kept away from
    0 where it occurs.
    """
    level_shares = np.stack([weights @ having for having in patterns.having], axis=1)
    level_shares = level_shares / np.maximum(level_shares.sum(axis=1, keepdims=True), 1e-300)
    return np.where(patterns.occur, np.clip(level_shares, LEAST, 1 - LEAST), 0.0)


def start(patterns: Patterns, agreeing: float) -> Floats:
    """Levels of agreement share ``agreeing``, the rest differ."""
    occur = patterns.occur.astype(float)
    agree = occur.copy()
    agree[:, 0] = 0.0
    level_shares = agreeing * agree / np.maximum(agree.sum(axis=1, keepdims=True), 1.0)
    level_shares[:, 0] = np.where(occur[:, 0] > 0, 1 - agreeing, 0.0)
    return np.asarray(level_shares / np.maximum(level_shares.sum(axis=1, keepdims=True), 1e-300))


def probability(patterns: Patterns, level_shares: Floats) -> Floats:
    """Per pattern its probability given what each level has; columns of which nothing can be said
    count by their share.
    """
    shares_where_both = level_shares * (1 - patterns.nothing[:, None])
    table = np.column_stack([shares_where_both, patterns.nothing])
    probabilities = np.ones(len(patterns.levels))
    for column_shares, levels in zip(table, patterns.by_column, strict=True):
        probabilities *= column_shares[levels]
    return probabilities


def estimate(
    patterns: Patterns,
    prior: float,
    u: Floats | None = None,
    most_rounds: int = ROUNDS,
    between: Callable[[], object] = bool,
) -> Parameters:
    """Estimate by expectation and maximisation; a given ``u`` stays as it is.

    Where patterns are many fewer rounds are made (``most_rounds``): the first few say most of what
    there is to say. ``between`` is called before every round and may raise to stop the estimate.
    Starts from m = 0.9, u = 0.1. When in most columns matches agree less than others do, the two
    have changed places and are put back.
    """
    m = start(patterns, 0.9)
    u_shares = start(patterns, 0.1) if u is None else u
    rounds, change = 0, math.inf
    while rounds < most_rounds and change >= SMALL:
        between()
        rounds += 1
        match = prior * probability(patterns, m)
        nonmatch = (1 - prior) * probability(patterns, u_shares)
        belief = match / np.maximum(match + nonmatch, 1e-300) * patterns.counts
        match_share = belief.sum() / patterns.counts.sum()
        now = float(np.clip(match_share, 1e-12, 1 - 1e-12))
        next_m = shares(patterns, belief)
        if u is None:
            next_u = shares(patterns, patterns.counts - belief)
        else:
            next_u = u
        m_change = np.abs(next_m - m)
        u_change = np.abs(next_u - u_shares)
        change = max(m_change.max(), u_change.max(), abs(now - prior))
        m = next_m
        u_shares = next_u
        prior = now
    if u is None and (m[:, 1:].sum(axis=1) < u_shares[:, 1:].sum(axis=1)).mean() > 0.5:
        m, u_shares, prior = u_shares, m, 1 - prior
    return Parameters(m, u_shares, prior, rounds, stopped=most_rounds < ROUNDS and change >= SMALL)


def decide(
    patterns: Patterns, parameters: Parameters, wrong_links: float, missed: float
) -> LinkDecision:
    r"""Links, non-links and what is left to a clerk, from the two error probabilities.

    Patterns are taken by falling weight. Links are as many of the first as
    keep :math:`\sum P(\gamma \mid U) \le \mu`, non-links as many of the last as
    keep :math:`\sum P(\gamma \mid M) \le \lambda`. Where the two would overlap nothing is left to a
    clerk, and the cut is where a match becomes likelier than not, within what both allow. Where the
    best pattern alone exceeds μ there are no links, and the upper threshold is infinite.
    """
    weights = pattern_weights(patterns, parameters)
    order = np.argsort(-weights, kind="stable")
    u_of_patterns = probability(patterns, parameters.u)
    links = int(np.searchsorted(np.cumsum(u_of_patterns[order]), wrong_links, side="right"))
    m_of_patterns = probability(patterns, parameters.m)
    missed_links = np.cumsum(m_of_patterns[order][::-1])
    last = int(np.searchsorted(missed_links, missed, side="right"))
    nonlink_count = len(order) - last
    if links > nonlink_count:
        even = math.log2((1 - parameters.prior) / parameters.prior)
        certain_links = (weights[order] >= even).sum()
        links = nonlink_count = int(np.clip(certain_links, nonlink_count, links))
    verdicts = np.zeros(len(order), dtype=np.int64)
    verdicts[order[:links]] = 1
    verdicts[order[nonlink_count:]] = -1
    if links:
        upper = float(weights[order[links - 1]])
    else:
        upper = math.inf
    if nonlink_count < len(order):
        lower = float(weights[order[nonlink_count]])
    else:
        lower = -math.inf
    return LinkDecision(upper, lower, verdicts)


def pattern_weights(patterns: Patterns, parameters: Parameters) -> Floats:
    """Per pattern the bits in favour of a match."""
    table = parameters.weights
    return np.asarray(table[np.arange(len(table)), patterns.levels].sum(axis=1))
