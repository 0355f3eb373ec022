"""Whether a release is a permitted use: SPECIAL, DPV and ODRL policies against what a certificate says."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.policy.dialects.dpv import PARAMETER, TERMS
from sfumato.policy.dialects.known import parse_document
from sfumato.policy.dialects.special import Concept, parse_functional, read_concept
from sfumato.policy.dialects.subsumption import Answer, Vocabulary, built_in, decide
from sfumato.policy.dialects.usages import WHOLE, Category, Measure, Usage, allows, read_usages
from sfumato.policy.documents import Findings, Place, read_text

USAGE_DIALECTS = ("dpv", "odrl", "special", "special-functional")


def dialect_of(path: Path) -> str:
    """The language of a policy file."""
    return parse_document(read_text(path), name=path.name, findings=Findings(path.name))[1]


def read_concept_text(text: str, name: str) -> tuple[Concept | tuple[Usage, ...], Vocabulary]:
    """What a SPECIAL, DPV or ODRL document permits, and the vocabulary with the classes it adds."""
    findings = Findings(name)
    document, dialect = parse_document(text, name=name, findings=findings)
    if dialect == "special-functional":
        made = parse_functional(text, name)
        if made.policy is None:
            findings.fail("no_policy", "$", "the document has axioms but no policy")
        return made.policy, built_in().extended(made.parents, made.apart)
    found: Concept | tuple[Usage, ...]
    if dialect == "special":
        found = read_concept(Place.root(document, findings))
    elif dialect in ("dpv", "odrl"):
        found = read_usages(document, findings)
    else:
        findings.fail(
            "not_a_usage_policy",
            "$",
            f"a policy in {dialect} prescribes columns; compile it, or give it to comply as it is",
        )
    findings.raise_errors()
    return found, built_in()


def usage_of_release(
    certificate: Mapping[str, Any],
    *,
    purpose: str,
    recipient: str | None = None,
    categories: Sequence[str] = (),
    days: int | None = None,
) -> Usage:
    """A release as a use: its data categories (which a table does not know), its measures as attained, purpose and recipient."""
    measures = []
    for spec, verdict in zip(
        certificate.get("recipe", {}).get("meet", []), certificate.get("verdicts", []), strict=False
    ):
        name = next(iter(spec))
        value = verdict.get("attained")
        if verdict.get("holds") and name in TERMS:
            parameter = PARAMETER[name]
            exact = float(int(value)) if parameter in WHOLE and value is not None else value
            measures.append(Measure(TERMS[name], () if exact is None else ((parameter, float(exact)),)))
    return Usage(
        purposes=(purpose,),
        data=tuple(Category(name) for name in categories),
        processing=("dpv:MakeAvailable",),
        recipients=() if recipient is None else (recipient,),
        measures=tuple(measures),
        days=days,
    )


def permitted(path: Path, use: Usage, *, today: datetime.date | None = None) -> Answer:
    """Whether a policy file permits a use, with the first reason where it does not."""
    policy, vocabulary = read_concept_text(read_text(path), path.name)
    if isinstance(policy, tuple):
        return allows(use, policy, vocabulary, today=today)
    return decide(use.concept(), policy, vocabulary)
