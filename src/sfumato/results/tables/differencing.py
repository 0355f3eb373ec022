"""Few records that several tables tell together: what one cell holds more than others, as sets of
atoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_RECORDS = 50
"""Records of a difference of cells up to which it is judged like a cell of its own."""
MOST_WORK = 2_000_000
"""Cells of all tables times atoms up to which differences of more than two cells are looked for."""
MOST_TABLES = 5
"""Tables up to which records are told apart by all the tables that they are in."""


def few_between(
    held: Sequence[Any],
    rows: NDArray[np.int64],
    codes: Sequence[NDArray[np.int64]],
    told: Sequence[NDArray[np.bool_]],
    places: Sequence[Sequence[Sequence[int]]],
) -> list[NDArray[np.int64]]:
    """Sets of atoms of a few records that follow from cells of several tables, the new one first,
    if nothing is suppressed.

    ``held`` has per table its cells by atoms, ``rows`` the records of every atom, ``codes`` the
    atom's codes in every table, ``told`` the cells that were published (none of the new one),
    ``places`` the columns of every breakdown that was published together as one table. What is made
    of whole cells of one table is left to the audit of that table, and what earlier tables tell
    exactly cannot be helped any more.
    """
    found: dict[bytes, NDArray[np.int64]] = {}
    for one in _nested(held, rows):
        found.setdefault(one.tobytes(), one)
    if sum(one.shape[0] for one in held) * len(rows) <= MOST_WORK:
        for one in _combined([one.toarray() > 0 for one in held], rows, told):
            found.setdefault(one.tobytes(), one)
    kept = list(found.values())
    for one, own, groups in zip(held, codes, places, strict=True):
        if not kept:
            break
        kept = [
            at for at, whole in zip(kept, _of_one(one, own, groups, kept), strict=True) if not whole
        ]
    return kept


def _of_one(
    held: Any,
    codes: NDArray[np.int64],
    groups: Sequence[Sequence[int]],
    sets: Sequence[NDArray[np.int64]],
) -> NDArray[np.bool_]:
    """Which sets of atoms are made of cells of one table: whole cells of its lowest level or, where
    it breaks down by several lists of columns, any sum of cells.
    """
    if len(groups) > 1 and held.shape[0] * held.shape[1] <= MOST_WORK:
        tried = np.zeros((len(sets), held.shape[1]), dtype=bool)
        for line, atoms in zip(tried, sets, strict=True):
            line[atoms] = True
        return _follows(held.toarray() > 0, tried)
    found = np.zeros(len(sets), dtype=bool)
    for group in groups:
        kind = np.unique(codes[list(group)], axis=1, return_inverse=True)[1].reshape(-1)
        part = (codes[0] >= 0, kind, np.bincount(kind))
        found |= [_whole_cells(*part, one) for one in sets]
    return found


def _nested(held: Sequence[Any], rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Pairs of a new cell and an earlier one of which one holds the other by what they are about,
    and a few records more: the atoms between.
    """
    from scipy import sparse

    ours = held[0]
    mine = np.asarray(ours @ rows)
    for theirs in held[1:]:
        other = np.asarray(theirs @ rows)
        both = (ours @ sparse.diags(rows.astype(np.float64)) @ theirs.T).tocoo()
        for sign, small, large in (
            (1, other[both.col], mine[both.row]),
            (-1, mine[both.row], other[both.col]),
        ):
            near = (both.data == small) & (large > small) & (large - small < FEW_RECORDS)
            for new, old in zip(both.row[near].tolist(), both.col[near].tolist(), strict=True):
                wide, thin = (ours[new].indices, theirs[old].indices)[::sign]
                if len(np.intersect1d(wide, thin)) == len(thin):
                    yield np.setdiff1d(wide, thin).astype(
                        np.int64
                    )  # the same set has the same bytes


def _combined(
    held: Sequence[NDArray[np.bool_]], rows: NDArray[np.int64], told: Sequence[NDArray[np.bool_]]
) -> Iterator[NDArray[np.int64]]:
    """Atoms, cells among the records that are in some tables and not in others, and what two cells
    share or not: those that some sum of cells gives.
    """
    tried = _distinct(
        _few(
            np.concatenate([_among(held), _pairs(held, rows), np.eye(len(rows), dtype=bool)]), rows
        )
    )
    known = np.concatenate([one[seen] for one, seen in zip(held, told, strict=True)])
    for line in tried[_follows(np.concatenate(held), tried) & ~_follows(known, tried)]:
        yield np.flatnonzero(line)


def _among(held: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Every cell among the records that are in some of the tables and not in some others."""
    inside = np.stack([one.any(axis=0) for one in held])
    chosen = []
    for some in itertools.product((None, True, False), repeat=min(len(held), MOST_TABLES)):
        kept = np.ones(inside.shape[1], dtype=bool)
        for table, wanted in enumerate(some):
            if wanted is not None:
                kept &= inside[table] == wanted
        chosen.append(kept)
    among = _distinct(np.array(chosen))
    return np.concatenate([cell & among for cell in _distinct(np.concatenate(held))])


def _few(sets: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of sets of atoms those of a few records."""
    count = sets @ rows
    return sets[(count > 0) & (count < FEW_RECORDS)]


def _distinct(sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Each set once; as bits, for whole lines of truth values take long to sort."""
    bits = np.packbits(sets, axis=1)
    _, first = np.unique(bits.view(f"S{bits.shape[1]}").reshape(-1), return_index=True)
    return sets[np.sort(first)]


def _pairs(held: Sequence[NDArray[np.bool_]], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """What a cell of one table shares with a cell of another, and what it does not."""
    found = [np.zeros((0, held[0].shape[1]), dtype=bool)]
    for one, two in itertools.permutations(held, 2):
        found += [_few(np.concatenate([cell & two, cell & ~two]), rows) for cell in one]
    return np.concatenate(found)


def _follows(cells: NDArray[np.bool_], tried: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which sets are sums and differences of cells."""
    if not len(cells) or not len(tried):
        return np.zeros(len(tried), dtype=bool)
    _, size, basis = np.linalg.svd(cells.astype(np.float64), full_matrices=False)
    basis = basis[size > 1e-9 * size.max(initial=1.0)]
    wanted = tried.astype(np.float64)
    left = np.abs(wanted - (wanted @ basis.T) @ basis).max(axis=1)
    follows: NDArray[np.bool_] = left < 1e-7
    return follows


def _whole_cells(
    inside: NDArray[np.bool_],
    kind: NDArray[np.int64],
    count: NDArray[np.int64],
    between: NDArray[np.int64],
) -> bool:
    """Whether atoms are all those of some cells of a table: ``kind`` is the lowest cell of every
    atom, ``count`` how many atoms each of these has.
    """
    return bool(inside[between].all() and count[np.unique(kind[between])].sum() == len(between))
