"""Columns that name a person by themselves: found by the words of their name and by the look of their values."""

from __future__ import annotations

import dataclasses
import re

import polars as pl

from sfumato.profiling.check_digits import find_number
from sfumato.profiling.finding import Finding, Sample, percent, sample_of, share
from sfumato.profiling.generalized import looks_grouped
from sfumato.profiling.kinds import date_form
from sfumato.profiling.lexicon_direct import META_WORDS, NEVER_NUMBERS, PERSON_WORDS, THING_WORDS
from sfumato.profiling.patterns import find_pattern
from sfumato.profiling.words import Match, find

__all__ = ["Finding", "detect_identifier", "identify"]

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
"""Concepts whose values cannot be without digits: ``mobile`` may also say which make."""

_SURE_BY_NAME = {"name": 0.7, "record id": 0.6, "free text": 0.7, "picture or biometric": 0.7}
_FEWEST_ROWS = 20
"""Rows needed to say from the values alone that a column numbers the records."""

_ALL_DIFFERENT = 0.98
_LONG_NUMBER = 7
_DECIMAL = re.compile(r"[+-]?\d*[.,]\d+")
_NO_LETTERS = re.compile(r"[\W\d_]+")


def detect_identifier(name: str, values: pl.Series) -> Finding | None:
    """What a column identifies persons by, or None.

    The name counts when a word of it is known (whole words, several languages) and the values do not speak
    against it; the values count by themselves when nearly all of them have the form or the check digits of an
    identifier, far more than chance gives. No more than 10,000 values are looked at. Reasons hold no values.

    >>> import polars as pl
    >>> detect_identifier("Vorname", pl.Series(["a", "b"])).what, detect_identifier("paid", pl.Series([1, 2]))
    ('person name', None)
    """
    return identify(find(name), values, sample_of(values))


def identify(match: Match | None, values: pl.Series, sample: Sample) -> Finding | None:
    """As :func:`detect_identifier`, for a name already looked up and values already looked at."""
    facts = _Facts.of(values, sample)
    if facts.never:
        return None
    by_name = _by_name(match, facts) if match is not None and match.family == "direct" else None
    by_value = _by_value(facts)
    if by_value is not None and _speaks_against(match, by_value):
        by_value = None
    if by_name is not None and by_value is not None:
        return _both(by_name, by_value)
    return by_name or by_value or _numbers_records(match, facts)


@dataclasses.dataclass(frozen=True, repr=False)
class _Facts:
    """What the values of a column rule out or allow."""

    values: pl.Series
    sample: Sample
    never: bool
    numeric: bool

    @classmethod
    def of(cls, values: pl.Series, sample: Sample) -> _Facts:
        dtype = values.dtype
        broken = dtype.is_float() and any("." in text or "e" in text for text in sample.texts)
        flag = len(sample.texts) <= 2 and sample.cells >= _FEWEST_ROWS
        never = isinstance(dtype, pl.Boolean) or dtype.is_temporal() or dtype.is_decimal() or broken or flag
        return cls(values, sample, never, dtype.is_numeric())

    def have(self, test: str) -> float:
        """Share of values with a digit, or with a blank."""
        wanted = str.isdigit if test == "digit" else str.isspace
        return share(lambda text: any(map(wanted, text)), self.sample.texts, at_most=1000)


def _by_name(match: Match, facts: _Facts) -> Finding | None:
    texts = facts.sample.texts
    if set(match.others) & META_WORDS or (facts.numeric and match.concept in NEVER_NUMBERS):
        return None
    if texts and match.concept in _HAVE_DIGITS and facts.have("digit") < 0.5:
        return None
    if texts and _too_short_to_trust(match) and share(lambda text: len(text) >= 6, texts) < 0.5:
        return None
    if match.concept in ("name", "record id", "person id") and not _names_person(match, facts):
        return None
    if match.concept == "free text" and texts and facts.have("blank") < 0.3:
        return None
    what = "person name" if match.concept == "name" else match.concept
    return Finding(what, f"the name says {what}", _SURE_BY_NAME.get(match.concept, 0.85))


def _too_short_to_trust(match: Match) -> bool:
    """``sin``, ``cf`` or ``nip`` are national ids in one language and something else in another."""
    letters = sum(map(len, match.words[match.start : match.start + match.length]))
    return match.concept == "national id number" and letters <= 3


def _names_person(match: Match, facts: _Facts) -> bool:
    """Whether ``name`` or ``id`` means a person or a record rather than a firm, a product, a place."""
    others = {word for word in match.others if not word.isdigit()}
    if others & THING_WORDS and not others & PERSON_WORDS:
        return False
    if match.concept == "name":
        known = not others or bool(others & PERSON_WORDS)
        return known or (facts.sample.distinct_share >= 0.3 and facts.have("digit") < 0.5)
    if match.concept == "record id":
        many = len(facts.sample.texts) >= min(10, facts.sample.cells)
        return many and (not facts.sample.texts or facts.sample.distinct_share >= 0.05)
    return True


def _by_value(facts: _Facts) -> Finding | None:
    if not facts.sample.texts:
        return None
    whole = facts.numeric
    found = None if whole else find_pattern(facts.sample)
    return found or find_number(facts.sample, whole=whole)


def _speaks_against(match: Match | None, found: Finding) -> bool:
    """A column called *city* whose values look like names holds cities; check digits and addresses overrule names."""
    return match is not None and match.family != "direct" and found.what in ("person name", "licence plate")


def _both(by_name: Finding, by_value: Finding) -> Finding:
    what = by_value.what if by_value.confidence > by_name.confidence else by_name.what
    if by_name.what == by_value.what or "free text" in (by_name.what, by_value.what):
        what = by_name.what
    sure = 1 - (1 - by_name.confidence) * (1 - by_value.confidence)
    return Finding(what, f"{by_name.reason}; {by_value.reason}", round(min(sure, 0.99), 2))


def _numbers_records(match: Match | None, facts: _Facts) -> Finding | None:
    """Values that differ in every record and are codes or a running count, not measurements."""
    if match is not None or facts.sample.cells < _FEWEST_ROWS or facts.sample.distinct_share < _ALL_DIFFERENT:
        return None
    values = facts.values.drop_nulls()
    if not (_is_numbering(values, facts.sample) if facts.numeric else _is_code(facts)):
        return None
    different = values.n_unique() / values.len()
    if different < _ALL_DIFFERENT:
        return None
    return Finding("record id", f"a number or code that differs in {percent(different)} of the records", 0.55)


def _is_numbering(values: pl.Series, sample: Sample) -> bool:
    """A running count, or numbers of one length that is long: measurements are of several lengths."""
    low, high = values.min(), values.max()
    lengths = {len(text) for text in sample.texts}
    running = values.dtype.is_integer() and int(high) - int(low) < 1.2 * values.len()  # type: ignore[arg-type]
    return running or (len(lengths) == 1 and min(lengths) >= _LONG_NUMBER)


def _is_code(facts: _Facts) -> bool:
    """Texts with digits that are neither words, numbers, intervals nor dates."""
    texts = facts.sample.texts
    if facts.values.dtype != pl.String or facts.have("digit") < 0.9:
        return False
    if share(_DECIMAL.fullmatch, texts) >= 0.5 or share(looks_grouped, texts) >= 0.9 or date_form(texts) is not None:
        return False
    return facts.have("blank") < 0.1 or share(_NO_LETTERS.fullmatch, texts) >= 0.95
