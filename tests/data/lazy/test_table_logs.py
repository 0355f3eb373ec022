"""Delta and Iceberg tables: the rows that are there today, and what their files alone cannot say."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy.table_logs import latest_metadata
from sfumato.errors import UnreadableInput

FRAME = pl.DataFrame({"age": [20, 21, 40, 41], "day": [dt.date(2020, 1, 1)] * 2 + [None] * 2})


def rows_of(folder: Path, engine: str) -> list[tuple[Any, ...]]:
    table: Any = sf.read(folder, engine=engine)
    rows = (
        table.to_polars()
        if engine == "memory"
        else pl.concat(piece.to_polars() for piece in table.batches())
    )
    return sorted(rows.select("age", "day").rows(), key=str)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "memory"])
@pytest.mark.parametrize("partitions", [None, ["day"]])
def test_deleted_rows_of_a_delta_table_stay_deleted(
    engine: str, partitions: list[str] | None, tmp_path: Path
) -> None:
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "visits"
    deltalake.write_deltalake(str(folder), FRAME.to_arrow(), partition_by=partitions)
    deltalake.DeltaTable(str(folder)).delete("age = 21")
    assert len(list(folder.rglob("*.parquet"))) > len(deltalake.DeltaTable(str(folder)).file_uris())
    assert rows_of(folder, engine) == sorted(FRAME.filter(pl.col("age") != 21).rows(), key=str)


def test_a_damaged_log_shows_no_values(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").write_text('{"secret": 1')
    with pytest.raises(UnreadableInput, match="cannot be read as a Delta table") as error:
        sf.read(tmp_path, engine="polars")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("engine", ["polars", "memory"])
def test_an_iceberg_table_is_its_current_snapshot(engine: str, tmp_path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.memory")
    catalog = catalogs.InMemoryCatalog("local", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("clinic")
    rows = FRAME.to_arrow(compat_level=pl.CompatLevel.oldest())
    table = catalog.create_table("clinic.visits", schema=rows.schema)
    table.append(rows)
    table.delete("age = 21")
    folder = Path(table.location().removeprefix("file://"))
    assert rows_of(folder, engine) == sorted(FRAME.filter(pl.col("age") != 21).rows(), key=str)


def test_the_current_metadata(tmp_path: Path) -> None:
    for name in ("v1", "v2", "v10"):
        (tmp_path / f"{name}.metadata.json").write_text("{}")
    assert latest_metadata(tmp_path).name == "v10.metadata.json"
    (tmp_path / "version-hint.text").write_text("2\n")
    assert latest_metadata(tmp_path).name == "v2.metadata.json"
    (tmp_path / "version-hint.text").unlink()
    (tmp_path / "00010-abc.metadata.json").write_text("{}")
    with pytest.raises(UnreadableInput, match="which version is the current one"):
        latest_metadata(tmp_path)
