"""The generated household survey and the table for benchmarks."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato import examples
from sfumato.core.schema import Role
from sfumato.data.examples.household_survey import REGIONS


@pytest.fixture(scope="module")
def survey() -> pl.DataFrame:
    return examples.survey().to_polars()


def test_survey_has_design_roles() -> None:
    schema = examples.survey(rows=30).schema
    assert schema.units == ("household",)
    assert schema["household"].identifies == "household"
    assert schema.person is None
    assert schema["region"].roles == (Role.QUASI, Role.STRATUM)
    assert schema.only(Role.WEIGHT) == "weight"


def test_survey_weights_add_up_to_the_population(survey: pl.DataFrame) -> None:
    homes = survey.unique("household")
    totals = dict(homes.group_by("region").agg(pl.col("weight").sum()).rows())
    assert totals == pytest.approx(REGIONS, rel=1e-6)
    assert sum(REGIONS.values()) == 3_360_000
    assert homes["weight"].min() > 1  # type: ignore[operator]


def test_survey_households_hang_together(survey: pl.DataFrame) -> None:
    homes = survey.group_by("household").agg(
        pl.len(),
        pl.col("household_size").first(),
        pl.col("region", "settlement", "rooms", "weight").n_unique(),
        pl.col("age").max(),
    )
    assert survey.height == 4000
    assert (homes["len"] == homes["household_size"]).all()
    assert all(homes[column].max() == 1 for column in ("region", "settlement", "rooms", "weight"))
    assert homes["age"].min() >= 18  # type: ignore[operator]
    assert set(homes["len"]) == {1, 2, 3, 4, 5, 6}


def test_survey_income_depends_on_work_and_education(survey: pl.DataFrame) -> None:
    mean = dict(survey.group_by("employment").agg(pl.col("income").mean()).rows())
    assert mean["full-time"] > mean["part-time"] > mean["homemaker"] > mean["below school age"] == 0
    full = dict(
        survey.filter(pl.col("employment") == "full-time")
        .group_by("education")
        .agg(pl.col("income").mean())
        .rows()
    )
    assert full["master"] > full["vocational training"] > full["lower secondary"]
    assert 0.03 < survey["income"].null_count() / survey.height < 0.07
