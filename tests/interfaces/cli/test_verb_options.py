"""The options of verbs, as the file and as the signatures have them; help imports no verb."""

from __future__ import annotations

import inspect
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest

from sfumato.core.options import CommandOption
from sfumato.interfaces.cli.app import COMMANDS, GROUPS
from sfumato.interfaces.cli.verb_options import KINDS, load_verb, options_in, verb_options

TOOL = Path(__file__).parents[3] / "tools" / "command_options.py"
HEAVY = {"narwhals", "numpy", "pandas", "polars", "pyarrow", "scipy"}
MOST_OWN_MODULES = 23
"""Modules of sfumato that a help page imports; before options came from verbs they were 18."""
ALL_HELP = """
import json, sys
from typer.main import get_command
from sfumato.interfaces.cli.app import build_app

def show(command, words):
    for name, below in getattr(command, "commands", {}).items():
        show(below, [*words, name])
    context = command.make_context(words[-1], [], resilient_parsing=True)
    command.get_help(context)  # is printed

names = sys.argv[1:]
show(get_command(build_app(names)), ["sfumato"])
print("LOADED " + json.dumps(sorted(sys.modules)))
"""


def modules_of_help(name: str) -> set[str]:
    """The modules of a fresh process that showed the help of a command, and of all below it."""
    done = subprocess.run(
        [sys.executable, "-c", ALL_HELP, name],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"Usage: {name}" in done.stdout
    return set(json.loads(done.stdout.splitlines()[-1].removeprefix("LOADED ")))


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_help_imports_no_verb(name):
    modules = modules_of_help(name)
    assert not modules & HEAVY
    own = [module for module in modules if module.startswith("sfumato")]
    assert len(own) <= MOST_OWN_MODULES, sorted(own)


def test_the_file_has_the_options_of_the_signatures():
    tool = runpy.run_path(str(TOOL))
    current = tool["FILE"].read_text(encoding="utf-8")
    assert current == tool["page"](), "run python tools/command_options.py"


@pytest.mark.parametrize("name", ["sfumato.interfaces.api:run", "sfumato.policy.compile:Options"])
def test_options_are_the_same_from_the_file_and_from_the_verb(name):
    def described(options):
        return [(one.name, one.kind, one.default, one.panel, one.option.names) for one in options]

    assert described(verb_options(name)) == described(options_in(load_verb(name)))


def greet(
    name: Annotated[str, CommandOption("who is greeted")],
    *,
    titles: Annotated[tuple[str, ...], CommandOption("a title", typed=list[str])] = (),
) -> None: ...


def test_a_verb_of_a_plug_in_is_imported():
    name, titles = verb_options(f"{__name__}:greet")
    assert name.default is inspect.Parameter.empty and name.kind is str
    assert titles.default is None and titles.kind == KINDS["list[str] | None"]


def test_options_can_be_left_out():
    assert [one.name for one in verb_options(f"{__name__}:greet", ["titles"])] == ["name"]


def test_a_verb_may_be_a_method():
    assert load_verb("sfumato.release.release:Release.write").__name__ == "write"
