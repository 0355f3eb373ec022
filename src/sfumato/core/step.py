"""Means: how a promise is reached."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from sfumato.core.progress import Progress, silent
from sfumato.errors import InternalError

if TYPE_CHECKING:
    import numpy as np

    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model
    from sfumato.core.randomness import Seed


@dataclasses.dataclass(frozen=True)
class Goal:
    """What the whole run must reach, and what a step may draw from: promises, seed, progress, a population table.

    ``place`` is the number of the step in the recipe.
    """

    models: tuple[Model, ...] = ()
    seed: Seed | None = None
    progress: Progress = silent
    population: Dataset | None = None
    place: int = 0

    def stream(self, purpose: str) -> np.random.Generator:
        """The random stream of one purpose of this step: the same step twice in a recipe draws differently."""
        if self.seed is None:
            raise InternalError("this step draws at random, but was given no seed")
        return self.seed.stream(f"step {self.place}: {purpose}")


class Plan(Protocol):
    """What a step decided: small, pure data."""

    def describe(self) -> dict[str, Any]:
        """The plan as plain data, fit for a certificate: no data values, no seeds."""
        ...


@runtime_checkable
class Step(Protocol):
    """A means. Frozen, validated, written in a recipe under its ``name``."""

    name: ClassVar[str]

    def plan(self, dataset: Dataset, goal: Goal) -> Any:
        """Decide what to do; looks at the data, changes nothing."""
        ...

    def apply(self, dataset: Dataset, plan: Any) -> Dataset:
        """Do it."""
        ...
