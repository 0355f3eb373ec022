"""Text columns to numbers, where that loses nothing and the column is no code.

The rule, per column, over all its values that are not missing:

- every value is a whole number written the one way (no leading zero, no plus, at most 18 digits):
  integer;
- every value is a number with the same decimal mark, and at least one value shows which mark
  that is: decimal, unless a value has more digits than a double keeps;
- ``33.000`` shows no mark: it is thirty-three thousand in Lisbon and thirty-three in London. Such a
  column is read as thousands when the other mark is decimal elsewhere in the file or was asked for,
  as decimals when its own mark was asked for, and stays text otherwise;
- the name is that of a code (zip, phone, id, …), or all values have the same five or more digits:
  text;
- anything else: text. Dates are text. Only the empty field is missing: ``NA``, ``-`` and ``?`` are
  values, unless they were said to be codes (:mod:`sfumato.data.table.values`).
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata

import polars as pl

from sfumato.core.data_files import read_data_file
from sfumato.core.source import ColumnNote

GLUED = re.compile(
    r"(?:patient|person|personal|customer|client|user|member|case|record|household|hh|subject"
    r"|student|pupil|employee|staff|utility|account|order|visit|episode|event|site|row|unit|group"
    r"|school|hospital|family|respondent|participant)"
    r"(?:id|no|nr|num|number|key|code)$"
    r"|(?:zip|post|postal|bar|pin|area|country|state|region|district)code$"
    r"|nummer$|[a-z]{3,}nr$|kennung$|schluessel$|schlussel$"
)
"""Compounds written without a border: ``patientid``, ``Kundennummer``, ``postcode``."""

_BORDER = re.compile(r"[^0-9a-z]+|(?<=[a-z])(?=\d)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """Split a column name into lower-case words without accents.

    >>> words_of("PatientID"), words_of("Código postal"), words_of("zip5")
    (['patient', 'id'], ['codigo', 'postal'], ['zip', '5'])
    """
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name))
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return [word for word in _BORDER.split(plain) if word]


def is_identifier_name(name: str) -> bool:
    """Whether a column of this name holds codes whose digits are not a quantity.

    >>> [
    ...     is_identifier_name(n)
    ...     for n in ("zip", "PLZ", "PatientID", "phone number", "Kundennummer", "CAP")
    ... ]
    [True, True, True, True, True, True]
    >>> [
    ...     is_identifier_name(n)
    ...     for n in ("age", "number_of_children", "amount_paid", "market_cap", "no_visits")
    ... ]
    [False, False, False, False, False]
    """
    words = words_of(name)
    if not words:
        return False
    last = words[-1]
    if last.isdigit() and len(words) > 2:  # member_number_2, but not num1
        last = words[-2]
    glued = "".join(words)
    if any(GLUED.search(word) for word in (*words, glued)):  # case_no reads like caseno
        return True
    # Words of codes: some wherever they occur, some only at the end (`phone_number`, not
    # `number_of_children`), some only without other words (`cap`, not `market_cap`).
    codes = read_data_file(__package__, "code_names")
    if any(word in codes["anywhere"] for word in words):
        return True
    return last in codes["at_the_end"] or glued in codes["whole_name"]


SAMPLE = 1000
CODE_DIGITS = 5
_LARGEST = 10**18
_PIECE = 1_000_000
"""A column is converted in pieces of so many values, so that it needs little room beside it."""
_SAFE_LENGTH = 15
"""A decimal of at most this many characters always survives a double."""

_SHAPE = r"^-?[\d.,]*\d(?:[eE][+-]?\d+)?$"
_SIGNED_EXPONENT = r"\d[eE][+-]\d"


@dataclasses.dataclass(frozen=True)
class Style:
    """A way to write numbers: the decimal mark and what may stand between thousands."""

    mark: str
    group: str

    @property
    def number(self) -> str:
        """Pattern of any number in this style."""
        whole, tail = r"(?:0|[1-9]\d*)", rf"[{self.mark}]\d+"
        thousands = rf"[1-9]\d{{0,2}}(?:[{self.group}]\d{{3}})+"
        exponent = r"(?:[eE][+-]?\d+)?"
        return rf"^-?(?:{whole}(?:{tail})?|{tail}|{thousands}(?:{tail})?){exponent}$"

    @property
    def grouped(self) -> str:
        """Pattern of a number whose decimal mark could as well separate thousands."""
        return rf"^-?[1-9]\d{{0,2}}(?:[{self.mark}]\d{{3}})+$"

    def plain(self, text: pl.Series) -> pl.Series:
        """The numbers as a machine writes them."""
        if _has_mark(text, self.group):
            bare = text.str.replace_all(self.group, "", literal=True)
        else:
            bare = text
        if self.mark == ".":
            return bare
        return bare.str.replace(",", ".", literal=True)


POINT, COMMA = Style(".", ","), Style(",", ".")
STYLES = {".": POINT, ",": COMMA}

_REASONS = {
    "code": "{} stay{s} text: its name is that of a code",
    "fixed": "{} stay{s} text: all values have the same number of digits, like a code",
    "thousands.": (
        "{} stay{s} text: a point before three digits may be decimal or separate thousands; pass"
        " decimal=',' or decimal='.'"
    ),
    "thousands,": (
        "{} stay{s} text: a comma before three digits may be decimal or separate thousands; pass"
        " decimal='.' or decimal=','"
    ),
    "mixed": "{} stay{s} text: decimal points and decimal commas are mixed in it",
    "zeros": "{} stay{s} text: as numbers leading zeros would be lost",
    "digits": "{} stay{s} text: as numbers some values would lose digits",
    "asked": "{} stay{s} text: the decimal mark is not the one asked for",
    "partly": (
        "{} stay{s} text: most values are numbers, some are not (--missing 'NA,?' or "
        "missing_values= declares codes for missing values)"
    ),
}


def convert(columns: list[pl.Series], *, decimal: str | None) -> tuple[str, list[str]]:
    """Replace text columns in the list by numbers where the rule allows; return the decimal mark
    and the notes.
    """
    verdicts = []
    for i, text in enumerate(columns):
        verdict, numbers = _classify(text)
        if verdict in STYLES:
            marked = _has_mark(text, verdict)
            if decimal not in (None, verdict) and marked:
                verdicts.append("asked")
                continue
            numbers = _decimals(text, STYLES[verdict])
            if numbers is None:
                verdicts.append("digits")
                continue
            if not marked:
                verdict = "exponents"
        # Its values alone decide about the column.
        if numbers is not None:
            columns[i] = numbers
        verdicts.append(verdict)
    mark_counts = {mark: verdicts.count(mark) for mark in STYLES}
    for i, verdict in enumerate(verdicts):
        if verdict.startswith("thousands"):
            verdicts[i] = _settle_thousands(columns, i, verdict[-1], decimal, mark_counts)
    notes: list[str] = []
    names = [column.name for column in columns]
    for reason, sentence in _REASONS.items():
        positions = [i for i, verdict in enumerate(verdicts, start=1) if verdict == reason]
        if positions:
            words = sentence.format("{}", s="s" if len(positions) == 1 else "")
            notes.append(ColumnNote.of(words, positions, names))
    for mark, word in ((".", "points"), (",", "commas")):
        positions = [i for i, verdict in enumerate(verdicts, start=1) if verdict == f"read{mark}"]
        if positions:
            words = f"{{}}: {word} before three digits read as asked, or as elsewhere in the file"
            notes.append(ColumnNote.of(words, positions, names))
    if all(mark_counts.values()):
        notes.append(
            "decimal points and decimal commas both occur; decimals will be written with one of"
            " them"
        )
    return decimal or ("," if mark_counts[","] > mark_counts["."] else "."), notes


def classify(text: pl.Series) -> str:
    """What a text column is: integer, a decimal mark, ``thousands`` and a mark, or the reason it
    stays text.
    """
    return _classify(text)[0]


def _classify(text: pl.Series) -> tuple[str, pl.Series | None]:
    """What a text column is, and its numbers if it is an integer column."""
    sample = text.head(SAMPLE).drop_nulls()
    if not len(sample):
        sample = text.drop_nulls().head(SAMPLE)
    if not len(sample):
        return "missing", None
    share, code = _share(sample, _SHAPE), is_identifier_name(text.name)
    if share < 1.0:
        return "partly" if share > 0.5 and not code else "text", None
    if code:
        return "code", None
    # a longer column is looked at in full only where a part of it is worth it
    is_short = len(text) <= SAMPLE
    numbers = None
    if is_short or _integers(sample) is not None:
        numbers = _integers(text)
    if numbers is None:
        return _style(text), None
    # Numbers of five digits or more that are all equally long are codes.
    widths = text.str.len_bytes()
    narrowest, widest = widths.min(), widths.max()
    if (
        narrowest == widest
        and isinstance(widest, int)
        and widest >= CODE_DIGITS
        and not _has_mark(text, "-")
    ):
        return "fixed", None
    return "integer", numbers


def is_number_like(text: pl.Series) -> bool:
    """Whether every value that is not missing is made of digits, like a number or a code."""
    return all(
        _share(part, _SHAPE) == 1.0
        for part in (text.head(SAMPLE), text)
        if part.null_count() < len(part)
    )


def _share(text: pl.Series, pattern: str) -> float:
    """Share of the values that are not missing and match a pattern."""
    matching = text.str.contains(pattern)
    return int(matching.sum()) / max(len(matching) - matching.null_count(), 1)


def _style(text: pl.Series) -> str:
    fitting = []
    for style in (POINT, COMMA):
        if not all(part.str.contains(style.number).all() for part in (text.head(SAMPLE), text)):
            continue
        if any(_decisive(part, style) for part in (text.head(SAMPLE), text)):
            return style.mark
        fitting.append(style)
    marks = [mark for mark in STYLES if _has_mark(text, mark)]
    if not fitting or len(marks) == 2:
        return _mixed_or_text(text)
    if marks:
        if not _only_groups(text, STYLES[marks[0]]):
            return "text"
        return f"thousands{marks[0]}"
    if text.str.contains(_SIGNED_EXPONENT).any():
        return "."
    return "text"


def _mixed_or_text(text: pl.Series) -> str:
    if text.str.contains(_SHAPE).all() and text.str.contains(r"^-?0\d").any():
        return "zeros"
    share = _share(text, f"{POINT.number}|{COMMA.number}")
    if share <= 0.5:
        return "text"
    return "mixed" if share == 1.0 else "partly"


def _decisive(text: pl.Series, style: Style) -> bool:
    """Whether a value has the mark where thousands cannot be separated."""
    return bool(
        (text.str.contains(style.mark, literal=True) & ~text.str.contains(style.grouped)).any()
    )


def _only_groups(text: pl.Series, style: Style) -> bool:
    """Whether every value with the mark is a whole number in groups of three."""
    return bool(
        (~text.str.contains(style.mark, literal=True) | text.str.contains(style.grouped)).all()
    )


def _has_mark(text: pl.Series, mark: str) -> bool:
    return bool(text.str.contains(mark, literal=True).any())


_CELL = pl.nth(0)
_OTHERWISE = (
    (_CELL.str.starts_with("0") & (_CELL.str.len_bytes() > 1))
    | _CELL.str.starts_with("-0")
    | _CELL.str.starts_with("+")
).any()
"""Whether a number is not written as it would be again; one question, as each takes longer than a
short column is.
"""


def _integers(text: pl.Series) -> pl.Series | None:
    """The column as integers, or None when a value is not one written the one way, or has more than
    18 digits.
    """
    pieces = []
    for start in range(0, len(text), _PIECE):
        piece = text.slice(start, _PIECE)
        numbers = piece.cast(pl.Int64, strict=False)
        smallest, largest = numbers.min(), numbers.max()
        if numbers.null_count() != piece.null_count() or piece.to_frame().select(_OTHERWISE).item():
            return None
        if (
            isinstance(smallest, int)
            and isinstance(largest, int)
            and (smallest <= -_LARGEST or largest >= _LARGEST)
        ):
            return None
        pieces.append(numbers)
    return pl.concat(pieces) if pieces else None


def _decimals(text: pl.Series, style: Style) -> pl.Series | None:
    """The column as doubles, or None when that would lose digits."""
    pieces = []
    for start in range(0, len(text), _PIECE):
        piece = text.slice(start, _PIECE)
        plain = style.plain(piece)
        numbers = plain.cast(pl.Float64, strict=False)
        if numbers.null_count() != piece.null_count() or not _keeps_digits(plain, numbers):
            return None
        pieces.append(numbers)
    return pl.concat(pieces)


def _keeps_digits(plain: pl.Series, numbers: pl.Series) -> bool:
    """Whether doubles still have every digit; short decimals always do."""
    doubtful = (plain.str.len_bytes() > _SAFE_LENGTH) | plain.str.contains("[eE]")
    if not doubtful.any():
        return True
    doubtful_texts, doubtful_numbers = plain.filter(doubtful), numbers.filter(doubtful)
    number_texts = doubtful_numbers.cast(pl.String)
    # most are written as they would be again, and need no second look
    otherwise = doubtful_texts != number_texts
    is_equal = _digits(doubtful_texts.filter(otherwise)) == _digits(number_texts.filter(otherwise))
    return bool(is_equal.all()) and bool(doubtful_numbers.is_finite().all())


def _digits(numbers: pl.Series) -> pl.Series:
    """Significant digits of numbers written as text: equal digits of a number and its double mean
    nothing was lost.
    """
    mantissa = numbers.str.replace("[eE].*$", "").str.replace_all("[-.]", "")
    return mantissa.str.strip_chars_start("0").str.strip_chars_end("0")


def _settle_thousands(
    columns: list[pl.Series], i: int, mark: str, decimal: str | None, mark_counts: dict[str, int]
) -> str:
    other_mark = "," if mark == "." else "."
    if decimal == mark:
        numbers = None
        if columns[i].str.contains(STYLES[mark].number).all():
            numbers = _decimals(columns[i], STYLES[mark])
    elif decimal == other_mark or (
        decimal is None and mark_counts[other_mark] and not mark_counts[mark]
    ):
        numbers = _integers(columns[i].str.replace_all(mark, "", literal=True))
    else:
        return f"thousands{mark}"
    if numbers is None:
        return "digits"
    columns[i] = numbers
    return f"read{mark}"
