"""Several tables as a noun: keys are looked up, drops cascade, what is shown is what stands in the
tables.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.data import is_data
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.data.relational.from_tables import resolved
from sfumato.data.relational.tables import RelatedTables
from sfumato.errors import ParameterError, RecipeError, ReleaseRefused, SchemaError
from tests.data.relational.random_relations import relations

PEOPLE = pl.DataFrame(
    {"id": ["p1", "p2", "p3", "p4", "p5", "p6"], "class": ["A", "A", "A", "B", "B", "B"]}
)
VISITS = pl.DataFrame(
    {
        "who": ["p1", "p2", "p3", "p3", "p3", "p3", "p4", "p4", "p5", "p5", "p6", "p6"],
        "ward": [
            "cardio",
            "cardio",
            "cardio",
            "onco",
            "cardio",
            "derm",
            "derm",
            "onco",
            "derm",
            "onco",
            "derm",
            "derm",
        ],
    }
)
SAID = {
    "people": {"key": "id", "columns": {"class": "quasi"}},
    "visits": {"belongs_to": {"people": "who"}, "columns": {"ward": "quasi"}},
}
"""Twelve visits of six persons: the worked example of several tables."""


def six():
    return sf.read_tables({"people": PEOPLE, "visits": VISITS}, SAID)


def test_the_noun_is_one():
    people = six()
    assert is_data(people)
    assert isinstance(people, RelatedTables)
    assert people.shape is Shape.TABLES
    assert repr(people) == "RelatedTables(6 people, 12 rows of visits)"


@given(relations())
@settings(max_examples=25)
def test_owners_are_those_found_one_key_after_the_other(drawn):
    people = sf.read_tables(drawn.frames, drawn.said)
    for rows in people.parts:
        assert rows.owner.tolist() == [drawn.owner_of(rows.name, i) for i in range(len(rows))]
    shown = people.shown()
    for rows in shown.rows:
        colours = drawn.frames[rows.table]["colour"].to_list()
        same = {(a, b) for a, b in zip(colours, rows.shows.tolist(), strict=True)}
        assert len(same) == len(set(colours)) == len(set(rows.shows.tolist()))


@given(relations(), st.data())
@settings(max_examples=25)
def test_rows_go_with_all_that_belongs_to_them(drawn, data):
    people = sf.read_tables(drawn.frames, drawn.said)
    name = data.draw(st.sampled_from([rows.name for rows in people.parts]))
    size = len(people[name])
    stays = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    left = people.kept({name: stays})
    for rows in left.parts:
        expected = [
            i for i in range(len(people[rows.name])) if _survives(drawn, rows.name, i, name, stays)
        ]
        assert (
            np.arange(len(people[rows.name])) if rows.origin is None else rows.origin
        ).tolist() == expected
        was = people[rows.name]
        assert left.origin[rows.owner].tolist() == was.owner[expected].tolist()
        if not rows.is_people:
            over = left[rows.link.parent]
            assert over.origin[rows.above].tolist() == was.above[expected].tolist()


def _survives(drawn, table, row, gone, stays):
    if table == gone and not stays[row]:
        return False
    said = drawn.said[table]
    if "belongs_to" not in said:
        return True
    ((parent, column),) = said["belongs_to"].items()
    keys = drawn.frames[parent][drawn.said[parent]["key"]].to_list()
    return _survives(drawn, parent, keys.index(drawn.frames[table][column][row]), gone, stays)


@given(relations(), st.integers(0, 99))
@settings(max_examples=20)
def test_shuffling_changes_the_order_and_nothing_else(drawn, seed):
    people = sf.read_tables(drawn.frames, drawn.said)
    mixed = people.shuffled(np.random.default_rng(seed))
    for rows in mixed.parts:
        was = people[rows.name]
        assert sorted(rows.origin.tolist()) == list(range(len(was)))
        assert mixed.origin[rows.owner].tolist() == was.owner[rows.origin].tolist()
        assert rows.frame.equals(was.frame[rows.origin], null_equal=True)


@given(relations())
@settings(max_examples=20)
def test_what_is_written_is_read_as_the_same_tables(drawn):
    people = sf.read_tables(drawn.frames, drawn.said).sealed(Seed(1))
    written = people.to_tables()
    again = RelatedTables.from_tables(written, people.schemas, people.source)
    assert people.same(again)
    assert not any(
        set(map(str, frame[c].to_list())) & drawn.keys
        for frame in written.values()
        for c in frame.columns
    )
    moved = again.with_rows(
        again.parts[-1].taken(
            np.arange(len(again.parts[-1]))[::-1],
            again.parts[-1].above[::-1],
            again.parts[-1].owner[::-1],
        )
    )
    differs = (
        not moved.parts[-1].frame.equals(again.parts[-1].frame, null_equal=True)
        or again.parts[-1].above.tolist() != moved.parts[-1].above.tolist()
    )
    assert people.same(moved) is not differs


@pytest.mark.parametrize(
    ("foreign", "keys"),
    [
        (pl.Series([3, None, 1, 9]), pl.Series([1, 2, 3])),
        (pl.Series(["3", None, "1", "x"]), pl.Series([1, 2, 3])),
        (pl.Series([3.0, None, 1.0, 9.0]), pl.Series(["1", "2", "3"])),
        (pl.Series([3, None, 1, 9], dtype=pl.Int8), pl.Series([1, 2, 3], dtype=pl.UInt64)),
        (pl.Series(["3", None, "1", "9"], dtype=pl.Categorical), pl.Series(["1", "2", "3"])),
    ],
)
def test_keys_are_compared_as_what_they_say(foreign, keys):
    assert resolved(foreign, keys).tolist() == [2, -1, 0, -1]


def test_leading_zeros_are_part_of_a_key():
    assert resolved(pl.Series(["01", "1"]), pl.Series(["1", "2"])).tolist() == [-1, 0]


TABLES = examples.clinic_tables(30)
CLINIC = {
    "people": {
        "key": "person_id",
        "columns": {
            "name": "drop",
            "age": "quasi",
            "sex": "quasi",
            "region": "quasi",
            "diagnosis": "sensitive",
        },
    },
    "visits": {
        "key": "visit_id",
        "belongs_to": {"people": "person_id"},
        "columns": {"ward": "quasi", "month": "quasi", "cost": "keep"},
    },
    "prescriptions": {
        "belongs_to": {"visits": "visit_id"},
        "columns": {"drug": "sensitive", "days": "keep"},
    },
}


def said(table, **changes):
    spec = {key: value for key, value in {**CLINIC[table], **changes}.items() if value is not None}
    return {**CLINIC, table: spec}


def without_some_people():
    return {**TABLES, "people": TABLES["people"].head(20)}


BAD_TABLES = {
    "orphans": (
        without_some_people(),
        CLINIC,
        r"table 'visits': \d+ of \d+ row\(s\) belong to no row of 'people'",
    ),
    "no foreign key in some rows": (
        {
            **TABLES,
            "visits": (
                TABLES["visits"].with_columns(
                    pl.Series("person_id", [None, *TABLES["visits"]["person_id"][1:]])
                )
            ),
        },
        CLINIC,
        r"1 of \d+ row\(s\) belong to no row of 'people' \(1 have no 'person_id'\)",
    ),
    "a key twice": (
        {**TABLES, "people": pl.concat([TABLES["people"]] * 2)},
        CLINIC,
        "30 row\\(s\\) repeat the 'person_id' of another",
    ),
    "no key in some rows": (
        {
            **TABLES,
            "people": (
                TABLES["people"].with_columns(
                    pl.Series("person_id", [None, None, *TABLES["people"]["person_id"][2:]])
                )
            ),
        },
        CLINIC,
        r"2 row\(s\) have no 'person_id', which is their key",
    ),
    "an empty table": (
        {**TABLES, "visits": TABLES["visits"].head(0)},
        CLINIC,
        "table 'visits' has no rows",
    ),
    "a key that is not there": (
        {**TABLES, "visits": TABLES["visits"].drop("visit_id")},
        CLINIC,
        "table 'visits' has no column 'visit_id'",
    ),
    "numbers and text": (
        {
            **TABLES,
            "visits": (
                TABLES["visits"].with_columns(pl.col("person_id").str.slice(1).cast(pl.Int64))
            ),
        },
        CLINIC,
        "the keys are numbers in one table and text in the other",
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_that_do_not_join_are_refused_by_name(case):
    tables, relations_said, told = BAD_TABLES[case]
    with pytest.raises(SchemaError, match=told) as error:
        sf.read_tables(tables, relations_said)
    assert not any(key in str(error.value) for key in TABLES["people"]["person_id"])


BAD_RELATIONS = {
    "two tables of people": (
        said("visits", belongs_to=None),
        "people and visits belong to no other table",
    ),
    "nobody's": (
        said("people", belongs_to={"prescriptions": "rx"}),
        "every table belongs to another one",
    ),
    "an unknown table": (
        said("visits", belongs_to={"peopel": "person_id"}),
        "Did you mean 'people'",
    ),
    "itself": (said("visits", belongs_to={"visits": "person_id"}), "belongs to itself"),
    "a circle": (
        {
            **said("visits", belongs_to={"rx": "person_id"}),
            "rx": {"key": "n", "belongs_to": {"visits": "v"}, "columns": {}},
        },
        "visits, prescriptions, rx belong to each other in a circle",
    ),
    "no key to belong to": (said("people", key=None), "'people', which has no key"),
    "two parents": (
        said("visits", belongs_to={"people": "person_id", "prescriptions": "x"}),
        "one table only",
    ),
    "a key that is quasi": (
        said("visits", columns={"visit_id": "quasi"}),
        "'visit_id' is a key and has role quasi",
    ),
    "one column for both": (said("visits", key="person_id"), "name the same column"),
    "an unknown word": (said("visits", kye="visit_id"), "Did you mean 'key'"),
    "another rule for orphans": (said("visits", orphans="keep"), "orphans is 'refuse' or 'drop'"),
    "a name that is no file": (
        {**CLINIC, "../x": {"belongs_to": {"people": "person_id"}, "columns": {}}},
        "letters, digits",
    ),
    "names that differ by capitals": (
        {**CLINIC, "Visits": CLINIC["visits"]},
        "that differ only in capitals",
    ),
}


@pytest.mark.parametrize("case", BAD_RELATIONS)
def test_relations_that_make_no_tree_are_refused_by_name(case):
    relations_said, told = BAD_RELATIONS[case]
    with pytest.raises(RecipeError, match=told):
        sf.read_tables(TABLES, relations_said)


def test_orphans_are_dropped_and_counted_where_the_recipe_says_so():
    people = sf.read_tables(without_some_people(), said("visits", orphans="drop"))
    known = set(TABLES["people"]["person_id"].head(20))
    visits = TABLES["visits"].filter(pl.col("person_id").is_in(known))
    given_there = TABLES["prescriptions"].filter(
        pl.col("visit_id").is_in(visits["visit_id"].implode())
    )
    assert people.counts() == {
        "people": 20,
        "rows_of_visits": visits.height,
        "rows_of_prescriptions": given_there.height,
    }
    lost = TABLES["visits"].height - visits.height
    assert any(
        note.startswith(f"table 'visits': {lost} of") and "orphans: drop" in note
        for note in people.notes
    )
    along = TABLES["prescriptions"].height - given_there.height
    assert (
        f"table 'prescriptions': {along} row(s) belong to dropped rows of 'visits' and were"
        " dropped too" in people.notes
    )


def test_a_table_that_is_not_given_or_not_known():
    with pytest.raises(ParameterError, match=", which was not given"):
        sf.read_tables({name: TABLES[name] for name in ("people", "prescriptions")}, CLINIC)
    with pytest.raises(
        ParameterError, match=r"table 'visit' is not in the recipe\. Did you mean 'visits'"
    ):
        sf.read_tables({**TABLES, "visit": TABLES["visits"]}, CLINIC)
    with pytest.raises(ParameterError, match="read_tables"):
        sf.read_data(TABLES["people"], "tables", {"quasi": "age"})


def test_tables_of_nothing_but_keys_are_tables(tmp_path):
    said_ties = {
        "people": {"key": "id", "columns": {}},
        "ties": {"belongs_to": {"people": "who"}, "columns": {}},
    }
    people = pl.DataFrame({"id": [1, 2, 3]})
    tables = sf.read_tables({"people": people, "ties": pl.DataFrame({"who": [3, 3, 1]})}, said_ties)
    mixed = (
        tables.keep_people(np.array([True, False, True]))
        .shuffled(np.random.default_rng(1))
        .sealed(Seed(1))
    )
    again = RelatedTables.from_tables(mixed.to_tables(), mixed.schemas, mixed.source)
    assert mixed.same(again)
    assert sorted(again.per_person("ties")) == [1, 2]
    assert again.shown().own.tolist() == [0, 0]


def test_nobody_is_shown_by_printing():
    people = six()
    told = repr((people, people.parts, people.shown()))
    assert not any(word in told for word in ("p1", "cardio", "onco"))


def test_a_table_of_which_nothing_is_left_is_not_released():
    people = six().kept({"visits": np.zeros(12, dtype=bool)})
    with pytest.raises(ReleaseRefused, match="no row of visits"):
        people.sealed(Seed(1))


def test_tables_that_are_said_not_to_join_must_not():
    people = six().sealed(Seed(1))
    schemas = {**people.schemas, "visits": people.schemas["visits"].replace("who", of=None)}
    with pytest.raises(SchemaError, match="share keys, so they can be joined"):
        RelatedTables.from_tables(people.to_tables(), schemas, people.source)
