"""ODRL policies (JSON-LD): permissions, prohibitions and duties as uses of data.

Constraints on ``odrl:purpose``, ``odrl:recipient``, ``odrl:spatial``, ``odrl:elapsedTime`` and ``odrl:dateTime`` (a last day), an action, a target and the duty ``odrl:anonymize`` are
understood. A rule with any other constraint permits less than we could tell: it is refused as a permission, and kept
as a prohibition.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from sfumato.policy.linked.json_ld import Graph, Node
from sfumato.policy.linked.usages import Category, Measure, Usage

POLICIES = ("odrl:Policy", "odrl:Set", "odrl:Offer", "odrl:Agreement", "odrl:Privacy", "odrl:Request", "odrl:Assertion")
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
    if any(True for _ in graph.values(policy, "odrl:inheritFrom")):
        told = "the policy inherits rules of another one, which may forbid more; write them into this document"
        graph.findings.error("odrl_inherits", policy.path, told)
    for name, permitted in (("odrl:permission", True), ("odrl:prohibition", False)):
        for rule in graph.values(policy, name):
            if isinstance(rule, Node):
                usage = _usage(graph, policy, rule, permitted=permitted)
                if usage is not None:
                    yield usage
            else:
                graph.findings.error("odrl_rule", policy.path, f"a rule of {name} is not described in this document")


def _usage(graph: Graph, policy: Node, rule: Node, *, permitted: bool) -> Usage | None:
    found: dict[str, tuple[str, ...]] = {}
    days: int | None = None
    until: datetime.date | None = None
    for constraint in graph.values(rule, "odrl:constraint"):
        left, operator, right = _constraint(graph, constraint)
        if left == "odrl:dateTime" and operator in AT_MOST and permitted and (until := _last_day(operator, right)):
            continue
        if left in ("odrl:purpose", "odrl:recipient", "odrl:spatial") and operator in EQUAL and left not in found:
            found[left] = right  # a second one asks for both at once, which we cannot check
        elif left == "odrl:elapsedTime" and operator in AT_MOST and (period := _period(operator, right)) is not None:
            days = period if days is None else min(days, period)
        elif permitted:
            told = f"a permission is bound to {left or 'a constraint'} with {operator or 'no operator'}, which we cannot check; it is not used"
            graph.findings.warning("odrl_constraint", rule.path, told)
            return None
        else:
            graph.findings.note("odrl_constraint", rule.path, f"{left} is not read; the prohibition holds without it")
    targets = graph.names(rule, "odrl:target") or graph.names(policy, "odrl:target")
    actions = graph.names(rule, "odrl:action") or graph.names(policy, "odrl:action")
    assignees = graph.names(rule, "odrl:assignee") or graph.names(policy, "odrl:assignee")
    return Usage(
        purposes=found.get("odrl:purpose", ()),
        data=tuple(Category(name) for name in targets),
        processing=tuple(ACTIONS.get(name, name) for name in actions),
        recipients=found.get("odrl:recipient", ()) or assignees,
        measures=_duties(graph, policy, rule) if permitted else (),
        locations=found.get("odrl:spatial", ()),
        days=days,
        permitted=permitted,
        until=until,
    )


def _constraint(graph: Graph, constraint: Any) -> tuple[str, str, tuple[str, ...]]:
    if not isinstance(constraint, Node):
        return graph.name_of(constraint), "", ()
    left = next(iter(graph.names(constraint, "odrl:leftOperand")), "")
    operator = next(iter(graph.names(constraint, "odrl:operator")), "")
    return left, operator, graph.names(constraint, "odrl:rightOperand")


def _period(operator: str, right: tuple[str, ...]) -> int | None:
    """The most days that a constraint on time allows."""
    found = re.fullmatch(r"P?(\d{1,6})D?", right[0]) if right else None
    return max(0, int(found[1]) - (operator == "odrl:lt")) if found else None


def _last_day(operator: str, right: tuple[str, ...]) -> datetime.date | None:
    """The last day on which a permission holds."""
    try:
        day = datetime.date.fromisoformat(right[0][:10])
    except (IndexError, ValueError):
        return None
    return day - datetime.timedelta(days=1) if operator == "odrl:lt" and day > datetime.date.min else day


def _duties(graph: Graph, policy: Node, rule: Node) -> tuple[Measure, ...]:
    """``odrl:anonymize`` as a duty of a permission, or an obligation of the policy, asks for anonymisation.

    By a model where its constraints name one.
    """
    found = []
    for duty in (*graph.values(rule, "odrl:duty"), *graph.values(policy, "odrl:obligation")):
        if not isinstance(duty, Node):
            continue
        actions = graph.names(duty, "odrl:action")
        if "odrl:anonymize" not in actions:
            graph.findings.note("odrl_duty", duty.path, "only the duty to anonymize is read")
            continue
        found += [_model(graph, c) for c in graph.values(duty, "odrl:constraint")] or [Measure("dpv:Anonymisation")]
    return tuple(found)


def _model(graph: Graph, constraint: Any) -> Measure:
    """A constraint such as ``sf:has_k gteq 10``."""
    left, _, right = _constraint(graph, constraint)
    terms = {"sf:has_k": "sf:KAnonymity", "sf:has_l": "sf:LDiversity", "sf:has_t": "sf:TCloseness"}
    number = re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", right[0]) if right else None
    if left not in terms or number is None:
        graph.findings.warning(
            "odrl_duty", "$", f"the duty to anonymize names {left}, which we cannot read; any anonymisation does"
        )
        return Measure("dpv:Anonymisation")
    return Measure(terms[left], ((left.removeprefix("sf:"), float(number[0])),))
