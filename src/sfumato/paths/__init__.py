"""Paths (trajectories, sequences, event logs): every person is a set of points in time. A new promise, means, attack or metric is entered here and nowhere else."""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members

FAMILIES = {
    "models": Members(
        __name__,
        {
            "lkc_privacy": "lkc:LkcPrivacy",
            "km_anonymity": "lkc:KmPoints",
            "km_visits": "visits:KmVisits",
            "k_windows": "windows:KWindows",
        },
    ),
    "steps": Members(__name__, {}),
    "risk": Members(__name__, {}),
    "utility": Members(__name__, {}),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.trajectories").Trajectories


def __getattr__(name: str) -> Any:
    for members in FAMILIES.values():
        try:
            return members.called(name)
        except AttributeError:
            continue
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
