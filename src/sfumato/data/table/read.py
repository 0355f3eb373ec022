"""Read a table from a file, a stream or standard input."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sfumato.core.source import LAYOUT, Intake, Source
from sfumato.core.words import inflect, join_words
from sfumato.data.table.form import Form, restored, typed
from sfumato.data.table.formats import FileFormat, ReadRequest, choose_format, file_format
from sfumato.data.table.values import about_codes, settle_values
from sfumato.errors import ParameterError, UnreadableInput

if TYPE_CHECKING:
    import polars as pl


def holds_more(file: Path, format: str, *, exact: bool = False) -> bool:  # noqa: A002
    """Whether a written file holds more than the table that is read from it; ``exact``: the same
    version of polars wrote it.
    """
    return file_format(format).holds_more(file, exact=exact)


_ANY_FORMAT = {"missing_values", "missing_in", "unicode", "blanks"}


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    text: bool = False,
    lists: bool = False,
    otherwise: Intake | None = None,
    **said: Any,
) -> tuple[pl.DataFrame, Source]:
    """Read a table and the form it had.

    Parameters:
        path: a file, ``-`` for standard input, or a binary file object.
        format: ``csv, parquet, arrow, jsonl, excel, spss, stata`` or ``sas``; found by suffix and
        first bytes when None.
        text: leave every column of a CSV as text. What a column is then does not depend on what all
            its rows hold; other formats say it themselves.
        lists: take columns whose cells are lists of single values (Parquet, Arrow, JSON lines);
        otherwise they are refused.
        otherwise: what a recipe says about reading, for what is not said here. Of that, what means
            nothing for the format is left out: the same recipe may go with a CSV and a Parquet
            file.
        said: the fields of :class:`~sfumato.core.source.Intake` that are known:
            ``delimiter, encoding, decimal, header, sheet, rename_duplicates, missing_values,
            unicode, blanks``.

    Raises:
        UnreadableInput: the file is absent, empty, damaged or no table; the message names the line
        and the fix.
        ParameterError: an option is out of its range or means nothing for the format.
    """
    name, suffix, data = _load(path)
    kind = choose_format(data, name=name, suffix=suffix, requested=format)
    # What was said here must mean something for the format; of what a recipe says, the rest is left
    # out.
    options = {field.name for field in dataclasses.fields(Intake)}
    file_reader = file_format(kind)
    meaningful = _ANY_FORMAT | file_reader.options
    idle = sorted(name for name in options - meaningful if said.get(name) is not None)
    if idle:
        raise ParameterError(
            f"{join_words(idle)} {inflect(len(idle), 'has', 'have')} no effect on {kind} files; "
            "leave it out"
        )
    intake = Intake.of(said)
    if otherwise is not None:
        intake = intake.over(
            Intake(**{name: getattr(otherwise, name) for name in options & meaningful})
        )
    digest = hashlib.sha256(data).hexdigest()
    tabs = suffix.lower() in (".tsv", ".tab")
    frame, source = _parse(
        file_reader, data, name, ReadRequest(intake, text=text, prefer_tab=tabs, lists=lists)
    )
    return frame, dataclasses.replace(source, digest=digest, intake=intake)


def read_written(
    path: str | os.PathLike[str] | BinaryIO, form: Form, *, lists: bool = False
) -> tuple[pl.DataFrame, Source]:
    """Read a file that was written in a known form, as everyone does who checks it: nothing is
    guessed.

    A form without types (of a certificate that tells only the layout) leaves the types of a CSV to
    be found.
    """
    file_reader = file_format(form.format)
    has_layout = form.format in ("csv", "excel")
    layout = {
        name: getattr(form, name) for name in LAYOUT if has_layout and name in file_reader.options
    }
    if form.types is None:
        return read_table(path, format=form.format, lists=lists, **layout)
    name, _, data = _load(path)
    frame, source = _parse(
        file_reader, data, name, ReadRequest(Intake(**layout), text=True, exact=True, lists=lists)
    )
    if form.defused:
        frame = restored(frame)
    if has_layout and not form.header and frame.width == len(form.types):
        # a file without names: the form knows them, in their order
        frame.columns = list(form.types)
    return typed(frame, form, name), source


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
        reason = "this file does not exist; check the path"
    except IsADirectoryError:
        reason = "this is a folder; name one file in it"
    except PermissionError:
        reason = "permission to read it is denied; check its owner and mode"
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = f"it cannot be read ({getattr(error, 'strerror', None) or 'not a valid path'})"
    raise UnreadableInput(f"{os.fspath(path)!s}: {reason}")


def _load_stream(stream: BinaryIO) -> tuple[str, str, bytes]:
    if not hasattr(stream, "read"):
        raise ParameterError(
            f"give a path, '-' or a binary file object, not {type(stream).__name__}"
        )
    label = getattr(stream, "name", None)
    file = Path(label) if isinstance(label, str) else Path("the stream")
    data: Any = stream.read()
    if not isinstance(data, bytes):
        raise ParameterError("the file object must be binary: open it with mode 'rb'")
    return file.name, file.suffix, data


def _parse(
    file_reader: FileFormat, data: bytes, name: str, request: ReadRequest
) -> tuple[pl.DataFrame, Source]:
    frame, source = file_reader.read(data, name, request)
    if file_reader.settles_values:
        return frame, source
    columns = frame.get_columns()
    notes = about_codes(settle_values(columns, request.intake))
    return type(frame)(columns), dataclasses.replace(source, notes=(*source.notes, *notes))
