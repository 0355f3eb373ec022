"""Values that a format cannot tell apart become one value, and the owner is told how many."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.errors import OutputError


def merged(values, file_format, name="amount", **options):
    table = sf.read(pl.DataFrame({name: values})).with_roles(keep=[name])
    merged_table, notes = made_one(table, file_format, **options)
    return merged_table.to_polars()[name].to_list(), notes


@pytest.mark.parametrize("file_format", ["csv", "parquet", "excel"])
def test_no_number_is_missing_and_negative_zero_is_zero(file_format):
    values, (note,) = merged([float("nan"), -0.0, 1.5], file_format)
    assert values == [None, 0.0, 1.5]
    assert str(values[1]) == "0.0"
    assert "amount" in note


@pytest.mark.parametrize(("file_format", "is_lost"), [("jsonl", True), ("csv", False)])
def test_infinities_are_missing_where_a_format_has_none(file_format, is_lost):
    values, notes = merged([float("inf"), 1.0], file_format)
    assert (values[0] is None) == is_lost == bool(notes)


def test_spellings_of_one_number_are_one_in_csv():
    assert merged(["1", "1.0", "1e0", "2"], "csv")[0] == ["1", "1", "1", "2"]
    # Codes keep their zeros, and what steps wrote is left alone.
    assert merged(["01", "1"], "csv")[0] == ["01", "1"]
    assert merged(["1", "1.0"], "csv", spellings=False) == (["1", "1.0"], [])
    assert merged(["1", "1.0"], "parquet") == (["1", "1.0"], [])


@pytest.mark.parametrize(
    ("file_format", "values"),
    [("csv", ["a ", None]), ("parquet", ["a ", ""]), ("spss", ["a", None])],
)
def test_empty_texts_and_blanks_at_the_end(file_format, values):
    assert merged(["a ", ""], file_format)[0] == values


def test_names_that_a_format_loses_are_refused():
    table = sf.read(pl.DataFrame({" age": [1, 2]})).with_roles(keep=[" age"])
    refuse_unwritable(table, "parquet", header=True)
    with pytest.raises(OutputError, match="column 1 has a name"):
        refuse_unwritable(table, "csv", header=True)
