"""Columns that hang together with others: weights, strata, ids of persons and households,
differences and sums.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.design import OFTEN_ALONE
from sfumato.core.schema import Kind
from sfumato.core.words import percent
from sfumato.guidance.profiling.columns import Card, ProfiledColumn
from sfumato.guidance.profiling.detection import Recognition
from sfumato.guidance.profiling.lexicon import word_lists
from sfumato.guidance.profiling.words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Findings that may name persons with several rows, the likeliest first.
_PERSON_IDS = ("person id", "medical record number", "case or file number", "record id")

# Mean rows per household above which a column is no household id.
_LARGEST_HOUSEHOLD = 20

_MOST_ROWS_A_PERSON = 1000
_HEAVIEST_BODY = 350
# Standard deviation of body weights in means: that of children and adults together is a half.
_WIDEST_BODIES = 1.0
# Mean of survey weights: each record stands for one person at least, up to rounding where they are
# scaled to one.
_LEAST_MEAN = 0.9
# More people than a sample can have been drawn from.
_MOST_PEOPLE = 1e10
# Standard deviation of survey weights in means: of 12 million people a few hundred may stand for
# themselves and others for thousands, but not much more.
_WIDEST_SPREAD = 5.0
# Rows per value from which values count as repeated.
_LEAST_REPEATED = 1.02
# Values a column needs to number persons; where only the name "id" says so, also per row.
_FEWEST_PERSONS = 10
_FEWEST_PER_ROW = 0.002


def find_weight(
    columns: Sequence[ProfiledColumn], *, bodies: bool = False
) -> tuple[str, Recognition] | None:
    """The column that holds survey weights: named so, with a sum and a spread that weights of a
    sample may have. ``bodies``: the table is about health, where bodies and newborns are weighed.
    """
    body = bodies or _has_body_columns(columns)
    weight_columns = [
        c for c in columns if _is("sampling weight", c) and may_weigh_records(c, body=body)
    ]
    if weight_columns:
        return weight_columns[0].card.name, Recognition(
            "sampling weight", "the name says survey weight", 0.85
        )
    bare = [c for c in columns if is_bare_weight(c) and _is_positive(c)]
    if len(bare) == 1 and not body and weighs_records(bare[0]) and _has_spread(bare[0]):
        return bare[0].card.name, Recognition(
            "sampling weight", "called weight, and too large or too even for body weight", 0.6
        )
    shaped = [
        c for c in columns if _is_shaped_like_weight(c) and _is_plausible_weight(c, body=body)
    ]
    if shaped:
        return shaped[0].card.name, Recognition(
            "sampling weight", "named like a weight, with the sum and spread of one", 0.6
        )
    return None


def _is_shaped_like_weight(column: ProfiledColumn) -> bool:
    """Whether a name that no term says anything of begins or ends as names of weights do:
    ``wtssall``, ``perweight``; not ``bwt`` or ``birthweight``.
    """
    if column.match is not None or not column.dtype.is_numeric():
        return False
    words = words_of(column.card.name)
    if set(words) & word_lists().body:
        return False
    return any(
        word.startswith(_WEIGHT_BEGINNINGS) or word.endswith(_WEIGHT_ENDINGS) for word in words
    )


_WEIGHT_BEGINNINGS = ("wt", "wgt", "wght", "weight", "gewicht")
_WEIGHT_ENDINGS = ("weight", "weights", "wght", "wgt", "gewicht")


def _is_plausible_weight(column: ProfiledColumn, *, body: bool) -> bool:
    """Whether values can be the weights of a sample: positive, of a plausible sum and spread, and
    scaled to one where bodies are weighed.
    """
    mean = column.values.mean()
    scaled = isinstance(mean, float) and mean < _HEAVIEST_BODY
    return (
        _is_positive(column)
        and _has_plausible_sum(column)
        and weighs_records(column)
        and (scaled or not body)
    )


def _has_plausible_sum(column: ProfiledColumn) -> bool:
    """At least the records and at most all people, and not all weights alike."""
    values = column.values.drop_nulls().cast(pl.Float64)
    total = float(values.sum())
    return _LEAST_MEAN * values.len() <= total <= _MOST_PEOPLE and _has_spread(column)


def _has_spread(column: ProfiledColumn) -> bool:
    """Whether weights differ, and not by more than those of a sample do."""
    values = column.values.drop_nulls().cast(pl.Float64)
    mean, spread = values.mean(), values.std()
    if not isinstance(mean, float) or not isinstance(spread, float) or mean <= 0:
        return False
    return 0 < spread <= _WIDEST_SPREAD * mean


def is_bare_weight(column: ProfiledColumn) -> bool:
    """Whether a column is just called weight, which is a body's in one table and a survey's in
    another.
    """
    match = column.match
    if match is None or match.concept != "body weight" or not column.dtype.is_numeric():
        return False
    return (
        match.words[match.start] in word_lists().body_or_survey_weight
        and match.length == 1
        and not set(match.other_words) & word_lists().body
    )


def is_no_body_weight(column: ProfiledColumn) -> bool:
    """Whether numbers are too far apart to weigh bodies: people are of one order of magnitude, in
    kilograms, pounds or grams.
    """
    values = column.values.drop_nulls().cast(pl.Float64)
    mean, spread, largest = values.mean(), values.std(), values.max()
    if not isinstance(mean, float) or not isinstance(spread, float):
        return False
    return spread > _WIDEST_BODIES * mean and float(largest) > _HEAVIEST_BODY  # type: ignore[arg-type]


def warning_of_weight(card: Card) -> str:
    """What to add to the reason for a weight whose values nearly name the records; empty for one
    that many share.
    """
    if card.uniqueness < OFTEN_ALONE:
        return ""
    return (
        f"; careful: {percent(card.uniqueness)} of the records are unique by their weight, which"
        " is released as it is; round it, or drop it (role drop)"
    )


def find_strata(columns: Sequence[ProfiledColumn]) -> dict[str, Recognition]:
    """Columns whose name says stratum and that part the records at all."""
    reason = Recognition("stratum", "the name says stratum", 0.85)
    return {
        c.card.name: reason
        for c in columns
        if _is("stratum", c) and c.card.distinct > 1 and c.card.uniqueness < 0.5
    }


def find_household(columns: Sequence[ProfiledColumn]) -> tuple[str, Recognition] | None:
    """The column that numbers households: named so, and shared by a few rows each."""
    for column in columns:
        if (
            _is("household id", column)
            and _LEAST_REPEATED <= column.card.rows_per_value <= _LARGEST_HOUSEHOLD
        ):
            rows = f"{column.card.rows_per_value:.1f} rows each"
            return column.card.name, Recognition(
                "household id", f"the name says household id; {rows}", 0.85
            )
    return None


def find_person(
    columns: Sequence[ProfiledColumn], direct: Mapping[str, Recognition]
) -> tuple[str, Recognition] | None:
    """The column that numbers persons who have several rows each; the likeliest kind of number
    wins.
    """
    for concept in _PERSON_IDS:
        for column in columns:
            recognised = direct.get(column.card.name)
            if recognised is not None and recognised.concept == concept and _repeats(column):
                rows = f"{column.card.rows_per_value:.1f} rows each: several of one person"
                return column.card.name, Recognition(
                    concept, f"{recognised.reason}; {rows}", min(recognised.confidence, 0.8)
                )
    return None


def _repeats(column: ProfiledColumn) -> bool:
    """Whether a column has enough values to number persons, and most of them in several rows."""
    card = column.card
    fewest = min(_FEWEST_PERSONS, card.rows / 2)
    return (
        card.distinct >= max(fewest, _FEWEST_PER_ROW * card.rows)
        and _LEAST_REPEATED <= card.rows_per_value <= _MOST_ROWS_A_PERSON
    )


def _is(concept: str, column: ProfiledColumn) -> bool:
    return column.match is not None and column.match.concept == concept


def _is_positive(column: ProfiledColumn) -> bool:
    if not column.dtype.is_numeric():
        return False
    smallest = column.values.cast(pl.Float64).min()
    return smallest is None or bool(smallest >= 0)  # type: ignore[operator]


def _has_body_columns(columns: Sequence[ProfiledColumn]) -> bool:
    return any(
        c.match is not None and c.match.concept in ("body height", "health", "appearance")
        for c in columns
    )


def may_weigh_records(column: ProfiledColumn, *, body: bool = False) -> bool:
    """Whether a column named like a survey weight can be one: its sum is at least the records and
    at most all people.

    ``wt71`` may be the weight of bodies in 1971. So a short name needs values that no body has, or
    a mean of one, and no other column that tells of bodies (``body``).
    """
    match = column.match
    if match is None or not _is_positive(column):
        return False
    if not _has_plausible_sum(column):
        return False
    short = match.length == 1 and match.words[match.start] in word_lists().short_weight
    return not short or (not body and weighs_records(column))


def weighs_records(column: ProfiledColumn) -> bool:
    """Survey weights are people (large) or scaled to a mean of one."""
    mean = column.values.mean()
    return isinstance(mean, float) and (
        mean > _HEAVIEST_BODY or _LEAST_MEAN <= mean <= 2 - _LEAST_MEAN
    )


# Columns that are the difference or the sum of two others: released as they are, they undo the
# recoding of both.
#
# A length of stay beside the days of admission and discharge, a survival time beside first and
# last visit: whoever knows one of the dates, and reads the difference, knows the other one to the
# day, however coarse it is written.

# Records in which all three values are known, from which equality in all of them is no accident.
FEWEST = 30

# Distinct values each of the three columns needs.
SEVERAL = 5

MOST_KNOWN, MOST_OTHERS = 60, 120
# Records looked at first: what differs there is not compared in full.
SCREEN = 64


@dataclasses.dataclass(frozen=True)
class Difference:
    """Column ``name`` is ``first`` − ``second`` in every record, or their sum; days where these are
    dates.
    """

    name: str
    first: str
    second: str
    minus: bool

    def __str__(self) -> str:
        return f"{self.first} {'−' if self.minus else '+'} {self.second}"


def differences(
    numeric: Sequence[ProfiledColumn], other_columns: Sequence[ProfiledColumn]
) -> tuple[Difference, ...]:
    """The first pair of known columns for each other column that is exactly their difference or
    sum.
    """
    lines = {c.card.name: line for c in numeric[:MOST_KNOWN] if (line := _line(c)) is not None}
    if len(lines) < 2:
        return ()
    named_lines = ((c.card.name, _line(c)) for c in other_columns[:MOST_OTHERS])
    made_of = (
        next(_made_of(name, line, lines), None) for name, line in named_lines if line is not None
    )
    return tuple(difference for difference in made_of if difference is not None)


def _line(column: ProfiledColumn) -> NDArray[np.float64] | None:
    """The column as numbers, dates as days, missing as NaN; None for anything else and for columns
    of a few values.
    """
    if column.card.distinct < SEVERAL or column.card.rows < FEWEST:
        return None
    values = column.spread
    if values.dtype == pl.String and column.card.kind is Kind.DATE:
        values = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    if values.dtype in (pl.Date, pl.Datetime):
        values = values.dt.date().to_physical()
    if not values.dtype.is_numeric():
        return None
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _made_of(
    name: str, line: NDArray[np.float64], lines: dict[str, NDArray[np.float64]]
) -> Iterator[Difference]:
    """The pairs of columns whose difference or sum a column is."""
    names = list(lines)
    first = np.flatnonzero(~np.isnan(line))[:SCREEN]
    table = np.stack([minuend[first] for minuend in lines.values()])
    for position, minuend in enumerate(names):
        difference = table[position] - line[first]  # one − other = name: what is left is the other
        for minus, remainder in ((True, difference), (False, -difference)):
            near = ((table == remainder) | np.isnan(table) | np.isnan(remainder)).all(axis=1)
            for subtrahend in (
                names[at] for at in np.flatnonzero(near).tolist() if names[at] != minuend
            ):
                if _equal(line, lines[minuend], lines[subtrahend], minus=minus):
                    yield Difference(name, minuend, subtrahend, minus)


def _equal(
    line: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    *,
    minus: bool,
) -> bool:
    """Whether it holds in all records that know the three, and these are most of those that know
    the column.
    """
    apart = (first - second if minus else first + second) - line
    present = ~np.isnan(apart)
    enough = present.sum() >= max(FEWEST, (~np.isnan(line)).sum() / 2)
    return bool(enough and (apart[present] == 0).all())
