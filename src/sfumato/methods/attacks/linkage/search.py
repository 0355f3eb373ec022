"""The nearest record to each record, with ties shared out, of as many people as the work of an
attack is enough for.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.attacks.linkage.comparison_arrays import CATEGORY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
    from sfumato.methods.attacks.linkage.files import Files

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TIE = 1e-9
"""Distances that differ by no more than this, relative to one more than the least, are equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Credits:
    """Per row that was asked for: the chance that a random one of its nearest is its own, how many
    those are, and how far.

    ``rows`` are the rows in question: all of those asked for, or a random sample where all would be
    too much work.
    """

    rows: Ints
    credit: Floats
    tied: Ints
    least: Floats
    complete: bool

    @property
    def rate(self) -> float:
        """The share of all rows that are linked rightly, by expectation."""
        if not len(self.rows):
            return 0.0
        return float(self.credit.mean())

    @property
    def sampled(self) -> str:
        """What a sentence adds where not everybody was looked for."""
        if self.complete:
            return ""
        return f" (a random sample of {len(self.rows):,}, to limit the work)"


def link_nearest(scene: Scene, files: Files, arrays: Arrays, *, backwards: bool = False) -> Credits:
    """Link every row of one file that has its like in the other to the nearest there.

    Forwards, the intruder's rows that describe someone of the original seek released rows;
    backwards, released rows of someone in the intruder's file seek the intruder's rows. Where all
    would be too much work, a random sample is searched.
    """
    if backwards:
        searching = files.released
        searched = files.intruder
        true_pairs = files.true_pairs[:, ::-1]
        targets = np.unique(true_pairs[:, 0])
    else:
        searching = files.intruder
        searched = files.released
        true_pairs = files.true_pairs
        targets = np.flatnonzero(scene.intruder.truth >= 0)
    # Sorted by record before the draw: the sample then does not depend on the order of rows.
    order = targets[np.argsort(searching.kind_of[targets], kind="stable")]
    order = order[scene.seed.stream("linkage sample").permutation(len(order))]
    nearest_cost, tied = _search_nearest(
        scene, arrays, searching.kind_of[order], backwards=backwards
    )
    # The search stops somewhere in this order: rows count up to the first not searched.
    was_searched = np.cumsum(tied[searching.kind_of[order]] == 0) == 0
    rows = np.sort(order[was_searched])
    hits = hits_of(
        arrays, true_pairs, searching.kind_of, searched.kind_of, nearest_cost, backwards=backwards
    )
    kinds = searching.kind_of[rows]
    divisors = np.maximum(1, tied[kinds])
    return Credits(
        rows,
        hits[rows] / divisors,
        tied=tied[kinds],
        least=nearest_cost[kinds],
        complete=len(rows) == len(targets),
    )


class Lookup:
    """Finds the nearest records of one file to records of the other, in any number of turns."""

    def __init__(self, arrays: Arrays, *, backwards: bool = False) -> None:
        if backwards:
            searching = arrays.released
            searched = arrays.intruder
        else:
            searching = arrays.intruder
            searched = arrays.released
        # Who is open or holds a code, as lists: of a rare code few records need be compared.
        lists = holders(
            arrays.kinds, searched.marks, codes=int(searching.matches.max(initial=0)) + 1
        )
        self._holders = kernels.neighbours.CodeHolders(*lists)
        if backwards:
            self._files = arrays.compare_sides(searching, searched)
        else:
            self._files = arrays.files
        if backwards:
            self._tree = kernels.record_tree.build_tree(self._files)
        else:
            self._tree = arrays.tree
        self._work = np.zeros(1, dtype=np.int64)
        self.cost = len(searched.records) * len(arrays.kinds)
        """Cells that one record is compared with at most."""

    @property
    def spent(self) -> int:
        """Cells that were compared so far."""
        return int(self._work[0]) * len(self._files.kinds)

    def nearest(self, queries: Ints) -> tuple[Floats, Ints, Ints]:
        """Per distinct record asked for the least distance, how many records are tied at it, and
        one distinct record of these.
        """
        costs, tied, kinds_found = kernels.neighbours.find_nearest(
            queries, self._files, self._tree, self._holders, TIE, self._work
        )
        return costs, tied, kinds_found


def _search_nearest(
    scene: Scene, arrays: Arrays, kinds: Ints, *, backwards: bool
) -> tuple[Floats, Ints]:
    """Per distinct record the least distance and the records tied at it; 0 records where it was not
    searched.
    """
    size = len((arrays.released if backwards else arrays.intruder).records)
    lookup = Lookup(arrays, backwards=backwards)
    nearest_cost = np.full(size, np.inf)
    tied = np.zeros(size, dtype=np.int64)
    _, first = np.unique(kinds, return_index=True)
    # Each distinct record once, in the order of the sample.
    queries = kinds[np.sort(first)]
    for start, end in scene.portions(len(queries), cost=lookup.cost, spent=lambda: lookup.spent):
        part = queries[start:end]
        nearest_cost[part], tied[part], _ = lookup.nearest(part)
        scene.progress(end / len(queries), "linking records")
    return nearest_cost, tied


def holders(kinds: Ints, marks: Ints, *, codes: int) -> tuple[Ints, Ints, Ints]:
    """Per column of categories the records that are open in it, then those that hold each of at
    least so many codes.

    The lists of column *k* begin with number ``lists[k]`` (−1: no categories); list *l* is
    ``listed[starts[l]:starts[l+1]]``.
    """
    lists = np.full(len(kinds), -1, dtype=np.int64)
    lengths = [0]
    listed = [np.zeros(0, dtype=np.int64)]
    count = 0
    for k in np.flatnonzero(kinds == CATEGORY).tolist():
        lists[k] = count
        # Marks begin at −1 (open), so list 0 of a column has the open records.
        sizes = np.bincount(marks[:, k] + 1, minlength=codes + 1)
        lengths.extend(sizes.tolist())
        listed.append(np.argsort(marks[:, k], kind="stable"))
        count += len(sizes)
    return lists, np.cumsum(lengths).astype(np.int64), np.concatenate(listed).astype(np.int64)


def hits_of(
    arrays: Arrays,
    true_pairs: Ints,
    searching_kinds: Ints,
    searched_kinds: Ints,
    nearest_cost: Floats,
    *,
    backwards: bool = False,
) -> Floats:
    """Per row how many records of the same person are among the nearest."""
    own_kinds = searching_kinds[true_pairs[:, 0]]
    record_kinds = searched_kinds[true_pairs[:, 1]]
    kinds = np.column_stack([own_kinds, record_kinds]).astype(np.int64)
    costs = arrays.costs(kinds[:, ::-1].copy() if backwards else kinds)
    total = np.zeros(len(true_pairs))
    for column in costs.T:  # added in the order the search adds them
        total += column
    limit = nearest_cost[kinds[:, 0]]
    with np.errstate(invalid="ignore"):
        tolerance = TIE * (1 + np.abs(limit))
        near = np.isfinite(limit) & (total <= limit + tolerance)
    return np.bincount(true_pairs[near, 0], minlength=len(searching_kinds)).astype(float)
