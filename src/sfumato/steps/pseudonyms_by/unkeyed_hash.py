"""Hashes without a key: what others call pseudonyms, and what a list of names undoes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

Algorithm = Literal["sha256", "sha1", "md5"]
LENGTHS: dict[Algorithm, int] = {"sha256": 64, "sha1": 40, "md5": 32}
WARNING = (
    "{algorithm} without a key is no protection: whoever has a list of names or numbers hashes the list and compares "
    "(billions of guesses a second). Everyone in such a list is named again. Use 'method: keyed', or drop the column"
)


def unkeyed_hash(values: Sequence[str], algorithm: Algorithm) -> tuple[list[str], bool]:
    """The hexadecimal hash of every value, and whether the values were hashes of that length already.

    Hashes that came with the table are kept as they are. (Two names of one hash would need a collision that someone
    prepared; the step checks for it.)
    """
    form = re.compile(rf"[0-9a-fA-F]{{{LENGTHS[algorithm]}}}")
    if values and all(form.fullmatch(value) for value in values):
        return list(values), True
    return [hashlib.new(algorithm, value.encode(), usedforsecurity=False).hexdigest() for value in values], False
