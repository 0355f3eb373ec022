"""The formats by name, by file suffix and by their first bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, SfumatoError, UnreadableInput, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from sfumato.core.source import Source

SUFFIX = {
    "csv": ".csv",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "jsonl": ".jsonl",
    "excel": ".xlsx",
    "spss": ".sav",
    "stata": ".dta",
    "sas": ".xpt",
    "frame": ".csv",
}
"""The suffix a format is written with; a table that came as a frame is written as CSV."""

FORMATS = tuple(name for name in SUFFIX if name != "frame")

FORMAT_OF_SUFFIX = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "excel"),
    **dict.fromkeys((".sav", ".zsav", ".por"), "spss"),
    ".dta": "stata",
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
}

ARROW_STREAM = b"\xff\xff\xff\xff"
SAS7BDAT = bytes.fromhex("00" * 12 + "c2ea8160b31411cfbd92080009c7318c181f1011")
SAS_XPORT = b"HEADER RECORD*******"
SPSS_PORTABLE = b"SPSS PORT FILE"
_MAGIC = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (ARROW_STREAM, "arrow"),
    (b"PK\x03\x04", "excel"),
    (b"\xd0\xcf\x11\xe0", "excel"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"<stata_dta>", "stata"),
    (SAS7BDAT, "sas"),
    (SAS_XPORT, "sas"),
)
_COMPRESSED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))


def require_format(name: str) -> str:
    """Return a known format's name, or raise.

    >>> require_format("parqet")
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: format 'parqet' is not known. Did you mean 'parquet'?
    """
    if name not in FORMATS:
        raise ParameterError(f"format {name!r} is not known.{did_you_mean(name, FORMATS)}")
    return name


def format_of_bytes(data: bytes) -> str | None:
    """Format that the first bytes announce, or None for text and the unknown."""
    if SPSS_PORTABLE in data[:100]:
        return "spss"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def choose_format(data: bytes, *, name: str, suffix: str, asked: str | None) -> str:
    """Decide how to read a file: as asked, else by suffix, else by its first bytes, else as CSV."""
    if asked is not None:
        return require_format(asked)
    packed = next((kind for magic, kind in _COMPRESSED if data.startswith(magic)), None)
    if packed is not None:
        raise UnreadableInput(f"{name} is compressed with {packed}: unpack it first")
    by_suffix, by_bytes = FORMAT_OF_SUFFIX.get(suffix.lower()), format_of_bytes(data)
    if by_suffix is not None and by_bytes is not None and by_suffix != by_bytes:
        raise UnreadableInput(
            f"{name} is named like {by_suffix} but holds {by_bytes} data: rename it, or pass format={by_bytes!r}"
        )
    return by_suffix or by_bytes or "csv"


@contextlib.contextmanager
def refusing(message: str) -> Iterator[None]:
    """Turn whatever a reader throws into :class:`UnreadableInput` without its text, which may hold values."""
    try:
        yield
    except (SfumatoError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # noqa: BLE001 - a panic inside polars is no Exception
        raise UnreadableInput(message) from None


def refuse_nested(frame: pl.DataFrame, name: str, *, lists: bool = False) -> pl.DataFrame:
    """Return the frame, or raise when a column holds lists or records; with ``lists`` those of single values may stand."""
    nested = [
        column
        for column, dtype in frame.schema.items()
        if (dtype.is_nested() and not (lists and is_list(dtype))) or dtype.is_object()
    ]
    if nested:
        raise UnreadableInput(
            f"{name}: {listed(nested)} hold{'s' if len(nested) == 1 else ''} nested values; "
            "a table has one value a cell: flatten or drop before reading; people with a list of items each are data of shape baskets (sfumato run)"
        )
    return frame


def is_list(dtype: pl.DataType) -> bool:
    """Whether a cell of a column is a list of single values.

    >>> import polars as pl
    >>> is_list(pl.List(pl.String)), is_list(pl.List(pl.List(pl.String))), is_list(pl.String)
    (True, False, False)
    """
    inner = getattr(dtype, "inner", None)
    return inner is not None and not inner.is_nested() and not inner.is_object()


def listed(columns: list[str], most: int = 5) -> str:
    """Name columns in a sentence, at most a few of them.

    >>> listed(["zip"]), listed(["a", "b", "c"], most=2)
    ("column 'zip'", "columns 'a', 'b' and 1 more")
    """
    names = ", ".join(repr(column) for column in columns[:most])
    rest = f" and {len(columns) - most:,} more" if len(columns) > most else ""
    return f"column{'s' if len(columns) > 1 else ''} {names}{rest}"


def chosen_format(source: Source, requested: str | None) -> str:
    """The format that a release is written in: the one asked for, else that of the source."""
    if requested is not None:
        return require_format(requested)
    return "csv" if source.format == "frame" else source.format
