"""Formats by name, suffix and first bytes, and what no table may hold."""

from __future__ import annotations

import io

import polars as pl
import pytest

from sfumato.data.table.formats import (
    FORMATS,
    choose_format,
    file_format,
    format_of_suffix,
    listed,
    refuse_nested,
    refusing,
    require_format,
    table_suffixes,
)
from sfumato.errors import ParameterError, UnreadableInput

PARQUET = io.BytesIO()
pl.DataFrame({"a": [1]}).write_parquet(PARQUET)
PARQUET = PARQUET.getvalue()


@pytest.mark.parametrize("name", FORMATS)
def test_every_suffix_belongs_to_one_format(name):
    assert file_format(name).name == name
    for suffix in FORMATS[name].suffixes:
        assert suffix == suffix.lower()
        assert format_of_suffix(suffix.upper()) == name
    assert len(set(table_suffixes())) == len(table_suffixes())


def chosen(data, *, suffix="", requested=None):
    return choose_format(data, name="file", suffix=suffix, requested=requested)


def test_a_format_is_asked_for_or_read_from_suffix_or_bytes():
    assert chosen(PARQUET) == "parquet"
    assert chosen(PARQUET, suffix=".parquet") == "parquet"
    assert chosen(b"a,b\n1,2\n") == "csv"
    assert chosen(b"a,b\n1,2\n", suffix=".csv", requested="jsonl") == "jsonl"
    with pytest.raises(ParameterError, match="Did you mean 'parquet'"):
        require_format("parqet")


@pytest.mark.parametrize("magic", [b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"])
def test_compressed_files_are_refused(magic):
    with pytest.raises(UnreadableInput):
        chosen(magic + b"....", suffix=".csv")


def test_bytes_that_contradict_the_suffix_are_refused():
    with pytest.raises(UnreadableInput):
        chosen(PARQUET, suffix=".csv")


def test_whatever_a_reader_throws_is_said_without_its_text():
    with pytest.raises(UnreadableInput, match=r"^no table$") as error, refusing("no table"):
        raise ValueError("Anna Berg, 53711")
    assert error.value.__cause__ is None
    with pytest.raises(ParameterError, match="own words"), refusing("no table"):
        raise ParameterError("own words")
    with pytest.raises(KeyboardInterrupt), refusing("no table"):
        raise KeyboardInterrupt


def test_nested_values_are_refused_but_for_lists_where_they_are_meant():
    lists = pl.DataFrame({"a": [1], "b": [["x", "y"]]})
    with pytest.raises(UnreadableInput, match="column 'b' holds nested values"):
        refuse_nested(lists, "file")
    assert refuse_nested(lists, "file", lists=True) is lists
    with pytest.raises(UnreadableInput):
        refuse_nested(pl.DataFrame({"b": [[["x"]]]}), "file", lists=True)


def test_columns_in_a_sentence():
    assert listed(["a", "b", "c", "d", "e", "f", "g"]).endswith("and 2 more")
