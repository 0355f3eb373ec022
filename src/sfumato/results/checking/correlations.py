"""Correlations: enough persons, no two columns that are nearly one, and numbers that are those of
the records.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import Behind, how_many
from sfumato.results.checking.designs import SURE, largest_shares, rare_columns
from sfumato.results.checking.fitted_models import freedom
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _correlations_of(
    columns: NDArray[np.float64], complete: NDArray[np.bool_], correlations: NDArray[np.float64]
) -> bool:
    """Whether a matrix holds the correlations of columns, of their values or ranks, of complete
    rows or of pairs.
    """
    from scipy.stats import rankdata

    def of(one: NDArray[np.float64], ranks: bool) -> NDArray[np.float64]:
        both = np.apply_along_axis(rankdata, 0, one) if ranks else one
        with np.errstate(all="ignore"):
            return np.atleast_2d(np.corrcoef(both, rowvar=False))

    for ranks in (False, True):
        pairs = np.eye(columns.shape[1])
        for i in range(len(pairs)):
            for j in range(i):
                both = columns[:, [i, j]]
                pairs[i, j] = pairs[j, i] = of(both[~np.isnan(both).any(axis=1)], ranks)[0, 1]
        if any(
            np.allclose(correlations, one, atol=0.0051)
            for one in (of(columns[complete], ranks), pairs)
        ):
            return True
    return False


def few_vary(columns: NDArray[np.float64], who: NDArray[np.int64], rules: OutputRules) -> int:
    """Columns in which few persons have nearly all of the squared distance from the mean: such a
    column stands for them, like a dummy.
    """
    if not len(columns):
        return 0
    squares = (columns - columns.mean(axis=0)) ** 2
    largest = largest_shares(squares, who, rules.dominant)
    return int((largest.sum(axis=0) > rules.share / 100).sum())


def nearly_one(columns: NDArray[np.float64], who: NDArray[np.int64], rules: OutputRules) -> bool:
    """Whether two columns are the same for all but a few persons, and not for these."""
    pairs = itertools.combinations(columns.T, 2)
    return any(rules.small(how_many(who[one != other])) for one, other in pairs)


def judge_correlation(
    frame: pl.DataFrame, behind: Behind | None, rules: OutputRules, persons: float | None
) -> OutputVerdict:
    """A matrix of correlations: enough persons with both values, and no two columns that are
    one.
    """
    names = [name for name in frame.columns if frame[name].dtype.is_numeric()]
    values = frame.select(names).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    reasons: list[OutputReason] = []
    square = values.shape[0] == values.shape[1]
    beyond = bool((np.abs(values[~np.isnan(values)]) > 1 + 1e-9).any())
    if not square or beyond or not np.allclose(values, values.T, equal_nan=True):
        words = (
            "this is no matrix of correlations: as many rows as columns, the same on both sides,"
            " between −1 and 1"
        )
        reasons.append(
            open_question("kind", words, "give it out as the table it is (kind='table')")
        )
    apart = values[~np.eye(len(values), dtype=bool)] if square else values.reshape(-1)
    if (np.abs(apart[~np.isnan(apart)]) >= SURE).any():
        reasons.append(
            broken(
                "fit",
                "two columns are a straight line of each other: who knows one knows the other",
                "leave one of them out",
            )
        )
    if strange := [
        name
        for name in frame.columns
        if name not in names and not set(frame[name].to_list()) <= set(names)
    ]:
        words = (
            f"{len(strange):,} columns hold something else than correlations and the names of"
            " columns"
        )
        reasons.append(open_question("columns", words, "leave them out"))
    if behind is not None and all(name in behind.dataset.columns for name in names):
        columns = np.column_stack([behind.numbers(name) for name in names])
        complete: NDArray[np.bool_] = np.logical_not(np.isnan(columns).any(axis=1))
        claimed_persons, persons = persons, float(how_many(behind.who[complete]))
        if claimed_persons is not None and claimed_persons not in (
            persons,
            float(behind.persons),
            float(len(behind)),
        ):
            words = "the counts given are not the number of persons that the records have"
            reasons.append(broken("counts", words, "leave counts away: the records tell them"))
        if square and not _correlations_of(columns, complete, values):
            words = "these are not the correlations of these records (Pearson's or Spearman's)"
            reasons.append(
                open_question(
                    "recomputed", words, "give the records they were computed from (where=...)"
                )
            )
        if rare_columns(columns[complete], behind.who[complete], rules.threshold):
            reasons.append(
                broken(
                    "levels",
                    f"some columns are about fewer than {rules.threshold} persons",
                    "join rare levels",
                )
            )
        elif nearly_one(columns[complete], behind.who[complete], rules):
            words = (
                f"two columns are the same but for fewer than {rules.threshold} persons: their"
                " correlation tells of these"
            )
            reasons.append(broken("difference", words, "leave one of them out"))
        elif few := few_vary(columns[complete], behind.who[complete], rules):
            words = (
                f"{few:,} columns differ from their means for few persons nearly alone: their"
                " correlations tell of these"
            )
            reasons.append(
                broken("dominance", words, "cut off extreme values, or leave these columns out")
            )
    elif persons is not None:
        reasons.append(
            open_question("records", "rare levels of the columns cannot be seen", "give data=...")
        )
    reasons += freedom(persons, 2, None, rules)
    return OutputVerdict(
        "correlation", tuple(reasons), None if persons is None else int(persons), frame
    )
