"""The nearest record to each record, with ties shared out, of as many people as the work of an
attack is enough for.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.attacks.linkage.comparable_columns import CATEGORY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.linkage.comparable_columns import Arrays
    from sfumato.methods.attacks.linkage.files import Files

TIE = 1e-9
"""Distances that differ by no more than this, relative to one more than the least, are equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Credits:
    """Per row that was asked for: the chance that a random one of its nearest is its own, how many
    those are, and how far.

    ``rows`` are the rows in question: all of those asked for, or a random sample where all would be
    too much work.
    """

    rows: NDArray[np.int64]
    credit: NDArray[np.float64]
    tied: NDArray[np.int64]
    least: NDArray[np.float64]
    complete: bool

    @property
    def rate(self) -> float:
        """The share of all rows that are linked rightly, by expectation."""
        return float(self.credit.mean()) if len(self.rows) else 0.0

    @property
    def sampled(self) -> str:
        """What a sentence adds where not everybody was looked for."""
        return (
            "" if self.complete else f" (a random sample of {len(self.rows):,}, to bound the work)"
        )


def linked(scene: Scene, files: Files, arrays: Arrays, *, backwards: bool = False) -> Credits:
    """Link every row of one file that has its like in the other to the nearest there.

    Forwards, the intruder's rows that describe someone of the original seek released rows;
    backwards, released rows of someone in the intruder's file seek the intruder's rows. Where all
    would be too much work, a random sample is searched.
    """
    searching, searched = (files.ours, files.theirs) if backwards else (files.theirs, files.ours)
    true_pairs = files.same[:, ::-1] if backwards else files.same
    targets = (
        np.unique(true_pairs[:, 0]) if backwards else np.flatnonzero(scene.intruder.truth >= 0)
    )
    order = targets[np.argsort(searching.kind_of[targets], kind="stable")]
    order = order[scene.seed.stream("linkage sample").permutation(len(order))]
    nearest_cost, tied = _searched(scene, arrays, searching.kind_of[order], backwards=backwards)
    was_searched = np.cumsum(tied[searching.kind_of[order]] == 0) == 0
    rows = np.sort(order[was_searched])
    hits = hits_of(
        arrays, true_pairs, searching.kind_of, searched.kind_of, nearest_cost, backwards=backwards
    )
    kinds = searching.kind_of[rows]
    return Credits(
        rows,
        hits[rows] / np.maximum(1, tied[kinds]),
        tied[kinds],
        nearest_cost[kinds],
        len(rows) == len(targets),
    )


class Lookup:
    """Finds the nearest records of one file to records of the other, in any number of turns."""

    def __init__(self, arrays: Arrays, *, backwards: bool = False) -> None:
        searching, searched = (
            (arrays.ours, arrays.theirs) if backwards else (arrays.theirs, arrays.ours)
        )
        lists = holders(
            arrays.kinds, searched.marks, codes=int(searching.matches.max(initial=0)) + 1
        )
        self._holders = kernels.neighbours.CodeHolders(*lists)
        self._files = arrays.compare_sides(searching, searched) if backwards else arrays.files
        self._tree = kernels.record_tree.build_tree(self._files) if backwards else arrays.tree
        self._work = np.zeros(1, dtype=np.int64)
        self.cost = len(searched.records) * len(arrays.kinds)
        """Cells that one record is compared with at most."""

    @property
    def spent(self) -> int:
        """Cells that were compared so far."""
        return int(self._work[0]) * len(self._files.kinds)

    def nearest(
        self, queries: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Per distinct record asked for the least distance, how many records are tied at it, and
        one distinct record of these.
        """
        costs, tied, kinds_found = kernels.neighbours.find_nearest(
            queries, self._files, self._tree, self._holders, TIE, self._work
        )
        return costs, tied, kinds_found


def _searched(
    scene: Scene, arrays: Arrays, kinds: NDArray[np.int64], *, backwards: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Per distinct record the least distance and the records tied at it; 0 records where it was not
    searched.
    """
    size = len((arrays.ours if backwards else arrays.theirs).records)
    lookup = Lookup(arrays, backwards=backwards)
    nearest_cost, tied = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
    _, first = np.unique(kinds, return_index=True)
    queries = kinds[np.sort(first)]
    for start, end in scene.portions(len(queries), cost=lookup.cost, spent=lambda: lookup.spent):
        part = queries[start:end]
        nearest_cost[part], tied[part], _ = lookup.nearest(part)
        scene.progress(end / len(queries), "linking records")
    return nearest_cost, tied


def holders(
    kinds: NDArray[np.int64], marks: NDArray[np.int64], *, codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per column of categories the records that are open in it, then those that hold each of at
    least so many codes.

    The lists of column *k* begin with number ``lists[k]`` (−1: no categories); list *l* is
    ``listed[starts[l]:starts[l+1]]``.
    """
    lists, lengths, listed, count = (
        np.full(len(kinds), -1, dtype=np.int64),
        [0],
        [np.zeros(0, dtype=np.int64)],
        0,
    )
    for k in np.flatnonzero(kinds == CATEGORY).tolist():
        lists[k] = count
        sizes = np.bincount(marks[:, k] + 1, minlength=codes + 1)
        lengths.extend(sizes.tolist())
        listed.append(np.argsort(marks[:, k], kind="stable"))
        count += len(sizes)
    return lists, np.cumsum(lengths).astype(np.int64), np.concatenate(listed).astype(np.int64)


def hits_of(
    arrays: Arrays,
    true_pairs: NDArray[np.int64],
    searching_kinds: NDArray[np.int64],
    searched_kinds: NDArray[np.int64],
    nearest_cost: NDArray[np.float64],
    *,
    backwards: bool = False,
) -> NDArray[np.float64]:
    """Per row how many records of the same person are among the nearest."""
    kinds = np.column_stack(
        [searching_kinds[true_pairs[:, 0]], searched_kinds[true_pairs[:, 1]]]
    ).astype(np.int64)
    costs = arrays.costs(kinds[:, ::-1].copy() if backwards else kinds)
    total = np.zeros(len(true_pairs))
    for column in costs.T:  # added in the order the search adds them
        total += column
    limit = nearest_cost[kinds[:, 0]]
    with np.errstate(invalid="ignore"):
        near = np.isfinite(limit) & (total <= limit + TIE * (1 + np.abs(limit)))
    return np.bincount(true_pairs[near, 0], minlength=len(searching_kinds)).astype(float)
