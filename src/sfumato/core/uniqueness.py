"""How many people are unique in the population, estimated from a sample.

All estimators see the sample through its *frequencies of frequencies*: ``counts[i]`` classes have ``sizes[i]`` records.
``fraction`` is the sampled share of the population: n records of N = n/fraction people. A person who is unique in the
population is unique in the sample too, so no estimate exceeds the sample uniques divided by the fraction.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.pitman import pitman
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Estimator = Literal["zayatz", "pitman", "snb", "dankar"]


@dataclasses.dataclass(frozen=True)
class Frequencies:
    """``counts[i]`` classes of the sample have ``sizes[i]`` records; sizes ascend."""

    sizes: NDArray[np.float64]
    counts: NDArray[np.float64]
    fraction: float

    @classmethod
    def of(cls, class_sizes: ArrayLike, fraction: float) -> Frequencies:
        """The frequencies of the sizes of all classes."""
        import numpy as np

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
    """An estimate of the people who are unique in the population; ``estimator`` is the one that gave it.

    ``capped`` says that the estimator gave more than the sample allows, so that the number is the most there can be.
    """

    number: float
    population: int
    estimator: str
    capped: bool = False

    @property
    def share(self) -> float:
        """Share of the population that is unique, which is also that of the sample."""
        return self.number / self.population if self.population else 0.0

    @property
    def how(self) -> str:
        """By which estimator, and whether it was capped."""
        return f"{self.estimator}, capped at what the sample allows" if self.capped else self.estimator


def population_uniques(class_sizes: ArrayLike, fraction: float, estimator: Estimator = "dankar") -> Uniques:
    r"""Estimate how many people are unique in the population a sample was drawn from.

    ``dankar`` chooses: up to a fraction of 0.1 the Pitman model (Zayatz where it cannot be fitted), above it the
    smaller of the slide negative binomial and Zayatz. A model asked for by name that cannot be fitted to the sample
    gives way to Zayatz, and the answer says so. With the whole population sampled, uniques are counted.

    Reference: Dankar, El Emam, Neisa & Roffey 2012, doi:10.1186/1472-6947-12-66.

    >>> found = population_uniques([1] * 60 + [2] * 15 + [5] * 4, fraction=0.2, estimator="zayatz")
    >>> round(found.number, 2), found.population, found.estimator
    (195.07, 550, 'zayatz')
    """
    sample = Frequencies.of(class_sizes, fraction)
    most = sample.having(1) / fraction
    if not most or fraction == 1:
        return Uniques(most, sample.population, "counted" if fraction == 1 else estimator)
    number, used = _estimate(sample, estimator)
    return Uniques(min(number, most), sample.population, used, capped=number > most)


def _estimate(sample: Frequencies, estimator: Estimator) -> tuple[float, str]:
    simple = zayatz(sample)
    wanted = ("pitman" if sample.fraction <= 0.1 else "snb") if estimator == "dankar" else estimator
    found = {"pitman": pitman, "snb": slide_negative_binomial}[wanted](sample) if wanted != "zayatz" else None
    if found is None or (estimator == "dankar" and wanted == "snb" and simple < found):
        return simple, "zayatz"
    return found, wanted


def zayatz(sample: Frequencies) -> float:
    r"""Uniques of the population, if class sizes in it were distributed as in the sample.

    .. math::
        P(PU \mid SU) = \frac{u_1 h(1;1)}{\sum_i u_i h(1;i)}, \qquad U = u_1\, P(PU \mid SU)\, N/n

    :math:`u_i` classes have *i* records; :math:`h(1;i)` is the hypergeometric chance that one of *i* people is
    drawn when n of N are.

    Reference: Zayatz 1991, *Estimation of the percent of unique population elements on a microdata file using the sample*.
    """
    from scipy.stats import hypergeom

    once = sample.counts * hypergeom.pmf(1, sample.population, sample.sizes, sample.records)
    unique = sample.having(1)
    if not unique:
        return 0.0
    return float(unique * once[sample.sizes == 1].sum() / once.sum() * sample.population / sample.records)


def slide_negative_binomial(sample: Frequencies) -> float | None:
    r"""Uniques of the population if class sizes there are one more than a negative binomial number, or None.

    With :math:`G(z) = z (\beta/(1 - (1-\beta) z))^\alpha`, sampling fraction *f* and *K* classes in the population,
    :math:`(\alpha, \beta)` solve

    .. math:: K f\, G'(1-f) = u_1, \qquad K \tfrac{f^2}{2} G''(1-f) = u_2, \qquad U = K \beta^\alpha

    *K* is estimated by :func:`classes_of_population`. ARX has a factor of the second equation upside down and finds
    no root where there is one.

    Reference: Chen & Keller-McNulty 1998, *Estimation of identification disclosure risk in microdata*.
    """
    import numpy as np
    from scipy.optimize import least_squares

    unique, double, f = sample.having(1), sample.having(2), sample.fraction
    classes = classes_of_population(sample)
    if not unique or not double or not math.isfinite(classes):
        return None

    def misses(at: Any) -> list[float]:
        alpha, beta = math.exp(at[0]), 1 / (1 + math.exp(-at[1]))
        hidden = (1 - f) * (1 - beta)
        first = classes * f * (beta / (1 - hidden)) ** alpha * (alpha * hidden / (1 - hidden) + 1)
        second = (
            classes
            * f**2
            / 2
            * alpha
            * (1 - beta)
            * beta**alpha
            * (2 - (1 - alpha) * hidden)
            / (1 - hidden) ** (alpha + 2)
        )
        return [first / unique - 1, second / double - 1]

    bounds = ([-20.0, -30.0], [10.0, 30.0])
    best = min((least_squares(misses, at, bounds=bounds) for at in _SNB_STARTS), key=lambda r: r.cost)
    if best.cost > 1e-10:
        return None
    return float(classes * (1 / (1 + np.exp(-best.x[1]))) ** np.exp(best.x[0]))


_SNB_STARTS = ((-1.0, -2.0), (0.0, 0.0), (-2.0, -4.0), (-0.5, -5.0), (1.0, 1.0))


def classes_of_population(sample: Frequencies) -> float:
    r"""Number of classes in the population, after Shlosser.

    .. math::
        K = u + u_1 \frac{\sum_i i f^2 (1-f^2)^{i-1} u_i}{\sum_i (1-f)^i ((1+f)^i - 1) u_i}
            \left(\frac{\sum_i (1-f)^i u_i}{\sum_i i f (1-f)^{i-1} u_i}\right)^2

    Reference: Haas, Naughton, Seshadri & Stokes 1995; Shlosser 1981.
    """
    import numpy as np

    i, u, f = sample.sizes, sample.counts, sample.fraction
    seen_twice = u @ (i * f**2 * (1 - f**2) ** (i - 1))
    # (1−f)^i ((1+f)^i − 1) in a form that large classes do not overflow
    pairs = u @ ((1 - f**2) ** i - (1 - f) ** i)
    hidden, once = u @ (1 - f) ** i, u @ (i * f * (1 - f) ** (i - 1))
    if not pairs or not once:
        return float("inf")
    return float(sample.classes + sample.having(1) * seen_twice / pairs * np.square(hidden / once))
