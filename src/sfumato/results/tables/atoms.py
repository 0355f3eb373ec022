"""Combinations of cells of several tables: which of them could hold a record, for all that anybody
knows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Mask
    from sfumato.results.tables.cells import Dimension
    from sfumato.results.tables.published_tables import TableMemory
    from sfumato.results.tables.table import MagnitudeTable

MOST_ATOMS = 20_000
"""Combinations of cells up to which those without a record are unknowns too."""


def leaves(dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    """How many codes each column has at its lowest level."""
    return tuple(len(dimension.ancestors[0]) for dimension in dimensions)


def lowest(table: MagnitudeTable, group: Sequence[int], variables: Codes) -> Codes:
    """What the cells of the lowest level of one table hold, by the codes of its columns."""
    dimensions = [table.dimensions[at] for at in group]
    grid: Codes = variables.reshape([dimension.size for dimension in dimensions])
    # of all nodes only the values themselves: margins of the table are left out
    return grid[np.ix_(*(dimension.ancestors[-1] for dimension in dimensions))]


def _could_be(table: MagnitudeTable, open_to: Mask, occupied: Codes) -> Codes:
    """Combinations of values that a record of a table could have: those of its records, and all
    whose cells are ``open_to`` somebody, as far as readers know.
    """
    shape = leaves(table.dimensions)
    if np.prod([float(size) for size in shape]) > MOST_ATOMS:
        return occupied
    possible = np.ones(shape, dtype=bool)
    for group, variables in zip(table.places, table.variables, strict=True):
        is_open = open_to[lowest(table, group, variables)]
        # the axes of is_open stand in the order of the group, those of possible in that of the
        # table
        order = np.argsort(group)
        possible &= is_open.transpose(order).reshape(
            [shape[at] if at in group else 1 for at in range(len(shape))]
        )
    return np.union1d(occupied, np.flatnonzero(possible))


def _values(memory: TableMemory, table: MagnitudeTable, rows: Codes, at: int) -> Mask:
    """Lowest codes of a column by the values that records have in it: whether the value has that
    code.
    """
    column = memory.dataset.encoded(table.dimensions[at].column)
    # codes of two tables may group the values of one column differently; the values are what both
    # share
    occurs = np.zeros((len(table.dimensions[at].ancestors[0]), len(column.labels)), dtype=bool)
    occurs[table.contributions.codes[at], column.codes[rows]] = True
    return occurs


def _selection_keys(
    tables: Sequence[MagnitudeTable], combined: Codes, chosen_by: Collection[str]
) -> Codes:
    """What combinations of cells say of the columns that records were chosen by: per table the
    codes of these, −1 where they are not in it.
    """
    key_columns = []
    for table, kind in zip(tables, combined.T, strict=False):
        codes = np.unravel_index(kind.clip(min=0), leaves(table.dimensions))
        column_codes = [
            code
            for code, dimension in zip(codes, table.dimensions, strict=True)
            if dimension.column in chosen_by
        ]
        # a table without any of these columns still tells whether a record is in it: 0 or −1
        key_columns += [
            np.where(kind < 0, -1, code) for code in column_codes or [np.zeros_like(kind)]
        ]
    return np.stack(key_columns, axis=1)


def _rows_in(rows: Codes, known_rows: Codes) -> Mask:
    """Which rows of one array are rows of another."""
    _, number = np.unique(np.concatenate([known_rows, rows]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    inside: Mask = np.isin(number[len(known_rows) :], number[: len(known_rows)])
    return inside


def with_empty(
    memory: TableMemory,
    tables: Sequence[MagnitudeTable],
    rows: Sequence[Codes],
    distinct: Codes,
    chosen_by: Collection[str],
    open_to: Sequence[Mask],
) -> Codes:
    """The atoms, and after them the combinations of cells that could hold a record and do not: an
    intruder does not know that they are empty.

    Readers are told by what condition the records of a table were chosen. So they know of which
    tables one record can be, and what follows for it from its values in the columns ``chosen_by``:
    what no record of the source is, none is taken to be. ``open_to`` are the cells of every table
    that are not told to be empty. Where there are too many combinations they are left out, as if
    the intruder knew.
    """
    # one empty combination, to which the columns of the tables are added one by one
    joined = np.zeros((1, 0), dtype=np.int64)
    values = [
        [_values(memory, t, own, at) for at in range(len(t.dimensions))]
        for t, own in zip(tables, rows, strict=True)
    ]
    # records that are in some tables only, and in none of the first
    nowhere = np.full((1, len(tables)), -1, dtype=np.int64)
    for number, table in enumerate(tables):
        occupied = distinct[distinct[:, number] >= 0, number]
        # −1: not in the table
        own = np.append(-1, _could_be(table, open_to[number], np.unique(occupied)))
        # looked at before all pairs are made, which take the memory
        if len(joined) * len(own) > MOST_ATOMS * 50:
            return distinct
        fits = np.ones((len(joined), len(own)), dtype=bool)
        own_codes = np.unravel_index(own.clip(min=0), leaves(table.dimensions))
        for before in range(number):
            other_table = tables[before]
            other_codes = np.unravel_index(
                joined[:, before].clip(min=0), leaves(other_table.dimensions)
            )
            for at, dimension in enumerate(table.dimensions):
                for other_axis, other_dimension in enumerate(other_table.dimensions):
                    if dimension.column == other_dimension.column:
                        # two codes fit where at least one value of the column has both
                        shared = (
                            values[before][other_axis].astype(np.int64)
                            @ values[number][at].T.astype(np.int64)
                            > 0
                        )
                        # who is not in one of the two tables need not agree with it
                        free = (joined[:, before] < 0)[:, None] | (own < 0)[None, :]
                        fits &= shared[np.ix_(other_codes[other_axis], own_codes[at])] | free
        left_rows, right_rows = np.nonzero(fits)
        joined = np.column_stack([joined[left_rows], own[right_rows]])
        # combinations that no record has in the columns records were chosen by are dropped at once,
        # else the number of combinations would explode
        known_rows = np.concatenate([distinct, nowhere])[:, : number + 1]
        joined = joined[
            _rows_in(
                _selection_keys(tables, joined, chosen_by),
                _selection_keys(tables, known_rows, chosen_by),
            )
        ]
        if len(joined) > MOST_ATOMS:
            return distinct
    # −1 everywhere is in no table at all
    joined = joined[(joined >= 0).any(axis=1)]
    added_rows = joined[~_rows_in(joined, distinct)]
    return np.concatenate([distinct, added_rows])
