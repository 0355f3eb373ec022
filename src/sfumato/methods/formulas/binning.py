"""Columns in a few bins, before and after: to draw their distribution and to compare tables of two
columns.

A generalised cell is spread over the bins it may stand for: evenly over its range, or over the
values below it.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import heapq
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.encoding import missing_in, tallied
from sfumato.core.hierarchy import TOP, bind_column
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading
    from sfumato.core.schema import Attribute

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


STEPS = (1.0, 2.0, 2.5, 5.0)
DAYS = (1, 2, 7, 14)
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
LEAST = 1e-300
EPOCH = datetime.date(1970, 1, 1)
MOST_BINS = 12
MOST_CELLS = 4_000_000
"""Numbers that a table may hold."""
OTHERS = "others"
MISSING = "missing"
WIDE_AT_ONCE = 1 << 14
"""Ranges that are laid over bins at a time."""


# Borders of bins that people can read: round numbers, and days, months or years for dates.


def round_step(low: float, high: float, max_bins: int, *, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten with which at most ``max_bins`` bins reach
    from low to high.

    >>> (
    ...     round_step(0, 85, 12),
    ...     round_step(0, 0.9, 12),
    ...     round_step(0, 21, 12, whole=True),
    ...     round_step(3, 3, 12),
    ... )
    (10.0, 0.1, 2.0, 1.0)
    """
    if high <= low:
        return 1.0
    power = math.floor(math.log10(max(LEAST, high / max_bins - low / max_bins))) - 1
    sizes = (step * 10.0**exponent for exponent in itertools.count(power) for step in STEPS)
    fits = (s for s in sizes if (not whole or s.is_integer()) and _bins(low, high, s) <= max_bins)
    return next(fits)


def _bins(low: float, high: float, step: float) -> int:
    first, last = _ends(low, high, step)
    return last - first + 1


def _ends(low: float, high: float, step: float) -> tuple[int, int]:
    """Which bins hold the lowest and the highest value, forgiving what floating point takes off a
    border.
    """
    return math.floor(low / step + 1e-9), math.floor(high / step + 1e-9)


def number_edges(low: float, high: float, max_bins: int, *, whole: bool = False) -> list[float]:
    """Round borders from at most ``low`` to more than ``high``, each bin with its lower border.

    >>> number_edges(17, 90, 12, whole=True)
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    step = round_step(low, high, max_bins, whole=whole)
    first, last = _ends(low, high, step)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 2)]


def number_names(edges: Sequence[float], *, whole: bool, below: bool, above: bool) -> list[str]:
    """What bins are called; the outer ones by one border where values lie beyond the other.

    >>> (
    ...     number_names([0, 10, 20], whole=True, below=False, above=True),
    ...     number_names([0, 0.5, 1], whole=False, below=True, above=False),
    ... )
    (['0–9', '≥ 10'], ['< 0.5', '0.5–1'])
    >>> number_names([94, 95, 96], whole=True, below=False, above=False)
    ['94', '95']
    """
    names = [_between(low, high, whole=whole) for low, high in itertools.pairwise(edges)]
    if above:
        names[-1] = f"≥ {_short(edges[-2])}"
    if below:
        if len(names) > 1:
            names[0] = f"< {_short(edges[1])}"
        else:
            names[0] = "all"
    return names


def date_edges(low: float, high: float, max_bins: int) -> tuple[list[float], list[str]]:
    """Borders of dates (days since 1970) in natural units, and the names of the bins.

    >>> date_edges(0, 700, 12)[1]
    ['1970 Q1', '1970 Q2', '1970 Q3', '1970 Q4', '1971 Q1', '1971 Q2', '1971 Q3', '1971 Q4']
    >>> date_edges(0, 5, 12)[1][:2], date_edges(-36500, 0, 12)[1][:2], date_edges(0, 300, 12)[1][0]
    (['1970-01-01', '1970-01-02'], ['1870–1879', '1880–1889'], '1970-01')
    """
    for days in DAYS:
        if high - low <= max_bins * days:
            edges, names = _by_days(low, high, days)
        else:
            edges, names = ([], [])
        if edges and len(names) <= max_bins:
            return edges, names
    spans = ((m, _month(low) // m, _month(high) // m) for m in MONTHS)
    months, first, last = next(
        span for span in spans if span[2] - span[1] < max_bins or span[0] == MONTHS[-1]
    )
    edges = [_start(number * months) for number in range(first, last + 2)]
    return edges, [_period(number * months, months) for number in range(first, last + 1)]


def _by_days(low: float, high: float, days: int) -> tuple[list[float], list[str]]:
    """Weeks begin on Mondays; the first day of 1970 was a Thursday."""
    shift = 4 if days in (7, 14) else 0
    first, last = (math.floor((at - shift) / days) for at in (low, high))
    edges = [float(number * days + shift) for number in range(first, last + 2)]
    return edges, [_day(at) if days == 1 else f"from {_day(at)}" for at in edges[:-1]]


def _period(month: int, months: int) -> str:
    """A period of so many months that begins with this one, counted from the year 0."""
    year, inside = divmod(month, 12)
    if months == 1:
        return f"{year}-{inside + 1:02d}"
    if months in (3, 6):
        return f"{year} {'Q' if months == 3 else 'H'}{inside // months + 1}"
    if months == 12:
        return str(year)
    return f"{year}–{year + months // 12 - 1}"


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


@dataclasses.dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column in bins: ``names`` of the bins, the bin of every original row, and what every
    released row may stand for.

    ``spread[released[i]]`` is the share of each bin in the cell of released row *i*; cells that lie
    in one bin are alike. ``blind`` is the share of each bin in a cell that says nothing (``*``); it
    is empty unless it was asked for.
    """

    column: str
    names: tuple[str, ...]
    original: NDArray[Any]
    released: NDArray[Any]
    spread: Floats
    blind: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))

    @property
    def before(self) -> Floats:
        """Share of the original records in each bin."""
        return tallied(self.original, len(self.names), None) / max(1, len(self.original))

    @property
    def after(self) -> Floats:
        """Share of the released records in each bin, generalised cells spread out."""
        counts = tallied(self.released, len(self.spread), None)
        expected: Floats = counts @ self.spread / max(1, len(self.released))
        return expected

    @property
    def distance(self) -> float:
        """Total variation between before and after: the share of records that would have to change
        their bin.
        """
        return float(np.abs(self.before - self.after).sum() / 2)

    @functools.cached_property
    def plain(self) -> bool:
        """Whether every released cell lies in one bin."""
        return len(self.spread) == len(self.names) and np.array_equal(
            self.spread, np.eye(len(self.names))
        )


def bin_column(
    pair: TablePair,
    column: str,
    max_bins: int = MOST_BINS,
    *,
    fewest: int = 1,
    even: bool = False,
    single: bool = False,
    blind: bool = False,
) -> BinnedColumn:
    """A column of a release and its original in at most so many bins, and one for missing values
    where there are any.

    A value that fewer than ``fewest`` records have gets no bin of its own: it is among the others.
    Numbers have round borders and dates natural ones, for people to read; ``even`` cuts them into
    just ``max_bins`` bins, for measures, unless ``single`` gives every number a bin where there are
    no more than that: then a number that only the release has is in the bin of the nearest.
    ``blind`` asks for the share of each bin in a cell that says nothing, too.
    """
    reading = pair.reading(column)
    attribute = pair.original.schema[column]
    by_value = reading.scale != "number"
    if single and reading.scale == "number" and len(reading.values) <= max_bins:
        reading = _snap_to_originals(reading)
        by_value = True
    bin_of: NDArray[np.integer]
    if by_value:
        names, bin_of = _bins_of_values(reading, max_bins, fewest)
        labels = _spread_of_sets(
            *_sets(reading), bin_of, len(names), missing=missing_in(reading.labels)
        )
    else:
        edges, between = _borders(reading, attribute, max_bins, even=even)
        names = (*between, MISSING)
        bin_of = _bins_of_numbers(reading, edges)
        labels = _spread_of_ranges(edges, reading.low, reading.high)
    nothing: _Labels | None = None
    if blind and by_value:
        members = _everything(reading, attribute)
        nothing = _spread_of_sets(
            np.array([0, len(members)]), members, bin_of, len(names), missing=np.zeros(1, bool)
        )
    elif blind:
        ends = reading.places[~np.isnan(reading.places)]
        if len(ends):
            low = ends.min(keepdims=True)
            high = ends.max(keepdims=True)
        else:
            low, high = (np.full(1, np.nan),) * 2
        nothing = _spread_of_ranges(edges, low, high)
    return _without_unused(reading, names, bin_of, labels, nothing)


@dataclasses.dataclass(frozen=True, eq=False)
class _Labels:
    """Where labels lie: label *i* in the one bin ``kind[i]``, or, from ``bins`` on, as row
    ``kind[i] - bins`` of ``wide`` says.
    """

    kind: Ints
    wide: Floats

    @property
    def spread(self) -> Floats:
        """The share of each bin in every kind of cell."""
        return np.concatenate([np.eye(self.wide.shape[1]), self.wide])


def _snap_to_originals(reading: Reading) -> Reading:
    """A column of numbers whose released points are moved to the nearest original number; ranges
    stay what they are.
    """
    line = np.unique(reading.places[np.isfinite(reading.places)])
    points = np.flatnonzero((reading.low == reading.high) & np.isfinite(reading.low))
    if not len(line) or not len(points):
        return reading
    at = reading.low[points]
    low = reading.low.copy()
    high = reading.high.copy()
    after = np.clip(np.searchsorted(line, at), 1, max(1, len(line) - 1))
    left_value = line[after - 1]
    right_value = line[np.minimum(after, len(line) - 1)]
    is_left = at - left_value <= right_value - at
    low[points] = high[points] = np.where(is_left, left_value, right_value)
    return dataclasses.replace(reading, low=low, high=high)


def _span(reading: Reading) -> tuple[float, float, Floats]:
    """The 1st and the 99th percentile of the known values, or the ends where these are one, and the
    values.
    """
    order = reading.line
    is_known = np.isfinite(reading.places[order]) & (reading.before.counts[order] > 0)
    if not is_known.all():  # no copy where nothing is left out
        order = order[is_known]
    positions = reading.places[order]
    if not positions.size:
        return 0.0, 1.0, positions
    upto = np.cumsum(reading.before.counts[order])
    low, high = (_quantile(positions, upto, share) for share in (0.01, 0.99))
    if high > low:
        return (low, high, positions)
    return (float(positions[0]), float(positions[-1]), positions)


def weighted_quantile(values: Floats, counts: Ints, share: float) -> float:
    """The quantile of numbers that occur so often each: what numpy says of the numbers one by one,
    to the last bit.

    >>> (
    ...     weighted_quantile(np.array([5.0, 1.0]), np.array([1, 3]), 0.9),
    ...     float(np.quantile([1, 1, 1, 5], 0.9)),
    ... )
    (3.8000000000000007, 3.8000000000000007)
    """
    order = np.argsort(values)
    return _quantile(values[order], np.cumsum(counts[order]), share)


def _quantile(values: Floats, upto: Ints, share: float) -> float:
    """The same of numbers in order, of which ``upto`` says how many there are up to each."""
    at = share * (int(upto[-1]) - 1)
    whole = math.floor(at)
    positions = np.searchsorted(upto, [whole, whole + 1], side="right").clip(max=len(upto) - 1)
    low, high = values[positions]
    part = at - whole
    step = high - low
    # from the nearer end, as numpy does: both give the last digit that it gives
    if part >= 0.5:
        return float(high - step * (1 - part))
    return float(low + step * part)


def _borders(
    reading: Reading, attribute: Attribute, max_bins: int, *, even: bool
) -> tuple[Floats, Sequence[str]]:
    """Borders of bins for numbers, and the names of the bins."""
    if even:
        # Bins of equal width
        low, high, _ = _span(reading)
        if high > low:
            edges = np.linspace(low, high, max_bins + 1)
        else:
            edges = np.array([low, low + 1.0])
        return edges, [str(number) for number in range(len(edges) - 1)]
    if attribute.kind is Kind.DATE:
        return _calendar(reading, max_bins)
    return _round(reading, max_bins)


def _round(reading: Reading, max_bins: int) -> tuple[Floats, list[str]]:
    """Bins with round borders, and one border where values lie beyond."""
    low, high, positions = _span(reading)
    whole = bool(np.all(positions == np.floor(positions)))
    if whole:
        low = float(np.floor(low))
        high = float(np.ceil(high))
    edges = number_edges(low, high, max_bins, whole=whole)
    beyond = {
        "below": bool((positions < edges[0]).any()),
        "above": bool((positions >= edges[-1]).any()),
    }
    return np.array(edges), number_names(edges, whole=whole, **beyond)


def _calendar(reading: Reading, max_bins: int) -> tuple[Floats, list[str]]:
    low, high, _ = _span(reading)
    edges, names = date_edges(low, high, max_bins)
    return np.array(edges), names


def _bin_at(edges: Floats, positions: Floats) -> Ints:
    """The bin that each place lies in; what lies outside is in the outer ones."""
    bins = np.searchsorted(edges, positions, side="right").astype(np.int64, copy=False)
    bins -= 1
    return np.clip(bins, 0, len(edges) - 2, out=bins)


def _bins_of_numbers(reading: Reading, edges: Floats) -> NDArray[np.integer]:
    """The bin of every original value; missing ones are in the last."""
    order = reading.line
    bin_of = np.full(len(reading.places), len(edges) - 1, dtype=np.min_scalar_type(len(edges)))
    # neighbours are looked up faster one after the other
    bin_of[order] = _bin_at(edges, reading.places[order])
    return bin_of


def _spread_of_ranges(edges: Floats, low: Floats, high: Floats) -> _Labels:
    """Per range how it lies over bins, the outer ones reaching to infinity; what lies nowhere is in
    the last bin, missing.

    Most labels are points or lie in one bin: only of the others shares are kept.
    """
    bins = len(edges)
    kind = np.full(len(low), bins - 1, dtype=np.int64)
    points = np.flatnonzero(high <= low)
    kind[points] = _bin_at(edges, low[points])
    # The outer bins reach to infinity, so that a range beyond the borders is covered too.
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    ranges = np.flatnonzero(high > low)
    rows: list[Floats] = []
    count = 0
    for at in range(0, len(ranges), WIDE_AT_ONCE):
        batch = ranges[at : at + WIDE_AT_ONCE]
        start = low[batch, None]
        end = high[batch, None]
        overlap = np.minimum(outer[1:], end) - np.maximum(outer[:-1], start)
        covered = np.clip(overlap, 0, None) / (end - start)
        shares = np.column_stack([covered, 1.0 - covered.sum(axis=1)])
        # A range within one bin is told like a point; the others become rows of shares.
        inside = shares.max(axis=1) >= 1 - 1e-12
        kind[batch[inside]] = shares[inside].argmax(axis=1)
        rows.append(shares[~inside])
        kind[batch[~inside]] = bins + count + np.arange(len(rows[-1]))
        count += len(rows[-1])
    return _Labels(kind, np.concatenate([np.zeros((0, bins)), *rows]))


def _bins_of_values(reading: Reading, max_bins: int, fewest: int) -> tuple[tuple[str, ...], Ints]:
    """A bin for each of the most frequent values, in the order of the line where there is one, and
    one for all others.
    """
    missing = missing_in(reading.values)
    common = sorted(
        _most_frequent(reading, max_bins, fewest, missing), key=lambda v: _position_key(reading, v)
    )
    names = (*(str(reading.values[v]) for v in common), OTHERS, MISSING)
    bin_of = np.full(len(reading.values), len(common), dtype=np.int64)
    bin_of[common] = np.arange(len(common))
    bin_of[missing] = len(common) + 1
    return names, bin_of


def _most_frequent(
    reading: Reading, limit: int, fewest: int, missing: NDArray[np.bool_]
) -> list[int]:
    """The values that most records have; of equally frequent ones the first in the alphabet."""
    counts = reading.before.counts
    frequent = np.flatnonzero(~missing & (counts >= fewest))
    if len(frequent) <= limit:
        return frequent.tolist()
    # The count of the last value that still fits; among equals the first by name.
    last = np.partition(counts[frequent], len(frequent) - limit)[len(frequent) - limit]
    above = frequent[counts[frequent] > last].tolist()
    tied = ((str(reading.values[v]), v) for v in frequent[counts[frequent] == last].tolist())
    return [*above, *(v for _, v in heapq.nsmallest(limit - len(above), tied))]


def _spread_of_sets(
    starts: Ints,
    members: Ints,
    bin_of: NDArray[np.integer],
    bins: int,
    *,
    missing: NDArray[np.bool_],
) -> _Labels:
    """Per label the share of the values it may stand for in each bin; the last bins are all others,
    and missing.
    """
    sizes = np.diff(starts)
    kind = np.full(len(sizes), bins - 2, dtype=np.int64)
    alone = np.flatnonzero(sizes == 1)
    kind[alone] = bin_of[members[starts[alone]]]
    multi_valued = np.flatnonzero((sizes > 1) & ~missing)
    kind[missing] = bins - 1
    set_sizes = sizes[multi_valued]
    row = np.repeat(np.arange(len(multi_valued)), set_sizes)
    shifts = starts[multi_valued] - (np.cumsum(set_sizes) - set_sizes)
    inside = np.repeat(shifts, set_sizes) + np.arange(len(row))
    cells = np.bincount(
        row * bins + bin_of[members[inside]],
        weights=1.0 / set_sizes[row],
        minlength=len(multi_valued) * bins,
    )
    shares = np.asarray(cells, dtype=np.float64).reshape(len(multi_valued), bins)
    within = shares.max(axis=1, initial=0.0) >= 1 - 1e-12
    kind[multi_valued[within]] = shares[within].argmax(axis=1)
    kind[multi_valued[~within]] = bins + np.arange(int((~within).sum()))
    return _Labels(kind, shares[~within])


def _position_key(reading: Reading, value: int) -> tuple[float, str]:
    at = float(reading.places[value])
    return (0.0 if math.isnan(at) else at), str(reading.values[value])


def _sets(reading: Reading) -> tuple[Ints, Ints]:
    """The values that labels stand for, one label after the other, and where each begins."""
    if reading.scale == "category":
        return reading.starts, reading.members
    order = reading.line
    line = reading.places[order]
    first = np.searchsorted(line, reading.low - 1e-9, "left")
    last = np.searchsorted(line, reading.high + 1e-9, "right")
    sizes = np.where(np.isnan(reading.low) | np.isnan(reading.high), 0, np.maximum(0, last - first))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, order[np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1])]


def _everything(reading: Reading, attribute: Attribute) -> Ints:
    """The values that a cell which says nothing may stand for: all of them, or those that the
    hierarchy writes so.
    """
    every = np.arange(len(reading.values))
    if reading.scale != "category":
        return reading.line
    if attribute.hierarchy is None:
        if TOP in reading.values:
            return _written_so(reading.values)
        return every
    try:
        ladder = bind_column(attribute.hierarchy, reading.before)
    except SchemaError:  # a hierarchy that does not know its column says nothing about it
        if TOP in reading.values:
            return _written_so(reading.values)
        return every
    below = np.zeros(len(ladder.labels[0]), dtype=bool)
    for level, labels in enumerate(ladder.labels):
        if TOP in labels:
            below |= np.isin(ladder.climb(0, level), _written_so(labels))
    leaves = ladder.codes_of(reading.values)
    is_leaf = leaves >= 0
    if below.any():
        return every[is_leaf & below[leaves]]
    return every[is_leaf]


def _written_so(labels: Sequence[str | None]) -> Ints:
    """Where labels are the top."""
    return np.array([number for number, label in enumerate(labels) if label == TOP], dtype=np.int64)


def _without_unused(
    reading: Reading,
    names: tuple[str, ...],
    bin_of: NDArray[np.integer],
    labels: _Labels,
    nothing: _Labels | None,
) -> BinnedColumn:
    """Leave out bins that nobody is in, before or after."""
    bins = len(names)
    before = np.bincount(bin_of, weights=reading.before.counts, minlength=bins)
    counts = np.bincount(
        labels.kind, weights=reading.after.counts, minlength=bins + len(labels.wide)
    )
    after = counts[:bins] + counts[bins:] @ labels.wide
    used = np.flatnonzero((before > 0) | (after > 1e-12))
    # Used bins renumbered without gaps.
    fresh = np.zeros(bins, dtype=np.min_scalar_type(bins))
    fresh[used] = np.arange(len(used))
    spread = np.concatenate([np.eye(len(used)), labels.wide[:, used]])
    kinds = np.concatenate([fresh, len(used) + np.arange(len(labels.wide))])
    new_kinds = kinds[labels.kind].astype(np.min_scalar_type(len(spread)))
    return BinnedColumn(
        reading.name,
        tuple(names[i] for i in used),
        kernels.keys.map_codes(reading.before.narrow, fresh[bin_of]),
        kernels.keys.map_codes(reading.after.narrow, new_kinds),
        spread,
        np.zeros(0) if nothing is None else nothing.spread[nothing.kind[0], used],
    )


# Tables of several columns.


def distance_of_tables(binned_column: BinnedColumn, before: Floats, after: Floats) -> float:
    """Total variation between the table of a column and another before, and the one after."""
    shares_before = before / max(1, len(binned_column.original))
    shares_after = after / max(1, len(binned_column.released))
    return float(np.abs(shares_before - shares_after).sum() / 2)


def table_before(*columns: BinnedColumn) -> Floats:
    """The table of some original columns: how many records are in each cell."""
    shape = tuple(len(column.names) for column in columns)
    return count_cells([column.original for column in columns], shape).astype(np.float64)


def table_after(*columns: BinnedColumn) -> Floats:
    """The table of some released columns, generalised cells spread out."""
    shape = tuple(len(column.spread) for column in columns)
    if math.prod(shape) > MOST_CELLS:
        return _table_of_combinations(columns)
    table = count_cells([column.released for column in columns], shape).astype(np.float64)
    for column in columns:  # the first axis is spread out and becomes the last
        if column.plain:
            table = np.moveaxis(table, 0, -1)
        else:
            table = np.tensordot(table, column.spread, axes=(0, 0))
    return table


def count_cells(codes: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> Ints:
    """How many rows have each combination of codes; the combinations are written in the narrowest
    type that holds them.
    """
    size = math.prod(shape)
    # Mixed radix: code of the first column × width of the next + its code, and so on.
    cells = codes[0].astype(np.min_scalar_type(size))
    for code, width in zip(codes[1:], shape[1:], strict=True):
        cells *= cells.dtype.type(width)
        cells += code.astype(cells.dtype, copy=False)
    return tallied(cells, size, None).reshape(shape)


def _table_of_combinations(columns: Sequence[BinnedColumn]) -> Floats:
    """The same where a table of all kinds of cells would fill the memory: one combination that
    occurs after the other.
    """
    first, counts = _combinations(
        [column.released for column in columns], [len(column.spread) for column in columns]
    )
    shape = tuple(len(column.names) for column in columns)
    table = np.zeros((math.prod(shape[:-1]), shape[-1]))
    step = max(1, MOST_CELLS // max(1, *table.shape))
    for at in range(0, len(first), step):
        rows = first[at : at + step]
        parts = counts[at : at + step, None].astype(np.float64)
        for column in columns[:-1]:
            spread = column.spread[column.released[rows]]
            parts = (parts[:, :, None] * spread[:, None, :]).reshape(len(rows), -1)
        table += parts.T @ columns[-1].spread[columns[-1].released[rows]]
    return table.reshape(shape)


def _combinations(codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """A row of every combination of codes, and how many rows have it."""
    ids = np.zeros(len(codes[0]), dtype=np.int64)
    first = np.zeros(min(1, len(codes[0])), dtype=np.int64)
    # renumbered after each: the product of all may not fit a word
    for code, size in zip(codes, sizes, strict=True):
        keys = ids.astype(np.uint64) * np.uint64(size) + code.astype(np.uint64)
        ids, first = kernels.keys.group(keys.reshape(-1, 1))
    return first, np.bincount(ids, minlength=len(first))
