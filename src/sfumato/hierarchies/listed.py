"""Hierarchies that list their leaves: what makes the list sound, and the paths of values under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.core.hierarchy import TOP, Paths
from sfumato.errors import SchemaError

Row = tuple[str, ...]
SHOWN = 5
"""How many problems of one kind are spelled out."""


def paths_under(leaf_rows: Sequence[Row], values: Sequence[str], what: str, other: str | None = None) -> Paths:
    """Paths of values under listed leaves; ``other`` adopts the values that are not listed.

    A value may be any node of the list; where a label occurs on several levels the lowest counts. The label
    ``*`` (a suppressed cell) is always understood as the top.
    """
    known = _node_rows(leaf_rows)
    listed = None if other is None else known.get(other)
    if other is not None and listed is None:
        known[other] = (other,) * (len(leaf_rows[0]) - 1) + leaf_rows[0][-1:]
    adopted = _adopted([v for v in values if v not in known], len(values), known, what, other)
    if other is not None and listed is None and not adopted and other in values:
        adopted[other] = known[other]  # nothing below it is known: it is a leaf like the others
    rows = [adopted.get(v) or known[v] for v in values]
    return Paths.from_leaf_rows(rows, [*leaf_rows, *adopted.values()])


def _node_rows(leaf_rows: Sequence[Row]) -> dict[str, Row]:
    """Every label of the list with the path it has as a value."""
    known = {row[0]: row for row in leaf_rows}
    depth = len(leaf_rows[0])
    for level in range(1, depth):
        for row in leaf_rows:
            if row[level] not in known:
                known[row[level]] = (row[level],) * level + row[level:]
    known.setdefault(TOP, (TOP,) * (depth - 1) + leaf_rows[0][-1:])
    return known


def _adopted(uncovered: list[str], total: int, known: dict[str, Row], what: str, other: str | None) -> dict[str, Row]:
    if uncovered and other is None:
        raise SchemaError(
            f"{what}: {len(uncovered)} of {total} distinct values are not covered; add them to the hierarchy, "
            "give other='…' to put them under one label below the top, or use another hierarchy"
        )
    return {value: (value, *known[str(other)][1:]) for value in uncovered}


def require_other_below_top(other: str | None, top: str) -> None:
    """Raise when the catch-all is the top itself."""
    if other == top:
        raise SchemaError("other must be a label below the top, not the top itself")


def require_sound(rows: Sequence[Row], what: str, place: Callable[[int], str]) -> None:
    """Raise one error with all that is wrong with a list of leaf rows.

    ``place`` says where row *i* is written: ``line 7`` of a file, ``row 7`` of a table. Rows that repeat another
    one are fine.
    """
    if not rows:
        raise SchemaError(
            f"{what} is empty; write one row for each value: the value, its coarser values, one common top"
        )
    problems = _uneven(rows, what, place)
    if not problems and len(rows[0]) == 1:
        problems = [
            f"{what}: rows have one level only; each needs at least a value and the top. If there are more, check the delimiter"
        ]
    problems = problems or _torn(rows, what, place) + _several_tops(rows, what, place)
    if problems:
        raise SchemaError(problems)


def _uneven(rows: Sequence[Row], what: str, place: Callable[[int], str]) -> list[str]:
    depth = len(rows[0])
    wrong = [i for i, row in enumerate(rows) if len(row) != depth]
    found = [
        f"{what}, {place(i)}: has {len(rows[i])} levels where {place(0)} has {depth}; give all rows as many levels "
        "(repeat the value on the levels where it does not change)"
        for i in wrong[:SHOWN]
    ]
    return found + _more(wrong, what)


def _torn(rows: Sequence[Row], what: str, place: Callable[[int], str]) -> list[str]:
    """Nodes with two different parents."""
    found = []
    for level in range(len(rows[0]) - 1):
        first: dict[str, int] = {}
        clashes = [
            (first[row[level]], i)
            for i, row in enumerate(rows)
            if rows[first.setdefault(row[level], i)][level + 1] != row[level + 1]
        ]
        found += [
            f"{what}, {place(i)} and {place(j)}: the same label of level {level} stands under two different labels of "
            f"level {level + 1}; every label needs one parent, so correct one of the rows"
            for i, j in clashes[:SHOWN]
        ] + _more(clashes, what)
    return found


def _several_tops(rows: Sequence[Row], what: str, place: Callable[[int], str]) -> list[str]:
    tops = {row[-1] for row in rows}
    if len(tops) == 1:
        return []
    second = next(i for i, row in enumerate(rows) if row[-1] != rows[0][-1])
    where = f"the first two on {place(0)} and {place(second)}"
    cure = f"add a last level with the same label in every row, such as {TOP}"
    return [f"{what}: the last level must be one single value, it has {len(tops)}, {where}; {cure}"]


def _more(found: Sequence[object], what: str) -> list[str]:
    rest = len(found) - SHOWN
    return [f"{what}: {rest} more of this kind"] if rest > 0 else []
