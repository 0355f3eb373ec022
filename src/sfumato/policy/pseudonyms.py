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
