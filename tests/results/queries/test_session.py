"""Sessions: right answers but for the noise, within their intervals, each paid for once."""

from __future__ import annotations

import math
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.declared import Relation
from sfumato.errors import BudgetExceeded, ParameterError, SchemaError
from sfumato.results.queries import Answer, Budget, PrivacyLoss, SessionOptions
from sfumato.results.queries.question import Question
from sfumato.results.queries.question_plan import plan_question

EXACT = 1e9
"""An ε so large that the noise is 0 (its probability to be anything else is below e^-50 here)."""

PEOPLE = pl.DataFrame(
    {
        "patient": ["p1", "p1", "p2", "p3", "p4", None],
        "sex": ["f", "f", "m", "x", None, "m"],
        "age": [30.0, 40.0, 50.0, 200.0, None, 20.0],
        "ward": ["A", "B", "A", "A", "B", "B"],
    }
)
KNOWN = {"bounds": {"age": (0, 100)}, "domains": {"sex": ["f", "m"], "ward": ["A", "B"]}}


OPTIONS = ("domains", "missing", "neighbours", "quantum")


def asking(frame=PEOPLE, budget=1e12, **keywords):
    values = {**KNOWN, **keywords}
    options = {name: values.pop(name) for name in OPTIONS if name in values}
    return sf.dp.session(
        sf.read(frame), budget=budget, options=SessionOptions(name="people", **options), **values
    )


def test_counts():
    people = asking()
    assert people.count(epsilon=EXACT).value == 6
    assert people.where("age", ">=", 40).count(epsilon=EXACT).value == 3
    assert people.where("age", "<", 40).where("sex", "=", "m").count(epsilon=EXACT).value == 1
    assert (
        people.where("sex", "!=", "m").count(epsilon=EXACT).value == 4
    )  # what is outside is not m
    assert people.where("age", "in", [30, 50]).count(epsilon=EXACT).value == 2
    assert (
        people.where("age", "not in", [30, 50]).count(epsilon=EXACT).value == 3
    )  # missing meets nothing


def test_groups_come_from_the_domain_and_not_from_the_data():
    people = asking()
    assert people.group_by("sex").count(epsilon=EXACT).by_group == {"f": 2, "m": 2, "(outside)": 2}
    crossed = people.group_by("sex", "ward").count(epsilon=EXACT)
    assert (
        len(crossed.groups) == 9
        and crossed.by_group["f", "A"] == 1
        and crossed.by_group["(outside)", "B"] == 1
    )
    with pytest.raises(ParameterError, match="9 groups"):
        _ = crossed.value
    empty = asking(PEOPLE.clear()).group_by("sex").count(epsilon=EXACT)
    assert empty.by_group == {"f": 0, "m": 0, "(outside)": 0}


def test_histograms():
    people = asking()
    assert people.histogram("ward", epsilon=EXACT).values == (3, 3, 0)
    found = people.histogram("age", bins=[0, 30, 50, 100], epsilon=EXACT)
    assert found.by_group == {"[0, 30)": 1, "[30, 50)": 2, "[50, 100]": 2, "(outside)": 1}
    assert sum(people.histogram("age", bins=4, epsilon=EXACT).values) == 6
    assert people.histogram("age", bins=[40, 60], epsilon=EXACT).by_group == {
        "[40, 60]": 2,
        "(outside)": 4,
    }


def test_sums_means_and_variances_use_values_within_the_bounds():
    people = asking()
    inside = [30, 40, 50, 100, 20]
    assert people.sum("age", epsilon=EXACT).value == pytest.approx(sum(inside), abs=1e-3)
    assert people.mean("age", epsilon=EXACT).value == pytest.approx(
        statistics.mean(inside), abs=1e-3
    )
    assert people.variance("age", epsilon=EXACT).value == pytest.approx(
        statistics.variance(inside), abs=1e-2
    )
    assert people.group_by("ward").mean("age", epsilon=EXACT).by_group["A"] == pytest.approx(
        60, abs=1e-3
    )
    filled = asking(missing={"age": 60})
    assert filled.mean("age", epsilon=EXACT).value == pytest.approx(
        statistics.mean([*inside, 60]), abs=1e-3
    )


def test_quantiles():
    people = asking()
    assert people.quantile("age", epsilon=EXACT).value == 40
    assert people.quantile("age", 0.9, candidates=[10, 35, 90], epsilon=EXACT).value == 90
    assert people.group_by("ward").quantile("age", candidates=11, epsilon=EXACT).by_group["A"] == 50


TABLES = st.lists(st.tuples(st.sampled_from("fmx"), st.floats(-50, 150)), max_size=20)


@given(TABLES, st.sampled_from(["add_remove", "change_one"]))
def test_without_noise_the_answers_are_those_of_the_definition(rows, neighbours):
    frame = pl.DataFrame(rows, schema={"sex": pl.String, "age": pl.Float64}, orient="row")
    people = asking(frame, domains={"sex": ["f", "m"]}, neighbours=neighbours)
    grouped = people.group_by("sex")
    for sex, group in (("f", "f"), ("m", "m"), ("x", "(outside)")):
        values = [min(max(age, 0), 100) for who, age in rows if who == sex]
        assert grouped.count(epsilon=EXACT).by_group[group] == len(values)
        assert grouped.sum("age", epsilon=EXACT).by_group[group] == pytest.approx(
            sum(values), abs=1e-2
        )
        if values:
            assert grouped.mean("age", epsilon=EXACT).by_group[group] == pytest.approx(
                sum(values) / len(values), abs=1e-3
            )
        if len(values) > 1:
            expected = statistics.variance(values)
            assert grouped.variance("age", epsilon=EXACT).by_group[group] == pytest.approx(
                expected, abs=0.1
            )


@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("kind", ["count", "sum", "mean", "variance"])
def test_intervals_hold_as_often_as_they_say(kind, cost):
    """95 % each; of 300 more than 40 misses (15 expected) have a probability below 1e-7."""
    ages = [float(20 + i % 60) for i in range(400)]
    people = asking(pl.DataFrame({"age": ages}), Budget(1e9, delta=1e-6), domains={})
    truth = {
        "count": 400,
        "sum": sum(ages),
        "mean": statistics.mean(ages),
        "variance": statistics.variance(ages),
    }[kind]
    question = Question(kind, None if kind == "count" else "age")
    plan = plan_question(question, people.table.declared, Relation(), PrivacyLoss.of(**cost))
    answers = [plan.with_noise().answered(people.table) for _ in range(300)]
    assert all(answer.low[0] <= answer.value <= answer.high[0] for answer in answers)
    assert (
        sum(not answer.low[0] - 1e-2 <= truth <= answer.high[0] + 1e-2 for answer in answers) <= 40
    )


def test_units_are_bounded():
    people = asking(protects="patient", contributions=1)
    assert (
        people.count(epsilon=EXACT).value == 4
    )  # p1 counts once, the row without a patient does not
    assert asking(protects="patient", contributions=5).count(epsilon=EXACT).value == 5
    once, thrice = (asking(protects="patient", contributions=c).count(epsilon=0.1) for c in (1, 3))
    assert (thrice.high[0] - thrice.low[0]) / (once.high[0] - once.low[0]) == pytest.approx(
        3, rel=0.05
    )


def test_the_schema_names_the_person():
    visits = sf.examples.visits(rows=100)
    people = sf.dp.session(visits, budget=1.0, contributions=2)
    assert people.ledger.terms.relation.protects == "patient"
    with pytest.raises(SchemaError, match="would not protect them"):
        sf.dp.session(visits, budget=1.0, protects="row")
    with pytest.raises(SchemaError, match="may split them; protect"):
        sf.dp.session(visits, budget=1.0, protects="zip", contributions=1)
    with pytest.raises(ParameterError, match="the number of rows of one patient"):
        sf.dp.session(visits, budget=1.0)


def test_the_same_question_gets_the_same_answer_and_costs_nothing():
    people = asking(budget=1.0)
    first = people.where("sex", "=", "f").where("age", ">", 10).count(epsilon=0.4)
    again = people.where("age", ">", 10.0).where("sex", "in", ["f", "f"]).count(epsilon=0.4)
    assert (
        again.values == first.values
        and again.repeated
        and not first.repeated
        and people.spent == 0.4
    )
    by_sql = people.sql("select count(*) from people where 10 < age and sex = 'f'", epsilon=0.4)[0]
    assert by_sql.values == first.values and people.spent == 0.4
    people.where("sex", "=", "f").where("age", ">", 10).count(epsilon=0.4, fresh=True)
    assert people.spent == pytest.approx(0.8)
    assert Answer.from_dict(first.to_dict()) == first


def test_other_declarations_make_another_question():
    people = asking(budget=10.0)
    people.mean("age", epsilon=0.1)
    other = sf.dp.session(
        sf.read(PEOPLE), budget=10.0, options=SessionOptions(name="people"), bounds={"age": (0, 90)}
    )
    other = sf.dp.Session(other.table, people.ledger)
    assert not other.mean("age", epsilon=0.1).repeated
    assert not people.mean("age", epsilon=0.2).repeated
    assert people.mean("age", epsilon=0.1).repeated


def test_the_budget_ends():
    people = asking(budget=0.3)
    for epsilon in (0.1, 0.15, 0.05):
        people.count(epsilon=epsilon)
    with pytest.raises(BudgetExceeded, match="the budget of 'people' is"):
        people.mean("age", epsilon=0.001)
    assert people.count(epsilon=0.1).repeated and people.largest_epsilon == 0
    assert people.history == ("count (ε = 0.1)", "count (ε = 0.15)", "count (ε = 0.05)")


def test_numbers_of_numpy_are_numbers():
    people = asking(budget=1.0, bounds={"age": (np.int64(0), np.float32(100))})
    people.where("age", "<", np.int64(50)).count(epsilon=np.float32(0.5))
    assert people.spent == 0.5


def test_all_or_nothing():
    people = asking(budget=0.3)
    with pytest.raises(BudgetExceeded):
        people.sql("SELECT COUNT(*), AVG(age) FROM people", epsilon=0.4)
    assert people.spent == 0
    found = people.sql("SELECT COUNT(*), AVG(age) FROM people", epsilon=0.3)
    assert [a.epsilon for a in found] == [0.15, 0.15] and people.spent == 0.3


def test_a_refusal_costs_nothing():
    people = asking(budget=1.0)
    for refused in (
        lambda: people.mean("cost", epsilon=0.1),
        lambda: people.group_by("patient"),
        lambda: people.group_by("sex", "sex"),
        lambda: people.where("patient", "=", "p1"),
        lambda: people.where("sex", "=", "q"),
        lambda: people.where("sex", "<", "f"),
        lambda: people.where("age", "<", "f"),
        lambda: people.where("age", "<", math.nan),
        lambda: people.where("age", "<", [1, 2]),
        lambda: people.where("age", "in", []),
        lambda: people.where("age", "like", 3),
        people.count,
        lambda: people.count(epsilon=0),
        lambda: people.count(epsilon=-1),
        lambda: people.count(epsilon=math.nan),
        lambda: people.count(epsilon=0.1, rho=0.1),
        lambda: people.quantile("age", 2, epsilon=0.1),
        lambda: people.histogram("age", bins=0, epsilon=0.1),
        lambda: people.histogram("age", bins=[5], epsilon=0.1),
        lambda: people.histogram("age", bins=[5, 500], epsilon=0.1),
        lambda: people.histogram("age", epsilon=0.1),
        lambda: people.sum("age", epsilon=1e-12),
    ):
        with pytest.raises(ParameterError):
            refused()
    assert people.spent == 0 and people.history == ()


def test_huge_group_counts_are_refused_by_the_declaration_alone():
    words = [f"w{i}" for i in range(400)]
    people = asking(domains={"sex": words, "ward": words})
    with pytest.raises(ParameterError, match="more than 100,000 groups"):
        people.group_by("sex", "ward").count(epsilon=1)
    with pytest.raises(ParameterError, match="more than 100,000 groups"):
        people.group_by("sex").quantile("age", candidates=1000, epsilon=1)
    assert people.spent == 0


def test_wrong_openings():
    for options, error in (
        ({"budget": 0}, ParameterError),
        ({"budget": -1.0}, ParameterError),
        ({"budget": None}, ParameterError),
        ({"neighbours": "nobody"}, ParameterError),
        ({"protects": "nobody", "contributions": 1}, SchemaError),
        ({"contributions": 3}, ParameterError),
        ({"quantum": 0}, ParameterError),
        ({"quantum": math.inf}, ParameterError),
    ):
        with pytest.raises(error):
            asking(**options)
    with pytest.raises(ParameterError, match="read the table first"):
        sf.dp.session(PEOPLE, budget=1.0)


@pytest.mark.parametrize(
    "frame",
    [PEOPLE.clear(), PEOPLE.head(1), pl.DataFrame({"age": [None, None], "sex": [None, None]})],
)
def test_small_and_empty_tables_are_answered_like_all_others(frame):
    people = asking(frame, domains={"sex": ["f", "m"]})
    for answer in (
        people.count(epsilon=0.1),
        people.mean("age", epsilon=0.1),
        people.variance("age", epsilon=0.1),
        people.group_by("sex").sum("age", epsilon=0.1),
        people.quantile("age", epsilon=0.1),
    ):
        assert all(map(math.isfinite, answer.values + answer.low + answer.high))
    assert 0 <= people.mean("age", epsilon=0.1).value <= 100


def test_extreme_bounds():
    with pytest.raises(ParameterError, match="too wide"):
        asking(bounds={"age": (-1e200, 1e200)}).variance("age", epsilon=1.0)
    with pytest.raises(ParameterError, match="too narrow"):
        asking(bounds={"age": (0, 5e-324)}).sum("age", epsilon=1.0)
    wide = asking(bounds={"age": (-1e200, 1e200)}).mean("age", epsilon=1.0)
    assert -1e200 <= wide.value <= 1e200


def test_nothing_shown_names_a_value_of_the_data():
    people = asking(protects="patient", contributions=1)
    shown = [
        repr(people),
        str(people.group_by("sex").count(epsilon=0.1)),
        str(people.quantile("age", epsilon=0.1)),
    ]
    assert not any("p1" in text or "'x'" in text or "200" in text for text in shown[:1])
    assert (
        "the presence of one patient (at most 1 row of each count)" in shown[1]
        and "ε = 0.1" in shown[1]
    )


@settings(max_examples=10)
@given(st.integers(0, 40))
def test_the_noise_is_drawn_before_the_data_are_touched(rows):
    """The order of events does not depend on the table."""
    events = []
    people = asking(pl.DataFrame({"age": [1.0] * rows}, schema={"age": pl.Float64}), domains={})
    from sfumato.methods.formulas import noise as mechanisms
    from sfumato.results.queries import question_plan

    with pytest.MonkeyPatch.context() as patch:
        drawn, scanned = mechanisms.Noise.draw, question_plan.scan
        patch.setattr(
            mechanisms.Noise, "draw", lambda self, n: (events.append("noise"), drawn(self, n))[1]
        )
        patch.setattr(question_plan, "scan", lambda *a: (events.append("scan"), scanned(*a))[1])
        people.sql("SELECT AVG(age), COUNT(*) FROM people", epsilon=1.0)
    assert events == ["noise"] * 3 + ["scan"] * 2
