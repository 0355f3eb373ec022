"""Keys that stand in a column that is none: they would be released as they are, beside the
pseudonyms that stand for them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.relations import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.relational.rows import TableRows

SAMPLE = 10_000
"""Rows of a table that are looked at; they are in a random order when it is released."""
RARE = 1e-6
"""How likely it may be that so many values are keys by chance where they are taken for keys; a
table has many columns, and each may be unlucky.
"""
NEAR = 16
"""Keys on each side of a number that say how close keys lie there."""
FEWEST, SHORT, SIGNS = 3, 3, 36
"""Different values that are no chance where each is the key of its row; letters of a word that may
be any code; signs of words.
"""
DROP = "which are never released unchanged; give it role drop"
NUMBER = r"^-?\d{1,18}$"


def bare_keys(parts: Sequence[TableRows]) -> list[str]:
    """A sentence about every column that holds keys of a table and is not said to be a key; such
    columns must not be released.

    A column does so where it names, row by row, the key of the row itself, of the row above or of
    the person; or where half of its different values are keys, and it is called as the key is, or
    chance would hardly make so many of them keys. Keys that are numbers in a row, or nearly, are
    not found by their values alone: years and prices may lie between them.
    """
    # One sentence for each column, even if it holds keys of two tables.
    messages = dict[tuple[str, str], str]()
    text_columns = [
        (rows, name, _sample(rows.frame[name])) for rows in parts for name in _readable(rows.frame)
    ]
    for keyed in parts:
        if keyed.names is not None:
            for rows, name, sure in _columns_with_keys(keyed, parts, text_columns):
                if sure:
                    reason = DROP
                else:
                    reason = (
                        f"{DROP}; if the similarity is accidental, write a letter before the keys, "
                        "in every table"
                    )
                messages.setdefault((rows.name, name), f"holds keys of {keyed.name!r}, {reason}")
    return [
        f"table {table!r}: column {column!r} {reason}"
        for (table, column), reason in messages.items()
    ]


def _readable(frame: pl.DataFrame) -> list[str]:
    return [name for name, dtype in frame.schema.items() if not dtype.is_nested()]


def _sample(values: pl.Series) -> pl.Series:
    return canonical(values.head(SAMPLE)).cast(pl.String)


def _columns_with_keys(
    keyed: TableRows,
    parts: Sequence[TableRows],
    text_columns: Sequence[tuple[TableRows, str, pl.Series]],
) -> Iterator[tuple[TableRows, str, bool]]:
    """The columns that hold keys of one table, and whether more than their values says so."""
    if keyed.names is None:
        return
    keys = canonical(keyed.names).cast(pl.String)
    # What the key is called in its own table, and in the tables that belong to it.
    called = {rows.link.foreign for rows in parts if rows.link.parent == keyed.name} | {
        keyed.link.key
    }
    own = {rows.name: _of_rows(rows, keyed, keys, parts) for rows in parts}
    chance = KeyChance.of(keys)
    kinds = [values.drop_nulls().unique() for _, _, values in text_columns]
    for (rows, name, values), different, hits in zip(
        text_columns, kinds, _among(kinds, keys), strict=True
    ):
        # At least half of the different values are keys.
        half = 0 < len(different) <= 2 * hits
        named = half and _is_called(name, called)
        # Named or copied row by row is proof enough; bare values need more than chance.
        sure = named or _copied(values, len(different), own[rows.name])
        if sure or (half and at_least(hits, chance.of_each(different)) <= RARE):
            yield rows, name, sure


def _among(value_columns: Sequence[pl.Series], keys: pl.Series) -> list[int]:
    """Of several lists of values how many of each are keys; the keys, of which there may be
    millions, are gone through once.
    """
    lengths = [len(values) for values in value_columns]
    if not sum(lengths):
        return [0] * len(value_columns)
    column_numbers = np.repeat(np.arange(len(value_columns)), lengths)
    values = pl.DataFrame(
        {"place": column_numbers, "value": pl.concat(value_columns, rechunk=False)}
    )
    # All columns are looked up in one join.
    met = values.join(pl.DataFrame({"value": keys}), on="value", how="semi")["place"].to_numpy()
    return [int(hits) for hits in np.bincount(met, minlength=len(value_columns))]


def _of_rows(
    rows: TableRows, keyed: TableRows, keys: pl.Series, parts: Sequence[TableRows]
) -> pl.Series | None:
    """Per row the key of the row of another table that it belongs to, or of itself; None where it
    belongs to none.
    """
    if keyed is rows:
        return keys.head(SAMPLE)
    if keyed is parts[0]:
        # Everybody has a person, however far down the row stands.
        return keys.gather(rows.owner[:SAMPLE])
    if rows.link.parent != keyed.name:
        return None
    return keys.gather(rows.above[:SAMPLE])


def _copied(values: pl.Series, kinds: int, keys: pl.Series | None) -> bool:
    """Whether values are the keys, row by row, and no few of them."""
    # A few values may agree by chance; missing ones say nothing.
    return keys is not None and kinds >= FEWEST and bool((values == keys).drop_nulls().all())


@dataclasses.dataclass(frozen=True)
class KeyChance:
    """How likely a value that has nothing to do with the keys is one of them all the same."""

    numbers: NDArray[np.int64] | None
    """The keys in ascending order where all are whole numbers."""
    step: int
    """What all differences of keys are multiples of, where they are many enough to tell."""
    word: float
    """How likely any word is a key, where keys are words."""

    @classmethod
    def of(cls, keys: pl.Series) -> KeyChance:
        """Look at the keys of a table, given as text; longer words are hardly ever the same by
        chance.
        """
        # Whole numbers may be keys by chance where keys are dense; words by how many words there
        # are.
        if bool(keys.str.contains(NUMBER).all()):
            numbers = np.unique(keys.cast(pl.Int64).to_numpy())
            return cls(numbers, _step(numbers), 0.0)
        shortest = int(keys.str.len_chars().min() or 0)  # type: ignore[arg-type]
        return cls(
            None, 1, 1.0 if shortest < SHORT else min(1.0, len(keys) / SIGNS ** min(shortest, 99))
        )

    def of_each(self, values: pl.Series) -> NDArray[np.float64]:
        """Per value the share of the numbers around it that are keys: the larger one of those below
        and above, for keys come in blocks.

        The value itself is not looked at. Numbers around it are those that values and keys
        may have: where all keys, or all values, are multiples of ten, so are they.

        >>> KeyChance.of(pl.Series(["7", "8", "9"])).of_each(pl.Series(["8", "10", "x"])).tolist()
        [1.0, 1.0, 0.0]
        >>> KeyChance.of(pl.Series(["1001", "2000"])).of_each(pl.Series(["2000"])).round(4).tolist()
        [0.001]
        """
        if self.numbers is None:
            return np.full(len(values), self.word)
        numbers = values.filter(values.str.contains(NUMBER)).cast(pl.Int64).to_numpy()
        chances, step = np.zeros(len(values)), _step(np.unique(numbers))
        if len(numbers):
            # Only keys that a value of this step could be: values 10, 20, 30 can only meet
            # multiples of ten.
            keys = self.numbers[(self.numbers - numbers[0]) % step == 0]
            far = math.lcm(step, self.step)
            # Below and above: the second search is the first one, turned round.
            chances[: len(numbers)] = np.maximum(
                _below(keys, numbers, far), _below(-keys[::-1], -numbers, far)
            )
        return chances


def _step(numbers: NDArray[np.int64]) -> int:
    """What all differences of numbers in ascending order are multiples of; 1 where they are too few
    to tell.
    """
    if len(numbers) > NEAR:
        return int(np.gcd.reduce(np.diff(numbers)))
    return 1


def _below(keys: NDArray[np.int64], values: NDArray[np.int64], step: int) -> NDArray[np.float64]:
    """The share of keys among the numbers below each value, down to the last one of the next keys
    there.
    """
    if not len(keys):
        return np.zeros(len(values))
    start = np.searchsorted(keys, values)
    # The nearest 16 keys below, or as many as there are.
    count = np.minimum(NEAR, start)
    # So many numbers lie between the value and the farthest of these keys.
    numbers = (
        values.astype(float) - keys[np.minimum(start - count, len(keys) - 1)].astype(float)
    ) / step
    return np.where(count > 0, np.minimum(1.0, count / np.maximum(numbers, 1.0)), 0.0)


def at_least(hits: int, chances: NDArray[np.float64]) -> float:
    """A bound of how likely so many of several independent events happen: no less than the tail
    itself.

    With unequal chances it is at most the tail of as many events that all have the mean chance,
    from one above the mean on: Hoeffding 1956, theorem 4, doi:10.1214/aoms/1177728178.

    >>> at_least(2, np.array([0.1, 0.1])), at_least(1, np.array([0.9, 0.9]))
    (0.010000000000000002, 1.0)
    """
    from scipy.stats import binom

    # Below this the bound does not apply, and nothing may be concluded.
    if hits < chances.sum() + 1:
        return 1.0
    return float(binom.sf(hits - 1, len(chances), chances.mean()))


def _is_called(column: str, names: set[str | None]) -> bool:
    """Whether a column is called as a key is, or as somebody's: ``person_id``,
    ``mother_person_id``.
    """
    return any(
        name is not None and (column == name or column.endswith(f"_{name}")) for name in names
    )
