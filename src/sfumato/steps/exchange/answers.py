"""Answers that are released at random: the values of a column, or of several taken together, as codes and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.encoding import label
from sfumato.errors import ParameterError, SchemaError
from sfumato.steps.exchange.groups import codes_of, combined

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

    Codes = NDArray[np.int64]

MOST_VALUES = 5000
"""A matrix for more values than this would not fit in memory, nor protect anyone."""

Labels = tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Per row the code of its answer (−1: missing, stays so), and per code the labels of its columns.

    ``holders`` is a row that has the answer, or −1 where none has.
    """

    columns: tuple[str, ...]
    codes: Codes
    labels: tuple[Labels, ...]
    holders: Codes

    @property
    def title(self) -> str:
        """The columns in a word."""
        return " × ".join(self.columns)

    def written(self, dataset: Dataset, codes: Codes) -> dict[str, pl.Series]:
        """The columns with other answers; where an answer is missing, every column keeps what it had."""
        import numpy as np

        strange = np.flatnonzero(self.holders < 0)
        places = np.array(self.holders)
        places[strange] = len(dataset) + np.arange(len(strange))
        sources = np.arange(len(dataset))
        sources[codes >= 0] = places[codes[codes >= 0]]
        made = {}
        for a, name in enumerate(self.columns):
            pool = _extended(dataset.column(name), [self.labels[i][a] for i in strange.tolist()])
            found = pool.gather(sources)
            made[name] = found.fill_nan(None) if found.dtype.is_float() else found
        return made


def _extended(column: pl.Series, labels: Sequence[str]) -> pl.Series:
    """A column with labels that no row has below it; lists of categories that lack them become text."""
    import polars as pl

    if not labels:
        return column
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    added = pl.Series(column.name, labels, dtype=pl.String).cast(column.dtype, strict=False)
    if added.null_count():
        raise ParameterError(
            f"pram: {added.null_count()} label(s) in the matrix of {column.name!r} are no values of its type"
        )
    return pl.concat([column, added])


def answers_of(dataset: Dataset, columns: Sequence[str]) -> Answers:
    """The answers that occur. A row that lacks one of several columns has no answer."""
    import numpy as np

    found, known = codes_of(dataset, columns)
    rows = np.flatnonzero(known)
    codes = np.full(len(dataset), -1, dtype=np.int64)
    codes[rows] = combined([found[rows]])
    holders = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    holders[codes[rows][::-1]] = rows[::-1]
    _require_few(columns, len(holders))
    values = [[label(value) for value in dataset.column(name).gather(holders).to_list()] for name in columns]
    labels = tuple(zip(*values, strict=True))
    return Answers(tuple(columns), codes, labels, holders)


def _require_few(columns: Sequence[str], count: int) -> None:
    if count > MOST_VALUES:
        raise SchemaError(
            f"pram: {' × '.join(columns)} has {count:,} different values; at most {MOST_VALUES:,} make a matrix. "
            "Recode it first, or take a step for numbers"
        )


def under_labels(answers: Answers, rows: Mapping[str, int]) -> Answers:
    """The same answers, numbered as the rows of a given matrix are."""
    import numpy as np

    unknown = sum(1 for (name,) in answers.labels if name not in rows)
    if unknown:
        raise ParameterError(
            f"pram: the matrix of {answers.title!r} has no row for {unknown} value(s) of the column; add them"
        )
    numbers = np.array([rows[name] for (name,) in answers.labels], dtype=np.int64)
    holders = np.full(len(rows), -1, dtype=np.int64)
    holders[numbers] = answers.holders
    codes = np.full(len(answers.codes), -1, dtype=np.int64)
    known = answers.codes >= 0
    codes[known] = numbers[answers.codes[known]]
    return Answers(answers.columns, codes, tuple((name,) for name in rows), holders)
