"""Uniqueness in the population: who is alone there can be found by anyone who has a register."""

from __future__ import annotations

import polars as pl

from sfumato.core.table import Table
from sfumato.methods.attacks.individual_risk import IndividualRisk
from sfumato.methods.attacks.log_linear import LogLinear
from sfumato.methods.attacks.population_uniques import PopulationUniques
from tests.methods.attacks.test_unique_in_population import scene_of


def test_without_weights_there_is_no_population():
    table = Table(pl.DataFrame({"a": [1, 2]})).with_roles(quasi="a")
    assert "no survey weights" in IndividualRisk().applies(scene_of(table))
    assert "no survey weights" in PopulationUniques().applies(scene_of(table))
    assert "no survey weights" in LogLinear().applies(scene_of(table))


def test_a_whole_population_has_its_uniques_counted():
    table = Table(pl.DataFrame({"a": [1, 1, 2, 3], "w": [1.0] * 4})).with_roles(
        quasi="a", weight="w"
    )
    found = PopulationUniques().attack(scene_of(table))
    assert found.value == 0.5 and found.victims.tolist() == [2, 3]
