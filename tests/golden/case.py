"""A golden case: inputs, commands, and everything that they wrote and printed, as comparable
text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.core import environment
from sfumato.interfaces.cli import main
from tests.golden.canonical import TEXT, json_text, page_text, text_of
from tests.spark_sessions import local_session

MOMENT = datetime.datetime(2026, 11, 2, 12, 0, 0, tzinfo=datetime.UTC)
SALT = b"golden salt"
SEED = "c0ffee11d15ea5ec0ffee11d15ea5e77"
"""Long enough not to be a rehearsal."""
VARIABLES = {
    "COLUMNS": "100",
    "OFFICE_KEY": "a key that is the same in every run 0123456789",
    "TZ": "UTC",
}
HERE = "@/"
"""The folder of a case in the words of a command, for engines whose processes work elsewhere."""
STATE = ".state"
"""Where commands keep what they remember of this machine; it is not compared."""


@dataclasses.dataclass(frozen=True)
class Case:
    """``prepare`` writes the inputs into a folder; ``commands`` run there, one after the other, by
    the words of the command line.

    ``act`` is for what only Python can ask for; what it returns is compared like a file of that
    name.
    """

    prepare: Callable[[Path], None]
    commands: tuple[tuple[str, ...], ...] = ()
    act: Callable[[Path], dict[str, str]] | None = None
    service: bool = False


def run_case(case: Case, folder: Path) -> dict[str, str]:
    """Run a case in an empty folder: the comparable text of every file that it wrote, and of what
    commands printed.
    """
    session: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if case.service:
        session = local_session("local[2]", partitions=2)  # begun in a folder that stays
    with session, _prepared_process(folder):
        case.prepare(folder)
        inputs = _files(folder)
        text_input = all(path.suffix in TEXT for path in inputs)
        results: dict[str, str] = {}
        if case.act is not None:
            results |= case.act(folder)
        for number, words in enumerate(case.commands, start=1):
            absolute = tuple(word.replace(HERE, f"{folder}/") for word in words)
            results[f"{number} {words[0]}"] = run_command(absolute, text_input=text_input)
    for path in sorted(_files(folder) - inputs):
        results[path.relative_to(folder).as_posix()] = text_of(path, text_input=text_input)
    return {
        name: text.replace(f"{folder.resolve()}/", HERE).replace(f"{folder}/", HERE)
        for name, text in results.items()
    }


def run_command(words: tuple[str, ...], *, text_input: bool) -> str:
    """Run the command line in this process: its exit code and what it printed as its result (what
    it tells besides is talk).
    """
    printed, talk = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    )
    program = sys.modules["__main__"]
    before = sys.argv, program.__package__
    sys.argv, program.__package__ = (
        ["sfumato", *words],
        None,
    )  # it is called so, whatever program this is
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(talk):
            main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv, program.__package__ = before
    text = page_text(printed.buffer.getvalue().decode())
    if "--json" in words and text:
        text = json_text(text, text_input=text_input)
    if code not in (0, 7):
        text += talk.buffer.getvalue().decode()
    return f"exit code {code}\n{text}"


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and STATE not in path.parts}


def digests_of(results: dict[str, str]) -> dict[str, str]:
    """A short digest of every text."""
    return {name: hashlib.sha256(text.encode()).hexdigest()[:24] for name, text in results.items()}


@contextlib.contextmanager
def _prepared_process(folder: Path) -> Iterator[None]:
    """This process in a folder, with a clock that stands still, known salts and known variables."""
    variables = {**VARIABLES, "XDG_STATE_HOME": str(folder / STATE)}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        with contextlib.chdir(folder), environment.fixed(MOMENT, SALT):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
