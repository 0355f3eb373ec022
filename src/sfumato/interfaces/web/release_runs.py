"""Making the release of a version: once for all tabs and stages, which all hear of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.worker import Cancelled, TaskFailed

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench

# Under this and the digest of the table the workbench keeps what came of each version, for every
# tab and for one that comes later.
OUTCOMES = "made of"
DECISIONS = "decided of"


def outcomes_of(workbench: Workbench) -> dict[int, Fields]:
    """What came of the versions that were run, of this table, newest last."""
    outcomes: dict[int, Fields] = workbench.remembered.setdefault(
        f"{OUTCOMES} {workbench.project.data.digest}", {}
    )
    return outcomes


def decisions_of(workbench: Workbench) -> dict[int, Fields]:
    """What came of deciding about versions of this table, for every tab: what the task says, the
    ``mark`` of the answers, ``changes`` once they are measured, or what was ``said`` instead.
    """
    decisions: dict[int, Fields] = workbench.remembered.setdefault(
        f"{DECISIONS} {workbench.project.data.digest}", {}
    )
    return decisions


def begin(workbench: Workbench) -> asyncio.Task[None] | None:
    """Run the version in use, unless one is under way; the task belongs to the workbench, not to a
    tab.
    """
    if workbench.job is not None and workbench.job.task == "make":
        return None
    task = asyncio.get_running_loop().create_task(_run(workbench, workbench.project.version))
    workbench.remembered["run"] = task  # so that it is not collected while it runs
    return task


async def _run(workbench: Workbench, version: int) -> None:
    """Make a release that nobody waits for: what goes wrong stands in its outcome."""
    with contextlib.suppress(Cancelled, TaskFailed):
        await make_version(workbench, version)


async def make_version(workbench: Workbench, version: int) -> Fields:
    """Make the release of a version. What came of it is the outcome on every stage."""
    outcomes = outcomes_of(workbench)
    outcomes.pop(version, None)
    outcome: Fields = {"said": "The run ended without an answer.", "failed": True}
    try:
        outcome = await workbench.do(
            "make",
            "Making the release",
            version=version,
            key=str(version),
            register=workbench.project.register or None,
        )
    except Cancelled:
        outcome = {"said": "Cancelled. Nothing was written."}
        raise
    except TaskFailed as error:
        outcome = {"said": str(error), "failed": True}
        raise
    finally:
        outcomes[version] = outcome
        if outcome.get("made"):
            workbench.project.note(version, outcome["effect"])
            # it has a seed of its own: what was decided is about another release
            decisions_of(workbench).pop(version, None)
            workbench.project.forget_decision(version)
        workbench.project.tell()
    return outcome


async def made_first(
    workbench: Workbench, version: int, act: Callable[[], Awaitable[Fields]]
) -> Fields:
    """What an act answers that needs the release of a version, which is made first where it is not
    there yet.
    """
    try:
        return await act()
    except TaskFailed as error:
        if error.kind != "NotMade":
            raise
    outcome = await make_version(workbench, version)
    if outcome.get("made") is False:
        raise TaskFailed(
            "Unsatisfiable",
            f"{outcome.get('message', 'nothing satisfies the recipe')} Run offers what to change.",
        )
    return await act()
