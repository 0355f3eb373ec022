"""Date shifting: every person's dates move together."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.calendar import FIRST, LAST, days_of, shift_column
from sfumato.core.design import marks_by, units_of
from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved, Span
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import by_appearance
from sfumato.methods.steps.masking.masking_fields import Names, require_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

EPOCH = datetime.date(1970, 1, 1)
FEW = 14


@parameters
class ShiftDates(ColumnStep):
    r"""Move all dates of a person by one random number of days.

    The shift is uniform on the whole numbers from −``days`` to ``days`` except 0; with
    ``keep_weekday`` on the multiples of 7 among them. All named columns of all rows of a unit move
    by the same shift, so every interval between two dates of a unit stays exactly. Units are
    persons where the table has them, else households, else rows; ``unit`` says otherwise.

    With ``earliest`` and ``latest`` only shifts are drawn that leave all dates of the unit within;
    units near an end then move to one side more than to the other. A unit that has no such shift is
    refused, by count.

    Columns hold dates, times (the time of day stays; with a time zone, 24 hours are a day) or text
    that starts with a date as YYYY-MM-DD. Missing values stay missing. Name all columns with dates
    of a unit in one step: two steps draw two shifts.

    Shifts do not hide a pattern that is known otherwise: who knows one date of a person exactly
    knows all, and seasons, weekdays (kept on purpose) or a known event narrow the shift down. Few
    possible shifts are warned of.

    Reference: Hripcsak et al. 2016, *Preserving temporal relations in clinical data while
    maintaining privacy*, doi:10.1093/jamia/ocw001.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> table = Table(pl.DataFrame({"in": ["2024-02-28"], "out": ["2024-03-01"]}))
    >>> plan = ShiftDates(["in", "out"], 30).plan(table, Goal(seed=Seed(1)))
    >>> stay = plan.columns["out"].str.to_date() - plan.columns["in"].str.to_date()
    >>> stay.dt.total_days().to_list()
    [2]
    """

    columns: Annotated[Names, Field(description="columns that hold dates")]
    days: Annotated[int, Field(ge=1, le=365_000, description="most days a date moves")]
    keep_weekday: Annotated[bool, Field(description="move by whole weeks")] = False
    earliest: Annotated[
        datetime.date | None, Field(description="no date moves before this one")
    ] = None
    latest: Annotated[datetime.date | None, Field(description="no date moves after this one")] = (
        None
    )
    unit: Annotated[
        Literal["person", "household", "row"] | None,
        Field(description="whose dates move together; by default the units, if any"),
    ] = None

    name: ClassVar[str] = "shift_dates"

    @property
    def span(self) -> Span:
        """Record by record; the draw of a unit is keyed by the unit."""
        return Span.RECORDS

    def span_in(self, schema: Schema) -> Span:
        """The same in a table of this kind: rows that are asked for one by one stay so, whoever
        they belong to.
        """
        if self.unit == "row":
            return self.span
        return super().span_in(schema)

    def __post_init__(self) -> None:
        if self.keep_weekday and self.days < 7:
            raise ParameterError(
                "ShiftDates: keep_weekday moves by whole weeks; set days to 7 or more"
            )
        if self.earliest is not None and self.latest is not None and self.earliest > self.latest:
            raise ParameterError("ShiftDates: earliest must not be after latest")

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw a shift for every unit."""
        require_table(dataset, self.name, self.columns)
        table = dataset.source.name
        columns = [dataset.column(name) for name in self.columns]
        days = np.stack([days_of(column, table) for column in columns], axis=1)
        kind, units = _units(self, dataset)
        low, high = self._limits(days, units)
        # A shift in days for every row, uniform between the limits of its unit but not 0;
        # rows of a unit have one draw
        draws = goal.keyed("shift dates").uniforms(marks_by(dataset, kind))
        has_zero = (low <= 0) & (high >= 0)
        choices = high - low + 1 - has_zero
        stuck = int((choices < 1).sum())
        if stuck:
            raise SchemaError(
                f"shift_dates: {stuck:,} unit(s) cannot be moved within the bounds; widen earliest"
                " and latest, or raise days"
            )
        offsets = np.floor(draws * choices[units]).astype(np.int64)
        picked: Rows = low[units] + offsets
        picked += has_zero[units] & (picked >= 0)
        shifts = picked * (7 if self.keep_weekday else 1)
        shifted = {column.name: shift_column(column, table, shifts) for column in columns}
        after = np.stack([days_of(column, table) for column in shifted.values()], axis=1)
        off = _intervals_off(days, after, units)
        preserved = [Preserved(f"intervals within a {kind}", tuple(self.columns), True, off)]
        if self.keep_weekday:
            preserved.append(Preserved("weekdays", tuple(self.columns), True, 0.0))
        return Masked(
            actions=dict.fromkeys(self.columns, f"moved by one random shift a {kind}"),
            columns=shifted,
            preserved=tuple(preserved),
            warnings=tuple(self._warnings(kind, dataset)),
            public={"days": self.days, "unit": kind, "weekdays_kept": self.keep_weekday},
            owner={"units": len(low)},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the moved dates."""
        return plan.applied(dataset)

    def _limits(self, days: Array, units: Rows) -> tuple[Rows, Rows]:
        """Per unit the least and the greatest number of steps (days or weeks) it may move."""
        count = int(units.max()) + 1
        earliest = np.full(count, np.inf)
        latest = np.full(count, -np.inf)
        np.minimum.at(earliest, units, np.fmin.reduce(days, axis=1, initial=np.inf))
        np.maximum.at(latest, units, np.fmax.reduce(days, axis=1, initial=-np.inf))
        if self.earliest is None:
            first = FIRST
        else:
            first = (self.earliest - EPOCH).days
        if self.latest is None:
            last = LAST
        else:
            last = (self.latest - EPOCH).days
        size = 7 if self.keep_weekday else 1
        low = np.ceil(np.maximum(first - earliest, -self.days) / size)
        high = np.floor(np.minimum(last - latest, self.days) / size)
        return low.astype(np.int64), high.astype(np.int64)

    def _warnings(self, kind: str, dataset: Table) -> list[str]:
        warnings = []
        choices = 2 * (self.days // 7 if self.keep_weekday else self.days)
        if choices < FEW:
            warnings.append(
                f"only {choices} shifts are possible: somebody who knows a date approximately can "
                "try them all"
            )
        if kind == "row" and dataset.schema.units:
            warnings.append(
                "rows of one unit move apart: intervals between them are lost, and their average "
                "reveals the true date"
            )
        return warnings


def _units(step: ShiftDates, dataset: Table) -> tuple[str, Rows]:
    """Whose dates move together, and per row the number of its unit."""
    units = None
    if step.unit != "row":
        units = units_of(dataset, step.unit)
    if units is None and step.unit in ("person", "household"):
        raise SchemaError(
            f"shift_dates: no column has role {step.unit}; give one, or leave unit out"
        )
    if units is None:
        return "row", np.arange(len(dataset))
    kinds = {dataset.schema[name].identifies for name in dataset.schema.units}
    return step.unit or ("person" if "person" in kinds else "household"), by_appearance(units)


def _intervals_off(before: Array, after: Array, units: Rows) -> float:
    """By how many days two dates of a unit moved differently, at most."""
    shifts = after - before
    count = int(units.max()) + 1
    earliest = np.full(count, np.inf)
    latest = np.full(count, -np.inf)
    np.minimum.at(earliest, units, np.fmin.reduce(shifts, axis=1, initial=np.inf))
    np.maximum.at(latest, units, np.fmax.reduce(shifts, axis=1, initial=-np.inf))
    dated = earliest <= latest
    return float((latest - earliest)[dated].max(initial=0.0))
