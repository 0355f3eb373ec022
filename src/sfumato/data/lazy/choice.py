"""Who should hold a table that a recipe releases: memory, or polars, by its rows, how distinct they
are, and the memory at hand.

The size of a file says little: numbers that hardly repeat pack well, and grouping them takes the
most. So rows are taken from the metadata of Parquet, and how many combinations of the
quasi-identifiers there are is told from a few thousand of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.core.evidence import needed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Span, accounts

FEW_ROWS = 1_000_000
"""So many rows are read into memory without a look at them."""
LOOKED_AT = 20_000
"""Rows that are looked at in each of three places: at the beginning, in the middle and at the end.
"""
PER_CELL_BYTE, PER_CLASS, PER_VALUE, START = 3, 350, 100, 300 << 20
"""Bytes a run takes for every byte of cells, class and distinct value, and to begin with.

From runs over 10⁶, 2·10⁶ and 10⁷ rows of seven columns: 0.6 GB where few of 10⁶ rows are distinct,
1.2, 1.7 and 4.9 GB where nearly all are.
"""
SHARE_OF_FREE = 0.5
"""Share of the memory at hand that a run may be expected to take: others want some, and the
estimate is rough.
"""


def engine_for(parts: Sequence[Path], recipe: Recipe, free: int) -> tuple[str, str] | None:
    """The engine that should hold Parquet files, and why; None: they are read into memory without a
    word.
    """
    frame = pl.scan_parquet(list(parts), glob=False, hive_partitioning=False)
    rows = int(frame.select(pl.len()).collect().item())
    if rows <= FEW_ROWS or not can_be_held(recipe):
        return None
    need, classes = bytes_needed(
        frame, rows, [name for name in recipe.schema.quasi if name in frame.collect_schema()]
    )
    if need <= SHARE_OF_FREE * free:
        return None
    why = (
        f"{rows:,} rows with about {classes:,} combinations of quasi-identifiers need about "
        f"{need / 2**30:,.1f} GB of memory, and {free / 2**30:,.1f} GB are free; --engine "
        "memory reads them anyway"
    )
    return "polars", why


def can_be_held(recipe: Recipe) -> bool:
    """Whether steps and promises do without all rows in memory.

    Never where a step accounts for an ε: rows and distinct values choose the engine, and no record
    may decide how a release looks.
    """
    if accounts(recipe.steps, recipe.schema):
        return False
    needs = needed(recipe.meet, recipe.schema)
    whole = any(step.span_in(recipe.schema) is Span.TABLE for step in recipe.steps)
    return not (whole or needs.pairs or needs.unmasked or needs.posteriors)


def bytes_needed(frame: pl.LazyFrame, rows: int, quasi: Sequence[str]) -> tuple[int, int]:
    """About how many bytes a run over a table takes in memory, and how many combinations its
    quasi-identifiers have.
    """
    # Three places, since sorted files have few distinct values in any one of them.
    offsets = sorted({0, max(0, rows // 2), max(0, rows - LOOKED_AT)})
    sample = pl.concat([frame.slice(offset, LOOKED_AT).collect() for offset in offsets])
    cells = sample.estimated_size() * rows // max(1, sample.height)
    classes = distinct_rows(sample, quasi, rows) if quasi else 0
    values = sum(distinct_rows(sample, [name], rows) for name in quasi)
    needed = START + PER_CELL_BYTE * cells + PER_CLASS * classes + PER_VALUE * values
    return int(needed), classes


def distinct_rows(sample: pl.DataFrame, columns: Sequence[str], rows: int) -> int:
    """About how many distinct combinations a table has of which some rows are known, after Chao
    (1984), bias-corrected.

    >>> distinct_rows(pl.DataFrame({"a": [1, 1, 2, 2]}), ["a"], 1000)
    2
    >>> distinct_rows(pl.DataFrame({"a": range(100)}), ["a"], 1000)
    1000
    >>> distinct_rows(pl.DataFrame({"len": [1, 1]}), ["len"], 1000)
    1
    """
    # Numbers for names: a column may be called as the one that holds the counts.
    numbered = [sample[name].alias(str(number)) for number, name in enumerate(columns)]
    times = pl.DataFrame(numbered).group_by(pl.all()).len()["len"]
    # Chao's estimate from values seen once (f1) and twice (f2): d + f1 (f1 - 1) / (2 (f2 + 1)).
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    return min(rows, len(times) + once * (once - 1) // (2 * (twice + 1)))
