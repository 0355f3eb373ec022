"""Looking at objects of others without trusting them: an attribute may be missing, raise, or hold
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError

MOST_CELLS = 2_000_000
"""Tables that are larger are no results that anybody could look at."""


def peek(thing: Any, path: str) -> Any:
    """An attribute, or one of an attribute; None where there is none or it cannot be had.

    >>> peek(3 + 4j, "real"), peek(3, "model.exog")
    (3.0, None)
    """
    if isinstance(thing, ReadOnce):
        return thing.held.get(path)
    for name in path.split("."):
        try:
            thing = getattr(thing, name)
        except Exception:  # noqa: BLE001 - a property of somebody else's class may raise anything
            return None
        if thing is None:
            return None
    return thing


class ReadOnce:
    """What was read of an object, once: one that says something else the next time is asked no
    more.
    """

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held


def read_once(thing: Any, paths: Sequence[str]) -> ReadOnce:
    """Some attributes of an object, each read a single time and copied."""
    parts: dict[str, Any] = {}
    for path in paths:
        part = peek(thing, path)
        if path.endswith((".index", "_names")) or path == "feature_names_in_":
            parts[path] = names_of(part)
        else:
            array = None if part is None else array_of(part)
            parts[path] = part if array is None else array.copy()
    return ReadOnce(parts)


def array_of(thing: Any) -> np.ndarray[Any, Any] | None:
    """Numbers as an array of floats; None for what holds none."""
    try:
        array = np.asarray(thing, dtype=np.float64)
    except Exception:  # noqa: BLE001 - whatever __array__ of somebody else's class raises
        return None
    return array


def vector_of(thing: Any) -> np.ndarray[Any, Any] | None:
    """One row of numbers; None for what is none."""
    array = None if thing is None else array_of(thing)
    if array is None or array.ndim > 2 or (array.ndim == 2 and min(array.shape) > 1):
        return None
    return array.reshape(-1)


def number_of(thing: Any) -> float | None:
    """One finite number; None for what is none."""
    if thing is None or isinstance(thing, bool | str):
        return None
    try:
        number = float(thing)
    except Exception:  # noqa: BLE001 - as above
        return None
    return number if np.isfinite(number) else None


def names_of(thing: Any) -> list[str] | None:
    """A list of names, such as those of coefficients; None where there is none."""
    try:
        return None if thing is None else [str(one) for one in thing]
    except Exception:  # noqa: BLE001 - as above
        return None


def frame_of(output: Any) -> pl.DataFrame | None:
    """An output as a polars frame, its index of pandas as columns; None for what is no frame.

    Columns of pandas with several levels get one name, the levels joined by ``_``.
    """
    if isinstance(output, pl.LazyFrame):
        raise ParameterError(
            "the output is a lazy frame; collect() it first, so that what is checked is what is"
            " given out"
        )
    plain = (
        output.to_frame(output.name or "value")
        if isinstance(output, pl.Series)
        else _without_index(output)
    )
    try:
        frame = nw.from_native(plain, eager_only=True)
    except Exception:  # noqa: BLE001 - no frame, or one that cannot say so
        return None
    if len(frame) * max(1, len(frame.columns)) > MOST_CELLS:
        raise SchemaError(
            f"the output has {len(frame):,} rows and {len(frame.columns):,} columns: no table of"
            " results is as large"
        )
    return Table(frame).to_polars()


def _without_index(output: Any) -> Any:
    """A pandas frame or series with its index as columns, unless it only counts rows."""
    if peek(output, "index.names") is None or peek(output, "reset_index") is None:
        return output
    try:
        frame = output.to_frame() if peek(output, "columns") is None else output
        if peek(frame, "columns.nlevels") not in (None, 1):
            frame = _with_named_levels_below(frame).copy()
        if peek(frame, "columns.nlevels") not in (None, 1):
            frame.columns = [
                "_".join(str(part) for part in name if str(part)) for name in frame.columns
            ]
        named_index = (
            any(name is not None for name in frame.index.names)
            or type(frame.index).__name__ != "RangeIndex"
        )
        flat = frame.reset_index() if named_index else frame.copy()
        flat.columns = [str(name) for name in flat.columns]
        for name in [one for one in flat.columns if str(flat[one].dtype) == "object"]:
            flat[name] = _of_one_type(flat[name].tolist())
        return flat
    except Exception:  # noqa: BLE001 - an index that cannot be made a column
        return output


def _with_named_levels_below(frame: Any) -> Any:
    """A pandas cross table of several statistics with the columns that its columns are values of
    (levels with a name) as parts of its rows.
    """
    levels = [name for name in frame.columns.names if isinstance(name, str)]
    if not levels or len(levels) == frame.columns.nlevels:
        return frame
    return frame.stack(levels, future_stack=True)


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of a column that mixes numbers and text, as ``describe()`` gives them: numbers where
    all are, else text; nothing stays nothing.
    """
    nothing = [one is None or (isinstance(one, float) and np.isnan(one)) for one in values]
    present = [one for one, none in zip(values, nothing, strict=True) if not none]
    if all(isinstance(one, str) for one in present) or any(
        isinstance(one, bool) for one in present
    ):
        return values
    if all(number_of(one) is not None for one in present):
        return [None if none else float(one) for one, none in zip(values, nothing, strict=True)]
    return [None if none else str(one) for one, none in zip(values, nothing, strict=True)]


def across_of(output: Any) -> str | None:
    """The column that the columns of a pandas cross table are values of."""
    name = peek(output, "columns.name")
    return name if isinstance(name, str) else None
