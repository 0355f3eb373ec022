"""Bytes of a text file to UTF-8: byte-order marks, UTF-8, and what Windows wrote before it."""

from __future__ import annotations

import codecs
import re

from sfumato.errors import ParameterError, UnreadableInput

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 22
_UTF8_PAIR = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_WINDOWS_HOLES = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")


def to_utf8(data: bytes, *, name: str, encoding: str | None = None) -> tuple[bytes, str, list[str]]:
    """Return the text as UTF-8 bytes without a mark, the encoding it had, and what was guessed.

    A byte-order mark decides, then valid UTF-8, then Windows-1252 with a note. A file that is mostly UTF-8 with a
    few broken bytes, or that has bytes Windows-1252 does not know, is refused with the line of the first of them.
    """
    marked = next((label for mark, label in _MARKS if data.startswith(mark)), None)
    if encoding is not None:
        return _as_asked(data, name, _known(encoding), marked)
    if marked == "utf-8-sig":
        data = data[len(codecs.BOM_UTF8) :]
    elif marked is not None:
        return _decoded(data, name, marked), marked, []
    broken = first_broken_byte(data)
    if broken is None:
        return _without_nul(data, name), marked or "utf-8", []
    if marked is not None:
        raise UnreadableInput(
            f"{name}, line {line_of(data, broken)}: not valid UTF-8, though the file is marked as UTF-8: save it again"
        )
    _without_nul(data, name)
    return (
        _windows(data, name, broken),
        "cp1252",
        ["not UTF-8: read as Windows-1252 (cp1252); pass encoding= if that is wrong"],
    )


def first_broken_byte(data: bytes) -> int | None:
    """Offset of the first byte that is not valid UTF-8, or None."""
    if data.isascii():
        return None
    decoder, view, start = codecs.getincrementaldecoder("utf-8")(), memoryview(data), 0
    try:
        while start < len(data):
            kept = len(decoder.getstate()[0])
            decoder.decode(view[start : start + _CHUNK], final=start + _CHUNK >= len(data))
            start += _CHUNK
    except UnicodeDecodeError as error:
        return start - kept + error.start
    return None


def line_of(data: bytes, offset: int) -> int:
    """1-based line of a byte offset, counting line feeds, or carriage returns where there are none."""
    feeds = data.count(b"\n", 0, offset)
    return 1 + (feeds or data.count(b"\r", 0, offset) if b"\n" not in data else feeds)


def _known(encoding: str) -> str:
    try:
        label = codecs.lookup(encoding).name
        "".encode(label)  # codecs such as base64 are known but no text encodings
    except LookupError:
        raise ParameterError(f"encoding {encoding!r} is not known; try utf-8, cp1252, latin-1 or utf-16") from None
    return label


def _as_asked(data: bytes, name: str, encoding: str, marked: str | None) -> tuple[bytes, str, list[str]]:
    if encoding in ("utf-8", "utf-8-sig"):
        if marked == "utf-8-sig":
            data, encoding = data[len(codecs.BOM_UTF8) :], marked
        broken = first_broken_byte(data)
        if broken is not None:
            raise UnreadableInput(
                f"{name}, line {line_of(data, broken)}: not valid UTF-8; pass encoding='cp1252' if Windows wrote it, or save it again"
            )
        return _without_nul(data, name), encoding, []
    return _decoded(data, name, encoding), encoding, []


def _decoded(data: bytes, name: str, encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
        return _without_nul(text.removeprefix("\ufeff").encode(), name)
    except UnicodeError as error:
        raise UnreadableInput(
            f"{name}{_where(data, encoding, error)}: not valid {encoding}; pass the encoding it was written in"
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
            f"{name}, line {line_of(data, nul)}: a NUL byte, so this is no plain text; "
            "pass encoding='utf-16' if it is UTF-16 without a mark, or format= if it is another format"
        )
    return data


def _windows(data: bytes, name: str, broken: int) -> bytes:
    pairs = _UTF8_PAIR.findall(data)
    strays = len(_ABOVE_ASCII.findall(data)) - sum(map(len, pairs))
    if len(pairs) >= strays:
        raise UnreadableInput(
            f"{name}, line {line_of(data, broken)}: broken UTF-8 (stray bytes: {strays:,}; the rest of the file is UTF-8); "
            "mend the line, or pass encoding='cp1252' to read every byte as Windows-1252"
        )
    hole = _WINDOWS_HOLES.search(data)
    if hole is not None:
        raise UnreadableInput(
            f"{name}, line {line_of(data, hole.start())}: neither UTF-8 nor Windows-1252; pass the encoding it was written in"
        )
    return data.decode("cp1252").encode()
