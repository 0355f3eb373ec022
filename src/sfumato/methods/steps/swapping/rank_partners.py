"""Records sorted by one column within strata, and the partner each exchanges its value with."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Variant = Literal["interval", "p_distribution", "p_buckets"]


def share_of(share: float, count: int) -> int:
    """The whole number of records that a share of them is, rounded down; 0.29 of 100 is 29.

    >>> share_of(0.29, 100), share_of(0.5, 5)
    (29, 2)
    """
    return math.floor(share * count + 1e-9)


def sorted_within(
    scores: Floats, strata: Codes, carriers: Codes, stream: np.random.Generator
) -> tuple[Codes, Codes]:
    """The chosen carriers by stratum and score, and where each stratum starts.

    Equal scores are put in random order: any other would tie the swap to what the canonical order
    sorts by.
    """
    # Equal scores in random order, as the sort is stable.
    mixed = stream.permutation(carriers)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    count = int(strata.max(initial=0)) + 1
    if count > 1:
        order = order[np.argsort(strata[order], kind="stable")]
    if count > 1:
        starts = np.searchsorted(strata[order], np.arange(count + 1))
    else:
        starts = np.array([0, len(order)])
    return order, starts.astype(np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Ranking:
    """Carriers that may exchange values, sorted, with the random numbers that decide who does it
    with whom.

    The numbers are drawn once, so that a narrower swap is a narrower version of the same one.
    """

    order: Codes
    starts: Codes
    variant: Variant
    first: Floats
    second: Floats

    @classmethod
    def of(
        cls,
        scores: Floats,
        strata: Codes,
        carriers: Codes,
        variant: Variant,
        stream: np.random.Generator,
    ) -> Ranking:
        """Sort the chosen carriers and draw."""
        order, starts = sorted_within(scores, strata, carriers, stream)
        normal = variant == "p_distribution"
        if normal:
            # Drawn once for all p: a narrower p gives a narrower version of the same swap.
            first = stream.standard_normal(len(order))
        else:
            first = stream.random(len(order))
        if variant == "p_buckets":
            second = stream.random(len(order))
        else:
            second = first[:0]
        return cls(order, starts, variant, first, second)

    def limits(self, p: float) -> Codes:
        """The limit m = floor(p · N) of every stratum."""
        shares = [share_of(p, size) for size in np.diff(self.starts).tolist()]
        return np.array(shares, dtype=np.int64)

    def partners(self, p: float) -> Codes:
        """Per place in the order the place it exchanges with; its own inverse."""
        limits = self.limits(p)
        if self.variant == "interval":
            partners = kernels.swapping.pair_in_windows(self.starts, limits, self.first)
        elif self.variant == "p_distribution":
            partners = kernels.swapping.pair_at_distances(self.starts, limits, self.first)
        else:
            partners = kernels.swapping.pair_in_buckets(
                self.starts, limits, self.first, self.second
            )
        return partners  # type: ignore[no-any-return]

    def idle(self, p: float) -> int:
        """How many carriers are in strata too small for any exchange."""
        sizes = np.diff(self.starts)
        return int(sizes[self.limits(p) == 0].sum())
