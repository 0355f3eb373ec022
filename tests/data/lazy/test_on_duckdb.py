"""What DuckDB relations do for us: count, and give rows in batches."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb
from sfumato.errors import UnreadableInput
from tests.data.lazy.test_choice import little_memory  # noqa: F401 - a fixture


def test_an_engine_without_memory_says_so() -> None:
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(MemoryError), on_duckdb.guarded():
        raise duckdb.OutOfMemoryException("a value of somebody")


def test_a_span_of_several_units_is_refused_by_position(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age, INTERVAL 3 DAY AS stay")
        with pytest.raises(UnreadableInput, match="column number 2 is an INTERVAL"):
            sf.read(connection.table("people"))
    with pytest.raises(UnreadableInput, match="column number 2 is an INTERVAL"):
        sf.read(f"duckdb:///{file}", table="people")
