"""What a person's own record adds to what can be guessed of a sensitive value of theirs.

What is true of everybody like them is no disclosure. So with the share of people of whom a value is
guessed rightly from the release, and the share of whom it is guessed without their own record, the
risk is :math:`R = (r_a - r_c)/(1 - r_c)`: of those who could not be guessed otherwise, how many are
guessed because they took part (the control is that of the Article 29 Working Party, Opinion 05/2014
WP216, and of Giomi et al. 2023, doi:10.56553/popets-2023-0055).

The intruder knows all quasi-identifiers but not the column, sees the records that are alike (the
class; where quasi-identifiers were changed, the nearest records), and takes the value that most of
the people among them have. A tie is shared out. Numbers are guessed rightly within 5 % of the
published range; the guess is the number that most of them are so near to. Nobody left: the guess is
that for all alike. A person with several records is one person: all of them are left out at once.

Where everybody was tried the figure is exact. On a sample R is a share of the people who are not
guessed otherwise, and has the interval of Wilson for so many of them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.attack import Intruder, Scene
from sfumato.errors import SfumatoError
from sfumato.methods.attacks.crowd import alike_records, standing_under, true_labels
from sfumato.methods.attacks.linkage.success_rates import wilson
from sfumato.methods.attacks.nearest import NO_CONTROL, surroundings
from sfumato.methods.attacks.rates import ExcessRisk, Rate
from sfumato.release.decision.evidence import AttributeEvidence, CertainDisclosure, Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.methods.attacks.nearest import Surroundings

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

TOLERANCE = 0.05
"""Numbers: the share of the published range within which a guess is right."""
SLACK = 1e-9
"""The same for rounding, as a share of the range."""
NO_VALUE = -1
"""A released cell that says nothing, and a true value that was released of nobody."""


@dataclasses.dataclass(frozen=True)
class GuessBudget:
    """Of how many people a value is guessed: of everybody where there are few, else of a sample;
    ``work`` bounds what is compared to find the nearest records.
    """

    everybody: int
    sample: int
    work: int


@dataclasses.dataclass(frozen=True, eq=False)
class Secret:
    """A sensitive column as an intruder counts it: every cell is a position among ``values``.

    ``released`` is that of each released row (NO_VALUE: the cell says nothing). A guess is right
    where the true place lies within ``tolerance`` of the value; for categories both are codes.
    ``truth`` is the true place of each original row.
    """

    values: Floats
    released: Ints
    truth: Floats
    tolerance: float

    @classmethod
    def of(cls, pair: TablePair, column: str) -> Secret:
        """The column of a pair: numbers by where they lie, anything else by its label."""
        reading = pair.reading(column)
        says_nothing = reading.everything
        if reading.scale == "number":
            return cls._of_numbers(pair, column)
        labels = np.where(says_nothing, NO_VALUE, np.arange(len(says_nothing)))
        truth = np.full(len(pair.original), NO_VALUE, dtype=np.float64)
        if pair.aligned:
            truth[pair.rows] = true_labels(pair, column)
        else:
            truth = standing_under(reading)[reading.original].astype(np.float64)
        values = np.arange(len(reading.labels), dtype=np.float64)
        return cls(values, labels[reading.released], truth, 0.0)

    @classmethod
    def _of_numbers(cls, pair: TablePair, column: str) -> Secret:
        reading = pair.reading(column)
        low = np.where(reading.everything, np.nan, reading.low)
        high = np.where(reading.everything, np.nan, reading.high)
        span = 0.0
        if not np.isnan(low).all():
            span = float(np.nanmax(high) - np.nanmin(low))
        middle = np.where(reading.everything, np.nan, reading.middle)
        # A missing number is a value like others, and near none of them.
        far = -1e9 * max(1.0, span)
        if not np.isnan(middle).all():
            far += float(np.nanmin(middle))
        missing = np.array([label is None for label in reading.labels], dtype=bool)
        middle = np.where(missing & ~reading.everything, far, middle)
        values, codes = np.unique(middle[~np.isnan(middle)], return_inverse=True)
        position = np.full(len(middle), NO_VALUE, dtype=np.int64)
        position[~np.isnan(middle)] = codes
        places = np.where(np.isnan(reading.places), far, reading.places)
        tolerance = TOLERANCE * span + SLACK * max(1.0, span)
        return cls(values, position[reading.released], places[reading.original], tolerance)

    @property
    def distinct(self) -> int:
        """How many values were released."""
        return len(np.unique(self.released[self.released != NO_VALUE]))

    def window(self, values: Ints, place: float) -> tuple[int, int]:
        """Which of some values, in order, are right for a true place: from one to another."""
        places = self.values[values]
        low = int(np.searchsorted(places, place - self.tolerance, side="left"))
        high = int(np.searchsorted(places, place + self.tolerance, side="right"))
        return low, high


@dataclasses.dataclass(frozen=True, eq=False)
class GuessedCrowd:
    """People among whom a value is guessed: how many have each of ``values``, which are in order.

    ``scores`` are how many people a guess of the value is right for: those with a value from
    ``starts`` to ``ends``.
    """

    secret: Secret
    values: Ints
    people: Ints
    starts: Ints
    ends: Ints
    scores: Ints

    @classmethod
    def of(cls, secret: Secret, values: Ints, people: Ints) -> GuessedCrowd:
        """The crowd of people by their values."""
        places = secret.values[values]
        starts = np.searchsorted(places, places - secret.tolerance, side="left")
        ends = np.searchsorted(places, places + secret.tolerance, side="right")
        summed = np.concatenate([[0], np.cumsum(people)])
        return cls(secret, values, people, starts, ends, summed[ends] - summed[starts])

    @functools.cached_property
    def _best(self) -> Ints:
        """Where the guesses stand that are right for most."""
        return np.flatnonzero(self.scores == self.scores.max(initial=-1))

    def credit(self, place: float) -> float:
        """The chance that the guess is right for somebody with this true place."""
        if not len(self.values):
            return 0.0
        low, high = self.secret.window(self.values, place)
        right = np.searchsorted(self._best, high) - np.searchsorted(self._best, low)
        return float(right) / len(self._best)

    def credit_without(self, place: float, own_values: Ints) -> float | None:
        """The same with one person left out, who has these values; None: nobody is left."""
        own = np.searchsorted(self.values, own_values)
        scores = self.scores.copy()
        for position in own.tolist():
            # The person counted for every guess that is right for this value.
            low, high = self.secret.window(self.values, self.secret.values[self.values[position]])
            scores[low:high] -= 1
        # What only they have cannot be guessed any more.
        scores[own[self.people[own] <= 1]] = -1
        most = int(scores.max(initial=-1))
        if most <= 0:
            return None
        low, high = self.secret.window(self.values, place)
        best = scores == most
        return float(best[low:high].sum()) / float(best.sum())

    @property
    def usual(self) -> tuple[int, int]:
        """The values for which the first of the best guesses is right: from one to another."""
        best = int(self._best[0])
        return int(self.starts[best]), int(self.ends[best])

    def distinct_windows(self) -> int:
        """How many values there are that a guess distinguishes: 3 stands for more."""
        count, position = 0, 0
        while position < len(self.values) and count < 3:
            count += 1
            start = self.secret.values[self.values[position]]
            places = self.secret.values[self.values]
            position = int(np.searchsorted(places, start + self.secret.tolerance, side="right"))
        return count


@dataclasses.dataclass(frozen=True, eq=False)
class Entries:
    """Who has which value in which class: each person once for a value."""

    classes: Ints
    persons: Ints
    values: Ints

    @classmethod
    def of(cls, classes: Ints, persons: Ints, values: Ints) -> Entries:
        """The distinct entries of released rows that say something, in order of the classes."""
        speaks = values != NO_VALUE
        table = np.column_stack([classes[speaks], values[speaks], persons[speaks]])
        distinct = np.unique(table, axis=0) if len(table) else table
        return cls(distinct[:, 0], distinct[:, 2], distinct[:, 1])

    def crowd(self, secret: Secret, start: int, end: int) -> GuessedCrowd:
        """The crowd of a slice of the entries, which is one class."""
        values, people = np.unique(self.values[start:end], return_counts=True)
        return GuessedCrowd.of(secret, values, people.astype(np.int64))

    def own_values(self, person: int, start: int, end: int) -> Ints:
        """The values of a person in a slice."""
        return np.unique(self.values[start:end][self.persons[start:end] == person])


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedPeople:
    """The released people of a pair, and a released row of each."""

    person_of_row: Ints
    rows: Ints

    @property
    def one_row_each(self) -> bool:
        """Whether nobody has several released rows."""
        return len(self.rows) == len(self.person_of_row)

    @classmethod
    def of(cls, pair: TablePair, seed: Seed) -> ReleasedPeople:
        """One row of each person, drawn at random."""
        if pair.persons is None:
            persons = pair.rows
        else:
            persons = pair.persons[pair.rows]
        order = seed.stream("attribute risk: which row of a person").permutation(len(persons))
        _, first = np.unique(persons[order], return_index=True)
        return cls(persons.astype(np.int64), np.sort(order[first]))


def attribute_evidence(
    pair: TablePair,
    columns: Sequence[str],
    *,
    seed: Seed,
    budget: GuessBudget,
    by_classes: bool,
    accounted: bool = False,
) -> Iterator[AttributeEvidence]:
    """The evidence of sensitive columns that were released, in turn.

    ``by_classes``: no quasi-identifier was changed, so that people belong to the class of their own
    record. ``accounted``: an ε is certified, which bounds what the own record adds where nobody was
    set aside to measure it.
    """
    released = ReleasedPeople.of(pair, seed) if pair.aligned else None
    for column in columns:
        distinct = len(pair.reading(column).labels)
        reason = _out_of_place(pair, column, distinct)
        if reason is None and accounted and pair.held_out is None:
            reason = "nobody was set aside to measure it; what the own record adds is bounded by ε"
        if reason is not None:
            yield AttributeEvidence(column, distinct, "does not apply", reason=reason)
            continue
        try:
            if released is None:
                yield _beside_people_set_aside(pair, column, distinct, seed=seed, budget=budget)
            elif by_classes:
                yield _by_classes(pair, column, released, seed=seed, budget=budget)
            else:
                yield _by_nearest(pair, column, released, seed=seed, budget=budget)
        except SfumatoError as error:
            yield AttributeEvidence(column, distinct, "unknown", reason=str(error))


def _out_of_place(pair: TablePair, column: str, distinct: int) -> str | None:
    if column in pair.original.schema.quasi:
        return "it is a quasi-identifier, so it is known already"
    if distinct < 2:
        return "the released column has one value only"
    return None


# Classes of true quasi-identifiers.


def _by_classes(
    pair: TablePair, column: str, released: ReleasedPeople, *, seed: Seed, budget: GuessBudget
) -> AttributeEvidence:
    secret = Secret.of(pair, column)
    known = [name for name in pair.quasi if name != column]
    classes = np.zeros(len(pair.rows), dtype=np.int64)
    if known:
        classes = alike_records(pair, known).kind_of
    entries = Entries.of(classes, released.person_of_row, secret.released)
    everybody = Entries.of(np.zeros_like(classes), released.person_of_row, secret.released)
    whole = everybody.crowd(secret, 0, len(everybody.values))
    guesses = _ClassGuesses(pair, secret, classes, entries, everybody, whole, released)
    uncommon = guesses.uncommon()
    figures = []
    for people, purpose in ((released.rows, "everybody"), (released.rows[uncommon], "uncommon")):
        sought = _sample(people, seed, purpose, budget)
        figures.append(_own_record_figure(map(guesses.credits, sought), len(sought), len(people)))
    return AttributeEvidence(
        column=column,
        distinct=secret.distinct,
        status="tried",
        risk=figures[0],
        uncommon_people=int(uncommon.sum()),
        uncommon_risk=figures[1] if uncommon.any() else None,
        certain=guesses.certain(uncommon),
    )


class _ClassGuesses:
    """Guesses of the people of classes, each class counted when it is first asked for."""

    def __init__(
        self,
        pair: TablePair,
        secret: Secret,
        classes: Ints,
        entries: Entries,
        everybody: Entries,
        whole: GuessedCrowd,
        released: ReleasedPeople,
    ) -> None:
        self.secret, self.classes, self.entries = secret, classes, entries
        self.everybody, self.whole, self.released = everybody, whole, released
        self.truth = secret.truth[pair.rows]
        self._starts = np.searchsorted(
            entries.classes, np.arange(int(classes.max(initial=-1)) + 2), side="left"
        )
        self._crowds: dict[int, GuessedCrowd] = {}
        self._credits: dict[tuple[int, int, float], tuple[float, float]] = {}

    def crowd(self, number: int) -> GuessedCrowd:
        """The crowd of a class."""
        if number not in self._crowds:
            start, end = self._bounds(number)
            self._crowds[number] = self.entries.crowd(self.secret, start, end)
        return self._crowds[number]

    def _bounds(self, number: int) -> tuple[int, int]:
        return int(self._starts[number]), int(self._starts[number + 1])

    def credits(self, row: int) -> tuple[float, float]:
        """How likely the guess is right for the person of a released row: from the release, and
        without their own records.
        """
        number, person = int(self.classes[row]), int(self.released.person_of_row[row])
        place = float(self.truth[row])
        start, end = self._bounds(number)
        if self.released.one_row_each:
            # Whoever has one record has one value, and people of a class with equal values share
            # the outcome: of yes and no there are four in a class, however large it is.
            own_value = int(self.secret.released[row])
            key = (number, own_value, place)
            if key not in self._credits:
                own_values = np.array([own_value] if own_value != NO_VALUE else [], dtype=np.int64)
                self._credits[key] = self._credits_of(number, place, own_values, person)
            return self._credits[key]
        return self._credits_of(number, place, self.entries.own_values(person, start, end), person)

    def _credits_of(
        self, number: int, place: float, own_values: Ints, person: int
    ) -> tuple[float, float]:
        """The same for a class, a true place, and the values of a person in the class."""
        crowd = self.crowd(number)
        credit = crowd.credit(place)
        without = crowd.credit_without(place, own_values)
        if without is None:
            if not self.released.one_row_each:
                own_values = self.everybody.own_values(person, 0, len(self.everybody.values))
            without = self.whole.credit_without(place, own_values)
        return credit, without or 0.0

    def uncommon(self) -> Flags:
        """Per person whether their value is not the one that is guessed for all alike."""
        return uncommon_places(self.whole, self.truth[self.released.rows])

    def certain(self, uncommon: Flags) -> CertainDisclosure:
        """People with an uncommon value in classes of one value, and of at most two."""
        rows = self.released.rows
        silent = np.unique(self.classes[self.secret.released == NO_VALUE])
        one_value, two_values = 0, 0
        for row in rows[uncommon].tolist():
            number = int(self.classes[row])
            crowd = self.crowd(number)
            # A cell that says nothing may be any other value.
            values = self._windows(number) + int(np.isin(number, silent))
            two_values += values <= 2
            low, high = self.secret.window(crowd.values, float(self.truth[row]))
            one_value += values <= 1 and high > low
        return CertainDisclosure(len(rows), one_value, two_values)

    def _windows(self, number: int) -> int:
        if number not in self._window_counts:
            self._window_counts[number] = self.crowd(number).distinct_windows()
        return self._window_counts[number]

    @functools.cached_property
    def _window_counts(self) -> dict[int, int]:
        return {}


# Nearest records, where quasi-identifiers were changed.


def _by_nearest(
    pair: TablePair, column: str, released: ReleasedPeople, *, seed: Seed, budget: GuessBudget
) -> AttributeEvidence:
    # One record of each person, so that the own record is all there is of them.
    if pair.persons is not None:
        alone = pair.of_released(released.rows)
    else:
        alone = pair
    secret = Secret.of(alone, column)
    classes = np.zeros(len(alone.rows), dtype=np.int64)
    people = np.arange(len(alone.rows), dtype=np.int64)
    whole_entries = Entries.of(classes, people, secret.released)
    whole = whole_entries.crowd(secret, 0, len(whole_entries.values))
    truth = secret.truth[alone.rows]
    uncommon = uncommon_places(whole, truth)
    figures: list[Figure | None] = []
    for rows, purpose in ((people, "everybody"), (people[uncommon], "uncommon")):
        sought = _sample(rows, seed, purpose, budget)
        if not len(sought):
            figures.append(None)
            continue
        knows = tuple(name for name in alone.quasi if name != column)
        intruder = Intruder(alone.original.take(alone.rows[sought]), knows, alone.rows[sought])
        scene = Scene(alone, intruder, seed=seed, work=budget.work, people=len(sought))
        around = surroundings(scene, f"attribute risk of {column}", len(sought))
        chances = _nearest_credits(scene, around, secret, truth, whole)
        figures.append(_own_record_figure(iter(chances), len(chances), len(rows)))
    return AttributeEvidence(
        column=column,
        distinct=secret.distinct,
        status="tried",
        risk=figures[0],
        uncommon_people=int(uncommon.sum()),
        uncommon_risk=figures[1],
    )


def _nearest_credits(
    scene: Scene, around: Surroundings, secret: Secret, truth: Floats, whole: GuessedCrowd
) -> list[tuple[float, float]]:
    """How likely the guess from the nearest records is right, with and without the own one."""
    alike = np.ones(len(around.names))
    chances = []
    for target in around.sampled(scene, "attribute risk"):
        own = int(around.own[target])
        place = float(truth[own])
        (_, kinds), (_, kinds_without) = around.near(target, alike)
        rows = around.rows(kinds)
        others = around.rows(kinds_without)
        credit = _crowd_of_rows(secret, rows).credit(place)
        crowd = _crowd_of_rows(secret, others[others != own])
        without = crowd.credit(place) if len(crowd.values) else None
        if without is None:
            own_value = secret.released[[own]]
            without = whole.credit_without(place, own_value[own_value != NO_VALUE])
        chances.append((credit, without or 0.0))
    return chances


def _crowd_of_rows(secret: Secret, rows: Ints) -> GuessedCrowd:
    codes = secret.released[rows]
    values, people = np.unique(codes[codes != NO_VALUE], return_counts=True)
    return GuessedCrowd.of(secret, values, people.astype(np.int64))


def uncommon_places(whole: GuessedCrowd, places: Floats) -> Flags:
    """Which true places are not those for which the guess for all alike is right."""
    if not len(whole.values):
        return np.zeros(len(places), dtype=bool)
    start, end = whole.usual
    usual = whole.secret.values[whole.values[start:end]]
    outside: Flags = (places < usual[0] - SLACK) | (places > usual[-1] + SLACK)
    return outside


# Drawn rows, beside people set aside.


def _beside_people_set_aside(
    pair: TablePair, column: str, distinct: int, *, seed: Seed, budget: GuessBudget
) -> AttributeEvidence:
    if pair.learnt_from is None or pair.held_out is None or not len(pair.held_out):
        return AttributeEvidence(column, distinct, "unknown", reason=NO_CONTROL)
    knows = tuple(name for name in pair.quasi if name != column)
    if not knows:
        reason = "no quasi-identifier was released by which people are known"
        return AttributeEvidence(column, distinct, "does not apply", reason=reason)
    secret = Secret.of(pair, column)
    whole = _crowd_of_rows(secret, np.arange(len(pair.released), dtype=np.int64))
    which_row = seed.stream("attribute risk: which row of a person")
    groups = [pair.one_row_each(group, which_row) for group in (pair.learnt_from, pair.held_out)]
    figures = []
    for purpose in ("everybody", "uncommon"):
        people = groups
        if purpose == "uncommon":
            people = [group[uncommon_places(whole, secret.truth[group])] for group in groups]
        figures.append(
            _excess_figure(pair, knows, secret, people, seed=seed, purpose=purpose, budget=budget)
        )
    return AttributeEvidence(
        column=column,
        distinct=distinct,
        status="tried",
        risk=figures[0],
        uncommon_people=len(people[0]),
        uncommon_risk=figures[1],
    )


def _excess_figure(
    pair: TablePair,
    knows: tuple[str, ...],
    secret: Secret,
    groups: Sequence[Ints],
    *,
    seed: Seed,
    purpose: str,
    budget: GuessBudget,
) -> Figure | None:
    """How much oftener a value is guessed of people that the rows were learnt from than of people
    set aside; None: there is nobody of either.
    """
    if not len(groups[0]):
        return None
    sought = [_sample(group, seed, purpose, budget) for group in groups]
    rates = []
    for rows in sought:
        chances = _drawn_credits(pair, knows, secret, rows, seed=seed, budget=budget)
        rates.append(Rate.of(sum(chances), len(chances)))
    shares = [rate.centre for rate in rates]
    risk = ExcessRisk.of(*rates)
    low, high = risk.interval
    value = min(high, max(low, risk.clipped if shares[1] < 1 else 0.0))
    return Figure(value, low, high, len(sought[0]), len(groups[0]), len(sought[1]))


def _drawn_credits(
    pair: TablePair,
    knows: tuple[str, ...],
    secret: Secret,
    rows: Ints,
    *,
    seed: Seed,
    budget: GuessBudget,
) -> list[float]:
    """How likely the guess from the nearest drawn records is right for the people of some rows."""
    if not len(rows):
        return []
    intruder = Intruder(pair.original.take(rows), knows, rows)
    # All of them are one group here: the nearest drawn records of either kind are sought alike.
    alike = dataclasses.replace(pair, learnt_from=rows, held_out=rows)
    scene = Scene(alike, intruder, seed=seed, work=budget.work, people=len(rows))
    around = surroundings(scene, "attribute risk of drawn rows", len(rows))
    chances = []
    for target in range(around.members):
        _, kinds = around.nearest(target)
        crowd = _crowd_of_rows(secret, around.rows(kinds))
        chances.append(crowd.credit(float(secret.truth[rows[around.targets[target]]])))
    return chances


# People, and figures of them.


def _sample(people: Ints, seed: Seed, purpose: str, budget: GuessBudget) -> Ints:
    """Everybody where there are few, else a random sample, in order."""
    if len(people) <= budget.everybody:
        return people
    draw = seed.stream(f"attribute risk: whom to guess ({purpose})")
    return np.sort(draw.choice(people, budget.sample, replace=False))


def _own_record_figure(chances: Iterator[tuple[float, float]], trials: int, people: int) -> Figure:
    """R of people whose guess is right with these chances: from the release, and without their own
    record.
    """
    pairs = np.array(list(chances), dtype=np.float64).reshape(-1, 2)
    # The own record never makes a guess worse, but for rounding of shared ties.
    added = float(np.maximum(0.0, pairs[:, 0] - pairs[:, 1]).sum())
    left = float((1 - pairs[:, 1]).sum())
    value = min(1.0, added / left) if left > SLACK else 0.0
    if trials >= people:
        return Figure.of_everybody(value, people)
    low, high = wilson(min(added, left), int(left))
    return Figure(value, min(low, value), max(high, value), trials, people)
