"""Rows that are hardly alike are read once: what the plan made of them is released beside the other
columns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import known_rows, on_duckdb, on_polars, planning
from sfumato.errors import SfumatoError

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


# Random tables: the files are those of the way that reads all columns again.


def random_rows(draw: random.Random) -> pl.DataFrame:
    """Rows of which hardly two are alike, some of them twice, with missing values and columns in
    any order.
    """
    rows = draw.choice([40, 90, 150])
    makers: dict[str, tuple[Any, Any]] = {
        "code": (pl.String, lambda: f"{draw.randrange(10_000):04d}"),
        "pay": (pl.Float64, lambda: draw.choice([round(draw.gauss(50, 30), 2), -0.0, 1e15])),
        "born": (pl.Date, lambda: date(2000, 1, 1) + timedelta(draw.randrange(9000))),
        "note": (pl.String, lambda: draw.choice(["", " x", "ü", "a,b", "-9"])),
        "cost": (pl.Float64, lambda: draw.choice([float("nan"), draw.random()])),
        "kind": (pl.Categorical, lambda: draw.choice(["red", "green", "blue"])),
        "name": (pl.String, lambda: f"Ada {draw.randrange(10**9)}"),
    }
    columns = []
    for name in draw.sample(list(makers), len(makers)):
        dtype, make = makers[name]
        gaps = draw.choice([0, 0, 0.04])
        cells = [None if draw.random() < gaps else make() for _ in range(rows)]
        columns.append(pl.Series(name, cells, dtype=dtype))
    table = pl.DataFrame(columns)
    return pl.concat([table, table.head(draw.randrange(4))])


def random_recipe(draw: random.Random) -> tuple[list[Any], list[Any]]:
    """Promises and steps, the first of which is global recoding."""
    suppress = draw.choice(["tuple", "tuple", "cell", "none"])
    steps: list[Any] = [sf.GlobalRecoding(budget=draw.choice([0.0, 0.2, 0.5]), suppress=suppress)]
    if draw.random() < 0.5:
        steps.append(sf.Round(["cost"], 0.25))
    promises: list[Any] = [sf.KAnonymity(draw.randrange(2, 5))]
    if draw.random() < 0.4:
        promises.append(sf.LDiversity("note", 2))
    return promises, steps


def written_parts(folder: Path, engine: str, number: int) -> list[bytes]:
    """The parts that are released of some files, or the words of a refusal."""
    draw = random.Random(number)
    promises, steps = random_recipe(draw)
    data = sf.read(folder, engine=engine).with_roles(
        quasi=draw.choice([["code", "pay", "born"], ["born", "pay"], ["code"]]),
        sensitive=["note"],
        keep=["cost", "kind"],
        drop=["name"],
    )
    hierarchies = {"code": sf.mask_right(4), "pay": sf.intervals(10, 100), "born": sf.dates()}
    quasi = {name: hierarchies[name] for name in data.schema.quasi}
    others = [name for name in hierarchies if name not in quasi]
    data = data.with_roles(keep=["cost", "kind", *others]).with_hierarchies(**quasi)
    options = sf.AnonymizeOptions(shuffle=draw.random() < 0.8)
    try:
        release = sf.anonymize(data, promises, steps, seed=number, options=options)
    except SfumatoError as error:
        return [str(error).encode()]
    return [Path(part).read_bytes() for part in release.parts]


@pytest.mark.parametrize("engine", ENGINES)
def test_files_are_those_of_all_columns_read_again(
    engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip(engine)
    answers: list[bool] = []

    def listed(table: Any, combinations: Any) -> bool:
        answers.append(known_rows.are_known(table, combinations))
        return answers[-1]

    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = random_rows(random.Random(number))
        half = len(rows) // 2
        rows[:half].write_parquet(folder / "a.parquet")
        rows[half:].write_parquet(folder / "b.parquet")
        monkeypatch.setattr(planning, "are_known", listed)
        shortcut = written_parts(folder, engine, number)
        monkeypatch.setattr(planning, "are_known", lambda table, combinations: False)
        assert shortcut == written_parts(folder, engine, number)
    assert sum(answers) >= 4
