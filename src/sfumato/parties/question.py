"""What several parties can ask of all their tables together, and the meeting in which they do."""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.parties.channel import Channel
from sfumato.parties.sharing import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

Numbers = Any
"""Whole numbers in an array: 64-bit ones, or Python's own where they are larger."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a question costs every party, as far as it is known beforehand: messages and bytes that it sends, products, rounds."""

    messages: int
    sent: int
    products: int = 0
    rounds: int = 1


@dataclasses.dataclass
class Meeting:
    """Where parties compute: the lines to the others, the way to add, the noise nobody knows, and what tells of progress."""

    channel: Channel
    sums: Summation
    degree: int
    """Of Shamir's polynomials: so many parties together learn nothing."""
    records_at_most: int = 2**31 - 2
    """What the study says of all records together."""
    least_records: int = 10
    """Counts below it are not opened, unless there is noise."""
    noise: Mapping[int, NDArray[np.int64]] = dataclasses.field(default_factory=dict)
    """By round: what this party adds to its numbers; drawn before the meeting, so that a second attempt adds the same."""
    noise_at_most: int = 0
    """What everybody's noise in one number does not exceed, but for a probability of 2⁻⁴⁰."""
    draw: Draw = os.urandom
    progress: Progress = silent
    round: int = 0

    async def total(self, own: Numbers, bound: int) -> Numbers:
        """The sums over all parties, with everybody's noise; each stays below ``bound`` in absolute value, the noise included."""
        noisy = own if self.round not in self.noise else own + self.noise[self.round]
        self.round += 1
        return await self.sums.total(self.channel, noisy, bound, self.draw)


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
    """A question that parties ask of all their rows together; every party answers from its own rows.

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
    def own_input(self, people: Dataset) -> bytes:
        """All that this party's rows say to the question, in a canonical form: for the digest that a second attempt must repeat."""

    @abc.abstractmethod
    async def compute(self, people: Dataset, meeting: Meeting) -> dict[str, Any]:
        """The answer, equal for all parties."""

    @abc.abstractmethod
    def plain(self, people: Dataset) -> dict[str, Any]:
        """The same answer from one table with everybody's rows: the reference."""

    @abc.abstractmethod
    def cost(self, parties: int, sums: Summation, records: int) -> Cost:
        """What the whole question costs every party, at most."""


class JointStatistic(JointQuestion):
    """A question that is answered from sums of whole numbers over the records.

    Values are clipped to public bounds, and the party adds its own records first: what it sends are shares of sums.
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
    def ask(self, people: Dataset) -> Generator[Numbers, Numbers, dict[str, Any]]:
        """Give this party's sums, take the sums of all, as often as it takes, and return the answer."""

    @abc.abstractmethod
    def reach(self, neighbours: str) -> tuple[int, float]:
        """How far the sums of a round move, in the L1 and the L2 norm, when one record is added or removed, or changed."""

    async def compute(self, people: Dataset, meeting: Meeting) -> dict[str, Any]:
        """Ask, add, answer."""
        asking = self.ask(people)
        own = next(asking)
        while True:
            total = await meeting.total(own, self.bound(meeting.records_at_most) + meeting.noise_at_most)
            try:
                own = asking.send(total)
            except StopIteration as done:
                answer: dict[str, Any] = done.value
                return answer
