"""Uses of data as DPV and ODRL describe them, as one noun: data, purpose, processing, storage,
recipients, measures.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.core import environment
from sfumato.policy.dialects.special import And, Between, Concept, NamedClass, Or, Some, disjuncts
from sfumato.policy.dialects.subsumption import (
    THING_NAMES,
    Coverage,
    Vocabulary,
    built_in,
    decide,
    subsumes,
)
from sfumato.policy.documents import ROOT, Document, Findings, Tree, TreeView
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

# Just enough of JSON-LD to read policies: names under known prefixes, references within the
# document, nothing fetched.

PREFIXES = {
    "dpv": "https://w3id.org/dpv#",
    "pd": "https://w3id.org/dpv/pd#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "sf": "urn:sfumato:vocabulary#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "dct": "http://purl.org/dc/terms/",
}
REMOTE = {
    "http://www.w3.org/ns/odrl.jsonld": "odrl",
    "https://w3id.org/dpv/dpv.jsonld": "dpv",
    "https://w3id.org/dpv": "dpv",
}


@dataclasses.dataclass(frozen=True)
class Ref:
    """Something that is named, here or elsewhere."""

    id: str


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """Something a document describes: its name, its types, and its properties under short names."""

    id: str
    types: tuple[str, ...]
    properties: Mapping[str, tuple[Any, ...]]
    path: str


class Graph:
    """The nodes of a document by their names."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self.document, self.findings = document, findings
        self.prefixes = dict(PREFIXES)
        self.terms: dict[str, str] = {}
        self.vocabulary: str | None = None
        self.nodes: dict[str, Node] = {}
        tree = document.tree
        self._context(tree.get("@context"))
        # one top node stands for itself, several stand in a list
        graph = tree.get("@graph")
        tops = graph if isinstance(graph, list) else [tree]
        for i, top in enumerate(tops):
            if isinstance(top, Mapping):
                self._node(top, f"{ROOT}.@graph[{i}]" if isinstance(graph, list) else ROOT)

    def of_type(self, *types: str) -> list[Node]:
        """The nodes of some types, in their order."""
        return [node for node in self.nodes.values() if set(types) & set(node.types)]

    def values(self, node: Node, *names: str) -> Iterator[Any]:
        """The values of some properties; references to nodes of the document become these nodes."""
        for name in names:
            for value in node.properties.get(name, ()):
                yield self.nodes.get(value.id, value) if isinstance(value, Ref) else value

    def names(self, node: Node, *properties: str) -> tuple[str, ...]:
        """The short names of what some properties lead to: of the class where a node is described,
        of the value otherwise.
        """
        return tuple(
            name for value in self.values(node, *properties) if (name := self.name_of(value))
        )

    def name_of(self, value: Any) -> str:
        """The short name of a value."""
        if isinstance(value, Node):
            if value.types:
                return value.types[0]
            return value.id
        if isinstance(value, Ref):
            return value.id
        return str(value)

    def _context(self, context: Any) -> None:
        for part in context if isinstance(context, list) else [context]:
            if isinstance(part, str):
                if part.rstrip("/") in REMOTE:
                    self.vocabulary = REMOTE[part.rstrip("/")]
                else:
                    problem = (
                        "this context is not fetched; only names with known prefixes are understood"
                    )
                    self.findings.note("remote_context", f"{ROOT}.@context", problem)
            elif isinstance(part, Mapping):
                self._definitions(part)

    def _definitions(self, definitions: TreeView) -> None:
        for term, meaning in definitions.items():
            target = meaning.get("@id") if isinstance(meaning, Mapping) else meaning
            if term == "@vocab" and isinstance(target, str):
                self.vocabulary = next((p for p, iri in PREFIXES.items() if iri == target), None)
            elif isinstance(target, str) and target[-1:] in ("#", "/", ":"):
                self.prefixes[term] = target
            elif isinstance(target, str):
                self.terms[term] = self.short(target)

    def short(self, name: str) -> str:
        """A name under a known prefix, whatever form it is written in."""
        if name in self.terms:
            return self.terms[name]
        prefix, colon, local = name.partition(":")
        if colon and prefix in self.prefixes:
            full = self.prefixes[prefix] + local
        else:
            full = name
        for name_of, iri in PREFIXES.items():
            if full.startswith(iri):
                return f"{name_of}:{full.removeprefix(iri)}"
        if not colon and self.vocabulary and not name.startswith("@"):
            return f"{self.vocabulary}:{name}"
        return full

    def _node(self, tree: TreeView, path: str) -> Ref:
        identifier = tree.get("@id", tree.get("uid", tree.get("id")))
        if isinstance(identifier, str):
            name = self.short(identifier)
        else:
            name = f"_:{len(self.nodes)}"
        self.nodes.setdefault(name, Node(name, (), {}, path))
        types = tree.get("@type", tree.get("type", []))
        properties: dict[str, tuple[Any, ...]] = {}
        for key, value in tree.items():
            if not str(key).startswith("@") and key not in ("uid", "id", "type"):
                values = [self._value(entry, f"{path}.{key}") for entry in _list_values(value)]
                properties[self.short(str(key))] = tuple(values)
        listed = types if isinstance(types, list) else [types]
        kinds = tuple(self.short(t) for t in listed if isinstance(t, str))
        self.nodes[name] = Node(name, kinds, properties, path)
        return Ref(name)

    def _value(self, value: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            if "@value" in value:
                return value["@value"]
            if set(value) == {"@id"} and isinstance(value["@id"], str):
                return Ref(self.short(value["@id"]))
            return self._node(value, path)
        if isinstance(value, str) and (":" in value or (self.vocabulary and value.isidentifier())):
            return Ref(self.short(value))
        return value


def _list_values(value: Any) -> list[Any]:
    """The values of a property, one or many."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("@list", "@set"):
        value = next(iter(value.values()))
    return value if isinstance(value, list) else [value]


# Our few terms for models and the names they have in recipes.
MODELS = {
    "sf:KAnonymity": "k_anonymity",
    "sf:LDiversity": "l_diversity",
    "sf:TCloseness": "t_closeness",
    "sf:BetaLikeness": "beta_likeness",
    "sf:DeltaDisclosure": "delta_disclosure",
    "sf:PSensitive": "p_sensitive",
    "sf:AlphaKAnonymity": "alpha_k_anonymity",
}


@dataclasses.dataclass(frozen=True)
class TechnicalMeasure:
    """A technical measure with its parameters: ``sf:KAnonymity`` with ``has_k`` 10."""

    name: str
    parameters: tuple[tuple[str, float], ...] = ()
    about: str = ""

    def concepts(self) -> list[Concept]:
        """The class and the exact values, to be read in the direction that protects."""
        values = [
            Between(n, v, v, exact=True, whole=float(v).is_integer() and n in WHOLE)
            for n, v in self.parameters
        ]
        return [NamedClass(self.name), *values]


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
    """One use that is permitted until some day, or (``permitted`` false) prohibited. Empty parts
    say nothing.
    """

    purposes: tuple[str, ...] = ()
    data: tuple[Category, ...] = ()
    processing: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    measures: tuple[TechnicalMeasure, ...] = ()
    locations: tuple[str, ...] = ()
    days: int | None = None
    legal_bases: tuple[str, ...] = ()
    permitted: bool = True
    until: datetime.date | None = None

    def concept(self) -> Concept:
        """The use in SPECIAL's terms."""
        data: list[Concept] = []
        for measure in self.measures:
            data += measure.concepts()
        if self.data:
            data.append(Or(tuple(NamedClass(d.name) for d in self.data)))
        storage: list[Concept] = []
        if self.locations:
            storage.append(Some("hasLocation", Or(tuple(NamedClass(n) for n in self.locations))))
        if self.days is not None:
            storage.append(Between("durationInDays", 0, self.days))
        named_parts = (
            ("hasPurpose", self.purposes),
            ("hasProcessing", self.processing),
            ("hasRecipient", self.recipients),
        )
        parts: list[Concept] = [Some("hasData", And(tuple(data)))] if data else []
        parts += [
            Some(name, Or(tuple(NamedClass(n) for n in names)))
            for name, names in named_parts
            if names
        ]
        return And((*parts, *([Some("hasStorage", And(tuple(storage)))] if storage else [])))


def allows(
    request: Usage,
    usages: tuple[Usage, ...],
    vocabulary: Vocabulary | None = None,
    *,
    today: datetime.date | None = None,
) -> Coverage:
    """Whether permissions cover a request and no prohibition touches it: a prohibition goes before
    any permission.

    Permissions whose last day lies before ``today`` are gone; prohibitions do not end.
    """
    words = vocabulary or built_in()
    day = today or environment.now().date()
    request, usages = _with_prefixes(request), tuple(_with_prefixes(usage) for usage in usages)
    concept = request.concept()
    for usage in usages:
        if not usage.permitted and _touches(
            concept, _as_far_as_said(usage, request).concept(), words
        ):
            return Coverage(
                False,
                "a prohibition covers it:"
                f" {', '.join((*usage.purposes, *usage.recipients)) or 'this use'}",
            )
    permitted = [usage for usage in usages if usage.permitted]
    lasting = tuple(
        usage.concept() for usage in permitted if usage.until is None or usage.until >= day
    )
    if not lasting:
        return Coverage(
            False, "every permission has ended" if permitted else "nothing is permitted"
        )
    return decide(concept, Or(lasting), words)


def _with_prefixes(usage: Usage) -> Usage:
    """Plain names under our own prefix, so that ``press`` of one document is ``sf:press`` of
    another.
    """
    return dataclasses.replace(
        usage,
        purposes=tuple(prefix_name(name) for name in usage.purposes),
        recipients=tuple(prefix_name(name) for name in usage.recipients),
        data=tuple(
            dataclasses.replace(category, name=prefix_name(category.name))
            for category in usage.data
        ),
    )


def prefix_name(name: str) -> str:
    """A name with a prefix; ours where it has none. ODRL has no names for purposes, recipients
    and data: these are plain.

    >>> prefix_name("press"), prefix_name("odrl:press"), prefix_name("dpv:Marketing")
    ('sf:press', 'sf:press', 'dpv:Marketing')
    """
    plain = name.removeprefix("odrl:")
    if ":" in plain or plain in THING_NAMES:
        return plain
    return f"sf:{plain}"


def _as_far_as_said(prohibition: Usage, request: Usage) -> Usage:
    """A prohibition without what the request leaves open, since it may be just what is forbidden.

    A request without a recipient is not open: the controller uses the data itself.
    """
    open_fields: Tree = {}
    for name in ("data", "processing", "locations"):
        if not getattr(request, name):
            open_fields[name] = ()
    if request.days is None:
        open_fields["days"] = None
    return dataclasses.replace(prohibition, **open_fields)


def _touches(concept: Concept, forbidden: Concept, vocabulary: Vocabulary) -> bool:
    """Whether some alternative of the request lies within what is forbidden."""
    return any(subsumes(forbidden, And(parts), vocabulary) for parts in disjuncts(concept))


def local(name: str) -> str:
    """A name without its prefix.

    >>> local("dpv:AcademicResearch"), local("https://example.org/x#y")
    ('AcademicResearch', 'y')
    """
    return re.split(r"[:#/]", name)[-1] or name


def policy_of_usages(usages: tuple[Usage, ...], *, name: str, findings: Findings) -> Policy:
    """The policy that uses amount to: one purpose each; prohibited purposes are not agreed to."""
    # a purpose that one rule permits and another prohibits is refused
    forbidden = {p for usage in usages if not usage.permitted for p in usage.purposes}
    purposes: dict[str, Purpose] = {}
    for usage in usages:
        for purpose in usage.purposes if usage.permitted else ():
            compiled = _purpose(usage, purpose, findings, refused=purpose in forbidden)
            if compiled.name in purposes:
                findings.error(
                    "duplicate_purpose",
                    "$",
                    f"purpose {compiled.name!r} is described twice; put both into one",
                )
            purposes[compiled.name] = compiled
    return Policy(name=name, purposes=tuple(purposes.values()))


# Measures that ask for a model without naming one; a policy without any model is refused when it is
# compiled.
UNSPECIFIC = ("dpv:Anonymisation", "dpv:Deidentification")


def _purpose(usage: Usage, purpose: str, findings: Findings, *, refused: bool) -> Purpose:
    for measure in usage.measures:
        if measure.name not in (*MODELS, *UNSPECIFIC):
            problem = (
                f"the measure {measure.name} cannot be compiled; name one of {', '.join(MODELS)}, "
                "or remove it"
            )
            findings.error("unknown_measure", ROOT, problem)
    models = []
    for measure in usage.measures:
        if measure.name in MODELS:
            about = (measure.about,) if measure.about else ()
            numbers = [
                (name.removeprefix("has_"), f"{value:g}") for name, value in measure.parameters
            ]
            models.append(PrivacyModel(MODELS[measure.name], about, tuple(numbers)))
    return Purpose(
        name=local(purpose),
        accepted=False if refused else None,
        data=tuple(_datum(category, findings) for category in usage.data),
        recipients=tuple(Recipient(local(name)) for name in usage.recipients),
        retention=_retention(usage),
        models=tuple(models),
        legal_bases=tuple(LegalBasis(local(basis)) for basis in usage.legal_bases),
    )


def _retention(usage: Usage) -> Retention:
    if usage.until is not None:
        return Retention("fixed_date", date=usage.until)
    if usage.days is None:
        return Retention()
    return Retention("after_purpose", amount=usage.days)


def _datum(category: Category, findings: Findings) -> Datum:
    levels = None
    if category.minimum is not None or category.maximum is not None:
        levels = Anonymization(minimum=category.minimum, maximum=category.maximum)
    name = category.column or local(category.name)
    # the group that our own export writes beside the category
    if category.group in Group.__members__:
        return Datum(name, Group(category.group), categories=(category.name,), anonymization=levels)
    guessed = _guess_group(category.name)
    remark = f"{name} has no privacy group in this language; its category suggests {guessed}"
    findings.warning("group_guessed", "$", remark)
    return Datum(name, guessed, categories=(category.name,), anonymization=levels)


def _guess_group(category: str) -> Group:
    """What a category suggests; what suggests nothing may single people out."""
    vocabulary = built_in()
    if vocabulary.within([category], "pd:Identifying") or vocabulary.within(
        [category], "pd:Contact"
    ):
        return Group.EI
    # DPV knows categories and no privacy groups: the nearest class decides
    if vocabulary.within([category], "dpv:SensitivePersonalData"):
        return Group.SD
    return Group.QID


# ODRL policies (JSON-LD): permissions, prohibitions and duties as uses of data.
#
# Constraints on ``odrl:purpose``, ``odrl:recipient``, ``odrl:spatial``, ``odrl:elapsedTime`` and
# ``odrl:dateTime`` (a last day), an action, a target and the duty ``odrl:anonymize`` are
# understood. A rule with any other constraint permits less than we could tell: it is refused as a
# permission, and kept as a prohibition.

POLICIES = (
    "odrl:Policy",
    "odrl:Set",
    "odrl:Offer",
    "odrl:Agreement",
    "odrl:Privacy",
    "odrl:Request",
    "odrl:Assertion",
)
EQUAL = ("odrl:eq", "odrl:isA", "odrl:isAnyOf", "odrl:isPartOf")
AT_MOST = ("odrl:lteq", "odrl:lt", "odrl:eq")
ACTIONS = {
    "odrl:use": "dpv:Processing",  # in ODRL the other actions are included in it
    "odrl:anonymize": "dpv:Anonymise",
    "odrl:aggregate": "dpv:Aggregate",
    "odrl:distribute": "dpv:Disclose",
    "odrl:share": "dpv:Disclose",
    "odrl:read": "dpv:Use",
    "odrl:transform": "dpv:Transform",
}


def read_odrl(graph: Graph) -> tuple[Usage, ...]:
    """The rules of a document's policies, prohibitions included."""
    return tuple(usage for policy in graph.of_type(*POLICIES) for usage in _rules(graph, policy))


def _rules(graph: Graph, policy: Node) -> Iterator[Usage]:
    # nothing is fetched, so what is inherited stays unknown
    if any(True for _ in graph.values(policy, "odrl:inheritFrom")):
        problem = (
            "the policy inherits rules of another one, which may forbid more; write them into this"
            " document"
        )
        graph.findings.error("odrl_inherits", policy.path, problem)
    for name, permitted in (("odrl:permission", True), ("odrl:prohibition", False)):
        for rule in graph.values(policy, name):
            if isinstance(rule, Node):
                usage = _usage(graph, policy, rule, permitted=permitted)
                if usage is not None:
                    yield usage
            else:
                graph.findings.error(
                    "odrl_rule", policy.path, f"a rule of {name} is not described in this document"
                )


def _usage(graph: Graph, policy: Node, rule: Node, *, permitted: bool) -> Usage | None:
    bounds: dict[str, tuple[str, ...]] = {}
    days: int | None = None
    until: datetime.date | None = None
    for constraint in graph.values(rule, "odrl:constraint"):
        operand, operator, right = _constraint(graph, constraint)
        if (
            operand == "odrl:dateTime"
            and operator in AT_MOST
            and permitted
            and (until := _last_day(operator, right))
        ):
            continue
        if (
            operand in ("odrl:purpose", "odrl:recipient", "odrl:spatial")
            and operator in EQUAL
            and operand not in bounds
        ):
            bounds[operand] = right  # a second one asks for both at once, which we cannot check
        elif (
            operand == "odrl:elapsedTime"
            and operator in AT_MOST
            and (period := _period(operator, right)) is not None
        ):
            # of two limits the shorter holds
            days = period if days is None else min(days, period)
        elif permitted:
            problem = (
                f"a permission requires {operand or 'a constraint'} with "
                f"{operator or 'no operator'}, which cannot be checked; it is not used"
            )
            graph.findings.warning("odrl_constraint", rule.path, problem)
            return None
        else:
            graph.findings.note(
                "odrl_constraint",
                rule.path,
                f"{operand} is not supported; the prohibition holds without it",
            )
    # what narrows a permission must be understood; a prohibition may be taken wider
    refined = _find_refinement(graph, rule, "odrl:target", "odrl:action", "odrl:assignee")
    measures = _duties(graph, policy, rule) if permitted else ()
    if permitted and (refined or measures is None):
        problem = (
            f"a permission requires {refined or 'a duty to anonymize'}, which cannot be checked; "
            "it is not used"
        )
        graph.findings.warning("odrl_refinement" if refined else "odrl_duty", rule.path, problem)
        return None
    if refined:
        graph.findings.note(
            "odrl_refinement",
            rule.path,
            f"{refined} is not supported; the prohibition holds without it",
        )
    # what a rule does not say, the policy says for all its rules
    targets = _parties(graph, rule, "odrl:target") or _parties(graph, policy, "odrl:target")
    actions = _parties(graph, rule, "odrl:action") or _parties(graph, policy, "odrl:action")
    assignees = _parties(graph, rule, "odrl:assignee") or _parties(graph, policy, "odrl:assignee")
    return Usage(
        purposes=bounds.get("odrl:purpose", ()),
        data=tuple(Category(name) for name in targets),
        processing=tuple(ACTIONS.get(name, name) for name in actions),
        recipients=bounds.get("odrl:recipient", ()) or assignees,
        measures=measures or (),
        locations=bounds.get("odrl:spatial", ()),
        days=days,
        permitted=permitted,
        until=until,
    )


def _find_refinement(graph: Graph, rule: Node, *properties: str) -> str:
    """The first of some properties of a rule that a refinement narrows, or nothing."""
    for name in properties:
        for value in graph.values(rule, name):
            if isinstance(value, Node) and "odrl:refinement" in value.properties:
                return f"a refinement of {name}"
    return ""


def _parties(graph: Graph, node: Node, name: str) -> tuple[str, ...]:
    """What a property of a rule leads to, without refinements: an action under ``rdf:value``, a
    collection under ``odrl:source``.

    A refined part that names nothing else stands for everything, which is nothing said.
    """
    parts: list[str] = []
    for value in graph.values(node, name):
        if not isinstance(value, Node) or "odrl:refinement" not in value.properties:
            parts.append(graph.name_of(value))
            continue
        base = graph.names(value, "rdf:value", "odrl:source")
        if not base:
            return ()
        parts += base
    return tuple(part for part in parts if part)


def _constraint(graph: Graph, constraint: Any) -> tuple[str, str, tuple[str, ...]]:
    if not isinstance(constraint, Node):
        return graph.name_of(constraint), "", ()
    operand = next(iter(graph.names(constraint, "odrl:leftOperand")), "")
    operator = next(iter(graph.names(constraint, "odrl:operator")), "")
    return operand, operator, graph.names(constraint, "odrl:rightOperand")


def _period(operator: str, right: tuple[str, ...]) -> int | None:
    """The most days that a constraint on time allows."""
    match = None
    if right:
        match = re.fullmatch(r"P?(\d{1,6})D?", right[0])
    if match:
        # less than 30 days is 29 at most
        return max(0, int(match[1]) - (operator == "odrl:lt"))
    return None


def _last_day(operator: str, right: tuple[str, ...]) -> datetime.date | None:
    """The last day on which a permission holds."""
    try:
        day = datetime.date.fromisoformat(right[0][:10])
    except (IndexError, ValueError):
        return None
    if operator == "odrl:lt" and day > datetime.date.min:
        return day - datetime.timedelta(days=1)
    return day


def _duties(graph: Graph, policy: Node, rule: Node) -> tuple[TechnicalMeasure, ...] | None:
    """``odrl:anonymize`` as a duty of a permission, or an obligation of the policy, asks for
    anonymisation.

    By a model where its constraints name one; None where they cannot be read. Other duties are
    about conduct, not about data.
    """
    duties = []
    for duty in (*graph.values(rule, "odrl:duty"), *graph.values(policy, "odrl:obligation")):
        if not isinstance(duty, Node):
            graph.findings.warning(
                "odrl_duty", rule.path, "a duty is not described in this document"
            )
            return None
        if "odrl:anonymize" not in _parties(graph, duty, "odrl:action"):
            graph.findings.note(
                "odrl_duty",
                duty.path,
                "only the duty to anonymize is supported; this one has no effect on data",
            )
            continue
        models = [_model(graph, constraint) for constraint in graph.values(duty, "odrl:constraint")]
        # a duty that cannot be read may ask for more than we would do
        if _find_refinement(graph, duty, "odrl:action", "odrl:target") or None in models:
            return None
        duties += [model for model in models if model is not None] or [
            TechnicalMeasure("dpv:Anonymisation")
        ]
    return tuple(duties)


# Parameter of a duty → its model, and the operators that bound it on the side that protects.
TERMS_OF_DUTIES = {
    "sf:has_k": ("sf:KAnonymity", ("odrl:gteq", "odrl:eq")),
    "sf:has_l": ("sf:LDiversity", ("odrl:gteq", "odrl:eq")),
    "sf:has_t": ("sf:TCloseness", ("odrl:lteq", "odrl:eq")),
}


def _model(graph: Graph, constraint: Any) -> TechnicalMeasure | None:
    """A constraint such as ``sf:has_k gteq 10``; None where it is another."""
    operand, operator, right = _constraint(graph, constraint)
    term, operators = TERMS_OF_DUTIES.get(operand, ("", ()))
    number = None
    if len(right) == 1:
        number = re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", right[0])
    if operator not in operators or number is None:
        problem = (
            f"the duty to anonymize names {operand or 'a constraint'} with "
            f"{operator or 'no operator'}, which cannot be read"
        )
        graph.findings.warning("odrl_duty", "$", problem)
        return None
    return TechnicalMeasure(term, ((operand.removeprefix("sf:"), float(number[0])),))
