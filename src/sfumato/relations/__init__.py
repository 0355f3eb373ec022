"""Several tables that still join: every person is a row, and rows below it. A new promise, means, attack or metric is entered here and nowhere else."""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members, called_in

FAMILIES = {
    "models": Members(__name__, {}),
    "steps": Members(__name__, {}),
    "risk": Members(__name__, {}),
    "utility": Members(__name__, {}),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.tables").Tables


def __getattr__(name: str) -> Any:
    return called_in(FAMILIES, __name__, name)
