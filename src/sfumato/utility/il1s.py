"""Standardised absolute error IL1s."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import NumericColumns, numeric_of, require_sense
from sfumato.utility.numeric import errors, why_no_numbers
from sfumato.utility.suppressed import normalised

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class StandardisedError:
    r"""The mean absolute error of numbers, in units of √2 standard deviations of their columns (IL1s).

    .. math:: \frac1{NA}\sum_i\sum_a \frac{|x_{ia}-x'_{ia}|}{\sqrt2\,S_a}

    :math:`S_a` is the standard deviation of the original column (over *N* − 1). A released range stands for its middle, a
    suppressed cell for the mean; cells that were missing before are left out, and so are columns with one single value.
    ``value`` is the share of what suppressing everything costs, at most 1. sdcMicro's ``dUtility(method = "IL1s")`` gives the sum
    over cells instead of the mean.

    Reference: W. E. Yancey, W. E. Winkler and R. H. Creecy, 2002; J. M. Mateo-Sanz, F. Sebé and J. Domingo-Ferrer, 2004.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(plain="x")
    >>> after = sf.read(pl.DataFrame({"x": [2, 2, 2]})).with_roles(plain="x")
    >>> round(StandardisedError().measure(Pair.of(before, after)).raw, 4)
    0.4714
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "il1s"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers to compare."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The mean standardised error."""
        import numpy as np

        require_sense(self, pair)
        columns, records = {}, np.zeros(len(pair.rows))
        total = most = cells = 0.0
        for name in numeric_of(pair, self.columns):
            found = errors(pair, name)
            if found.deviation <= 0:
                continue
            unit = math.sqrt(2) * found.deviation
            released = np.abs(found.released) / unit
            here = float(released.sum() + np.abs(found.suppressed).sum() / unit)
            columns[name] = here / max(1, found.known)
            total, most, cells = total + here, most + float(np.abs(found.top).sum()) / unit, cells + found.known
            records += released
        raw, top = total / max(1.0, cells), most / max(1.0, cells)
        meaning = "mean absolute error of a number in units of √2 standard deviations"
        return Measure(
            self.name,
            normalised(raw, top, pair),
            self.better,
            meaning,
            raw=raw,
            per_column=columns,
            per_record=records / max(1, len(columns)),
        )
