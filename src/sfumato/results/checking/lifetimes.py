"""Tests of whether groups live equally long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask


def compare_lifetimes(time: Floats, event: Mask, group: Codes) -> Iterator[tuple[float, float]]:
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
    if groups < 2 or not event.any():
        return
    times = np.unique(time[event])
    # Groups × times: persons at risk, and events.
    at_risk, events = np.zeros((groups, len(times))), np.zeros((groups, len(times)))
    for number in range(groups):
        ordered = np.sort(time[group == number])
        at_risk[number] = len(ordered) - np.searchsorted(ordered, times, side="left")
        event_times = np.searchsorted(times, time[(group == number) & event])
        events[number] = np.bincount(event_times, minlength=len(times))
    n, d = at_risk.sum(axis=0), events.sum(axis=0)
    kaplan_meier = np.r_[1.0, np.cumprod(1 - d / n)[:-1]]
    peto = np.cumprod(1 - d / (n + 1))
    share = at_risk / n
    for weight in (np.ones(len(times)), n, np.sqrt(n), peto, kaplan_meier):
        difference = (weight * (events - at_risk * d / n)).sum(axis=1)
        variance = weight**2 * d * (n - d) / np.maximum(1, n - 1) * share
        covariance = np.diag(variance.sum(axis=1)) - variance @ share.T
        statistic = float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference)
        yield statistic, float(stats.chi2.sf(statistic, groups - 1))
