"""Write a table in the form of its source, or another."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sfumato.core.source import Source
from sfumato.errors import OutputError, ParameterError, SfumatoError, did_you_mean
from sfumato.io import arrow, delimited, excel, jsonl, parquet, stats
from sfumato.io.formats import FORMAT_OF_SUFFIX, SUFFIX, require_format

if TYPE_CHECKING:
    import polars as pl

_READ_ONLY = {
    ".sas7bdat": ".xpt",
    ".por": ".sav",
    ".zsav": ".sav",
    ".xls": ".xlsx",
    ".xlsb": ".xlsx",
    ".xlsm": ".xlsx",
    ".ods": ".xlsx",
}


def suffix_of(format: str) -> str:  # noqa: A002 - the word users know
    """Suffix that files of a format get.

    >>> suffix_of("spss"), suffix_of("sas"), suffix_of("frame")
    ('.sav', '.xpt', '.csv')
    """
    if format not in SUFFIX:
        raise ParameterError(f"format {format!r} is not known.{did_you_mean(format, SUFFIX)}")
    return SUFFIX[format]


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str] | BinaryIO,
    source: Source,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
) -> None:
    """Write a table in the format asked for, else that of the path's suffix, else that of the source.

    The file appears complete or not at all. ``-`` is standard output. CSV keeps delimiter, encoding, decimal mark and
    header of a CSV source; SPSS and Stata keep labels; SAS is written as ``.xpt``.
    """
    if path == "-" or not isinstance(path, str | os.PathLike):
        _to_stream(frame, sys.stdout.buffer if path == "-" else path, source, format)  # type: ignore[arg-type]
        return
    target = Path(path)
    kind = _format(target, source, format)
    with _appearing(target) as draft:
        _write(frame, draft, source, kind, tabs=target.suffix.lower() in (".tsv", ".tab"))


def _format(target: Path, source: Source, asked: str | None) -> str:
    suffix = target.suffix.lower()
    if suffix in _READ_ONLY:
        raise OutputError(f"{target.name}: {suffix} files are read but not written; write {_READ_ONLY[suffix]}")
    if asked is not None:
        return require_format(asked)
    return FORMAT_OF_SUFFIX.get(suffix) or ("csv" if source.format == "frame" else source.format)


def _write(frame: pl.DataFrame, draft: Path, source: Source, kind: str, *, tabs: bool = False) -> None:
    try:
        if kind == "csv":
            form = source if source.format == "csv" else Source(name=source.name)
            delimited.write(frame, draft, form, delimiter="\t" if tabs else None)
        elif kind in ("spss", "stata", "sas"):
            stats.write(frame, draft, source, kind=kind)
        elif kind == "excel":
            excel.write(frame, draft, source)
        else:
            {"parquet": parquet.write, "arrow": arrow.write, "jsonl": jsonl.write}[kind](frame, draft, source)
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
        raise OutputError(f"{target}: writing is not permitted there; check owner and mode of the folder") from None
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or 'no reason given'}); nothing was left behind"
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def _to_stream(frame: pl.DataFrame, stream: BinaryIO, source: Source, asked: str | None) -> None:
    if not hasattr(stream, "write"):
        raise ParameterError(f"a path, '-' or a binary file object is needed, not {type(stream).__name__}")
    kind = _format(Path(), source, asked)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"table{SUFFIX[kind]}"
        _write(frame, draft, source, kind)
        stream.write(draft.read_bytes())
    stream.flush()
