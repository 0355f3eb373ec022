"""Trimming rows: those that single people out are left out of their tables, and everybody stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato import kernels
from sfumato.core.fields import Fields
from sfumato.core.parameters import parameters
from sfumato.data.relational.knowledge import FactRows, Persons
from sfumato.data.relational.models import PersonsModel
from sfumato.data.relational.persons import aims
from sfumato.data.relational.steps import BUDGET, KeptPlan, RowsStep, left_alone, rows_within
from sfumato.data.relational.summaries import rows_gone
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.data.relational.person_views import Shown

MOST_LISTED = 3_000_000
"""Sets of rows that are listed at a time; what is beyond is found when these are dealt with."""


@parameters
class TrimRows(RowsStep):
    """Leave rows out of the tables below the people where few rows of a person are shared by too
    few persons; everybody stays.

    A step for persons_k_anonymity with ``knows: any``. Within the persons who are alike in their
    own columns, a row that fewer than k of them have is left out of the tables of all who have it;
    a second or third copy of a row counts as a row of its own that only those have who have it so
    often. Then whoever has a set of two rows that too few share loses one of them: the row that is
    in most such sets of theirs for each copy that is lost, ties to the one that fewer share, then
    at random. And so on up to sets of ``facts`` rows, and again from the beginning, since who loses
    a row is missing among those who have it, until nothing is left to do. Which of several equal
    rows of a person goes is drawn at random too. Local suppression, greedy: there may be smaller
    ways.

    Where there are more sets of rows than the ``effort`` of the promise, it is refused; let
    cap_rows come before. Classes of fewer than k persons cannot be mended so: they are left alone,
    with a warning; let suppress_persons follow. Beyond ``budget`` the recipe is unsatisfiable.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> from sfumato.data.relational.models import PersonsKAnonymity
    >>> goal = Goal(models=(PersonsKAnonymity(2, "any", facts=1, own=False),), seed=Seed(1))
    >>> TrimRows().plan(examples.clinic(), goal).describe()
    {'rows_dropped': {'visits': 15, 'prescriptions': 17}, 'share_dropped': 0.090395}
    """

    budget: BUDGET = 1.0

    name: ClassVar[str] = "trim_rows"
    tells: ClassVar[tuple[str, ...]] = ("rows_dropped", "share_dropped")

    def plan(self, people: Any, goal: Goal) -> KeptPlan:
        """Choose the rows that go; rows below rows that go, go with them, so it is looked at again
        until nothing is left to do.
        """
        promises = [model for model in aims(self.name, goal) if isinstance(model, PersonsModel)]
        models = [model for model in promises if model.rows_to_trim is not None]
        if not models:
            raise ParameterError(
                f"{self.name} serves persons_k_anonymity with knows: any, which the recipe lacks; "
                "add that promise, or remove the step"
            )
        remaining = people
        retained_rows: list[Mapping[str, NDArray[np.bool_]]] = []
        stream = goal.stream("trim_rows: which of equal rows goes")
        # Rows below rows that went are gone too, which may make other rows rare.
        while stays := _trimmed(models, remaining.shown(), stream):
            retained_rows.append(stays)
            remaining = remaining.kept(stays)
        before = {rows.table: len(rows.person) for rows in people.shown().rows}
        after = {rows.table: len(rows.person) for rows in remaining.shown().rows}
        facts = rows_within(
            self.budget, before, after, step=self.name, first="recode their columns"
        )
        return KeptPlan(
            tuple(retained_rows), facts, left_alone(self.name, _short(models, remaining.shown()))
        )

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        return (
            "Rows that too few persons share were removed: "
            f"{rows_gone(facts['rows_dropped'], facts['share_dropped'])}."
        )


def _short(models: list[PersonsModel], view: Shown) -> int:
    """How many persons are in crowds that no trimming of rows makes larger."""
    short = np.zeros(view.persons, dtype=np.bool_)
    for model in models:
        classes = Persons.of(view, own=model.own).classes
        short |= np.bincount(classes, minlength=1)[classes] < (model.rows_to_trim or (1, 0))[0]
    return int(short.sum())


def _trimmed(
    models: list[PersonsModel], view: Shown, stream: np.random.Generator
) -> dict[str, NDArray[np.bool_]]:
    """Per table the rows that stay, for the first promise that asks for any to go. Empty: nothing
    is left to do.
    """
    for model in models:
        k, m = model.rows_to_trim or (1, 0)
        people = Persons.of(view, own=model.own, stream=stream)
        gone = _rows_to_go(people, k, m, stream, model.effort)
        if gone.any():
            row_gone = np.zeros(len(gone), dtype=np.bool_)
            # From the order by person back to the order of the tables.
            row_gone[people.of_row] = gone
            parts = np.split(~row_gone, people.tables[1:-1])
            return {
                rows.table: part
                for rows, part in zip(view.rows, parts, strict=True)
                if not part.all()
            }
    return {}


def _rows_to_go(
    people: Persons, k: int, m: int, stream: np.random.Generator, effort: int
) -> NDArray[np.bool_]:
    """Which of the ``codes`` of people go, so that any ``m`` rows that are left are shared by k
    persons of a class, where it has so many.
    """
    gone = np.zeros(len(people.codes), dtype=np.bool_)
    # Small classes cannot be helped by trimming; their rows stay.
    large = np.bincount(people.classes, minlength=1)[people.classes] >= k
    size = 1
    while size <= m:
        remaining, entry_numbers = _remaining_entries(people, gone)
        rows = remaining.facts(size)
        if rows.reach(size, effort) < size:
            raise Unsatisfiable(
                f"trim_rows: there are too many sets of {size} rows to examine all; cap the rows "
                "of a person first, ask for fewer facts, or give the promise more effort",
                closest={"facts": size - 1},
            )
        if size == 1:
            entries = _rare_rows(rows, k, large)
        else:
            entries = _of_rare_sets(rows, size, k, stream)
        # A later copy makes no sense without an earlier one, so copies go together from the last
        # on.
        gone[entry_numbers[_and_later_copies(remaining, rows.places[entries])]] = True
        # who loses a row is not among those any more who have it
        size = 1 if len(entries) and size > 1 else size + 1
    return gone


def _remaining_entries(
    people: Persons, gone: NDArray[np.bool_]
) -> tuple[Persons, NDArray[np.int64]]:
    """The people without the rows that go, and where each row that is left stands among all."""
    entry_numbers = np.flatnonzero(~gone)
    # Where the rows left of each person begin.
    pointers = np.searchsorted(entry_numbers, people.pointers).astype(np.int64)
    fewer = dataclasses.replace(
        people,
        pointers=pointers,
        codes=people.codes[entry_numbers],
        of_row=people.of_row[entry_numbers],
    )
    return fewer, entry_numbers


def _and_later_copies(remaining: Persons, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Some rows, and all later copies of the same row of the same person: who has two has no
    third.
    """
    # The place of the first copy of the same row of the same person.
    start = np.arange(len(remaining.codes)) - remaining.copies
    first_copy = np.full(len(remaining.codes), np.iinfo(np.int64).max)
    # The earliest copy that goes; all from there on go with it.
    np.minimum.at(first_copy, start[entries], remaining.copies[entries])
    marked: NDArray[np.bool_] = remaining.copies >= first_copy[start]
    return marked


def _owners(rows: FactRows) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(rows.pointers) - 1, dtype=np.int64), np.diff(rows.pointers))


def _rare_rows(rows: FactRows, k: int, large: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows that fewer than k persons of a class that has so many share: all of them go."""
    carriers = np.bincount(rows.items, minlength=len(rows.roots))
    return np.flatnonzero((carriers[rows.items] < k) & large[_owners(rows)])


def _of_rare_sets(
    rows: FactRows, size: int, k: int, stream: np.random.Generator
) -> NDArray[np.int64]:
    """One row of every set of ``size`` rows that too few share, for everybody who has it; by the
    places of the rows.
    """
    members, people = (
        np.empty((MOST_LISTED, size), dtype=np.int64),
        np.empty(MOST_LISTED, dtype=np.int64),
    )
    count = min(
        kernels.fact_sets.list_rare_sets(rows.kernel, size, k, members, people), MOST_LISTED
    )
    wide = max(len(rows.roots), 1)
    # One number for (person, item), ascending, so that members of sets can be found by search.
    keys = _owners(rows) * wide + rows.items
    sets = np.searchsorted(keys, people[:count, None] * wide + members[:count])
    return _hitting(sets, people[:count], rows, stream)


def _hitting(
    sets: NDArray[np.int64], people: NDArray[np.int64], rows: FactRows, stream: np.random.Generator
) -> NDArray[np.int64]:
    """Rows of which every set holds one. Everybody loses, again and again, the row that is in most
    of the sets left for each copy lost with it.

    Ties go to the row that the fewest share, so that what is left is common, then at random.
    """
    is_chosen, draws = np.zeros(len(rows.items), dtype=np.bool_), stream.random(len(rows.items))
    shared = np.bincount(rows.items, minlength=len(rows.roots))[rows.items]
    # What a choice costs: the copy itself and all later ones.
    owners, lost = _owners(rows), _copies_from_here(rows)
    while len(sets):
        counts = np.bincount(sets.reshape(-1), minlength=len(rows.items))
        used_items = np.flatnonzero(counts)
        order = used_items[
            np.lexsort(
                (
                    draws[used_items],
                    shared[used_items],
                    -counts[used_items] / lost[used_items],
                    owners[used_items],
                )
            )
        ]
        # The best row of every person at once: sets of different persons do not touch each other.
        is_chosen[order[np.diff(owners[order], prepend=-1) > 0]] = True
        open_sets = ~is_chosen[sets].any(axis=1)
        sets, people = sets[open_sets], people[open_sets]
    return np.flatnonzero(is_chosen)


def _copies_from_here(rows: FactRows) -> NDArray[np.int64]:
    """Per place how many copies of the same row of the same person there are from it on."""
    # Where a new row begins: entries that are no later copy.
    first = np.flatnonzero(~rows.deeper)
    lengths = np.diff(np.append(first, len(rows.items)))
    ends: NDArray[np.int64] = np.repeat(first + lengths, lengths)
    return ends - np.arange(len(rows.items))
