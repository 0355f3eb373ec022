"""Fields that steps of several packages have in common, each described once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sfumato.core.parameters import COLUMNS

ColumnWeights = Annotated[dict[str, float], COLUMNS, Field(description="importance of columns")]
"""How much each quasi-identifier counts; one that is not named counts 1."""

SuppressionBudget = Annotated[
    float, Field(ge=0, le=1, description="share of records that may be suppressed")
]

LevelBounds = Annotated[
    dict[str, int | tuple[int, int]],
    COLUMNS,
    Field(description="highest level, or lowest and highest"),
]
"""The levels of its hierarchy that each column may have."""

GroupSize = Annotated[int, Field(ge=2, description="least number of records of a group")]
