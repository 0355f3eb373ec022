"""What the means for several tables did, in sentences that anybody reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KNOWN = (
    "step",
    "table",
    "means",
    "kind",
    "levels",
    "rows_dropped",
    "suppressed_records",
    "suppressed_classes",
    "preserved",
    "warning",
)
"""What the sentence about a step in one table tells itself, or leaves to other places."""


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a sentence lists them.

    >>> listed(["1", "2", "5"], "or"), listed(["visits"])
    ('1, 2 or 5', 'visits')
    """
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(count: int, one: str, several: str) -> str:
    """So many of something.

    >>> counted(1, "row", "rows"), counted(1200, "row", "rows"), counted(0, "person", "people")
    ('1 row', '1,200 rows', 'no people')
    """
    return f"{count:,} {one if count == 1 else several}" if count else f"no {several}"


def were(count: int) -> str:
    """The verb of so many."""
    return "was" if count == 1 else "were"


def share_told(share: float) -> str:
    """A share in words that do not say that nothing is something.

    >>> share_told(0.139248), share_told(0.00005), share_told(0.0)
    ('13.9%', 'less than 0.1%', '0.0%')
    """
    return "less than 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def rows_gone(gone: Mapping[str, int], share: float) -> str:
    """How many rows of each table went.

    >>> rows_gone({"visits": 1932, "rx": 1}, 0.139248), rows_gone({"visits": 0}, 0.0)
    ('1,932 rows of visits and 1 row of rx went, 13.9% of all', 'none had to go')
    """
    told = [f"{counted(count, 'row', 'rows')} of {table}" for table, count in gone.items() if count]
    return f"{listed(told)} went, {share_told(share)} of all" if told else "none had to go"


def in_table(told: Mapping[str, Any]) -> str:
    """What a step of ordinary tables did in one of several.

    >>> in_table({"table": "visits", "means": "global_recoding", "levels": {"ward": {"level": 0, "top": 1}, "day": {"level": 2, "top": 4}, "age": {"level": 3, "top": 3}}})
    'It generalised day to level 2 of 4, left nothing of age and kept ward exact; all rows stayed.'
    >>> in_table({"table": "people", "means": "mondrian", "kind": "class recoding", "regions": 586, "rows_dropped": 1})
    'It was carried out (regions: 586); 1 row was dropped.'
    """
    gone = told.get("rows_dropped", 0)
    rows = f"{counted(gone, 'row', 'rows')} {were(gone)} dropped" if gone else "all rows stayed"
    if told.get("levels"):
        return f"It {_levels(told['levels'])}; {rows}."
    single = [
        f"{field.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{field.replace('_', ' ')}: {value}"
        for field, value in told.items()
        if field not in KNOWN and isinstance(value, str | int | float)
    ]
    return f"It was carried out{' (' * bool(single)}{'; '.join(single)}{')' * bool(single)}; {rows}."


def _levels(levels: Mapping[str, Mapping[str, int]]) -> str:
    """What became of columns that have a level each."""
    exact = [column for column, place in levels.items() if place["level"] == 0]
    nothing = [column for column, place in levels.items() if place["level"] == place["top"] > 0]
    between = [
        f"{column} to level {place['level']} of {place['top']}"
        for column, place in levels.items()
        if 0 < place["level"] < place["top"]
    ]
    parts = [f"generalised {listed(between)}"] if between else []
    parts += [f"left nothing of {listed(nothing, 'or')}"] if nothing else []
    parts += [f"kept {listed(exact)} exact"] if exact else []
    return listed(parts)
