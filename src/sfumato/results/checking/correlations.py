"""Correlations: enough persons, no two columns that are nearly one, and numbers that are those of
the records.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import ContributingRecords, count_persons
from sfumato.results.checking.designs import SURE, largest_shares, rare_columns
from sfumato.results.checking.fitted_models import judge_freedom
from sfumato.results.checking.layout import numeric_columns
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask

ROUNDED = 0.0051
"""Correlations may be rounded to two digits."""


def _are_correlations(correlations: Floats, columns: Floats, complete: Mask) -> bool:
    """Whether a matrix holds the correlations of columns, of their values or ranks, of complete
    rows or of pairs.
    """
    from scipy.stats import rankdata

    def correlate(values: Floats, *, ranks: bool) -> Floats:
        if ranks:
            values = np.apply_along_axis(rankdata, 0, values)
        with np.errstate(all="ignore"):
            return np.atleast_2d(np.corrcoef(values, rowvar=False))

    # Rows with a gap are left out altogether or pair by pair, by values or by ranks: all are in
    # use.
    for ranks in (False, True):
        if np.allclose(correlations, correlate(columns[complete], ranks=ranks), atol=ROUNDED):
            return True
        pairs = np.eye(columns.shape[1])
        for i, j in itertools.combinations(range(len(pairs)), 2):
            pair = columns[:, [i, j]]
            pair = pair[~np.isnan(pair).any(axis=1)]
            pairs[i, j] = pairs[j, i] = correlate(pair, ranks=ranks)[0, 1]
        if np.allclose(correlations, pairs, atol=ROUNDED):
            return True
    return False


def count_dominated(columns: Floats, person_ids: Codes, rules: OutputRules) -> int:
    """Columns in which few persons have nearly all of the squared distance from the mean: such a
    column stands for them, like a dummy.
    """
    if not len(columns):
        return 0
    squares = (columns - columns.mean(axis=0)) ** 2
    # Shares of persons, not rows: several records of one person count together.
    largest = largest_shares(squares, person_ids, rules.dominant)
    return int((largest.sum(axis=0) > rules.share / 100).sum())


def are_nearly_equal(columns: Floats, person_ids: Codes, rules: OutputRules) -> bool:
    """Whether two columns are the same for all but a few persons, and not for these."""
    for column, other_column in itertools.combinations(columns.T, 2):
        if rules.small(count_persons(person_ids[column != other_column])):
            return True
    return False


def judge_correlation(
    frame: pl.DataFrame,
    records: ContributingRecords | None,
    rules: OutputRules,
    persons: float | None,
) -> OutputVerdict:
    """A matrix of correlations: enough persons with both values, and no two columns that are
    one.
    """
    names = numeric_columns(frame)
    values = frame.select(names).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    reasons: list[OutputReason] = []
    square = values.shape[0] == values.shape[1]
    outside = bool((np.abs(values[~np.isnan(values)]) > 1 + 1e-9).any())
    if not square or outside or not np.allclose(values, values.T, equal_nan=True):
        words = (
            "this is not a matrix of correlations: it needs as many rows as columns, symmetric, "
            "between −1 and 1"
        )
        reasons.append(open_question("kind", words, "release it as a table (kind='table')"))
    # A correlation of a column with itself is always one and reveals nothing.
    if square:
        off_diagonal = values[~np.eye(len(values), dtype=bool)]
    else:
        off_diagonal = values.reshape(-1)
    if (np.abs(off_diagonal[~np.isnan(off_diagonal)]) >= SURE).any():
        words = (
            "two columns are a linear function of each other: somebody who knows one knows "
            "the other"
        )
        reasons.append(violation("fit", words, "leave one of them out"))
    other_columns = 0
    for name in frame.columns:
        if name not in names and not set(frame[name].to_list()) <= set(names):
            other_columns += 1
    if other_columns:
        words = (
            f"{other_columns:,} columns hold something else than correlations and the names of"
            " columns"
        )
        reasons.append(open_question("columns", words, "leave them out"))
    if records is not None and set(names) <= set(records.dataset.columns):
        columns = np.column_stack([records.numbers(name) for name in names])
        complete: Mask = np.logical_not(np.isnan(columns).any(axis=1))
        # Counted in the records, the number of persons replaces what was claimed; the claim is only
        # compared.
        claimed, persons = persons, float(count_persons(records.person_ids[complete]))
        if claimed not in (None, persons, float(records.persons), float(len(records))):
            words = "the counts given are not the number of persons that the records have"
            reasons.append(
                violation("counts", words, "leave counts away: they are computed from the records")
            )
        if square and not _are_correlations(values, columns, complete):
            words = "these are not the correlations of these records (Pearson's or Spearman's)"
            advice = "give the records they were computed from (where=...)"
            reasons.append(open_question("recomputed", words, advice))
        reasons += _judge_columns(columns[complete], records.person_ids[complete], rules)
    elif persons is not None:
        words = "rare levels of the columns cannot be seen"
        reasons.append(open_question("records", words, "give data=..."))
    reasons += judge_freedom(persons, 2, None, rules)
    return OutputVerdict(
        "correlation", tuple(reasons), None if persons is None else int(persons), frame
    )


def _judge_columns(columns: Floats, person_ids: Codes, rules: OutputRules) -> list[OutputReason]:
    """Columns whose correlations tell of few persons."""
    if rare_columns(columns, person_ids, rules.threshold):
        words = f"some columns are about fewer than {rules.threshold} persons"
        return [violation("levels", words, "join rare levels")]
    if are_nearly_equal(columns, person_ids, rules):
        words = (
            f"two columns are the same except for fewer than {rules.threshold} persons, and their "
            "correlation reveals these"
        )
        return [violation("difference", words, "leave one of them out")]
    dominated = count_dominated(columns, person_ids, rules)
    if dominated:
        words = (
            f"{dominated:,} columns differ from their means almost only because of few persons, "
            "and their correlations reveal these"
        )
        advice = "cut off extreme values, or leave these columns out"
        return [violation("dominance", words, advice)]
    return []
