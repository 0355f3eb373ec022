"""What must be so inside a policy: the consistency rules, as named findings."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from sfumato.core.header import UNKNOWN, confirmed
from sfumato.errors import did_you_mean, nearest
from sfumato.policy.documents import Document
from sfumato.policy.enforcing.merged_hierarchies import torn_labels
from sfumato.policy.findings import Finding, Findings
from sfumato.policy.policy import Anonymization, Group, Policy, PrivacyModel, Pseudonymization, Purpose
from sfumato.policy.promises import UnknownPromise, models_of
from sfumato.policy.pseudonyms import told_of_unkeyed, unkeyed
from sfumato.policy.purpose_hierarchy import lint_hierarchy
from sfumato.policy.retention import expired

# our nouns → the lists of the Layered Privacy Language and the name of one part of each, to find lines
LISTS = {
    "purposes": ("purposeList", "purpose"),
    "data": ("dataList", "data"),
    "recipients": ("dataRecipientList", "dataRecipient"),
    "models": ("privacyModelList", "privacyModel"),
    "pseudonymizations": ("pseudonymizationMethodList", "pseudonymizationMethod"),
    "legal_bases": ("legalBasisList", "legalBasis"),
    "hierarchy": ("purposeHierarchy", "purposeHierarchy"),
}


def lint(policy: Policy, *, today: datetime.date | None = None, columns: Sequence[str] | None = None) -> Findings:
    """Everything inconsistent in a policy, and with ``columns`` every datum that a table lacks.

    >>> [f.rule for f in lint(Policy("empty"))]
    ['no_purposes']
    """
    found = Findings(policy.name or "the policy")
    if not policy.purposes:
        found.error("no_purposes", "$.purposes", "a policy without a purpose allows nothing")
    _unique(found, [p.name for p in policy.purposes], "$.purposes", "purpose")
    for i, purpose in enumerate(policy.purposes):
        _purpose(found, purpose, f"$.purposes[{i}]", today)
        if columns is not None:
            _against_table(found, purpose, f"$.purposes[{i}]", columns)
    lint_hierarchy(found, policy)
    return found


def located(findings: Iterable[Finding], document: Document, dialect: str) -> list[Finding]:
    """Findings about nouns, with the line of the document they came from."""
    return [
        Finding(f.rule, f.severity, f.path, f.message, f.line or document.line(_document_path(f.path, dialect)))
        for f in findings
    ]


def _document_path(path: str, dialect: str) -> str:
    if not dialect.startswith("lpl"):
        return path

    def translated(found: re.Match[str]) -> str:
        name, single = LISTS.get(found[1], (found[1], ""))
        return f".{name}.{single}{found[2]}" if dialect == "lpl-b" and single else f".{name}{found[2]}"

    return re.sub(r"\.(\w+)((?:\[\d+\])?)", translated, path)


def _unique(found: Findings, names: Sequence[str], path: str, what: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            place = f"{path}[{len(names) - 1 - names[::-1].index(name)}]"
            found.error(
                f"duplicate_{what}", place, f"there are {count} of the name {name!r}; each {what} needs its own"
            )


def _purpose(found: Findings, purpose: Purpose, path: str, today: datetime.date | None) -> None:
    _unique(found, [d.name for d in purpose.data], f"{path}.data", "datum")
    _unique(found, [r.name for r in purpose.recipients], f"{path}.recipients", "recipient")
    if not purpose.data and not purpose.any_data:
        found.warning(
            "no_data", f"{path}.data", f"purpose {purpose.name!r} lists no data, so nothing may be used for it"
        )
    if purpose.required and purpose.accepted is False:
        found.error("required_but_refused", path, f"purpose {purpose.name!r} is required, yet it was not accepted")
    _data(found, purpose, path)
    _models(found, purpose, path)
    for i, recipient in enumerate(purpose.recipients):
        if recipient.third_country and not (recipient.adequacy_decision or recipient.safeguards):
            told = f"recipient {recipient.name!r} is in a third country without adequacy decision or safeguards"
            found.error("third_country_unprotected", f"{path}.recipients[{i}]", told)
    duty = [b for b in purpose.legal_bases if "legal obligation" in f"{b.category} {b.name}".lower().replace("_", " ")]
    if duty and not purpose.required:
        told = f"purpose {purpose.name!r} rests on a legal obligation and must then be required"
        found.error("legal_obligation_not_required", path, told)
    if purpose.retention.kind == "fixed_date" and purpose.retention.date is None:
        found.error("retention_without_date", f"{path}.retention", "a fixed date is missing")
    if today is not None and expired(purpose.retention, today):
        found.error("expired_retention", f"{path}.retention", f"the retention of purpose {purpose.name!r} has passed")


def _data(found: Findings, purpose: Purpose, path: str) -> None:
    for i, datum in enumerate(purpose.data):
        place = f"{path}.data[{i}]"
        if not datum.categories:
            found.warning("no_category", place, f"datum {datum.name!r} has no data category; give it at least one")
        if datum.anonymization is not None:
            _levels(found, datum.name, datum.anonymization, f"{place}.anonymization")


def _levels(found: Findings, name: str, method: Anonymization, path: str) -> None:
    low, high = method.minimum, method.maximum
    if (low is None) != (high is None):
        lacking = "minimum" if low is None else "maximum"
        found.warning("level_missing", path, f"datum {name!r} has no {lacking} level; it is taken as unbounded")
    if min(low or 0, high or 0) < 0:
        found.error("level_negative", path, f"datum {name!r}: levels count from 0")
    if low is not None and high is not None and low > high:
        found.error("min_above_max", path, f"datum {name!r}: the minimum level {low} is above the maximum {high}")
    depths = {len(row) for row in method.hierarchy}
    if len(depths) > 1:
        found.error("hierarchy_uneven", path, f"datum {name!r}: rows of its hierarchy have different numbers of levels")
        return
    for level, count in torn_labels(method.hierarchy).items() if depths else ():
        told = f"datum {name!r}: {count} label(s) of level {level} of its hierarchy stand under different labels"
        found.error("hierarchy_disagrees", path, told)
    if depths and low is not None and low > max(depths) - 1:
        top = max(depths) - 1
        found.error(
            "min_above_hierarchy", path, f"datum {name!r}: the minimum level {low} is above the top level {top}"
        )


def _models(found: Findings, purpose: Purpose, path: str) -> None:
    known = [d.name for d in purpose.data]
    if not purpose.models:
        told = f"purpose {purpose.name!r} asks for no privacy model; personal levels alone guarantee nothing"
        found.warning("no_model", f"{path}.models", told)
    lists: tuple[tuple[str, tuple[PrivacyModel | Pseudonymization, ...]], ...] = (
        ("models", purpose.models),
        ("pseudonymizations", purpose.pseudonymizations),
    )
    for part, listed in lists:
        for i, named in enumerate(listed):
            for name in named.data if not purpose.any_data else ():
                if name not in known:
                    told = f"{named.name} names {name!r}, which purpose {purpose.name!r} does not have.{did_you_mean(name, known)}"
                    found.error("unknown_datum", f"{path}.{part}[{i}]", told)
    for i, model in enumerate(purpose.models):
        try:
            models_of(
                model, [d.name for d in purpose.data if d.group == Group.SD] or (["any"] if purpose.any_data else [])
            )
        except UnknownPromise as error:
            found.error("unknown_model", f"{path}.models[{i}]", str(error))
    for i, method in enumerate(purpose.pseudonymizations):
        if unkeyed(method.name):
            told = told_of_unkeyed(method.name, key=None)
            found.warning("unkeyed_hash", f"{path}.pseudonymizations[{i}]", told)


def _against_table(found: Findings, purpose: Purpose, path: str, columns: Sequence[str]) -> None:
    sure = confirmed(columns, UNKNOWN, [datum.name for datum in purpose.data])
    for i, datum in enumerate(purpose.data):
        if datum.name not in columns:
            told = f"the table has no column {datum.name!r}.{nearest(datum.name, columns) if sure else ''}"
            severity = found.error if datum.required else found.warning
            severity("datum_not_in_table", f"{path}.data[{i}]", told)
