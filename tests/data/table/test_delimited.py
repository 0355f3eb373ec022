"""Delimited text: how it is laid out, what is missing, what is refused and with which line."""

from __future__ import annotations

import csv
import io
import os

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.table import read_table
from sfumato.errors import ParameterError, UnreadableInput


def read(data: bytes, **options):
    return read_table(io.BytesIO(data), **options)


def rows(data: bytes, **options):
    return read(data, **options)[0].rows()


LAYOUTS = {
    "comma": (b"name,age\nA,30\nB,4\n", ","),
    "semicolon": (b"name;age\nA;30\nB;4\n", ";"),
    "tab": (b"name\tage\nA\t30\nB\t4\n", "\t"),
    "bar": (b"name|age\nA|30\nB|4\n", "|"),
    "no line end at the end": (b"name,age\nA,30\nB,4", ","),
    "carriage return and line feed": (b"name,age\r\nA,30\r\nB,4\r\n", ","),
    "carriage return only": (b"name,age\rA,30\rB,4\r", ","),
    "empty lines before, between and after": (b"\n\nname,age\n\nA,30\n\n\nB,4\n\n", ","),
    "empty lines of Windows": (b"name,age\r\n\r\nA,30\r\nB,4\r\n\r\n", ","),
    "blanks after the delimiter": (b"name, age\nA, 30\nB, 4\n", ","),
    "quotes everywhere": (b'"name","age"\n"A","30"\n"B","4"\n', ","),
    "byte-order mark": (b"\xef\xbb\xbfname,age\nA,30\nB,4\n", ","),
    "UTF-16": ("name,age\nA,30\nB,4\n".encode("utf-16"), ","),
    "blanks around the names": (b" name ,age \nA,30\nB,4\n", ","),
}


@pytest.mark.parametrize(("data", "delimiter"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_same_table(data, delimiter):
    frame, source = read(data)
    assert frame.to_dict(as_series=False) == {"name": ["A", "B"], "age": [30, 4]}
    assert (source.format, source.delimiter, source.header, source.decimal) == (
        "csv",
        delimiter,
        True,
        ".",
    )


def test_quoted_newlines_delimiters_and_quotes_are_text():
    data = b'a,b\n"x\ny","1,5"\n"he said ""no""","p\r\nq"\n'
    assert rows(data, decimal=".") == [("x\ny", "1,5"), ('he said "no"', "p\r\nq")]


def test_decimal_commas_do_not_pass_for_delimiters():
    frame, source = read(b"1,5;2,5\n3,25;4,5\n")
    assert source.delimiter == ";"
    assert frame.rows() == [(1.5, 2.5), (3.25, 4.5)]
    assert source.decimal == ","


@pytest.mark.parametrize(
    "data", [b"0;[0,2]\n1;[0,2]\n2;[3,5]\n", b"age;sex\n[20, 30);m\n[30, 40);f\n"]
)
def test_intervals_do_not_pass_for_delimiters(data):
    assert read(data)[1].delimiter == ";"


def test_a_list_in_one_field_does_not_pass_for_a_delimiter():
    assert read(b"a,b,c\n1,x;y,2\n3,p;q,4\n")[1].delimiter == ","


@pytest.mark.parametrize("data", [b'a,b\n"",2\n,3\n', b"a,b\n,2\n,3\n"])
def test_empty_fields_are_missing_quoted_or_not(data):
    assert rows(data) == [(None, 2), (None, 3)]


@pytest.mark.parametrize("word", ["NA", "NaN", "null", "None", "-", "?", ".", "n/a"])
def test_nothing_but_the_empty_field_is_missing(word):
    frame, source = read(f"x,y\n1,a\n{word},b\n3,c\n4,c\n".encode())
    assert frame["x"].to_list() == ["1", word, "3", "4"]
    assert any("column 1 stays text" in note for note in source.notes)


def test_an_empty_line_is_a_missing_value_in_a_table_of_one_column():
    assert rows(b"x\n1\n\n3\n") == [(1,), (None,), (3,)]


def test_a_row_of_empty_fields_is_kept_beside_empty_lines():
    frame, source = read(b"a,b\n1,2\n,\n\n3,4\n")
    assert frame.rows() == [(1, 2), (None, None), (3, 4)]
    assert "empty lines skipped: 1" in source.notes


@pytest.mark.parametrize("data", [b"a,b\n", b"a,b", b"a,b\r\n", b"a,b\n\n"])
def test_a_header_alone_is_a_table_without_rows(data):
    frame, _ = read(data)
    assert frame.columns == ["a", "b"]
    assert frame.height == 0


def test_a_file_without_header_gets_names_by_position():
    frame, source = read(b"39,Male\n50,Male\n38,Female\n")
    assert frame.columns == ["column_1", "column_2"]
    assert frame.height == 3
    assert not source.header
    assert any("--header (header=True)" in note for note in source.notes)


def test_the_user_decides_about_the_header():
    assert read(b"39,Male\n50,Male\n", header=True)[0].columns == ["39", "Male"]
    assert read(b"a,b\n1,2\n", header=False)[0].rows() == [("a", "b"), ("1", "2")]


def test_a_column_without_a_name_is_named_by_position():
    frame, source = read(b",a\n1,x\n2,y\n")
    assert frame.columns == ["column_1", "a"]
    assert any("no name" in note for note in source.notes)


@pytest.mark.slow
def test_four_thousand_columns():
    names = [f"v{i}" for i in range(4_000)]
    line = ",".join(str(i % 90) for i in range(4_000))
    frame, _ = read(f"{','.join(names)}\n{line}\n{line}\n".encode())
    assert frame.shape == (2, 4_000)
    assert frame["v89"].to_list() == [89, 89]


def test_a_line_longer_than_the_piece_that_is_sniffed():
    long = "x" * 3_000_000
    frame, _ = read(f"a;b\n{long};1\n{long};2\n".encode())
    assert frame["a"].str.len_bytes().to_list() == [3_000_000] * 2
    assert frame["b"].to_list() == [1, 2]


def test_a_quoted_field_with_a_thousand_lines():
    text = "\n".join(["line, and more"] * 1000)
    assert rows(f'a,b\n"{text}",1\n'.encode()) == [(text, 1)]


BAD = {
    "empty file": (b"", "empty"),
    "empty lines only": (b"\n\r\n\n", "empty"),
    "short line": (b"a,b\n1,2\n3\n", "line 3: 1 field where the first line has 2"),
    "long line": (b"a,b\n1,2\n3,4,5\n", "line 3: 3 fields where the first line has 2"),
    "long and short line": (b"a,b,c\n1,2,3\n1,2\n1,2,3,4\n", "line 3: 2 fields"),
    "short line after a quoted newline": (b'a,b\n"x\ny",2\n3\n', "line 4: 1 field"),
    "short line after empty lines": (b"\n\na,b\n\n1,2\n3\n", "line 6: 1 field"),
    "short line, carriage returns": (b"a,b\r1,2\r3\r", "line 3: 1 field"),
    "header shorter than the rows": (b"a,b\n1,2,3\n4,5,6\n", "line 2: 3 fields"),
    "blank line with blanks": (b"a,b\n1,2\n  \n", "line 3: 1 field"),
    "quote never closed": (b'a,b\n1,2\n3,"x\n5,6\n', "line 3: a quoted field begins here"),
    "quote closed too early": (b'a,b\n1,2\n3,"x"y\n', "line 3: a quoted field begins here"),
    "quote inside a field": (b"a,b\n5'10\",2\n6,3\n", "line 2: a quote inside an unquoted field"),
    "same name twice": (b"a,b,a\n1,2,3\n", "columns 1 and 3 have the same name"),
    "same name but for blanks": (b"a, a\n1,x\n", "columns 1 and 2 have the same name"),
    "same name by position": (b"column_2,\n1,2\n", "columns 1 and 2 have the same name"),
    "NUL byte": (b"a,b\n1,2\n3,\x004\n", "line 3: a NUL byte"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "--encoding utf-16"),
    "UTF-8 with one broken byte": (
        "a,b\nü,é\nö,ä\n".encode() + b"\xff,x\n",
        "line 4: broken UTF-8",
    ),
    "marked as UTF-8 and broken": (b"\xef\xbb\xbfa,b\n1,2\n\xff,3\n", "line 3: not valid UTF-8"),
    "no known encoding": (b"a,b\n1,2\n\x81\x8d,3\n", "line 3: neither UTF-8 nor Windows-1252"),
    "cut off UTF-16": ("a,b\n1,2\n".encode("utf-16")[:-1], "not valid utf-16"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_text_is_refused_with_its_line(data, message):
    with pytest.raises(UnreadableInput) as caught:
        read(data)
    assert message in str(caught.value)
    assert str(caught.value).startswith("the stream")


def test_messages_never_hold_values():
    for data in (
        b"a,b\nSECRET,2\nSECRET\n",
        b'a,b\n"SECRET,2\n',
        b'a,b\nSECRET"x,2\n',
        b"a,a\nSECRET,1\n",
    ):
        with pytest.raises(UnreadableInput) as caught:
            read(data)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None, (
            "a reader's own error, which may quote values, hangs on"
        )


def test_ragged_lines_are_found_far_into_a_file():
    good = b"a,b,c\n" + b"1,x,\n" * 300_000
    assert (
        read(good)[0].height == 300_000
    )  # the last column is missing throughout: no line is short
    with pytest.raises(UnreadableInput, match=r"line 300002: 2 fields .*1 such line"):
        read(good + b"1,x\n" + b"1,x,\n" * 10)


OPTIONS = {
    "two characters": {"delimiter": ",,"},
    "a quote": {"delimiter": '"'},
    "a letter": {"delimiter": "x"},
    "beyond ASCII": {"delimiter": "·"},
    "decimal mark": {"decimal": "'"},
    "encoding": {"encoding": "latin-99"},
    "no text encoding": {"encoding": "base64"},
    "format": {"format": "exel"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_out_of_range(options):
    with pytest.raises(ParameterError):
        read(b"a,b\n1,2\n", **options)


def test_options_are_followed():
    assert read(b"a:b\n1:2\n", delimiter=":")[0].columns == ["a", "b"]
    assert read(b"a\tb\n1\t2\n", delimiter="tab")[0].columns == ["a", "b"]
    assert rows("a,b\nü,1\n".encode("cp1252"), encoding="latin-1") == [("ü", 1)]
    assert rows("a,b\nп,1\n".encode("cp1251"), encoding="cp1251") == [("п", 1)]
    with pytest.raises(UnreadableInput, match="line 2: not valid UTF-8"):
        read("a,b\nü,1\n".encode("cp1252"), encoding="utf-8")


_cell = st.text(alphabet=" ,;|\t\"\n\rab'é漢0", max_size=6)


@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.tuples(*[_cell] * n), min_size=1, max_size=6)),
    st.sampled_from(",;\t|"),
)
def test_reads_what_the_csv_module_writes(table, delimiter):
    """Oracle: Python's csv module, quoting where needed; values made text, and their blanks inner
    ones, by letters around them.
    """
    names = [f"n{i}" for i in range(len(table[0]))]
    table = [tuple(f"v{cell}v" for cell in row) for row in table]
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=delimiter, lineterminator="\r\n"
    )  # so that it quotes both signs
    writer.writerows([names, *table])
    frame, _ = read(text.getvalue().encode(), delimiter=delimiter, header=True)
    assert frame.columns == names
    assert frame.rows() == table


def test_reference_tables_are_read(reference_data):
    adult, source = read_table(reference_data / "adult" / "adult.csv")
    assert adult.shape == (30162, 9)
    assert (source.delimiter, adult["age"].dtype) == (";", pl.Int64)
    ladder, source = read_table(reference_data / "adult" / "adult_hierarchy_age.csv")
    assert not source.header
    assert ladder["column_1"].dtype == pl.Int64
    survey, _ = read_table(reference_data / "survey" / "francdat.csv")
    assert survey["w"].to_list() == [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0]
    people, _ = read_table(reference_data / "linkage" / "febrl4a.csv")
    assert "given_name" in people.columns
    assert people["postcode"].dtype == pl.String


@pytest.mark.skipif(os.name == "nt", reason="file names differ")
def test_unicode_paths(tmp_path):
    path = tmp_path / "Bögen – 数据.csv"
    path.write_bytes(b"a,b\n1,2\n")
    frame, source = read_table(path)
    assert frame.rows() == [(1, 2)]
    assert source.name == "Bögen – 数据.csv"


def test_one_column_of_several_words_is_pointed_out():
    assert any("--delimiter" in note for note in read(b"a:b:c\n1:2:3\n4:5:6\n")[1].notes)
    assert not any("--delimiter" in note for note in read(b"name\nAnna Berg\nBo Li\n")[1].notes)


def test_a_file_parted_by_blanks_is_read_and_the_blank_named():
    frame, source = read(b"A 6 x\nB 48 y\nC 12 x\nA 42 y\nB 24 x\n")
    assert frame.shape == (5, 3) and frame["column_2"].to_list() == [6, 48, 12, 42, 24]
    assert "delimiter found: blank" in source.notes
