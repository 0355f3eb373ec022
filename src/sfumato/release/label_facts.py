"""What the labels of a released table look like: how many, how wide, and whether they overlap.

Everything here follows from the released file alone, so that whoever has it can count it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.fields import Document
from sfumato.release.label_ranges import RecodedColumn, read_labels

if TYPE_CHECKING:
    from sfumato.core.table import Table

MOST_LABELS = 10_000
"""A column with more labels is described by their number only: it was hardly made coarser."""


def describe_labels(released: Table, kinds: Mapping[str, str]) -> dict[str, Document]:
    """By recoded quasi-identifier: the number of labels and, of numbers and dates, the narrowest
    and widest range and whether ranges overlap. ``kinds`` are those of the recipe.

    Of a table that an engine holds ``released`` are the combinations that were counted.
    """
    if not len(released):
        return {}
    facts: dict[str, Document] = {}
    for name in released.schema.quasi:
        # Numbers and dates that still are such were not recoded. Categories are text in most files.
        if released.dtype(name) not in (pl.String, pl.Categorical, pl.Enum):
            continue
        # The labels of an encoded column, without a pass over its rows.
        labels = [label for label in released.encoded(name).labels if label is not None]
        facts[name] = {"labels": len(labels)}
        if len(labels) <= MOST_LABELS:
            column = read_labels(name, pl.Series(labels, dtype=pl.String), kinds.get(name, ""))
            facts[name] |= _describe_ranges(column)
    return facts


def _describe_ranges(column: RecodedColumn) -> Document:
    """The widths and the overlap of ranges; nothing for categories."""
    if column.scale == "category":
        return {}
    places = column.labels.drop_nulls()
    if not places.height:
        return {}
    low, high = places["low"], places["high"]
    if column.scale == "date":
        widths = (high - low).dt.total_days().cast(pl.Float64) + 1
    else:
        widths = high - low
        # 20-29 holds ten whole numbers; [20, 30) ends before 30.
        is_whole = (low.round() == low) & (high.round() == high)
        is_closed = ~places["label"].str.ends_with(")")
        widths = widths + (is_whole & is_closed).cast(pl.Float64)
    begins, ends = low.to_physical().to_list(), high.to_physical().to_list()
    return {
        "scale": column.scale,
        "narrowest": widths.min(),
        "widest": widths.max(),
        "overlap": _overlaps(begins, ends, touching=column.scale == "date"),
    }


def _overlaps(begins: list[float], ends: list[float], *, touching: bool) -> bool:
    """Whether any two ranges overlap; they come in the order of where they begin.

    A range that overlaps an earlier one begins before the furthest end so far. Ranges of days hold
    both of their ends, so those that share a day overlap (``touching``); ranges of numbers may
    share an end that belongs to one of them.
    """
    furthest = ends[0]
    for begin, end in zip(begins[1:], ends[1:], strict=True):
        if begin < furthest or (touching and begin == furthest):
            return True
        furthest = max(furthest, end)
    return False
