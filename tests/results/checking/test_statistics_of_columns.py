"""Which statistic a column of a table holds: by what somebody says, by its name, or found by
computing statistics again from the records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.results.checking.contributing_records import ContributingRecords, find_members
from sfumato.results.checking.statistics_of_columns import CellStatistic, compute_statistic, step_of


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(-5, 20)),
        min_size=1,
        max_size=50,
    ),
    st.sampled_from(["sum", "mean", "min", "max", "median", "sd"]),
)
def test_statistics_are_those_of_numpy(rows, kind):
    people = pl.DataFrame(rows, schema=["g", "who", "x"], orient="row")
    behind = ContributingRecords.of(people, unit="who")
    table = people.select("g").unique(maintain_order=True)
    found = compute_statistic(
        CellStatistic(kind, ("x",)), find_members(table, ["g"], behind), behind, ["g"]
    )
    for place, group in enumerate(table["g"]):
        x = np.array([v for g, _, v in rows if g == group], dtype=float)
        naive = {
            "sum": x.sum(),
            "mean": x.mean(),
            "min": x.min(),
            "max": x.max(),
            "median": np.median(x),
        }.get(kind)
        naive = (x.std(ddof=1) if len(x) > 1 else np.nan) if kind == "sd" else naive
        assert found[place] == pytest.approx(naive, nan_ok=True)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None])),
        min_size=1,
        max_size=30,
    )
)
def test_values_of_text_like_counting_by_hand(rows):
    people = pl.DataFrame(rows, schema={"g": pl.String, "t": pl.String}, orient="row")
    behind = ContributingRecords.of(people)
    table = people.select("g").unique(maintain_order=True)
    belongs = find_members(table, ["g"], behind)
    found = {
        kind: compute_statistic(CellStatistic(kind, ("t",)), belongs, behind, ["g"])
        for kind in ("unique", "freq", "min", "max")
    }
    for place, group in enumerate(table["g"]):
        known = [text for one, text in rows if one == group and text is not None]
        assert found["unique"][place] == len(set(known))
        assert found["freq"][place] == max((known.count(one) for one in known), default=0)
        if known:  # the first and the last of all labels, by their places
            labels = sorted({text for _, text in rows if text is not None})
            assert labels[int(found["min"][place])] == min(known)
            assert labels[int(found["max"][place])] == max(known)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1200.0, 300.0], 100.0),
        ([0.25, 1.5], 0.01),
        ([np.pi], 0.0),
        ([10.082], 0.001),
        ([], 0.0),
        ([np.nan, 30.0], 10.0),
    ],
)
def test_how_far_numbers_were_rounded(values, step):
    assert step_of(np.array(values)) == pytest.approx(step)
