"""What buckets and classes can be built for N records, k and t, before any data are seen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.model import TOLERANCE
from sfumato.core.words import number
from sfumato.errors import ParameterError
from sfumato.methods.formulas.bridge import implied_epsilon, needed_epsilon
from sfumato.methods.formulas.bucket_counts import (
    bucket_count,
    bucket_sizes,
    class_sizes,
    count_bounds,
    require_factor,
    whole_counts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

LARGEST = 1_000_000_000
"""Records a plan is made for at most: their counts must fit the whole numbers of the flow."""


@dataclasses.dataclass(frozen=True)
class BucketPlan:
    """What can be built for N records, k and t, before any data are seen.

    ``classes`` is the number of classes, 0 where nothing can be built. ``farthest`` is the largest
    distance some class can have: the room that is left for classes of similar people. ``nearest``
    is the smallest t these buckets and classes could meet.
    """

    n: int
    k: int
    t: float
    buckets: int
    classes: int
    farthest: float | None
    nearest: float | None

    @property
    def feasible(self) -> bool:
        """Whether anything can be built: not where k is more than there are records."""
        return self.classes > 0

    @property
    def bucket_sizes(self) -> list[int]:
        """Records of every bucket."""
        return bucket_sizes(self.n, self.buckets)

    @property
    def class_sizes(self) -> list[int]:
        """Records of every class."""
        if not self.classes:
            return []
        return class_sizes(self.n, self.classes)

    @property
    def emphasising(self) -> float:
        """l: how many classes there are for each bucket, which can show it more often than the
        table does.
        """
        return self.classes / self.buckets

    @property
    def most_emphasising(self) -> float:
        """The largest l: every class needs a record of each bucket, so l is at most N/b² (in the
        paper N/(t + 1)², with b = t + 1 buckets); the smallest is 1/b, a single class.
        """
        return self.n / self.buckets**2

    def to_dict(self) -> Document:
        """The plan as plain data."""
        sizes = self.class_sizes
        smallest = min(sizes, default=0)
        largest_class = max(sizes, default=0)
        epsilon = implied_epsilon(self.t)
        return {
            **dataclasses.asdict(self),
            "feasible": self.feasible,
            "bucket_sizes": self.bucket_sizes,
            "smallest_class": smallest,
            "largest_class": largest_class,
            "emphasising_classes": self.emphasising,
            "emphasising_classes_range": [1 / self.buckets, self.most_emphasising],
            "implied_epsilon": {**dataclasses.asdict(epsilon)},
            "needed_epsilon": (
                _finite(needed_epsilon(self.t, self.n, smallest)) if smallest else None
            ),
            "sentences": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """The plan in plain words."""
        smallest = self.bucket_sizes[-1]
        largest = self.bucket_sizes[0]
        sentences = [
            (
                f"Confidential values go into {self.buckets} buckets of {_span(smallest, largest)}"
                " records."
            )
        ]
        if not self.feasible:
            sentences.append(f"No class of {self.k:,} can be made of {self.n:,} records: lower k.")
            return sentences
        sizes = self.class_sizes
        return [
            *sentences,
            (
                f"{self.classes:,} classes of {_span(min(sizes), max(sizes))} records share these "
                f"records within a factor of {self.t:g}."
            ),
            (
                f"Each bucket has l = {number(self.emphasising)} classes that can emphasise it; l "
                f"can be {number(1 / self.buckets)} (a single class) to "
                f"{number(self.most_emphasising)}, and falls as k grows."
            ),
            (
                f"A class can be as far from the table as a factor of {self.farthest:.4g}; the"
                f" least t these sizes could meet is {self.nearest:.4g}."
            ),
            (
                "That limits what a release reveals about a person like ε = "
                f"{implied_epsilon(self.t)}."
            ),
            _the_other_way(self.t, self.n, min(sizes)),
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def plan_buckets(n: int, k: int, t: float, *, buckets: int | None = None) -> BucketPlan:
    """Buckets and the most classes of at least k records that share them out within the factor t.

    ``buckets`` is :func:`bucket_count` where it is not said, and at most k: every class needs a
    record of each. The number of classes is the largest up to N/k for which whole counts exist;
    larger classes are easier. Where not even one class fits (k > N) nothing can be built; one class
    always can.

    >>> print(plan_buckets(18, 6, 2))  # doctest: +ELLIPSIS
    Confidential values go into 3 buckets of 6 records.
    3 classes of 6 records share these records within a factor of 2.
    Each bucket has l = 1 classes that can emphasise it; ...
    A class can be as far from the table as a factor of 2; the least t these sizes could meet is 1.
    ...
    >>> (
    ...     plan_buckets(12, 4, 2).farthest,
    ...     plan_buckets(18, 3, 2).farthest,
    ...     plan_buckets(5, 6, 2).feasible,
    ... )
    (1.5, 1.0, False)
    """
    require_factor(t)
    if not 1 <= n <= LARGEST:
        raise ParameterError(f"n is a number of records, from 1 to {LARGEST:,}")
    if k < 2:
        raise ParameterError("k must be at least 2")
    if buckets is None:
        bucket_number = min(bucket_count(t), k)
    else:
        bucket_number = buckets
    if not 2 <= bucket_number <= k:
        raise ParameterError(
            f"there must be 2 to k = {k} buckets: every class needs a record of each"
        )
    # From the most classes on: the first number that holds is the answer.
    room = next(
        (
            room
            for e in _worth_trying(n, k, t, bucket_number)
            if (room := _Room(n, e, bucket_number)).holds(t)
        ),
        None,
    )
    if room is None:
        return BucketPlan(n, k, t=t, buckets=bucket_number, classes=0, farthest=None, nearest=None)
    return BucketPlan(
        n,
        k,
        t=t,
        buckets=bucket_number,
        classes=room.classes,
        farthest=room.farthest(t),
        nearest=room.nearest(t),
    )


def _worth_trying(n: int, k: int, t: float, buckets: int) -> Iterator[int]:
    """Numbers of classes from the largest on, without those whose classes cannot be filled even
    each by itself.
    """
    shares = bucket_sizes(n, buckets)

    def can_be_filled(size: int) -> bool:
        low, high = count_bounds([size], shares, t)
        return bool((low <= high).all() and low.sum() <= size <= high.sum())

    # All numbers of classes whose smaller classes have this size.
    for size in range(k, n + 1):
        if can_be_filled(size):
            # Where n is not divisible some have one record more, which must be possible, too.
            if can_be_filled(size + 1):
                fewest = n // (size + 1) + 1
            else:
                fewest = -(-n // size)
            yield from range(n // size, fewest - 1, -1)


def _span(low: int, high: int) -> str:
    if low == high:
        return f"{low:,}"
    return f"{low:,} to {high:,}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _the_other_way(t: float, n: int, smallest: int) -> str:
    epsilon = needed_epsilon(t, n, smallest)
    if not math.isfinite(epsilon):
        return "With a single class any masking of confidential values is as close as this."
    # Rounded down: a larger ε would promise more than holds.
    rounded = math.floor(epsilon * 1e4) / 1e4
    return (
        f"Instead of buckets, laplace_noise with epsilon: {rounded:g} for all confidential numbers "
        "together, after the recoding, keeps classes of these sizes as close "
        f"(stochastic_t_closeness with t: {t:g}, mechanism: private)."
    )


class _Room:
    """The counts that a number of classes and buckets leaves room for.

    Classes of one size are counted together: they have the same limits, and a sum of counts within
    the sum of the limits can always be split again into whole counts (shared out equally it is a
    fractional solution, so there is a whole one). So the network has as many classes as there are
    sizes, two, whatever N is.
    """

    def __init__(self, n: int, classes: int, buckets: int) -> None:
        self.n = n
        self.classes = classes
        self.shares = bucket_sizes(n, buckets)
        # The larger classes first; at most two sizes occur.
        small, larger = divmod(n, classes)
        if larger:
            self.sizes = [(small + 1, larger), (small, classes - larger)]
        else:
            self.sizes = [(small, classes)]

    def holds(self, t: float) -> bool:
        """Whether there are counts within the factor t."""
        return self._counts(self.sizes, t) is not None

    def nearest(self, t: float) -> float:
        """The smallest factor for which there are counts, given that t is one."""
        low, high = 1.0, t
        if self.holds(low):
            return low
        # Halving: whatever holds for a factor holds for any larger one.
        while high - low > TOLERANCE * high:
            middle = (low + high) / 2
            if self.holds(middle):
                high = middle
            else:
                low = middle
        return high

    def farthest(self, t: float) -> float:
        """The largest distance that one class can have while all others stay within t."""
        first_of_its_size = sorted({self.shares.index(size) for size in self.shares})
        return max(
            self._farthest(t, apart, bucket)
            for apart in range(len(self.sizes))
            for bucket in first_of_its_size
        )

    def _farthest(self, t: float, apart: int, bucket: int) -> float:
        """The largest distance by one bucket of one class of the size number ``apart``."""
        size = self.sizes[apart][0]
        # One class is set apart, the others of its size are one fewer.
        other_sizes = [(s, amount - (i == apart)) for i, (s, amount) in enumerate(self.sizes)]
        rows = [(size, 1), *((s, amount) for s, amount in other_sizes if amount)]
        class_counts = self._counts(rows, t)
        if class_counts is None:
            return 1.0

        def fits(count: int) -> bool:
            return self._counts(rows, t, (bucket, count)) is not None

        low, high = count_bounds([size], self.shares, t)
        inside = int(class_counts[0, bucket])
        expected = size * self.shares[bucket] / self.n
        fewest = _last(inside, int(low[0, bucket]), fits)
        largest = _last(inside, int(high[0, bucket]), fits)
        return max(largest / expected, expected / fewest)

    def _counts(
        self, rows: Sequence[tuple[int, int]], t: float, fixed: tuple[int, int] | None = None
    ) -> Counts | None:
        """Counts for so many classes of each size together; ``fixed`` is a bucket and its count in
        the first row.
        """
        sizes = [size for size, _ in rows]
        amounts = np.array([amount for _, amount in rows], dtype=np.int64)
        low, high = (
            np.asarray(bound * amounts[:, None]) for bound in count_bounds(sizes, self.shares, t)
        )
        if fixed is not None:
            low[0, fixed[0]] = high[0, fixed[0]] = fixed[1]
        return whole_counts((np.array(sizes) * amounts).tolist(), self.shares, low, high)


def _last(inside: int, end: int, fits: Callable[[int], bool]) -> int:
    """The last count from ``inside`` towards ``end`` that fits; all that fit lie side by side."""
    if fits(end):
        return end
    # Halving between a count that fits and one that does not.
    while abs(end - inside) > 1:
        middle = (inside + end) // 2
        if fits(middle):
            inside = middle
        else:
            end = middle
    return inside
