"""Roles for all columns of a table, from findings, names, design and how far columns single records out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from sfumato.core.schema import Kind, Role
from sfumato.profile.columns import Column
from sfumato.profile.design import find_household, find_person, find_strata, find_weight, is_bare_weight
from sfumato.profile.finding import Finding, percent, share
from sfumato.profile.generalized import is_number, looks_grouped
from sfumato.profile.lexicon_sensitive import ALSO_KNOWN_TO_OTHERS, ART_9
from sfumato.profile.words import Match

TELLS_APART = 0.95
"""Separation from which a column without a known name is proposed as quasi."""

OFTEN_ALONE = 0.05
"""Uniqueness from which a column without a known name is proposed as quasi."""

MEASURED = 150
"""Distinct numbers from which a column without a known name is taken for a measurement."""

ONE_ROW_EACH = 0.98
"""Uniqueness from which a column numbers the records."""

_OLDEST = 130
_MOST_SEXES = 12
_DEGREES = 180


@dataclasses.dataclass(frozen=True)
class RoleGuess:
    """Roles, the reason, how sure it is, the concept behind it, and what a unit column numbers."""

    roles: tuple[Role, ...]
    reason: str
    confidence: float
    concept: str | None = None
    unit: str | None = None


def assign_roles(columns: Sequence[Column], direct: Mapping[str, Finding]) -> dict[str, RoleGuess]:
    """A guess for every column: the design first, then direct identifiers, then what names and counts say."""
    guesses = _design_roles(columns, direct)
    for column in columns:
        name = column.card.name
        if name not in guesses:
            found = direct.get(name)
            guesses[name] = _direct_role(found) if found is not None else _other_role(column)
    return guesses


def _design_roles(columns: Sequence[Column], direct: Mapping[str, Finding]) -> dict[str, RoleGuess]:
    guesses = {
        name: RoleGuess((Role.STRATUM,), found.reason, found.confidence) for name, found in find_strata(columns).items()
    }
    for unit, unit_found in (("household", find_household(columns)), ("person", find_person(columns, direct))):
        if unit_found is not None:
            name, finding = unit_found
            guesses.setdefault(name, RoleGuess((Role.UNIT,), finding.reason, finding.confidence, unit=unit))
    weight = find_weight(columns)
    if weight is not None:
        name, finding = weight
        guesses[name] = RoleGuess((Role.WEIGHT,), finding.reason, finding.confidence)
    return guesses


def _direct_role(found: Finding) -> RoleGuess:
    note = "; dropped unless a step rewrites it" if found.what == "free text" else ""
    return RoleGuess((Role.DIRECT,), f"{found.reason}{note}", found.confidence, found.what)


def _other_role(column: Column) -> RoleGuess:
    if column.card.constant:
        empty = "has no values" if not column.card.distinct else "has the same value in all records"
        return _by_name(column) if column.card.rows == 0 else RoleGuess((Role.PLAIN,), empty, 0.9)
    return _by_name(column)


def _by_name(column: Column) -> RoleGuess:
    if is_bare_weight(column):
        reason = "the name says weight: others can see a body's; give a survey's weight role weight"
        return RoleGuess((Role.QUASI,), reason, 0.4, "body weight")
    for match in column.matches:
        if match.family == "sensitive":
            return _sensitive(match.concept)
        if match.family == "quasi" and _plausible(match, column):
            return _quasi(match.concept)
        if match.family == "design":
            return _second_of_design(match.concept, column)
    return _by_counts(column)


def _second_of_design(concept: str, column: Column) -> RoleGuess:
    """A column named like a part of the survey design that was not taken for it."""
    if concept == "sampling weight" and column.values.dtype.is_numeric():
        return RoleGuess((Role.PLAIN,), "a second survey weight: a table can have one", 0.6)
    if concept == "household id" and column.card.uniqueness >= ONE_ROW_EACH:
        return RoleGuess(
            (Role.DIRECT,), "the name says household id, and every household has one row", 0.6, "record id"
        )
    return _by_counts(column)


def _sensitive(concept: str) -> RoleGuess:
    law = " (GDPR Art. 9)" if concept in ART_9 else " (GDPR Art. 10)" if concept == "criminal record" else ""
    return RoleGuess((Role.SENSITIVE,), f"the name says {concept}{law}", 0.75, concept)


def _quasi(concept: str) -> RoleGuess:
    if concept in ALSO_KNOWN_TO_OTHERS:
        reason = f"the name says {concept}: others can see it, and GDPR Art. 9 protects it"
        return RoleGuess((Role.QUASI, Role.SENSITIVE), reason, 0.75, concept)
    return RoleGuess((Role.QUASI,), f"the name says {concept}: others can know it", 0.8, concept)


def _plausible(match: Match, column: Column) -> bool:
    """Whether the values do not contradict the name."""
    texts = column.sample.texts
    if not texts:
        return True
    if match.concept == "age":
        return share(_is_age, texts) >= 0.9
    if match.concept == "sex":
        return column.card.distinct <= _MOST_SEXES
    if match.concept == "postal code":
        digits = share(lambda text: any(map(str.isdigit, text)), texts)
        return digits >= 0.8 and share(lambda text: 3 <= len(text) <= 10, texts) >= 0.9
    if match.concept == "location":
        return share(_is_place, texts) >= 0.9
    return True


def _is_age(text: str) -> bool:
    if is_number(text):
        return 0 <= float(text) <= _OLDEST
    return looks_grouped(text) or any(map(str.isdigit, text)) or text.replace(" ", "").isalpha() or text == "*"


def _is_place(text: str) -> bool:
    """A degree of the globe, or words."""
    return abs(float(text)) <= _DEGREES if is_number(text) else True


def _by_counts(column: Column) -> RoleGuess:
    """No known name: the column is quasi if it singles people out and is no measurement."""
    card = column.card
    apart = f"tells {percent(card.separation)} of record pairs apart, {percent(card.uniqueness)} of records stand alone"
    if card.kind is Kind.NUMERIC and (column.values.dtype.is_float() or card.distinct > MEASURED):
        return RoleGuess((Role.PLAIN,), f"a measurement ({apart}): quasi if others can know it", 0.4)
    if card.separation >= TELLS_APART or card.uniqueness >= OFTEN_ALONE:
        return RoleGuess((Role.QUASI,), f"unknown name, but it {apart}", 0.4)
    return RoleGuess((Role.PLAIN,), f"unknown name ({apart}): quasi if others can know it", 0.5)
