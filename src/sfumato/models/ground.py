"""How far apart two values of a column are: their order, their scale or their tree.

What is worked out here depends on the values of a column alone and is kept with its counts, so that a search over
thousands of nodes does it once.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sfumato.core.hierarchy import bind
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import Counts

T = TypeVar("T")


def axis_problem(column: str, attribute: Attribute, distance: str) -> str | None:
    """What keeps a column from being ordered (``ordered``) or measured (``numeric``), or None."""
    kind = attribute.kind
    if distance == "numeric" and kind is not Kind.NUMERIC:
        return f"the numeric distance needs a column of kind numeric; {column!r} is {kind}"
    if distance == "ordered" and kind is Kind.ORDINAL and attribute.order is None:
        return f"the ordered distance needs to know the order of {column!r}; list its values under order"
    if distance == "ordered" and kind not in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL):
        return f"the ordered distance needs a column of kind numeric, date or ordinal; {column!r} is {kind}"
    return None


def axis(
    counts: Counts,
    reference: NDArray[np.int64],
    column: str,
    attribute: Attribute,
    distance: str,
    *,
    only_reference: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank of every value, and the position of every rank on the axis.

    Under the ordered distance values are 1 apart, under the numeric one they lie where they are. With ``only_reference``
    values that the reference lacks do not stretch the axis.
    """
    order, places, values = _once(
        counts, (attribute.kind, attribute.order), lambda: _measured(counts, reference, column, attribute)
    )
    occurring = reference[order] > 0 if only_reference else np.ones(len(order), dtype=np.bool_)
    if distance == "numeric":
        inside = values[occurring]
        return places, np.clip(values, inside[0], inside[-1])
    return places, np.maximum(np.cumsum(occurring) - 1.0, 0.0)


def tree(counts: Counts, attribute: Attribute) -> tuple[NDArray[np.int64], int]:
    """Per value the nodes above it, from itself to below the top, numbered over all levels; and how many there are."""
    return _once(counts, ("tree", id(attribute.hierarchy)), lambda: (*_nodes(counts, attribute), attribute))[:2]


def _once(counts: Counts, key: Any, work: Callable[[], T]) -> T:
    if key not in counts.worked_out:
        counts.worked_out[key] = work()
    found: T = counts.worked_out[key]
    return found


def _measured(
    counts: Counts, reference: NDArray[np.int64], column: str, attribute: Attribute
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Codes from the lowest value to the highest, the rank of each code, and the ascending values (0 unless numeric)."""
    if None in counts.labels:
        code = counts.labels.index(None)
        missing = max(int(reference[code]), int(counts.total()[code]))
        raise SchemaError(
            f"column {column!r} has {missing:,} missing value(s), which have no place in an order; "
            "fill or drop them, or use the equal distance"
        )
    keys = _sort_keys([label for label in counts.labels if label is not None], column, attribute)
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    numeric = attribute.kind is Kind.NUMERIC
    return order, places, np.array([keys[code] if numeric else 0.0 for code in order], dtype=np.float64)


def _sort_keys(values: Sequence[str], column: str, attribute: Attribute) -> list[Any]:
    """What to sort the values by: numbers, moments, or ranks in the order of the schema."""
    if attribute.kind is Kind.NUMERIC:
        return _converted(values, _number, f"column {column!r} is numeric, but {{}} of its values are no numbers")
    if attribute.kind is Kind.DATE:
        wrong = f"column {column!r} is a date, but {{}} of its values are not written year-month-day"
        return _converted(values, datetime.datetime.fromisoformat, wrong)
    rank = {value: i for i, value in enumerate(attribute.order or ())}
    return _converted(values, rank.__getitem__, f"column {column!r} has {{}} values that its order does not list")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _converted(values: Sequence[str], convert: Callable[[str], Any], problem: str) -> list[Any]:
    """All values converted, or an error that counts those that cannot be."""
    keys, wrong = [], 0
    for value in values:
        try:
            keys.append(convert(value))
        except (ValueError, KeyError):
            wrong += 1
    if wrong:
        raise SchemaError(problem.format(wrong))
    return keys


def _nodes(counts: Counts, attribute: Attribute) -> tuple[NDArray[np.int64], int]:
    ladder = bind(attribute.hierarchy, counts.labels, counts.total().tolist())
    position = {label: code for code, label in enumerate(ladder.labels[0])}
    leaves = np.array([position[label] for label in counts.labels], dtype=np.int64)
    offsets = np.cumsum([0, *(len(labels) for labels in ladder.labels[:-1])])
    columns = [ladder.climb(0, level)[leaves] + offsets[level] for level in range(ladder.top)]
    return np.ascontiguousarray(np.stack(columns, axis=1)), int(offsets[-1])
