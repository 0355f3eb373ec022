"""JSON lines: JSON's own types, one value a cell."""

from __future__ import annotations

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.errors import OutputError, SchemaError, UnreadableInput


def read(data: bytes):
    return read_table(io.BytesIO(data), format="jsonl")


def test_types_are_those_of_json():
    frame, _ = read(
        b'{"zip":"01234","age":30,"cost":1.5,"ok":true}\n{"zip":"5","age":4,"cost":2,"ok":null}\n'
    )
    assert frame.rows() == [("01234", 30, 1.5, True), ("5", 4, 2.0, None)]


def test_absent_keys_are_missing_and_empty_lines_nothing():
    frame, _ = read(b'{"a":1}\n\n{"b":"x"}\r\n')
    assert frame.to_dict(as_series=False) == {"a": [1, None], "b": [None, "x"]}


def test_a_column_of_nulls_is_text():
    assert read(b'{"a":null,"b":1}\n')[0].schema["a"] == pl.String


def test_text_that_looks_like_a_list_is_text():
    assert read(b'{"a":"[1]"}\n{"a":"{x}"}\n')[0]["a"].to_list() == ["[1]", "{x}"]


def test_byte_order_mark():
    assert read(b'\xef\xbb\xbf{"a":1}\n')[0].rows() == [(1,)]


BAD = {
    "empty": (b"", "empty"),
    "not valid JSON": (b'{"a":1}\n{"a":\n', "line 2: not valid JSON"),
    "an array": (b'[{"a":1},{"a":2}]', "line 1: a JSON array"),
    "a number": (b'{"a":1}\n7\n', "line 2: a JSON number"),
    "one object over several lines": (b'{\n"a":1\n}\n', "line 1: not valid JSON"),
    "a list": (b'{"a":1,"tags":[1]}\n', "'tags' holds nested values"),
    "an object": (b'{"a":1,"home":{"street":"x"}}\n', "'home' holds nested values"),
    "a list beside text": (b'{"a":"x"}\n{"a":[1]}\n', "line 2: column 'a' holds nested values"),
    "a list beside a number": (b'{"a":1}\n{"a":[1]}\n', "'a' holds nested values"),
    "true beside a number": (b'{"a":true}\n{"a":1}\n', "'a' mixes true/false and numbers"),
    "a key twice": (b'{"a":1}\n{"a":1,"a":2}\n', ": an object has the same key twice; rename one"),
    "no keys": (b"{}\n{}\n", "no object has a key"),
    "UTF-8 broken": ('{"a":"ü"}\n'.encode() + b'{"a":"\xff"}\n', "line 2: broken UTF-8"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_lines(data, message):
    with pytest.raises(UnreadableInput) as caught:
        read(data)
    assert message in str(caught.value)


_texts = st.lists(
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    min_size=2,
    max_size=5,
)


@given(_texts, st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=5, max_size=5))
def test_round_trip(texts, numbers):
    table = pl.DataFrame(
        {"t": texts, "n": numbers[: len(texts)]}, schema={"t": pl.String, "n": pl.Int64}
    )
    stream = io.BytesIO()
    write_table(table, stream, Source(), format="jsonl")
    assert read(stream.getvalue())[0].rows() == table.rows()


def test_binary_is_refused():
    with pytest.raises(OutputError, match="'b'"):
        write_table(pl.DataFrame({"b": [b"x"]}), io.BytesIO(), Source(), format="jsonl")


def test_a_name_that_polars_takes_for_a_pattern_is_refused_by_name(tmp_path):
    file = tmp_path / "people.jsonl"
    file.write_text('{"age": "old", "^.*$": "x"}\n')
    with pytest.raises(SchemaError, match="begins with"):
        sf.read(file)
