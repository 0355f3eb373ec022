"""How often the values of a column occur in each class."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.encoding import Column


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """How often each value of one column (or combination of values of several) occurs in each class.

    Compressed rows: class *i* holds ``codes[starts[i]:starts[i+1]]`` with the same slice of ``counts``;
    ``labels[code]`` is the value (None: missing). ``worked_out`` keeps what depends on the labels alone, such as
    their order or their tree, for all counts that were merged or taken from the same ones.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    labels: tuple[str | None, ...]
    worked_out: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def merged(self, ids: NDArray[np.int64], groups: int) -> Counts:
        """Counts after class *i* went to group ``ids[i]``."""
        from sfumato.kernels.keys import merge_counts

        domain = max(1, len(self.labels))
        starts, codes, counts = merge_counts(self.starts, self.codes, self.counts, ids, groups, domain)
        return Counts(starts, codes, counts, self.labels, self.worked_out)

    def taken(self, keep: NDArray[np.bool_]) -> Counts:
        """Counts of some of the classes."""
        import numpy as np

        sizes = np.diff(self.starts)
        inside = np.repeat(keep, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[keep])])
        return Counts(starts, self.codes[inside], self.counts[inside], self.labels, self.worked_out)

    def distinct(self) -> NDArray[np.int64]:
        """Number of distinct values per class."""
        import numpy as np

        return np.diff(self.starts)

    def total(self) -> NDArray[np.int64]:
        """How often each value occurs in all classes together."""
        import numpy as np

        return np.bincount(self.codes, weights=self.counts, minlength=len(self.labels)).astype(np.int64)


def count_values(dataset: Dataset, column: Column, ids: NDArray[np.int64], groups: int) -> Counts:
    """Count the values of one column (or of a combination of columns) in every class."""
    import numpy as np

    from sfumato.core.encoding import encode_column
    from sfumato.kernels.keys import group

    encoded = encode_column(dataset, column)
    pairs = ((ids.astype(np.uint64) << np.uint64(32)) | encoded.codes.astype(np.uint64)).reshape(-1, 1)
    members, first = group(pairs)
    amounts = np.bincount(members, minlength=len(first))
    order = np.argsort(pairs[first, 0], kind="stable")
    distinct = pairs[first[order], 0]
    starts = np.searchsorted(distinct >> np.uint64(32), np.arange(groups + 1, dtype=np.uint64))
    codes = (distinct & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return Counts(starts.astype(np.int64), codes, amounts[order], encoded.labels)
