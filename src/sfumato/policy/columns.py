"""What merged policies ask of a table and of its columns: the common minimum guarantee, then roles
and hierarchies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.core import registry
from sfumato.core.classes import ladder_of
from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.core.schema import UNITS, Attribute, Kind, Role, Schema
from sfumato.core.words import join_words
from sfumato.errors import SchemaError
from sfumato.policy.documents import Findings
from sfumato.policy.people import COLUMN
from sfumato.policy.policy import (
    STRENGTH,
    Group,
    Purpose,
    UnknownPromise,
    demand_of,
    models_of,
    strength_of,
    strongest,
)

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.table import Table

OnConflict = Literal["privacy", "suppress_rows", "fail"]


@dataclasses.dataclass(frozen=True)
class CompilerDecision:
    """One thing that had to be decided on the way, for the record: names and counts, no values."""

    rule: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclasses.dataclass(frozen=True, eq=False)
class Guarantee:
    """What was merged. ``groups`` are the privacy groups of each column that may be released;
    ``floors`` and ``caps`` are levels; ``pseudonyms`` the strength of the method for each
    identifier that gets a pseudonym; ``left_out`` the people's policies that are dropped to settle
    a conflict.
    """

    groups: Mapping[str, frozenset[Group]]
    withheld: tuple[str, ...]
    everybody: Mapping[str, int]
    own: Mapping[str, Mapping[str, int]]
    caps: Mapping[str, int]
    pseudonyms: Mapping[str, str]
    models: tuple[Model, ...]
    left_out: tuple[str, ...]
    decisions: tuple[CompilerDecision, ...]

    @property
    def floors(self) -> dict[str, int]:
        """The largest minimum level of each column."""
        floors: dict[str, int] = {}
        for wish in (self.everybody, *self.own.values()):
            for column, level in wish.items():
                floors[column] = max(level, floors.get(column, 0))
        return floors


def common_guarantee(
    shared: Sequence[Purpose],
    own: Mapping[str, Purpose],
    columns: Sequence[str],
    *,
    on_conflict: OnConflict = "privacy",
    sensitive: Sequence[str] = (),
) -> Guarantee:
    """Merge what the policies for everybody (``shared``) and people's own (``own``) ask for.

    - privacy group: EI if any says so; otherwise all roles together (QID and SD both count), and
      NSD only if all say NSD
    - data: a column that a policy does not list, or asks to delete or suppress, is withheld
    - minimum level: per person; the floor of a column is the largest
    - maximum level: the smallest; below the floor it is a conflict
    - privacy models: the strongest set under the order of implication
    - pseudonyms: the strongest method; an identifier for which a policy names none is dropped

    ``sensitive`` are the columns that models protect where no policy lists data. ``on_conflict``:
    ``privacy`` lifts the cap, ``suppress_rows`` leaves out the people whose minimum is above it,
    ``fail`` raises.
    """
    purposes = [*shared, *own.values()]
    decisions: list[CompilerDecision] = []
    groups, withheld = _groups(purposes, columns, decisions)
    pseudonyms = _pseudonyms(purposes, groups, decisions)
    # direct identifiers are dropped and pseudonyms replace a value: neither has levels
    levelled = {c: g for c, g in groups.items() if Group.EI not in g and c not in pseudonyms}
    everybody = _minima(shared, levelled)
    # per person: a recoded value must be as coarse as its own person asks
    wishes = {label: _minima([purpose], levelled) for label, purpose in own.items()}
    caps, left_out = _settle_caps(
        everybody, wishes, _caps(purposes, levelled), on_conflict, decisions
    )
    # people who are left out have no say in the promises
    purposes_left = [*shared, *(p for label, p in own.items() if label not in left_out)]
    protected = [c for c, g in groups.items() if Group.SD in g] or sensitive
    return Guarantee(
        groups=groups,
        withheld=withheld,
        everybody=everybody,
        own={label: wish for label, wish in wishes.items() if label not in left_out},
        caps=caps,
        pseudonyms=pseudonyms,
        models=_models(purposes_left, protected, decisions),
        left_out=left_out,
        decisions=tuple(decisions),
    )


def _groups(
    purposes: Sequence[Purpose], columns: Sequence[str], decisions: list[CompilerDecision]
) -> tuple[dict[str, frozenset[Group]], tuple[str, ...]]:
    listing = [p for p in purposes if not p.any_data]
    groups: dict[str, frozenset[Group]] = {}
    withheld = []
    for column in columns if listing else ():
        data = [p.datum(column) for p in listing]
        # a purpose may use what it lists and nothing else
        unlisted = sum(datum is None for datum in data)
        if unlisted:
            withheld.append(column)
            reason = (
                f"{column} is withheld: {unlisted} of {len(listing)} policies do not list it for"
                " this purpose"
            )
            decisions.append(CompilerDecision("withheld", column, reason))
            continue
        methods = [
            datum.anonymization
            for datum in data
            if datum is not None and datum.anonymization is not None
        ]
        # deleting and suppressing a whole column are the same to a release
        withholding = [method.method for method in methods if demand_of(method) == "withheld"]
        if withholding:
            withheld.append(column)
            reason = (
                f"{column} is withheld: {len(withholding)} of {len(listing)} policies ask for"
                f" {withholding[0]}"
            )
            decisions.append(CompilerDecision("withheld", column, reason))
            continue
        group_set = frozenset(datum.group for datum in data if datum is not None)
        groups[column] = _merge_groups(group_set)
        if len(group_set) > 1:
            reason = (
                f"{column} is {join_words(sorted(group_set))} in different policies; it counts as"
                f" {join_words(sorted(groups[column]))}"
            )
            decisions.append(CompilerDecision("privacy_group", column, reason))
    return groups, tuple(withheld)


def _merge_groups(groups: frozenset[Group]) -> frozenset[Group]:
    if Group.EI in groups:
        return frozenset({Group.EI})
    # not sensitive counts only where nobody says otherwise
    return (groups - {Group.NSD}) or frozenset({Group.NSD})


def _minima(purposes: Sequence[Purpose], groups: Mapping[str, frozenset[Group]]) -> dict[str, int]:
    """Per column the largest minimum level that is above the value itself."""
    minima: dict[str, int] = {}
    for purpose in purposes:
        for datum in purpose.data:
            level = None
            if datum.anonymization:
                level = datum.anonymization.minimum
            if level and datum.name in groups:
                minima[datum.name] = max(level, minima.get(datum.name, 0))
    return minima


def _caps(purposes: Sequence[Purpose], groups: Mapping[str, frozenset[Group]]) -> dict[str, int]:
    caps: dict[str, int] = {}
    for purpose in purposes:
        for datum in purpose.data:
            level = None
            if datum.anonymization:
                level = datum.anonymization.maximum
            if level is not None and Group.QID in groups.get(datum.name, ()):
                caps[datum.name] = min(level, caps.get(datum.name, level))
    return caps


def _settle_caps(
    everybody: Mapping[str, int],
    own: Mapping[str, Mapping[str, int]],
    caps: dict[str, int],
    on_conflict: OnConflict,
    decisions: list[CompilerDecision],
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Caps below a floor: lifted, or the people left out, or an error."""
    findings = Findings()
    left_out: list[str] = []
    settled = dict(caps)
    for column, cap in caps.items():
        # people whose own minimum nobody can keep under this cap
        above = [label for label, wish in own.items() if wish.get(column, 0) > cap]
        floor = max([everybody.get(column, 0), *(own[label][column] for label in above)])
        if floor <= cap:
            continue
        conflict = f"{column}: the floor of level {floor} is above the cap of level {cap}"
        if on_conflict == "privacy":
            settled[column] = floor
            decisions.append(
                CompilerDecision(
                    "cap_lifted", column, f"{conflict}; privacy has priority, the cap is lifted"
                )
            )
        # leaving people out does not help where the floor is everybody's
        elif on_conflict == "suppress_rows" and everybody.get(column, 0) <= cap:
            left_out += [label for label in above if label not in left_out]
            decisions.append(
                CompilerDecision(
                    "rows_left_out",
                    column,
                    f"{conflict}; people under {len(above)} policies are removed",
                )
            )
        else:
            findings.error("floor_above_cap", column, conflict)
    findings.raise_errors()
    return settled, tuple(left_out)


def _models(
    purposes: Sequence[Purpose], sensitive: Sequence[str], decisions: list[CompilerDecision]
) -> tuple[Model, ...]:
    findings = Findings()
    models: list[Model] = []
    for promise in dict.fromkeys(model for purpose in purposes for model in purpose.models):
        try:
            models += [m for m in models_of(promise, sensitive) if m not in models]
        except UnknownPromise as error:
            findings.error("unknown_model", promise.name, str(error))
    findings.raise_errors()
    # 5-anonymity follows from 10-anonymity: only the strongest are promised
    strong_models, dropped = strongest(models)
    decisions += [
        CompilerDecision("implied", w.promise, f"{w.promise} follows from {s.promise}")
        for w, s in dropped
    ]
    return tuple(strong_models)


def _pseudonyms(
    purposes: Sequence[Purpose],
    groups: Mapping[str, frozenset[Group]],
    decisions: list[CompilerDecision],
) -> dict[str, str]:
    listing = [p for p in purposes if not p.any_data]
    strengths: list[dict[str, str]] = []  # by policy: the method that each column gets
    for purpose in listing:
        by_column: dict[str, str] = {}
        for method in purpose.pseudonymizations:
            by_column |= dict.fromkeys(method.data, strength_of(method.name))
        strengths.append(by_column)
    agreed: dict[str, str] = {}
    for column in dict.fromkeys(c for methods in strengths for c in methods if c in groups):
        methods = [m[column] for m in strengths if column in m]
        # an identifier may stay only where every policy names pseudonyms for it
        if len(methods) < len(listing) and Group.EI in groups[column]:
            without = len(listing) - len(methods)
            reason = (
                f"{without} of {len(listing)} policies name no pseudonyms for {column}; it is"
                " dropped"
            )
            decisions.append(CompilerDecision("pseudonyms", column, reason))
            continue
        # the list of strengths goes from the strongest to the weakest
        agreed[column] = min(methods, key=STRENGTH.index)
        if len(set(methods)) > 1:
            decisions.append(
                CompilerDecision(
                    "pseudonyms",
                    column,
                    f"{column}: the strongest method is used, a {agreed[column]}",
                )
            )
    return agreed


# What the columns of a table are under the merged policies: roles and hierarchies.

# Hierarchy entries of many people as one hierarchy, which they must agree on.

Row = tuple[str, ...]


def merged_hierarchy(column: str, rows: Sequence[Row], findings: Findings) -> Any:
    """A table hierarchy of all rows; None, with a finding, where they contradict each other.

    Rows must be equally long, and a label must have the same label above it in all of them. Where
    the coarsest labels differ, a common top is put above them, which adds a level.
    """
    depths = {len(row) for row in rows}
    if len(depths) > 1:
        problem = (
            f"{column}: hierarchy entries have from {min(depths)} to {max(depths)} levels in"
            " different policies"
        )
        findings.error("hierarchy_uneven", column, problem)
        return None
    torn = torn_labels(rows)
    for level, count in torn.items():
        problem = (
            f"{column}: {count} label(s) of level {level} are under different labels in different "
            "policies"
        )
        findings.error("hierarchy_disagrees", column, problem)
    if torn:
        return None
    # entries without a common top get one, else no level makes all values equal
    if len({row[-1] for row in rows}) > 1 or depths == {1}:
        rows = [(*row, TOP) for row in rows]
    return registry.build("hierarchies", {"table": {"rows": [list(row) for row in rows]}})


def torn_labels(rows: Sequence[Row]) -> Mapping[int, int]:
    """Level → how many of its labels have two different labels above them."""
    by_level: dict[int, int] = {}
    for level in range(len(rows[0]) - 1):
        above: dict[str, str] = {}
        torn = {
            row[level]
            for row in rows
            if above.setdefault(row[level], row[level + 1]) != row[level + 1]
        }
        if torn:
            by_level[level] = len(torn)
    return by_level


def check_entries(
    column: str, hierarchy: Hierarchy, rows: Sequence[Row], findings: Findings
) -> None:
    """Find entries that say something else than the hierarchy of the table: its levels would not be
    the policy's.
    """
    try:
        paths = hierarchy.paths([row[0] for row in rows], [1] * len(rows)).rows
    except SchemaError:
        problem = (
            f"{column}: the hierarchy of the table does not know all values that policies have"
            " entries for"
        )
        findings.error("hierarchy_disagrees_with_table", column, problem)
        return
    # an entry may stop below the top: only its own levels are compared
    wrong = sum(tuple(path[: len(row)]) != row for path, row in zip(paths, rows, strict=True))
    if wrong:
        problem = (
            f"{column}: {wrong} of {len(rows)} hierarchy entries differ from those of the table's "
            "own hierarchy"
        )
        findings.error("hierarchy_disagrees_with_table", column, problem)


def lacks_values(hierarchy: Hierarchy, labels: Sequence[str | None], counts: Sequence[int]) -> bool:
    """Whether a hierarchy lacks values that occur."""
    try:
        hierarchy.paths(
            [v for v in labels if v is not None],
            [c for v, c in zip(labels, counts, strict=True) if v is not None],
        )
    except SchemaError:
        return True
    return False


ROLES = {
    Group.EI: Role.DROP,
    Group.QID: Role.QUASI,
    Group.SD: Role.SENSITIVE,
    Group.NSD: Role.KEEP,
}
# Roles that only the table knows.
DESIGN = (Role.WEIGHT, *UNITS, Role.STRATUM)

# Stands above values that nobody has whose data are used.
LEFT_OUT = "left out"

Entries = Mapping[str, Sequence[tuple[str, ...]]]


def described_columns(
    dataset: Table, merged: Guarantee, entries: Entries, findings: Findings
) -> tuple[Schema, dict[str, int], list[CompilerDecision]]:
    """The schema of a table under the policies, the top level of each hierarchy, and what was
    decided.

    What is withheld gets the role drop, which is dropped. The table's own hierarchies are used
    where it has some, and policies must agree with them; otherwise the entries of the policies are
    put together. A column that must be coarser and has neither can only be withheld as a whole,
    value by value.
    """
    attributes: dict[str, Attribute] = {}
    decisions: list[CompilerDecision] = []
    used = _rows_in_use(dataset, merged)
    for column in dataset.columns:
        if (column == COLUMN and merged.own) or column in merged.withheld:
            attributes[column] = Attribute((Role.DROP,))
        elif column in merged.groups:
            attributes[column] = _attribute(
                dataset, used, column, merged, entries, findings, decisions
            )
        elif column in dataset.schema.attributes:
            attributes[column] = dataset.schema[column]
    findings.raise_errors()
    schema = Schema(attributes)
    table = dataset.with_schema(schema)
    table.checked()
    return schema, _tops(table, merged, findings), decisions


def _attribute(
    dataset: Table,
    used: Table,
    column: str,
    merged: Guarantee,
    entries: Entries,
    findings: Findings,
    decisions: list[CompilerDecision],
) -> Attribute:
    original = dataset.schema.attributes.get(column)
    roles = tuple(ROLES[group] for group in merged.groups[column])
    if original is not None and Role.DROP not in roles:
        if original.has(Role.DROP):
            roles = (Role.DROP,)
        design = tuple(role for role in original.roles if role in DESIGN)
        if design and roles == (Role.KEEP,):
            roles = design
        elif Role.STRATUM in design and Role.KEEP not in roles:
            roles = (*roles, Role.STRATUM)
    hierarchy = _hierarchy(dataset, used, column, roles, merged, entries, findings, decisions)
    if original is None:
        return Attribute(roles, kind=_kind(dataset, column), hierarchy=hierarchy)
    return dataclasses.replace(original, roles=roles, hierarchy=hierarchy)


def _kind(dataset: Table, column: str) -> Kind:
    dtype = dataset.dtype(column)
    if dtype.is_numeric():
        return Kind.NUMERIC
    return Kind.DATE if dtype.is_temporal() else Kind.NOMINAL


def _hierarchy(
    dataset: Table,
    used: Table,
    column: str,
    roles: Sequence[Role],
    merged: Guarantee,
    entries: Entries,
    findings: Findings,
    decisions: list[CompilerDecision],
) -> Hierarchy | None:
    original = dataset.schema.attributes.get(column)
    own = None
    if original is not None:
        own = original.hierarchy
    rows = entries.get(column, ())
    if Role.DROP in roles:
        return None
    if own is not None:
        if rows:
            check_entries(column, own, rows, findings)
        return own
    if rows:
        hierarchy: Hierarchy | None = _covering(
            dataset, used, column, merged_hierarchy(column, rows, findings), findings
        )
        return hierarchy
    if Role.QUASI in roles or column in merged.floors:
        remark = f"{column} has no hierarchy; it is released unchanged or withheld value by value"
        decisions.append(CompilerDecision("no_hierarchy", column, remark))
        suppressed: Hierarchy = registry.build("hierarchies", "suppress")
        return suppressed
    return None


def _covering(
    dataset: Table, used: Table, column: str, hierarchy: Hierarchy | None, findings: Findings
) -> Any:
    """A hierarchy that knows every value: what only people have who are left out is put under a
    label of its own.
    """
    if hierarchy is None:
        return None
    if _lacks_values(hierarchy, used, column):
        problem = (
            f"{column}: the policies have no hierarchy entries for some values of the table; give"
            " the table a hierarchy"
        )
        findings.error("hierarchy_incomplete", column, problem)
    if _lacks_values(hierarchy, dataset, column):
        return dataclasses.replace(hierarchy, other=LEFT_OUT)  # type: ignore[type-var]
    return hierarchy


def _lacks_values(hierarchy: Hierarchy, dataset: Table, column: str) -> bool:
    encoded = dataset.encoded(column)
    return lacks_values(hierarchy, encoded.labels, encoded.counts.tolist())


def _rows_in_use(dataset: Table, merged: Guarantee) -> Table:
    """The rows of people whose policies are enforced."""
    if not merged.own or COLUMN not in dataset.columns:
        return dataset
    encoded = dataset.encoded(COLUMN)
    allowed = np.array([label in merged.own for label in encoded.labels], dtype=bool)
    return dataset.take(np.flatnonzero(allowed[encoded.codes]))


def _tops(dataset: Table, merged: Guarantee, findings: Findings) -> dict[str, int]:
    """The top level of every column that policies name a level for; a minimum above it is a
    finding.
    """
    tops = {}
    floors = merged.floors
    for column in dict.fromkeys([*floors, *merged.caps]):
        if dataset.schema[column].has(Role.DROP):
            continue
        tops[column] = ladder_of(dataset, column, dataset.encoded(column)).top
        if floors.get(column, 0) > tops[column]:
            problem = (
                f"{column}: level {floors[column]} is asked for, but its hierarchy ends at level"
                f" {tops[column]}"
            )
            findings.error("min_above_hierarchy", column, problem)
    return tops
