"""``python -m sfumato`` is the command line."""

from __future__ import annotations

from sfumato.interfaces.cli import program

program()
