"""Baskets from tables and back, and everything that can be wrong with them."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from sfumato import examples
from sfumato.core.data import is_data
from sfumato.core.schema import Attribute, Schema
from sfumato.core.source import Source
from sfumato.data.baskets.baskets import Baskets
from sfumato.errors import SchemaError
from sfumato.methods.hierarchies import tree
from tests.data.baskets.ten import BASKETS, people_of, sets_of

ROLES = {
    "person": "who",
    "item": "what",
    "quasi": "age",
    "sensitive": "ill",
    "keep": "stars",
    "drop": "name",
}
LONG = pl.DataFrame(
    {
        "who": ["p2", "p1", "p2", "p2", "p3", "p4"],
        "what": ["tea", "milk", "milk", "tea", None, "  "],
        "age": [30, 20, 30, 30, 40, 50],
        "ill": ["a", "b", "a", "a", None, "c"],
        "stars": [1, 5, 3, 2, None, None],
        "name": ["x", "y", "x", "x", "z", "w"],
    }
)


def read(table, roles=None, people=None, people_roles=None):
    schemas = {"data": Schema.from_roles(ROLES if roles is None else roles)}
    tables = {"data": table}
    if people is not None:
        tables["people"] = people
    if people_roles is not None:
        schemas["people"] = Schema.from_roles(people_roles)
    return Baskets.from_tables(tables, schemas, Source(name="visits.csv"))


def test_rows_of_items():
    people = read(LONG)
    assert is_data(people)
    assert sets_of(people) == [{"milk"}, {"milk", "tea"}, set(), set()]
    assert people.own.to_dict(as_series=False) == {
        "age": [20, 30, 40, 50],
        "ill": ["b", "a", None, "c"],
    }
    assert people.counts() == {"people": 4, "items": 2, "occurrences": 3, "empty": 2}
    assert people.grades["stars"].tolist() == [
        5.0,
        3.0,
        1.5,
    ]  # the mean of what was said of tea twice
    assert "name" not in people.schema.attributes
    assert people.notes == (
        "1 repeated item of a person counts once.",
        "1 item of blanks alone is missing.",
        "2 people have no item: no promise covers them.",
        ("Columns that describe single items are not released and only used by attacks: stars."),
    )


def test_rows_are_written_as_they_were_read():
    people = read(LONG)
    (table,) = people.to_tables().values()
    assert table.columns == ["who", "what", "age", "ill"]
    assert table.rows() == [
        (1, "milk", 20, "b"),
        (2, "milk", 30, "a"),
        (2, "tea", 30, "a"),
        (3, None, 40, None),
        (4, None, 50, "c"),
    ]


def test_lists_of_items():
    table = pl.DataFrame({"what": [["b", "a", "b"], [], None, ["c", None]], "age": [1, 2, 3, 4]})
    people = read(table, {"item": "what", "quasi": "age"})
    assert sets_of(people) == [{"a", "b"}, set(), set(), {"c"}]
    assert people.to_tables()["data"].to_dict(as_series=False) == {
        "what": [["a", "b"], [], [], ["c"]],
        "age": [1, 2, 3, 4],
    }
    named = read(
        table.with_columns(who=pl.Series(["z", "y", "x", "w"])),
        {"person": "who", "item": "what", "quasi": "age"},
    )
    assert named.to_tables()["data"]["who"].to_list() == [1, 2, 3, 4]


def test_whole_numbers_stay_whole_numbers_until_a_group_comes():
    people = read(pl.DataFrame({"what": [[3, 10], [3]]}), {"item": "what"})
    assert people.labels == ("10", "3")
    assert people.to_tables()["data"]["what"].to_list() == [[10, 3], [3]]
    coarse = people.with_sets(people.sets, ("group", "3"))
    assert coarse.to_tables()["data"]["what"].to_list() == [["3", "group"], ["3"]]


@given(BASKETS)
def test_what_is_written_is_read_back(baskets):
    for people in (people_of(baskets, list(range(len(baskets)))), _long(baskets)):
        moved = people.shuffled(np.random.default_rng(2))
        again = Baskets.from_tables(moved.to_tables(), {"data": moved.schema}, Source())
        assert sets_of(again) == sets_of(moved) == [baskets[person] for person in moved.origin]
        assert again.to_tables()["data"].equals(moved.to_tables()["data"])
        assert again.counts() == people.counts()


def _long(baskets):
    rows = [(p, item) for p, own in enumerate(baskets) for item in sorted(own) or [None]]
    table = pl.DataFrame(rows, schema={"who": pl.Int64, "what": pl.String}, orient="row")
    return read(table, {"person": "who", "item": "what"})


def test_the_order_of_rows_tells_nothing():
    again = read(LONG.reverse())
    assert again.to_tables()["data"].equals(read(LONG).to_tables()["data"])


def test_people_in_a_table_of_their_own():
    people = pl.DataFrame({"who": ["p9", "p1", "p2"], "age": [9, 1, 2], "name": ["n", "o", "m"]})
    data = pl.DataFrame({"who": ["p2", "p1", "p2"], "what": ["a", "b", "c"]})
    roles = {"person": "who", "quasi": "age", "drop": "name"}
    baskets = read(data, {"person": "who", "item": "what"}, people, roles)
    assert sets_of(baskets) == [{"b"}, {"a", "c"}, set()]  # in the order of their names
    assert baskets.quasi == ("age",)
    tables = baskets.shuffled(np.random.default_rng(4)).to_tables()
    assert list(tables) == ["data", "people"]
    assert tables["people"].columns == ["who", "age"]
    again = Baskets.from_tables(
        tables, {"data": baskets.schema, "people": baskets.beside}, Source()
    )
    assert sorted(zip(map(sorted, sets_of(again)), again.own["age"].to_list(), strict=True)) == [
        ([], 9),
        (["a", "c"], 2),
        (["b"], 1),
    ]
    lists = pl.DataFrame({"who": ["p1", "p2"], "what": [["a"], ["b"]]})
    listed = read(lists, {"person": "who", "item": "what"}, people, roles)
    assert listed.own["age"].to_list() == [1, 2]


WRONG = {
    "no item": (
        LONG,
        {**ROLES, "item": [], "keep": ["stars", "what"]},
        "one column with role item, but 0",
    ),
    "two items": (
        LONG,
        {**ROLES, "item": ["what", "ill"], "sensitive": []},
        "one column with role item, but 2",
    ),
    "nobody's": (LONG, {**ROLES, "person": [], "keep": ["stars", "who"]}, "must name the person"),
    "no role": (
        LONG,
        {k: v for k, v in ROLES.items() if k != "quasi"},
        "'age' of visits.csv has no role",
    ),
    "no column": (LONG.drop("age"), ROLES, "no column 'age'"),
    "another shape": (
        LONG,
        {**ROLES, "keep": [], "time": "stars"},
        ", which baskets do not use",
    ),
    "weights": (LONG, {**ROLES, "keep": [], "weight": "stars"}, "has role weight"),
    "no person": (
        LONG.with_columns(who=pl.Series([None, *["p"] * 5])),
        ROLES,
        r"1 row\(s\) of visits.csv have no value in 'who'",
    ),
    "torn": (
        LONG.with_columns(age=pl.Series(range(6))),
        ROLES,
        "'age' of visits.csv describes people, but differs .* 2 time",
    ),
    "torn text": (
        LONG.with_columns(stars=pl.Series(list("abcdef"))),
        ROLES,
        "'stars' of visits.csv describes people",
    ),
    "a day is no item": (
        LONG.with_columns(what=pl.lit(datetime.date(2024, 1, 1))),
        ROLES,
        "must hold words, numbers or lists",
    ),
    "twice in lists": (
        pl.DataFrame({"who": [1, 1], "what": [["a"], ["b"]]}),
        {"person": "who", "item": "what"},
        r"1 row\(s\) of visits.csv repeat a person",
    ),
}


@pytest.mark.parametrize(("table", "roles", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_without_a_value(table, roles, message):
    with pytest.raises(SchemaError, match=message) as refused:
        read(table, roles)
    assert not any(value in str(refused.value) for value in ("p1", "p2", "milk", "tea"))


PEOPLE = pl.DataFrame({"who": ["p1", "p2"], "age": [1, 2]})
PEOPLE_ROLES = {"person": "who", "quasi": "age"}
DATA = pl.DataFrame({"who": ["p1", "p2"], "what": ["a", "b"]})
BESIDE = {
    "undescribed": (DATA, PEOPLE, None, "need a description"),
    "strangers": (
        DATA.vstack(pl.DataFrame({"who": ["p7"], "what": ["a"]})),
        PEOPLE,
        PEOPLE_ROLES,
        r"1 person\(s\) of visits.csv are missing from",
    ),
    "twice": (DATA, PEOPLE.vstack(PEOPLE), PEOPLE_ROLES, r"repeat a person or name none"),
    "no unit": (DATA, PEOPLE, {"keep": "who", "quasi": "age"}, "must have role person"),
    "in both": (DATA.with_columns(age=1), PEOPLE, PEOPLE_ROLES, "keep them in one"),
}


@pytest.mark.parametrize(("data", "people", "roles", "message"), BESIDE.values(), ids=BESIDE.keys())
def test_a_table_of_people_that_does_not_fit(data, people, roles, message):
    own = {"person": "who", "item": "what", **({"quasi": "age"} if "age" in data.columns else {})}
    with pytest.raises(SchemaError, match=message) as refused:
        read(data, own, people, roles)
    assert "p7" not in str(refused.value)


def test_items_missing_from_the_hierarchy_are_counted():
    people = people_of([{"a1", "zz"}, {"yy"}])
    with pytest.raises(SchemaError, match="2") as refused:
        _ = people.taxonomy
    assert "zz" not in str(refused.value)


def test_hierarchies_whose_labels_cannot_be_told_apart():
    def bound(nested):
        table = pl.DataFrame({"what": [["x", "y"], ["z"]]})
        schema = Schema({"what": Attribute(("item",), hierarchy=tree(nested))})
        return Baskets.from_tables({"data": table}, {"data": schema}, Source()).taxonomy

    with pytest.raises(SchemaError, match="more than one group"):
        bound({"*": {"G": {"H": ["x"]}, "K": {"G": ["y", "z"]}}})
    with pytest.raises(SchemaError, match="no level above"):
        examples.baskets().taxonomy.of(_Flat(), ("x",), "what")
    one = bound({"*": {"x": None, "y": None, "z": None}})
    assert one.labels[one.root] == "*"


class _Flat:
    """A hierarchy without a level above its items."""

    def ladder(self, values, *, missing):
        from sfumato.core.hierarchy import bind

        return bind(None, list(values), [1] * len(values))


def test_an_item_that_is_a_group_stands_below_it():
    taxonomy = people_of([{"A", "a1"}, {"*"}, {"P"}]).taxonomy
    for item, label in enumerate(taxonomy.labels[: taxonomy.items]):
        above = [taxonomy.labels[node] for node in taxonomy.above(item)]
        assert (
            above
            == {"A": ["A", "P", "*"], "a1": ["A", "P", "*"], "*": ["*"], "P": ["P", "*"]}[label]
        )
    assert taxonomy.loss[[taxonomy.labels.index(one) for one in ("A", "a1", "*")]] == pytest.approx(
        [3 / 7, 0, 1]
    )
    assert taxonomy.under(taxonomy.root).tolist() == taxonomy.order.tolist()


def test_nothing_shows_an_item():
    people = examples.baskets()
    for shown in (people, people.taxonomy, people.shuffled(np.random.default_rng(0))):
        assert not any(label in repr(shown) for label in people.labels)


def test_examples():
    people = examples.purchases(300, items=120, seed=3)
    again = examples.purchases(300, items=120, seed=3)
    assert people.to_tables()["data"].equals(again.to_tables()["data"])
    assert people.quasi == ("age", "region")
    assert people.taxonomy.height == 3
    assert not people.to_tables()["data"].equals(
        examples.purchases(300, items=120, seed=4).to_tables()["data"]
    )


def released(people) -> list[str]:
    """The bytes of the tables of a release with one seed."""
    return [
        table.write_json()
        for table in people.shuffled(np.random.default_rng(3)).to_tables().values()
    ]


def test_the_order_of_a_file_tells_nothing_whatever_its_form():
    held = pl.DataFrame(
        {"who": ["p3", "p1", "p2"], "what": [["b"], ["a", "b"], []], "age": [3, 1, 2]}
    )
    for roles in (
        {"person": "who", "item": "what", "quasi": "age"},
        {"drop": "who", "item": "what", "quasi": "age"},
    ):
        assert (
            released(read(held, roles))
            == released(read(held.reverse(), roles))
            == released(read(held[[1, 0, 2]], roles))
        )
    data = pl.DataFrame({"who": ["p2", "p1", "p2"], "what": ["a", "b", "c"]})
    people = pl.DataFrame({"who": ["p9", "p1", "p2"], "age": [9, 1, 2]})
    both = [
        read(data, {"person": "who", "item": "what"}, beside, {"person": "who", "quasi": "age"})
        for beside in (people, people.reverse())
    ]
    assert released(both[0]) == released(both[1])


@pytest.mark.parametrize("what", [["a", "b"], [["a"], ["b"]]], ids=["long", "list"])
def test_a_table_of_people_may_hold_nothing_but_who_they_are(what):
    data = pl.DataFrame({"who": ["p2", "p1"], "what": what})
    people = pl.DataFrame({"who": ["p1", "p2"], "name": ["x", "y"]})
    baskets = read(
        data, {"person": "who", "item": "what"}, people, {"person": "who", "drop": "name"}
    )
    assert baskets.to_tables()["people"].to_dict(as_series=False) == {"who": [1, 2]}
    assert sets_of(baskets) == [{"b"}, {"a"}]
