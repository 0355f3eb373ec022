"""Records of a delimited text, compared with Python's csv module."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.table import delimited as records
from sfumato.errors import UnreadableInput

_row = st.lists(st.text(alphabet='a,"\n', max_size=4), min_size=1, max_size=4)


def written(table):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue().encode()


@given(st.lists(_row, min_size=1, max_size=6), st.integers(1, 9), st.booleans())
def test_fields_per_record(table, piece, ended):
    data = written(table) if ended else written(table)[:-1]
    if not data:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_CHUNK", piece)
        found = records.find_records(data, delimiter=",", line_end="\n")
        records.refuse_broken_quotes(data, name="t", delimiter=",", line_end="\n")
    assert found.fields.tolist() == [max(len(row), 1) for row in table]


@given(st.lists(_row, min_size=1, max_size=6))
def test_lines_are_those_an_editor_shows(table):
    data = written(table)
    found = records.find_records(data, delimiter=",", line_end="\n")
    lines = [records.line_number(data, int(start), "\n") for start in found.starts]
    heights = [written([row]).count(b"\n") for row in table]
    assert lines == [1 + sum(heights[:i]) for i in range(len(table))]


def test_blank_records():
    data = b"a,b\n\n1,2\r\n\r\n\rx\n"
    found = records.find_records(data, delimiter=",", line_end="\n")
    assert np.flatnonzero(found.blank(data)).tolist() == [1, 3]


QUOTES = {
    "inside a field": (b'a\nb"c\n', "line 2: a quote inside"),
    "never closed": (b'a\n"b\nc\n', "line 2: a quoted field begins here"),
    "closed too early": (b'a\n\n"b"c\n', "line 3: a quoted field begins here"),
    "closed and opened": (b'a\n"b\nc"d"\n', "line 2: a quoted field begins here"),
}


@pytest.mark.parametrize(("data", "message"), QUOTES.values(), ids=QUOTES)
def test_broken_quotes(data, message):
    with pytest.raises(UnreadableInput, match=message):
        records.refuse_broken_quotes(data, name="t", delimiter=",", line_end="\n")
