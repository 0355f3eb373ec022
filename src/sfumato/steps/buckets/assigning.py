"""Which records are a class: similar ones, as far as the limits on every bucket allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.buckets import count_bounds, whole_counts
from sfumato.core.model import TOLERANCE
from sfumato.errors import InternalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]
    Counts = NDArray[np.int64]
    Points = NDArray[np.float64]
    Flags = NDArray[np.bool_]

MOST_AXES = 12
"""So many dimensions are tried to cut a part in two, from the one that varies most."""


@dataclasses.dataclass(frozen=True, eq=False)
class Limits:
    """How many records classes have, and how many of each bucket at least and at most."""

    sizes: Counts
    low: Counts
    high: Counts

    @classmethod
    def of(cls, sizes: Sequence[int], shares: Sequence[int], t: float) -> Limits:
        """The limits of a factor t."""
        import numpy as np

        low, high = count_bounds(sizes, shares, t)
        given = np.array(sizes, dtype=np.int64)
        return cls(given, low, np.minimum(high, given[:, None]))

    def exact(self, shares: Sequence[int]) -> Limits:
        """The same classes with counts that are known to work out."""
        found = whole_counts(self.sizes.tolist(), shares, self.low, self.high)
        if found is None:
            raise InternalError("there are no counts for classes that were planned")
        return Limits(self.sizes, found, found)


def greedy(points: Points, buckets: Labels, limits: Limits) -> tuple[Labels, bool]:
    """Classes around the records that lie farthest out, and whether the counts had to be fixed beforehand.

    Each class takes the records nearest to its seed within its limits and what the later ones need. Where that leads
    nowhere, it starts again with counts that a flow found, which always work out.
    """
    import numpy as np

    groups = np.full(len(points), -1, dtype=np.int64)
    if _share_out(points, buckets, limits, groups):
        return groups, False
    if not _share_out(points, buckets, limits.exact(np.bincount(buckets).tolist()), groups):
        raise InternalError("classes with fixed counts could not be filled")
    return groups, True


def _share_out(points: Points, buckets: Labels, limits: Limits, groups: Labels) -> bool:
    import numpy as np

    from sfumato.kernels.sharing_out import share_out

    columns = np.array(points.T, order="C")
    made = share_out(columns, buckets.copy(), limits.sizes, limits.low, limits.high, groups)
    return bool(made == len(limits.sizes))


def halved(points: Points, buckets: Sequence[Labels], k: int, t: float) -> Labels:
    """Cut parts in two along the dimension that varies most, as long as both halves are within t of the table.

    ``buckets`` has the buckets of every confidential column: each part must be close in each of them. A part is cut at its middle
    where that leaves both within √t in some dimension, so that they can be cut further; otherwise the records of each
    combination of buckets are cut at their own middle, so that both halves have the same buckets but for single records.
    """
    import numpy as np

    shares = [np.bincount(one) / len(one) for one in buckets]
    cells = np.unique(np.stack(buckets, axis=1), axis=0, return_inverse=True)[1].ravel()
    groups, made = np.empty(len(points), dtype=np.int64), 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        upper = _cut(points[rows], cells[rows], [one[rows] for one in buckets], shares, k, t)
        if upper is None:
            groups[rows] = made
            made += 1
        else:
            waiting += [rows[upper], rows[~upper]]
    return groups


def _cut(
    points: Points, cells: Labels, buckets: Sequence[Labels], shares: Sequence[Points], k: int, t: float
) -> Flags | None:
    """The records of the upper half by the first cut that is allowed, or None."""
    import numpy as np

    if len(points) < 2 * k:
        return None
    spread = points.var(axis=0)
    axes = [axis for axis in np.argsort(-spread, kind="stable")[:MOST_AXES] if spread[axis] > 0] or [0]
    everywhere = np.zeros(len(points), dtype=np.int64)
    for parts, limit in ((everywhere, t**0.5), (cells, t), (everywhere, t)):
        for axis in axes:
            upper = _upper_halves(points[:, axis], parts)
            halves = [upper, ~upper]
            sizes = [int(half.sum()) for half in halves]
            pairs = zip(buckets, shares, strict=True)
            if min(sizes) >= k and all(_close(one[half], share, limit) for one, share in pairs for half in halves):
                return upper
    return None


def _upper_halves(values: Points, parts: Labels) -> Flags:
    """The records above the middle of their part; of parts with an odd number every other one has one more above."""
    import numpy as np

    order = np.lexsort((values, parts))
    sizes = np.bincount(parts)
    sizes = sizes[sizes > 0]
    odd = sizes % 2
    below = sizes // 2 + odd * (np.cumsum(odd) % 2)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    upper = np.zeros(len(order), dtype=np.bool_)
    upper[order] = place >= np.repeat(below, sizes)
    return upper


def _close(buckets: Labels, shares: Points, t: float) -> bool:
    import numpy as np

    expected = len(buckets) * shares
    counts = np.bincount(buckets, minlength=len(shares))
    return bool(((counts >= expected / t - TOLERANCE) & (counts <= expected * t + TOLERANCE)).all())
