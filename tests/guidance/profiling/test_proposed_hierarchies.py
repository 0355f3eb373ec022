"""Proposed hierarchies are built and bound to the values they were proposed for."""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import registry
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import bind
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposed_hierarchies import prefix_lengths, suggest

DRAW = random.Random(5)
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(days=17 * i) for i in range(300)]


def bound(name: str, values: pl.Series):
    """The suggestion for a column, and the ladder it makes of its values."""
    suggestion = suggest(look_at(name, values))
    encoded = encode(values)
    hierarchy = registry.build("hierarchies", suggestion.hierarchy, "test")
    return suggestion.hierarchy, bind(hierarchy, encoded.labels, encoded.counts.tolist())


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("age", list(range(17, 91)), {"intervals": {"widths": [5, 10, 20]}}),
        ("age", ["20-24", "25-29", "30-34", "85-89"], {"intervals": {"widths": [5, 10, 20]}}),
        ("age", ["20-24", "25-29", 23], {"intervals": {"widths": [5]}}),
        ("age", ["[20, 25)", "[25, 30)", "[60, 65)"], {"intervals": {"widths": [5, 10, 20]}}),
        ("age", ["22-26", "27-31", "52-56"], {"intervals": {"widths": [5, 10], "origin": 2}}),
        (
            "age",
            ["<20", "20-29", "30-39", ">=80"] * 10,
            {"intervals": {"widths": [10, 20], "open_below": 20, "open_above": 80}},
        ),
        ("zip", ["53711", "53703", "02139"], {"mask_right": {"length": 5}}),
        ("zip", [53711, 53703, 2139], {"mask_right": {"length": 5, "pad": "0"}}),
        ("zip", ["537**", "53703", "021**"], {"mask_right": {"length": 5}}),
        ("x", ["**711", "*3703"], {"mask_left": {"length": 5}}),
        ("region", ["DE111", "DE112", "DE212"], {"mask_right": {"length": 5}}),
        ("birth", DAYS, {"dates": {}}),
        ("birth", [day.isoformat() for day in DAYS], {"dates": {}}),
        ("birth", ["1985-03", "1985", "1985-03-04", "1985-Q1"], {"dates": {}}),
        ("birth", [f"{d:%d.%m.%Y}" for d in DAYS], {"dates": {"format": "%d.%m.%Y"}}),
        ("birth", [int(f"{d:%Y%m%d}") for d in DAYS], {"dates": {"format": "%Y%m%d"}}),
        ("visit_date", [datetime.datetime(2020, 1, d, 8, 30) for d in range(1, 20)], {"dates": {}}),
        ("sex", ["f", "m", "d"], {"suppress": {}}),
        ("job", [f"job {chr(97 + i)}" for i in range(14)], {"frequency": {"keep": [8, 4, 2]}}),
        (
            "education",
            ["Low", "High"],
            {"order": {"values": ["Low", "Medium", "High"], "sizes": [2]}},
        ),
        ("birth_year", list(range(1930, 2005)), {"intervals": {"widths": [5, 10, 20]}}),
        ("height", [150 + 0.5 * i for i in range(100)], {"intervals": {"widths": [5, 10, 20]}}),
        ("latitude", [50 + i / 7 for i in range(30)], {"intervals": {"widths": [0.01, 0.1, 1]}}),
        ("x", [f"10.0.{i % 3}.{i}" for i in range(30)], {"networks": {}}),
        ("x", ["https://a.org/x", "http://b.org/y?z", "www.c.org"], {"web_addresses": {}}),
        (
            "x",
            [f"{i % 3}A/{i % 5}.{i}" for i in range(30)],
            {"parts": {"separators": "/.", "keep": [2, 1]}},
        ),
        (
            "x",
            [f"00:1A:2B:{i % 5:02X}:4D:{i:02X}" for i in range(30)],
            {"parts": {"separators": ":", "keep": [5, 3, 1]}},
        ),
        ("x", ["Jean-Luc", "Anne-Marie", "Anne-Laure"], {"suppress": {}}),
        ("children", [0, 1, 2], {"suppress": {}}),
    ],
)
def test_hierarchies_fit_the_columns_they_are_proposed_for(name, values, hierarchy):
    series = pl.Series([str(v) for v in values] if len({type(v) for v in values}) > 1 else values)
    proposed, ladder = bound(name, series)
    assert proposed == hierarchy
    assert len(ladder.labels[-1]) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", ["20", "30", "unknown", "40"]),  # one word keeps intervals away
        ("age", ["20-24", "25-30", "31-33", "40-49"]),  # no common grid
        (
            "age",
            ["20-24", "25-29", "85+", "30-34"],
        ),  # an open end in a notation intervals do not read
        (
            "age",
            ["<20", "20-29", "30-39", ">=80"],
        ),  # open ends of one record each: their limits stay out of the recipe
        ("birth", ["1985-03-04", "1985-13-04", "sometime", "1986-01-01"]),
    ],
)
def test_what_does_not_fit_falls_back_to_frequencies(name, values):
    proposed, ladder = bound(name, pl.Series(values))
    assert list(proposed) == ["frequency"]
    assert len(ladder.labels[-1]) == 1


anything = st.one_of(
    st.lists(st.integers(-50, 10**6), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1),
    st.lists(st.text(max_size=6), min_size=1),
    st.lists(st.dates(), min_size=1),
    st.lists(
        st.sampled_from(
            ["20-24", "25-29", "[1, 2)", "<5", ">=90", "*", "7", "53*", "low", "high", "1985-01"]
        ),
        min_size=1,
    ),
)


@given(anything, st.sampled_from(["age", "zip", "birth_date", "job", "x", "latitude", "education"]))
def test_every_column_gets_a_hierarchy_that_covers_it(values, name):
    _, ladder = bound(name, pl.Series(values))
    assert len(ladder.labels[-1]) == 1


def test_one_outlier_does_not_coarsen_the_widths():
    values = [*range(20, 100)] * 5 + [10**9]
    assert suggest(look_at("x", pl.Series(values))).hierarchy == {
        "intervals": {"widths": [5, 10, 20]}
    }


@given(st.integers(1, 10**7))
def test_kept_numbers_fall_and_stay_below_the_values(distinct):
    numbers = prefix_lengths(distinct)
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] < max(distinct, 3)
    assert 1 < numbers[-1] <= numbers[0] <= 64
