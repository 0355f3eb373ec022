"""Numbers of a text file read cell by cell, for recipes in which one record must not decide how
others are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.fields import Document

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table


def cell_by_cell(dataset: Table, recipe: Recipe) -> Table:
    """A table that was read as text, its numbers written alike; every cell is read for itself: what
    one row holds must not decide how all others are read.

    Whether a column of a CSV is one of numbers, and what its decimal mark is, is otherwise found
    from all of its rows: a single odd one would turn everybody's number into none, which no noise
    could hide.
    """
    mark = dataset.source.decimal or "."
    between = "." if mark == "," else ","
    grouped = rf"^[+-]?\d{{1,3}}(\{between}\d{{3}})+(\{mark}\d+)?$"
    columns: Document = {}
    for name, attribute in recipe.schema.attributes.items():
        if (
            attribute.bounds is not None
            and name in dataset.columns
            and dataset.column(name).dtype == pl.String
        ):
            cells = dataset.column(name)
            bare = cells.str.replace_all(between, "", literal=True)
            cleaned = pl.when(cells.str.contains(grouped)).then(bare).otherwise(cells)
            texts = pl.select(cleaned).to_series()
            stripped = texts.alias(name).str.strip_chars()
            columns[name] = stripped.str.replace(mark, ".", literal=True)
    if not columns:
        return dataset
    return dataset.with_columns(columns)
