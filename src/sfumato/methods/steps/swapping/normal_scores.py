"""Ranks as normal scores, and correlations between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.steps.swapping.preserved_values import correlations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def average_ranks(scores: Floats) -> Floats:
    """Ranks from 1; equal scores share the average of theirs; missing stays NaN.

    >>> import numpy as np
    >>> average_ranks(np.array([3.0, 1.0, np.nan, 3.0])).tolist()
    [2.5, 1.0, nan, 2.5]
    """
    ranks = np.full(len(scores), np.nan)
    present = np.flatnonzero(~np.isnan(scores))
    order = present[np.argsort(scores[present], kind="stable")]
    # NaN differs from everything, so the first run begins at place 0.
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(order))
    # The mean of the ranks from starts + 1 to starts + sizes.
    ranks[order] = np.repeat(starts + (sizes + 1) / 2, sizes)
    return ranks


def normal_scores(ranks: Floats) -> Floats:
    r""":math:`z = \Phi^{-1}((r - 1/2) / n)` for ranks among n known values; missing is 0, the
    middle.

    >>> import numpy as np
    >>> normal_scores(np.array([1.0, 2.0, 3.0, np.nan])).round(4).tolist()
    [-0.9674, 0.0, 0.9674, 0.0]
    """
    from scipy.special import ndtri

    present = ~np.isnan(ranks)
    scores = np.zeros(len(ranks))
    shares = (ranks[present] - 0.5) / max(1, int(present.sum()))
    scores[present] = ndtri(shares)
    return scores


def rank_correlations(ranks: list[Floats]) -> Floats:
    """Spearman's correlations of all columns with each other, over the records that know both; 0
    for constant columns.
    """
    matrix = np.eye(len(ranks))
    upper = np.triu_indices(len(ranks), 1)
    matrix[upper] = correlations(ranks)
    return matrix + np.triu(matrix, 1).T


def positive(matrix: Floats, unit: bool = True) -> Floats:
    """The nearest positive semidefinite matrix: negative eigenvalues become 0; ``unit`` puts the
    diagonal back to 1.

    >>> import numpy as np
    >>> bool(
    ...     np.linalg.eigvalsh(
    ...         positive(np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]))
    ...     ).min()
    ...     > -1e-12
    ... )
    True
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min(initial=0.0) >= 0:
        return np.asarray(matrix, dtype=np.float64)
    repaired = (vectors * np.maximum(values, 0)) @ vectors.T
    if unit:
        # A column whose variance was cut to nothing has nothing to be divided by.
        scale = np.sqrt(np.maximum(np.diag(repaired), 1e-300))
        repaired = repaired / np.outer(scale, scale)
    return np.asarray(repaired, dtype=np.float64)


def root(matrix: Floats) -> Floats:
    """The symmetric square root of a positive semidefinite matrix: it does not depend on the signs
    of eigenvectors.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    scaled = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(scaled @ vectors.T, dtype=np.float64)
