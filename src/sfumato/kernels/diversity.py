"""Loops over value counts per class: how diverse a class is, and what must go for it to be diverse enough.

Counts are compressed rows: class *i* has the values ``codes[starts[i]:starts[i+1]]`` in any order, each as often as
``counts`` says. Every class has records.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def effective_values(starts, counts):
    """Exponential of each class's entropy: how many equally frequent values would be as diverse.

    Between 1 and the number of values, whatever rounding does.
    """
    found = np.empty(starts.size - 1, np.float64)
    for i in range(found.size):
        size = 0
        weighted = 0.0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            if counts[j] > 1:
                weighted += counts[j] * np.log(np.float64(counts[j]))
        found[i] = min(max(size * np.exp(-weighted / size), 1.0), np.float64(starts[i + 1] - starts[i]))
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def largest_shares(starts, codes, counts, protected):
    """Share of the most frequent protected value in each class; ``protected`` has one flag a value."""
    found = np.empty(starts.size - 1, np.float64)
    for i in range(found.size):
        size = 0
        largest = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            if protected[codes[j]] and counts[j] > largest:
                largest = counts[j]
        found[i] = largest / size
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def head_to_tail(starts, counts, rank):
    """Largest count of each class over the sum of its counts from the ``rank``-th largest on; inf without these."""
    found = np.empty(starts.size - 1, np.float64)
    largest = np.zeros(max(1, rank - 1), np.int64)
    for i in range(found.size):
        size = 0
        largest[:] = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            value = counts[j]
            for place in range(largest.size):  # insert among the largest so far, in descending order
                if value > largest[place]:
                    value, largest[place] = largest[place], value
        tail = size
        for place in range(rank - 1):
            tail -= largest[place]
        found[i] = largest[0] / tail if tail else np.inf
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def recursive_ranks(starts, counts, factor, tolerance):
    """Highest rank *l* of each class at which its largest count is below ``factor`` times the tail from *l* on."""
    found = np.ones(starts.size - 1, np.int64)
    for i in range(found.size):
        ascending = np.sort(counts[starts[i] : starts[i + 1]])
        tail = 0
        for place in range(ascending.size - 1):
            tail += ascending[place]
            if ascending[-1] / tail < factor - tolerance:
                found[i] = ascending.size - place
                break
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def least_removed(starts, codes, counts, ceilings, floors):
    """Fewest records each class must lose for the share of every value to lie between its floor and its ceiling.

    A ceiling of 1 or more and a floor of 0 limit nothing. A class that lacks a value with a floor must lose all.
    """
    found = np.zeros(starts.size - 1, np.float64)
    floored = 0
    for code in range(floors.size):
        if floors[code] > 0.0:
            floored += 1
    for i in range(found.size):
        size = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
        present = 0
        for j in range(starts[i], starts[i + 1]):
            ceiling, floor = ceilings[codes[j]], floors[codes[j]]
            if ceiling < 1.0:
                found[i] = max(found[i], (counts[j] - ceiling * size) / (1.0 - ceiling))
            if floor > 0.0:
                present += 1
                found[i] = max(found[i], size - counts[j] / floor)
        if present < floored:
            found[i] = size
    return found
