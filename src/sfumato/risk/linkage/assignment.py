"""All records linked at once, none twice, at the least total distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.risk.linkage.search import Credits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.risk.linkage.arrays import Arrays
    from sfumato.risk.linkage.files import Files

MOST_ASSIGNED = 4000
"""Rows of the longer file: the table of all distances takes 128 MB then, the assignment some ten seconds."""


def assigned(scene: Scene, files: Files, arrays: Arrays, *, backwards: bool = False) -> Credits:
    """Link rows one to one (where one file is longer, some of it stays unlinked).

    Equal released records are interchangeable, so a row linked to one of the *c* records like its own is credited 1/c.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    order = [np.argsort(side.kind_of, kind="stable") for side in (files.theirs, files.ours)]
    table = distances(arrays)[np.ix_(files.theirs.kind_of[order[0]], files.ours.kind_of[order[1]])]
    left, right = linear_sum_assignment(table)
    here, there = (files.ours, files.theirs) if backwards else (files.theirs, files.ours)
    links = np.full(len(here.kind_of), -1, dtype=np.int64)
    pairs = np.column_stack([order[0][left], order[1][right]])
    links[pairs[:, int(backwards)]] = there.kind_of[pairs[:, 1 - int(backwards)]]
    same = files.same[:, ::-1] if backwards else files.same
    rows = np.unique(same[:, 0]) if backwards else np.flatnonzero(scene.intruder.truth >= 0)
    hits = np.bincount(same[links[same[:, 0]] == there.kind_of[same[:, 1]], 0], minlength=len(here.kind_of))
    tied = np.where(links >= 0, there.records[links], 0)
    least = np.full(len(here.kind_of), np.inf)
    least[pairs[:, int(backwards)]] = table[left, right]
    return Credits(rows, (hits / np.maximum(1, tied))[rows], tied[rows], least[rows], complete=True)


def distances(arrays: Arrays) -> NDArray[np.float64]:
    """The distance of each distinct record of the intruder to each released one."""
    import numpy as np

    left, right = len(arrays.theirs.records), len(arrays.ours.records)
    found = np.empty((left, right))
    others = np.arange(right)
    for i in range(left):
        found[i] = arrays.costs(np.column_stack([np.full(right, i), others])).sum(axis=1)
    return found
