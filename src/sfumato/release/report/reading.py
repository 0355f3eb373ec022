"""How the shared file is read: what each notation stands for, and lines for pandas, R and Stata."""

from __future__ import annotations

from typing import Literal

from sfumato.core.blocks import Block, Cell, CodeBlock, Heading, Paragraph, TableBlock
from sfumato.core.fields import Fields

SUPPRESSED = "suppressed: it may be any value, and its range is missing"
NOTATIONS: dict[Literal["number", "date", "category"], str] = {
    "number": "one number, or a range such as 20-29, [20, 30), 90+ or {1, 3}, both ends included"
    " unless a round bracket says otherwise",
    "date": "a day, a period (2024-03, 2024-Q1, 2024, 2020s) or a range of days (first..last)",
    "category": "one value, a group of a hierarchy, or a set of values in braces",
}
"""Scale of labels → what a cell may hold."""
LINES: dict[str, tuple[str, str, str]] = {
    "parquet": (
        'pandas.read_parquet("{file}")',
        'arrow::read_parquet("{file}")',
        "no reader of its own: write the typed table as CSV, see below",
    ),
    "excel": (
        'pandas.read_excel("{file}", dtype=str)',
        'readxl::read_excel("{file}", col_types = "text")',
        'import excel "{file}", firstrow allstring',
    ),
    "spss": ('pandas.read_spss("{file}")', 'haven::read_sav("{file}")', 'import spss "{file}"'),
    "stata": ('pandas.read_stata("{file}")', 'haven::read_dta("{file}")', 'use "{file}"'),
    "sas": (
        'pandas.read_sas("{file}")',
        'haven::read_xpt("{file}")',
        'import sasxport5 "{file}"',
    ),
}
"""Format → the lines of pandas, R and Stata; of CSV they depend on the layout."""


def reading_blocks(certificate: Fields) -> list[Block]:
    """How to read every recoded column, and the file itself; nothing where nothing was recoded."""
    labels = certificate.get("labels", {})
    if not labels:
        return []
    rows: list[tuple[Cell, ...]] = []
    scales = {name: facts.get("scale", "category") for name, facts in labels.items()}
    for scale, notation in NOTATIONS.items():
        names = [name for name in labels if scales[name] == scale]
        if names:
            rows.append((", ".join(names), notation))
    blocks: list[Block] = [
        Heading("How to read the data"),
        TableBlock(("Columns", "Content of a cell"), tuple(rows)),
        Paragraph(f"`*` is {SUPPRESSED}."),
    ]
    lines = lines_of(certificate["data"])
    if lines is not None:
        programs = ("pandas", "R", "Stata")
        text = "\n".join(f"{name:8}{line}" for name, line in zip(programs, lines, strict=True))
        blocks.append(CodeBlock(text))
    blocks.append(
        Paragraph(
            "With the ends and the middle of every range as numbers or dates, in the folder of this"
            ' page: `sfumato.read_release(".").write("typed.csv")` in Python.'
        )
    )
    return blocks


def lines_of(data: Fields) -> tuple[str, str, str] | None:
    """The lines that read a released file in pandas, R and Stata; None for formats that they read
    each in its own way.

    >>> form = {"delimiter": ";", "encoding": "cp1252", "decimal": "."}
    >>> for line in lines_of({"file": "data.csv", "format": "csv", "form": form}):
    ...     print(line)
    pandas.read_csv("data.csv", sep=";", encoding="cp1252")
    read.csv("data.csv", sep = ";", fileEncoding = "cp1252", check.names = FALSE)
    import delimited "data.csv", delimiters(";") encoding("cp1252")
    """
    kind = data.get("format")
    if kind == "csv":
        return _lines_of_csv(data["file"], data.get("form") or {})
    lines = LINES.get(str(kind))
    if lines is None:
        return None
    pandas, r, stata = (line.format(file=data["file"]) for line in lines)
    return pandas, r, stata


def _lines_of_csv(file: str, form: Fields) -> tuple[str, str, str]:
    """The same for CSV: what differs from commas, points and UTF-8 is said."""
    pandas, r, stata = [f'"{file}"'], [f'"{file}"'], []
    delimiter, decimal = form.get("delimiter") or ",", form.get("decimal") or "."
    encoding = form.get("encoding") or "utf-8"
    shown = delimiter.replace("\t", r"\t")
    if delimiter != ",":
        pandas.append(f'sep="{shown}"')
        r.append(f'sep = "{shown}"')
        stata.append(f'delimiters("{shown}")')
    if decimal != ".":
        pandas.append(f'decimal="{decimal}"')
        r.append(f'dec = "{decimal}"')
        stata.append("stringcols(_all)")
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        pandas.append(f'encoding="{encoding}"')
        r.append(f'fileEncoding = "{encoding}"')
        stata.append(f'encoding("{encoding}")')
    if form.get("header") is False:
        pandas.append("header=None")
        r.append("header = FALSE")
        stata.append("varnames(nonames)")
    r.append("check.names = FALSE")
    options = f", {' '.join(stata)}" if stata else ""
    # Stata reads decimal commas from text only.
    then = "" if decimal == "." else "; then destring, replace dpcomma"
    return (
        f"pandas.read_csv({', '.join(pandas)})",
        f"read.csv({', '.join(r)})",
        f'import delimited "{file}"{options}{then}',
    )
