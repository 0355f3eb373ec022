"""Excel: ids as they are shown, the first sheet or the one that is named, the types of the
cells.
"""

from __future__ import annotations

import datetime as dt
import io

import polars as pl
import pytest

from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.errors import MissingExtra, OutputError, ParameterError, UnreadableInput

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")


def workbook(rows, *, sheets=("one",), formats=None):
    """A workbook with the rows on its first sheet; ``formats`` gives number formats by column."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    shown = {
        column: book.add_format({"num_format": code}) for column, code in (formats or {}).items()
    }
    first, *_ = [book.add_worksheet(name) for name in sheets]
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is not None:
                write = first.write_string if isinstance(value, str) else first.write
                write(i, j, value, *([shown[j]] if i and j in shown else []))
    book.close()
    return stream.getvalue()


def read(data: bytes, **options):
    return read_table(io.BytesIO(data), **options)


def test_text_cells_stay_text_and_numbers_numbers():
    frame, source = read(workbook([["key", "age", "cost"], ["00123", 30, 1.5], ["456", 4, None]]))
    assert frame.rows() == [("00123", 30, 1.5), ("456", 4, None)]
    assert frame.schema["age"] == pl.Int64
    assert source.format == "excel"


def test_numbers_shown_with_zeros_are_text_as_shown():
    frame, source = read(workbook([["place", "n"], [1234, 1], [98765, 2]], formats={0: "00000"}))
    assert frame["place"].to_list() == ["01234", "98765"]
    assert frame["n"].to_list() == [1, 2]
    assert any("column 1:" in note for note in source.notes)


def test_codes_by_name_become_text():
    assert read(workbook([["zip", "n"], [1234, 1], [98765, 2]]))[0]["zip"].to_list() == [
        "1234",
        "98765",
    ]


def test_dates_and_moments():
    rows = [
        ["d", "t"],
        [dt.datetime(2020, 2, 29), dt.datetime(2020, 1, 1, 5, 6)],
        [dt.datetime(1999, 1, 1)] * 2,
    ]
    frame, _ = read(workbook(rows, formats={0: "yyyy-mm-dd", 1: "yyyy-mm-dd hh:mm"}))
    assert frame["d"].to_list() == [dt.date(2020, 2, 29), dt.date(1999, 1, 1)]
    assert frame["t"].to_list() == [dt.datetime(2020, 1, 1, 5, 6), dt.datetime(1999, 1, 1)]


def test_several_sheets_are_told():
    frame, source = read(workbook([["a"], [1]], sheets=("one", "two", "three")))
    assert frame.rows() == [(1,)]
    assert (
        "the workbook has 3 sheets, and only the first was read; --sheet (sheet=) selects another"
        in source.notes
    )


def two_sheets(second="visits & <co>"):
    """Another table on each of two sheets; the codes of the second are shown with zeros."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    zeros = book.add_format({"num_format": "00000"})
    for name, rows in (
        ("cover", [["about"], ["nothing"]]),
        (second, [["place", "n"], [12, 1], [34567, 2]]),
    ):
        sheet = book.add_worksheet(name)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                sheet.write(i, j, value, *([zeros] if i and not j and name == second else []))
    book.close()
    return stream.getvalue()


def test_a_sheet_is_read_by_its_name_with_the_formats_of_its_own_cells():
    frame, source = read(two_sheets(), sheet="visits & <co>")
    assert frame.rows() == [("00012", 1), ("34567", 2)]
    assert source.intake.sheet == "visits & <co>" and not [
        note for note in source.notes if "sheets" in note
    ]
    assert read(two_sheets())[0].columns == ["about"]
    assert read(two_sheets(), sheet="cover")[0].rows() == [("nothing",)]


def test_a_sheet_that_is_not_there_is_refused_without_telling_the_others():
    with pytest.raises(ParameterError, match=", but no sheet") as refused:
        read(two_sheets("Alice Doe"), sheet="Visits")
    assert "Alice" not in str(refused.value)
    for wrong in (2, "", True):
        with pytest.raises(ParameterError, match="name of a sheet"):
            read(two_sheets(), sheet=wrong)
    with pytest.raises(ParameterError, match="sheet has no effect on csv files"):
        read(b"a,b\n1,2\n", sheet="one")


def test_late_text_in_a_column_of_numbers_is_not_lost():
    rows = [["v", "w"], *([i, 1] for i in range(1500)), ["x", 1]]
    values = read(workbook(rows))[0]["v"].to_list()
    assert values[-1] == "x"
    assert None not in values


def test_header_only_and_no_header():
    assert read(workbook([["a", "b"]]))[0].shape == (0, 2)
    frame, source = read(workbook([[1, 2], [3, 4]]))
    assert frame.columns == ["column_1", "column_2"]
    assert not source.header


BAD = {
    "empty sheet": (workbook([]), "empty"),
    "same name twice": (
        workbook([["a", "b", "a"], [1, 2, 3]]),
        "row 1: columns 1 and 3 have the same name",
    ),
    "no workbook": (b"PK\x03\x04 not a workbook", "not an Excel workbook"),
    "nothing": (b"", "not an Excel workbook"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_workbooks(data, message):
    with pytest.raises(UnreadableInput, match=message):
        read(data, format="excel")


def test_round_trip(tmp_path):
    table = pl.DataFrame(
        {
            "key": ["00123", "=1+1", "http://a.b", None],
            "age": [30, None, 4, 5],
            "cost": [1.5, 33.125, None, 1e-7],
            "big": [2**60, 1, 2, 3],
            "born": [dt.date(1990, 5, 7), None, dt.date(2020, 2, 29), dt.date(1900, 3, 1)],
            "ok": [True, None, False, True],
        }
    )
    path = tmp_path / "t.xlsx"
    write_table(table, path, Source())
    frame, _ = read_table(path)
    assert frame.equals(table.with_columns(pl.col("big").cast(pl.String)))
    again = tmp_path / "u.xlsx"
    write_table(table, again, Source())
    assert again.read_bytes() == path.read_bytes()


def test_too_large_for_a_sheet():
    with pytest.raises(OutputError, match="do not fit into an Excel sheet"):
        write_table(pl.DataFrame({"a": range(1_048_576)}), io.BytesIO(), Source(), format="excel")


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[excel\]"):
        read(workbook([["a"], [1]]))


def placed(rows, row, column, style=None):
    """A workbook whose table begins in a certain cell."""
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    sheet, shown = book.add_worksheet(), book.add_format({"num_format": style or "General"})
    for i, cells in enumerate(rows):
        for j, cell in enumerate(cells):
            if cell is not None:
                sheet.write(row + i, column + j, cell, shown)
    book.close()
    return buffer.getvalue()


PEOPLE = [["name", "age", "ill"], ["ann", 30, "flu"], ["bob", None, "cold"], ["cyd", 50, "flu"]]


@pytest.mark.parametrize("above", [0, 1, 3, 50, 700])
@pytest.mark.parametrize("left", [0, 2])
@pytest.mark.parametrize("header", [None, True])
def test_a_header_below_empty_rows_is_no_person(above, left, header):
    frame, source = read(placed(PEOPLE, above, left), header=header)
    assert frame.columns == ["name", "age", "ill"] and source.header
    assert frame.rows() == [("ann", 30, "flu"), ("bob", None, "cold"), ("cyd", 50, "flu")]


@pytest.mark.parametrize("above", [0, 2])
def test_data_below_empty_rows_without_a_header(above):
    frame, source = read(placed(PEOPLE[1:], above, 0), header=False)
    assert (
        frame.columns == ["column_1", "column_2", "column_3"]
        and frame.height == 3
        and not source.header
    )


def test_blanks_above_the_header_are_empty_rows():
    frame, _ = read(placed([[" ", None, "  "], *PEOPLE], 1, 0))
    assert frame.columns == ["name", "age", "ill"] and frame.height == 3


def test_zeros_are_those_of_the_own_column_wherever_the_table_begins():
    frame, _ = read(placed([["a", "b"], ["x", 7], ["y", 12]], 3, 2, style="00000"))
    assert frame["b"].to_list() == ["00007", "00012"]
