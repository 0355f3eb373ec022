"""Written like it was read; complete or not at all; and read back the same."""

from __future__ import annotations

import dataclasses
import io
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.source import Source
from sfumato.data.table import read_table, suffix_of, write_table
from sfumato.data.table.formats import FORMATS
from sfumato.errors import OutputError, ParameterError

TABLE = pl.DataFrame({"name": ["Ada", "Bob"], "age": [36, 4]})


def text(frame, source=None, **options) -> str:
    stream = io.BytesIO()
    write_table(frame, stream, source or Source(format="csv"), **options)
    return stream.getvalue().decode("utf-8")


FORMS = {
    "semicolon and decimal comma": b"name;cost\nAda;1,5\nBob;2,25\n",
    "tabs": b"name\tcost\nAda\t1.5\nBob\t2.25\n",
    "bars": b"name|cost\nAda|1.5\nBob|2.25\n",
    "Windows": "name;cost\nJosé;1,5\nBjörn;2,25\n".encode("cp1252"),
    "UTF-16": "name,cost\nJosé,1.5\nBjörn,2.25\n".encode("utf-16"),
    "byte-order mark": "name,cost\nJosé,1.5\nBjörn,2.25\n".encode("utf-8-sig"),
    "no header": b"1,5;2,5\n3,25;4,5\n",
    "decimal commas between commas": b'name,cost\nAda,"1,5"\nBob,"2,25"\n',
    "one column with a missing value": b'"x"\n"1.5"\n""\n"2.0"\n',
    "missing values": b"a,b\n1,x\n,\n3,y\n",
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_written_as_it_was_read(data, tmp_path):
    path = tmp_path / "out.csv"
    frame, source = read_table(io.BytesIO(data))
    write_table(frame, path, source)
    assert path.read_bytes() == data


def test_the_format_asked_for_then_the_suffix_then_the_source(tmp_path):
    source = Source(format="parquet")
    write_table(TABLE, tmp_path / "a.csv", source, format="jsonl")
    write_table(TABLE, tmp_path / "b.csv", source)
    write_table(TABLE, tmp_path / "c", source)
    write_table(TABLE, tmp_path / "d", Source())
    assert (tmp_path / "a.csv").read_bytes().startswith(b"{")
    assert (tmp_path / "b.csv").read_bytes() == b"name,age\nAda,36\nBob,4\n"
    assert (tmp_path / "c").read_bytes().startswith(b"PAR1")
    assert (tmp_path / "d").read_bytes().startswith(b"name,age")


def test_tab_separated_by_suffix(tmp_path):
    write_table(TABLE, tmp_path / "t.tsv", Source(format="csv", delimiter=";"))
    assert (tmp_path / "t.tsv").read_bytes() == b"name\tage\nAda\t36\nBob\t4\n"


def test_the_form_of_another_format_does_not_leak_into_csv():
    assert (
        text(TABLE, Source(format="spss", encoding="windows-1252", header=True), format="csv")
        == "name,age\nAda,36\nBob,4\n"
    )


def test_suffixes():
    assert {kind: suffix_of(kind) for kind in FORMATS} == {
        "csv": ".csv",
        "parquet": ".parquet",
        "arrow": ".arrow",
        "jsonl": ".jsonl",
        "excel": ".xlsx",
        "spss": ".sav",
        "stata": ".dta",
        "sas": ".xpt",
    }
    assert suffix_of("frame") == ".csv"
    with pytest.raises(ParameterError, match="Did you mean 'parquet'"):
        suffix_of("parket")


def test_standard_output(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw))
    write_table(TABLE, "-", Source())
    assert raw.getvalue() == b"name,age\nAda,36\nBob,4\n"


def test_decimals_that_could_be_thousands_are_written_with_one_more_zero():
    table = pl.DataFrame({"x": ["a", "b"], "v": [33.125, 1.5 + 0.002]})
    written = text(table)
    assert written == "x,v\na,33.1250\nb,1.5020\n"
    assert read_table(io.BytesIO(written.encode()))[0].equals(table)
    assert "33,1250" in text(table, Source(format="csv", delimiter=";", decimal=","))


def test_nan_is_written_as_missing():
    assert text(pl.DataFrame({"a": ["x", "y"], "v": [float("nan"), 1.5]})) == "a,v\nx,\ny,1.5\n"


def test_values_an_encoding_lacks_are_refused_by_column(tmp_path):
    table = pl.DataFrame({"age": ["≥ 65", "< 65"], "name": ["é", "ü"]})
    with pytest.raises(OutputError, match="column 'age' cannot be written in cp1252") as caught:
        write_table(table, tmp_path / "t.csv", Source(format="csv", encoding="cp1252"))
    assert "≥" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "values", [[[1]], [{"a": 1}], [b"x"], [__import__("datetime").timedelta(1)]]
)
def test_what_csv_cannot_say_is_refused_by_column(values):
    with pytest.raises(OutputError, match="column 'odd'"):
        text(pl.DataFrame({"a": [1], "odd": values}))


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"before")

    def interrupted(self, frame, target, source, form):
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.data.table.delimited.Csv.write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_table(TABLE, path, Source())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(self, frame, target, source, form):
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.data.table.delimited.Csv.write", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_table(TABLE, tmp_path / "t.csv", Source())
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="folder does not exist"):
        write_table(TABLE, tmp_path / "absent" / "t.csv", Source())
    with pytest.raises(OutputError, match="this is a folder"):
        write_table(TABLE, tmp_path, Source(format="csv"))
    with pytest.raises(OutputError, match=r"write \.xlsx"):
        write_table(TABLE, tmp_path / "t.xls", Source())


_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@st.composite
def tables(draw, alphabet=_characters):
    """Tables of text (a letter in front keeps it text), whole numbers and decimals, with missing
    values.
    """
    height = draw(st.integers(0, 6))
    kinds = {
        "text": (st.text(alphabet, max_size=5).map("v".__add__), pl.String),
        "whole": (st.integers(-(10**18) + 1, 10**18 - 1), pl.Int64),
        "decimal": (st.floats(allow_nan=False, allow_infinity=False), pl.Float64),
    }
    columns = {}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=4))):
        values, dtype = kinds[kind]
        columns[f"{kind}{chr(97 + i)}"] = pl.Series(
            draw(st.lists(st.none() | values, min_size=height, max_size=height)), dtype=dtype
        )
    return pl.DataFrame(columns)


def same_values(before: pl.Series, after: pl.Series) -> bool:
    """Equal, or whole numbers of one width kept as text, as the rule about codes has it."""
    if after.dtype == pl.String and before.dtype == pl.Int64:
        return after.to_list() == before.cast(pl.String).to_list()
    return after.to_list() == before.to_list()


@given(
    tables(),
    st.sampled_from(",;\t|"),
    st.sampled_from(".,"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_csv_round_trip(table, delimiter, decimal, encoding):
    source = Source(format="csv", delimiter=delimiter, decimal=decimal, encoding=encoding)
    stream = io.BytesIO()
    write_table(table, stream, source)
    frame, _ = read_table(
        io.BytesIO(stream.getvalue()), delimiter=delimiter, decimal=decimal, header=True
    )
    assert frame.columns == table.columns
    assert frame.height == table.height
    assert all(same_values(table[name], frame[name]) for name in table.columns)


@pytest.mark.slow
@given(tables(st.characters(codec="cp1252", exclude_characters="\0")))
def test_windows_round_trip(table):
    source = Source(format="csv", encoding="cp1252")
    stream = io.BytesIO()
    write_table(table, stream, source)
    frame, _ = read_table(
        io.BytesIO(stream.getvalue()), encoding="cp1252", delimiter=",", decimal=".", header=True
    )
    assert all(same_values(table[name], frame[name]) for name in table.columns)


@given(tables(), st.sampled_from(["parquet", "arrow"]))
def test_columnar_round_trip(table, kind):
    stream = io.BytesIO()
    write_table(table, stream, dataclasses.replace(Source(), format=kind))
    frame, _ = read_table(io.BytesIO(stream.getvalue()))
    assert frame.equals(table)
    assert frame.schema == table.schema
