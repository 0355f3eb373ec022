"""Rates of success and their confidence intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


Z95 = 1.959963984540054


def wilson(successes: float, trials: int, z: float = Z95) -> tuple[float, float]:
    r"""Wilson's interval of a proportion (95 %).

    .. math:: \frac{p + z^2/2n \mp z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Successes may be fractions (shared ties). Without trials nothing is known: (0, 1).
    Reference: Wilson 1927, doi:10.1080/01621459.1927.10502953.

    >>> [round(end, 4) for end in wilson(5, 10)]
    [0.2366, 0.7634]
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if trials <= 0:
        return 0.0, 1.0
    p = min(1.0, successes / trials)
    centre = p + z * z / (2 * trials)
    variance = p * (1 - p) / trials + z * z / (4 * trials * trials)
    spread = z * math.sqrt(variance)
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def sampled_interval(credit: NDArray[np.float64], *, everybody: bool) -> tuple[float, float] | None:
    """Wilson's interval (95 %) of a rate found on a random sample of people; None where everybody
    was tried: it is exact then.

    >>> import numpy as np
    >>> sampled_interval(np.ones(10), everybody=True) is None
    True
    >>> [
    ...     round(end, 4)
    ...     for end in sampled_interval(np.array([1.0] * 5 + [0.0] * 5), everybody=False)
    ... ]
    [0.2366, 0.7634]
    """
    if everybody:
        return None
    return wilson(float(credit.sum()), len(credit))
