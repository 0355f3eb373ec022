"""Originals and what was released of them: who could be whom.

The *consistency graph* joins an original record to every released record that generalises it. Records with the same
quasi-identifiers have the same neighbours, so the graph is kept between classes: original classes on one side,
released classes on the other, and the sizes of both.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.classes import ClassTable, count_rows
from sfumato.core.consistency import consistent, coverings_of
from sfumato.core.encoding import value_counts
from sfumato.core.schema import Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The consistency graph between original and released classes, and which records are the same person's.

    ``originals`` and ``released`` are the records of each class on either side; only originals of which something was
    released count. ``edges`` are the consistent pairs of classes: original *edges[0][i]*, released *edges[1][i]*.
    ``same`` are the distinct pairs that records really have, each of them among the edges, ``same_records`` how many.
    """

    originals: NDArray[np.int64]
    released: NDArray[np.int64]
    edges: tuple[NDArray[np.int64], NDArray[np.int64]]
    same: tuple[NDArray[np.int64], NDArray[np.int64]]
    same_records: NDArray[np.int64]

    def neighbours_of_originals(self) -> NDArray[np.int64]:
        """Per original class, the released records that generalise it."""
        return self._reached(self.edges[0], self.released[self.edges[1]], len(self.originals))

    def neighbours_of_released(self) -> NDArray[np.int64]:
        """Per released class, the original records it generalises."""
        return self._reached(self.edges[1], self.originals[self.edges[0]], len(self.released))

    def matches_of_originals(self) -> NDArray[np.int64]:
        r"""Per original class, the released records that could be its own in some assignment of all records at once.

        A *match* is an edge of some perfect matching. The true assignment is one, so orient what it joins from
        released to original and every edge from original to released: an edge lies in a perfect matching just if
        both ends are in one strongly connected component. Equal originals are joined to the same released records and
        equal released records to the same originals, so components of classes are components of records.
        """
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        left, nodes = len(self.originals), len(self.originals) + len(self.released)
        if not nodes:
            return np.zeros(0, dtype=np.int64)
        sources = np.concatenate([self.edges[0], self.same[1] + left])
        targets = np.concatenate([self.edges[1] + left, self.same[0]])
        graph = coo_array((np.ones(len(sources), dtype=np.int8), (sources, targets)), shape=(nodes, nodes)).tocsr()
        _, component = connected_components(graph, directed=True, connection="strong")
        together = component[self.edges[0]] == component[self.edges[1] + left]
        return self._reached(self.edges[0][together], self.released[self.edges[1][together]], left)

    def least_per_released(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per released class, the least value of the originals it was released for."""
        import numpy as np

        least = np.full(len(self.released), np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(least, self.same[1], values[self.same[0]])
        return least

    @staticmethod
    def _reached(ends: NDArray[np.int64], amounts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        import numpy as np

        return np.bincount(ends, weights=amounts, minlength=size).astype(np.int64)


def origin_of(released: Dataset, original: Dataset) -> NDArray[np.int64]:
    """Per released row, the row of the original table it came from."""
    import numpy as np

    if released.origin is not None:
        rows = released.origin
        if len(rows) == len(released) and (not len(rows) or int(rows.max()) < len(original)):
            return rows
    elif len(released) == len(original):
        return np.arange(len(original), dtype=np.int64)
    raise SchemaError(
        f"the released table ({len(released):,} rows) cannot be aligned with the original one ({len(original):,} rows): "
        "its rows do not say where they come from; judge it in the run that makes it"
    )


def pair_up(original: Dataset, released: Dataset, classes: ClassTable, rows: NDArray[np.int64]) -> Pairs:
    """The consistency graph of a release: ``classes`` are those of the released table, ``rows`` the class of each row.

    Raises :class:`SchemaError` when a released record does not generalise its own original: then values were
    changed, not generalised, and the notions built on the graph say nothing.
    """
    import numpy as np

    original.require(classes.columns)
    kept = original.take(origin_of(released, original))
    fine, fine_rows = count_rows(dataclasses.replace(kept, schema=Schema({})), classes.columns)
    known = {name: value_counts(original, name) for name in classes.columns}
    left, right = consistent(fine, classes, coverings_of(fine, classes, released.schema, known))
    both, amounts = np.unique(fine_rows * max(1, len(classes)) + rows, return_counts=True)
    wrong = int(amounts[~np.isin(both, left * max(1, len(classes)) + right)].sum())
    if wrong:
        raise SchemaError(
            f"{wrong:,} of {len(released):,} released records do not generalise their own originals; "
            "consistency of originals and released records can be judged for generalised tables only"
        )
    same = both // max(1, len(classes)), both % max(1, len(classes))
    return Pairs(fine.records, classes.records, (left, right), same, amounts.astype(np.int64))
