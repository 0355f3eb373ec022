"""Registers of tests remember what they saw in a folder of the test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The folder in which the last row that was seen of every register is remembered."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "sfumato" / "registers"
