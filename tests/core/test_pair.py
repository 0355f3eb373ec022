"""Classes of some columns found from those of all quasi-identifiers are those of the rows, in the
order they appear.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_classes
from sfumato.core.pair import TablePair
from sfumato.core.table import Table
from sfumato.methods.utility.cell_averages import classes_of

ROWS = st.tuples(
    st.sampled_from(["a", "b", None]), st.integers(0, 3), st.sampled_from("xy"), st.booleans()
)


def plainly(frame, names):
    """Per row its class, the first row of each and its size, by looking at every row."""
    known = {}
    rows = frame.select(names).iter_rows() if names else [()] * frame.height
    ids = [known.setdefault(row, len(known)) for row in rows]
    return ids, [ids.index(i) for i in range(len(known))], [ids.count(i) for i in range(len(known))]


@pytest.mark.parametrize("counted", [False, True])
@given(rows=st.lists(ROWS, min_size=1, max_size=25), seed=st.integers(0, 9))
def test_classes_are_those_of_the_rows(counted, rows, seed):
    frame = pl.DataFrame(
        rows, schema={"a": pl.String, "b": pl.Int64, "c": pl.String, "d": pl.Boolean}, orient="row"
    )
    original = Table(frame).with_roles(quasi=["a", "b", "c"], keep=["d"])
    released = original.take(
        np.random.default_rng(seed).permutation(len(rows))[: len(rows) // 2 + 1]
    ).drop(["c"])
    if counted:
        count_classes(original), count_classes(released)
    pair = TablePair.of(original, released)
    for size in range(5):
        for names in itertools.combinations(frame.columns, size):
            for side, table in (("original", original), ("released", released)):
                found = classes_of(pair, names, side)
                expected = plainly(table.to_polars(), [n for n in names if n in table.columns])
                assert [found.ids.tolist(), found.first.tolist(), found.sizes.tolist()] == list(
                    expected
                )
