"""Columns in bins: shares add up, generalised cells are spread, nobody rare is named."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import Unsatisfiable
from sfumato.methods.formulas.binning import (
    bin_column,
    date_edges,
    distance_of_tables,
    number_edges,
    round_step,
    table_after,
    table_before,
    weighted_quantile,
)
from sfumato.methods.steps.local.local_recoding import LocalRecoding
from sfumato.methods.steps.local.mondrian import Mondrian
from tests.methods.steps.mixed_tables import mixed_tables


def table_distance(one, other):
    return distance_of_tables(one, table_before(one, other), table_after(one, other))


def pair_of(before, after, **kinds):
    tables = [
        Table(pl.DataFrame({"v": v}, strict=False)).with_roles(quasi="v") for v in (before, after)
    ]
    return TablePair.of(*[t.with_kinds(**kinds) for t in tables] if kinds else tables)


@pytest.mark.slow
@given(mixed_tables(fewest_rows=2))
def test_a_table_beside_itself_does_not_move(table):
    people = table.dataset()
    pair = TablePair.of(people, people)
    for name in table.names:
        column = bin_column(pair, name)
        assert column.before.sum() == pytest.approx(1) and column.after.sum() == pytest.approx(1)
        assert column.distance == pytest.approx(0, abs=1e-9)
        assert table_distance(column, column) == pytest.approx(0, abs=1e-9)


def test_ranges_are_spread_evenly():
    column = bin_column(pair_of([0, 1, 2, 3], ["0-3"] * 4, v="numeric"), "v", max_bins=3, even=True)
    assert column.after == pytest.approx(np.array([1, 1, 1]) / 3, abs=0.02)


def test_borders_of_numbers_are_round():
    ages = [*range(1, 91)] * 2
    column = bin_column(pair_of(ages, ages, v="numeric"), "v")
    assert column.names == ("0–9", *(f"{a}–{a + 9}" for a in range(10, 100, 10)))
    assert bin_column(pair_of([94, 95], [94, 95], v="numeric"), "v").names == ("94", "95")


@given(
    low=st.floats(-1e12, 1e12),
    span=st.floats(1e-9, 1e12),
    most=st.integers(2, 40),
    whole=st.booleans(),
)
def test_round_borders_hold_the_values_in_few_bins(low, span, most, whole):
    high = low + span
    edges = number_edges(low, high, most, whole=whole)
    step = round_step(low, high, most, whole=whole)
    assert 2 <= len(edges) <= most + 1
    assert edges[0] <= low + 1e-8 * step + 1e-6 and high <= edges[-1] + 1e-6
    assert f"{step:.1e}"[:3] in ("1.0", "2.0", "2.5", "5.0")
    assert not whole or all(edge == int(edge) for edge in edges)


@pytest.mark.parametrize(
    "values", [[1e308, -1e308, 0.0], [5e-324, 0.0], [float("inf"), 1.0, 2.0], [1e17, 1e17 + 64]]
)
def test_numbers_at_the_ends_of_the_scale_have_bins_too(values):
    column = bin_column(pair_of(values, values, v="numeric"), "v")
    assert column.before.sum() == pytest.approx(1) and column.distance == pytest.approx(0, abs=1e-9)


@given(low=st.integers(-700_000, 2_900_000), span=st.integers(0, 40_000), most=st.integers(2, 40))
def test_borders_of_dates_are_those_of_the_calendar(low, span, most):
    high = min(low + span, 2_900_000)
    edges, names = date_edges(low, high, most)
    assert len(edges) == len(names) + 1 <= most + 1
    assert edges[0] <= low and high < edges[-1] and edges == sorted(set(edges))
    assert len(set(names)) == len(names)


def test_rare_values_are_among_the_others():
    values = ["common"] * 9 + ["rare"]
    column = bin_column(pair_of(values, values), "v", fewest=5)
    assert column.names == ("common", "others") and column.before.tolist() == [0.9, 0.1]


def test_dates_are_named_as_dates():
    days = pl.Series(["2024-01-01", "2024-06-01", "2024-12-31"])
    column = bin_column(pair_of(days, days, v="date"), "v")
    assert column.names == ("2024-01", "2024-06", "2024-12")


def test_dates_written_otherwise_are_named_as_dates_too():
    """12,000 birthdays of which each occurs once are no pile of others."""
    days = pl.Series(["03/15/2024", "06/01/2024", "12/31/2024", "12/31/2024"])
    hierarchy = sf.dates("month", "year", format="%m/%d/%Y")
    table = (
        Table(pl.DataFrame({"v": days}))
        .with_roles(quasi="v")
        .with_kinds(v="date")
        .with_hierarchies(v=hierarchy)
    )
    released = Table(pl.DataFrame({"v": ["2024-03", "2024-06", "2024", "2024"]})).with_schema(
        table.schema
    )
    column = bin_column(TablePair.of(table, released), "v", fewest=2)
    assert column.names[0] == "2024-03" and column.names[-1] == "2024-12"
    assert column.before.sum() == pytest.approx(1.0) and column.after.sum() == pytest.approx(1.0)
    assert column.before[0] == 0.25 and column.before[-1] == 0.5 and column.after[-1] < 0.5


def test_suppressed_cells_of_a_number_are_missing_or_spread():
    gone = bin_column(pair_of([1, 2, 3, 4], [None] * 4, v="numeric"), "v")
    assert gone.names[-1] == "missing" and gone.after[-1] == 1.0


@pytest.mark.slow
@given(mixed_tables(fewest_rows=4), st.sampled_from([Mondrian(), LocalRecoding()]))
def test_tables_of_generalised_columns_are_those_of_their_cells(table, step):
    people = table.dataset()
    try:
        released = step.apply(people, step.plan(people, Goal((sf.KAnonymity(2),))))
    except Unsatisfiable:
        return
    pair = TablePair.of(people, released)
    columns = [bin_column(pair, name) for name in table.names]
    for column in columns:
        assert column.spread[column.released].sum(axis=1) == pytest.approx(1)
        assert len(column.spread) <= len(column.names) + len(pair.reading(column.column).labels)
    for one in columns:
        for other in columns:
            assert table_distance(one, other) == pytest.approx(naive_distance(one, other), abs=1e-9)


def naive_distance(one, other):
    """Cell by cell: what is in it before and after."""
    moved = 0.0
    for a in range(len(one.names)):
        for b in range(len(other.names)):
            before = sum(
                x == a and y == b for x, y in zip(one.original, other.original, strict=True)
            )
            after = sum(
                one.spread[x, a] * other.spread[y, b]
                for x, y in zip(one.released, other.released, strict=True)
            )
            moved += abs(before / len(one.original) - after / len(one.released))
    return moved / 2


def test_a_label_for_every_record_does_not_fill_the_memory():
    rng = np.random.default_rng(3)
    before = pl.DataFrame({"x": rng.normal(size=30_000), "y": rng.normal(size=30_000)})
    after = before + pl.DataFrame({"x": rng.normal(size=30_000), "y": rng.normal(size=30_000)})
    pair = TablePair.of(*(Table(frame).with_roles(keep=["x", "y"]) for frame in (before, after)))
    one, other = bin_column(pair, "x"), bin_column(pair, "y")
    assert one.spread.shape == (10, 10)  # not 30,000 labels, whose table would take 7 GB
    assert 0.05 < table_distance(one, other) < 0.5


def test_many_kinds_of_ranges_are_added_row_by_row(monkeypatch):
    columns = [
        bin_column(pair_of(list(range(9)), [f"{i}-{i + 5}" for i in range(9)], v="numeric"), "v")
        for _ in range(2)
    ]
    expected = table_distance(*columns)
    monkeypatch.setattr("sfumato.methods.formulas.binning.MOST_CELLS", 3)
    assert table_distance(*columns) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.integers(1, 9)),
        min_size=1,
        max_size=12,
        unique_by=lambda p: p[0],
    ),
    st.floats(0, 1),
)
def test_a_quantile_of_counts_is_that_of_the_numbers_one_by_one(cells, share):
    values, counts = np.array([v for v, _ in cells]), np.array([c for _, c in cells])
    assert weighted_quantile(values, counts, share) == float(
        np.quantile(np.repeat(values, counts), share)
    )
