"""Columns in a few bins, before and after: to draw their distribution and to compare tables of two columns.

A generalised cell is spread over the bins it may stand for: evenly over its range, or over the values below it.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.encoding import tallied
from sfumato.core.schema import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair
    from sfumato.core.reading import Reading


# Borders of bins that people can read: round numbers, and days, months or years for dates.

STEPS = (1.0, 2.0, 2.5, 5.0)
DAYS = (1, 2, 7, 14)
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
LEAST = 1e-300
EPOCH = datetime.date(1970, 1, 1)


def round_step(low: float, high: float, most: int, *, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten with which at most ``most`` bins reach from low to high.

    >>> round_step(0, 85, 12), round_step(0, 0.9, 12), round_step(0, 21, 12, whole=True), round_step(3, 3, 12)
    (10.0, 0.1, 2.0, 1.0)
    """
    if high <= low:
        return 1.0
    power = math.floor(math.log10(max(LEAST, high / most - low / most))) - 1
    sizes = (step * 10.0**exponent for exponent in itertools.count(power) for step in STEPS)
    fits = (s for s in sizes if (not whole or s.is_integer()) and _bins(low, high, s) <= most)
    return next(fits)


def _bins(low: float, high: float, step: float) -> int:
    first, last = _ends(low, high, step)
    return last - first + 1


def _ends(low: float, high: float, step: float) -> tuple[int, int]:
    """Which bins hold the lowest and the highest value, forgiving what floating point takes off a border."""
    return math.floor(low / step + 1e-9), math.floor(high / step + 1e-9)


def number_edges(low: float, high: float, most: int, *, whole: bool = False) -> list[float]:
    """Round borders from at most ``low`` to more than ``high``, each bin with its lower border.

    >>> number_edges(17, 90, 12, whole=True)
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    step = round_step(low, high, most, whole=whole)
    first, last = _ends(low, high, step)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(place * step, digits) for place in range(first, last + 2)]


def number_names(edges: Sequence[float], *, whole: bool, below: bool, above: bool) -> list[str]:
    """What bins are called; the outer ones by one border where values lie beyond the other.

    >>> number_names([0, 10, 20], whole=True, below=False, above=True), number_names([0, 0.5, 1], whole=False, below=True, above=False)
    (['0–9', '≥ 10'], ['< 0.5', '0.5–1'])
    >>> number_names([94, 95, 96], whole=True, below=False, above=False)
    ['94', '95']
    """
    names = [_between(low, high, whole=whole) for low, high in itertools.pairwise(edges)]
    if above:
        names[-1] = f"≥ {_short(edges[-2])}"
    if below:
        names[0] = f"< {_short(edges[1])}" if len(names) > 1 else "all"
    return names


def date_edges(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Borders of dates (days since 1970) in natural units, and the names of the bins.

    >>> date_edges(0, 700, 12)[1]
    ['1970 Q1', '1970 Q2', '1970 Q3', '1970 Q4', '1971 Q1', '1971 Q2', '1971 Q3', '1971 Q4']
    >>> date_edges(0, 5, 12)[1][:2], date_edges(-36500, 0, 12)[1][:2], date_edges(0, 300, 12)[1][0]
    (['1970-01-01', '1970-01-02'], ['1870–1879', '1880–1889'], '1970-01')
    """
    for days in DAYS:
        edges, names = _by_days(low, high, days) if high - low <= most * days else ([], [])
        if edges and len(names) <= most:
            return edges, names
    spans = ((m, _month(low) // m, _month(high) // m) for m in MONTHS)
    months, first, last = next(one for one in spans if one[2] - one[1] < most or one[0] == MONTHS[-1])
    edges = [_start(place * months) for place in range(first, last + 2)]
    return edges, [_period(place * months, months) for place in range(first, last + 1)]


def _by_days(low: float, high: float, days: int) -> tuple[list[float], list[str]]:
    """Weeks begin on Mondays; the first day of 1970 was a Thursday."""
    shift = 4 if days in (7, 14) else 0
    first, last = (math.floor((at - shift) / days) for at in (low, high))
    edges = [float(place * days + shift) for place in range(first, last + 2)]
    return edges, [_day(at) if days == 1 else f"from {_day(at)}" for at in edges[:-1]]


def _period(month: int, months: int) -> str:
    """A period of so many months that begins with this one, counted from the year 0."""
    year, inside = divmod(month, 12)
    if months == 1:
        return f"{year}-{inside + 1:02d}"
    if months in (3, 6):
        return f"{year} {'Q' if months == 3 else 'H'}{inside // months + 1}"
    return str(year) if months == 12 else f"{year}–{year + months // 12 - 1}"


def _month(days: float) -> int:
    at = EPOCH + datetime.timedelta(days=math.floor(days))
    return at.year * 12 + at.month - 1


def _start(month: int) -> float:
    """The first day of a month; years beyond the calendar count as its ends."""
    year = min(max(month // 12, 1), 9999)
    return float((datetime.date(year, month % 12 + 1, 1) - EPOCH).days)


def _day(days: float) -> str:
    return (EPOCH + datetime.timedelta(days=math.floor(days))).isoformat()


def _between(low: float, high: float, *, whole: bool) -> str:
    if whole and high - low <= 1:
        return _short(low)
    return f"{_short(low)}–{_short(high - 1 if whole else high)}"


def _short(number: float) -> str:
    """A number with at most six digits, whole ones with commas between the thousands.

    >>> _short(1400.0), _short(0.25), _short(-0.0), _short(2.5e-7), _short(3e15)
    ('1,400', '0.25', '0', '2.5e-07', '3e+15')
    """
    if float(number).is_integer() and abs(number) < 1e9:
        return f"{int(number):,}"
    return f"{number:.6g}"


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
    original: NDArray[Any]
    released: NDArray[Any]
    spread: NDArray[np.float64]

    @property
    def before(self) -> NDArray[np.float64]:
        """Share of the original records in each bin."""
        return tallied(self.original, len(self.names), None) / max(1, len(self.original))

    @property
    def after(self) -> NDArray[np.float64]:
        """Share of the released records in each bin, generalised cells spread out."""
        counts = tallied(self.released, len(self.spread), None)
        expected: NDArray[np.float64] = counts @ self.spread / max(1, len(self.released))
        return expected

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
    there = np.isfinite(reading.places) & (reading.before.counts > 0)
    places = reading.places[there]
    if not places.size:
        return 0.0, 1.0, places
    low, high = (weighted_quantile(places, reading.before.counts[there], share) for share in (0.01, 0.99))
    return (low, high, places) if high > low else (float(places.min()), float(places.max()), places)


def weighted_quantile(values: NDArray[np.float64], counts: NDArray[np.int64], share: float) -> float:
    """The quantile of numbers that occur so often each: what numpy says of the numbers one by one, to the last bit.

    >>> weighted_quantile(np.array([5.0, 1.0]), np.array([1, 3]), 0.9), float(np.quantile([1, 1, 1, 5], 0.9))
    (3.8000000000000007, 3.8000000000000007)
    """
    order = np.argsort(values)
    upto = np.cumsum(counts[order])
    at = share * (int(upto[-1]) - 1)
    low, high = values[order][
        np.searchsorted(upto, [math.floor(at), math.floor(at) + 1], side="right").clip(max=len(upto) - 1)
    ]
    part, step = at - math.floor(at), high - low
    return float(high - step * (1 - part) if part >= 0.5 else low + step * part)


def _even(reading: Reading, most: int) -> tuple[NDArray[np.float64], list[str]]:
    """Bins of equal width."""
    low, high, _ = _span(reading)
    edges = np.linspace(low, high, most + 1) if high > low else np.array([low, low + 1.0])
    return edges, [str(place) for place in range(len(edges) - 1)]


def _round(reading: Reading, most: int) -> tuple[NDArray[np.float64], list[str]]:
    """Bins with round borders, and one border where values lie beyond."""
    low, high, places = _span(reading)
    whole = bool(np.all(places == np.floor(places)))
    edges = number_edges(*((float(np.floor(low)), float(np.ceil(high))) if whole else (low, high)), most, whole=whole)
    beyond = {"below": bool((places < edges[0]).any()), "above": bool((places >= edges[-1]).any())}
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
    shares = np.zeros((len(low), len(edges) - 1))
    points = np.flatnonzero(high <= low)
    shares[points, np.clip(np.searchsorted(edges, low[points], side="right") - 1, 0, len(edges) - 2)] = 1.0
    wide = np.flatnonzero(high > low)
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    start, end = low[wide, None], high[wide, None]
    shares[wide] = np.clip(np.minimum(outer[1:], end) - np.maximum(outer[:-1], start), 0, None) / (end - start)
    return shares


def _by_value(reading: Reading, most: int, fewest: int) -> Binned:
    """A bin for each of the most frequent values, in the order of the line where there is one, and one for all others."""
    counts = reading.before.counts
    frequent = [v for v in range(len(reading.values)) if reading.values[v] is not None and counts[v] >= fewest]
    common = sorted(
        sorted(frequent, key=lambda v: (-counts[v], str(reading.values[v])))[:most], key=lambda v: _place(reading, v)
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
    members = [np.flatnonzero((reading.places >= low) & (reading.places <= high)) for low, high in ends]
    starts = np.concatenate([[0], np.cumsum([len(values) for values in members])]).astype(np.int64)
    return starts, np.concatenate([np.zeros(0, dtype=np.int64), *members])


def _without_unused(
    reading: Reading, names: tuple[str, ...], bin_of: NDArray[np.int64], spread: NDArray[np.float64]
) -> Binned:
    """Leave out bins that nobody is in, before or after."""
    before = np.bincount(bin_of, weights=reading.before.counts, minlength=len(names))
    after = reading.after.counts @ spread
    used = np.flatnonzero((before > 0) | (after > 1e-12))
    fresh = np.zeros(len(names), dtype=np.min_scalar_type(len(names)))
    fresh[used] = np.arange(len(used))
    alike, shares = _alike(spread[:, used])
    kinds = alike.astype(np.min_scalar_type(len(shares)))
    return Binned(
        reading.name,
        tuple(names[i] for i in used),
        fresh[bin_of][reading.before.narrow],
        kinds[reading.after.narrow],
        shares,
    )


def _alike(spread: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels that lie in one bin are alike: noise makes a label for every record, which would fill tables with ones."""
    bins = spread.shape[1]
    single = spread.max(axis=1, initial=0.0) >= 1 - 1e-12
    kind = spread.argmax(axis=1) if bins else np.zeros(len(spread), dtype=np.int64)
    kind[~single] = bins + np.arange(int((~single).sum()))
    return kind.astype(np.int64), np.concatenate([np.eye(bins), spread[~single]])


def distance_of_tables(one: Binned, before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Total variation between the table of a column and another before, and the one after."""
    return float(np.abs(before / max(1, len(one.original)) - after / max(1, len(one.released))).sum() / 2)


def table_before(one: Binned, other: Binned) -> NDArray[np.float64]:
    """The table of two original columns: how many records are in each pair of bins."""
    return _table(one.original, other.original, (len(one.names), len(other.names)))


def table_after(one: Binned, other: Binned) -> NDArray[np.float64]:
    """The table of two released columns, generalised cells spread out."""
    shape = (len(one.spread), len(other.spread))
    if shape[0] * shape[1] <= MOST_CELLS:
        return np.asarray(one.spread.T @ _table(one.released, other.released, shape) @ other.spread)
    table = np.zeros((len(one.names), len(other.names)))
    for at in range(0, len(one.released), AT_ONCE):  # row by row: a table of all kinds of cells would fill the memory
        some = slice(at, at + AT_ONCE)
        table += one.spread[one.released[some]].T @ other.spread[other.released[some]]
    return table


def _table(one: NDArray[Any], other: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float64]:
    """How many rows have each pair of codes; the pairs are written in the narrowest type that holds them."""
    pairs = one.astype(np.min_scalar_type(shape[0] * shape[1])) * shape[1] + other
    counts = tallied(pairs, shape[0] * shape[1], None)
    return np.asarray(counts, dtype=np.float64).reshape(shape)
