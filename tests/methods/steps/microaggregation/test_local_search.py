"""Groups that a search makes better: downhill from MDAV, or by annealing as long as it may take."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.steps.microaggregation import local_search


@given(st.integers(4, 40), st.integers(2, 4), st.integers(0, 2**32))
def test_crossing_takes_the_better_of_every_part_and_is_never_worse_than_either(size, k, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(size, 2)).round(1)
    # two ways that part the records into the same blocks, so that there is something to choose
    block = np.sort(rng.integers(0, 1 + size // (2 * k), size))

    def grouping():
        groups = np.zeros(size, dtype=np.int64)
        for b in np.unique(block):
            rows = rng.permutation(np.flatnonzero(block == b))
            groups[rows] = 1000 * b + np.minimum(
                np.arange(len(rows)) // k, max(0, len(rows) // k - 1)
            )
        return groups

    one, two = grouping(), grouping()
    found = local_search.cross_groupings(points, one, two)

    def error(groups):
        return sum(
            ((points[groups == g] - points[groups == g].mean(axis=0)) ** 2).sum()
            for g in set(groups.tolist())
        )

    def parts(groups):
        return {frozenset(np.flatnonzero(groups == g).tolist()) for g in set(groups.tolist())}

    assert parts(found) <= parts(one) | parts(two), "no group is new"
    assert error(found) <= min(error(one), error(two)) + 1e-9
    mixed = [
        min(_error_within(points, way, block == b) for way in (one, two)) for b in np.unique(block)
    ]
    assert error(found) <= sum(mixed) + 1e-9, "blocks can be chosen independently"


def _error_within(points, groups, rows):
    found = 0.0
    for g in set(groups[rows].tolist()):
        own = points[rows & (groups == g)]
        found += ((own - own.mean(axis=0)) ** 2).sum()
    return found
