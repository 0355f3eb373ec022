"""Large tables: every column is counted in full, columns together in a sample; nothing that decides
gets less exact.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import UNITS, Role
from sfumato.core.source import Source
from sfumato.data.lazy import parquet_columns as reading
from sfumato.data.lazy.parquet_columns import ParquetColumns, parquet_columns
from sfumato.guidance.profiling.columns import count_values
from sfumato.guidance.profiling.proposal import propose, propose_recipe
from sfumato.guidance.profiling.rows import drawn_positions
from sfumato.guidance.profiling.yaml_text import recipe_text

BOUND = 300
NAMED = (
    "age",
    "zip",
    "sex",
    "born",
    "patient_id",
    "income",
    "diagnosis",
    "weight",
    "household_id",
    "x",
    "code",
    "note",
)


def column(draw: np.random.Generator, kind: int, rows: int) -> pl.Series:
    """One of the forms that columns of people's data have."""
    if kind == 0:
        return pl.Series(draw.integers(0, int(draw.integers(2, 90)), rows))
    if kind == 1:
        numbers = draw.normal(50, 20, rows).round(int(draw.integers(0, 5)))
        numbers[draw.random(rows) < 0.1] = np.nan
        numbers[draw.random(rows) < 0.01] = np.inf
        return pl.Series(numbers)
    if kind == 2:
        return pl.Series(
            [f"k{value}" for value in draw.integers(0, int(draw.integers(2, 400)), rows)]
        )
    if kind == 3:
        return pl.Series(draw.integers(-20_000, 10_000, rows).astype(np.int32)).cast(pl.Date)
    if kind == 4:
        return pl.Series([f"A{value:07d}" for value in draw.permutation(rows)])
    if kind == 5:
        return pl.Series(draw.permutation(rows) + 10_000)
    if kind == 6:
        return pl.Series([f"{5 * value}-{5 * value + 4}" for value in draw.integers(0, 18, rows)])
    return pl.Series(draw.choice(["f", "m"], rows))


def random_table(seed: int, rows: int = 2500) -> pl.DataFrame:
    """A table of several columns, with gaps, and with columns that copy, group or add up others."""
    draw = np.random.default_rng(seed)
    columns: dict[str, pl.Series] = {}
    for name in draw.choice(NAMED, int(draw.integers(2, 7)), replace=False).tolist():
        values = column(draw, int(draw.integers(0, 8)), rows)
        present = pl.Series(draw.random(rows) >= (0.2 if draw.random() < 0.3 else 0.0))
        columns[name] = pl.select(pl.when(present).then(values)).to_series()
    first = next(iter(columns.values()))
    columns["copy"] = first
    if first.dtype.is_integer():
        columns["tens"] = first // 10
        columns["total"] = first + pl.Series(draw.integers(0, 50, rows))
    return pl.DataFrame(columns)


@pytest.mark.parametrize("seed", range(8))
def test_a_sample_changes_no_role_and_no_count(seed):
    table = random_table(seed)
    full = propose_recipe(table, Source(), bound=table.height)
    bounded = propose_recipe(table, Source(), bound=BOUND)
    assert full.sampled is None and bounded.sampled == BOUND and bounded.rows == table.height
    for exact, sampled in zip(full.columns, bounded.columns, strict=True):
        if Role.QUASI in exact.roles or Role.DROP in exact.roles or UNITS & set(exact.roles):
            assert sampled.roles != (Role.KEEP,) or sampled.name in bounded.follows, exact.name
        for figure in ("kind", "missing_share", "distinct", "uniqueness", "separation"):
            assert getattr(exact, figure) == getattr(sampled, figure)
    assert full.missing_codes == bounded.missing_codes and full.ranking == bounded.ranking
    # before columns are compared within the labels of a step, which is tried on a sample in any
    # case, roles are the same
    plain = propose(table, Source(), bound=table.height), propose(table, Source(), bound=BOUND)
    assert plain[0].columns == plain[1].columns


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_files_are_those_of_the_frame(seed, tmp_path):
    table = random_table(seed)
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    table.head(1000).write_parquet(parts[0], row_group_size=300)
    table.tail(-1000).write_parquet(parts[1])
    files = ParquetColumns.of(parts, Source())
    assert files.height == table.height and files.columns == table.columns
    assert propose_recipe(files, Source(), bound=BOUND) == propose_recipe(
        table, Source(), bound=BOUND
    )


@pytest.mark.parametrize("seed", range(5))
def test_distinct_values_are_counted_exactly(seed):
    table = random_table(seed).with_columns(pl.lit(-0.0).alias("zero"))
    for values in table:
        present = (values.fill_nan(None) if values.dtype.is_float() else values).drop_nulls()
        counted = count_values(present)
        assert dict(zip(counted.values.to_list(), counted.counts.tolist(), strict=True)) == Counter(
            present.to_list()
        )


def test_values_that_no_sample_would_show_are_counted():
    rows = 5000
    drawn = set(drawn_positions(rows, BOUND).tolist())
    hidden = [row for row in range(rows) if row not in drawn][:2]
    number = np.arange(rows)
    number[hidden] = 7_000_000
    status = np.array(["cook"] * rows, dtype=object)
    status[hidden] = "unknown"
    proposal = propose(
        pl.DataFrame({"q1": number, "job": status.astype(str)}), Source(), bound=BOUND
    )
    assert proposal["q1"].distinct == rows - 1 and proposal["job"].distinct == 2
    assert proposal.missing_codes == {"job": ("unknown",)}


def test_a_column_that_differs_in_one_row_is_not_the_same_column(tmp_path):
    draw = np.random.default_rng(5)
    rows = 25_000
    income = draw.permutation(rows) * 1.5
    other = income.copy()
    other[1] += 1  # not among the rows that are compared first
    born = pl.Series(draw.integers(-20_000, 10_000, rows).astype(np.int32)).cast(pl.Date)
    frame = pl.DataFrame(
        {"lat": income / 1000, "q": income / 1000, "r": other / 1000, "born": born}
    )
    file = tmp_path / "t.parquet"
    frame.write_parquet(file)
    for table in (frame, ParquetColumns.of([file], Source())):
        proposal = propose(table, Source(), bound=BOUND)
        assert proposal["q"].copy_of == "lat" and proposal["r"].copy_of is None


def test_the_sample_is_the_same_every_time_and_said():
    table = random_table(3)
    first, again = (propose_recipe(table, Source(), bound=BOUND) for _ in range(2))
    assert first == again
    text = recipe_text(first)
    assert (
        "counted in all 2,500 rows" in text
        and "in 300 of these rows at most" in text
        and "estimates" in text
    )
    assert "of these rows" not in recipe_text(propose_recipe(table, Source(), bound=table.height))


def test_the_sample_has_different_rows_of_the_whole_table():
    positions = drawn_positions(100_000, 1000)
    assert len(set(positions.tolist())) == 1000 and (np.diff(positions) > 0).all()
    quarters = np.bincount(positions // 25_000, minlength=4)
    assert quarters.min() > 180


def test_a_large_file_is_read_column_by_column(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "LARGE", 1000)
    table = random_table(4)
    file = tmp_path / "visits.parquet"
    table.write_parquet(file)
    columns = parquet_columns(file)
    assert columns is not None and columns.source == sf.read(file, engine="memory").source
    monkeypatch.setattr(
        "sfumato.interfaces.api.read", lambda *a, **k: pytest.fail("the file was read as a whole")
    )
    assert sf.profile(file).columns == propose_recipe(table, Source()).columns


def test_a_table_that_polars_holds_is_profiled(tmp_path):
    table = random_table(6)
    file = tmp_path / "t.parquet"
    table.write_parquet(file)
    held = sf.read(file, engine="polars")
    assert sf.profile(held).columns == sf.profile(table).columns
    coded = sf.read(file, engine="polars", missing_values=["f", "k1"])
    told = sf.profile(coded)
    memory = sf.profile(sf.read(file, engine="memory", missing_values=["f", "k1"]))
    assert [dataclasses.astuple(c) for c in told.columns] == [
        dataclasses.astuple(c) for c in memory.columns
    ]
