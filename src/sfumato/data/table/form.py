"""How a written table is to be read: layout, and what each column holds.

A file of text does not say whether ``1`` is a number or a word, and what a reader guesses changes
when one value disappears. So whoever writes a table keeps its form, and whoever reads it by the
form gets the values that were written.

The types: ``text``, ``integer`` (64 bits), ``decimal`` (double), ``boolean``, ``date``, ``time``,
``datetime[ms]``, ``datetime[us]`` and ``datetime[ns]`` (without zone), and ``list`` of whatever
JSON distinguishes. Times with a zone, and numbers that neither a 64-bit integer nor a double holds,
are text wherever the format does not know them itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping

import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.source import Source
from sfumato.data.table.formats import is_list, listed
from sfumato.errors import UnreadableInput

NULL, QUOTE = "", '"'
TEXT = (pl.String, pl.Categorical, pl.Enum)
LAYOUT = ("delimiter", "encoding", "decimal", "header")
SELF_DESCRIBING = ("parquet", "arrow")
"""Formats whose files say what every column is."""


@dataclasses.dataclass(frozen=True)
class Form:
    """The form of a written file; ``types`` is None for files of which only the layout is known."""

    format: str = "csv"
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    defused: bool = False
    types: Mapping[str, str] | None = None

    @classmethod
    def of(
        cls,
        format: str,  # noqa: A002
        source: Source,
        *,
        tabs: bool = False,
        defused: bool = False,
    ) -> Form:
        """The form in which a table from some source is written: that of the source where the
        format is the same.
        """
        if format == "excel":
            return cls(format, header=source.header)
        if format != "csv":
            return cls(format)
        if source.format == "csv":
            layout = {name: getattr(source, name) for name in LAYOUT}
        else:
            layout = {}
        return cls(format, **{**layout, **({"delimiter": "\t"} if tabs else {})}, defused=defused)

    def to_dict(self) -> Document:
        """What a certificate says about reading the file, for this format."""
        types = {} if self.types is None else {"types": dict(self.types)}
        if self.format == "csv":
            layout = {name: getattr(self, name) for name in LAYOUT}
            return {**layout, "null": NULL, "quote": QUOTE, "defused": self.defused, **types}
        return {**({"header": self.header} if self.format == "excel" else {}), **types}

    @classmethod
    def from_dict(cls, format: str | None, fields: Fields) -> Form:  # noqa: A002
        """The form a certificate tells; the null marker and the quote are those of this version, or
        refused.
        """
        keys = {*LAYOUT, "defused", "types", "null", "quote"}
        fits = {
            "delimiter": str,
            "encoding": str,
            "decimal": str,
            "header": bool,
            "defused": bool,
            "types": Mapping,
        }
        if not isinstance(fields, Mapping):
            raise UnreadableInput("the certificate does not describe how its file is read")
        wrong = [name for name in fields if name not in keys]
        wrong += [
            name
            for name, kind in fits.items()
            if name in fields and not isinstance(fields[name], kind)
        ]
        if wrong or fields.get("null", NULL) != NULL or fields.get("quote", QUOTE) != QUOTE:
            raise UnreadableInput(
                "the certificate describes how its file is read in terms that this "
                "sfumato does not know; install a newer one"
            )
        return cls(
            format or "csv", **{k: v for k, v in fields.items() if k not in ("null", "quote")}
        )


def types_of(frame: pl.DataFrame) -> dict[str, str]:
    """What each column of a table holds, in the words of a form."""
    types = {}
    for column in frame:
        dtype = column.dtype
        word = {pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time"}.get(
            dtype.base_type(), "text"
        )
        if dtype.is_integer():
            fits = column.cast(pl.Int64, strict=False).null_count() == column.null_count()
            word = "integer" if fits else "text"
        elif dtype.is_decimal():
            fits = column.cast(pl.Float64).n_unique() == column.n_unique()
            word = "decimal" if fits else "text"
        elif dtype.is_float():
            word = "decimal"
        elif isinstance(dtype, pl.Datetime):
            word = "text" if dtype.time_zone else f"datetime[{dtype.time_unit}]"
        elif is_list(dtype):
            word = "list"
        types[column.name] = word
    return types


def typed(frame: pl.DataFrame, form: Form, name: str) -> pl.DataFrame:
    """A table as it was read, with every column made what its form says it is."""
    if form.types is None:
        return frame
    absent = [column for column in form.types if column not in frame.columns]
    if absent:
        raise UnreadableInput(
            f"{name} lacks {len(absent)} column(s) that its certificate describes: {listed(absent)}"
        )
    if form.format in SELF_DESCRIBING:
        _require_types(frame, form.types, name)
        return frame
    columns = []
    for column, kind in form.types.items():
        converted = None
        # Messages of polars may hold values, and a kind may be anything.
        with contextlib.suppress(pl.exceptions.PolarsError, KeyError, TypeError):
            converted = _converted(frame[column], kind, form)
        if converted is None or converted.null_count() != frame[column].null_count():
            raise UnreadableInput(
                f"{name}: the values of {listed([column])} do not fit its certificate: {kind}"
            )
        columns.append(converted)
    return frame.with_columns(columns)


def _require_types(frame: pl.DataFrame, types: Mapping[str, str], name: str) -> None:
    """Refuse types that are not those of a file that tells them itself."""
    own = types_of(frame)
    for column, kind in types.items():
        if own[column] != kind:
            raise UnreadableInput(
                f"{name}: {listed([column])} does not hold what its certificate says: {kind}"
            )


def _converted(column: pl.Series, kind: str, form: Form) -> pl.Series:
    text = column.dtype == pl.String
    if kind == "text":
        return column.cast(pl.String)
    if kind == "list":
        if is_list(column.dtype):
            return column
        return column.cast(pl.List(pl.String))
    if kind == "integer":
        return column.cast(pl.Int64)
    if kind == "decimal":
        if text and form.decimal == ",":
            # The point is no decimal point here, and nothing separates thousands.
            column = column.str.replace_many([",", "."], [".", ","])
        elif text and form.decimal != ".":
            raise KeyError(form.decimal)
        return column.cast(pl.Float64)
    if kind == "boolean":
        if text:
            return column.replace_strict(["true", "false"], [True, False], return_dtype=pl.Boolean)
        return column.cast(pl.Boolean)
    if kind == "date":
        if text:
            return column.str.to_date("%Y-%m-%d")
        return column.cast(pl.Date)
    if text:
        return _spelled_moment(column, kind)
    return _stored_moment(column, kind)


_UNITS: Document = {"datetime[ms]": "ms", "datetime[us]": "us", "datetime[ns]": "ns"}


def _spelled_moment(text: pl.Series, kind: str) -> pl.Series:
    if kind == "time":
        return text.str.to_time("%H:%M:%S%.f")
    return text.str.replace("T", " ", literal=True).str.to_datetime(
        "%Y-%m-%d %H:%M:%S%.f", time_unit=_UNITS[kind]
    )


def _stored_moment(column: pl.Series, kind: str) -> pl.Series:
    """Moments of workbooks and statistics files, which keep fractions of a day or second: right to
    the millisecond.
    """
    if column.dtype == pl.Time and kind == "time":
        step = 1_000_000
        return (((column.cast(pl.Int64) + step // 2) // step) * step).cast(pl.Time)
    rounded = (column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column).dt.round(
        "1ms"
    )
    if kind == "time":
        return rounded.dt.time()
    return rounded.cast(pl.Datetime(_UNITS[kind]))


# Cells that a spreadsheet would run: text that begins like a formula.
#
# A spreadsheet that opens a CSV takes ``=HYPERLINK(…)`` for a formula, and ``+``, ``-``, ``@``, a
# tab or a line end before one too. A number is no formula. Defused, such a cell has an apostrophe
# before it, and so has every cell that begins with apostrophes before such a sign: taking one
# apostrophe away gives every value back.

_NUMBER = r"^[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?$"
_RUNS = r"^[=+\-@\t\r\n]"
_HARMLESS = r"^'+[=+\-@\t\r\n]"


def runnable_cells(frame: pl.DataFrame) -> dict[str, int]:
    """How many cells of each column a spreadsheet would run, the name of the column counted as one;
    others are left out.
    """
    counts = dict.fromkeys(frame.columns, 0)
    names = pl.Series(frame.columns, dtype=pl.String)
    if names.str.contains(_RUNS).any():
        counts = dict(zip(frame.columns, map(int, _runs(names)), strict=True))
    for column in frame:
        if column.dtype not in TEXT:
            continue
        # Only cells that begin like a formula are asked whether they are numbers.
        text = column.cast(pl.String)
        if repeated_once(text).str.contains(_RUNS).any():
            begun = text.filter(text.str.contains(_RUNS))
            counts[column.name] += len(begun) - int(begun.str.contains(_NUMBER).sum())
    return {name: cells for name, cells in counts.items() if cells}


FIRST_ROWS = 1024
"""Rows that tell whether the texts of a column repeat."""
REPEATS = 8
"""So often a text must come on average among them."""


def repeated_once(text: pl.Series) -> pl.Series:
    """Each distinct text once where texts repeat, to be asked what it looks like; else the column
    as it is.

    >>> repeated_once(pl.Series(["a", "b"] * 50)).sort().to_list()
    ['a', 'b']
    """
    first = text.head(FIRST_ROWS)
    if len(first) < REPEATS or first.n_unique() * REPEATS > len(first):
        return text
    return text.unique()


def defused(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every name and text that a spreadsheet would run."""

    def defuse_column(column: pl.Series) -> pl.Series:
        name = _marked(pl.Series([column.name])).item()
        return (_marked(column.cast(pl.String)) if column.dtype in TEXT else column).alias(name)

    return pl.DataFrame([defuse_column(column) for column in frame])


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as it was before :func:`defused`, from columns of text.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"x": ["=1+1", "-5", "'=1", "a"]})
    >>> defused(cells)["x"].to_list(), restored(defused(cells)).equals(cells)
    (["'=1+1", '-5', "''=1", 'a'], True)
    """

    def restore_column(column: pl.Series) -> pl.Series:
        if column.dtype != pl.String:
            return column
        return column.str.replace(r"^'('*[=+\-@\t\r\n])", "$1")

    names = restore_column(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame(
        [restore_column(column).alias(name) for column, name in zip(frame, names, strict=True)]
    )


def _runs(text: pl.Series) -> pl.Series:
    return text.str.contains(_RUNS) & ~text.str.contains(_NUMBER)


def _marked(text: pl.Series) -> pl.Series:
    marked = _runs(text) | text.str.contains(_HARMLESS)
    marked_text = text.alias("text").to_frame().with_columns(marked.alias("marked"))
    return (
        marked_text.select(pl.when("marked").then("'" + pl.col("text")).otherwise("text"))
        .to_series()
        .alias(text.name)
    )
