"""Accuracy: how many cells equal the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.cells import cells_of
from sfumato.utility.columns import AllColumns, data_of, require_sense
from sfumato.utility.numeric import errors, numbers, plainly_numeric
from sfumato.utility.quality import share_of, why_not

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@parameters
class Accuracy:
    """The share of cells that are equal to the original, numbers within a tolerance.

    ``tolerance`` is a share of the column's range; a released range is as accurate as its middle. A cell that was missing and
    still is counts as accurate, a generalised category does not.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="single"))
    >>> round(Accuracy(["age", "zip"], tolerance=0.2).measure(pair).value, 4)
    0.4167
    """

    columns: AllColumns = None
    tolerance: Annotated[float, Field(ge=0, le=1, description="error of numbers that is allowed")] = 0.0

    name: ClassVar[str] = "accuracy"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: Pair) -> str | None:
        """None where there is anything to look at."""
        return why_not(pair, data_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The share of accurate cells."""
        import numpy as np

        require_sense(self, pair)
        names = data_of(pair, self.columns)
        records, columns = np.zeros(len(pair.rows)), {}
        for name in names:
            right = self._right(pair, name)
            columns[name] = share_of(pair, float(right.sum()))
            records += right / len(names)
        value = sum(columns.values()) / len(columns)
        meaning = "share of cells that equal the original"
        return Measure(self.name, value, self.better, meaning, raw=value, per_column=columns, per_record=records)

    def _right(self, pair: Pair, name: str) -> NDArray[np.float64]:
        import numpy as np

        if plainly_numeric(pair, name):
            found, both = errors(pair, name), numbers(pair, name)
            same = np.isnan(both.before[pair.rows]) == np.isnan(both.after)
            near = np.abs(found.released) <= self.tolerance * found.span + 1e-12
            return np.asarray(same & near, dtype=np.float64)
        cells = cells_of(pair, name)
        if cells is None:
            return np.zeros(len(pair.rows))
        known = {text: code for code, text in enumerate(cells.reading.values)}
        same = np.array([known.get(text, -1) for text in cells.reading.labels], dtype=np.int64)
        right = same[cells.label] == cells.value
        if cells.reading.scale != "category":
            off = np.abs(cells.reading.middle[cells.label] - cells.reading.places[cells.value])
            right = right | ((off <= self.tolerance * cells.reading.span + 1e-12) & ~cells.lost)
        return np.asarray(right[cells.which], dtype=np.float64)
