"""Which reader a file gets, what keeps it from being read, and that no bytes make a reader fall."""

from __future__ import annotations

import hashlib
import io
import os
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.data.table.formats import FORMATS
from sfumato.errors import ParameterError, SfumatoError, UnreadableInput

TABLE = pl.DataFrame({"name": ["Ada", "Bob"], "age": [36, 4]})


def written(kind: str) -> bytes:
    stream = io.BytesIO()
    write_table(TABLE, stream, Source(), format=kind)
    return stream.getvalue()


@pytest.mark.parametrize(
    "kind", [kind for kind in FORMATS if kind != "jsonl"]
)  # which is text: its suffix tells
def test_first_bytes_tell_the_format(kind, tmp_path):
    path = tmp_path / "table"
    path.write_bytes(written(kind))
    frame, source = read_table(path)
    assert source.format == kind
    assert frame.equals(TABLE)
    assert source.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wrong_suffix_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(written("parquet"))
    with pytest.raises(UnreadableInput, match="named like csv but holds parquet data"):
        read_table(path)
    assert read_table(path, format="parquet")[0].equals(TABLE)


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\x00"])
def test_compressed_files_are_refused(tmp_path, magic):
    path = tmp_path / "t.csv"
    path.write_bytes(magic + b"...")
    with pytest.raises(UnreadableInput, match="unpack it first"):
        read_table(path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"name,age\nAda,36\nBob,4\n")))
    frame, source = read_table("-")
    assert frame.equals(TABLE)
    assert source.name == "standard input"


def test_open_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"name,age\nAda,36\nBob,4\n")
    with path.open("rb") as stream:
        frame, source = read_table(stream)
    assert frame.equals(TABLE)
    assert source.name == "t.csv"
    with path.open() as stream, pytest.raises(ParameterError, match="binary"):
        read_table(stream)
    with pytest.raises(ParameterError, match="path"):
        read_table(7)


def test_a_folder_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableInput, match="folder"):
        read_table(tmp_path)
    with pytest.raises(UnreadableInput, match="this file does not exist"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(UnreadableInput, match="not a valid path"):
        read_table("a\0b.csv")


@pytest.mark.skipif(
    os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="root may read everything",
)
def test_no_permission(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")
    path.chmod(0)
    with pytest.raises(UnreadableInput, match="permission to"):
        read_table(path)


def test_no_permission_is_told_in_words(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(UnreadableInput, match="permission to"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("parquet", "delimiter"),
        ("arrow", "encoding"),
        ("jsonl", "decimal"),
        ("excel", "decimal"),
        ("spss", "header"),
    ],
)
def test_options_that_mean_nothing_are_refused(kind, option):
    value = {"delimiter": ";", "encoding": "utf-8", "decimal": ",", "header": True}[option]
    with pytest.raises(ParameterError, match=option):
        read_table(io.BytesIO(written(kind)), format=kind, **{option: value})


def test_the_input_is_not_touched(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa;b\r\n1,5;x\r\n")
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    read_table(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


_texty = st.lists(
    st.sampled_from(
        [
            b"a",
            b",",
            b";",
            b"\t",
            b"|",
            b'"',
            b"\n",
            b"\r",
            b"\r\n",
            b"0",
            b"1.000",
            b"1,5",
            b"-",
            b" ",
            b"\xc3\xa9",
            b"\xff",
            b"{",
            b"}",
            b'"a":',
        ]
    ),
    max_size=40,
).map(b"".join)
_starts = st.sampled_from(
    [
        b"PAR1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"PK\x03\x04",
        b"$FL2",
        b"<stata_dta>",
        b"HEADER RECORD*******",
        b'{"a":',
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"s",
    ]
)


@given(
    st.one_of(
        st.binary(max_size=200), _texty, st.tuples(_starts, st.binary(max_size=60)).map(b"".join)
    ),
    st.none() | st.sampled_from(tuple(FORMATS)),
)
def test_any_bytes_give_a_table_or_our_error(data, kind):
    try:
        frame, source = read_table(io.BytesIO(data), format=kind)
    except SfumatoError:
        return
    assert isinstance(frame, pl.DataFrame)
    assert len(set(frame.columns)) == frame.width > 0
    assert source.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "excel", "spss", "stata", "sas"])
@given(data=st.data())
def test_damaged_files_give_a_table_or_our_error(kind, data):
    damaged = bytearray(written(kind))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        frame, _ = read_table(io.BytesIO(bytes(damaged)), format=kind)
    except SfumatoError:
        return
    assert isinstance(frame, pl.DataFrame)
