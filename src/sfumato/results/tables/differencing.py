"""Few records that several tables tell together: what one cell holds more than others, as sets of
atoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Mask

FEW_RECORDS = 50
"""Records of a difference of cells up to which it is judged like a cell of its own."""
MOST_WORK = 2_000_000
"""Cells of all tables times atoms up to which differences of more than two cells are looked for."""
MOST_TABLES = 5
"""Tables up to which records are distinguished by all the tables that they are in."""


def few_between(
    incidences: Sequence[Any],
    rows: Codes,
    codes: Sequence[Codes],
    published_cells: Sequence[Mask],
    table_groups: Sequence[Sequence[Sequence[int]]],
) -> list[Codes]:
    """Sets of atoms of a few records that follow from cells of several tables, the new one first,
    if nothing is suppressed.

    ``incidences`` has per table its cells by atoms, ``rows`` the records of every atom, ``codes``
    the atom's codes in every table, ``published_cells`` the cells that were published (none of the
    new one), ``table_groups`` the columns of every breakdown that was published together as one
    table. What is made of whole cells of one table is left to the audit of that table, and what
    earlier tables tell exactly cannot be helped any more.
    """
    # sets of atoms by their bytes: the same set follows from many pairs of cells
    small_sets: dict[bytes, Codes] = {}
    for small_set in _nested_cells(incidences, rows):
        small_sets.setdefault(small_set.tobytes(), small_set)
    if sum(small_set.shape[0] for small_set in incidences) * len(rows) <= MOST_WORK:
        for small_set in _combined_cells(
            [small_set.toarray() > 0 for small_set in incidences], rows, published_cells
        ):
            small_sets.setdefault(small_set.tobytes(), small_set)
    candidates = list(small_sets.values())
    for small_set, own, groups in zip(incidences, codes, table_groups, strict=True):
        if not candidates:
            break
        candidates = [
            at
            for at, whole in zip(
                candidates, _of_one(small_set, own, groups, candidates), strict=True
            )
            if not whole
        ]
    return candidates


def _of_one(
    incidence: Any,
    codes: Codes,
    groups: Sequence[Sequence[int]],
    sets: Sequence[Codes],
) -> Mask:
    """Which sets of atoms are made of cells of one table: whole cells of its lowest level or, where
    it breaks down by several lists of columns, any sum of cells.
    """
    # with several breakdowns a set may follow from sums of cells that are no whole cells of any one
    # of them
    if len(groups) > 1 and incidence.shape[0] * incidence.shape[1] <= MOST_WORK:
        set_rows = np.zeros((len(sets), incidence.shape[1]), dtype=bool)
        for line, atoms in zip(set_rows, sets, strict=True):
            line[atoms] = True
        return _follows(incidence.toarray() > 0, set_rows)
    is_whole = np.zeros(len(sets), dtype=bool)
    for group in groups:
        # the number of the lowest cell that every atom is in
        kind = np.unique(codes[list(group)], axis=1, return_inverse=True)[1].reshape(-1)
        part = (codes[0] >= 0, kind, np.bincount(kind))
        is_whole |= [_whole_cells(*part, atoms_of_set) for atoms_of_set in sets]
    return is_whole


def _nested_cells(incidences: Sequence[Any], rows: Codes) -> Iterator[Codes]:
    """Pairs of a new cell and an earlier one of which one holds the other by what they are about,
    and a few records more: the atoms between.
    """
    from scipy import sparse

    new_incidence = incidences[0]
    new_sizes = np.asarray(new_incidence @ rows)
    for old_incidence in incidences[1:]:
        old_sizes = np.asarray(old_incidence @ rows)
        # entry (i, j): how many records the new cell i and the old cell j have in common
        overlaps = (new_incidence @ sparse.diags(rows.astype(np.float64)) @ old_incidence.T).tocoo()
        for sign, small, large in (
            (1, old_sizes[overlaps.col], new_sizes[overlaps.row]),
            (-1, new_sizes[overlaps.row], old_sizes[overlaps.col]),
        ):
            # all records of the smaller cell are in the larger one, and few records are left
            near = (overlaps.data == small) & (large > small) & (large - small < FEW_RECORDS)
            for new, old in zip(
                overlaps.row[near].tolist(), overlaps.col[near].tolist(), strict=True
            ):
                wide, thin = (new_incidence[new].indices, old_incidence[old].indices)[::sign]
                # in atoms without records, too: an intruder does not know that they are empty
                if len(np.intersect1d(wide, thin)) == len(thin):
                    # the same set has the same bytes
                    yield np.setdiff1d(wide, thin).astype(np.int64)


def _combined_cells(
    incidences: Sequence[Mask],
    rows: Codes,
    published_cells: Sequence[Mask],
) -> Iterator[Codes]:
    """Atoms, cells among the records that are in some tables and not in others, and what two cells
    share or not: those that some sum of cells gives.
    """
    candidate_sets = _distinct(
        _small_sets(
            np.concatenate(
                [_among(incidences), _pairs(incidences, rows), np.eye(len(rows), dtype=bool)]
            ),
            rows,
        )
    )
    published_rows = np.concatenate(
        [
            incidence[published]
            for incidence, published in zip(incidences, published_cells, strict=True)
        ]
    )
    # from all tables, the new one among them, but not from what is published already
    for line in candidate_sets[
        _follows(np.concatenate(incidences), candidate_sets)
        & ~_follows(published_rows, candidate_sets)
    ]:
        yield np.flatnonzero(line)


def _among(incidences: Sequence[Mask]) -> Mask:
    """Every cell among the records that are in some of the tables and not in some others."""
    inside = np.stack([incidence.any(axis=0) for incidence in incidences])
    selections = []
    # None: in or out of that table, whichever. 3⁵ = 243 selections for the most tables.
    for choice in itertools.product((None, True, False), repeat=min(len(incidences), MOST_TABLES)):
        selection = np.ones(inside.shape[1], dtype=bool)
        for table, inside_wanted in enumerate(choice):
            if inside_wanted is not None:
                selection &= inside[table] == inside_wanted
        selections.append(selection)
    among = _distinct(np.array(selections))
    return np.concatenate([cell & among for cell in _distinct(np.concatenate(incidences))])


def _small_sets(sets: Mask, rows: Codes) -> Mask:
    """Of sets of atoms those of a few records."""
    count = sets @ rows
    return sets[(count > 0) & (count < FEW_RECORDS)]


def _distinct(sets: Mask) -> Mask:
    """Each set once; as bits, for whole lines of truth values take long to sort."""
    bits = np.packbits(sets, axis=1)
    _, first = np.unique(bits.view(f"S{bits.shape[1]}").reshape(-1), return_index=True)
    return sets[np.sort(first)]


def _pairs(incidences: Sequence[Mask], rows: Codes) -> Mask:
    """What a cell of one table shares with a cell of another, and what it does not."""
    set_lists = [np.zeros((0, incidences[0].shape[1]), dtype=bool)]
    for first_incidence, second_incidence in itertools.permutations(incidences, 2):
        set_lists += [
            _small_sets(np.concatenate([cell & second_incidence, cell & ~second_incidence]), rows)
            for cell in first_incidence
        ]
    return np.concatenate(set_lists)


def _follows(cells: Mask, candidate_sets: Mask) -> Mask:
    """Which sets are sums and differences of cells."""
    if not len(cells) or not len(candidate_sets):
        return np.zeros(len(candidate_sets), dtype=bool)
    # the right singular vectors are an orthonormal basis of all sums of cells: a set follows where
    # its projection onto them is the set itself
    _, size, basis = np.linalg.svd(cells.astype(np.float64), full_matrices=False)
    basis = basis[size > 1e-9 * size.max(initial=1.0)]
    targets = candidate_sets.astype(np.float64)
    residual = np.abs(targets - (targets @ basis.T) @ basis).max(axis=1)
    follows: Mask = residual < 1e-7
    return follows


def _whole_cells(
    inside: Mask,
    kind: Codes,
    count: Codes,
    between: Codes,
) -> bool:
    """Whether atoms are all those of some cells of a table: ``kind`` is the lowest cell of every
    atom, ``count`` how many atoms each of these has.
    """
    return bool(inside[between].all() and count[np.unique(kind[between])].sum() == len(between))
