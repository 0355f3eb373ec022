"""The equivalence classes of both sides of a pair, by some of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.core.layout import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

Side = Literal["original", "released"]


def classes_of(
    pair: Pair, columns: Sequence[str], side: Side
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per row its class, per class a row that is in it, and its number of records; worked out once.

    Missing is a value like any other. A column that was not released divides nothing.
    """
    names = tuple(name for name in columns if name in pair.released.columns or side == "original")
    if ("classes", names, side) not in pair.memo:
        pair.memo["classes", names, side] = _classes(pair, names, side)
    found: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] = pair.memo["classes", names, side]
    return found


def class_sizes(pair: Pair, columns: Sequence[str], side: Side) -> NDArray[np.int64]:
    """Records per class."""
    return classes_of(pair, columns, side)[2]


def codes_of(pair: Pair, name: str, side: Side) -> tuple[NDArray[np.int64], int]:
    """The codes of a column on one side, and how many there are."""
    if name not in pair.released.columns:
        from sfumato.core.encoding import encode

        encoded = encode(pair.original.column(name))
        return encoded.codes, len(encoded.labels)
    reading = pair.reading(name)
    if side == "original":
        return reading.original, len(reading.values)
    return reading.released, len(reading.labels)


def _classes(
    pair: Pair, names: Sequence[str], side: Side
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    import numpy as np

    from sfumato.kernels.keys import group, pack

    rows = len(pair.original) if side == "original" else len(pair.released)
    columns = [codes_of(pair, name, side) for name in names]
    layout = Layout.of([max(1, size) for _, size in columns])
    keys = np.zeros((rows, layout.length), dtype=np.uint64)
    for a, (codes, _) in enumerate(columns):
        pack(keys, np.asarray(codes, dtype=np.int64), layout.words[a], layout.shifts[a])
    ids, first = group(keys)
    return ids, first, np.bincount(ids, minlength=len(first))
