"""Products of a design matrix with coefficients and with itself.

Arrays. ``design`` is float64 with one row per record and one column per predictor; ``coefficients``
one row per predictor and ``values`` one row per record, each with one column per model. Most of a
design is zero where columns stand for categories, and zeros are skipped.

The matrices are too small for several threads, which a library of linear algebra starts all the
same: they cost more than they save, and their number would decide how sums are rounded. Here sums
run in the order of the rows, on every machine.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def multiply(design, coefficients):
    """The product design · coefficients. Costs one step per non-zero cell and model."""
    rows, columns = design.shape
    models = coefficients.shape[1]
    product = np.zeros((rows, models))
    for i in range(rows):
        # A row of the result is touched once per non-zero cell of the same row of the design.
        for k in range(columns):
            cell = design[i, k]
            if cell != 0.0:
                for m in range(models):
                    product[i, m] += cell * coefficients[k, m]
    return product


@njit(cache=True, nogil=True)
def multiply_transposed(design, values):
    """The product designᵀ · values. Costs one step per non-zero cell and model."""
    rows, columns = design.shape
    models = values.shape[1]
    product = np.zeros((columns, models))
    for i in range(rows):
        # Row i of the design adds to the rows of the result at its non-zero columns.
        for k in range(columns):
            cell = design[i, k]
            if cell != 0.0:
                for m in range(models):
                    product[k, m] += cell * values[i, m]
    return product


@njit(cache=True, nogil=True)
def compute_gram(design, weights):
    """The product designᵀ · diag(weights) · design. Costs the square of the non-zero cells of each
    row.
    """
    rows, columns = design.shape
    product = np.zeros((columns, columns))
    columns_in_use = np.empty(columns, np.int64)
    for i in range(rows):
        amount = 0
        # Mirror the lower triangle.
        for k in range(columns):
            if design[i, k] != 0.0:
                columns_in_use[amount] = k
                amount += 1
        # Only pairs of non-zero cells contribute; the lower triangle is enough, the matrix is
        # symmetric.
        for a in range(amount):
            weighted = weights[i] * design[i, columns_in_use[a]]
            for b in range(a + 1):
                product[columns_in_use[a], columns_in_use[b]] += (
                    weighted * design[i, columns_in_use[b]]
                )
    for k in range(columns):
        for m in range(k):
            product[m, k] = product[k, m]
    return product


@njit(cache=True, nogil=True)
def solve_cholesky(factor, right):
    """The solution x of ``LLᵀ x = right``, one column per model, L being the lower triangle of
    ``factor`` (Cholesky's). Costs size² steps per model.
    """
    size, models = right.shape
    solution = right.copy()
    # Forward substitution solves L y = right …
    for k in range(size):
        for j in range(k):
            for m in range(models):
                solution[k, m] -= factor[k, j] * solution[j, m]
        for m in range(models):
            solution[k, m] /= factor[k, k]
    # … and back substitution Lᵀ x = y.
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            for m in range(models):
                solution[k, m] -= factor[j, k] * solution[j, m]
        for m in range(models):
            solution[k, m] /= factor[k, k]
    return solution
