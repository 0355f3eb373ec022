"""SPSS, Stata and SAS files through pyreadstat (extra ``stats``).

``Source.labels`` keeps what these formats know besides the values:

- ``variables``: column → label of the variable;
- ``values``: column → {code: label};
- ``missing``: column → codes or ranges the file declares as missing (their cells are read as
  missing);
- ``formats``, ``measures``, ``widths``: how a column is shown, in the file's own words;
- ``title``: label of the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.source import Source
from sfumato.data.table.formats import FileFormat, ReadRequest, listed, refuse_nested, refusing
from sfumato.errors import OutputError, UnreadableInput, require

if TYPE_CHECKING:
    from sfumato.data.table.form import Form

SAS7BDAT = bytes.fromhex("00" * 12 + "c2ea8160b31411cfbd92080009c7318c181f1011")
SAS_XPORT = b"HEADER RECORD*******"
SPSS_PORTABLE = b"SPSS PORT FILE"

# Doubles hold whole numbers exactly up to here.
_EXACT = 2**53
_TITLE = {"spss": "SPSS", "stata": "Stata", "sas": "SAS"}
_VALID_NAME = {
    "spss": re.compile(r"[^\W\d_][\w.@#$]{0,63}"),
    "stata": re.compile(r"[^\W\d]\w{0,31}"),
    "sas": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"),
}
_NAME_RULE = {
    "spss": "a letter, then at most 63 letters, digits or _ . @ # $",
    "stata": "a letter or _, then at most 31 letters, digits or _",
    "sas": "a letter or _, then at most 31 letters A-Z, digits or _",
}


def read(
    data: bytes, *, name: str, kind: str, encoding: str | None = None
) -> tuple[pl.DataFrame, Source]:
    """Read an SPSS, Stata or SAS file with its labels; user-missing codes become missing."""
    pyreadstat = require("pyreadstat", extra="stats", to=f"read {_TITLE[kind]} files")
    reader = getattr(pyreadstat, _reader(data, name, kind))
    options = {"output_format": "polars"} | ({"encoding": encoding} if encoding else {})
    with refusing(
        f"{name} cannot be read as {_TITLE[kind]}: it is damaged, cut off, or of an unknown version"
        " or encoding"
    ):
        frame, meta = reader(io.BytesIO(data), **options)
        missing = _user_missing(reader, data, frame, options)
    frame = refuse_nested(_settled(frame), name)
    labels = {
        "variables": {k: v for k, v in meta.column_names_to_labels.items() if v},
        "values": {k: dict(v) for k, v in meta.variable_value_labels.items()},
        "missing": missing,
        "formats": {k: v for k, v in meta.original_variable_types.items() if v and v != "NULL"},
        "measures": {k: v for k, v in meta.variable_measure.items() if v and v != "unknown"},
        "widths": {k: v for k, v in meta.variable_display_width.items() if v},
        "title": meta.file_label or "",
    }
    return frame, Source(
        name,
        kind,
        encoding=meta.file_encoding or "utf-8",
        labels=labels,
        notes=_notes(kind, missing),
    )


def _reader(data: bytes, name: str, kind: str) -> str:
    """Name of the reader the first bytes call for."""
    if kind == "spss" and data.startswith((b"$FL2", b"$FL3")):
        return "read_sav"
    if kind == "spss" and SPSS_PORTABLE in data[:100]:
        return "read_por"
    if kind == "sas" and data.startswith(SAS7BDAT):
        return "read_sas7bdat"
    if kind == "sas" and data.startswith(SAS_XPORT):
        return "read_xport"
    # Versions up to 115 begin with their number as one byte, later ones with a tag.
    if kind == "stata" and (
        data.startswith(b"<stata_dta>") or data[:1] in tuple(bytes([v]) for v in range(102, 116))
    ):
        return "read_dta"
    raise UnreadableInput(
        f"{name} is not a {_TITLE[kind]} file: its first bytes differ; pass format= if it has "
        "another format"
    )


def _user_missing(
    reader: Any, data: bytes, frame: pl.DataFrame, options: Fields
) -> dict[str, list[Any]]:
    """Codes declared as missing; only columns with missing values are read again to see them."""
    # SPSS declares its codes in the head of the file: no rows are read for them.
    if reader.__name__ == "read_sav":
        meta = reader(io.BytesIO(data), metadataonly=True, user_missing=True, **options)[1]
        return {k: list(v) for k, v in meta.missing_ranges.items()}
    if reader.__name__ not in ("read_dta", "read_sas7bdat"):
        return {}
    holes = [c.name for c in frame if c.null_count() and c.dtype.is_numeric()]
    if not holes:
        return {}
    meta = reader(io.BytesIO(data), usecols=holes, user_missing=True, **options)[1]
    return {k: list(v) for k, v in meta.missing_user_values.items()}


def _notes(kind: str, missing: Fields) -> tuple[str, ...]:
    if missing:
        notes = [f"{listed(list(missing))}: codes declared as missing were read as missing"]
    else:
        notes = []
    if kind == "sas":
        notes.append(
            "SAS files are read and written by pyreadstat, which is not validated by SAS; written"
            " as .xpt only"
        )
    return tuple(notes)


def _settled(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole doubles as integers (these formats know no other), empty text and NaN as missing."""

    def settle_column(column: pl.Series) -> pl.Series:
        if column.dtype == pl.Null:
            return column.cast(pl.String)
        if column.dtype == pl.String:
            return column.set(column == "", None)
        if column.dtype != pl.Float64:
            return column
        bare = column.fill_nan(None).drop_nulls()
        # Beyond 2⁵³ a double that looks whole may have been rounded.
        whole = bool((bare == bare.round()).all()) and bool((bare.abs() < _EXACT).all())
        if whole:
            return column.fill_nan(None).cast(pl.Int64)
        return column.fill_nan(None)

    return frame.with_columns(settle_column(column) for column in frame)


def write(frame: pl.DataFrame, target: Path, source: Source, *, kind: str) -> None:
    """Write with the labels that still apply.

    A value label stays for values that still occur. Where codes became text beside labels of groups
    (``1``, ``*``), SPSS keeps them; Stata labels numbers only, so there they are lost. Codes
    declared as missing stay declared where no released value is one of them.
    """
    pyreadstat = require("pyreadstat", extra="stats", to=f"write {_TITLE[kind]} files")
    _refuse_names(frame, kind)
    ready = _plain_types(frame)
    if kind == "stata":  # it has no infinite numbers
        floats = [column for column in ready if column.dtype == pl.Float64]
        ready = ready.with_columns(column.set(column.is_infinite(), None) for column in floats)
    options: Document = {"file_label": str(source.labels.get("title", ""))}
    labels = source.labels.get("variables", {})
    options["column_labels"] = {k: labels[k] for k in frame.columns if k in labels} or None
    # No value labels are written for SAS.
    if kind != "sas":
        value_labels = surviving_labels(
            ready, source.labels.get("values", {}), of_text=kind == "spss"
        )
        options["variable_value_labels"] = value_labels or None
    # Formats and measures are words of one program; another would not know them.
    if kind == source.format:
        options |= _own_words(ready, source, kind)
    function = {"spss": "write_sav", "stata": "write_dta", "sas": "write_xport"}[kind]
    try:
        getattr(pyreadstat, function)(ready, str(target), **options)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - whatever pyreadstat throws may hold values
        raise OutputError(
            f"the table does not fit into a {_TITLE[kind]} file: text may be too long for it; write"
            " another format"
        ) from None


def surviving_labels(
    frame: pl.DataFrame, values: Mapping[str, Mapping[Any, str]], *, of_text: bool = True
) -> dict[str, dict[Any, str]]:
    """Value labels of the codes that still occur; of codes in a column that became text only with
    ``of_text``.

    >>> import polars as pl
    >>> surviving_labels(pl.DataFrame({"sex": ["1", "*"]}), {"sex": {1.0: "male", 2.0: "female"}})
    {'sex': {'1': 'male'}}
    """
    labels_kept = {}
    for name in (column for column in frame.columns if column in values):
        # A label whose code is gone would tell which values there were.
        present = set(frame[name].unique().drop_nulls())
        labels = {code: label for code, label in values[name].items() if code in present}
        if of_text and frame[name].dtype == pl.String:
            texts = {_text_of_code(code): label for code, label in values[name].items()}
            labels = {text: label for text, label in texts.items() if text in present}
        if labels:
            labels_kept[name] = labels
    return labels_kept


def _text_of_code(code: Any) -> str:
    """A code as it stands in a column of text: these formats store whole numbers as doubles."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def _own_words(frame: pl.DataFrame, source: Source, kind: str) -> Document:
    """Formats, measures, widths and declared missing codes, for columns that are still what they
    were.
    """
    numeric = [c.name for c in frame if c.dtype.is_numeric()]
    formats = {
        k: v
        for k, v in source.labels.get("formats", {}).items()
        if k in numeric and _is_number_format(v, kind)
    }
    words: Document = {"variable_format": formats or None}
    if kind == "spss":
        for own_name, field_name in (
            ("measures", "variable_measure"),
            ("widths", "variable_display_width"),
        ):
            words[field_name] = {
                k: v for k, v in source.labels.get(own_name, {}).items() if k in numeric
            } or None
        missing = {
            k: v
            for k, v in source.labels.get("missing", {}).items()
            if k in numeric and not _hits(frame[k], v)
        }
        words["missing_ranges"] = missing or None
    return words


def _is_number_format(display_format: str, kind: str) -> bool:
    pattern = {
        "spss": r"(?:F|COMMA|DOT|PCT|E|N)\d+(?:\.\d+)?",
        "stata": r"%-?0?\d*\.?\d*[gfe]c?",
        "sas": r"(?:BEST|F|COMMA)\d*\.?\d*",
    }[kind]
    return bool(re.fullmatch(pattern, display_format))


def _hits(column: pl.Series, ranges: list[Any]) -> bool:
    """Whether a released value is one of the codes declared as missing."""
    pairs = [(r["lo"], r["hi"]) for r in ranges if isinstance(r, dict)]
    return any(
        bool(column.is_between(low, high).any()) for low, high in pairs if not isinstance(low, str)
    )


def _refuse_names(frame: pl.DataFrame, kind: str) -> None:
    bad = [name for name in frame.columns if not _VALID_NAME[kind].fullmatch(name)]
    if bad:
        raise OutputError(
            f"{listed(bad)} are not valid names in {_TITLE[kind]} ({_NAME_RULE[kind]}); rename "
            "them, or write another format"
        )


def _plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Types the formats know: text, integers, doubles, dates and times."""

    def plain_column(column: pl.Series) -> pl.Series:
        dtype = column.dtype
        if dtype.is_nested() or dtype.is_object() or dtype in (pl.Binary, pl.Duration):
            raise OutputError(
                f"column {column.name!r}: values of this type do not fit; drop it, or write Parquet"
            )
        if dtype.is_decimal() or dtype.is_float():
            return column.cast(pl.Float64).fill_nan(None)
        if dtype.is_integer() or dtype == pl.Boolean:
            if dtype == pl.Boolean:
                return column.cast(pl.Int64)
            # Beyond 2⁵³ a double would be another number, so it becomes text.
            largest = int(column.abs().max() or 0)  # type: ignore[arg-type]
            if largest < _EXACT:
                return column.cast(pl.Int64)
            return column.cast(pl.String)
        if dtype == pl.Datetime:
            return column.dt.replace_time_zone(None)
        if dtype.is_temporal():
            return column
        return column.cast(pl.String)

    return frame.with_columns(plain_column(column) for column in frame)


class _Statistics(FileFormat):
    """Files of statistics packages."""

    options: ClassVar[frozenset[str]] = frozenset({"encoding"})

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """What :func:`read` reads."""
        return read(data, name=name, kind=self.name, encoding=request.intake.encoding)

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """What :func:`write` writes."""
        write(frame, target, source, kind=self.name)


class Spss(_Statistics):
    """SPSS."""

    name: ClassVar[str] = "spss"
    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav", ".por")
    read_only: ClassVar[tuple[str, ...]] = (".zsav", ".por")
    openings: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")

    def is_announced_by(self, data: bytes) -> bool:
        """Whether the first bytes are those of SPSS; a portable file has its mark a little
        later.
        """
        return SPSS_PORTABLE in data[:100] or super().is_announced_by(data)


class Stata(_Statistics):
    """Stata."""

    name: ClassVar[str] = "stata"
    suffixes: ClassVar[tuple[str, ...]] = (".dta",)
    openings: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>",)


class Sas(_Statistics):
    """SAS."""

    name: ClassVar[str] = "sas"
    suffixes: ClassVar[tuple[str, ...]] = (".xpt", ".sas7bdat")
    read_only: ClassVar[tuple[str, ...]] = (".sas7bdat",)
    openings: ClassVar[tuple[bytes, ...]] = (SAS7BDAT, SAS_XPORT)
