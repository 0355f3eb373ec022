"""Which language a policy is written in, and the way in and out of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.errors import ParameterError, did_you_mean
from sfumato.policy.dialects import lpl as writing
from sfumato.policy.dialects import lpl_xml as xml_text
from sfumato.policy.dialects import ours
from sfumato.policy.dialects.dpv import policy_to_dpv
from sfumato.policy.dialects.lpl import read_lpl
from sfumato.policy.dialects.lpl_xml import read_xml
from sfumato.policy.dialects.ours import MARK, read_ours
from sfumato.policy.dialects.usages import policy_of_usages, read_usages
from sfumato.policy.documents import ROOT, Document, Findings, Place, read_json, read_text, require_small
from sfumato.policy.policy import Policy
from sfumato.policy.presets import preset

Dialect = Literal["ours", "lpl-a", "lpl-b", "lpl-xml", "dpv", "odrl", "special", "special-functional"]
Written = Literal["ours", "lpl-a", "lpl-b", "lpl-xml", "dpv"]
PRESET = "preset:"
FUNCTIONAL = ("Object", "Data", "Prefix(", "Ontology(", "SubClassOf(")
SPECIAL_KEYS = ("hasData", "hasPurpose", "hasProcessing", "hasStorage", "hasRecipient", "and", "or", "some", "value",
                "interval")  # fmt: skip


def load_policy(path: str | Path) -> Policy:
    """Read a policy file, or ``preset:NAME``; errors are raised with all findings."""
    if str(path).startswith(PRESET):
        return preset(str(path).removeprefix(PRESET))
    file = Path(path)
    policy, findings = parse_policy(read_text(file), name=file.name)
    findings.raise_errors()
    return policy


def parse_policy(text: str, *, name: str = "the policy") -> tuple[Policy, Findings]:
    """A policy and what was found while reading it; a document of which nothing can be made raises at once."""
    findings = Findings(name)
    document, dialect = parse_document(text, name=name, findings=findings)
    if dialect == "ours":
        return read_ours_of(document, findings), findings
    if dialect in ("lpl-a", "lpl-b", "lpl-xml"):
        return read_lpl(Place.root(document, findings)), findings
    if dialect in ("dpv", "odrl"):
        return policy_of_usages(read_usages(document, findings), name=Path(name).stem, findings=findings), findings
    return findings.fail(
        "not_a_column_policy",
        ROOT,
        "SPECIAL policies say what is permitted, not how columns are treated; use them with comply, not with compile",
    )


def read_ours_of(document: Document, findings: Findings) -> Policy:
    """The policy of a document in our own form."""
    return read_ours(document, findings)


def parse_document(text: str, *, name: str, findings: Findings) -> tuple[Document, Dialect]:
    """The tree of a text and the language it is in."""
    require_small(text, name)
    start = text.lstrip()
    if start.startswith("<"):
        document = read_xml(start, name)
        _require_mapping(document, findings)
        return document, "lpl-xml"
    if start.startswith(FUNCTIONAL):
        return Document(text, name, text, {ROOT: 1}), "special-functional"
    document = read_json(text, name, findings)
    findings.raise_errors()
    return document, _json_dialect(document, findings)


def _require_mapping(document: Document, findings: Findings) -> None:
    if not isinstance(document.tree, Mapping):
        findings.fail("unknown_dialect", ROOT, "a policy must be an object with named parts", 1)


def _json_dialect(document: Document, findings: Findings) -> Dialect:
    tree = document.tree
    _require_mapping(document, findings)
    if MARK in tree:
        return "ours"
    if "@context" in tree or "@graph" in tree or "@type" in tree:
        return "odrl" if "odrl" in json.dumps(tree).lower() else "dpv"
    purposes = next((tree[key] for key in tree if str(key).lower() in ("purposelist", "purposes")), None)
    if purposes is not None:
        return "lpl-b" if isinstance(purposes, Mapping) else "lpl-a"
    if any(str(key).rsplit(":", 1)[-1] in SPECIAL_KEYS for key in tree):
        return "special"
    return findings.fail(
        "unknown_dialect",
        ROOT,
        f"this is none of the languages we read ({', '.join(get_args(Dialect))}); "
        f"a policy of ours starts with {{{MARK!r}: 1}}, an LPL policy has a purposeList",
        1,
    )


def write_policy(policy: Policy, dialect: str) -> str:
    """A policy as text of one dialect."""
    if dialect not in get_args(Written):
        raise ParameterError(f"{dialect!r} is not a dialect we write.{did_you_mean(dialect, get_args(Written))}")
    if dialect == "lpl-xml":
        return xml_text.write_xml(writing.to_dialect_a(policy))
    if dialect == "dpv":
        return as_json(policy_to_dpv(policy))
    trees = {"ours": ours.to_ours, "lpl-a": writing.to_dialect_a, "lpl-b": writing.to_dialect_b}
    return as_json(trees[dialect](policy))


def as_json(tree: Any) -> str:
    """Plain data as indented JSON text."""
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
