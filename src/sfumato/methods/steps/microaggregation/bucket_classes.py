"""Classes of similar records, as similar as the limits on every bucket allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.groups import places_in_groups
from sfumato.core.model import TOLERANCE
from sfumato.errors import InternalError
from sfumato.methods.formulas.bucket_counts import count_bounds, whole_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]
    Counts = NDArray[np.int64]
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
        low, high = count_bounds(sizes, shares, t)
        class_sizes = np.array(sizes, dtype=np.int64)
        return cls(class_sizes, low, np.minimum(high, class_sizes[:, None]))

    def exact(self, shares: Sequence[int]) -> Limits:
        """The same classes with counts that are known to work out."""
        counts = whole_counts(self.sizes.tolist(), shares, self.low, self.high)
        if counts is None:
            raise InternalError("the planned classes have no counts")
        return Limits(self.sizes, counts, counts)


def greedy(points: Points, buckets: Labels, limits: Limits) -> tuple[Labels, bool]:
    """Classes around the records that lie farthest out, and whether the counts had to be fixed
    beforehand.

    Each class takes the records nearest to its seed within its limits and what the later ones need.
    Where that leads nowhere, it starts again with counts that a flow found, which always work out.
    """
    groups = np.full(len(points), -1, dtype=np.int64)
    if _share_out(points, buckets, limits, groups):
        return groups, False
    # Fixed counts always work: each class needs exactly what the flow left for it.
    if not _share_out(points, buckets, limits.exact(np.bincount(buckets).tolist()), groups):
        raise InternalError("classes with fixed counts could not be filled")
    return groups, True


def _share_out(points: Points, buckets: Labels, limits: Limits, groups: Labels) -> bool:
    columns = np.array(points.T, order="C")
    classes = kernels.buckets.share_out(
        columns, buckets.copy(), limits.sizes, limits.low, limits.high, groups
    )
    return bool(classes == len(limits.sizes))


def halve_parts(points: Points, buckets: Sequence[Labels], k: int, t: float) -> Labels:
    """Cut parts in two along the dimension that varies most, as long as both halves are within t of
    the table.

    ``buckets`` has the buckets of every confidential column: each part must be close in each of
    them. A part is cut at its middle where that leaves both within √t in some dimension, so that
    they can be cut further; otherwise the records of each combination of buckets are cut at their
    own middle, so that both halves have the same buckets but for single records.
    """
    shares = [np.bincount(bucket_codes) / len(bucket_codes) for bucket_codes in buckets]
    # One number for each combination of buckets.
    cells = np.unique(np.stack(buckets, axis=1), axis=0, return_inverse=True)[1].ravel()
    groups = np.empty(len(points), dtype=np.int64)
    classes = 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        part_buckets = [bucket_codes[rows] for bucket_codes in buckets]
        upper = _find_cut(points[rows], cells[rows], part_buckets, shares=shares, k=k, t=t)
        if upper is None:
            groups[rows] = classes
            classes += 1
        else:
            waiting += [rows[upper], rows[~upper]]
    return groups


def _find_cut(
    points: Points,
    cells: Labels,
    buckets: Sequence[Labels],
    shares: Sequence[Points],
    k: int,
    t: float,
) -> Flags | None:
    """The records of the upper half by the first cut that is allowed, or None."""
    if len(points) < 2 * k:
        return None
    spread = points.var(axis=0)
    widest = np.argsort(-spread, kind="stable")[:MOST_AXES]
    axes = [axis for axis in widest if spread[axis] > 0] or [0]
    everywhere = np.zeros(len(points), dtype=np.int64)
    # Three ways, from the one that loses least: at the middle with room for further cuts, within
    # every combination of buckets, at the middle with no room left.
    for parts, limit in ((everywhere, t**0.5), (cells, t), (everywhere, t)):
        for axis in axes:
            upper = _upper_halves(points[:, axis], parts)
            if min(upper.sum(), (~upper).sum()) >= k and all(
                _close(bucket_codes[upper], share, limit)
                and _close(bucket_codes[~upper], share, limit)
                for bucket_codes, share in zip(buckets, shares, strict=True)
            ):
                return upper
    return None


def _upper_halves(values: Points, parts: Labels) -> Flags:
    """The records above the middle of their part; of parts with an odd number every other one has
    one more above.
    """
    order = np.lexsort((values, parts))
    sizes = np.bincount(parts)
    sizes = sizes[sizes > 0]
    odd = sizes % 2
    # Odd parts take turns in which half gets one more, so that both halves stay equal in all.
    below = sizes // 2 + odd * (np.cumsum(odd) % 2)
    position = places_in_groups(sizes)
    upper = np.zeros(len(order), dtype=np.bool_)
    upper[order] = position >= np.repeat(below, sizes)
    return upper


def _close(buckets: Labels, shares: Points, t: float) -> bool:
    expected = len(buckets) * shares
    counts = np.bincount(buckets, minlength=len(shares))
    above = counts >= expected / t - TOLERANCE
    below = counts <= expected * t + TOLERANCE
    return bool((above & below).all())
