"""What was decided of versions: who may have their release, under which answers, and whether that
is still about the recipe and the answers in use.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from typing import TYPE_CHECKING, Literal

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.project import REMADE, VersionDecision
from sfumato.interfaces.web.release_runs import decisions_of, made_first
from sfumato.interfaces.web.worker import Cancelled

if TYPE_CHECKING:
    from sfumato.interfaces.web.project import Project
    from sfumato.interfaces.web.workbench import Workbench

TASK, HELP = "decide", "help_decision"
# Tiers in the words of the strip.
SHORT_NAMES = {
    "publication": "for publication",
    "contract": "under contract",
    "internal": "internal use only",
    "none": "do not share",
}


@dataclasses.dataclass(frozen=True)
class KnownDecision:
    """The newest decision that says something of the version in use: for the tier, the reason that
    limits it, and what was kept; ``outdated`` says why it is not about the recipe in use (empty: it
    is).
    """

    tier: str
    reason: str
    kept: str
    version: int
    outdated: str

    @property
    def words(self) -> str:
        """The decision in a few words."""
        return SHORT_NAMES[self.tier]


def context_mark(project: Project) -> str:
    """What two moments share in which the owner's answers and the register are the same."""
    document = json.dumps([project.context, project.register], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:12]


def known_decision(project: Project) -> KnownDecision | None:
    """The decision about the version in use, else about the nearest one before it, else the newest;
    None: nothing was decided.
    """
    entry = _decided_entry(project)
    if entry is None:
        return None
    outdated = ""
    if entry.version != project.version:
        outdated = f"for version {entry.version}"
    elif entry.context == REMADE:
        outdated = "for an earlier release"
    elif entry.context != context_mark(project):
        outdated = "for other answers"
    return KnownDecision(entry.tier, entry.reason, entry.kept, entry.version, outdated)


def _decided_entry(project: Project) -> VersionDecision | None:
    versions = {entry.version: entry for entry in project.log}
    at = project.version
    while at and versions[at].decision is None:
        at = versions[at].parent
    if at:
        return versions[at].decision
    return next((entry.decision for entry in reversed(project.log) if entry.decision), None)


def state_of_decision(workbench: Workbench, version: int) -> Literal["none", "current", "outdated"]:
    """Whether a version is decided on under the answers in use."""
    decision = decisions_of(workbench).get(version)
    if decision is None or "tier" not in decision:
        return "none"
    if decision["mark"] != context_mark(workbench.project):
        return "outdated"
    return "current"


def is_deciding(workbench: Workbench) -> bool:
    """Whether a decision is under way."""
    job = workbench.job
    return job is not None and job.task in (TASK, HELP)


def begin_decision(workbench: Workbench) -> asyncio.Task[None] | None:
    """Decide about the version in use, unless a decision is under way; the task belongs to the
    workbench, not to a tab.
    """
    if is_deciding(workbench):
        return None
    task = asyncio.get_running_loop().create_task(_decide(workbench, workbench.project.version))
    workbench.remembered["deciding"] = task  # so that it is not collected while it runs
    return task


async def _decide(workbench: Workbench, version: int) -> None:
    """Make the release where there is none, decide, then measure what would help."""
    decisions, project = decisions_of(workbench), workbench.project
    context = dict(project.context)
    mark = context_mark(project)
    key = str(version)

    async def decide() -> Fields:
        answer: Fields = await workbench.do(
            TASK,
            "Deciding who may have it",
            version=version,
            key=key,
            context=context,
            folder=str(project.folder),
            register=project.register or None,
        )
        return answer

    try:
        decision = await made_first(workbench, version, decide)
        decisions[version] = {**decision, "mark": mark}
        project.note_decision(VersionDecision(version, context=mark, **decision["log"]))
        project.tell()
        changes: list[Fields] = await workbench.do(
            HELP, "Measuring what would help", version=version, key=key
        )
        decisions[version] = {**decisions[version], "changes": changes}
    except Cancelled:
        _say(decisions, version, "Cancelled. Nothing was written.")
    except SfumatoError as error:
        _say(decisions, version, str(error))
    project.tell()


def _say(decisions: dict[int, Fields], version: int, words: str) -> None:
    """Keep why there is no decision, or no measured changes."""
    decisions[version] = {**decisions.get(version, {}), "said": words}
