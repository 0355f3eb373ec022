"""Random predicates on a column: ranges of ordered values, sets of others, and how far released labels meet them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.reading import Reading
from sfumato.utility.grouping import codes_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@dataclasses.dataclass(frozen=True, eq=False)
class Questions:
    """Predicates on one column, one a row.

    ``before`` says for every original value whether it is asked for, ``after`` for every released label the share of what it
    may stand for that is; ``blind`` is the share of all values. ``original`` and ``released`` are codes per row (None: the
    column was not released).
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    blind: NDArray[np.float64]
    original: NDArray[np.int64]
    released: NDArray[np.int64] | None


@dataclasses.dataclass(frozen=True, eq=False)
class _Line:
    """The values of a column in their order, and from where to where on it each released label reaches."""

    order: NDArray[np.int64]
    places: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def questions_of(pair: Pair, name: str, amount: int, share: float, stream: np.random.Generator) -> Questions:
    """Random predicates that ask for a share of the values of a column; missing values are never asked for."""
    import numpy as np

    if name not in pair.released.columns:
        codes, size = codes_of(pair, name, "original")
        asked = _sets(np.arange(size), size, amount, share, stream)
        return Questions(asked, np.zeros((amount, 0)), asked.mean(axis=1), codes, None)
    reading = pair.reading(name)
    known = np.flatnonzero([v is not None for v in reading.values])
    if reading.scale == "category":
        before = _sets(known, len(reading.values), amount, share, stream)
        after = _met_by_sets(reading, before)
    else:
        before, after = _ranges(reading, _line(pair, name), amount, share, stream)
    blind = before.sum(axis=1) / max(1, len(known))
    blank = np.array([label is None for label in reading.labels], dtype=bool)
    after[:, blank] = 0.0  # a blank may be a value that was missing before ...
    lost = reading.everything | (blank & (None not in reading.values))  # ... unless there was none
    after = np.where(lost, blind[:, None], after)
    return Questions(before, after, blind, reading.original, reading.released)


def values_of(pair: Pair, name: str) -> int:
    """How many values and labels the predicates of a column are about."""
    if name not in pair.released.columns:
        return codes_of(pair, name, "original")[1]
    reading = pair.reading(name)
    return max(len(reading.values), len(reading.labels), len(reading.members))


def _sets(
    codes: NDArray[np.int64], width: int, amount: int, share: float, stream: np.random.Generator
) -> NDArray[np.float64]:
    """Random sets of codes."""
    import numpy as np

    asked = np.zeros((amount, width))
    size = max(1, round(share * len(codes)))
    for query in range(amount if len(codes) else 0):
        asked[query, stream.permutation(codes)[:size]] = 1.0
    return asked


def _met_by_sets(reading: Reading, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per query and label the share of the label's values that are asked for."""
    import numpy as np

    upto = np.concatenate([np.zeros((len(before), 1)), np.cumsum(before[:, reading.members], axis=1)], axis=1)
    sizes = np.diff(reading.starts)
    met: NDArray[np.float64] = (upto[:, reading.starts[1:]] - upto[:, reading.starts[:-1]]) / np.maximum(1, sizes)
    return met


def _line(pair: Pair, name: str) -> _Line:
    import numpy as np

    if ("line", name) not in pair.memo:
        reading = pair.reading(name)
        order = np.argsort(reading.places, kind="stable")
        order = order[~np.isnan(reading.places[order])]
        places, slack = reading.places[order], 1e-9 * max(1.0, abs(reading.span))
        starts = np.searchsorted(places, np.where(np.isnan(reading.low), np.inf, reading.low) - slack, "left")
        ends = np.searchsorted(places, np.where(np.isnan(reading.high), -np.inf, reading.high) + slack, "right")
        pair.memo["line", name] = _Line(order, places, starts, np.maximum(starts, ends))
    found: _Line = pair.memo["line", name]
    return found


def _ranges(
    reading: Reading, line: _Line, amount: int, share: float, stream: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random runs of neighbouring values, and the share of every label's values that lies inside."""
    import numpy as np

    before = np.zeros((amount, len(reading.values)))
    count = len(line.order)
    if not count:
        return before, np.zeros((amount, len(reading.labels)))
    size = max(1, round(share * count))
    first = stream.integers(0, count - size + 1, size=amount)[:, None]
    last = first + size
    rank = np.full(len(reading.values), -1, dtype=np.int64)
    rank[line.order] = np.arange(count)
    before[:] = (rank >= first) & (rank < last)
    sizes = line.ends - line.starts
    inside = np.minimum(last, line.ends) - np.maximum(first, line.starts)
    # a place that no original value has is inside what is asked for, or not
    middle = np.where(np.isnan(reading.middle), np.inf, reading.middle)
    between = (middle >= line.places[first]) & (middle <= line.places[last - 1])
    return before, np.where(sizes > 0, np.maximum(0, inside) / np.maximum(1, sizes), between)
