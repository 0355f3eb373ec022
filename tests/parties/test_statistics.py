"""Every statistic, by every protocol, is that of the pooled table; and the worked example of four
hospitals.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ReleaseRefused
from sfumato.parties.control import Rules
from sfumato.parties.kinds import QUESTIONS, question_from
from sfumato.parties.one_process import together
from sfumato.parties.statistics import BoundedColumn

AGES = [[71, 64, 80], [55, 62], [90, 77, 68, 59], [45]]
PRESSURE = [[140, 131, 150], [125, 122], [160, 149, 139, 128], [118]]
DISEASE = [["1", "0", "1"], ["0", "1"], ["1", "1", "0", "0"], ["0"]]
ANY = Rules(least_records=1, least_parties=2, least_own=0, dominance=0)
AGE = {"column": "age", "bounds": ["0", "120"]}


def hospitals():
    for ages, pressure, disease in zip(AGES, PRESSURE, DISEASE, strict=True):
        yield sf.read(pl.DataFrame({"age": ages, "pressure": pressure, "disease": disease}))


def asked(question, protocol="shamir", **more):
    return together(list(hospitals()), question, protocol=protocol, rules=ANY, **more).value


@pytest.mark.parametrize("protocol", ["additive", "shamir", "encrypted"])
def test_four_hospitals(protocol):
    if protocol == "encrypted":
        pytest.importorskip("tenseal")
    assert asked({"sum": AGE}, protocol) == {"sum": 671.0}
    assert asked("count", protocol) == {"count": 10}
    assert asked({"mean": AGE}, protocol) == {"count": 10, "mean": 67.1}
    assert asked({"variance": AGE}, protocol)["variance"] == pytest.approx(15409 / 90, rel=1e-15)


def test_variance_of_large_numbers_that_lie_close_together():
    """In floating point without centring the variance of ages a billion up comes out as 227.56."""
    tables = [sf.read(pl.DataFrame({"age": [a + 10**9 for a in ages]})) for ages in AGES]
    question = {"variance": {"column": "age", "bounds": ["1000000000", "1000000120"]}}
    assert together(tables, question, rules=ANY)["variance"] == pytest.approx(15409 / 90, rel=1e-15)


def test_bins_and_quantiles():
    axis = {"column": "age", "edges": ["40", "50", "60", "70", "80", "90", "100"]}
    assert list(asked({"histogram": {"axis": axis}})["counts"].values()) == [1, 2, 3, 2, 1, 1]
    quantiles = asked({"quantiles": {"axis": axis}})["quantiles"]
    assert quantiles == {"0.25": 57.5, "0.5": pytest.approx(66.6667, abs=1e-4), "0.75": 77.5}


def test_table_of_age_and_disease():
    axes = [
        {"column": "age", "edges": ["0", "65", "120"]},
        {"column": "disease", "domain": ["0", "1"]},
    ]
    answer = asked({"contingency_table": {"axes": axes}})
    assert (
        answer["counts"] == [[4, 1], [1, 4]]
        and answer["chi_square"] == pytest.approx(3.6)
        and answer["df"] == 1
    )


def test_least_squares():
    question = {
        "linear_regression": {
            "outcome": "pressure",
            "outcome_bounds": ["80", "200"],
            "predictors": {"age": ["0", "120"]},
        }
    }
    answer = asked(question)
    assert list(answer["coefficients"].values()) == pytest.approx([68.276981, 1.012266], abs=1e-6)
    assert list(answer["standard_errors"].values()) == pytest.approx([6.638559, 0.097285], abs=1e-6)
    assert answer["rss"] == pytest.approx(116.66818, abs=1e-5)


def test_welch():
    answer = asked({"mean_difference": {**AGE, "by": "disease", "groups": ["1", "0"]}})
    assert [group["mean"] for group in answer["groups"].values()] == [
        pytest.approx(76.0),
        pytest.approx(58.2),
    ]
    assert (answer["t"], answer["df"]) == (
        pytest.approx(2.909056, abs=1e-6),
        pytest.approx(7.802284, abs=1e-6),
    )


def test_logistic_regression():
    question = {
        "logistic_regression": {
            "outcome": "disease",
            "values": ["0", "1"],
            "predictors": {"age": ["0", "120"]},
        }
    }
    answer = asked(question)
    slope, centred = (
        answer["coefficients"]["age"],
        answer["coefficients"]["(intercept)"] + 65 * answer["coefficients"]["age"],
    )
    assert (centred, 10 * slope) == (
        pytest.approx(-0.418221, abs=1e-4),
        pytest.approx(2.667841, abs=1e-4),
    )
    assert answer["log_likelihood"] == pytest.approx(-3.317347, abs=1e-5) and answer["converged"]
    assert 10 * answer["standard_errors"]["age"] == pytest.approx(1.725815, abs=1e-3)


def test_newton_takes_the_steps_of_the_reference():
    """β after one and two steps for d ~ 1 + (age - 65)/10."""
    from sfumato.parties.regression import LogisticRegression

    pooled = sf.read(
        pl.DataFrame(
            {
                "age": [a for some in AGES for a in some],
                "disease": [d for some in DISEASE for d in some],
            }
        )
    )
    question = LogisticRegression("disease", ("0", "1"), {"age": ("15", "115")})
    asking = question.ask(pooled)
    own, steps = next(asking), []
    x, y = question._rows(pooled)
    assert question._read(own)[3] == pytest.approx(-6.931472, abs=1e-6)
    beta = np.zeros(2)
    for _ in range(2):
        _, gradient, hessian, _ = question._read(question._at(x, y, beta))
        beta = beta + np.linalg.solve(hessian, gradient)
        steps.append((beta[0], beta[1] / 5))
    assert np.allclose(steps, [(-0.242586, 1.155169), (-0.352048, 1.896914)], atol=1e-5)


def test_separated_outcomes_are_refused():
    tables = [sf.read(pl.DataFrame({"age": [a, a + 50], "d": ["0", "1"]})) for a in (10, 20, 30)]
    question = {
        "logistic_regression": {
            "outcome": "d",
            "values": ["0", "1"],
            "predictors": {"age": ["0", "120"]},
        }
    }
    with pytest.raises(ReleaseRefused, match="separated"):
        together(tables, question, rules=ANY)


numbers = st.one_of(st.none(), st.integers(-50, 200), st.floats(-50, 200, allow_nan=False))
rows = st.lists(
    st.tuples(numbers, st.sampled_from(["f", "m", None]), st.integers(0, 9)), max_size=12
)
QUESTIONED = [
    "count",
    {"count": {"where": {"sex": ["f"]}}},
    {"sum": {"column": "x", "bounds": ["-10", "100.5"], "scale": 20}},
    {
        "mean": {
            "column": "x",
            "bounds": ["-10", "100.5"],
            "scale": 20,
            "where": {"sex": ["f", "m"]},
        }
    },
    {"variance": {"column": "x", "bounds": ["-10", "100.5"], "scale": 20}},
    {
        "mean_difference": {
            "column": "x",
            "bounds": ["0", "100"],
            "scale": 20,
            "by": "sex",
            "groups": ["f", "m"],
        }
    },
    {"histogram": {"axis": {"column": "z", "domain": [str(d) for d in range(8)]}}},
    {
        "contingency_table": {
            "axes": [
                {"column": "x", "edges": ["0", "10", "99.5"]},
                {"column": "sex", "domain": ["m", "f"]},
            ]
        }
    },
    {"quantiles": {"axis": {"column": "x", "edges": ["0", "50", "100"]}, "levels": ["0.1", "0.5"]}},
    {
        "linear_regression": {
            "outcome": "x",
            "outcome_bounds": ["0", "100"],
            "predictors": {"z": ["0", "9"]},
            "scale": 20,
        }
    },
]


def close(one, other):
    """Equal up to the rounding of values to the scale."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3)
    return one == other


def table_of(some):
    return sf.read(
        pl.DataFrame(some, schema={"x": pl.Float64, "sex": pl.String, "z": pl.Int64}, orient="row")
    )


def behind(question, tables):
    """Whether two parties have a record, and no count that must not be small is 0 (tables of counts
    leave such out).
    """
    contributors = sum(bool(question.rows(table).any()) for table in tables)
    counts = sum(question.guarded(table) for table in tables)
    return contributors >= 2 and (question.numbers_opened == 0 < len(counts) or (counts > 0).all())


@pytest.mark.parametrize("protocol", ["additive", "shamir"])
@pytest.mark.parametrize(
    "question", QUESTIONED, ids=lambda q: q if isinstance(q, str) else next(iter(q))
)
@given(st.lists(rows, min_size=3, max_size=5))
@settings(max_examples=8)
def test_the_answer_is_that_of_the_pooled_table(protocol, question, parties):
    wanted = question_from(question).plain(table_of([row for some in parties for row in some]))
    tables = list(map(table_of, parties))
    if not behind(question_from(question), tables):
        with pytest.raises(ReleaseRefused, match=r"few_records|small_cells"):
            together(tables, question, protocol=protocol, rules=ANY, records_at_most=100)
        return
    answer = together(tables, question, protocol=protocol, rules=ANY, records_at_most=100).value
    assert close(answer, wanted) or wanted.get("variance") == pytest.approx(0, abs=1e-6), (
        answer,
        wanted,
    )


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "release"])
def test_a_question_says_what_it_gives_away_and_costs(name):
    example = next(
        q
        for q in [
            *QUESTIONED,
            {
                "logistic_regression": {
                    "outcome": "d",
                    "values": ["0", "1"],
                    "predictors": {"x": ["0", "1"]},
                }
            },
        ]
        if (q if isinstance(q, str) else next(iter(q))) == name
    )
    question = question_from(example)
    from sfumato.parties.protocols import summation

    assert question.gives_away and question.cost(4, summation("shamir"), 1000).sent > 0


def test_values_are_clipped_at_home():
    tables = [sf.read(pl.DataFrame({"x": [v]})) for v in (-5.0, 50.0, 10**12)]
    assert (
        together(tables, {"sum": {"column": "x", "bounds": ["0", "100"]}}, rules=ANY)["sum"]
        == 150.0
    )
    assert BoundedColumn("x", ("0", "101"), 2).most == 51 * 4


def test_the_cost_is_known_beforehand():
    answer = together(
        list(hospitals()),
        {"histogram": {"axis": {"column": "age", "edges": ["0", "60", "120"]}}},
        rules=ANY,
        noise={"epsilon": "1"},
    )
    assert answer.cost.sent >= answer.estimated.sent  # what the gates send comes on top
