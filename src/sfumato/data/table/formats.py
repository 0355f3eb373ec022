"""The formats by name, by file suffix and by their first bytes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.parameters import ExtensibleMembers
from sfumato.core.words import inflect
from sfumato.errors import ParameterError, SfumatoError, UnreadableInput, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from sfumato.core.source import Intake, Source
    from sfumato.data.table.form import Form

COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
)


@dataclasses.dataclass(frozen=True)
class ReadRequest:
    """How a file is to be read."""

    intake: Intake
    text: bool = False
    """Leave every column as text, where the format does not say what it is."""
    exact: bool = False
    """Take names and values as they were written by us: nothing is tidied."""
    prefer_tab: bool = False
    lists: bool = False
    """Take columns whose cells are lists of single values."""


class FileFormat:
    """What a file format says about itself, and how a table is read and written in it."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    """How names of such files end, in small letters; the first is what files get that we write."""
    read_only: ClassVar[tuple[str, ...]] = ()
    """Those of the suffixes that are read and not written."""
    openings: ClassVar[tuple[bytes, ...]] = ()
    """The first bytes of such files; none for text."""
    options: ClassVar[frozenset[str]] = frozenset()
    """The fields of :class:`~sfumato.core.source.Intake` that mean something for the format,
    besides those about values.
    """
    settles_values: ClassVar[bool] = False
    """Whether :meth:`read` applies what is said about values (missing codes, blanks, Unicode)
    itself.
    """

    def is_announced_by(self, data: bytes) -> bool:
        """Whether the first bytes of a file are those of the format."""
        return bool(self.openings) and data.startswith(self.openings)

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """The table in the bytes of a file, and the form it had; ``name`` is that of the file, for
        messages.
        """
        raise NotImplementedError

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """Write a table; ``source`` is where it came from."""
        raise NotImplementedError

    def holds_more(self, file: Path, *, exact: bool) -> bool:
        """Whether a written file holds more than the table read from it; ``exact``: the same
        version wrote it.
        """
        return False


def _is_format(value: object) -> bool:
    if not (
        isinstance(value, type)
        and issubclass(value, FileFormat)
        and isinstance(getattr(value, "name", None), str)
    ):
        return False
    return bool(getattr(value, "suffixes", ())) and value.read is not FileFormat.read


FORMATS = ExtensibleMembers(
    "sfumato.data.table",
    {
        "csv": "delimited:Csv",
        "parquet": "columnar:Parquet",
        "arrow": "columnar:Arrow",
        "jsonl": "jsonl:JsonLines",
        "excel": "excel:Excel",
        "spss": "stats:Spss",
        "stata": "stats:Stata",
        "sas": "stats:Sas",
    },
    kind="formats",
    noun="file format",
    belongs=_is_format,
)
"""The formats by name, in the order they are asked whether a suffix is theirs."""


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


def file_format(name: str) -> FileFormat:
    """A format by its name."""
    format_found: FileFormat = FORMATS[require_format(name)]()
    return format_found


def format_of_suffix(suffix: str) -> str | None:
    """The format whose files end so.

    >>> format_of_suffix(".TSV"), format_of_suffix(".docx")
    ('csv', None)
    """
    for name in FORMATS:
        if suffix.lower() in FORMATS[name].suffixes:
            return name
    return None


def table_suffixes() -> tuple[str, ...]:
    """How names of files end that hold tables."""
    return tuple(suffix for cls in FORMATS.values() for suffix in cls.suffixes)


def choose_format(data: bytes, *, name: str, suffix: str, requested: str | None) -> str:
    """Decide how to read a file: as asked, else by suffix, else by its first bytes, else as CSV."""
    if requested is not None:
        return require_format(requested)
    packed = next((kind for magic, kind in COMPRESSED if data.startswith(magic)), None)
    if packed is not None:
        raise UnreadableInput(f"{name} is compressed with {packed}: unpack it first")
    by_suffix = format_of_suffix(suffix)
    # Text has no first bytes of its own, so CSV is what is left.
    if by_suffix is None:
        return _format_of_bytes(data, FORMATS) or "csv"
    if file_format(by_suffix).is_announced_by(data):
        return by_suffix
    # Formats of plug-ins are not asked here: a suffix that is known decides against them.
    by_bytes = _format_of_bytes(data, FORMATS.ours)
    if by_bytes is not None:
        raise UnreadableInput(
            f"{name} is named like {by_suffix} but holds {by_bytes} data: rename it, or pass"
            f" format={by_bytes!r}"
        )
    return by_suffix


def _format_of_bytes(data: bytes, names: Iterable[str]) -> str | None:
    """The format among these that the first bytes announce, or None for text and the unknown."""
    return next((name for name in names if FORMATS[name]().is_announced_by(data)), None)


@contextlib.contextmanager
def refusing(message: str) -> Iterator[None]:
    """Turn whatever a reader throws into :class:`UnreadableInput` without its text, which may hold
    values.
    """
    try:
        yield
    # These say what is wrong themselves, or are no fault of the file.
    except (SfumatoError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # noqa: BLE001 - a panic inside polars is no Exception
        raise UnreadableInput(message) from None


def refuse_nested(frame: pl.DataFrame, name: str, *, lists: bool = False) -> pl.DataFrame:
    """Return the frame, or raise when a column holds lists or records; with ``lists`` those of
    single values may stand.
    """
    nested = [
        column
        for column, dtype in frame.schema.items()
        if (dtype.is_nested() and not (lists and is_list(dtype))) or dtype.is_object()
    ]
    if nested:
        raise UnreadableInput(
            f"{name}: {listed(nested)} {inflect(len(nested), 'holds', 'hold')} nested values; a "
            "table has one value per cell: flatten or drop them before reading; people with a "
            "list of items each are data of shape baskets (sfumato run)"
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


def listed(columns: list[str], limit: int = 5) -> str:
    """Name columns in a sentence, at most a few of them.

    >>> listed(["zip"]), listed(["a", "b", "c"], limit=2)
    ("column 'zip'", "columns 'a', 'b' and 1 more")
    """
    names = ", ".join(repr(column) for column in columns[:limit])
    if len(columns) > limit:
        remainder = f" and {len(columns) - limit:,} more"
    else:
        remainder = ""
    return f"{inflect(len(columns), 'column')} {names}{remainder}"


def chosen_format(source: Source, requested: str | None) -> str:
    """The format that a release is written in: the one asked for, else that of the source."""
    if requested is not None:
        return require_format(requested)
    if source.format == "frame":
        return "csv"
    return source.format
