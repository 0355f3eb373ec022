"""Roles for all columns of a table, from findings, names, design and how far columns single records
out.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sfumato.core.data_files import read_data_file
from sfumato.core.design import OFTEN_ALONE
from sfumato.core.schema import Kind, Role
from sfumato.core.words import percent
from sfumato.guidance.profiling.columns import ProfiledColumn
from sfumato.guidance.profiling.design import (
    Difference,
    differences,
    find_household,
    find_person,
    find_strata,
    find_weight,
    is_bare_weight,
    may_weigh_records,
    warning_of_weight,
    weighs_records,
)
from sfumato.guidance.profiling.detection import Recognition, TextSample, share
from sfumato.guidance.profiling.generalized_values import is_number, looks_grouped
from sfumato.guidance.profiling.lexicon import ART_9, QUASI_AND_SENSITIVE, word_lists
from sfumato.guidance.profiling.quasi import Codes, codes_of
from sfumato.guidance.profiling.questions import Doubt
from sfumato.guidance.profiling.words import Match, fold

# What a column is by the words in it, where its name says nothing: sex, marital status, ethnicity,
# schooling, countries.

# Distinct values above which a column holds no vocabulary of these.
_MOST_VALUES = 400


@dataclasses.dataclass(frozen=True)
class _Vocabulary:
    """Words of a concept: how many of them must occur, and the share of the column's values that
    must have one.
    """

    concept: str
    words: frozenset[str]
    least: int
    share: float


@functools.cache
def _vocabularies() -> tuple[_Vocabulary, ...]:
    return tuple(
        _Vocabulary(**{**entry, "words": frozenset(entry["words"])})
        for entry in read_data_file(__package__, "value_words")
    )


_WORD = re.compile(r"[^\W\d_]+")


def told_by_values(sample: TextSample) -> str | None:
    """The concept whose words the distinct values of a column are made of, or None.

    >>> (
    ...     told_by_values(TextSample(("Male", "Female"), 40)),
    ...     told_by_values(TextSample(("yes", "no"), 40)),
    ... )
    ('sex', None)
    """
    if not 2 <= len(sample.texts) <= _MOST_VALUES:
        return None
    values = [frozenset(_WORD.findall(fold(text).lower())) for text in sample.texts]
    return next(
        (vocabulary.concept for vocabulary in _vocabularies() if _made_of(vocabulary, values)), None
    )


def _made_of(vocabulary: _Vocabulary, values: list[frozenset[str]]) -> bool:
    hits = [value & vocabulary.words for value in values]
    having = sum(1 for hit in hits if hit)
    if vocabulary.concept == "sex" and len(values) > 5:
        return False
    return len(frozenset().union(*hits)) >= vocabulary.least and having >= vocabulary.share * len(
        values
    )


# Columns that tell each other: codes beside their labels, groups beside what they group, the same
# column twice.
#
# Column *a* tells column *b* as well as guessing *b* from *a* beats guessing it from nothing
# (Goodman and Kruskal's λ):
#
# .. math::
#
#     \lambda(b \mid a) = \frac{\sum_x \max_y n_{xy} - \max_y n_{\cdot y}}{n - \max_y n_{\cdot y}}
#
# Recoding one of two such columns is undone by releasing the other, so a proposal must not leave
# one of them as it is.
#
# Reference: Goodman and Kruskal 1954, Measures of association for cross classifications.

MOST_COLUMNS = 120
FEWEST_ROWS_TO_DEPEND = 30
# λ from which one column tells another, where that has `SEVERAL` values; with fewer only λ = 1
# counts.
TELLS = 0.9

# λ in both directions from which two columns say the same.
SAME = 0.9

SEVERAL = 5
# Mean records a value needs before what it goes with says anything.
ROWS_A_VALUE = 4


@dataclasses.dataclass(frozen=True)
class Telling:
    """Column ``first`` tells column ``second``; ``mutual``: and the other way round."""

    first: str
    second: str
    mutual: bool


def tellings(
    quasi: Sequence[ProfiledColumn], other_columns: Sequence[ProfiledColumn]
) -> tuple[Telling, ...]:
    """Which of the columns an outsider may know tell which column, or are told by it.

    Looks at 10,000 rows at most and at 120 columns at most. Columns with nearly as many values as
    records say nothing, unless they are the same column twice.
    """
    columns = [*quasi, *other_columns][:MOST_COLUMNS]
    if not columns or columns[0].card.rows < FEWEST_ROWS_TO_DEPEND:
        return ()
    coded = [_Coded.of(column) for column in columns]
    pairs: list[Telling] = []
    for i, first in enumerate(coded[: len(quasi)]):
        for second in coded[i + 1 :]:
            pairs.extend(_between(first, second))
    return tuple(pairs)


def _between(first: _Coded, second: _Coded) -> Iterator[Telling]:
    if first.same_as(second):
        yield Telling(first.name, second.name, mutual=True)
        return
    forward, back = first.tells(second), second.tells(first)
    if min(forward, back) >= SAME:
        yield Telling(first.name, second.name, mutual=True)
    elif max(forward, back) >= TELLS:
        teller, follower = (first, second) if forward >= back else (second, first)
        yield Telling(teller.name, follower.name, mutual=False)


@dataclasses.dataclass(frozen=True, repr=False)
class _Coded:
    """A column as codes of the rows looked at."""

    column: ProfiledColumn
    codes: Codes
    distinct: int
    commonest: int

    @classmethod
    def of(cls, column: ProfiledColumn) -> _Coded:
        codes = codes_of(column.spread).dense()
        return cls(column, codes, codes.size, int(codes.counts().max()))

    @property
    def name(self) -> str:
        return self.column.card.name

    def same_as(self, other: _Coded) -> bool:
        """Whether the two are one column, value by value."""
        own_column, other_column = self.column, other.column
        alike = self.distinct == other.distinct > 1 and own_column.dtype == other_column.dtype
        if not alike or not own_column.spread.equals(other_column.spread, check_names=False):
            return False
        return own_column.values.equals(other_column.values, check_names=False)

    def tells(self, other: _Coded) -> float:
        """λ, where there is enough to say so; 0 otherwise."""
        rows = len(self.codes.of)
        if self.distinct * ROWS_A_VALUE > rows or not 1 < other.distinct <= 2 * self.distinct:
            return 0.0
        right = _right_guesses(self.codes, other.codes)
        if right == rows:
            return 1.0
        if other.distinct >= SEVERAL:
            return (right - other.commonest) / (rows - other.commonest)
        return 0.0


def _right_guesses(known_codes: Codes, guessed: Codes) -> int:
    """Records whose code in one column is the commonest among those with their code in the
    other.
    """
    joint = Codes(known_codes.of * guessed.size + guessed.of, known_codes.size * guessed.size)
    if joint.compact:
        return int(joint.counts().reshape(known_codes.size, guessed.size).max(axis=1).sum())
    pairs, counts = np.unique(joint.of, return_counts=True)
    best = np.zeros(known_codes.size, dtype=np.int64)
    np.maximum.at(best, pairs // guessed.size, counts)
    return int(best.sum())


# Roles once it is known which columns tell each other: no column is left to undo the recoding of
# another.

# Of two columns that say the same, words with an order are kept before dates, labels and bare
# numbers.
_SPEAKING = (Kind.ORDINAL, Kind.DATE, Kind.NOMINAL, Kind.NUMERIC)


def with_duplicates_found(
    columns: Sequence[ProfiledColumn], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Guesses in which of columns that tell each other one is kept as quasi-identifier.

    Both ways: the others are dropped (role ``drop``), for they would only have to be recoded in
    step. One way (an age group beside the age): the column that was to be released as it is becomes
    quasi too.
    """
    quasi = [c for c in columns if Role.QUASI in guesses[c.card.name].roles]
    other_columns = [
        c
        for c in columns
        if guesses[c.card.name].roles in ((Role.KEEP,), (Role.ASK,)) and not c.card.constant
    ]
    pairs = tellings(quasi, other_columns)
    by_name = {column.card.name: column for column in columns}
    changed = dict(guesses)
    for telling in pairs:
        if telling.mutual:
            _keep_one(telling, by_name, changed)
    for telling in pairs:
        if not telling.mutual:
            _know_both(telling, changed)
    return changed


def _keep_one(
    telling: Telling, columns: Mapping[str, ProfiledColumn], guesses: dict[str, RoleGuess]
) -> None:
    pair = (telling.first, telling.second)
    if any(guesses[name].roles == (Role.DROP,) for name in pair):
        return  # one of them is gone already
    first_name = min(pair, key=lambda name: _precedence(columns[name], guesses[name]))
    gone = pair[1] if first_name == pair[0] else pair[0]
    reason = (
        f"tells the same as {first_name}: dropped, for as it is it would undo the recoding of"
        " that column"
    )
    guesses[gone] = dataclasses.replace(
        guesses[gone], roles=(Role.DROP,), reason=reason, confidence=0.7, copy_of=first_name
    )


def _precedence(column: ProfiledColumn, guess: RoleGuess) -> tuple[bool, int]:
    """Quasi-identifiers first, those that are sensitive too before others, then what speaks; equals
    in table order.
    """
    standing = (Role.QUASI in guess.roles) + (Role.SENSITIVE in guess.roles)
    numbers = column.dtype.is_numeric()
    return standing == 0, 10 * (2 - standing) + 5 * numbers + _SPEAKING.index(column.card.kind)


def _know_both(telling: Telling, guesses: dict[str, RoleGuess]) -> None:
    first, second = guesses[telling.first], guesses[telling.second]
    if (Role.DROP,) in (first.roles, second.roles) or (Role.QUASI in first.roles) == (
        Role.QUASI in second.roles
    ):
        return
    if Role.QUASI in first.roles:
        reason = f"follows from {telling.first}, which others can know"
        guesses[telling.second] = dataclasses.replace(
            second, roles=(Role.QUASI,), reason=reason, confidence=0.6
        )
    else:
        reason = f"tells {telling.second}, which others can know"
        guesses[telling.first] = dataclasses.replace(
            first, roles=(Role.QUASI,), reason=reason, confidence=0.6
        )


def with_differences_found(
    columns: Sequence[ProfiledColumn], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Guesses in which no column is released as it is that is the difference or the sum of two
    quasi-identifiers.
    """
    quasi = [c for c in columns if Role.QUASI in guesses[c.card.name].roles]
    free = ((Role.KEEP,), (Role.ASK,), (Role.SENSITIVE,))
    other_columns = [c for c in columns if guesses[c.card.name].roles in free]
    return {
        **guesses,
        **{
            difference.name: _undoing(difference, guesses[difference.name])
            for difference in differences(quasi, other_columns)
        },
    }


def _undoing(difference: Difference, guess: RoleGuess) -> RoleGuess:
    """Dropped; what is sensitive is recoded with the two instead, for it may be what the table is
    about.
    """
    if Role.SENSITIVE in guess.roles:
        reason = (
            f"{guess.reason}; is {difference} in every record: quasi too, for as it is it would"
            " undo their recoding"
        )
        return dataclasses.replace(guess, roles=(Role.QUASI, Role.SENSITIVE), reason=reason)
    reason = (
        f"is {difference} in every record: dropped, for as it is it would undo the recoding of both"
    )
    return dataclasses.replace(guess, roles=(Role.DROP,), reason=reason, confidence=0.7)


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


@dataclasses.dataclass(frozen=True)
class RoleGuess:
    """Roles, the reason, how sure it is, the concept behind it, which quasi-identifier it copies,
    and what it may be where somebody is asked.
    """

    roles: tuple[Role, ...]
    reason: str
    confidence: float
    concept: str | None = None
    copy_of: str | None = None
    doubt: Doubt | None = None


def assign_roles(
    columns: Sequence[ProfiledColumn], direct: Mapping[str, Recognition]
) -> dict[str, RoleGuess]:
    """A guess for every column: the design first, then direct identifiers, then what names and
    counts say.
    """
    guesses = _design_roles(columns, direct)
    for column in columns:
        name = column.card.name
        if name not in guesses:
            recognised = direct.get(name)
            guesses[name] = (
                _direct_role(recognised) if recognised is not None else _other_role(column)
            )
    return with_differences_found(columns, with_duplicates_found(columns, guesses))


def _design_roles(
    columns: Sequence[ProfiledColumn], direct: Mapping[str, Recognition]
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
    weight = find_weight(columns)
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
        (Role.DROP,), f"{recognition.reason}{note}", recognition.confidence, recognition.concept
    )


def _other_role(column: ProfiledColumn) -> RoleGuess:
    card = column.card
    marks = (
        card.distinct == 1 and card.missing_share > 0
    )  # who has a value and who has none are told apart
    if not card.constant or card.rows == 0 or marks:
        return _by_name(column)
    empty = "has the same value in all records"
    if not card.distinct:
        empty = "has no values"
    return RoleGuess((Role.KEEP,), empty, 0.9)


def _by_name(column: ProfiledColumn) -> RoleGuess:
    if is_bare_weight(column):
        reason = "the name says weight: others can see a body's; give a survey's weight role weight"
        return RoleGuess((Role.QUASI,), reason, 0.4, "body weight")
    for match in column.matches:
        if match.family == "sensitive" and column.card.kind is Kind.DATE:
            return RoleGuess(
                (Role.QUASI,),
                f"a date, and the name says {match.concept}: others can know when",
                0.6,
            )
        if match.family == "sensitive":
            return _sensitive(match.concept)
        if match.family == "quasi" and _plausible(match, column):
            return _quasi(match.concept)
        if match.family == "design":
            return _second_of_design(match.concept, column)
    return _by_words(column) or _by_counts(column)


def _by_words(column: ProfiledColumn) -> RoleGuess | None:
    """The values are words everybody knows people by, whatever the column is called."""
    concept = None
    if not column.dtype.is_numeric():
        concept = told_by_values(column.sample)
    if concept is None:
        return None
    guess = _quasi(concept)
    return dataclasses.replace(
        guess, reason=guess.reason.replace("the name says", "the values say"), confidence=0.6
    )


def _second_of_design(concept: str, column: ProfiledColumn) -> RoleGuess:
    """A column named like a part of the survey design that was not taken for it."""
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
        )
    return _by_counts(column)


def _doubtful_weight() -> RoleGuess:
    reason = (
        "the name may say survey weight, but its values are not those of one, or it is a body's:"
        f" weight if records stand for so many people, direct to drop it, {_OR_ELSE}"
    )
    return RoleGuess(
        (Role.ASK,), reason, 0.3, doubt=Doubt("how many people a row is for", "weight")
    )


def _second_weight(column: ProfiledColumn) -> RoleGuess:
    if column.card.uniqueness >= OFTEN_ALONE or _nearly_all_different(column):
        alone = f"{percent(column.card.uniqueness)} of records stand alone with it"
        return RoleGuess(
            (Role.ASK,),
            f"a second survey weight, and {alone}: plain to release it, direct to drop it",
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
    return RoleGuess((Role.SENSITIVE,), f"the name says {concept}{law}", 0.75, concept)


def _quasi(concept: str) -> RoleGuess:
    if concept in QUASI_AND_SENSITIVE:
        reason = f"the name says {concept}: others can see it, and GDPR Art. 9 protects it"
        return RoleGuess((Role.QUASI, Role.SENSITIVE), reason, 0.75, concept)
    return RoleGuess((Role.QUASI,), f"the name says {concept}: outsiders may know it", 0.8, concept)


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


def _by_counts(column: ProfiledColumn) -> RoleGuess:
    """No known name: a column that tells many records apart is quasi, of any other somebody is
    asked; none is released unasked.
    """
    card = column.card
    apart = (
        f"distinguishes {percent(card.separation)} of record pairs; {percent(card.uniqueness)} of"
        " records are unique"
    )
    telling = card.separation >= TELLS_APART or card.uniqueness >= OFTEN_ALONE
    if card.kind is Kind.DATE:
        return RoleGuess((Role.QUASI,), f"a date ({apart}): others can know when", 0.5)
    if _nearly_all_different(column):
        description = "codes or names"
        if card.kind is Kind.NUMERIC:
            description = "a measurement, or a number of the records"
        return RoleGuess(
            (Role.ASK,),
            f"{description} ({apart}): direct if it numbers or names people, {_OR_ELSE}",
            0.3,
            doubt=Doubt("who a person is", "drop", "quasi"),
        )
    if card.kind is Kind.NUMERIC and (column.dtype.is_float() or card.distinct > MEASURED):
        doubt = Doubt("what was measured", "sensitive")
        return RoleGuess((Role.ASK,), f"a measurement ({apart}): {_OR_ELSE}", 0.3, doubt=doubt)
    if telling and _may_be_names(column):
        return RoleGuess(
            (Role.ASK,),
            f"labels or names ({apart}): direct if they name people, {_OR_ELSE}",
            0.3,
            doubt=Doubt("who a person is", "drop", "quasi"),
        )
    if telling:
        return RoleGuess((Role.QUASI,), f"unknown name, but it {apart}", 0.4)
    return RoleGuess((Role.ASK,), f"unknown name ({apart}): {_OR_ELSE}", 0.3)


_OR_ELSE = "quasi if outsiders may know it, sensitive if nobody may learn it, else plain"


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
