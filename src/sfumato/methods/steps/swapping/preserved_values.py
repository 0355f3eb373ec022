"""What is left of the original after values were exchanged, measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.step import Preserved
from sfumato.methods.steps.swapping.record_groups import combine_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]


def values_kept(columns: Sequence[str], partner: Codes, once: str = "") -> Preserved:
    """The multiset of values is the same: every carrier's value is given to exactly one carrier."""
    # A permutation uses every record once; all else loses some values and repeats others.
    uses = np.bincount(partner, minlength=len(partner))
    off = 0.0
    if len(uses):
        off = float((uses != 1).mean())
    return Preserved(f"frequencies of all values{once}", tuple(columns), off == 0.0, off)


def table_kept(
    statistic: str, columns: Sequence[str], before: Sequence[Codes], after: Sequence[Codes]
) -> Preserved:
    """A table of counts: half the sum of the differences of its shares."""
    off = table_shift(before, after)
    return Preserved(statistic, tuple(columns), off == 0.0, off)


def table_shift(before: Sequence[Codes], after: Sequence[Codes]) -> float:
    """Total variation distance between two tables of counts, given as codes per record."""
    n = len(before[0])
    if not n:
        return 0.0
    # Before and after numbered together, so that the same cell has the same number.
    combinations = np.concatenate([np.stack(before, axis=1), np.stack(after, axis=1)])
    ids = combine_codes(list(combinations.T))
    counts_before = np.bincount(ids[:n], minlength=int(ids.max()) + 1)
    counts_after = np.bincount(ids[n:], minlength=int(ids.max()) + 1)
    change = counts_before - counts_after
    return float(np.abs(change).sum() / (2 * n))


def correlations(columns: Sequence[Floats]) -> Floats:
    """Pearson's correlation of every pair of columns, over the records that know both; 0 where a
    column is constant.
    """
    # Without gaps all pairs come from one product of matrices.
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
        a = a[present]
        b = b[present]
    if len(a) < 2:
        return 0.0
    a = a - a.mean()
    b = b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    if not (spread > 0):
        return 0.0
    return float(a @ b) / spread


def correlations_kept(
    columns: Sequence[str], before: Floats, after: Floats
) -> tuple[Preserved, ...]:
    """The largest change of a correlation; nothing for a single column."""
    if not len(before):
        return ()
    return (Preserved("correlations", tuple(columns), False, float(np.abs(after - before).max())),)


def mean_kept(
    statistic: str, name: str, before: Floats, after: Floats, weights: Floats | None = None
) -> Preserved:
    """A mean, weighted where weights are given, in standard deviations of the original."""
    present = ~(np.isnan(before) | np.isnan(after))
    old = before[present]
    new = after[present]
    if weights is None:
        shares = np.ones(len(old))
    else:
        shares = weights[present]
    spread = float(old.std()) if len(old) else 0.0
    # Without spread there is no unit, and a constant column's mean cannot have moved.
    if not shares.sum() or not spread:
        return Preserved(statistic, (name,), False, 0.0)
    new_mean = float(np.average(new, weights=shares))
    old_mean = float(np.average(old, weights=shares))
    off = abs(new_mean - old_mean) / spread
    return Preserved(statistic, (name,), False, off)
