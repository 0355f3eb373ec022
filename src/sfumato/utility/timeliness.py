"""Timeliness: how many records are recent."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.core.ranges import day
from sfumato.errors import ParameterError
from sfumato.utility.columns import EMPTY, require_sense
from sfumato.utility.numeric import numbers
from sfumato.utility.quality import share_of
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Timeliness:
    """The share of records that are not older than a limit, by a column of dates; a range is as old as its middle.

    ``today`` is given, not taken from the clock: the same input gives the same number.

    >>> import datetime
    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> days = [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1)]
    >>> visits = sf.read(pl.DataFrame({"day": days})).with_roles(plain="day")
    >>> Timeliness("day", days=365, today="2025-06-01").measure(Pair.of(visits, visits)).value
    0.5
    """

    column: Annotated[str, Field(min_length=1, description="the column of dates")]
    days: Annotated[float, Field(ge=0, description="the age in days up to which a record is timely")]
    today: Annotated[str, Field(description="the day ages are counted to, like 2025-06-01")]

    name: ClassVar[str] = "timeliness"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.today)
        except ValueError:
            raise ParameterError("Timeliness: today must be a date like 2025-06-01") from None

    def applies(self, pair: Pair) -> str | None:
        """None where the column holds dates."""
        pair.original.require([self.column])
        if not records_of(pair):
            return EMPTY
        if pair.original.schema[self.column].kind != "date":
            return f"column {self.column!r} does not hold dates"
        return None

    def measure(self, pair: Pair) -> Measure:
        """The share of records that are timely."""
        import numpy as np

        require_sense(self, pair)
        if self.column not in pair.released.columns:
            return Measure(self.name, 0.0, self.better, "share of records that are recent", raw=None)
        both, end = numbers(pair, self.column), day(self.today) or 0.0
        fresh = (end - both.after <= self.days).astype(np.float64)
        raw = share_of(pair, float((end - both.before <= self.days).sum()))
        meaning = f"share of records that are at most {self.days:g} days old"
        return Measure(self.name, share_of(pair, float(fresh.sum())), self.better, meaning, raw=raw, per_record=fresh)
