"""Risks of a file as it is, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "journalist_risk": "reidentification:JournalistRisk",
        "marketer_risk": "reidentification:MarketerRisk",
        "prosecutor_risk": "reidentification:ProsecutorRisk",
        "records_at_risk": "reidentification:ShareAtRisk",
        "unique_records": "reidentification:UniqueRecords",
    },
)


def __getattr__(name: str) -> Any:
    return ALL.called(name)
