"""Sums and differences of up to four cells that are about few persons, found by hashing where there
are too many atoms to look at all sums.

Persons are put into buckets at random, ``FINE`` times as many as the threshold, and so many of them
together are a coarse one. Two sums of cells that differ for fewer persons than the threshold differ
in fewer buckets than that: they agree in at least one coarse bucket, which equal hashes find, and
in most fine ones, which sorts out what agrees by chance. What is left is counted. So all such sums
are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.differences import CellPool

    Hashes = NDArray[np.uint64]
    Codes = NDArray[np.int64]

MOST_FOURS, MOST_PAIRS = 300, 5_000
"""Cells up to which sums of four, and of two, are looked at."""
MOST_COMPARED = 3_000_000
"""Pairs of sums with an equal hash up to which all are compared."""
MOST_EQUAL = 2_500
"""Sums with one hash beyond which there are more pairs of them than are compared."""
FINE = 4


class Sums(NamedTuple):
    """Cells, and sums and differences of two of them: the first cell, the second (−1 where there is
    none) and its sign.
    """

    first: Codes
    second: Codes
    sign: Codes

    def signs(self, place: int, cells: int) -> NDArray[np.float64]:
        """How often every cell is counted in one of them."""
        signs = np.zeros(cells)
        signs[self.first[place]] += 1
        if self.second[place] >= 0:
            signs[self.second[place]] += self.sign[place]
        return signs


def few_by_hashing(
    pool: CellPool, threshold: int
) -> tuple[NDArray[np.bool_] | None, Literal["fours", "pairs", "open"]]:
    """The cells of a sum about few persons, one of them new (None where there is no such sum), and
    how far was looked: at sums of four cells, of two, or not at all.
    """
    cells = len(pool.cells)
    if (
        cells <= MOST_FOURS
        and (cells_of_few := _looked_for(pool, threshold, _up_to_two(cells))) is not None
    ):
        return (cells_of_few if cells_of_few.any() else None), "fours"
    if (
        cells <= MOST_PAIRS
        and (cells_of_few := _looked_for(pool, threshold, _single(cells))) is not None
    ):
        return (cells_of_few if cells_of_few.any() else None), "pairs"
    return None, "open"


def _single(cells: int) -> Sums:
    return Sums(np.arange(cells), np.full(cells, -1), np.zeros(cells, dtype=np.int64))


def _up_to_two(cells: int) -> Sums:
    """Cells, and all sums and differences of two."""
    one, other = np.triu_indices(cells, k=1)
    alone, ones = _single(cells), np.ones(len(one), dtype=np.int64)
    return Sums(
        np.concatenate([alone.first, one, one, other]),
        np.concatenate([alone.second, other, other, one]),
        np.concatenate([alone.sign, ones, -ones, -ones]),
    )


def _looked_for(pool: CellPool, threshold: int, sums: Sums) -> NDArray[np.bool_] | None:
    """The cells of two sums that differ for few persons; none where there are no such sums, and
    None where there was too much to compare.
    """
    hashes = _hashed(pool, FINE * threshold)
    with np.errstate(over="ignore"):
        second = np.where(sums.second[:, None] >= 0, hashes[sums.second], np.uint64(0))
        fine = hashes[sums.first] + np.where(sums.sign[:, None] < 0, np.uint64(0) - second, second)
    fresh = pool.fresh[sums.first] | ((sums.second >= 0) & pool.fresh[sums.second])
    order = np.argsort(
        fresh, kind="stable"
    )  # of equal sums one of old cells stands for all: it tells nothing new
    _, firsts = np.unique(_mixed(fine[order]), return_index=True)
    firsts = order[firsts]
    compared = 0
    for coarse in range(threshold):
        part = fine[firsts][:, coarse * FINE : (coarse + 1) * FINE]
        for one, other in _pairs_of_equals(_mixed(part)):
            compared += len(one)
            if compared > MOST_COMPARED:
                return None
            alike = (fine[firsts[one]] == fine[firsts[other]]).sum(axis=1) > (FINE - 1) * threshold
            for first, right in zip(
                firsts[one[alike]].tolist(), firsts[other[alike]].tolist(), strict=True
            ):
                cells = sums.signs(first, len(pool.cells)) - sums.signs(right, len(pool.cells))
                if not cells[pool.fresh].any():
                    continue
                visible = np.abs(np.asarray(cells @ pool.matrix)) > 0.5
                if 0 < pool.persons_in(visible) < threshold:
                    used: NDArray[np.bool_] = cells != 0
                    return used
    return np.zeros(len(pool.cells), dtype=bool)


def _hashed(pool: CellPool, buckets: int) -> Hashes:
    """Per cell and bucket the sum of random numbers of its records, modulo 2**64: hashes of sums of
    cells are sums of hashes.
    """
    draw = np.random.default_rng(21)
    number = draw.integers(0, 2**64, size=len(pool.owner), dtype=np.uint64)
    bucket = draw.permutation(int(pool.owner.max(initial=-1)) + 1)[pool.owner] % buckets
    hashes = np.zeros((len(pool.cells), buckets), dtype=np.uint64)
    for line, rows in zip(hashes, pool.cells, strict=True):
        np.add.at(line, bucket[rows], number[rows])
    return hashes


def _mixed(lines: Hashes) -> Hashes:
    """One number for several."""
    by = np.random.default_rng(22).integers(0, 2**64, size=lines.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed: Hashes = (lines * (by | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return mixed


def _pairs_of_equals(values: Hashes) -> Iterator[tuple[Codes, Codes]]:
    """All pairs of places with equal numbers, group by group."""
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.r_[True, np.diff(values[order]) != 0, True])
    several = np.flatnonzero(np.diff(ends) > 1)
    for start, end in zip(ends[several].tolist(), ends[several + 1].tolist(), strict=True):
        size = min(end - start, MOST_EQUAL)
        one, other = np.triu_indices(size, k=1)
        yield order[start + one], order[start + other]
