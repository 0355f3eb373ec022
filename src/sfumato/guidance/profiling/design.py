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

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PERSON_IDS = ("person id", "medical record number", "case or file number", "record id")
"""Findings that may name persons with several rows, the likeliest first."""

_LARGEST_HOUSEHOLD = 20
"""Mean rows per household above which a column is no household id."""

_MOST_ROWS_A_PERSON = 1000
_HEAVIEST_BODY = 350
_LEAST_MEAN = 0.9
"""Mean of survey weights: each record stands for one person at least, up to rounding where they are
scaled to one.
"""
_MOST_PEOPLE = 1e10
"""More people than a sample can have been drawn from."""
_LEAST_REPEATED = 1.02
"""Rows per value from which values count as repeated."""


def find_weight(columns: Sequence[ProfiledColumn]) -> tuple[str, Recognition] | None:
    """The column that holds survey weights: named so, with a sum that a population may have."""
    body = _has_body_columns(columns)
    weight_columns = [
        c for c in columns if _is("sampling weight", c) and may_weigh_records(c, body=body)
    ]
    if weight_columns:
        return weight_columns[0].card.name, Recognition(
            "sampling weight", "the name says survey weight", 0.85
        )
    bare = [c for c in columns if is_bare_weight(c) and _is_positive(c)]
    if len(bare) != 1 or body or not weighs_records(bare[0]):
        return None
    return bare[0].card.name, Recognition(
        "sampling weight", "called weight, and too large or too even for bodies", 0.6
    )


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
        and not set(match.others) & word_lists().body
    )


def warning_of_weight(card: Card) -> str:
    """What to add to the reason for a weight whose values nearly name the records; empty for one
    that many share.
    """
    if card.uniqueness < OFTEN_ALONE:
        return ""
    return (
        f"; careful: {percent(card.uniqueness)} of the records stand alone with their weight, which"
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
    for what in _PERSON_IDS:
        for column in columns:
            recognised = direct.get(column.card.name)
            if recognised is not None and recognised.what == what and _repeats(column):
                rows = f"{column.card.rows_per_value:.1f} rows each: several of one person"
                return column.card.name, Recognition(
                    what, f"{recognised.reason}; {rows}", min(recognised.confidence, 0.8)
                )
    return None


def _repeats(column: ProfiledColumn) -> bool:
    card = column.card
    return card.distinct >= 2 and _LEAST_REPEATED <= card.rows_per_value <= _MOST_ROWS_A_PERSON


def _is(concept: str, column: ProfiledColumn) -> bool:
    return column.match is not None and column.match.concept == concept


def _is_positive(column: ProfiledColumn) -> bool:
    if not column.dtype.is_numeric():
        return False
    least = column.values.cast(pl.Float64).min()
    return least is None or bool(least >= 0)  # type: ignore[operator]


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
    values = column.values.drop_nulls().cast(pl.Float64)
    total = float(values.sum())
    if not _LEAST_MEAN * values.len() <= total <= _MOST_PEOPLE:
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

FEWEST = 30
"""Records in which all three values are known, from which equality in all of them is no accident.
"""

SEVERAL = 5
"""Distinct values each of the three columns needs."""

MOST_KNOWN, MOST_OTHERS = 60, 120
SCREEN = 64
"""Records looked at first: what differs there is not compared in full."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """Column ``name`` is ``one`` − ``other`` in every record, or their sum; days where these are
    dates.
    """

    name: str
    one: str
    other: str
    minus: bool

    def __str__(self) -> str:
        return f"{self.one} {'−' if self.minus else '+'} {self.other}"


def differences(
    numeric: Sequence[ProfiledColumn], others: Sequence[ProfiledColumn]
) -> tuple[Difference, ...]:
    """The first pair of known columns for each other column that is exactly their difference or
    sum.
    """
    lines = {c.card.name: line for c in numeric[:MOST_KNOWN] if (line := _line(c)) is not None}
    if len(lines) < 2:
        return ()
    named_lines = ((c.card.name, _line(c)) for c in others[:MOST_OTHERS])
    made_of = (
        next(_made_of(name, line, lines), None) for name, line in named_lines if line is not None
    )
    return tuple(one for one in made_of if one is not None)


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
    table = np.stack([one[first] for one in lines.values()])
    for place, one in enumerate(names):
        difference = table[place] - line[first]  # one − other = name: what is left is the other
        for minus, rest in ((True, difference), (False, -difference)):
            near = ((table == rest) | np.isnan(table) | np.isnan(rest)).all(axis=1)
            for other in (names[at] for at in np.flatnonzero(near).tolist() if names[at] != one):
                if _equal(line, lines[one], lines[other], minus=minus):
                    yield Difference(name, one, other, minus)


def _equal(
    line: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64], *, minus: bool
) -> bool:
    """Whether it holds in all records that know the three, and these are most of those that know
    the column.
    """
    apart = (one - other if minus else one + other) - line
    present = ~np.isnan(apart)
    enough = present.sum() >= max(FEWEST, (~np.isnan(line)).sum() / 2)
    return bool(enough and (apart[present] == 0).all())
