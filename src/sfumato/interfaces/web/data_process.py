"""The process that holds the data and does the work, so that pages never wait and a run can be
ended.

Short questions and long work have a thread each: counts are told while a search runs. A task is a
function of a module of ``tasks``, called with the bench and what was asked; it answers in plain
data that can be sent, and never prints. What is asked to stop does so at its next word of progress.
"""

from __future__ import annotations

import dataclasses
import errno
import importlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from sfumato.core.table import Table
from sfumato.errors import ParameterError, SfumatoError, Unsatisfiable
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.private_logging import raised_at
from sfumato.interfaces.web.tasks import TASKS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Releases, and other things that are dear to make, that are kept.
KEPT = 12
TOO_LONG = "this path is longer than the system allows; use a shorter one"


class Stopped(BaseException):
    """The user asked for the work to stop."""


@dataclasses.dataclass(eq=False)
class Bench:
    """What the process holds: the table as it was read, and what was made of it, the newest
    last.
    """

    table: Table | None = None
    store: OrderedDict[str, Any] = dataclasses.field(default_factory=OrderedDict)
    guard: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    @property
    def data(self) -> Table:
        """The table; an error says that none is open."""
        if self.table is None:
            raise ParameterError("no table is open yet")
        return self.table

    def keep(self, key: str, value: Any) -> None:
        """Keep something that was dear to make."""
        with self.guard:
            self.store[key] = value
            self.store.move_to_end(key)
            while len(self.store) > KEPT:
                self.store.popitem(last=False)

    def recall(self, key: str) -> Any:
        """What was kept, or None."""
        with self.guard:
            if key in self.store:
                self.store.move_to_end(key)
            return self.store.get(key)

    def recall_or_make(self, key: str, make: Callable[[], Any]) -> Any:
        """What was kept, else what is made now."""
        value = self.recall(key)
        if value is None:
            value = make()
            self.keep(key, value)
        return value


@dataclasses.dataclass(eq=False)
class Call:
    """One task under way: whom to tell how far it is, and whether it shall stop."""

    number: int
    send: Callable[[tuple[Any, ...]], None]
    stopped: threading.Event = dataclasses.field(default_factory=threading.Event)

    def __call__(self, share: float, words: str = "") -> None:
        """Tell how far it is; this is a :class:`~sfumato.core.progress.Progress`."""
        if self.stopped.is_set():
            raise Stopped
        self.send(("progress", self.number, float(share), words))


def work(pipe: Connection) -> None:
    """Answer what is asked through a pipe until it is closed."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that what it starts ends with it
    bench, calls = Bench(), dict[int, Call]()
    # one thread a lane: tasks of a lane never run at the same time, so they need no locks of their
    # own
    lanes = {"quick": ThreadPoolExecutor(1), "long": ThreadPoolExecutor(1)}
    sending = threading.Lock()

    def send(message: tuple[Any, ...]) -> None:
        with sending:
            pipe.send(message)

    send(("ready", 0))
    while True:
        try:
            word, number, *details = pipe.recv()
        except (EOFError, OSError):
            # the server is gone; nothing here is worth waiting for
            os._exit(0)
        if word == "stop":
            if number in calls:
                calls[number].stopped.set()
            continue
        task, arguments = details
        call = calls[number] = Call(number, send)
        lanes[TASKS[task].lane].submit(_answer, bench, call, task, arguments, calls)


def _answer(bench: Bench, call: Call, task: str, arguments: Fields, calls: dict[int, Call]) -> None:
    """Do one task and send what came of it."""
    answer: tuple[Any, ...]
    try:
        if call.stopped.is_set():
            raise Stopped
        answer = ("done", call.number, task_function(task)(bench, call, **arguments))
    except Stopped:
        answer = ("stopped", call.number)
    except SfumatoError as error:
        answer = ("failed", call.number, type(error).__name__, str(error), _closest(error))
    except BaseException as error:  # noqa: BLE001
        # Whatever it is, the page must hear of it, and without a value of the data.
        kind, words = "InternalError", _bug(task, error)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            kind, words = "UnreadableInput", TOO_LONG
        answer = ("failed", call.number, kind, words, None)
    # before the answer is sent: a stop that arrives later is about nothing
    calls.pop(call.number, None)
    try:
        call.send(answer)
    except Exception as error:  # noqa: BLE001
        # An answer that cannot be sent is our bug, told like any other.
        call.send(("failed", call.number, "InternalError", _bug(task, error), None))


def task_function(task: str) -> Callable[..., Any]:
    """The function that does a task."""
    module, _, name = TASKS[task].home.partition(":")
    function: Callable[..., Any] = getattr(
        importlib.import_module(f"sfumato.interfaces.web.tasks.{module}"), name
    )
    return function


def _closest(error: SfumatoError) -> Any:
    """What comes nearest where nothing satisfies a recipe, in plain data."""
    if not isinstance(error, Unsatisfiable):
        return None
    return error.closest


def _bug(task: str, error: BaseException) -> str:
    """What is said of our own bugs: where, and of which kind; never what the error itself says,
    which may quote a person.
    """
    kind = type(error).__name__
    return f"this is a bug of sfumato: {kind} in {task}{raised_at(error)}. Please report it."
