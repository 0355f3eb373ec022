"""Association between quasi-identifiers and confidential columns, before and after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.blocks import ChartAxis, ChartBlock, Point, Series
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.words import count_of, number, percent
from sfumato.methods.utility.cell_averages import records_of
from sfumato.methods.utility.columns import EMPTY, Columns, quasi_of, require_sense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading

    Ints = NDArray[np.int64]

GROUPS = 10
"""Numbers are grouped by tenths of the original records: fewer groups hide, more are mostly
noise.
"""
MOST_PAIRS = 24
"""Pairs of columns that are drawn."""


@parameters
class AssociationLoss(ColumnUtility):
    r"""How much of the association between quasi-identifiers and confidential columns is lost.

    .. math:: \frac{\sum_{q, s} \max(0,\ V_{qs} - V'_{qs})}{\sum_{q, s} V_{qs}}, \qquad
        V = \sqrt{\frac{\max\bigl(0,\ \chi^2/n - \frac{(r-1)(c-1)}{n-1}\bigr)}
        {\min(r_0, c_0) - 1}}, \quad r_0 = r - \frac{(r-1)^2}{n-1},\ c_0 = c - \frac{(c-1)^2}{n-1}

    :math:`V_{qs}` is Cramér's V, corrected for the number of values, of quasi-identifier *q* and
    confidential column *s* in the original of *n* records, where they have *r* and *c* values;
    :math:`V'` the same among the released records, labels being values. Numbers are grouped by
    tenths of the original, before and after; a missing value is a value. Where nothing was
    associated nothing is lost, or all if the quasi-identifiers tell nobody apart any more.
    ``per_column`` is the share by quasi-identifier, the chart has every pair. t-closeness limits
    what a class says of a confidential column, and so destroys associations: with t = 0 all of
    them. Class by class it is the distance that ``sf.judge(release.released,
    "t_closeness:…")[0].classes()`` lists.

    Reference: Bergsma 2013, *A bias-correction for Cramér's V and Tschuprow's T*,
    doi:10.1016/j.jkss.2012.10.002.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> people = examples.hospital(rows=500)
    >>> AssociationLoss().measure(TablePair.of(people, people)).value
    0.0
    """

    columns: Columns = None
    sensitive: Annotated[
        tuple[str, ...] | None,
        COLUMNS,
        Field(min_length=1, description="confidential columns; by default all sensitive ones"),
    ] = None

    name: ClassVar[str] = "association"
    title: ClassVar[str] = "Associations lost"
    line: ClassVar[str] = (
        "how much of the link of quasi-identifiers to confidential columns is lost"
    )

    @property
    def about(self) -> tuple[str, ...]:
        """The columns it is told to look at."""
        return (*(self.columns or ()), *(self.sensitive or ()))

    def applies(self, pair: TablePair) -> str | None:
        """None where both kinds of columns were released."""
        if not records_of(pair):
            return EMPTY
        if not self._pairs(pair):
            return "no quasi-identifier and sensitive column were both released"
        return None

    def measure(self, pair: TablePair) -> Measure:
        """The share of association that is lost, and V of every pair before and after."""
        require_sense(self, pair)
        grouped = {
            name: _groups_of(pair.reading(name))
            for name in dict.fromkeys(name for names in self._pairs(pair) for name in names)
        }
        before: dict[str, float] = {}
        after: dict[str, float] = {}
        per_column: dict[str, float] = {}
        for first in dict.fromkeys(first for first, _ in self._pairs(pair)):
            own = [second for quasi, second in self._pairs(pair) if quasi == first]
            was = [corrected_v(grouped[first][0], grouped[second][0]) for second in own]
            now = [corrected_v(grouped[first][1], grouped[second][1]) for second in own]
            per_column[first] = _lost_share(was, now, is_gone=_is_gone(grouped[first]))
            for second, value_before, value_after in zip(own, was, now, strict=True):
                before[f"{first} × {second}"] = value_before
                after[f"{first} × {second}"] = value_after
        is_gone = all(_is_gone(grouped[first]) for first in per_column)
        value = _lost_share(list(before.values()), list(after.values()), is_gone=is_gone)
        return Measure(
            self.name,
            value,
            self.better,
            f"{percent(value)} of the association of {count_of(len(before), 'pair')} of "
            "quasi-identifier and confidential column is lost",
            per_column=per_column,
            chart=_chart(before, after),
        )

    def _pairs(self, pair: TablePair) -> list[tuple[str, str]]:
        released = pair.released.columns
        firsts = [name for name in quasi_of(pair, self.columns) if name in released]
        seconds = self.sensitive or pair.original.schema.sensitive
        pairs = []
        for first in firsts:
            pairs += [(first, s) for s in seconds if s in released and s != first]
        return pairs


def _lost_share(before: list[float], after: list[float], *, is_gone: bool) -> float:
    """The share of association that is lost; where there was none, all if nothing is left of the
    columns.
    """
    total = sum(before)
    if total <= 0:
        return 1.0 if is_gone else 0.0
    lost = sum(max(0.0, was - now) for was, now in zip(before, after, strict=True))
    return lost / total


def _is_gone(groups: tuple[Ints, Ints]) -> bool:
    """Whether a column that told people apart no longer does."""
    original, released = groups
    return len(np.unique(original)) > 1 >= len(np.unique(released))


def _groups_of(reading: Reading) -> tuple[Ints, Ints]:
    """The groups of a column, original and released record by record."""
    places, low, high = reading.places, reading.low, reading.high
    before, after = reading.before.codes, reading.after.codes
    points = ~np.isnan(low) & (low == high)
    if reading.scale != "number" or np.isnan(places[before]).all():
        return before, after
    # The limits are those of the original, so that a group is the same before and after.
    own = places[before]
    limits = np.unique(np.quantile(own[~np.isnan(own)], np.arange(1, GROUPS) / GROUPS))
    of_value = np.where(np.isnan(places), -1, np.searchsorted(limits, places, side="right"))
    # Labels that are no single number are values of their own, behind the groups.
    labels = np.arange(len(low)) + GROUPS
    of_label = np.where(points, np.searchsorted(limits, low, side="right"), labels)
    return of_value[before], of_label[after]


def corrected_v(first: Ints, second: Ints) -> float:
    """Cramér's V of two columns of codes, corrected for the number of their values.

    >>> both = np.array([0, 1] * 50)
    >>> corrected_v(both, both), corrected_v(both, np.repeat([0, 1], 50))
    (1.0, 0.0)
    """
    records = len(first)
    if records < 2:
        return 0.0
    rows, first_codes = np.unique(first, return_inverse=True)
    columns, second_codes = np.unique(second, return_inverse=True)
    cells, counts = np.unique(first_codes * len(columns) + second_codes, return_counts=True)
    row_sums = np.bincount(first_codes)[cells // len(columns)]
    column_sums = np.bincount(second_codes)[cells % len(columns)]
    # Σ n²/(n₁ n₂) − 1 is χ²/n; cells without records add nothing to it.
    phi = float((counts / row_sums * (counts / column_sums)).sum()) - 1.0
    spare_rows, spare_columns = len(rows) - 1, len(columns) - 1
    phi -= spare_rows * spare_columns / (records - 1)
    widest = min(
        spare_rows - spare_rows**2 / (records - 1), spare_columns - spare_columns**2 / (records - 1)
    )
    # Columns of one value, or of a value for every record, say nothing.
    if phi <= 0 or widest <= 1e-9:
        return 0.0
    return math.sqrt(min(1.0, phi / widest))


def _chart(before: dict[str, float], after: dict[str, float]) -> ChartBlock:
    """Bars of every pair before and after, the most associated first."""
    order = sorted(before, key=lambda words: (-before[words], words))[:MOST_PAIRS]
    series = []
    for name, values in (("before", before), ("after", after)):
        points = [
            Point(i, values[words], label=number(values[words])) for i, words in enumerate(order)
        ]
        series.append(Series(name, tuple(points)))
    words = "; ".join(f"{name}: {number(before[name])}, {number(after[name])}" for name in order)
    caption = "Cramér's V of a quasi-identifier and a confidential column; 0: independent."
    if len(order) < len(before):
        caption += f" The {len(order)} most associated of {len(before)} pairs are shown."
    return ChartBlock(
        "association",
        "bars",
        ChartAxis("pair", tuple(order)),
        ChartAxis(limits=(0.0, 1.0)),
        tuple(series),
        f"Association before and after. {words}.",
        caption=caption,
    )
