"""What a release shows of every person: the class the person stands in, under a keyed hash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.randomness import Marks
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.joint_classes import ABSENT
from sfumato.release.register.store import RegisteredPeople

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table
    from sfumato.release.register.store import Register

BY_CONTENT = ("the whole row",)
"""How persons are distinguished where no column does: by all that the table says of them, and a
number among equal rows.
"""


def person_columns(original: Table, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns that tell persons apart: those asked for, the person column, or all direct
    identifiers; none: the whole row.

    The same columns must be there in the next table, with the same values, for a person to be known
    again.
    """
    if columns:
        original.require(columns)
        return tuple(columns)
    person = original.schema.person
    if person is not None:
        return (person,)
    return original.schema.dropped_columns


def persons_of(original: Table, columns: Sequence[str]) -> list[str]:
    """Per row the person it is about, as text; a row in which all the columns are missing is about
    a person of its own.
    """
    if not columns:
        return _by_content(original)
    parts = [original.encoded(name) for name in columns]
    labels = [[part.labels[code] for code in part.codes.tolist()] for part in parts]
    if all(label is None for column in labels for label in column):
        raise SchemaError(f"{', '.join(columns)} cannot identify people: every value is missing")
    persons = [
        json.dumps(values) if any(v is not None for v in values) else ""
        for values in zip(*labels, strict=True)
    ]
    if all(persons):
        return persons
    return [person or row for person, row in zip(persons, _by_content(original), strict=True)]


def _by_content(original: Table) -> list[str]:
    """Per row all that it says, and its number among equal rows."""
    marks = Marks.now(original)
    return [
        f"row {key}:{number}"
        for key, number in zip(marks.keys.tolist(), marks.numbers.tolist(), strict=True)
    ]


def classes_shown(pair: TablePair) -> NDArray[np.int64]:
    """Per original row the number of the class it was released in, or ``ABSENT``; rows that were
    redrawn show nobody.
    """
    classes = np.full(len(pair.original), ABSENT, dtype=np.int64)
    if not pair.aligned:
        return classes
    if not pair.quasi:
        # without quasi-identifiers all records are one class
        classes[pair.rows] = 0
        return classes
    codes = np.stack([pair.released.encoded(name).codes for name in pair.quasi], axis=1)
    _, member = np.unique(codes, axis=0, return_inverse=True)
    classes[pair.rows] = member.reshape(-1)
    return classes


def recoded(pair: TablePair) -> bool:
    """Whether every released quasi-identifier may stand for its original: then classes say where a
    person is.
    """
    return pair.aligned and all(bool(pair.truthful(name).all()) for name in pair.quasi)


def people_of(register: Register, pair: TablePair, columns: Sequence[str]) -> RegisteredPeople:
    """Everybody of the original table under a keyed hash, and the class each is shown in.

    A person with several rows is shown by all of them: the class is then the set of their classes.
    """
    if pair.original.copies is not None:
        raise ParameterError(
            "a table that was counted by an engine has no persons to register; register a sample,"
            " or read it into memory"
        )
    hashes = register.hashed(persons_of(pair.original, columns))
    distinct, which = np.unique(hashes, return_inverse=True)
    which = which.reshape(-1)
    shown_classes = classes_shown(pair)
    if len(distinct) == len(hashes):
        classes = np.empty(len(distinct), dtype=np.int64)
        classes[which] = shown_classes
        return RegisteredPeople(distinct, classes)
    return RegisteredPeople(distinct, _sets(which, shown_classes, len(distinct)))


def _sets(which: NDArray[np.int64], classes: NDArray[np.int64], persons: int) -> NDArray[np.int64]:
    """Per person a number for the set of classes of all rows; absent where no row was released."""
    # sorted by person, each class once: the set of classes of a person is a slice
    pairs = np.unique(np.stack([which, classes], axis=1)[classes != ABSENT], axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(persons + 1))
    numbers: dict[bytes, int] = {}
    set_numbers = np.full(persons, ABSENT, dtype=np.int64)
    for person in range(persons):
        own_classes = pairs[starts[person] : starts[person + 1], 1]
        if len(own_classes):
            set_numbers[person] = numbers.setdefault(own_classes.tobytes(), len(numbers))
    return set_numbers
