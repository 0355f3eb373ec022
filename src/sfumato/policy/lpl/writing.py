"""Writing the Layered Privacy Language: dialect A with arrays, dialect B with wrapped lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.policy.findings import Finding, PolicyError
from sfumato.policy.policy import Anonymization, Datum, Entity, Policy, Purpose, Recipient, Retention

Texts = Sequence[tuple[str, str]]

# dialect B: list of A → (its name in B, the name of one part)
WRAPPED = {
    "purposeList": ("purposeList", "purpose"),
    "dataList": ("dataList", "data"),
    "dataRecipientList": ("dataRecipientList", "dataRecipient"),
    "privacyModelList": ("privacyModelList", "privacyModel"),
    "pseudonymizationMethodList": ("pseudonymizationMethodList", "pseudonymizationMethod"),
    "legalBasisList": ("legalBasisList", "legalBasis"),
    "automatedDecisionMakingList": ("automatedDecisionMakingList", "automatedDecisionMaking"),
    "dataCategoryList": ("dataCategoryList", "dataCategory"),
    "dataGroupList": ("dataGroupList", "dataGroup"),
    "safeguardList": ("safeguardList", "safeguard"),
    "nameOfDataList": ("nameOfDataList", "nameOfData"),
    "controllerList": ("controllerList", "controller"),
    "dataProtectionOfficerList": ("dataProtectionOfficerList", "dataProtectionOfficer"),
    "dataSubjectRightList": ("dataSubjectRightList", "dataSubjectRight"),
    "purposeHierarchy": ("purposeHierarchyList", "purposeHierarchy"),
    "head": ("headerList", "label"),
    "desc": ("descriptionList", "label"),
    "privacyModelAttributeList": ("attributeList", "privacyModelAttribute"),
    "anonymizationMethodAttributeList": ("attributeList", "anonymizationMethodAttribute"),
    "pseudonymizationMethodAttributeList": ("attributeList", "pseudonymizationMethodAttribute"),
}


def to_dialect_a(policy: Policy) -> dict[str, Any]:
    """The tree of a policy with arrays; what the language cannot say is refused, not dropped."""
    _require_sayable(policy)
    return {
        "version": policy.version,
        "name": policy.name,
        "lang": policy.language,
        "privacyPolicyUri": policy.uri,
        "head": _texts(policy.title),
        "desc": _texts(policy.description),
        "dataSource": policy.source,
        "purposeList": [_purpose(p) for p in policy.purposes],
        "purposeHierarchy": [{"superPurpose": above, "subPurpose": below} for above, below in policy.hierarchy],
        "controllerList": [_entity(e) for e in policy.controllers],
        "dataProtectionOfficerList": [_entity(e) for e in policy.officers],
        "dataSubjectRightList": _named(policy.rights),
        **({"lodgeComplaint": _entity(policy.complaint)} if policy.complaint else {}),
        **({"underlyingPolicy": policy.underlying} if policy.underlying else {}),
    }


def to_dialect_b(policy: Policy) -> dict[str, Any]:
    """The tree of a policy with wrapped lists."""
    wrapped: dict[str, Any] = _wrapped(to_dialect_a(policy))
    return wrapped


def _require_sayable(policy: Policy) -> None:
    found = []
    if policy.rule is not None:
        found.append(Finding("not_sayable", "error", "$.rule", "the language has no place for the source of a rule"))
    for purpose in policy.purposes:
        if purpose.any_data:
            found.append(
                Finding("not_sayable", "error", f"$.{purpose.name}", "the language lists data; 'any' is not one")
            )
        for datum in purpose.data:
            if datum.anonymization is not None and len(datum.anonymization.hierarchy) > 1:
                said = "the language has one row of hierarchy entries per person; export to our own form instead"
                found.append(Finding("not_sayable", "error", f"$.{purpose.name}.{datum.name}", said))
    if found:
        raise PolicyError(found, policy.name)


def _purpose(purpose: Purpose) -> dict[str, Any]:
    return {
        "name": purpose.name,
        "optOut": purpose.opt_out,
        "required": purpose.required,
        **({} if purpose.accepted is None else {"accepted": purpose.accepted}),
        "pointOfAcceptance": purpose.point_of_acceptance,
        "head": _texts(purpose.title),
        "desc": _texts(purpose.description),
        "dataList": [_datum(d) for d in purpose.data],
        "dataRecipientList": [_recipient(r) for r in purpose.recipients],
        "retention": _retention(purpose.retention),
        "privacyModelList": [
            {"name": m.name, "nameOfDataList": _named(m.data), "privacyModelAttributeList": _pairs(m.parameters)}
            for m in purpose.models
        ],
        "legalBasisList": [{"name": b.name, "lbCategory": b.category} for b in purpose.legal_bases],
        "automatedDecisionMakingList": _named(purpose.automated_decisions),
        "pseudonymizationMethodList": [
            {
                "name": p.name,
                "attrName": p.target,
                "nameOfDataList": _named(p.data),
                "pseudonymizationMethodAttributeList": _pairs(p.parameters),
            }
            for p in purpose.pseudonymizations
        ],
    }


def _datum(datum: Datum) -> dict[str, Any]:
    return {
        "name": datum.name,
        "required": datum.required,
        "dataType": datum.type.title() if datum.type != "value set" else "Value Set",
        "privacyGroup": str(datum.group),
        "dataCategoryList": _named(datum.categories),
        "dataGroupList": _named(datum.groups),
        **({"anonymizationMethod": _anonymization(datum.anonymization)} if datum.anonymization else {}),
    }


def _anonymization(method: Anonymization) -> dict[str, Any]:
    levels = (("Minimum Level", method.minimum), ("Maximum Level", method.maximum))
    given = [(key, str(value)) for key, value in levels if value is not None]
    return {
        "name": method.method,
        "anonymizationMethodAttributeList": _pairs([*given, *method.parameters]),
        "hierarchyEntityList": [{"value": value} for row in method.hierarchy for value in row],
    }


def _recipient(recipient: Recipient) -> dict[str, Any]:
    return {
        "name": recipient.name,
        "classification": recipient.classification,
        "required": recipient.required,
        "thirdCountryTransfer": recipient.third_country,
        "country": recipient.country,
        "adequacyDecision": recipient.adequacy_decision,
        "safeguardList": _named(recipient.safeguards),
    }


def _retention(retention: Retention) -> dict[str, Any]:
    if retention.kind == "fixed_date":
        return {"type": "fixedDate", "pointInTime": retention.date.isoformat() if retention.date else ""}
    if retention.kind == "after_purpose":
        return {"type": "afterPurpose", "pointInTime": f"{retention.amount or 0} {retention.unit}"}
    return {"type": "indefinite", "pointInTime": ""}


def _entity(entity: Entity) -> dict[str, Any]:
    return {"name": entity.name, "classification": entity.classification, "type": entity.type}


def _texts(texts: Texts) -> list[dict[str, str]]:
    return [{"lang": language, "value": value} for language, value in texts]


def _named(names: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in pairs]


def _wrapped(tree: Any) -> Any:
    """A tree of dialect A in the manner of B."""
    if isinstance(tree, list):
        return [_wrapped(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    made: dict[str, Any] = {}
    for key, value in tree.items():
        if key == "hierarchyEntityList":
            made["hierarchy"] = {"HierarchyEntryList": {"HierarchyEntry": [entry["value"] for entry in value]}}
        elif key == "retention":
            made[key] = _older_retention(value)
        elif key in WRAPPED and isinstance(value, list):
            name, single = WRAPPED[key]
            made[name] = {single: _wrapped(value)}
        else:
            made[key] = _wrapped(value)
    return made


def _older_retention(retention: dict[str, Any]) -> dict[str, Any]:
    point: Any = retention["pointInTime"]
    if retention["type"] == "afterPurpose":
        amount, unit = point.split()
        point = {"type": unit, "value": amount}
    return {"type": retention["type"].upper(), "pointInTime": point}
