"""The files of a release as text that is the same on every machine, so that their digests can be compared.

What is not compared, because another machine or another version of a package may write it differently while the release is the same:

=====================  ====================================================================================================
masked                 why
=====================  ====================================================================================================
``versions``           of Python, sfumato and the packages
``sha256`` and         digests of files and documents that hold versions, or that a package writes (Parquet, Excel); the
``digest``             files themselves are compared here, by content
``input_sha256`` and   where an input file is written by a package (Parquet, Excel, SPSS, Stata, Arrow); of text they stay
``input_commitment``
``bytes``              sizes of files, which versions and packages decide
``seconds``            how long something took; in sentences, seconds with their sign: ``0.02 s``
numbers                with a decimal point are rounded to nine significant digits: sums, logarithms and products of matrices
                       may differ in their last digits (in JSON, pages and released values alike)
the panel that checks  in shared pages: it is the same in all of them, and has tests in a browser
digests elsewhere      64 hexadecimal digits in texts, pages, logs and databases, for the same reason
=====================  ====================================================================================================

Binary files become their columns, types and rows. Order of rows, keys of JSON and columns is compared: it is behaviour.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sqlite3
import zipfile
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

DIGITS = 9
TEXT = {".csv", ".tsv", ".jsonl", ".yaml", ".json", ".graphml", ".txt", ".key"}
FRAMES = {".parquet", ".arrow", ".xlsx", ".sav", ".dta", ".xpt"}
DATABASES = {".db"}
PAGES = {".html", ".jsonl"}
"""Text in which digests of other files stand."""
COMPRESSED = b"x\x9c"
"""How data begin that zlib compressed."""
MASKED = {
    "versions",
    "sha256",
    "output_sha256",
    "digest",
    "seconds",
    "bytes",
}
INPUT = {"input_sha256", "input_commitment"}
COMMITTED = {"salt", *INPUT}
"""Digests that are compared, since they follow from the input and the fixed salt."""
STRINGS = "xl/sharedStrings.xml"
SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])")
SECONDS = re.compile(r"(?:<|&lt;)?\b\d+(?:\.\d+)? s\b")
BLOB = re.compile(r"X'(789C[0-9A-F]*)'")
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


LEFT_OF_ZERO = 1e-12
"""Smaller numbers are zeros that sums in another order left over."""


def rounded(number: float) -> float:
    """A number of nine significant digits; zero has no sign, and what rounding left of zero is
    zero.
    """
    if abs(number) < LEFT_OF_ZERO:
        return 0.0
    if not math.isfinite(number) or number == 0:
        return abs(number) if number == 0 else number
    return float(f"{number:.{DIGITS}g}")


def plain_text(text: str) -> str:
    """Text with its decimal numbers rounded; whole numbers and names stay as they are."""
    return NUMBER.sub(lambda match: _rounded_text(match.group()), text)


def _rounded_text(number: str) -> str:
    if 0 < abs(float(number)) < LEFT_OF_ZERO:
        return "0.0"  # 2.297e-16 on one machine, 6.476e-17 on another
    significant = re.sub(r"[eE].*|[-.]", "", number).lstrip("0")
    if len(significant) <= DIGITS:
        return number
    return repr(rounded(float(number)))


def plain_document(value: Any, *, masked: set[str]) -> Any:
    """A JSON document with its numbers rounded and what depends on the machine masked."""
    if isinstance(value, dict):
        document = {}
        for key, part in value.items():
            if key in masked:
                document[key] = "<masked>"
            elif key in COMMITTED:
                document[key] = part
            else:
                document[key] = plain_document(part, masked=masked)
        return document
    if isinstance(value, list):
        return [plain_document(part, masked=masked) for part in value]
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, str):
        return page_text(value)
    return value


def json_text(text: str, *, text_input: bool) -> str:
    """A JSON document as text, one value a line."""
    masked = MASKED if text_input else MASKED | INPUT
    return (
        json.dumps(plain_document(json.loads(text), masked=masked), indent=1, ensure_ascii=False)
        + "\n"
    )


def page_text(text: str) -> str:
    """Text without the digests in it; sentences, tables and pictures are compared."""
    return plain_text(SECONDS.sub("<seconds>", DIGEST.sub("<digest>", text)))


PANEL = re.compile(
    r'<section id="check">.*?</section>\n|<li><a href="#check">.*?</li>|<script>.*?</script>\n'
    r"|; script-src 'sha256-[^']+'; worker-src blob:",
    re.DOTALL,
)
"""What the panel that checks a release puts into a page."""


def frame_text(frame: pl.DataFrame) -> str:
    """The columns of a table with their types, then its rows as JSON."""
    lines = [json.dumps({name: str(dtype) for name, dtype in frame.schema.items()})]
    for row in frame.iter_rows():
        cells = [rounded(cell) if isinstance(cell, float) else cell for cell in row]
        lines.append(json.dumps(cells, ensure_ascii=False, default=str))
    return "\n".join(lines) + "\n"


def read_frame(path: Path) -> pl.DataFrame:
    """A table from a file that a package wrote."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    if path.suffix == ".arrow":
        return pl.read_ipc(path)
    if path.suffix == ".xlsx":
        return _read_cells(path)
    import pyreadstat

    reader = {".sav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}[path.suffix]
    columns, about = getattr(pyreadstat, reader)(str(path), output_format="dict")
    return pl.DataFrame({name: columns[name] for name in about.column_names}, strict=False)


def _read_cells(path: Path) -> pl.DataFrame:
    """The cells of the first sheet of a workbook: where each stands, its type and what it holds."""
    with zipfile.ZipFile(path) as book:
        texts = ["".join(item.itertext()) for item in ElementTree.fromstring(book.read(STRINGS))]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    cells = []
    for cell in sheet.iter(f"{SPREADSHEET}c"):
        value = cell.findtext(f"{SPREADSHEET}v") or ""
        kind = cell.get("t", "n")
        if kind == "s":
            value = texts[int(value)]
        else:
            value = plain_text(value)
        cells.append((cell.get("r"), kind, value))
    return pl.DataFrame(cells, schema=["cell", "type", "value"], orient="row")


def database_text(path: Path) -> str:
    """The statements that would make a database anew."""
    connection = sqlite3.connect(path)
    try:
        statements = "\n".join(connection.iterdump())
    finally:
        connection.close()
    return page_text(BLOB.sub(_decompressed, statements)) + "\n"


def journal_text(content: str) -> str:
    """The entries of a journal; what is compressed in them as it is, and hashes of lines, which
    follow from that, left out.
    """

    def plain(field: re.Match[str]) -> str:
        return f'"{field[1]}":"{zlib.decompress(base64.b64decode(field[2])).hex()}"'

    content = re.sub(r'"(hashes|rows)":"([A-Za-z0-9+/=]+)"', plain, content)
    return page_text(re.sub(r'"hash":"[0-9a-f]{64}"', '"hash":"…"', content))


def _decompressed(blob: re.Match[str]) -> str:
    return f"X'{zlib.decompress(bytes.fromhex(blob[1])).hex()}'"


def text_of(path: Path, *, text_input: bool) -> str:
    """The comparable text of one file."""
    if path.suffix in FRAMES:
        return frame_text(read_frame(path))
    raw = path.read_bytes()
    if path.suffix in DATABASES:
        return (
            database_text(path) if raw.startswith(b"SQLite") else journal_text(raw.decode("utf-8"))
        )
    if raw.startswith(COMPRESSED):
        return zlib.decompress(raw).hex()
    content = raw.decode("utf-8")
    if path.suffix == ".json":
        return json_text(content, text_input=text_input)
    if path.suffix in PAGES:
        return page_text(PANEL.sub("", content))
    return plain_text(content)
