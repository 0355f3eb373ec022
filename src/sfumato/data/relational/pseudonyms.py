"""Pseudonyms for keys: one a key, the same in every table, and no number of the input in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Document
from sfumato.core.keys import derived, digests
from sfumato.core.relations import canonical
from sfumato.data.relational.rows import TableRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.randomness import Seed

LETTERS = np.frombuffer(b"bcdfghjkmnpqrstv", dtype=np.uint8)
"""One for every four bits; no digits, so that nothing takes a pseudonym for a number, and no
vowels, so that it is no word.
"""
PURPOSE = "pseudonym of rows"


def given(parts: Sequence[TableRows], seed: Seed) -> tuple[TableRows, ...]:
    """The tables with a random pseudonym for every key, and for every person of a table that joins
    with nobody, that has none yet.

    Random pseudonyms are what a keyed code under a key that nobody keeps would be: they say
    nothing, and no other release has them.
    """
    return tuple(_replace_keys(rows, seed) for rows in parts)


def _replace_keys(rows: TableRows, seed: Seed) -> TableRows:
    fresh: Document = {}
    # Pseudonyms that a step gave are kept.
    if rows.link.key is not None and rows.labels is None:
        fresh["labels"] = letters(_distinct(seed.stream(f"pseudonyms of {rows.name}"), len(rows)))
    if rows.apart and rows.groups is None:
        # One pseudonym for each person of the table, repeated in all rows.
        persons, person_numbers = np.unique(rows.owner, return_inverse=True)
        draws = _distinct(seed.stream(f"pseudonyms of people in {rows.name}"), len(persons))
        fresh["groups"] = letters(draws).gather(person_numbers)
    if not fresh:
        return rows
    return dataclasses.replace(rows, **fresh)


def keyed(parts: Sequence[TableRows], key: bytes) -> tuple[TableRows, ...]:
    """The tables with the pseudonyms that a secret key gives: HMAC-SHA-256 of the key as text, in
    the domain of its table.

    Tables that join with the people and tables that do not have other domains: else a release in
    which they join would put together again what another one under the same key cuts. The first 64
    bits are written, more where two of them would be the same.
    """
    split = any(rows.apart for rows in parts)
    return tuple(_keyed(rows, parts[0], key, split=split) for rows in parts)


def _keyed(rows: TableRows, people: TableRows, key: bytes, *, split: bool) -> TableRows:
    fresh: Document = {}
    if rows.names is not None:
        # Another domain after a split, so that two releases under one key do not join across the
        # cut.
        if split and not rows.is_people:
            domain = f"{rows.name} apart"
        else:
            domain = rows.name
        fresh["labels"] = _coded(rows.names, derived(key, PURPOSE, domain))
    if rows.apart and people.names is not None:
        codes = _coded(people.names, derived(key, PURPOSE, f"{people.name} in {rows.name}"))
        fresh["groups"] = codes.gather(rows.owner)
    if not fresh:
        return rows
    return dataclasses.replace(rows, **fresh)


def _coded(names: pl.Series, secret: bytes) -> pl.Series:
    hashes = digests(secret, canonical(names).cast(pl.String).to_list())
    # 64 bits are enough but for rare collisions; then more of the same hash is written.
    for words in range(1, 5):
        codes = letters(hashes[:, : 8 * words].copy().view(np.uint64).byteswap())
        if codes.n_unique() == len(codes):
            break
    return codes


def _distinct(stream: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Different random numbers of 64 bits."""
    # Equal draws are nearly impossible; if they happen, all are drawn again.
    while True:
        draws = stream.integers(0, 1 << 64, size=count, dtype=np.uint64)
        ordered = np.sort(draws)
        if not (ordered[1:] == ordered[:-1]).any():
            return draws


def are_pseudonyms(keys: pl.Series) -> bool:
    """Whether keys are all written as pseudonyms are: sixteen letters, or as many again.

    >>> (
    ...     are_pseudonyms(pl.Series(["bbbbbbbbbbbbbbbb"])),
    ...     are_pseudonyms(pl.Series(["P0001"])),
    ...     are_pseudonyms(pl.Series([7])),
    ... )
    (True, False, False)
    """
    spelled = f"^(?:[{LETTERS.tobytes().decode()}]{{16}})+$"
    return keys.dtype == pl.String and bool(keys.drop_nulls().str.contains(spelled).all())


def letters(words: NDArray[np.uint64]) -> pl.Series:
    """Numbers of 64 bits, one or several a row, as 16 letters each.

    >>> letters(np.array([0, 0x0123456789ABCDEF], dtype=np.uint64)).to_list()
    ['bbbbbbbbbbbbbbbb', 'bcdfghjkmnpqrstv']
    """
    # The highest byte first, so that letters follow the digits of the number.
    rows = np.ascontiguousarray(words.astype(">u8").reshape(len(words), -1)).view(np.uint8)
    spelled = np.empty((rows.shape[0], 2 * rows.shape[1]), dtype=np.uint8)
    # Two letters a byte: the upper four bits, then the lower four.
    spelled[:, 0::2], spelled[:, 1::2] = LETTERS[rows >> 4], LETTERS[rows & 15]
    return pl.Series(
        spelled.view(f"S{spelled.shape[1]}").reshape(-1).astype(str).tolist(), dtype=pl.String
    )
