"""Where the values of a column lie: in an order, on a scale or in a tree. Distances between
distributions need one of them.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.hierarchy import bind
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def axis_problem(column: str, attribute: Attribute, distance: str) -> str | None:
    """What keeps a column from being ordered (``ordered``) or measured (``numeric``), or None."""
    kind = attribute.kind
    if distance == "numeric" and kind is not Kind.NUMERIC:
        return f"the numeric distance needs a column of kind numeric; {column!r} is {kind}"
    if distance == "ordered" and kind is Kind.ORDINAL and attribute.order is None:
        return f"the ordered distance needs the order of {column!r}; list its values under order"
    if distance == "ordered" and kind not in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL):
        return (
            f"the ordered distance needs a column of kind numeric, date or ordinal; {column!r} is"
            f" {kind}"
        )
    return None


def sort_keys(values: Sequence[str], column: str, attribute: Attribute) -> list[Any]:
    """What to sort the values by: numbers, moments, or ranks in the order of the schema."""
    if attribute.kind is Kind.NUMERIC:
        return _convert_values(
            values,
            _number,
            f"column {column!r} is numeric, but {{}} of its values are not numbers; "
            "correct them or make them missing",
        )
    if attribute.kind is Kind.DATE:
        wrong = (
            f"column {column!r} is a date, but {{}} of its values are not written "
            "year-month-day; correct them or make them missing"
        )
        return _convert_values(values, datetime.datetime.fromisoformat, wrong)
    rank = {value: i for i, value in enumerate(attribute.order or ())}
    return _convert_values(
        values,
        rank.__getitem__,
        f"column {column!r} has {{}} values that its order does not list; add them",
    )


def _number(text: str) -> float:
    value = float(text)
    # Infinities and NaN have no place on an axis.
    if not math.isfinite(value):
        raise ValueError
    return value


def _convert_values(
    values: Sequence[str], convert: Callable[[str], Any], problem: str
) -> list[Any]:
    """All values converted, or an error that counts those that cannot be."""
    keys, wrong = [], 0
    for value in values:
        try:
            keys.append(convert(value))
        except (ValueError, KeyError):
            wrong += 1
    # All are counted before the refusal, and no value is told.
    if wrong:
        raise SchemaError(problem.format(wrong))
    return keys


def nodes_above(
    labels: Sequence[str | None], counts: Sequence[int], attribute: Attribute
) -> tuple[NDArray[np.int64], int]:
    """Per value the nodes of the column's hierarchy above it, from itself to below the top,
    numbered over all levels; and how many there are.
    """
    ladder = bind(attribute.hierarchy, labels, counts)
    position = {label: code for code, label in enumerate(ladder.labels[0])}
    leaves = np.array([position[label] for label in labels], dtype=np.int64)
    # Numbers of a level begin where those of the level below end: one number for each node.
    offsets = np.cumsum([0, *(len(level) for level in ladder.labels[:-1])])
    columns = [ladder.climb(0, level)[leaves] + offsets[level] for level in range(ladder.top)]
    return np.ascontiguousarray(np.stack(columns, axis=1)), int(offsets[-1])
