"""What an analysis of several synthetic copies says together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from sfumato.errors import ParameterError

Case = Literal["fully", "partly", "plain", "proper"]
CASES = ("fully", "partly", "plain", "proper")
ALONE = ("plain", "proper")
"""Cases in which one copy is enough."""


@dataclasses.dataclass(frozen=True)
class Combined:
    """An estimate over all copies, its variance, and the degrees of freedom of its t distribution
    (infinite: normal).

    ``between`` is the variance of the estimates between copies, ``within`` the mean of their own
    variances; ``adjusted`` says that the variance formula came out negative and its conservative
    substitute was taken.
    """

    estimate: float
    variance: float
    degrees: float
    between: float
    within: float
    adjusted: bool = False

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval at a level."""
        from scipy import stats

        if not 0 < level < 1:
            raise ParameterError("combine: the level of an interval must lie between 0 and 1")
        share = 0.5 + level / 2
        if math.isinf(self.degrees):
            far = stats.norm.ppf(share)
        else:
            far = stats.t.ppf(share, self.degrees)
        reach = float(far) * math.sqrt(self.variance)
        return self.estimate - reach, self.estimate + reach


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    *,
    case: Case = "plain",
    n: int | None = None,
    n_synthetic: int | None = None,
) -> Combined:
    r"""Combine the estimates :math:`q_i` of one quantity and their variances :math:`u_i` from m
    synthetic copies.

    With means :math:`\bar q, \bar u` and :math:`b = \sum (q_i - \bar q)^2 / (m-1)` the total
    variance is

    * ``plain`` (all columns drawn, nothing from a posterior: what ``synthesize`` makes):
      :math:`\bar u (n_{syn}/n + 1/m)`, normal; one copy is enough;
    * ``proper`` (the same, the records resampled before each
      fit): :math:`\bar u (n_{syn}/n + (1 + n_{syn}/n)/m)`, normal;
    * ``partly`` (only some columns or records replaced): :math:`\bar u + b/m`
      with :math:`(m-1)(1 + m \bar u / b)^2` degrees of freedom;
    * ``fully`` (all columns, drawn from a posterior): :math:`(1 + 1/m) b - \bar u` with
      :math:`(m-1)(1 - m \bar u/((m+1) b))^2` degrees; where that is
      negative, :math:`(n_{syn}/n)\, \bar u`.

    ``n`` records were learnt from and every copy has ``n_synthetic``; both are equal where they are
    left out. With b = 0 the degrees are infinite.

    References: Raghunathan, Reiter & Rubin 2003 (Journal of Official Statistics 19, 1–16); Reiter
    2003 (Survey Methodology 29, 181–188); Raab, Nowok & Dibben 2016, doi:10.29012/jpc.v7i3.407.

    >>> found = combine(
    ...     [10.2, 9.8, 10.5, 9.9, 10.1], [0.04, 0.05, 0.045, 0.05, 0.04], case="partly"
    ... )
    >>> (
    ...     round(found.variance, 6),
    ...     round(found.degrees, 6),
    ...     [round(end, 6) for end in found.interval()],
    ... )
    (0.06, 64.0, [9.610658, 10.589342])
    """
    q = np.asarray(estimates, dtype=np.float64)
    u = np.asarray(variances, dtype=np.float64)
    ratio = _check_ratio(q, u, case, n, n_synthetic)
    m = len(q)
    mean = float(q.mean())
    within = float(u.mean())
    between = float(q.var(ddof=1)) if m > 1 else 0.0
    # All was drawn from models fitted to the data: how copies differ is known without comparing
    # them, so one copy is enough.
    if case in ALONE:
        if case == "plain":
            share = 1 / m
        else:
            share = (1 + ratio) / m
        return Combined(
            mean, within * (ratio + share), degrees=math.inf, between=between, within=within
        )
    if case == "partly":
        if between > 0:
            degrees = (m - 1) * (1 + m * within / between) ** 2
        else:
            degrees = math.inf
        return Combined(mean, within + between / m, degrees=degrees, between=between, within=within)
    # A difference of two estimates: with few copies it may come out negative.
    total = (1 + 1 / m) * between - within
    if between > 0:
        degrees = (m - 1) * (1 - m * within / ((m + 1) * between)) ** 2
    else:
        degrees = math.inf
    if total >= 0:
        return Combined(mean, total, degrees=degrees, between=between, within=within)
    return Combined(
        mean, ratio * within, degrees=math.inf, between=between, within=within, adjusted=True
    )


def _check_ratio(
    q: np.typing.NDArray[np.float64],
    u: np.typing.NDArray[np.float64],
    case: str,
    n: int | None,
    n_synthetic: int | None,
) -> float:
    """n_synthetic / n, once everything makes sense."""
    if case not in CASES:
        raise ParameterError(f"combine: case must be one of {', '.join(CASES)}")
    if q.ndim != 1 or q.shape != u.shape or not len(q):
        raise ParameterError("combine: give one estimate and one variance for each copy")
    if not (np.isfinite(q).all() and np.isfinite(u).all()) or (u < 0).any():
        raise ParameterError(
            "combine: estimates and variances must be finite, and variances not negative"
        )
    if len(q) < 2 and case not in ALONE:
        raise ParameterError(
            f"combine: {case} needs at least two copies; with one copy use plain or proper"
        )
    if (n is None) != (n_synthetic is None):
        raise ParameterError(
            "combine: give n and n_synthetic together, or neither if they are equal"
        )
    if n is None or n_synthetic is None:
        return 1.0
    if n < 1 or n_synthetic < 1:
        raise ParameterError("combine: n and n_synthetic must be at least 1")
    return n_synthetic / n
