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
from sfumato.errors import ParameterError
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
