"""Tasks about privacy policies: read one, and say which recipe it would make of the table."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import environment
from sfumato.core.files import MEGABYTE, require_plain, write_whole
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.web.tasks.bounded_work import Answer, within
from sfumato.interfaces.web.tasks.write import made_release
from sfumato.interfaces.web.uploads import at_home
from sfumato.policy.clauses import clauses_of
from sfumato.policy.compile import Compiled, Use, compile_policies
from sfumato.policy.comply import SAFE_HARBOR, hold_against
from sfumato.policy.dialects.dialect_detection import (
    parse_document,
    parse_policy,
    preset,
    preset_names,
)
from sfumato.policy.documents import Findings, read_text
from sfumato.policy.lint import lint, lint_text
from sfumato.policy.people import Policies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.policy.policy import Policy

PRESET = "preset:"

MOST_MEGABYTES = 64
MOST_PASTED = MEGABYTE
"""Characters of a text that is no file."""
SECONDS = 5.0
"""How long reading may compute: the longest policies we know take a tenth of a second."""
SECONDS_ON_THE_TABLE = 120.0
"""How long may be computed on what a policy asks of the table: the recipe it makes, or whether a
release keeps it.
"""
NOTHING: dict[str, Any] = {"purposes": [], "permits": False, "clauses": [], "numbers": False}


def presets(bench: Bench, progress: Progress) -> list[dict[str, str]]:
    """Rules with a published number that come with the package: name, title, what they ask, source,
    what they do not say.
    """
    listed = []
    for name in preset_names():
        rule = preset(name).rule
        if rule is not None:
            told = {
                "title": rule.title,
                "text": rule.text,
                "source": rule.source,
                "limit": rule.limit,
            }
            listed.append({"name": name, **told, "as_of": rule.as_of.isoformat()})
    return listed


def read_policy(
    bench: Bench, progress: Progress, *, path: str = "", text: str = ""
) -> dict[str, Any]:
    """A policy from a path (``preset:NAME`` too) or from its text: what is in it, and what was
    found.

    ``name``, ``language``, ``text`` (as read; "" of a preset), ``prescribes`` (a recipe can be
    compiled of it), ``permits`` (it says what may be done with data; then ``clauses``
    as :class:`~sfumato.policy.clauses.UsageClause`), ``numbers`` (it asks which columns are ages,
    ZIP codes and dates), ``purposes`` (``name``, ``recipients``), and ``findings`` (``severity``,
    ``rule``, ``path``, ``line``, ``message``), errors first.
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
    if not path and len(written) > MOST_PASTED:
        raise ParameterError(
            "the text is longer than a million characters; save it as a file and give its path"
        )
    long = UnreadableInput(
        f"{name} takes more than {SECONDS:g} seconds to be understood; that is no policy"
    )
    return within(
        SECONDS,
        lambda: _understood(written, name, today, columns),
        too_long=long,
        progress=progress,
    )


def _understood(
    written: str, name: str, today: datetime.date, columns: Sequence[str]
) -> dict[str, Any]:
    findings = lint_text(written, name=name, today=today, columns=columns)
    if any(finding.severity == "error" for finding in findings):
        return {
            "name": name,
            "language": "",
            "text": written,
            "prescribes": True,
            **NOTHING,
            **_found(findings),
        }
    dialect = parse_document(written, name=name, findings=Findings(name))[1]
    clauses = [one.to_dict() for one in clauses_of(written, name)] if dialect.permits else []
    more = {"permits": dialect.permits, "clauses": clauses}
    if not dialect.prescribes:
        plain = {"name": name, "language": dialect.name, "text": written, "prescribes": False}
        return {**NOTHING, **plain, **more, **_found(findings)}
    return {**_told(parse_policy(written, name=name)[0], dialect.name, written, findings), **more}


def _told(policy: Policy, language: str, text: str, findings: list[Any]) -> dict[str, Any]:
    purposes = [
        {"name": purpose.name, "recipients": [one.name for one in purpose.recipients]}
        for purpose in policy.purposes
    ]
    plain = {
        "name": policy.name,
        "language": language,
        "text": text,
        "prescribes": True,
        "purposes": purposes,
    }
    numbers = policy.rule is not None and SAFE_HARBOR in policy.rule.checks
    return {**NOTHING, **plain, "numbers": numbers, **_found(findings)}


def _found(findings: list[Any]) -> dict[str, Any]:
    order = ("error", "warning", "note")
    return {
        "findings": [
            one.to_dict() for one in sorted(findings, key=lambda one: order.index(one.severity))
        ]
    }


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
    """The ``recipe`` that enforces a policy on the table as it is described now; with ``keep``,
    what is promised now is promised too.

    ``decisions`` (``rule``, ``subject``, ``text``) are what had to be decided, ``delete_by`` the
    day the data must be gone ("": none is said).
    """
    progress(0.0, "compiling the policy")
    described = bench.data.with_schema(recipe.schema)
    use: dict[str, Any] = {"purpose": purpose, "recipient": recipient or None}
    use |= {"budget": budget, "on_conflict": on_conflict, "meet": recipe.meet if keep else ()}

    def compiling() -> Compiled:
        policy = (
            preset(path.removeprefix(PRESET)) if path.startswith(PRESET) else parse_policy(text)[0]
        )
        return compile_policies(Policies.one(policy), described, **use)

    compiled = _on_the_table("compile", compiling, progress)
    decisions = [
        {"rule": one.rule, "subject": one.subject, "text": one.text} for one in compiled.decisions
    ]
    gone = "" if compiled.delete_by is None else compiled.delete_by.isoformat()
    return {"recipe": compiled.recipe, "decisions": decisions, "delete_by": gone}


def comply_policy(
    bench: Bench,
    progress: Progress,
    *,
    key: str,
    within: str,
    said: dict[str, str],
    path: str = "",
    text: str = "",
    name: str = "the policy",
) -> dict[str, Any]:
    """Whether a release keeps a policy, as ``sfumato policy comply`` says: ``holds``, ``reasons``,
    ``statements`` and ``notes``.

    The release is the written one in the ``folder`` that is said, else the one that was made of a
    version; that is written to a folder that is gone afterwards (``within`` the project), for what
    is judged is what would be shared. ``said`` holds the purpose, and where they are known
    recipient, categories, days and the columns of rules about numbers.
    """
    if not said.get("purpose", "").strip():
        raise ParameterError("say the purpose of the use: a policy speaks of purposes")
    progress(0.0, "judging what would be shared")
    with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as draft:
        given = said.get("folder", "").strip()
        if given:
            shared, original = _shared(at_home(given)), None
        else:
            shared, original = (
                made_release(bench, key).write(Path(draft) / "out") / "share",
                bench.data,
            )
        file = Path(draft) / (Path(name).name or "policy")
        if text:
            write_whole(file, text.encode())
        days = said.get("days", "").strip()
        numbers = {kind: _listed(said.get(kind, "")) for kind in ("age", "zip", "date")}
        use = Use(
            said["purpose"].strip(),
            said.get("recipient", "").strip() or None,
            environment.now().date(),
        )
        files = [str(file) if text else path]
        return _on_the_table(
            "comply",
            lambda: hold_against(
                shared,
                files,
                use,
                original=original,
                numbers=numbers,
                categories=_listed(said.get("categories", "")),
                days=_whole(days) if days else None,
            ).to_dict(),
            progress,
        )


def _on_the_table(command: str, act: Callable[[], Answer], progress: Progress) -> Answer:
    """What comes of a policy and the table, unless that takes too long."""
    long = ParameterError(
        f"this takes more than {SECONDS_ON_THE_TABLE:g} seconds of computing: make columns coarser"
        f" or quasi-identifiers fewer first, or let 'sfumato policy {command}' work on it, which"
        " has no limit"
    )
    return within(SECONDS_ON_THE_TABLE, act, too_long=long, progress=progress)


def _shared(folder: Path) -> Path:
    """The folder with the certificate: the one that is named, or the one to share in it."""
    return folder / "share" if (folder / "share" / "certificate.json").is_file() else folder


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _whole(words: str) -> int:
    try:
        days = int(words)
    except ValueError:
        days = -1
    if days < 0:
        raise ParameterError("days of storage are a whole number, not below 0")
    return days


def _read(path: Path) -> str:
    """The text of a policy file; a pipe would keep all who ask for counts waiting."""
    require_plain(path, most=MOST_MEGABYTES * MEGABYTE, what="a policy")
    return read_text(path)
