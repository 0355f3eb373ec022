"""Class sizes in bins a reader can take in: fine where people stand alone, coarse where crowds are large."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, pairwise, takewhile

SINGLE = (1, 2, 3, 4)
"""Sizes that get a bin of their own: there each one more person matters."""
ROUND = (5, 10, 20, 50, 100, 200, 500)
"""Borders up to a thousand; from there on every power of ten."""
CLOSE = 0.15
"""A round border this near to k (relative to k) gives way to it, so that no sliver of a bin is left between."""


@dataclasses.dataclass(frozen=True)
class Bin:
    """The class sizes from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def label(self) -> str:
        """What stands beside the bar: ``4``, ``5–9``."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


def bins(largest: int, k: int | None = None) -> tuple[Bin, ...]:
    """Bins 1, 2, 3, 4, 5–9, 10–19, 20–49, 50–99 … 500–999, 1,000–9,999 … that reach ``largest``; one of them starts at ``k``.

    >>> [b.label for b in bins(60, k=7)]
    ['1', '2', '3', '4', '5–6', '7–9', '10–19', '20–49', '50–99']
    >>> [b.label for b in bins(0)]
    ['1']
    """
    reach = max(largest, k or 1)
    borders = sorted({*SINGLE, *(b for b in _round_borders(20 * reach) if not _too_near(b, k)), k or 1})
    used = [b for b in borders if b <= reach]
    return tuple(Bin(low, high - 1) for low, high in pairwise([*used, borders[len(used)]]))


def _round_borders(most: int) -> Iterator[int]:
    return takewhile(lambda border: border <= most, chain(ROUND, (10**power for power in count(3))))


def _too_near(border: int, k: int | None) -> bool:
    return k is not None and abs(border - k) <= CLOSE * k


def fill(into: Sequence[Bin], sizes: Mapping[int, int], *, classes: bool = False) -> list[int]:
    """Members of the classes in each bin (size x number of such classes), or the number of classes."""
    totals = [0] * len(into)
    place = 0
    for size in sorted(sizes):
        while size > into[place].high:
            place += 1
        totals[place] += sizes[size] if classes else size * sizes[size]
    return totals


def as_sizes(sizes: Mapping[str, int] | Mapping[int, int]) -> dict[int, int]:
    """Class sizes as JSON holds them (keys are text) with numbers as keys."""
    return {int(size): int(number) for size, number in sizes.items()}
