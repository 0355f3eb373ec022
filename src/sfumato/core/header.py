"""Columns that were asked for and are not there, told without showing what may be a person.

The first row of a delimited text or a workbook names its columns, or it is the first record of a file without such a row. So a name from it
is told only when the header is *confirmed*: more than half of the names that the recipe or the call uses stand in it. Otherwise
columns are counted and told by their position. Formats that store names (Parquet, Arrow, JSON lines, SPSS, Stata, SAS) and
frames need no confirmation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.core.source import Source
from sfumato.errors import nearest

GUESSED = ("csv", "excel")
MOST_NAMED = 10
ASK = "if its first row holds data, say --no-header (header: false)"


UNKNOWN = Source("the table", "csv")
"""A table of which only the columns are at hand: nothing vouches for their names."""


def confirmed(columns: Sequence[str], source: Source, said: Iterable[str]) -> bool:
    """Whether the names of columns are names: by the format, or since most names that were said are among them."""
    names, there = set(said), set(columns)
    return source.format not in GUESSED or 2 * len(names & there) > len(names)


def lacking(columns: Sequence[str], source: Source, asked: Iterable[str], said: Iterable[str] = ()) -> list[str]:
    """A sentence about every column that was asked for and is not there, or one about all of which there is no more to say.

    ``said`` are other names in use, which confirm a header.

    >>> lacking(["zip", "age"], Source("t.csv", "csv"), ["zipcode", "age"], ["zip"])
    ["t.csv has no column 'zipcode'. Did you mean 'zip'?"]
    >>> lacking(["Alice", "41"], Source("t.csv", "csv"), ["age", "sex"])
    ["t.csv has no columns 'age', 'sex': 0 of the 2 asked for are among its 2; if its first row holds data, say --no-header (header: false)"]
    """
    wanted = dict.fromkeys(asked)
    missing = [name for name in wanted if name not in columns]
    if not missing:
        return []
    if not confirmed(columns, source, {*wanted, *said}):
        found = f"{len(wanted) - len(missing):,} of the {len(wanted):,} asked for are among its {len(columns):,}"
        return [f"{source.name} has no {_named(missing)}: {found}; {ASK}"]
    hints = {name: nearest(str(name), columns) for name in missing}
    alike = [name for name in missing if not hints[name]]
    told = [f"{source.name} has no {_named(alike)}"] if alike else []
    return told + [f"{source.name} has no column {name!r}.{hint}" for name, hint in hints.items() if hint]


def without_role(columns: Sequence[str], source: Source, said: Iterable[str], roles: str) -> list[str]:
    """A sentence about the columns of which nothing was said: by name, or by position where they cannot be named."""
    known = set(said)
    left = [i for i, name in enumerate(columns, start=1) if name not in known]
    if not left:
        return []
    which = _named([columns[i - 1] for i in left]) if confirmed(columns, source, known) else placed(left)
    have = "have no role; give each" if len(left) > 1 else "has no role; give it"
    return [f"{which} of {source.name} {have} one ({roles}), 'plain' if it is none of the others"]


def _named(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {and_more([repr(name) for name in names])}"


def and_more(which: Sequence[str], most: int = MOST_NAMED) -> str:
    """A few of a list in a sentence, and how many more there are."""
    more = f" and {len(which) - most:,} more" if len(which) > most else ""
    return ", ".join(which[:most]) + more


def placed(positions: Sequence[int], most: int = MOST_NAMED) -> str:
    """Columns by their position (from 1) in a sentence, at most a few of them.

    >>> placed([3]), placed([1, 4, 9], most=2)
    ('column 3', 'columns 1, 4 and 1 more')
    """
    return f"column{'s' if len(positions) > 1 else ''} {and_more([str(i) for i in positions], most)}"
