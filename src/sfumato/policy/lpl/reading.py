"""Reading the Layered Privacy Language from a tree, whatever dialect the tree came from.

Three forms are in use. *A* (PriPoCoG) writes lists as arrays; *B* (the older viewer) wraps them
(``purposeList.purpose[…]``); XML writes the parts of *A*'s lists as ``<item>``. One reader takes all three: a list may
be an array or wrapped, keys are found whatever their case, and the groups have the names of both schools (QID = QI,
SD = SA, NSD = NSA).
"""

from __future__ import annotations

import re
from typing import Any

from sfumato.policy.lpl.retention_text import read_retention
from sfumato.policy.places import Place
from sfumato.policy.policy import (
    Anonymization,
    Datum,
    Entity,
    Group,
    LegalBasis,
    Policy,
    PrivacyModel,
    Pseudonymization,
    Purpose,
    Recipient,
    Retention,
)

GROUPS = {
    "EI": Group.EI, "QID": Group.QID, "QI": Group.QID, "SD": Group.SD, "SA": Group.SD, "NSD": Group.NSD,
    "NSA": Group.NSD,
}  # fmt: skip
TYPES = ("text", "number", "date", "boolean", "value set", "other")
TEXTS = ("head", "headerList", "header", "desc", "descriptionList", "description")
MINIMUM = ("min", "minimum", "minimumlevel", "minlevel")
MAXIMUM = ("max", "maximum", "maximumlevel", "maxlevel")


def read_lpl(root: Place) -> Policy:
    """The policy of a document."""
    root.only(
        "version", "name", "lang", "language", "privacyPolicyUri", "ppURI", "icon", "iconList", "dataSource", "purposeList",
        "purposes", "purposeHierarchy", "purposeHierarchyList", "controllerList", "controllers", "accepted",
        "dataProtectionOfficerList", "dataProtectionOfficers", "dataSubjectRightList", "dataSubjectRights",
        "lodgeComplaint", "underlyingPolicy", "underlyingPrivacyPolicy", *TEXTS,
    )  # fmt: skip
    complaint = root.at("lodgeComplaint")
    refused = root.at("accepted") is not None and not root.flag("accepted")
    purposes = tuple(_purpose(p, refused=refused) for p in root.items("purposeList", "purpose", "purposes"))
    if not purposes:
        root.error("no_purposes", "a policy without a purpose allows nothing; list at least one under purposeList")
    return Policy(
        name=root.name("policy"),
        version=root.text("version"),
        language=root.text("lang", "language"),
        uri=root.text("privacyPolicyUri", "ppURI"),
        purposes=purposes,
        hierarchy=_hierarchy(root),
        controllers=tuple(_entity(e) for e in root.items("controllerList", "controller", "controllers")),
        officers=tuple(
            _entity(e)
            for e in root.items("dataProtectionOfficerList", "dataProtectionOfficer", "dataProtectionOfficers")
        ),
        rights=_names(root, "dataSubjectRightList", "dataSubjectRight", "dataSubjectRights"),
        complaint=_entity(complaint) if complaint is not None and complaint.value else None,
        source=root.text("dataSource") if not isinstance(_value(root, "dataSource"), dict) else "",
        underlying=_underlying(root),
        title=root.texts("head", "headerList", "header"),
        description=root.texts("desc", "descriptionList", "description"),
    )


def _value(place: Place, name: str) -> Any:
    below = place.at(name)
    return None if below is None else below.value


def _underlying(root: Place) -> str:
    below = root.at("underlyingPolicy", "underlyingPrivacyPolicy")
    if below is None or not below.value:
        return ""
    below.note("underlying_policy", "only the name of the underlying policy is kept; load it on its own to enforce it")
    return (
        below.text("name")
        if isinstance(below.value, dict)
        else root.text("underlyingPolicy", "underlyingPrivacyPolicy")
    )


def _hierarchy(root: Place) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in root.items("purposeHierarchy", "purposeHierarchy", "purposeHierarchyList"):
        if isinstance(item.value, list):
            above, below = ([str(part) for part in item.value] + ["", ""])[:2]
        else:
            above = item.text("superPurpose", "super", "parent")
            below = item.text("subPurpose", "sub", "child")
        if above and below:
            pairs.append((above, below))
        else:
            item.error("purpose_hierarchy", "an entry needs a super-purpose and a sub-purpose")
    return tuple(pairs)


def _purpose(place: Place, *, refused: bool) -> Purpose:
    place.only(
        "name", "optOut", "required", "accepted", "pointOfAcceptance", "dataList", "data", "dataRecipientList", "retention",
        "privacyModelList", "legalBasisList", "legalBasis", "automatedDecisionMakingList", "pseudonymizationMethodList",
        "pseudonymizationMethod", "iconList", *TEXTS,
    )  # fmt: skip
    accepted = place.flag("accepted") if place.at("accepted") is not None else None
    retention = place.at("retention")
    return Purpose(
        name=place.name("purpose"),
        required=place.flag("required"),
        opt_out=place.flag("optOut"),
        accepted=False if refused else accepted,
        point_of_acceptance=place.text("pointOfAcceptance"),
        data=tuple(d for item in place.items("dataList", "data") if (d := _datum(item)) is not None),
        recipients=tuple(_recipient(r) for r in place.items("dataRecipientList", "dataRecipient")),
        retention=read_retention(retention) if retention is not None and retention.value else Retention(),
        models=tuple(_model(m) for m in place.items("privacyModelList", "privacyModel")),
        pseudonymizations=tuple(
            _pseudonymization(p)
            for p in place.items("pseudonymizationMethodList", "pseudonymizationMethod", "pseudonymizationMethod")
            if p.value not in ("", {})
        ),
        legal_bases=tuple(
            LegalBasis(item.name("legal basis"), item.text("lbCategory", "category"))
            for item in place.items("legalBasisList", "legalBasis", "legalBasis")
        ),
        automated_decisions=_names(place, "automatedDecisionMakingList", "automatedDecisionMaking"),
        title=place.texts("head", "headerList", "header"),
        description=place.texts("desc", "descriptionList", "description"),
    )


def _datum(place: Place) -> Datum | None:
    place.only(
        "id", "name", "required", "pointOfAcceptance", "dataType", "type", "privacyGroup", "anonymizationMethod",
        "dataCategoryList", "dataCategory", "dataGroupList", "dataGroup", *TEXTS,
    )  # fmt: skip
    if not isinstance(place.value, dict):
        return None
    said = place.text("privacyGroup").upper()
    if said not in GROUPS:
        place.error("unknown_privacy_group", f"the privacy group must be one of {', '.join(GROUPS)}", "privacyGroup")
    kind = place.text("dataType", "type", default="other").lower().replace("_", " ") or "other"
    if kind not in TYPES:
        place.warning("unknown_data_type", f"the data type is none of {', '.join(TYPES)}; it is taken as other")
        kind = "other"
    method = place.at("anonymizationMethod")
    return Datum(
        name=place.name("datum"),
        group=GROUPS.get(said, Group.EI),  # what cannot be read is protected most
        type=kind,
        required=place.flag("required"),
        categories=_names(place, "dataCategoryList", "dataCategory", "dataCategory"),
        groups=_names(place, "dataGroupList", "dataGroup", "dataGroup"),
        anonymization=_anonymization(method) if method is not None and _filled(method) else None,
    )


def _filled(method: Place) -> bool:
    """Editors write an empty method where none was chosen."""
    if not isinstance(method.value, dict):
        return bool(method.value)
    lists = ("anonymizationMethodAttributeList", "attributeList", "hierarchyEntityList", "hierarchy")
    return bool(method.text("name")) or any(method.at(name) is not None and _value(method, name) for name in lists)


def _anonymization(place: Place) -> Anonymization:
    place.only(
        "name", "anonymizationMethodAttributeList", "attributeList", "hierarchyEntityList", "hierarchyEntryList",
        "hierarchy", *TEXTS,
    )  # fmt: skip
    attributes = place.pairs("anonymizationMethodAttributeList", "anonymizationMethodAttribute", "attributeList")
    levels: dict[str, int | None] = {"minimum": None, "maximum": None}
    other = []
    for key, value in attributes:
        plain = re.sub(r"[^a-z]", "", key.lower())
        if plain in MINIMUM + MAXIMUM:
            levels["minimum" if plain in MINIMUM else "maximum"] = _level(place, key, value)
        else:
            other.append((key, value))
    return Anonymization(
        method=place.text("name", default="Generalization") or "Generalization",
        minimum=levels["minimum"],
        maximum=levels["maximum"],
        hierarchy=_rows(place),
        parameters=tuple(other),
    )


def _level(place: Place, key: str, value: str) -> int | None:
    if re.fullmatch(r"\d{1,4}", value):
        return int(value)
    place.error("level_not_a_number", f"{key} must be a whole number from 0 on")
    return None


def _rows(place: Place) -> tuple[tuple[str, ...], ...]:
    """The hierarchy entries: one row, from the value itself to its coarsest form."""
    around = place.at("hierarchy")
    entries = (
        around.items("hierarchyEntryList", "hierarchyEntry", "hierarchyEntityList")
        if around is not None and isinstance(around.value, dict)
        else place.items("hierarchyEntityList", "hierarchyEntity", "hierarchyEntryList", "hierarchy")
    )
    row = tuple(e.value.strip() if isinstance(e.value, str) else e.text("value") for e in entries)
    return (row,) if row else ()


def _model(place: Place) -> PrivacyModel:
    place.only("name", "nameOfDataList", "nameOfData", "privacyModelAttributeList", "attributeList", *TEXTS)
    return PrivacyModel(
        name=place.name("privacy model"),
        data=_names(place, "nameOfDataList", "nameOfData", "nameOfData"),
        parameters=place.pairs("privacyModelAttributeList", "privacyModelAttribute", "attributeList"),
    )


def _pseudonymization(place: Place) -> Pseudonymization:
    place.only(
        "name",
        "attrName",
        "nameOfDataList",
        "nameOfData",
        "pseudonymizationMethodAttributeList",
        "attributeList",
        *TEXTS,
    )
    return Pseudonymization(
        name=place.name("pseudonymization method"),
        data=_names(place, "nameOfDataList", "nameOfData", "nameOfData"),
        target=place.text("attrName"),
        parameters=place.pairs(
            "pseudonymizationMethodAttributeList", "pseudonymizationMethodAttribute", "attributeList"
        ),
    )


def _recipient(place: Place) -> Recipient:
    place.only(
        "name", "classification", "authInfo", "type", "required", "thirdCountryTransfer", "country", "adequacyDecision",
        "safeguardList", "pointOfAcceptance", *TEXTS,
    )  # fmt: skip
    return Recipient(
        name=place.name("recipient"),
        classification=place.text("classification"),
        required=place.flag("required"),
        third_country=place.flag("thirdCountryTransfer"),
        country=place.text("country"),
        adequacy_decision=place.flag("adequacyDecision"),
        safeguards=_names(place, "safeguardList", "safeguard"),
    )


def _entity(place: Place) -> Entity:
    return Entity(place.name("person or office"), place.text("classification"), place.text("type"))


def _names(place: Place, name: str, single: str, *others: str) -> tuple[str, ...]:
    return tuple(found for item in place.items(name, single, *others) if (found := item.name(single)))
