"""Numbers that Excel shows with leading zeros: the cell format ``00000`` of a ZIP code.

The sheet reader gives values without formats, so the first rows of the sheet are looked at once more for the formats of
their cells. Only bounded pieces of the workbook are read; what does not look as expected gives no widths.
"""

from __future__ import annotations

import io
import re
import zipfile

_SHEET_BYTES = 1 << 20
_PART_BYTES = 1 << 24
_ZEROS = re.compile(r"0{2,}")
_CELL = re.compile(r'<c r="([A-Z]{1,3})(\d+)"([^>]*)><v>')
_STYLE = re.compile(r' s="(\d+)"')
_KIND = re.compile(r' t="(?!n")')


def padded_widths(data: bytes) -> dict[int, int]:
    """Position of each column of the first sheet whose numbers are all shown with the same zeros → digits shown."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            widths = _style_widths(_part(book, "xl/styles.xml"))
            return _column_widths(_part(book, _first_sheet(book), _SHEET_BYTES), widths) if widths else {}
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, NotImplementedError, RuntimeError, EOFError):
        return {}  # an old .xls, an .ods, a locked or unusual workbook: nothing is known about its formats


def _part(book: zipfile.ZipFile, path: str, most: int = _PART_BYTES) -> str:
    with book.open(path) as part:
        return part.read(most).decode("utf-8", errors="ignore")


def _first_sheet(book: zipfile.ZipFile) -> str:
    first = re.search(r'<sheet [^>]*r:id="([^"]+)"', _part(book, "xl/workbook.xml"))
    links = _part(book, "xl/_rels/workbook.xml.rels")
    for link in re.findall(r"<Relationship [^>]*>", links):
        if first is not None and f'Id="{first[1]}"' in link:
            target = re.search(r'Target="([^"]+)"', link)
            if target is not None:
                return target[1].lstrip("/") if target[1].startswith("/") else f"xl/{target[1]}"
    return "xl/worksheets/sheet1.xml"


def _style_widths(styles: str) -> dict[int, int]:
    """Number of a cell style → digits, for styles whose format is nothing but zeros."""
    formats = dict(re.findall(r'<numFmt numFmtId="(\d+)" formatCode="([^"]*)"', styles))
    cells = re.search(r"<cellXfs.*?</cellXfs>", styles, flags=re.DOTALL)
    used = re.findall(r'<xf [^>]*?numFmtId="(\d+)"', cells[0]) if cells else []
    codes = {style: formats.get(number, "") for style, number in enumerate(used)}
    return {style: len(code) for style, code in codes.items() if _ZEROS.fullmatch(code)}


def _column_widths(sheet: str, widths: dict[int, int]) -> dict[int, int]:
    found: dict[int, set[int | None]] = {}
    for letters, _, attributes in _CELL.findall(sheet):
        style = _STYLE.search(attributes)
        if not _KIND.search(attributes):  # text cells say their kind; numbers need not
            found.setdefault(_position(letters), set()).add(widths.get(int(style[1])) if style else None)
    shown = {position: next(iter(seen)) for position, seen in found.items() if len(seen) == 1}
    return {position: width for position, width in shown.items() if width is not None}


def _position(letters: str) -> int:
    """Position of a column by its letters.

    >>> _position("A"), _position("AB")
    (0, 27)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
