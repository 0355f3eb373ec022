"""Columns in a few bins, before and after: to draw their distribution and to compare tables of two columns.

A generalised cell is spread over the bins it may stand for: evenly over its range, or over the values below it.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.core.schema import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair
    from sfumato.core.reading import Reading

MOST_BINS = 12
OTHERS = "others"
MISSING = "missing"


@dataclasses.dataclass(frozen=True, eq=False)
class Binned:
    """A column in bins: ``names`` of the bins, the bin of every original row, and per released label its share of each bin."""

    column: str
    names: tuple[str, ...]
    original: NDArray[np.int64]
    released: NDArray[np.int64]
    spread: NDArray[np.float64]

    @property
    def before(self) -> NDArray[np.float64]:
        """Share of the original records in each bin."""
        import numpy as np

        return np.bincount(self.original, minlength=len(self.names)) / max(1, len(self.original))

    @property
    def after(self) -> NDArray[np.float64]:
        """Share of the released records in each bin, generalised cells spread out."""
        import numpy as np

        counts = np.bincount(self.released, minlength=len(self.spread))
        found: NDArray[np.float64] = counts @ self.spread / max(1, len(self.released))
        return found

    @property
    def distance(self) -> float:
        """Total variation between before and after: the share of records that would have to change their bin."""
        import numpy as np

        return float(np.abs(self.before - self.after).sum() / 2)


def binned(pair: Pair, column: str, most: int = MOST_BINS, *, fewest: int = 1) -> Binned:
    """A column of a release and its original in at most so many bins, and one for missing values where there are any.

    A value that fewer than ``fewest`` records have gets no bin of its own: it is among the others.
    """
    reading = pair.reading(column)
    if reading.scale != "number":
        return _by_value(reading, most, fewest)
    return _by_number(reading, most, _date if pair.original.schema[column].kind is Kind.DATE else _short)


def _by_number(reading: Reading, most: int, told: Callable[[float], str]) -> Binned:
    """Bins of equal width between the 1st and the 99th percentile; what lies outside is in the outer bins."""
    import numpy as np

    known = reading.places[reading.original]
    known = known[~np.isnan(known)]
    low, high = np.quantile(known, [0.01, 0.99]) if known.size else (0.0, 1.0)
    if high <= low:
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    edges = np.linspace(low, high, most + 1) if high > low else np.array([low, low + 1.0])
    names = tuple(f"{told(a)}–{told(b)}" for a, b in itertools.pairwise(edges))
    place = np.clip(np.searchsorted(edges, reading.places, side="right") - 1, 0, len(names) - 1)
    spread = np.zeros((len(reading.labels), len(names) + 1))
    for i in range(len(reading.labels)):
        spread[i, : len(names)] = _overlap(edges, float(reading.low[i]), float(reading.high[i]))
        spread[i, -1] = 1.0 - spread[i].sum()
    place[np.isnan(reading.places)] = len(names)
    return _without_unused(reading, (*names, MISSING), place.astype(np.int64), spread)


def _overlap(edges: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """How a range lies over bins, the outer ones reaching to infinity; nothing for what lies nowhere."""
    import numpy as np

    found = np.zeros(len(edges) - 1)
    if np.isnan(low):
        return found
    if high <= low:
        found[int(np.clip(np.searchsorted(edges, low, side="right") - 1, 0, len(found) - 1))] = 1.0
        return found
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    covered: NDArray[np.float64] = np.clip(np.minimum(outer[1:], high) - np.maximum(outer[:-1], low), 0, None)
    return covered / (high - low)


def _by_value(reading: Reading, most: int, fewest: int) -> Binned:
    """A bin for each of the most frequent values, in the order of the line where there is one, and one for all others."""
    import numpy as np

    counts = np.bincount(reading.original, minlength=len(reading.values))
    known = [v for v in range(len(reading.values)) if reading.values[v] is not None and counts[v] >= fewest]
    common = sorted(
        sorted(known, key=lambda v: (-counts[v], str(reading.values[v])))[:most], key=lambda v: _place(reading, v)
    )
    names = (*(str(reading.values[v]) for v in common), OTHERS, MISSING)
    bin_of = np.full(len(reading.values), len(common), dtype=np.int64)
    bin_of[common] = np.arange(len(common))
    bin_of[[v for v in range(len(reading.values)) if reading.values[v] is None]] = len(common) + 1
    spread = np.zeros((len(reading.labels), len(names)))
    for i, label in enumerate(reading.labels):
        members = _values_of(reading, i)
        if label is None:
            spread[i, -1] = 1.0
        elif len(members):
            np.add.at(spread[i], bin_of[members], 1.0 / len(members))
        else:
            spread[i, len(common)] = 1.0
    return _without_unused(reading, names, bin_of, spread)


def _place(reading: Reading, value: int) -> tuple[float, str]:
    import math

    at = float(reading.places[value])
    return (0.0 if math.isnan(at) else at), str(reading.values[value])


def _values_of(reading: Reading, label: int) -> NDArray[np.int64]:
    import numpy as np

    if reading.scale == "category":
        return reading.members[reading.starts[label] : reading.starts[label + 1]]
    inside = (reading.places >= reading.low[label] - 1e-9) & (reading.places <= reading.high[label] + 1e-9)
    return np.flatnonzero(inside)


def _without_unused(
    reading: Reading, names: tuple[str, ...], bin_of: NDArray[np.int64], spread: NDArray[np.float64]
) -> Binned:
    """Leave out bins that nobody is in, before or after."""
    import numpy as np

    before = np.bincount(bin_of[reading.original], minlength=len(names))
    after = np.bincount(reading.released, minlength=len(spread)) @ spread
    used = np.flatnonzero((before > 0) | (after > 1e-12))
    fresh = np.zeros(len(names), dtype=np.int64)
    fresh[used] = np.arange(len(used))
    return Binned(
        reading.name, tuple(names[i] for i in used), fresh[bin_of][reading.original], reading.released, spread[:, used]
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _date(days: float) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


def table_distance(one: Binned, other: Binned) -> float:
    """Total variation between the tables of two columns, before and after."""
    import numpy as np

    shape = (len(one.names), len(other.names))
    before = np.zeros(shape)
    np.add.at(before, (one.original, other.original), 1.0 / max(1, len(one.original)))
    counts = np.zeros((len(one.spread), len(other.spread)))
    np.add.at(counts, (one.released, other.released), 1.0 / max(1, len(one.released)))
    after = one.spread.T @ counts @ other.spread
    return float(np.abs(before - after).sum() / 2)


def association(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Cramér's V of two columns of codes: 0 for independent ones, 1 where each determines the other."""
    import numpy as np

    if not len(one):
        return 0.0
    counts = np.zeros((int(one.max()) + 1, int(other.max()) + 1))
    np.add.at(counts, (one, other), 1.0)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    least = min(counts.shape) - 1
    if least < 1:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    squared = float(((counts - expected) ** 2 / expected).sum())
    return float(min(1.0, (squared / counts.sum() / least) ** 0.5))
