"""Squared error by normalised distances of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.cells import Cells, cells_of
from sfumato.utility.columns import EMPTY, AllColumns, data_of, require_sense
from sfumato.utility.features import is_number
from sfumato.utility.numeric import errors, numbers
from sfumato.utility.suppressed import normalised, records_of, suppressed_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

Parts = tuple["NDArray[np.float64]", float, float]


@parameters
class SquaredError:
    r"""The mean squared normalised distance of a cell from its original.

    .. math:: \frac1N\sum_i\frac1A\sum_a NED(a_i, a'_i)^2

    NED of numbers, dates and ordered values is :math:`|a-a'|` over the range of the column; of categories it is the height of
    the lowest node above both, over the height of the hierarchy (``categories="hierarchy"``), or 0 when equal and 1 when not
    (``"equal"``, and for columns without a hierarchy). A released range stands for its middle and a suppressed
    number for the mean of its column; a suppressed category is at distance 1, and so is anything from what was missing before; a missing number costs only
    where it was filled.
    ``value`` is the share of what suppressing everything costs, at most 1. Unlike the loss metrics it
    also applies where values were changed, and by default looks at all columns of data. It is a mean, although the literature calls it a sum (SSE).

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau, 2021/22.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="single"))
    >>> round(SquaredError(["age"]).measure(pair).raw, 6)  # (4 · 0.5² + 2 · (1/6)²…) / 6
    0.138889
    """

    columns: AllColumns = None
    categories: Annotated[
        Literal["hierarchy", "equal"], Field(description="distance of categories: by their hierarchy, or 0 and 1")
    ] = "hierarchy"

    name: ClassVar[str] = "squared_error"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there is anything to compare."""
        names = data_of(pair, self.columns)
        if not records_of(pair):
            return EMPTY
        return None if names else "there is no column to look at; name some"

    def measure(self, pair: Pair) -> Measure:
        """The mean squared distance of a cell."""
        import numpy as np

        require_sense(self, pair)
        names, count = data_of(pair, self.columns), max(1, records_of(pair))
        columns, records, lost, most = {}, np.zeros(len(pair.rows)), 0.0, 0.0
        for name in names:
            squares, gone, top = self._parts(pair, name)
            columns[name] = (float(squares.sum()) + gone) / count
            records += squares / len(names)
            lost, most = lost + gone, most + top
        raw = (float(records.sum()) + lost / len(names)) / count
        value = normalised(raw, most / len(names) / max(1, len(pair.original)), pair)
        meaning = "mean squared distance of a cell from its original, over the range of its column"
        return Measure(self.name, value, self.better, meaning, raw=raw, per_column=columns, per_record=records)

    def _parts(self, pair: Pair, name: str) -> Parts:
        """Squared distances per released row, their sum over suppressed records, and over all if all were suppressed."""
        import numpy as np

        if name not in pair.released.columns:
            return np.ones(len(pair.rows)), float(suppressed_of(pair)), float(len(pair.original))
        if not is_number(pair, name):
            return self._categories(pair, name), float(suppressed_of(pair)), float(len(pair.original))
        found, both = errors(pair, name), numbers(pair, name)
        unit = found.span or 1.0
        filled = np.isnan(both.before[pair.rows]) & ~np.isnan(both.after)
        released = np.where(filled, 1.0, (found.released / unit) ** 2)
        return released, float(((found.suppressed / unit) ** 2).sum()), float(((found.top / unit) ** 2).sum())

    def _categories(self, pair: Pair, name: str) -> NDArray[np.float64]:
        """Squared distances of categories, per released row."""
        import numpy as np

        cells = cells_of(pair, name)
        if cells is None:
            return np.ones(len(pair.rows))
        found: NDArray[np.float64] = (self._distances(cells) ** 2)[cells.which]
        return found

    def _distances(self, cells: Cells) -> NDArray[np.float64]:
        import numpy as np

        if self.categories == "hierarchy" and cells.ladder.top:
            missing = np.array([v is None for v in cells.reading.values], dtype=bool)[cells.value]
            blank = np.array([v is None for v in cells.reading.labels], dtype=bool)[cells.label]
            return np.where(cells.lost, 1.0, np.where(missing, ~blank, cells.height))
        known = {text: code for code, text in enumerate(cells.reading.values)}
        same = np.array([known.get(text, -1) for text in cells.reading.labels], dtype=np.int64)
        apart: NDArray[np.float64] = (same[cells.label] != cells.value).astype(np.float64)
        return apart
