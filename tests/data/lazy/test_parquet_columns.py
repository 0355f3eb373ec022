"""A large Parquet table that is read column by column: never all of it is in memory."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.source import Intake, Source
from sfumato.data.lazy import parquet_columns as reading
from sfumato.data.lazy.parquet_columns import ParquetColumns, parquet_columns
from sfumato.errors import UnreadableInput
from tests.guidance.profiling.test_rows import random_table


def test_what_is_not_a_large_parquet_file_is_read_as_before(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "LARGE", 10)
    small, lists, broken = (tmp_path / f"{name}.parquet" for name in ("small", "lists", "broken"))
    pl.DataFrame({"age": [1, 2]}).write_parquet(small)
    pl.DataFrame({"age": [[1, 2]] * 50}).write_parquet(lists)
    broken.write_bytes(b"PAR1 this is none PAR1")
    for path in (
        small,
        lists,
        broken,
        tmp_path / "absent.parquet",
        tmp_path,
        "-",
        "x.csv",
        pl.DataFrame(),
        None,
    ):
        assert parquet_columns(path) is None
    with pytest.raises(UnreadableInput, match="nested"):
        sf.profile(lists)


def test_a_file_that_changes_is_refused(tmp_path):
    file = tmp_path / "t.parquet"
    random_table(1).write_parquet(file)
    columns = ParquetColumns.of([file], Source(name="t.parquet", intake=Intake()))
    random_table(1).head(10).write_parquet(file)
    with pytest.raises(UnreadableInput, match="changed while it was being read"):
        columns.column(columns.columns[0])
    file.write_bytes(b"PAR1")
    with pytest.raises(UnreadableInput, match=r"t\.parquet cannot be read"):
        columns.column(columns.columns[0])
