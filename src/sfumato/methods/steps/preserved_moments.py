"""What masking kept of the numbers, measured on what it made."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.step import Preserved
from sfumato.methods.steps.masking.block import correlation_of, covariance_of, means_of
from sfumato.methods.steps.microaggregation.centres import GroupedTable
from sfumato.methods.steps.microaggregation.inputs import error_of, total_of
from sfumato.methods.steps.swapping.carriers import combined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.masking.block import Block

if TYPE_CHECKING:
    Array = NDArray[np.float64]


class KeptNumbers:
    """The original numbers beside the masked ones; every method measures one quantity, the worst
    column counts.
    """

    def __init__(self, block: Block, masked: Array) -> None:
        self.block, self.masked = block, masked
        self.before = covariance_of(block.values, block.weights)
        self.after = covariance_of(masked, block.weights)
        self.spread = np.sqrt(np.diag(self.before))

    def means(self, *, exactly: bool = False) -> Preserved:
        """How many standard deviations the means moved."""
        moved = means_of(self.masked, self.block.weights) - means_of(
            self.block.values, self.block.weights
        )
        return self._told("means", exactly, _relative(moved, self.spread))

    def sums(self, *, exactly: bool = False) -> Preserved:
        """How far the (weighted) totals moved, as a share of the sum of absolute values; the worst
        stratum counts.
        """
        worst = 0.0
        for rows in self.block.parts():
            weights, old = self.block.weights[rows], np.nan_to_num(self.block.values[rows])
            moved = weights @ (np.nan_to_num(self.masked[rows]) - old)
            worst = max(worst, _relative(moved, weights @ np.abs(old)))
        return self._told("sums", exactly, worst)

    def variances(self) -> Preserved:
        """How far the variances moved, as a share of them."""
        return self._told(
            "variances", False, _relative(np.diag(self.after - self.before), np.diag(self.before))
        )

    def covariances(self) -> Preserved:
        """How far the covariances of different columns moved, as a share of the product of standard
        deviations.
        """
        moved = self.after - self.before
        np.fill_diagonal(moved, 0.0)
        return self._told(
            "covariances", False, _relative(moved, np.outer(self.spread, self.spread))
        )

    def correlations(self) -> Preserved:
        """How far the correlations moved."""
        moved = correlation_of(self.after) - correlation_of(self.before)
        return self._told("correlations", False, float(np.abs(moved).max()))

    def distributions(self) -> Preserved:
        """How far the (weighted) distribution functions lie apart: Kolmogorov's distance."""
        columns = range(len(self.block.names))
        apart = [
            kolmogorov(self.block.values[:, j], self.masked[:, j], self.block.weights)
            for j in columns
        ]
        return self._told("distribution functions", False, max(apart))

    def exact(self, what: str) -> Preserved:
        """Something that a step keeps by how it works; checked by its caller."""
        return self._told(what, True, 0.0)

    def _told(self, what: str, exactly: bool, off_by: float) -> Preserved:
        return Preserved(what, self.block.names, exactly, off_by)


def _relative(moved: Array, scale: Array) -> float:
    """The largest move as a share of its scale; as it is where there is no scale."""
    sizes = np.abs(moved)
    return float(np.divide(sizes, scale, out=sizes.copy(), where=scale > 0).max(initial=0.0))


def kolmogorov(before: Array, after: Array, weights: Array) -> float:
    """The largest difference of two weighted distribution functions over the known values.

    >>> import numpy as np
    >>> kolmogorov(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.ones(2))
    0.5
    """
    present = ~np.isnan(before) & ~np.isnan(after)
    points = np.concatenate([before[present], after[present]])
    steps = np.concatenate([weights[present], -weights[present]])
    if not weights[present].sum() > 0:
        return 0.0
    order = np.argsort(points, kind="stable")
    apart = np.abs(np.cumsum(steps[order]))
    last = np.append(np.diff(points[order]) > 0, True)
    return float(apart[last].max() / weights[present].sum())


# What is left of the original after values were exchanged, measured.

if TYPE_CHECKING:
    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]


def values_kept(columns: Sequence[str], partner: Codes, once: str = "") -> Preserved:
    """The multiset of values is the same: every carrier's value is given to exactly one carrier."""
    given = np.bincount(partner, minlength=len(partner))
    off = float((given != 1).mean()) if len(given) else 0.0
    return Preserved(f"frequencies of all values{once}", tuple(columns), off == 0.0, off)


def table_kept(
    what: str, columns: Sequence[str], before: Sequence[Codes], after: Sequence[Codes]
) -> Preserved:
    """A table of counts: half the sum of the differences of its shares."""
    off = table_shift(before, after)
    return Preserved(what, tuple(columns), off == 0.0, off)


def table_shift(before: Sequence[Codes], after: Sequence[Codes]) -> float:
    """Total variation distance between two tables of counts, given as codes per record."""
    n = len(before[0])
    if not n:
        return 0.0
    both = np.concatenate([np.stack(before, axis=1), np.stack(after, axis=1)])
    ids = combined(list(both.T))
    change = np.bincount(ids[:n], minlength=int(ids.max()) + 1) - np.bincount(
        ids[n:], minlength=int(ids.max()) + 1
    )
    return float(np.abs(change).sum() / (2 * n))


def correlations(columns: Sequence[Floats]) -> Floats:
    """Pearson's correlation of every pair of columns, over the records that know both; 0 where a
    column is constant.
    """
    if (
        len(columns) > 1
        and len(columns[0]) > 1
        and not any(np.isnan(column).any() for column in columns)
    ):
        centred = np.stack([column - column.mean() for column in columns])
        products = centred @ centred.T
        spread = np.sqrt(np.outer(np.diag(products), np.diag(products)))
        whole = np.divide(products, spread, out=np.zeros_like(products), where=spread > 0)
        return np.asarray(whole[np.triu_indices(len(columns), 1)], dtype=np.float64)
    values = [_correlation(a, b) for a, b in itertools.combinations(columns, 2)]
    return np.array(values, dtype=np.float64)


def _correlation(a: Floats, b: Floats) -> float:
    present = ~(np.isnan(a) | np.isnan(b))
    if not present.all():
        a, b = a[present], b[present]
    if len(a) < 2:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else 0.0


def correlations_kept(
    columns: Sequence[str], before: Floats, after: Floats
) -> tuple[Preserved, ...]:
    """The largest change of a correlation; nothing for a single column."""
    if not len(before):
        return ()
    return (Preserved("correlations", tuple(columns), False, float(np.abs(after - before).max())),)


def mean_kept(
    what: str, name: str, before: Floats, after: Floats, weights: Floats | None = None
) -> Preserved:
    """A mean, weighted where weights are given, in standard deviations of the original."""
    present = ~(np.isnan(before) | np.isnan(after))
    old, new = before[present], after[present]
    shares = np.ones(len(old)) if weights is None else weights[present]
    spread = float(old.std()) if len(old) else 0.0
    if not shares.sum() or not spread:
        return Preserved(what, (name,), False, 0.0)
    off = (
        abs(float(np.average(new, weights=shares)) - float(np.average(old, weights=shares)))
        / spread
    )
    return Preserved(what, (name,), False, off)


# What microaggregation kept, measured on what it made.

if TYPE_CHECKING:
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class KeptFacts:
    """What is kept, the number of groups, and what the owner may know besides."""

    preserved: tuple[Preserved, ...]
    groups: int
    owner: Mapping[str, Any]


def kept(
    table: GroupedTable, columns: Mapping[str, pl.Series], groups: Mapping[str, Labels]
) -> KeptFacts:
    """Compare the released columns, in canonical order, with the original ones."""
    names = tuple(table.forms)
    sizes = [np.bincount(groups[name][groups[name] >= 0]) for name in names]
    lost = _lost(table, groups)
    owner = {
        "sse_over_sst": lost,
        "groups": len(sizes[0]),
        "smallest_group": int(min(s.min() for s in sizes)),
        "largest_group": int(max(s.max() for s in sizes)),
    }
    spread = Preserved("spread (1 − SSE/SST)", names, False, lost)
    return KeptFacts((*_moments(table, columns), spread), len(sizes[0]), owner)


def _lost(table: GroupedTable, groups: Mapping[str, Labels]) -> float:
    """SSE/SST of the points; with groups of their own for every column, over all columns."""
    rows, labels = table.rows, list(groups.values())
    points = table.points[rows]
    total = total_of(points)
    if total == 0.0:
        return 0.0
    if all(one is labels[0] for one in labels) or len(labels) != points.shape[1]:
        return error_of(points, labels[0][rows]) / total
    return sum(error_of(points[:, [a]], one[rows]) for a, one in enumerate(labels)) / total


def _moments(table: GroupedTable, columns: Mapping[str, pl.Series]) -> Iterator[Preserved]:
    """Means, variances and correlations of the columns of numbers, by the survey weights."""
    names = tuple(name for name, form in table.forms.items() if form == "numbers")
    if not names:
        return
    before = np.stack([table.lines[name] for name in names], axis=1)
    after = np.stack(
        [columns[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in names],
        axis=1,
    )
    present = ~np.isnan(before)
    weights = np.where(present, table.weights[:, None], 0.0)
    share = weights / np.maximum(weights.sum(axis=0), 1e-300)
    old, new = (
        (share * np.nan_to_num(before)).sum(axis=0),
        (share * np.nan_to_num(after)).sum(axis=0),
    )
    from_old, from_new = np.where(present, before - old, 0.0), np.where(present, after - new, 0.0)
    was, is_now = (share * from_old**2).sum(axis=0), (share * from_new**2).sum(axis=0)
    varies = was > 0
    scale = np.sqrt(np.where(varies, was, 1.0))
    what = "weighted means" if table.weighted else "means"
    yield Preserved(what, names, True, float((np.abs(new - old) / scale).max()))
    yield Preserved(
        "variances", names, False, float(np.abs(1 - is_now[varies] / was[varies]).max(initial=0.0))
    )
    if varies.sum() > 1 and (is_now[varies] > 0).all() and present.all():
        apart = _correlations(from_new[:, varies], share) - _correlations(
            from_old[:, varies], share
        )
        yield Preserved("correlations", names, False, float(np.abs(apart).max()))


def _correlations(centred: Array, share: Array) -> Array:
    covariance = (centred * share[:, :1]).T @ centred
    spread = np.sqrt(np.diag(covariance))
    matrix: Array = covariance / np.outer(spread, spread)
    return matrix
