"""Hierarchy entries of many people as one hierarchy, which they must agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato import registry
from sfumato.core.hierarchy import TOP
from sfumato.errors import SchemaError
from sfumato.policy.findings import Findings

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy

Row = tuple[str, ...]


def merged_hierarchy(column: str, rows: Sequence[Row], findings: Findings) -> Any:
    """A table hierarchy of all rows; None, with a finding, where they contradict each other.

    Rows must be equally long, and a label must have the same label above it in all of them. Where the coarsest labels
    differ, a common top is put above them, which adds a level.
    """
    depths = {len(row) for row in rows}
    if len(depths) > 1:
        told = f"{column}: hierarchy entries have from {min(depths)} to {max(depths)} levels in different policies"
        findings.error("hierarchy_uneven", column, told)
        return None
    torn = torn_labels(rows)
    for level, count in torn.items():
        told = f"{column}: {count} label(s) of level {level} stand under different labels in different policies"
        findings.error("hierarchy_disagrees", column, told)
    if torn:
        return None
    if len({row[-1] for row in rows}) > 1 or depths == {1}:
        rows = [(*row, TOP) for row in rows]
    return registry.build("hierarchies", {"table": {"rows": [list(row) for row in rows]}})


def torn_labels(rows: Sequence[Row]) -> Mapping[int, int]:
    """Level → how many of its labels have two different labels above them."""
    found: dict[int, int] = {}
    for level in range(len(rows[0]) - 1):
        above: dict[str, str] = {}
        torn = {row[level] for row in rows if above.setdefault(row[level], row[level + 1]) != row[level + 1]}
        if torn:
            found[level] = len(torn)
    return found


def check_entries(column: str, hierarchy: Hierarchy, rows: Sequence[Row], findings: Findings) -> None:
    """Find entries that say something else than the hierarchy of the table: its levels would not be the policy's."""
    try:
        paths = hierarchy.paths([row[0] for row in rows], [1] * len(rows)).rows
    except SchemaError:
        told = f"{column}: the hierarchy of the table does not know all values that policies have entries for"
        findings.error("hierarchy_disagrees_with_table", column, told)
        return
    wrong = sum(tuple(path[: len(row)]) != row for path, row in zip(paths, rows, strict=True))
    if wrong:
        told = f"{column}: {wrong} of {len(rows)} hierarchy entries are not those of the table's own hierarchy"
        findings.error("hierarchy_disagrees_with_table", column, told)


def uncovered(hierarchy: Hierarchy, labels: Sequence[str | None], counts: Sequence[int]) -> bool:
    """Whether a hierarchy lacks values that occur."""
    try:
        hierarchy.paths(
            [v for v in labels if v is not None], [c for v, c in zip(labels, counts, strict=True) if v is not None]
        )
    except SchemaError:
        return True
    return False
