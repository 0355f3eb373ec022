"""Read a table from a file, a stream or standard input."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sfumato.core.source import LAYOUT, Intake, Source
from sfumato.data.table import columnar, delimited, excel, jsonl, stats
from sfumato.data.table.form import Form, restored, typed
from sfumato.data.table.formats import choose_format, require_format
from sfumato.data.table.values import about_codes, settle_values
from sfumato.errors import ParameterError, UnreadableInput

if TYPE_CHECKING:
    import polars as pl


def holds_more(file: Path, format: str, *, exact: bool = False) -> bool:  # noqa: A002
    """Whether a written file holds more than the table that is read from it; ``exact``: the same version of polars wrote it."""
    if format == "parquet":
        return columnar.more_in_parquet(file, exact=exact)
    return format == "excel" and excel.more_in_workbook(file)


_MEANINGFUL = {
    "csv": {"delimiter", "encoding", "decimal", "header", "rename_duplicates"},
    "jsonl": {"encoding"},
    "excel": {"header", "sheet", "rename_duplicates"},
    "spss": {"encoding"},
    "stata": {"encoding"},
    "sas": {"encoding"},
}
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
        format: ``csv, parquet, arrow, jsonl, excel, spss, stata`` or ``sas``; found by suffix and first bytes when None.
        text: leave every column of a CSV as text. What a column is then does not depend on what all its rows hold; other
            formats say it themselves.
        lists: take columns whose cells are lists of single values (Parquet, Arrow, JSON lines); otherwise they are refused.
        otherwise: what a recipe says about reading, for what is not said here. Of that, what means nothing for the format is
            left out: the same recipe may go with a CSV and a Parquet file.
        said: the fields of :class:`~sfumato.core.source.Intake` that are known: ``delimiter, encoding, decimal, header, sheet,
            rename_duplicates, missing_values, unicode, blanks``.

    Raises:
        UnreadableInput: the file is absent, empty, damaged or no table; the message names the line and the fix.
        ParameterError: an option is out of its range or means nothing for the format.
    """
    name, suffix, data = _load(path)
    kind = choose_format(data, name=name, suffix=suffix, asked=format)
    _require_meaning(kind, said)
    intake = Intake.of(said).over(_meaningful(kind, otherwise or Intake()))
    digest = hashlib.sha256(data).hexdigest()
    tabs = suffix.lower() in (".tsv", ".tab")
    frame, source = _parse(kind, data, name, intake, text=text, prefer_tab=tabs, lists=lists)
    return frame, dataclasses.replace(source, digest=digest, intake=intake)


def read_written(
    path: str | os.PathLike[str] | BinaryIO, form: Form, *, lists: bool = False
) -> tuple[pl.DataFrame, Source]:
    """Read a file that was written in a known form, as everyone does who checks it: nothing is guessed.

    A form without types (of a certificate that tells only the layout) leaves the types of a CSV to be found.
    """
    meaningful = _MEANINGFUL.get(form.format, set()) if form.format in ("csv", "excel") else set()
    layout = {name: getattr(form, name) for name in LAYOUT if name in meaningful}
    if form.types is None:
        return read_table(path, format=form.format, lists=lists, **layout)
    name, _, data = _load(path)
    kind, intake = require_format(form.format), Intake(**layout)
    if kind == "csv":
        frame, source = delimited.read(data, name=name, intake=intake, text=True, exact=True)
    else:
        frame, source = _parse(kind, data, name, intake, text=False, prefer_tab=False, lists=lists)
    frame = restored(frame) if form.defused else frame
    if kind in ("csv", "excel") and not form.header and frame.width == len(form.types):
        frame.columns = list(form.types)  # a file without names: the form knows them, in their order
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


def _require_meaning(kind: str, said: dict[str, Any]) -> None:
    """Raise when something was said that means nothing for the format."""
    given = {option for option, value in said.items() if value is not None}
    options = {field.name for field in dataclasses.fields(Intake)}
    idle = sorted(given & options - _ANY_FORMAT - _MEANINGFUL.get(kind, set()))
    if idle:
        raise ParameterError(
            f"{' and '.join(idle)} mean{'s' if len(idle) == 1 else ''} nothing for {kind} files; leave it out"
        )


def _meaningful(kind: str, intake: Intake) -> Intake:
    """What a recipe says that means something for the format."""
    options = _ANY_FORMAT | _MEANINGFUL.get(kind, set())
    return Intake(**{f.name: getattr(intake, f.name) for f in dataclasses.fields(intake) if f.name in options})


def _parse(
    kind: str, data: bytes, name: str, intake: Intake, *, text: bool, prefer_tab: bool, lists: bool
) -> tuple[pl.DataFrame, Source]:
    if kind == "csv":
        return delimited.read(data, name=name, intake=intake, text=text, prefer_tab=prefer_tab)
    if kind == "jsonl":
        frame, source = jsonl.read(data, name=name, encoding=intake.encoding, lists=lists)
    elif kind == "excel":
        how = {"header": intake.header, "rename_duplicates": intake.rename_duplicates}
        frame, source = excel.read(data, name=name, sheet=intake.sheet, **how)
    elif kind in ("parquet", "arrow"):
        frame, source = {"parquet": columnar.read_parquet, "arrow": columnar.read_arrow}[kind](
            data, name=name, lists=lists
        )
    else:
        frame, source = stats.read(data, name=name, kind=kind, encoding=intake.encoding)
    columns = frame.get_columns()
    notes = about_codes(settle_values(columns, intake))
    return type(frame)(columns), dataclasses.replace(source, notes=(*source.notes, *notes))
