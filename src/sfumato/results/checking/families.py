"""Means and variances of generalised linear models, as families and links in use give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.results.checking.untrusted_objects import number_of, peek

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FAR = 700.0


class MeanLink(NamedTuple):
    """From what a line says to the mean, and how fast the mean moves."""

    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


class Mean(NamedTuple):
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
    "identity": MeanLink(lambda line: line, np.ones_like),
    "log": MeanLink(_exp, _exp),
    "logit": MeanLink(_logistic, lambda line: _logistic(line) * _logistic(-line)),
    "probit": MeanLink(_normal, lambda line: np.exp(-(line**2) / 2) / np.sqrt(2 * np.pi)),
    "cloglog": MeanLink(
        lambda line: -np.expm1(-_exp(line)), lambda line: _exp(line) * np.exp(-_exp(line))
    ),
    "loglog": MeanLink(
        lambda line: np.exp(-_exp(-line)), lambda line: _exp(-line) * np.exp(-_exp(-line))
    ),
    "inverse": MeanLink(lambda line: 1 / line, lambda line: -1 / line**2),
    "inverse squared": MeanLink(lambda line: line**-0.5, lambda line: -0.5 * line**-1.5),
    "root": MeanLink(lambda line: line**2, lambda line: 2 * line),
}
SHARES = ("logit", "probit", "cloglog", "loglog", "log", "identity")
COUNTS = ("log", "root", "identity")
AMOUNTS = ("log", "inverse", "identity", "inverse squared")
ENDLESS = ("logit", "probit", "cloglog", "loglog", "log")


def means(output: Any, line: Floats, answer: Floats) -> Iterator[Mean]:
    """The means that a line may stand for, by what the answer can be: any number, a share, a count,
    an amount (McCullagh and Nelder 1989, *Generalized linear models*, 2.2).
    """
    for links, variance in _families(output, answer):
        for name in links:
            mean = LINKS[name].mean(line)
            yield Mean(
                mean,
                LINKS[name].slope(line),
                variance(mean),
                name in ENDLESS and links != ("identity", "log"),
            )


def _families(
    output: Any, answer: Floats
) -> Iterator[tuple[tuple[str, ...], Callable[[Floats], Floats]]]:
    yield ("identity", "log"), np.ones_like
    if (answer >= 0).all() and (answer <= 1).all():
        yield SHARES, lambda mean: mean * (1 - mean)
    if (answer < 0).any():
        return
    yield COUNTS, lambda mean: mean
    spread, power = (
        number_of(peek(output, f"model.family.{name}")) for name in ("alpha", "var_power")
    )
    if spread is not None and spread > 0:
        yield COUNTS, lambda mean: mean + spread * mean**2
    if power is not None and 1 <= power <= 3:
        yield COUNTS, lambda mean: np.maximum(mean, 0.0) ** power
    if (answer > 0).all():
        yield AMOUNTS, lambda mean: mean**2
        yield AMOUNTS, lambda mean: mean**3
