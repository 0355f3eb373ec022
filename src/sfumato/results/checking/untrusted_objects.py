"""Reading objects of other people's classes without trusting them: an attribute may be missing,
raise, or hold anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.fields import Document
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats

MOST_CELLS = 2_000_000
"""Tables that are larger are no results that anybody could look at."""


def peek(obj: object, path: str) -> Any:
    """An attribute, or one of an attribute; None where there is none or it cannot be had.

    >>> peek(3 + 4j, "real"), peek(3, "model.exog")
    (3.0, None)
    """
    if isinstance(obj, ReadOnce):
        return obj.parts.get(path)
    for name in path.split("."):
        try:
            obj = getattr(obj, name)
        except Exception:  # noqa: BLE001 - a property of somebody else's class may raise anything
            return None
        if obj is None:
            return None
    return obj


class ReadOnce:
    """The attributes of an object as they were read once, by their path: an object that answers
    differently the next time cannot show one value to a check and another one to the file.
    """

    def __init__(self, parts: Document) -> None:
        self.parts = parts


def read_once(obj: object, paths: Sequence[str]) -> ReadOnce:
    """Some attributes of an object, each read a single time and copied."""
    parts: Document = {}
    for path in paths:
        part = peek(obj, path)
        if path.endswith((".index", "_names")) or path == "feature_names_in_":
            parts[path] = names_of(part)
            continue
        array = array_of(part)
        parts[path] = part if array is None else array.copy()
    return ReadOnce(parts)


def array_of(obj: object) -> Floats | None:
    """Numbers as an array of floats; None for what holds none."""
    if obj is None:
        return None
    try:
        return np.asarray(obj, dtype=np.float64)
    except Exception:  # noqa: BLE001 - whatever __array__ of somebody else's class raises
        return None


def vector_of(obj: object) -> Floats | None:
    """One row of numbers; None for what is none."""
    array = array_of(obj)
    # A table of one column or one row is a vector, too.
    if array is None or array.ndim > 2 or (array.ndim == 2 and min(array.shape) > 1):
        return None
    return array.reshape(-1)


def number_of(obj: Any) -> float | None:
    """One finite number; None for what is none."""
    if obj is None or isinstance(obj, bool | str):
        return None
    try:
        number = float(obj)
    except Exception:  # noqa: BLE001 - as above
        return None
    return number if np.isfinite(number) else None


def names_of(obj: Any) -> list[str] | None:
    """A list of names, such as those of coefficients; None where there is none."""
    try:
        if obj is None:
            return None
        return [str(name) for name in obj]
    except Exception:  # noqa: BLE001 - as above
        return None


def frame_of(output: object) -> pl.DataFrame | None:
    """An output as a polars frame, its index of pandas as columns; None for what is no frame.

    Columns of pandas with several levels get one name, the levels joined by ``_``.
    """
    if isinstance(output, pl.LazyFrame):
        raise ParameterError(
            "the output is a lazy frame; collect() it first, so that the released table is checked"
        )
    if isinstance(output, pl.Series):
        output = output.to_frame(output.name or "value")
    try:
        frame = nw.from_native(_without_index(output), eager_only=True)
    except Exception:  # noqa: BLE001 - no frame, or one that cannot say so
        return None
    if len(frame) * max(1, len(frame.columns)) > MOST_CELLS:
        raise SchemaError(
            f"the output has {len(frame):,} rows and {len(frame.columns):,} columns, too many for "
            "a table of results"
        )
    return Table(frame).to_polars()


def _without_index(output: Any) -> Any:
    """A pandas frame or series with its index as columns, unless it only counts rows."""
    if peek(output, "index.names") is None or peek(output, "reset_index") is None:
        return output
    try:
        frame = output.to_frame() if peek(output, "columns") is None else output
        if peek(frame, "columns.nlevels") not in (None, 1):
            frame = _stack_named_levels(frame).copy()
        if peek(frame, "columns.nlevels") not in (None, 1):
            # ("cost", "mean") becomes cost_mean.
            frame.columns = ["_".join(filter(None, map(str, name))) for name in frame.columns]
        has_names = any(name is not None for name in frame.index.names)
        # A plain counter of rows is no result and would look like a column of numbers.
        if has_names or type(frame.index).__name__ != "RangeIndex":
            frame = frame.reset_index()
        else:
            frame = frame.copy()
        frame.columns = [str(name) for name in frame.columns]
        for name in frame.columns:
            if str(frame[name].dtype) == "object":
                frame[name] = _as_one_type(frame[name].tolist())
        return frame
    except Exception:  # noqa: BLE001 - an index that cannot be made a column
        return output


def _stack_named_levels(frame: Any) -> Any:
    """A pandas cross table of several statistics with the levels of its columns that have a name
    (they are values of that column) as parts of its rows.
    """
    levels = [name for name in frame.columns.names if isinstance(name, str)]
    # Where all levels have names, or none, nothing tells statistics from labels.
    if not levels or len(levels) == frame.columns.nlevels:
        return frame
    return frame.stack(levels, future_stack=True)


def _as_one_type(values: list[Any]) -> list[Any]:
    """Values of a column that mixes numbers and text, as ``describe()`` gives them: numbers where
    all are, else text; a missing value stays missing.
    """
    present = [value for value in values if not _is_missing(value)]
    kinds = {type(value) for value in present}
    if all(issubclass(kind, str) for kind in kinds) or bool in kinds:
        return values
    convert: type = str
    if all(number_of(value) is not None for value in present):
        convert = float
    return [None if _is_missing(value) else convert(value) for value in values]


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def across_of(output: object) -> str | None:
    """The column that the columns of a pandas cross table are values of."""
    name = peek(output, "columns.name")
    return name if isinstance(name, str) else None
