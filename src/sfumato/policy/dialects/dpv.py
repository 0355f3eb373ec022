"""The Data Privacy Vocabulary: processes in, policies and releases out.

DPV has no terms for k-anonymity, l-diversity, t-closeness and their parameters. Ours are few, in
the namespace ``urn:sfumato:vocabulary#`` (``sf:``): classes of models below ``dpv:Anonymisation``,
``sf:has_k`` … for parameters, ``sf:promised_k`` … for what was asked for, ``sf:column``,
``sf:group``, ``sf:minimumLevel`` and ``sf:maximumLevel`` for data, ``sf:until`` for the last day of
storage.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.policy.dialects import Dialect, PermittedUses
from sfumato.policy.dialects.usages import (
    MODELS,
    PREFIXES,
    Category,
    Graph,
    Node,
    TechnicalMeasure,
    Usage,
    local,
    policy_of_usages,
    read_odrl,
)
from sfumato.policy.documents import (
    Document,
    Findings,
    PolicyError,
    Remark,
    Tree,
    TreeView,
    as_json,
)
from sfumato.policy.policy import (
    Datum,
    Group,
    Policy,
    PrivacyModel,
    Purpose,
    Retention,
    UnknownPromise,
    demand_of,
    models_of,
)
from sfumato.release.public_recipe import pseudonym_columns

PROCESSES = ("dpv:Process", "dpv:PersonalDataHandling", "dpv:PersonalDataProcess")
TERMS = {name: term for term, name in MODELS.items()}
DURATION = re.compile(r"P(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,4})W)?(?:(\d{1,6})D)?(?:T.*)?")
PARAMETER = {
    "k_anonymity": "has_k",
    "l_diversity": "has_l",
    "t_closeness": "has_t",
    "beta_likeness": "has_beta",
    "delta_disclosure": "has_delta",
    "p_sensitive": "has_p",
    "alpha_k_anonymity": "has_alpha",
}


def read_usages(document: Document, findings: Findings) -> tuple[Usage, ...]:
    """The uses of a DPV or ODRL document."""
    graph = Graph(document, findings)
    usages = (*read_dpv(graph), *read_odrl(graph))
    if not usages:
        findings.fail(
            "no_usage",
            "$",
            "the document describes no readable dpv:Process and no readable odrl:Policy",
        )
    return usages


def read_dpv(graph: Graph) -> tuple[Usage, ...]:
    """The processes of a document."""
    return tuple(_usage(graph, node) for node in graph.of_type(*PROCESSES))


# What is read of a process.
READ = (
    "dpv:hasPurpose",
    "dpv:hasPersonalData",
    "dpv:hasData",
    "dpv:hasProcessing",
    "dpv:hasRecipient",
    "dpv:hasRecipientThirdParty",
    "dpv:hasTechnicalOrganisationalMeasure",
    "dpv:hasTechnicalMeasure",
    "dpv:hasStorageCondition",
    "dpv:hasStorage",
    "dpv:hasLegalBasis",
)
RULES = ("dpv:hasRule", "dpv:hasPermission", "dpv:hasProhibition", "dpv:hasObligation")


def _tell_what_is_not_read(graph: Graph, node: Node) -> None:
    """Rules may forbid what the rest of a process describes, so they are refused; the rest has no
    effect on data.
    """
    for name in node.properties:
        if name in RULES:
            problem = (
                f"{name} of a process is not supported and may forbid more; write the rule as an "
                "odrl:Policy"
            )
            graph.findings.error("not_read", node.path, problem)
        elif (
            name.startswith(("dpv:", "sf:")) and name not in READ and name != "sf:suppressedRecords"
        ):
            graph.findings.note(
                "not_read",
                node.path,
                f"{name} of a process is not supported and has no effect on data",
            )


def _usage(graph: Graph, node: Node) -> Usage:
    _tell_what_is_not_read(graph, node)
    measures = graph.values(
        node, "dpv:hasTechnicalOrganisationalMeasure", "dpv:hasTechnicalMeasure"
    )
    days, locations, until = _storage(graph, node)
    return Usage(
        purposes=graph.names(node, "dpv:hasPurpose"),
        data=tuple(
            _category(graph, v) for v in graph.values(node, "dpv:hasPersonalData", "dpv:hasData")
        ),
        processing=graph.names(node, "dpv:hasProcessing"),
        recipients=graph.names(node, "dpv:hasRecipient", "dpv:hasRecipientThirdParty"),
        measures=tuple(_measure(graph, v) for v in measures),
        locations=locations,
        days=days,
        legal_bases=graph.names(node, "dpv:hasLegalBasis"),
        until=until,
    )


def _category(graph: Graph, value: Any) -> Category:
    if not isinstance(value, Node):
        return Category(graph.name_of(value))
    levels = [_level(graph, value, name) for name in ("minimumLevel", "maximumLevel")]
    labels = {"column": "", "group": ""}
    for name in labels:
        label = next(iter(graph.values(value, f"sf:{name}")), None)
        if label is not None:
            labels[name] = graph.name_of(label)
    column, group = labels["column"], local(labels["group"])
    if group and group not in Group.__members__:
        groups = ", ".join(Group.__members__)
        graph.findings.error(
            "unknown_privacy_group", value.path, f"sf:group must be one of {groups}"
        )
    return Category(graph.name_of(value), column, group, *levels)


def _level(graph: Graph, node: Node, name: str) -> int | None:
    """A level that a category names; what cannot be read is an error, since it may be a minimum."""
    levels = list(graph.values(node, f"sf:{name}"))
    if not levels:
        return None
    text = str(levels[0])
    if len(levels) > 1 or isinstance(levels[0], bool) or not re.fullmatch(r"\d{1,4}", text):
        graph.findings.error(
            "level_not_a_number", node.path, f"sf:{name} must be one whole number from 0 on"
        )
        return None
    return int(text)


def _measure(graph: Graph, value: Any) -> TechnicalMeasure:
    if not isinstance(value, Node):
        return TechnicalMeasure(graph.name_of(value))
    parameters = []
    for name in value.properties:
        if name.startswith("sf:has_"):
            for number in graph.values(value, name):
                if _is_number(number) or re.fullmatch(r"\d{1,9}(\.\d{1,9})?", str(number)):
                    parameters.append((name.removeprefix("sf:"), float(number)))
                else:
                    graph.findings.error(
                        "parameter_not_a_number", value.path, f"{name} must be a number"
                    )
    about = next((graph.name_of(v) for v in graph.values(value, "sf:about")), "")
    return TechnicalMeasure(graph.name_of(value), tuple(parameters), about)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _storage(graph: Graph, node: Node) -> tuple[int | None, tuple[str, ...], datetime.date | None]:
    """For how many days, where, and until which day data may be stored."""
    days: list[int] = []
    locations: tuple[str, ...] = ()
    ends: list[datetime.date] = []
    for condition in graph.values(node, "dpv:hasStorageCondition", "dpv:hasStorage"):
        if isinstance(condition, Node):
            days += [
                d
                for v in graph.values(condition, "dpv:hasDuration")
                if (d := _days(graph, v)) is not None
            ]
            locations += graph.names(condition, "dpv:hasLocation")
            ends += [_day(graph, v) for v in graph.values(condition, "sf:until")]
    return (min(days) if days else None), locations, min(ends, default=None)


def _day(graph: Graph, value: Any) -> datetime.date:
    try:
        return datetime.date.fromisoformat(graph.name_of(value))
    except ValueError:
        graph.findings.error(
            "unreadable_date", "$", "sf:until must be a day, written like 2030-12-31"
        )
        return datetime.date.min


def _days(graph: Graph, value: Any) -> int | None:
    """A duration in days: a number, or an ISO 8601 period with years of 365 and months of 30 days,
    which never keeps longer.
    """
    if isinstance(value, Node):
        value = next(iter(graph.values(value, "rdf:value", "sf:days")), None)
    text = graph.name_of(value) if value is not None else ""
    match = DURATION.fullmatch(text)
    if match is not None and any(match.groups()):
        years, months, weeks, days = (int(part or 0) for part in match.groups())
        return years * 365 + months * 30 + weeks * 7 + days
    if re.fullmatch(r"\d{1,6}", text):
        return int(text)
    graph.findings.error(
        "unreadable_duration", "$", "a storage duration cannot be read; write it like P30D"
    )
    return None


def context() -> dict[str, str]:
    """The prefixes our documents use."""
    return {name: PREFIXES[name] for name in ("dpv", "pd", "sf", "xsd")}


def policy_to_dpv(policy: Policy) -> Tree:
    """A policy in DPV terms: one process per purpose. Hierarchies and pseudonym methods have no
    place there.

    Neither has a refusal: a process that is described is one that may be, so a purpose that was not
    agreed to is an error. So are a datum that must be deleted or suppressed, and pseudonyms of a
    column that would be released without them.
    """
    unsayable: list[Remark] = []
    for purpose in policy.purposes:
        unsayable += _unsayable(purpose)
    if unsayable:
        raise PolicyError(unsayable, policy.name)
    return {
        "@context": context(),
        "@graph": [_process(policy, purpose) for purpose in policy.purposes],
    }


def _unsayable(purpose: Purpose) -> Iterator[Remark]:
    instead = "remove it, or export to sfumato's own form"
    if purpose.accepted is False and not purpose.required:
        problem = f"the language cannot express a purpose that was not agreed to; {instead}"
        yield Remark("not_sayable", "error", f"$.{purpose.name}", problem)
    pseudonyms = {name for method in purpose.pseudonymizations for name in method.data}
    for datum in purpose.data:
        method = datum.anonymization
        if method is not None and demand_of(method) == "withheld":
            problem = f"the language has no word for {method.method}; {instead}"
            yield Remark("not_sayable", "error", f"$.{purpose.name}.{datum.name}", problem)
        if datum.name in pseudonyms and datum.group != Group.EI:
            problem = f"the language cannot say which columns get pseudonyms; {instead}"
            yield Remark("not_sayable", "error", f"$.{purpose.name}.{datum.name}", problem)


def _process(policy: Policy, purpose: Purpose) -> Tree:
    process: Tree = {
        "@id": f"urn:sfumato:policy:{policy.name}:{purpose.name}",
        "@type": "dpv:Process",
        "dpv:hasPurpose": {"@id": _qualified_name(purpose.name)},
        "dpv:hasPersonalData": [_data_node(datum) for datum in purpose.data],
        "dpv:hasRecipient": [
            {"@id": _qualified_name(recipient.name)} for recipient in purpose.recipients
        ],
        "dpv:hasLegalBasis": [
            {"@id": _qualified_name(basis.name)} for basis in purpose.legal_bases
        ],
        "dpv:hasTechnicalOrganisationalMeasure": [
            node for model in purpose.models for node in _model_nodes(model, purpose)
        ],
    }
    storage: Tree = {}
    if (days := _kept_days(purpose.retention)) is not None:
        storage["dpv:hasDuration"] = f"P{days}D"
    if purpose.retention.kind == "fixed_date" and purpose.retention.date is not None:
        storage["sf:until"] = {"@value": purpose.retention.date.isoformat()}
    if storage:
        process["dpv:hasStorageCondition"] = {"@type": "dpv:StorageCondition", **storage}
    return process


def _qualified_name(name: str) -> str:
    return name if ":" in name else f"sf:{name}"


def _data_node(datum: Datum) -> Tree:
    category = next((c for c in datum.categories if ":" in c), "dpv:PersonalData")
    levels = datum.anonymization
    node: Tree = {
        "@type": category,
        "sf:column": {"@value": datum.name},
        "sf:group": {"@value": str(datum.group)},
    }
    if levels is not None and levels.minimum is not None:
        node["sf:minimumLevel"] = levels.minimum
    if levels is not None and levels.maximum is not None:
        node["sf:maximumLevel"] = levels.maximum
    return node


def _model_nodes(model: PrivacyModel, purpose: Purpose) -> list[Tree]:
    try:
        models = models_of(model, [d.name for d in purpose.data if d.group == "SD"])
    except UnknownPromise:
        return [{"@type": "dpv:Anonymisation", "sf:name": {"@value": model.name}}]
    return [measure_node(m.name, vars(m)) for m in models]


def measure_node(name: str, fields: TreeView) -> Tree:
    """A model of ours as a measure with its parameters."""
    node: Tree = {"@type": TERMS.get(name, "sf:OtherModel")}
    if name not in TERMS:
        node["sf:name"] = {"@value": name}
    for field, value in fields.items():
        if _is_number(value):
            node[f"sf:has_{field}"] = value
    if isinstance(fields.get("sensitive"), str):
        node["sf:about"] = {"@value": fields["sensitive"]}
    return node


def _kept_days(retention: Retention) -> int | None:
    if retention.kind != "after_purpose" or retention.amount is None:
        return None
    return retention.amount * {"day": 1, "month": 30, "year": 365}[retention.unit]


def release_to_dpv(certificate: TreeView, record: TreeView | None = None) -> Tree:
    """What was released, in DPV terms: columns and roles, measures with promised and attained
    parameters, and no data values.

    Whether the data are *anonymised* in the sense of the law is not ours to say: the state is left
    open, the measures are named.
    """
    use = record or {}
    data: list[Tree] = []
    for name, roles in certificate.get("roles", {}).items():
        words = [{"@value": str(role)} for role in roles]
        data.append({"@type": "dpv:PersonalData", "sf:column": {"@value": name}, "sf:role": words})
    measures: list[Tree] = []
    for columns in pseudonym_columns(certificate):
        words = [{"@value": column} for column in columns]
        measures.append({"@type": "dpv:Pseudonymisation", "sf:column": words})
    node: Tree = {
        "@context": context(),
        "@id": f"urn:sha256:{certificate.get('data', {}).get('sha256', 'unknown')}",
        "@type": "dpv:Process",
        "dpv:hasProcessing": [{"@id": "dpv:Anonymise"}, {"@id": "dpv:MakeAvailable"}],
        "dpv:hasPersonalData": data,
        "dpv:hasTechnicalOrganisationalMeasure": [*measures, *_attained_promises(certificate)],
        "sf:suppressedRecords": certificate.get("suppressed_records", 0),
    }
    if use.get("purpose"):
        node["dpv:hasPurpose"] = {"@id": _qualified_name(str(use["purpose"]))}
    if use.get("recipient"):
        node["dpv:hasRecipient"] = {"@id": _qualified_name(str(use["recipient"]))}
    return node


def _attained_promises(certificate: TreeView) -> list[Tree]:
    """The promises of a certificate with what was attained; ``sf:has_k`` is what holds,
    ``sf:promised_k`` what was asked for.
    """
    measures = []
    specs = certificate.get("recipe", {}).get("meet", [])
    for spec, verdict in zip(specs, certificate.get("verdicts", []), strict=False):
        name, fields = next(iter(spec.items()))
        node = measure_node(name, fields)
        parameter = PARAMETER.get(name)
        if (
            parameter is not None
            and f"sf:{parameter}" in node
            and verdict.get("attained") is not None
        ):
            node[f"sf:promised_{parameter.removeprefix('has_')}"] = node[f"sf:{parameter}"]
            node[f"sf:{parameter}"] = verdict["attained"]
        measures.append(node)
    return measures


class LinkedData(Dialect):
    """What DPV and ODRL have in common: JSON-LD that tells of uses, and of columns where it says
    what they are.
    """

    permits = True

    def policy(self, document: Document, findings: Findings) -> Policy:
        """The policy that the uses amount to."""
        return policy_of_usages(
            read_usages(document, findings), name=Path(document.name).stem, findings=findings
        )

    def permission(self, document: Document, findings: Findings) -> PermittedUses:
        """The uses."""
        return PermittedUses(read_usages(document, findings))


def _is_link(tree: TreeView) -> bool:
    return "@context" in tree or "@graph" in tree or "@type" in tree


def _names_odrl(tree: TreeView) -> bool:
    return "odrl" in json.dumps(tree).lower()


class Dpv(LinkedData):
    """The Data Privacy Vocabulary."""

    name = "dpv"
    title = "DPV"
    writable = True

    def speaks(self, tree: TreeView) -> bool:
        """Linked data that does not name ODRL."""
        return _is_link(tree) and not _names_odrl(tree)

    def text(self, policy: Policy) -> str:
        """What :func:`policy_to_dpv` writes, as JSON."""
        return as_json(policy_to_dpv(policy))


class Odrl(LinkedData):
    """The Open Digital Rights Language."""

    name = "odrl"
    title = "ODRL"

    def speaks(self, tree: TreeView) -> bool:
        """Linked data that names ODRL."""
        return _is_link(tree) and _names_odrl(tree)
