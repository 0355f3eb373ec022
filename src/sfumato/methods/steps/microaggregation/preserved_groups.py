"""What microaggregation preserved, measured on its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Fields
from sfumato.core.step import Preserved
from sfumato.methods.steps.microaggregation.grouped_table import GroupedTable
from sfumato.methods.steps.microaggregation.inputs import error_of, total_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class KeptFacts:
    """What is kept, the number of groups, and what the owner may know besides."""

    preserved: tuple[Preserved, ...]
    groups: int
    owner: Fields


def preserved_facts(
    table: GroupedTable, columns: Mapping[str, pl.Series], groups: Mapping[str, Labels]
) -> KeptFacts:
    """Compare the released columns, in canonical order, with the original ones."""
    names = tuple(table.forms)
    sizes = [np.bincount(groups[name][groups[name] >= 0]) for name in names]
    lost = _lost_share(table, groups)
    owner = {
        "sse_over_sst": lost,
        "groups": len(sizes[0]),
        "smallest_group": int(min(s.min() for s in sizes)),
        "largest_group": int(max(s.max() for s in sizes)),
    }
    spread = Preserved("spread (1 − SSE/SST)", names, False, lost)
    return KeptFacts((*_moments(table, columns), spread), len(sizes[0]), owner)


def _lost_share(table: GroupedTable, groups: Mapping[str, Labels]) -> float:
    """SSE/SST of the points; with groups of their own for every column, over all columns."""
    rows = table.rows
    labels = list(groups.values())
    points = table.points[rows]
    total = total_of(points)
    if total == 0.0:
        return 0.0
    if (
        all(column_labels is labels[0] for column_labels in labels)
        or len(labels) != points.shape[1]
    ):
        return error_of(points, labels[0][rows]) / total
    return (
        sum(error_of(points[:, [a]], column_labels[rows]) for a, column_labels in enumerate(labels))
        / total
    )


def _moments(table: GroupedTable, columns: Mapping[str, pl.Series]) -> Iterator[Preserved]:
    """Means, variances and correlations of the columns of numbers, by the survey weights."""
    names = tuple(name for name, form in table.forms.items() if form == "numbers")
    if not names:
        return
    before = np.stack([table.lines[name] for name in names], axis=1)
    columns_after = [
        columns[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in names
    ]
    after = np.stack(columns_after, axis=1)
    present = ~np.isnan(before)
    weights = np.where(present, table.weights[:, None], 0.0)
    share = weights / np.maximum(weights.sum(axis=0), 1e-300)
    old = (share * np.nan_to_num(before)).sum(axis=0)
    new = (share * np.nan_to_num(after)).sum(axis=0)
    from_old = np.where(present, before - old, 0.0)
    from_new = np.where(present, after - new, 0.0)
    was = (share * from_old**2).sum(axis=0)
    is_now = (share * from_new**2).sum(axis=0)
    varies = was > 0
    scale = np.sqrt(np.where(varies, was, 1.0))
    statistic = "weighted means" if table.weighted else "means"
    largest_change = (np.abs(new - old) / scale).max()
    yield Preserved(statistic, names, True, float(largest_change))
    relative_changes = 1 - is_now[varies] / was[varies]
    changes = np.abs(relative_changes).max(initial=0.0)
    yield Preserved("variances", names, False, float(changes))
    if varies.sum() > 1 and (is_now[varies] > 0).all() and present.all():
        new_correlations = _correlations(from_new[:, varies], share)
        old_correlations = _correlations(from_old[:, varies], share)
        apart = new_correlations - old_correlations
        yield Preserved("correlations", names, False, float(np.abs(apart).max()))


def _correlations(centred: Array, share: Array) -> Array:
    covariance = (centred * share[:, :1]).T @ centred
    spread = np.sqrt(np.diag(covariance))
    matrix: Array = covariance / np.outer(spread, spread)
    return matrix
