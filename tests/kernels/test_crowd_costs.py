"""The least cost of a crowd: meeting levels, sums of terms and the sum of k records, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.kernels import crowd_costs

LEVELS = np.array([2, 3])
# Codes above every code, from its own level on: column 0 has four codes, column 1 three.
ABOVE = [
    [(0, 0), (1, 0), (2, 1), (3, 1)],
    [(0, 0, 0), (1, 0, 0), (2, 1, 0)],
]
PATHS = np.array([code for column in ABOVE for path in column for code in path])
STARTS, OFFSETS = np.array([0, 8]), np.array([0, 4, 7])


def test_classes_meet_on_the_lowest_level_on_which_they_are_equal():
    codes = np.array([[0, 1], [3, 2]])
    for number, own in enumerate(codes.tolist()):
        meets = np.full(7, -1)
        crowd_costs.find_meeting_levels(number, codes, PATHS, STARTS, LEVELS, meets, OFFSETS)
        for a, column in enumerate(ABOVE):
            for code, path in enumerate(column):
                equal = [x == y for x, y in zip(column[own[a]], path, strict=True)]
                level = equal.index(True) if True in equal else LEVELS[a]
                assert meets[OFFSETS[a] + code] == level


def test_sums_add_the_term_of_every_meeting_level():
    codes = np.array(list(itertools.product(range(4), range(3))))
    meets = np.array([0, 1, 2, 2, 1, 0, 2])
    terms = np.array([[0.0, 0.25, 9.0, 0.0], [0.0, 0.5, 1.0, 9.0]])
    sums = np.empty(len(codes))
    crowd_costs.sum_terms(codes, terms, meets, OFFSETS, sums)
    assert sums.tolist() == [terms[0, meets[a]] + terms[1, meets[4 + b]] for a, b in codes.tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_the_sum_up_to_which_k_records_lie(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    sums = random.integers(0, 5, count) / 4
    records = random.integers(1, 4, count)
    k = int(random.integers(1, 8))
    found = crowd_costs.find_crowd_sum(sums, records, count, k)
    reached = [s for s in sorted(sums.tolist()) if records[sums <= s].sum() >= k]
    assert found == (reached[0] if reached else np.inf)
