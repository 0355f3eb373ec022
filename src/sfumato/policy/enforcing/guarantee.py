"""The common minimum guarantee: what a table must be so that nobody's policy is broken."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.policy.documents import Findings
from sfumato.policy.policy import Group, Purpose
from sfumato.policy.promises import STRENGTH, UnknownPromise, models_of, strength_of, strongest

if TYPE_CHECKING:
    from sfumato.core.model import Model

OnConflict = Literal["privacy", "suppress_rows", "fail"]


@dataclasses.dataclass(frozen=True)
class Decision:
    """One thing that had to be decided on the way, for the record: names and counts, no values."""

    rule: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclasses.dataclass(frozen=True, eq=False)
class Guarantee:
    """What was merged. ``groups`` are the privacy groups of each column that may be released; ``floors`` and ``caps`` are
    levels; ``pseudonyms`` the strength of the method for each identifier that gets a pseudonym; ``left_out`` the people's
    policies that are dropped to settle a conflict.
    """

    groups: Mapping[str, frozenset[Group]]
    withheld: tuple[str, ...]
    everybody: Mapping[str, int]
    own: Mapping[str, Mapping[str, int]]
    caps: Mapping[str, int]
    pseudonyms: Mapping[str, str]
    models: tuple[Model, ...]
    left_out: tuple[str, ...]
    decisions: tuple[Decision, ...]

    @property
    def floors(self) -> dict[str, int]:
        """The largest minimum level of each column."""
        wishes = [self.everybody, *self.own.values()]
        return {c: max(w.get(c, 0) for w in wishes) for w in wishes for c in w}


def common_guarantee(
    shared: Sequence[Purpose],
    own: Mapping[str, Purpose],
    columns: Sequence[str],
    *,
    on_conflict: OnConflict = "privacy",
    sensitive: Sequence[str] = (),
) -> Guarantee:
    """Merge what the policies for everybody (``shared``) and people's own (``own``) ask for.

    ================  ===================================================================================================
    privacy group     EI if any says so; otherwise all roles together (QID and SD both count); NSD only if all say NSD
    data              a column that one of the policies does not list is withheld
    minimum level     per person; the floor of a column is the largest
    maximum level     the smallest; below the floor it is a conflict
    privacy models    the strongest set under the order of implication
    pseudonyms        the strongest method; an identifier for which one policy names none is dropped
    ================  ===================================================================================================

    ``sensitive`` are the columns that models protect where no policy lists data. ``on_conflict``: ``privacy`` lifts the cap, ``suppress_rows`` leaves out the people whose minimum is above it, ``fail``
    raises.
    """
    purposes = [*shared, *own.values()]
    decisions: list[Decision] = []
    groups, withheld = _groups(purposes, columns, decisions)
    pseudonyms = _pseudonyms(purposes, groups, decisions)
    levelled = {c: g for c, g in groups.items() if Group.EI not in g and c not in pseudonyms}
    everybody = _minima(shared, levelled)
    wishes = {label: _minima([purpose], levelled) for label, purpose in own.items()}
    caps, left_out = _settled(everybody, wishes, _caps(purposes, levelled), on_conflict, decisions)
    kept = [*shared, *(p for label, p in own.items() if label not in left_out)]
    return Guarantee(
        groups=groups,
        withheld=withheld,
        everybody=everybody,
        own={label: wish for label, wish in wishes.items() if label not in left_out},
        caps=caps,
        pseudonyms=pseudonyms,
        models=_models(kept, [c for c, g in groups.items() if Group.SD in g] or sensitive, decisions),
        left_out=left_out,
        decisions=tuple(decisions),
    )


def _groups(
    purposes: Sequence[Purpose], columns: Sequence[str], decisions: list[Decision]
) -> tuple[dict[str, frozenset[Group]], tuple[str, ...]]:
    listing = [p for p in purposes if not p.any_data]
    found: dict[str, frozenset[Group]] = {}
    withheld = []
    for column in columns if listing else ():
        data = [p.datum(column) for p in listing]
        lacking = sum(datum is None for datum in data)
        if lacking:
            withheld.append(column)
            told = f"{column} is withheld: {lacking} of {len(listing)} policies do not list it for this purpose"
            decisions.append(Decision("withheld", column, told))
            continue
        said = frozenset(datum.group for datum in data if datum is not None)
        found[column] = _merged(said)
        if len(said) > 1:
            told = f"{column} is {' and '.join(sorted(said))} in different policies; it counts as {' and '.join(sorted(found[column]))}"
            decisions.append(Decision("privacy_group", column, told))
    return found, tuple(withheld)


def _merged(groups: frozenset[Group]) -> frozenset[Group]:
    if Group.EI in groups:
        return frozenset({Group.EI})
    return (groups - {Group.NSD}) or frozenset({Group.NSD})


def _minima(purposes: Sequence[Purpose], groups: Mapping[str, frozenset[Group]]) -> dict[str, int]:
    """Per column the largest minimum level that is above the value itself."""
    found: dict[str, int] = {}
    for purpose in purposes:
        for datum in purpose.data:
            level = datum.anonymization.minimum if datum.anonymization else None
            if level and datum.name in groups:
                found[datum.name] = max(level, found.get(datum.name, 0))
    return found


def _caps(purposes: Sequence[Purpose], groups: Mapping[str, frozenset[Group]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for purpose in purposes:
        for datum in purpose.data:
            level = datum.anonymization.maximum if datum.anonymization else None
            if level is not None and Group.QID in groups.get(datum.name, ()):
                found[datum.name] = min(level, found.get(datum.name, level))
    return found


def _settled(
    everybody: Mapping[str, int],
    own: Mapping[str, Mapping[str, int]],
    caps: dict[str, int],
    on_conflict: OnConflict,
    decisions: list[Decision],
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Caps below a floor: lifted, or the people left out, or an error."""
    findings = Findings()
    left_out: list[str] = []
    settled = dict(caps)
    for column, cap in caps.items():
        above = [label for label, wish in own.items() if wish.get(column, 0) > cap]
        floor = max([everybody.get(column, 0), *(own[label][column] for label in above)])
        if floor <= cap:
            continue
        told = f"{column}: the floor of level {floor} is above the cap of level {cap}"
        if on_conflict == "privacy":
            settled[column] = floor
            decisions.append(Decision("cap_lifted", column, f"{told}; privacy goes first, the cap is lifted"))
        elif on_conflict == "suppress_rows" and everybody.get(column, 0) <= cap:
            left_out += [label for label in above if label not in left_out]
            decisions.append(
                Decision("rows_left_out", column, f"{told}; people under {len(above)} policies are left out")
            )
        else:
            findings.error("floor_above_cap", column, told)
    findings.raise_errors()
    return settled, tuple(left_out)


def _models(purposes: Sequence[Purpose], sensitive: Sequence[str], decisions: list[Decision]) -> tuple[Model, ...]:
    findings = Findings()
    models: list[Model] = []
    for promise in dict.fromkeys(model for purpose in purposes for model in purpose.models):
        try:
            models += [m for m in models_of(promise, sensitive) if m not in models]
        except UnknownPromise as error:
            findings.error("unknown_model", promise.name, str(error))
    findings.raise_errors()
    kept, dropped = strongest(models)
    decisions += [Decision("implied", w.promise, f"{w.promise} follows from {s.promise}") for w, s in dropped]
    return tuple(kept)


def _pseudonyms(
    purposes: Sequence[Purpose], groups: Mapping[str, frozenset[Group]], decisions: list[Decision]
) -> dict[str, str]:
    listing = [p for p in purposes if not p.any_data]
    named = [{c: strength_of(m.name) for m in p.pseudonymizations for c in m.data} for p in listing]
    found: dict[str, str] = {}
    for column in dict.fromkeys(c for methods in named for c in methods if c in groups):
        methods = [m[column] for m in named if column in m]
        if len(methods) < len(listing) and Group.EI in groups[column]:
            without = len(listing) - len(methods)
            told = f"{without} of {len(listing)} policies name no pseudonyms for {column}; it is dropped"
            decisions.append(Decision("pseudonyms", column, told))
            continue
        found[column] = min(methods, key=STRENGTH.index)
        if len(set(methods)) > 1:
            decisions.append(
                Decision("pseudonyms", column, f"{column}: the strongest method is taken, a {found[column]}")
            )
    return found
