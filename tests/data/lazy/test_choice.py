"""Who holds a table about which nothing was said: rows, distinct values and free memory decide, and
a note says so.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.core.table import Table
from sfumato.data.lazy import choice, open_table
from sfumato.interfaces import cli

ROWS = 5000


def table(folder: Path, *, distinct: bool) -> Path:
    rng = np.random.default_rng(3)
    values = rng.random(ROWS) if distinct else rng.integers(0, 5, ROWS) / 10
    file = folder / "table.parquet"
    pl.DataFrame({"pay": values, "sex": ["f", "m"] * (ROWS // 2)}).write_parquet(file)
    return file


def recipe(steps: Any = None) -> Recipe:
    frame = pl.DataFrame({"pay": [1.0], "sex": ["f"]})
    schema = sf.read(frame).with_roles(quasi=["pay", "sex"]).schema
    return Recipe(
        schema=schema, meet=(sf.KAnonymity(2),), steps=tuple(steps or [sf.GlobalRecoding()])
    )


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over few classes fits into what is free, one over thousands does not."""
    monkeypatch.setattr(choice, "FEW_ROWS", 1000)
    monkeypatch.setattr(choice, "START", 0)
    monkeypatch.setattr(choice, "LOOKED_AT", 500)
    monkeypatch.setattr(open_table, "free_memory", lambda: 2_000_000)


def test_rows_that_repeat_are_read_into_memory(tmp_path: Path) -> None:
    assert isinstance(
        sf.read(table(tmp_path, distinct=False), engine="auto", recipe=recipe()), Table
    )


def test_few_rows_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "FEW_ROWS", ROWS)
    monkeypatch.setattr(choice, "bytes_needed", lambda *_: pytest.fail("looked at"))
    assert isinstance(
        sf.read(table(tmp_path, distinct=True), engine="auto", recipe=recipe()), Table
    )


def test_what_no_engine_can_do_stays_in_memory(tmp_path: Path) -> None:
    whole = dataclasses.replace(recipe(), steps=(sf.RankSwap(["pay"], p=0.1), sf.GlobalRecoding()))
    assert not choice.can_be_held(whole)
    assert isinstance(sf.read(table(tmp_path, distinct=True), engine="auto", recipe=whole), Table)


def test_nothing_changes_where_nobody_asks(tmp_path: Path) -> None:
    assert isinstance(sf.read(table(tmp_path, distinct=True), recipe=recipe()), Table)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["run", "a.parquet"], "--engine polars or --engine duckdb"),
        (["run", "a.parquet", "--engine", "memory"], "--engine polars or --engine duckdb"),
        (["run", "a.parquet", "--engine", "polars"], "--engine duckdb, which spills"),
        (["run", "a.parquet", "--engine=duckdb"], "round the finest"),
        (["profile", "a.parquet"], "--engine polars or --engine duckdb"),
        (["table", "a.parquet", "age"], "End other programs"),
    ],
)
def test_lack_of_memory_names_what_to_do(
    words: list[str],
    advice: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(**_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("sys.argv", ["sfumato", *words])
    monkeypatch.setattr("sfumato.interfaces.cli.app.build_app", lambda _: fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 5
    told = " ".join(capsys.readouterr().err.split())
    assert "not enough memory" in told and advice in told


def test_no_record_chooses_the_engine_of_a_recipe_with_an_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choice.can_be_held(recipe())
    monkeypatch.setattr(choice, "accounts", lambda steps, schema: True)
    assert not choice.can_be_held(recipe())
