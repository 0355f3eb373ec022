"""The story of a release: every column before and after, how columns go together, and where cells
are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.schema import UNITS, Role
from sfumato.methods.formulas.binning import (
    BinnedColumn,
    bin_column,
    distance_of_tables,
    table_after,
    table_before,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.release.table_release import TableRelease

HIDDEN = frozenset({Role.DROP, *UNITS, Role.WEIGHT})
"""Columns with these roles are not drawn: they identify people or belong to the survey's design."""
FEWEST = 5
"""A value that fewer records have is not named."""
MOST_CARDS = 40
MOST_IN_MAP = 12
MOST_ROWS = 1_000_000
"""Larger tables are drawn from a random sample of the records."""


def story_of(release: TableRelease, pair: TablePair) -> Document:
    """The story of a release as plain data; ``pair`` is its original and what is shared of it.

    Bins are named by data values: it is for the owner (see :func:`public_story`).
    """
    whole, pair = pair, _sampled(release, pair)
    columns = [c for c in pair.columns if not HIDDEN & set(pair.original.schema[c].roles)]
    card_columns = set(_by_role(pair, columns)[:MOST_CARDS])
    bins = {c: bin_column(pair, c, fewest=FEWEST) for c in columns if c in card_columns}
    return {
        "cards": [card_of(pair, b) for b in bins.values()],
        "maps": maps_of(
            pair, [bins[c] for c in _by_role(pair, columns)[:MOST_IN_MAP] if c in bins]
        ),
        "suppressed_cells": {c: _gone(whole, pair, c) for c in columns},
        "sampled": len(pair.released) < release.released.records,
    }


def public_story(story: Document) -> Document:
    """The part of a story that anyone may see: no bins, no data values, nothing of the original but
    distances.
    """
    cards = [
        {k: v for k, v in card.items() if k not in ("bins", "before", "after")}
        for card in story["cards"]
    ]
    maps = story["maps"]
    return {
        "cards": cards,
        "maps": {k: maps[k] for k in ("columns", "table_distance")},
        "suppressed_cells": story["suppressed_cells"],
    }


def _sampled(release: TableRelease, pair: TablePair) -> TablePair:
    if len(pair.released) <= MOST_ROWS:
        return pair
    rows = release.seed.stream("what the report draws").choice(
        len(pair.released), MOST_ROWS, replace=False
    )
    return pair.of_released(rows)


def card_of(pair: TablePair, column: BinnedColumn) -> Document:
    """One column before and after, as plain data."""
    losses = pair.losses(column.column)
    return {
        "column": column.column,
        "roles": [str(role) for role in pair.original.schema[column.column].roles],
        "loss": float(losses.mean()) if len(losses) else 0.0,
        "distance": column.distance,
        "bins": list(column.names),
        "before": column.before.tolist(),
        "after": column.after.tolist(),
    }


def _by_role(pair: TablePair, columns: list[str]) -> list[str]:
    """Quasi-identifiers and sensitive columns first, then the others: where there is no room for
    all, the others give way.
    """
    first = [
        c for c in columns if {Role.QUASI, Role.SENSITIVE} & set(pair.original.schema[c].roles)
    ]
    return [*first, *(c for c in columns if c not in first)]


def maps_of(pair: TablePair, columns: list[BinnedColumn]) -> Document:
    """For every two columns: how far their table moved, and how much they go together before and
    after.

    Both are counted over the same bins, a generalised cell spread over what it may stand for: a
    column that was not changed goes together with another such column as before, and generalising
    never makes columns go together more.
    """
    tables, before, after = [], [], []
    for i, column in enumerate(columns):
        for earlier in columns[:i]:
            then, now = table_before(column, earlier), table_after(column, earlier)
            tables.append(distance_of_tables(column, then, now))
            before.append(_cramers_v(then, _freedom(then)))
            after.append(_cramers_v(now, _freedom(then)))
    return {
        "columns": [c.column for c in columns],
        "table_distance": tables,
        "association_before": before,
        "association_after": after,
    }


def _freedom(table: NDArray[np.float64]) -> int:
    return int(min((table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum())) - 1


def _cramers_v(table: NDArray[np.float64], freedom: int) -> float:
    """Cramér's V: √(χ²/(n·freedom)), with the freedom of the original table so that before and
    after are comparable.
    """
    total = table.sum()
    if freedom < 1 or total <= 0:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    is_expected = expected > 0
    squared = float(((table - expected)[is_expected] ** 2 / expected[is_expected]).sum())
    return float(np.clip(np.sqrt(squared / total / freedom), 0.0, 1.0))


def _gone(pair: TablePair, sample: TablePair, column: str) -> float:
    """The share of the original cells of a column of which nothing is left: dropped records, and
    cells at the top.

    Dropped records are counted in the whole table; cells at the top in a sample of the released
    records, each for as many.
    """
    lost = float((sample.losses(column) >= 1 - 1e-12).sum())
    # the sample stands for all released records
    lost *= len(pair.released) / max(1, len(sample.released))
    return (lost + pair.suppressed) / max(1, len(pair.original))
