"""Tables whose values look alike, and readers that know nothing of sfumato: what the fuzzers of
written files draw and read.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

import sfumato as sf

FORMATS = ("csv", "csv", "parquet", "arrow", "jsonl", "excel", "spss", "stata", "sas")
FRAMES = (
    "polars",
    "enum",
    "categorical",
    "pandas",
    "pandas nullable",
    "pandas category",
    "arrow",
    "arrow dictionary",
    "csv ,",
    "csv ;",
    "csv \t",
    "csv ; ,",
    "csv |",
)
LOOKALIKE = (
    ("", None, "a"),
    ("", None),
    (" ", "", None),
    ("1", "1.0", "01", "x"),
    ("1", "01"),
    ("1", "1.0", "1e0"),
    ("1", "+1", " 1", "1 "),
    ("-0.0", "0.0", "0", "-0"),
    ("9007199254740993", "9007199254740992"),
    ("1e400", "2e400", "inf"),
    ("1,5", "1.5", "1,50"),
    ("1 000", "1000", "1,000"),
    ("NaN", None, "nan"),
    ("NA", "None", "null", None, ""),
    ("N/A", "NULL", "."),
    ("e\u0301", "\u00e9", "e"),
    ("a", "a ", " a", "a\u00a0", "\ta"),
    ("a\tb", "a b", "a\u2028b"),
    ("a\nb", "a\r\nb", "a\rb", "ab"),
    ("\n", "\r\n", "", "\r"),
    ("a;b", "a,b", 'a"b', "a|b"),
    ('"', '""', "'", "''"),
    ("\ufeffa", "a"),
    ("a\0", "a", "a\0b"),
    ("a\x1b", "a", "a\x1a", "a\x85"),
    ("_x000D_", "\r", "_x0041_", "A"),
    ("x" * 300, "x" * 301),
    ("y" * 40000, "y" * 40001),
    ("\U0001f600", "\U0001f601", "\U0001f469\u200d\U0001f52c"),
    ("=1+1", "'=1+1", "+1", "@a", "-1", "2"),
    ("'a", "a", "=a", "'=a"),
    ("true", "True", "TRUE", "1"),
    ("2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00"),
    ("10:00", "10:00:00"),
    ("*", None, "a", "**"),
    ("\u0661", "1", "\uff11"),
    ("a", "A", "\u0430"),
)
NUMBERS = (
    (0.0, -0.0, 1.0),
    (float("nan"), None, 1.0),
    (0.1 + 0.2, 0.3, 0.1),
    (1e300, float("inf"), float("-inf"), None),
    (1e16, 1e16 + 2, 5e-324),
    (1.0, 2.0, None),
    (1.7e308, 1.79e308, None),
)
WHOLE = (
    (1, 2, None),
    (0, 1),
    (2**53, 2**53 + 1, 2**53 + 2),
    (2**63 - 1, 2**63 - 2),
    (101, 32741, 2147483621, None),
)
TRUTHS = ((True, False), (True, None))
DATES = (
    (dt.date(2024, 1, 1), dt.date(2024, 1, 2), None),
    (dt.date(1900, 2, 28), dt.date(1900, 3, 1), dt.date(1899, 12, 31)),
    (dt.date(1, 1, 1), dt.date(9999, 12, 31)),
)
NOON = dt.datetime(2024, 1, 1, 12)
MOMENTS = (
    (NOON, NOON.replace(microsecond=1), NOON.replace(microsecond=999)),
    (NOON, NOON.replace(hour=0), None),
    (NOON.replace(hour=0), NOON.replace(hour=0, day=2)),
)
TIMES = ((dt.time(10), dt.time(10, 0, 0, 1), None),)
NAMES = (
    "",
    " ",
    " a",
    "a ",
    "a",
    "A",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a,b",
    "a;b",
    'a"b',
    "e\u0301",
    "\u00e9",
    "\ufeffa",
    "a\0",
    "=1+1",
    "'",
    "x" * 40,
    "x" * 41,
    "x" * 300,
    "\U0001f600",
    "NA",
    "null",
    "1",
    "1.0",
    "true",
    "*",
    "^a$",
    "^a",
    "len",
    "a.b",
    "a b",
    "_x0041_",
    "__index_level_0__",
    "class",
    "\u2028",
)
LABEL = re.compile(r"quokka\d+z")


def label(number: int) -> str:
    """A value that occurs nowhere by accident; frames keep long ones in another place than short
    ones.
    """
    return f"quokka{number}z{' and a long tail' * (number % 2)}"


@dataclasses.dataclass(frozen=True)
class Case:
    """A table, what is promised about it, and where it is written."""

    names: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    """Quasi-identifiers first, then the sensitive column, then plain ones."""
    quasi: int
    frame: str
    format: str
    hierarchies: tuple[str, ...]
    meet: tuple[sf.KAnonymity | sf.LDiversity | sf.PSensitive | sf.TCloseness, ...]
    step: Any
    early: bool = True
    """Whether the search knows the format."""
    defuse: bool = False
    direct: bool = False
    """Whether the last column, a plain one else, names people."""

    @property
    def sensitive(self) -> str:
        return self.names[self.quasi]


@st.composite
def columns_of(draw: st.DrawFn, rows: int) -> tuple[Any, ...]:
    """One column: a few values that look alike, at times with labels that are easily found
    again.
    """
    pool = draw(
        st.sampled_from(
            (*LOOKALIKE, *LOOKALIKE, *NUMBERS, *WHOLE, *TRUTHS, *DATES, *MOMENTS, *TIMES)
        )
    )
    cells = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    if all(v is None or isinstance(v, str) for v in pool):
        for place in draw(st.lists(st.integers(0, rows - 1), max_size=2)):
            cells[place] = label(draw(st.integers(0, 3)))
    return tuple(cells)


@st.composite
def promises_about(draw: st.DrawFn, sensitive: str) -> tuple[Any, ...]:
    offered = [
        sf.LDiversity(sensitive, l=2),
        sf.PSensitive(sensitive, p=2, k=2),
        sf.TCloseness(sensitive, t=0.4, reference="released"),
        sf.TCloseness(sensitive, t=0.6),
    ]
    return (
        sf.KAnonymity(draw(st.integers(2, 3))),
        *draw(st.lists(st.sampled_from(offered), max_size=2, unique_by=str)),
    )


STEPS = (
    sf.GlobalRecoding(budget=0.6),
    sf.GlobalRecoding(budget=0.3),
    sf.GlobalRecoding(suppress="cell", budget=0.6),
    sf.GlobalRecoding(suppress="attribute", budget=0.6),
    sf.GlobalRecoding(suppress="none"),
    sf.LocalRecoding(suppress="tuple", budget=0.5),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, quasi, plain = draw(st.integers(4, 14)), draw(st.integers(1, 2)), draw(st.integers(0, 1))
    count = quasi + 1 + plain
    names = ("q", "s", "t", "u")[:count]
    if draw(st.booleans()):
        names = tuple(
            draw(
                st.lists(
                    st.sampled_from((*NAMES, "q", "s")), min_size=count, max_size=count, unique=True
                )
            )
        )
    return Case(
        names,
        tuple(draw(columns_of(rows)) for _ in range(count)),
        quasi,
        draw(st.sampled_from(FRAMES)),
        draw(st.sampled_from(FORMATS)),
        tuple(
            draw(st.sampled_from(("suppress", "suppress", "mask", "none"))) for _ in range(quasi)
        ),
        draw(promises_about(names[quasi])),
        draw(st.sampled_from(STEPS)),
        draw(st.integers(0, 3)) > 0,
        draw(st.integers(0, 3)) == 0,
        plain > 0 and draw(st.booleans()),
    )


# --- the table in every shape


def typed(name: str, values: Sequence[Any]) -> pl.Series:
    return pl.Series(
        "", list(values), dtype=pl.String if all(v is None for v in values) else None
    ).alias(name)


def framed(case: Case, folder: Path) -> Any:
    """The table as a frame of the wanted kind, or as a CSV file of the wanted dialect."""
    table = pl.DataFrame([typed(n, v) for n, v in zip(case.names, case.columns, strict=True)])
    text = [c for c, t in table.schema.items() if t == pl.String]
    kind = case.frame
    if kind.startswith("csv"):
        return csv_file(case, folder / "table.csv")
    if kind == "enum":
        return table.with_columns(
            table[c].cast(pl.Enum(sorted(set(table[c].to_list()) - {None}))) for c in text
        )
    if kind == "categorical":
        return table.with_columns(table[c].cast(pl.Categorical) for c in text)
    if kind.startswith("pandas"):
        return pandas_frame(case, kind)
    if kind.startswith("arrow"):
        import pyarrow as pa

        arrow = [table[n].alias("").to_arrow() for n in table.columns]
        plain = [
            c.cast(pa.string()) if n in text else c
            for n, c in zip(table.columns, arrow, strict=True)
        ]
        coded = [c.dictionary_encode() for c in plain] if kind.endswith("dictionary") else plain
        return pa.table(coded, names=table.columns)
    return table


def pandas_frame(case: Case, kind: str) -> Any:
    import pandas as pd

    table = pd.DataFrame(
        {n: pd.Series(list(v), dtype=object) for n, v in zip(case.names, case.columns, strict=True)}
    )
    if kind.endswith("category"):
        return table.astype("category")
    return table.convert_dtypes() if kind.endswith("nullable") else table


def csv_file(case: Case, file: Path) -> Path:
    """The table as another program would have written it."""
    _, delimiter, *decimal = re.split("(?<=csv) |(?<=;) ", case.frame)
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(case.names)
        for row in zip(*case.columns, strict=True):
            writer.writerow(
                [
                    (
                        ""
                        if v is None
                        else (
                            str(v).replace(".", ",") if decimal and isinstance(v, float) else str(v)
                        )
                    )
                    for v in row
                ]
            )
    return file


def read(case: Case, folder: Path) -> sf.Table:
    table = framed(case, folder)
    options: dict[str, Any] = {}
    if case.frame.startswith("csv"):
        options = {
            "delimiter": case.frame[4],
            "header": True,
            "missing_values": [],
            "decimal": "," if case.frame.endswith(" ,") else ".",
        }
    return sf.read(table, **options)


def hierarchy(name: str) -> Any:
    return sf.suppress() if name == "suppress" else sf.mask_right(6)


def described(case: Case, table: sf.Table) -> sf.Table:
    """The table with roles and hierarchies."""
    quasi = case.names[: case.quasi]
    levels = {n: hierarchy(h) for n, h in zip(quasi, case.hierarchies, strict=True) if h != "none"}
    rest = {"drop" if case.direct else "keep": list(case.names[case.quasi + 1 :])}
    with_roles = table.with_roles(quasi=list(quasi), sensitive=[case.sensitive], **rest)
    return with_roles.with_hierarchies(**levels) if levels else with_roles


# --- the file, as strangers read it

Reading = tuple[list[str], list[list[str]]]
"""Names of columns and rows of cells, spelled so that equal text is one value."""
MISSING = {"", "None", "nan", "''"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def readings(file: Path, form: dict[str, Any]) -> dict[str, Reading]:
    """What strangers find in a file, each in their own way."""
    if file.suffix in (".csv", ".tsv", ".txt"):
        text = csv_text(file, form)
        return {"text": text, "numbers": as_numbers(text, form["decimal"])}
    if file.suffix == ".jsonl":
        lines = file.read_text(encoding="utf-8").split("\n")
        return {
            name: spelled([json.loads(line, parse_int=how) for line in lines if line])
            for name, how in (("json", int), ("javascript", float))
        }
    if file.suffix in (".parquet", ".arrow"):
        return {"pyarrow": spelled(arrow_table(file).to_pylist(), arrow_table(file).column_names)}
    if file.suffix == ".xlsx":
        import fastexcel

        sheets = {
            "typed": fastexcel.read_excel(file).load_sheet(0),
            "text": fastexcel.read_excel(file).load_sheet(0, dtypes="string"),
        }
        return {
            n: spelled(s.to_polars().to_dicts(), s.to_polars().columns) for n, s in sheets.items()
        }
    import pyreadstat

    reader = {
        ".sav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
    }[file.suffix]
    frame = reader(str(file), output_format="polars")[0]
    return {"pyreadstat": spelled(frame.to_dicts(), frame.columns)}


def csv_text(file: Path, form: dict[str, Any]) -> Reading:
    with file.open(encoding=form["encoding"], newline="") as text:
        names, *rows = list(csv.reader(text, delimiter=form["delimiter"], strict=True))
    return names, rows


def as_numbers(text: Reading, decimal: str) -> Reading:
    """The table of somebody whose program takes columns of numbers for numbers."""
    names, rows = text
    columns = [[row[i] for row in rows] for i in range(len(names))]
    return names, [list(row) for row in zip(*(_numbers(c, decimal) for c in columns), strict=True)]


def _numbers(cells: list[str], decimal: str) -> list[str]:
    plain = [c.replace(decimal, ".") for c in cells]
    return (
        [c and repr(float(c)) for c in plain]
        if all(not c or NUMBER.fullmatch(c) for c in plain)
        else cells
    )


def spelled(rows: list[dict[str, Any]], names: list[str] | None = None) -> Reading:
    names = list(rows[0]) if names is None and rows else names or []
    return names, [[repr(v) for v in row.values()] for row in rows]


def arrow_table(file: Path) -> Any:
    import pyarrow.feather
    import pyarrow.parquet

    return (
        pyarrow.parquet.read_table if file.suffix == ".parquet" else pyarrow.feather.read_table
    )(file)


def unpacked(file: Path) -> bytes:
    """What a file holds, uncompressed, dictionaries and metadata included."""
    if file.suffix == ".xlsx":
        with zipfile.ZipFile(file) as book:
            return b"".join(book.read(name) for name in book.namelist())
    if file.suffix in (".parquet", ".arrow"):
        import pyarrow.feather

        found, plain = arrow_table(file), io.BytesIO()
        pyarrow.feather.write_feather(found, plain, compression="uncompressed")
        return file.read_bytes() + plain.getvalue() + str(found.schema.metadata).encode()
    return file.read_bytes()


# --- the promises, by definition


def broken(case: Case, rows: list[list[str]], *, wildcards: bool = False) -> list[str]:
    """The promises that do not hold for rows of cells, by counting.

    With ``wildcards`` a missing cell agrees with every other, and only the sizes of classes are
    counted.
    """
    if wildcards:
        k = max(promise.k for promise in case.meet if isinstance(promise, sf.KAnonymity))
        cells = [row[: case.quasi] for row in rows]
        enough = all(
            sum(all(a == b or {a, b} & MISSING for a, b in zip(x, y, strict=True)) for y in cells)
            >= k
            for x in cells
        )
        return [] if enough else [f"{k}-anonymity"]
    classes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[: case.quasi])].append(row[case.quasi])
    return [str(promise) for promise in case.meet if not _kept(promise, list(classes.values()))]


def _kept(promise: Any, classes: list[list[str]]) -> bool:
    if isinstance(promise, sf.KAnonymity):
        return all(len(c) >= promise.k for c in classes)
    if isinstance(promise, sf.LDiversity):
        return all(len(set(c)) >= promise.l for c in classes)
    if isinstance(promise, sf.PSensitive):
        return all(len(set(c)) >= promise.p and len(c) >= promise.k for c in classes)
    whole = Counter(v for c in classes for v in c)
    return promise.reference == "original" or all(
        _distance(Counter(c), whole) <= promise.t + 1e-9 for c in classes
    )


def _distance(some: Counter[str], whole: Counter[str]) -> float:
    return sum(abs(some[v] / some.total() - whole[v] / whole.total()) for v in whole) / 2
