"""Answers that are released at random: the values of a column, or of several taken together, as
codes and back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.design import Stratum, labelled_strata, weights_of
from sfumato.core.encoding import label
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.exact_sums import exact_sums, round_exact
from sfumato.methods.steps.swapping.record_groups import (
    codes_of,
    combine_codes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_VALUES = 5000
"""A matrix for more values than this would not fit in memory, nor protect anyone."""
Labels = tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Per row the code of its answer (−1: missing, stays so), and per code the labels of its
    columns.

    ``pool`` holds, per column, the value of every code.
    """

    columns: tuple[str, ...]
    codes: Codes
    labels: tuple[Labels, ...]
    pool: Mapping[str, pl.Series]

    @property
    def title(self) -> str:
        """The columns in a word."""
        return " × ".join(self.columns)

    def written(self, dataset: Table, codes: Codes) -> dict[str, pl.Series]:
        """The columns with other answers; where an answer is missing, every column keeps what it
        had.
        """
        answered = pl.Series(codes >= 0)
        columns = {}
        for name in self.columns:
            own = dataset.column(name)
            pool = self.pool[name]
            new_values = own
            if len(pool):
                # Rows without an answer have −1; what they look up is thrown away below.
                new_values = pool.gather(np.maximum(codes, 0))
            old_values = own
            if own.dtype != new_values.dtype:
                old_values = own.cast(new_values.dtype)
            released = pl.when(answered).then(new_values).otherwise(old_values)
            column = pl.select(released).to_series().alias(name)
            if column.dtype.is_float():
                column = column.fill_nan(None)
            columns[name] = column
        return columns


def _extend_with_labels(column: pl.Series, labels: Sequence[str]) -> pl.Series:
    """Values of a column with labels that no row has below it; lists of categories that lack them
    become text.
    """
    if not labels:
        return column
    # A list of categories cannot take in words that it does not have.
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    added = pl.Series(column.name, labels, dtype=pl.String).cast(column.dtype, strict=False)
    if added.null_count():
        raise ParameterError(
            f"pram: {added.null_count()} label(s) in the matrix of {column.name!r} are not values "
            "of its type"
        )
    return pl.concat([column, added])


def answers_of(dataset: Table, columns: Sequence[str]) -> Answers:
    """The answers that occur. A row that lacks one of several columns has no answer."""
    joint, present = codes_of(dataset, columns)
    rows = np.flatnonzero(present)
    codes = np.full(len(dataset), -1, dtype=np.int64)
    codes[rows] = combine_codes([joint[rows]])
    code_count = int(codes.max(initial=-1)) + 1
    holders = np.full(code_count, -1, dtype=np.int64)
    # Written backwards, the first row with an answer stays.
    holders[codes[rows][::-1]] = rows[::-1]
    _require_few(columns, len(holders))
    pool = {name: dataset.column(name).gather(holders) for name in columns}
    values = [map(label, pool[name].to_list()) for name in columns]
    return Answers(tuple(columns), codes, tuple(zip(*values, strict=True)), pool)


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerCounts:
    """What is known of the answers of all records: their labels and values, and per stratum how
    often each was given.

    Answers are sorted by their labels. With survey weights their sums go along with the counts.
    """

    labels: tuple[Labels, ...]
    pool: Mapping[str, pl.Series]
    strata: Mapping[Stratum, tuple[Codes, Floats | None]]

    def under(self, answers: Answers) -> Answers:
        """The answers of some records under the codes of all."""
        numbers = {labels: i for i, labels in enumerate(self.labels)}
        # Without any answer there is nothing to number; one entry keeps the look-up defined.
        of = np.array([numbers[labels] for labels in answers.labels] or [0], dtype=np.int64)
        codes = np.where(answers.codes >= 0, of[answers.codes], -1)
        return Answers(answers.columns, codes, self.labels, self.pool)


class Asking:
    """Counts the answers of all records, by stratum; sums of weights are exact, so that pieces add
    up in any order.
    """

    def __init__(
        self, groups: Sequence[Sequence[str]], within: Callable[[Table], Sequence[str]]
    ) -> None:
        self.groups = [tuple(group) for group in groups]
        self.within = within
        self.counts: dict[tuple[str, ...], dict[Stratum, dict[Labels, list[int]]]] = {
            g: {} for g in self.groups
        }
        self.pools: dict[tuple[str, ...], dict[Labels, pl.DataFrame]] = {g: {} for g in self.groups}
        self.weighted = False

    def see(self, rows: Table) -> None:
        """Count the answers of some records."""
        strata, names = labelled_strata(rows, self.within(rows))
        weights = weights_of(rows)
        self.weighted = weights is not None
        for group in self.groups:
            answers = answers_of(rows, group)
            answered = np.flatnonzero(answers.codes >= 0)
            # Stratum and answer in one number, so that one count serves all strata.
            pairs = strata[answered] * len(answers.labels) + answers.codes[answered]
            size = len(names) * len(answers.labels)
            if weights is None:
                masses = [0] * size
            else:
                masses = exact_sums(weights[answered], pairs, size)
            for at, count in zip(*_tally(pairs), strict=True):
                stratum, answer = divmod(at, len(answers.labels))
                stratum_counts = self.counts[group].setdefault(names[stratum], {})
                entry = stratum_counts.setdefault(answers.labels[answer], [0, 0])
                entry[0] += count
                entry[1] += masses[at]
            values = pl.DataFrame(dict(answers.pool))
            for answer, labels in enumerate(answers.labels):
                # The first value seen stands for a label: 1 and 1.0 are written alike.
                self.pools[group].setdefault(labels, values[answer])
            _require_few(group, len(self.pools[group]))

    def learnt(self) -> dict[tuple[str, ...], AnswerCounts]:
        """What is known of every group of columns."""
        return {group: self._count_answers(group) for group in self.groups}

    def _count_answers(self, group: tuple[str, ...]) -> AnswerCounts:
        pools = self.pools[group]
        labels = tuple(sorted(pools))
        pool = dict.fromkeys(group, pl.Series(dtype=pl.String))
        if labels:
            values = [pools[answer_label] for answer_label in labels]
            pool = pl.concat(values, how="vertical_relaxed").to_dict()
        strata = {}
        for name, stratum_counts in self.counts[group].items():
            entries = [stratum_counts.get(answer_label, (0, 0)) for answer_label in labels]
            masses = None
            if self.weighted:
                masses = np.array([round_exact(mass) for _, mass in entries])
            amounts = [count for count, _ in entries]
            strata[name] = np.array(amounts, dtype=np.int64), masses
        return AnswerCounts(labels, pool, strata)


def _tally(codes: Codes) -> tuple[list[int], list[int]]:
    """The codes that occur, and how often."""
    values, counts = np.unique(codes, return_counts=True)
    return values.tolist(), counts.tolist()


def _require_few(columns: Sequence[str], count: int) -> None:
    if count > MOST_VALUES:
        raise SchemaError(
            f"pram: {' × '.join(columns)} has {count:,} different values, and a matrix allows "
            f"{MOST_VALUES:,}. Recode it first, or use a step for numbers"
        )


def under_labels(answers: AnswerCounts, column: str, rows: Mapping[str, int]) -> AnswerCounts:
    """The same answers, numbered as the rows of a given matrix are."""
    label_positions = {labels: i for i, labels in enumerate(answers.labels)}
    unknown = sum(1 for (name,) in answers.labels if name not in rows)
    if unknown:
        raise ParameterError(
            f"pram: the matrix of {column!r} has no row for {unknown} value(s) of the column; add"
            " them"
        )
    strange = [name for name in rows if (name,) not in label_positions]
    pool = _extend_with_labels(answers.pool[column], strange)
    for name in strange:
        label_positions[name,] = len(label_positions)
    order = np.array([label_positions[name,] for name in rows], dtype=np.int64)

    # Counts in the order of the matrix; what no row has is 0.
    def spread(values: Any) -> Any:
        padding = np.zeros(len(strange), dtype=values.dtype)
        return np.concatenate([values, padding])[order]

    strata = {}
    for stratum, (counts, masses) in answers.strata.items():
        new_masses = None if masses is None else spread(masses)
        strata[stratum] = spread(counts), new_masses
    return AnswerCounts(tuple((name,) for name in rows), {column: pool.gather(order)}, strata)
