"""The shape of letters in the place of baskets, and a file of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import letters as shape_of_letters

from sfumato import registry
from sfumato.core.shape import Shape

RECIPE = """
shape: baskets
columns:
  name: direct
  who: unit
  letter: item
meet:
  - company: {k: 2}
steps:
  - drop_rare
"""
HELD = {"Anna": "abc", "Bert": "abx", "Cleo": "bc", "Dora": "ac", "Emil": "z", "Fred": "ab"}


@pytest.fixture(autouse=True)
def letters(monkeypatch):
    monkeypatch.setitem(sys.modules, "sfumato.letters_for_tests", shape_of_letters)
    monkeypatch.setitem(registry.SHAPES, Shape.BASKETS, "letters_for_tests")
    registry.family.cache_clear()
    yield shape_of_letters
    registry.family.cache_clear()


@pytest.fixture
def rows():
    return [(name, f"id-{name}", letter) for name, held in HELD.items() for letter in held]


@pytest.fixture
def data(tmp_path, rows):
    file = tmp_path / "letters.csv"
    file.write_text("name,who,letter\n" + "".join(f"{name},{who},{letter}\n" for name, who, letter in rows))
    return file


@pytest.fixture
def recipe(tmp_path):
    file = tmp_path / "letters.yaml"
    file.write_text(RECIPE)
    return file
