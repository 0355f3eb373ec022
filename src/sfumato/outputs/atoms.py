"""Combinations of cells of several tables: which of them could hold a record, for all that anybody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.outputs.beside import TableMemory
    from sfumato.outputs.cells import Dimension
    from sfumato.outputs.table import MagnitudeTable

MOST_ATOMS = 20_000
"""Combinations of cells up to which those without a record are unknowns too."""


def leaves(dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    """How many codes each column has at its lowest level."""
    return tuple(len(one.ancestors[0]) for one in dimensions)


def _values(memory: TableMemory, table: MagnitudeTable, rows: NDArray[np.int64], at: int) -> NDArray[np.bool_]:
    """Lowest codes of a column by the values that records have in it: whether the value has that code."""
    column = memory.dataset.encoded(table.dimensions[at].column)
    found = np.zeros((len(table.dimensions[at].ancestors[0]), len(column.labels)), dtype=bool)
    found[table.contributions.codes[at], column.codes[rows]] = True
    return found


def _decided(
    memory: TableMemory, table: MagnitudeTable, own: NDArray[np.int64], other: NDArray[np.int64]
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Per column of a table, of which of its lowest codes everybody knows that such records are in another table, and of which that they are not.

    Readers are told by what condition records were chosen: where a column decides it, whoever knows the value knows the rest.
    """
    found = []
    for at, one in enumerate(table.dimensions):
        column = memory.dataset.encoded(one.column)
        count = np.bincount(column.codes, minlength=len(column.labels))
        inside = np.bincount(column.codes[other], minlength=len(column.labels))
        never, always = inside == 0, inside == count
        value = _values(memory, table, own, at)
        there = value.any(axis=1)
        whole = bool((never | always)[count > 0].all())
        found.append((there & whole & ~(value & ~always).any(axis=1), there & ~(value & ~never).any(axis=1)))
    return found


def _sure(
    decided: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    codes: Sequence[NDArray[np.int64]],
    own: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The cells of the lowest level whose records are known to be in another table, and known not to be."""
    inside = np.logical_or.reduce([one[code] for (one, _), code in zip(decided, codes, strict=True)])
    outside = np.logical_or.reduce([one[code] for (_, one), code in zip(decided, codes, strict=True)])
    return inside & (own >= 0), outside & (own >= 0)


def with_empty(
    memory: TableMemory,
    tables: Sequence[MagnitudeTable],
    rows: Sequence[NDArray[np.int64]],
    distinct: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The atoms, and after them the combinations of cells that could hold a record and do not: an intruder does not know that they are empty.

    Where there are too many they are left out, as if the intruder knew.
    """
    joined = np.zeros((1, 0), dtype=np.int64)
    values = [
        [_values(memory, t, own, at) for at in range(len(t.dimensions))] for t, own in zip(tables, rows, strict=True)
    ]
    for number, table in enumerate(tables):
        own = np.unique(distinct[:, number])  # −1 among them where a record is not in the table
        if len(joined) * len(own) > MOST_ATOMS * 50:
            return distinct
        fits = np.ones((len(joined), len(own)), dtype=bool)
        mine = np.unravel_index(own.clip(min=0), leaves(table.dimensions))
        for before in range(number):
            other = tables[before]
            theirs = np.unravel_index(joined[:, before].clip(min=0), leaves(other.dimensions))
            for sure, codes, kind, rest in (
                (_decided(memory, table, rows[number], rows[before]), mine, own[None, :], joined[:, before][:, None]),
                (_decided(memory, other, rows[before], rows[number]), theirs, joined[:, before][:, None], own[None, :]),
            ):
                inside, outside = _sure(sure, codes, kind.reshape(-1))
                fits &= ~((inside.reshape(kind.shape) & (rest < 0)) | (outside.reshape(kind.shape) & (rest >= 0)))
            for at, one in enumerate(table.dimensions):
                for place, two in enumerate(other.dimensions):
                    if one.column == two.column:
                        shared = values[before][place].astype(np.int64) @ values[number][at].T.astype(np.int64) > 0
                        free = (joined[:, before] < 0)[:, None] | (own < 0)[None, :]
                        fits &= shared[np.ix_(theirs[place], mine[at])] | free
        left, right = np.nonzero(fits)
        joined = np.column_stack([joined[left], own[right]])
        if len(joined) > MOST_ATOMS:
            return distinct
    joined = joined[(joined >= 0).any(axis=1)]
    known = {one.tobytes() for one in np.ascontiguousarray(distinct)}
    more = [one for one in np.ascontiguousarray(joined) if one.tobytes() not in known]
    return np.concatenate([distinct, np.array(more, dtype=np.int64).reshape(-1, len(tables))])
