"""Risks of a file as it is, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.risk.individual_risk import IndividualRisk
from sfumato.risk.log_linear import LogLinear
from sfumato.risk.population_uniques import PopulationUniques
from sfumato.risk.reidentification import JournalistRisk, MarketerRisk, ProsecutorRisk, ShareAtRisk, UniqueRecords
from sfumato.risk.suda import Suda

ALL = (
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    ShareAtRisk,
    UniqueRecords,
    Suda,
    IndividualRisk,
    PopulationUniques,
    LogLinear,
)
