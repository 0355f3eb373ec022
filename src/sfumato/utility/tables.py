"""One question that must survive: how many records meet a condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.encoding import label
from sfumato.core.metric import ColumnUtility, Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.formulas.binning import Binned, binned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair
    from sfumato.core.reading import Reading

Value = str | int | float | bool
Condition = Value | list[Value]


@parameters
class CountError(Utility):
    r"""The relative error of one count: :math:`|n - n'| / \max(n, 1)`.

    ``where`` maps columns to what they must be: one value, a list of values, or, for numbers, dates and ordered values, two ends
    ``[low, high]`` (both inside). A generalised cell counts with the share of its range, or of its values, that meets the condition; records that were left out
    do not count. Conditions hold data values: a certificate leaves them out.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> people = examples.patients()
    >>> CountError({"age": [20, 40]}).measure(Pair.of(people, people)).value
    0.0
    """

    where: Annotated[Mapping[str, Condition], Field(min_length=1, description="column → value, values, or [low, high]")]

    name: ClassVar[str] = "count"
    line: ClassVar[str] = "relative error of one count"
    secret: ClassVar[tuple[str, ...]] = ("where",)

    def applies(self, pair: Pair) -> str | None:
        """None when all columns were released."""
        pair.original.require(self.where)
        gone = [c for c in self.where if c not in pair.columns]
        if gone:
            return f"{', '.join(gone)} was not released"
        return None if len(pair.original) else "the original table is empty"

    def measure(self, pair: Pair) -> Measure:
        """Count before and after."""
        before, after = np.ones(len(pair.original)), np.ones(len(pair.released))
        for column, condition in self.where.items():
            reading = pair.reading(column)
            values, labels = _met(reading, condition)
            before *= values[reading.original]
            after *= labels[reading.released]
        true, counted = float(before.sum()), float(after.sum())
        error = abs(true - counted) / max(true, 1.0)
        columns = ", ".join(self.where)
        return Measure(self.name, min(1.0, error), self.better, f"relative error of a count over {columns}", raw=error)


def _met(reading: Reading, condition: Condition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each original value, and each released label, meets a condition: 0 to 1."""
    wanted = condition if isinstance(condition, list) else [condition]
    ends = _ends(reading, wanted)
    if ends is not None:
        low, high = ends
        values = ((reading.places >= low) & (reading.places <= high)).astype(np.float64)
        width = reading.high - reading.low
        inside = np.minimum(reading.high, high) - np.maximum(reading.low, low)
        point = (reading.low >= low) & (reading.high <= high)
        share = np.where(width > 0, np.clip(inside, 0, None) / np.where(width > 0, width, 1.0), point)
        return values, np.nan_to_num(share)
    names = {label(value) for value in wanted}
    values = np.array([float(v in names) for v in reading.values])
    labels = np.zeros(len(reading.labels))
    for i, text in enumerate(reading.labels):
        members = reading.members[reading.starts[i] : reading.starts[i + 1]]
        labels[i] = float(values[members].mean()) if len(members) else float(text in names)
    return values, labels


def _ends(reading: Reading, wanted: list[Value]) -> tuple[float, float] | None:
    """Two ends on the line, where the column has one and the condition names places on it."""
    if reading.scale == "category":
        return None
    place = {value: float(at) for value, at in zip(reading.values, reading.places, strict=True)}
    ends = []
    for value in wanted:
        text = label(value)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else place.get(text)
        if number is None:
            return None
        ends.append(number)
    if len(ends) == 1:
        return ends[0], ends[0]
    return (ends[0], ends[1]) if len(ends) == 2 and ends[0] <= ends[1] else None


# Tables: how far a cross-table of the release is from the original one.

MOST_BINS = 40
MOST_CELLS = 4_000_000
"""Numbers that are held at a time while released cells are spread over the table."""


@parameters
class TableDistance(ColumnUtility):
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
    line: ClassVar[str] = "share of records in another cell of a table than before"

    def applies(self, pair: Pair) -> str | None:
        """None when all columns were released."""
        pair.original.require(self.columns)
        gone = [c for c in self.columns if c not in pair.columns]
        if gone:
            return f"{', '.join(gone)} was not released"
        return None if len(pair.original) else "the original table is empty"

    def measure(self, pair: Pair) -> Measure:
        """Total variation of the table."""
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
    combined, which = np.unique(np.stack([c.released for c in columns], axis=1), axis=0, return_inverse=True)
    shares = np.bincount(which.reshape(-1), minlength=len(combined)) / records
    shape = tuple(len(c.names) for c in columns)
    total = np.zeros(shape)
    step = max(1, MOST_CELLS // total.size)
    for at in range(0, len(combined), step):  # every combination takes a whole table: not all at once
        total += _spread_out(columns, combined[at : at + step], shares[at : at + step]).reshape(shape)
    return total


def _spread_out(columns: list[Binned], combined: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    parts = shares.reshape(-1, 1)
    for place, column in enumerate(columns):
        spread = column.spread[combined[:, place]]
        parts = (parts[:, :, None] * spread[:, None, :]).reshape(len(combined), -1)
    total: NDArray[np.float64] = parts.sum(axis=0)
    return total
