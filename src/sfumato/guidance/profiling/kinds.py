"""How the values of a column compare: nominal, ordinal, numeric, date or text, and why we think
so.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from sfumato.core.data_files import read_data_file
from sfumato.core.schema import Kind
from sfumato.guidance.profiling.detection import TextSample, share
from sfumato.guidance.profiling.generalized_values import is_number, looks_grouped, masked_side
from sfumato.guidance.profiling.lexicon import word_lists
from sfumato.guidance.profiling.words import Match

# A column with more distinct values than this is not compared with the vocabularies.
MOST_VALUES = 40


@dataclasses.dataclass(frozen=True)
class WordList:
    """An ordered list of words, written as the data write them."""

    values: tuple[str, ...]

    @property
    def sizes(self) -> list[int]:
        """Group sizes for a hierarchy of the words: 2, 4, 8, … below their number.

        >>> WordList(("low", "medium", "high")).sizes
        [2]
        """
        return [2**i for i in range(1, 8) if 2**i < len(self.values)]


def known_order(values: Sequence[str]) -> WordList | None:
    """The shortest vocabulary all values are words of, in their spelling; None where there is none.

    Two words of a list of three are enough, longer lists need three: ``S`` and ``M`` need not be
    sizes.

    >>> known_order(["High", "Low", "High"]).values
    ('Low', 'Medium', 'High')
    >>> known_order(["low", "loud"]) is None
    True
    """
    distinct = set(values)
    if not 2 <= len(distinct) <= MOST_VALUES:
        return None
    plain = {_plain(value) for value in distinct}
    for words, order in _vocabularies():
        if plain <= order and len(plain) >= min(len(words), 4) - 1:
            for spelled in _spellings(words):
                if distinct <= set(spelled):
                    return WordList(spelled)
    return None


@functools.cache
def _vocabularies() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """All word lists and their words in lower case with blanks, the short ones first.

    Only these words may be listed in a proposed recipe: they are ours, not the data's.
    """
    lists = [tuple(words) for words in read_data_file(__package__, "ordered_words")]
    return tuple((words, frozenset(map(_plain, words))) for words in sorted(lists, key=len))


def _plain(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ")


def _spellings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words as they stand, then with other capitals and other signs between."""
    yield words
    styles: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper, str.title)
    for style in styles:
        yield tuple(map(style, words))
    for separator in (" ", "_", "-"):
        for style in styles:
            yield tuple(style(_plain(word)).replace(" ", separator) for word in words)


# How the dates of a column are written.

# What the hierarchy ``dates`` reads without a format: dates, times, and periods of the calendar.
ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:.+)?|\d{4}-\d\d|\d{4}-Q[1-4]|\d{4}-W\d\d|\d{3}0s|\d{4}|\*",
    re.ASCII,
)

_YEAR_ONLY = re.compile(r"\d{4}|\*", re.ASCII)
_DIGITS_ONLY = "%Y%m%d"
_FORMATS = (
    (re.compile(r"\d{8}", re.ASCII), (_DIGITS_ONLY,)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}", re.ASCII), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}", re.ASCII), ("%d.%m.%y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}", re.ASCII), ("%d/%m/%Y", "%m/%d/%Y")),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{2}", re.ASCII), ("%d/%m/%y", "%m/%d/%y")),
    (re.compile(r"\d{1,2}-\d{1,2}-\d{4}", re.ASCII), ("%d-%m-%Y", "%m-%d-%Y")),
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}", re.ASCII), ("%Y/%m/%d",)),
    (re.compile(r"\d{4}\.\d{1,2}\.\d{1,2}", re.ASCII), ("%Y.%m.%d",)),
    (re.compile(r"\d{1,2}[ -][A-Za-z]{3}[ -]\d{4}", re.ASCII), ("%d %b %Y", "%d-%b-%Y")),
    (re.compile(r"\d{1,2} [A-Za-z]{4,9} \d{4}", re.ASCII), ("%d %B %Y",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d\d", re.ASCII), ("%d.%m.%Y %H:%M",)),
    (
        re.compile(r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d", re.ASCII),
        ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"),
    ),
)
# Years of dates about people; eight digits of other years are numbers.
_YEARS = range(1850, 2101)


@dataclasses.dataclass(frozen=True)
class DateForm:
    """``format`` in the language of strptime, None for ISO 8601; ``swappable``: day and month
    cannot be distinguished.
    """

    format: str | None
    swappable: bool = False


def date_form(texts: Sequence[str]) -> DateForm | None:
    """How nearly all of the texts are dates, or None.

    >>> date_form(["31.12.1999", "01.02.2003"])
    DateForm(format='%d.%m.%Y', swappable=False)
    >>> date_form(["1999", "2003"]) is None
    True
    """
    if share(_is_iso, texts) >= 0.98 and share(_YEAR_ONLY.fullmatch, texts) < 0.5:
        return DateForm(None)
    for pattern, formats in _FORMATS:
        if share(pattern.fullmatch, texts) >= 0.98:
            fitting = [
                f
                for f in formats
                if share(functools.partial(_is_date, form=f), texts, at_most=1000) >= 0.98
            ]
            if fitting:
                return DateForm(fitting[0], swappable=len(fitting) > 1)
            return None
    return None


def all_dates(texts: Sequence[str], form: DateForm) -> bool:
    """Whether every text is a date, so that a hierarchy of dates covers the column."""
    if form.format is None:
        return all(map(_is_iso, texts))
    return all(_is_date(text, form.format) for text in texts)


def _is_iso(text: str) -> bool:
    if not ISO.fullmatch(text):
        return False
    if len(text) < 10:
        return len(text) != 7 or text[5] in "QW" or "01" <= text[5:] <= "12"
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date(text: str, form: str) -> bool:
    try:
        return datetime.datetime.strptime(text, form).year in _YEARS or form != _DIGITS_ONLY
    except ValueError:
        return False


# Concepts whose numbers are amounts.
COUNTED = frozenset(
    {
        "age",
        "birth year",
        "household size",
        "children",
        "body height",
        "body weight",
        "location",
        "income or wealth",
        "sampling weight",
    }
)

# Whole numbers of so few different values in a long column are codes, unless their name says
# otherwise.
FEW = 10

LONG = 30
_LEADING_ZERO = re.compile(r"0\d+")


@dataclasses.dataclass(frozen=True)
class KindGuess:
    """A kind and the reason for it."""

    kind: Kind
    reason: str


def guess_kind(values: pl.Series, sample: TextSample, match: Match | None) -> KindGuess:
    """The kind of a column from its type, its values and the concept of its name."""
    dtype = values.dtype
    if isinstance(dtype, pl.Date | pl.Datetime):
        return KindGuess(Kind.DATE, "the column has dates")
    if not sample.texts:
        return _from_type(dtype)
    if isinstance(dtype, pl.Boolean):
        return KindGuess(Kind.NOMINAL, "yes or no")
    if dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object):
        return KindGuess(Kind.NOMINAL, "nested or binary values, compared as a whole")
    if dtype.is_numeric():
        return _from_numbers(sample, match, whole=dtype.is_integer())
    if isinstance(dtype, pl.Time | pl.Duration):
        return KindGuess(Kind.NOMINAL, "times of day or durations, compared as labels")
    return _from_texts(sample, match)


def _from_type(dtype: pl.DataType) -> KindGuess:
    kind = Kind.NUMERIC if dtype.is_numeric() else Kind.NOMINAL
    return KindGuess(kind, "no values: only the type of the column speaks")


def _has_fractions(sample: TextSample) -> bool:
    """Whether numbers are not all whole: codes are, however they are stored."""
    return any(
        is_number(text) and math.isfinite(float(text)) and not float(text).is_integer()
        for text in sample.texts
    )


def _are_years(sample: TextSample) -> bool:
    """Whether whole numbers are neighbouring years of four digits: as codes they would be joined to
    *other*, where periods say more.
    """
    years = {int(text) for text in sample.texts if _YEAR.fullmatch(text)}
    if len(years) < _FEWEST_YEARS or share(_is_year, sample.texts) < 1:
        return False
    span = max(years) - min(years) + 1
    return len(years) * _YEARS_APART >= span


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


# Four digits of years in which people of a table lived; so many of them, and hardly further apart.
_YEAR = re.compile(r"(?:18[5-9]|19\d|20\d)\d")
_FEWEST_YEARS = 3
_YEARS_APART = 2


def _from_numbers(sample: TextSample, match: Match | None, *, whole: bool) -> KindGuess:
    concept = match.concept if match else None
    if concept in COUNTED:
        return KindGuess(Kind.NUMERIC, "amounts")
    if whole and _eight_digit_dates(sample, match):
        return KindGuess(Kind.DATE, "eight digits that are dates (year, month, day)")
    if concept == "education":
        return KindGuess(Kind.ORDINAL, "numbers that stand for levels")
    if whole and _are_years(sample):
        return KindGuess(Kind.NUMERIC, "years")
    if match is not None and match.family == "quasi" and (whole or not _has_fractions(sample)):
        return KindGuess(Kind.NOMINAL, "numbers that are codes")
    # village_id and school_id number villages and schools: no amounts.
    if whole and _numbers_things(match):
        return KindGuess(Kind.NOMINAL, "numbers of places or things: codes")
    codes = len(sample.texts) <= FEW and sample.cells >= LONG
    if codes and all("." not in text for text in sample.texts):
        return KindGuess(Kind.NOMINAL, "few different whole numbers: codes")
    return KindGuess(Kind.NUMERIC, "numbers")


def _numbers_things(match: Match | None) -> bool:
    """Whether a name says the number of something that is no person."""
    if match is None or match.concept != "record id":
        return False
    return not word_lists().thing.isdisjoint(match.other_words)


def _eight_digit_dates(sample: TextSample, match: Match | None) -> bool:
    name_says_date = match is not None and "date" in match.concept
    return (name_says_date or len(sample.texts) >= 5) and date_form(sample.texts) is not None


def _from_texts(sample: TextSample, match: Match | None) -> KindGuess:
    texts = sample.texts
    if len(texts) <= MOST_VALUES and known_order(texts):
        return KindGuess(Kind.ORDINAL, "words with a known order")
    if masked_side(texts):
        return KindGuess(Kind.NOMINAL, "masked with stars already")
    form = date_form(texts)
    if form is not None:
        swapped = ""
        if form.swappable:
            swapped = "; day and month could be swapped"
        return KindGuess(Kind.DATE, f"values written as dates{swapped}")
    if share(is_number, texts) >= 0.99:
        return _from_written_numbers(sample, match)
    grouped = share(lambda text: looks_grouped(text) or is_number(text) or text == "*", texts)
    if grouped >= 0.98 and any(map(looks_grouped, texts)):
        return KindGuess(Kind.NUMERIC, "intervals: the column was grouped before")
    return KindGuess(Kind.NOMINAL, "labels")


def _from_written_numbers(sample: TextSample, match: Match | None) -> KindGuess:
    if any(map(_LEADING_ZERO.fullmatch, sample.texts)):
        return KindGuess(Kind.NOMINAL, "digits with leading zeros: codes")
    return _from_numbers(sample, match, whole=True)
