"""Schemas: which roles go together, what is looked up, what is refused."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.schema import COMBINABLE, Attribute, Kind, Missing, Role, Schema
from sfumato.core.source import Source
from sfumato.errors import ParameterError, SchemaError


@pytest.mark.parametrize("pair", list(combinations(Role, 2)), ids=str)
def test_roles_that_go_together(pair):
    if set(pair) <= COMBINABLE:
        assert Attribute(pair).roles == Attribute(pair[::-1]).roles
    else:
        with pytest.raises(ParameterError, match="cannot be combined"):
            Attribute(pair)


@given(st.lists(st.sampled_from(["quasi", "sensitive", "stratum"]), min_size=1))
def test_roles_are_a_set_in_a_fixed_order(roles):
    attribute = Attribute(tuple(roles))
    assert attribute.roles == tuple(r for r in Role if r in roles)
    assert all(attribute.has(r) == (r in roles) for r in Role)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"roles": ()}, "at least one role"),
        ({"roles": ("quazi",)}, "role 'quazi' is not known. Did you mean 'quasi'?"),
        ({"roles": ("quasi",), "kind": "number"}, "Did you mean 'numeric'?"),
        ({"roles": ("quasi",), "missing": "wild"}, "Did you mean 'wildcard'?"),
        ({"roles": ("person",), "unit": "minutes"}, "only a column with role 'time' has a unit"),
        ({"roles": ("time",), "unit": "weeks"}, "seconds, minutes, hours or days"),
        ({"roles": ("direct",)}, "role 'direct' is now called 'drop'"),
        ({"roles": ("plain",)}, "role 'plain' is now called 'keep'"),
        ({"roles": ("unit",)}, "role 'unit' is now called 'person' or 'household'"),
    ],
)
def test_wrong_attributes(fields, told):
    with pytest.raises(ParameterError) as refused:
        Attribute(**fields)
    assert told in str(refused.value)


def test_words_become_members():
    attribute = Attribute(("quasi",), kind="date", missing="wildcard")
    assert attribute.kind is Kind.DATE
    assert attribute.missing is Missing.WILDCARD


def test_roles_by_column_or_list():
    schema = Schema.from_roles({"quasi": ["a", "b"], "sensitive": "b", "drop": "c"})
    assert schema.quasi == ("a", "b")
    assert schema.sensitive == ("b",)
    assert schema.dropped_columns == ("c",)
    assert schema.columns(Role.KEEP) == ()


def test_only_one_weight_and_one_person():
    several = Schema.from_roles({"weight": ["v", "w"], "person": ["p", "q"], "keep": "x"})
    with pytest.raises(SchemaError, match="2 have it: v, w"):
        several.only(Role.WEIGHT)
    with pytest.raises(SchemaError, match="2 do: p, q"):
        _ = several.person
    household = several.replace("q", roles=("household",))
    assert household.person == "p"
    assert household.without(["v", "w"]).only(Role.WEIGHT) is None


def test_looking_up_and_changing():
    schema = Schema.from_roles({"quasi": ["zip", "age"]})
    with pytest.raises(SchemaError, match="Did you mean 'zip'"):
        _ = schema["zipcode"]
    with pytest.raises(SchemaError, match="no column 'sex'"):
        schema.replace("sex", kind="nominal")
    changed = schema.replace("zip", kind="ordinal")
    assert schema["zip"].kind is Kind.NOMINAL
    assert changed["zip"].kind is Kind.ORDINAL
    assert list(changed.attributes) == ["zip", "age"]


def test_a_schema_keeps_its_own_copy():
    given_by_user = {"a": Attribute(("quasi",))}
    schema = Schema(given_by_user)
    given_by_user["b"] = Attribute(("keep",))
    assert list(schema.attributes) == ["a"]


def test_check_lists_columns_missing_and_columns_without_role():
    schema, visits = (
        Schema.from_roles({"quasi": ["age", "zip", "sex"]}),
        Source("visits.csv", "csv"),
    )
    with pytest.raises(SchemaError) as refused:
        schema.check(["age", "zipcode", "name", "sex"], visits)
    told = refused.value.problems
    assert told[0] == "visits.csv has no column 'zip'. Did you mean 'zipcode'?"
    assert [t.split(";")[0] for t in told[1:]] == [
        "columns 'zipcode', 'name' of visits.csv have no role"
    ]
    schema.check(["zip", "age", "sex"], visits)


def test_a_first_row_that_may_be_a_record_is_not_shown():
    with pytest.raises(SchemaError) as refused:
        Schema.from_roles({"quasi": ["age", "zip"]}).check(
            ["Alice", "53711", "41"], Source("visits.csv", "csv")
        )
    told = str(refused.value)
    assert "Alice" not in told and "53711" not in told
    assert "lacks columns 'age', 'zip'" in told and "--no-header" in told
    assert "columns 1, 2, 3 of visits.csv have no role" in told


def test_a_header_that_is_not_confirmed_is_told_by_position():
    schema, visits = (
        Schema.from_roles({"quasi": ["age", "zip", "sex", "town"]}),
        Source("visits.csv", "csv"),
    )
    with pytest.raises(SchemaError) as refused:
        schema.check(
            ["age", "towns", "sex", "Alice"], visits
        )  # half of the names is not more than half
    told = str(refused.value)
    assert (
        "towns" not in told
        and "Alice" not in told
        and "columns 2, 4 of visits.csv have no role" in told
    )
    with pytest.raises(SchemaError, match="Did you mean 'towns'"):
        schema.check(["age", "towns", "sex", "Alice"], Source("visits.parquet", "parquet"))
