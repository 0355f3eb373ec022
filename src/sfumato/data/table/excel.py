"""Excel workbooks: the first sheet or the one that was named, cell types kept (extra ``excel``).

A cell that Excel holds as text stays text, whatever its digits. Numbers shown with leading zeros
(the format ``00000``) become text as shown; so do numbers of a column whose name is that of a code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import html
import io
import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from sfumato.core.source import ColumnNote, Source
from sfumato.data.table.archive_size import require_modest_archive
from sfumato.data.table.formats import FileFormat, ReadRequest, refusing
from sfumato.data.table.inference import is_identifier_name
from sfumato.data.table.sniff import ROWS, has_header
from sfumato.data.table.values import column_names
from sfumato.errors import OutputError, ParameterError, UnreadableInput, require

if TYPE_CHECKING:
    from sfumato.data.table.form import Form

# Numbers that Excel shows with leading zeros: the cell format ``00000`` of a ZIP code.
#
# The sheet reader gives values without formats, so the first rows of the sheet are looked at once
# more for the formats of their cells. Only bounded pieces of the workbook are read; what does not
# look as expected gives no widths.

_SHEET_BYTES = 1 << 20
_PART_BYTES = 1 << 24
_ZEROS = re.compile(r"0{2,}")
_CELL = re.compile(r'<c r="([A-Z]{1,3})(\d+)"([^>]*)><v>')
_FILLED = re.compile(r'<c r="([A-Z]{1,3})\d+"[^>]*(?<!/)>')
_STYLE = re.compile(r' s="(\d+)"')
_KIND = re.compile(r' t="(?!n")')


def padded_widths(data: bytes, sheet: str | None = None) -> dict[int, int]:
    """Position of each column of a sheet (by default the first one) whose numbers are all shown
    with the same zeros → digits shown.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            widths = _style_widths(_part(book, "xl/styles.xml"))
            if not widths:
                return {}
            return _column_widths(_part(book, _sheet_file(book, sheet), _SHEET_BYTES), widths)
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        OSError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ):
        # an old .xls, an .ods, a locked or unusual workbook: nothing is known about its formats
        return {}


def _part(book: zipfile.ZipFile, path: str, limit: int = _PART_BYTES) -> str:
    with book.open(path) as part:
        return part.read(limit).decode("utf-8", errors="ignore")


def _sheet_file(book: zipfile.ZipFile, sheet: str | None) -> str:
    """The part of a workbook that holds a sheet; an unknown name has none."""
    link_id = None
    for tag in re.findall(r"<sheet [^>]*>", _part(book, "xl/workbook.xml")):
        sheet_name = re.search(r' name="([^"]*)"', tag)
        if sheet is None or (sheet_name is not None and html.unescape(sheet_name[1]) == sheet):
            link_id = re.search(r' r:id="([^"]+)"', tag)
            break
    if sheet is not None and link_id is None:
        raise KeyError(sheet)
    links = _part(book, "xl/_rels/workbook.xml.rels")
    for link in re.findall(r"<Relationship [^>]*>", links):
        if link_id is not None and f'Id="{link_id[1]}"' in link:
            target = re.search(r'Target="([^"]+)"', link)
            if target is not None:
                if target[1].startswith("/"):
                    return target[1].lstrip("/")
                return f"xl/{target[1]}"
    return "xl/worksheets/sheet1.xml"


def _style_widths(styles: str) -> dict[int, int]:
    """Number of a cell style → digits, for styles whose format is nothing but zeros."""
    formats = dict(re.findall(r'<numFmt numFmtId="(\d+)" formatCode="([^"]*)"', styles))
    cells = re.search(r"<cellXfs.*?</cellXfs>", styles, flags=re.DOTALL)
    if cells:
        used = re.findall(r'<xf [^>]*?numFmtId="(\d+)"', cells[0])
    else:
        used = []
    codes = {style: formats.get(number, "") for style, number in enumerate(used)}
    return {style: len(code) for style, code in codes.items() if _ZEROS.fullmatch(code)}


def _column_widths(sheet: str, widths: dict[int, int]) -> dict[int, int]:
    by_column: dict[int, set[int | None]] = {}
    # where the reader begins
    first = min((_position(letters) for letters in _FILLED.findall(sheet)), default=0)
    for letters, _, attributes in _CELL.findall(sheet):
        style = _STYLE.search(attributes)
        if not _KIND.search(attributes):  # text cells say their kind; numbers need not
            by_column.setdefault(_position(letters) - first, set()).add(
                widths.get(int(style[1])) if style else None
            )
    uniform = {position: next(iter(seen)) for position, seen in by_column.items() if len(seen) == 1}
    return {position: width for position, width in uniform.items() if width is not None}


def _position(letters: str) -> int:
    """Position of a column by its letters.

    >>> _position("A"), _position("AB")
    (0, 27)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


MOST_ROWS, MOST_COLUMNS = 1_048_575, 16_384
_EXACT = 2**53


def _opened(data: bytes | str, name: str) -> Any:
    fastexcel = require("fastexcel", extra="excel", to="read Excel files")
    require_modest_archive(data, name)
    with (
        refusing(f"{name} is not an Excel workbook, or it is damaged or locked with a password"),
        _quiet(),
    ):
        return fastexcel.read_excel(data)


def sheets_of(path: Path) -> list[str]:
    """The names of the sheets of a workbook, in their order."""
    return list(_opened(str(path), path.name).sheet_names)


def _sheet_index(sheets: list[str], sheet: str | None, name: str) -> int:
    """Where the sheet stands that was named. Names of others are not told: a workbook may have a
    sheet a person.
    """
    if sheet is None:
        return 0
    if sheet not in sheets:
        has = f"{len(sheets):,} sheets" if len(sheets) != 1 else "one sheet"
        raise ParameterError(f"{name} has {has}, but no sheet {sheet!r}; check capitals and blanks")
    return sheets.index(sheet)


def read(
    data: bytes,
    *,
    name: str,
    header: bool | None = None,
    sheet: str | None = None,
    rename_duplicates: bool | None = None,
) -> tuple[pl.DataFrame, Source]:
    """Read a sheet of a workbook, by default the first one."""
    book = _opened(data, name)
    sheets: list[str] = book.sheet_names
    at = _sheet_index(sheets, sheet, name)
    which = "the first sheet" if sheet is None else "the sheet"
    with refusing(f"{name}: {which} cannot be read"), _quiet():
        above, cells = _head(book, at) if sheets else (0, [])
    if not cells:
        raise UnreadableInput(
            f"{name}: {which} is empty, or does not begin with the names of the columns in its"
            " first row"
        )
    has_names = has_header(cells) if header is None else header
    names, about_names = [f"column_{i}" for i in range(1, len(cells[0]) + 1)], list[str]()
    if has_names:
        names, about_names = column_names(
            cells[0], where=f"{name}, row {above + 1}", rename=bool(rename_duplicates)
        )
    with refusing(f"{name}: {which} cannot be read as a table"), _quiet():
        options = {
            "header_row": None,
            "schema_sample_rows": None,
            "skip_whitespace_tail_rows": True,
        }
        rows = None
        if len(cells) > has_names:
            rows = book.load_sheet(at, skip_rows=above + int(has_names), **options)
        frame = None if rows is None else rows.to_polars()
    frame, codes = _tidied(frame, names, name, padded_widths(data, sheet))
    about = (
        *_notes(sheets if sheet is None else [], has_names, header, codes, names),
        *about_names,
    )
    return frame, Source(name, "excel", header=has_names, notes=about, types_found=True)


def _head(book: Any, at: int) -> tuple[int, list[tuple[str, ...]]]:
    """How many empty rows stand above the table, and its first rows.

    Who says how many rows are skipped has the empty ones counted in, so they are counted here.
    """
    looked_at, rows = ROWS, list[tuple[str, ...]]()
    while True:
        read = (
            book.load_sheet(at, header_row=None, skip_rows=0, n_rows=looked_at, dtypes="string")
            .to_polars()
            .rows()
        )
        rows = [tuple(cell or "" for cell in row) for row in read]
        above = next(
            (i for i, row in enumerate(rows) if any(cell.strip() for cell in row)), len(rows)
        )
        if len(rows) < looked_at or len(rows) - above >= ROWS:
            return above, rows[above : above + ROWS]
        looked_at *= 4


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the reader's log about column types off the user's terminal."""
    log = logging.getLogger("fastexcel")
    before, log.level = log.level, logging.CRITICAL
    try:
        yield
    finally:
        log.setLevel(before)


def _notes(
    sheets: list[str], has_names: bool, header: bool | None, codes: list[int], names: list[str]
) -> list[str]:
    notes: list[str] = []
    if len(sheets) > 1:
        notes.append(
            f"the workbook has {len(sheets)} sheets, and only the first was read; --sheet (sheet=) "
            "selects another"
        )
    if header is None and not has_names:
        notes.append(
            "the first row looks like data, so columns are named column_1, column_2, …; give "
            "--header (header=True) if it names them"
        )
    if codes:
        sentence = (
            "{}: codes stored as numbers became text, with the leading zeros of their cell format"
        )
        notes.append(ColumnNote.of(sentence, codes, names))
    return notes


def _tidied(
    frame: pl.DataFrame | None, names: list[str], name: str, widths: dict[int, int]
) -> tuple[pl.DataFrame, list[int]]:
    """Name the columns and settle their types; also the places (from 1) of codes that were stored
    as numbers.
    """
    if frame is None or not frame.height:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), []
    if frame.width > len(names):
        raise UnreadableInput(
            f"{name}: {frame.width} columns hold values but only {len(names)} have a name; name"
            " them in the first row"
        )
    columns = [_settled(column.alias(new)) for column, new in zip(frame, names, strict=False)]
    columns += [
        pl.Series(new, [None] * frame.height, dtype=pl.String) for new in names[frame.width :]
    ]
    codes = []
    for position, column in enumerate(columns):
        if column.dtype == pl.Int64 and (position in widths or is_identifier_name(column.name)):
            columns[position] = column.cast(pl.String).str.zfill(widths.get(position, 0))
            codes.append(position + 1)
    return pl.DataFrame(columns), codes


def _settled(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if column.dtype == pl.Float64:
        bare = column.drop_nulls()
        whole = bool((bare == bare.round()).all()) and bool((bare.abs() < _EXACT).all())
        return column.cast(pl.Int64) if whole else column
    if column.dtype == pl.Datetime:
        midnight = (column.dt.time().drop_nulls() == dt.time(0)).all()
        return column.cast(pl.Date) if midnight else column
    return column


def write(frame: pl.DataFrame, target: Path, source: Source) -> None:
    """Write one sheet; text stays text, NaN and infinities become empty cells."""
    xlsxwriter = require("xlsxwriter", extra="excel", to="write Excel files")
    if frame.height > MOST_ROWS or frame.width > MOST_COLUMNS:
        raise OutputError(
            f"{frame.height:,} rows × {frame.width:,} columns do not fit into an Excel sheet "
            f"({MOST_ROWS:,} × {MOST_COLUMNS:,}); write Parquet or CSV"
        )
    book = xlsxwriter.Workbook(
        str(target),
        {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    book.set_properties({"created": dt.datetime(2000, 1, 1)})  # the same table gives the same bytes
    sheet, formats = book.add_worksheet("data"), _Formats(book)
    if source.header:
        for position, name in enumerate(frame.columns):
            sheet.write_string(0, position, name)
    for position, column in enumerate(frame):
        _write_column(sheet, position, column, int(source.header), formats)
    book.close()


_OWN = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml"
    r"|xl/(_rels/workbook\.xml\.rels|workbook\.xml|sharedStrings\.xml"
    r"|styles\.xml|theme/theme1\.xml|worksheets/sheet1\.xml)"
)
"""The parts of a workbook of one sheet without pictures, comments, links and macros."""


def more_in_workbook(file: Path) -> bool:
    """Whether a workbook holds more than one plain sheet: others are not read, and nobody judged
    them.
    """
    try:
        with zipfile.ZipFile(file) as book:
            parts = book.namelist()
    except (zipfile.BadZipFile, OSError):
        return False  # no workbook at all: who reads it is told
    return len(set(parts)) < len(parts) or not all(_OWN.fullmatch(part) for part in parts)


class _Formats:
    """How dates and times are shown."""

    def __init__(self, book: Any) -> None:
        self.date = book.add_format({"num_format": "yyyy-mm-dd"})
        self.moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self.time = book.add_format({"num_format": "hh:mm:ss"})


def _write_column(
    sheet: Any, position: int, column: pl.Series, first: int, formats: _Formats
) -> None:
    dtype = column.dtype
    if dtype.is_integer() or dtype.is_float():
        exact = dtype.is_float() or int(column.abs().max() or 0) <= _EXACT  # type: ignore[arg-type]
        if dtype.is_float():
            values = column.set(~column.is_finite(), None)
        else:
            values = column
        write = sheet.write_number if exact else sheet.write_string
        _write_cells(write, position, values if exact else column.cast(pl.String), first)
    elif dtype == pl.Boolean:
        _write_cells(sheet.write_boolean, position, column, first)
    elif dtype.is_temporal() and dtype != pl.Duration:
        if dtype == pl.Date:
            date_format = formats.date
        elif dtype == pl.Time:
            date_format = formats.time
        else:
            date_format = formats.moment
        if dtype == pl.Datetime:
            naive = column.dt.replace_time_zone(None)
        else:
            naive = column
        _write_cells(sheet.write_datetime, position, naive, first, date_format)
    elif dtype.is_nested() or dtype.is_object() or dtype == pl.Binary:
        raise OutputError(
            f"column {column.name!r}: nested or binary values do not fit into Excel; drop them, or"
            " write Parquet"
        )
    else:
        _write_cells(sheet.write_string, position, column.cast(pl.String), first)


def _write_cells(write: Any, position: int, values: pl.Series, first: int, *formats: Any) -> None:
    for row, value in enumerate(values, start=first):
        if value is not None:
            write(row, position, value, *formats)


class Excel(FileFormat):
    """Excel workbooks."""

    name: ClassVar[str] = "excel"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    read_only: ClassVar[tuple[str, ...]] = (".xls", ".xlsb", ".xlsm", ".ods")
    openings: ClassVar[tuple[bytes, ...]] = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
    options: ClassVar[frozenset[str]] = frozenset({"header", "sheet", "rename_duplicates"})

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """What :func:`read` reads."""
        intake = request.intake
        how = {"header": intake.header, "rename_duplicates": intake.rename_duplicates}
        return read(data, name=name, sheet=intake.sheet, **how)

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """What :func:`write` writes."""
        write(frame, target, dataclasses.replace(source, header=form.header))

    def holds_more(self, file: Path, *, exact: bool) -> bool:
        """What :func:`more_in_workbook` finds."""
        return more_in_workbook(file)
