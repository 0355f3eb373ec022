"""The names of columns as the first row of a file gives them."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.dataset import refuse_patterns
from sfumato.core.source import placed
from sfumato.errors import UnreadableInput
from sfumato.io.formats import listed

MOST_PAIRS = 5


def column_names(cells: Sequence[str], *, where: str, rename: bool) -> tuple[list[str], list[str]]:
    """Names of the columns, and what there is to say about them.

    A column without a name gets one by position. A name that comes again is refused, or with ``rename`` gets a number:
    ``a, a, a`` become ``a, a_2, a_3``. The refusal tells positions, not names: the row may hold data.

    >>> column_names(["a", " a", "a_2", ""], where="t.csv, line 1", rename=True)[0]
    ['a', 'a_3', 'a_2', 'column_4']
    """
    names = [cell.strip() or f"column_{i}" for i, cell in enumerate(cells, start=1)]
    unnamed = [column for column, cell in zip(names, cells, strict=True) if not cell.strip()]
    notes = [f"{listed(unnamed)} had no name and got one by position"] if unnamed else []
    refuse_patterns(names)
    again = repeated(names)
    if again and not rename:
        pairs = [f"{first:,} and {i:,}" for i, first in again.items()]
        more = f" and {len(pairs) - MOST_PAIRS:,} more pairs" if len(pairs) > MOST_PAIRS else ""
        raise UnreadableInput(
            f"{where}: columns {', '.join(pairs[:MOST_PAIRS])}{more} have the same name; rename them in the file, let "
            "--rename-duplicates (rename_duplicates=True) number them, or say --no-header (header=False) if the row holds data"
        )
    if again:
        names = numbered(names)
        notes.append(f"names that came twice got a number: {placed(list(again))}")
    return names, notes


def repeated(names: Sequence[str]) -> dict[int, int]:
    """Position of every column whose name came before → position of the first one; counted from 1."""
    first: dict[str, int] = {}
    places = enumerate(names, start=1)
    return {i: first[name] for i, name in places if first.setdefault(name, i) != i}


def numbered(names: Sequence[str]) -> list[str]:
    """Names made different: the second ``a`` is ``a_2``, unless a column has that name already."""
    taken, counts, made = set(names), dict[str, int](), list[str]()
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        fresh = name
        while counts[name] > 1 and fresh in taken:
            fresh = f"{name}_{counts[name]}"
            counts[name] += fresh in taken
        taken.add(fresh)
        made.append(fresh)
    return made
