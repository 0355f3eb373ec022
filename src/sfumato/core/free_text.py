"""Free text: long values that hardly repeat, in which names and places can hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.labels import text_of, without_missing
from sfumato.core.schema import Kind, Role
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table

HARDLY_REPEATS = 0.3
"""Distinct values per cell from which values are no labels."""

MANY_WORDS = 6
SOME_WORDS, LONG = 4, 40
"""Words a value has on average; fewer where values are long."""


def words_of_free_text(distinct: pl.Series, cells: int) -> float | None:
    r"""Mean number of words of the distinct texts of a column if they are free text, else None.

    Free text hardly repeats (distinct texts / non-missing cells ≥ 0.3) and has 6 words a value on
    average, or 4 words and 40 characters. Labels, however long, repeat; codes and numbers have no
    words.

    >>> import polars as pl
    >>> words_of_free_text(
    ...     pl.Series(["came in late with a broken arm", "asked to be seen by Dr Who again"]), 2
    ... )
    7.5
    >>> words_of_free_text(pl.Series(["broken arm", "flu"]), 2)
    """
    if not cells or len(distinct) / cells < HARDLY_REPEATS:
        return None
    words = float(distinct.str.count_matches(r"\p{L}+").mean() or 0)  # type: ignore[arg-type]
    length = float(distinct.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    if words >= MANY_WORDS or (length >= LONG and words >= SOME_WORDS):
        return words
    return None


def is_free_text(values: pl.Series) -> bool:
    """Whether a column is free text; counted on all its values, so the order of the rows does not
    matter.
    """
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        return False
    present = values.drop_nulls()
    return words_of_free_text(present.unique(), present.len()) is not None


def refuse_free_text(dataset: Table) -> None:
    """Raise one :class:`SchemaError` that names every column of free text which is neither
    ``drop`` nor expressly allowed.

    What is in such a column nobody can promise, so it is not released by a guess or an oversight:
    ``free_text: true`` in the recipe says that somebody has read it.
    """
    texts = []
    for name, attribute in dataset.schema.attributes.items():
        if Role.DROP in attribute.roles or attribute.free_text:
            continue
        dtype = dataset.dtype(name)
        # Quasi-identifiers are encoded anyhow, and asked by their labels.
        if dtype == pl.String and (Role.QUASI in attribute.roles or name in dataset.coded):
            encoded = dataset.encoded(name)
            if None in encoded.labels:
                missing = int(encoded.counts[-1])
            else:
                missing = 0
            distinct = text_of(without_missing(encoded.labels))
            free = words_of_free_text(distinct, len(dataset) - missing) is not None
        else:
            free = is_free_text(dataset.column(name))
        if free:
            texts.append(name)
    if texts:
        refuse_texts(texts, dataset.source.name)


def refuse_declared_text(schema: Schema, table: str) -> None:
    """The same where no record may decide: by the kind that the recipe gives a column."""
    columns = schema.attributes.items()
    undeclared = []
    for name, a in columns:
        if a.kind is Kind.TEXT and not a.free_text and not a.has(Role.DROP):
            undeclared.append(name)
    refuse_texts(undeclared, table)


def refuse_texts(texts: Sequence[str], table: str) -> None:
    """Raise one :class:`SchemaError` that names columns of free text, if there are any."""
    if texts:
        raise SchemaError(
            f"{len(texts)} column(s) of {table} hold free text, which can contain names and "
            f"places: {', '.join(texts)}; give them role 'drop', or write 'free_text: true' beside "
            "the role if somebody has read them and they may be released"
        )
