from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_rows
from sfumato.core.evidence import gather, population_path
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import intervals, suppress
from sfumato.methods.models import DeltaPresence, KAnonymity, KMap
from sfumato.methods.models.population import least_population
from tests.oracles.definitions import generalised, population_matches, surely_in_population
from tests.random_tables import tables


@st.composite
def tables_with_population(draw):
    """A table, rows of a population over the same values, and a node of its lattice."""
    table = draw(tables())
    cell = [st.sampled_from([*paths, None]) for paths in table.paths]
    people = draw(st.lists(st.tuples(*cell), max_size=15))
    node = tuple(draw(st.integers(0, depth - 1)) for depth in table.depths)
    return table, people + draw(st.sampled_from([table.rows, []])), node


@given(tables_with_population(), st.integers(1, 4))
def test_matches_of_a_released_table(drawn, k):
    table, people, node = drawn
    released = generalised(table.rows, table.paths, table.depths, node)
    expected = population_matches(released, people, table.paths)
    dataset = table.dataset(released)
    model = KMap(k)
    verdict = model.judge(gather(dataset, [model], population=Table(table.frame(people))))
    _, rows = count_rows(dataset)
    assert verdict.per_class[rows].tolist() == expected
    assert verdict.attained == min(expected)
    assert verdict.holds == (min(expected) >= k)
    assert verdict.records == sum(matches < k for matches in expected)


@given(tables_with_population())
def test_a_population_at_higher_levels_matches_what_it_can(drawn):
    """A register may itself hold inner nodes: then only what lies at or above them can match."""
    table, people, node = drawn
    released = generalised(table.rows, table.paths, table.depths, node)
    coarse = Table(table.frame(generalised(people, table.paths, table.depths, node)))
    fine = Table(table.frame(people))
    model = KMap(1)
    by_level, by_value = (
        model.judge(gather(table.dataset(released), [model], population=p)).per_class
        for p in (coarse, fine)
    )
    # labels of one level stand for disjoint sets of values, so generalising the register to it
    # changes nothing
    assert by_level.tolist() == by_value.tolist()


def people(**columns):
    return Table(pl.DataFrame(columns))


def test_torra_against_a_register():
    """G01: the released classes are (Barcelona, 30) twice and (Tarragona, 60) thrice."""
    release = examples.torra()
    register = people(city=["Barcelona"] * 3 + ["Tarragona"], age=[30, 30, 30, 60])
    evidence = gather(release, [KMap(2), KAnonymity(2)], population=register)
    assert KMap(2).judge(evidence).attained == 1
    assert KAnonymity(2).judge(evidence).attained == 2


def test_weights_are_summed():
    # G30: F = 110, 84.5, 17, 541, 8, 5
    evidence = gather(examples.weighted_keys(), [KMap(9, weights=True)])
    verdict = KMap(9, weights=True).judge(evidence)
    assert sorted(verdict.per_class.tolist()) == [5, 8, 17, 84.5, 110, 541]
    assert (verdict.holds, verdict.records, verdict.attained) == (False, 2, 5)


@given(
    st.integers(1, 12),
    st.sampled_from([0.05, 0.1, 0.3, 0.9, 1.0]),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_least_population_refutes_a_smaller_one(size, fraction, confidence):
    found = int(least_population(np.array([size]), fraction, confidence)[0])
    expected = surely_in_population(size, fraction, confidence) if fraction < 1 else size
    assert found == expected


@given(tables(), st.sampled_from([0.1, 0.5, 1.0]))
def test_k_anonymity_is_enough_for_an_estimated_population(table, fraction):
    evidence = gather(table.dataset(), [])
    k = KAnonymity(1).judge(evidence).attained
    assert KMap(k, fraction=fraction).judge(evidence)
    assert KAnonymity(k).implies(KMap(k, fraction=fraction))
    assert not KAnonymity(k).implies(KMap(k))  # the register may lack our people


def test_values_and_missing_rules():
    table = (
        Table(pl.DataFrame({"age": [None, "20-29"]}))
        .with_roles(quasi=["age"])
        .with_hierarchies(age=intervals(10))
    )
    register = people(age=[None, 21, 29, 35])
    assert KMap(1).judge(gather(table, [KMap(1)], population=register)).per_class.tolist() == [2, 1]
    wild = table.with_missing(
        age="wildcard"
    )  # the missing cell fits all, the missing person both cells
    assert KMap(1).judge(gather(wild, [KMap(1)], population=register)).per_class.tolist() == [3, 4]


def test_mixed_levels_and_sets():
    """Local recoding: one column holds values, inner nodes and sets at once; a person may fit
    several classes.
    """
    table = (
        Table(pl.DataFrame({"n": ["1", "1,2", "{2, 3}", "*"]}))
        .with_roles(quasi=["n"])
        .with_hierarchies(n=suppress())
    )
    evidence = gather(table, [KMap(1)], population=people(n=[1, 1, 2, 3]))
    labels = dict(
        zip(evidence.classes.ladders[0].labels[0], evidence.classes.population, strict=True)
    )
    assert labels == {"1": 2, "1,2": 3, "{2, 3}": 2, "*": 4}
    assert evidence.absent == 0


def test_implications():
    assert KMap(5).implies(KMap(3))
    assert not KMap(3).implies(KMap(5))
    assert not KMap(5, weights=True).implies(KMap(3))
    assert KMap(5, fraction=0.1).implies(KMap(5, fraction=0.1, confidence=0.95))
    assert not KMap(5, fraction=0.1, confidence=0.8).implies(KMap(5, fraction=0.1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "greater than or equal to 1"),
        ({"k": 2, "fraction": 0}, "greater than 0"),
        ({"k": 2, "fraction": 1.1}, "less than or equal to 1"),
        ({"k": 2, "fraction": 0.5, "confidence": 1}, "less than 1"),
        ({"k": 2, "confidence": 0.9}, "give fraction too"),
        ({"k": 2, "weights": True, "fraction": 0.5}, "one of population, weights and fraction"),
        (
            {"k": 2, "weights": True, "population": "voters.csv"},
            "one of population, weights and fraction",
        ),
    ],
)
def test_parameters_out_of_range(arguments, message):
    with pytest.raises(ParameterError, match=message):
        KMap(**arguments)


def test_bad_tables():
    table = Table(pl.DataFrame({"zip": [1, 2], "w": [1.0, -2.0]})).with_roles(
        quasi=["zip"], weight="w"
    )
    with pytest.raises(SchemaError, match="no column 'zip'"):
        gather(table, [KMap(2)], population=people(town=[1, 2]))
    with pytest.raises(SchemaError, match="population="):
        gather(table, [KMap(2)])
    with pytest.raises(SchemaError, match="'w' has 1 missing"):
        gather(table, [KMap(2, weights=True)])
    with pytest.raises(SchemaError, match="role weight"):
        gather(table.drop(["w"]), [KMap(2, weights=True)])
    with pytest.raises(SchemaError, match="role quasi"):
        KMap(2).needs(Schema({}))
    plain = gather(table, [])
    for model in (KMap(2), KMap(2, weights=True)):
        with pytest.raises(SchemaError, match="judged without"):
            model.judge(plain)


def test_population_must_have_one_row_a_person():
    table = Table(pl.DataFrame({"zip": [1, 1], "id": ["a", "b"]})).with_roles(
        quasi=["zip"], person="id"
    )
    register = people(zip=[1, 1], id=["a", "a"])
    with pytest.raises(SchemaError, match="one row per person") as raised:
        gather(table, [KMap(1)], population=register)
    assert "'a'" not in str(raised.value)


def test_empty_table():
    table = Table(pl.DataFrame({"zip": []}, schema={"zip": pl.Int64})).with_roles(quasi=["zip"])
    for model, population in ((KMap(3), people(zip=[1, 2])), (KMap(3, fraction=0.1), None)):
        verdict = model.judge(gather(table, [model], population=population))
        assert verdict.holds
        assert verdict.attained is None


def test_one_population_a_run():
    assert (
        population_path(
            [KAnonymity(2), KMap(2, population="a.csv"), DeltaPresence(0, 1, population="a.csv")]
        )
        == "a.csv"
    )
    assert population_path([KMap(2)]) is None
    with pytest.raises(ParameterError, match="2 different population tables"):
        population_path([KMap(2, population="a.csv"), KMap(3, population="b.csv")])
