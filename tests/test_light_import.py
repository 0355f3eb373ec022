"""``import sfumato`` and ``sfumato --help`` load none of the heavy packages: they must answer at
once.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys

import pytest

from sfumato.interfaces.cli.app import COMMANDS, GROUPS, _not_called, build_app

# Named here, not taken from the architecture test: this is what a user waits for.
HEAVY = {"altair", "cryptography", "numba", "pandas", "pyarrow", "scipy", "vl_convert"}
# What the command line may load before it knows what is wanted: frames and arrays, which nearly
# every command needs.
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
REPORT = (
    "\nimport json, sys\nprint('LOADED ' + json.dumps(sorted({name.split('.')[0] for name in"
    " sys.modules})))"
)


def loaded_by(code: str) -> set[str]:
    """The top-level packages in ``sys.modules`` of a fresh process after it ran some code."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
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
    """The words of ``--help`` are written down beside the names of the commands; they must say what
    the commands say.
    """
    every = build_app()
    said = {
        one.name: inspect.getdoc(one.callback).split("\n\n")[0].replace("\n", " ")
        for one in every.registered_commands
        if not one.hidden
    }
    said |= {one.name: one.typer_instance.info.help for one in every.registered_groups}
    assert said == {name: title for name, (_, title) in (COMMANDS | GROUPS).items()}


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_a_command_is_there_when_it_is_called_and_only_then(name):
    one = build_app([name, "--help"])
    real = {c.name for c in one.registered_commands if c.callback is not _not_called}
    assert real | {group.name for group in one.registered_groups} == {name}
    assert {c.name for c in one.registered_commands} | {g.name for g in one.registered_groups} == {
        *COMMANDS,
        *GROUPS,
    }


def test_help_is_shown():
    """The check above means nothing if the command line never got that far."""
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "--help"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


RUN = """
import runpy, sys
sys.argv = ["sfumato", {words}]
code = 0
try:
    runpy.run_module("sfumato", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    code = stop.code
import json
print("LOADED " + json.dumps(sorted(sys.modules)))
sys.exit(code)
"""
RECIPE = """
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [20, 40]}}}
  town: {role: quasi, hierarchy: suppress}
  illness: {role: sensitive}
meet: [{k_anonymity: {k: 3}}]
steps: [{global_recoding: {budget: 0.1}}]
"""
MEMBERS = {
    "methods.hierarchies": {"number_intervals", "suppressed_value"},
    "methods.models": {"k_anonymity"},
    "methods.steps": {"recoding.global_recoding"},
    "methods.attacks.file_risks": {"reidentification"},
    "methods.attacks": set(),
}
"""Modules with classes of a family that such a run may import; all else of these families waits
until it is named.
"""


def _homes(room: str) -> set[str]:
    """Modules that hold classes a recipe can name."""
    known = importlib.import_module(f"sfumato.{room}").ALL
    return {cls.__module__.removeprefix(f"sfumato.{room}.") for cls in known.values()}


NOT_NEEDED = {"altair", "cryptography", "pandas", "pyarrow", "vl_convert"}
LINEAR_ALGEBRA = {f"scipy.{part}" for part in ("linalg", "optimize", "sparse", "special", "stats")}
COMPILER = {"numba.np.arraymath", "numba.np.linalg", "numba.np.npyimpl", "numba.np.math.mathimpl"}
"""Parts of numba that tell how things are compiled; loading what was compiled needs none, and some
bring scipy along.
"""
ELSEWHERE = {
    "guidance",
    "results",
    "policy",
    "parties",
    "release.register",
    "data.examples",
    "methods.steps.pseudonyms",
}
"""Packages that a run has no business in."""
NOT_ASKED_FOR = {
    "sfumato.interfaces.cli.attack",
    "sfumato.data.lazy.on_spark",
    "sfumato.release.certificate",
    "sfumato.release.verify_checks",
    "sfumato.release.lazy_release",
    "sfumato.release.reapply",
    "sfumato.release.replay",
}
"""What a run without attacks, engines and earlier releases does not import."""


def _people(folder):
    """A small table, and a recipe for it."""
    table, recipe = folder / "people.csv", folder / "recipe.yaml"
    rows = [f"{20 + i % 40},{'ABC'[i % 3]},{'xy'[i % 2]}" for i in range(120)]
    table.write_text("\n".join(["age,town,illness", *rows]) + "\n", encoding="utf-8")
    recipe.write_text(RECIPE, encoding="utf-8")
    return str(table), str(recipe)


def _after(*words: str, exit_code: int = 0) -> set[str]:
    """The modules of a process that ran a command whose loops were compiled before.

    What compiles the loops needs more than what finds them compiled; who compiles others at the
    same moment may take some out of the cache again.
    """
    for turn in ("first", "again", "a third time"):
        code = RUN.format(words=", ".join(repr(word.replace("TURN", turn)) for word in words))
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == exit_code, done.stderr
        loaded = set(json.loads(done.stdout.splitlines()[-1].removeprefix("LOADED ")))
        if turn != "first" and not loaded & COMPILER:
            break
    return loaded


@pytest.mark.slow
def test_a_run_imports_what_its_recipe_names(tmp_path):
    """A k-anonymous release: once the loops are compiled, neither heavy packages nor other steps
    and models are loaded.
    """
    table, recipe = _people(tmp_path)
    loaded = _after("run", table, "-r", recipe, "-o", str(tmp_path / "TURN"), "-q")
    assert not {name.split(".")[0] for name in loaded} & NOT_NEEDED
    assert not loaded & (LINEAR_ALGEBRA | COMPILER)
    assert not {package for package in ELSEWHERE if f"sfumato.{package}" in loaded}
    assert not loaded & NOT_ASKED_FOR
    for room, expected in MEMBERS.items():
        assert {home for home in _homes(room) if f"sfumato.{room}.{home}" in loaded} <= expected, (
            room
        )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["assess", "profile"])
def test_looking_at_a_table_needs_no_linear_algebra(tmp_path, command):
    table, recipe = _people(tmp_path)
    loaded = _after(command, table, *(("-r", recipe) if command == "assess" else ()))
    assert not {name.split(".")[0] for name in loaded} & NOT_NEEDED
    assert not loaded & (LINEAR_ALGEBRA | COMPILER)


@pytest.mark.slow
def test_judging_a_small_table_needs_no_numba(tmp_path):
    """Where rows are few numpy stands in for the loops that count and group, and numba is not even
    imported.
    """
    table, recipe = _people(tmp_path)
    _after("run", table, "-r", recipe, "-o", str(tmp_path / "TURN"), "-q")
    released = tmp_path / "first"
    assert "numba" not in _after("check", str(released / "share" / "data.csv"), "-r", recipe)
    assert "numba" not in _after("verify", str(released / "share"), exit_code=7)


LOOPS = """
from sfumato import kernels
kernels.keys.group, kernels.lattice.climb, kernels.points.measure_box
"""


def test_files_of_loops_are_loaded_without_numba():
    assert "numba" not in loaded_by(LOOPS)


def test_a_loop_imports_numba_when_it_is_called():
    called = "kernels.keys._pack(np.zeros((1, 1), np.uint64), np.zeros(1, np.uint8), 0, 0)"
    assert "numba" in loaded_by(f"import numpy as np\nfrom sfumato import kernels\n{called}")


def test_notices_a_heavy_package():
    assert "numba" in loaded_by("import numba") & HEAVY
