"""Class recodings: the plan of every local method.

The classes of a table are cut into *regions*; all records of a region are released with the same cells. Equal records
may part ways: a class can be split over several regions, then its rows are dealt out in the order of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import Placement, pack_rows
from sfumato.core.schema import Kind, Missing
from sfumato.core.step import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

SUPPRESSED = -1
"""The region of records that are dropped."""

WORST = 5
"""Regions that are told about because they lose most."""


@dataclasses.dataclass(frozen=True, eq=False)
class ClassRecoding(Plan):
    """What a local method decided.

    Class *i* has the packed key ``keys[i]`` under ``placement`` (level 0) and the parts ``starts[i]…starts[i+1]``: part
    *p* holds ``amounts[p]`` of its records and goes to ``regions[p]``, or nowhere when that is ``SUPPRESSED``.
    ``cells[column][region]`` is a code into ``labels[column]`` (a label None releases a missing value);
    ``losses[column][region]`` is the loss of that cell, 0–1. Columns that no region changes need not be listed.
    ``hidden[column][region]`` says that the cell is suppressed: it is released as missing and matches everything, so
    missing values of the column count as wildcards from then on; cells that are not suppressed keep their values.
    ``weights`` are the importance of columns in the score; those not named weigh 1.
    """

    columns: tuple[str, ...]
    placement: Placement
    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    amounts: NDArray[np.int64]
    regions: NDArray[np.int64]
    cells: Mapping[str, NDArray[np.int64]]
    labels: Mapping[str, tuple[str | None, ...]]
    losses: Mapping[str, NDArray[np.float64]]
    method: str
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hidden: Mapping[str, NDArray[np.bool_]] = dataclasses.field(default_factory=dict)
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)

    objective = "loss"

    @property
    def records(self) -> int:
        """Number of records planned for."""
        return int(self.amounts.sum())

    @property
    def suppressed(self) -> int:
        """Number of records that are dropped."""
        return int(self.amounts[self.regions == SUPPRESSED].sum())

    @property
    def score(self) -> float:
        """Mean loss of a cell over all quasi-identifiers, by their weights; the cells of dropped records count 1."""
        if not self.records:
            return 0.0
        lost = sum(self.weights.get(name, 1.0) * total for name, total in self._lost().items())
        whole = sum(self.weights.get(name, 1.0) for name in self.columns)
        return (lost + self.suppressed * whole) / (self.records * whole)

    def _lost(self) -> dict[str, float]:
        """Per column the sum of the losses of the records that are released."""
        amounts, regions = self._released()
        return {name: float(amounts @ loss[regions]) for name, loss in self.losses.items()}

    @property
    def suppressed_cells(self) -> dict[str, int]:
        """Number of suppressed cells per column."""
        amounts, regions = self._released()
        return {name: int(amounts[cells[regions]].sum()) for name, cells in self.hidden.items()}

    def describe(self) -> dict[str, Any]:
        """The plan as plain data: no data values."""
        changed = {**self.cells, **self.hidden}
        return {
            "kind": "class recoding",
            "method": self.method,
            "columns": [name for name in self.columns if name in changed],
            "regions": len(next(iter(changed.values()), ())),
            "suppressed_records": self.suppressed,
            **({"suppressed_cells": self.suppressed_cells} if self.hidden else {}),
        }

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> dict[str, Any]:
        """How the plan was found, for the owner."""
        told = {"objective": self.objective, "score": self.score, **self.notes}
        return {**told, "cells": self._cell_facts(), "worst": self._worst()} if self.records else told

    def _cell_facts(self) -> dict[str, dict[str, float]]:
        """Per column, over the released records: the mean loss of a cell, and the shares told exactly and not at all."""
        amounts, regions = self._released()
        total = max(1, int(amounts.sum()))
        return {
            name: {
                "loss": float(amounts @ loss[regions]) / total,
                "exact": int(amounts[loss[regions] <= 0].sum()) / total,
                "nothing": int(amounts[loss[regions] >= 1].sum()) / total,
            }
            for name, loss in self.losses.items()
        }

    def _worst(self) -> list[dict[str, float]]:
        """The regions whose cells lose most, by the weights of the columns: how many records they hold, and the loss."""
        amounts, regions = self._released()
        if not self.losses or not len(regions):
            return []
        records = np.bincount(regions, weights=amounts)
        weights = [self.weights.get(name, 1.0) for name in self.losses]
        lost = np.average(np.stack(list(self.losses.values())), axis=0, weights=weights if any(weights) else None)
        order = [r for r in np.lexsort((-records, -lost[: len(records)])).tolist() if records[r]]
        return [{"records": int(records[r]), "loss": float(lost[r])} for r in order[:WORST]]

    def _released(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Amounts and regions of the parts that are released."""
        kept = self.regions != SUPPRESSED
        return self.amounts[kept], self.regions[kept]


def whole_classes(regions: NDArray[np.int64], records: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The parts of a recoding that splits no class: ``starts, amounts, regions``."""
    return {"starts": np.arange(len(regions) + 1), "amounts": records, "regions": regions}


def recode_classes(dataset: Dataset, plan: ClassRecoding) -> Dataset:
    """Release a table as a class recoding says."""
    regions = regions_of_rows(dataset, plan)
    kept = np.flatnonzero(regions != SUPPRESSED)
    if len(kept) < len(dataset):
        dataset, regions = dataset.take(kept), regions[kept]
    fresh = {
        name: pl.Series(name, plan.labels[name], dtype=pl.String).gather(codes[regions])
        for name, codes in plan.cells.items()
    }
    fresh = {name: labels for name, labels in fresh.items() if not _as_it_was(dataset.column(name), labels)}
    for name in fresh:
        kind = dataset.schema[name].kind
        ordered = kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
        dataset = dataset.with_schema(dataset.schema.replace(name, kind=Kind.ORDINAL if ordered else Kind.NOMINAL))
    dataset = dataset.with_columns(fresh)
    for name, cells in plan.hidden.items():
        dataset = _blanked(dataset, name, cells[regions])
    return dataset


def _as_it_was(column: pl.Series, labels: pl.Series) -> bool:
    """Whether a column is released cell by cell as it was: then it keeps its type, too."""
    return bool(column.cast(pl.String, strict=False).equals(labels, null_equal=True))


def _blanked(dataset: Dataset, name: str, rows: NDArray[np.bool_]) -> Dataset:
    """Suppress the cells of a column in some rows; what was missing before cannot be told from it."""
    column = dataset.column(name)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    blank = pl.select(pl.when(pl.Series(rows)).then(None).otherwise(column)).to_series().alias(name)
    schema = dataset.schema.replace(name, missing=Missing.WILDCARD)
    return dataset.with_columns({name: blank}).with_schema(schema)


def regions_of_rows(dataset: Dataset, plan: ClassRecoding) -> NDArray[np.int64]:
    """The region of every row; the rows of a split class are dealt out in table order."""
    packed, _ = pack_rows(dataset, plan.columns, plan.placement)
    classes = kernels.keys.look_up(plan.keys, packed)
    order = np.argsort(classes, kind="stable")
    dealt = np.repeat(plan.regions, plan.amounts)  # parts are stored class after class, so this is in class order
    regions = np.empty(len(dataset), dtype=np.int64)
    regions[order] = dealt
    return regions
