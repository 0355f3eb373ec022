"""Linting files of any dialect."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import UnreadableInput
from sfumato.policy.dialects import PRESET, load_policy, parse_document, parse_policy
from sfumato.policy.documents import read_text
from sfumato.policy.findings import Finding, Findings, PolicyError
from sfumato.policy.lint import lint, located

UNREADABLE = "unreadable"
"""The rule that a file breaks which is no text, or not the JSON or XML it seems to be."""


def lint_file(
    path: str | Path, *, today: datetime.date | None = None, columns: Sequence[str] | None = None
) -> list[Finding]:
    """Everything found in a file: while reading it, and in what it says. One that cannot be read has one finding."""
    if str(path).startswith(PRESET):
        return list(lint(load_policy(path), today=today, columns=columns))
    try:
        text = read_text(Path(path))
    except UnreadableInput as error:
        return [Finding(UNREADABLE, "error", "$", str(error))]
    return lint_text(text, name=Path(path).name, today=today, columns=columns)


def lint_text(
    text: str, *, name: str = "the policy", today: datetime.date | None = None, columns: Sequence[str] | None = None
) -> list[Finding]:
    """Everything found in the text of a policy."""
    try:
        document, dialect = parse_document(text, name=name, findings=Findings(name))
        if dialect in ("special", "special-functional"):
            return _lint_concept(text, name)
        policy, found = parse_policy(text, name=name)
    except PolicyError as error:
        return list(error.findings)
    except UnreadableInput as error:
        return [Finding(UNREADABLE, "error", "$", str(error))]
    every = [*found, *located(lint(policy, today=today, columns=columns), document, dialect)]
    seen: dict[tuple[str, str], Finding] = {}
    for finding in every:
        seen.setdefault((finding.rule, finding.message), finding)
    return list(seen.values())


def _lint_concept(text: str, name: str) -> list[Finding]:
    """A SPECIAL policy is sound when it can be read and allows something."""
    from sfumato.policy.linked.permitted import read_concept_text
    from sfumato.policy.special.subsumption import simple_parts

    policy, vocabulary = read_concept_text(text, name)
    if isinstance(policy, tuple) or next(simple_parts(policy, vocabulary), None) is not None:
        return []
    return [Finding("allows_nothing", "warning", "$", "the policy contradicts itself and allows nothing")]
