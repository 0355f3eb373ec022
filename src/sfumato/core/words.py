"""Numbers, plurals and lists of names in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a sentence lists them.

    >>> listed(["1", "2", "5"], "or"), listed(["visits"])
    ('1, 2 or 5', 'visits')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(count: int, one: str, several: str) -> str:
    """So many of something.

    >>> counted(1, "row", "rows"), counted(1200, "row", "rows"), counted(0, "person", "people")
    ('1 row', '1,200 rows', 'no people')
    """
    if not count:
        return f"no {several}"
    return f"{count:,} {one if count == 1 else several}"


def were(count: int) -> str:
    """The verb of so many."""
    return "was" if count == 1 else "were"
