"""Tests of whether groups live equally long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def compared_lives(
    time: Floats, happened: NDArray[np.bool_], group: NDArray[np.int64]
) -> Iterator[tuple[float, float]]:
    r"""Statistics and p values of the log-rank test and its weighted kin.

    .. math:: U_g = \sum_t w_t \Bigl(d_{gt} - n_{gt}\frac{d_t}{n_t}\Bigr), \quad
       V_{gh} = \sum_t w_t^2\, d_t \frac{n_t - d_t}{n_t - 1} \frac{n_{gt}}{n_t}\Bigl(\delta_{gh} -
       \frac{n_{ht}}{n_t}\Bigr)

    with :math:`d_{gt}` events and :math:`n_{gt}` persons at risk of group g at time
    t; :math:`U^\top V^{-} U` has a χ² distribution with one degree of freedom less than groups
    (Mantel 1966). Weights are 1 (log-rank), :math:`n_t` (Gehan 1965,
    doi:10.1093/biomet/52.1-2.203), :math:`\sqrt{n_t}` (Tarone and Ware 1977,
    doi:10.1093/biomet/64.1.156), the share that survives by Peto and Peto (1972,
    doi:10.2307/2344317) and by Kaplan and Meier before t (Fleming and Harrington 1991).
    """
    from scipy import stats

    groups = int(group.max(initial=0)) + 1
    if groups < 2 or not happened.any():
        return
    times = np.unique(time[happened])
    at_risk = np.stack([_from(time[group == one], times) for one in range(groups)])
    events = np.stack([_at(time[(group == one) & happened], times) for one in range(groups)])
    n, d = at_risk.sum(axis=0), events.sum(axis=0)
    lives = np.r_[1.0, np.cumprod(1 - d / n)[:-1]]
    for weight in (np.ones(len(times)), n, np.sqrt(n), np.cumprod(1 - d / (n + 1)), lives):
        apart = (weight * (events - at_risk * d / n)).sum(axis=1)
        part = at_risk / n
        by = weight**2 * d * (n - d) / np.maximum(1, n - 1)
        spread = np.diag((by * part).sum(axis=1)) - (by * part) @ part.T
        statistic = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
        yield statistic, float(stats.chi2.sf(statistic, groups - 1))


def _from(time: Floats, times: Floats) -> Floats:
    """How many are at risk at every time."""
    return (len(time) - np.searchsorted(np.sort(time), times, side="left")).astype(np.float64)


def _at(time: Floats, times: Floats) -> Floats:
    """How many events every time has."""
    return np.bincount(np.searchsorted(times, time), minlength=len(times)).astype(np.float64)
