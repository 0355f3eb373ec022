"""Arrow files and streams."""

from __future__ import annotations

import datetime as dt
import io

import polars as pl
import pytest

from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.errors import UnreadableInput

TABLE = pl.DataFrame(
    {"zip": ["01234", None], "age": [30, None], "born": [dt.date(1990, 5, 7), None]}
)


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".ipc"])
def test_round_trip(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(TABLE, path, Source())
    frame, source = read_table(path)
    assert frame.equals(TABLE)
    assert frame.schema == TABLE.schema
    assert source.format == "arrow"


def test_streams():
    stream = io.BytesIO()
    TABLE.write_ipc_stream(stream)
    stream.seek(0)
    assert read_table(stream)[0].equals(TABLE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a,b\n1,2\n",
        b"ARROW1",
        b"ARROW1\0\0garbage",
        b"\xff\xff\xff\xff\x10\0\0\0",
        b"FEA1....",
    ],
)
def test_no_arrow(data):
    with pytest.raises(UnreadableInput, match=r"Arrow|Feather"):
        read_table(io.BytesIO(data), format="arrow")


def test_nested_columns_are_named():
    stream = io.BytesIO()
    pl.DataFrame({"tags": [["x"]]}).write_ipc(stream)
    with pytest.raises(UnreadableInput, match="column 'tags' holds nested values"):
        read_table(io.BytesIO(stream.getvalue()))
