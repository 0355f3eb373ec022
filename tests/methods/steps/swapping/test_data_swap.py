"""Data swapping: tables up to order t stay exactly as they are."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run
from tests.oracles import exchange as oracle

cell = st.sampled_from(["a", "b", "c", None])
rows = st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=25)
NAMES = ["w", "x", "y", "z"]


def table_of(records):
    return plain(
        **{n: pl.Series([r[i] for r in records], dtype=pl.String) for i, n in enumerate(NAMES)}
    )


@given(rows, st.sampled_from([(), ("x",), ("x", "y")]), st.floats(0, 1), st.integers(0, 50))
def test_all_tables_with_what_is_kept_stay(records, keep, rate, seed):
    plan, made = run(sf.SwapData(["w"], keep=keep, rate=rate), table_of(records), seed)
    after = made.to_polars().rows()
    assert oracle.tables_up_to(after, NAMES, keep, "w") == oracle.tables_up_to(
        records, NAMES, keep, "w"
    )
    assert [r[0] is None for r in after] == [r[0] is None for r in records]
    assert [r[1:] for r in after] == [r[1:] for r in records]
    assert all(one.exactly and one.off_by == 0 for one in plan.preserved)


@given(rows, st.booleans())
def test_columns_together_keep_their_joint_table(records, together):
    _, made = run(sf.SwapData(["w", "x"], keep=["y"], rate=1, together=together), table_of(records))
    after = made.to_polars().rows()
    complete = [r for r in records if None not in r[:2]]
    if together:
        assert Counter(r[:3] for r in after) == Counter(r[:3] for r in records)
        assert [r[:2] for r in after if None in r[:2]] == [r[:2] for r in records if None in r[:2]]
        assert len(complete) == sum(None not in r[:2] for r in after)
    for place in (0, 1):
        assert Counter((r[place], r[2]) for r in after) == Counter(
            (r[place], r[2]) for r in records
        )


def test_a_table_of_higher_order_does_change():
    rng = np.random.default_rng(1)
    table = plain(w=rng.integers(0, 3, 500), x=rng.integers(0, 2, 500), y=rng.integers(0, 2, 500))
    made = run(sf.SwapData(["w"], keep=["x"], rate=1), table)[1]
    assert Counter(made.to_polars().rows()) != Counter(table.to_polars().rows())


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.37, 1.0])
def test_the_rate_is_right_on_average(rate):
    n = 30_000
    table = plain(w=np.arange(n), x=np.arange(n) // 3)  # every record differs, in cells of three
    plan, _ = run(sf.SwapData(["w"], keep=["x"], rate=rate), table)
    possible = min(rate, 2 / 3)  # one of three finds no partner
    # each of n/3 cells has one pair or none: a standard deviation of at most 1 for the records of a
    # cell
    assert abs(plan.owner["changed"]["w"] - possible * n) <= 5 * math.sqrt(n / 3)
    if rate == 1:
        assert plan.owner["changed"]["w"] == 2 * n / 3


def test_households_exchange_what_belongs_to_them():
    schema = Schema({"h": Attribute((Role.HOUSEHOLD,)), "rent": PLAIN, "town": PLAIN})
    frame = pl.DataFrame(
        {"h": np.repeat(np.arange(60), 2), "rent": np.repeat(np.arange(60), 2), "town": [1] * 120}
    )
    plan, made = run(sf.SwapData(["rent"], keep=["town"], rate=1), Table(frame, schema))
    assert made.to_polars().group_by("h").agg(pl.col("rent").n_unique())["rent"].max() == 1
    assert (made.column("rent") != frame["rent"]).all()
    assert kept(plan, "table of order 2, counted once a household").exactly


def test_nothing_changes_and_it_is_said():
    plan, made = run(sf.SwapData(["w"], keep=["x"], rate=1), plain(w=[1, 2, 3], x=[1, 2, 3]))
    assert made.column("w").to_list() == [1, 2, 3]
    assert "nothing of w changed" in plan.warnings[0]


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="cannot be in columns and in keep"):
        sf.SwapData(["w"], keep=["w"])
    with pytest.raises(ParameterError, match="rate should be less than or equal to 1"):
        sf.SwapData(["w"], rate=2)
    with pytest.raises(ParameterError, match=r"columns.*at least 1 entry"):
        sf.SwapData([])
    with pytest.raises(SchemaError, match="no column 'v'"):
        run(sf.SwapData(["w"], keep=["v"]), plain(w=[1]))
