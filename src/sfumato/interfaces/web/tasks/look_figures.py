"""Tables of figures of a release: which columns together single people out, and what each column
says before and after.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.blocks import Block, Cell, Paragraph, Share, TableBlock
from sfumato.core.encoding import numbers_of
from sfumato.core.words import number
from sfumato.interfaces.web.tasks.look import release_of

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench

# Sets of quasi-identifiers that are counted: all columns, each alone, and pairs up to so many sets.
MOST_SETS = 60
# Records times sets that are counted; of more, fewer pairs are.
MOST_WORK = 60_000_000


def look_combinations(bench: Bench, progress: Progress, *, of: int) -> list[Block]:
    """For sets of quasi-identifiers, the share of records that are unique by them, and of pairs of
    records that they distinguish, before and after.
    """
    release = release_of(bench, of)
    original, released = release.original, release.released
    quasi = original.schema.quasi
    if not quasi:
        return [Paragraph("No column is a quasi-identifier.")]
    sets = _sets_of(quasi, len(original))
    rows: list[tuple[Cell, ...]] = []
    for columns in sets:
        unique, separation = uniqueness(original, columns)
        cells: list[Cell] = [" + ".join(columns), Share(unique), Share(separation)]
        if set(columns) <= set(released.columns):
            cells += [Share(share) for share in uniqueness(released, columns)]
        else:
            cells += ["–", "–"]
        rows.append(tuple(cells))
    # the whole set stays first; of the others, those that single out most
    rows[1:] = sorted(rows[1:], key=lambda row: -_value(row[1]))
    header = ("columns", "unique before", "distinguished before", "unique", "distinguished")
    words = (
        "Unique: records that no other record equals in these columns. Distinguished: pairs of"
        " records that differ in them. A missing value counts as a value of its own."
    )
    return [Paragraph(words, "quiet"), TableBlock(header, tuple(rows))]


def _sets_of(quasi: Sequence[str], records: int) -> list[tuple[str, ...]]:
    """All columns together, each by itself, and pairs as far as counting them takes no long."""
    sets = [tuple(quasi)]
    if len(quasi) == 1:
        return sets
    sets += [(name,) for name in quasi]
    most = min(MOST_SETS, max(len(sets), MOST_WORK // max(1, records)))
    if len(quasi) > 2:
        sets += itertools.islice(itertools.combinations(quasi, 2), max(0, most - len(sets)))
    return sets


def _value(cell: Cell) -> float:
    return cell.value if isinstance(cell, Share) else 0.0


def uniqueness(table: Table, columns: Iterable[str]) -> tuple[float, float]:
    """The share of records that are unique by some columns, and the share of pairs of records that
    differ in them (separation; Motwani & Xu 2007).
    """
    records = len(table)
    if records == 0:
        return 0.0, 0.0
    classes = np.zeros(records, dtype=np.int64)
    for name in columns:
        codes = np.asarray(table.encoded(name).codes, dtype=np.int64)
        codes = codes - codes.min()
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    sizes = np.bincount(classes)
    unique = float(np.count_nonzero(sizes == 1)) / records
    if records == 1:
        return unique, 0.0
    alike = float((sizes * (sizes - 1)).sum()) / (records * (records - 1))
    return unique, 1.0 - alike


def look_summary(bench: Bench, progress: Progress, *, of: int) -> list[Block]:
    """Mean, spread, quantiles and distinct values of every column that is released, before and
    after.
    """
    release = release_of(bench, of)
    original, released = release.original, release.released
    rows: list[tuple[Cell, ...]] = []
    for change in release.columns:
        if change.distinct_after is None:
            continue
        for when, table in (("before", original), ("after", released)):
            if change.name in table.columns:
                distinct = change.distinct_after if when == "after" else change.distinct_before
                rows.append((change.name, when, distinct, *_figures(table, change.name)))
    header = ("column", "", "values", "missing", "mean", "spread", "25 %", "median", "75 %")
    words = (
        "Means and quantiles are those of numbers; labels such as 20-29 have none. Spread is the"
        " standard deviation."
    )
    return [Paragraph(words, "quiet"), TableBlock(header, tuple(rows))]


def _figures(table: Table, name: str) -> tuple[Cell, ...]:
    """Missing cells, and mean, spread and quartiles of a column of numbers."""
    missing: Cell = table.column(name).null_count()
    if not table.dtype(name).is_numeric():
        return (missing, *("–",) * 5)
    values: Any = numbers_of(table, name)
    values = values[~np.isnan(values)]
    if not len(values):
        return (missing, *("–",) * 5)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    figures = (values.mean(), values.std(), low, middle, high)
    return (missing, *(number(float(figure)) for figure in figures))
