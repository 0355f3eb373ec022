"""Groupability: whether records can be grouped by the labels of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sfumato.core.labels import missing_in
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.core.words import count_of
from sfumato.methods.utility.cell_averages import records_of
from sfumato.methods.utility.columns import EMPTY, AllColumns, data_of, require_sense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading


@parameters
class Groupability(ColumnUtility):
    r"""The share of released columns whose labels are equal or disjoint.

    Records can be counted by such a column: each original value belongs to one label. Where labels
    overlap (``20..35`` beside ``30..40``, ``0****`` beside ``01***``) nobody can tell in which
    group a record belongs. A column counts 1 or 0:

    .. math:: \frac1A\,\bigl|\{\,a : L \cap L' = \emptyset \text{ for all labels } L \ne L'
       \text{ of } a\,\}\bigr|

    A label stands for the original values that it may mean. A missing and a suppressed cell (``*``)
    are no label, and a column that was not released is not counted. Released values are labels of
    one value each, so what was released as it was can be grouped, and so can changed numbers.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> Groupability().measure(pair).value
    1.0
    """

    columns: AllColumns = None

    name: ClassVar[str] = "groupability"
    better: ClassVar[Literal["lower", "higher"]] = "higher"
    title: ClassVar[str] = "Columns that can be grouped"
    line: ClassVar[str] = "share of columns whose labels are equal or disjoint"

    def applies(self, pair: TablePair) -> str | None:
        """None where a column was released."""
        if not records_of(pair):
            return EMPTY
        if not _released_of(pair, self):
            return "none of the columns to look at was released"
        return None

    def measure(self, pair: TablePair) -> Measure:
        """The share of columns by which records can be grouped."""
        require_sense(self, pair)
        has_records = pair.kept > 0
        per_column = {
            name: float(has_records and can_be_grouped(pair.reading(name)))
            for name in _released_of(pair, self)
        }
        groupable = int(sum(per_column.values()))
        return Measure(
            self.name,
            groupable / len(per_column),
            self.better,
            f"{groupable} of {count_of(len(per_column), 'column')} have labels that are equal or"
            " disjoint, so that records can be grouped by them",
            raw=float(groupable),
            per_column=per_column,
        )


def _released_of(pair: TablePair, metric: Groupability) -> tuple[str, ...]:
    names = data_of(pair, metric.columns)
    return tuple(name for name in names if name in pair.released.columns)


def can_be_grouped(reading: Reading) -> bool:
    """Whether no original value may be meant by two labels of a released column."""
    is_label = ~missing_in(reading.labels) & ~reading.everything
    if reading.scale == "category":
        sizes = np.diff(reading.starts)
        members = reading.members[np.repeat(is_label, sizes)]
        return len(np.unique(members)) == len(members)
    if not _are_disjoint(reading, is_label):
        return False
    # Codes that have no place in a listed order are meant by labels one by one.
    unplaced = [
        value for label, values in reading.unplaced.items() if is_label[label] for value in values
    ]
    return len(set(unplaced)) == len(unplaced)


def _are_disjoint(reading: Reading, is_label: NDArray[np.bool_]) -> bool:
    """Whether the ranges of labels share no place. Ends belong to their range: of hierarchies they
    are the values that occur, so neighbouring levels do not touch.
    """
    placed = is_label & ~np.isnan(reading.low)
    low, high = reading.low[placed], reading.high[placed]
    # In the order of where they begin, a range that overlaps any earlier one begins before the
    # furthest end so far. Two labels of one point (1 and 1.0) are the same group.
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    furthest = np.maximum.accumulate(high)
    begins_inside = low[1:] <= furthest[:-1]
    same_point = (low[1:] == high[1:]) & (low[:-1] == high[:-1]) & (low[1:] == low[:-1])
    return not bool((begins_inside & ~same_point).any())
