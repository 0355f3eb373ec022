"""Linkage by what released columns imply: who knows the quasi-identifiers picks, in the class, the
record whose other columns fit best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.formulas.dependence import Codes, Numbers

MOST_PEOPLE, MOST_MEMBERS = 2000, 2000
"""People who are looked for, and records of a class that are compared; the own record is always
among them.
"""
TIE = 1e-12
Z = 1.96


class ImpliedEvidence(Protocol):
    """What a released column of records says of a quasi-identifier of a person."""

    def scores(self, person: int, members: Codes) -> Numbers:
        """How well the released column of every member fits the person's quasi-identifier; learnt
        without that member.
        """
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class TableEvidence:
    """By counts: the chance of the person's value among others with the member's released value,
    backed off to the share of all.
    """

    q: Codes
    r: Codes
    keys: Codes
    counts: Codes
    totals: Codes
    prior: Numbers

    @classmethod
    def of(cls, q: Codes, r: Codes) -> TableEvidence:
        """The counts of two columns of codes."""
        width = int(q.max(initial=0)) + 1
        keys, counts = np.unique(r * width + q, return_counts=True)
        shares = np.bincount(q) / max(1, len(q))
        return cls(q, r, keys, counts, np.bincount(r), shares)

    def scores(self, person: int, members: Codes) -> Numbers:
        """P(value of the person | released value of the member), the member's own record left
        out.
        """
        value = self.q[person]
        released = self.r[members]
        pair_keys = released * len(self.prior) + value
        # Pairs that never occur together are looked up beyond the end; the next line finds them
        # out.
        positions = np.minimum(np.searchsorted(self.keys, pair_keys), len(self.keys) - 1)
        counted = np.where(self.keys[positions] == pair_keys, self.counts[positions], 0)
        is_own = self.q[members] == value
        together = counted - is_own
        # Backed off: the share of all weighs as much as two records.
        expected = (together + 2 * self.prior[value]) / (self.totals[released] + 1)
        return np.asarray(expected)


@dataclasses.dataclass(frozen=True, eq=False)
class LineEvidence:
    """By a function of numbers: the share of records whose prediction is at least as far off as the
    member's from the person's value.
    """

    q: Numbers
    predicted: Numbers
    apart: Numbers

    @classmethod
    def of(cls, q: Numbers, predicted: Numbers) -> LineEvidence:
        """Predictions beside the true numbers; those of a record were learnt without it."""
        off = np.abs(q - predicted)
        return cls(q, predicted, np.sort(off[~np.isnan(off)]))

    def scores(self, person: int, members: Codes) -> Numbers:
        """One where it fits as well as the best, less the worse it fits; half where nothing is
        predicted.
        """
        off = np.abs(self.q[person] - self.predicted[members])
        # The slack counts predictions that are equally far off but for rounding.
        nearer = np.searchsorted(self.apart, off * (1 - 1e-9) - 1e-12)
        at_least = len(self.apart) - nearer
        shares_apart = (at_least + 1) / (len(self.apart) + 1)
        return np.where(np.isnan(off), 0.5, shares_apart)


@dataclasses.dataclass(frozen=True, eq=False)
class Linkage:
    """What linkage by implied values reaches: ``rate`` beside ``class_only``, each a mean over
    ``people``; ``low`` is the lower end of its interval.

    ``exposed`` is the share of people of whom fewer than k records of the class fit nearly as well
    as the best; ``credit`` what is linked of each person.
    """

    rate: float
    class_only: float
    low: float
    high: float
    exposed: float
    people: Codes
    credit: Numbers
    k: int

    def exceeds(self, k: int | None) -> bool:
        """Whether it surely finds more people than a class of k lets find, and a quarter more than
        the classes themselves.
        """
        threshold = max(1 / k if k else 0.0, 1.25 * self.class_only)
        return self.low > threshold + 1e-9


def implied_linkage(
    classes: Codes, evidence: Sequence[ImpliedEvidence], *, k: int, people: Codes | None = None
) -> Linkage:
    """Look for people in their released class by all evidence together; ties are split.

    ``people`` are rows to look for, by default a random sample of all. Scores of several columns
    are multiplied.
    """
    rng = np.random.default_rng(len(classes))
    if people is None:
        rows = np.arange(len(classes))
    else:
        rows = people
    # A fixed seed, as above: the same people are looked for every time.
    if people is None and len(rows) > MOST_PEOPLE:
        rows = np.sort(rng.choice(rows, MOST_PEOPLE, replace=False))
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.bincount(classes))
    credit = np.zeros(len(rows))
    alone = np.zeros(len(rows))
    nearly = np.zeros(len(rows))
    for number, person in enumerate(rows.tolist()):
        end = int(ends[classes[person]])
        if classes[person]:
            start = int(ends[classes[person] - 1])
        else:
            start = 0
        members = order[start:end]
        alone[number] = 1 / len(members)
        share = 1.0
        if len(members) > MOST_MEMBERS:
            share = len(members) / MOST_MEMBERS
            # The person's own record always stays among those that are looked at.
            sampled_members = rng.choice(
                members[members != person], MOST_MEMBERS - 1, replace=False
            )
            members = np.append(sampled_members, person)
        scores = np.ones(len(members))
        for source in evidence:
            scores *= source.scores(person, members)
        best = float(scores.max())
        tied = scores >= best - TIE * max(1.0, best)
        # Of a class that is sampled each tied record stands for several.
        if tied[members == person][0]:
            rivals = (int(tied.sum()) - 1) * share
            credit[number] = 1 / (1 + rivals)
        # A quarter of the best score is nearly as good: an intruder would not rule such records
        # out.
        nearly[number] = int((scores >= best / 4).sum()) * share
    rate = float(credit.mean()) if len(rows) else 0.0
    error = 0.0
    if len(rows):
        error = float(credit.std() / np.sqrt(len(rows)))
    if len(rows):
        class_only = float(alone.mean())
        exposed = float((nearly < k).mean())
    else:
        class_only = 0.0
        exposed = 0.0
    return Linkage(
        rate=rate,
        class_only=class_only,
        low=max(0.0, rate - Z * error),
        high=min(1.0, rate + Z * error),
        exposed=exposed,
        people=rows,
        credit=credit,
        k=k,
    )


def classes_of_codes(columns: Sequence[NDArray[np.generic]], rows: int) -> Codes:
    """The class of every record: records with the same codes in all columns, distinguished by sums
    of 64 random bits a code.
    """
    keys = np.zeros(rows, dtype=np.uint64)
    rng = np.random.default_rng(rows)
    for codes in columns:
        code_count = int(codes.max(initial=0)) + 1
        bits = rng.integers(0, 2**64, code_count, dtype=np.uint64)
        keys += bits[codes.astype(np.int64)]
    return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
