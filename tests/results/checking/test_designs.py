"""The matrix of a model: whom its terms single out, who decides a coefficient, and when it is a
table of means in disguise."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.results.checking.designs import (
    cells_of_design,
    count_deciding_records,
    rare_bases,
    rare_columns,
)


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=4, max_size=14))
def test_leverage_and_saturation_like_their_definitions(rows):
    design = np.column_stack([np.ones(len(rows)), np.array(rows, dtype=float)])
    hat = design @ np.linalg.pinv(design)
    assert count_deciding_records(design) == int((np.diag(hat) >= 1 - 1e-7).sum())
    combinations = list(dict.fromkeys(map(tuple, design)))
    cell = cells_of_design(design, len(design))
    assert len(set(cell.tolist())) == len(combinations)
    for one, other in itertools.combinations(range(len(rows)), 2):
        assert (cell[one] == cell[other]) == (tuple(design[one]) == tuple(design[other]))
    assert cells_of_design(design, len(combinations) - 1) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40
    ),
    st.integers(1, 6),
)
def test_rare_columns_like_counting_by_hand(rows, least):
    design, who = (
        np.array([row[:2] for row in rows], dtype=float),
        np.array([row[2] for row in rows]),
    )
    naive = []
    for place in (0, 1):
        column = [row[place] for row in rows]
        common = max(sorted(set(column)), key=column.count)
        others = {row[2] for row in rows if row[place] != common}
        same = {row[2] for row in rows if row[place] == common}
        rare = len(set(column)) > 1 and (
            len(others) < least or (len(set(column)) == 2 and len(same) < least)
        )
        naive += [place] if rare else []
    assert rare_columns(design, who, least) == naive


def test_bases_of_dummies_by_their_names():
    who = np.arange(40)
    one, two = (who < 18).astype(float), ((who >= 18) & (who < 36)).astype(float)
    design = np.column_stack([one, two])
    assert rare_bases(design, who, 10, ["ward_b", "ward_c"]) == 1
    assert rare_bases(design, who, 4, ["ward_b", "ward_c"]) == 0
    assert rare_bases(design, who, 10, ["b", "c"]) == 0
