"""What DuckDB relations do for us: count, and give rows in batches."""

from __future__ import annotations

from datetime import time
from pathlib import Path

import numpy as np
import polars as pl
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


def test_a_time_of_a_relation_is_what_it_is_in_memory() -> None:
    duckdb = pytest.importorskip("duckdb")
    draw = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "time": [
                time(int(hour), int(minute)) for hour, minute in draw.integers(0, 24, (90, 2))
            ],
            "age": draw.integers(18, 90, 90),
        }
    )
    # Handed over as Arrow, a time of day is TIME_NS, which narwhals does not know.
    with duckdb.connect() as connection:
        connection.register("people", people.to_arrow())
        relation = connection.sql("SELECT * FROM people")
        rows = []
        for source in (people, relation):
            table = sf.read(source).with_roles(quasi=["time", "age"])
            release = sf.anonymize(table, meet=[sf.KAnonymity(5)], steps=[sf.KMember()], seed=3)
            released = release.data
            if source is relation:
                released = released.pl()
            rows.append(sorted(released.rows()))
    assert rows[0] == rows[1]
