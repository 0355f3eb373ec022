"""Record-level squared error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import NumericColumns, numeric_of, require_sense
from sfumato.utility.numeric import errors, why_no_numbers
from sfumato.utility.suppressed import normalised, records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class RecordSquaredError:
    r"""The mean squared distance of a record from its original, over columns of numbers made comparable.

    .. math:: \frac1N\sum_i \lVert x_i - x'_i\rVert^2

    Columns are divided by their range or their standard deviation (over *N* − 1); those with a single value are left
    out. ``root`` takes the square root of the mean. A released range stands for its middle, a suppressed cell for the mean. ``value`` is the
    share of what suppressing everything costs, at most 1.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [0, 2, 4], "y": [0, 1, 1]})).with_roles(plain=["x", "y"])
    >>> after = sf.read(pl.DataFrame({"x": [0, 4, 4], "y": [1, 1, 1]})).with_roles(plain=["x", "y"])
    >>> round(RecordSquaredError(scale="range").measure(Pair.of(before, after)).raw, 4)  # (1 + 1/4 + 0) / 3
    0.4167
    """

    columns: NumericColumns = None
    scale: Annotated[Literal["deviation", "range"], Field(description="what columns are divided by")] = "deviation"
    root: Annotated[bool, Field(description="whether the square root of the mean is taken")] = False

    name: ClassVar[str] = "record_squared_error"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers to compare."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The mean squared distance of a record."""
        import numpy as np

        require_sense(self, pair)
        columns, records, lost, most = {}, np.zeros(len(pair.rows)), 0.0, 0.0
        count = max(1, records_of(pair))
        for name in numeric_of(pair, self.columns):
            found = errors(pair, name)
            unit = found.span if self.scale == "range" else found.deviation
            if unit <= 0:
                continue
            squares = (found.released / unit) ** 2
            gone = float(((found.suppressed / unit) ** 2).sum())
            columns[name] = (float(squares.sum()) + gone) / count
            records += squares
            lost, most = lost + gone, most + float(((found.top / unit) ** 2).sum())
        raw, top = (float(records.sum()) + lost) / count, most / max(1, len(pair.original))
        if self.root:
            raw, top = math.sqrt(raw), math.sqrt(top)
        return Measure(
            self.name,
            normalised(raw, top, pair),
            self.better,
            f"{'root of the ' * self.root}mean squared distance of a record from its original",
            raw=raw,
            per_column=columns,
            per_record=records,
        )
