"""Which columns a metric looks at, and when it has nothing to say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from sfumato.core.encoding import numbers_of
from sfumato.core.parameters import COLUMNS
from sfumato.core.schema import UNITS, Kind, Role
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.methods.utility.cell_averages import records_of
from sfumato.methods.utility.cells import cells_of

if TYPE_CHECKING:
    from sfumato.core.metric import Utility
    from sfumato.core.pair import TablePair

Columns = Annotated[
    tuple[str, ...] | None,
    COLUMNS,
    Field(min_length=1, description="columns to compare; by default all quasi-identifiers"),
]
NumericColumns = Annotated[
    tuple[str, ...] | None,
    COLUMNS,
    Field(min_length=1, description="columns to compare; by default all numeric ones"),
]
AllColumns = Annotated[
    tuple[str, ...] | None,
    COLUMNS,
    Field(
        min_length=1,
        description="columns to compare; by default all but identifiers and weights",
    ),
]
Weights = Annotated[
    dict[str, Annotated[float, Field(ge=0)]],
    COLUMNS,
    Field(description="importance of columns, 1 by default"),
]

NOT_DATA = frozenset({Role.DROP, *UNITS, Role.WEIGHT})
"""Roles of columns that say who a record is about or how much it counts, not what is known about
people.
"""

DEPENDS_ON_SIZE = (
    "it depends on how many records are equal, and only a sample of the table can be compared"
)
EMPTY = "the original table has no rows"
NOTHING = "nothing was released"


def why_not_sampled(pair: TablePair) -> str | None:
    """Why a metric of class sizes has nothing to say, or None: in a sample classes are smaller than
    in the table.
    """
    if pair.drawn_from is None:
        return None
    return DEPENDS_ON_SIZE


def quasi_of(pair: TablePair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, or the original's quasi-identifiers; those that were not released are
    lost as a whole.
    """
    if columns is None:
        return pair.original.schema.quasi
    pair.original.require(columns)
    return tuple(dict.fromkeys(columns))


def data_of(pair: TablePair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, or all of the original that describe people."""
    if columns is not None:
        return quasi_of(pair, columns)
    attributes = pair.original.schema.attributes
    return tuple(
        name
        for name in pair.original.columns
        if name in attributes and not NOT_DATA & set(attributes[name].roles)
    )


def numeric_of(pair: TablePair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, or all of the original that hold numbers."""
    if columns is not None:
        return quasi_of(pair, columns)
    candidates = []
    for name in data_of(pair, None):
        if pair.original.schema[name].kind is Kind.NUMERIC:
            candidates.append(name)
    return tuple(name for name in candidates if _holds_numbers(pair, name))


def _holds_numbers(pair: TablePair, name: str) -> bool:
    """Whether a column that is called numeric is: text in it is no reason to refuse a release."""
    if pair.original.dtype(name).is_numeric():
        return True
    if name in pair.released.columns:
        return pair.reading(name).scale == "number"
    try:
        numbers_of(pair.original, name)
    except SchemaError:
        return False
    return True


def shares_of(columns: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """The importance of every column, as shares of 1."""
    unknown = [name for name in weights if name not in columns]
    if unknown:
        raise SchemaError(
            f"weights: column {unknown[0]!r} is not compared.{did_you_mean(unknown[0], columns)}"
        )
    column_weights = {name: weights.get(name, 1.0) for name in columns}
    total = sum(column_weights.values())
    if columns and total <= 0:
        raise ParameterError("weights: at least one column must have a weight above 0")
    return {name: weight / total for name, weight in column_weights.items()}


def why_not_generalised(pair: TablePair, columns: Sequence[str]) -> str | None:
    """The reason a metric of generalization does not apply, or None."""
    if not records_of(pair):
        return EMPTY
    if not columns:
        return "no column has role quasi; name the columns to compare"
    changed = []
    for name in columns:
        cells = cells_of(pair, name)
        if cells is not None and not cells.fits.all():
            changed.append(name)
    if changed:
        return f"values were changed, not generalised, in {', '.join(changed)}"
    return None


def require_sense(metric: Utility, pair: TablePair) -> None:
    """Raise :class:`SchemaError` with the reason where a metric does not apply."""
    reason = metric.out_of_place(pair)
    if reason is not None:
        raise SchemaError(f"{metric.name} cannot be measured: {reason}")


# What the six dimensions of data quality share: completeness, uniqueness, timeliness, validity,
# accuracy, consistency.
#
# All are shares of 0 to 1 of which more is better. Suppressed records count with the others:
# nothing of them is complete, unique, timely, valid, accurate or consistent. ``raw`` is the same
# dimension of the original table, where it has one.


def why_not(pair: TablePair, names: tuple[str, ...]) -> str | None:
    """The reason a dimension cannot be measured, or None."""
    if not records_of(pair):
        return EMPTY
    if names:
        return None
    return "there is no column to compare; name some"


def share_of(pair: TablePair, good: float, cells: int = 1) -> float:
    """Good cells or records as a share of all that there were."""
    return min(1.0, good / (cells * max(1, records_of(pair))))
