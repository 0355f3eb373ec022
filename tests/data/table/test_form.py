"""How a written table is to be read: layout, and what each column holds."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.data.table.form import Form, defused, restored, runnable_cells, typed, types_of
from sfumato.errors import UnreadableInput


def test_a_form_in_other_words_is_refused():

    form = Form(types={"x": "integer"})
    assert Form.from_dict("csv", form.to_dict()) == form
    for change in ({"null": "NA"}, {"quote": "'"}, {"header": 1}, {"types": []}, {"other": 1}):
        with pytest.raises(UnreadableInput):
            Form.from_dict("csv", {**form.to_dict(), **change})
    with pytest.raises(UnreadableInput, match="do not fit its certificate"):
        typed(pl.DataFrame({"x": ["secret"]}), form, "data.csv")
    assert types_of(pl.DataFrame({"x": [2**64 - 1]}, schema={"x": pl.UInt64})) == {"x": "text"}


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_files_that_tell_their_types_are_held_against_the_form(format):  # noqa: A002
    """Else a certificate could say anything of them: nothing is converted by it."""
    frame = pl.DataFrame({"x": [1, 2], "y": ["a", None]})
    form = Form(format, types=types_of(frame))
    assert typed(frame, form, "data.parquet") is frame
    for types in ({"x": "text", "y": "text"}, {"x": "integer", "y": "number"}, {"z": "text"}):
        with pytest.raises(UnreadableInput, match="certificate"):
            typed(frame, Form(format, types=types), "data.parquet")


def test_defusing_is_undone_whatever_the_cells():
    pieces = ["", "'", "''", "=", "+", "-", "@", "\t", "\r", "1", "a", "'=", "''-"]
    column = pl.Series("x", [a + b + c for a in pieces for b in pieces for c in pieces])
    frame = pl.DataFrame([column])
    assert restored(defused(frame)).equals(frame)
    assert not runnable_cells(defused(frame))
