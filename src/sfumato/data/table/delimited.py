"""Comma, semicolon, tab, bar or blank separated text.

Read with polars' parallel reader, all columns as text; what is a number is decided afterwards
(:mod:`sfumato.data.table.inference`). An empty field is missing, quoted or not, and nothing else is
unless it was said (:mod:`sfumato.data.table.values`). Empty lines are left out,
except in a table of one column, where an empty line is a missing value. A short or long line is
refused.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import polars as pl

from sfumato.core.source import Source, placed
from sfumato.core.words import count_of, inflect
from sfumato.data.table import inference
from sfumato.data.table.form import LAYOUT, Form, defused
from sfumato.data.table.formats import FileFormat, ReadRequest, listed
from sfumato.data.table.sniff import TextLayout, sniff, to_utf8
from sfumato.data.table.values import about_codes, column_names, settle_values, strip_habit
from sfumato.errors import OutputError, UnreadableInput

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Where the records of a delimited file begin and end: looked at only after something went wrong.
#
# Quotes toggle; what stands between an odd and an even quote is text. That is exact for files that
# follow RFC 4180, doubled quotes included, and vectorises: no loop over rows.

_CHUNK = 1 << 24
_QUOTE = ord('"')


@dataclasses.dataclass(frozen=True)
class Records:
    """Per record its first byte, its end (the line end excluded) and its number of fields."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fields: NDArray[np.int64]

    def blank(self, data: bytes) -> NDArray[np.bool_]:
        """Which records are empty lines."""
        length = self.ends - self.starts
        lonely = np.flatnonzero(length == 1)
        returns = np.frombuffer(data, dtype=np.uint8)[self.starts[lonely]] == ord("\r")
        length[lonely[returns]] = 0  # an empty line that ends in carriage return and line feed
        return np.asarray(length == 0)


def find_records(data: bytes, *, delimiter: str, line_end: str, offset: int = 0) -> Records:
    """Split the bytes into records; a line end or delimiter inside quotes does not count."""
    ends, marks = [], []
    inside, mark_count = 0, 0
    for start in range(offset, len(data), _CHUNK):
        chunk = np.frombuffer(
            data, dtype=np.uint8, count=min(_CHUNK, len(data) - start), offset=start
        )
        quotes = np.cumsum(chunk == _QUOTE, dtype=np.int64) + inside
        outside = quotes % 2 == 0
        breaks = np.flatnonzero((chunk == ord(line_end)) & outside)
        counts = np.cumsum((chunk == ord(delimiter)) & outside, dtype=np.int64) + mark_count
        ends.append(breaks + start)
        marks.append(counts[breaks])
        inside, mark_count = int(quotes[-1]) % 2, int(counts[-1])
    all_ends, all_marks = _concatenated(ends), _concatenated(marks)
    if not len(all_ends) or all_ends[-1] != len(data) - 1:  # the last line has no line end
        all_ends, all_marks = np.append(all_ends, len(data)), np.append(all_marks, mark_count)
    starts = np.concatenate([[offset], all_ends[:-1] + 1]).astype(np.int64)
    return Records(starts, all_ends, np.diff(all_marks, prepend=0) + 1)


def _concatenated(parts: list[Any]) -> NDArray[np.int64]:
    if parts:
        return np.concatenate(parts).astype(np.int64)
    return np.zeros(0, dtype=np.int64)


def line_number(data: bytes, offset: int, line_end: str) -> int:
    """1-based physical line of a byte offset: what an editor shows."""
    return 1 + data.count(line_end.encode(), 0, offset)


def refuse_broken_quotes(
    data: bytes, *, name: str, delimiter: str, line_end: str, offset: int = 0
) -> None:
    """Raise when a quote opens inside a field, or closes before its field ends, or never closes."""
    everything = np.frombuffer(data, dtype=np.uint8)
    quotes = _concatenated(
        [
            np.flatnonzero(everything[s : s + _CHUNK] == _QUOTE) + s
            for s in range(offset, len(data), _CHUNK)
        ]
    )
    border = [_QUOTE, ord(delimiter), ord("\n"), ord("\r")]
    opening, closing = quotes[0::2], quotes[1::2]
    bad_open = opening[
        (opening > offset) & ~np.isin(everything[np.maximum(opening - 1, 0)], border)
    ]
    bad_close = opening[: len(closing)][
        (closing + 1 < len(data))
        & ~np.isin(everything[np.minimum(closing + 1, len(data) - 1)], border)
    ]
    first_open = int(bad_open[0]) if len(bad_open) else len(data)
    first_close = int(bad_close[0]) if len(bad_close) else len(data)
    if first_open < first_close:
        where = line_number(data, first_open, line_end)
        raise UnreadableInput(
            f"{name}, line {where}: a quote inside an unquoted field; quote the field and double"
            " the quote inside it"
        )
    if first_close < len(data):
        unclosed = first_close
    elif len(quotes) % 2:
        unclosed = int(opening[-1])
    else:
        unclosed = None
    if unclosed is not None:
        where = line_number(data, unclosed, line_end)
        raise UnreadableInput(
            f"{name}, line {where}: a quoted field begins here and is not closed properly; close it"
            ' with "'
        )


def refuse_bare_returns(data: bytes, *, name: str, line_end: str) -> None:
    """Raise for a carriage return outside of quotes that ends no line: some programs end a record
    there, others take it for a part of the value.
    """
    if b"\r" not in data:
        return
    signs = np.frombuffer(data, dtype=np.uint8)
    returns = np.flatnonzero(signs == ord("\r"))
    followers = signs[np.minimum(returns + 1, len(data) - 1)]
    lonely = returns[followers != ord("\n")]
    if not len(lonely):
        return
    # As many quotes before it as there are opened and closed fields: an even number is outside.
    quotes = np.flatnonzero(signs == _QUOTE)
    outside = lonely[np.searchsorted(quotes, lonely) % 2 == 0]
    if len(outside):
        where = line_number(data, int(outside[0]), line_end)
        raise UnreadableInput(f"{name}, line {where}: a carriage return outside of quotes")


def refuse_ragged(records: Records, data: bytes, *, name: str, line_end: str, fields: int) -> None:
    """Raise for the first record that is not blank and has another number of fields than the
    first.
    """
    ragged = np.flatnonzero((records.fields != fields) & ~records.blank(data))
    if len(ragged):
        worst = int(ragged[0])
        where = line_number(data, int(records.starts[worst]), line_end)
        has = int(records.fields[worst])
        raise UnreadableInput(
            f"{name}, line {where}: {count_of(has, 'field')} where the first line has {fields:,} "
            f"({len(ragged):,} such {inflect(len(ragged), 'line')}); correct the line, quote "
            "fields that contain the delimiter, or give --delimiter (delimiter=) if it was "
            "guessed wrong"
        )


_WRITTEN_ROWS = 200_000
_WORDS = re.compile(r"\w+")
_SPELLED = {"\t": "tab", " ": "blank"}


@dataclasses.dataclass(frozen=True)
class _Text:
    """A text in UTF-8 and its layout; the first line that is not empty begins at ``offset``."""

    data: bytes
    name: str
    offset: int
    layout: TextLayout
    rename: bool = False

    def columns(self) -> tuple[list[pl.Series], list[str]]:
        """All columns as text, and what there is to say about them."""
        if not self.layout.rows:
            self._refuse("cannot be split into fields")
        names, notes = [f"column_{i}" for i in range(1, len(self.layout.rows[0]) + 1)], list[str]()
        if self.layout.header:
            line = line_number(self.data, self.offset, self.layout.line_end)
            where = f"{self.name}, line {line}"
            names, notes = column_names(self.layout.rows[0], where=where, rename=self.rename)
        stream, frame = io.BytesIO(self.data), None
        stream.seek(self.offset)
        # Messages of polars may hold values.
        with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
            frame = pl.read_csv(
                stream,
                has_header=self.layout.header,
                separator=self.layout.delimiter,
                eol_char=self.layout.line_end,
                infer_schema=False,
                null_values="",
                raise_if_empty=False,
            )
        if frame is None:
            self._refuse("cannot be read as delimited text")
        if frame.width != len(names):
            self._refuse("cannot be split into fields")
        # polars fills short lines up with missing values; an empty line is one that lacks all
        # fields.
        if (
            frame.width > 1
            and frame.height
            and frame[:, -1].null_count()
            and self._absent_fields(frame)
        ):
            frame, line_notes = self._without_blank_lines(frame, names)
            notes += line_notes
        frame.columns = names
        columns = frame.get_columns()
        if self.layout.padded:
            columns = [self._unpadded(i, column) for i, column in enumerate(columns, start=1)]
        return columns, notes

    def _refuse(self, otherwise: str) -> NoReturn:
        """Raise with the reason polars did not read the text."""
        where = {"name": self.name, "line_end": self.layout.line_end}
        mark = self.layout.delimiter
        records = find_records(
            self.data, delimiter=mark, line_end=self.layout.line_end, offset=self.offset
        )
        refuse_broken_quotes(self.data, delimiter=mark, offset=self.offset, **where)
        refuse_ragged(records, self.data, fields=int(records.fields[0]), **where)
        raise UnreadableInput(
            f"{self.name} {otherwise}; check its quotes and line ends, or give --delimiter "
            "(delimiter=) if it was guessed wrong"
        )

    def _without_blank_lines(
        self, frame: pl.DataFrame, names: list[str]
    ) -> tuple[pl.DataFrame, list[str]]:
        """Drop rows that are empty lines; refuse short lines."""
        where = {"name": self.name, "line_end": self.layout.line_end}
        records = find_records(
            self.data,
            delimiter=self.layout.delimiter,
            line_end=self.layout.line_end,
            offset=self.offset,
        )
        refuse_ragged(records, self.data, fields=len(names), **where)
        blank = records.blank(self.data)[int(self.layout.header) :]
        if len(blank) != frame.height:
            self._refuse("cannot be split into lines")
        return frame.filter(pl.Series(~blank)), [f"empty lines skipped: {int(blank.sum()):,}"]

    def _absent_fields(self, frame: pl.DataFrame) -> int:
        """Number of fields that lines lack: delimiters there should be, less those there are."""
        mark = self.layout.delimiter
        should = (frame.height + self.layout.header) * (frame.width - 1)
        if self.data.find(b'"', self.offset) >= 0:  # delimiters inside of fields
            should += sum(
                int(column.str.count_matches(mark, literal=True).sum()) for column in frame
            )
            should += (
                sum(cell.count(mark) for cell in self.layout.rows[0]) if self.layout.header else 0
            )
        return should - self.data.count(mark.encode(), self.offset)

    def _unpadded(self, position: int, column: pl.Series) -> pl.Series:
        bare = column.str.strip_chars_start(" ")
        if bare.str.starts_with('"').any():
            raise UnreadableInput(
                f"{self.name}: {placed([position])} has blanks between delimiter and quote; remove"
                " them"
            )
        return pl.select(pl.when(bare != "").then(bare)).to_series().alias(column.name)


def _unencodable(frame: pl.DataFrame, name: str, encoding: str) -> str:
    def fits(column: str) -> bool:
        try:
            (column + "".join(map(str, frame[column].unique().drop_nulls()))).encode(encoding)
        except UnicodeEncodeError:
            return False
        return True

    columns = [column for column in frame.columns if not fits(column)]
    return (
        f"{listed(columns)} cannot be written in {encoding}, the encoding of {name}; "
        "use labels that fit it, save the input as UTF-8, or ask for another format"
    )


def _decided(numbers: pl.Series, decimal: str) -> pl.Series:
    """Floats without NaN; as text with one more zero where 33.125 could be read as thousands."""
    clean = numbers.fill_nan(None)
    for part in (clean.head(inference.SAMPLE), clean):  # nearly always the first values decide
        text = part.cast(pl.String).alias("")
        if inference.classify(text) not in ("missing", "thousands."):
            return clean
    spelled = text.str.replace(r"(\.\d+)$", "${1}0")
    return (spelled if decimal == "." else spelled.str.replace(".", ",", literal=True)).alias(
        numbers.name
    )


class Csv(FileFormat):
    """Comma, semicolon, tab, bar or blank separated text."""

    name: ClassVar[str] = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt", ".dat")
    options: ClassVar[frozenset[str]] = frozenset({*LAYOUT, "rename_duplicates"})
    settles_values: ClassVar[bool] = True

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """Read a delimited text; on request every column stays text, each cell read for itself.

        An exact reading is for files we wrote: blanks after the delimiter belong to the values.
        """
        intake = request.intake
        data, encoding, notes = to_utf8(data, name=name, encoding=intake.encoding)
        if data[:1] in (b"\r", b"\n"):
            offset = len(data) - len(data.lstrip(b"\r\n"))
        else:
            offset = 0
        if offset == len(data):
            raise UnreadableInput(
                f"{name} is empty: it needs at least a line with the names of the columns"
            )
        layout = sniff(
            data[offset:] if offset else data,
            delimiter=intake.delimiter,
            header=intake.header,
            prefer_tab=request.prefer_tab,
        )
        if request.exact:
            layout = dataclasses.replace(layout, padded=False)
        if request.exact:
            # polars reads on where a quote stands within a field; other programs then see other
            # records.
            where = {"name": name, "line_end": layout.line_end}
            refuse_broken_quotes(data, delimiter=layout.delimiter, offset=offset, **where)
            refuse_bare_returns(data, **where)
        cells = _Text(data, name, offset, layout, rename=bool(intake.rename_duplicates))
        columns, cell_notes = cells.columns()
        del cells, data  # free the bytes before the columns are converted
        if intake.delimiter is None and layout.delimiter != ",":
            notes.append(f"delimiter found: {_SPELLED.get(layout.delimiter, layout.delimiter)}")
        # One column whose every value has blanks in it, or signs that are no usual delimiter.
        below = [row for row in layout.rows[int(layout.header) :] if row]
        words = bool(below) and all(
            len(row) == 1 and len(_WORDS.findall(row[0])) > 2 for row in below
        )
        if intake.delimiter is None and words:
            notes.append(
                "one column was found; give --delimiter (delimiter=) if another sign separates "
                "its values"
            )
        if intake.header is None and not layout.header:
            notes.append(
                "the first line looks like data, so columns are named column_1, column_2, …; give "
                "--header (header=True) if it names them"
            )
        if layout.padded:
            notes.append("blanks after the delimiter were removed")
        notes += cell_notes
        # Blanks, codes and types are settled in place; what there is to say about them is noted in
        # this order.
        decimal = intake.decimal or "."
        if request.text:
            notes += about_codes(settle_values(columns, intake))
        else:
            notes += [] if intake.blanks else strip_habit(columns)
            blanked = settle_values(columns, intake)
            decimal, about_numbers = inference.convert(columns, decimal=intake.decimal)
            blanked += settle_values(columns, intake)  # -9 as a number: -9.0 is the same
            notes += [*about_codes(blanked), *about_numbers]
        source = Source(
            name, "csv", layout.delimiter, encoding, decimal, layout.header, notes=tuple(notes)
        )
        return pl.DataFrame(columns), dataclasses.replace(source, types_found=not request.text)

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """Write with the delimiter, encoding, decimal mark and header of the form; NaN becomes
        missing.
        """
        if form.defused:
            frame = defused(frame)
        unfit = (pl.Binary, pl.Duration)
        refused = [
            name
            for name, dtype in frame.schema.items()
            if dtype.is_nested() or dtype.is_object() or dtype in unfit
        ]
        if refused:
            raise OutputError(
                f"{listed(refused)}: nested or binary values and durations do not fit into CSV;"
                " drop them, or write Parquet"
            )
        # What CSV cannot say is put in words: no NaN, and no decimals that could be thousands.
        numbers = [name for name, dtype in frame.schema.items() if dtype.is_float()]
        ready = frame.with_columns(_decided(frame[name], form.decimal) for name in numbers)
        codec = codecs.lookup(form.encoding).name
        encoder = codecs.getincrementalencoder(codec)()
        with target.open("wb") as out:
            for start in range(0, max(ready.height, 1), _WRITTEN_ROWS):
                piece = io.BytesIO()
                ready.slice(start, _WRITTEN_ROWS).write_csv(
                    piece,
                    include_header=form.header and start == 0,
                    separator=form.delimiter,
                    decimal_comma=form.decimal == ",",
                    # alone on its line a missing value would be an empty line: quoted it is seen
                    quote_style="always" if ready.width == 1 else "necessary",
                )
                try:
                    out.write(
                        piece.getvalue()
                        if codec == "utf-8"
                        else encoder.encode(piece.getvalue().decode())
                    )
                except UnicodeEncodeError:
                    raise OutputError(_unencodable(frame, source.name, form.encoding)) from None
