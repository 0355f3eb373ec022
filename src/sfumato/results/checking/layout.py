"""How a table is laid out: which of its columns make cells, which tell something of them, and how
tables of pandas and polars (``describe()``, cross tables) become one row per cell.
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
    ContributingRecords,
    count_persons,
    find_members,
    label_ranks,
)
from sfumato.results.checking.statistics_of_columns import (
    ALIASES,
    find_statistics,
    statistic_without_column,
    statistics_in_name,
)
from sfumato.results.checking.untrusted_objects import vector_of
from sfumato.results.checking.verdict import OutputReason, OutputVerdict, open_question, violation
from sfumato.results.tables.cells import MISSING

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats

Statistics = Mapping[str, str] | str | None
"""What a researcher says that columns tell: per column, the same of all, or nothing."""

PER_RECORD = re.compile(
    r"(std_|standard_|student(ized)?_)?"
    r"(resid(ual)?s?|fitted(_?values?)?|leverage|hat(_diag)?"
    r"|cooks?_?d(istance)?|dffits.*|dfb.*|influence)",
    re.IGNORECASE,
)
"""Names of figures that every record has one of."""
PLAIN = re.compile(r"[A-Za-z][A-Za-z_ ]{0,30}")
"""Names of columns that may be told, where they are no value of the data."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
CELLS = ("value", "value told")
"""What the numbers in a cross table, or a number alone, are called."""
TOLD, WHOLE, LINE = "\x00told", "\x00whole", "\x00line"
"""Names that no column of a table has."""
GIVE_DATA = "give the records behind it (data=...), so that every cell can be judged"
SAY_WHAT = "say what it shows: tells='mean(cost)', or tells={'column': 'mean(cost)', ...}"
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
"""Rows of ``describe()`` and the statistics they hold."""
NUMBERS = ("count", "null_count", "unique", "freq")
"""What is a number in the description of a column of text, too."""
MOST_LEVELS = 20
"""Levels of quantiles, or numbers per label, that a table is taken to have at most."""


@dataclasses.dataclass(frozen=True, eq=False)
class OutputTable:
    """A table as it will be judged: the columns that make its cells, and those that tell something
    of them.
    """

    frame: pl.DataFrame
    by: tuple[str, ...]
    result_columns: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """Those of the data, and those that the researcher says something of."""
    original: pl.DataFrame | None = None
    """What would leave, where labels were made numbers."""
    labelled: Mapping[str, str] | None = None
    """What columns of labels tell."""
    records: ContributingRecords | None = None

    def label(self, name: str) -> str:
        """A column in a message: by its name where that is one of a column or a statistic, else by
        its position; the columns of a cross table are called by data values.
        """
        # Names are told only where they cannot be values of the data.
        if name in self.by or name in self.columns or statistic_without_column(name) is not None:
            return repr(name)
        if next(statistics_in_name(name, self.columns), None) is not None:
            return repr(name)
        if _is_described(name, self.columns):
            return repr(name)
        if name in CELLS:
            return "the number in a cell"
        if self.records is not None and PLAIN.fullmatch(name):
            # A name may be made of a label: "north_mean".
            words = [name, *re.split(r"[_ ]+", name)]
            if not self.records.contains_label(words):
                return repr(name)
        return f"column {self.frame.columns.index(name) + 1}"

    def values(self, name: str) -> Floats:
        """A column of results; NaN where nothing is told."""
        column = self.frame[name]
        if column.dtype == pl.Boolean or not column.dtype.is_numeric():
            raise SchemaError(f"{self.label(name)} of the output holds no numbers")
        return _as_floats(column).copy()

    @property
    def released_frame(self) -> pl.DataFrame:
        """What would leave."""
        if self.original is None:
            return self.frame
        return self.original

    def numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame[name].dtype.is_numeric()


def _as_floats(column: pl.Series) -> Floats:
    numbers: Floats = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return numbers


def _is_described(name: str, columns: Sequence[str]) -> bool:
    """Whether a name is ``cost: mean``, as :func:`rows_of_describe` calls what ``describe()``
    gives.
    """
    return any(name.startswith(f"{column}: ") for column in columns)


def numeric_columns(frame: pl.DataFrame) -> list[str]:
    """The columns that hold numbers."""
    return [name for name in frame.columns if frame[name].dtype.is_numeric()]


def _without(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns of a frame that are not among some."""
    return [name for name in frame.columns if name not in names]


def long_form(
    frame: pl.DataFrame,
    across: str | None,
    by: Sequence[str] | None,
    records: ContributingRecords | None,
) -> pl.DataFrame:
    """A cross table with one row a cell; others as they are. Its columns are values of the column
    ``across``.
    """
    # A name that the data do not have says nothing of which values the columns are.
    if across is None or (records is not None and across not in records.dataset.columns):
        return frame
    numeric = numeric_columns(frame)
    keys = [name for name in by or _without(frame, numeric) if name != across]
    value_columns = _without(frame, keys)
    if not value_columns or not set(value_columns) <= set(numeric):
        return frame
    if CELLS[0] not in (*keys, across):
        value_name = CELLS[0]
    else:
        value_name = CELLS[1]
    # Renamed only now: a label may be called like the column.
    long = frame.unpivot(value_columns, index=keys, variable_name=LINE, value_name=TOLD)
    return long.rename({LINE: across, TOLD: value_name})


def rows_of_describe(
    frame: pl.DataFrame, columns: Sequence[str] | None
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``describe()`` gives, a statistic a row, as one row with what each column tells; None
    for other tables. ``columns`` are those of the data, where there are any.

    Of text it tells the commonest value (``top``) and how often it occurs (``freq``), or the first
    and the last in their order. Rows that count missing values are left as they are: nobody knows
    by name who is behind them.
    """
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    # A first column of the data makes cells, and its rows are no statistics.
    if not texts or frame.height < 2 or texts[0] in (columns or ()):
        return None
    rows = [str(label).lower() for label in frame[texts[0]].to_list()]
    if not set(rows) & set(DESCRIBED) or len(set(rows)) < len(rows):
        return None
    for row in rows:
        if row not in DESCRIBED and not re.fullmatch(r"\d{1,2}(\.\d+)?%", row):
            return None
    values: dict[str, list[Any]] = {}
    tells: dict[str, str] = {}
    for column in _without(frame, texts[:1]):
        for row, value in zip(rows, frame[column].to_list(), strict=True):
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            name = f"{column}: {row}"
            values[name] = [_as_number(value) if row in NUMBERS else value]
            if row == "null_count" or (columns is not None and column not in columns):
                continue
            if row.endswith("%"):
                tells[name] = f"quantile({column}, {float(row[:-1]) / 100:g})"
            else:
                tells[name] = f"{DESCRIBED[row]}({column})"
    return pl.DataFrame(values), tells


def rows_of_columns(frame: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame | None:
    """What statistics of several columns give, such as ``frame[["cost", "age"]].mean()`` of pandas,
    a column a row, as one row; None for other tables.
    """
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    value_columns = _without(frame, texts)
    if columns is None or len(texts) != 1 or texts[0] in columns:
        return None
    if not value_columns or value_columns != numeric_columns(frame) or not frame.height:
        return None
    rows = frame[texts[0]].to_list()
    if len(set(rows)) < len(rows) or not set(rows) <= set(columns):
        return None
    # A series of pandas without a name has a column called 0.
    # Its results are called by the column of the data alone.
    alone = len(value_columns) == 1 and re.fullmatch(r"\d+", value_columns[0]) is not None
    row_values = {}
    for number, row in enumerate(rows):
        for name in value_columns:
            row_values[row if alone else f"{row}_{name}"] = [frame[name][number]]
    return pl.DataFrame(row_values)


def rows_of_labels(
    output: Mapping[Any, Any], by: Sequence[str] | None, records: ContributingRecords
) -> pl.DataFrame | None:
    """Numbers by the labels of a column, as a table; None where no column, or more than one, has
    all of these labels, or there is something else than numbers.
    """
    values = []
    for value in output.values():
        vector = vector_of(value)
        if vector is None:
            return None
        values.append(vector)
    widths = {len(vector) for vector in values}
    if len(widths) != 1 or not 0 < max(widths) <= MOST_LEVELS:
        return None
    try:
        encoded = encode(pl.Series(list(output)))
    except (TypeError, ValueError, SchemaError, pl.exceptions.PolarsError):
        return None
    keys = [encoded.labels[code] for code in encoded.codes.tolist()]
    if by is not None and len(by) == 1:
        names = list(by)
    else:
        names = records.dataset.columns
    # Totals may stand beside the labels of any column.
    labels = set(keys) - set(TOTALS)
    names = [name for name in names if name in records.dataset.columns]
    columns = [name for name in names if labels <= records.labels(name)]
    # Several columns may hold these labels; that of persons is the one that must not be missed.
    if len(columns) != 1 and records.unit not in columns:
        return None
    column = columns[0] if len(columns) == 1 else str(records.unit)
    numbers = np.stack(values)
    if numbers.shape[1] == 1:
        value_names = [CELLS[0]]
    else:
        value_names = [f"{CELLS[0]} {number + 1}" for number in range(numbers.shape[1])]
    table = {column: pl.Series(keys, dtype=pl.String)}
    for number, name in enumerate(value_names):
        table.setdefault(name, pl.Series(numbers[:, number]))
    return pl.DataFrame(table)


def transpose_back(
    frame: pl.DataFrame, across: str | None, records: ContributingRecords | None
) -> pl.DataFrame | None:
    """A table that was turned, a statistic a row and a column for every value of ``across``, with a
    row for each of these; None for other tables.
    """
    if records is None or across is None or across not in records.dataset.columns:
        return None
    value_columns = numeric_columns(frame)
    texts = _without(frame, value_columns)
    if len(texts) != 1 or texts[0] in records.dataset.columns or not value_columns:
        return None
    rows = frame[texts[0]].to_list()
    # No two rows may be called alike, nor one like the column: they become names of columns.
    if not all(isinstance(row, str) for row in rows) or len({*rows, across}) <= len(rows):
        return None
    if not set(value_columns) - set(TOTALS) <= records.labels(across):
        return None
    values = frame.select(value_columns)
    return values.transpose(include_header=True, header_name=across, column_names=rows)


def across_by_labels(frame: pl.DataFrame, records: ContributingRecords | None) -> str | None:
    """The column of the data that the columns of a cross table are values of; None where that is
    none, or several.
    """
    value_columns = set(numeric_columns(frame))
    if records is None or len(value_columns) < 2 or value_columns & set(records.dataset.columns):
        return None
    columns = []
    for name in records.dataset.columns:
        if name in frame.columns or records.is_numeric(name):
            continue
        if value_columns - set(TOTALS) <= records.labels(name):
            columns.append(name)
    return columns[0] if len(columns) == 1 else None


def rows_of_quantiles(
    frame: pl.DataFrame, columns: Sequence[str] | None
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``quantile([...])`` of pandas gives, a level a row, with a column for every level and
    what each tells; None for other tables.

    Levels are in a column without a name (``level_1``, ``index``) and lie between 0 and 1; the
    columns that hold percentiles are called like those of the data.
    """
    if columns is None:
        return None
    level_columns, value_columns, keys = [], [], []
    for name in frame.columns:
        if name not in columns and re.fullmatch(r"level_\d+|index", name):
            level_columns.append(name)
        elif name in columns and frame[name].dtype.is_float():
            value_columns.append(name)
        else:
            keys.append(name)
    if len(level_columns) != 1 or not value_columns or not set(keys) <= set(columns):
        return None
    level_column = level_columns[0]
    if not frame[level_column].dtype.is_float():
        return None
    levels = frame[level_column].unique().sort().to_list()
    if len(levels) > MOST_LEVELS or not all(
        level is not None and 0 <= level <= 1 for level in levels
    ):
        return None
    # Two numbers for the same level of a group: no table of quantiles.
    if frame.select(*keys, level_column).is_duplicated().any():
        return None
    if keys:
        wide = frame.select(keys).unique(maintain_order=True)
    else:
        wide = frame.select(pl.lit(0).alias(LINE)).head(1)
    tells: dict[str, str] = {}
    for column in value_columns:
        for level in levels:
            name = f"{column}: {100 * level:g}%"
            # Levels 0 and 1 are the least and the largest value, which are judged as extremes.
            extremes = {0.0: f"min({column})", 1.0: f"max({column})"}
            tells[name] = extremes.get(level, f"quantile({column}, {level:g})")
            at_level = frame.filter(pl.col(level_column) == level)
            part = at_level.select(*keys, pl.col(column).alias(name))
            if keys:
                # Null labels are a group as well, and must meet each other.
                wide = wide.join(part, on=keys, how="left", nulls_equal=True)
            else:
                wide = wide.hstack(part)
    return wide.drop(LINE, strict=False), tells


def _as_number(value: Any) -> Any:
    """A number that is written as text among text."""
    try:
        return float(value)
    except ValueError:
        return value


def rank_labels(table: OutputTable, records: ContributingRecords, tells: Statistics) -> OutputTable:
    """The table with labels that it tells (the commonest, the first, the last) as their ranks among
    those of the data, so that they are judged like numbers.
    """
    frame = table.frame
    statistics = dict(tells) if isinstance(tells, Mapping) else {}
    for name in table.result_columns:
        if frame[name].dtype != pl.String:
            continue
        columns = _columns_with_labels(name, frame, statistics, records)
        if not columns:
            continue
        ranks = label_ranks(records.dataset.encoded(columns[0]).labels)
        # A label that the data do not have ranks before all.
        label_values = [ranks.get(label, -1.0) for label in frame[name].to_list()]
        values = pl.Series(label_values, dtype=pl.Float64)
        frame = frame.with_columns(pl.when(pl.col(name).is_not_null()).then(values).alias(name))
        if not statistics.get(name):
            statistics[name] = f"{ALIASES.get(name.lower(), name.lower())}({columns[0]})"
    if frame is table.frame:
        return table
    return dataclasses.replace(table, frame=frame, original=table.frame, labelled=statistics)


def _columns_with_labels(
    name: str, frame: pl.DataFrame, statistics: Mapping[str, str], records: ContributingRecords
) -> list[str]:
    """The columns of text that a column of labels may tell something of."""
    texts = [column for column in records.dataset.columns if not records.is_numeric(column)]
    if name in statistics:
        return [column for column in texts if statistics[name].endswith(f"({column})")]
    if ALIASES.get(name.lower(), name.lower()) not in ("min", "max", "mode"):
        return []
    labels = set(frame[name].drop_nulls().to_list())
    return [column for column in texts if labels <= records.labels(column)]


def split_columns(
    frame: pl.DataFrame,
    by: Sequence[str] | None,
    apart: Sequence[str],
    records: ContributingRecords | None,
    tells: Statistics,
) -> OutputTable:
    """Which columns make the cells: those named, else those of the data that hold no results."""
    declared = set(tells) if isinstance(tells, Mapping) else set()
    data_columns = () if records is None else records.dataset.columns
    if by is not None:
        for name in (*by, *apart):
            if name not in frame.columns:
                raise SchemaError(
                    f"the output has no column {name!r}.{nearest(name, frame.columns)}"
                )
        if records is not None:
            # Refuses with the nearest name what the data do not have.
            records.dataset.require([name for name in by if name not in data_columns])
        keys = list(by)
    else:
        free = _without(frame, [*declared, *apart])
        keys = [name for name in free if not frame[name].dtype.is_numeric()]
        if records is not None:
            keys = _find_keys(frame, free, [name for name in keys if name in data_columns], records)
    return OutputTable(
        frame,
        tuple(keys),
        tuple(_without(frame, keys)),
        (*data_columns, *declared, *apart),
        records=records,
    )


def _find_keys(
    frame: pl.DataFrame, free: Sequence[str], texts: Sequence[str], records: ContributingRecords
) -> list[str]:
    """The columns of the data that make cells, in their order: those of text, and numbers that are
    no results.
    """
    keys = list(texts)
    for name in free:
        if name not in records.dataset.columns or not frame[name].dtype.is_integer():
            continue
        if _is_key(frame, name, keys, records):
            keys.append(name)
    if not keys and free and _are_labels(frame, free[0], records):
        keys.append(free[0])
    return [name for name in frame.columns if name in keys]


def _are_labels(frame: pl.DataFrame, name: str, records: ContributingRecords) -> bool:
    """Whether a first column of numbers makes cells, as in ``value_counts()``: each is a value of
    the data, and comes once.
    """
    if name not in records.dataset.columns or len(frame.columns) < 2 or frame.height < 2:
        return False
    if not frame[name].dtype.is_float() or frame[name].n_unique() < frame.height:
        return False
    labels = {label or MISSING for label in encode(frame[name]).labels}
    return labels <= records.labels(name)


def _is_key(
    frame: pl.DataFrame, name: str, keys: Sequence[str], records: ContributingRecords
) -> bool:
    """Whether a column of whole numbers makes cells (a year), rather than tells something of them
    (the highest age).
    """
    if not keys and frame.height > 1:  # something must tell rows apart
        return True
    labels = frame[name].cast(pl.String).fill_null(MISSING).to_list()
    if not set(labels) <= records.labels(name) | set(TOTALS):
        return False
    try:
        members = find_members(frame, keys, records)
        numbers = _as_floats(frame[name])
        # Numbers that fit a statistic of their own column are results: the highest age, not an age
        # group.
        return not find_statistics(name, numbers, members, records, keys, widely=False)
    except SchemaError:  # rows are not distinguished without it
        return True


def has_unknown_number(
    name: str, position: int, records: ContributingRecords, threshold: int, digits: int = 2
) -> bool:
    """Whether a name holds a number that may be a value: of so many digits, in no name and no label
    of the data, not its position, and not shared by enough persons in a column that it names.
    """
    # Terms are numbered from 0 or from 1.
    own = (str(position), str(position + 1))
    numbers = [text for text in NUMBER.findall(name) if len(text) >= digits and text not in own]
    if not numbers:
        return False
    columns = records.dataset.columns
    words = list(columns)
    for column in columns:
        if not records.is_numeric(column):
            words += records.labels(column)
    for number in numbers:
        # A number that a name or label of the data holds is known anyway.
        if any(number in NUMBER.findall(word) for word in words):
            continue
        value = float(number.replace(",", "."))
        persons = 0
        for column in columns:
            if column in name and records.is_finite(column):
                equal = records.numbers(column) == value
                persons = max(persons, count_persons(records.person_ids[equal]))
        if persons < threshold:
            return True
    return False


def figure_per_record(table: OutputTable, name: str) -> OutputReason:
    """The violation of a column of residuals and their like."""
    sentence = f"{table.label(name)} looks like a figure per record, which is never released"
    return violation("per record", sentence, "leave it out")


def judge_unlabelled_rows(table: OutputTable, records: ContributingRecords) -> OutputVerdict | None:
    """The verdict on a table whose rows are not distinguished by what makes its cells: perhaps they
    are records. None for others.
    """
    rows = table.frame.height
    # Cells are distinguished by all columns that make them: a repeated combination is no cell.
    if rows < 2 or (table.by and not table.frame.select(table.by).is_duplicated().any()):
        return None
    advice = "if it is a table, name the columns that make its cells: by=[...]"
    figures = any(PER_RECORD.fullmatch(name) for name in table.result_columns)
    if figures or table.by or rows in (len(records), records.persons):
        words = f"{rows:,} rows look like records, which are never released"
        reason = violation("per record", words, advice)
    else:
        texts = {name for name in table.frame.columns if not table.numeric(name)}
        if texts and not texts & set(records.dataset.columns):
            advice = f"give its original records, with the columns that make its cells; {advice}"
        words = f"no column of the data distinguishes {rows:,} rows"
        reason = open_question("columns", words, advice)
    return OutputVerdict("table", (reason,), records.persons, table.frame)
