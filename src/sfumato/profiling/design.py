"""Columns of the survey design and of repeated persons: weights, strata, person and household ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.core.design import OFTEN_ALONE
from sfumato.profiling.columns import Card, Column
from sfumato.profiling.finding import Finding, percent
from sfumato.profiling.lexicon_direct import BODY_OR_SURVEY_WEIGHT, BODY_WORDS

_PERSON_IDS = ("person id", "medical record number", "case or file number", "record id")
"""Findings that may name persons with several rows, the likeliest first."""

_LARGEST_HOUSEHOLD = 20
"""Mean rows per household above which a column is no household id."""

_MOST_ROWS_A_PERSON = 1000
_HEAVIEST_BODY = 350
_LEAST_REPEATED = 1.02
"""Rows per value from which values count as repeated."""


def find_weight(columns: Sequence[Column]) -> tuple[str, Finding] | None:
    """The column that holds survey weights: by name, with positive numbers that are not all kilograms."""
    named = [c for c in columns if _is("sampling weight", c) and _is_positive(c)]
    if named:
        return named[0].card.name, Finding("sampling weight", "the name says survey weight", 0.85)
    bare = [c for c in columns if is_bare_weight(c) and _is_positive(c)]
    if len(bare) != 1 or _has_body_columns(columns) or not weighs_records(bare[0]):
        return None
    return bare[0].card.name, Finding("sampling weight", "called weight, and too large or too even for bodies", 0.6)


def is_bare_weight(column: Column) -> bool:
    """Whether a column is just called weight, which is a body's in one table and a survey's in another."""
    match = column.match
    if match is None or match.concept != "body weight" or not column.values.dtype.is_numeric():
        return False
    return (
        match.words[match.start] in BODY_OR_SURVEY_WEIGHT and match.length == 1 and not set(match.others) & BODY_WORDS
    )


def warning_of_weight(card: Card) -> str:
    """What to add to the reason for a weight whose values nearly name the records; empty for one that many share."""
    if card.uniqueness < OFTEN_ALONE:
        return ""
    return (
        f"; careful: {percent(card.uniqueness)} of the records stand alone with their weight, which is released as it is; "
        "round it, or drop it (role direct)"
    )


def find_strata(columns: Sequence[Column]) -> dict[str, Finding]:
    """Columns whose name says stratum and that part the records at all."""
    reason = Finding("stratum", "the name says stratum", 0.85)
    return {
        c.card.name: reason for c in columns if _is("stratum", c) and c.card.distinct > 1 and c.card.uniqueness < 0.5
    }


def find_household(columns: Sequence[Column]) -> tuple[str, Finding] | None:
    """The column that numbers households: named so, and shared by a few rows each."""
    for column in columns:
        if _is("household id", column) and _LEAST_REPEATED <= column.card.rows_per_value <= _LARGEST_HOUSEHOLD:
            rows = f"{column.card.rows_per_value:.1f} rows each"
            return column.card.name, Finding("household id", f"the name says household id; {rows}", 0.85)
    return None


def find_person(columns: Sequence[Column], direct: Mapping[str, Finding]) -> tuple[str, Finding] | None:
    """The column that numbers persons who have several rows each; the likeliest kind of number wins."""
    for what in _PERSON_IDS:
        for column in columns:
            found = direct.get(column.card.name)
            if found is not None and found.what == what and _repeats(column):
                rows = f"{column.card.rows_per_value:.1f} rows each: several of one person"
                return column.card.name, Finding(what, f"{found.reason}; {rows}", min(found.confidence, 0.8))
    return None


def _repeats(column: Column) -> bool:
    card = column.card
    return card.distinct >= 2 and _LEAST_REPEATED <= card.rows_per_value <= _MOST_ROWS_A_PERSON


def _is(concept: str, column: Column) -> bool:
    return column.match is not None and column.match.concept == concept


def _is_positive(column: Column) -> bool:
    values = column.values
    if not values.dtype.is_numeric():
        return False
    least = values.cast(pl.Float64).min()
    return least is None or bool(least >= 0)  # type: ignore[operator]


def _has_body_columns(columns: Sequence[Column]) -> bool:
    return any(c.match is not None and c.match.concept in ("body height", "health", "appearance") for c in columns)


def weighs_records(column: Column) -> bool:
    """Survey weights are people (large) or scaled to a mean of one."""
    mean = column.values.mean()
    return isinstance(mean, float) and (mean > _HEAVIEST_BODY or 0.9 <= mean <= 1.1)
