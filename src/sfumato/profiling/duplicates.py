"""Roles once it is known which columns tell each other: no column is left to undo the recoding of another."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.schema import Kind, Role
from sfumato.profiling.dependence import Telling, tellings

if TYPE_CHECKING:
    from sfumato.profiling.columns import Column
    from sfumato.profiling.roles import RoleGuess

_SPEAKING = (Kind.ORDINAL, Kind.DATE, Kind.NOMINAL, Kind.NUMERIC)
"""Of two columns that say the same, words with an order are kept before dates, labels and bare numbers."""


def with_duplicates_found(columns: Sequence[Column], guesses: Mapping[str, RoleGuess]) -> dict[str, RoleGuess]:
    """Guesses in which of columns that tell each other one is kept as quasi-identifier.

    Both ways: the others are dropped (role ``direct``), for they would only have to be recoded in step. One way (an age
    group beside the age): the column that was to be released as it is becomes quasi too.
    """
    known = [c for c in columns if Role.QUASI in guesses[c.card.name].roles]
    others = [c for c in columns if guesses[c.card.name].roles in ((Role.PLAIN,), (Role.ASK,)) and not c.card.constant]
    found = tellings(known, others)
    by_name = {column.card.name: column for column in columns}
    changed = dict(guesses)
    for telling in found:
        if telling.mutual:
            _keep_one(telling, by_name, changed)
    for telling in found:
        if not telling.mutual:
            _know_both(telling, changed)
    return changed


def _keep_one(telling: Telling, columns: Mapping[str, Column], guesses: dict[str, RoleGuess]) -> None:
    pair = (telling.one, telling.other)
    if any(guesses[name].roles == (Role.DIRECT,) for name in pair):
        return  # one of them is gone already
    kept = min(pair, key=lambda name: _precedence(columns[name], guesses[name]))
    gone = pair[1] if kept == pair[0] else pair[0]
    reason = f"tells the same as {kept}: dropped, for as it is it would undo the recoding of that column"
    guesses[gone] = dataclasses.replace(guesses[gone], roles=(Role.DIRECT,), reason=reason, confidence=0.7)


def _precedence(column: Column, guess: RoleGuess) -> tuple[bool, int]:
    """Quasi-identifiers first, those that are sensitive too before others, then what speaks; equals in table order."""
    standing = (Role.QUASI in guess.roles) + (Role.SENSITIVE in guess.roles)
    numbers = column.values.dtype.is_numeric()
    return standing == 0, 10 * (2 - standing) + 5 * numbers + _SPEAKING.index(column.card.kind)


def _know_both(telling: Telling, guesses: dict[str, RoleGuess]) -> None:
    one, other = guesses[telling.one], guesses[telling.other]
    if (Role.DIRECT,) in (one.roles, other.roles) or (Role.QUASI in one.roles) == (Role.QUASI in other.roles):
        return
    if Role.QUASI in one.roles:
        reason = f"follows from {telling.one}, which others can know"
        guesses[telling.other] = dataclasses.replace(other, roles=(Role.QUASI,), reason=reason, confidence=0.6)
    else:
        reason = f"tells {telling.other}, which others can know"
        guesses[telling.one] = dataclasses.replace(one, roles=(Role.QUASI,), reason=reason, confidence=0.6)
