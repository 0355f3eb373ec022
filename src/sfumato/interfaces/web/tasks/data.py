"""Tasks about the table itself: open it, look at its columns, show its rows, propose what its
columns are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.classes import count_classes
from sfumato.core.encoding import label
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.data import examples
from sfumato.data.table.values import with_values
from sfumato.errors import UnreadableInput
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposal import ColumnProposal, Proposal
from sfumato.guidance.profiling.proposal import propose as look_at_all
from sfumato.guidance.profiling.proposed_hierarchies import suggest as suggest_hierarchy
from sfumato.guidance.profiling.yaml_text import recipe_text
from sfumato.interfaces.api import profile_table, read
from sfumato.interfaces.arx_import import read_arx
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.table_locations import (
    absolute_location,
    one_table_hint,
    parts_in,
    require_one_table,
)
from sfumato.interfaces.web.uploads import at_home

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench

# Bars of the small picture of a column.
BARS = 24
# Rows of a page.
ROWS = 50
# Characters of a cell that are shown.
LONGEST = 200


def open_data(
    bench: Bench,
    progress: Progress,
    *,
    path: str | None,
    example: str | None,
    options: Fields,
    recipe: Recipe | None = None,
) -> Fields:
    """Read a table as it was said, else as the recipe says, or make a bundled example; what was
    opened, in counts.
    """
    progress(0.0, "reading")
    table = examples.load(example) if example is not None else _read(str(path), recipe, options)
    bench.table = table
    bench.store.clear()
    source = table.source
    kind, names = ("", []) if path is None else parts_in(path)
    return {
        "name": example or source.name,
        "records": table.records,
        "columns": list(table.columns),
        "digest": source.digest,
        "format": source.format,
        "notes": list(source.notes),
        "parts": {"kind": kind, "names": names},
        "sheet": source.intake.sheet,
        "read_as": {
            name: getattr(source, name) for name in ("delimiter", "encoding", "decimal", "header")
        },
    }


def _read(path: str, recipe: Recipe | None, options: Fields) -> Table:
    require_one_table(path)
    try:
        return read(path, engine="memory", recipe=recipe, **options).in_memory("the workbench")
    except UnreadableInput as error:
        if Path(path).is_dir():
            raise UnreadableInput(
                f"{one_table_hint(Path(path), 'is not a table in parts')} ({error})"
            ) from None
        raise


def look_at_path(bench: Bench, progress: Progress, *, path: str) -> Fields:
    """What stands at a path before it is opened: the ``path`` as it is opened, the ``kind`` of what
    must be chosen in it, and the ``names``.
    """
    progress(0.0, "looking")
    location = absolute_location(path)
    require_one_table(location)
    kind, names = parts_in(location)
    if kind and not names:
        raise UnreadableInput(f"{path} holds no {kind}")
    return {"path": location, "kind": kind, "names": names}


def import_arx(bench: Bench, progress: Progress, *, path: str, folder: str) -> Fields:
    """Take over a project of ARX into a new folder: where its ``table`` is (None: it has none), its
    ``recipe``, its ``title``, and what was ``not_taken``.
    """
    progress(0.0, "reading the project")
    content = read_arx(at_home(path))
    written = content.write(folder)
    table = written / "data.csv"
    return {
        "table": str(table) if table.is_file() else None,
        "recipe": recipes.load(written / "recipe.yaml"),
        "title": content.name or Path(path).name,
        "not_taken": list(content.not_taken),
    }


def propose(bench: Bench, progress: Progress) -> Fields:
    """The proposed recipe, and why each column is what it is thought to be."""
    progress(0.0, "looking at the columns")
    proposal = profile_table(bench.data)
    bench.keep("proposal", proposal)
    reasons = {column.name: list(column.reasons) for column in proposal.columns}
    return {"recipe": recipes.parse(recipe_text(proposal)), "reasons": reasons}


def describe_table(bench: Bench, recipe: Recipe) -> Table:
    """The table with what a recipe says of its columns, its values read as the recipe says; columns
    may still be undecided.
    """
    data = bench.data
    intake = data.source.intake.over(recipe.intake)
    if intake.about_values != data.source.intake.about_values:
        data = bench.recall_or_make(
            f"values {intake.about_values!r}", lambda: with_values(data, intake)
        )
    return data.with_schema(recipe.schema)


# A card for every column.


def columns(bench: Bench, progress: Progress) -> Fields:
    """What is known of every column and what it is guessed to be: counts, words of ours and shapes,
    no value of it.
    """
    proposal = _proposal(bench)
    cards = [_card(column, bench.data) for column in proposal.columns]
    codes = {name: list(values) for name, values in proposal.missing_codes.items()}
    return {"columns": cards, "missing_codes": codes}


def _proposal(bench: Bench) -> Proposal:
    data = bench.data
    proposal: Proposal = bench.recall_or_make(
        "proposal", lambda: look_at_all(data.to_polars(), data.source)
    )
    return proposal


def _card(column: ColumnProposal, data: Table) -> Fields:
    return {
        "name": column.name,
        "label": str(data.source.labels.get("variables", {}).get(column.name, "")),
        "roles": [str(role) for role in column.roles],
        "kind": str(column.kind),
        "reasons": list(column.reasons),
        "missing": round(column.missing_share * len(data)),
        "distinct": column.distinct,
        "bars": shape_of(_as_its_kind(data.column(column.name), column)),
    }


def _as_its_kind(values: pl.Series, column: ColumnProposal) -> pl.Series:
    """Text that holds numbers or dates as what it says, where all of it says so: its picture goes
    from low to high.
    """
    if values.dtype != pl.String or column.kind not in (Kind.NUMERIC, Kind.DATE):
        return values
    if column.kind is Kind.NUMERIC:
        read = values.str.strip_chars().cast(pl.Float64, strict=False)
    else:
        form = (column.hierarchy or {}).get("dates", {}).get("format")
        read = values.str.to_date(form or "%Y-%m-%d", strict=False)
    if read.null_count() == values.null_count():
        return read
    return values


def shape_of(values: pl.Series) -> list[float]:
    """How the values of a column are spread: bars from 0 to 1, of numbers and dates from low to
    high, of others from common to rare.

    The outermost hundredths of numbers are left out, so that one outlier does not flatten the rest.
    Empty without values.

    >>> shape_of(pl.Series(["a", "b", "a", None]))
    [1.0, 0.5]
    """
    present = values.drop_nulls()
    ordered = present.dtype.is_numeric() or present.dtype.is_temporal()
    counts = _histogram(present) if ordered else _commonest(present)
    largest = max(counts, default=0)
    if largest:
        return [round(count / largest, 3) for count in counts]
    return []


def _histogram(values: pl.Series) -> list[int]:
    numbers = values.to_physical().cast(pl.Float64, strict=False).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return []
    # one outlier would flatten all other bars
    low, high = np.quantile(numbers, [0.01, 0.99])
    whole = bool((numbers == np.floor(numbers)).all())
    bins = min(BARS, int(high - low) + 1) if whole else BARS
    ends = (low, high) if high > low else (low - 0.5, low + 0.5)
    return [int(count) for count in np.histogram(numbers, bins=max(1, bins), range=ends)[0]]


def _commonest(values: pl.Series) -> list[int]:
    if values.dtype == pl.Boolean:
        values = values.cast(pl.String)
    counts = values.unique_counts().sort(descending=True)
    return [int(count) for count in counts.head(BARS)]


# What the columns say together, and what a column could become.


def alone(bench: Bench, progress: Progress, *, recipe: Recipe) -> Fields:
    """How many records the quasi-identifiers single out together, as they are in the table."""
    table = describe_table(bench, recipe)
    quasi = table.schema.quasi
    if not quasi:
        return {"columns": 0, "alone": 0, "records": table.records}
    classes = count_classes(without_hierarchies(table))
    single = int(classes.records[classes.sizes == 1].sum())
    return {"columns": len(quasi), "alone": single, "records": classes.total}


def without_hierarchies(dataset: Table) -> Table:
    """The same table, its columns as they are: what is counted then does not depend on how they may
    be generalised.
    """
    plain = {
        n: dataclasses.replace(a, hierarchy=None) for n, a in dataset.schema.attributes.items()
    }
    return dataset.with_schema(Schema(plain))


def suggest(bench: Bench, progress: Progress, *, columns: Sequence[str]) -> Fields:
    """The hierarchy that would suit each of some columns, in the words of a recipe."""
    return {
        name: suggest_hierarchy(look_at(name, bench.data.column(name))).hierarchy
        for name in columns
    }


# Rows, a page at a time.


def rows(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    page: int,
    sort: str | None = None,
    descending: bool = False,
    revealed: Sequence[str] = (),
) -> Fields:
    """One page of rows; columns that may name a person are left out unless they are asked for by
    name.

    Those are direct identifiers, and columns nobody has decided on yet.
    """
    data = bench.data
    attributes = recipe.schema.attributes
    hidden = [n for n in data.columns if _names_people(attributes.get(n)) and n not in revealed]
    if sort in hidden:
        sort = None  # the order would tell what is not shown
    order = None
    if sort is not None:
        order = bench.recall_or_make(
            f"order {descending} {sort}", lambda: order_of(data, sort, descending)
        )
    pages = max(1, -(-len(data) // ROWS))
    page = min(max(page, 1), pages)
    positions = np.arange((page - 1) * ROWS, min(page * ROWS, len(data)))
    page_rows = data.frame[
        positions if order is None else order[positions].astype(np.int64)
    ].to_polars()
    cells = []
    for name in data.columns:
        values = None if name in hidden else list(map(_cell, page_rows[name].to_list()))
        cells.append(values)
    return {
        "columns": [{"name": name, "hidden": name in hidden} for name in data.columns],
        "numbers": ((positions if order is None else order[positions]) + 1).tolist(),
        "cells": cells,
        "page": page,
        "pages": pages,
        "records": len(data),
        "sort": sort,
    }


def _names_people(attribute: Attribute | None) -> bool:
    return attribute is None or attribute.has(Role.DROP) or attribute.has(Role.ASK)


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    words = label(value)
    if len(words) <= LONGEST:
        return words
    return words[: LONGEST - 1] + "…"


def order_of(data: Table, column: str, descending: bool) -> NDArray[np.uint32]:
    """The rows in the order of a column, missing last; equal ones stay in their order."""
    values = data.column(column)
    if column in data.coded:  # text that is held as codes: the rank of a label stands for it
        encoded = data.encoded(column)
        # ranks of a few labels are sorted faster than the texts of all rows
        labels = pl.Series(encoded.labels, dtype=pl.String)
        values = labels.rank("dense").gather(encoded.narrow.astype(np.uint32))
    ordered = pl.DataFrame({"v": values}).select(
        pl.arg_sort_by("v", descending=descending, nulls_last=True, maintain_order=True)
    )
    order: NDArray[np.uint32] = ordered.to_series().to_numpy()
    return order
