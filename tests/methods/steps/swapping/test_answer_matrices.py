"""The matrix that randomises the answers of each stratum, and the answers it gives."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.exchange_tables import kept, plain, run
from tests.methods.steps.swapping.test_pram import MATRIX, SIGMAS, letters


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


def test_a_matrix_may_lead_to_values_that_do_not_occur_yet():
    step = sf.Pram(
        ["x"], matrix={"x": {1: {1: 0.5, 2: 0.5}, 2: {1: 0.5, 2: 0.5}}}, invariant="none"
    )
    made = run(step, plain(x=[1] * 60))[1].column("x")
    assert set(made) == {1, 2}
    assert made.dtype == pl.Int64
    with pytest.raises(
        ParameterError, match=r"1 label\(s\) in the matrix of 'x' are not values of its type"
    ):
        run(sf.Pram(["x"], matrix={"x": {1: {1: 1}, "one": {"one": 1}}}), plain(x=[1] * 60))


def test_too_many_values_for_a_matrix():
    with pytest.raises(SchemaError, match="6,000 different values"):
        run(sf.Pram(["x"], retain=0.5), plain(x=range(6000)))
