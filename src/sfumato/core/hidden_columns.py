"""Columns that steps must not see: what a later step randomises says nothing through them.

A step that adds noise to a confidential column promises an ε given all other columns. That would be
worth nothing if the steps before it made classes by looking at the confidential values. So while
these steps run, the column is empty; it is filled again right before it is randomised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.step import VALUES, Effect
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.schema import Schema
    from sfumato.core.step import Step
    from sfumato.core.table import Table


def hidden_columns(steps: Sequence[Step], schema: Schema) -> tuple[frozenset[str], ...]:
    """Per step the columns that it does not see.

    A column is hidden from all steps before the first one that randomises it, where each of these
    either says which columns it masks (and not this one) or changes quasi-identifiers only. It is
    hidden from all of them or from none. A quasi-identifier is not hidden: classes are made of it.
    """
    hidden: list[set[str]] = [set() for _ in steps]
    for name, index in randomised_columns(steps, schema).items():
        if name in schema.quasi:
            continue
        earlier = steps[:index]
        if all((step.recodes_quasi or step.masks) and name not in step.masks for step in earlier):
            for i in range(index):
                hidden[i].add(name)
    return tuple(frozenset(names) for names in hidden)


def randomised_columns(steps: Sequence[Step], schema: Schema) -> dict[str, int]:
    """Columns that some step randomises and accounts for given all others, and the place of the
    first such step.
    """
    first: dict[str, int] = {}
    for index, step in enumerate(steps):
        account = step.account(schema)
        if account.effect is Effect.ACCOUNTED and account.neighbours == VALUES:
            for name in account.columns or ():
                first.setdefault(name, index)
    return first


def hide_columns(dataset: Table, names: Iterable[str]) -> Table:
    """The table in which these columns are empty."""
    empty = {}
    for name in names:
        column = dataset.column(name)
        empty[name] = pl.Series(name, [None] * len(dataset), dtype=column.dtype)
    return dataset.with_columns(empty) if empty else dataset


def fill_columns(dataset: Table, original: Table, names: Iterable[str]) -> Table:
    """The table with the values of the original in these columns, which were hidden.

    Raises:
        SchemaError: a step changed a hidden column after all, or left no trace of who is who.
    """
    if dataset.origin is None:
        rows = np.arange(len(dataset), dtype=np.int64)
    else:
        rows = dataset.origin
    columns = {}
    for name in names:
        gone = name not in dataset.columns or dataset.schema[name] != original.schema[name]
        if gone or dataset.column(name).null_count() < len(dataset) or (rows < 0).any():
            raise SchemaError(
                f"a step before the one that randomises {name} changed it; put that step after it"
            )
        columns[name] = original.column(name).gather(rows).alias(name)
    return dataset.with_columns(columns) if columns else dataset
