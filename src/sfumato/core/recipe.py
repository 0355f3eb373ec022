"""A recipe: what the columns are, what must hold, how to get there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.model import Model
from sfumato.core.schema import Schema
from sfumato.core.step import Step
from sfumato.errors import RecipeError

VERSION = 1


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Schema, promises, steps and limits: the same objects as in Python, written down in one file.

    ``base`` is the folder that relative paths in the recipe start from.
    """

    schema: Schema
    meet: tuple[Model, ...] = ()
    steps: tuple[Step, ...] = ()
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    base: Path = dataclasses.field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        if self.limits:
            raise RecipeError(
                "limits are not enforced by this version; take them out and look at the release's measures"
            )
