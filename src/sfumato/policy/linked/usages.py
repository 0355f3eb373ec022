"""Uses of data as DPV and ODRL describe them, as one noun: data, purpose, processing, storage, recipients, measures."""

from __future__ import annotations

import dataclasses
import datetime
import re
from typing import TYPE_CHECKING

from sfumato.policy.findings import Findings
from sfumato.policy.policy import (
    Anonymization,
    Datum,
    Group,
    LegalBasis,
    Policy,
    PrivacyModel,
    Purpose,
    Recipient,
    Retention,
)
from sfumato.policy.special.concepts import And, Between, Concept, Named, Or, Some
from sfumato.policy.special.subsumption import Answer, decide
from sfumato.policy.special.vocabulary import THING_NAMES, Vocabulary, built_in

if TYPE_CHECKING:
    from sfumato.policy.documents import Document

MODELS = {
    "sf:KAnonymity": "k_anonymity",
    "sf:LDiversity": "l_diversity",
    "sf:TCloseness": "t_closeness",
    "sf:BetaLikeness": "beta_likeness",
    "sf:DeltaDisclosure": "delta_disclosure",
    "sf:PSensitive": "p_sensitive",
    "sf:AlphaKAnonymity": "alpha_k_anonymity",
}
"""Our few terms for models and the names they have in recipes."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """A technical measure with its parameters: ``sf:KAnonymity`` with ``has_k`` 10."""

    name: str
    parameters: tuple[tuple[str, float], ...] = ()
    about: str = ""

    def concepts(self) -> list[Concept]:
        """The class and the exact values, to be read in the direction that protects."""
        values = [Between(n, v, v, exact=True, whole=float(v).is_integer() and n in WHOLE) for n, v in self.parameters]
        return [Named(self.name), *values]


WHOLE = ("has_k", "has_p")


@dataclasses.dataclass(frozen=True)
class Category:
    """A kind of data; ``column`` and ``group`` where the document says which column it is."""

    name: str
    column: str = ""
    group: str = ""
    minimum: int | None = None
    maximum: int | None = None


@dataclasses.dataclass(frozen=True)
class Usage:
    """One use that is permitted until some day, or (``permitted`` false) prohibited. Empty parts say nothing."""

    purposes: tuple[str, ...] = ()
    data: tuple[Category, ...] = ()
    processing: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    locations: tuple[str, ...] = ()
    days: int | None = None
    legal_bases: tuple[str, ...] = ()
    permitted: bool = True
    until: datetime.date | None = None

    def concept(self) -> Concept:
        """The use in SPECIAL's terms."""
        data: list[Concept] = [part for measure in self.measures for part in measure.concepts()]
        if self.data:
            data.append(Or(tuple(Named(d.name) for d in self.data)))
        storage: list[Concept] = []
        if self.locations:
            storage.append(Some("hasLocation", Or(tuple(Named(n) for n in self.locations))))
        if self.days is not None:
            storage.append(Between("durationInDays", 0, self.days))
        named = (("hasPurpose", self.purposes), ("hasProcessing", self.processing), ("hasRecipient", self.recipients))
        parts: list[Concept] = [Some("hasData", And(tuple(data)))] if data else []
        parts += [Some(name, Or(tuple(Named(n) for n in names))) for name, names in named if names]
        return And((*parts, *([Some("hasStorage", And(tuple(storage)))] if storage else [])))


def allows(
    request: Usage,
    usages: tuple[Usage, ...],
    vocabulary: Vocabulary | None = None,
    *,
    today: datetime.date | None = None,
) -> Answer:
    """Whether permissions cover a request and no prohibition touches it: a prohibition goes before any permission.

    Permissions whose last day lies before ``today`` are gone; prohibitions do not end.
    """
    known = vocabulary or built_in()
    day = today or datetime.datetime.now(datetime.UTC).date()
    request, usages = _with_prefixes(request), tuple(_with_prefixes(usage) for usage in usages)
    wanted = request.concept()
    for usage in usages:
        if not usage.permitted and _touches(wanted, _as_far_as_said(usage, request).concept(), known):
            return Answer(
                False, f"a prohibition covers it: {', '.join((*usage.purposes, *usage.recipients)) or 'this use'}"
            )
    permitted = [usage for usage in usages if usage.permitted]
    lasting = tuple(usage.concept() for usage in permitted if usage.until is None or usage.until >= day)
    if not lasting:
        return Answer(False, "every permission has ended" if permitted else "nothing is permitted")
    return decide(wanted, Or(lasting), known)


def _with_prefixes(usage: Usage) -> Usage:
    """Plain names under our own prefix, so that ``press`` of one document is ``sf:press`` of another."""
    return dataclasses.replace(
        usage,
        purposes=tuple(prefixed(name) for name in usage.purposes),
        recipients=tuple(prefixed(name) for name in usage.recipients),
        data=tuple(dataclasses.replace(category, name=prefixed(category.name)) for category in usage.data),
    )


def prefixed(name: str) -> str:
    """A name with a prefix; ours where it has none. ODRL has no names for purposes, recipients and data: these are plain.

    >>> prefixed("press"), prefixed("odrl:press"), prefixed("dpv:Marketing")
    ('sf:press', 'sf:press', 'dpv:Marketing')
    """
    plain = name.removeprefix("odrl:")
    return plain if ":" in plain or plain in THING_NAMES else f"sf:{plain}"


def _as_far_as_said(prohibition: Usage, request: Usage) -> Usage:
    """A prohibition without what the request leaves open, since it may be just what is forbidden.

    A request without a recipient is not open: the controller uses the data itself.
    """
    return dataclasses.replace(
        prohibition,
        data=prohibition.data if request.data else (),
        processing=prohibition.processing if request.processing else (),
        locations=prohibition.locations if request.locations else (),
        days=prohibition.days if request.days is not None else None,
    )


def _touches(wanted: Concept, forbidden: Concept, vocabulary: Vocabulary) -> bool:
    """Whether some alternative of the request lies within what is forbidden."""
    from sfumato.policy.special.concepts import disjuncts
    from sfumato.policy.special.subsumption import subsumes

    return any(subsumes(forbidden, And(parts), vocabulary) for parts in disjuncts(wanted))


def read_usages(document: Document, findings: Findings) -> tuple[Usage, ...]:
    """The uses of a DPV or ODRL document."""
    from sfumato.policy.linked.dpv import read_dpv
    from sfumato.policy.linked.json_ld import Graph
    from sfumato.policy.linked.odrl import read_odrl

    graph = Graph(document, findings)
    found = (*read_dpv(graph), *read_odrl(graph))
    if not found:
        findings.fail("no_usage", "$", "the document describes no dpv:Process and no odrl:Policy that we can read")
    return found


def local(name: str) -> str:
    """A name without its prefix.

    >>> local("dpv:AcademicResearch"), local("https://example.org/x#y")
    ('AcademicResearch', 'y')
    """
    return re.split(r"[:#/]", name)[-1] or name


def policy_of_usages(usages: tuple[Usage, ...], *, name: str, findings: Findings) -> Policy:
    """The policy that uses amount to: one purpose each; prohibited purposes are not agreed to."""
    forbidden = {p for usage in usages if not usage.permitted for p in usage.purposes}
    purposes: dict[str, Purpose] = {}
    for usage in usages:
        for purpose in usage.purposes if usage.permitted else ():
            made = _purpose(usage, purpose, findings, refused=purpose in forbidden)
            if made.name in purposes:
                findings.error("duplicate_purpose", "$", f"purpose {made.name!r} is described twice; put both into one")
            purposes[made.name] = made
    return Policy(name=name, purposes=tuple(purposes.values()))


def _purpose(usage: Usage, purpose: str, findings: Findings, *, refused: bool) -> Purpose:
    return Purpose(
        name=local(purpose),
        accepted=False if refused else None,
        data=tuple(_datum(category, findings) for category in usage.data),
        recipients=tuple(Recipient(local(name)) for name in usage.recipients),
        retention=_retention(usage),
        models=tuple(
            PrivacyModel(
                MODELS[m.name],
                (m.about,) if m.about else (),
                tuple((n.removeprefix("has_"), f"{v:g}") for n, v in m.parameters),
            )
            for m in usage.measures
            if m.name in MODELS
        ),
        legal_bases=tuple(LegalBasis(local(basis)) for basis in usage.legal_bases),
    )


def _retention(usage: Usage) -> Retention:
    if usage.until is not None:
        return Retention("fixed_date", date=usage.until)
    return Retention() if usage.days is None else Retention("after_purpose", amount=usage.days)


def _datum(category: Category, findings: Findings) -> Datum:
    levels = None
    if category.minimum is not None or category.maximum is not None:
        levels = Anonymization(minimum=category.minimum, maximum=category.maximum)
    name = category.column or local(category.name)
    if category.group in Group.__members__:
        return Datum(name, Group(category.group), categories=(category.name,), anonymization=levels)
    guessed = _guessed(category.name)
    told = f"{name} has no privacy group in this language; from its category it is taken as {guessed}"
    findings.warning("group_guessed", "$", told)
    return Datum(name, guessed, categories=(category.name,), anonymization=levels)


def _guessed(category: str) -> Group:
    """What a category suggests; what suggests nothing may single people out."""
    known = built_in()
    if known.within([category], "pd:Identifying") or known.within([category], "pd:Contact"):
        return Group.EI
    return Group.SD if known.within([category], "dpv:SensitivePersonalData") else Group.QID
