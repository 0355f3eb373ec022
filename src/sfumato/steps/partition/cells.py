"""What a region releases for the values it holds, column by column.

- a line: the value, or the range from the least to the greatest: ``25-26`` (whole numbers from zero on), ``[-1.5, 2]``
  (other numbers), ``low..mid`` (ordered values), ``2024-01-05..2024-02-01`` (dates);
- a tree: the lowest node above all values;
- a set: the value, or all values that occur, sorted: ``{A, B}``; ``*`` when these are all the column has.

A region with missing and other values releases the top of the tree, or ``*``, and loses everything; one with missing
values only releases a missing value and loses nothing.

The loss of a cell is Iyengar's: the width of a range over the width of the column's values (of its listed order),
``(leaves−1)/(all leaves−1)`` of a node as the hierarchy counts them, ``(values−1)/(all values−1)`` of a set.
Reference: Iyengar 2002, doi:10.1145/775047.775089.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sfumato.core.hierarchy import TOP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.steps.partition.axes import Axis

Cell = tuple[str | None, float]
"""A released label and its loss."""


@dataclasses.dataclass(frozen=True)
class Cells:
    """What regions release in one column: ``labels[codes[region]]``, with the loss of each region's cell.

    ``changed``: some region holds more than one value.
    """

    codes: NDArray[np.int64]
    labels: tuple[str | None, ...]
    losses: NDArray[np.float64]
    changed: bool

    @classmethod
    def of(cls, kinds: Iterable[Cell], which: NDArray[np.int64], *, changed: bool) -> Cells:
        """Region *i* has the cell number ``which[i]``; cells with the same label share a code."""
        import numpy as np

        codes: dict[str | None, int] = {}
        pairs = [(codes.setdefault(label, len(codes)), loss) for label, loss in kinds]
        losses = np.array([loss for _, loss in pairs], dtype=np.float64)
        return cls(np.array([code for code, _ in pairs], dtype=np.int64)[which], tuple(codes), losses[which], changed)


def cells_of(axis: Axis, ranks: NDArray[np.int64], ends: NDArray[np.int64]) -> Cells:
    """The cells of one column: region *r* holds ``ranks[ends[r−1]:ends[r]]``, never nothing."""
    import numpy as np

    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    if axis.form == "set":
        return _set_cells(axis, ranks, np.diff(np.concatenate([[0], ends])))
    lows, highs = np.minimum.reduceat(ranks, starts), np.maximum.reduceat(ranks, starts)
    pairs, which = np.unique(lows << 32 | highs, return_inverse=True)
    write = _tree_cell if axis.form == "tree" else _line_cell
    return Cells.of(
        [write(axis, pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()],
        which,
        changed=bool((lows < highs).any()),
    )


def _line_cell(axis: Axis, low: int, high: int) -> Cell:
    first, last = axis.labels[low], axis.labels[high]
    if low == high:
        return first, 0.0
    if first is None or last is None:
        return TOP, 1.0
    return axis.join(first, last), float(axis.places[high] - axis.places[low]) / axis.span if axis.span > 0 else 0.0


def _tree_cell(axis: Axis, low: int, high: int) -> Cell:
    ladder, level = axis.ladder, 0
    while ladder.climb(0, level)[low] != ladder.climb(0, level)[high]:
        level += 1
    node = int(ladder.climb(0, level)[low])
    return ladder.labels[level][node], float(ladder.loss[level][node])


def _set_cells(axis: Axis, ranks: NDArray[np.int64], lengths: NDArray[np.int64]) -> Cells:
    import numpy as np

    pairs = np.unique(np.repeat(np.arange(len(lengths)), lengths) << 32 | ranks)
    found = pairs & 0xFFFFFFFF
    borders = np.searchsorted(pairs, np.arange(len(lengths) + 1) << 32).tolist()
    seen: dict[bytes, int] = {}
    sets: list[list[int]] = []
    which = np.empty(len(lengths), dtype=np.int64)
    for region in range(len(lengths)):
        members = found[borders[region] : borders[region + 1]]
        which[region] = seen.setdefault(members.tobytes(), len(seen))
        if len(seen) > len(sets):
            sets.append(members.tolist())
    return Cells.of(
        [_set_cell(axis, members) for members in sets], which, changed=any(len(members) > 1 for members in sets)
    )


def _set_cell(axis: Axis, ranks: Sequence[int]) -> Cell:
    names = [axis.labels[rank] for rank in ranks]
    if len(names) == 1:
        return names[0], 0.0
    if None in names or len(names) == len(axis.labels):
        return TOP, 1.0
    return "{" + ", ".join(str(name) for name in names) + "}", (len(names) - 1.0) / axis.span
