"""The generated household survey and the table for benchmarks."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato import examples
from sfumato.core.schema import Role
from sfumato.data.examples.household_survey import REGIONS
from sfumato.errors import ParameterError


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


@pytest.mark.parametrize("columns", [1, 6, 9])
def test_large_takes_as_many_quasi_identifiers_as_asked(columns: int) -> None:
    table = examples.large(500, columns=columns)
    assert len(table.schema.quasi) == columns
    assert table.schema.sensitive == ("illness",)
    assert len(table) == 500


def test_large_refuses_columns_it_does_not_have() -> None:
    with pytest.raises(ParameterError, match="between 1 and 9, not 10"):
        examples.large(10, columns=10)
    with pytest.raises(ParameterError, match="distinct 'some' is not known"):
        examples.large(10, distinct="some")


def test_large_has_few_or_many_classes() -> None:
    shares = {}
    for distinct in ("few", "many"):
        table = examples.large(200_000, distinct=distinct)
        sizes = table.to_polars().group_by(table.schema.quasi).len()["len"]
        shares[distinct] = (sizes.len() / 200_000, int((sizes == 1).sum()) / 200_000)
    assert shares["few"][0] < 0.5
    assert shares["many"][1] > 0.9


def test_large_domains_are_realistic() -> None:
    table = examples.large(200_000, columns=9).to_polars()
    domains = {name: table[name].n_unique() for name in table.columns}
    known = {
        "age": 100,
        "sex": 2,
        "zip": 300,
        "nationality": 26,
        "marital_status": 6,
        "education": 9,
    }
    known |= {"employment": 6, "household_size": 8, "occupation": 36, "illness": 60}
    assert domains == known
    assert table.filter(pl.col("age") < 16)["marital_status"].unique().to_list() == ["single"]
    assert table["zip"].cast(pl.String).str.len_chars().unique().to_list() == [3]


def test_large_prefixes_agree_whatever_the_number_of_columns() -> None:
    few, many = (examples.large(1000, columns=columns).to_polars() for columns in (3, 6))
    assert few.select("age", "sex", "zip").equals(many.select("age", "sex", "zip"))
