"""Receiver operating characteristic: how well scores tell who has a property from who has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def roc_curve(
    has: NDArray[np.bool_], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every threshold, highest first: the share of those without the property that reach it,
    and of those with it. Equal scores pass together.

    >>> import numpy as np
    >>> false, true = roc_curve(np.array([True, False, True]), np.array([3.0, 2.0, 1.0]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0])
    """
    order = np.argsort(-scores, kind="stable")
    ranked, sorted_scores = has[order], scores[order]
    # a threshold lies behind the last of equal scores
    ends = np.append(np.flatnonzero(np.diff(sorted_scores)), len(scores) - 1)
    with_it = np.cumsum(ranked)[ends] / max(1, int(ranked.sum()))
    without = np.cumsum(~ranked)[ends] / max(1, int((~ranked).sum()))
    return np.append(0.0, without), np.append(0.0, with_it)


def area_under(false: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """The area under a curve: the chance that one with the property scores higher than one
    without, where equal scores count half.

    >>> import numpy as np
    >>> area_under(*roc_curve(np.array([True, False, True]), np.array([3.0, 2.0, 1.0])))
    0.5
    """
    return float((np.diff(false) * (true[1:] + true[:-1]) / 2).sum())
