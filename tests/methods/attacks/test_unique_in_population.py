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
from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks.individual_risk import IndividualRisk, individual_risks
from sfumato.methods.attacks.log_linear import LogLinear, fit_log_linear, log_linear_risk
from sfumato.methods.attacks.population_uniques import PopulationUniques
from sfumato.methods.attacks.unique_in_population import (
    UniqueInPopulation,
    share_unique_in_population,
)
from sfumato.release.intruders import intruder_from

K5 = ("urbrur", "roof", "walls", "water", "electcon")


def scene_of(table):
    pair = TablePair.of(table, table)
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)))


def test_eight_weighted_records():
    # ALGORITHMS 10.3 (G30)
    found = individual_risks(examples.weighted_keys(), ("region", "work", "place"))
    expected = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert found.risks.round(6).tolist() == expected and found.expected == pytest.approx(
        0.966526, abs=1e-6
    )


@pytest.mark.parametrize(
    ("keys", "expected", "together"),
    [  # sdcMicro 5.8.1, measure_risk(testdata, keyVars, w, hid), global_risk_ER and hier_risk_ER
        (K5, 0.910618088277088, 4.03947815425461),
        ((*K5, "relat", "sex"), 10.7782989187348, 51.8129274359606),
    ],
)
def test_survey_like_sdcmicro(reference_data, keys, expected, together):
    frame = pl.read_csv(reference_data / "survey" / "testdata.csv", infer_schema_length=None)
    frame = frame.select(*keys, "sampling_weight", "ori_hid")
    table = Table(frame).with_roles(quasi=list(keys), weight="sampling_weight", keep="ori_hid")
    homes = frame["ori_hid"].rank("dense").to_numpy().astype(np.int64) - 1
    found = individual_risks(table, keys, homes)
    assert found.expected == pytest.approx(
        expected, rel=2e-3
    )  # sdcMicro approximates classes of 3 and more
    assert found.household.sum() == pytest.approx(together, rel=2e-3)


def test_without_weights_there_is_no_population():
    table = Table(pl.DataFrame({"a": [1, 2]})).with_roles(quasi="a")
    assert "no survey weights" in IndividualRisk().applies(scene_of(table))
    assert "no survey weights" in PopulationUniques().applies(scene_of(table))
    assert "no survey weights" in LogLinear().applies(scene_of(table))


def test_households_share_their_risk():
    frame = pl.DataFrame(
        {"a": [1, 2, 3, 3], "w": [10.0, 20.0, 5.0, 5.0], "home": ["x", "x", "y", "z"]}
    )
    table = Table(frame).with_roles(quasi="a", weight="w", keep="home")
    table = table.with_attribute("home", Attribute((Role.HOUSEHOLD,)))
    alone = individual_risks(table, ("a",)).risks
    found = individual_risks(table, ("a",), np.array([0, 0, 1, 2])).household
    assert found[0] == found[1] == pytest.approx(1 - (1 - alone[0]) * (1 - alone[1]))
    assert found[2] == pytest.approx(alone[2])
    assert IndividualRisk().attack(scene_of(table)).value == pytest.approx(found.mean())
    assert IndividualRisk(households=False).attack(scene_of(table)).value == pytest.approx(
        alone.mean()
    )


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


def test_a_whole_population_has_its_uniques_counted():
    table = Table(pl.DataFrame({"a": [1, 1, 2, 3], "w": [1.0] * 4})).with_roles(
        quasi="a", weight="w"
    )
    found = PopulationUniques().attack(scene_of(table))
    assert found.value == 0.5 and found.victims.tolist() == [2, 3]


def test_the_division_by_the_sampling_fraction():
    # ALGORITHMS 10.3: λ = 2 and π = 0.1 give 0.165; plugging μ instead gives 0.835
    assert np.exp(-2 * 0.9) == pytest.approx(0.165, abs=5e-4)
    table = Table(pl.DataFrame({"a": ["x"]})).with_roles(
        quasi="a"
    )  # one cell, one record: μ = 1, λ = 10
    found = log_linear_risk(table, ("a",), 0.1)
    assert found.tau1 == pytest.approx(np.exp(-9)) and found.tau2 == pytest.approx(
        (1 - np.exp(-9)) / 9
    )


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("mn")),
        min_size=1,
        max_size=30,
    )
)
def test_the_fit_keeps_its_margins(rows):
    table = np.zeros((3, 2, 2))
    for a, b, c in rows:
        table["abc".index(a), "xy".index(b), "mn".index(c)] += 1
    fitted = fit_log_linear(table, 2)
    for axis in range(3):
        assert fitted.sum(axis=axis) == pytest.approx(
            table.sum(axis=axis), abs=1e-2
        )  # slow where the fit is on the edge
    main = fit_log_linear(table, 1)
    expected = (
        np.einsum("i,j,k->ijk", *(table.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3)))
        / table.sum() ** 2
    )
    assert main == pytest.approx(expected, abs=1e-6)


@given(st.floats(0.01, 1.0))
def test_log_linear_risks_are_chances(fraction):
    table = examples.weighted_keys()
    found = log_linear_risk(table, ("region", "work", "place"), fraction, interactions=1)
    assert (found.unique <= found.inverse + 1e-12).all() and (found.inverse <= 1 + 1e-12).all()
    assert ((found.inverse > 0) == np.array([0, 0, 0, 1, 1, 1, 1, 0], dtype=bool)).all()


def test_a_census_has_certain_uniques():
    found = log_linear_risk(examples.weighted_keys(), ("region", "work", "place"), 1.0)
    assert found.tau1 == found.tau2 == 4


def test_grids_that_are_too_large_are_refused():
    wide = Table(pl.DataFrame({f"c{i}": range(300) for i in range(4)})).with_roles(
        quasi=[f"c{i}" for i in range(4)]
    )
    with pytest.raises(ParameterError, match="cells"):
        log_linear_risk(wide, wide.schema.quasi, 0.1)
    with pytest.raises(ParameterError, match="sampling fraction"):
        log_linear_risk(wide, ("c0",), 0.0)
