"""What an attack that links records believes of who is behind each released one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.methods.attacks.linkage.search import Lookup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
    from sfumato.methods.attacks.linkage.files import Files

    Ints = NDArray[np.int64]

MOST_PAIRS = 100_000_000
"""Pairs of distinct records that are weighed one by one."""
SLACK = 1e-12
"""Probabilities that differ by no more than this are equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class EvenPosterior:
    """Every released record may be any of so many originals, all equally likely."""

    candidates: Ints

    @property
    def records(self) -> int:
        """How many released records there are."""
        return len(self.candidates)

    def likely(self, threshold: float | None) -> Ints:
        """Per released record its candidates, or none where each of them is less likely than asked
        for.

        >>> EvenPosterior(np.array([1, 2, 5])).likely(0.5).tolist()
        [1, 2, 0]
        """
        if threshold is None:
            return self.candidates
        chances = 1 / np.maximum(1, self.candidates)
        return np.where(chances >= threshold - SLACK, self.candidates, 0)


def nearest_posterior(files: Files, arrays: Arrays, *, classes: bool) -> EvenPosterior:
    """The originals nearest to each released record; with ``classes`` the people of its class,
    where these are fewer.
    """
    records = len(files.released.records)
    _, tied, _ = Lookup(arrays, backwards=True).nearest(np.arange(records))
    if classes:
        candidates = np.minimum(tied, files.released.records)
    else:
        candidates = tied
    return EvenPosterior(candidates[files.released.kind_of])


@dataclasses.dataclass(frozen=True, eq=False)
class WeighedPosterior:
    """Bayes' rule with weights of agreement: who costs *c* bits less than the best is behind a
    record in proportion to 2^-c.
    """

    files: Files
    arrays: Arrays

    def __post_init__(self) -> None:
        pairs = len(self.files.intruder.records) * len(self.files.released.records)
        if pairs > MOST_PAIRS:
            raise ParameterError(
                f"probabilistic linkage gives probabilities for up to {MOST_PAIRS:,} pairs of "
                f"records, and these are {pairs:,}; limit linkage instead"
            )

    @property
    def records(self) -> int:
        """How many released records there are."""
        return len(self.files.released.kind_of)

    def probabilities(self, kind: int) -> NDArray[np.float64]:
        """How likely it is that a distinct released record is one person of each distinct record of
        the intruder.
        """
        intruder_kinds = np.arange(len(self.files.intruder.records))
        kind_pairs = [intruder_kinds, np.full(len(intruder_kinds), kind)]
        costs = self.arrays.costs(np.column_stack(kind_pairs)).sum(axis=1)
        # Relative to the best, so that large costs do not all become 0.
        weights = np.exp2(costs.min() - costs)
        # Equal people of the intruder's file share one record; each has its own probability.
        probabilities: NDArray[np.float64] = weights / (weights * self.files.intruder.records).sum()
        return probabilities

    def likely(self, threshold: float | None) -> Ints:
        """Per released record how many originals are at least as likely as asked for."""
        counts = np.zeros(len(self.files.released.records), dtype=np.int64)
        for kind in range(len(counts)):
            chances = self.probabilities(kind)
            if threshold is None:
                enough = chances > 0
            else:
                enough = chances >= threshold - SLACK
            counts[kind] = self.files.intruder.records[enough].sum()
        candidate_counts: Ints = counts[self.files.released.kind_of]
        return candidate_counts
