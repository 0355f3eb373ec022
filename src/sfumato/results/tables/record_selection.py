"""Which records a table is about: conditions on columns, joined by *and*."""

from __future__ import annotations

import dataclasses
import datetime
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.results.tables.arrays import Codes, Mask

GRAMMAR = (
    "where: COLUMN OPERATOR VALUE, with 'and' between conditions; OPERATOR is = != < <= > >=, or "
    "'in' and 'not in' with values separated by commas: \"year = 2024 and region in n1, n2\"; "
    "quote a name or value that contains an operator, a comma or a word of and, or, not, in: "
    "town != 'Brighton and Hove'"
)
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LISTED = ("in", "not in")
WORDS = ("and", "or", "not", "in")
TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")"""
    r"|(?P<sign>[=<>!~&|^;()]+)|(?P<comma>,)"
    r"""|(?P<word>[^\s,'"=<>!~&|^;()]+))"""
)


@dataclasses.dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    def is_word(self, *words: str) -> bool:
        """Whether it is one of the words of the grammar, in any case."""
        return self.kind == "word" and self.text.lower() in words


@dataclasses.dataclass(frozen=True)
class ConditionValue:
    """What a column is compared with; ``quoted`` text is text, and no number is read from it unless
    the column holds numbers.
    """

    text: str
    quoted: bool = False


@dataclasses.dataclass(frozen=True)
class RecordCondition:
    """A column compared with a value (``=``, ``!=``, ``<`` …) or compared with several (``in``,
    ``not in``).
    """

    column: str
    how: str
    values: tuple[ConditionValue, ...]

    def holds(self, dataset: Table) -> Mask:
        """Per row whether it holds; a missing value fulfils nothing."""
        column = dataset.column(self.column)
        if column.dtype.is_float():
            column = column.fill_nan(None)
        column, values_wanted = self._comparable(column)
        alone = [pl.Series([value], dtype=column.dtype) for value in values_wanted]
        if self.how in LISTED:
            met = column == alone[0]
            for value in alone[1:]:
                met = met | (column == value)
            # the negation of null is null: a missing value is neither in the list nor out of it
            if self.how == "not in":
                met = ~met
        else:
            met = COMPARED[self.how](column, alone[0])
        mask: Mask = met.fill_null(False).to_numpy()
        return mask

    def _comparable(self, column: pl.Series) -> tuple[pl.Series, list[Any]]:
        """The column and the values as things of one kind, which compare as they should."""
        kind = column.dtype
        if kind.is_nested():
            raise ParameterError(
                f"column {self.column!r} holds lists, which cannot be compared; name another column"
            )
        if kind.is_integer() and all(_is_whole(value.text) for value in self.values):
            # exactly, however large
            return column.cast(pl.Int128), [int(Decimal(value.text)) for value in self.values]
        # its 0.3 is not that of longer numbers: values are read as such numbers too
        if kind == pl.Float32:
            return column.cast(pl.Float64), [
                float(np.float32(self._number(value.text))) for value in self.values
            ]
        if kind.is_numeric():
            return column.cast(pl.Float64), [self._number(value.text) for value in self.values]
        if kind == pl.Boolean:
            return column.cast(pl.Int8), [int(self._truth(value.text)) for value in self.values]
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            return self._comparable_moments(column)
        if (
            self.how not in ("=", "!=", *LISTED)
            and not self.values[0].quoted
            and _is_number(self.values[0].text)
        ):
            raise ParameterError(
                f"column {self.column!r} holds text, in which 9 comes after 18; read it as "
                "numbers, or quote the value to compare text"
            )
        return column.cast(pl.String), [value.text for value in self.values]

    def _comparable_moments(self, column: pl.Series) -> tuple[pl.Series, list[Any]]:
        """Moments by the clock of the column, or all in one zone where the values name theirs."""
        moments = [self._moment(moment.text) for moment in self.values]
        # moments with and without a zone cannot be compared
        zones = [moment.tzinfo is not None for moment in moments]
        zone = None
        if isinstance(column.dtype, pl.Datetime):
            zone = column.dtype.time_zone
        if zone is not None and all(zones):
            column = column.dt.convert_time_zone("UTC")
            moments = [moment.astimezone(datetime.UTC).replace(tzinfo=None) for moment in moments]
        elif any(zones):
            raise ParameterError(
                f"column {self.column!r} has no time zone, or a value lacks one; write moments"
                " without it"
            )
        if zone is not None:
            column = column.dt.replace_time_zone(None)
        return column.cast(pl.Datetime("us")), moments

    def _number(self, text: str) -> float:
        if not _is_number(text):
            raise ParameterError(f"column {self.column!r} holds numbers; compare it with a number")
        return float(text)

    def _truth(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ParameterError(
                f"column {self.column!r} holds true and false; compare it with true or false"
            )
        return text.lower() == "true"

    def _moment(self, text: str) -> datetime.datetime:
        try:
            return datetime.datetime.fromisoformat(text)
        except ValueError:
            raise ParameterError(
                f"column {self.column!r} holds dates; compare it with a date, written as 2024-12-31"
            ) from None


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _is_whole(text: str) -> bool:
    """Whether it is a whole number that 128 bits hold, however it is written."""
    if not _is_number(text) or not math.isfinite(float(text)):
        return False
    return abs(float(text)) < 1e38 and Decimal(text) == Decimal(text).to_integral_value()


def conditions(text: str) -> tuple[RecordCondition, ...]:
    """Conditions from their text.

    >>> [
    ...     (one.column, one.how, [value.text for value in one.values])
    ...     for one in conditions("year = 2024 and region in n1, n2")
    ... ]
    [('year', '=', ['2024']), ('region', 'in', ['n1', 'n2'])]
    """
    tokens = _tokens(text)
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token.is_word("and"):
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(_condition(part) for part in parts)


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        # what no alternative matches can only be an open quote: every other character is in one of
        # them
        match = TOKEN.match(text, at)
        if match is None:  # a quote that is not closed
            raise ParameterError(f"a quote is not closed; {GRAMMAR}")
        tokens.append(_Token(str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return tokens


def _condition(tokens: list[_Token]) -> RecordCondition:
    """One condition: what stands before its operator, the operator, what stands after."""
    # the first sign decides, so that a value may hold further words
    at = next(
        (
            number
            for number, token_here in enumerate(tokens)
            if token_here.kind == "sign" or token_here.is_word("in", "not")
        ),
        None,
    )
    if at is None:
        raise ParameterError(f"a condition has no operator; {GRAMMAR}")
    how, after = tokens[at].text, at + 1
    if tokens[at].is_word("in"):
        how = "in"
    elif tokens[at].is_word("not") and after < len(tokens) and tokens[after].is_word("in"):
        how, after = "not in", after + 1
    if how not in (*COMPARED, *LISTED):
        raise ParameterError(f"{how!r} is not an operator; {GRAMMAR}")
    column = _text_of(tokens[:at], "a column")
    values: list[list[_Token]] = [[]]
    for token in tokens[after:]:
        if token.kind == "comma" and how in LISTED:
            values.append([])
        else:
            values[-1].append(token)
    return RecordCondition(
        column.text, how, tuple(_text_of(token_here, "a value") for token_here in values)
    )


def _text_of(tokens: list[_Token], part: str) -> ConditionValue:
    """A name or value: one in quotes, or words that mean nothing else."""
    if not tokens:
        raise ParameterError(f"{part} is missing; {GRAMMAR}")
    if len(tokens) == 1 and tokens[0].kind == "quoted":
        # a quote within quotes is written twice
        quote = tokens[0].text[0]
        return ConditionValue(tokens[0].text[1:-1].replace(quote * 2, quote), quoted=True)
    if any(token.kind != "word" or token.is_word(*WORDS) for token in tokens):
        raise ParameterError(
            f"{part} contains an operator, a quote or a word of the grammar; {GRAMMAR}"
        )
    return ConditionValue(" ".join(token.text for token in tokens))


def select_records(dataset: Table, text: str) -> Codes:
    """The rows that fulfil all conditions."""
    record_conditions = conditions(text)
    dataset.require([record_condition.column for record_condition in record_conditions])
    return np.flatnonzero(
        np.logical_and.reduce(
            [record_condition.holds(dataset) for record_condition in record_conditions]
        )
    )
