"""Read a table from a file, a stream or standard input."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sfumato.core.source import Source
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.io import arrow, delimited, excel, jsonl, parquet, stats
from sfumato.io.formats import choose_format

if TYPE_CHECKING:
    import polars as pl

_MEANINGFUL = {
    "csv": {"delimiter", "encoding", "decimal", "header"},
    "jsonl": {"encoding"},
    "excel": {"header"},
    "spss": {"encoding"},
    "stata": {"encoding"},
    "sas": {"encoding"},
}


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    text: bool = False,
) -> tuple[pl.DataFrame, Source]:
    """Read a table and the form it had.

    Parameters:
        path: a file, ``-`` for standard input, or a binary file object.
        format: ``csv, parquet, arrow, jsonl, excel, spss, stata`` or ``sas``; found by suffix and first bytes when None.
        delimiter: sign between the fields of a CSV; found when None.
        encoding: of CSV, JSON lines and statistics files; found when None.
        decimal: ``.`` or ``,``; found when None, and needed where ``33.000`` could be both.
        header: whether the first row of CSV and Excel names the columns; found when None.
        text: leave every column of a CSV as text. What a column is then does not depend on what all its rows hold; other
            formats say it themselves.

    Raises:
        UnreadableInput: the file is absent, empty, damaged or no table; the message names the line and the fix.
        ParameterError: an option is out of its range or means nothing for the format.
    """
    name, suffix, data = _load(path)
    kind = choose_format(data, name=name, suffix=suffix, asked=format)
    given = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "header": header}
    options = _meaningful(kind, given) | ({"text": True} if text and kind == "csv" else {})
    digest = hashlib.sha256(data).hexdigest()
    frame, source = _parse(kind, data, name, options, prefer_tab=suffix.lower() in (".tsv", ".tab"))
    return frame, dataclasses.replace(source, digest=digest)


def _load(path: str | os.PathLike[str] | BinaryIO) -> tuple[str, str, bytes]:
    """Name, suffix and bytes of the input."""
    if path == "-":
        return "standard input", "", sys.stdin.buffer.read()
    if not isinstance(path, str | os.PathLike):
        return _load_stream(path)
    file = Path(path)
    try:
        return file.name, file.suffix, file.read_bytes()
    except FileNotFoundError:
        reason = "there is no such file; check the path"
    except IsADirectoryError:
        reason = "this is a folder; name one file in it"
    except PermissionError:
        reason = "reading it is not permitted; check its owner and mode"
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = f"it cannot be read ({getattr(error, 'strerror', None) or 'not a valid path'})"
    raise UnreadableInput(f"{os.fspath(path)!s}: {reason}")


def _load_stream(stream: BinaryIO) -> tuple[str, str, bytes]:
    if not hasattr(stream, "read"):
        raise ParameterError(f"a path, '-' or a binary file object is needed, not {type(stream).__name__}")
    label = getattr(stream, "name", None)
    file = Path(label) if isinstance(label, str) else Path("the stream")
    data: Any = stream.read()
    if not isinstance(data, bytes):
        raise ParameterError("the file object must be binary: open it with mode 'rb'")
    return file.name, file.suffix, data


def _meaningful(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, when all of them mean something for the format."""
    asked = {option: value for option, value in given.items() if value is not None}
    idle = sorted(asked.keys() - _MEANINGFUL.get(kind, set()))
    if idle:
        raise ParameterError(
            f"{' and '.join(idle)} mean{'s' if len(idle) == 1 else ''} nothing for {kind} files; leave it out"
        )
    return asked


def _parse(
    kind: str, data: bytes, name: str, options: dict[str, Any], *, prefer_tab: bool
) -> tuple[pl.DataFrame, Source]:
    if kind == "csv":
        return delimited.read(data, name=name, options=delimited.Options(**options), prefer_tab=prefer_tab)
    if kind == "jsonl":
        return jsonl.read(data, name=name, **options)
    if kind == "excel":
        return excel.read(data, name=name, **options)
    if kind in ("parquet", "arrow"):
        return {"parquet": parquet.read, "arrow": arrow.read}[kind](data, name=name)
    return stats.read(data, name=name, kind=kind, **options)
