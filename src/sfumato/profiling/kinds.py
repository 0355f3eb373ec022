"""How the values of a column compare: nominal, ordinal, numeric, date or text, and why we think so."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from sfumato.core.schema import Kind
from sfumato.profiling.finding import Sample, share
from sfumato.profiling.generalized import is_number, looks_grouped, masked_side
from sfumato.profiling.vocabularies import MOST_VALUES, known_order
from sfumato.profiling.words import Match
from sfumato.profiling.written_dates import date_form

if TYPE_CHECKING:
    import polars as pl

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
"""Concepts whose numbers are amounts."""

FEW = 10
"""Whole numbers of so few different values in a long column are codes, unless their name says otherwise."""

LONG = 30
_LEADING_ZERO = re.compile(r"0\d+")


@dataclasses.dataclass(frozen=True)
class KindGuess:
    """A kind and the reason for it."""

    kind: Kind
    reason: str


def guess_kind(values: pl.Series, sample: Sample, match: Match | None) -> KindGuess:
    """The kind of a column from its type, its values and the concept of its name."""
    import polars as pl

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


def _from_numbers(sample: Sample, match: Match | None, *, whole: bool) -> KindGuess:
    concept = match.concept if match else None
    if concept in COUNTED:
        return KindGuess(Kind.NUMERIC, "amounts")
    if whole and _eight_digit_dates(sample, match):
        return KindGuess(Kind.DATE, "eight digits that are dates (year, month, day)")
    if concept == "education":
        return KindGuess(Kind.ORDINAL, "numbers that stand for levels")
    if match is not None and match.family == "quasi":
        return KindGuess(Kind.NOMINAL, "numbers that are codes")
    codes = len(sample.texts) <= FEW and sample.cells >= LONG
    if codes and all("." not in text for text in sample.texts):
        return KindGuess(Kind.NOMINAL, "few different whole numbers: codes")
    return KindGuess(Kind.NUMERIC, "numbers")


def _eight_digit_dates(sample: Sample, match: Match | None) -> bool:
    named = match is not None and "date" in match.concept
    return (named or len(sample.texts) >= 5) and date_form(sample.texts) is not None


def _from_texts(sample: Sample, match: Match | None) -> KindGuess:
    texts = sample.texts
    if len(texts) <= MOST_VALUES and known_order(texts):
        return KindGuess(Kind.ORDINAL, "words with a known order")
    if masked_side(texts):
        return KindGuess(Kind.NOMINAL, "masked with stars already")
    form = date_form(texts)
    if form is not None:
        swapped = "; day and month could be swapped" if form.swappable else ""
        return KindGuess(Kind.DATE, f"values written as dates{swapped}")
    if share(is_number, texts) >= 0.99:
        return _from_written_numbers(sample, match)
    grouped = share(lambda text: looks_grouped(text) or is_number(text) or text == "*", texts)
    if grouped >= 0.98 and any(map(looks_grouped, texts)):
        return KindGuess(Kind.NUMERIC, "intervals: the column was grouped before")
    return KindGuess(Kind.NOMINAL, "labels")


def _from_written_numbers(sample: Sample, match: Match | None) -> KindGuess:
    if any(map(_LEADING_ZERO.fullmatch, sample.texts)):
        return KindGuess(Kind.NOMINAL, "digits with leading zeros: codes")
    return _from_numbers(sample, match, whole=True)
