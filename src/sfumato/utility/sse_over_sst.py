"""Information loss of microaggregation: SSE over SST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import NumericColumns, numeric_of, require_sense
from sfumato.utility.numeric import errors, why_no_numbers
from sfumato.utility.suppressed import normalised

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class SumOfSquares:
    r"""The variation that was lost: the within-group sum of squares over the total one (SSE/SST).

    .. math:: L = \frac{\sum_i \lVert x_i - x'_i\rVert^2}{\sum_i \lVert x_i - \bar x\rVert^2}

    For microaggregated data SSE + SSA = SST, where SSA is the sum of squares between groups. ``standardise`` divides every column
    by its standard deviation first, so that none drowns the others (the default; literature on microaggregation does so too).
    A released range stands for its middle, a suppressed cell for the mean: suppressing everything gives 1.
    ``value`` is at most 1; ``raw`` may exceed it after swapping or strong noise.

    Reference: J. Domingo-Ferrer and J. M. Mateo-Sanz, IEEE TKDE 14(1), 2002, https://doi.org/10.1109/69.979982.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [2, 12, 16, 25, 29, 45]})).with_roles(plain="x")
    >>> after = sf.read(pl.DataFrame({"x": [10, 10, 10, 27, 27, 45]})).with_roles(plain="x")
    >>> round(SumOfSquares().measure(Pair.of(before, after)).raw, 5)  # 112 / 1121.5
    0.09987
    """

    columns: NumericColumns = None
    standardise: Annotated[bool, Field(description="whether columns are divided by their standard deviations")] = True

    name: ClassVar[str] = "sse_over_sst"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers to compare."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The share of the variation that is lost."""
        import numpy as np

        require_sense(self, pair)
        columns, records = {}, np.zeros(len(pair.rows))
        within = total = 0.0
        for name in numeric_of(pair, self.columns):
            found = errors(pair, name)
            every = float((found.top**2).sum())
            if every <= 0:
                continue
            unit = every if self.standardise else 1.0
            here = float((found.released**2).sum() + (found.suppressed**2).sum())
            columns[name] = here / every
            within, total = within + here / unit, total + every / unit
            records += found.released**2 / unit
        raw = within / total if total > 0 else 0.0
        return Measure(
            self.name,
            normalised(raw, 1.0, pair),
            self.better,
            "share of the variation of the numbers that is lost",
            raw=raw,
            per_column=columns,
            per_record=records / total if total > 0 else records,
        )
