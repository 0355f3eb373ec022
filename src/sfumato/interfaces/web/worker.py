"""Asking the bench: one process apart that holds the data; when it dies or is ended, another one
takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.data_process import work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Seconds that work has to stop by itself before its process is ended.
PATIENCE = 2.0


class TaskFailed(SfumatoError):
    """A task failed. ``kind`` is the name of the error it ended with, ``closest`` what comes
    nearest where nothing satisfies a recipe.
    """

    def __init__(self, kind: str, message: str, closest: Any = None) -> None:
        super().__init__(message)
        self.kind, self.closest = kind, closest


class Cancelled(SfumatoError):
    """The user ended the work."""


@dataclasses.dataclass(eq=False)
class Waiting:
    """A task that was sent and not answered yet."""

    task: str
    answer: asyncio.Future[Any]
    on_progress: Callable[[float, str], None] | None


class BenchProcess:
    """The process that does the work, seen from the pages. All members are called on the event
    loop.

    ``on_fresh`` is called after a process had to be replaced, with whether the user had asked for
    its end: the data must be opened again.
    """

    def __init__(self, on_fresh: Callable[[bool], Any] | None = None) -> None:
        self._on_fresh = on_fresh
        self._asked: dict[int, Waiting] = {}
        self._last = 0
        self._process: Any = None
        self._pipe: Connection | None = None
        self._closed = False

    def start(self) -> None:
        """Start the process; it is ready about a second later, and what is asked meanwhile
        waits.
        """
        # spawn: a fork would copy the threads of the server in the middle of what they do
        context = multiprocessing.get_context("spawn")
        own_end, worker_end = context.Pipe()
        self._process = context.Process(
            target=work, args=(worker_end,), daemon=True, name="sfumato bench"
        )
        self._process.start()
        # ours to close: else the pipe stays open when the process dies, and nobody hears of it
        worker_end.close()
        self._pipe = own_end
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(own_end, loop), daemon=True).start()

    async def ask(
        self,
        task: str,
        /,
        *,
        on_progress: Callable[[float, str], None] | None = None,
        **arguments: Any,
    ) -> Any:
        """What a task answers; raises :class:`TaskFailed` or :class:`Cancelled`."""
        if self._process is None:
            self.start()
        self._last += 1
        number, future = self._last, asyncio.get_running_loop().create_future()
        self._asked[number] = Waiting(task, future, on_progress)
        try:
            self._send(("ask", number, task, arguments))
        except (OSError, ValueError):
            self._asked.pop(number, None)
            raise TaskFailed("InternalError", "the process that holds the data has ended") from None
        return await future

    async def cancel(self, task: str | None = None) -> None:
        """End tasks of a name, or all: ask them to stop, and end the process of what does not
        within two seconds.
        """
        numbers = [
            number
            for number, waiting in self._asked.items()
            if task is None or waiting.task == task
        ]
        for number in numbers:
            with contextlib.suppress(OSError, ValueError):
                self._send(("stop", number))
        # asked for every twentieth of a second
        for _ in range(int(PATIENCE * 20)):
            if not any(number in self._asked for number in numbers):
                return
            await asyncio.sleep(0.05)
        self._replace()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._end()

    def _replace(self) -> None:
        """End the process and start another one; all that was asked is over."""
        self._end()
        self._another("")

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        process, self._process = self._process, None
        if process is not None and process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
                # the process leads a group of its own, so that what it started ends with it
                os.killpg(process.pid, 9)
            process.kill()
            process.join(5)

    def _another(self, reason: str) -> None:
        """Start another process, and say to all who wait why theirs is gone (no reason: they asked
        for it).
        """
        if not self._closed:
            self.start()
            if self._on_fresh is not None:
                self._on_fresh(not reason)
        self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        waiting_tasks, self._asked = self._asked, {}
        for waiting in waiting_tasks.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(
                    TaskFailed("InternalError", reason) if reason else Cancelled("Cancelled.")
                )

    def _send(self, message: tuple[Any, ...]) -> None:
        if self._pipe is None:
            raise OSError("closed")
        self._pipe.send(message)

    def _listen(self, pipe: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Hand what comes through the pipe to the event loop; in a thread of its own."""
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            while True:
                try:
                    message = pipe.recv()
                except (EOFError, OSError):
                    loop.call_soon_threadsafe(self._lost, pipe)
                    return
                loop.call_soon_threadsafe(self._take, message)

    def _lost(self, pipe: Connection) -> None:
        """The process died by itself: say so, and start another."""
        if pipe is self._pipe:
            self._end()
            self._another(
                "the process that holds the data ended, perhaps because memory ran out; a new one "
                "was started"
            )

    def _take(self, message: tuple[Any, ...]) -> None:
        word, number, *details = message
        if word == "progress":
            waiting = self._asked.get(number)
            if waiting is not None and waiting.on_progress is not None:
                waiting.on_progress(*details)
            return
        waiting = self._asked.pop(number, None)
        if waiting is None or waiting.answer.done():
            return
        if word == "done":
            waiting.answer.set_result(details[0])
        elif word == "stopped":
            waiting.answer.set_exception(Cancelled("Cancelled."))
        else:
            waiting.answer.set_exception(TaskFailed(*details))
