"""What a character may become when the form of a value is kept."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLASSES = frozenset({"Nd", "Lu", "Ll", "Lt", "Lm", "Lo"})
"""Digits and letters of any script; all other characters stay."""


def alphabet_of(character: str) -> str:
    """The characters of the same class near a character: digits, small or capital letters of its script.

    ASCII letters and digits stay ASCII. Elsewhere the characters of the same category in the same block of 256 code
    points count, as the Unicode database 3.2 has them: it comes with every Python and never changes, so neither do the
    pseudonyms. A character that is kept has an alphabet of itself alone.

    >>> alphabet_of("7"), alphabet_of("q"), alphabet_of("-"), "é" in alphabet_of("ü")
    ('0123456789', 'abcdefghijklmnopqrstuvwxyz', '-', True)
    """
    category = unicodedata.ucd_3_2_0.category(character)
    if category not in CLASSES:
        return character
    low = 0x80 if 0x80 <= ord(character) < 0x100 else ord(character) & ~0xFF
    high = 0x80 if low == 0 else (low & ~0xFF) + 0x100
    return _alphabet(category, low, high)


@cache
def _alphabet(category: str, low: int, high: int) -> str:
    return "".join(chr(c) for c in range(low, high) if unicodedata.ucd_3_2_0.category(chr(c)) == category)


class CharacterTable:
    """Per code point that occurs: the number of its alphabet, its place in it, and how many characters that has."""

    def __init__(self, points: NDArray[np.uint32]) -> None:
        import numpy as np

        self.points = np.unique(points)
        alphabets = [alphabet_of(chr(point)) for point in self.points.tolist()]
        self.alphabets = sorted(set(alphabets))
        number = {alphabet: i for i, alphabet in enumerate(self.alphabets)}
        places = [alphabet.index(chr(p)) for alphabet, p in zip(alphabets, self.points.tolist(), strict=True)]
        self.numbers = np.array([number[a] for a in alphabets], dtype=np.int64)
        self.places = np.array(places, dtype=np.int64)
        self.sizes = np.array([len(a) for a in alphabets], dtype=np.int64)
        self.first = np.array([ord(a[0]) for a in alphabets], dtype=np.int64)
        starts = np.cumsum([0, *(len(a) for a in self.alphabets)])
        self.starts = starts[self.numbers]
        self.flat = np.array([ord(c) for a in self.alphabets for c in a], dtype=np.uint32)

    def rows(self, points: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The row of this table for each code point."""
        import numpy as np

        return np.searchsorted(self.points, points).astype(np.int64)
