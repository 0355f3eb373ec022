"""Columns that name a person by themselves: found by the words of their name and by the look of
their values.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.free_text import words_of_free_text
from sfumato.core.words import percent
from sfumato.guidance.profiling.check_digits import find_number
from sfumato.guidance.profiling.detection import Recognition, TextSample, sample_of, share
from sfumato.guidance.profiling.generalized_values import looks_grouped
from sfumato.guidance.profiling.kinds import date_form
from sfumato.guidance.profiling.lexicon import NEVER_NUMBERS, given_names, word_lists
from sfumato.guidance.profiling.words import Match, find, words_of

if TYPE_CHECKING:
    from re import Pattern


# Identifiers recognised by the look of the values: addresses of machines and mail, codes, names,
# free text.

EMAIL = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+\.[^\s@<>,;.]{2,}")
_URL = re.compile(r"(?:https?://|ftp://|www\.)\S+", re.I)
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.I)
_UUID = re.compile(r"\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?", re.I)
_HASH = re.compile(
    r"(?=\D*\d)(?=[^a-f]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})", re.I
)
_VIN = re.compile(r"(?=\D*\d)(?=[^A-Z]*[A-Z])[A-HJ-NPR-Z0-9]{17}")
_POINT = re.compile(r"-?\d{1,2}\.\d{3,}\s*[,; ]\s*-?\d{1,3}\.\d{3,}")
_PLATE = re.compile(
    r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} \d{1,4}[EH]?"  # Germany
    r"|[A-Z]{2}-\d{3}-[A-Z]{2}"  # France
    r"|\d{4} [BCDFGHJKLMNPRSTVWXYZ]{3}"  # Spain
    r"|[A-Z]{2} \d{3} [A-Z]{2}"  # Italy, written apart
    # Netherlands, Portugal: three pairs, not all of digits, which would be a date
    r"|(?:[A-Z]{2}|\d{2})-(?:[A-Z]{2}|\d{2})-(?:[A-Z]{2}|\d{2})(?<=[A-Z0-9])(?<!\d\d-\d\d-\d\d)"
    r"|[A-Z]{2}\d{2} [A-Z]{3}"  # United Kingdom
)

# What, its form, the share of values that must have it, and the confidence that gives.
_FORMATS: tuple[tuple[str, Pattern[str], float, float], ...] = (
    ("web address", _URL, 0.8, 0.8),
    ("device id", _MAC, 0.9, 0.95),
    ("record id", _UUID, 0.9, 0.8),
    ("pseudonym or hash", _HASH, 0.95, 0.7),
    ("vehicle number", _VIN, 0.95, 0.7),
    ("exact location", _POINT, 0.9, 0.9),
    ("licence plate", _PLATE, 0.95, 0.5),
)

_LOOKS = {
    "web address": "web addresses",
    "device id": "hardware (MAC) addresses",
    "record id": "universally unique ids",
    "pseudonym or hash": "hash values, which stand for a person",
    "vehicle number": "vehicle identification numbers",
    "exact location": "coordinates of a place",
    "licence plate": "licence plates",
}


def find_pattern(sample: TextSample) -> Recognition | None:
    """The first identifier whose look the values have, or None."""
    for detector in _DETECTORS:
        recognised = detector(sample)
        if recognised is not None:
            return recognised
    return None


def _email(sample: TextSample) -> Recognition | None:
    """E-mail addresses; a few of them inside other text are enough to give people away."""
    holding = sum(1 for text in sample.texts if "@" in text and EMAIL.search(text))
    part = holding / len(sample.texts)
    if part >= 0.5:
        return Recognition(
            "e-mail address", f"{percent(part)} of the values are e-mail addresses", 0.98
        )
    if part >= 0.01 and holding >= 2:
        return Recognition(
            "free text", f"{percent(part)} of the values contain an e-mail address", 0.85
        )
    return None


def _machine_address(sample: TextSample) -> Recognition | None:
    part = share(_is_ip, sample.texts, at_most=1000)
    if part < 0.95 or len(sample.texts) < 3:
        return None
    return Recognition(
        "ip address", f"{percent(part)} of the values are network (IP) addresses", 0.9
    )


def _is_ip(text: str) -> bool:
    if text.count(".") != 3 and text.count(":") < 2:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _format(sample: TextSample) -> Recognition | None:
    if len(sample.texts) < 3:
        return None
    for concept, pattern, enough, confidence in _FORMATS:
        part = share(pattern.fullmatch, sample.texts)
        if part >= enough:
            return Recognition(
                concept, f"{percent(part)} of the values look like {_LOOKS[concept]}", confidence
            )
    return None


def _free_text(sample: TextSample) -> Recognition | None:
    """Long values with blanks that hardly repeat: nobody can say what is in them."""
    words = words_of_free_text(pl.Series(sample.texts, dtype=pl.String), sample.cells)
    if words is None:
        return None
    return Recognition(
        "free text", f"free text of about {words:.0f} words: names and places can hide in it", 0.8
    )


def _person_names(sample: TextSample) -> Recognition | None:
    """One to four words, many of them different common given names."""
    if len(sample.texts) < 8 or share(_few_words, sample.texts) < 0.9:
        return None
    hits = [name for text in sample.texts if (name := _given_name(text, given_names()))]
    part = len(hits) / len(sample.texts)
    if part < 0.25 or len(set(hits)) < 8:
        return None
    return Recognition(
        "person name",
        f"{percent(part)} of the values contain a common given name",
        0.6 + min(part, 0.9) / 3,
    )


_FEW_WORDS = re.compile(r"[^\W\d_][^\W\d_'’.-]*(?:[ ,'’.-]+[^\W\d_]+){0,4}\.?")


def _few_words(text: str) -> bool:
    return len(text) <= 60 and _FEW_WORDS.fullmatch(text) is not None


def _given_name(text: str, names: frozenset[str]) -> str | None:
    return next((word for word in re.split(r"[ ,.-]+", text.lower()) if word in names), None)


_DETECTORS: tuple[Callable[[TextSample], Recognition | None], ...] = (
    _email,
    _machine_address,
    _format,
    _free_text,
    _person_names,
)


__all__ = ["Recognition", "detect_identifier", "identify"]

# Concepts whose values cannot be without digits: ``mobile`` may also say which make.
_HAVE_DIGITS = frozenset(
    {
        "phone number",
        "bank account",
        "payment card",
        "national id number",
        "passport number",
        "driving licence number",
        "licence plate",
        "medical record number",
        "device id",
    }
)

_SURE_BY_NAME = {"name": 0.7, "record id": 0.6, "free text": 0.7, "picture or biometric": 0.7}
# Rows needed to say from the values alone that a column numbers the records.
_FEWEST_ROWS = 20

# Values that numbers of persons have at least, and different ones per record where the name says no
# more than id.
_FEWEST_PERSONS = 10
_LEAST_DIFFERENT = 0.01

_ALL_DIFFERENT = 0.98
_LONG_NUMBER = 7
_DECIMAL = re.compile(r"[+-]?\d*[.,]\d+")
_NO_LETTERS = re.compile(r"[\W\d_]+")


def detect_identifier(name: str, values: pl.Series) -> Recognition | None:
    """What a column identifies persons by, or None.

    The name counts when a word of it is known (whole words, several languages) and the values do
    not speak against it; the values count by themselves when nearly all of them have the form or
    the check digits of an identifier, far more than chance gives. No more than 10,000 values are
    looked at. Reasons hold no values.

    >>> import polars as pl
    >>> (
    ...     detect_identifier("Vorname", pl.Series(["a", "b"])).concept,
    ...     detect_identifier("paid", pl.Series([1, 2])),
    ... )
    ('person name', None)
    """
    return identify(find(name), values, sample_of(values), name=name)


def identify(
    match: Match | None,
    values: pl.Series,
    sample: TextSample,
    distinct: int | None = None,
    *,
    name: str = "",
) -> Recognition | None:
    """As :func:`detect_identifier`, for a name already looked up and values already looked at,
    ``distinct`` of them.
    """
    facts = _Facts.of(values, sample, distinct)
    if facts.never:
        return None
    by_name = None
    if match is not None and match.family == "direct":
        by_name = _by_name(match, facts)
    by_value = _by_value(facts)
    if by_value is not None and _speaks_against(match, by_value):
        by_value = None
    if by_name is not None and by_value is not None:
        return _combine(by_name, by_value)
    return by_name or by_value or _numbers_people(name, facts) or _numbers_records(match, facts)


@dataclasses.dataclass(frozen=True, repr=False)
class _Facts:
    """What the values of a column rule out or allow."""

    values: pl.Series
    sample: TextSample
    distinct: int | None
    never: bool
    numeric: bool

    @classmethod
    def of(cls, values: pl.Series, sample: TextSample, distinct: int | None) -> _Facts:
        dtype = values.dtype
        broken = dtype.is_float() and any("." in text or "e" in text for text in sample.texts)
        broken = broken or (bool(sample.texts) and share(_DECIMAL.fullmatch, sample.texts) >= 0.5)
        flag = len(sample.texts) <= 2 and sample.cells >= _FEWEST_ROWS
        never = (
            isinstance(dtype, pl.Boolean)
            or dtype.is_temporal()
            or dtype.is_decimal()
            or broken
            or flag
        )
        return cls(values, sample, distinct, never, dtype.is_numeric())

    def have(self, test: str) -> float:
        """Share of values with a digit, or with a blank."""
        is_wanted = str.isdigit if test == "digit" else str.isspace
        return share(lambda text: any(map(is_wanted, text)), self.sample.texts, at_most=1000)


def _by_name(match: Match, facts: _Facts) -> Recognition | None:
    texts = facts.sample.texts
    if set(match.other_words) & word_lists().about_an_identifier or (
        facts.numeric and match.concept in NEVER_NUMBERS
    ):
        return None
    if texts and match.concept in _HAVE_DIGITS and facts.have("digit") < 0.5:
        return None
    if match.concept in _LONG_NUMBERS and _are_short_codes(facts):
        return None
    if texts and _too_short_to_trust(match) and share(lambda text: len(text) >= 6, texts) < 0.5:
        return None
    if match.concept in ("name", "record id", "person id") and not _names_person(match, facts):
        return None
    if match.concept == "free text" and texts and facts.have("blank") < 0.3:
        return None
    concept = match.concept
    if concept == "name":
        concept = "person name"
    return Recognition(concept, f"the name says {concept}", _SURE_BY_NAME.get(match.concept, 0.85))


# Numbers of people that a few short codes cannot be: Mobil01 with 1 to 5 is no phone number.
_LONG_NUMBERS = frozenset({"phone number", "bank account", "payment card"})
_MOST_CODES = 12
_SHORTEST_NUMBER = 5
_ENOUGH_CELLS = 30


def _are_short_codes(facts: _Facts) -> bool:
    """Whether many records have one of a few short values."""
    texts = facts.sample.texts
    return (
        facts.sample.cells >= _ENOUGH_CELLS
        and len(texts) <= _MOST_CODES
        and share(lambda text: len(text) < _SHORTEST_NUMBER, texts) >= 0.5
    )


def _too_short_to_trust(match: Match) -> bool:
    """``sin``, ``cf`` or ``nip`` are national ids in one language and something else in another."""
    letters = sum(map(len, match.words[match.start : match.start + match.length]))
    return match.concept == "national id number" and letters <= 3


def _names_person(match: Match, facts: _Facts) -> bool:
    """Whether ``name`` or ``id`` means a person or a record rather than a firm, a product, a
    place.
    """
    other_words = {word for word in match.other_words if not word.isdigit()}
    if other_words & word_lists().thing and not other_words & word_lists().person:
        return False
    if match.concept == "name":
        of_a_person = not other_words or bool(other_words & word_lists().person)
        return of_a_person or (facts.sample.distinct_share >= 0.3 and facts.have("digit") < 0.5)
    if match.concept == "record id":
        has_many_texts = len(facts.sample.texts) >= min(_FEWEST_PERSONS, facts.sample.cells)
        return has_many_texts and (
            not facts.sample.texts or facts.sample.distinct_share >= _LEAST_DIFFERENT
        )
    # pid7na is a party of seven, not a person: ids of people have many values.
    return len(facts.sample.texts) >= min(_FEWEST_PERSONS, facts.sample.cells / 2)


def _by_value(facts: _Facts) -> Recognition | None:
    if not facts.sample.texts:
        return None
    whole = facts.numeric
    recognised = None
    if not whole:
        recognised = find_pattern(facts.sample)
    return recognised or find_number(facts.sample, whole=whole)


def _speaks_against(match: Match | None, recognition: Recognition) -> bool:
    """A column called *city* whose values look like names holds cities; check digits and addresses
    overrule names.
    """
    return (
        match is not None
        and match.family != "direct"
        and recognition.concept in ("person name", "licence plate")
    )


def _combine(by_name: Recognition, by_value: Recognition) -> Recognition:
    if by_value.confidence > by_name.confidence:
        concept = by_value.concept
    else:
        concept = by_name.concept
    if by_name.concept == by_value.concept or "free text" in (by_name.concept, by_value.concept):
        concept = by_name.concept
    sure = 1 - (1 - by_name.confidence) * (1 - by_value.confidence)
    return Recognition(concept, f"{by_name.reason}; {by_value.reason}", round(min(sure, 0.99), 2))


def _numbers_people(name: str, facts: _Facts) -> Recognition | None:
    """Whole numbers or codes under the name of people (``student``, ``patient2``)."""
    words = {word for word in words_of(name) if not word.isdigit()}
    if not words or not words <= word_lists().person | _PEOPLE:
        return None
    texts = facts.sample.texts
    many = len(texts) >= max(_MANY_PERSONS, _LEAST_DIFFERENT * facts.sample.cells)
    if not many or facts.have("digit") < 0.9:
        return None
    return Recognition("person id", "the name says a person, and the values are numbers", 0.6)


# Words for people beside those that say whose name a name is.
_PEOPLE = frozenset({"individual", "subj", "subjects", "patients", "students", "participants"})
_MANY_PERSONS = 20


def _numbers_records(match: Match | None, facts: _Facts) -> Recognition | None:
    """Values that differ in every record and are codes or a running count, not measurements."""
    if (
        match is not None
        or facts.sample.cells < _FEWEST_ROWS
        or facts.sample.distinct_share < _ALL_DIFFERENT
    ):
        return None
    values = facts.values.drop_nulls()
    if not (_is_numbering(values, facts.sample) if facts.numeric else _is_code(facts)):
        return None
    different = (values.n_unique() if facts.distinct is None else facts.distinct) / values.len()
    if different < _ALL_DIFFERENT:
        return None
    return Recognition(
        "record id", f"a number or code that differs in {percent(different)} of the records", 0.55
    )


def _is_numbering(values: pl.Series, sample: TextSample) -> bool:
    """A running count, or numbers of one length that is long: measurements are of several
    lengths.
    """
    low, high = values.min(), values.max()
    lengths = {len(text) for text in sample.texts}
    if values.dtype.is_integer():
        span = int(high) - int(low)  # type: ignore[arg-type]
        if span < 1.2 * values.len():
            return True
    return len(lengths) == 1 and min(lengths) >= _LONG_NUMBER


def _is_code(facts: _Facts) -> bool:
    """Texts with digits that are neither words, numbers, intervals nor dates."""
    texts = facts.sample.texts
    if facts.values.dtype != pl.String or facts.have("digit") < 0.9:
        return False
    if (
        share(_DECIMAL.fullmatch, texts) >= 0.5
        or share(looks_grouped, texts) >= 0.9
        or date_form(texts) is not None
    ):
        return False
    return facts.have("blank") < 0.1 or share(_NO_LETTERS.fullmatch, texts) >= 0.95
