"""Dates of people in several tables: all of one person move together."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.calendar import FIRST, LAST, days_of, shift_column
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.core.words import join_words
from sfumato.data.relational.promises import require_tables
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

FEW = 14
WEEK = 7
LEFT = (
    "the days between two dates of a person are unchanged: somebody who knows some of these gaps "
    "can identify the person"
)


@dataclasses.dataclass(frozen=True, eq=False)
class DatesPlan(Plan):
    """How many days the dates of every person move; for the owner only."""

    shifts: NDArray[np.int64] = dataclasses.field(repr=False)
    told: Fields
    warned: tuple[str, ...]

    def describe(self) -> Document:
        """What was moved, and by how much at most."""
        return dict(self.told)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned


@parameters
class ShiftPersonDates(Step):
    """Move all dates of a person, in all tables, by one random number of days.

    The shift is uniform on the whole numbers from −``days`` to ``days`` except 0, with
    ``keep_weekday`` on the multiples of 7 among them. Days between two dates of a person stay
    exactly what they were, in one table or in two; so does their order. Columns hold dates, times,
    or text that begins with a date as YYYY-MM-DD; what is missing stays so. Name all columns with
    dates in one step: two steps draw two shifts. Gaps still give people away, and a plan warns of
    it.

    Reference: Hripcsak et al. 2016, doi:10.1093/jamia/ocw001.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "shift_dates"
    tells: ClassVar[tuple[str, ...]] = ("columns_moved", "days")

    columns: Annotated[
        dict[str, tuple[str, ...]],
        Field(
            min_length=1,
            description="table → its columns of dates: {people: [born], visits: [day]}",
        ),
    ]
    days: Annotated[int, Field(ge=1, le=365_000, description="most days a date moves")]
    keep_weekday: Annotated[bool, Field(description="move by whole weeks")] = False

    def __post_init__(self) -> None:
        if self.keep_weekday and self.days < WEEK:
            raise ParameterError(
                "shift_dates: keep_weekday moves by whole weeks; set days to 7 or more"
            )

    def plan(self, people: Any, goal: Goal) -> DatesPlan:
        """Draw a shift for everybody; dates that would leave the calendar are refused."""
        tables = require_tables(people, self.name)
        size = WEEK if self.keep_weekday else 1
        largest_shift = self.days // size
        # One number fewer than there are shifts: −n … n−1. Below, those from 0 on move up by one,
        # which leaves 0 out and keeps all others equally likely.
        draws = goal.stream("shifts").integers(-largest_shift, largest_shift, tables.people)
        shifts = (draws + (draws >= 0)) * size
        # All dates are tried before any is changed: a plan either fits the calendar or is refused.
        for table, names in self.columns.items():
            for column in names:
                days = (
                    days_of(self._column(tables, table, column), table)
                    + shifts[tables[table].owner]
                )
                # Missing dates are NaN and leave the range alone; 0 (1970) is inside of it for
                # sure.
                if np.nanmin(days, initial=0) < FIRST or np.nanmax(days, initial=0) > LAST:
                    raise SchemaError(
                        f"shift_dates: a date of column {column!r} of {table} would leave the"
                        " calendar; lower days"
                    )
        # n shifts in each direction.
        choices = 2 * largest_shift
        warning = (
            f"only {choices} shifts are possible: somebody who knows a date approximately can try "
            "them all"
        )
        facts = {
            "columns_moved": {t: list(names) for t, names in self.columns.items()},
            "days": self.days,
        }
        facts |= {"weekdays_kept": True} if self.keep_weekday else {}
        return DatesPlan(shifts, facts, (LEFT, warning) if choices < FEW else (LEFT,))

    def _column(self, tables: Any, table: str, column: str) -> Any:
        frame = tables[table].frame
        if column not in frame.columns:
            raise SchemaError(
                f"shift_dates: table {table!r} has no column {column!r} besides its "
                "keys; check the name"
            )
        return frame[column]

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        date_columns = join_words(
            [
                f"{join_words(columns)} of {table}"
                for table, columns in facts["columns_moved"].items()
            ]
        )
        weeks = ", by whole weeks" if facts.get("weekdays_kept") else ""
        return (
            f"All dates of a person ({date_columns}) were moved together by a random number of "
            f"days, {facts['days']:,} at most{weeks}."
        )

    def apply(self, people: Any, plan: Any) -> Any:
        """Move them."""
        tables = require_tables(people, self.name)
        for table, names in self.columns.items():
            rows = tables[table]
            fresh = [
                # The same shift for all rows of a person, in whatever table they stand.
                shift_column(rows.frame[name], table, plan.shifts[rows.owner])
                for name in names
            ]
            tables = tables.with_rows(
                dataclasses.replace(rows, frame=rows.frame.with_columns(fresh))
            )
        return tables
