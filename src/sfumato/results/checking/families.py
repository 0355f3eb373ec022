"""Means and variances of generalised linear models, as families and links in use give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.results.checking.untrusted_objects import number_of, peek

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats


FAR = 700.0
"""Exponents are cut here: the exponential of 710 is larger than any number."""


class InverseLink(NamedTuple):
    """The mean as a function of the linear predictor, and its slope (an inverse link function)."""

    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


class ExpectedMeans(NamedTuple):
    """What a generalised linear model expects of every row: the mean, how it moves with the line,
    its variance; and whether no finite coefficients may fit best.
    """

    mean: Floats
    slope: Floats
    variance: Floats
    endless: bool


def _exp(line: Floats) -> Floats:
    return np.exp(np.clip(line, -FAR, FAR))


def _logistic(line: Floats) -> Floats:
    return 1 / (1 + _exp(-line))


def _normal(line: Floats) -> Floats:
    from scipy.special import ndtr

    shares: Floats = ndtr(line)
    return shares


LINKS = {
    "identity": InverseLink(lambda line: line, np.ones_like),
    "log": InverseLink(_exp, _exp),
    "logit": InverseLink(_logistic, lambda line: _logistic(line) * _logistic(-line)),
    "probit": InverseLink(_normal, lambda line: np.exp(-(line**2) / 2) / np.sqrt(2 * np.pi)),
    "cloglog": InverseLink(
        lambda line: -np.expm1(-_exp(line)), lambda line: _exp(line) * np.exp(-_exp(line))
    ),
    "loglog": InverseLink(
        lambda line: np.exp(-_exp(-line)), lambda line: _exp(-line) * np.exp(-_exp(-line))
    ),
    "inverse": InverseLink(lambda line: 1 / line, lambda line: -1 / line**2),
    "inverse squared": InverseLink(lambda line: line**-0.5, lambda line: -0.5 * line**-1.5),
    "root": InverseLink(lambda line: line**2, lambda line: 2 * line),
}
SHARES = ("logit", "probit", "cloglog", "loglog", "log", "identity")
COUNTS = ("log", "root", "identity")
AMOUNTS = ("log", "inverse", "identity", "inverse squared")
"""Links that are in use for shares, counts and amounts."""
ENDLESS = ("logit", "probit", "cloglog", "loglog", "log")
"""Links whose mean reaches its bound only where coefficients are infinite."""
ANY_NUMBER = ("identity", "log")


def expected_means(output: object, line: Floats, answer: Floats) -> Iterator[ExpectedMeans]:
    """The means that a line may stand for, by what the answer can be: any number, a share, a count,
    an amount (McCullagh and Nelder 1989, *Generalized linear models*, 2.2).
    """
    for links, variance in _families(output, answer):
        for name in links:
            mean, slope = LINKS[name].mean(line), LINKS[name].slope(line)
            endless = name in ENDLESS and links != ANY_NUMBER
            yield ExpectedMeans(mean, slope, variance(mean), endless)


def _families(
    output: object, answer: Floats
) -> Iterator[tuple[tuple[str, ...], Callable[[Floats], Floats]]]:
    """The links of every family that the answer allows, and its variance as a function of the
    mean.
    """
    yield ANY_NUMBER, np.ones_like
    if (answer >= 0).all() and (answer <= 1).all():
        yield SHARES, lambda mean: mean * (1 - mean)
    # The families below are about counts and amounts.
    if (answer < 0).any():
        return
    yield COUNTS, lambda mean: mean
    # Negative binomial, and Tweedie with a power between Poisson and the inverse Gaussian.
    # Numbers that only the model knows; a family that does not have them is not tried.
    dispersion = number_of(peek(output, "model.family.alpha"))
    power = number_of(peek(output, "model.family.var_power"))
    if dispersion is not None and dispersion > 0:
        yield COUNTS, lambda mean: mean + dispersion * mean**2
    if power is not None and 1 <= power <= 3:
        yield COUNTS, lambda mean: np.maximum(mean, 0.0) ** power
    if (answer > 0).all():
        yield AMOUNTS, lambda mean: mean**2
        yield AMOUNTS, lambda mean: mean**3
