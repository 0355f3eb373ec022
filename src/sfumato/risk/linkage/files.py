"""Both files as arrays of distinct records, and who is whom."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.risk.linkage.compared import Compared, common_columns, compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene


@dataclasses.dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct records of a file: ``kind_of[i]`` is the one row *i* has, ``codes`` its cells, ``records`` how often it occurs."""

    kind_of: NDArray[np.int64]
    codes: NDArray[np.int64]
    records: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Files:
    """The columns in common, the distinct records of either file, and the pairs of rows that describe one person."""

    columns: tuple[Compared, ...]
    theirs: Distinct
    ours: Distinct
    same: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in common."""
        return tuple(column.name for column in self.columns)


def files_of(scene: Scene) -> Files:
    """Read the columns in common and compress either file to its distinct records."""
    columns = tuple(compare(scene, name) for name in common_columns(scene))
    theirs = distinct([column.theirs for column in columns])
    ours = distinct([column.ours for column in columns])
    return Files(columns, theirs, ours, same_person(scene.intruder.truth, scene.pair.rows))


def distinct(codes: Sequence[NDArray[np.int64]]) -> Distinct:
    """Number records alike that have the same codes, in the order of the codes.

    >>> import numpy as np
    >>> found = distinct([np.array([1, 0, 1]), np.array([5, 5, 5])])
    >>> found.kind_of.tolist(), found.codes.tolist(), found.records.tolist()
    ([1, 0, 1], [[0, 5], [1, 5]], [1, 2])
    """
    import numpy as np

    ids = np.zeros(len(codes[0]), dtype=np.int64)
    for part in codes:  # numbered anew after each column: the product of all domains may not fit a word
        width = int(part.max()) + 1 if len(part) else 1
        _, ids = np.unique(ids * width + part, return_inverse=True)
    _, first, records = np.unique(ids, return_index=True, return_counts=True)
    return Distinct(ids, np.column_stack([part[first] for part in codes]), records.astype(np.int64))


def same_person(truth: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs (intruder's row, released row) that describe the same row of the original.

    >>> import numpy as np
    >>> same_person(np.array([2, -1, 0, 2]), np.array([0, 2])).tolist()
    [[0, 1], [2, 0], [3, 1]]
    """
    import numpy as np

    order = np.argsort(rows, kind="stable")
    first = np.searchsorted(rows[order], truth, side="left")
    amount = np.where(truth >= 0, np.searchsorted(rows[order], truth, side="right") - first, 0)
    left = np.repeat(np.arange(len(truth)), amount)
    step = np.arange(len(left)) - np.repeat(np.cumsum(amount) - amount, amount)
    return np.column_stack([left, order[np.repeat(first, amount) + step]]).astype(np.int64)
