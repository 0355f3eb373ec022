"""Roles for all columns of a table, from findings, names, design and how far columns single records out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from sfumato.core.design import OFTEN_ALONE
from sfumato.core.schema import Kind, Role
from sfumato.profiling.columns import Column
from sfumato.profiling.design import (
    find_household,
    find_person,
    find_strata,
    find_weight,
    is_bare_weight,
    warning_of_weight,
    weighs_records,
)
from sfumato.profiling.duplicates import with_duplicates_found
from sfumato.profiling.finding import Finding, percent, share
from sfumato.profiling.generalized import is_number, looks_grouped
from sfumato.profiling.lexicon_direct import BODY_WORDS
from sfumato.profiling.lexicon_sensitive import ALSO_KNOWN_TO_OTHERS, ART_9
from sfumato.profiling.telling_values import told_by_values
from sfumato.profiling.words import Match

TELLS_APART = 0.7
"""Separation from which a column without a known name is proposed as quasi."""

MEASURED = 150
"""Distinct numbers from which a column without a known name is taken for a measurement."""

ONE_ROW_EACH = 0.98
"""Uniqueness from which a column numbers the records."""

MANY_ALONE = 0.2
"""Uniqueness from which texts are more likely names than labels."""

NEARLY_ALL_DIFFERENT = 0.9
"""Distinct values per record that has one, from which a column may number the records."""

FEWEST_ROWS = 20
"""Records that have a value, from which nearly all different values are no accident."""

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
    return with_duplicates_found(columns, guesses)


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
        warning = warning_of_weight(next(c.card for c in columns if c.card.name == name))
        guesses[name] = RoleGuess((Role.WEIGHT,), f"{finding.reason}{warning}", finding.confidence)
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
        if match.family == "sensitive" and column.card.kind is Kind.DATE:
            return RoleGuess((Role.QUASI,), f"a date, and the name says {match.concept}: others can know when", 0.6)
        if match.family == "sensitive":
            return _sensitive(match.concept)
        if match.family == "quasi" and _plausible(match, column):
            return _quasi(match.concept)
        if match.family == "design":
            return _second_of_design(match.concept, column)
    return _by_words(column) or _by_counts(column)


def _by_words(column: Column) -> RoleGuess | None:
    """The values are words everybody knows people by, whatever the column is called."""
    concept = None if column.values.dtype.is_numeric() else told_by_values(column.sample)
    if concept is None:
        return None
    guess = _quasi(concept)
    return dataclasses.replace(guess, reason=guess.reason.replace("the name says", "the values say"), confidence=0.6)


def _second_of_design(concept: str, column: Column) -> RoleGuess:
    """A column named like a part of the survey design that was not taken for it."""
    if concept == "sampling weight" and column.values.dtype.is_numeric():
        return _second_weight(column)
    if concept == "household id" and column.card.uniqueness >= ONE_ROW_EACH:
        return RoleGuess(
            (Role.DIRECT,), "the name says household id, and every household has one row", 0.6, "record id"
        )
    return _by_counts(column)


def _second_weight(column: Column) -> RoleGuess:
    if column.card.uniqueness >= OFTEN_ALONE or _nearly_all_different(column):
        alone = f"{percent(column.card.uniqueness)} of records stand alone with it"
        return RoleGuess(
            (Role.ASK,), f"a second survey weight, and {alone}: plain to release it, direct to drop it", 0.4
        )
    return RoleGuess((Role.PLAIN,), "a second survey weight: a table can have one", 0.6)


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
    if match.concept == "body weight" and set(match.others) - BODY_WORDS:
        return not weighs_records(column)
    return True


def _is_age(text: str) -> bool:
    if is_number(text):
        return 0 <= float(text) <= _OLDEST
    return looks_grouped(text) or any(map(str.isdigit, text)) or text.replace(" ", "").isalpha() or text == "*"


def _is_place(text: str) -> bool:
    """A degree of the globe, or words."""
    return abs(float(text)) <= _DEGREES if is_number(text) else True


def _by_counts(column: Column) -> RoleGuess:
    """No known name: what the column tells apart decides, and where that could mean two things somebody is asked."""
    card = column.card
    apart = f"tells {percent(card.separation)} of record pairs apart, {percent(card.uniqueness)} of records stand alone"
    telling = card.separation >= TELLS_APART or card.uniqueness >= OFTEN_ALONE
    if card.kind is Kind.DATE:
        return RoleGuess((Role.QUASI,), f"a date ({apart}): others can know when", 0.5)
    if _nearly_all_different(column):
        what = "a measurement, or a number of the records" if card.kind is Kind.NUMERIC else "codes or names"
        return RoleGuess((Role.ASK,), f"{what} ({apart}): direct if it numbers or names people, {_OR_ELSE}", 0.3)
    if card.kind is Kind.NUMERIC and (column.values.dtype.is_float() or card.distinct > MEASURED):
        if telling:
            return RoleGuess((Role.ASK,), f"a measurement ({apart}): {_OR_ELSE}", 0.3)
        return RoleGuess((Role.PLAIN,), f"a measurement ({apart}): quasi if others can know it", 0.4)
    if telling and _may_be_names(column):
        return RoleGuess((Role.ASK,), f"labels or names ({apart}): direct if they name people, {_OR_ELSE}", 0.3)
    if telling:
        return RoleGuess((Role.QUASI,), f"unknown name, but it {apart}", 0.4)
    return RoleGuess((Role.PLAIN,), f"unknown name ({apart}): quasi if others can know it", 0.5)


_OR_ELSE = "quasi if others can know it, sensitive if nobody may learn it, else plain"


def _may_be_names(column: Column) -> bool:
    """Very many texts: kept by frequency, as labels are, common names of people would be published."""
    texts = column.card.kind is Kind.NOMINAL and not column.values.dtype.is_numeric()
    return texts and (column.card.distinct > MEASURED or column.card.uniqueness >= MANY_ALONE)


def _nearly_all_different(column: Column) -> bool:
    card = column.card
    present = card.rows * (1 - card.missing_share)
    return present >= FEWEST_ROWS and card.distinct >= NEARLY_ALL_DIFFERENT * present
