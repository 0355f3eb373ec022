"""What a released column tells of a quasi-identifier beyond the quasi-identifier's released label.

All statistics leave the own record out: a column with nearly distinct values would otherwise
determine everything by chance. Inputs are whole-number codes: ``q`` of the original
quasi-identifier, ``label`` of its released label, ``r`` of the other column.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Numbers = NDArray[np.float64]

MOST_QUASI, MOST_RELEASED, FEW_BINS = 64, 256, 32
"""Codes of a quasi-identifier and of a released column of numbers; the coarser bins find what many
bins scatter.
"""
FEWEST_OPEN, FEWEST_REPEATS, FEWEST_OF_A_VALUE = 20, 30, 20
FEW_ROWS, PERMUTATIONS, QUANTILE, DEVIATIONS = 1000, 100, 0.99, 4.0
"""Below that many rows a figure must also exceed this quantile of what permutations within labels
give, and lie that many standard deviations above their mean: many pairs are looked at, and one in a
hundred exceeds the quantile by chance.
"""
CERTAIN, STRONG, WEAK = 0.99, 0.5, 0.2
SURE_AFTER, OPEN_BEFORE, STEEP = 0.95, 0.80, 0.95
SMALLEST_SHARE, LEAST_ENTROPY, LINE = 0.005, 0.1, 0.8
MOST_CELLS = 4_000_000
"""Cells that are counted without sorting."""


class DependenceKind(StrEnum):
    """What a released column does to a quasi-identifier, from the worst to nothing; ``unknown``:
    too few records tell.
    """

    DETERMINES = "determines"
    NEARLY = "nearly determines"
    SOME = "determines some values of"
    NARROWS = "narrows"
    UNKNOWN = "unknown"
    SILENT = "silent"


REFUSED = (DependenceKind.DETERMINES, DependenceKind.NEARLY, DependenceKind.SOME)


@dataclasses.dataclass(frozen=True)
class Figures:
    """What was measured of a released column and a quasi-identifier.

    ``hit``: share of records whose value is the most frequent one among others with the same label
    and released value; ``base``: with the label alone; ``bits``: share of the remaining bits that
    the released value removes; ``sure``: share of records whose released value leaves the
    quasi-identifier nearly certain where the label does not; ``line`` and ``line_base``: share of
    records near what a function of the released number predicts, and near the middle of their label
    (None: not numbers). ``records`` have a label that leaves more than one value open, ``repeats``
    of them share label and released value with another.
    """

    hit: float = 1.0
    base: float = 1.0
    bits: float = 0.0
    sure: float = 0.0
    records: int = 0
    repeats: int = 0
    line: float | None = None
    line_base: float = 0.0
    chance: bool = False
    """Whether permutations within labels give as much."""

    @property
    def gain(self) -> float:
        """The share of what the label leaves open that the released value takes, (A − B)/(1 −
        B).
        """
        return share_gained(self.hit, self.base)

    @property
    def line_gain(self) -> float:
        """The same of the line."""
        if self.line is None:
            return 0.0
        return share_gained(self.line, self.line_base)

    def finding(self, k: int = 2) -> DependenceKind:
        """What the figures mean where classes of ``k`` are promised."""
        steep = self.base > STEEP  # there both are unstable
        if steep:
            gain, bits = (0.0, 0.0)
        else:
            gain = self.gain
            bits = self.bits
        # Near a base of 1 the share gained divides by almost nothing.
        line_gain = 0.0 if self.line_base > STEEP else self.line_gain
        line = self.line is not None and self.line >= LINE and line_gain >= STRONG
        if not self.chance and self.records >= FEWEST_OPEN:
            if self.hit >= CERTAIN and gain >= STRONG:
                return DependenceKind.DETERMINES
            if max(gain, bits) >= STRONG or line:
                return DependenceKind.NEARLY
            if self.sure > 0 and self.sure >= max(SMALLEST_SHARE, k / self.records):
                return DependenceKind.SOME
            if max(gain, bits, line_gain) >= WEAK:
                return DependenceKind.NARROWS
        # Values that hardly repeat reveal nothing by counts, and there was no line to judge by.
        if self.records and self.repeats < FEWEST_REPEATS and self.line is None:
            return DependenceKind.UNKNOWN
        return DependenceKind.SILENT


def share_gained(rate: float, base: float) -> float:
    """(rate − base)/(1 − base), never below 0.

    >>> share_gained(0.75, 0.5), share_gained(0.5, 0.8), share_gained(1.0, 1.0)
    (0.5, 0.0, 0.0)
    """
    if not (base < 1):
        return 0.0
    return max(0.0, (rate - base) / (1 - base))


# Codes.


def dense(codes: Codes) -> Codes:
    """Codes from 0 without gaps, in the same order."""
    # A table over all codes serves unless these are negative or far apart.
    if not len(codes) or int(codes.min()) < 0 or int(codes.max()) > MOST_CELLS:
        return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    new_codes = np.cumsum(np.bincount(codes) > 0) - 1
    return np.asarray(new_codes[codes], dtype=np.int64)


def count_keys(keys: Codes) -> tuple[Codes, Codes]:
    """The distinct keys in order, and how often each occurs; few enough are counted without
    sorting.
    """
    if len(keys) and int(keys.max()) <= MOST_CELLS:
        amounts = np.bincount(keys)
        used = np.flatnonzero(amounts)
        return used, amounts[used]
    return np.unique(keys, return_counts=True)


def number_codes(values: Numbers, max_codes: int) -> Codes:
    """Codes of numbers: one a value, or ``max_codes`` bins by rank where there are more; equal
    values share a bin, missing is a code.

    >>> (
    ...     number_codes(np.array([5.0, 7.0, np.nan, 5.0]), 10).tolist(),
    ...     number_codes(np.arange(6.0), 3).tolist(),
    ... )
    ([0, 1, 2, 0], [0, 0, 1, 1, 2, 2])
    """
    is_number = ~np.isnan(values)
    distinct, which, counts = np.unique(values[is_number], return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    codes = np.full(len(values), len(distinct), dtype=np.int64)
    codes[is_number] = which
    if len(distinct) <= max_codes:
        return codes
    # By the rank of the first record with a value, so that equal values share a bin.
    below = np.concatenate([[0], np.cumsum(counts)[:-1]])
    bins = dense(below * max_codes // max(1, int(is_number.sum())))
    codes[is_number] = bins[which]
    codes[~is_number] = int(bins.max()) + 1
    return codes


def frequent_codes(codes: Codes, max_codes: int = MOST_RELEASED) -> Codes:
    """Codes of a nominal column; where there are many values, those that nobody shares become one
    code.
    """
    own = dense(codes)
    counts = np.bincount(own)
    if len(counts) <= max_codes or not (counts == 1).any():
        return own
    return dense(np.where(counts[own] == 1, -1, own))


def within_labels(values: Numbers, label: Codes, max_codes: int = MOST_QUASI) -> Codes:
    """Codes of numbers that are distinguished inside their label: bins by rank among the records
    with the same label.
    """
    if len(np.unique(values)) <= max_codes:
        return number_codes(values, max_codes)
    order = np.lexsort((values, label))
    starts, sizes = _runs(label[order])
    position = np.arange(len(order)) - np.repeat(starts, sizes)
    fine = np.empty(len(order), dtype=np.int64)
    value_changes = np.diff(values[order])
    label_changes = np.diff(label[order])
    fresh = np.concatenate([[True], (value_changes != 0) | (label_changes != 0)])
    starts_so_far = np.where(fresh, np.arange(len(order)), 0)
    first = position[np.maximum.accumulate(starts_so_far)]  # equal values share a rank
    size_of_row = np.repeat(sizes, sizes)
    fine[order] = np.where(np.isnan(values[order]), max_codes, first * max_codes // size_of_row)
    return fine


def _runs(ordered: Codes) -> tuple[Codes, Codes]:
    """Where runs of equal codes start in an ordered array, and how long they are."""
    if len(ordered):
        is_change = np.diff(ordered) != 0
        starts = np.flatnonzero(np.concatenate([[True], is_change]))
    else:
        starts = np.zeros(0, int)
    return starts, np.diff(np.append(starts, len(ordered)))


def open_records(q: Codes, label: Codes) -> NDArray[np.bool_]:
    """Per record whether its label leaves more than one value of the quasi-identifier open."""
    width = int(q.max(initial=0)) + 1
    pairs, _ = count_keys(label.astype(np.int64) * width + q)
    values = np.bincount(pairs // width, minlength=int(label.max(initial=0)) + 1)
    return np.asarray(values[label] > 1)


# Hits, bits and values.


def leave_one_out(q: Codes, context: Codes) -> tuple[Codes, Codes, Numbers]:
    """Per record, of the others in its context: how many share its value, how many there are, and
    whether its value is their most frequent.

    A tie counts half.

    >>> same, others, hit = leave_one_out(np.array([1, 1, 2]), np.array([0, 0, 0]))
    >>> same.tolist(), others.tolist(), hit.tolist()
    ([1, 1, 0], [2, 2, 2], [0.5, 0.5, 0.0])
    """
    # Context and value as one number; keys are in order of contexts.
    width = int(q.max(initial=0)) + 1
    own = context * width + q
    keys, counts = count_keys(own)
    if int(own.max(initial=0)) > MOST_CELLS:
        which = np.searchsorted(keys, own)
    else:
        which = dense(own)
    of = keys // width
    totals = np.bincount(context)
    starts, _ = _runs(of)
    best = np.zeros(len(totals), dtype=np.int64)
    if len(starts):
        best[of[starts]] = np.maximum.reduceat(counts, starts)
    else:
        best[of[starts]] = 0
    tied = np.bincount(of, weights=counts == best[of], minlength=len(totals))
    lesser = np.where(counts < best[of], counts, 0)
    second = np.zeros(len(totals), dtype=np.int64)
    if len(starts):
        second[of[starts]] = np.maximum.reduceat(lesser, starts)
    else:
        second[of[starts]] = 0
    same_count = counts[which] - 1
    other_count = totals[context] - 1
    own_is_best = same_count + 1 == best[context]
    # With the own record taken out, a value that led alone competes with the second best.
    rival = np.where(own_is_best & (tied[context] == 1), second[context], best[context])
    shared_hit = np.where((same_count == rival) & (same_count > 0), 0.5, 0.0)
    hit = np.where(same_count > rival, 1.0, shared_hit)
    return same_count, other_count, hit


def figures_of(q: Codes, label: Codes, r: Codes) -> Figures:
    """Hits, bits and values of a pair of columns."""
    is_open = open_records(q, label)
    records = int(is_open.sum())
    if records < 2:
        return Figures(records=records)
    q = dense(q[is_open])
    label = dense(label[is_open])
    r = dense(r[is_open])
    label_and_released = dense(label * (int(r.max()) + 1) + r)
    same0, others0, hit0 = leave_one_out(q, label)
    same1, others1, hit1 = leave_one_out(q, label_and_released)
    # Where nobody else has the released value, the label alone is what is known.
    hit1 = np.where(others1 > 0, hit1, hit0)
    width = int(q.max()) + 1
    # Smoothed: one record more, spread evenly over all values, so that no chance is 0.
    p0 = (same0 + 1 / width) / (others0 + 1)
    # Backed off to the chance by the label, which weighs as much as two records.
    p1 = (same1 + 2 * p0) / (others1 + 2)
    before = -float(np.log2(p0).mean())
    after = -float(np.log2(p1).mean())
    bits = 0.0
    if before >= LEAST_ENTROPY:
        bits = max(0.0, 1 - after / before)
    sure = _sure_values(r, hit0, hit1, same0 / np.maximum(1, others0))
    counts = np.bincount(r)
    certain = counts[sure].sum() / records
    return Figures(
        hit=float(hit1.mean()),
        base=float(hit0.mean()),
        bits=bits,
        sure=float(certain),
        records=records,
        repeats=int((others1 > 0).sum()),
    )


def _sure_values(r: Codes, before: Numbers, after: Numbers, share: Numbers) -> NDArray[np.bool_]:
    """Released values, each of enough records, after which the quasi-identifier is nearly certain
    where it was not before.

    A label whose most frequent value has 51 % is no certainty for those who have it: the share
    counts, not the hit alone.
    """
    counts = np.bincount(r)
    shared = np.minimum(np.bincount(r, weights=before), np.bincount(r, weights=share))
    then = shared / np.maximum(1, counts)
    now = np.bincount(r, weights=after) / np.maximum(1, counts)
    return np.asarray((counts >= FEWEST_OF_A_VALUE) & (now >= SURE_AFTER) & (then <= OPEN_BEFORE))


def sure_records(q: Codes, label: Codes, r: Codes) -> NDArray[np.bool_]:
    """Records whose released value leaves the quasi-identifier nearly certain where the label does
    not.
    """
    open_rows = np.flatnonzero(open_records(q, label))
    marked = np.zeros(len(q), dtype=bool)
    if len(open_rows) < 2:
        return marked
    quasi = dense(q[open_rows])
    labels = dense(label[open_rows])
    released = dense(r[open_rows])
    same_count, other_count, before = leave_one_out(quasi, labels)
    keys = labels * (int(released.max()) + 1) + released
    _, known_count, after = leave_one_out(quasi, dense(keys))
    after = np.where(known_count > 0, after, before)
    shares_of_same = same_count / np.maximum(1, other_count)
    marked[open_rows] = _sure_values(released, before, after, shares_of_same)[released]
    return marked


def permuted_within(
    r: NDArray[np.generic], label: Codes, rng: np.random.Generator
) -> NDArray[np.generic]:
    """A released column whose values were exchanged at random among records with the same label."""
    fixed = np.argsort(label, kind="stable")
    # Sorted by label, at random within it: every value moves only among records of its label.
    mixed = np.lexsort((rng.random(len(label)), label))
    changed = np.empty_like(r)
    changed[fixed] = r[mixed]
    return changed


def screened_bits(q: Codes, r: Codes) -> tuple[float, Numbers, Codes]:
    """Without labels: the share of hits gained, the bits saved by every value of the released
    column, and how many records have it.
    """
    width = int(q.max(initial=0)) + 1
    height = int(r.max(initial=0)) + 1
    records = len(q)
    totals = np.bincount(r, minlength=height).astype(np.int64)
    prior = np.bincount(q, minlength=width) / max(1, records)
    cells, counts = count_keys(r * width + q)
    value = cells % width
    of = cells // width
    starts, _ = _runs(of)
    if len(starts):
        best = np.maximum.reduceat(counts, starts)
    else:
        best = counts
    top = np.zeros(height, dtype=np.int64)
    top[of[starts]] = best
    tied = np.bincount(of, weights=counts == top[of], minlength=height)
    lesser = np.where(counts < top[of], counts, 0)
    second = np.zeros(height, dtype=np.int64)
    if len(starts):
        second[of[starts]] = np.maximum.reduceat(lesser, starts)
    else:
        second[of[starts]] = lesser
    # The own record left out, a value stays the most frequent one if it led by two; by one, it is
    # tied with another.
    lead = np.where(tied > 1, 0, top - second)
    is_shared = (lead == 1) & (second == 0)
    credit = np.where(
        (lead > 1) | (is_shared & (top > 1)),
        top,
        np.where((lead == 1) & (top > 1), top / 2, 0),
    )
    hit = float(credit.sum())
    chance = (counts - 1 + 2 * prior[value]) / (totals[of] + 1)
    bits = np.log2(chance / prior[value])
    saved: Numbers = np.bincount(of, weights=counts * bits, minlength=height).astype(float)
    hit_share = hit / max(1, records)
    most_frequent = float(prior.max(initial=0.0))
    return share_gained(hit_share, most_frequent), saved, totals


# Lines.


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """Of numbers with labels: per record how near a prediction must come, and the middle of its
    label.
    """

    near: Numbers
    middle: Numbers
    width: Numbers

    @classmethod
    def of(cls, values: Numbers, label: Codes) -> Spans:
        """A quarter of the label's width, or of the spread of the middle half of its records where
        that is less.
        """
        order = np.lexsort((values, label))
        starts, sizes = _runs(label[order])
        ranked = values[order]
        low = ranked[starts]
        high = ranked[starts + sizes - 1]
        lower = ranked[starts + sizes // 4]
        # Lower and upper quarter by rank; (3(n − 1) + 3) // 4 rounds the upper one up.
        upper = ranked[starts + (3 * (sizes - 1) + 3) // 4]
        middle = (ranked[starts + (sizes - 1) // 2] + ranked[starts + sizes // 2]) / 2
        near = np.minimum(high - low, upper - lower) / 4
        group_numbers = np.empty(len(order), dtype=np.int64)
        group_numbers[order] = np.repeat(np.arange(len(starts)), sizes)
        return cls(
            # The slack lets a prediction count that is right but for rounding.
            near[group_numbers] + 1e-9 * (1 + np.abs(values)),
            middle[group_numbers],
            (high - low)[group_numbers],
        )


def line_of(q: Numbers, label: Codes, r: Numbers) -> tuple[float, float, Numbers] | None:
    """How often a function of a released number comes near the quasi-identifier, how often the
    label's middle does, and the predictions.

    Functions: the number itself, a shift of it or of its negative, a line, a curve through
    neighbours, their median. Each is fitted on half of the records and judged on the other. None:
    too few records have both numbers and a label that leaves more than one value open.
    """
    both_numbers = ~np.isnan(q) & ~np.isnan(r)
    if int(both_numbers.sum()) < FEWEST_REPEATS:
        return None
    values = q[both_numbers]
    released = r[both_numbers]
    spans = Spans.of(values, label[both_numbers])
    hidden = spans.width > 0
    if int(hidden.sum()) < FEWEST_REPEATS:
        return None
    # Whole numbers are predicted as whole numbers.
    whole = bool((values == np.round(values)).all())
    best, best_prediction = -1.0, released
    for function in _predictions(values, released):
        predicted = np.round(function) if whole else function
        is_near = np.abs(values - predicted) <= spans.near
        share = float(is_near[hidden].mean())
        if share > best:
            best, best_prediction = share, predicted
    everywhere = np.full(len(q), np.nan)
    everywhere[both_numbers] = best_prediction
    middle = np.round(spans.middle) if whole else spans.middle
    is_near = np.abs(values - middle) <= spans.near
    base = float(is_near[hidden].mean())
    return best, base, everywhere


def _predictions(q: Numbers, r: Numbers) -> list[Numbers]:
    """What functions of a released number say of the other one, each learnt on the half that it is
    not asked about.
    """
    # A fixed seed: the same table is always halved in the same way.
    half = np.random.default_rng(len(q)).permutation(len(q)) % 2 == 0
    predictions = [r, *(np.empty_like(r) for _ in range(5))]
    for training in (half, ~half):
        test = ~training
        predictions[1][test] = r[test] + np.median(q[training] - r[training])
        predictions[2][test] = np.median(q[training] + r[training]) - r[test]
        slope, intercept = trimmed_line(r[training], q[training])
        predictions[3][test] = slope * r[test] + intercept
        predictions[4][test] = nearest_median(r[training], q[training], r[test])
        training_values, which = np.unique(r[training], return_inverse=True)
        means = np.bincount(which, q[training]) / np.bincount(which)
        predictions[5][test] = np.interp(r[test], training_values, means)
    return predictions


def trimmed_line(x: Numbers, y: Numbers) -> tuple[float, float]:
    """Slope and intercept by least squares, again and again on the three quarters that lie nearest:
    exceptions do not bend it.
    """
    is_kept = np.ones(len(x), dtype=bool)
    slope = 0.0
    intercept = float(np.median(y))
    for _ in range(5):
        spread = float(np.var(x[is_kept]))
        if spread <= 0:
            break
        x_gaps = x[is_kept] - x[is_kept].mean()
        y_gaps = y[is_kept] - y[is_kept].mean()
        slope = float(np.mean(x_gaps * y_gaps)) / spread
        explained = slope * x[is_kept].mean()
        intercept = float(y[is_kept].mean() - explained)
        apart = np.abs(y - slope * x - intercept)
        # The three quarters nearest to the line are kept for the next fit.
        ordered = np.partition(apart, 3 * len(apart) // 4)
        is_kept = apart <= ordered[3 * len(apart) // 4]
    return slope, intercept


def nearest_median(x: Numbers, y: Numbers, points: Numbers) -> Numbers:
    """The median of ``y`` of the three records whose ``x`` is nearest in rank; among equal ones, of
    the middle of them.
    """
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    ordered_values = y[order]
    positions = (
        np.searchsorted(ordered, points, "left") + np.searchsorted(ordered, points, "right")
    ) // 2
    neighbours = positions[:, None] + np.arange(-1, 2)[None, :]
    around = np.clip(neighbours, 0, len(x) - 1)
    return np.asarray(np.median(ordered_values[around], axis=1))


# Sums.


@dataclasses.dataclass(frozen=True, eq=False)
class NumberBlock:
    """Columns of numbers, standardised once, missing ones as the mean, with their products."""

    columns: Numbers
    standard: Numbers
    gram: Numbers

    @classmethod
    def of(cls, columns: Numbers) -> NumberBlock:
        """Columns of numbers side by side; none may lack all."""
        standard = standardise(columns)
        return cls(columns, standard, standard.T @ standard / max(1, len(columns)))


def standardise(columns: Numbers) -> Numbers:
    """Columns with mean 0 and variance 1 (0 where a column is constant); missing numbers are the
    mean.
    """
    means = np.nanmean(columns, axis=0)
    filled = np.where(np.isnan(columns), means, columns) - means
    spread = filled.std(axis=0)
    return np.asarray(filled / np.where(spread > 0, spread, 1.0))


def chosen_sum(
    q: Numbers, block: NumberBlock, candidates: list[int], max_terms: int = 3
) -> tuple[int, ...]:
    """Up to ``max_terms`` of the columns ``candidates`` whose least squares tell most of a number,
    chosen one by one.
    """
    scaled = standardise(q[:, None])[:, 0]
    with_q = scaled @ block.standard / max(1, len(q))
    terms: list[int] = []
    explained_share = 0.0
    for _ in range(max_terms):
        explained = {
            c: _explained_share(block.gram, with_q, [*terms, c])
            for c in candidates
            if c not in terms
        }
        best = max(explained, key=lambda c: explained[c], default=None)
        if best is None or explained[best] <= explained_share + 1e-6:
            break
        terms.append(best)
        explained_share = explained[best]
    return tuple(terms)


def _explained_share(gram: Numbers, with_q: Numbers, terms: list[int]) -> float:
    """The share of the variance of a number that some columns explain."""
    # A little on the diagonal: columns that tell the same must not make it singular.
    inner = gram[np.ix_(terms, terms)] + 1e-9 * np.eye(len(terms))
    return float(with_q[terms] @ np.linalg.solve(inner, with_q[terms]))


def predicted_sum(q: Numbers, columns: Numbers) -> Numbers:
    """What least squares of some columns say of a number; nothing (NaN) where one of them is
    missing.
    """
    design = np.column_stack([np.ones(len(q)), columns])
    whole = ~np.isnan(design).any(axis=1)
    is_known = whole & ~np.isnan(q)
    predicted = np.full(len(q), np.nan)
    if int(is_known.sum()) > design.shape[1]:
        weights = np.linalg.lstsq(design[is_known], q[is_known], rcond=None)[0]
        predicted[whole] = design[whole] @ weights
    return predicted
