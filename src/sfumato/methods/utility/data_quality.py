"""Accuracy: how many cells equal the original."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field

from sfumato.core.encoding import missing_in
from sfumato.core.hierarchy import TOP
from sfumato.core.metric import ColumnUtility, Measure, Utility
from sfumato.core.pair import TablePair
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.ranges import day, number
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.utility.cell_averages import class_sizes, records_of
from sfumato.methods.utility.cells import cells_of
from sfumato.methods.utility.columns import (
    EMPTY,
    NOT_DATA,
    AllColumns,
    Columns,
    data_of,
    quasi_of,
    require_sense,
    share_of,
    why_not,
    why_not_sampled,
)
from sfumato.methods.utility.numeric import Amounts, errors, numbers, plainly_numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.reading import Joint
    from sfumato.core.schema import Schema

    Floats = NDArray[np.float64]


_RULE = re.compile(r"\s*(.+?)\s*(<=|>=|!=|<|>|=)\s*(.+?)\s*")


class _OfData(ColumnUtility):
    """A utility of columns of data, whatever they hold."""

    def applies(self, pair: TablePair) -> str | None:
        """None where there is anything to look at."""
        return why_not(pair, data_of(pair, self.columns))


@parameters
class Accuracy(_OfData):
    """The share of cells that are equal to the original, numbers within a tolerance.

    ``tolerance`` is a share of the column's range; a released range is as accurate as its middle. A
    cell that was missing and still is counts as accurate, a generalised category does not.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> round(Accuracy(["age", "zip"], tolerance=0.2).measure(pair).value, 4)
    0.4167
    """

    columns: AllColumns = None
    tolerance: Annotated[
        float, Field(ge=0, le=1, description="error of numbers that is allowed")
    ] = 0.0

    name: ClassVar[str] = "accuracy"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "share of cells that equal the original"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: TablePair) -> Measure:
        """The share of accurate cells."""
        require_sense(self, pair)
        names = data_of(pair, self.columns)
        columns = {name: share_of(pair, self._right(pair, name)[0].total()) for name in names}
        value = sum(columns.values()) / len(columns)
        meaning = "share of cells that equal the original"
        return Measure(
            self.name,
            value,
            self.better,
            meaning,
            raw=value,
            per_column=columns,
            parts=partial(self._records, pair, names),
        )

    def _records(self, pair: TablePair, names: Sequence[str]) -> Floats:
        """The share of accurate cells of every released record."""
        records = np.zeros(len(pair.released))
        for name in names:
            right, joint = self._right(pair, name)
            own = right.values
            if joint is not None:
                own = own[joint.which]
            records += own / len(names)
        return records

    def _right(self, pair: TablePair, name: str) -> tuple[Amounts, Joint | None]:
        """1 for distinct cells that are accurate, else 0, and the pairs that tell which each
        released row has (None: each has its own).
        """
        if plainly_numeric(pair, name):
            error = errors(pair, name)

            def accurate(rows: slice) -> Floats:
                before, after = error.missing(rows)
                # The slack keeps an error that equals the tolerance but for rounding.
                near = np.abs(error.released.part(rows)) <= self.tolerance * error.span + 1e-12
                return np.asarray((before == after) & near, dtype=np.float64)

            return Amounts(error.released.size, accurate), None
        cells = cells_of(pair, name)
        if cells is None:
            return Amounts.of(np.zeros(len(pair.released))), None
        right = pair.as_it_was(name)
        if cells.reading.scale != "category":
            off = np.abs(cells.reading.middle[cells.label] - cells.reading.places[cells.value])
            right = right | ((off <= self.tolerance * cells.reading.span + 1e-12) & ~cells.lost)
        return Amounts.of(np.asarray(right, dtype=np.float64), cells.rows), cells.joint


# Completeness: how many cells hold something.


@parameters
class Completeness(_OfData):
    """The share of cells that hold something: 1 − missing cells / cells. Blanks and ``*`` hold
    nothing.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.regions(), examples.regions(suppressed="gender"))
    >>> round(Completeness(["gender"]).measure(pair).value, 4)  # one of seven is gone
    0.8571
    """

    columns: AllColumns = None

    name: ClassVar[str] = "completeness"
    line: ClassVar[str] = "share of cells that hold something"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: TablePair) -> Measure:
        """The share of cells that hold something."""
        require_sense(self, pair)
        names = data_of(pair, self.columns)
        before = sum(_count_held(pair.original, name) for name in names)
        columns = {name: share_of(pair, _count_held(pair.released, name)) for name in names}
        value = sum(columns.values()) / len(columns)
        meaning = "share of cells that hold something"
        return Measure(
            self.name,
            value,
            self.better,
            meaning,
            raw=share_of(pair, before, len(names)),
            per_column=columns,
        )

    def told_alone(self, released: Table, original: Schema, records: int) -> float | None:
        """Cells that hold something, as a share of all that there were."""
        names = self.columns or [
            n for n, attribute in original.attributes.items() if not NOT_DATA & set(attribute.roles)
        ]
        if not names:
            return None
        return sum(min(1.0, _count_held(released, name) / max(1, records)) for name in names) / len(
            names
        )


def _count_held(table: Table, name: str) -> float:
    """How many cells of a column hold something; none of one that was not released."""
    if name not in table.columns:
        return 0.0
    # Text held as categories is counted by its labels; no row is looked at.
    if name in table.coded:
        encoded = table.encoded(name)
        nothing = [encoded.labels.index(label) for label in (None, TOP) if label in encoded.labels]
        return float(encoded.counts.sum() - encoded.counts[nothing].sum())
    column = table.column(name)
    held = len(column) - column.null_count()
    if column.dtype == pl.String:
        held -= int((column == TOP).sum())
    if column.dtype.is_float():
        held -= int(column.is_nan().sum())
    return float(held)


# Rules between two columns of a record.


def _check_rule(rule: str) -> str:
    if _RULE.fullmatch(rule) is None:
        raise ValueError(
            "a rule is two columns with one of < <= = != >= > between them, like 'born <= died'"
        )
    return rule


Rule = Annotated[str, AfterValidator(_check_rule)]
"""``column operator column``."""


def columns_of(rule: str) -> tuple[str, str]:
    """The two columns of a rule.

    >>> columns_of("born <= died")
    ('born', 'died')
    """
    left_column, _, right_column = _parts(rule)
    return left_column, right_column


def _parts(rule: str) -> tuple[str, str, str]:
    match = _RULE.fullmatch(rule)
    if match:
        return (match[1], match[2], match[3])
    return (rule, "=", rule)


def holds(pair: TablePair, rule: str, side: Literal["original", "released"]) -> NDArray[np.bool_]:
    """Per row of one side whether the rule can hold."""
    left_column, operator, right_column = _parts(rule)
    if side == "original":
        rows = len(pair.original)
    else:
        rows = len(pair.released)
    if side == "released" and not {left_column, right_column} <= set(pair.released.columns):
        return np.zeros(rows, dtype=bool)
    left_reach = _reach(pair, left_column, side)
    right_reach = _reach(pair, right_column, side)
    if left_reach is None or right_reach is None:
        return _equal_rows(pair, rule, side)
    low, high = left_reach
    low_right, high_right = right_reach
    # a > b is b < a: with the sides exchanged one comparison serves both.
    if operator in (">", ">="):
        low, high, low_right, high_right = low_right, high_right, low, high
    # A range keeps a rule when some value in it does: the lowest left against the highest right.
    possible = {
        "<": low < high_right,
        ">": low < high_right,
        "<=": low <= high_right,
        ">=": low <= high_right,
        "=": (low <= high_right) & (low_right <= high),
        # Only two single equal values cannot differ.
        "!=": ~((low == high) & (low_right == high_right) & (low == low_right)),
    }[operator]
    both_known = ~(np.isnan(low) | np.isnan(low_right))
    return np.asarray(both_known & possible, dtype=bool)


def _reach(
    pair: TablePair, name: str, side: Literal["original", "released"]
) -> tuple[Floats, Floats] | None:
    """From where to where on the line each cell reaches; None for categories, NaN for missing and
    suppressed ones.
    """
    if side == "original":  # a column of a rule may not have been released
        # The original paired with itself: its cells are then read like released ones.
        pair = pair.memo.setdefault("itself", TablePair.of(pair.original, pair.original))
    reading = pair.reading(name)
    if reading.scale == "category":
        return None
    hidden = np.where(reading.everything, np.nan, 0.0)
    return (reading.low + hidden)[reading.released], (reading.high + hidden)[reading.released]


def _equal_rows(
    pair: TablePair, rule: str, side: Literal["original", "released"]
) -> NDArray[np.bool_]:
    """Rules between categories: equal or not, by their labels."""
    left_column, operator, right_column = _parts(rule)
    if operator not in ("=", "!="):
        raise SchemaError(
            f"consistency: {left_column!r} and {right_column!r} are not both numbers, dates or"
            " ordered values; use = or !="
        )
    table = pair.original if side == "original" else pair.released
    left_texts = table.column(left_column).cast(pl.String)
    right_texts = table.column(right_column).cast(pl.String)
    both_shown = (
        left_texts.is_not_null()
        & right_texts.is_not_null()
        & (left_texts != "*")
        & (right_texts != "*")
    )
    both_known = both_shown.fill_null(value=False)
    if operator == "=":
        is_equal = left_texts == right_texts
    else:
        is_equal = left_texts != right_texts
    return np.asarray((both_known & is_equal.fill_null(value=False)).to_numpy(), dtype=bool)


# Consistency: how many records keep rules between columns.


@parameters
class Consistency(Utility):
    """The share of records that keep rules between columns, each ``column operator column``:
    ``born <= died``.

    Operators are ``<  <=  =  !=  >=  >``. Numbers, dates and ordered values compare by what they
    may be: a rule holds for released ranges when it can hold. Categories can only be equal or not.
    A missing or suppressed cell keeps no rule.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> spans = sf.read(pl.DataFrame({"a": [1, 2, 5], "b": [2, 2, 3]})).with_roles(keep=["a", "b"])
    >>> round(Consistency(["a <= b"]).measure(TablePair.of(spans, spans)).value, 4)
    0.6667
    """

    rules: Annotated[tuple[Rule, ...], Field(min_length=1, description="rules like 'born <= died'")]

    name: ClassVar[str] = "consistency"
    line: ClassVar[str] = "share of records that satisfy the rules between columns"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: TablePair) -> str | None:
        """None where the columns of the rules are there."""
        pair.original.require([name for rule in self.rules for name in columns_of(rule)])
        return None if records_of(pair) else EMPTY

    def measure(self, pair: TablePair) -> Measure:
        """The share of records that keep all rules."""
        require_sense(self, pair)
        holds_now = np.ones(len(pair.released), dtype=bool)
        before = np.ones(len(pair.original), dtype=bool)
        for rule in self.rules:
            holds_now &= holds(pair, rule, "released")
            before &= holds(pair, rule, "original")
        raw = share_of(pair, float(before.sum()))
        value = share_of(pair, float(holds_now.sum()))
        meaning = f"share of records that satisfy {len(self.rules)} rule(s)"
        return Measure(
            self.name, value, self.better, meaning, raw=raw, parts=holds_now.astype(np.float64)
        )


# Timeliness: how many records are recent.


@parameters
class Timeliness(Utility):
    """The share of records that are not older than a limit, by a column of dates; a range is as old
    as its middle.

    ``today`` is given, not taken from the clock: the same input gives the same number.

    >>> import datetime
    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> days = [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1)]
    >>> visits = sf.read(pl.DataFrame({"day": days})).with_roles(keep="day")
    >>> Timeliness("day", days=365, today="2025-06-01").measure(TablePair.of(visits, visits)).value
    0.5
    """

    column: Annotated[str, COLUMNS, Field(min_length=1, description="the column of dates")]
    days: Annotated[
        float, Field(ge=0, description="the age in days up to which a record is timely")
    ]
    today: Annotated[str, Field(description="the day ages are counted to, like 2025-06-01")]

    name: ClassVar[str] = "timeliness"
    line: ClassVar[str] = "share of records that are not too old"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.today)
        except ValueError:
            raise ParameterError("Timeliness: today must be a date like 2025-06-01") from None

    def applies(self, pair: TablePair) -> str | None:
        """None where the column holds dates."""
        pair.original.require([self.column])
        if not records_of(pair):
            return EMPTY
        if pair.original.schema[self.column].kind != "date":
            return f"column {self.column!r} does not hold dates"
        return None

    def measure(self, pair: TablePair) -> Measure:
        """The share of records that are timely."""
        require_sense(self, pair)
        if self.column not in pair.released.columns:
            return Measure(
                self.name, 0.0, self.better, "share of records that are recent", raw=None
            )
        days = numbers(pair, self.column)
        end = day(self.today) or 0.0
        # A missing date is NaN, which is never recent.
        fresh = (end - days.after <= self.days).astype(np.float64)
        is_near = end - days.before <= self.days
        raw = share_of(pair, float(is_near.sum()))
        meaning = f"share of records that are at most {self.days:g} days old"
        return Measure(
            self.name,
            share_of(pair, float(fresh.sum())),
            self.better,
            meaning,
            raw=raw,
            parts=fresh,
        )


# Uniqueness: how many records are no duplicates.


@parameters
class Uniqueness(ColumnUtility):
    """The share of records that are no duplicate of another, by a key: distinct keys / records.

    For a release this is wanted where records must stay apart; for quasi-identifiers anonymity is
    the opposite.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> Uniqueness().measure(
    ...     TablePair.of(examples.patients(), examples.patients(release="multi"))
    ... ).value
    0.5
    """

    columns: Columns = None

    name: ClassVar[str] = "uniqueness"
    counts: ClassVar[bool] = True
    line: ClassVar[str] = "share of records that are no duplicate of another"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: TablePair) -> str | None:
        """None where there is anything to look at."""
        return why_not_sampled(pair) or why_not(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """Distinct keys over records."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        value = share_of(pair, len(class_sizes(pair, names, "released")))
        raw = share_of(pair, len(class_sizes(pair, names, "original")))
        return Measure(self.name, value, self.better, "distinct keys per record", raw=raw)

    def told_alone(self, released: Table, original: Schema, records: int) -> float | None:
        """Distinct keys of what was released, over all records that there were."""
        names = [name for name in self.columns or original.quasi if name in released.columns]
        columns = {
            str(column_number): released.encoded(name).codes
            for column_number, name in enumerate(names)
        }
        codes = pl.DataFrame(columns)
        if not names:
            return None
        return min(1.0, codes.n_unique() / max(1, records))


# Validity: how many cells are what their column may hold.


@parameters
class Validity(ColumnUtility):
    """The share of cells that are what their column may hold.

    Without ``rules`` a cell is valid when it stands for something: an original value, a node of the
    hierarchy, a range or set of them. ``rules`` say more: a regular expression the label must match
    as a whole, or two numbers (None: no limit) a number must lie between; a range of numbers must
    lie between them with both ends.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> (
    ...     Validity().measure(pair).value,
    ...     Validity(["zip"], rules={"zip": "[0-9]{5}"}).measure(pair).per_column,
    ... )
    (1.0, {'zip': 0.3333333333333333})
    """

    columns: AllColumns = None
    rules: Annotated[
        dict[str, str | tuple[float | None, float | None]],
        COLUMNS,
        Field(description="column: pattern, or least and greatest"),
    ] = Field(default_factory=dict)

    name: ClassVar[str] = "validity"
    line: ClassVar[str] = "share of cells whose value their column allows"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def __post_init__(self) -> None:
        for column, rule in self.rules.items():
            try:
                re.compile(rule if isinstance(rule, str) else "")
            except re.error:
                raise ParameterError(
                    f"Validity: the rule of {column!r} is not a regular expression; correct it"
                ) from None

    def applies(self, pair: TablePair) -> str | None:
        """None where there is anything to look at."""
        names = data_of(pair, self.columns)
        unknown = [name for name in self.rules if name not in names]
        if unknown:
            raise SchemaError(
                f"validity: there is a rule for column {unknown[0]!r}, which is not "
                "compared; remove it or name the column"
            )
        return why_not(pair, names)

    def measure(self, pair: TablePair) -> Measure:
        """The share of valid cells."""
        require_sense(self, pair)
        columns = {
            name: share_of(pair, self._valid(pair, name)) for name in data_of(pair, self.columns)
        }
        value = sum(columns.values()) / len(columns)
        return Measure(
            self.name, value, self.better, "share of cells that are valid", per_column=columns
        )

    def _valid(self, pair: TablePair, name: str) -> float:
        rule = self.rules.get(name)
        if plainly_numeric(pair, name) and not isinstance(rule, str):
            low, high = _limits(rule or (None, None))
            values = numbers(pair, name).after
            return float(((values >= low) & (values <= high)).sum())
        if name not in pair.released.columns:
            return 0.0
        reading = pair.reading(name)
        blank = missing_in(reading.labels) | reading.everything
        if isinstance(rule, str):
            is_valid = [
                label is not None and re.fullmatch(rule, label) is not None
                for label in reading.labels
            ]
            good = np.array(is_valid)
        elif rule is not None:
            low, high = _limits(rule)
            # A label may be a number that has no place among the original values.
            alone = [np.nan if label is None else number(label) for label in reading.labels]
            positions = np.array([np.nan if position is None else position for position in alone])
            lower = np.where(np.isnan(reading.low), positions, reading.low)
            upper = np.where(np.isnan(reading.high), positions, reading.high)
            good = (lower >= low) & (upper <= high)
        else:
            if reading.scale != "category":
                good = ~np.isnan(reading.low)
            else:
                good = np.diff(reading.starts) > 0
            cells = cells_of(pair, name) if pair.aligned else None
            if cells is not None:
                good = good.copy()
                # Nodes of the hierarchy stand for something even where the reading lists no values
                # of them.
                good[cells.label[cells.level >= 0]] = True
        return float(reading.after.counts[good.astype(bool) & ~blank].sum())


def _limits(rule: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = rule
    return -math.inf if low is None else low, math.inf if high is None else high
