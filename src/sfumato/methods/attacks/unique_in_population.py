"""Of those who are alone in the release, who is alone in the population too: counted where a table
of everyone is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.core.attack import Attack, Finding, NothingToAttack, rows_of
from sfumato.core.classes import count_rows
from sfumato.core.parameters import parameters
from sfumato.core.population import matched
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.table import Table


def share_unique_in_population(
    sample: Table, population: Table, columns: Sequence[str], original: Table | None = None
) -> float:
    r"""Of the records that are unique in the sample, the share that is unique in the population
    too; 0 where none is.

    .. math:: P(PU \mid SU) = \frac{\sum_j I(F_j = 1, f_j = 1)}{\sum_j I(f_j = 1)}

    :math:`f_j` records of the sample are in class *j*, and it may stand for :math:`F_j` people of
    the population: those with the same values, or with values below its generalised ones by the
    hierarchies of the sample (of ``original``, where they depend on the values). Numbers are
    compared as numbers, 30 and 30.0 are the same.
    """
    alone, unique_in_both = _unique(sample, population, columns, original)
    if not alone.any():
        return 0.0
    return float(unique_in_both[alone].mean())


@parameters
class UniqueInPopulation(Attack):
    r"""The share of records unique in the release that are unique in the population too, counted in
    a table of everyone.

    .. math:: P(PU \mid SU) = \frac{\sum_j I(F_j = 1, f_j = 1)}{\sum_j I(f_j = 1)}

    :math:`f_j` released records are in class *j* of the columns the intruder knows, and it may
    stand for :math:`F_j` people of the population; generalised cells stand for all values below
    them. Records that are unique in both are the victims: whoever has the register finds them for
    certain. 0 where nothing is unique in the release. Needs ``population``; without one,
    ``population_uniques`` estimates. Records whose values nobody of the population has are not
    unique there.
    Reference: Skinner & Elliot 2002, doi:10.1111/1467-9868.00365.
    """

    name: ClassVar[str] = "unique_in_population"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A record that is unique here is unique in the population too"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """None when there is a population with columns that the intruder knows."""
        if scene.population is None:
            return NothingToAttack(
                "there is no table of the population; give one with --population, or population= in"
                " Python"
            )
        if _columns(scene, scene.population):
            return None
        return NothingToAttack("this intruder knows no column of release and population")

    def attack(self, scene: Scene) -> Finding:
        """Count who is unique in both."""
        population = scene.population
        if population is None or not _columns(scene, population):
            raise SchemaError(f"{self.name}: {self.applies(scene)}")
        columns = _columns(scene, population)
        # Hierarchies may depend on the values of the original, which the release no longer has.
        alone, unique_in_both = _unique(
            scene.pair.released, population, columns, scene.pair.original
        )
        number = int(alone.sum())
        both_count = int(unique_in_both.sum())
        message = (
            f"{both_count:,} of {number:,} records that are unique in the release are unique among"
            f" the {len(population):,} people of the population too"
        )
        details = {
            "sample_uniques": number,
            "population_uniques": both_count,
            "population": len(population),
        }
        value = both_count / number if number else 0.0
        return Finding(
            self.name, value, message, victims=rows_of(scene, unique_in_both), details=details
        )


def _columns(scene: Scene, population: Table) -> tuple[str, ...]:
    released = scene.pair.released.columns
    return tuple(c for c in scene.intruder.knows if c in released and c in population.columns)


def _unique(
    sample: Table, population: Table, columns: Sequence[str], original: Table | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Per row whether it is unique in the sample, and whether in both."""
    sample.require(columns)
    classes, class_of = count_rows(sample, columns)
    matches, _ = matched(classes, population, (original or sample).schema, original)
    # Exactly one: a record that matches nobody of the population is not unique there.
    alone = classes.records == 1
    unique_in_both = alone & (np.asarray(matches.population) == 1)
    return alone[class_of], unique_in_both[class_of]
