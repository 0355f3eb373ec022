"""The public names, pinned: a name that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import sfumato
from tests.golden.names import stored_names

NAMES = stored_names()["python"]
"""As they were decided on, in tests/golden/names.json."""


def test_the_public_names_are_these():
    assert sorted(NAMES) == NAMES, "keep the list sorted"
    assert sfumato.__all__ == NAMES
    assert dir(sfumato) == NAMES


def test_every_name_can_be_had():
    for name in NAMES:
        assert getattr(importlib.import_module("sfumato"), name) is not None


def test_no_name_is_hidden_by_a_room():
    """A room of the same name would take the place of a verb as soon as the verb has been used."""
    rooms = {path.stem for path in Path(sfumato.__file__).parent.iterdir()}
    modules = {name for name in NAMES if inspect.ismodule(getattr(sfumato, name))}
    assert not (rooms & set(NAMES)) - modules
