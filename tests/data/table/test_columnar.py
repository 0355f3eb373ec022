"""Parquet: types survive, what is no Parquet is refused."""

from __future__ import annotations

import datetime as dt
import io

import polars as pl
import pytest

from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.errors import UnreadableInput

TABLE = pl.DataFrame(
    {
        "zip": ["01234", None, "98765"],
        "age": [30, None, 5],
        "cost": [1.5, 33.125, None],
        "born": [dt.date(1990, 5, 7), None, dt.date(2020, 2, 29)],
        "flag": [True, None, False],
        "group": pl.Series(["a", "b", None], dtype=pl.Categorical),
    }
)


def test_round_trip(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(TABLE, path, Source())
    frame, source = read_table(path)
    assert frame.equals(TABLE)
    assert frame.schema == TABLE.schema
    assert (source.format, source.notes) == ("parquet", ())


def test_no_rows(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(TABLE.clear(), path, Source())
    assert read_table(path)[0].schema == TABLE.schema


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"a,b\n1,2\n", b"PAR1" + b"x" * 20, b"PAR1" + b"\xff" * 20 + b"PAR1"]
)
def test_no_parquet(data):
    with pytest.raises(UnreadableInput, match="Parquet"):
        read_table(io.BytesIO(data), format="parquet")


def test_half_a_file(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(TABLE, path, Source())
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UnreadableInput, match=r"copy it again"):
        read_table(path)


def test_nested_columns_are_named(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1], "tags": [["x"]], "address": [{"street": "y"}]}).write_parquet(path)
    with pytest.raises(UnreadableInput, match="columns 'tags', 'address' hold nested values"):
        read_table(path)
