"""Tables whose types, texts and layout follow from the recipe alone: what a certified ε needs.

A column of ages is one of whole numbers until one person's is 20.5; a reader finds a decimal comma
because one cell has one; a hierarchy refuses a value that one record holds. Each of that tells of
one record, and no noise hides it. So a recipe with a step that accounts for an ε is given its table
in a form that no record decides. Every cell is read for itself:

- kind *numeric*, and columns with ``bounds`` or that a step computes with: a double; what is no
  finite number is missing, and what lies outside of the declared ``bounds`` (or the ends of the
  hierarchy) becomes the nearest of them;
- kind *date*: the text of the day, ``2024-05-31``, without the time of day;
- all others: text, numbers among it in their shortest spelling; an empty text, or one that no file
  can hold, is missing;
- what the ``domain``, the ``order`` or the hierarchy of the column does not know is missing.

Columns stand in the order of the recipe, in a frame of polars whatever the table was given as, and
a file is written in UTF-8 with commas, points and a header unless the recipe says otherwise.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import polars as pl

from sfumato.core.encoding import encode, label, mapped_text, shortest_spelling
from sfumato.core.hierarchy import ValueByValue, is_fixed
from sfumato.core.schema import Kind, Role
from sfumato.data.table.form import LAYOUT, Form
from sfumato.data.table.inference import is_identifier_name
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Attribute
    from sfumato.core.table import Table

LONGEST = 32_767
"""The longest text that every format holds."""
LARGEST = 1e100
"""A number as large as that is none: its square could not be told."""
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""Decimals, which have several spellings; ``01`` is a code."""
DAY = re.compile(r"(\d{4}-\d{2}-\d{2})[ T]\d.*", re.ASCII | re.DOTALL)


def in_fixed_form(dataset: Table, recipe: Recipe) -> Table:
    """The table in the form that the recipe alone decides; see the module."""
    names = [name for name in recipe.schema.attributes if name in dataset.columns]
    computed = {name for step in recipe.steps for name in step.numbers(recipe.schema)}
    dropped = set(recipe.schema.dropped_columns) - {
        name for step in recipe.steps for name in step.claims
    }
    columns = {name: _cells(dataset, name) for name in names}
    digest = _digest(dataset, columns)
    mark = dataset.source.intake.decimal or "."
    for name, column in columns.items():
        if name not in dropped:
            is_number = name in computed
            columns[name] = _fixed(column, recipe.schema[name], mark, number=is_number)
    layout = {}
    for part in LAYOUT:
        layout[part] = getattr(dataset.source.intake, part)
        if layout[part] is None:
            layout[part] = getattr(Form(), part)
    source = dataclasses.replace(dataset.source, digest=digest, labels={}, **layout)
    # other frames have no whole numbers beside gaps
    frame = nw.from_native(pl.DataFrame(columns), eager_only=True)
    return type(dataset)(frame, source=source, origin=dataset.origin).with_schema(recipe.schema)


def _cells(dataset: Table, name: str) -> pl.Series:
    """A column as polars holds it; cells of different types, and lists, one by one as text."""
    try:
        column = dataset.column(name)
    except SchemaError:
        column = pl.Series(name, dataset.frame.get_column(name).to_list(), dtype=pl.Object)
    if column.dtype != pl.Object and not column.dtype.is_nested():
        return column
    return pl.Series(name, [_text(value) for value in column.to_list()], dtype=pl.String)


def _text(value: object) -> str | None:
    missing = value is None or value != value  # noqa: PLR0124 - NaN is no value
    return None if missing else label(value)


def _digest(dataset: Table, columns: dict[str, pl.Series]) -> str:
    """The digest of the table that was given."""
    try:
        return dataset.input_digest()
    except SchemaError:
        return dataset.with_columns(columns).input_digest()


def _fixed(column: pl.Series, attribute: Attribute, mark: str, *, number: bool) -> pl.Series:
    rules = None
    if attribute.hierarchy is not None and is_fixed(attribute.hierarchy):
        rules = ValueByValue(attribute.hierarchy, encode(column).labels)
    if number or attribute.kind is Kind.NUMERIC or attribute.bounds is not None:
        return _numbers(column, attribute, mark, rules)
    spelled = _day if attribute.kind is Kind.DATE else shortest_spelling
    coded = attribute.has(Role.DROP) or is_identifier_name(column.name)
    lists = [
        set(value_list)
        for value_list in (attribute.domain, attribute.order)
        if value_list is not None
    ]

    def keep_known(text: str | None) -> str | None:
        if text is None or not _storable(text):
            return None
        if not coded:
            text = spelled(text)
        is_known = all(text in values for values in lists) and (rules is None or rules.knows(text))
        return text if is_known else None

    return mapped_text(column, keep_known)


def _storable(text: str) -> bool:
    return bool(text) and "\0" not in text and len(text) <= LONGEST


def _day(text: str) -> str:
    match = DAY.fullmatch(text)
    return text if match is None else match[1]


def _numbers(
    column: pl.Series, attribute: Attribute, mark: str, rules: ValueByValue | None
) -> pl.Series:
    """A column of doubles within its bounds."""
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64)
    else:
        encoded = encode(column)
        numbers = pl.Series(
            column.name, [_number(text, mark) for text in encoded.labels], dtype=pl.Float64
        )
        values = numbers.gather(encoded.codes)
    values = values.set(~values.is_finite() | (values.abs() >= LARGEST), None) + 0.0  # -0.0 is 0.0
    if attribute.bounds is not None:
        values = values.clip(*attribute.bounds)
    if rules is None:
        return values.alias(column.name)
    values = values.clip(*rules.hierarchy.ends)
    encoded = encode(values)
    is_number = pl.Series(
        [text is not None and rules.knows(text) for text in encoded.labels], dtype=pl.Boolean
    )
    return values.set(~is_number.gather(encoded.codes), None).alias(column.name)


def _number(text: str | None, mark: str) -> float | None:
    """A number as it is written with a decimal mark, the other mark between thousands or, where no
    thousands can be, in its place.

    >>> (
    ...     _number("1,234.5", "."),
    ...     _number("1.234,5", ","),
    ...     _number("20,5", "."),
    ...     _number("n/a", "."),
    ...     _number("1e999", "."),
    ... )
    (1234.5, 1234.5, 20.5, None, inf)
    """
    if text is None:
        return None
    bare, between = text.strip(), "," if mark == "." else "."
    if re.fullmatch(rf"[+-]?\d{{1,3}}(\{between}\d{{3}})+(\{mark}\d+)?", bare, re.ASCII):
        bare = bare.replace(between, "")
    if mark not in bare and bare.count(between) == 1:
        bare = bare.replace(between, mark)
    bare = bare.replace(mark, ".")
    return float(bare) if NUMBER.fullmatch(bare) else None


def without_hierarchies(dataset: Table, columns: Sequence[str]) -> Table:
    """The table whose columns are what they are: counting them needs no hierarchy, which could
    refuse a value.
    """
    schema = dataset.schema
    for name in columns:
        schema = schema.replace(name, hierarchy=None)
    return dataset.with_schema(schema)
