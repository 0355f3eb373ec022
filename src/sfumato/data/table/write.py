"""Write a table in the form of its source, or another."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from sfumato.core.source import Source
from sfumato.core.table import compact
from sfumato.data.table.form import Form, types_of
from sfumato.data.table.formats import file_format, format_of_suffix, require_format
from sfumato.errors import OutputError, ParameterError, SfumatoError

if TYPE_CHECKING:
    import polars as pl

Inspect = Callable[[Path, Form], None]
"""Looks at a written file and its form before the file appears."""


def suffix_of(format: str) -> str:  # noqa: A002 - the word users know
    """Suffix that files of a format get.

    >>> suffix_of("spss"), suffix_of("sas"), suffix_of("frame")
    ('.sav', '.xpt', '.csv')
    """
    return file_format("csv" if format == "frame" else format).suffixes[0]


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str] | BinaryIO,
    source: Source,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    defuse: bool = False,
    inspect: Inspect | None = None,
) -> Form:
    """Write a table in the format asked for, else that of the path's suffix, else that of the
    source; return its form.

    The file appears complete or not at all. ``-`` is standard output. CSV keeps delimiter, encoding
    and decimal mark of a CSV source, and goes without header if that did and the names are those of
    positions; SPSS and Stata keep labels; SAS is written as ``.xpt``. A column of categories is
    written with those that occur and no others. ``defuse`` keeps spreadsheets from running cells of
    a CSV. ``inspect`` looks at the written file and its form before it appears, and may raise.
    """
    if path == "-" or not isinstance(path, str | os.PathLike):
        stream = sys.stdout.buffer if path == "-" else cast("BinaryIO", path)
        return _to_stream(frame, stream, source, format, defuse, inspect)
    target = Path(path)
    form = form_for(frame, target, source, format=format, defuse=defuse)
    with _appearing(target) as draft:
        _write(frame, draft, source, form)
        if inspect is not None:
            inspect(draft, form)
    return form


def form_for(
    frame: pl.DataFrame,
    target: Path,
    source: Source,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    defuse: bool = False,
) -> Form:
    """The form in which a table would be written to a file."""
    suffix = target.suffix.lower()
    by_suffix = format_of_suffix(suffix)
    if by_suffix is not None and suffix in file_format(by_suffix).read_only:
        raise OutputError(
            f"{target.name}: {suffix} files can be read but not written; write "
            f"{suffix_of(by_suffix)}"
        )
    if format is not None:
        kind = require_format(format)
    else:
        kind = by_suffix or ("csv" if source.format == "frame" else source.format)
    if defuse and kind != "csv":
        raise ParameterError(
            f"defuse has no effect on {kind} files, which a spreadsheet does not run; leave it out"
        )
    form = Form.of(kind, source, tabs=suffix in (".tsv", ".tab"), defused=defuse)
    # names that positions do not give
    has_names = frame.columns != [f"column_{i}" for i in range(1, frame.width + 1)]
    return dataclasses.replace(form, types=types_of(frame), header=form.header or has_names)


def _write(frame: pl.DataFrame, draft: Path, source: Source, form: Form) -> None:
    frame, kind = frame.with_columns(compact(column) for column in frame), form.format
    try:
        file_format(kind).write(frame, draft, source, form)
    except (SfumatoError, OSError):
        raise
    except Exception:  # noqa: BLE001 - a writer's own message may hold values
        raise OutputError(f"the table cannot be written as {kind}; write another format") from None


@contextlib.contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A draft beside the target that becomes the target at the end, or vanishes."""
    draft = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        if target.is_dir():
            raise OutputError(f"{target}: this is a folder; name a file")
        yield draft
        os.replace(draft, target)
    except SfumatoError:
        raise
    except FileNotFoundError:
        raise OutputError(f"{target}: the folder does not exist; create it first") from None
    except PermissionError:
        raise OutputError(
            f"{target}: permission to write is denied; check owner and mode of the folder"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or 'no reason given'}); no partial file "
            "remains"
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def _to_stream(
    frame: pl.DataFrame,
    stream: BinaryIO,
    source: Source,
    requested: str | None,
    defuse: bool,
    inspect: Inspect | None,
) -> Form:
    if not hasattr(stream, "write"):
        raise ParameterError(
            f"give a path, '-' or a binary file object, not {type(stream).__name__}"
        )
    form = form_for(frame, Path(), source, format=requested, defuse=defuse)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"table{suffix_of(form.format)}"
        _write(frame, draft, source, form)
        if inspect is not None:
            inspect(draft, form)
        stream.write(draft.read_bytes())
    stream.flush()
    return form
