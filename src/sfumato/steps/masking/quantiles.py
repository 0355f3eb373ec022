"""Quantiles of weighted values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def quantile_of(values: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    """The least known value up to which at least this share of the weight lies: the inverse distribution function.

    >>> import numpy as np
    >>> quantile_of(np.array([30.0, 10.0, 20.0]), np.ones(3), 0.5), quantile_of(np.array([1.0, 2.0]), np.array([1.0, 9.0]), 0.5)
    (20.0, 2.0)
    """
    import numpy as np

    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    below = np.cumsum(weights[order])
    place = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float(values[order[min(place, len(order) - 1)]])
