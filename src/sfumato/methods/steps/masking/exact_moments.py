"""Moments of a table that comes in pieces: exact sums, so that neither the pieces nor their order
change a digit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import Stratum, in_order, labelled_strata, weights_of
from sfumato.methods.formulas.exact_sums import exact_sums
from sfumato.methods.steps.masking.normal_noise import large_enough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Reader = Callable[[Table, str], NDArray[np.float64]]
    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """What noise must know of all records.

    ``groups`` numbers the strata, those put together alike; ``pooled`` counts these. ``means`` are
    by group and column, ``flat`` says where a column does not vary, ``whole`` which columns hold
    whole numbers only. ``covariance`` is by group.
    """

    groups: Mapping[Stratum, int]
    pooled: int
    means: Array
    flat: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    covariance: Array | None = None

    def of_rows(self, dataset: Table, within: Sequence[str] | None) -> Rows:
        """The group of every row."""
        codes, labels = labelled_strata(dataset, within)
        return np.array([self.groups[label] for label in labels], dtype=np.int64)[codes]


class _Stratum:
    """What is summed of one stratum: its rows, and per column weights, weighted values, the least
    and the greatest.
    """

    def __init__(self, columns: int, rows: int = 0) -> None:
        self.rows = rows
        self.weight = [0] * columns
        self.total = [0] * columns
        self.least = np.full(columns, np.inf)
        self.most = np.full(columns, -np.inf)

    def join(self, second: _Stratum) -> _Stratum:
        """Both together."""
        self.rows += second.rows
        self.weight = [a + b for a, b in zip(self.weight, second.weight, strict=True)]
        self.total = [a + b for a, b in zip(self.total, second.total, strict=True)]
        self.least = np.minimum(self.least, second.least)
        self.most = np.maximum(self.most, second.most)
        return self


class MeansLearner:
    """Means of every stratum, and which strata are put together because they have too few rows."""

    def __init__(
        self,
        columns: Sequence[str],
        within: Sequence[str] | None,
        smallest_stratum: int,
        read: Reader,
    ) -> None:
        self.columns = columns
        self.within = within
        self.least = smallest_stratum
        self.read = read
        self.strata: dict[Stratum, _Stratum] = {}
        self.whole = np.ones(len(columns), dtype=np.bool_)

    def see(self, rows: Table) -> None:
        """Add some rows."""
        codes, labels = labelled_strata(rows, self.within)
        sizes = np.bincount(codes, minlength=len(labels)).tolist()
        fresh = [_Stratum(len(self.columns), size) for size in sizes]
        weights_column = weights_of(rows)
        if weights_column is None:
            weights = np.ones(len(rows))
        else:
            weights = weights_column
        for j, name in enumerate(self.columns):
            values = self.read(rows, name)
            present = np.flatnonzero(~np.isnan(values))
            # Whole numbers only if they are so in every piece of the table.
            is_whole = values[present] == np.rint(values[present])
            self.whole[j] &= bool(is_whole.all())
            self._add(fresh, j, values[present], weights[present], codes[present])
        for label, stratum in zip(labels, fresh, strict=True):
            if label in self.strata:
                self.strata[label] = self.strata[label].join(stratum)
            else:
                self.strata[label] = stratum

    @staticmethod
    def _add(
        strata: list[_Stratum], column_number: int, values: Array, weights: Array, codes: Rows
    ) -> None:
        totals = exact_sums(values * weights, codes, len(strata))
        masses = exact_sums(weights, codes, len(strata))
        lowest = np.full(len(strata), np.inf)
        highest = np.full(len(strata), -np.inf)
        np.minimum.at(lowest, codes, values)
        np.maximum.at(highest, codes, values)
        for s, stratum in enumerate(strata):
            stratum.total[column_number] = totals[s]
            stratum.weight[column_number] = masses[s]
            stratum.least[column_number] = lowest[s]
            stratum.most[column_number] = highest[s]

    def learnt(self) -> Moments:
        """The means, by groups of strata."""
        sizes = {label: stratum.rows for label, stratum in self.strata.items()}
        groups, pooled = large_enough(sizes, self.least)
        together: dict[int, _Stratum] = {}
        # In the order of the labels, whatever order the pieces came in.
        for label in in_order(self.strata):
            stratum = together.setdefault(groups[label], _Stratum(len(self.columns)))
            stratum.join(self.strata[label])
        strata = [together[g] for g in sorted(together)]
        means = np.zeros((len(strata), len(self.columns)))
        for g, stratum in enumerate(strata):
            for j, weight in enumerate(stratum.weight):
                if weight:
                    # whole numbers of the same unit: their ratio is rounded once
                    means[g, j] = stratum.total[j] / weight
        flat = np.array([~(stratum.least < stratum.most) for stratum in strata])
        return Moments(groups, pooled, means=means, flat=flat, whole=self.whole)


class CovarianceLearner:
    """Weighted covariances of every group over the pairs that are known, once the means are."""

    def __init__(
        self, columns: Sequence[str], within: Sequence[str] | None, moments: Moments, read: Reader
    ) -> None:
        self.columns = columns
        self.within = within
        self.moments = moments
        self.read = read
        size = (len(moments.means), len(columns), len(columns))
        self.products = np.zeros(size, dtype=object)
        self.masses = np.zeros(size, dtype=object)
        self.counts = np.zeros(size, dtype=np.int64)

    def see(self, rows: Table) -> None:
        """Add some rows."""
        groups = self.moments.of_rows(rows, self.within)
        count = len(self.moments.means)
        weights_column = weights_of(rows)
        if weights_column is None:
            weights = np.ones(len(rows))
        else:
            weights = weights_column
        centred = []
        for j, n in enumerate(self.columns):
            centred.append(self.read(rows, n) - self.moments.means[groups, j])
        for j, left_column in enumerate(centred):
            # The matrix is symmetric: the lower half is enough.
            for k, right in enumerate(centred[: j + 1]):
                left_present = ~np.isnan(left_column)
                right_present = ~np.isnan(right)
                present_rows = np.flatnonzero(left_present & right_present)
                at = groups[present_rows]
                mass = weights[present_rows]
                products = mass * (left_column[present_rows] * right[present_rows])
                self.products[:, j, k] += exact_sums(products, at, count)
                self.masses[:, j, k] += exact_sums(mass, at, count)
                self.counts[:, j, k] += np.bincount(at, minlength=count)

    def learnt(self) -> Moments:
        """The covariances, defined as in
        :func:`sfumato.methods.steps.masking.weighted_moments.covariance_of`.
        """
        size = self.products.shape
        covariance = np.zeros(size)
        for g, j, k in np.argwhere(self.counts > 1).tolist():
            count = int(self.counts[g, j, k])
            mass = self.masses[g, j, k]
            if mass > 0 and not self.moments.flat[g, [j, k]].any():
                value = self.products[g, j, k] / mass * count / (count - 1)
                covariance[g, j, k] = covariance[g, k, j] = value
        return dataclasses.replace(self.moments, covariance=covariance)
