"""Which language a policy is written in, the way in and out of each, the policies that come along, and what a usage language permits."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.errors import ParameterError, did_you_mean
from sfumato.policy.dialects import lpl as writing
from sfumato.policy.dialects import lpl_xml as xml_text
from sfumato.policy.dialects import ours
from sfumato.policy.dialects.dpv import PARAMETER, TERMS, policy_to_dpv, read_usages
from sfumato.policy.dialects.lpl import read_lpl
from sfumato.policy.dialects.lpl_xml import read_xml
from sfumato.policy.dialects.ours import MARK, read_ours
from sfumato.policy.dialects.special import Concept, parse_functional, read_concept
from sfumato.policy.dialects.subsumption import Coverage, Vocabulary, built_in, decide
from sfumato.policy.dialects.usages import WHOLE, Category, TechnicalMeasure, Usage, allows, policy_of_usages
from sfumato.policy.documents import ROOT, Document, Findings, Place, read_json, read_text, require_small
from sfumato.policy.policy import Policy

# Rules in common use, as dated policies: what they say, where it stands, and what they do not cover.
#
# A preset is a number and its source. Whether a release is lawful is nobody's to compute: what can be said of it is that it meets the
# numeric part of a rule as of a date.


def _preset_files() -> Traversable:
    """Where the presets lie: data, one file each."""
    return resources.files("sfumato.policy") / "presets"


@cache
def preset_names() -> tuple[str, ...]:
    """The names of all presets."""
    files = _preset_files().iterdir()
    return tuple(sorted(f.name.removesuffix(".json") for f in files if f.name.endswith(".json")))


@cache
def preset(name: str) -> Policy:
    """A preset by its name.

    >>> rule = preset("cms_minimum_cell").rule
    >>> rule.title, rule.as_of.year
    ('the CMS minimum cell size', 2020)
    """
    if name not in preset_names():
        raise ParameterError(f"there is no preset {name!r}.{did_you_mean(name, preset_names())}")
    policy, findings = parse_policy((_preset_files() / f"{name}.json").read_text(encoding="utf-8"), name=name)
    findings.raise_errors()
    return policy


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


# Whether a release is a permitted use: SPECIAL, DPV and ODRL policies against what a certificate says.

USAGE_DIALECTS = ("dpv", "odrl", "special", "special-functional")


def dialect_of(path: Path) -> str:
    """The language of a policy file."""
    return parse_document(read_text(path), name=path.name, findings=Findings(path.name))[1]


def read_concept_text(text: str, name: str) -> tuple[Concept | tuple[Usage, ...], Vocabulary]:
    """What a SPECIAL, DPV or ODRL document permits, and the vocabulary with the classes it adds."""
    findings = Findings(name)
    document, dialect = parse_document(text, name=name, findings=findings)
    if dialect == "special-functional":
        ontology = parse_functional(text, name)
        if ontology.policy is None:
            findings.fail("no_policy", "$", "the document has axioms but no policy")
        return ontology.policy, built_in().extended(ontology.parents, ontology.apart)
    concept: Concept | tuple[Usage, ...]
    if dialect == "special":
        concept = read_concept(Place.root(document, findings))
    elif dialect in ("dpv", "odrl"):
        concept = read_usages(document, findings)
    else:
        findings.fail(
            "not_a_usage_policy",
            "$",
            f"a policy in {dialect} prescribes columns; compile it, or give it to comply as it is",
        )
    findings.raise_errors()
    return concept, built_in()


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
            measures.append(TechnicalMeasure(TERMS[name], () if exact is None else ((parameter, float(exact)),)))
    return Usage(
        purposes=(purpose,),
        data=tuple(Category(name) for name in categories),
        processing=("dpv:MakeAvailable",),
        recipients=() if recipient is None else (recipient,),
        measures=tuple(measures),
        days=days,
    )


def permitted(path: Path, use: Usage, *, today: datetime.date | None = None) -> Coverage:
    """Whether a policy file permits a use, with the first reason where it does not."""
    policy, vocabulary = read_concept_text(read_text(path), path.name)
    if isinstance(policy, tuple):
        return allows(use, policy, vocabulary, today=today)
    return decide(use.concept(), policy, vocabulary)
