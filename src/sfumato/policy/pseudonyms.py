"""Pseudonymization methods as policies name them, from the strongest to the weakest."""

from __future__ import annotations

import re

RANDOM, KEYED, COUNTER, UNKEYED = "random table", "keyed hash", "counter", "unkeyed hash"
STRENGTH = (RANDOM, KEYED, COUNTER, UNKEYED)
"""Random tables say nothing about the value; keyed hashes nothing without the key; counters the order; unkeyed
hashes of few values everything."""
WORDS = (
    (RANDOM, ("random", "table", "uuid", "mapping", "tokenization")),
    (KEYED, ("hmac", "keyed", "mac", "aes", "encryption", "pid")),
    (COUNTER, ("counter", "sequence", "serial", "number")),
    (UNKEYED, ("sha", "md5", "hash", "blake", "crc")),
)


def strength_of(name: str) -> str:
    """The class of a method; one that is not known is held for the weakest.

    >>> strength_of("HMAC-SHA-256"), strength_of("SHA-1"), strength_of("Random table")
    ('keyed hash', 'unkeyed hash', 'random table')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return next((kind for kind, words in WORDS if any(word in plain for word in words)), UNKEYED)


def unkeyed(name: str) -> bool:
    """Whether a method can be undone by whoever tries all values."""
    return strength_of(name) == UNKEYED


def instead_of_unkeyed(*, key: bool) -> str:
    """The method that takes the place of a hash without a key: one with the key, where there is one.

    >>> instead_of_unkeyed(key=True), instead_of_unkeyed(key=False)
    ('keyed', 'random_table')
    """
    return "keyed" if key else "random_table"


def told_of_unkeyed(who: str, *, key: bool | None) -> str:
    """What is said about a hash without a key, by whoever meets it; ``key`` is None where it is not known whether there is one.

    >>> told_of_unkeyed("SHA-1", key=None)
    'SHA-1: a hash without a key can be undone by trying all values; random_table is used in its place, or keyed where a key is given'
    """
    if key is None:
        used = f"{instead_of_unkeyed(key=False)} is used in its place, or {instead_of_unkeyed(key=True)} where a key is given"
    else:
        used = f"{instead_of_unkeyed(key=key)} is used in its place"
    return f"{who}: a hash without a key can be undone by trying all values; {used}"
