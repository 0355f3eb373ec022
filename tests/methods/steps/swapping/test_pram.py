"""PRAM: transition rates, invariance, strata, units, joint columns, and matrices that are
refused.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.transition import estimate_frequencies
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run

MATRIX = {
    "a": {"a": 0.8, "b": 0.1, "c": 0.1},
    "b": {"a": 0.2, "b": 0.7, "c": 0.1},
    "c": {"a": 0.1, "b": 0.3, "c": 0.6},
}
SIGMAS = 5  # a right rate lies farther off than this with probability 6e-7


def letters(n=20_000):
    """Letters a, b, c in shares .5, .3, .2 exactly, beside a number that tells rows apart."""
    return plain(x=["a"] * (n // 2) + ["b"] * (3 * n // 10) + ["c"] * (n // 5), i=range(n))


def rates(before, after, labels):
    """Observed transition rates and how many there were of each label."""
    table = np.array(
        [[sum((before == i) & (after == j)) for j in labels] for i in labels], dtype=float
    )
    return table / table.sum(axis=1, keepdims=True), table.sum(axis=1)


@pytest.mark.parametrize(
    "step",
    [
        sf.Pram(["x"], matrix={"x": MATRIX}, invariant="none"),
        sf.Pram(["x"], matrix={"x": MATRIX}),
        sf.Pram(["x"], matrix={"x": MATRIX}, alpha=0.3),
        sf.Pram(["x"], invariant="direct", theta=0.5),
        sf.Pram(["x"], retain=0.6, invariant="none"),
    ],
    ids=lambda step: f"{step.invariant} {step.alpha or ''}",
)
def test_values_change_at_the_rates_of_the_matrix(step):
    table = letters()
    (used,) = step.transitions(table)
    assert used.labels == (("a",), ("b",), ("c",))
    plan, made = run(step, table)
    found, counts = rates(table.column("x").to_numpy(), made.column("x").to_numpy(), "abc")
    error = np.sqrt(used.matrix * (1 - used.matrix) / counts[:, None])
    assert (np.abs(found - used.matrix) <= SIGMAS * error + 1e-12).all()
    assert plan.public["local_epsilon"]["x"] == pytest.approx(used.epsilon)
    if step.invariant != "none":
        shares = np.array([0.5, 0.3, 0.2])
        assert shares @ used.matrix == pytest.approx(shares, abs=1e-12)
        # the share of a value is a mean of n independent draws: its standard error is at most 1 /
        # (2 √n)
        assert kept(plan, "frequencies").off_by <= 1.5 * SIGMAS / (2 * math.sqrt(len(table)))


def test_worked_matrix_is_the_one_in_use():
    # worked numbers G37
    (used,) = sf.Pram(["x"], matrix={"x": MATRIX}).transitions(letters(100))
    assert used.matrix[0] == pytest.approx([0.707292, 0.180625, 0.112083], abs=1e-6)
    (used,) = sf.Pram(["x"], invariant="direct", theta=0.5).transitions(letters(100))
    assert used.matrix[1] == pytest.approx([1 / 6, 2 / 3, 1 / 6])


def test_alpha_damps_the_two_stage_matrix():
    whole, damped = (
        sf.Pram(["x"], matrix={"x": MATRIX}, alpha=a).transitions(letters(100))[0].matrix
        for a in (1, 0.3)
    )
    assert damped == pytest.approx(0.3 * whole + 0.7 * np.eye(3))


def test_frequencies_are_estimated_back_without_bias():
    table, step = letters(), sf.Pram(["x"], retain=0.5, invariant="none")
    (used,) = step.transitions(table)
    made = [run(step, table, seed)[1].column("x") for seed in range(20)]
    counts = np.array([[(column == label).sum() for label in "abc"] for column in made])
    estimates = np.array([estimate_frequencies(one, used.matrix) for one in counts])
    # Var(t') ≤ n/4 for each count; the inverse of a matrix with retain 1/2 and three values
    # stretches by 4 at most
    error = 4 * math.sqrt(3 * len(table) / 4) / math.sqrt(len(estimates))
    assert (
        np.abs(estimates.mean(axis=0) - len(table) * np.array([0.5, 0.3, 0.2])).max()
        <= SIGMAS * error
    )
    assert (
        np.abs(counts.mean(axis=0) - len(table) * np.array([0.5, 0.3, 0.2])).max() > SIGMAS * error
    ), "no bias at all?"


def test_strata_have_matrices_of_their_own_and_only_values_that_occur():
    table = plain(
        x=["a", "b"] * 200 + ["c", "d", "d"] * 200, area=["n"] * 400 + ["s"] * 600, i=range(1000)
    )
    step = sf.Pram(["x"], retain=0.3, within=["area"])
    north, south = step.transitions(table)
    assert (north.labels, south.labels) == ((("a",), ("b",)), (("c",), ("d",)))
    assert np.array([1 / 3, 2 / 3]) @ south.matrix == pytest.approx(np.array([1 / 3, 2 / 3]))
    _, made = run(step, table)
    assert set(made.column("x")[:400]) == {"a", "b"}
    assert set(made.column("x")[400:]) == {"c", "d"}


def test_the_stratum_itself_can_be_randomised():
    table = letters(1000).with_schema(Schema({"x": Attribute((Role.STRATUM,)), "i": PLAIN}))
    assert run(sf.Pram(["x"], retain=0.2), table)[0].owner["changed"]["x"] > 300


def test_survey_weights_decide_which_shares_are_kept():
    table = (
        letters(1000)
        .to_polars()
        .with_columns(w=pl.when(pl.col("x") == "c").then(6.0).otherwise(1.0))
    )
    weighted = Table(table, Schema({"x": PLAIN, "i": PLAIN, "w": Attribute((Role.WEIGHT,))}))
    (used,) = sf.Pram(["x"], matrix={"x": MATRIX}).transitions(weighted)
    shares = np.array([500, 300, 1200]) / 2000
    assert shares @ used.matrix == pytest.approx(shares)
    nobody = weighted.with_columns({"w": pl.Series("w", np.zeros(1000))})
    (used,) = sf.Pram(["x"], invariant="direct", theta=0.5).transitions(nobody)
    assert used.matrix[0, 0] == pytest.approx(0.8)


def test_persons_get_one_answer():
    table = Table(
        pl.DataFrame(
            {
                "who": np.repeat(np.arange(500), 3),
                "x": np.repeat(["a", "b"] * 250, 3),
                "y": ["u", "v", "w"] * 500,
            }
        ),
        Schema({"who": Attribute((Role.PERSON,)), "x": PLAIN, "y": PLAIN}),
    )
    plan, made = run(sf.Pram(["x", "y"], retain=0.5, invariant="none"), table)
    per_person = (
        made.to_polars().group_by("who").agg(pl.col("x").n_unique(), pl.col("y").n_unique())
    )
    assert per_person["x"].max() == 1
    assert per_person["y"].max() > 1
    changed = (made.column("x") != table.column("x")).to_numpy().reshape(-1, 3)
    assert abs(changed[:, 0].mean() - 0.5) <= SIGMAS * math.sqrt(0.25 / 500)
    assert ["'y'" in told for told in plan.warnings] == [True]


def test_jointly_only_combinations_that_occur_are_released():
    table = plain(
        sex=["f", "f", "m", "m"] * 250,
        job=["nurse", "miner", "miner", "judge"] * 250,
        i=range(1000),
    )
    plan, made = run(sf.Pram(["sex", "job"], retain=0.4, jointly=True), table)
    pairs = set(made.to_polars().select("sex", "job").rows())
    assert pairs == {("f", "nurse"), ("f", "miner"), ("m", "miner"), ("m", "judge")}
    assert list(plan.public["local_epsilon"]) == ["sex × job"]
    apart = set(
        run(sf.Pram(["sex", "job"], retain=0.4), table)[1].to_polars().select("sex", "job").rows()
    )
    assert len(apart) == 6


def test_missing_values_stay_missing_and_rows_without_all_joint_values_stay_as_they_are():
    table = plain(x=["a", None, "b", "b"] * 50, y=[1, 2, None, 3] * 50)
    plan, made = run(sf.Pram(["x", "y"], retain=0.1), table)
    assert (made.column("x").is_null() == table.column("x").is_null()).all()
    assert (made.column("y").is_null() == table.column("y").is_null()).all()
    plan, made = run(sf.Pram(["x", "y"], retain=0.1, jointly=True), table)
    kept_rows = table.to_polars().select(pl.any_horizontal(pl.all().is_null())).to_series()
    assert made.to_polars().filter(kept_rows).equals(table.to_polars().filter(kept_rows))
    assert "100 row(s) lack a value" in plan.warnings[0]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        [True, False, True],
        [1.5, 2.0, 7.25],
        ["1", "2", "x"],
        pl.Series(["a", "b", "c"], dtype=pl.Categorical),
        pl.Series(["a", "b", "c"], dtype=pl.Enum(["c", "b", "a", "z"])),
    ],
    ids=["whole", "bool", "real", "text", "categorical", "enum"],
)
def test_every_type_of_category_comes_back_as_it_was(values):
    table = plain(x=pl.concat([pl.Series(values)] * 40))
    _, made = run(sf.Pram(["x"], retain=0.3), table)
    assert made.column("x").dtype == table.column("x").dtype
    assert set(made.column("x")) == set(values)


def test_a_matrix_may_lead_to_values_that_do_not_occur_yet():
    step = sf.Pram(
        ["x"], matrix={"x": {1: {1: 0.5, 2: 0.5}, 2: {1: 0.5, 2: 0.5}}}, invariant="none"
    )
    made = run(step, plain(x=[1] * 60))[1].column("x")
    assert set(made) == {1, 2}
    assert made.dtype == pl.Int64
    with pytest.raises(
        ParameterError, match="1 label\\(s\\) in the matrix of 'x' are not values of its type"
    ):
        run(sf.Pram(["x"], matrix={"x": {1: {1: 1}, "one": {"one": 1}}}), plain(x=[1] * 60))


def test_what_protects_nothing_is_said():
    plan, made = run(sf.Pram(["x"], retain=1), letters(100))
    assert plan.public["local_epsilon"] == {"x": None}
    assert "rules out" in plan.warnings[0]
    assert made.column("x").equals(letters(100).column("x"))
    plan, made = run(sf.Pram(["x"], retain=0.1), plain(x=["a"] * 9))
    assert "one value only in 1 of 1 strata" in plan.warnings[0]
    assert plan.public["local_epsilon"] == {"x": 0.0}


def test_only_missing_values_and_no_rows():
    for table in (
        plain(x=pl.Series([None] * 5, dtype=pl.String)),
        plain(x=pl.Series([], dtype=pl.String)),
    ):
        plan, made = run(sf.Pram(["x"], retain=0.5), table)
        assert made.column("x").equals(table.column("x"))
        assert kept(plan, "frequencies").off_by == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"retain": 1.2}, "retain should be less than or equal to 1"),
        ({"retain": -0.1}, "retain should be greater"),
        ({}, "give either retain or matrix"),
        ({"retain": 0.5, "matrix": {"x": MATRIX}}, "give either retain or matrix"),
        ({"retain": 0.5, "theta": 0.5}, "theta is for invariant direct"),
        ({"invariant": "direct"}, "direct takes theta"),
        ({"invariant": "direct", "theta": 0}, "theta should be greater than 0"),
        ({"invariant": "none", "retain": 0.5, "alpha": 0.5}, "alpha is for invariant two_stage"),
        ({"matrix": {"y": MATRIX}}, "a matrix for each of the columns"),
        ({"matrix": {"x": MATRIX}, "jointly": True}, "jointly"),
        (
            {"matrix": {"x": {"a": {"a": 0.5, "b": 0.4}, "b": {"b": 1}}}},
            "rows of a transition matrix must add up to 1",
        ),
        ({"matrix": {"x": {"a": {"a": 1.5, "b": -0.5}, "b": {"b": 1}}}}, "negative"),
        (
            {"matrix": {"x": {"a": {"a": 0.5, "b": 0.5}}}},
            "without a row",
        ),
        ({"matrix": {"x": {}}}, "one row for each value"),
        ({"matrix": {"x": {"a": {"a": "often"}}}}, "matrix should map each column"),
        ({"retain": 0.5, "within": ["x"]}, "cannot be in columns and in within"),
    ],
)
def test_wrong_parameters(arguments, told):
    with pytest.raises(ParameterError, match=told) as refused:
        sf.Pram(["x"], **arguments)
    assert "'a'" not in str(refused.value), "labels are data values"


def test_values_without_a_row_are_counted_not_named():
    with pytest.raises(ParameterError, match="no row for 2 value") as refused:
        run(sf.Pram(["x"], matrix={"x": {"a": {"a": 1.0}}}), letters(100))
    assert "'b'" not in str(refused.value)


def test_too_many_values_for_a_matrix():
    with pytest.raises(SchemaError, match="6,000 different values"):
        run(sf.Pram(["x"], retain=0.5), plain(x=range(6000)))


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=30),
    st.floats(0, 1),
    st.booleans(),
)
def test_any_column_of_categories(values, strength, direct):
    table = plain(x=pl.Series(values, dtype=pl.String))
    step = (
        sf.Pram(["x"], invariant="direct", theta=max(strength, 0.01))
        if direct
        else sf.Pram(["x"], retain=strength)
    )
    _, made = run(step, table)
    after = made.column("x").to_list()
    assert [v is None for v in after] == [v is None for v in values]
    assert set(after) <= set(values)
    for used in step.transitions(table):
        shares = np.array([values.count(label) for (label,) in used.labels]) / sum(
            v is not None for v in values
        )
        assert shares @ used.matrix == pytest.approx(shares, abs=1e-9)
