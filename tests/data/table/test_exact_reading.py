"""Files that a certificate describes are read in one way only, whatever program reads them."""

from __future__ import annotations

import io

import pytest

from sfumato.data.table.form import Form
from sfumato.data.table.read import read_written
from sfumato.errors import UnreadableInput

TEXT = {"a": "text", "b": "text"}


def read(data, form=Form(types=TEXT)):
    return read_written(io.BytesIO(data), form)[0].to_dict(as_series=False)


@pytest.mark.parametrize(
    "body",
    [
        b'x"y,1\n',
        b'x,1"2"\n',
        b'"x"y,1\n',
        b'"x,1\n',
        b"x\ry,1\n",
        b'"x",1\ry,2\n',
        b"x,1\r",
        b'""\nx,1\n',
    ],
)
def test_quotes_and_returns_that_programs_read_differently_are_refused(body):
    with pytest.raises(UnreadableInput):
        read(b"a,b\n" + body)


def test_quoted_signs_belong_to_the_value():
    assert read(b'a,b\r\n"x\r,""y""",1\r\n\r\n"",2\n') == {"a": ['x\r,"y"', None], "b": ["1", "2"]}


def test_a_decimal_comma_allows_no_point():
    form = Form(delimiter=";", decimal=",", types={"a": "decimal"})
    assert read(b"a\n1,5\n-2\n", form) == {"a": [1.5, -2.0]}
    for body in (b"1.5\n", b"1.234,5\n"):
        with pytest.raises(UnreadableInput):
            read(b"a\n" + body, form)


def test_a_key_that_stands_twice_is_refused_in_any_line():
    form = Form("jsonl", types={"a": "integer"})
    lines = [b'{"a":%d}\n' % i for i in range(500)]
    assert len(read(b"".join(lines), form)["a"]) == 500
    lines[400] = b'{"a":1,"a":2}\n'
    with pytest.raises(UnreadableInput, match="line 401"):
        read(b"".join(lines), form)
