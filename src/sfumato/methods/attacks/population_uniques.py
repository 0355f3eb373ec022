"""Uniqueness in the population: who is alone there can be found by anyone who has a register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack, not_a_sample, rows_of
from sfumato.core.design import weights_of
from sfumato.core.encoding import alike
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.methods.formulas.uniqueness import Estimator, SamplingFraction
from sfumato.methods.formulas.uniqueness import population_uniques as estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.table import Table


@parameters
class PopulationUniques(Attack):
    """The share of released records that are, by estimate, unique in the population they were drawn
    from.

    The sampling fraction is the number of records over the sum of their weights, or given. Zayatz,
    Pitman, slide negative binomial, or Dankar's rule that chooses among them:
    see :func:`sfumato.methods.formulas.uniqueness.population_uniques`. Every record that is unique
    in the release is a possible victim.
    """

    fraction: SamplingFraction = None
    estimator: Annotated[
        Estimator, Field(description="how uniques of the population are estimated")
    ] = "dankar"

    name: ClassVar[str] = "population_uniques"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A record belongs to a person who is unique in the population"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """None when the sampling fraction is known."""
        columns = [c for c in scene.intruder.knows if c in scene.pair.released.columns]
        if not columns:
            return NothingToAttack("this intruder knows no column of the release")
        if self.fraction is None and weights_of(scene.pair.released) is None:
            return not_a_sample(scene)
        return None

    def attack(self, scene: Scene) -> Finding:
        """Estimate how many records are unique in the population."""
        released = scene.pair.released
        columns = tuple(c for c in scene.intruder.knows if c in released.columns)
        sizes = _sizes(released, columns)
        # Without a fraction given, records over the sum of their weights.
        if self.fraction is not None:
            fraction = self.fraction
        else:
            fraction = _fraction(released)
        uniques = estimated(_class_sizes(released, columns), fraction, self.estimator)
        alone = sizes == 1
        sentence = (
            f"{int(alone.sum()):,} records are unique in the release; about"
            f" {percent(uniques.share)} of the population of {uniques.population:,} is unique there"
            f" ({uniques.how})"
        )
        details = {
            "sample_uniques": int(alone.sum()),
            "fraction": fraction,
            "estimator": uniques.estimator,
        }
        details["capped"] = uniques.capped
        return Finding(
            self.name, uniques.share, sentence, victims=rows_of(scene, alone), details=details
        )


def _fraction(released: Table) -> float:
    weights = weights_of(released)
    # Weights of 0 would make an infinite share of the population.
    total = 0.0 if weights is None else float(weights.sum())
    if total <= 0:
        raise SchemaError(
            "the survey weights sum to zero, so there is no population to compare with"
        )
    return min(1.0, len(released) / total)


def _class_sizes(dataset: Table, columns: tuple[str, ...]) -> NDArray[np.int64]:
    return np.bincount(alike(dataset, columns)[0]).astype(np.int64)


def _sizes(dataset: Table, columns: tuple[str, ...]) -> NDArray[np.int64]:
    """Per row the size of its class."""
    ids = alike(dataset, columns)[0]
    return np.bincount(ids).astype(np.int64)[ids]
