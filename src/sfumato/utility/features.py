"""Both sides of a pair as the same columns of numbers, for models that learn from them.

Numbers, dates and ordered values are standardised by the original; a range stands for its middle. A category is a column
per value (the frequent ones; the rest share one), where a generalised label is spread over what it may stand for, in the
proportions of the original column: nothing better is known about it than how often values occur.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.schema import Kind
from sfumato.utility.cells import Cells, cells_of
from sfumato.utility.numeric import numbers, plainly_numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

MOST_VALUES = 20
"""Categories beyond the most frequent ones share a column."""


@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """Columns of numbers: ``before`` of original rows, ``after`` of released rows; ``owners`` names where each comes from."""

    owners: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def of(self, names: Sequence[str]) -> Features:
        """The features of some columns only."""
        kept = [j for j, owner in enumerate(self.owners) if owner in names]
        return Features(tuple(self.owners[j] for j in kept), self.before[:, kept], self.after[:, kept])


def is_number(pair: Pair, name: str) -> bool:
    """Whether both sides of a column can be read as numbers."""
    attribute = pair.original.schema[name]
    if attribute.order is None and attribute.kind not in (Kind.NUMERIC, Kind.DATE):
        return False
    return plainly_numeric(pair, name) or pair.reading(name).scale != "category"


def says_nothing(pair: Pair, name: str) -> bool:
    """Whether every released cell of a column is suppressed."""
    if plainly_numeric(pair, name):
        return bool(pair.released.column(name).null_count() == len(pair.released))
    cells = cells_of(pair, name)
    return cells is None or bool(cells.lost.all())


def features_of(
    pair: Pair,
    names: Sequence[str],
    original: NDArray[np.int64],
    released: NDArray[np.int64],
    *,
    blanks: bool = False,
) -> Features:
    """Features of some original and some released rows; ``blanks`` adds columns that mark missing and suppressed cells."""
    import numpy as np

    owners: list[str] = []
    left: list[NDArray[np.float64]] = [np.zeros((len(original), 0))]
    right: list[NDArray[np.float64]] = [np.zeros((len(released), 0))]
    for name in names:
        make = _numeric if is_number(pair, name) else _category
        before, after = make(pair, name, original, released, blanks)
        owners += [name] * before.shape[1]
        left.append(before)
        right.append(after)
    return Features(tuple(owners), np.concatenate(left, axis=1), np.concatenate(right, axis=1))


Both = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def _numeric(pair: Pair, name: str, original: NDArray[np.int64], released: NDArray[np.int64], blanks: bool) -> Both:
    import numpy as np

    both = numbers(pair, name)
    known = both.before[~np.isnan(both.before)]
    mean = float(known.mean()) if len(known) else 0.0
    deviation = float(known.std()) if len(known) else 0.0
    sides = []
    for column in (both.before[original], both.after[released]):
        absent = np.isnan(column)
        scaled = np.where(absent, 0.0, (column - mean) / (deviation or 1.0))
        sides.append(np.stack([scaled, absent.astype(np.float64)] if blanks else [scaled], axis=1))
    return sides[0], sides[1]


def _category(pair: Pair, name: str, original: NDArray[np.int64], released: NDArray[np.int64], blanks: bool) -> Both:
    import numpy as np

    cells = cells_of(pair, name)
    reading = pair.reading(name)
    counts = np.bincount(reading.original, minlength=len(reading.values))
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    width = min(len(counts), MOST_VALUES + 1)
    values = np.zeros((len(counts), max(1, width)))
    values[np.arange(len(counts)), np.minimum(rank, width - 1)] = 1.0
    labels, odd = _label_rows(values, cells)
    # the most frequent value is what the others are compared with
    before, after = values[:, 1:], labels[:, 1:]
    if blanks:
        before = np.concatenate([before, np.zeros((len(before), 1))], axis=1)
        after = np.concatenate([after, odd[:, None]], axis=1)
    return before[reading.original[original]], after[reading.released[released]]


def _label_rows(values: NDArray[np.float64], cells: Cells | None) -> Both:
    """Per released label the mean of the values it may stand for, and whether it says nothing or something unknown."""
    import numpy as np

    if cells is None:
        return np.zeros((0, values.shape[1])), np.zeros(0)
    reading = cells.reading
    owner = np.repeat(np.arange(len(reading.labels)), np.diff(reading.starts))
    labels = np.zeros((len(reading.labels), values.shape[1]))
    often = cells.counts.astype(np.float64)[:, None]
    np.add.at(labels, owner, (values * often)[reading.members])
    sizes = np.bincount(owner, weights=cells.counts[reading.members], minlength=len(labels))
    labels /= np.maximum(sizes, 1.0)[:, None]
    known = {text: code for code, text in enumerate(reading.values)}
    for code, text in enumerate(reading.labels):
        if text in known:
            labels[code] = values[known[text]]
            sizes[code] = 1.0
    lost = np.zeros(len(reading.labels), dtype=bool)
    lost[cells.label[cells.lost]] = True
    lost |= sizes == 0
    labels[lost] = (values * often).sum(axis=0) / max(1.0, float(often.sum()))
    return labels, lost.astype(np.float64)
