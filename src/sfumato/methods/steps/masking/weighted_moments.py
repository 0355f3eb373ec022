"""Weighted means and covariances of columns with gaps, and matrices that can be drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def means_of(values: Array, weights: Array) -> Array:
    """Weighted mean per column over the known values; 0 for a column without any."""
    present = ~np.isnan(values)
    total = weights @ present
    sums = weights @ np.where(present, values, 0.0)
    return np.divide(sums, total, out=np.zeros(values.shape[1]), where=total > 0)


def covariance_of(values: Array, weights: Array) -> Array:
    r"""Weighted covariance over the pairs that are known:

    .. math:: S_{jk} = \frac{n_{jk}}{n_{jk}-1}\,\frac{\sum_i w_i (x_{ij}-\bar x_j)(x_{ik}-\bar
        x_k)}{\sum_i w_i}

    with sums over the *n_jk* records that have both. 0 where fewer than two do. Columns that do not
    vary have exactly 0, whatever rounding says. With gaps the matrix may not be
    positive semidefinite: see :func:`semidefinite`.

    >>> import numpy as np
    >>> covariance_of(np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2)).tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    present = ~np.isnan(values)
    centred = np.where(present, values - means_of(values, weights), 0.0)
    # Sums over the records that have both values: one product of matrices for all pairs.
    pair_weights = (present * weights[:, None]).T @ present
    counts = present.astype(np.float64).T @ present
    enough = (counts > 1) & (pair_weights > 0)
    share = np.divide(
        counts, (counts - 1) * pair_weights, out=np.zeros_like(pair_weights), where=enough
    )
    weighted = centred * weights[:, None]
    covariance: Array = weighted.T @ centred * share
    # Rounding leaves 1e-17 where there is no variance, and correlations would blow it up.
    flat = [j for j in range(values.shape[1]) if not varies(values[:, j])]
    covariance[flat, :] = 0.0
    covariance[:, flat] = 0.0
    return covariance


def varies(column: Array) -> bool:
    """Whether a column has two different known values."""
    present = column[~np.isnan(column)]
    return len(present) > 0 and bool(present.min() < present.max())


def correlation_of(covariance: Array) -> Array:
    """The correlations of a covariance; columns that do not vary correlate with nothing, and with
    themselves by 1.
    """
    spread = np.sqrt(np.diag(covariance))
    spreads = np.outer(spread, spread)
    correlation: Array = np.divide(
        covariance, spreads, out=np.zeros_like(covariance), where=spreads > 0
    )
    np.fill_diagonal(correlation, 1.0)
    return correlation


def semidefinite(covariance: Array) -> tuple[Array, bool]:
    """The covariance, or one near it that has no negative eigenvalue, with the same variances; and
    whether it was mended.

    Negative eigenvalues of the correlation matrix are set to 0 and rows and columns scaled so that
    its diagonal is 1 again (the spectral method of Rebonato & Jäckel 1999). That is near, but not
    the nearest, and always works.

    >>> import numpy as np
    >>> mended, changed = semidefinite(np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]))
    >>> changed, bool(np.linalg.eigvalsh(mended).min() > -1e-9), np.diag(mended).round(12).tolist()
    (True, True, [1.0, 1.0, 1.0])
    """
    spread = np.sqrt(np.diag(covariance))
    shape = correlation_of(covariance)
    values, vectors = np.linalg.eigh(shape)
    # Eigenvalues in ascending order; rounding makes zeros slightly negative.
    if values[0] > -1e-9:
        return covariance, False
    shape = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(shape))
    correlation = shape / np.outer(scale, scale)
    return correlation * np.outer(spread, spread), True


def root_of(covariance: Array) -> Array:
    """A lower triangular L with L Lᵀ = covariance, which may be singular: columns without variance
    of their own get none.

    >>> import numpy as np
    >>> root_of(np.array([[4.0, 2.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    size = len(covariance)
    root = np.zeros((size, size))
    for j in range(size):
        # Cholesky, row by row; a column that depends on earlier ones has nothing left, and is
        # skipped.
        remaining = covariance[j, j] - root[j] @ root[j]
        if remaining <= 1e-12 * covariance[j, j]:
            continue
        root[j, j] = np.sqrt(remaining)
        explained = root[j + 1 :] @ root[j]
        root[j + 1 :, j] = (covariance[j + 1 :, j] - explained) / root[j, j]
    return root
