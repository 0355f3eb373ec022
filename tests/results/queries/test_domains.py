"""Declarations: nothing is answered without them, and what the data hold beyond them is not told by
an error.
"""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.declared import (
    DeclaredTable,
    Relation,
    declared,
    require_declared,
    rows_that_count,
)
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.errors import ParameterError, SchemaError

NOTHING = Schema({})


def table(frame, relation=None, **known):
    dataset = sf.read(frame)
    said = declared(dataset.schema, **known)
    require_declared(dataset, said)
    return DeclaredTable.of(dataset, said, relation or Relation())


def test_the_schema_declares_and_arguments_win():
    schema = Schema(
        {
            "age": Attribute((Role.QUASI,), bounds=(0, 120)),
            "sex": Attribute((Role.QUASI,), domain=("f", "m")),
        }
    )
    assert declared(schema).bounds_of("age") == (0.0, 120.0)
    found = declared(schema, bounds={"age": (18, 65)}, domains={"sex": ["a"]})
    assert found.bounds_of("age") == (18.0, 65.0) and found.domain_of("sex") == ("a",)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": {"age": (120, 0)}}, "reversed"),
        ({"bounds": {"age": (5, 5)}}, "reversed or equal"),
        ({"bounds": {"age": (0, math.nan)}}, "finite"),
        ({"bounds": {"age": (0, math.inf)}}, "finite"),
        ({"bounds": {"age": (0,)}}, "two numbers"),
        ({"bounds": {"age": ("0", "1")}}, "two numbers"),
        ({"bounds": {"age": True}}, "two numbers"),
        ({"bounds": {"age": (False, True)}}, "two numbers"),
        ({"domains": {"sex": []}}, "at least one"),
        ({"domains": {"sex": "fm"}}, "list"),
        ({"domains": {"sex": ["f", "f"]}}, "twice"),
        ({"domains": {"sex": ["f", None]}}, "quotes"),
        ({"domains": {"sex": ["(outside)"]}}, "outside"),
        ({"bounds": {"x": (0, 1)}, "domains": {"x": ["a"]}}, "both"),
        ({"missing": {"x": 1}}, "neither"),
        ({"bounds": {"x": (0, 1)}, "missing": {"x": 2}}, "within its bounds"),
        ({"bounds": {"x": (0, 1)}, "missing": {"x": math.nan}}, "within its bounds"),
        ({"bounds": {"x": (0, 1)}, "missing": {"x": "a"}}, "within its bounds"),
        ({"domains": {"x": ["a"]}, "missing": {"x": "b"}}, "in its domain"),
    ],
    ids=str,
)
def test_wrong_declarations(wrong, said):
    with pytest.raises((ParameterError, SchemaError), match=said):
        declared(NOTHING, **wrong)


def test_what_is_not_declared_is_refused():
    found = declared(NOTHING, bounds={"age": (0, 1)}, domains={"sex": ["f"]})
    with pytest.raises(ParameterError, match=r"no declared bounds.*not from the data"):
        found.bounds_of("cost")
    with pytest.raises(ParameterError, match=r"no declared domain.*not from the data"):
        found.domain_of("zip")


def test_columns_the_table_lacks_are_refused():
    with pytest.raises(SchemaError, match="no column 'agee'"):
        table(pl.DataFrame({"age": [1]}), bounds={"agee": (0, 1)})


def test_types_that_can_have_no_bounds_are_refused():
    frame = pl.DataFrame(
        {"day": [dt.date(2024, 1, 1)], "list": [[1]], "moment": [dt.datetime(2024, 1, 1)]}
    )
    for column in ("day", "list", "moment"):
        with pytest.raises(SchemaError, match="bounds need numbers"):
            table(frame, bounds={column: (0, 1)})
    with pytest.raises(SchemaError, match="a domain needs"):
        table(frame, domains={"moment": ["2024-01-01"]})
    assert table(frame, domains={"day": ["2024-01-01"]}).codes("day").tolist() == [0]


NUMBERS = [1.0, None, math.nan, math.inf, -math.inf, 250.0, -3.0]


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "arrow"]
)
def test_numbers_are_moved_into_the_bounds(make):
    values, present = table(make({"x": NUMBERS}), bounds={"x": (0, 100)}).numbers("x")
    assert present.tolist() == [True, False, False, True, True, True, True]
    assert values[present].tolist() == [1.0, 100.0, 0.0, 100.0, 0.0]
    values, present = table(
        make({"x": NUMBERS}), bounds={"x": (0, 100)}, missing={"x": 40}
    ).numbers("x")
    assert present.all() and values.tolist()[:3] == [1.0, 40.0, 40.0]


def test_text_among_numbers_is_missing_and_no_error():
    values, present = table(
        pl.DataFrame({"x": ["1", "much", None, "3.5"]}), bounds={"x": (0, 10)}
    ).numbers("x")
    assert present.tolist() == [True, False, False, True] and values[present].tolist() == [1.0, 3.5]


@pytest.mark.parametrize(
    ("values", "domain", "expected"),
    [
        (["f", "m", "x", None], ["m", "f"], [1, 0, 2, 2]),
        ([33, 34, None], ["33", "one"], [0, 2, 2]),
        ([33.0, 0.5, math.nan, math.inf, None], ["0.5", "33", "inf", "nan"], [1, 0, 4, 4, 4]),
        ([True, False, None], ["true", "false"], [0, 1, 2]),
        ([None, None], ["a"], [1, 1]),
        ([], ["a"], []),
        (["a"] * 3, ["b"], [1, 1, 1]),
    ],
    ids=str,
)
def test_words_have_their_place_and_the_rest_is_outside(values, domain, expected):
    assert (
        table(pl.DataFrame({"x": values}, strict=False), domains={"x": domain}).codes("x").tolist()
        == expected
    )


def test_missing_words_count_as_their_default():
    made = table(
        pl.DataFrame({"x": ["a", None, "z"]}), domains={"x": ["a", "?"]}, missing={"x": "?"}
    )
    assert made.codes("x").tolist() == [0, 1, 2]
    made = table(
        pl.DataFrame({"x": [1.0, math.nan, None]}), domains={"x": ["1", "0"]}, missing={"x": "0"}
    )
    assert made.codes("x").tolist() == [0, 1, 1]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30), st.integers(1, 4))
def test_at_most_c_rows_of_a_unit_count(units, contributions):
    frame = pl.DataFrame({"who": units}, schema={"who": pl.String})
    counts = rows_that_count(sf.read(frame), Relation("who", "add_remove", contributions))
    for unit in ("a", "b", "c"):
        rows = [kept for who, kept in zip(units, counts, strict=True) if who == unit]
        assert sum(rows) == min(len(rows), contributions)
    assert not any(kept for who, kept in zip(units, counts, strict=True) if who is None)


def test_the_rows_that_count_are_chosen_at_random():
    """Each of 4 rows is chosen half of the time; 400 draws leave 130..270 with a probability below
    1e-11.
    """
    dataset = sf.read(pl.DataFrame({"who": ["a"] * 4}))
    chosen = np.sum(
        [rows_that_count(dataset, Relation("who", "add_remove", 2)) for _ in range(400)], axis=0
    )
    assert chosen.sum() == 800 and np.all((chosen > 130) & (chosen < 270))
