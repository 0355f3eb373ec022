"""Tasks about privacy policies: read one, and say which recipe it would make of the table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.files import MEGABYTE, require_plain
from sfumato.errors import ParameterError
from sfumato.policy.compile import compile_policies
from sfumato.policy.dialects.known import parse_document, parse_policy, preset, preset_names
from sfumato.policy.documents import Findings, read_text
from sfumato.policy.lint import lint, lint_text
from sfumato.policy.people import Policies
from sfumato.web.uploads import at_home

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.policy.policy import Policy
    from sfumato.web.bench import Bench

PRESET = "preset:"

MOST_MEGABYTES = 64


def presets(bench: Bench, progress: Progress) -> list[dict[str, str]]:
    """Rules with a published number that come with the package: name, title, what they ask, source, what they do not say."""
    listed = []
    for name in preset_names():
        rule = preset(name).rule
        if rule is not None:
            told = {"title": rule.title, "text": rule.text, "source": rule.source, "limit": rule.limit}
            listed.append({"name": name, **told, "as_of": rule.as_of.isoformat()})
    return listed


def read_policy(bench: Bench, progress: Progress, *, path: str = "", text: str = "") -> dict[str, Any]:
    """A policy from a path (``preset:NAME`` too) or from its text: what is in it, and what was found.

    ``name``, ``language``, ``text`` (as read; "" of a preset), ``prescribes`` (False: it says what may be done with data, and is held
    against a release), ``purposes`` (``name``, ``recipients``), and ``findings`` (``severity``, ``rule``, ``path``, ``line``, ``message``), errors first.
    """
    columns = bench.data.columns
    today = datetime.datetime.now(datetime.UTC).date()
    if path.startswith(PRESET):
        policy = preset(path.removeprefix(PRESET))
        return _told(policy, "ours", "", list(lint(policy, today=today, columns=columns)))
    name = Path(path).name if path else "the policy"
    written = _read(at_home(path)) if path else text
    if not written.strip():
        raise ParameterError("give the path of a policy, or its text")
    findings = lint_text(written, name=name, today=today, columns=columns)
    if any(finding.severity == "error" for finding in findings):
        return {"name": name, "language": "", "text": written, "prescribes": True, "purposes": [], **_found(findings)}
    dialect = parse_document(written, name=name, findings=Findings(name))[1]
    if not dialect.prescribes:
        plain = {"name": name, "language": dialect.name, "text": written, "prescribes": False, "purposes": []}
        return {**plain, **_found(findings)}
    return _told(parse_policy(written, name=name)[0], dialect.name, written, findings)


def _told(policy: Policy, language: str, text: str, findings: list[Any]) -> dict[str, Any]:
    purposes = [
        {"name": purpose.name, "recipients": [one.name for one in purpose.recipients]} for purpose in policy.purposes
    ]
    plain = {"name": policy.name, "language": language, "text": text, "prescribes": True, "purposes": purposes}
    return {**plain, **_found(findings)}


def _found(findings: list[Any]) -> dict[str, Any]:
    order = ("error", "warning", "note")
    return {"findings": [one.to_dict() for one in sorted(findings, key=lambda one: order.index(one.severity))]}


def compile_policy(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    path: str = "",
    text: str = "",
    purpose: str,
    recipient: str = "",
    budget: float = 0.0,
    on_conflict: str = "privacy",
    keep: bool = True,
) -> dict[str, Any]:
    """The ``recipe`` that enforces a policy on the table as it is described now; with ``keep``, what is promised now is promised too.

    ``decisions`` (``rule``, ``subject``, ``text``) are what had to be decided, ``delete_by`` the day the data must be gone ("": none is said).
    """
    progress(0.0, "compiling the policy")
    policy = preset(path.removeprefix(PRESET)) if path.startswith(PRESET) else parse_policy(text)[0]
    described = bench.data.with_schema(recipe.schema)
    use: dict[str, Any] = {"purpose": purpose, "recipient": recipient or None}
    use |= {"budget": budget, "on_conflict": on_conflict, "meet": recipe.meet if keep else ()}
    compiled = compile_policies(Policies.one(policy), described, **use)
    decisions = [{"rule": one.rule, "subject": one.subject, "text": one.text} for one in compiled.decisions]
    gone = "" if compiled.delete_by is None else compiled.delete_by.isoformat()
    return {"recipe": compiled.recipe, "decisions": decisions, "delete_by": gone}


def _read(path: Path) -> str:
    """The text of a policy file; a pipe would keep all who ask for counts waiting."""
    require_plain(path, most=MOST_MEGABYTES * MEGABYTE, what="a policy")
    return read_text(path)
