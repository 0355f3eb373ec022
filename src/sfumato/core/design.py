"""The survey's design as arrays: which rows belong together, and how much each counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import count_rows
from sfumato.core.consistency import origins_of
from sfumato.core.encoding import numbers_of
from sfumato.core.randomness import NOTHING, Marks, cell_keys, row_keys
from sfumato.core.schema import Role
from sfumato.core.words import percent
from sfumato.errors import InternalError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.randomness import Seed
    from sfumato.core.table import Table


def strata_of(dataset: Table, within: Sequence[str] | None = None) -> tuple[NDArray[np.int64], int]:
    """Per row the number of its stratum, and how many there are; numbers follow the sorted labels,
    not the row order.

    ``within`` names the columns that make the strata; None takes those with role stratum, and
    without any the whole table is one stratum.
    """
    if within is None:
        names = dataset.schema.columns(Role.STRATUM)
    else:
        names = tuple(within)
    dataset.require(names)
    if not names or not len(dataset):
        return np.zeros(len(dataset), dtype=np.int64), min(1, len(dataset))
    codes = [dataset.encoded(name).codes for name in names]
    # Codes of one column follow its sorted labels already.
    if len(codes) == 1:
        return codes[0].astype(np.int64), int(codes[0].max()) + 1
    keys = np.stack(codes, axis=1).astype(np.uint64)
    ids, first = kernels.keys.group(keys)
    # Groups are numbered by rows; ranked by their labels they do not depend on the order of rows.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort([c[first] for c in reversed(codes)])] = np.arange(len(first))
    return rank[ids], len(first)


def units_of(dataset: Table, unit: str | None = None) -> NDArray[np.int64] | None:
    """Per row the number of the unit it belongs to (numbers follow sorted labels), or None where
    there are no units.

    ``unit`` is ``person`` or ``household``; None takes the person where there is one. Rows whose
    unit is missing are units of their own.
    """
    names = []
    for n in dataset.schema.units:
        if unit is None or dataset.schema[n].identifies == unit:
            names.append(n)
    persons = [n for n in names if dataset.schema[n].identifies == "person"]
    if not names:
        return None
    encoded = dataset.encoded((persons or names)[0])
    codes = np.array(encoded.codes, dtype=np.int64)
    if None in encoded.labels:
        alone = codes == encoded.labels.index(None)
        # Numbers behind all labels: each of these rows is a unit of its own.
        codes[alone] = len(encoded.labels) + np.arange(int(alone.sum()))
    return codes


Stratum = tuple[str | None, ...]
"""The labels of a stratum."""


def in_order(strata: Iterable[Stratum]) -> list[Stratum]:
    """Strata sorted by their labels, missing ones last."""
    return sorted(strata, key=lambda labels: [(label is None, label or "") for label in labels])


def labelled_strata(
    dataset: Table, within: Sequence[str] | None = None
) -> tuple[NDArray[np.int64], list[Stratum]]:
    """Per row the number of its stratum, and per stratum its labels: they name it in any piece of
    the table, too.
    """
    if within is None:
        names = dataset.schema.columns(Role.STRATUM)
    else:
        names = tuple(within)
    codes, count = strata_of(dataset, within)
    example_rows = np.zeros(count, dtype=np.int64)
    # Any row of a stratum shows its labels; the last one is taken.
    example_rows[codes] = np.arange(len(dataset))
    encoded = [dataset.encoded(name) for name in names]
    labels = []
    for e in encoded:
        labels.append([e.labels[code] for code in e.codes[example_rows].tolist()])
    present = np.unique(codes)  # a single column numbers all its labels
    number = np.zeros(count, dtype=np.int64)
    number[present] = np.arange(len(present))
    return number[codes], [tuple(column[s] for column in labels) for s in present.tolist()]


def marks_by(dataset: Table, unit: str) -> Marks:
    """What draws are keyed by that all rows of a person or household share; ``row``: each row has
    its own.

    Rows whose unit is missing have their own, too.
    """
    rows = Marks.of(dataset)
    if unit == "row":
        return rows
    name = next(n for n in dataset.schema.units if dataset.schema[n].identifies == unit)
    keys = cell_keys(dataset, name)
    alone = keys == NOTHING
    if alone.any():
        return Marks.of_keys(
            np.where(alone, rows.keys, keys), np.where(alone, rows.numbers, np.uint64(0))
        )
    return Marks.of_keys(keys, np.zeros(len(keys), dtype=np.uint64))


def weights_of(dataset: Table) -> NDArray[np.float64] | None:
    """The survey weights, or None where no column has that role."""
    name = dataset.schema.only(Role.WEIGHT)
    if name is None:
        return None
    weights = numbers_of(dataset, name)
    if np.isnan(weights).any() or (weights < 0).any():
        raise SchemaError(
            f"weights in column {name!r} must be numbers, zero or more, without missing values; "
            "correct them"
        )
    return weights


OFTEN_ALONE = 0.05
"""Share of records that are unique with their value, from which a column that is released as it is
helps to find them.
"""


def weight_warnings(dataset: Table) -> tuple[str, ...]:
    """A warning where survey weights are so different that they nearly number the records; none
    where many share one.

    Weights are released as they are, and whoever knows how a survey was weighted, or has another
    release of it, knows them too.
    """
    name = dataset.schema.only(Role.WEIGHT)
    if name is None or not len(dataset) or dataset.drawn:  # drawn weights are nobody's
        return ()
    copies = pl.Series(
        np.ones(len(dataset), dtype=np.int64) if dataset.copies is None else dataset.copies
    )
    records = pl.DataFrame({"weight": dataset.column(name), "n": copies})
    sizes = records.group_by("weight").agg(pl.col("n").sum())["n"]
    alone = int((sizes == 1).sum())
    if alone < OFTEN_ALONE * dataset.records:
        return ()
    warning = (
        f"the survey weights in column {name!r} are released unchanged, and {alone:,} of "
        f"{dataset.records:,} records are the only ones with their weight: anyone who knows a "
        "weight from elsewhere finds the record; round the weights, or drop the column"
    )
    return (warning,)


# Persons and households: who the rows belong to.


def renumbered(dataset: Table, seed: Seed) -> Table:
    """Persons and households under random numbers, new in every class.

    Rows of one person in one class can be told to belong together, so that persons can be counted;
    rows in different classes cannot, because whoever knows two of them could follow a person
    through the table. Units of synthetic rows are nobody's and have new numbers already:
    they stay together.
    """
    units = dataset.schema.units
    if not units or dataset.drawn:
        return dataset
    classes = count_rows(dataset)[1]
    for name in units:
        encoded = dataset.encoded(name)
        pairs = np.stack([classes, encoded.codes], axis=1).astype(np.uint64)
        ids, first = kernels.keys.group(pairs)
        numbers = np.empty(len(first), dtype=np.int64)
        permutation = seed.stream(f"renumber {name}").permutation(len(first))
        # by class and name: the order of the rows must not matter
        numbers[np.lexsort(pairs[first].T)] = permutation + 1
        fresh = pl.Series(name, numbers[ids])
        is_missing = np.array([label is None for label in encoded.labels])
        missing = pl.Series(is_missing[encoded.codes])
        dataset = dataset.with_columns({name: fresh.set(missing, None)})
    return dataset


def link_warnings(released: Table, original: Table) -> tuple[str, ...]:
    """How many persons and households can no longer be followed, because their records lie in
    several classes; nothing where all can.
    """
    if released.drawn or released.copies is not None:
        return ()
    warnings = []
    for name in released.schema.units:
        rows, kind = origins_of(released, original), released.schema[name].identifies
        units, numbers = original.encoded(name), released.encoded(name)
        is_named = [label is not None for label in units.labels]
        has_unit = np.array(is_named, dtype=np.bool_)[units.codes[rows]]
        present_units = units.codes[rows][has_unit]
        present_numbers = numbers.codes[has_unit]
        unit_pairs = np.stack([present_units, present_numbers], axis=1)
        parts, sizes = np.unique(unit_pairs, axis=0, return_counts=True)
        owners, counts = np.unique(parts[:, 0], return_counts=True)
        split = int((counts > 1).sum())
        if not split:
            continue
        # Pairs of records of one unit, n (n - 1) each: within its released parts, and in all.
        whole = np.bincount(unit_pairs[:, 0])
        linked, pairs = (float((n * (n - 1.0)).sum()) for n in (sizes, whole))
        warning = (
            f"{split:,} of {len(owners):,} {kind}s in column {name!r} have records in several"
            f" classes, and a number in each: {percent(1 - linked / pairs)} of the pairs of records"
            f" of one {kind} are no longer linked; to keep them, release the {kind}s as a table of"
            " their own beside the records (a recipe of several tables)"
        )
        warnings.append(warning)
    return tuple(warnings)


@dataclasses.dataclass(frozen=True, eq=False)
class Renumbering:
    """The random numbers of persons and households in every class of a released table, for rows
    that come in pieces.

    By column: the keys of class and unit, sorted, and their numbers. Two of *n* of them share a key
    with a chance of about n²/2⁶⁵; then they share a number too, and a class never looks larger for
    it.
    """

    numbers: Mapping[str, tuple[NDArray[np.uint64], NDArray[np.int64]]]

    @classmethod
    def of(cls, table: Table, seed: Seed) -> Renumbering:
        """The numbers that a table gets in memory, from its distinct classes and
        units; :func:`renumbered` draws them.
        """
        numbered = renumbered(table, seed)
        return cls({name: cls._numbers(table, numbered, name) for name in table.schema.units})

    @classmethod
    def _numbers(
        cls, table: Table, numbered: Table, name: str
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        keys, first = np.unique(row_keys(table, cls._told_by(table, name)), return_index=True)
        return keys, numbered.column(name).fill_null(0).to_numpy()[first]

    @staticmethod
    def _told_by(dataset: Table, name: str) -> tuple[str, ...]:
        return (*dataset.schema.quasi, name)

    def applied(self, rows: Table) -> Table:
        """Some rows of the released table with the numbers of their units."""
        fresh = dict[str, pl.Series]()
        for name, (unit_keys, numbers) in self.numbers.items():
            keys = row_keys(rows, self._told_by(rows, name))
            # Places stay inside of the array; a key that is not there is found by the comparison
            # below.
            positions = np.minimum(np.searchsorted(unit_keys, keys), max(0, len(unit_keys) - 1))
            if (unit_keys[positions] != keys).any():
                raise InternalError(
                    f"a unit of column {name!r} was missing when units were counted; "
                    "count again on this table"
                )
            column = rows.column(name)
            if column.dtype.is_float():
                gaps = column.is_null() | column.is_nan()
            else:
                gaps = column.is_null()
            fresh[name] = pl.Series(name, numbers[positions]).set(gaps, None)
        return rows.with_columns(fresh)
