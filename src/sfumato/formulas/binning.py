"""Columns in a few bins, before and after: to draw their distribution and to compare tables of two columns.

A generalised cell is spread over the bins it may stand for: evenly over its range, or over the values below it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.edges import date_edges, number_edges, number_names
from sfumato.core.schema import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair, Reading

MOST_BINS = 12
AT_ONCE = 100_000
MOST_CELLS = 4_000_000
"""Rows that are taken at a time, and numbers that a table may hold."""
OTHERS = "others"
MISSING = "missing"


@dataclasses.dataclass(frozen=True, eq=False)
class Binned:
    """A column in bins: ``names`` of the bins, the bin of every original row, and what every released row may stand for.

    ``spread[released[i]]`` is the share of each bin in the cell of released row *i*; cells that lie in one bin are alike.
    """

    column: str
    names: tuple[str, ...]
    original: NDArray[np.int64]
    released: NDArray[np.int64]
    spread: NDArray[np.float64]

    @property
    def before(self) -> NDArray[np.float64]:
        """Share of the original records in each bin."""
        return np.bincount(self.original, minlength=len(self.names)) / max(1, len(self.original))

    @property
    def after(self) -> NDArray[np.float64]:
        """Share of the released records in each bin, generalised cells spread out."""
        counts = np.bincount(self.released, minlength=len(self.spread))
        found: NDArray[np.float64] = counts @ self.spread / max(1, len(self.released))
        return found

    @property
    def distance(self) -> float:
        """Total variation between before and after: the share of records that would have to change their bin."""
        return float(np.abs(self.before - self.after).sum() / 2)


def binned(pair: Pair, column: str, most: int = MOST_BINS, *, fewest: int = 1, even: bool = False) -> Binned:
    """A column of a release and its original in at most so many bins, and one for missing values where there are any.

    A value that fewer than ``fewest`` records have gets no bin of its own: it is among the others. Numbers have round
    borders and dates natural ones, for people to read; ``even`` cuts them into just ``most`` bins, for measures.
    """
    reading = pair.reading(column)
    if reading.scale != "number":
        return _by_value(reading, most, fewest)
    if even:
        return _by_number(reading, *_even(reading, most))
    dates = pair.original.schema[column].kind is Kind.DATE
    return _by_number(reading, *(_calendar(reading, most) if dates else _round(reading, most)))


def _span(reading: Reading) -> tuple[float, float, NDArray[np.float64]]:
    """The 1st and the 99th percentile of the known values, or the ends where these are one, and the values."""
    known = reading.places[reading.original]
    known = known[np.isfinite(known)]
    low, high = np.quantile(known, [0.01, 0.99]) if known.size else (0.0, 1.0)
    if high <= low:
        low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    return float(low), float(high), known


def _even(reading: Reading, most: int) -> tuple[NDArray[np.float64], list[str]]:
    """Bins of equal width."""
    low, high, _ = _span(reading)
    edges = np.linspace(low, high, most + 1) if high > low else np.array([low, low + 1.0])
    return edges, [str(place) for place in range(len(edges) - 1)]


def _round(reading: Reading, most: int) -> tuple[NDArray[np.float64], list[str]]:
    """Bins with round borders, and one border where values lie beyond."""
    low, high, known = _span(reading)
    whole = bool(np.all(known == np.floor(known)))
    edges = number_edges(*((float(np.floor(low)), float(np.ceil(high))) if whole else (low, high)), most, whole=whole)
    beyond = {"below": bool((known < edges[0]).any()), "above": bool((known >= edges[-1]).any())}
    return np.array(edges), number_names(edges, whole=whole, **beyond)


def _calendar(reading: Reading, most: int) -> tuple[NDArray[np.float64], list[str]]:
    low, high, _ = _span(reading)
    edges, names = date_edges(low, high, most)
    return np.array(edges), names


def _by_number(reading: Reading, edges: NDArray[np.float64], names: Sequence[str]) -> Binned:
    """Bins between borders; what lies outside is in the outer ones."""
    place = np.clip(np.searchsorted(edges, reading.places, side="right") - 1, 0, len(names) - 1)
    covered = _overlap(edges, reading.low, reading.high)
    spread = np.column_stack([covered, 1.0 - covered.sum(axis=1)])
    place[np.isnan(reading.places)] = len(names)
    return _without_unused(reading, (*names, MISSING), place.astype(np.int64), spread)


def _overlap(edges: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per range how it lies over bins, the outer ones reaching to infinity; nothing for what lies nowhere."""
    found = np.zeros((len(low), len(edges) - 1))
    points = np.flatnonzero(high <= low)
    found[points, np.clip(np.searchsorted(edges, low[points], side="right") - 1, 0, len(edges) - 2)] = 1.0
    wide = np.flatnonzero(high > low)
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    start, end = low[wide, None], high[wide, None]
    found[wide] = np.clip(np.minimum(outer[1:], end) - np.maximum(outer[:-1], start), 0, None) / (end - start)
    return found


def _by_value(reading: Reading, most: int, fewest: int) -> Binned:
    """A bin for each of the most frequent values, in the order of the line where there is one, and one for all others."""
    counts = np.bincount(reading.original, minlength=len(reading.values))
    known = [v for v in range(len(reading.values)) if reading.values[v] is not None and counts[v] >= fewest]
    common = sorted(
        sorted(known, key=lambda v: (-counts[v], str(reading.values[v])))[:most], key=lambda v: _place(reading, v)
    )
    names = (*(str(reading.values[v]) for v in common), OTHERS, MISSING)
    bin_of = np.full(len(reading.values), len(common), dtype=np.int64)
    bin_of[common] = np.arange(len(common))
    bin_of[[v for v in range(len(reading.values)) if reading.values[v] is None]] = len(common) + 1
    return _without_unused(reading, names, bin_of, _spread_of_sets(reading, bin_of, len(names)))


def _spread_of_sets(reading: Reading, bin_of: NDArray[np.int64], bins: int) -> NDArray[np.float64]:
    """Per label the share of the values it may stand for in each bin; the last bins are all others, and missing."""
    starts, members = _sets(reading)
    sizes = np.diff(starts)
    label = np.repeat(np.arange(len(sizes)), sizes)
    cells = np.bincount(label * bins + bin_of[members], weights=1.0 / sizes[label], minlength=len(sizes) * bins)
    spread: NDArray[np.float64] = np.asarray(cells, dtype=np.float64).reshape(len(sizes), bins)
    spread[sizes == 0, bins - 2] = 1.0
    gone = [i for i, name in enumerate(reading.labels) if name is None]
    spread[gone] = 0.0
    spread[gone, bins - 1] = 1.0
    return spread


def _place(reading: Reading, value: int) -> tuple[float, str]:
    at = float(reading.places[value])
    return (0.0 if math.isnan(at) else at), str(reading.values[value])


def _sets(reading: Reading) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values that labels stand for, one label after the other, and where each begins."""
    if reading.scale == "category":
        return reading.starts, reading.members
    ends = zip(reading.low - 1e-9, reading.high + 1e-9, strict=True)
    found = [np.flatnonzero((reading.places >= low) & (reading.places <= high)) for low, high in ends]
    starts = np.concatenate([[0], np.cumsum([len(values) for values in found])]).astype(np.int64)
    return starts, np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _without_unused(
    reading: Reading, names: tuple[str, ...], bin_of: NDArray[np.int64], spread: NDArray[np.float64]
) -> Binned:
    """Leave out bins that nobody is in, before or after."""
    before = np.bincount(bin_of[reading.original], minlength=len(names))
    after = np.bincount(reading.released, minlength=len(spread)) @ spread
    used = np.flatnonzero((before > 0) | (after > 1e-12))
    fresh = np.zeros(len(names), dtype=np.int64)
    fresh[used] = np.arange(len(used))
    alike, shares = _alike(spread[:, used])
    return Binned(
        reading.name, tuple(names[i] for i in used), fresh[bin_of][reading.original], alike[reading.released], shares
    )


def _alike(spread: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels that lie in one bin are alike: noise makes a label for every record, which would fill tables with ones."""
    bins = spread.shape[1]
    single = spread.max(axis=1, initial=0.0) >= 1 - 1e-12
    kind = spread.argmax(axis=1) if bins else np.zeros(len(spread), dtype=np.int64)
    kind[~single] = bins + np.arange(int((~single).sum()))
    return kind.astype(np.int64), np.concatenate([np.eye(bins), spread[~single]])


def table_distance(one: Binned, other: Binned) -> float:
    """Total variation between the tables of two columns, before and after."""
    before = _table(one.original, other.original, (len(one.names), len(other.names))) / max(1, len(one.original))
    after = _spread_table(one, other) / max(1, len(one.released))
    return float(np.abs(before - after).sum() / 2)


def _spread_table(one: Binned, other: Binned) -> NDArray[np.float64]:
    """The table of two released columns, generalised cells spread out."""
    shape = (len(one.spread), len(other.spread))
    if shape[0] * shape[1] <= MOST_CELLS:
        return np.asarray(one.spread.T @ _table(one.released, other.released, shape) @ other.spread)
    found = np.zeros((len(one.names), len(other.names)))
    for at in range(0, len(one.released), AT_ONCE):  # row by row: a table of all kinds of cells would fill the memory
        some = slice(at, at + AT_ONCE)
        found += one.spread[one.released[some]].T @ other.spread[other.released[some]]
    return found


def _table(one: NDArray[np.int64], other: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """How many rows have each pair of codes."""
    counts = np.bincount(one * shape[1] + other, minlength=shape[0] * shape[1])
    return np.asarray(counts, dtype=np.float64).reshape(shape)
