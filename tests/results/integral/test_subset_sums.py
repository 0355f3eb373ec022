"""How many subsets of some numbers have each sum, and how many of them leave a number out: without
listing any subset."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sfumato.results.integral.subset_sums import subset_sums


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.data())
def test_subsets_are_counted(values, data):
    size = data.draw(st.integers(1, len(values)))
    found = subset_sums(values, size)
    every = list(itertools.combinations(range(len(values)), size))
    for total in range(len(found.counts)):
        sets = [rows for rows in every if sum(values[row] for row in rows) == total]
        assert found.counts[total] == len(sets)
        for value, counts in found.without.items():
            row = values.index(value)
            assert counts[total] == sum(row not in rows for rows in sets)
