"""Tables: how far a cross-table of the release is from the original one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.binning import Binned, binned
from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

MOST_BINS = 40
MOST_CELLS = 4_000_000
"""Numbers that are held at a time while released cells are spread over the table."""


@parameters
class TableDistance:
    r"""The share of records that would have to change their cell to make the released table the original one.

    .. math:: \tfrac12 \sum_c |p_c - p'_c|

    the total variation between the shares of the cells *c* of a table of one to four columns. Numbers are put in 40 bins between their 1st and
    99th percentile, categories beyond the 40 most frequent in one; a generalised cell is spread evenly over what it may stand for.
    Records that were left out are missing from the released table, whose shares still add up to one. Without any released
    record everything is lost: 1.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> people = examples.patients()
    >>> TableDistance(("age", "sex")).measure(Pair.of(people, people)).value
    0.0
    """

    columns: Annotated[tuple[str, ...], Field(min_length=1, max_length=4, description="the columns of the table")]

    name: ClassVar[str] = "table"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None when all columns were released."""
        pair.original.require(self.columns)
        gone = [c for c in self.columns if c not in pair.columns]
        if gone:
            return f"{', '.join(gone)} was not released"
        return None if len(pair.original) else "the original table is empty"

    def measure(self, pair: Pair) -> Measure:
        """Total variation of the table."""
        import numpy as np

        if not len(pair.released):
            return Measure(self.name, 1.0, self.better, "nothing was released", raw=1.0)
        columns = [binned(pair, c, MOST_BINS, even=True) for c in self.columns]
        before = np.zeros(tuple(len(c.names) for c in columns))
        np.add.at(before, tuple(c.original for c in columns), 1.0 / len(pair.original))
        value = float(np.abs(before - _released(columns, len(pair.released))).sum() / 2)
        return Measure(
            self.name, value, self.better, f"share of records in another cell of {' × '.join(self.columns)}", raw=value
        )


def _released(columns: list[Binned], records: int) -> NDArray[np.float64]:
    """The released table: counts of labels, each label spread over its bins, one column after the other."""
    import numpy as np

    combined, which = np.unique(np.stack([c.released for c in columns], axis=1), axis=0, return_inverse=True)
    shares = np.bincount(which.reshape(-1), minlength=len(combined)) / records
    shape = tuple(len(c.names) for c in columns)
    total = np.zeros(shape)
    step = max(1, MOST_CELLS // total.size)
    for at in range(0, len(combined), step):  # every combination takes a whole table: not all at once
        total += _spread_out(columns, combined[at : at + step], shares[at : at + step]).reshape(shape)
    return total


def _spread_out(columns: list[Binned], combined: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    found = shares.reshape(-1, 1)
    for place, column in enumerate(columns):
        spread = column.spread[combined[:, place]]
        found = (found[:, :, None] * spread[:, None, :]).reshape(len(combined), -1)
    total: NDArray[np.float64] = found.sum(axis=0)
    return total
