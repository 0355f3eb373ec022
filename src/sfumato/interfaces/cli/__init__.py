"""The command line: commands that belong together share a file."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from typing import Any

from rich.markup import escape
from typer.exceptions import TyperException

from sfumato.core.interrupts import ending, finished_acts, pressed, watching
from sfumato.core.portable import keep_memory
from sfumato.errors import SfumatoError, UnreadableInput, not_installed
from sfumato.interfaces.cli.console import in_our_words, spell_out_signs, tell

INTERRUPTED = 130
INTERNAL = 3
WITH_ENGINE = (
    "run",
    "anonymize",
    "assess",
    "check",
    "attack",
    "evaluate",
    "verify",
    "profile",
    "recommend",
    "compare",
)
"""Commands that take ``--engine``."""
READER_LEFT = 141
"""Nobody reads the pipe any more: like other tools, which SIGPIPE ends with 128 + 13."""


def program() -> None:
    """Run the command line as a process of its own: Ctrl-C ends it once, however often it is
    pressed.
    """
    with ending():
        main()


def main() -> None:
    """Run the command line and leave with the right exit code."""
    _set_up_libraries()
    _collect_rarely()
    from sfumato.interfaces.cli.app import build_app

    keep_memory()
    spell_out_signs()
    with watching():
        try:
            code = build_app(_called_command())(standalone_mode=False)
            if code == INTERRUPTED and pressed():
                raise KeyboardInterrupt  # the command framework made an exit code of Ctrl-C
            sys.stdout.flush()  # here, where a reader that left is told from a bug
            sys.exit(code if isinstance(code, int) else 0)
        except BrokenPipeError:
            _end_quietly()
        except TyperException as error:
            _fail_usage(error)
        except KeyboardInterrupt:
            _fail(f"interrupted; {_written_files()}", INTERRUPTED)
        except SystemExit as stop:
            # What prints tables and help has seen that nobody reads before us.
            if isinstance(stop.__context__, BrokenPipeError):
                _end_quietly()
            raise
        except BaseException as error:  # noqa: BLE001 - a panic inside of polars is no Exception
            _fail_with(error)


def _fail_with(error: BaseException) -> None:
    """Say what went wrong in a command, and leave with the code of the error."""
    # Inside of a compiled loop or a callback Ctrl-C comes out as some other error.
    if pressed():
        _fail(f"interrupted; {_written_files()}", INTERRUPTED)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("sfumato."):
        error = not_installed(str(error.name))
    if isinstance(error, SfumatoError):
        _fail(str(error), error.exit_code)
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ENAMETOOLONG:  # wherever a path is looked at first
        _fail(
            "a path of this command is longer than the system allows; use a shorter one",
            UnreadableInput.exit_code,
        )
    if code == errno.ENOMEM or isinstance(error, MemoryError):
        _fail(
            f"there is not enough memory for this; {_written_files()}. {_with_less_memory()}",
            UnreadableInput.exit_code,
        )
    if os.environ.get("SFUMATO_DEBUG"):
        raise error
    _fail(_describe_bug(error), INTERNAL)


def _set_up_libraries() -> None:
    """Say, unless the user does, how libraries that are loaded later use threads, plug-ins and
    memory.
    """
    # Products of matrices take one thread: ours are small, and threads that wait take all cores.
    # Polars and the compiled loops have threads of their own.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Plug-ins of pydantic watch servers. Looking for them reads files of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Polars gives the memory of large columns back to the system as soon as it is free. Else it
    # keeps up to a half more than it needs: pages that it marked as free still count as used until
    # the system runs short. Columns of a megabyte and more are given back at once, what is smaller
    # serves again. Another allocator than its jemalloc does not look.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "muzzy_decay_ms:0,oversize_threshold:1048576")


FEW_COLLECTIONS = (1_000_000, 10, 10)
"""After how many new objects Python looks for cycles among them, and how seldom among older ones.
"""


def _collect_rarely() -> None:
    """Look for objects that only hold each other rarely, and never when the process ends.

    Starting makes three hundred thousand objects that stay. Looking through them again and again,
    and once more before the system takes back all memory anyway, was a quarter of the time of a run
    over a small table. Arrays do not count: most of what a large table takes is given back as soon
    as nobody holds it, as ever.
    """
    gc.set_threshold(*FEW_COLLECTIONS)
    atexit.unregister(gc.freeze)  # a second call in the same process
    atexit.register(gc.freeze)


def _called_command() -> list[str] | None:
    """The command of this call, if there is one. None where a shell asks for completions, which
    names the command in another way.
    """
    for name in os.environ:
        if name.startswith("_") and name.endswith("_COMPLETE"):
            return None
    return [word for word in sys.argv[1:] if not word.startswith("-")][:1]


def _end_quietly() -> None:
    """Nobody reads what is still to be written: no word about it, here or when the interpreter
    ends.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(READER_LEFT)


def _fail_usage(error: Any) -> None:
    """Tell what was wrong with the words of a command."""
    if not error.message and not hasattr(error, "param"):
        sys.exit(SfumatoError.exit_code)  # a command without any words has shown its help
    _fail(in_our_words(error), SfumatoError.exit_code)


def _written_files() -> str:
    """What was written before the command ended."""
    return "; ".join(finished_acts()) or "nothing was written"


def _fail(message: str, code: int) -> None:
    for line in message.split("\n"):
        tell(f"[bold red]error:[/] {escape(line)}")
    sys.exit(code)


def _with_less_memory() -> str:
    """What to do where memory did not suffice."""
    advice = "end other programs, leave out columns, or use a machine with more memory"
    words = sys.argv[1:]
    if not words or words[0] not in WITH_ENGINE:
        return f"{advice[0].upper()}{advice[1:]}"
    if any(word == "duckdb" or word.endswith("=duckdb") for word in words):
        return (
            "Leave out columns that no promise needs, round the finest quasi-identifiers in the"
            f" file first, {advice}"
        )
    engines = [word for word in words if word.startswith("--engine")]
    if "memory" not in words and any(not word.endswith("=memory") for word in engines):
        return f"Try --engine duckdb, which spills to disk; else {advice}"
    return (
        "Save the table as Parquet if it is not, and let an engine read it: --engine polars or "
        f"--engine duckdb; else {advice}"
    )


def _describe_bug(error: BaseException) -> str:
    """Where it broke, without the message: it could hold a data value."""
    location = "unknown place"
    trace = error.__traceback__
    while trace is not None:
        file = os.path.basename(trace.tb_frame.f_code.co_filename)
        location = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return (
        f"this is a bug in sfumato ({type(error).__name__} in {location}); {_written_files()}.\n"
        "Set SFUMATO_DEBUG=1 to see the details (they may show data values) and report it."
    )
