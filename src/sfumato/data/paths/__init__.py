"""Paths (trajectories, sequences, event logs): every person is a set of points in time. A new
promise, means, attack or metric is entered here and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members, called_in

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
    "steps": Members(
        __name__,
        {
            "path_recoding": "path_recoding:PathRecoding",
            "point_suppression": "point_suppression:PointSuppression",
            "time_shift": "time_shift:TimeShift",
            "collapse_repeats": "time_shift:CollapseRepeats",
        },
    ),
    "risk": Members(
        __name__,
        {
            "unicity": "unicity:Unicity",
            "home_and_work": "home_and_work:HomeAndWork",
            "time_shift": "unicity:TimeShiftAttack",
            "path_linkage": "home_and_work:PathLinkage",
        },
    ),
    "utility": Members(
        __name__,
        {
            "points_kept": "utility:PointsKept",
            "path_loss": "utility:PathLoss",
            "place_histogram": "utility:PlaceHistogram",
            "hour_histogram": "utility:HourHistogram",
            "origin_destination": "utility:OriginDestination",
            "frequent_sequences": "utility:FrequentSequences",
            "path_length": "utility:PathLength",
            "radius_of_gyration": "utility:RadiusOfGyration",
        },
    ),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.trajectories").Trajectories


def __getattr__(name: str) -> Any:
    return called_in(FAMILIES, __name__, name)
