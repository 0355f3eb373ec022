"""Risks of samples: individual risk, uniqueness in the population, log-linear models."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.attacks.unique_in_population import (
    UniqueInPopulation,
    share_unique_in_population,
)
from sfumato.release.intruders import intruder_from


def scene_of(table):
    pair = TablePair.of(table, table)
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)))


def test_half_of_the_sample_uniques_are_unique_in_the_population():
    # ALGORITHMS 10.2 (G29): population a, a, b, c, d, d, e; sample a, b, c, d
    tables = (
        Table(pl.DataFrame({"k": list(values)})).with_roles(quasi="k")
        for values in ("abcd", "aabcdde")
    )
    assert share_unique_in_population(*tables, ("k",)) == 0.5


def people_of(values, *more):
    frame = pl.DataFrame({"k": values, **{f"m{i}": column for i, column in enumerate(more)}})
    return Table(frame).with_roles(quasi=frame.columns)


@pytest.mark.parametrize(
    "kinds", [(int, float), (float, int), (int, int), (float, float), (int, str)]
)
def test_numbers_are_compared_as_numbers(kinds):
    sample, population = [30, 41, 52, 63], [30, 30, 41, 52, 63, 63, 74]
    tables = (
        people_of([kind(v) for v in values])
        for kind, values in zip(kinds, (sample, population), strict=True)
    )
    assert share_unique_in_population(*tables, ("k",)) == 0.5


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("xy")), min_size=1, max_size=25),
    st.integers(1, 25),
)
def test_unique_in_both_is_counted_by_definition(everyone, size):
    sample = everyone[:size]
    f, big = Counter(sample), Counter(everyone)
    alone = [key for key in sample if f[key] == 1]
    expected = sum(big[key] == 1 for key in alone) / len(alone) if alone else 0.0
    drawn = people_of([a for a, _ in sample], [b for _, b in sample])
    population = people_of([float(a) for a, _ in everyone], [b for _, b in everyone])
    assert share_unique_in_population(drawn, population, ("k", "m0")) == pytest.approx(expected)
    scene = dataclasses.replace(scene_of(drawn), population=population)
    found = UniqueInPopulation().attack(scene)
    assert found.value == pytest.approx(expected)
    assert found.victims.tolist() == [
        i for i, key in enumerate(sample) if f[key] == 1 and big[key] == 1
    ]


def test_generalised_cells_stand_for_all_below():
    original = people_of([31, 37, 52]).with_hierarchies(k=sf.intervals(10))
    released = Table(
        pl.DataFrame({"k": ["30-39", "30-39", "50-59"]}), original.schema, origin=np.arange(3)
    )
    pair = TablePair(original, released, np.arange(3))
    for everyone, share in (([31, 37, 52], 1.0), ([31, 37, 52, 58], 0.0)):
        scene = Scene(
            pair,
            intruder_from(pair, ("k",), sample=9, seed=Seed(0)),
            population=people_of(everyone),
        )
        assert UniqueInPopulation().attack(scene).value == share


def test_without_a_population_it_is_not_tried():
    assert "no table of the population" in UniqueInPopulation().applies(scene_of(people_of([1, 2])))
    report = sf.attack(people_of([1, 2]), people_of([1, 2]), only=["unique_in_population"])
    assert [s.attack for s in report.skipped] == ["unique_in_population"] and not report.tried
    tried = sf.attack(
        people_of([1, 2]),
        people_of([1, 2]),
        only=["unique_in_population"],
        context=sf.AttackContext(population=people_of([1, 2, 2])),
    )
    assert tried.value("unique_in_population") == 0.5


def test_codes_that_lost_their_zeros_are_refused_and_not_missed():
    drawn, everyone = people_of([3601, 53711]), people_of(["03601", "53711", "03601"])
    with pytest.raises(SchemaError, match="leading zeros") as refused:
        share_unique_in_population(drawn, everyone, ("k",))
    assert "3601" not in str(refused.value)
    with pytest.raises(SchemaError, match="leading zeros"):
        sf.judge(drawn, [sf.KMap(2)], population=everyone)
    assert (
        sf.assess(people_of(["03601"]), population=everyone).measure("unique_in_population") == 0.0
    )
