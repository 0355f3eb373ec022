"""Seeded random draws, the same on every platform and with every version of numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class PhiloxDraws:
    """A stream of draws from the Philox counter generator.

    Only the raw bits of the generator are used: they are frozen by definition, while the
    distributions of ``numpy.random.Generator`` may change between versions.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ParameterError(f"seed must be 0 or more, not {seed}")
        self._bits: Any = np.random.Philox(seed)

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Numbers in [0, 1)."""
        raw: NDArray[np.uint64] = self._bits.random_raw(size)
        # The upper 53 bits, as many as a float holds exactly; so 1 is never reached.
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def short(self, size: int) -> NDArray[np.uint16]:
        """Whole numbers 0…65535: an index into a table of quantiles, the fastest way to draw
        many.
        """
        # Four numbers of 16 bits from each of 64, rounded up.
        raw: NDArray[np.uint64] = self._bits.random_raw(-(-size // 4))
        # Little-endian on every machine, so that the same bits give the same numbers.
        return raw.astype("<u8", copy=False).view("<u2")[:size].astype(np.uint16, copy=False)

    def bell(self, size: int) -> NDArray[np.float64]:
        """Nearly normal numbers with mean 0 and variance 1: twelve uniform ones added up, minus
        six.
        """
        # Each uniform number has variance 1/12 and mean 1/2, so twelve of them have 1 and 6.
        total = self.uniform(size)
        for _ in range(11):
            total = total + self.uniform(size)
        return total - 6.0

    def whole(self, size: int, low: int, high: int) -> NDArray[np.int64]:
        """Whole numbers from ``low`` to ``high``, both included, equally likely."""
        # Below 1 times the count, so ``high`` is the largest after rounding down.
        return low + np.floor(self.uniform(size) * (high - low + 1)).astype(np.int64)

    def chance(self, size: int, probability: ArrayLike) -> NDArray[np.bool_]:
        """True with the given probability."""
        return self.uniform(size) < np.asarray(probability)

    def pick(self, size: int, weights: ArrayLike) -> NDArray[np.int64]:
        """Positions drawn in proportion to their weights."""
        steps = np.cumsum(np.asarray(weights, dtype=np.float64))
        positions: NDArray[np.int64] = np.searchsorted(
            # From the right: a weight of 0 has an empty interval and is never drawn.
            steps,
            self.uniform(size) * steps[-1],
            side="right",
        ).astype(np.int64)
        return positions

    def pick_each(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """One position per row of a matrix of weights."""
        steps = np.cumsum(weights, axis=1)
        limits = self.uniform(len(weights)) * steps[:, -1]
        # How many steps lie at or below the limit is the position.
        positions: NDArray[np.int64] = (steps <= limits[:, None]).sum(axis=1).astype(np.int64)
        return positions

    def order(self, size: int) -> NDArray[np.int64]:
        """A random order of 0…size-1."""
        # Sorting random keys gives all orders alike; ties would need equal draws of 53 bits.
        return np.argsort(self.uniform(size), kind="stable")
