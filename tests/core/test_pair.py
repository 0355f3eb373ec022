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
from sfumato.methods.utility.cell_averages import classes_of, gone
from sfumato.methods.utility.information_loss import Loss

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


@pytest.mark.parametrize("name", ["gone", "ladder", "dependences"])
def test_a_column_may_have_the_name_of_what_is_remembered_about_a_pair(name):
    frame = pl.DataFrame({name: [1, 1, 2, 2, 3], "age": [30, 30, 40, 40, 50]})
    original = Table(frame).with_roles(quasi=["age"], keep=[name])
    released = original.take(np.array([0, 1, 2, 3]))
    pair = TablePair.of(original, released)
    assert gone(pair).tolist() == [False, False, False, False, True]
    assert len(pair.reading(name).values) == 3
    assert classes_of(pair, (name,), "original").inside.tolist() == [0, 0, 1, 1, 2]


def test_forgotten_measures_are_worked_out_again_and_readings_stay():
    frame = pl.DataFrame({"age": [30, 30, 40, 40, 50], "cost": [1.5, 2.5, 2.5, 3.5, 4.5]})
    original = Table(frame).with_roles(quasi=["age"], keep=["cost"])
    pair = TablePair.of(original, original.take(np.array([0, 1, 2, 3])))
    reading = pair.reading("age")
    first = Loss().measure(pair).value
    pair.forget_measures()
    assert pair.reading("age") is reading
    assert all(isinstance(key, str) or key[0] == "encoded" for key in pair.memo)
    assert Loss().measure(pair).value == first
