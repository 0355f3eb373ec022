"""Tasks for tests of the process that holds the data: they tell, sleep, die, fail and answer what
cannot be sent.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.interfaces.web.tasks import TASKS, Task

if TYPE_CHECKING:
    from sfumato.interfaces.web.data_process import Bench

NAMES = (
    "nap",
    "stubborn",
    "die",
    "fail",
    "bug",
    "unsendable",
    "count",
    "keep_and_stop",
    "what_is_kept",
)
OURS = {
    name: Task(
        f"naps:{name}", "quick" if name in ("count", "what_is_kept") else "long", recipe=False
    )
    for name in NAMES
}


def work(pipe: Any) -> None:
    """The bench with these tasks besides its own."""
    from sfumato.interfaces.web import data_process as bench

    TASKS.update(OURS)
    sys.modules["sfumato.interfaces.web.tasks.naps"] = sys.modules[__name__]
    bench.work(pipe)


def nap(bench: Bench, progress: Any, *, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        progress(0.5, "sleeping")
        time.sleep(0.01)
    return "slept"


def stubborn(bench: Bench, progress: Any) -> None:
    progress(0.1, "deaf from now on")
    threading.Event().wait()


def die(bench: Bench, progress: Any) -> None:
    progress(0.1, "dying")
    os._exit(9)


def fail(bench: Bench, progress: Any) -> None:
    raise ParameterError("this cannot be")


def bug(bench: Bench, progress: Any) -> None:
    raise ValueError("Ms. Smith of 12345")


def unsendable(bench: Bench, progress: Any) -> Any:
    return threading.Lock()


def count(bench: Bench, progress: Any, *, what: int = 0) -> int:
    calls = bench.recall_or_make("calls", list)
    calls.append(what)
    return len(calls)


def keep_and_stop(bench: Bench, progress: Any) -> None:
    while True:
        progress(0.5, "making")
        time.sleep(0.01)


def what_is_kept(bench: Bench, progress: Any) -> list[str]:
    return list(bench.store)
