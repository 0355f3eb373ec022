"""A table that an engine holds is released as it would be in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf

RECIPES: dict[str, list[Any]] = {
    "global": [sf.GlobalRecoding(budget=0.1)],
    "global without dropping": [sf.GlobalRecoding(suppress="none")],
    "strict mondrian": [sf.Mondrian()],
}
ENGINES = ["polars", "duckdb"]


def table(rows: int = 3000) -> pl.DataFrame:
    """Invented people."""
    return sf.examples.hospital(rows).to_polars()


def described(data: Any) -> Any:
    return data.with_roles(
        direct=["patient_name", "insurance_number", "email"],
        quasi=["age", "sex", "zip"],
        sensitive=["diagnosis", "cost"],
        plain=["ward", "length_of_stay", "nationality", "marital_status", "occupation", "admission_date"],
    ).with_hierarchies(age=sf.intervals(5, 10, 20), zip=sf.mask_right(5), sex=sf.suppress())


def held(engine: str, folder: Path) -> Any:
    """The table in three parts, held by an engine."""
    frame, third = table(), 1000
    for number in range(3):
        frame.slice(third * number, third).write_parquet(folder / f"part-{number}.parquet")
    return described(sf.read(folder, engine=engine))


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in an order of their own."""
    return frame.select(sorted(frame.columns)).sort(sorted(frame.columns))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RECIPES)
def test_an_engine_releases_what_memory_releases(engine: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    meet = [sf.KAnonymity(3), sf.LDiversity("diagnosis", 2)]
    eager = sf.anonymize(described(sf.read(table())), meet, RECIPES[name], seed=5, format="parquet")
    lazy = sf.anonymize(held(engine, tmp_path), meet, RECIPES[name], seed=5)
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert lazy.suppressed == eager.suppressed
    assert lazy.after.to_dict()["class_sizes"] == eager.after.to_dict()["class_sizes"]
    native = lazy.data.collect() if engine == "polars" else lazy.data.pl()
    assert rows_of(native).equals(rows_of(eager.data))


def test_values_that_a_collation_takes_for_one_are_counted_apart() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (name VARCHAR COLLATE NOCASE, n INTEGER)")
    connection.execute("INSERT INTO t VALUES ('x', 1), ('X', 1)")
    people = sf.read(connection.table("t")).with_roles(quasi=["name"], plain=["n"])
    assert sf.assess(people).smallest_class == 1
