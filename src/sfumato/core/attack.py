"""Attacks: what an intruder is given, and what comes of it."""

from __future__ import annotations

import abc
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol

import numpy as np

from sfumato.core.consistency import NOBODYS
from sfumato.core.data import Pair
from sfumato.core.fields import Document, Fields
from sfumato.core.metric import Metric
from sfumato.core.parameters import label_of, plain_data, words_of
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.schema import Role
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.data import Data
    from sfumato.core.model import Model, Posterior
    from sfumato.core.recipe import Kept
    from sfumato.core.step import Step
    from sfumato.core.table import Table

Learns = Literal["identity", "attribute"]
NOT_IN_FILE = -1
USUAL_RATE = 0.2
"""Where nobody sets a limit: the share of what guessing leaves open beyond which an attack is
marked.
"""
AT_LEAST = 20
"""Trials of an attack that are made however much work each is: fewer say nothing."""
WORK = 500_000_000
"""Cells that one attack compares (a cell of a person with one of a released record or box of
records): two or three seconds of computing.

It decides how many people are tried, so that this does not depend on the machine.
"""
AT_ONCE = 20_000_000
"""Cells compared between two looks at the clock, as far as that is known beforehand: about a tenth
of a second.
"""
MOST_AT_ONCE = 4096
"""People searched for between two looks at the clock, however little work each is."""
BLOCK_BYTES = 256 << 20
"""Bytes of the arrays that an attack works with at a time, where these grow with people times
records.
"""


def as_theirs(name: str) -> str:
    """How a table of complete people calls a column of the release as the intruder's file would
    have it, where that is another thing.
    """
    return f"{name} (theirs)"


def cut_short(trials: int, requested_trials: int) -> str:
    """What a sentence adds where everybody would have been too much work.

    >>> cut_short(20, 500), cut_short(500, 500)
    (' (a random sample, to limit the work)', '')
    """
    if trials >= requested_trials:
        return ""
    return " (a random sample, to limit the work)"


def stopped_short(trials: int, requested_trials: int) -> str:
    """What a sentence adds where time ran out, in attacks that then report on a sample.

    >>> stopped_short(20, 500), stopped_short(500, 500)
    (' (a random sample, because time was short)', '')
    """
    if trials >= requested_trials:
        return ""
    return " (a random sample, because time was short)"


def now() -> float:
    """Seconds that this process has computed: budgets of time are measured by them, so that a busy
    machine decides nothing.
    """
    return time.process_time()


class NothingToAttack(str):
    """A reason why an attack says nothing here: there is nothing of its kind, as without a
    sensitive column or a second release.

    Any other reason (a plain text) means that the attack could not be tried although it
    might succeed: its outcome is unknown.

    >>> isinstance(NothingToAttack("there is no other release"), str)
    True
    """

    __slots__ = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Intruder:
    """A file an intruder has: ``file`` with the columns ``knows``, and for every row the original
    row it describes.

    ``truth[i]`` is the row of the original that row *i* describes, or ``NOT_IN_FILE`` (−1) for a
    stranger. Only the score is computed from the truth; no attack may look at it. ``sampled``: the
    rows are a random sample of the people that this intruder might look for, so rates found on them
    carry an interval. ``others`` are columns of the file that the release does not have. ``memo``
    keeps what attacks of this intruder have in common.
    """

    file: Any
    knows: tuple[str, ...]
    truth: NDArray[np.int64]
    sampled: bool = False
    others: tuple[str, ...] = ()
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """Where an attack takes place: the tables, the intruder, what is known of the method, and how
    much it may compute.

    ``work`` decides on how many people it is tried; ``seconds`` only stop it, and then its outcome
    is unknown.

    ``steps`` are the steps that made the release and ``models`` the promises they had to keep, with
    all their parameters: the intruder of a transparency attack knows them. ``others`` are earlier
    releases of the same table, for attacks by composition; ``population`` is a table of everyone,
    for those who look people up in it; ``aux`` a table of other people of whom the intruder knows
    the columns of the release and those of the own file, to learn how they go together. ``people``
    is how many are tried at least where an attack has a number of its own.
    """

    pair: Any
    intruder: Intruder
    steps: tuple[Step, ...] = ()
    models: tuple[Model, ...] = ()
    others: tuple[Any, ...] = ()
    seed: Seed = dataclasses.field(default_factory=lambda: Seed(0))
    seconds: float = 60.0
    progress: Progress = silent
    started: float = dataclasses.field(default_factory=now)
    population: Table | None = None
    aux: Table | None = None
    work: int = WORK
    people: int = 0

    @classmethod
    def of(cls, original: Data, released: Data, **options: Any) -> Scene:
        """A scene of data other than a table: the intruder may know any part of the original."""
        everybody = np.arange(original.size, dtype=np.int64)
        return cls(Pair(original, released), Intruder(original, (), everybody), **options)

    @property
    def held_out(self) -> NDArray[np.int64] | None:
        """Original rows that were set aside before synthetic rows were drawn; None: there are none,
        or nobody knows which.
        """
        rows: NDArray[np.int64] | None = self.pair.held_out
        return rows

    @property
    def left(self) -> float:
        """Seconds of the budget that are left, never negative."""
        return max(0.0, self.seconds - (now() - self.started))

    def at_most(self, usual: int) -> int:
        """How many people an attack tries that usually stops at so many."""
        return max(usual, self.people)

    def affordable(self, count: int, cost: int) -> int:
        """How many of ``count`` people are tried where one takes so much work: all, or as many as
        the work is enough for.
        """
        return min(count, max(AT_LEAST, self.work // max(1, cost)))

    def sampled(
        self, count: int, purpose: str, *, cost: int = 1, spent: Callable[[], int] | None = None
    ) -> Iterator[int]:
        """The numbers below ``count`` in a random order: all, or a random sample of them, as many
        as the work is enough for.

        ``cost`` is the work that one takes, at most where ``spent`` tells how much was done so far:
        then the first few say what one takes.
        """
        # Drawn from the seed alone: with less work the beginning of the same order is tried.
        order = self.seed.stream(f"{purpose}: in what order").permutation(count).tolist()
        for start, end in self.portions(count, cost=cost, spent=spent):
            for number in order[start:end]:
                self.require_time()
                yield number

    def portions(
        self, count: int, *, cost: int, spent: Callable[[], int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """Ranges, one after the other, of as many of ``count`` people as the work is enough for;
        before each the clock is looked at.

        ``cost`` and ``spent`` are those of :meth:`sampled`. How many people there will be follows
        from the work alone, never from the clock.
        """
        # Work that was done before does not count here.
        before = 0 if spent is None else spent()
        # Where work is counted as it is done, all people are the target until the first ones told
        # what one takes.
        target = self.affordable(count, cost) if spent is None else count
        finished, decided = 0, spent is None
        while finished < target:
            self.require_time()
            # As many people as take about a tenth of a second.
            size = max(1, min(MOST_AT_ONCE, AT_ONCE // max(1, cost)))
            end = min(target, finished + size)
            # The first portion is just large enough to tell what one takes.
            if not decided and finished < AT_LEAST:
                end = min(end, AT_LEAST)
            yield finished, end
            finished = end
            if spent is not None:
                cost = (spent() - before) // finished
                if not decided and finished >= AT_LEAST:
                    target, decided = self.affordable(count, cost), True

    def require_time(self) -> None:
        """Raise :class:`ParameterError` where the budget is spent: the outcome of an attack that
        was stopped is unknown.
        """
        if not self.left:
            self.give_up()

    def give_up(self) -> NoReturn:
        """Raise :class:`ParameterError`: the attack was stopped by the clock, and its outcome is
        unknown.
        """
        raise ParameterError(
            "the time budget ran out before the attack finished; allow more seconds"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Finding:
    """What an attack found.

    ``value`` is its rate of success (0–1) and ``interval`` what is certain or confident about it;
    ``baseline`` is what an intruder reaches without the release. ``sentence`` and ``details`` hold
    names and counts, no data values; ``weights`` says which columns gave people away. ``victims``
    are rows of the original, for the owner only. ``trials`` is on how many people (or descriptions)
    it was tried, where that is not everybody in the release. ``parameters`` are those of the attack
    that differ from their defaults.
    """

    attack: str
    value: float
    sentence: str
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    victims: NDArray[np.int64] | None = None
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    details: Fields = dataclasses.field(default_factory=dict)
    trials: int | None = None
    parameters: Fields = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """The attack, with its parameters as a recipe writes them: findings with other parameters
        are called otherwise.
        """
        return label_of(self.attack, self.parameters)

    @property
    def words(self) -> str:
        """What the attack is called in a sentence."""
        return words_of(self.attack, self.parameters)

    @property
    def beyond_guessing(self) -> float:
        """The share of what guessing leaves open that the attack takes: (value − baseline)/(1 −
        baseline), never below 0.
        """
        if self.baseline is None or self.baseline >= 1:
            # Where guessing finds everybody nothing is left to gain.
            return self.value if self.baseline is None else 0.0
        return max(0.0, (self.value - self.baseline) / (1 - self.baseline))

    @property
    def gain(self) -> float:
        """What the attack surely has over guessing, in points: the lower end of value − baseline.
        Attacks are ranked by it.
        """
        if self.interval is None:
            low = self.value
        else:
            low = self.interval[0]
        return low - (self.baseline or 0.0)

    @property
    def certain(self) -> bool:
        """Whether the attack is known to be better than guessing: its interval does not include
        what guessing gives.
        """
        return self.interval is None or self.interval[0] > (self.baseline or 0.0) + 1e-12

    @property
    def undefined(self) -> str | None:
        """Why nothing follows from the finding, or None: any rate from 0 to 1 is as likely, so it
        is no evidence of safety.
        """
        if self.interval is None or self.interval[0] > 0.0 or self.interval[1] < 1.0:
            return None
        return f"the result fits any rate between 0 % and 100 %: {self.sentence}"

    def to_dict(self) -> Document:
        """The finding as plain data: the number of victims, never who they are."""
        return {
            "attack": self.attack,
            **({"parameters": plain_data(self.parameters)} if self.parameters else {}),
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "baseline": self.baseline,
            "beyond_guessing": self.beyond_guessing,
            "certain": self.certain,
            "trials": self.trials,
            "victims": None if self.victims is None else len(self.victims),
            "weights": dict(self.weights),
            "details": dict(self.details),
            "sentence": self.sentence,
        }


def not_a_sample(scene: Scene) -> str:
    """Why nothing is estimated about a population: there is none beyond the table, or its weights
    were left out.
    """
    if scene.pair.original.schema.columns(Role.WEIGHT):
        return (
            "the table has survey weights, but they were not released, so the sampled share of "
            "the population is unknown"
        )
    return NothingToAttack(
        "the table has no survey weights, so it is not described as a sample of a larger population"
    )


class Memory(Protocol):
    """What was released of the same people before; a register answers for it
    (see :mod:`sfumato.release.register`).
    """

    def kept(self, limit: float, pair: Any) -> Kept:
        """What a release tells together with all earlier ones, compared with a limit; what is not
        known does not keep it.
        """
        ...


class Attack(Metric):
    """An attack. Frozen, validated, named; ``applies`` says why it cannot be run in a scene, or
    None.

    A reason that is :class:`NothingToAttack` says that it need not be; after any other its outcome
    is unknown.

    ``line`` says what it would achieve, in words that need no handbook. ``tried_by`` names the
    intruders who try it (:mod:`sfumato.release.intruders`): the first of them, who knows all
    quasi-identifiers, unless it says otherwise. Intruders share a budget of time; what they try
    comes in order of ``turn``, and in the order of the registry where that is the same.
    """

    remembers: ClassVar[bool] = False
    """Whether it is about all releases of the same people: then a limit on it is compared with the
    register, where there is one.
    """
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor",)
    turn: ClassVar[int] = 5
    learns: ClassVar[Learns] = "identity"
    """What it learns of people: who they are, or a value of theirs; of attacks that are as strong,
    identity comes first.
    """

    def applies(self, scene: Scene) -> str | None:
        """None when the attack makes sense here (it always does, unless it says so), else the
        reason it does not.
        """
        return None

    def out_of_place(self, scene: Scene) -> str | None:
        """Why it is not carried out: nobody's rows cannot be followed to anybody, or what
        ``applies`` says; None: it is.
        """
        if self.follows_rows and not scene.pair.aligned:
            return NothingToAttack(NOBODYS)
        return self.applies(scene)

    def posterior(self, scene: Scene) -> Posterior | None:
        """What it believes of who is behind each released record; None: it gives no
        probabilities.
        """
        return None

    @abc.abstractmethod
    def attack(self, scene: Scene) -> Finding:
        """Carry it out."""


def rows_of(scene: Scene, hit: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The original rows of released rows."""
    rows: NDArray[np.int64] = scene.pair.rows[hit]
    return rows
