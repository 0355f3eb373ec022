"""Which records a table is about: conditions on columns, joined by *and*."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|=|<|>|\bin\b)\s*(.+?)\s*")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclasses.dataclass(frozen=True)
class RecordCondition:
    """A column compared with a value (``=``, ``!=``, ``<`` …) or held against several (``in``)."""

    column: str
    how: str
    value: str

    def holds(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Per row whether it holds; a missing value fulfils nothing."""
        column = dataset.column(self.column)
        values = [one.strip() for one in self.value.split(",")] if self.how == "in" else [self.value]
        if column.dtype.is_numeric():
            wanted: list[Any] = [self._number(one) for one in values]
            column = column.cast(pl.Float64)
        else:
            wanted, column = list(values), column.cast(pl.String)
        found = column.is_in(wanted) if self.how == "in" else COMPARED[self.how](column, wanted[0])
        chosen: NDArray[np.bool_] = found.fill_null(False).to_numpy()
        return chosen

    def _number(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise ParameterError(f"column {self.column!r} holds numbers; compare it with a number")
        return number


def conditions(text: str) -> tuple[RecordCondition, ...]:
    """Conditions from their text.

    >>> conditions("year = 2024 and region in n1, n2")
    (RecordCondition(column='year', how='=', value='2024'), RecordCondition(column='region', how='in', value='n1, n2'))
    """
    parts = [CONDITION.fullmatch(part) for part in re.split(r"\s+and\s+", text)]
    if not parts or any(part is None for part in parts):
        raise ParameterError(
            "a condition is a column, one of = != < <= > >= in, and a value: 'year = 2024 and region in n1, n2'"
        )
    return tuple(RecordCondition(part[1], part[2], part[3]) for part in parts if part is not None)


def selected(dataset: Dataset, text: str) -> NDArray[np.int64]:
    """The rows that fulfil all conditions."""
    wanted = conditions(text)
    dataset.require([one.column for one in wanted])
    return np.flatnonzero(np.logical_and.reduce([one.holds(dataset) for one in wanted]))
