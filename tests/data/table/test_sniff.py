"""Whether the first row names the columns."""

from __future__ import annotations

import pytest

from sfumato.data.table.sniff import has_header, sniff

HEADER = {
    "text above numbers": [["age", "sex"], ["30", "m"], ["40", "f"]],
    "text above text": [["name", "city"], ["Ada", "Rome"], ["Bob", "Oslo"]],
    "text above dates": [["born", "x"], ["2001-05-07", "a"], ["1999-01-01", "b"]],
    "years above other numbers": [["land", "2019", "2020"], ["A", "1", "2"], ["B", "3", "4"]],
    "counted columns": [["", "0", "1", "2"], ["0", "5", "6", "7"], ["1", "8", "9", "3"]],
    "alone": [["name", "city"]],
    "a name that is also a value": [["smoker", "sex"], ["smoker", "m"], ["none", "f"]],
}
DATA = {
    "numbers above numbers": [["39", "x"], ["50", "y"], ["38", "z"]],
    "dates above dates": [["2001-05-07", "a"], ["1999-01-01", "b"]],
    "values that come again": [["Male", "White"], ["Male", "Black"], ["Female", "White"]],
    "a hierarchy": [["Private", "Non-Government", "*"], ["Self-emp", "Non-Government", "*"]],
    "a hierarchy of two levels": [["Male", "*"], ["Female", "*"]],
    "one row with a number": [["Ada", "36"]],
    "years above years": [["2019", "a"], ["2020", "b"]],
}


@pytest.mark.parametrize("rows", HEADER.values(), ids=HEADER)
def test_names(rows):
    assert has_header(rows)


@pytest.mark.parametrize("rows", DATA.values(), ids=DATA)
def test_data(rows):
    assert not has_header(rows)


def test_only_the_head_is_looked_at():
    data = b"a,b\n" + b"1,2\n" * 2_000_000
    layout = sniff(data, delimiter=None, header=None)
    assert len(layout.rows) <= 301


RECORDS = (
    b"A11 6 male 1169\nA12 48 female 5951\nA14 12 male 2096\nA11 42 male 7882\nA11 24 female 4870\n"
)


def test_blanks_part_fields_where_nothing_else_does():
    layout = sniff(RECORDS, delimiter=None, header=None)
    assert (layout.delimiter, layout.header, len(layout.rows[0])) == (" ", False, 4)
    named = sniff(b"status months sex amount\n" + RECORDS, delimiter=None, header=None)
    assert (named.delimiter, named.header) == (" ", True)


@pytest.mark.parametrize("between", [b"   ", b":", b"/"])
def test_a_record_that_cannot_be_cut_names_no_column(between):
    layout = sniff(RECORDS.replace(b" ", between), delimiter=None, header=None)
    assert (layout.delimiter, layout.header, len(layout.rows[0])) == (",", False, 1)


@pytest.mark.parametrize(
    "text",
    [
        b"name\n" + b"Anna Maria Berg\n" * 9,
        b"Anna Berg\n" * 9,
        b"seen\n" + b"2020-01-02 10:11:12\n" * 9,
        b"address\n" + b"12 Long Street\n" * 9,
        b"note\n" + b"took 3 pills\nslept well\n" * 9,
    ],
)
def test_blanks_inside_of_values_part_nothing(text):
    layout = sniff(text, delimiter=None, header=None)
    assert layout.delimiter == "," and {len(row) for row in layout.rows} == {1}
