"""Evaluating a release: the battery, what is left out and why, how it is shown."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.release.evaluation import default_metrics, evaluate

SECRET = "Hang nail"


@pytest.fixture(scope="module")
def found():
    return sf.evaluate(sf.examples.patients(), sf.examples.patients(release="single"))


def test_every_metric_without_parameters_is_measured_or_has_a_reason(found):
    names = [metric.name for metric in default_metrics()]
    assert [*(m.name for m in found.measures), *found.skipped] == [
        *(n for n in names if n not in found.skipped),
        *(n for n in names if n in found.skipped),
    ]
    assert "c_avg" not in names
    assert found.skipped["correlations"] == "two columns of numbers are needed"


def test_forms(found):
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["records"] == plain["released"] == 6
    assert plain["measures"][0]["name"] == "loss"
    frame = found.to_frame()
    assert frame.filter(metric="loss", column="age")["value"].to_list() == [1.0]
    assert frame.filter(pl.col("column").is_null()).height == len(found.measures)
    assert found.measure("discernibility").raw == 20
    with pytest.raises(sf.errors.ParameterError, match="two columns of numbers"):
        found.measure("correlations")
    with pytest.raises(sf.errors.ParameterError, match="Did you mean 'loss'"):
        found.measure("los")


def test_no_data_value_is_shown(found):
    for shown in (str(found), repr(found), found._repr_html_(), json.dumps(found.to_dict())):
        assert SECRET not in shown
        assert "53711" not in shown
    assert "<th scope" in found._repr_html_()
    assert "correlations, eigenvalues: two columns" in str(found)


def test_what_may_be_given():
    before, after = sf.examples.patients(), sf.examples.patients(release="multi")
    by_tables = sf.evaluate(before, after, ["loss"])
    assert (
        sf.evaluate(TablePair.of(before, after), metrics=[sf.Loss()]).to_dict()
        == by_tables.to_dict()
    )
    release = sf.anonymize(
        sf.examples.hospital(), [sf.KAnonymity(3)], [sf.GlobalRecoding()], seed=1
    )
    assert sf.evaluate(release, metrics=["loss"]).measures[0].value == pytest.approx(
        release.scores["loss"]
    )
    assert sf.evaluate(before, after, [{"c_avg": {"k": 2}}]).measures[0].raw == 1.0
    assert sf.evaluate(before, after, []).measures == ()
    for wrong in ((before,), (release, after), (TablePair.of(before, after), after)):
        with pytest.raises(sf.errors.ParameterError, match="evaluate takes"):
            sf.evaluate(*wrong)
    with pytest.raises(sf.errors.UnreadableInput, match="this file does not exist; check the path"):
        sf.evaluate("patients", after)
    with pytest.raises(
        sf.errors.RecipeError, match=r"'los' is not a known utility metric\. Did you mean 'loss'"
    ):
        sf.evaluate(before, after, ["los"])
    with pytest.raises(sf.errors.SchemaError, match="no column 'zipcode'"):
        sf.evaluate(before, after, [sf.Loss(["zipcode"])])


def test_tables_that_do_not_belong_together():
    people = sf.examples.patients()
    with pytest.raises(sf.errors.SchemaError, match="no column in common"):
        sf.evaluate(
            people,
            sf.examples.illnesses().take(np.array([0, 1, 2, 3, 0, 1])).drop(["sex"]),
            align="order",
        )
    other = sf.read(people.to_polars()[:3]).with_schema(people.schema)
    with pytest.raises(sf.errors.ParameterError, match="does not say which rows"):
        sf.evaluate(people, other)
    with pytest.raises(sf.errors.SchemaError, match="cannot align them"):
        sf.evaluate(people, other, align="order")


def test_everything_suppressed_and_no_rows():
    people = sf.examples.patients()
    gone = sf.evaluate(people, people.take(np.zeros(0, dtype=np.int64)))
    assert all(m.value == (m.better == "lower") for m in gone.measures)
    empty = people.take(np.zeros(0, dtype=np.int64))
    assert not evaluate(TablePair.of(empty, empty)).measures


def test_other_columns():
    people = sf.examples.patients()
    more = people.drop(["zip"]).with_columns({"extra": pl.Series(range(6))})
    found = sf.evaluate(people, more, align="order")
    assert found.measure("loss").per_column["zip"] == 1
    assert "extra" not in found.to_frame()["column"].to_list()


def test_a_figure_and_the_words_beside_it_tell_of_the_same():
    """The value is a share of the worst; figures in a metric's own unit stand in its words."""
    table = pl.DataFrame({"age": [20 + i % 37 for i in range(200)], "sex": ["f", "m"] * 100})
    release = sf.anonymize(
        table, sf.KAnonymity(5), sf.Mondrian(), roles={"quasi": ["age", "sex"]}, seed=1
    )
    found = {
        m.name: m
        for m in release.evaluate(
            ["average_class_size", "query_workload", "discernibility"]
        ).measures
    }
    size, queries = found["average_class_size"], found["query_workload"]
    assert (
        size.meaning.startswith(f"{size.raw:,.4g} records share")
        and "share of all records" in size.meaning
    )
    assert f"relative error of {queries.raw:.3g}, 90 %" in queries.meaning
    assert f"{found['discernibility'].raw:,.0f}" in found["discernibility"].meaning
