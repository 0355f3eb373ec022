"""Proposals for real tables, where they are at hand."""

from __future__ import annotations

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.source import Source
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.yaml_text import recipe_text


def proposed(path, **options):
    frame = pl.read_csv(path, infer_schema_length=10_000, **options)
    return frame, recipes.parse(recipe_text(propose(frame, Source(name=path.name)))).schema


def test_census_extract(reference_data):
    frame, schema = proposed(reference_data / "adult" / "adult.csv", separator=";")
    assert set(schema.quasi) == set(frame.columns) - {"salary-class"}
    assert schema.sensitive == ("race", "salary-class")


def test_household_survey(reference_data):
    _, schema = proposed(reference_data / "survey" / "testdata.csv")
    assert {"urbrur", "relat", "sex", "age", "hhcivil"} <= set(schema.quasi)
    assert {"expend", "income", "savings"} <= set(schema.sensitive)
    assert schema["ori_hid"].identifies == "household"
    assert schema["household_weights"].roles == ("weight",)
    # The same in every record, so it weighs nothing.
    assert schema["sampling_weight"].roles == ("keep",)


def test_records_of_people(reference_data):
    frame, schema = proposed(reference_data / "linkage" / "febrl4a.csv")
    assert len(schema.dropped_columns) == 7
    assert {name.strip() for name in schema.quasi} == {
        "suburb",
        "postcode",
        "state",
        "date_of_birth",
    }
    schema.check(frame.columns, Source())
