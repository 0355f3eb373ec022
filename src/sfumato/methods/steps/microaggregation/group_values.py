"""What groups of records release in a column: the range of their values, or their centre."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.classes import count_classes, remap_to
from sfumato.core.design import weights_of
from sfumato.core.fields import Document
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.errors import SchemaError
from sfumato.methods.steps.local.axes import axes_of
from sfumato.methods.steps.local.grid import describe_grids
from sfumato.methods.steps.local.regions import cells_of
from sfumato.methods.steps.microaggregation.centres import centres
from sfumato.methods.steps.microaggregation.embedding import (
    ON_A_LINE,
    form_of,
    line_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Labels = NDArray[np.int64]

IN_ORDER = (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)


@dataclasses.dataclass(frozen=True, eq=False)
class BucketColumn:
    """A released column, in the order of the table's rows, and what it is now."""

    values: pl.Series
    attribute: Attribute
    grid: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)


def require_ranges(step: str, grid: Collection[str], ranges: Collection[str]) -> None:
    """Refuse a grid for columns that are not released as ranges."""
    unknown_names = [name for name in grid if name not in ranges]
    if unknown_names:
        raise SchemaError(
            f"{step}: grid names {', '.join(unknown_names[:8])}, not released as ranges; remove "
            "them there"
        )


def grids_of(columns: Mapping[str, BucketColumn]) -> Document:
    """The grids on which numbers and dates of these columns are labelled, as a plan tells them."""
    grids: dict[str, object] = {}
    for column in columns.values():
        grids.update(column.grid)
    return {"grid": grids} if grids else {}


def as_ranges(
    dataset: Table, name: str, groups: Labels, steps: Mapping[str, int | float | str] | None = None
) -> BucketColumn:
    """What :mod:`sfumato.methods.steps.local.regions` writes for the values of each group;
    ``steps`` are declared grids.
    """
    own = None
    if steps and name in steps:
        own = {name: steps[name]}
    axis = axes_of(count_classes(dataset, [name]), dataset.schema, steps=own)[0]
    encoded = dataset.encoded(name)
    ranks = axis.ranks[remap_to(axis.ladder, encoded)][encoded.codes]
    ends = np.cumsum(np.bincount(groups))
    cells = cells_of(axis, ranks[np.argsort(groups, kind="stable")], ends)
    texts = pl.Series(name, cells.labels, dtype=pl.String).gather(cells.codes[groups])
    before = dataset.schema[name]
    still_listed = {TOP, None}.union(*axis.ladder.labels).issuperset(cells.labels)
    if before.kind in IN_ORDER:
        kind = Kind.ORDINAL
    else:
        kind = Kind.NOMINAL
    if still_listed:
        order = before.order
    else:
        order = None
    after = dataclasses.replace(
        before,
        kind=kind,
        hierarchy=before.hierarchy if still_listed else None,
        order=order,
    )
    return BucketColumn(texts, after, describe_grids([axis], [name]) if cells.changed else {})


def as_centres(dataset: Table, name: str, groups: Labels) -> BucketColumn:
    """The mean of numbers and dates, the median of ordered values, the lowest common node or the
    mode of others.
    """
    form = form_of(dataset, name, "taxonomy")
    line = line_of(dataset, name, form) if form in ON_A_LINE else None
    weights_column = weights_of(dataset)
    if weights_column is None:
        weights = np.ones(len(dataset))
    else:
        weights = weights_column
    before = dataset.schema[name]
    gone = form in ("numbers", "dates", "taxonomy")
    after = dataclasses.replace(before, hierarchy=None) if gone else before
    return BucketColumn(
        centres(dataset, name, form, line=line, groups=groups, weights=weights), after
    )


def without_hierarchies(
    schema: Schema, columns: Iterable[str], kinds: Collection[Kind] = tuple(Kind)
) -> dict[str, Attribute]:
    """The columns of these kinds whose hierarchies do not list what is released, without them."""
    changed = {}
    for name in columns:
        attribute = schema.attributes.get(name)
        if attribute is not None and attribute.hierarchy is not None and attribute.kind in kinds:
            changed[name] = dataclasses.replace(attribute, hierarchy=None)
    return changed


def as_numbers(dataset: Table, name: str, groups: Labels) -> BucketColumn:
    """The number of the group, from 1."""
    numbers = [str(number + 1) for number in range(int(groups.max(initial=-1)) + 1)]
    texts = pl.Series(name, numbers, dtype=pl.String)
    after = dataclasses.replace(dataset.schema[name], kind=Kind.NOMINAL, hierarchy=None, order=None)
    return BucketColumn(texts.gather(groups), after)


def require_values(step: str, dataset: Table, columns: Sequence[str]) -> None:
    """Refuse missing values where a centre is to be taken."""
    gaps = {}
    for name in columns:
        if dataset.dtype(name).is_float():
            gaps[name] = dataset.column(name).fill_nan(None).null_count()
        else:
            gaps[name] = dataset.column(name).null_count()
    incomplete = [name for name, count in gaps.items() if count]
    if incomplete:
        raise SchemaError(
            f"{step}: {', '.join(incomplete[:8])} lack values, so their centre is unknown; release "
            "ranges, or fill the values first"
        )
