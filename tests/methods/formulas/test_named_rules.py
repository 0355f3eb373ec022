"""Rules as people write them, and the items of a table that they are about."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Schema
from sfumato.errors import SchemaError
from sfumato.methods.formulas.named_rules import (
    Item,
    NamedRule,
    TableItems,
    all_parsed,
    item_columns,
    parse,
    require_columns,
)
from sfumato.methods.formulas.rules import Thresholds

FRAME = pl.DataFrame(
    {
        "smoker": ["yes", "yes", "no", None],
        "ill": ["lung", "lung", "flu", "flu"],
        "age": [1, 2, 3, 4],
    }
)
TABLE = sf.read(FRAME).with_roles(keep=["smoker", "ill"], quasi=["age"])


def test_a_rule_written_in_another_order_is_the_same_rule():
    first, second = "b=2, a=1 -> c=x", "a=1,b=2 → c=x"
    assert parse(first) == parse(second)
    assert all_parsed([first, second]) == (parse(first),)
    mapping = {"if": {"b": "2", "a": "1"}, "then": {"c": "x"}}
    assert parse(mapping) == parse(first)


def test_values_may_be_left_open_or_hold_commas():
    assert parse("smoker -> ill=lung").left == (Item("smoker"),)
    rule = parse({"if": {"note": "a, b -> c"}, "then": {"ill": None}})
    assert rule == NamedRule((Item("note", "a, b -> c"),), (Item("ill"),))
    assert parse("bread, butter -> wine", values=False).columns == ("bread", "butter", "wine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a -> b -> c", "one arrow"),
        ("a=1 ->", "names? columns"),
        ("a=1, a=2 -> b", "twice"),
        ("a= -> b", "names? columns"),
        ({"then": {"a": 1}}, "'if' and 'then'"),
        ({"if": "a"}, "map columns"),
    ],
)
def test_what_is_no_rule_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_columns_that_are_not_released_are_refused():
    schema = Schema.from_roles({"drop": ["name"], "keep": ["ill"]})
    with pytest.raises(SchemaError, match="direct identifier") as error:
        require_columns("hide_rules", [parse("name -> ill"), parse("il -> ill")], schema)
    assert len(error.value.problems) == 2


def test_items_are_categories_and_the_columns_of_rules():
    assert item_columns(TABLE.schema, [], None) == ("ill", "smoker")
    assert item_columns(TABLE.schema, [parse("age=1 -> ill")], ["smoker"]) == (
        "age",
        "ill",
        "smoker",
    )


def test_items_of_a_table_and_back():
    items = TableItems.of(TABLE, ("ill", "smoker"))
    assert items.numbers(Item("smoker", "sometimes")) == []
    (lung,) = items.numbers(Item("ill", "lung"))
    assert items.column_of(lung) == "ill"
    assert sorted(items.numbers(Item("ill"))) == sorted(
        number for value in ("lung", "flu") for number in items.numbers(Item("ill", value))
    )
    # A missing cell is no item: seven cells of eight.
    assert len(items.transactions.items) == 7
    rule = parse("smoker -> ill")
    meant = items.meant([rule], Thresholds(2, 0.5))
    assert [items.told(association) for association in meant] == [
        parse("smoker=yes -> ill=lung"),
    ]
    assert items.meant([parse("smoker=never -> ill")], Thresholds(1, 0.5)) == []
