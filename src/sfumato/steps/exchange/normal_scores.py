"""Ranks as normal scores, and correlations between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def average_ranks(scores: Floats) -> Floats:
    """Ranks from 1; equal scores share the average of theirs; missing stays NaN.

    >>> import numpy as np
    >>> average_ranks(np.array([3.0, 1.0, np.nan, 3.0])).tolist()
    [2.5, 1.0, nan, 2.5]
    """
    import numpy as np

    found = np.full(len(scores), np.nan)
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(order))
    found[order] = np.repeat(starts + (sizes + 1) / 2, sizes)
    return found


def normal_scores(ranks: Floats) -> Floats:
    r""":math:`z = \Phi^{-1}((r - 1/2) / n)` for ranks among n known values; missing is 0, the middle.

    >>> import numpy as np
    >>> normal_scores(np.array([1.0, 2.0, 3.0, np.nan])).round(4).tolist()
    [-0.9674, 0.0, 0.9674, 0.0]
    """
    import numpy as np
    from scipy.special import ndtri

    known = ~np.isnan(ranks)
    found = np.zeros(len(ranks))
    found[known] = ndtri((ranks[known] - 0.5) / max(1, int(known.sum())))
    return found


def rank_correlations(ranks: list[Floats]) -> Floats:
    """Spearman's correlations of all columns with each other, over the records that know both; 0 for constant columns."""
    import numpy as np

    from sfumato.steps.exchange.kept import correlations

    found = np.eye(len(ranks))
    upper = np.triu_indices(len(ranks), 1)
    found[upper] = correlations(ranks)
    return found + np.triu(found, 1).T


def positive(matrix: Floats, unit: bool = True) -> Floats:
    """The nearest positive semidefinite matrix: negative eigenvalues become 0; ``unit`` puts the diagonal back to 1.

    >>> import numpy as np
    >>> bool(np.linalg.eigvalsh(positive(np.array([[1, .9, -.9], [.9, 1, .9], [-.9, .9, 1]]))).min() > -1e-12)
    True
    """
    import numpy as np

    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min(initial=0.0) >= 0:
        return np.asarray(matrix, dtype=np.float64)
    found = (vectors * np.maximum(values, 0)) @ vectors.T
    if unit:
        scale = np.sqrt(np.maximum(np.diag(found), 1e-300))
        found = found / np.outer(scale, scale)
    return np.asarray(found, dtype=np.float64)


def root(matrix: Floats) -> Floats:
    """The symmetric square root of a positive semidefinite matrix: it does not depend on the signs of eigenvectors."""
    import numpy as np

    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T, dtype=np.float64)
