"""Recoding by rule: mappings of categories, ranges of numbers."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import registry
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from tests.methods.steps.masking_contract import people, run
from tests.oracles import masking as oracle


def recoded(values, **rule):
    return run(sf.Recode(["x"], **rule), Table(pl.DataFrame({"x": values})))


@given(
    values=st.lists(st.floats(-50, 50) | st.none(), min_size=1, max_size=20),
    breaks=st.lists(st.integers(-40, 40), min_size=1, max_size=4, unique=True).map(sorted),
)
def test_ranges_are_where_the_oracle_puts_numbers(values, breaks):
    made = recoded(pl.Series(values, dtype=pl.Float64), breaks=breaks)[1].column("x").to_list()
    assert made == [None if v is None else oracle.range_label(v, breaks) for v in values]


def test_ranges_are_read_by_the_hierarchy_of_intervals():
    attribute = Attribute(
        (Role.QUASI,), Kind.NUMERIC, hierarchy=sf.intervals(10, 20, open_below=20, open_above=80)
    )
    table = Table(pl.DataFrame({"x": [15, 20, 45, 99]}), Schema({"x": attribute}))
    plan, made = run(sf.Recode(["x"], breaks=[20, 40, 60, 80]), table)
    assert made.column("x").to_list() == ["<20", "[20, 40)", "[40, 60)", ">=80"]
    assert made.schema["x"].hierarchy is not None and plan.warnings == ()
    assert made.schema["x"].order == ("<20", "[20, 40)", "[40, 60)", "[60, 80)", ">=80")
    plan, made = run(sf.Recode(["x"], breaks=[33]), table)
    assert made.schema["x"].hierarchy is None and "does not know" in plan.warnings[0]


def test_mappings_and_what_they_do_not_name():
    mapping = {"a": "vowel", "e": "vowel", "b": "other letter"}
    assert recoded(["a", "e", "b", None], mapping=mapping)[1].column("x").to_list() == [
        "vowel",
        "vowel",
        "other letter",
        None,
    ]
    with pytest.raises(SchemaError, match="2 value"):
        recoded(["a", "secret", "hidden"], mapping=mapping)
    kept = recoded(["a", "e", "z"], mapping=mapping, unmapped="keep")
    assert kept[1].column("x").to_list() == ["vowel", "vowel", "z"]
    assert "1 value(s) that the mapping names do not occur" in kept[0].warnings[0]
    rest = recoded(["a", "y", "z"], mapping=mapping, unmapped="other", other="rest")[1]
    assert rest.column("x").to_list() == ["vowel", "rest", "rest"]


def test_no_error_shows_a_value():
    with pytest.raises(SchemaError) as refused:
        recoded(["a", "secret"], mapping={"a": "b"})
    assert "secret" not in str(refused.value)


def test_numbers_stay_numbers_where_they_can():
    codes = recoded([1, 2, 3, None], mapping={1: 1, 2: 1, 3: 9})[1].column("x")
    assert codes.dtype == pl.Int64 and codes.to_list() == [1, 1, 9, None]
    assert recoded([1.0, 2.5], mapping={1: 3, 2.5: 3.5})[1].column("x").to_list() == [3.0, 3.5]
    assert recoded([True, False], mapping={"true": "yes", "false": "no"})[1].column(
        "x"
    ).to_list() == ["yes", "no"]
    assert recoded([1, 2], mapping={1: "one", 2: "many"})[1].column("x").to_list() == [
        "one",
        "many",
    ]


def test_renaming_alone_is_warned_of():
    assert "protect nobody" in recoded(["a", "b"], mapping={"a": "x", "b": "y"})[0].warnings[0]
    assert recoded(["a", "b"], mapping={"a": "x", "b": "x"})[0].warnings == ()


def test_order_is_kept_where_neighbours_were_joined():
    joined = sf.Recode(["school"], mapping={"low": "low", "middle": "upper", "high": "upper"})
    assert run(joined, people())[1].schema["school"].order == ("low", "upper")
    torn = sf.Recode(["school"], mapping={"low": "extreme", "middle": "middle", "high": "extreme"})
    made = run(torn, people())[1].schema["school"]
    assert made.order is None and made.kind is Kind.NOMINAL
    for step in (joined, torn):
        released = step.released_schema(people().schema, people().columns)
        assert released["school"] == run(step, people())[1].schema["school"]


def test_the_mapping_is_marked_as_secret_and_survives_yaml():
    assert sf.Recode.secret == ("mapping",)
    step = sf.Recode(["x"], mapping={1: "one", 2.0: "two"})
    assert registry.write(step) == {
        "recode": {"columns": ["x"], "mapping": {"1": "one", "2": "two"}}
    }


def test_bad_columns():
    with pytest.raises(SchemaError, match="must hold numbers"):
        recoded(["a"], breaks=[1])
    assert (
        recoded([None, None], mapping={"a": "b"}, unmapped="keep")[1].column("x").null_count() == 2
    )
    assert (
        recoded(pl.Series([None, None], dtype=pl.Int64), breaks=[1])[1].column("x").null_count()
        == 2
    )
