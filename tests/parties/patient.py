"""An event loop whose clock counts only the time in which nothing happens, so that no limit is
reached because a machine is busy.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

TICK = 0.05
HASTE = 4
"""Seconds of the clock for a second in which nothing happens: among parties of one process, all
that was sent is there at once.
"""


class _Ticks(selectors.DefaultSelector):
    """What is waited for in short looks; those that see nothing are counted."""

    idle = 0.0

    def select(self, timeout: float | None = None) -> Any:
        wait = TICK if timeout is None else min(max(timeout, 0.0), TICK)
        ready = super().select(wait / HASTE)
        if not ready:
            self.idle += wait
        return ready


class _PatientLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._ticks = _Ticks()
        super().__init__(self._ticks)

    def time(self) -> float:
        return self._ticks.idle


def run(story: Coroutine[Any, Any, Any]) -> Any:
    """As :func:`asyncio.run`: parties of one process, each of which has as much time as it needs to
    answer.
    """
    with asyncio.Runner(loop_factory=_PatientLoop) as runner:
        return runner.run(story)
