"""How a delimited text is laid out, judged from a bounded piece of its beginning."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import io
import re
from collections import Counter
from collections.abc import Sequence

from sfumato.errors import ParameterError, UnreadableInput

DELIMITERS = ("\t", ";", "|", ",")
"""In the order of preference where two explain a text equally well: commas are commonest inside of
values.
"""
BLANK = " "
"""Tried where none of the others parts anything: blanks stand inside of values everywhere."""
HEAD = 1 << 20
"""Bytes looked at; more only when they do not hold two lines."""
ROWS = 300

_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)[\d.,]+(?:[eE][+-]?\d+)?%?")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ].*)?")
_COMMA_NUMBER = re.compile(r"[+-]?\d[\d.]*,\d+")
_BRACKETED = re.compile(r"[\[({][^\[\](){}]*[\])}]")
_SUSPICIOUS = re.compile(r"[,;\t|\[\](){}]")
_FIELD = re.compile(r"[\w.+-]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclasses.dataclass(frozen=True)
class TextLayout:
    """What the head of a delimited text shows. ``rows`` are its first records, a header
    included.
    """

    delimiter: str
    line_end: str
    header: bool
    padded: bool
    rows: tuple[tuple[str, ...], ...]


def sniff(
    data: bytes, *, delimiter: str | None, header: bool | None, prefer_tab: bool = False
) -> TextLayout:
    """Judge a text that has at least one character besides line ends."""
    # A bounded head, or as much as it takes to see two lines.
    size = HEAD
    while size < len(data) and max(data.count(b"\n", 0, size), data.count(b"\r", 0, size)) < 2:
        size *= 2
    text = data[:size].decode("utf-8", errors="ignore")
    whole = size >= len(data)
    if delimiter is None and prefer_tab and "\t" in text:
        delimiter = "\t"
    if delimiter is None:
        scores = {mark: _score(_records(text, mark, whole)) for mark in DELIMITERS if mark in text}
        delimiter = max(scores, key=lambda mark: scores[mark], default=",")
        if scores.get(delimiter, (0.0,))[0] <= 0:
            delimiter = BLANK if are_records(_records(text, BLANK, whole)) else ","
    rows = _records(text, delimiter, whole)
    if header is None:
        header = has_header(rows)
        # One column of records that an unknown sign parts: then its first line is a record too.
        if header and rows and len(rows[0]) == 1:
            cells = [_FIELD.findall(row[0]) for row in rows]
            header = not are_records([cells[0], *cells])
    # A blank after every delimiter of the data is a habit of the writer, not part of the values.
    below = rows[int(header) :]
    padded = len(below) >= (1 if header else 5) and len(rows[0]) >= 2
    padded = padded and all(cell.startswith(" ") for row in below for cell in row[1:])
    line_end = "\r" if "\n" not in text and "\r" in text else "\n"
    return TextLayout(delimiter, line_end, header, padded, tuple(map(tuple, rows)))


def _records(text: str, delimiter: str, whole: bool) -> list[list[str]]:
    """First records of a text that may be cut off; a line that is no CSV ends the sample."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) > ROWS:
                return rows
    except csv.Error:  # a field beyond the module's limit, or a lone carriage return
        return rows
    if whole or len(rows) < 2:
        return rows
    return rows[:-1]


def are_records(rows: Sequence[Sequence[str]]) -> bool:
    """Whether lines that were cut are records: five or more, equally many fields, three at least,
    and numbers below each other.

    >>> are_records([["A11", "6", "x"]] * 5), are_records([["Anna", "Berg"]] * 5)
    (True, False)
    """
    fields = len(rows[0]) if rows else 0
    if len(rows) < 5 or fields < 3 or any(len(row) != fields or "" in row for row in rows):
        return False
    return any(all(_looks_numeric(row[i]) for row in rows[1:]) for i in range(fields))


def _score(rows: list[list[str]]) -> tuple[float, float, int]:
    """How well a delimiter explains the rows: equal counts, fields without other delimiters, many
    fields.
    """
    if not rows or len(rows[0]) < 2:
        return (0.0, 0.0, 0)
    fields = len(rows[0])
    equal = sum(len(row) == fields for row in rows) / len(rows)
    usual = Counter(map(len, rows)).most_common(1)[0][1] / len(rows)
    # A field looks uncut when no delimiter is in it, but in a decimal or between brackets, as in
    # ``[20,30)``.
    uncut = cells = 0
    for row in rows:
        for cell in row:
            cells += 1
            suspicious = _SUSPICIOUS.search(cell) and not _COMMA_NUMBER.fullmatch(cell)
            uncut += not (suspicious and _SUSPICIOUS.search(_BRACKETED.sub("", cell)))
    return (round(equal + usual, 1), uncut / cells, fields)


def _looks_numeric(cell: str) -> bool:
    cell = cell.strip()
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns.

    Text above numbers names them, and so do counted columns (0, 1, 2, …) and years above other
    numbers. Numbers above numbers are data, and so is a row most of whose values, or a bare sign,
    come again below. In doubt it is a header.
    """
    if not rows:
        return True
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    filled = [cell.strip() for cell in first if cell.strip()]
    if below and len(filled) > 2 and filled == [str(i) for i in range(len(filled))]:
        return True
    if not below:
        return not any(map(_looks_numeric, first))
    repeated = 0
    has_data = False
    for i, cell in enumerate(first):
        values = [row[i] for row in below if row[i].strip()]
        if not cell.strip() or not values:
            continue
        if all(map(_looks_numeric, values)):
            is_year = _YEAR.fullmatch(cell.strip())
            years_below = any(_YEAR.fullmatch(value.strip()) for value in values)
            if not _looks_numeric(cell) or (is_year and not years_below):
                return True
            has_data = True
        elif cell in values and any(map(str.isalnum, cell)):
            repeated += 1
        elif cell in values:  # a sign such as * names nothing
            has_data = True
    return not has_data and 2 * repeated <= len(first)


# Bytes of a text file to UTF-8: byte-order marks, UTF-8, and what Windows wrote before it.

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 22
_UTF8_PAIR = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_WINDOWS_HOLES = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")


def to_utf8(data: bytes, *, name: str, encoding: str | None = None) -> tuple[bytes, str, list[str]]:
    """Return the text as UTF-8 bytes without a mark, the encoding it had, and what was guessed.

    A byte-order mark decides, then valid UTF-8, then Windows-1252 with a note. A file that is
    mostly UTF-8 with a few broken bytes, or that has bytes Windows-1252 does not know, is refused
    with the line of the first of them.
    """
    marked = next((label for mark, label in _MARKS if data.startswith(mark)), None)
    if encoding is not None:
        return _read_as(encoding, data, name, marked)
    if marked == "utf-8-sig":
        data = data[len(codecs.BOM_UTF8) :]
    elif marked is not None:
        return _decoded(data, name, marked), marked, []
    broken = first_broken_byte(data)
    if broken is None:
        return _without_nul(data, name), marked or "utf-8", []
    if marked is not None:
        raise UnreadableInput(
            f"{name}, line {line_of(data, broken)}: not valid UTF-8, though the file is marked as"
            " UTF-8: save it again"
        )
    _without_nul(data, name)
    return (
        _windows(data, name, broken),
        "cp1252",
        ["not UTF-8: read as Windows-1252 (cp1252); give --encoding (encoding=) if that is wrong"],
    )


def first_broken_byte(data: bytes) -> int | None:
    """Offset of the first byte that is not valid UTF-8, or None."""
    if data.isascii():
        return None
    decoder, view, start = codecs.getincrementaldecoder("utf-8")(), memoryview(data), 0
    try:
        while start < len(data):
            pending = len(decoder.getstate()[0])
            decoder.decode(view[start : start + _CHUNK], final=start + _CHUNK >= len(data))
            start += _CHUNK
    except UnicodeDecodeError as error:
        return start - pending + error.start
    return None


def line_of(data: bytes, offset: int) -> int:
    """1-based line of a byte offset, counting line feeds, or carriage returns where there are
    none.
    """
    feeds = data.count(b"\n", 0, offset)
    return 1 + (feeds or data.count(b"\r", 0, offset) if b"\n" not in data else feeds)


def _read_as(
    encoding: str, data: bytes, name: str, marked: str | None
) -> tuple[bytes, str, list[str]]:
    """The text in an encoding that somebody named."""
    try:
        label = codecs.lookup(encoding).name
        "".encode(label)  # codecs such as base64 are known but no text encodings
    except LookupError:
        raise ParameterError(
            f"encoding {encoding!r} is not known; try utf-8, cp1252, latin-1 or utf-16"
        ) from None
    if label not in ("utf-8", "utf-8-sig"):
        return _decoded(data, name, label), label, []
    if marked == "utf-8-sig":
        data, label = data[len(codecs.BOM_UTF8) :], marked
    broken = first_broken_byte(data)
    if broken is not None:
        raise UnreadableInput(
            f"{name}, line {line_of(data, broken)}: not valid UTF-8; give --encoding cp1252 "
            "(encoding=) if Windows wrote it, or save it again"
        )
    return _without_nul(data, name), label, []


def _decoded(data: bytes, name: str, encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
        return _without_nul(text.removeprefix("\ufeff").encode(), name)
    except UnicodeError as error:
        raise UnreadableInput(
            f"{name}{_where(data, encoding, error)}: not valid {encoding}; give the one it was "
            "written in: --encoding (encoding=)"
        ) from None


def _where(data: bytes, encoding: str, error: UnicodeError) -> str:
    """The line of a decoding error, where the codec tells it."""
    if not isinstance(error, UnicodeDecodeError):
        return ""
    try:
        before = data[: error.start].decode(encoding, errors="ignore")
    except UnicodeError:
        return ""
    return f", line {1 + (before.count(chr(10)) or before.count(chr(13)))}"


def _without_nul(data: bytes, name: str) -> bytes:
    nul = data.find(b"\0")
    if nul >= 0:
        raise UnreadableInput(
            f"{name}, line {line_of(data, nul)}: a NUL byte, so this is not plain text; give "
            "--encoding utf-16 (encoding=) if it is UTF-16 without a mark; sfumato recognises "
            "other formats by the ending of the file name"
        )
    return data


def _windows(data: bytes, name: str, broken: int) -> bytes:
    pairs = _UTF8_PAIR.findall(data)
    strays = len(_ABOVE_ASCII.findall(data)) - sum(map(len, pairs))
    if len(pairs) >= strays:
        raise UnreadableInput(
            f"{name}, line {line_of(data, broken)}: broken UTF-8 (stray bytes: {strays:,}; the "
            "rest of the file is UTF-8); correct the line, or give --encoding cp1252 (encoding=) "
            "to read every byte as Windows-1252"
        )
    hole = _WINDOWS_HOLES.search(data)
    if hole is not None:
        raise UnreadableInput(
            f"{name}, line {line_of(data, hole.start())}: neither UTF-8 nor Windows-1252; give the "
            "one it was written in: --encoding (encoding=)"
        )
    return data.decode("cp1252").encode()
