"""Completeness: how many cells hold something."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import AllColumns, data_of, require_sense
from sfumato.utility.quality import share_of, why_not

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Completeness:
    """The share of cells that hold something: 1 − missing cells / cells. Blanks and ``*`` hold nothing.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.regions(), examples.regions(suppressed="gender"))
    >>> round(Completeness(["gender"]).measure(pair).value, 4)  # one of seven is gone
    0.8571
    """

    columns: AllColumns = None

    name: ClassVar[str] = "completeness"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: Pair) -> str | None:
        """None where there is anything to look at."""
        return why_not(pair, data_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The share of cells that hold something."""
        require_sense(self, pair)
        names = data_of(pair, self.columns)
        before = sum(len(pair.original) - pair.original.column(name).null_count() for name in names)
        columns = {name: share_of(pair, self._held(pair, name)) for name in names}
        value = sum(columns.values()) / len(columns)
        meaning = "share of cells that hold something"
        return Measure(
            self.name, value, self.better, meaning, raw=share_of(pair, before, len(names)), per_column=columns
        )

    def _held(self, pair: Pair, name: str) -> float:
        if name not in pair.released.columns:
            return 0.0
        import polars as pl

        column = pair.released.column(name)
        stars = int((column == "*").sum()) if column.dtype == pl.String else 0
        nans = int(column.is_nan().sum()) if column.dtype.is_float() else 0
        return float(len(column) - column.null_count() - stars - nans)
