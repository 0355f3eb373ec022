"""Top and bottom coding: thresholds, quantiles, and what a tail becomes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import people, run
from tests.oracles import masking as oracle

numbers = st.lists(st.integers(-20, 20), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1)


def table(values, weights=None):
    frame = pl.DataFrame({"x": values} | ({} if weights is None else {"w": weights}))
    attributes = {
        "x": Attribute((Role.KEEP,), Kind.NUMERIC),
        "w": Attribute((Role.WEIGHT,), Kind.NUMERIC),
    }
    return Table(frame, Schema({n: attributes[n] for n in frame.columns}))


def coded(values, weights=None, **options):
    return run(sf.TopBottomCoding(["x"], **options), table(values, weights))


def test_the_students_of_the_lecture():
    # A. Gerl, Privacy risks and anonymisation techniques, Passau 2021/22: ages above 20 become 21+,
    # the two upper educations become one (the caption says "≥ 20", the table codes those above 20)
    steps = [
        sf.TopBottomCoding(["age"], top=21, replacement="label"),
        sf.TopBottomCoding(
            ["education"], top="tertiary", replacement="label", top_label="tertiary and above"
        ),
    ]
    made = sf.examples.students()
    for step in steps:
        made = run(step, made)[1]
    expected = sf.examples.students(coded=True)
    assert made.to_polars().cast(pl.String).rows() == expected.to_polars().cast(pl.String).rows()
    assert made.schema["age"].kind is Kind.ORDINAL and made.schema["age"].hierarchy is not None


@given(values=numbers, weights=st.data(), share=st.sampled_from([0.1, 0.25, 0.5, 0.8]))
def test_quantiles_and_means_are_weighted(values, weights, share):
    weights = weights.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    top = oracle.weighted_quantile(values, weights, share)
    if top <= min(values):
        with pytest.raises(ParameterError, match="no value of column"):
            coded(values, weights, top_quantile=share, replacement="mean")
        return
    plan, made = coded(values, weights, top_quantile=share, replacement="mean")
    assert made.column("x").to_list() == pytest.approx(oracle.coded_by_mean(values, weights, top))
    assert oracle.weighted_mean(made.column("x").to_list(), weights) == pytest.approx(
        oracle.weighted_mean(values, weights)
    )
    assert plan.public["coded"]["x"]["top"] == sum(v >= top for v in values)
    assert all(kept.off_by < 1e-9 for kept in plan.preserved if kept.exactly)


@given(values=numbers, low=st.integers(-25, 0), high=st.integers(1, 25))
def test_thresholds_draw_values_in_and_keep_the_rest(values, low, high):
    if all(v <= low or v >= high for v in values):
        return
    _, made = coded(values, bottom=low, top=high)
    assert made.column("x").to_list() == [min(max(v, low), high) for v in values]
    assert made.column("x").dtype == pl.Int64


def test_medians_and_labels():
    assert coded([1, 2, 3, 10, 20, 90], top=10, replacement="median")[1].column("x").to_list() == [
        1,
        2,
        3,
        20,
        20,
        20,
    ]
    made = coded([1.5, 2, None, 10], top=10, bottom=1.5, replacement="label")[1]
    assert made.column("x").to_list() == ["<=1.5", "2", None, "10+"]
    made = coded([1, 2, 3], top=3, replacement="label", top_label="many")[1]
    assert made.column("x").to_list() == ["1", "2", "many"]
    made = coded([1, 2, 9], top_quantile=0.9, replacement="label")[1]
    assert made.column("x").to_list() == ["1", "2", "9+"]


def test_ordinal_columns_are_coded_by_their_order():
    made = run(sf.TopBottomCoding(["school"], top="middle"), people())[1]
    assert set(made.column("school").to_list()) == {"low", "middle"}
    made = run(sf.TopBottomCoding(["school"], bottom_quantile=0.5), people())[1]
    assert set(made.column("school").to_list()) == {"middle", "high"}
    step = sf.TopBottomCoding(["school"], top="middle", replacement="label")
    made = run(step, people())[1]
    assert made.schema["school"].order == ("low", "middle", "high", "middle+")
    assert (
        step.released_schema(people().schema, people().columns)["school"] == made.schema["school"]
    )
    nobody = people().to_polars().filter(pl.col("school") != "middle")
    made = run(sf.TopBottomCoding(["school"], top="middle"), Table(nobody, people().schema))[1]
    assert set(made.column("school").to_list()) == {"low", "middle"}
    with pytest.raises(ParameterError, match="has no mean"):
        run(sf.TopBottomCoding(["school"], top="middle", replacement="mean"), people())
    with pytest.raises(ParameterError, match="does not list the threshold"):
        run(sf.TopBottomCoding(["school"], top="none"), people())


def test_small_tails_are_warned_of_by_persons():
    assert any(
        "the mean of 2 in a tail" in w
        for w in coded([1, 2, 3, 8, 9], top=8, replacement="mean")[0].warnings
    )
    assert coded([1, 2, 3, 8, 9], top=8, replacement="mean", least=2)[0].warnings == ()
    assert coded([1, 2, 3, 8, 9], top=8)[0].warnings == ()
    frame = pl.DataFrame({"p": ["a", "a", "a", "b"], "x": [9, 9, 9, 1]})
    one = Table(
        frame, Schema({"p": Attribute((Role.PERSON,)), "x": Attribute((Role.KEEP,), Kind.NUMERIC)})
    )
    assert any(
        "the mean of 1 in" in w
        for w in run(sf.TopBottomCoding(["x"], top=9, replacement="mean"), one)[0].warnings
    )


def test_nothing_coded_is_warned_of_and_nothing_left_is_refused():
    plan, made = coded([1, 2, 3], top=50)
    assert (
        made.column("x").to_list() == [1, 2, 3]
        and "nothing was coded" in plan.warnings[0]
        and not plan.actions
    )
    for options in ({"top": 1}, {"bottom": 3}, {"top": 2, "bottom": 2}, {"top_quantile": 0.2}):
        with pytest.raises(ParameterError, match="would stay unchanged"):
            coded([1, 2, 3], **options)
    with pytest.raises(ParameterError, match="would stay"):
        coded([4, 4, 4], top_quantile=0.9)


def test_bad_columns():
    with pytest.raises(SchemaError, match="no values; drop it"):
        run(sf.TopBottomCoding(["x"], top=1), Table(pl.DataFrame({"x": [None, None]})))
    with pytest.raises(SchemaError, match="must hold numbers"):
        run(sf.TopBottomCoding(["x"], top=1), Table(pl.DataFrame({"x": ["a", "b"]})))
    with pytest.raises(ParameterError, match="must be a number"):
        coded([1, 2], top="high")


def test_a_release_with_labels_can_be_checked():
    table = sf.examples.hospital(rows=200)
    step = sf.TopBottomCoding(["age"], top=80, replacement="label")
    plan, made = run(step, table)
    assert any("hierarchy of 'age' does not know" in words for words in plan.warnings)
    recipe = Recipe(table.schema, (sf.KAnonymity(1),), (step,))
    assert sf.check(made.drop(table.schema.dropped_columns), recipe)[0].holds
