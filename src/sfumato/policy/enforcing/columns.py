"""What the columns of a table are under the merged policies: roles and hierarchies."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import registry
from sfumato.core.classes import ladder_of
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.errors import SchemaError
from sfumato.policy.documents import Findings
from sfumato.policy.enforcing.guarantee import Decision, Guarantee
from sfumato.policy.enforcing.people import COLUMN
from sfumato.policy.policy import Group

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Hierarchy


# Hierarchy entries of many people as one hierarchy, which they must agree on.

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


ROLES = {Group.EI: Role.DIRECT, Group.QID: Role.QUASI, Group.SD: Role.SENSITIVE, Group.NSD: Role.PLAIN}
DESIGN = (Role.WEIGHT, Role.UNIT, Role.STRATUM)
"""Roles that only the table knows."""

LEFT_OUT = "left out"
"""Stands above values that nobody has whose data are used."""

Entries = Mapping[str, Sequence[tuple[str, ...]]]


def described_columns(
    dataset: Dataset, merged: Guarantee, entries: Entries, findings: Findings
) -> tuple[Schema, dict[str, int], list[Decision]]:
    """The schema of a table under the policies, the top level of each hierarchy, and what was decided.

    What is withheld gets the role direct, which is dropped. The table's own hierarchies are used where it has some, and policies
    must agree with them; otherwise the entries of the policies are put together. A column that must be coarser and has
    neither can only be withheld as a whole, value by value.
    """
    attributes: dict[str, Attribute] = {}
    decisions: list[Decision] = []
    used = _used(dataset, merged)
    for column in dataset.columns:
        if (column == COLUMN and merged.own) or column in merged.withheld:
            attributes[column] = Attribute((Role.DIRECT,))
        elif column in merged.groups:
            attributes[column] = _attribute(dataset, used, column, merged, entries, findings, decisions)
        elif column in dataset.schema.attributes:
            attributes[column] = dataset.schema[column]
    findings.raise_errors()
    schema = Schema(attributes)
    described = dataset.with_schema(schema)
    described.checked()
    return schema, _tops(described, merged, findings), decisions


def _attribute(
    dataset: Dataset,
    used: Dataset,
    column: str,
    merged: Guarantee,
    entries: Entries,
    findings: Findings,
    decisions: list[Decision],
) -> Attribute:
    given = dataset.schema.attributes.get(column)
    roles = tuple(ROLES[group] for group in merged.groups[column])
    if given is not None and Role.DIRECT not in roles:
        if given.has(Role.DIRECT):
            roles = (Role.DIRECT,)
        design = tuple(role for role in given.roles if role in DESIGN)
        if design and roles == (Role.PLAIN,):
            roles = design
        elif Role.STRATUM in design and Role.PLAIN not in roles:
            roles = (*roles, Role.STRATUM)
    hierarchy = _hierarchy(dataset, used, column, roles, merged, entries, findings, decisions)
    if given is None:
        return Attribute(roles, kind=_kind(dataset, column), hierarchy=hierarchy)
    return dataclasses.replace(given, roles=roles, hierarchy=hierarchy)


def _kind(dataset: Dataset, column: str) -> Kind:
    dtype = dataset.column(column).dtype
    if dtype.is_numeric():
        return Kind.NUMERIC
    return Kind.DATE if dtype.is_temporal() else Kind.NOMINAL


def _hierarchy(
    dataset: Dataset,
    used: Dataset,
    column: str,
    roles: Sequence[Role],
    merged: Guarantee,
    entries: Entries,
    findings: Findings,
    decisions: list[Decision],
) -> Hierarchy | None:
    given = dataset.schema.attributes.get(column)
    own = given.hierarchy if given is not None else None
    rows = entries.get(column, ())
    if Role.DIRECT in roles:
        return None
    if own is not None:
        if rows:
            check_entries(column, own, rows, findings)
        return own
    if rows:
        made: Hierarchy | None = _covering(dataset, used, column, merged_hierarchy(column, rows, findings), findings)
        return made
    if Role.QUASI in roles or column in merged.floors:
        told = f"{column} has no hierarchy; it stays as it is or is withheld value by value"
        decisions.append(Decision("no_hierarchy", column, told))
        suppressed: Hierarchy = registry.build("hierarchies", "suppress")
        return suppressed
    return None


def _covering(dataset: Dataset, used: Dataset, column: str, hierarchy: Hierarchy | None, findings: Findings) -> Any:
    """A hierarchy that knows every value: what only people have who are left out is put under a label of its own."""
    if hierarchy is None:
        return None
    if _lacks_values(hierarchy, used, column):
        told = (
            f"{column}: the policies have no hierarchy entries for some values of the table; give the table a hierarchy"
        )
        findings.error("hierarchy_incomplete", column, told)
    if _lacks_values(hierarchy, dataset, column):
        return dataclasses.replace(hierarchy, other=LEFT_OUT)  # type: ignore[type-var]
    return hierarchy


def _lacks_values(hierarchy: Hierarchy, dataset: Dataset, column: str) -> bool:
    encoded = encode(dataset.column(column))
    return uncovered(hierarchy, encoded.labels, encoded.counts.tolist())


def _used(dataset: Dataset, merged: Guarantee) -> Dataset:
    """The rows of people whose policies are enforced."""
    if not merged.own or COLUMN not in dataset.columns:
        return dataset
    encoded = encode(dataset.column(COLUMN))
    allowed = np.array([label in merged.own for label in encoded.labels], dtype=bool)
    return dataset.take(np.flatnonzero(allowed[encoded.codes]))


def _tops(dataset: Dataset, merged: Guarantee, findings: Findings) -> dict[str, int]:
    """The top level of every column that policies name a level for; a minimum above it is a finding."""
    tops = {}
    floors = merged.floors
    for column in dict.fromkeys([*floors, *merged.caps]):
        if dataset.schema[column].has(Role.DIRECT):
            continue
        tops[column] = ladder_of(dataset, column, encode(dataset.column(column))).top
        if floors.get(column, 0) > tops[column]:
            told = f"{column}: level {floors[column]} is asked for, but its hierarchy ends at level {tops[column]}"
            findings.error("min_above_hierarchy", column, told)
    return tops
