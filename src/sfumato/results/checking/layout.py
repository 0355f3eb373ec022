"""How a table is laid out: which of its columns make cells, which tell something of them, and what
``describe()`` and cross tables are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.errors import SchemaError, nearest
from sfumato.results.checking.contributing_records import (
    TOTALS,
    Behind,
    how_many,
    membership,
    places_of,
)
from sfumato.results.checking.statistics_of_columns import ALIASES, bare, found_by_computing, named
from sfumato.results.checking.untrusted_objects import vector_of
from sfumato.results.checking.verdict import OutputReason, OutputVerdict, broken, open_question
from sfumato.results.tables.cells import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

PER_RECORD = re.compile(
    r"(std_|standard_|student(ized)?_)?"
    r"(resid(ual)?s?|fitted(_?values?)?|leverage|hat(_diag)?"
    r"|cooks?_?d(istance)?|dffits.*|dfb.*|influence)",
    re.IGNORECASE,
)
PLAIN = re.compile(r"[A-Za-z][A-Za-z_ ]{0,30}")
"""Names of columns that may be told, where they are no value of the data."""
CELLS = ("value", "value told")
"""What the numbers in a cross table, or a number alone, are called."""
TOLD, WHOLE, LINE = "\x00told", "\x00whole", "\x00line"
"""Names that no column of a table has."""
GIVE_DATA = "give the records behind it (data=...), so that every cell can be judged"
SAY_WHAT = "say what it tells: tells='mean(cost)', or tells={'column': 'mean(cost)', ...}"


@dataclasses.dataclass(frozen=True, eq=False)
class OutputTable:
    """A table as it will be judged: the columns that make its cells, and those that tell something
    of them.
    """

    frame: pl.DataFrame
    by: tuple[str, ...]
    told: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """Those of the data, and those that the researcher says something of."""
    original: pl.DataFrame | None = None
    """What would leave, where labels were made numbers."""
    labelled: Mapping[str, str] | None = None
    """What columns of labels tell."""
    behind: Behind | None = None

    def called(self, name: str) -> str:
        """A column in a message: by its name where that is one of a column or a statistic, else by
        its place; the columns of a cross table are called by data values.
        """
        clear = name in self.by or name in self.columns or bare(name) is not None
        if clear or next(named(name, self.columns), None) is not None:
            return repr(name)
        if any(name.startswith(f"{one}: ") for one in self.columns):  # of describe()
            return repr(name)
        if name in CELLS:
            return "the number in a cell"
        if (
            self.behind is not None
            and PLAIN.fullmatch(name)
            and not self.behind.holds([name, *re.split(r"[_ ]+", name)])
        ):
            return repr(name)
        return f"column {self.frame.columns.index(name) + 1}"

    def values(self, name: str) -> NDArray[np.float64]:
        """A column of results; NaN where nothing is told."""
        column = self.frame[name]
        if column.dtype == pl.Boolean or not column.dtype.is_numeric():
            raise SchemaError(f"{self.called(name)} of the output holds no numbers")
        numbers: NDArray[np.float64] = (
            column.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        )
        return numbers

    @property
    def shown(self) -> pl.DataFrame:
        """What would leave."""
        return self.frame if self.original is None else self.original

    def numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame[name].dtype.is_numeric()


def long_form(
    frame: pl.DataFrame, across: str | None, by: Sequence[str] | None, behind: Behind | None
) -> pl.DataFrame:
    """A cross table with one row a cell; others as they are. Its columns are values of the column
    ``across``.
    """
    if across is None or (behind is not None and across not in behind.dataset.columns):
        return frame
    keys = list(by or [name for name in frame.columns if not frame[name].dtype.is_numeric()])
    keys = [name for name in keys if name != across]
    rest = [name for name in frame.columns if name not in keys]
    if not rest or not all(frame[name].dtype.is_numeric() for name in rest):
        return frame
    value_name = CELLS[0] if CELLS[0] not in (*keys, across) else CELLS[1]
    long = frame.unpivot(
        rest, index=keys, variable_name=LINE, value_name=TOLD
    )  # a label may be called like the column
    return long.rename({LINE: across, TOLD: value_name})


DESCRIBED = {
    "count": "count",
    "null_count": "missing",
    "unique": "unique",
    "top": "mode",
    "freq": "freq",
    "mean": "mean",
    "std": "sd",
    "min": "min",
    "max": "max",
}
NUMBERS = ("count", "null_count", "unique", "freq")
"""What is a number in the description of a column of text, too."""


def described(
    frame: pl.DataFrame, columns: Sequence[str] | None
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``describe()`` gives, a statistic a row, as one row with what each column tells; None
    for other tables. ``columns`` are those of the data, where there are any.

    Of text it tells the commonest value (``top``) and how often it occurs (``freq``), or the first
    and the last in their order. Rows that count what is missing are left as they are: nobody knows
    by name who is behind them.
    """
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    if not texts or frame.height < 2:
        return None
    rows = [str(one).lower() for one in frame[texts[0]].to_list()]
    if not set(rows) & set(DESCRIBED) or texts[0] in (columns or ()):
        return None
    if not all(one in DESCRIBED or re.fullmatch(r"\d{1,2}(\.\d+)?%", one) for one in rows) or len(
        set(rows)
    ) < len(rows):
        return None
    values: dict[str, list[Any]] = {}
    tells: dict[str, str] = {}
    for column in (name for name in frame.columns if name != texts[0]):
        for row, value in zip(rows, frame[column].to_list(), strict=True):
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            name = f"{column}: {row}"
            values[name] = [_as_number(value) if row in NUMBERS else value]
            level = f"quantile({column}, {float(row[:-1]) / 100:g})" if row.endswith("%") else ""
            if DESCRIBED.get(row) != "missing" and (columns is None or column in columns):
                tells[name] = level or f"{DESCRIBED[row]}({column})"
    return pl.DataFrame(values), tells


def columns_in_rows(frame: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame | None:
    """What statistics of several columns give, such as ``frame[["cost", "age"]].mean()`` of pandas,
    a column a row, as one row; None for other tables.
    """
    texts = [one for one in frame.columns if frame[one].dtype == pl.String]
    value_columns = [one for one in frame.columns if one not in texts]
    if (
        columns is None
        or len(texts) != 1
        or texts[0] in columns
        or not value_columns
        or not frame.height
    ):
        return None
    rows = frame[texts[0]].to_list()
    numeric = all(frame[one].dtype.is_numeric() for one in value_columns)
    if not numeric or len(set(rows)) < len(rows) or not set(rows) <= set(columns):
        return None
    alone = len(value_columns) == 1 and re.fullmatch(r"\d+", value_columns[0]) is not None
    return pl.DataFrame(
        {
            (row if alone else f"{row}_{name}"): [frame[name][at]]
            for at, row in enumerate(rows)
            for name in value_columns
        }
    )


def of_labels(
    output: Mapping[Any, Any], by: Sequence[str] | None, behind: Behind
) -> pl.DataFrame | None:
    """Numbers by the labels of a column, as a table; None where no column, or more than one, has
    all of these labels, or there is something else than numbers.
    """
    values = [vector_of(one) for one in output.values()]
    widths = {0 if one is None else len(one) for one in values}
    if not values or len(widths) != 1 or not 0 < max(widths) <= MOST_LEVELS:
        return None
    try:
        coded = encode(pl.Series(list(output)))
    except (TypeError, ValueError, SchemaError, pl.exceptions.PolarsError):
        return None
    keys = pl.Series([coded.labels[one] for one in coded.codes.tolist()], dtype=pl.String)
    names = list(by) if by is not None and len(by) == 1 else list(behind.dataset.columns)
    columns = [
        one
        for one in names
        if one in behind.dataset.columns and set(keys.to_list()) - set(TOTALS) <= behind.labels(one)
    ]
    if len(columns) != 1 and behind.unit not in columns:
        return None
    name = columns[0] if len(columns) == 1 else str(behind.unit)
    wide = np.stack([one for one in values if one is not None])
    row_names = (
        [CELLS[0]]
        if wide.shape[1] == 1
        else [f"{CELLS[0]} {at + 1}" for at in range(wide.shape[1])]
    )
    return pl.DataFrame(
        {name: keys, **{one: wide[:, at] for at, one in enumerate(row_names) if one != name}}
    )


def turned_back(
    frame: pl.DataFrame, across: str | None, behind: Behind | None
) -> pl.DataFrame | None:
    """A table that was turned, a statistic a row and a column for every value of ``across``, with a
    row for each of these; None for other tables.
    """
    if behind is None or across is None or across not in behind.dataset.columns:
        return None
    texts = [one for one in frame.columns if not frame[one].dtype.is_numeric()]
    rest = [one for one in frame.columns if one not in texts]
    if len(texts) != 1 or texts[0] in behind.dataset.columns or not rest:
        return None
    rows = frame[texts[0]].to_list()
    if not all(isinstance(one, str) for one in rows) or len({*rows, across}) <= len(rows):
        return None
    if not set(rest) - set(TOTALS) <= behind.labels(across):
        return None
    return frame.select(rest).transpose(include_header=True, header_name=across, column_names=rows)


def across_by_labels(frame: pl.DataFrame, behind: Behind | None) -> str | None:
    """The column of the data that the columns of a cross table are values of; None where that is
    none, or several.
    """
    value_columns = [one for one in frame.columns if frame[one].dtype.is_numeric()]
    if behind is None or len(value_columns) < 2 or set(value_columns) & set(behind.dataset.columns):
        return None
    texts = [
        one
        for one in behind.dataset.columns
        if one not in frame.columns and not behind.is_numeric(one)
    ]
    columns = [one for one in texts if set(value_columns) - set(TOTALS) <= behind.labels(one)]
    return columns[0] if len(columns) == 1 else None


def quantiles_in_rows(
    frame: pl.DataFrame, columns: Sequence[str] | None
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``quantile([...])`` of pandas gives, a level a row, with a column for every level and
    what each tells; None for other tables.

    Levels stand in a column without a name (``level_1``, ``index``) and lie between 0 and 1; the
    columns that hold percentiles are called like those of the data.
    """
    if columns is None:
        return None
    free = [
        one for one in frame.columns if re.fullmatch(r"level_\d+|index", one) and one not in columns
    ]
    value_columns = [one for one in frame.columns if one in columns and frame[one].dtype.is_float()]
    keys = [one for one in frame.columns if one not in (*free, *value_columns)]
    if (
        len(free) != 1
        or not value_columns
        or not frame[free[0]].dtype.is_float()
        or not set(keys) <= set(columns)
    ):
        return None
    levels = frame[free[0]].unique().sort().to_list()
    alike = frame.select(*keys, *free).is_duplicated().any()
    if (
        alike
        or len(levels) > MOST_LEVELS
        or None in levels
        or not all(0 <= one <= 1 for one in levels)
    ):
        return None
    wide = (
        frame.select(pl.lit(0).alias(LINE)).head(1)
        if not keys
        else frame.select(keys).unique(maintain_order=True)
    )
    tells: dict[str, str] = {}
    for column in value_columns:
        for level in levels:
            name = f"{column}: {100 * level:g}%"
            tells[name] = {0.0: f"min({column})", 1.0: f"max({column})"}.get(
                level, f"quantile({column}, {level:g})"
            )
            part = frame.filter(pl.col(free[0]) == level).select(*keys, pl.col(column).alias(name))
            wide = (
                wide.join(part, on=keys, how="left", nulls_equal=True)
                if keys
                else wide.hstack(part)
            )
    return wide.drop(LINE, strict=False), tells


MOST_LEVELS = 20


def _as_number(value: Any) -> Any:
    """A number that stands as text among text."""
    try:
        return float(value)
    except ValueError:
        return value


def with_places(
    table: OutputTable, behind: Behind, tells: Mapping[str, str] | str | None
) -> OutputTable:
    """The table with labels that it tells (the commonest, the first, the last) as their places
    among those of the data, so that they are judged like numbers.
    """
    frame, statistics = table.frame, dict(tells) if isinstance(tells, Mapping) else {}
    for name in table.told:
        if frame[name].dtype != pl.String:
            continue
        for column in _columns_told(name, frame, statistics, behind):
            places = places_of(behind.dataset.encoded(column).labels)
            columns = [
                None if one is None else places.get(one, -1.0) for one in frame[name].to_list()
            ]
            frame = frame.with_columns(pl.Series(name, columns, dtype=pl.Float64))
            statistics[name] = (
                statistics.get(name) or f"{ALIASES.get(name.lower(), name.lower())}({column})"
            )
            break
    if frame is table.frame:
        return table
    return dataclasses.replace(table, frame=frame, original=table.frame, labelled=statistics)


def _columns_told(
    name: str, frame: pl.DataFrame, statistics: Mapping[str, str], behind: Behind
) -> list[str]:
    """The columns of text that a column of labels may tell something of."""
    texts = [one for one in behind.dataset.columns if not behind.is_numeric(one)]
    if name in statistics:
        return [one for one in texts if statistics[name].endswith(f"({one})")]
    if ALIASES.get(name.lower(), name.lower()) not in ("min", "max", "mode"):
        return []
    labels = {one for one in frame[name].to_list() if one is not None}
    return [one for one in texts if labels <= behind.labels(one)]


def columns_of(
    frame: pl.DataFrame,
    by: Sequence[str] | None,
    apart: Sequence[str],
    behind: Behind | None,
    tells: Mapping[str, str] | str | None,
) -> OutputTable:
    """Which columns make the cells: those named, else those of the data that hold no results."""
    declared_names = set(tells) if isinstance(tells, Mapping) else set()
    columns = (*(behind.dataset.columns if behind is not None else ()), *declared_names, *apart)
    if by is not None:
        for name in (*by, *apart):
            if name not in frame.columns:
                raise SchemaError(
                    f"the output has no column {name!r}.{nearest(name, frame.columns)}"
                )
        missing_columns = [
            name for name in by if behind is not None and name not in behind.dataset.columns
        ]
        if missing_columns and behind is not None:
            behind.dataset.require(missing_columns)
        return OutputTable(
            frame,
            tuple(by),
            tuple(name for name in frame.columns if name not in by),
            columns,
            behind=behind,
        )
    free = [name for name in frame.columns if name not in declared_names and name not in apart]
    texts = [name for name in free if not frame[name].dtype.is_numeric()]
    if behind is None:
        return OutputTable(
            frame, tuple(texts), tuple(name for name in frame.columns if name not in texts), columns
        )
    text_keys = [name for name in texts if name in behind.dataset.columns]
    for name in free:
        if (
            name in behind.dataset.columns
            and frame[name].dtype.is_integer()
            and _is_key(frame, name, text_keys, behind)
        ):
            text_keys.append(name)
    if not text_keys and free and _are_labels(frame, free[0], behind):
        text_keys.append(free[0])
    ordered = tuple(name for name in frame.columns if name in text_keys)
    return OutputTable(
        frame,
        ordered,
        tuple(name for name in frame.columns if name not in text_keys),
        columns,
        behind=behind,
    )


def _are_labels(frame: pl.DataFrame, name: str, behind: Behind) -> bool:
    """Whether a first column of numbers makes cells, as in ``value_counts()``: each is a value of
    the data, and comes once.
    """
    if (
        name not in behind.dataset.columns
        or not frame[name].dtype.is_float()
        or len(frame.columns) < 2
    ):
        return False
    labels = {MISSING if one is None else one for one in encode(frame[name]).labels}
    return (
        frame.height > 1
        and frame[name].n_unique() == frame.height
        and labels <= behind.labels(name)
    )


def _is_key(frame: pl.DataFrame, name: str, keys: Sequence[str], behind: Behind) -> bool:
    """Whether a column of whole numbers makes cells (a year), rather than tells something of them
    (the highest age).
    """
    if not keys and frame.height > 1:  # something must tell rows apart
        return True
    labels = behind.labels(name) | set(TOTALS)
    if not set(frame[name].cast(pl.String).fill_null("(missing)").to_list()) <= labels:
        return False
    try:
        belongs = membership(frame, keys, behind)
        numbers = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return not found_by_computing(name, numbers, belongs, behind, keys, widely=False)
    except SchemaError:  # rows are not told apart without it
        return True


NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


def strange_number(name: str, place: int, behind: Behind, threshold: int, digits: int = 2) -> bool:
    """Whether a name holds a number that may be a value: of so many digits, in no name and no label
    of the data, not its place, and not shared by enough persons in a column that it names.
    """
    numbers = [
        one
        for one in NUMBER.findall(name)
        if len(one) >= digits and one not in (str(place), str(place + 1))
    ]
    if not numbers:
        return False
    columns = behind.dataset.columns
    words = list(columns)
    for column in columns:
        if not behind.is_numeric(column):
            words += behind.labels(column)
    for number in numbers:
        if any(number in NUMBER.findall(word) for word in words):
            continue
        values = [behind.numbers(one) for one in columns if one in name and behind.is_finite(one)]
        shared = [
            how_many(behind.who[value == float(number.replace(",", "."))]) for value in values
        ]
        if max(shared, default=0) < threshold:
            return True
    return False


def figure_per_record(table: OutputTable, name: str) -> OutputReason:
    """What is wrong with a column of residuals and their like."""
    sentence = f"{table.called(name)} looks like a figure per record, which is never given out"
    return broken("per record", sentence, "leave it out")


def unlabelled(table: OutputTable, behind: Behind) -> OutputVerdict | None:
    """The verdict on a table whose rows are not told apart by what makes its cells: perhaps they
    are records. None for others.
    """
    if table.frame.height < 2 or (
        table.by and not table.frame.select(table.by).is_duplicated().any()
    ):
        return None
    advice = "if it is a table, name the columns that make its cells: by=[...]"
    figures = [name for name in table.told if PER_RECORD.fullmatch(name)]
    if figures or table.by or table.frame.height in (len(behind), behind.persons):
        reason = broken(
            "per record",
            f"{table.frame.height:,} rows look like records, which are never given out",
            advice,
        )
    else:
        texts = [one for one in table.frame.columns if not table.numeric(one)]
        other = (
            f"give the records that it was made of, with the columns that make its cells; {advice}"
        )
        reason = open_question(
            "columns",
            f"{table.frame.height:,} rows are not told apart by any column of the data",
            other if texts and not set(texts) & set(behind.dataset.columns) else advice,
        )
    return OutputVerdict("table", (reason,), behind.persons, table.frame)
