"""Swapping with a second table: the nearest records give their values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run

ages = st.lists(st.integers(0, 50), min_size=1, max_size=15)


@given(ages, ages)
def test_everyone_gets_the_value_of_a_nearest_record(ours, theirs):
    second = plain(age=theirs, cost=[1000 + a for a in theirs])
    _, made = run(
        sf.SwapAcross(["cost"], match=["age"], once=False),
        plain(age=ours, cost=[0] * len(ours)),
        5,
        second,
    )
    for age, cost in zip(ours, made.column("cost"), strict=True):
        assert abs(cost - 1000 - age) == min(abs(a - age) for a in theirs)


@given(ages, ages)
def test_every_donor_gives_once(ours, theirs):
    second = plain(age=theirs, cost=[1000 + i for i in range(len(theirs))])
    plan, made = run(
        sf.SwapAcross(["cost"], match=["age"]), plain(age=ours, cost=[0] * len(ours)), 5, second
    )
    taken = [c for c in made.column("cost") if c]
    assert len(taken) == len(set(taken)) == min(len(ours), len(theirs)) == plan.owner["replaced"]
    assert plan.owner["without_donor"] == len(ours) - len(taken)


def test_many_equal_records_find_donors():
    n = 4000
    plan, _ = run(
        sf.SwapAcross(["x"], match=["g"]),
        plain(g=["a"] * n, x=range(n)),
        5,
        plain(g=["a"] * n, x=range(n)),
    )
    assert plan.owner["replaced"] == n


def test_nominal_columns_must_be_equal_and_numbers_are_scaled():
    ours = plain(sex=["f", "m"], age=[30, 30], height=[1.5, 1.9], x=["", ""])
    second = plain(
        sex=["m", "f", "f"], age=[90, 33, 30], height=[1.9, 1.5, 1.9], x=["only man", "near", "far"]
    )
    _, made = run(sf.SwapAcross(["x"], match=["sex", "age", "height"]), ours, 5, second)
    # ages of our table do not vary and count as they are; heights differ by two standard deviations
    # of 0.2
    assert made.column("x").to_list() == ["far", "only man"]
    _, made = run(sf.SwapAcross(["x"], match=["sex", "height"], reach=0.1), ours, 5, second)
    assert made.column("x").to_list() == ["near", "only man"]


def test_records_out_of_reach_keep_their_values():
    second = plain(age=[21, 500], x=["b", "c"])
    plan, made = run(
        sf.SwapAcross(["x"], match=["age"], reach=1), plain(age=[20, 80], x=["a", "a"]), 5, second
    )
    assert made.column("x").to_list() == ["b", "a"]
    assert "1 record(s) found no donor" in plan.warnings[1]


def test_missing_values_stay_missing_and_are_never_given():
    ours = plain(age=[1, 2, None, 4], x=[None, "a", "b", "c"])
    second = plain(age=[1, 2, 3, 4, None], x=["p", "q", None, "r", "s"])
    _, made = run(sf.SwapAcross(["x"], match=["age"]), ours, 5, second)
    assert made.column("x").to_list() == [None, "q", "b", "r"]


def test_rate():
    n = 1000
    plan, made = run(
        sf.SwapAcross(["x"], match=["g"], rate=0.3),
        plain(g=[1] * n, x=[0] * n),
        5,
        plain(g=[1] * n, x=[1] * n),
    )
    assert made.column("x").sum() == 300 == plan.owner["replaced"]


def test_the_shift_of_distributions_is_measured():
    ours = plain(age=[1, 2, 3, 4], cost=[1.0, 2.0, 3.0, 4.0], job=["a", "a", "b", "b"])
    second = plain(age=[1, 2, 3, 4], cost=[9.0, 2.0, 9.0, 9.0], job=["a", "c", "b", "b"])
    plan, _ = run(sf.SwapAcross(["cost", "job"], match=["age"]), ours, 5, second)
    shifts = {one.columns[0]: one.off_by for one in plan.preserved}
    assert shifts == {"cost": 0.75, "job": 0.25}
    assert not any(one.exactly for one in plan.preserved)
    assert "values of the second table" in plan.warnings[0]


def test_households_take_one_donor():
    schema = Schema({"h": Attribute((Role.HOUSEHOLD,)), "rent": PLAIN, "size": PLAIN})
    ours = Table(
        pl.DataFrame({"h": [1, 1, 2, 2], "rent": [5, 5, 6, 6], "size": [2, 2, 2, 2]}), schema
    )
    made = run(sf.SwapAcross(["rent"], match=["size"]), ours, 5, plain(rent=[10, 20], size=[2, 2]))[
        1
    ]
    rents = made.column("rent").to_list()
    assert rents[0] == rents[1] and rents[2] == rents[3] and set(rents) == {10, 20}


def test_types_of_the_second_table_are_brought_to_ours():
    ours, second = plain(k=[1, 2], x=[1, 2]), plain(k=[1, 2], x=[1.5, 2.5])
    assert run(sf.SwapAcross(["x"], match=["k"]), ours, 5, second)[1].column("x").to_list() == [
        1.5,
        2.5,
    ]
    with pytest.raises(
        SchemaError, match="1 value\\(s\\) of column 'x' of the second table"
    ) as refused:
        run(sf.SwapAcross(["x"], match=["k"]), ours, 5, plain(k=[1, 2], x=["3", "secret"]))
    assert "secret" not in str(refused.value)


def test_ordinal_values_are_near_by_their_place():
    schema = Schema(
        {
            "grade": Attribute((Role.KEEP,), Kind.ORDINAL, order=("low", "mid", "high", "top")),
            "x": PLAIN,
        }
    )
    ours = Table(pl.DataFrame({"grade": ["low", "top"], "x": ["", ""]}), schema)
    made = run(
        sf.SwapAcross(["x"], match=["grade"]), ours, 5, plain(grade=["high", "mid"], x=["h", "m"])
    )[1]
    assert made.column("x").to_list() == ["m", "h"]


def test_wrong_input():
    step = sf.SwapAcross(["x"], match=["g"])
    with pytest.raises(SchemaError, match="give one with population="):
        run(step, plain(x=[1], g=[1]))
    with pytest.raises(SchemaError, match="lacks the column\\(s\\) x"):
        run(step, plain(x=[1], g=[1]), 5, plain(g=[1]))
    with pytest.raises(SchemaError, match="no record with values in all columns"):
        run(step, plain(x=[1], g=[1]), 5, plain(g=[1], x=pl.Series([None], dtype=pl.Int64)))
    with pytest.raises(ParameterError, match="cannot be in columns and in match"):
        sf.SwapAcross(["x"], match=["x"])


def test_the_population_of_the_call_is_the_second_table():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"sex": ["f", "m"] * 50, "age": rng.integers(20, 60, 100), "cost": rng.integers(0, 9, 100)}
    )
    ours = Table(frame).with_roles(quasi=["sex"], keep=["age", "cost"])
    second = plain(age=rng.integers(20, 60, 300), cost=[77] * 300)
    release = sf.anonymize(
        ours,
        [sf.KAnonymity(5)],
        [sf.SwapAcross(["cost"], match=["age"])],
        options=sf.AnonymizeOptions(population=second),
        seed=1,
    )
    assert set(release.data["cost"]) == {77}
    assert kept(release.plans[0][1], "distribution").off_by == 1
