"""Tasks about privacy policies: read one, and say which recipe it would make of the table."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import environment
from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph, VerdictBlock
from sfumato.core.files import MEGABYTE, require_plain, write_whole
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.requests import (
    LONG,
    NUMBER_FIELDS,
    ComplianceRequest,
    PolicyRequest,
    PolicySource,
)
from sfumato.interfaces.web.tasks.bounded_work import Answer, within
from sfumato.interfaces.web.tasks.made_releases import made_release
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
    from sfumato.policy.clauses import UsageClause
    from sfumato.policy.documents import Remark
    from sfumato.policy.policy import Policy

PRESET = "preset:"

MOST_MEGABYTES = 64
# Clauses or findings of one kind that a page lists.
MOST_LINES = 200
# How long reading may compute: the longest policies we know take a tenth of a second.
SECONDS = 5.0
# How long may be computed on what a policy asks of the table: the recipe it makes, or whether a
# release keeps it.
SECONDS_ON_THE_TABLE = 120.0
NOTHING: Fields = {
    "language": "",
    "prescribes": True,
    "permits": False,
    "purposes": {},
    "suggestions": {},
    "numbers": False,
}
COUNTERPARTS = {
    "none": "No counterpart: nothing in a release answers this",
    "said": "You have to answer this: a table cannot",
    "release": "The release itself answers it",
}
SEVERITIES = {"error": "It cannot be used", "warning": "Take care", "note": "Good to know"}


def presets(bench: Bench, progress: Progress) -> list[dict[str, str]]:
    """Rules with a published number that come with the package: name, title, what they ask, source,
    what they do not say.
    """
    rules = []
    for name in preset_names():
        rule = preset(name).rule
        if rule is not None:
            source = f"{rule.source} ({rule.as_of.isoformat()}). {rule.limit}"
            rules.append({"name": name, "title": rule.title, "text": rule.text, "source": source})
    return rules


def read_policy(bench: Bench, progress: Progress, *, source: PolicySource) -> Fields:
    """A policy from a path (``preset:NAME`` too) or from its text: what is in it, and what was
    found.

    ``name``, ``language`` ("": it cannot be used), ``source`` (with the text as read; "" of a
    preset), ``prescribes`` (a recipe can be compiled of it), ``permits`` (it says what may be done
    with data), ``suggestions`` (names that it uses itself, by field of a use), ``numbers`` (it asks
    which columns are ages, ZIP codes and dates), ``purposes`` (recipients by name), and ``blocks``.
    """
    columns = bench.data.columns
    today = datetime.datetime.now(datetime.UTC).date()
    path = source.path.strip()
    if path.startswith(PRESET):
        policy = preset(path.removeprefix(PRESET))
        findings = list(lint(policy, today=today, columns=columns))
        return _describe_policy(policy, "ours", PolicySource(path=path), findings)
    name = Path(path).name if path else "the policy"
    text = _read(at_home(path)) if path else source.text
    if not text.strip():
        raise ParameterError("give the path of a policy, or its text")
    if not path and len(text) > LONG:
        raise ParameterError(
            "the text is longer than a million characters; save it as a file and give its path"
        )
    read = PolicySource(path=path, text=text, name=name)
    slow = UnreadableInput(
        f"{name} takes more than {SECONDS:g} seconds to parse and cannot be a policy"
    )
    return within(
        SECONDS, lambda: _understood(read, today, columns), too_long=slow, progress=progress
    )


def _understood(source: PolicySource, today: datetime.date, columns: Sequence[str]) -> Fields:
    text, name = source.text, source.name
    findings = lint_text(text, name=name, today=today, columns=columns)
    answer = {**NOTHING, "name": name, "source": source}
    # what cannot be read says nothing about uses
    if any(finding.severity == "error" for finding in findings):
        return {**answer, "blocks": _blocks(name, [], findings)}
    dialect = parse_document(text, name=name, findings=Findings(name))[1]
    clauses = clauses_of(text, name) if dialect.permits else []
    if dialect.prescribes:
        policy = parse_policy(text, name=name)[0]
        answer = _describe_policy(policy, dialect.name, source, findings)
    answer |= {"language": dialect.name, "permits": dialect.permits}
    answer["prescribes"] = dialect.prescribes
    if clauses:
        answer["blocks"] = _blocks(name, clauses, findings, prescribes=dialect.prescribes)
        for clause in clauses:
            field = {"kind of data": "categories"}.get(clause.subject, clause.subject)
            answer["suggestions"].setdefault(field, []).extend(clause.names)
    return answer


def _describe_policy(
    policy: Policy, language: str, source: PolicySource, findings: list[Remark]
) -> Fields:
    purposes = {}
    for purpose in policy.purposes:
        purposes[purpose.name] = [recipient.name for recipient in purpose.recipients]
    return {
        **NOTHING,
        "name": policy.name,
        "language": language,
        "source": source,
        "prescribes": True,
        "purposes": purposes,
        "suggestions": {
            "purpose": list(purposes),
            "recipient": [name for names in purposes.values() for name in names],
        },
        "numbers": policy.rule is not None and SAFE_HARBOR in policy.rule.checks,
        "blocks": _blocks(policy.name, [], findings),
    }


def _blocks(
    name: str, clauses: Sequence[UsageClause], findings: list[Remark], *, prescribes: bool = True
) -> list[Block]:
    """What is in a policy: clauses without a counterpart first, then what was found."""
    title = "what has no counterpart here"
    if clauses:
        title = "what it permits"
    blocks: list[Block] = [Heading(f"{name}: {title}", 1)]
    if clauses:
        compiled = ", not what a table must look like: nothing to compile"
        if prescribes:
            compiled = ""
        words = f"It says what may be done with data{compiled}. Compare a release with it below."
        blocks.append(Paragraph(words, "strong"))
    elif not findings:
        blocks.append(Paragraph("Everything in it has a counterpart in this table."))
    uses = {clause.use for clause in clauses}
    for counterpart, heading in COUNTERPARTS.items():
        lines = []
        for clause in clauses:
            if clause.counterpart == counterpart:
                prohibited = "prohibited "
                if clause.permitted:
                    prohibited = ""
                use = ""
                if len(uses) > 1:
                    use = f" (use {clause.use})"
                lines.append(f"{prohibited}{clause.subject}: {clause.words}{use}")
        if lines:
            blocks.append(_list_block(lines, heading))
    for severity, heading in SEVERITIES.items():
        lines = []
        for finding in findings:
            if finding.severity == severity:
                line = ""
                if finding.line is not None:
                    line = f"line {finding.line}, "
                lines.append(f"{finding.message} ({line}{finding.path})")
        if lines:
            blocks.append(_list_block(lines, heading))
    return blocks


def _list_block(lines: list[str], heading: str) -> ListBlock:
    """The first lines of a list that may be as long as a stranger's file makes it."""
    remainder = [f"… and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
    return ListBlock((*lines[:MOST_LINES], *remainder), heading)


def compile_policy(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    source: PolicySource,
    request: PolicyRequest,
) -> Fields:
    """The ``recipe`` that enforces a policy on the table as it is described now; with ``keep``,
    what is promised now is promised too. ``blocks`` say what had to be decided.
    """
    progress(0.0, "compiling the policy")
    table = bench.data.with_schema(recipe.schema)

    def compiling() -> Compiled:
        if source.path.startswith(PRESET):
            policy = preset(source.path.removeprefix(PRESET))
        else:
            policy = parse_policy(source.text)[0]
        return compile_policies(
            Policies.one(policy),
            table,
            purpose=request.purpose,
            recipient=request.recipient or None,
            budget=request.budget,
            on_conflict=request.on_conflict,
            meet=recipe.meet if request.keep else (),
        )

    compiled = _on_the_table("compile", compiling, progress)
    decisions = []
    for decision in compiled.decisions:
        subject = ""
        if decision.subject:
            subject = f"{decision.subject}: "
        decisions.append(f"{subject}{decision.text}")
    blocks: list[Block] = [Heading("The recipe it makes", 1), ListBlock(tuple(decisions))]
    if compiled.delete_by is not None:
        day = compiled.delete_by.isoformat()
        blocks.append(Paragraph(f"The data must be deleted by {day}.", "strong"))
    return {"recipe": compiled.recipe, "blocks": blocks}


def comply_policy(
    bench: Bench,
    progress: Progress,
    *,
    key: str,
    within: str,
    source: PolicySource,
    request: ComplianceRequest,
) -> Fields:
    """Whether a release keeps a policy, as ``sfumato policy comply`` says: ``holds`` and
    ``blocks``.

    The release is the written one in the ``folder`` that is named, else the one that was made of a
    version; that is written to a folder that is gone afterwards (``within`` the project), for what
    is judged is what would be shared.
    """
    if not request.purpose.strip():
        raise ParameterError("give the purpose of the use: a policy speaks of purposes")
    progress(0.0, "judging what would be shared")
    with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as draft:
        folder, original = request.folder.strip(), None
        if folder:
            shared = _shared(at_home(folder))
        else:
            shared = made_release(bench, key).write(Path(draft) / "out") / "share"
            original = bench.data
        file = Path(draft) / (Path(source.name).name or "policy")
        if source.text:
            write_whole(file, source.text.encode())
        use = Use(
            request.purpose.strip(), request.recipient.strip() or None, environment.now().date()
        )
        verdict = _on_the_table(
            "comply",
            lambda: hold_against(
                shared,
                [str(file) if source.text else source.path],
                use,
                original=original,
                numbers={name: _listed(getattr(request, name)) for name in NUMBER_FIELDS},
                categories=_listed(request.categories),
                days=request.days,
            ).to_dict(),
            progress,
        )
    words = "keeps" if verdict["holds"] else "does not keep"
    about = folder or f"The release of version {key}"
    headline = f"{about} {words} what the policy asks for."
    blocks: list[Block] = [VerdictBlock(verdict["holds"], headline, headline=True)]
    blocks += [VerdictBlock(False, reason) for reason in verdict["reasons"]]
    blocks += [VerdictBlock(True, statement) for statement in verdict["statements"]]
    blocks += [Paragraph(note, "quiet") for note in verdict["notes"]]
    return {**verdict, "blocks": blocks}


def _on_the_table(command: str, act: Callable[[], Answer], progress: Progress) -> Answer:
    """What comes of a policy and the table, unless that takes too long."""
    long = ParameterError(
        f"this takes more than {SECONDS_ON_THE_TABLE:g} seconds of computing; make columns coarser "
        f"or quasi-identifiers fewer first, or use 'sfumato policy {command}', which has no limit"
    )
    return within(SECONDS_ON_THE_TABLE, act, too_long=long, progress=progress)


def _shared(folder: Path) -> Path:
    """The folder with the certificate: the one that is named, or the one to share in it."""
    if (folder / "share" / "certificate.json").is_file():
        return folder / "share"
    return folder


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _read(path: Path) -> str:
    """The text of a policy file; a pipe would keep all who ask for counts waiting."""
    require_plain(path, limit=MOST_MEGABYTES * MEGABYTE, purpose="a policy")
    return read_text(path)
