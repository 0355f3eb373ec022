"""What a column is by the columns beside it: dummies of one concept, blocks of one name, and
columns that put the records into the same order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.guidance.profiling.columns import ProfiledColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Columns that dummies and blocks have at least.
_FEWEST = 3

# Share of the columns of a block that must be about one concept before the others are taken for
# it too.
_MOST_OF_BLOCK = 0.5

_NUMBER = re.compile(r"\d+")
_LETTERS = 2


def dummy_groups(columns: Sequence[ProfiledColumn]) -> list[tuple[str, ...]]:
    """Runs of columns of zeros and ones of which each record has a one in one at most: dummies of
    one variable (``northeast``, ``midwest``, ``south``).
    """
    groups: list[tuple[str, ...]] = []
    run: list[str] = []
    total: NDArray[np.bool_] | None = None
    for column in columns:
        ones = _ones(column)
        together = ones is not None and total is not None and not (total & ones).any()
        if ones is not None and total is not None and together:
            run.append(column.card.name)
            total = total | ones
            continue
        groups += _closed(run)
        if ones is not None:
            run, total = ([column.card.name], ones)
        else:
            run, total = ([], None)
    return groups + _closed(run)


def _closed(run: list[str]) -> list[tuple[str, ...]]:
    if len(run) >= _FEWEST:
        return [tuple(run)]
    return []


def _ones(column: ProfiledColumn) -> NDArray[np.bool_] | None:
    """Which records have a one, for a column of zeros and ones; None for any other."""
    if column.card.distinct != 2:
        return None
    spread = column.spread
    if isinstance(spread.dtype, pl.Boolean):
        return spread.fill_null(value=False).to_numpy()
    if not spread.dtype.is_numeric():
        return None
    numbers = spread.cast(pl.Float64).fill_null(0.0).to_numpy()
    ones: NDArray[np.bool_] = numbers == 1
    if bool((ones | (numbers == 0)).all()):
        return ones
    return None


def blocks(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of names that differ in their numbers only, or share their first word.

    >>> blocks(["q1", "q2", "age", "q10", "py_old", "py_ill", "py_die"])
    [('q1', 'q2', 'q10'), ('py_old', 'py_ill', 'py_die')]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_stem(name), []).append(name)
    for name in names:
        first, separator, _ = re.sub(r"[.\-]", "_", name).partition("_")
        if separator and len(first) >= _LETTERS:
            groups.setdefault(f"{first.lower()}_", []).append(name)
    numbered = [tuple(group) for group in groups.values() if len(group) >= _FEWEST]
    return sorted(numbered, key=lambda group: names.index(group[0]))


def _stem(name: str) -> str:
    """The letters of a name with the place of its numbers; a name without numbers is its own."""
    return _NUMBER.sub("#", name.lower())


def concept_of_group(group: Sequence[str], concepts: Mapping[str, str]) -> str | None:
    """The concept that most of the columns of a group are about, where no other is named."""
    named = [concepts[name] for name in group if name in concepts]
    if len(set(named)) != 1 or len(named) < _MOST_OF_BLOCK * len(group):
        return None
    return named[0]


def same_orders(
    columns: Sequence[ProfiledColumn], unknown: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of an unknown column and another that puts the records into the same order or, of two
    values, the same two groups: logarithms, squares, codes of one variable.
    """
    wanted = {column.card.distinct for column in columns if column.card.name in unknown}
    orders: dict[tuple[int, str], list[str]] = {}
    for column in columns:
        if column.card.distinct in wanted and column.card.distinct > 1:
            for key in _orders(column):
                orders.setdefault((column.card.distinct, key), []).append(column.card.name)
    for names in orders.values():
        for name in names:
            for other in names:
                if name in unknown and other != name:
                    yield name, other


def _orders(column: ProfiledColumn) -> Iterator[str]:
    """A digest of the order of the records; of two values also that of the opposite."""
    if not (column.dtype.is_numeric() or isinstance(column.dtype, pl.Boolean)):
        return
    numbers = column.spread.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    missing = np.isnan(numbers)
    distinct, ranks = np.unique(np.where(missing, 0.0, numbers), return_inverse=True)
    ranks = np.where(missing, -1, ranks)
    yield _digest(ranks)
    if column.card.distinct == 2 and len(distinct) == 2:
        yield _digest(np.where(missing, -1, 1 - ranks))


def _digest(ranks: NDArray[np.int64]) -> str:
    return hashlib.blake2b(ranks.astype(np.int64).tobytes(), digest_size=16).hexdigest()
