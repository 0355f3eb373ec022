"""Roles for all columns of a table, from findings, names, design and how far columns single records
out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sfumato.core.design import OFTEN_ALONE
from sfumato.core.schema import Kind, Role
from sfumato.core.words import percent
from sfumato.guidance.profiling.columns import ProfiledColumn
from sfumato.guidance.profiling.concepts import concepts, words_with_senses
from sfumato.guidance.profiling.design import (
    find_household,
    find_person,
    find_strata,
    find_weight,
    is_bare_weight,
    is_no_body_weight,
    may_weigh_records,
    warning_of_weight,
    weighs_records,
)
from sfumato.guidance.profiling.detection import Recognition, share
from sfumato.guidance.profiling.generalized_values import is_number, looks_grouped
from sfumato.guidance.profiling.label_reading import guess_of_label
from sfumato.guidance.profiling.lexicon import ART_9, QUASI_AND_SENSITIVE, word_lists
from sfumato.guidance.profiling.name_reading import NameReading
from sfumato.guidance.profiling.neighbours import (
    blocks,
    concept_of_group,
    dummy_groups,
    same_orders,
)
from sfumato.guidance.profiling.questions import Doubt
from sfumato.guidance.profiling.role_guess import RoleGuess, guess_of_concept
from sfumato.guidance.profiling.tellings import with_differences_found, with_duplicates_found
from sfumato.guidance.profiling.topics import TableReading, read_table
from sfumato.guidance.profiling.value_reading import ValueReading
from sfumato.guidance.profiling.words import Match, words_of

# Separation from which a column without a known name is proposed as quasi.
TELLS_APART = 0.7

# Distinct numbers from which a column without a known name is taken for a measurement.
MEASURED = 150

# Uniqueness from which a column numbers the records.
ONE_ROW_EACH = 0.98

# Uniqueness from which texts are more likely names than labels.
MANY_ALONE = 0.2

# Distinct values per record that has one, from which a column may number the records.
NEARLY_ALL_DIFFERENT = 0.9

# Records that have a value, from which nearly all different values are no accident.
FEWEST_ROWS = 20

_OLDEST = 130
_MOST_SEXES = 12
_DEGREES = 180
_YEARS_OF_BIRTH = range(1850, 2101)

# Share of the values that must not contradict a name.
_MOST_FIT = 0.9


def assign_roles(
    columns: Sequence[ProfiledColumn],
    direct: Mapping[str, Recognition],
    *,
    title: str = "",
    prefix: str = "",
    labels: Mapping[str, str] = {},
) -> dict[str, RoleGuess]:
    """A guess for every column: the design first, then direct identifiers, then what names, values,
    variable labels, other columns and the topic of the table say, and counts at last.

    ``title`` is the name of the file, ``prefix`` letters that all names begin with, ``labels`` the
    variable labels of a file that has them.
    """
    table = read_table(
        [column for column in columns if column.card.name not in direct],
        title,
        [column.card.name for column in columns],
        prefix=prefix,
    )
    guesses = _design_roles(columns, direct, table)
    unknown = []
    for column in columns:
        name = column.card.name
        if name in guesses:
            continue
        if name in direct:
            guesses[name] = _direct_role(direct[name])
            continue
        guess = _without_differences(column) or _by_name(column, table)
        if guess is None or guess.doubt is not None:
            guess = _by_label(column, labels.get(name), table) or guess
        if guess is None:
            unknown.append(column)
        else:
            guesses[name] = guess
    guesses |= _by_same_order(columns, unknown, guesses)
    guesses |= _by_neighbours(columns, [c for c in unknown if c.card.name not in guesses], table)
    for column in unknown:
        if column.card.name not in guesses:
            guesses[column.card.name] = (
                _by_years(column) or _by_topic(column, table) or _by_counts(column)
            )
    return with_differences_found(columns, with_duplicates_found(columns, guesses))


def _design_roles(
    columns: Sequence[ProfiledColumn], direct: Mapping[str, Recognition], table: TableReading
) -> dict[str, RoleGuess]:
    guesses = {
        name: RoleGuess((Role.STRATUM,), stratum.reason, stratum.confidence)
        for name, stratum in find_strata(columns).items()
    }
    units = (
        (Role.HOUSEHOLD, find_household(columns)),
        (Role.PERSON, find_person(columns, direct)),
    )
    for role, unit in units:
        if unit is not None:
            name, finding = unit
            guesses.setdefault(name, RoleGuess((role,), finding.reason, finding.confidence))
    weight = find_weight(columns, bodies=table.topic == "health")
    if weight is not None:
        name, finding = weight
        warning = warning_of_weight(next(c.card for c in columns if c.card.name == name))
        guesses[name] = RoleGuess((Role.WEIGHT,), f"{finding.reason}{warning}", finding.confidence)
    return guesses


def _direct_role(recognition: Recognition) -> RoleGuess:
    note = ""
    if recognition.concept == "free text":
        note = "; dropped unless a step rewrites it"
    return RoleGuess(
        (Role.DROP,),
        f"{recognition.reason}{note}",
        recognition.confidence,
        recognition.concept,
        rule="identifier",
    )


def _without_differences(column: ProfiledColumn) -> RoleGuess | None:
    """A column that is alike in all records, or None; not where some have a value and some none."""
    card = column.card
    marks = card.distinct == 1 and card.missing_share > 0
    if not card.constant or card.rows == 0 or marks:
        return None
    empty = "has the same value in all records"
    if not card.distinct:
        empty = "has no values"
    return RoleGuess((Role.KEEP,), empty, 0.9, rule="constant")


def _by_name(column: ProfiledColumn, table: TableReading) -> RoleGuess | None:
    """What the name says, or the values where the name says nothing or several things."""
    name = column.card.name
    reading, values = table.names[name], table.values.get(name)
    if _may_number_people(column):
        reason = f"the name may say who a person is ({_apart(column)}): {_OR_ELSE}"
        return _asked(reason, Doubt("who a person is", "person", "quasi"))
    if is_bare_weight(column):
        if is_no_body_weight(column):
            return _doubtful_weight()
        reason = (
            "the name says weight: outsiders can see body weight; give a survey weight role weight"
        )
        return RoleGuess((Role.QUASI,), reason, 0.4, "body weight", rule="name")
    if column.card.kind is Kind.DATE:
        return _of_date(column, reading)
    if _is_school_year(column):
        return _quasi("school year")
    ambiguous = any(part.word in words_with_senses() for part in reading.parts)
    agree = values is not None and values.concept.concept == reading.concept
    if values is not None and not agree and (ambiguous or not reading.parts):
        return _of_values(values)
    if _may_be_names(column) and _says_person(name):
        return _asked(
            f"labels or names ({_apart(column)}): drop if they name people, {_OR_ELSE}",
            Doubt("who a person is", "drop", "quasi"),
        )
    for match in column.matches:
        guess = _of_match(match, column, reading, ambiguous=ambiguous)
        if guess is not None:
            return guess
    if reading.concept is not None and _may_be(reading.concept, column):
        whole = any(part.whole and part.concept == reading.concept for part in reading.parts)
        return guess_of_concept(
            concepts()[reading.concept],
            "the name says" if whole else "a part of the name says",
            0.7 if whole else 0.55,
            "word in the name",
            role=reading.role,
        )
    return None if values is None else _of_values(values)


def _is_school_year(column: ProfiledColumn) -> bool:
    """Whether grades are those that pupils attend and not those that they get: whole numbers from
    the sixth to the thirteenth.
    """
    if not {"grade", "grades"} & set(words_of(column.card.name)):
        return False
    numbers = [float(text) for text in column.sample.texts if is_number(text)]
    is_most = len(numbers) >= _MOST_FIT * len(column.sample.texts)
    return bool(numbers) and is_most and all(n in _SCHOOL_YEARS for n in numbers)


_SCHOOL_YEARS = range(6, 14)


def _by_label(column: ProfiledColumn, label: str | None, table: TableReading) -> RoleGuess | None:
    """What the variable label says; whole numbers that nearly all differ may number people,
    whatever it says.
    """
    if label is None or (_nearly_all_different(column) and not _has_decimals(column)):
        return None
    guess = guess_of_label(label, table.topics)
    if guess is None or not _may_be(guess.concept or "", column):
        return None
    return guess


def _says_person(name: str) -> bool:
    """Whether a word of a name is one for people, or ends with one (``Hausarzt``)."""
    people = word_lists().person
    endings = tuple(word for word in people if len(word) >= _LONG_ENDING)
    return any(word in people or word.endswith(endings) for word in words_of(name))


_LONG_ENDING = 4


def _may_number_people(column: ProfiledColumn) -> bool:
    """Whether the name says a number of people, and the values are too few or too many to tell."""
    match = column.match
    if match is None or match.concept not in ("record id", "person id"):
        return False
    if match.concept == "record id" and set(match.other_words) & word_lists().thing:
        return False
    return column.card.distinct > _MOST_ANSWERS and not _has_decimals(column)


def _of_date(column: ProfiledColumn, reading: NameReading) -> RoleGuess:
    """Dates are what others can know, whatever happened then."""
    for match in column.matches:
        if match.family == "sensitive":
            reason = f"a date, and the name says {match.concept}: others can know when"
            return RoleGuess((Role.QUASI,), reason, 0.6, rule="date")
        if match.family == "quasi":
            return _quasi(match.concept)
    if reading.concept is not None:
        subject = concepts()[reading.concept].subject
        reason = f"a date, and the name says {subject}: others can know when"
        return RoleGuess((Role.QUASI,), reason, 0.6, rule="date")
    reason = f"a date ({_apart(column)}): others can know when"
    return RoleGuess((Role.QUASI,), reason, 0.5, rule="date")


def _of_match(
    match: Match, column: ProfiledColumn, reading: NameReading, *, ambiguous: bool
) -> RoleGuess | None:
    """What a term of the lexicon says, unless other words of the name, or the topic of the table,
    say something else.
    """
    if match.family == "design":
        # economy_of_household numbers no households.
        others = {word for word in match.other_words if not word.isdigit()}
        if match.concept == "household id" and others & {part.word for part in reading.parts}:
            return None
        return _second_of_design(match.concept, column)
    if ambiguous and match.length == 1 and reading.concept is not None:
        return None
    if match.family == "sensitive":
        return _sensitive(match.concept)
    if match.family != "quasi" or not _plausible(match, column):
        return None
    # SmokeAge is about smoking, not an age that others know.
    # AgeAtAdmission is one.
    known = {"".join(match.words[match.start : match.start + match.length])}
    known |= set(match.words[match.start : match.start + match.length])
    at_an_event = match.concept == "age" and "at" in match.words
    for part in reading.parts:
        private = concepts()[part.concept].role == "sensitive" and part.word not in known
        if private and not (at_an_event and part.concept in ("health", "study")):
            return None
    return _quasi(match.concept)


def _of_values(reading: ValueReading) -> RoleGuess:
    concept = dataclasses.replace(reading.concept, subject=reading.subject)
    return guess_of_concept(concept, "the values say", 0.6, "words in the values")


def _may_be(concept: str, column: ProfiledColumn) -> bool:
    """Whether the values do not contradict a concept."""
    texts = column.sample.texts
    if concept == "sex":
        return column.card.distinct <= _MOST_SEXES
    if concept == "age":
        in_months = {"month", "months", "mo", "agem", "agemo", "agemonths"} & set(
            words_of(column.card.name)
        )
        return not texts or bool(in_months) or share(_is_age_or_year, texts) >= _MOST_FIT
    return True


def _is_age_or_year(text: str) -> bool:
    return _is_age(text) or (is_number(text) and float(text) in _YEARS_OF_BIRTH)


def _by_same_order(
    columns: Sequence[ProfiledColumn],
    unknown: Sequence[ProfiledColumn],
    guesses: Mapping[str, RoleGuess],
) -> dict[str, RoleGuess]:
    """Unknown columns that put the records into the order of a known one get its role: whoever
    reads one of them reads the other.
    """
    names = {column.card.name for column in unknown}
    by_order: dict[str, RoleGuess] = {}
    for name, other in same_orders(columns, names):
        known = guesses.get(other)
        if known is None or not {Role.QUASI, Role.SENSITIVE} & set(known.roles):
            continue
        reason = f"has the same order of records as {other}: it has the same information"
        by_order.setdefault(
            name,
            RoleGuess(known.roles, reason, 0.55, known.concept, rule="relation"),
        )
    return by_order


def _by_neighbours(
    columns: Sequence[ProfiledColumn], unknown: Sequence[ProfiledColumn], table: TableReading
) -> dict[str, RoleGuess]:
    """Unknown columns among dummies of one concept, or in a block of names about one."""
    named = {
        name: reading.concept
        for name, reading in table.names.items()
        if reading.concept is not None
    }
    waiting = {column.card.name for column in unknown}
    groups = [
        *((group, "dummy columns of one attribute") for group in dummy_groups(columns)),
        *((group, "names of one block") for group in blocks([c.card.name for c in columns])),
    ]
    by_group: dict[str, RoleGuess] = {}
    for group, kind in groups:
        concept = concept_of_group(group, named)
        if concept is None or waiting.isdisjoint(group):
            continue
        beside = next(name for name in group if name in named)
        for name in waiting & set(group):
            by_group.setdefault(
                name,
                guess_of_concept(
                    concepts()[concept], f"beside {beside}, {kind}:", 0.5, "neighbours"
                ),
            )
    return by_group


def _by_years(column: ProfiledColumn) -> RoleGuess | None:
    """Whole numbers that all are years: others can know when, whatever the table is about."""
    counts = column.counts
    if counts is None or not column.dtype.is_integer() or column.card.distinct < _FEWEST_YEARS:
        return None
    low, high = counts.values.min(), counts.values.max()
    if low not in _YEARS_OF_EVENTS or high not in _YEARS_OF_EVENTS:
        return None
    reason = f"all values are years ({_apart(column)}): others can know when"
    return RoleGuess((Role.QUASI,), reason, 0.5, rule="date")


# Years in which something of living people may have been. Codes rarely lie so close together.
_YEARS_OF_EVENTS = range(1900, 2051)
_FEWEST_YEARS = 3


def _by_topic(column: ProfiledColumn, table: TableReading) -> RoleGuess | None:
    """In a table about what must not be learned, answers and measurements that nothing is known of
    must not be learned either; labels, and numbers that may be codes or names, others may know.
    """
    if table.topic is None or not table.named:
        return None
    if not _is_answer(column) and not _is_measured(column):
        return None
    subject = concepts()[table.topic].subject
    reason = f"nothing is known of the name, and the table is about {subject}"
    return RoleGuess((Role.SENSITIVE,), reason, 0.45, table.topic, rule="topic")


def _is_answer(column: ProfiledColumn) -> bool:
    """Yes or no, or one of a few numbers or of words with an order."""
    if column.card.kind is Kind.ORDINAL:
        return True
    if not column.dtype.is_numeric() and not isinstance(column.dtype, pl.Boolean):
        texts = {text.lower() for text in column.sample.texts}
        return texts <= _YES_OR_NO
    return column.card.distinct <= _MOST_ANSWERS


def _is_measured(column: ProfiledColumn) -> bool:
    """Whether numbers have decimals, or neighbouring values are about equally frequent: codes of
    regions or offices are not.
    """
    if not column.dtype.is_numeric():
        return False
    if _has_decimals(column):
        return True
    if _nearly_all_different(column) or column.counts is None or _is_running_number(column):
        return False
    if column.card.rows < _ROWS_TO_COMPARE or column.card.distinct > MEASURED:
        return True
    order = column.counts.values.to_physical().to_numpy().argsort()
    counts = column.counts.counts[order].astype(float)
    before, after = counts[:-1], counts[1:]
    if before.std() == 0 or after.std() == 0:
        return False
    return bool(np.corrcoef(before, after)[0, 1] >= _SMOOTH)


def _is_running_number(column: ProfiledColumn) -> bool:
    """Whether whole numbers leave hardly one out from the first to the last: such numbers count
    households or persons.
    """
    card, counts = column.card, column.counts
    if counts is None or card.distinct < _FEWEST_NUMBERED or not column.dtype.is_integer():
        return False
    low, high = counts.values.min(), counts.values.max()
    span = int(high) - int(low) + 1  # type: ignore[arg-type]
    return card.distinct >= _DENSE * span and counts.counts.max() <= _LARGEST_UNIT


# Running numbers: so many of them, so densely, and so many rows of one household or person.
_FEWEST_NUMBERED = 200
_DENSE = 0.99
_LARGEST_UNIT = 50

# Whole numbers of so few values are answers of a questionnaire or of a test.
_MOST_ANSWERS = 12

# Rows from which frequencies of neighbouring values are compared, and the correlation from which
# they are those of a measurement.
_ROWS_TO_COMPARE = 100
_SMOOTH = 0.3

_YES_OR_NO = frozenset({"yes", "no", "y", "n", "true", "t", "false", "f", "0", "1"}) | frozenset(
    {
        "ja",
        "nein",
        "nej",
        "nee",
        "j",
        "oui",
        "non",
        "o",
        "sí",
        "si",
        "sim",
        "não",
        "nao",
        "tak",
        "nie",
    }
)


def _has_decimals(column: ProfiledColumn) -> bool:
    return column.dtype.is_float() and any("." in text for text in column.sample.texts)


def _second_of_design(concept: str, column: ProfiledColumn) -> RoleGuess | None:
    """A column named like a part of the survey design that was not taken for it; None where it is
    something else.
    """
    if concept == "sampling weight" and column.dtype.is_numeric():
        if may_weigh_records(column):
            return _second_weight(column)
        return _doubtful_weight()
    if concept == "household id" and column.card.uniqueness >= ONE_ROW_EACH:
        return RoleGuess(
            (Role.DROP,),
            "the name says household id, and every household has one row",
            0.6,
            "record id",
            rule="identifier",
        )
    return None


def _doubtful_weight() -> RoleGuess:
    reason = (
        "the name may say survey weight, but its values are not those of one, or are body weights:"
        f" weight if records stand for so many people, drop to leave it out, {_OR_ELSE}"
    )
    return _asked(reason, Doubt("how many people a row is for", "weight"))


def _second_weight(column: ProfiledColumn) -> RoleGuess:
    if column.card.uniqueness >= OFTEN_ALONE or _nearly_all_different(column):
        alone = f"{percent(column.card.uniqueness)} of records are unique by it"
        return RoleGuess(
            (Role.ASK,),
            f"a second survey weight, and {alone}: keep to release it, drop to leave it out",
            0.4,
            doubt=Doubt("how many people a row is for", "drop"),
        )
    return RoleGuess((Role.KEEP,), "a second survey weight: a table can have one", 0.6)


def _sensitive(concept: str) -> RoleGuess:
    law = ""
    if concept in ART_9:
        law = " (GDPR Art. 9)"
    elif concept == "criminal record":
        law = " (GDPR Art. 10)"
    return RoleGuess((Role.SENSITIVE,), f"the name says {concept}{law}", 0.75, concept, rule="name")


def _quasi(concept: str) -> RoleGuess:
    if concept in QUASI_AND_SENSITIVE:
        reason = f"the name says {concept}: others can see it, and GDPR Art. 9 protects it"
        return RoleGuess((Role.QUASI, Role.SENSITIVE), reason, 0.75, concept, rule="name")
    reason = f"the name says {concept}: outsiders may know it"
    return RoleGuess((Role.QUASI,), reason, 0.8, concept, rule="name")


def _plausible(match: Match, column: ProfiledColumn) -> bool:
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
    if match.concept == "death date":
        # death = 0 or 1 says that somebody died, not when.
        return column.card.distinct > 2
    if match.concept == "occupation" and column.card.uniqueness >= MANY_ALONE:
        # PCS is a French code of occupations, and a score of physical health.
        return not _has_decimals(column)
    if match.concept == "location":
        return share(_is_place, texts) >= 0.9
    if match.concept == "body weight" and set(match.other_words) - word_lists().body:
        return not weighs_records(column)
    return True


def _is_age(text: str) -> bool:
    if is_number(text):
        return 0 <= float(text) <= _OLDEST
    return (
        looks_grouped(text)
        or any(map(str.isdigit, text))
        or text.replace(" ", "").isalpha()
        or text == "*"
    )


def _is_place(text: str) -> bool:
    """A degree of the globe, or words."""
    if is_number(text):
        return abs(float(text)) <= _DEGREES
    return True


def _apart(column: ProfiledColumn) -> str:
    """How far a column tells records apart."""
    card = column.card
    return (
        f"distinguishes {percent(card.separation)} of record pairs; {percent(card.uniqueness)} of"
        " records are unique"
    )


def _by_counts(column: ProfiledColumn) -> RoleGuess:
    """No known name: a column that tells many records apart is quasi, of any other somebody is
    asked; none is released unasked.
    """
    card = column.card
    apart = _apart(column)
    telling = card.separation >= TELLS_APART or card.uniqueness >= OFTEN_ALONE
    if _nearly_all_different(column):
        description = "codes or names"
        if card.kind is Kind.NUMERIC:
            description = "a measurement, or a number of the records"
        return _asked(
            f"{description} ({apart}): drop if it numbers or names people, {_OR_ELSE}",
            Doubt("who a person is", "drop", "quasi"),
        )
    if card.kind is Kind.NUMERIC and (column.dtype.is_float() or card.distinct > MEASURED):
        return _asked(
            f"a measurement ({apart}): {_OR_ELSE}", Doubt("what was measured", "sensitive")
        )
    if telling and _may_be_names(column):
        return _asked(
            f"labels or names ({apart}): drop if they name people, {_OR_ELSE}",
            Doubt("who a person is", "drop", "quasi"),
        )
    if telling:
        reason = f"unknown name, but it {apart}"
        return RoleGuess((Role.QUASI,), reason, 0.4, rule="tells records apart")
    return _asked(
        f"unknown name ({apart}): {_OR_ELSE}", Doubt("something nobody should learn", "sensitive")
    )


def _asked(reason: str, doubt: Doubt) -> RoleGuess:
    return RoleGuess((Role.ASK,), reason, 0.3, doubt=doubt, rule="unknown")


_OR_ELSE = "quasi if outsiders may know it, sensitive if nobody may learn it, else keep"


def _may_be_names(column: ProfiledColumn) -> bool:
    """Very many texts: kept by frequency, as labels are, common names of people would be
    published.
    """
    texts = column.card.kind is Kind.NOMINAL and not column.dtype.is_numeric()
    return texts and (column.card.distinct > MEASURED or column.card.uniqueness >= MANY_ALONE)


def _nearly_all_different(column: ProfiledColumn) -> bool:
    card = column.card
    present = card.rows * (1 - card.missing_share)
    return present >= FEWEST_ROWS and card.distinct >= NEARLY_ALL_DIFFERENT * present
