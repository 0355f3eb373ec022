"""Perfect matchings of small bipartite graphs, counted exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.matchings import matchings_with


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_matchings_are_counted(rows):
    joined = np.array(rows, dtype=bool)
    size = len(joined)
    every = [
        p for p in itertools.permutations(range(size)) if all(joined[i, p[i]] for i in range(size))
    ]
    count, inside = matchings_with(joined)
    assert count == len(every)
    assert inside.tolist() == [
        [sum(p[i] == j for p in every) for j in range(size)] for i in range(size)
    ]


def test_twenty_are_counted_and_more_refused():
    assert matchings_with(np.ones((12, 12), dtype=bool))[0] == 479001600  # 12!
    with pytest.raises(ParameterError, match="at most 20"):
        matchings_with(np.ones((21, 21), dtype=bool))
