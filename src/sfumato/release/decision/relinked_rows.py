"""Whether the records of a person can be put together again, and who is found by all of them.

Persons are renumbered in every class, so that records of different classes cannot be linked. A
released column that is the same in all records of a person (a year of birth, a survival time, a
pseudonym) links them all the same. Somebody who knows the quasi-identifiers of all records of a
person then looks for a set of linked records that fits them, which is far rarer than a class.

Example: visits of one patient at ages 40, 41 and 43 are in three classes of k records each. With
a survival time that no other patient has, the three released records are a set, and hardly another
set of three fits the three ages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.schema import UNITS, Role
from sfumato.methods.attacks.crowd import alike_records
from sfumato.release.decision.evidence import AttackEvidence, Figure
from sfumato.release.decision.lines import RELINKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.reading import Reading

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

INTRUDER = "prosecutor"
SAME_IN_MOST = 0.99
"""Share of the people with several records in whose records a column must be the same: a few slips
of the pen do not keep an intruder from linking by it."""
MOST_WORK = 2_000_000_000
"""Released records that are looked at for all people together; about a minute."""
MOST_LABEL_CELLS = 100_000_000
"""Pairs of a label and a value of one column: one byte each is kept."""
NOT_COMPARED = frozenset((Role.DROP, Role.QUASI, *UNITS))


def relinked_rows(pair: TablePair, *, people: int, seed: Seed) -> AttackEvidence:
    """How many people are found by all of their records together.

    ``people`` are tried, drawn at random where there are more. ``knows`` are the columns that link,
    then the quasi-identifiers. Of several sets that fit a person equally well one is guessed.
    """
    persons = pair.persons if pair.aligned else None
    if persons is None:
        return _does_not_apply("every record is a person of its own")
    if not len(pair.rows):
        return _does_not_apply("no record was released")
    columns = linking_columns(pair)
    if not columns:
        return _does_not_apply("no released column is the same in all records of a person")
    cells = max((_label_cells(pair, name) for name in pair.quasi), default=0)
    if cells > MOST_LABEL_CELLS:
        reason = f"{cells:,} pairs of a label and a value are too many to compare"
        return AttackEvidence(RELINKED, INTRUDER, "unknown", reason=reason)
    sets = RecordSets.of(pair, columns)
    numbers = np.unique(persons)
    sample_size = max(1, min(people, len(numbers), MOST_WORK // len(pair.rows)))
    if sample_size < len(numbers):
        draw = seed.stream("relinked rows: people")
        numbers = np.sort(draw.choice(numbers, size=sample_size, replace=False))
    intruder = _Intruder(pair, persons, sets)
    chances = [intruder.chance(np.flatnonzero(persons == number)) for number in numbers]
    everybody = len(np.unique(persons))
    return AttackEvidence(
        attack=RELINKED,
        intruder=INTRUDER,
        status="tried",
        figure=Figure.of_rate(float(np.mean(chances)), sample_size, everybody),
        knows=(*columns, *pair.quasi),
        baseline=1 / everybody,
    )


def _label_cells(pair: TablePair, name: str) -> int:
    """Labels of a column times its original values."""
    reading = pair.reading(name)
    return len(reading.labels) * len(reading.values)


def _does_not_apply(reason: str) -> AttackEvidence:
    return AttackEvidence(RELINKED, INTRUDER, "does not apply", reason=reason)


def linking_columns(pair: TablePair) -> tuple[str, ...]:
    """Released columns, but quasi-identifiers, that are the same in all records of nearly every
    person with several, and that are not the same for everybody.
    """
    persons = pair.persons
    if persons is None:
        return ()
    person = persons[pair.rows]
    order = np.argsort(person, kind="stable")
    _, starts, counts = np.unique(person[order], return_index=True, return_counts=True)
    has_several = counts > 1
    if not has_several.any():
        return ()
    names = []
    for name in pair.columns:
        if NOT_COMPARED & set(pair.original.schema[name].roles):
            continue
        codes = pair.encoded(name)[1].codes[order]
        lowest, highest = (bound.reduceat(codes, starts) for bound in (np.minimum, np.maximum))
        share = float((lowest == highest)[has_several].mean())
        if share >= SAME_IN_MOST and codes.min() < codes.max():
            names.append(name)
    return tuple(names)


@dataclasses.dataclass(frozen=True, eq=False)
class RecordSets:
    """Released records in sets that agree in the linking columns.

    ``order`` puts the rows of a set beside each other, ``starts`` and ``sizes`` say where each set
    is in it, ``set_of`` is the set of every released row.
    """

    order: Ints
    starts: Ints
    sizes: Ints
    set_of: Ints

    @classmethod
    def of(cls, pair: TablePair, columns: Sequence[str]) -> RecordSets:
        """The sets of a release."""
        codes = np.column_stack([pair.encoded(name)[1].codes for name in columns])
        _, set_of = np.unique(codes, axis=0, return_inverse=True)
        set_of = set_of.reshape(-1)
        order = np.argsort(set_of, kind="stable")
        _, starts, sizes = np.unique(set_of[order], return_index=True, return_counts=True)
        return cls(order, starts, sizes, set_of)

    def all_of(self, marks: Bools) -> Bools:
        """Per set whether all of its rows are marked."""
        marked_sets: Bools = np.logical_and.reduceat(marks[self.order], self.starts)
        return marked_sets

    def any_of(self, marks: Bools) -> Bools:
        """Per set whether one of its rows is marked."""
        marked_sets: Bools = np.logical_or.reduceat(marks[self.order], self.starts)
        return marked_sets

    def rows_of(self, number: int) -> Ints:
        """The released rows of a set."""
        start = self.starts[number]
        return self.order[start : start + self.sizes[number]]


class _Intruder:
    """Somebody who knows the quasi-identifiers of all records of a person."""

    def __init__(self, pair: TablePair, persons: Ints, sets: RecordSets) -> None:
        self.sets = sets
        self.readings = [pair.reading(name) for name in pair.quasi]
        self.classes = alike_records(pair, pair.quasi) if pair.quasi else None
        self.persons = persons
        self.person_of_released = persons[pair.rows]
        # Per column: which label (first axis) may stand for which original value (second axis).
        self.label_fits = [_fitting(pair, reading) for reading in self.readings]

    def chance(self, rows: Ints) -> float:
        """The chance that the set which is guessed for the person of some original rows is theirs.

        Where sets hold no more records than the person has, all of a set must fit different records
        of the person, and the largest such sets are guessed among. Else sets of several people are
        looked through for one in which every record of the person has its place.
        """
        own_rows = np.flatnonzero(self.person_of_released == self.persons[rows[0]])
        if not len(own_rows):
            return 0.0
        own_set = int(np.bincount(self.sets.set_of[own_rows]).argmax())
        fits = np.stack([self._fits(row) for row in rows])
        is_small = self.sets.sizes <= len(rows)
        candidates = np.flatnonzero(is_small & self.sets.all_of(np.logical_or.reduce(fits)))
        candidates = self._largest_that_match(candidates, fits)
        if len(candidates):
            return float(own_set in candidates) / len(candidates)
        is_whole = np.logical_and.reduce([self.sets.any_of(fit) for fit in fits])
        large_sets = np.flatnonzero(is_whole & (self.sets.sizes >= len(rows)))
        if own_set not in large_sets:
            return 0.0
        # A set of 12 records may hold three people with four each.
        return float(len(rows) / self.sets.sizes[large_sets].sum())

    def _fits(self, row: int) -> Bools:
        """Per released row whether it may be that of an original row."""
        if self.classes is None:
            return np.ones(len(self.sets.set_of), dtype=bool)
        fits = np.ones(len(self.classes.codes), dtype=bool)
        # The codes of classes stand in the order of the names of columns.
        for place, column in enumerate(np.argsort([reading.name for reading in self.readings])):
            value = int(self.readings[column].before.narrow[row])
            fits &= self.label_fits[column][self.classes.codes[:, place], value]
        return fits[self.classes.kind_of]

    def _largest_that_match(self, candidates: Ints, fits: Bools) -> Ints:
        """The largest sets whose records can all be given to different records of the person."""
        sizes = self.sets.sizes[candidates]
        for size in sorted(set(sizes.tolist()), reverse=True):
            matched_sets = [
                number
                for number in candidates[sizes == size]
                if _all_have_a_place(fits[:, self.sets.rows_of(int(number))])
            ]
            if matched_sets:
                return np.array(matched_sets, dtype=np.int64)
        return np.array([], dtype=np.int64)


def _fitting(pair: TablePair, reading: Reading) -> Bools:
    """Per label and original value whether the one may stand for the other.

    A reading takes ranges for closed; who writes [30, 40) means numbers below 40, and what fits
    fewer people finds them more easily.
    """
    label_fits = np.stack([reading.held_by(label) for label in range(len(reading.labels))])
    for label, text in enumerate(reading.labels):
        if reading.scale == "number" and text is not None and _is_open(str(text)):
            label_fits[label, reading.places == reading.high[label]] = False
    # What is known to belong together does, however it is written.
    label_fits[reading.after.codes, reading.before.codes[pair.rows]] = True
    return label_fits


def _is_open(label: str) -> bool:
    """Whether the upper end of a range is not in it.

    >>> _is_open("[30, 40)"), _is_open("[30, 40]"), _is_open("30-39"), _is_open("<20")
    (True, False, False, True)
    """
    return label.endswith(")") or (label.startswith("<") and not label.startswith("<="))


def _all_have_a_place(fits: Bools) -> bool:
    """Whether every column can be given a row of its own that it fits: a matching by augmenting
    paths.

    >>> import numpy as np
    >>> _all_have_a_place(np.array([[True, True], [True, False]]))
    True
    >>> _all_have_a_place(np.array([[True, True], [False, False]]))
    False
    """
    taken: dict[int, int] = {}

    def place(column: int, seen: set[int]) -> bool:
        for row in np.flatnonzero(fits[:, column]).tolist():
            if row in seen:
                continue
            seen.add(row)
            if row not in taken or place(taken[row], seen):
                taken[row] = column
                return True
        return False

    return all(place(column, set()) for column in range(fits.shape[1]))
