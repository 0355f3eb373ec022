"""``import sfumato`` and ``sfumato --help`` load none of the heavy packages: they must answer at once."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

from sfumato.cli.app import COMMANDS, GROUPS, _not_called, build_app

# Named here, not taken from the architecture test: this is what a user waits for.
HEAVY = {"altair", "cryptography", "jinja2", "numba", "pandas", "pyarrow", "scipy", "vl_convert"}
# What the command line may load before it knows what is wanted: frames and arrays, which nearly every command needs.
ALLOWED = {"narwhals", "numpy", "polars"}

IMPORT = "import sfumato"
HELP = """
import runpy, sys
sys.argv = ["sfumato", "--help"]
try:
    runpy.run_module("sfumato", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    if stop.code not in (None, 0):
        raise
"""
REPORT = "\nimport json, sys\nprint('LOADED ' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"


def loaded_by(code: str) -> set[str]:
    """The top-level packages in ``sys.modules`` of a fresh process after it ran some code."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    return set(json.loads(last.removeprefix("LOADED ")))


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import sfumato", "sfumato --help"])
def test_loads_nothing_heavy(code):
    loaded = loaded_by(code)
    assert "sfumato" in loaded
    assert not loaded & HEAVY


def test_help_needs_no_frames():
    """Titles are known without the commands, and without what they work with."""
    assert not loaded_by(HELP) & ALLOWED


def test_titles_are_those_of_the_commands():
    """The words of ``--help`` are written down beside the names of the commands; they must say what the commands say."""
    every = build_app()
    said = {one.name: inspect.getdoc(one.callback).split("\n\n")[0] for one in every.registered_commands}
    said |= {one.name: one.typer_instance.info.help for one in every.registered_groups}
    assert said == {name: title for name, (_, title) in (COMMANDS | GROUPS).items()}


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_a_command_is_there_when_it_is_called_and_only_then(name):
    one = build_app([name, "--help"])
    real = {c.name for c in one.registered_commands if c.callback is not _not_called}
    assert real | {group.name for group in one.registered_groups} == {name}
    assert {c.name for c in one.registered_commands} | {g.name for g in one.registered_groups} == {*COMMANDS, *GROUPS}


def test_help_is_shown():
    """The check above means nothing if the command line never got that far."""
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "--help"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_notices_a_heavy_package():
    assert "numba" in loaded_by("import numba") & HEAVY
