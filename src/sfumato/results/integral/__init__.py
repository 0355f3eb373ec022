"""Results that must not reveal whom they were computed from: integral privacy."""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "mean": "algorithms:MeanOf",
        "regression": "algorithms:RegressionOf",
        "tree": "algorithms:TreeOf",
        "stump": "algorithms:StumpOf",
    },
)
"""Algorithms whose results are judged. A new one is added here and nowhere else."""


def __getattr__(name: str) -> Any:
    return ALL.called(name)
