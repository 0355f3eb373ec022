"""Text in any usual encoding becomes UTF-8, or is refused with a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.table import sniff as encodings
from sfumato.data.table.sniff import first_broken_byte, to_utf8
from sfumato.errors import SfumatoError, UnreadableInput

TEXT = "name,città\nJosé,Zürich\nŁódź… no\n"


@pytest.mark.parametrize(
    ("encoding", "label"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32")],
)
def test_marks_and_utf8(encoding, label):
    data, found, notes = to_utf8(TEXT.encode(encoding), name="t")
    assert (data.decode(), found, notes) == (TEXT, label, [])


def test_windows_is_guessed_with_a_note():
    text = "name,city\nJosé,“Zürich” – €\n"
    data, found, notes = to_utf8(text.encode("cp1252"), name="t")
    assert (data.decode(), found) == (text, "cp1252")
    assert "encoding=" in notes[0]


def test_text_of_windows_with_a_lucky_pair_is_not_called_broken():
    text = "straß“ café naïve"  # ß and the quote after it are a valid pair of UTF-8 bytes
    assert to_utf8(text.encode("cp1252"), name="t")[0].decode() == text


@given(st.binary(max_size=40))
def test_first_broken_byte_is_where_python_finds_it(data):
    try:
        data.decode()
        expected = None
    except UnicodeDecodeError as error:
        expected = error.start
    assert first_broken_byte(data) == expected


@given(st.binary(max_size=30), st.integers(1, 7))
def test_pieces_do_not_matter(data, size):
    with pytest.MonkeyPatch.context() as patch:
        whole = first_broken_byte(data)
        patch.setattr(encodings, "_CHUNK", size)
        assert first_broken_byte(data) == whole


@given(
    st.binary(max_size=40),
    st.sampled_from([None, "utf-8", "cp1252", "utf-16", "utf-7", "shift_jis", "idna", "punycode"]),
)
def test_any_bytes_become_utf8_or_are_refused(data, encoding):
    try:
        text, _, _ = to_utf8(data, name="t", encoding=encoding)
    except SfumatoError:
        return
    assert first_broken_byte(text) is None
    assert b"\0" not in text


def test_the_line_of_the_broken_byte_is_named():
    with pytest.raises(UnreadableInput, match="line 3"):
        to_utf8(b"a\nb\n\xff\n", name="t", encoding="utf-8")
    with pytest.raises(UnreadableInput, match="line 2"):
        to_utf8(b"a\r\xff\r", name="t", encoding="utf-8")
