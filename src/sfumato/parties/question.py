"""What several parties can ask of all their tables together, and the meeting in which they do."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.progress import Progress, silent
from sfumato.errors import ReleaseRefused
from sfumato.parties.arithmetic import Arithmetic, at_least
from sfumato.parties.channel import Channel
from sfumato.parties.sharing import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

Numbers = Any
"""Whole numbers in an array: 64-bit ones, or Python's own where they are larger."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a question costs every party, as far as it is known beforehand: messages and bytes that
    it sends, products, rounds.
    """

    messages: int
    sent: int
    products: int = 0
    rounds: int = 1


@dataclasses.dataclass(frozen=True, repr=False)
class Magnitudes:
    """Amounts in whole units, coarse enough to be compared: a total rounded down, and the two
    largest records rounded up.
    """

    total: int
    largest: tuple[int, int]


@dataclasses.dataclass(repr=False)
class Meeting:
    """Where parties compute: the lines to the others, the way to add, the noise nobody knows, and
    what tells of progress.
    """

    channel: Channel
    sums: Summation
    degree: int
    """Of Shamir's polynomials: so many parties together learn nothing."""
    records_at_most: int = 2**31 - 2
    """What the study says of all records together."""
    least_records: int = 10
    """Counts below it are not opened, unless there is noise."""
    noise: Mapping[int, NDArray[np.int64]] = dataclasses.field(default_factory=dict)
    """By round: what this party adds to its numbers; drawn before the meeting, so that a second
    attempt adds the same.
    """
    noise_units: NDArray[np.int64] | None = None
    """The steps in which sums with noise are told: coarser than the noise matters, so that it can
    be drawn exactly.
    """
    noise_at_most: int = 0
    """What everybody's noise in one number does not exceed, but for a probability of 2⁻⁴⁰."""
    draw: Draw = os.urandom
    progress: Progress = silent
    round: int = 0

    async def total(self, own: Numbers, bound: int) -> Numbers:
        """The sums over all parties, with everybody's noise; each stays below ``bound`` in absolute
        value, the noise included.
        """
        # by round, not by call with noise: a second attempt finds the same noise again
        noise_drawn = self.noise.get(self.round)
        self.round += 1
        if noise_drawn is None:
            return await self.sums.total(self.channel, own, bound, self.draw)
        # noise is drawn in steps, so sums are brought to steps first
        if self.noise_units is None:
            steps = np.ones(len(own), dtype=np.int64)
        else:
            steps = self.noise_units
        coarse = (own + steps // 2) // steps  # a party rounds its own sum once
        total = await self.sums.total(self.channel, coarse + noise_drawn, bound, self.draw)
        # in Python's own numbers: in units of the sums, noise may lead out of 64 bits
        if (steps == 1).all():
            return total
        return total.astype(object) * steps.astype(object)


class Summation(abc.ABC):
    """A way to add numbers of several parties so that nobody learns anything but the sums."""

    name: ClassVar[str]

    @abc.abstractmethod
    def fits(self, bound: int) -> bool:
        """Whether sums below this bound in absolute value come out right."""

    @abc.abstractmethod
    async def total(self, channel: Channel, own: Numbers, bound: int, draw: Draw) -> Numbers:
        """The sums, known to all."""

    @abc.abstractmethod
    def cost(self, parties: int, cells: int, bound: int) -> Cost:
        """What one addition costs every party."""


class JointQuestion(abc.ABC):
    """A question that parties ask of all their rows together; every party answers from its own
    rows.

    ``gives_away`` says what the answer itself tells, whatever protocol computes it.
    """

    name: ClassVar[str]
    gives_away: ClassVar[str]
    protocols: ClassVar[tuple[str, ...]] = ("additive", "shamir", "encrypted")

    @property
    @abc.abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns every party needs."""

    @abc.abstractmethod
    def own_input(self, people: Table) -> bytes:
        """All that this party's rows say to the question, in a canonical form: for the digest that
        a second attempt must repeat.
        """

    @property
    def filters(self) -> Mapping[str, tuple[str, ...]]:
        """Columns and the words that count; rows with others do not."""
        return {}

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of numbers and the bounds or edges at which they are cut: two questions that cut
        differently can be subtracted.
        """
        return {}

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """Which rows the question is about."""
        return np.ones(len(people), dtype=bool)

    def magnitudes(self, people: Table, records: int) -> Magnitudes | None:
        """For sums of amounts: this party's total and its largest records; None where no record can
        dominate.
        """
        return None

    @property
    def numbers_opened(self) -> int:
        """How many sums over records all learn, at most: equations about them. Counts, guarded one
        by one, are none.
        """
        return 0

    def common(self, answer: Fields) -> Fields:
        """What all parties know of an answer, which is what they sign; everything, unless one of
        them gets more.
        """
        return answer

    @abc.abstractmethod
    async def compute(self, people: Table, meeting: Meeting) -> Document:
        """The answer, equal for all parties."""

    @abc.abstractmethod
    def plain(self, people: Table) -> Document:
        """The same answer from one table with everybody's rows: the reference."""

    @abc.abstractmethod
    def cost(self, parties: int, sums: Summation, records: int) -> Cost:
        """What the whole question costs every party, at most."""


class JointStatistic(JointQuestion):
    """A question that is answered from sums of whole numbers over the records.

    Values are clipped to public bounds, and the party adds its own records first: what it sends are
    shares of sums.
    """

    rounds: ClassVar[int] = 1
    """How often sums are opened, at most."""

    @property
    @abc.abstractmethod
    def cells(self) -> int:
        """How many sums a round has."""

    @abc.abstractmethod
    def bound(self, records: int) -> int:
        """What no sum over so many records reaches in absolute value."""

    @abc.abstractmethod
    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Give this party's sums, take the sums of all, as often as it takes, and return the
        answer.
        """

    @abc.abstractmethod
    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """The sums in parts, one after the other: each gets noise for what one record moves in it,
        at an equal share of the loss.
        """

    def guarded(self, people: Table) -> NDArray[np.int64] | None:
        """This party's counts behind the answer, none of which may be small in all; None where the
        number of records is all there is.
        """
        return None

    def without(self, own: Numbers, is_kept: NDArray[np.bool_]) -> Numbers:
        """This party's sums when only some of the guarded counts are large enough; a question that
        needs all of them refuses.
        """
        if is_kept.all():
            return own
        raise ReleaseRefused(
            "the rule 'small_cells' refuses: the answer would depend on counts of too few records"
        )

    @property
    def numbers_opened(self) -> int:
        """All sums of all rounds."""
        return self.cells * self.rounds

    def own_input(self, people: Table) -> bytes:
        """What the columns of the question hold, in an order of their own."""
        return canonical_rows(people, self.columns)

    def cost(self, parties: int, sums: Summation, records: int) -> Cost:
        """All rounds of adding."""
        round_cost = sums.cost(parties, self.cells, self.bound(records))
        return Cost(
            round_cost.messages * self.rounds, round_cost.sent * self.rounds, rounds=self.rounds
        )

    async def compute(self, people: Table, meeting: Meeting) -> Document:
        """Ask, add, answer."""
        asking = self.ask(people)
        # guarded once: later rounds are about the same rows
        own = await self._large_enough(people, next(asking), meeting)
        while True:
            total = await meeting.total(
                own, self.bound(meeting.records_at_most) + meeting.noise_at_most
            )
            try:
                own = asking.send(total)
            except StopIteration as stop:
                answer: Document = stop.value
                return answer

    async def _large_enough(self, people: Table, own: Numbers, meeting: Meeting) -> Numbers:
        """Without noise, counts below the least number of records are not opened: which ones they
        are is all that is learned.
        """
        counts = None if meeting.noise else self.guarded(people)
        if counts is None:
            return own
        arithmetic = Arithmetic(meeting.channel, meeting.degree, meeting.draw)
        return self.without(own, await at_least(arithmetic, counts, meeting.least_records))


@dataclasses.dataclass(frozen=True)
class NoisyPart:
    """So many sums that one record moves together by at most ``l1`` in the L1 norm and ``l2`` in
    the L2 norm.
    """

    cells: int
    l1: int
    l2: float


def canonical_rows(people: Table, columns: Sequence[str]) -> bytes:
    """The rows of some columns, sorted and spelled so that a digest of them tells whether anything
    changed.
    """
    # as text, so that the digest does not depend on how a machine stores numbers
    cells = [people.column(name).cast(pl.String).to_list() for name in columns]
    return json.dumps(
        sorted(json.dumps(row, ensure_ascii=False) for row in zip(*cells, strict=True))
    ).encode()
