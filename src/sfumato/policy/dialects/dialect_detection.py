"""Which language a policy is written in, the way in and out of each, the policies that come along,
and what a usage language permits.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from sfumato.errors import ParameterError, did_you_mean
from sfumato.policy.dialects import ALL, Dialect
from sfumato.policy.dialects.dpv import PARAMETER, TERMS
from sfumato.policy.dialects.own_format import MARK
from sfumato.policy.dialects.special import Concept
from sfumato.policy.dialects.subsumption import Coverage, Vocabulary, built_in, decide
from sfumato.policy.dialects.usages import WHOLE, Category, TechnicalMeasure, Usage, allows
from sfumato.policy.documents import (
    ROOT,
    Document,
    Findings,
    TreeView,
    read_json,
    read_text,
    require_mapping,
    require_small,
)
from sfumato.policy.policy import Policy

# Rules in common use, as dated policies: what they say, where it stands, and what they do not
# cover.
#
# A preset is a number and its source. Whether a release is lawful is nobody's to compute: what can
# be said of it is that it meets the numeric part of a rule as of a date.


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
    ('the CMS minimum cell size', 2024)
    """
    if name not in preset_names():
        raise ParameterError(f"preset {name!r} does not exist.{did_you_mean(name, preset_names())}")
    policy, findings = parse_policy(
        (_preset_files() / f"{name}.json").read_text(encoding="utf-8"), name=name
    )
    findings.raise_errors()
    return policy


PRESET = "preset:"


def load_policy(path: str | Path) -> Policy:
    """Read a policy file, or ``preset:NAME``; errors are raised with all findings."""
    if str(path).startswith(PRESET):
        return preset(str(path).removeprefix(PRESET))
    file = Path(path)
    policy, findings = parse_policy(read_text(file), name=file.name)
    findings.raise_errors()
    return policy


def parse_policy(text: str, *, name: str = "the policy") -> tuple[Policy, Findings]:
    """A policy and what was found while reading it; a document of which nothing can be made raises
    at once.
    """
    findings = Findings(name)
    document, dialect = parse_document(text, name=name, findings=findings)
    return dialect.policy(document, findings), findings


def languages() -> Iterator[Dialect]:
    """All languages, in the order they are asked whether a document is theirs; plug-ins are
    imported last.
    """
    for cls in ALL.values():
        yield cls()


def parse_document(text: str, *, name: str, findings: Findings) -> tuple[Document, Dialect]:
    """The tree of a text and the language it is in."""
    require_small(text, name)
    start = text.lstrip()
    for dialect in languages():
        if start.startswith(dialect.openings):
            return dialect.document(text, name, findings), dialect
    document = read_json(text, name, findings)
    findings.raise_errors()
    return document, _json_dialect(document, findings)


def _json_dialect(document: Document, findings: Findings) -> Dialect:
    require_mapping(document, findings)
    for dialect in languages():
        if dialect.speaks(document.tree):
            return dialect
    return findings.fail(
        "unknown_dialect",
        ROOT,
        f"this is none of the supported languages ({', '.join(ALL)}); a policy of sfumato starts "
        f"with {{{MARK!r}: 1}}, an LPL policy has a purposeList",
        1,
    )


def write_policy(policy: Policy, dialect: str) -> str:
    """A policy as text of one dialect."""
    writers = {language.name: language for language in languages() if language.writable}
    if dialect not in writers:
        raise ParameterError(f"{dialect!r} cannot be written.{did_you_mean(dialect, writers)}")
    return writers[dialect].text(policy)


# Whether a release is a permitted use: SPECIAL, DPV and ODRL policies against what a certificate
# says.


def tells_of_uses(path: Path) -> bool:
    """Whether a policy file is in a language that says what may be done with data."""
    return parse_document(read_text(path), name=path.name, findings=Findings(path.name))[1].permits


def read_concept_text(text: str, name: str) -> tuple[Concept | tuple[Usage, ...], Vocabulary]:
    """What a SPECIAL, DPV or ODRL document permits, and the vocabulary with the classes it adds."""
    findings = Findings(name)
    document, dialect = parse_document(text, name=name, findings=findings)
    permission = dialect.permission(document, findings)
    findings.raise_errors()
    return permission.document, built_in().extended(permission.parents, permission.apart)


def usage_of_release(
    certificate: TreeView,
    *,
    purpose: str,
    recipient: str | None = None,
    categories: Sequence[str] = (),
    days: int | None = None,
) -> Usage:
    """A release as a use: its data categories (which a table does not know), its measures as
    attained, purpose and recipient.
    """
    measures = []
    for spec, verdict in zip(
        certificate.get("recipe", {}).get("meet", []), certificate.get("verdicts", []), strict=False
    ):
        name = next(iter(spec))
        value = verdict.get("attained")
        if verdict.get("holds") and name in TERMS:
            parameter = PARAMETER[name]
            exact = float(int(value)) if parameter in WHOLE and value is not None else value
            measures.append(
                TechnicalMeasure(TERMS[name], () if exact is None else ((parameter, float(exact)),))
            )
    return Usage(
        purposes=(purpose,),
        data=tuple(Category(name) for name in categories),
        processing=("dpv:MakeAvailable",),
        recipients=() if recipient is None else (recipient,),
        measures=tuple(measures),
        days=days,
    )


def permits_use(path: Path, use: Usage, *, today: datetime.date | None = None) -> Coverage:
    """Whether a policy file permits a use, with the first reason where it does not."""
    policy, vocabulary = read_concept_text(read_text(path), path.name)
    if isinstance(policy, tuple):
        return allows(use, policy, vocabulary, today=today)
    return decide(use.concept(), policy, vocabulary)
