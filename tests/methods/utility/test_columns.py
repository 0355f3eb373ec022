"""Which columns a metric compares, and its reasons to say nothing."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.utility import columns as subject

FRAME = pl.DataFrame(
    {"id": ["a", "b"], "age": [30, 40], "zip": ["1", "2"], "cost": [1.5, 2.5], "w": [1.0, 2.0]}
)
TABLE = sf.read(FRAME).with_roles(
    drop=["id"], quasi=["age", "zip"], sensitive=["cost"], weight=["w"]
)
PAIR = TablePair.of(TABLE, TABLE)


def test_defaults_are_quasi_identifiers_data_and_numbers():
    assert subject.quasi_of(PAIR, None) == ("age", "zip")
    assert subject.data_of(PAIR, None) == ("age", "zip", "cost")
    assert subject.numeric_of(PAIR, None) == ("age", "cost")
    assert subject.quasi_of(PAIR, ["cost", "age", "cost"]) == ("cost", "age")
    with pytest.raises(SchemaError, match="height"):
        subject.data_of(PAIR, ["height"])


def test_shares_of_columns_add_up_to_one():
    assert subject.shares_of(["a", "b"], {}) == {"a": 0.5, "b": 0.5}
    assert subject.shares_of(["a", "b"], {"a": 3}) == {"a": 0.75, "b": 0.25}
    with pytest.raises(SchemaError, match="not compared"):
        subject.shares_of(["a"], {"c": 1})
    with pytest.raises(ParameterError, match="above 0"):
        subject.shares_of(["a"], {"a": 0})


def test_reasons_to_say_nothing():
    assert subject.why_not_generalised(PAIR, ("age",)) is None
    assert "no column has role quasi" in subject.why_not_generalised(PAIR, ())
    changed = TABLE.with_columns({"age": pl.Series("age", [31, 40])})
    released = dataclasses.replace(changed, origin=None)
    assert "age" in subject.why_not_generalised(TablePair.of(TABLE, released), ("age", "zip"))
    assert subject.why_not(PAIR, ()) == "there is no column to compare; name some"
    assert subject.why_not(PAIR, ("age",)) is None


def test_a_share_counts_the_records_there_were():
    assert subject.share_of(PAIR, 1) == 0.5
    assert subject.share_of(PAIR, 1, cells=2) == 0.25
    assert subject.share_of(PAIR, 5) == 1.0
