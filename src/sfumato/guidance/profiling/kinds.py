"""How the values of a column compare: nominal, ordinal, numeric, date or text, and why we think
so.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from sfumato.core.schema import Kind
from sfumato.guidance.profiling.detection import TextSample, share
from sfumato.guidance.profiling.generalized_values import is_number, looks_grouped, masked_side
from sfumato.guidance.profiling.words import Match

# Words with a known order. Only these may be listed in a proposed recipe: they are ours, not the
# data's.

_LISTS = """
low < medium < high
low < middle < high
low < mid < high
very low < low < medium < high < very high
very low < low < average < high < very high
very low < low < moderate < high < very high
small < medium < large
xs < s < m < l < xl < xxl
none < mild < moderate < severe
none < low < medium < high
none < mild < moderate < severe < very severe
minor < moderate < major < extreme
low < normal < elevated < high < critical
never < rarely < sometimes < often < always
never < seldom < sometimes < often < always
never < monthly < weekly < daily
never < yearly < monthly < weekly < daily
very poor < poor < fair < good < very good < excellent
bad < fair < good
very bad < bad < fair < good < very good
poor < average < good < excellent
strongly disagree < disagree < neutral < agree < strongly agree
strongly disagree < disagree < neither agree nor disagree < agree < strongly agree
very dissatisfied < dissatisfied < neutral < satisfied < very satisfied
very unlikely < unlikely < neutral < likely < very likely
not at all < a little < moderately < quite a bit < extremely
child < adolescent < adult < senior
young < middle aged < old
infant < child < teenager < adult < senior
no education < primary < secondary < tertiary
none < primary < secondary < tertiary
none < primary < secondary < higher
less than primary < primary < lower secondary < upper secondary < post secondary < tertiary
primary < lower secondary < upper secondary < short cycle tertiary < bachelor < master < doctorate
less than high school < high school < some college < associate < bachelor < master < professional < doctorate
less than high school < high school < some college < bachelor's degree < master's degree < doctoral degree
high school < bachelor < master < phd
elementary < middle school < high school < college < university < postgraduate
Preschool < 1st-4th < 5th-6th < 7th-8th < 9th < 10th < 11th < 12th < HS-grad < Some-college < Assoc-voc < Assoc-acdm \
< Bachelors < Masters < Prof-school < Doctorate
isced 0 < isced 1 < isced 2 < isced 3 < isced 4 < isced 5 < isced 6 < isced 7 < isced 8
first < second < third < fourth
lower < middle < upper
junior < intermediate < senior
entry < mid < senior < executive
bronze < silver < gold < platinum
stage i < stage ii < stage iii < stage iv
i < ii < iii < iv < v
grade 1 < grade 2 < grade 3 < grade 4
a1 < a2 < b1 < b2 < c1 < c2
january < february < march < april < may < june < july < august < september < october < november < december
jan < feb < mar < apr < may < jun < jul < aug < sep < oct < nov < dec
niedrig < mittel < hoch
gering < mittel < hoch
sehr niedrig < niedrig < mittel < hoch < sehr hoch
nie < selten < manchmal < oft < immer
sehr schlecht < schlecht < mittelmäßig < gut < sehr gut
ungenügend < mangelhaft < ausreichend < befriedigend < gut < sehr gut
stimme gar nicht zu < stimme nicht zu < teils/teils < stimme zu < stimme voll zu
kein abschluss < hauptschule < realschule < abitur < hochschule
hauptschulabschluss < mittlere reife < fachhochschulreife < abitur < bachelor < master < promotion
faible < moyen < élevé
jamais < rarement < parfois < souvent < toujours
très mauvais < mauvais < moyen < bon < très bon
pas du tout d'accord < pas d'accord < neutre < d'accord < tout à fait d'accord
sans diplôme < brevet < cap < baccalauréat < licence < master < doctorat
bajo < medio < alto
muy bajo < bajo < medio < alto < muy alto
nunca < raramente < a veces < a menudo < siempre
muy malo < malo < regular < bueno < muy bueno
muy en desacuerdo < en desacuerdo < neutral < de acuerdo < muy de acuerdo
sin estudios < primaria < secundaria < bachillerato < universidad < posgrado
basso < medio < alto
mai < raramente < a volte < spesso < sempre
nessuno < licenza elementare < licenza media < diploma < laurea < dottorato
laag < midden < hoog
nooit < zelden < soms < vaak < altijd
basisonderwijs < vmbo < havo < vwo < mbo < hbo < wo
baixo < médio < alto
nunca < raramente < às vezes < frequentemente < sempre
sem escolaridade < fundamental < médio < superior < pós-graduação
niski < średni < wysoki
nigdy < rzadko < czasami < często < zawsze
podstawowe < zawodowe < średnie < wyższe
låg < medel < hög
aldrig < sällan < ibland < ofta < alltid
förgymnasial < gymnasial < eftergymnasial
grundskola < gymnasium < högskola < universitet
"""

MOST_VALUES = 40
"""A column with more distinct values than this is not compared with the vocabularies."""


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
    """All word lists and their words in lower case with blanks, the short ones first."""
    lists = [
        tuple(word.strip() for word in line.split("<")) for line in _LISTS.strip().splitlines()
    ]
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

ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:.+)?|\d{4}-\d\d|\d{4}-Q[1-4]|\d{4}-W\d\d|\d{3}0s|\d{4}|\*",
    re.ASCII,
)
"""What the hierarchy ``dates`` reads without a format: dates, times, and periods of the calendar.
"""

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
_YEARS = range(1850, 2101)
"""Years of dates about people; eight digits of other years are numbers."""


@dataclasses.dataclass(frozen=True)
class DateForm:
    """``format`` in the language of strptime, None for ISO 8601; ``swappable``: day and month
    cannot be told apart.
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
            return DateForm(fitting[0], swappable=len(fitting) > 1) if fitting else None
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
"""Whole numbers of so few different values in a long column are codes, unless their name says
otherwise.
"""

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


def _from_numbers(sample: TextSample, match: Match | None, *, whole: bool) -> KindGuess:
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


def _eight_digit_dates(sample: TextSample, match: Match | None) -> bool:
    named = match is not None and "date" in match.concept
    return (named or len(sample.texts) >= 5) and date_form(sample.texts) is not None


def _from_texts(sample: TextSample, match: Match | None) -> KindGuess:
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


def _from_written_numbers(sample: TextSample, match: Match | None) -> KindGuess:
    if any(map(_LEADING_ZERO.fullmatch, sample.texts)):
        return KindGuess(Kind.NOMINAL, "digits with leading zeros: codes")
    return _from_numbers(sample, match, whole=True)
