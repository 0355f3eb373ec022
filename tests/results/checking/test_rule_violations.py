"""Which cells of a table break which rule: too few persons, few who contribute nearly all, values
and percentiles that few share."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.results.checking.rule_violations import band_counts


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=40),
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_band_counts_like_counting_by_hand(values, points, sharing):
    x, who = np.array(values, dtype=float), np.arange(len(values)) // sharing
    cuts = sorted({float(one) for one in points})
    edges = [-np.inf, *cuts, np.inf]
    naive = [
        len({int(w) for v, w in zip(x, who, strict=True) if low < v <= high})
        for low, high in itertools.pairwise(edges)
    ]
    assert band_counts(x, who, np.array(points, dtype=float)) == naive
