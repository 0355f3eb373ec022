"""Products of a design with coefficients and with itself.

Most of a design is zero where columns stand for categories, and what is zero is left out. The
matrices are too small for several threads, which a library of linear algebra starts all the same:
they cost more than they save, and their number would decide how sums are rounded.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def times(design, coefficients):
    """The product of a design and coefficients, a column a model."""
    rows, columns = design.shape
    models = coefficients.shape[1]
    found = np.zeros((rows, models))
    for i in range(rows):
        for k in range(columns):
            cell = design[i, k]
            if cell != 0.0:
                for m in range(models):
                    found[i, m] += cell * coefficients[k, m]
    return found


@njit(cache=True, nogil=True)
def across(design, values):
    """The product of a design, turned over, and values per row, a column a model."""
    rows, columns = design.shape
    models = values.shape[1]
    found = np.zeros((columns, models))
    for i in range(rows):
        for k in range(columns):
            cell = design[i, k]
            if cell != 0.0:
                for m in range(models):
                    found[k, m] += cell * values[i, m]
    return found


@njit(cache=True, nogil=True)
def weighted_squares(design, weights):
    """The product of a design, turned over, with itself, rows weighted."""
    rows, columns = design.shape
    found, held = np.zeros((columns, columns)), np.empty(columns, np.int64)
    for i in range(rows):
        amount = 0
        for k in range(columns):
            if design[i, k] != 0.0:
                held[amount] = k
                amount += 1
        for a in range(amount):
            left = weights[i] * design[i, held[a]]
            for b in range(a + 1):
                found[held[a], held[b]] += left * design[i, held[b]]
    for k in range(columns):
        for m in range(k):
            found[m, k] = found[k, m]
    return found


@njit(cache=True, nogil=True)
def solved(factor, right):
    """The solution x of ``LLᵀ x = right``, a column a model, L being the lower triangle of
    ``factor`` (Cholesky's).
    """
    size, models = right.shape
    found = right.copy()
    for k in range(size):
        for j in range(k):
            for m in range(models):
                found[k, m] -= factor[k, j] * found[j, m]
        for m in range(models):
            found[k, m] /= factor[k, k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            for m in range(models):
                found[k, m] -= factor[j, k] * found[j, m]
        for m in range(models):
            found[k, m] /= factor[k, k]
    return found
