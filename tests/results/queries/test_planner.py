"""Planning: the error that is foretold is the error that comes, and ε in the words of both
sides.
"""

from __future__ import annotations

import itertools
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.declared import Relation
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.results.queries import (
    belief_after,
    choices,
    epsilon_for,
    epsilon_for_belief,
    expected_error,
    success,
)

AGES = pl.DataFrame({"age": [float(20 + i % 61) for i in range(5000)]})


@pytest.mark.parametrize(
    ("kind", "value"), [("count", None), ("sum", 250_000.0), ("mean", 50.0), ("variance", 310.0)]
)
def test_the_planned_accuracy_comes_true(kind, value):
    """The interval of the answer is that of the plan; noise moves its width a little."""
    people = sf.dp.session(sf.read(AGES), budget=100.0, bounds={"age": (0, 100)})
    column = [] if kind == "count" else ["age"]
    epsilon = people.epsilon_for(kind, *column, within=0.02, rows=5000, value=value)
    answer = getattr(people, kind)(*column, epsilon=epsilon)
    truth = {"count": 5000, "sum": 250_000, "mean": 50, "variance": 310}[kind]
    assert (answer.high[0] - answer.low[0]) / 2 == pytest.approx(0.02 * truth, rel=0.12)
    assert people.spent == pytest.approx(epsilon)


def test_known_numbers():
    # P(|X| > t) ≤ 5 % for the discrete Laplace: t = ⌈s·ln(2/(0.05·(1 + e^(−1/s)))) − 1⌉ = 30 for s
    # = 10
    assert (
        expected_error("count", 0.1, rows=1000)
        == math.ceil(10 * math.log(40 / (1 + math.exp(-0.1))) - 1)
        == 30
    )
    # one half of e/(1 + e): the success of the best attack on ε = 1 with even odds
    assert success(1.0) == pytest.approx(math.e / (1 + math.e)) == belief_after(1.0)
    assert epsilon_for_belief(0.5, 0.75) == pytest.approx(math.log(3))


def test_protecting_more_costs_more():
    options = {"within": 0.02, "rows": 5000, "value": 50.0, "bounds": (0.0, 100.0)}
    row = epsilon_for("mean", **options)
    assert epsilon_for(
        "mean", **options, relation=Relation("patient", "add_remove", 4)
    ) == pytest.approx(4 * row, rel=0.02)
    assert epsilon_for(
        "count", within=0.02, rows=5000, groups=5, relation=Relation(neighbours="change_one")
    ) == (pytest.approx(2 * epsilon_for("count", within=0.02, rows=5000), rel=0.05))
    assert epsilon_for("quantile", within=0.02, rows=5000, bounds=(0.0, 100.0)) < 0.1


@given(st.floats(0.005, 0.5), st.integers(100, 10**5))
def test_the_planned_epsilon_is_enough_and_hardly_more(within, rows):
    epsilon = epsilon_for("count", within=within, rows=rows)
    assert expected_error("count", epsilon, rows=rows) <= within * rows
    assert expected_error("count", epsilon * 0.97, rows=rows) >= within * rows - 1.5


def test_choices_show_both_sides():
    found = choices("count", rows=1000)
    assert [c.epsilon for c in found] == sorted(c.epsilon for c in found)
    for less, more in itertools.pairwise(found):
        assert less.belief < more.belief and less.error > more.error
        assert less.relative_error == less.error / 1000
    people = sf.dp.session(sf.read(AGES), budget=1.0, bounds={"age": (0, 100)})
    assert (
        people.choices("mean", "age", rows=5000, value=50.0, epsilons=[0.1])[0].relative_error
        < 0.03
    )
    assert people.spent == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: epsilon_for("mode", within=0.1, rows=10), ParameterError),
        (lambda: epsilon_for("count", within=0, rows=10), ParameterError),
        (lambda: epsilon_for("count", within=2, rows=10), ParameterError),
        (lambda: epsilon_for("count", within=0.1, rows=0), ParameterError),
        (lambda: epsilon_for("count", within=0.1, rows=math.nan), ParameterError),
        (lambda: epsilon_for("mean", within=0.1, rows=10, bounds=(0.0, 1.0)), ParameterError),
        (lambda: epsilon_for("mean", within=0.1, rows=10, value=1.0), ParameterError),
        (
            lambda: epsilon_for("mean", within=1e-9, rows=10, value=0.5, bounds=(0.0, 1.0)),
            Unsatisfiable,
        ),
        (lambda: belief_after(-1.0), ParameterError),
        (lambda: belief_after(1.0, prior=0.0), ParameterError),
        (lambda: belief_after(math.nan), ParameterError),
        (lambda: epsilon_for_belief(0.5, 0.4), ParameterError),
        (lambda: epsilon_for_belief(0.5, 1.0), ParameterError),
        (lambda: success(1.0, delta=1.0), ParameterError),
    ],
)
def test_wrong_plans(call, error):
    with pytest.raises(error):
        call()


@given(st.floats(0, 800), st.floats(1e-6, 1 - 1e-6))
def test_belief_is_bounded_and_turned_back(epsilon, prior):
    belief = belief_after(epsilon, prior)
    assert prior - 1e-12 <= belief <= 1
    if prior + 1e-9 < belief < 1 - 1e-9:
        assert epsilon_for_belief(prior, belief) == pytest.approx(epsilon, rel=1e-4)


@given(st.floats(0, 5), st.floats(0.01, 0.99), st.floats(0, 0.5))
def test_the_best_attack_is_found_by_trying_all(epsilon, prior, delta):
    """All tests that (ε, δ) allows: their error rates lie above the trade-off curve."""
    grid = [i / 400 for i in range(401)]
    curve = [
        max(0.0, 1 - delta - math.exp(epsilon) * a, math.exp(-epsilon) * (1 - delta - a))
        for a in grid
    ]
    tried = max(
        prior * (1 - missed) + (1 - prior) * (1 - false)
        for false, missed in zip(grid, curve, strict=True)
    )
    found = success(epsilon, prior=prior, delta=delta)
    assert tried <= found + 1e-9 and found <= tried + 0.01
