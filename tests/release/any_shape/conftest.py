"""The shape of letters in the place of baskets, a file of it, and a command line that runs in this
process.
"""

from __future__ import annotations

import sys

import pytest

from sfumato.core import registry
from sfumato.core.shape import Shape
from sfumato.interfaces.cli import main
from tests.release.any_shape import letters as shape_of_letters

RECIPE = """
shape: baskets
columns:
  name: drop
  who: person
  letter: item
meet:
  - company: {k: 2}
steps:
  - drop_rare
"""
HELD = {
    "Annabel": "abc",
    "Bertold": "abx",
    "Cleopatra": "bc",
    "Dorothea": "ac",
    "Emiliano": "z",
    "Frederick": "ab",
}


@pytest.fixture(autouse=True)
def letters(monkeypatch):
    """Letters instead of baskets, whatever the room of baskets holds."""
    monkeypatch.setitem(sys.modules, "sfumato.letters_for_tests", shape_of_letters)
    monkeypatch.setitem(registry.SHAPES, Shape.BASKETS, "sfumato.letters_for_tests")
    registry.family.cache_clear()
    yield shape_of_letters
    registry.family.cache_clear()


@pytest.fixture
def data(tmp_path):
    rows = [f"{name},id-{name},{letter}" for name, held in HELD.items() for letter in held]
    file = tmp_path / "letters.csv"
    file.write_text("\n".join(["name,who,letter", *rows]) + "\n")
    return file


@pytest.fixture
def recipe(tmp_path):
    file = tmp_path / "letters.yaml"
    file.write_text(RECIPE)
    return file


@pytest.fixture
def sfumato(monkeypatch, capfd):
    """Run ``sfumato`` with arguments: exit code, results and talk."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "80")
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return code, said.out, said.err

    return run
