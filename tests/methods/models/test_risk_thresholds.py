from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_rows
from sfumato.core.evidence import gather
from sfumato.core.schema import Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models import AverageRisk, KAnonymity, MaximumRisk, RecordsAtRisk
from sfumato.methods.steps import GlobalRecoding
from tests.oracles.definitions import class_persons, class_sizes, compatible_rows, fewest_dropped
from tests.random_tables import tables
from tests.test_reference_arx import table as adult


def check_fewest_dropped(model, table, holds):
    """What goes is enough, has the fewest records, and does not depend on the order of the rows."""
    rows, kept = table.rows, []
    for frame in (table.frame(), table.frame(rows[::-1])):
        dataset = Table(frame, table.schema())
        _, classes = count_rows(dataset)
        kept.append((~model.failing(gather(dataset, [model])))[classes].tolist())
    assert kept[0] == kept[1][::-1]
    rest = class_sizes([row for row, stays in zip(rows, kept[0], strict=True) if stays])
    assert holds(list(rest.values()))
    assert kept[0].count(False) == fewest_dropped(list(class_sizes(rows).values()), holds)


chances = st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.7, 1])


@given(tables(), chances)
def test_maximum_risk(table, threshold):
    risks = [1 / class_sizes(table.rows)[row] for row in table.rows]
    verdict = MaximumRisk(threshold).judge(gather(table.dataset(), []))
    assert verdict.attained == max(risks)
    assert verdict.holds == (max(risks) <= threshold + 1e-9)
    assert verdict.records == sum(risk > threshold + 1e-9 for risk in risks)


@given(tables(), chances)
def test_average_risk(table, threshold):
    risks = [1 / class_sizes(table.rows)[row] for row in table.rows]
    model = AverageRisk(threshold)
    evidence = gather(table.dataset(), [])
    verdict = model.judge(evidence)
    assert verdict.attained == pytest.approx(sum(risks) / len(risks))
    assert verdict.holds == (sum(risks) / len(risks) <= threshold + 1e-9)
    check_fewest_dropped(model, table, lambda sizes: len(sizes) <= (threshold + 1e-9) * sum(sizes))


@given(tables(), chances, st.sampled_from([0, 0.1, 0.3, 0.5, 1]))
def test_records_at_risk(table, threshold, share):
    sizes = class_sizes(table.rows)
    at_risk = sum(1 / sizes[row] > threshold + 1e-9 for row in table.rows) / len(table.rows)
    model = RecordsAtRisk(threshold, share=share)
    evidence = gather(table.dataset(), [])
    verdict = model.judge(evidence)
    assert verdict.attained == pytest.approx(at_risk)
    assert verdict.holds == (at_risk <= share + 1e-9)

    def few_enough(rest):
        return sum(n for n in rest if 1 / n > threshold + 1e-9) <= (share + 1e-9) * sum(rest)

    check_fewest_dropped(model, table, few_enough)


@given(tables())
def test_wildcards(table):
    dataset = Table(table.frame(), table.schema(missing="wildcard"))
    f = compatible_rows(table.rows, [True] * len(table.paths))
    evidence = gather(dataset, [])
    assert MaximumRisk(0.5).judge(evidence).attained == 1 / min(f)
    assert AverageRisk(0.5).judge(evidence).attained == pytest.approx(
        sum(1 / n for n in f) / len(f)
    )
    assert RecordsAtRisk(0.5, share=0).judge(evidence).attained == pytest.approx(
        f.count(1) / len(f)
    )


@given(tables(), st.data())
def test_persons_are_counted_once(table, data):
    persons = data.draw(
        st.lists(st.sampled_from("abcd"), min_size=len(table.rows), max_size=len(table.rows))
    )
    dataset = Table(
        table.frame().with_columns(pl.Series("who", persons)), table.dataset().schema
    ).with_roles(person="who")
    persons_of = class_persons(table.rows, persons)
    evidence = gather(dataset, [])
    risks = [1 / persons_of[row] for row in table.rows]
    assert MaximumRisk(0.5).judge(evidence).attained == max(risks)
    assert AverageRisk(0.5).judge(evidence).attained == pytest.approx(sum(risks) / len(risks))
    assert RecordsAtRisk(0.5, share=0).judge(evidence).attained == pytest.approx(
        risks.count(1) / len(risks)
    )


def test_a_mean_over_persons_of_classes_would_not_be_monotone():
    """Two classes of the same three persons and one of a fourth: merging must not raise the
    average.
    """
    frame = pl.DataFrame({"key": [*"aaabbbc"], "who": [*"1231234"]})
    fine = Table(frame).with_roles(quasi=["key"], person="who")
    coarse = fine.with_columns({"key": pl.Series([*"aaaaaac"])})
    for model in (AverageRisk(0.5), RecordsAtRisk(0.5, share=0.2)):
        before, after = (model.judge(gather(d, [model])).attained for d in (fine, coarse))
        assert after <= before


def test_torra():
    """G01: classes of 2 and 3 of five records: highest risk 1/2, average 2/5, two at risk above
    0.4.
    """
    evidence = gather(examples.torra(), [])
    assert MaximumRisk(0.5).judge(evidence).holds
    assert AverageRisk(0.5).judge(evidence).attained == 0.4
    assert RecordsAtRisk(0.4, share=0.5).judge(evidence).attained == 0.4
    failing = RecordsAtRisk(0.4, share=0.3).judge(evidence)
    assert (failing.holds, failing.records) == (False, 2)
    assert "2 of 5 (40 %)" in failing.sentence


@pytest.mark.parametrize("threshold", [1, 0.5, 0.34, 1 / 3, 0.3, 0.2, 0.05])
def test_maximum_risk_is_k_anonymity(threshold):
    k = math.ceil(1 / threshold - 1e-9)
    assert MaximumRisk(threshold).implies(KAnonymity(k))
    assert KAnonymity(k).implies(MaximumRisk(threshold))
    assert not MaximumRisk(threshold).implies(KAnonymity(k + 1))
    assert k == 1 or not KAnonymity(k - 1).implies(MaximumRisk(threshold))


def test_implications():
    assert MaximumRisk(0.2).implies(AverageRisk(0.25))
    assert MaximumRisk(0.2).implies(RecordsAtRisk(0.2, share=0))
    assert AverageRisk(0.2).implies(AverageRisk(0.3))
    assert not AverageRisk(0.2).implies(MaximumRisk(0.3))
    assert RecordsAtRisk(0.2, share=0.1).implies(RecordsAtRisk(0.3, share=0.1))
    assert not RecordsAtRisk(0.3, share=0.1).implies(RecordsAtRisk(0.2, share=0.1))


@given(tables(), chances, chances)
def test_implications_hold_in_fact(table, one, other):
    evidence = gather(table.dataset(), [])
    models = [
        MaximumRisk(one),
        AverageRisk(other),
        RecordsAtRisk(other, share=0.2),
        KAnonymity(3),
        RecordsAtRisk(one, share=0.1),
    ]
    for stronger in models:
        for weaker in models:
            if stronger.implies(weaker) and stronger.judge(evidence):
                assert weaker.judge(evidence)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan")])
def test_thresholds_out_of_range(threshold):
    for make in (MaximumRisk, AverageRisk, lambda given: RecordsAtRisk(given, share=0.1)):
        with pytest.raises(ParameterError):
            make(threshold)


@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan")])
def test_shares_out_of_range(share):
    with pytest.raises(ParameterError):
        RecordsAtRisk(0.5, share=share)


@pytest.mark.parametrize("model", [MaximumRisk(0.5), AverageRisk(0.5), RecordsAtRisk(0.5, share=0)])
def test_no_quasi_identifiers_and_empty_tables(model):
    with pytest.raises(SchemaError, match="role quasi"):
        model.needs(Schema({}))
    empty = Table(pl.DataFrame({"zip": []}, schema={"zip": pl.Int64})).with_roles(quasi=["zip"])
    verdict = model.judge(gather(empty, [model]))
    assert (verdict.holds, verdict.attained) == (True, None)


def risky(sizes):
    """A table with classes of these sizes, and its evidence."""
    rows = [str(i) for i, n in enumerate(sizes) for _ in range(n)]
    return gather(Table(pl.DataFrame({"x": rows})).with_roles(quasi="x"), [])


@pytest.mark.parametrize(
    ("sizes", "fewest"),
    [([1, 1, 1, 17], 2), ([2, 2, 3, 13], 7), ([2, 2, 3, 40], 3), ([4, 4, 4, 3, 3, 30], 15)],
)
def test_a_sum_of_records_is_hit_as_closely_as_classes_allow(sizes, fewest):
    """Smallest first would drop more: 4 of [2, 2, 3, 40]."""
    model = RecordsAtRisk(0.21, share=0.1)
    evidence = risky(sizes)
    gone = model.failing(evidence)
    assert evidence.classes.records[gone].sum() == fewest
    assert fewest == fewest_dropped(
        sizes, lambda rest: sum(n for n in rest if n < 5) <= (0.1 + 1e-9) * sum(rest)
    )


def test_three_unique_records_of_twenty_lose_two_and_not_three():
    frame = pl.DataFrame({"x": ["a", "b", "c"] + ["z"] * 17})
    dataset = Table(frame).with_roles(quasi="x")
    plan = GlobalRecoding(budget=0.1).plan(dataset, Goal((RecordsAtRisk(0.5, share=0.1),)))
    assert plan.suppressed == 2


ADULT = [(AverageRisk(0.05), 0.1047), (RecordsAtRisk(0.5, share=0.01), 0.1038)]


@pytest.mark.parametrize(("model", "score"), ADULT, ids=lambda v: getattr(v, "name", ""))
def test_the_optimum_of_adult_is_that_of_arx(reference_data, model, score):
    """With a budget of 5 %; which of equally small classes go is not told, and moves the fifth
    digit.
    """
    step = GlobalRecoding(budget=0.05, objective="loss_geometric")
    columns = tuple(
        c
        for c in pl.read_csv(
            reference_data / "adult" / "adult.csv", separator=";", n_rows=1
        ).columns
        if c != "occupation"
    )
    plan = step.plan(adult(reference_data, "adult", columns), Goal((model,)))
    assert plan.score == pytest.approx(score, abs=1e-4)
