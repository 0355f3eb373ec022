"""Rows that are hardly alike are read once: what the plan made of them is released beside the other
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars

ENGINES = {"polars": on_polars, "duckdb": on_duckdb}
ROWS = 400


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in ENGINES.values():
        monkeypatch.setattr(engine, "BATCH", 70)


def distinct_rows() -> pl.DataFrame:
    """Rows of which hardly two are alike, with missing values and a text that repeats."""
    rng = np.random.default_rng(7)
    pay = np.round(rng.normal(50, 30, ROWS), 2).tolist()
    codes = [f"{code:04d}" for code in rng.integers(0, 9999, ROWS)]
    return pl.DataFrame(
        {
            "note": [f"N{number % 7}" for number in range(ROWS)],
            "code": [None if number % 50 == 0 else code for number, code in enumerate(codes)],
            "cost": np.round(rng.gamma(2, 1000, ROWS), 2),
            "pay": [None if number % 41 == 0 else amount for number, amount in enumerate(pay)],
        }
    )


def described(data: Any) -> Any:
    return data.with_roles(
        quasi=["code", "pay"], sensitive=["note"], keep=["cost"]
    ).with_hierarchies(code=sf.mask_right(4), pay=sf.intervals(10, 100))


def released_rows(data: Any, budget: float) -> pl.DataFrame:
    options = sf.AnonymizeOptions(format="parquet")
    step = sf.GlobalRecoding(budget=budget)
    release = sf.anonymize(described(data), [sf.KAnonymity(3)], [step], seed=1, options=options)
    native = release.data
    if isinstance(native, pl.LazyFrame):
        native = native.collect()
    elif not isinstance(native, pl.DataFrame):
        native = native.pl()
    return native.sort(native.columns, nulls_last=True)


@pytest.fixture
def columns_read(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns that engines were asked for, pass by pass."""
    asked: list[list[str]] = []
    for engine in ENGINES.values():
        batches = engine.batches

        def listed(
            frame: Any, columns: Any, tick: Any, batches: Any = batches
        ) -> Iterator[pl.DataFrame]:
            asked.append(list(columns))
            return batches(frame, columns, tick)

        monkeypatch.setattr(engine, "batches", listed)
    return asked


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("budget", [0.0, 0.3])
def test_columns_in_memory_are_not_read_again(
    engine: str, budget: float, columns_read: list[list[str]], tmp_path: Path
) -> None:
    pytest.importorskip(engine)
    rows = distinct_rows()
    rows.write_parquet(tmp_path / "a.parquet")
    released = released_rows(sf.read(tmp_path / "a.parquet", engine=engine), budget)
    assert columns_read[:2] == [["code", "pay"], ["note", "cost"]]
    assert (len(released) < ROWS) == (budget > 0)
    assert released.equals(released_rows(sf.read(rows), budget), null_equal=True)


def test_duckdb_without_an_order_reads_all_columns(
    columns_read: list[list[str]], tmp_path: Path
) -> None:
    duckdb = pytest.importorskip("duckdb")
    distinct_rows().write_parquet(tmp_path / "a.parquet")
    duckdb.sql("SET preserve_insertion_order = false")
    try:
        released = released_rows(sf.read(tmp_path / "a.parquet", engine="duckdb"), 0.3)
    finally:
        duckdb.sql("SET preserve_insertion_order = true")
    assert columns_read[:2] == [["code", "pay"], ["note", "code", "cost", "pay"]]
    assert released.equals(released_rows(sf.read(distinct_rows()), 0.3), null_equal=True)


def test_rows_of_a_frame_may_come_in_another_order(columns_read: list[list[str]]) -> None:
    released_rows(sf.read(distinct_rows().lazy()), 0.3)
    assert columns_read[1] == ["note", "code", "cost", "pay"]
