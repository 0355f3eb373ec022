"""Generated tables of any size for measuring: ten million rows in seconds."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato import examples
from sfumato.errors import ParameterError


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
