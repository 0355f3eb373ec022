"""Altair, loaded when the first picture is drawn: ``from sfumato.report import vega as alt`` is light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from altair import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """What altair calls so; it stays here as an attribute like any other."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module("altair"), name)
    return found
