"""How tables belong together: one table of people, and a tree of tables below it."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core.relations import Link, canonical, links_of, with_keys
from sfumato.core.schema import Role, Schema
from sfumato.errors import SchemaError


def schema_of(table, *, key=None, **belongs_to):
    return with_keys(table, Schema.from_roles({"quasi": ["day"]}), key=key, belongs_to=belongs_to)


def test_people_come_first_and_every_table_behind_its_parent():
    schemas = {
        "drugs": schema_of("drugs", visits="visit"),
        "visits": schema_of("visits", key="visit", people="who"),
        "people": schema_of("people", key="who"),
    }
    links = links_of(schemas)
    assert [link.table for link in links] == ["people", "visits", "drugs"]
    assert links[1] == Link("visits", "visit", "who", "people")
    assert links[1].columns == ("visit", "who")


@pytest.mark.parametrize(
    ("schemas", "words"),
    [
        ({"a": {"key": "i", "b": "j"}, "b": {"key": "j", "a": "i"}}, "none holds the people"),
        ({"a": {"key": "i"}, "b": {"key": "j"}}, "belong to no other table"),
        ({"a": {"key": "i"}, "b": {"c": "i"}}, "no such table"),
        ({"a": {}, "b": {"a": "i"}}, "has no key"),
        ({"a": {"key": "i"}, "b": {"key": "j", "b": "i"}}, "belongs to itself"),
        (
            {"a": {"key": "i"}, "b": {"key": "j", "c": "k"}, "c": {"key": "k", "b": "j"}},
            "in a circle",
        ),
    ],
)
def test_what_is_no_tree_below_people_is_refused(schemas, words):
    described = {name: schema_of(name, **keys) for name, keys in schemas.items()}
    with pytest.raises(SchemaError, match=words):
        links_of(described)


@pytest.mark.parametrize(
    ("values", "compared"),
    [
        ([7.0, None, 12.0], [7, None, 12]),
        ([7.5, 7.0], ["7.5", "7"]),
        (["7.00", "-3.0", "07", "7.10"], ["7", "-3", "07", "7.10"]),
        ([float("nan"), 2.0], [None, 2]),
    ],
)
def test_keys_are_compared_as_whole_numbers_or_text(values, compared):
    assert canonical(pl.Series(values, strict=False)).to_list() == compared


def test_a_key_takes_the_place_of_a_column_that_is_not_released():
    schema = Schema.from_roles({"drop": ["who"], "quasi": ["day"]})
    keyed = with_keys("visits", schema, belongs_to={"people": "who"}, orphans="drop")
    assert keyed["who"].has(Role.KEY)
    assert Link.of("visits", keyed).orphans == "drop"


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        ("a/b", {}, "letters, digits"),
        ("a", {"belongs_to": {"b": "i", "c": "j"}}, "one table only"),
        ("a", {"orphans": "keep"}, "'refuse' or 'drop'"),
        ("a", {"key": 3}, "name columns"),
        ("a", {"key": "i", "belongs_to": {"b": "i"}}, "same column"),
        ("a", {"key": "day"}, "is a key and has role"),
    ],
)
def test_keys_that_cannot_be_are_refused(table, arguments, words):
    with pytest.raises(SchemaError, match=words):
        with_keys(table, Schema.from_roles({"quasi": ["day"]}), **arguments)
