"""Doing something with the release of a version, which is made first where it is not yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.worker import TaskFailed

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench


async def made_first(
    workbench: Workbench, version: int, act: Callable[[], Awaitable[Fields]]
) -> Fields:
    """What an act answers that needs the release of a version."""
    try:
        return await act()
    except TaskFailed as error:
        if error.kind != "NotMade":
            raise
    how: Fields = {
        "version": version,
        "key": str(version),
        "register": workbench.project.register or None,
    }
    outcome = await workbench.do("make", "Making the release", **how)
    if outcome.get("made") is False:
        raise TaskFailed(
            "Unsatisfiable",
            f"{outcome.get('message', 'nothing satisfies the recipe')} Run offers what to change.",
        )
    return await act()
