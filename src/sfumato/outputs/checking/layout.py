"""How a table is laid out: which of its columns make cells, which tell something of them, and what ``describe()`` and cross tables are."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import SchemaError, nearest
from sfumato.outputs.checking.behind import TOTALS, Behind, membership
from sfumato.outputs.checking.telling import bare, found_by_computing, named
from sfumato.outputs.checking.verdict import OutputReason, OutputVerdict, broken, open_question

if TYPE_CHECKING:
    from numpy.typing import NDArray

PER_RECORD = re.compile(
    r"(std_|standard_|student(ized)?_)?(resid(ual)?s?|fitted(_?values?)?|leverage|hat(_diag)?|cooks?_?d(istance)?|dffits.*|dfb.*|influence)",
    re.IGNORECASE,
)
TOLD, WHOLE, LINE = "\x00told", "\x00whole", "\x00line"
"""Names that no column of a table has."""
GIVE_DATA = "give the records behind it (data=...), so that every cell can be judged"
SAY_WHAT = "say what it tells: tells='mean(cost)', or tells={'column': 'mean(cost)', ...}"


@dataclasses.dataclass(frozen=True, eq=False)
class OutputTable:
    """A table as it will be judged: the columns that make its cells, and those that tell something of them."""

    frame: pl.DataFrame
    by: tuple[str, ...]
    told: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """Those of the data, and those that the researcher says something of."""

    def called(self, name: str) -> str:
        """A column in a message: by its name where that is one of a column or a statistic, else by its place; the columns of a cross table are called by data values."""
        known = name in self.by or name in self.columns or bare(name) is not None
        if known or next(named(name, self.columns), None) is not None:
            return repr(name)
        return f"column {self.frame.columns.index(name) + 1}"

    def values(self, name: str) -> NDArray[np.float64]:
        """A column of results; NaN where nothing is told."""
        column = self.frame[name]
        if column.dtype == pl.Boolean or not column.dtype.is_numeric():
            raise SchemaError(f"{self.called(name)} of the output holds no numbers")
        found: NDArray[np.float64] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        return found

    def numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame[name].dtype.is_numeric()


def long_form(frame: pl.DataFrame, across: str | None, by: Sequence[str] | None, behind: Behind | None) -> pl.DataFrame:
    """A cross table with one row a cell; others as they are. Its columns are values of the column ``across``."""
    if across is None or (behind is not None and across not in behind.dataset.columns):
        return frame
    kept = list(by or [name for name in frame.columns if not frame[name].dtype.is_numeric()])
    kept = [name for name in kept if name != across]
    rest = [name for name in frame.columns if name not in kept]
    if not rest or not all(frame[name].dtype.is_numeric() for name in rest):
        return frame
    told = "value" if "value" not in (*kept, across) else "value told"
    long = frame.unpivot(rest, index=kept, variable_name=LINE, value_name=TOLD)  # a label may be called like the column
    return long.rename({LINE: across, TOLD: told})


DESCRIBED = {
    "count": "count",
    "null_count": "missing",
    "mean": "mean",
    "std": "sd",
    "min": "min",
    "max": "max",
    "top": "mode",
}


def described(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``describe()`` gives, a statistic a row, as one row with what each column tells; None for other tables.

    Rows that count what is missing are left as they are: nobody knows by name who is behind them.
    """
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    if not texts or frame.height < 2:
        return None
    rows = [str(one).lower() for one in frame[texts[0]].to_list()]
    if not all(one in DESCRIBED or re.fullmatch(r"\d{1,2}(\.\d+)?%", one) for one in rows) or len(set(rows)) < len(
        rows
    ):
        return None
    values: dict[str, list[Any]] = {}
    tells: dict[str, str] = {}
    for column in (name for name in frame.columns if frame[name].dtype.is_numeric()):
        for row, value in zip(rows, frame[column].to_list(), strict=True):
            name = f"{column}: {row}"
            values[name] = [value]
            level = f"quantile({column}, {float(row[:-1]) / 100:g})" if row.endswith("%") else ""
            if DESCRIBED.get(row) != "missing":
                tells[name] = level or f"{DESCRIBED[row]}({column})"
    return pl.DataFrame(values), tells


def columns_of(
    frame: pl.DataFrame,
    by: Sequence[str] | None,
    apart: Sequence[str],
    behind: Behind | None,
    tells: Mapping[str, str] | str | None,
) -> OutputTable:
    """Which columns make the cells: those named, else those of the data that hold no results."""
    said = set(tells) if isinstance(tells, Mapping) else set()
    columns = (*(behind.dataset.columns if behind is not None else ()), *said, *apart)
    if by is not None:
        for name in (*by, *apart):
            if name not in frame.columns:
                raise SchemaError(f"the output has no column {name!r}.{nearest(name, frame.columns)}")
        lacking = [name for name in by if behind is not None and name not in behind.dataset.columns]
        if lacking and behind is not None:
            behind.dataset.require(lacking)
        return OutputTable(frame, tuple(by), tuple(name for name in frame.columns if name not in by), columns)
    free = [name for name in frame.columns if name not in said and name not in apart]
    texts = [name for name in free if not frame[name].dtype.is_numeric()]
    if behind is None:
        return OutputTable(frame, tuple(texts), tuple(name for name in frame.columns if name not in texts), columns)
    made = [name for name in texts if name in behind.dataset.columns]
    for name in free:
        if name in behind.dataset.columns and frame[name].dtype.is_integer() and _is_key(frame, name, made, behind):
            made.append(name)
    ordered = tuple(name for name in frame.columns if name in made)
    return OutputTable(frame, ordered, tuple(name for name in frame.columns if name not in made), columns)


def _is_key(frame: pl.DataFrame, name: str, made: Sequence[str], behind: Behind) -> bool:
    """Whether a column of whole numbers makes cells (a year), rather than tells something of them (the highest age)."""
    if not made and frame.height > 1:  # something must tell rows apart
        return True
    known = behind.labels(name) | set(TOTALS)
    if not set(frame[name].cast(pl.String).fill_null("(missing)").to_list()) <= known:
        return False
    try:
        belongs = membership(frame, made, behind)
        told = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return not found_by_computing(name, told, belongs, behind, made)
    except SchemaError:  # rows are not told apart without it
        return True


def figure_per_record(table: OutputTable, name: str) -> OutputReason:
    """What is wrong with a column of residuals and their like."""
    sentence = f"{table.called(name)} looks like a figure per record, which is never given out"
    return broken("per record", sentence, "leave it out")


def unlabelled(table: OutputTable, behind: Behind) -> OutputVerdict | None:
    """The verdict on a table whose rows are not told apart by what makes its cells: perhaps they are records. None for others."""
    if table.frame.height < 2 or (table.by and not table.frame.select(table.by).is_duplicated().any()):
        return None
    advice = "if it is a table, name the columns that make its cells: by=[...]"
    figures = [name for name in table.told if PER_RECORD.fullmatch(name)]
    if figures or table.by or table.frame.height in (len(behind), behind.persons):
        reason = broken(
            "per record", f"{table.frame.height:,} rows look like records, which are never given out", advice
        )
    else:
        reason = open_question(
            "columns", f"{table.frame.height:,} rows are not told apart by any column of the data", advice
        )
    return OutputVerdict("table", (reason,), behind.persons, table.frame)
