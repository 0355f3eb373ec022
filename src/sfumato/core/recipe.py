"""A recipe: what the columns are, what must hold, how to get there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.agreement import Agreement
from sfumato.core.intake import Intake
from sfumato.core.model import Model
from sfumato.core.parameters import known_as
from sfumato.core.schema import Schema
from sfumato.core.step import Step

VERSION = 1


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Schema, promises, steps and limits: the same objects as in Python, written down in one file.

    ``limits`` maps a risk, an attack or a utility to what it may be at most (at least, where more is better);
    ``contract`` says what must survive for the people who will use the release.

    ``intake`` says how the table is read: codes for missing values, header, spelling of text.
    ``base`` is the folder that relative paths in the recipe start from.
    """

    schema: Schema
    meet: tuple[Model, ...] = ()
    steps: tuple[Step, ...] = ()
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    contract: tuple[Agreement, ...] = ()
    intake: Intake = dataclasses.field(default_factory=Intake)
    base: Path = dataclasses.field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", {known_as(name): limit for name, limit in self.limits.items()})
