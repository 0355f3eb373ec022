"""Keys that stand in a column that is none: they would be released as they are, beside the pseudonyms that stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.relations.reading import canonical

if TYPE_CHECKING:
    from sfumato.relations.rows import TableRows

SAMPLE = 10_000
"""Rows of a table that are looked at; they are in a random order when it is released."""
RARE = 1e-3
"""How likely it may be that values are keys by chance where they are taken for keys."""
FEWEST, SHORT, SIGNS = 3, 3, 36
"""Different values that are no chance where each is the key of its row; letters of a word that may be any code; signs of words."""


def bare_keys(parts: Sequence[TableRows]) -> list[str]:
    """A sentence about every column that holds keys of a table and is not said to be a key; such columns must not be released.

    A column does so where it names, row by row, the key of the row itself, of the row above or of the person; or where half of its different values are keys,
    and it is called as the key is, or chance would hardly bring that about. Keys that are numbers in a row are not found by their values alone: years and prices may lie between them.
    """
    found = dict[tuple[str, str], str]()
    seen = [(rows, name, _sample(rows.frame[name])) for rows in parts for name in _readable(rows.frame)]
    for keyed in parts:
        if keyed.names is not None:
            for rows, name in _held(keyed, parts, seen):
                found.setdefault((rows.name, name), keyed.name)
    return [
        f"table {table!r}: column {column!r} holds keys of {of!r}, which are never released as they are; give it role direct, and it is dropped"
        for (table, column), of in found.items()
    ]


def _readable(frame: pl.DataFrame) -> list[str]:
    return [name for name, dtype in frame.schema.items() if not dtype.is_nested()]


def _sample(values: pl.Series) -> pl.Series:
    return canonical(values.head(SAMPLE)).cast(pl.String)


def _held(
    keyed: TableRows, parts: Sequence[TableRows], seen: Sequence[tuple[TableRows, str, pl.Series]]
) -> Iterator[tuple[TableRows, str]]:
    """The columns that hold keys of one table."""
    if keyed.names is None:
        return
    keys = canonical(keyed.names).cast(pl.String)
    called = {rows.link.foreign for rows in parts if rows.link.parent == keyed.name} | {keyed.link.key}
    own = {rows.name: _of_rows(rows, keyed, keys, parts) for rows in parts}
    chance = chance_of(keys)
    kinds = [values.drop_nulls().unique() for _, _, values in seen]
    for (rows, name, values), count, hits in zip(seen, map(len, kinds), _among(kinds, keys), strict=True):
        half = 0 < count <= 2 * hits
        sure = half and (_is_called(name, called) or chance**hits <= RARE)
        if sure or _copied(values, count, own[rows.name]):
            yield rows, name


def _among(several: Sequence[pl.Series], keys: pl.Series) -> list[int]:
    """Of several lists of values how many of each are keys; the keys, of which there may be millions, are gone through once."""
    lengths = [len(values) for values in several]
    if not sum(lengths):
        return [0] * len(several)
    place = np.repeat(np.arange(len(several)), lengths)
    values = pl.DataFrame({"place": place, "value": pl.concat(several, rechunk=False)})
    met = values.join(pl.DataFrame({"value": keys}), on="value", how="semi")["place"].to_numpy()
    return [int(hits) for hits in np.bincount(met, minlength=len(several))]


def _of_rows(rows: TableRows, keyed: TableRows, keys: pl.Series, parts: Sequence[TableRows]) -> pl.Series | None:
    """Per row the key of the row of another table that it belongs to, or of itself; None where it belongs to none."""
    if keyed is rows:
        return keys.head(SAMPLE)
    if keyed is parts[0]:
        return keys.gather(rows.owner[:SAMPLE])
    return keys.gather(rows.above[:SAMPLE]) if rows.link.parent == keyed.name else None


def _copied(values: pl.Series, kinds: int, keys: pl.Series | None) -> bool:
    """Whether values are the keys, row by row, and no few of them."""
    return keys is not None and kinds >= FEWEST and bool((values == keys).drop_nulls().all())


def chance_of(keys: pl.Series) -> float:
    """How likely another value is to be one of the keys by chance: of numbers in a row surely, if it lies between them; of longer words hardly.

    >>> chance_of(pl.Series(["7", "8", "9"])), chance_of(pl.Series(["1001", "2000"])), chance_of(pl.Series(["ab12", "ab13"])) < 2e-6
    (1.0, 0.002, True)
    """
    if bool(keys.str.contains(r"^-?\d{1,18}$").all()):
        numbers = keys.cast(pl.Int64)
        return min(1.0, len(keys) / (int(numbers.max()) - int(numbers.min()) + 1))  # type: ignore[arg-type]
    shortest = int(keys.str.len_chars().min() or 0)  # type: ignore[arg-type]
    return 1.0 if shortest < SHORT else min(1.0, len(keys) / SIGNS ** min(shortest, 99))


def _is_called(column: str, names: set[str | None]) -> bool:
    """Whether a column is called as a key is, or as somebody's: ``person_id``, ``mother_person_id``."""
    return any(name is not None and (column == name or column.endswith(f"_{name}")) for name in names)
