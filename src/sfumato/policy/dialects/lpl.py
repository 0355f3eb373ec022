"""Reading the Layered Privacy Language from a tree, whatever dialect the tree came from.

Three forms are in use. *A* (PriPoCoG) writes lists as arrays; *B* (the older viewer) wraps them
(``purposeList.purpose[…]``); XML writes the parts of *A*'s lists as ``<item>``. One reader takes
all three: a list may be an array or wrapped, keys are found whatever their case, and the groups
have the names of both schools (QID = QI, SD = SA, NSD = NSA).

Documents are not pydantic models: a model would need every name of every dialect in every case as
an alias, and would stop at the first value of a wrong type. This reader reports all that is wrong
at once, with lines, notes what it does not read, and takes what it cannot read as what protects
most (an unknown group as an identifier).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sfumato.core.data_files import read_data_file
from sfumato.policy.dialects import Dialect
from sfumato.policy.documents import (
    Document,
    Findings,
    Place,
    PolicyError,
    Remark,
    Tree,
    TreeView,
    as_json,
)
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

# How long data may be kept, as policies write it.

UNITS: dict[str, Literal["day", "month", "year"]] = {
    "day": "day",
    "days": "day",
    "month": "month",
    "months": "month",
    "year": "year",
    "years": "year",
}
TEXTS = ("head", "headerList", "header", "desc", "descriptionList", "description")


def read_retention(node: Place) -> Retention:
    """The retention of a purpose; what cannot be read has expired."""
    node.only("type", "pointInTime", *TEXTS)
    kind = re.sub(r"[^a-z]", "", node.text("type", default="indefinite").lower())
    if kind in ("indefinite", ""):
        return Retention()
    if kind == "fixeddate":
        return Retention("fixed_date", date=_date(node))
    if kind != "afterpurpose":
        node.error(
            "unknown_retention", "retention must be indefinite, afterPurpose or fixedDate", "type"
        )
        return Retention("fixed_date", date=datetime.date.min)
    amount, unit = _duration(node)
    return Retention("after_purpose", amount=amount, unit=unit)


def _duration(node: Place) -> tuple[int | None, Literal["day", "month", "year"]]:
    point = node.at("pointInTime")
    if point is not None and isinstance(point.value, dict):
        amount, unit = point.text("value"), point.text("type", default="day").lower()
    else:
        match = re.fullmatch(
            r"\s*(\d+)\s*([a-z]*)\s*", node.text("pointInTime", default="0").lower() or "0"
        )
        amount, unit = match.groups() if match else ("?", "")
    if not re.fullmatch(r"\d{1,6}", amount) or (unit or "day") not in UNITS:
        node.error(
            "unreadable_duration",
            "a duration is a number of days, months or years, like '30 days'",
            "pointInTime",
        )
        return None, "day"
    return int(amount), UNITS[unit or "day"]


def _date(node: Place) -> datetime.date:
    text = node.text("pointInTime")
    for form in (
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%S.%fZ",
        "%Y-%m-%dT%H:%M:%SZ",
    ):
        try:
            return datetime.datetime.strptime(text, form).date()
        except ValueError:
            continue
    node.error("unreadable_date", "a fixed date must be written like 2030-12-31", "pointInTime")
    return datetime.date.min


GROUPS = {
    "EI": Group.EI,
    "QID": Group.QID,
    "QI": Group.QID,
    "SD": Group.SD,
    "SA": Group.SD,
    "NSD": Group.NSD,
    "NSA": Group.NSD,
}
TYPES = ("text", "number", "date", "boolean", "value set", "other")
MINIMUM = ("min", "minimum", "minimumlevel", "minlevel")
MAXIMUM = ("max", "maximum", "maximumlevel", "maxlevel")


def read_lpl(root: Place) -> Policy:
    """The policy of a document."""
    root.only(
        "version",
        "name",
        "lang",
        "language",
        "privacyPolicyUri",
        "ppURI",
        "icon",
        "iconList",
        "dataSource",
        "purposeList",
        "purposes",
        "purposeHierarchy",
        "purposeHierarchyList",
        "controllerList",
        "controllers",
        "accepted",
        "dataProtectionOfficerList",
        "dataProtectionOfficers",
        "dataSubjectRightList",
        "dataSubjectRights",
        "lodgeComplaint",
        "underlyingPolicy",
        "underlyingPrivacyPolicy",
        *TEXTS,
    )
    complaint = None
    lodged = root.at("lodgeComplaint")
    if lodged is not None and lodged.value:
        complaint = _entity(lodged)
    source = ""
    if not isinstance(_value(root, "dataSource"), dict):
        source = root.text("dataSource")
    refused = root.at("accepted") is not None and not root.flag("accepted")
    purposes = tuple(
        _purpose(p, refused=refused) for p in root.items("purposeList", "purpose", "purposes")
    )
    if not purposes:
        root.error(
            "no_purposes",
            "a policy without a purpose allows nothing; list at least one under purposeList",
        )
    return Policy(
        name=root.name("policy"),
        version=root.text("version"),
        language=root.text("lang", "language"),
        uri=root.text("privacyPolicyUri", "ppURI"),
        purposes=purposes,
        hierarchy=_hierarchy(root),
        controllers=tuple(
            _entity(e) for e in root.items("controllerList", "controller", "controllers")
        ),
        officers=tuple(
            _entity(e)
            for e in root.items(
                "dataProtectionOfficerList", "dataProtectionOfficer", "dataProtectionOfficers"
            )
        ),
        rights=_names(root, "dataSubjectRightList", "dataSubjectRight", "dataSubjectRights"),
        complaint=complaint,
        source=source,
        underlying=_underlying(root),
        title=root.texts("head", "headerList", "header"),
        description=root.texts("desc", "descriptionList", "description"),
    )


def _value(node: Place, name: str) -> Any:
    below = node.at(name)
    return None if below is None else below.value


def _underlying(root: Place) -> str:
    below = root.at("underlyingPolicy", "underlyingPrivacyPolicy")
    if below is None or not below.value:
        return ""
    below.note(
        "underlying_policy",
        "only the name of the underlying policy is read; load it on its own to enforce it",
    )
    if isinstance(below.value, dict):
        return below.text("name")
    return root.text("underlyingPolicy", "underlyingPrivacyPolicy")


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


def _purpose(node: Place, *, refused: bool) -> Purpose:
    node.only(
        "name",
        "optOut",
        "required",
        "accepted",
        "pointOfAcceptance",
        "dataList",
        "data",
        "dataRecipientList",
        "retention",
        "privacyModelList",
        "legalBasisList",
        "legalBasis",
        "automatedDecisionMakingList",
        "pseudonymizationMethodList",
        "pseudonymizationMethod",
        "iconList",
        *TEXTS,
    )
    accepted = None
    if refused:  # who refuses the policy refuses all its purposes
        accepted = False
    elif node.at("accepted") is not None:
        accepted = node.flag("accepted")
    retention = Retention()
    stored = node.at("retention")
    if stored is not None and stored.value:
        retention = read_retention(stored)
    return Purpose(
        name=node.name("purpose"),
        required=node.flag("required"),
        opt_out=node.flag("optOut"),
        accepted=accepted,
        point_of_acceptance=node.text("pointOfAcceptance"),
        data=tuple(d for item in node.items("dataList", "data") if (d := _datum(item)) is not None),
        recipients=tuple(_recipient(r) for r in node.items("dataRecipientList", "dataRecipient")),
        retention=retention,
        models=tuple(_model(m) for m in node.items("privacyModelList", "privacyModel")),
        pseudonymizations=tuple(
            _pseudonymization(p)
            for p in node.items(
                "pseudonymizationMethodList", "pseudonymizationMethod", "pseudonymizationMethod"
            )
            if p.value not in ("", {})
        ),
        legal_bases=tuple(
            LegalBasis(item.name("legal basis"), item.text("lbCategory", "category"))
            for item in node.items("legalBasisList", "legalBasis", "legalBasis")
        ),
        automated_decisions=_names(node, "automatedDecisionMakingList", "automatedDecisionMaking"),
        title=node.texts("head", "headerList", "header"),
        description=node.texts("desc", "descriptionList", "description"),
    )


def _datum(node: Place) -> Datum | None:
    node.only(
        "id",
        "name",
        "required",
        "pointOfAcceptance",
        "dataType",
        "type",
        "privacyGroup",
        "anonymizationMethod",
        "dataCategoryList",
        "dataCategory",
        "dataGroupList",
        "dataGroup",
        *TEXTS,
    )
    if not isinstance(node.value, dict):
        return None
    group_name = node.text("privacyGroup").upper()
    if group_name not in GROUPS:
        node.error(
            "unknown_privacy_group",
            f"the privacy group must be one of {', '.join(GROUPS)}",
            "privacyGroup",
        )
    kind = node.text("dataType", "type", default="other").lower().replace("_", " ") or "other"
    if kind not in TYPES:
        node.warning(
            "unknown_data_type",
            f"the data type is none of {', '.join(TYPES)}; it counts as other",
        )
        kind = "other"
    anonymization = None
    method = node.at("anonymizationMethod")
    if method is not None and _is_filled(method):
        anonymization = _anonymization(method)
    return Datum(
        name=node.name("datum"),
        group=GROUPS.get(group_name, Group.EI),  # what cannot be read is protected most
        type=kind,
        required=node.flag("required"),
        categories=_names(node, "dataCategoryList", "dataCategory", "dataCategory"),
        groups=_names(node, "dataGroupList", "dataGroup", "dataGroup"),
        anonymization=anonymization,
    )


def _is_filled(method: Place) -> bool:
    """Editors write an empty method where none was chosen."""
    if not isinstance(method.value, dict):
        return bool(method.value)
    lists = (
        "anonymizationMethodAttributeList",
        "attributeList",
        "hierarchyEntityList",
        "hierarchy",
    )
    return bool(method.text("name")) or any(
        method.at(name) is not None and _value(method, name) for name in lists
    )


def _anonymization(node: Place) -> Anonymization:
    node.only(
        "name",
        "anonymizationMethodAttributeList",
        "attributeList",
        "hierarchyEntityList",
        "hierarchyEntryList",
        "hierarchy",
        *TEXTS,
    )
    attributes = node.pairs(
        "anonymizationMethodAttributeList", "anonymizationMethodAttribute", "attributeList"
    )
    levels: dict[str, int | None] = {"minimum": None, "maximum": None}
    parameters = []
    for key, value in attributes:
        plain = re.sub(r"[^a-z]", "", key.lower())
        if plain in MINIMUM + MAXIMUM:
            levels["minimum" if plain in MINIMUM else "maximum"] = _level(node, key, value)
        else:
            parameters.append((key, value))
    return Anonymization(
        method=node.text("name", default="Generalization") or "Generalization",
        minimum=levels["minimum"],
        maximum=levels["maximum"],
        hierarchy=_rows(node),
        parameters=tuple(parameters),
    )


def _level(node: Place, key: str, value: str) -> int | None:
    if re.fullmatch(r"\d{1,4}", value):
        return int(value)
    node.error("level_not_a_number", f"{key} must be a whole number from 0 on")
    return None


def _rows(node: Place) -> tuple[tuple[str, ...], ...]:
    """The hierarchy entries: one row, from the value itself to its coarsest form."""
    around = node.at("hierarchy")
    if around is not None and isinstance(around.value, dict):
        entries = around.items("hierarchyEntryList", "hierarchyEntry", "hierarchyEntityList")
    else:
        entries = node.items(
            "hierarchyEntityList", "hierarchyEntity", "hierarchyEntryList", "hierarchy"
        )
    row = tuple(e.value.strip() if isinstance(e.value, str) else e.text("value") for e in entries)
    return (row,) if row else ()


def _model(node: Place) -> PrivacyModel:
    node.only(
        "name", "nameOfDataList", "nameOfData", "privacyModelAttributeList", "attributeList", *TEXTS
    )
    return PrivacyModel(
        name=node.name("privacy model"),
        data=_names(node, "nameOfDataList", "nameOfData", "nameOfData"),
        parameters=node.pairs(
            "privacyModelAttributeList", "privacyModelAttribute", "attributeList"
        ),
    )


def _pseudonymization(node: Place) -> Pseudonymization:
    node.only(
        "name",
        "attrName",
        "nameOfDataList",
        "nameOfData",
        "pseudonymizationMethodAttributeList",
        "attributeList",
        *TEXTS,
    )
    return Pseudonymization(
        name=node.name("pseudonymization method"),
        data=_names(node, "nameOfDataList", "nameOfData", "nameOfData"),
        target=node.text("attrName"),
        parameters=node.pairs(
            "pseudonymizationMethodAttributeList",
            "pseudonymizationMethodAttribute",
            "attributeList",
        ),
    )


def _recipient(node: Place) -> Recipient:
    node.only(
        "name",
        "classification",
        "authInfo",
        "type",
        "required",
        "thirdCountryTransfer",
        "country",
        "adequacyDecision",
        "safeguardList",
        "pointOfAcceptance",
        *TEXTS,
    )
    return Recipient(
        name=node.name("recipient"),
        classification=node.text("classification"),
        required=node.flag("required"),
        third_country=node.flag("thirdCountryTransfer"),
        country=node.text("country"),
        adequacy_decision=node.flag("adequacyDecision"),
        safeguards=_names(node, "safeguardList", "safeguard"),
    )


def _entity(node: Place) -> Entity:
    return Entity(node.name("person or office"), node.text("classification"), node.text("type"))


def _names(node: Place, name: str, single: str, *synonyms: str) -> tuple[str, ...]:
    return tuple(
        part_name
        for item in node.items(name, single, *synonyms)
        if (part_name := item.name(single))
    )


# Writing the Layered Privacy Language: dialect A with arrays, dialect B with wrapped lists.

Texts = Sequence[tuple[str, str]]


def to_dialect_a(policy: Policy) -> Tree:
    """The tree of a policy with arrays; what the language cannot say is refused, not dropped."""
    _require_sayable(policy)
    document: Tree = {
        "version": policy.version,
        "name": policy.name,
        "lang": policy.language,
        "privacyPolicyUri": policy.uri,
        "head": _texts(policy.title),
        "desc": _texts(policy.description),
        "dataSource": policy.source,
        "purposeList": [_purpose_document(p) for p in policy.purposes],
        "purposeHierarchy": [
            {"superPurpose": above, "subPurpose": below} for above, below in policy.hierarchy
        ],
        "controllerList": [_entity_document(e) for e in policy.controllers],
        "dataProtectionOfficerList": [_entity_document(e) for e in policy.officers],
        "dataSubjectRightList": _name_entries(policy.rights),
    }
    if policy.complaint:
        document["lodgeComplaint"] = _entity_document(policy.complaint)
    if policy.underlying:
        document["underlyingPolicy"] = policy.underlying
    return document


def to_dialect_b(policy: Policy) -> Tree:
    """The tree of a policy with wrapped lists."""
    wrapped: Tree = _wrap_tree(to_dialect_a(policy))
    return wrapped


def _require_sayable(policy: Policy) -> None:
    unsayable = []
    if policy.rule is not None:
        unsayable.append(
            Remark(
                "not_sayable",
                "error",
                "$.rule",
                "the language cannot express the source of a rule",
            )
        )
    for purpose in policy.purposes:
        if purpose.any_data:
            unsayable.append(
                Remark(
                    "not_sayable",
                    "error",
                    f"$.{purpose.name}",
                    "the language lists data, and 'any' is not a datum",
                )
            )
        for datum in purpose.data:
            if datum.anonymization is not None and len(datum.anonymization.hierarchy) > 1:
                expressible = (
                    "the language has one row of hierarchy entries per person; export to "
                    "sfumato's own form instead"
                )
                unsayable.append(
                    Remark("not_sayable", "error", f"$.{purpose.name}.{datum.name}", expressible)
                )
    if unsayable:
        raise PolicyError(unsayable, policy.name)


def _purpose_document(purpose: Purpose) -> Tree:
    document = {
        "name": purpose.name,
        "optOut": purpose.opt_out,
        "required": purpose.required,
        "accepted": purpose.accepted,
        "pointOfAcceptance": purpose.point_of_acceptance,
        "head": _texts(purpose.title),
        "desc": _texts(purpose.description),
        "dataList": [_datum_document(d) for d in purpose.data],
        "dataRecipientList": [_recipient_document(r) for r in purpose.recipients],
        "retention": _retention(purpose.retention),
        "privacyModelList": [
            {
                "name": m.name,
                "nameOfDataList": _name_entries(m.data),
                "privacyModelAttributeList": _pairs(m.parameters),
            }
            for m in purpose.models
        ],
        "legalBasisList": [{"name": b.name, "lbCategory": b.category} for b in purpose.legal_bases],
        "automatedDecisionMakingList": _name_entries(purpose.automated_decisions),
        "pseudonymizationMethodList": [
            {
                "name": p.name,
                "attrName": p.target,
                "nameOfDataList": _name_entries(p.data),
                "pseudonymizationMethodAttributeList": _pairs(p.parameters),
            }
            for p in purpose.pseudonymizations
        ],
    }
    if purpose.accepted is None:  # nobody was asked: the language has no word for that
        del document["accepted"]
    return document


def _datum_document(datum: Datum) -> Tree:
    document: Tree = {
        "name": datum.name,
        "required": datum.required,
        "dataType": datum.type.title(),  # value set: Value Set
        "privacyGroup": str(datum.group),
        "dataCategoryList": _name_entries(datum.categories),
        "dataGroupList": _name_entries(datum.groups),
    }
    if datum.anonymization:
        document["anonymizationMethod"] = _anonymization_document(datum.anonymization)
    return document


def _anonymization_document(method: Anonymization) -> Tree:
    levels = (("Minimum Level", method.minimum), ("Maximum Level", method.maximum))
    attributes = [(key, str(value)) for key, value in levels if value is not None]
    return {
        "name": method.method,
        "anonymizationMethodAttributeList": _pairs([*attributes, *method.parameters]),
        "hierarchyEntityList": [{"value": value} for row in method.hierarchy for value in row],
    }


def _recipient_document(recipient: Recipient) -> Tree:
    return {
        "name": recipient.name,
        "classification": recipient.classification,
        "required": recipient.required,
        "thirdCountryTransfer": recipient.third_country,
        "country": recipient.country,
        "adequacyDecision": recipient.adequacy_decision,
        "safeguardList": _name_entries(recipient.safeguards),
    }


def _retention(retention: Retention) -> Tree:
    if retention.kind == "fixed_date":
        return {
            "type": "fixedDate",
            "pointInTime": retention.date.isoformat() if retention.date else "",
        }
    if retention.kind == "after_purpose":
        return {"type": "afterPurpose", "pointInTime": f"{retention.amount or 0} {retention.unit}"}
    return {"type": "indefinite", "pointInTime": ""}


def _entity_document(entity: Entity) -> Tree:
    return {"name": entity.name, "classification": entity.classification, "type": entity.type}


def _texts(texts: Texts) -> list[dict[str, str]]:
    return [{"lang": language, "value": value} for language, value in texts]


def _name_entries(names: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in pairs]


def _wrap_tree(tree: Any) -> Any:
    """A tree of dialect A in the manner of B."""
    if isinstance(tree, list):
        return [_wrap_tree(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    wrapped: Tree = {}
    # list of dialect A → its name in dialect B, and the name of one part
    list_names = read_data_file(__package__, "lpl_lists")
    for key, value in tree.items():
        if key == "hierarchyEntityList":
            wrapped["hierarchy"] = {
                "HierarchyEntryList": {"HierarchyEntry": [entry["value"] for entry in value]}
            }
        elif key == "retention":
            wrapped[key] = _older_retention(value)
        elif key in list_names and isinstance(value, list):
            name, single = list_names[key]
            wrapped[name] = {single: _wrap_tree(value)}
        else:
            wrapped[key] = _wrap_tree(value)
    return wrapped


def _older_retention(retention: Tree) -> Tree:
    point: Any = retention["pointInTime"]
    if retention["type"] == "afterPurpose":
        amount, unit = point.split()
        point = {"type": unit, "value": amount}
    return {"type": retention["type"].upper(), "pointInTime": point}


# The dialects.

# our nouns → the lists of the Layered Privacy Language and the name of one part of each, to find
# lines
LISTS = {
    "purposes": ("purposeList", "purpose"),
    "data": ("dataList", "data"),
    "recipients": ("dataRecipientList", "dataRecipient"),
    "models": ("privacyModelList", "privacyModel"),
    "pseudonymizations": ("pseudonymizationMethodList", "pseudonymizationMethod"),
    "legal_bases": ("legalBasisList", "legalBasis"),
    "hierarchy": ("purposeHierarchy", "purposeHierarchy"),
}


class Lpl(Dialect):
    """What all dialects of the language have in common."""

    title = "LPL"
    writable = True

    def policy(self, document: Document, findings: Findings) -> Policy:
        """What :func:`read_lpl` reads."""
        return read_lpl(Place.root(document, findings))

    def source_path(self, path: str) -> str:
        """Where a part of our own form stands: lists have other names, and in dialect B a part of a
        list has one too.
        """

        def translated(part: re.Match[str]) -> str:
            name, single = LISTS.get(part[1], (part[1], ""))
            return f".{self.listed(name, single)}{part[2]}"

        return re.sub(r"\.(\w+)((?:\[\d+\])?)", translated, path)

    def listed(self, name: str, single: str) -> str:
        """The path of a list's parts, which are called ``single`` if they have a name."""
        return name


def _purposes(tree: TreeView) -> Any:
    return next(
        (tree[key] for key in tree if str(key).lower() in ("purposelist", "purposes")), None
    )


class LplA(Lpl):
    """Dialect A: purposes are an array."""

    name = "lpl-a"

    def speaks(self, tree: TreeView) -> bool:
        """Whether there are purposes, not wrapped."""
        purposes = _purposes(tree)
        return purposes is not None and not isinstance(purposes, Mapping)

    def text(self, policy: Policy) -> str:
        """What :func:`to_dialect_a` writes, as JSON."""
        return as_json(to_dialect_a(policy))


class LplB(Lpl):
    """Dialect B: purposes are wrapped."""

    name = "lpl-b"

    def speaks(self, tree: TreeView) -> bool:
        """Whether there are purposes, wrapped."""
        return isinstance(_purposes(tree), Mapping)

    def listed(self, name: str, single: str) -> str:
        """A list is an object that holds its parts under their name."""
        return f"{name}.{single}" if single else name

    def text(self, policy: Policy) -> str:
        """What :func:`to_dialect_b` writes, as JSON."""
        return as_json(to_dialect_b(policy))
