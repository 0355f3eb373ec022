"""Risks and attacks, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.risk.reidentification import JournalistRisk, MarketerRisk, ProsecutorRisk, RecordsAtRisk, UniqueRecords

ALL = (JournalistRisk, MarketerRisk, ProsecutorRisk, RecordsAtRisk, UniqueRecords)
