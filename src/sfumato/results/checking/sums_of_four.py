"""Sums and differences of up to four cells that are about few persons, found by hashing where there
are too many atoms to look at all sums.

Persons are put into buckets at random, ``FINE`` times as many as the threshold, and ``FINE`` of
them together are a coarse bucket. Two sums of cells that differ for fewer persons than the
threshold differ in fewer buckets than that: they agree in at least one coarse bucket, which equal
hashes find, and in most fine ones, which rules out most sums that agree by chance. Of the others
the persons are counted. So all such sums are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.differences import CellPool
    from sfumato.results.tables.arrays import Codes, Floats, Mask

    Hashes = NDArray[np.uint64]

MOST_FOURS, MOST_PAIRS = 300, 5_000
"""Cells up to which sums of four, and of two, are looked at."""
MOST_COMPARED = 3_000_000
"""Pairs of sums with an equal hash up to which all are compared."""
MOST_EQUAL = 2_500
"""Sums with one hash beyond which there are more pairs of them than are compared."""
FINE = 4
"""Fine buckets of a coarse one."""


class CellSums(NamedTuple):
    """Cells, and sums and differences of two of them: the first cell, the second (−1 where there is
    none) and its sign.
    """

    first: Codes
    second: Codes
    sign: Codes

    def signs(self, index: int, cells: int) -> Floats:
        """How often every cell is counted in one of the sums."""
        signs = np.zeros(cells)
        signs[self.first[index]] += 1
        if self.second[index] >= 0:
            signs[self.second[index]] += self.sign[index]
        return signs


def find_by_hashing(
    pool: CellPool, threshold: int
) -> tuple[Mask | None, Literal["fours", "pairs", "open"]]:
    """The cells of a sum about few persons, one of them new (None where there is no such sum), and
    how far was looked: at sums of four cells, of two, or not at all.
    """
    count = len(pool.cells)
    if count <= MOST_FOURS:
        cells = _find_near_sums(pool, threshold, _sums_up_to_two(count))
        if cells is not None:
            return (cells if cells.any() else None), "fours"
    if count <= MOST_PAIRS:
        cells = _find_near_sums(pool, threshold, _single_cells(count))
        if cells is not None:
            return (cells if cells.any() else None), "pairs"
    return None, "open"


def _single_cells(cells: int) -> CellSums:
    return CellSums(np.arange(cells), np.full(cells, -1), np.zeros(cells, dtype=np.int64))


def _sums_up_to_two(cells: int) -> CellSums:
    """Cells, and all sums and differences of two."""
    # A difference is needed both ways round; a sum is the same either way.
    lower, upper = np.triu_indices(cells, k=1)
    single, plus = _single_cells(cells), np.ones(len(lower), dtype=np.int64)
    return CellSums(
        np.concatenate([single.first, lower, lower, upper]),
        np.concatenate([single.second, upper, upper, lower]),
        np.concatenate([single.sign, plus, -plus, -plus]),
    )


def _find_near_sums(pool: CellPool, threshold: int, sums: CellSums) -> Mask | None:
    """The cells of two sums that differ for few persons; an empty mask where there are no such
    sums, and None where there was too much to compare.
    """
    # The hash of a sum is the sum of the hashes of its cells, modulo 2**64.
    hashes = _hash_cells(pool, FINE * threshold)
    has_second = sums.second >= 0
    with np.errstate(over="ignore"):
        second = np.where(has_second[:, None], hashes[sums.second], np.uint64(0))
        signed = np.where(sums.sign[:, None] < 0, np.uint64(0) - second, second)
        fine = hashes[sums.first] + signed
    # Of equal sums one of old cells stands for all: it reveals nothing new.
    is_new = pool.is_new[sums.first] | (has_second & pool.is_new[sums.second])
    order = np.argsort(is_new, kind="stable")
    # Old sums stand first after the stable sort, so of equal sums unique keeps an old one.
    distinct = order[np.unique(_mix(fine[order]), return_index=True)[1]]
    fine = fine[distinct]
    compared = 0
    for coarse in range(threshold):
        bucket = fine[:, coarse * FINE : (coarse + 1) * FINE]
        for lower, upper in _pairs_of_equals(_mix(bucket)):
            compared += len(lower)
            if compared > MOST_COMPARED:
                return None
            # Different in fewer than `threshold` of FINE · threshold buckets is equal in more than
            # so many.
            agreeing = (fine[lower] == fine[upper]).sum(axis=1) > (FINE - 1) * threshold
            for pair in np.flatnonzero(agreeing):
                signs = sums.signs(distinct[lower[pair]], len(pool.cells))
                signs -= sums.signs(distinct[upper[pair]], len(pool.cells))
                if not signs[pool.is_new].any():
                    continue
                # Whole numbers, so more than a half is not zero.
                atoms = np.abs(np.asarray(signs @ pool.matrix)) > 0.5
                if 0 < pool.persons_in(atoms) < threshold:
                    used: Mask = signs != 0
                    return used
    return np.zeros(len(pool.cells), dtype=bool)


def _hash_cells(pool: CellPool, buckets: int) -> Hashes:
    """Per cell and bucket the sum of random numbers of its records, modulo 2**64."""
    draw = np.random.default_rng(21)
    numbers = draw.integers(0, 2**64, size=len(pool.owner), dtype=np.uint64)
    # By person, so that all records of one are in the same bucket.
    bucket = draw.permutation(int(pool.owner.max(initial=-1)) + 1)[pool.owner] % buckets
    hashes = np.zeros((len(pool.cells), buckets), dtype=np.uint64)
    for line, rows in zip(hashes, pool.cells, strict=True):
        np.add.at(line, bucket[rows], numbers[rows])
    return hashes


def _mix(lines: Hashes) -> Hashes:
    """One hash for those of several buckets."""
    factors = np.random.default_rng(22).integers(0, 2**64, size=lines.shape[1], dtype=np.uint64)
    # Odd factors: a multiplication by them loses no bit.
    with np.errstate(over="ignore"):
        mixed: Hashes = (lines * (factors | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return mixed


def _pairs_of_equals(values: Hashes) -> Iterator[tuple[Codes, Codes]]:
    """All pairs of positions with equal numbers, group by group."""
    order = np.argsort(values, kind="stable")
    # Starts of the runs of equal hashes, and the end of the last.
    ends = np.flatnonzero(np.r_[True, np.diff(values[order]) != 0, True])
    for group in np.flatnonzero(np.diff(ends) > 1):
        # Cut off rather than listed: so many pairs are more than is compared, and the caller gives
        # up.
        size = min(ends[group + 1] - ends[group], MOST_EQUAL)
        lower, upper = np.triu_indices(size, k=1)
        yield order[ends[group] + lower], order[ends[group] + upper]
