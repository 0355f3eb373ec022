"""The table that is microaggregated: rows in canonical order, columns as points, strata and gaps as
parts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import strata_of, weights_of
from sfumato.core.randomness import canonical_order
from sfumato.errors import SchemaError
from sfumato.methods.steps.microaggregation.embedding import (
    ON_A_LINE,
    Form,
    embed_columns,
    form_of,
    line_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class GroupedTable:
    """Columns to microaggregate. ``rows`` are those that are grouped, in ``parts``; ``order`` is
    the canonical order.

    All but ``order`` is in canonical order: ``dataset`` too.
    """

    dataset: Table
    order: Labels
    forms: Mapping[str, Form]
    lines: Mapping[str, Array]
    points: Array
    parts: Sequence[Labels]
    weights: Array
    weighted: bool
    left_out: int

    @property
    def rows(self) -> Labels:
        """The rows that are grouped."""
        if self.parts:
            return np.sort(np.concatenate(self.parts))
        return np.empty(0, dtype=np.int64)


def table_of(
    dataset: Table,
    columns: Sequence[str],
    *,
    k: int,
    within: Sequence[str] | None,
    standardize: bool,
    nominal: str,
    missing: str,
) -> GroupedTable:
    """The named columns of a table, ready to be grouped."""
    order = canonical_order(dataset)
    ordered = dataset.take(order)
    forms = {name: form_of(ordered, name, nominal) for name in columns}
    lines = {}
    for name, form in forms.items():
        if form in ON_A_LINE:
            lines[name] = line_of(ordered, name, form)
    absent = np.stack([_absent(ordered, name, lines.get(name)) for name in columns], axis=1)
    parts, left_out = _parts(strata_of(ordered, within)[0], absent, missing, columns)
    _require_crowds(parts, k, len(dataset))
    weights_column = weights_of(ordered)
    if weights_column is None:
        row_weights = np.ones(len(order))
    else:
        row_weights = weights_column
    return GroupedTable(
        dataset=ordered,
        order=order,
        forms=forms,
        lines=lines,
        points=embed_columns(ordered, forms, lines, standardize=standardize),
        parts=parts,
        weights=row_weights,
        weighted=weights_column is not None,
        left_out=left_out,
    )


def _absent(dataset: Table, name: str, line: Array | None) -> NDArray[np.bool_]:
    if line is not None:
        absent: NDArray[np.bool_] = np.isnan(line)
    else:
        absent = dataset.column(name).is_null().to_numpy()
    return absent


def _parts(
    strata: Labels, absent: NDArray[np.bool_], missing: str, columns: Sequence[str]
) -> tuple[list[Labels], int]:
    """The rows of each stratum, and of each pattern of gaps in it; how many rows are left out
    because of gaps.
    """
    gaps = absent.max(axis=1)
    gappy = absent.max(axis=0)
    if missing == "refuse" and gaps.any():
        names = [name for name, has_gaps in zip(columns, gappy.tolist(), strict=True) if has_gaps]
        raise SchemaError(
            f"microaggregate: {int(gaps.sum()):,} record(s) lack a value in {', '.join(names[:8])};"
            " fill them first, or say missing: pattern (records that lack the same are grouped"
            " among themselves) or missing: leave"
        )
    patterns = np.unique(absent, axis=0, return_inverse=True)[1].ravel()
    keys = np.unique(np.stack([strata, patterns], axis=1), axis=0, return_inverse=True)[1].ravel()
    rows = np.argsort(keys, kind="stable")
    parts = [part for part in np.split(rows, np.cumsum(np.bincount(keys))[:-1]) if len(part)]
    if missing == "leave":
        return [part for part in parts if not gaps[part[0]]], int(gaps.sum())
    return parts, 0


def _require_crowds(parts: Sequence[Labels], k: int, records: int) -> None:
    """Refuse tables and strata with fewer than k records; the message has counts only."""
    small = [len(part) for part in parts if len(part) < k]
    if not parts:
        raise SchemaError(
            "microaggregate: every record lacks a value in the columns, so there is "
            "nothing to average; fill them first"
        )
    if not small:
        return
    if len(parts) == 1:
        raise SchemaError(
            f"microaggregate: k = {k} needs as many records, but there are {small[0]:,} of "
            f"{records:,} to group; lower k"
        )
    raise SchemaError(
        f"microaggregate: {len(small):,} of {len(parts):,} strata (or patterns of missing values)"
        f" have fewer than k = {k} records, the smallest has {min(small):,}; join them (within: …),"
        " or lower k"
    )
