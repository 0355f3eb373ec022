"""Reading and writing paths, times, grids, and everything that can be wrong with a file of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.data.paths.trajectories import Trajectories
from sfumato.errors import ParameterError, SchemaError
from tests.oracles import paths as oracle

SOURCE = Source("visits.csv")


def read(frame, schema=None, people=None, beside=None):
    tables = {"data": frame} | ({} if people is None else {"people": people})
    schemas = {"data": oracle.schema() if schema is None else schema} | (
        {} if beside is None else {"people": beside}
    )
    return Trajectories.from_tables(tables, schemas, SOURCE)


def rows(**changes):
    columns = {
        "person": ["1", "1", "2"],
        "hour": [8, 9, 8],
        "place": ["a", "b", "a"],
        "illness": ["x", "x", "y"],
    }
    return pl.DataFrame(columns | changes)


@given(oracle.some_paths(), st.randoms(use_true_random=False))
def test_rows_may_stand_in_any_order_and_twice(paths, random):
    frame = oracle.table(paths, ["y"] * len(paths))
    order = [*range(frame.height), random.randrange(frame.height)]
    random.shuffle(order)
    people = read(frame[order])
    assert oracle.paths_of(people) == list(paths)
    assert any("repeated point" in note for note in people.notes)


@given(oracle.some_paths(), st.integers(0, 99))
def test_what_is_written_is_read_back(paths, seed):
    people = oracle.people_of(paths).shuffled(np.random.default_rng(seed))
    again = read(people.to_tables()["data"])
    assert oracle.paths_of(again) == oracle.paths_of(people) == [paths[i] for i in people.origin]
    assert people.names is None


def test_order_of_time_is_counted_and_the_zone_is_said():
    people = read(rows(hour=[9, 8, 8]))
    assert people.notes == (
        (
            "times are whole numbers without a unit, taken as hours; give the unit with the column: {role: time, unit: minutes}, or seconds, hours, days"
        ),
        "1 row(s) were not in the order of time and were sorted",
    )
    moments = read(
        rows(hour=["2024-01-01T09:00+01:00", "2024-01-01T08:00Z", "2024-01-02T00:00:00.5Z"])
    )
    assert moments.notes[0] == "times are in UTC, and buckets begin at midnight there"
    assert (
        read(rows(hour=["2024-01-01 09:00", "2024-01-01 10:00", "2024-01-02"]))
        .notes[0]
        .startswith("times have no time zone")
    )


def test_columns_that_no_promise_covers_are_told():
    people = read(rows(), oracle.schema().replace("illness", roles=("quasi", "sensitive")))
    assert (
        people.notes[-1]
        == "1 column(s) with role quasi are released unchanged: promises about points do not cover them"
    )


def test_two_places_at_one_time_are_both_kept():
    assert read(rows(hour=[8, 8, 8])).counts() == {
        "people": 2,
        "points": 3,
        "places": 2,
        "times": 1,
    }


def test_people_in_a_table_of_their_own():
    schema = Schema({n: a for n, a in oracle.schema().attributes.items() if n != "illness"})
    beside = Schema(
        {
            "who": Attribute((Role.PERSON,)),
            "illness": Attribute((Role.SENSITIVE,)),
            "name": Attribute((Role.DROP,)),
        }
    )
    table = pl.DataFrame({"who": [2, 1, 3], "illness": ["y", "x", "x"], "name": ["B", "A", "C"]})
    people = read(rows().drop("illness"), schema, table, beside)
    assert people.values("illness").to_list() == ["x", "y"]
    assert people.sensitive == ("illness",)
    written = people.shuffled(np.random.default_rng(0)).to_tables()
    assert list(written) == ["data", "people"]
    assert written["people"].columns == ["who", "illness"]
    again = read(written["data"], schema, written["people"], beside.without(["name"]))
    assert again.people == 2
    with pytest.raises(SchemaError, match="1 of 2 person"):
        read(rows().drop("illness"), schema, table[1:], beside)
    with pytest.raises(SchemaError, match=r"repeated person"):
        read(rows().drop("illness"), schema, pl.concat([table, table[:1]]), beside)


WRONG = {
    "no rows": (rows()[:0], "contains no persons"),
    "a time missing": (rows(hour=[8, None, 9]), "1 of 3 rows have no time"),
    "a time unreadable": (
        rows(hour=["8 o'clock", "2024-01-01", "2024-01-02"]),
        "1 of 3 times cannot be read",
    ),
    "half hours": (rows(hour=[8.5, 9.0, 8.0]), "times are not whole numbers"),
    "a place missing": (
        rows(place=["a", None, "b"]),
        "1 of 3 rows of visits.csv have no value in column 'place'",
    ),
    "a person missing": (rows(person=["1", None, "2"]), "no value in column 'person'"),
    "own column differs": (
        rows(illness=["x", "y", "y"]),
        "column 'illness' differs between the points of 1 person",
    ),
    "a column without a role": (
        rows().with_columns(pl.lit(1).alias("more")),
        "'more' of visits.csv has no role",
    ),
    "a column missing": (rows().drop("hour"), "visits.csv has no column 'hour'"),
}


@pytest.mark.parametrize(("frame", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_with_a_file_is_said_without_its_values(frame, said):
    with pytest.raises(SchemaError, match=said) as caught:
        read(frame)
    assert "o'clock" not in str(caught.value)


def test_roles_are_asked_for():
    with pytest.raises(SchemaError) as caught:
        read(rows(), Schema.from_roles({"keep": ["person", "hour", "place", "illness"]}))
    assert len(caught.value.problems) == 3
    with pytest.raises(SchemaError, match=", which paths do not use"):
        read(rows(), oracle.schema().replace("illness", roles=("item",)))


def test_a_column_of_nothing_means_no_times():
    people = read(rows(hour=[None, None, None]))
    assert people.clock.kind == "none"
    assert people.to_tables()["data"]["hour"].null_count() == 3


def test_whole_numbers_of_which_nobody_says_what_they_count_are_told():
    frame = pl.DataFrame({"p": [1, 2], "t": [5, 6], "x": ["a", "b"]})
    roles = {"person": "p", "time": "t", "place": "x"}
    guessed = sf.read_paths(frame, roles)
    assert (
        guessed.clock.kind == "hours"
        and "times are whole numbers without a unit, taken as" in guessed.notes[0]
    )
    with pytest.raises(SchemaError, match="has a unit hours, but holds days"):
        sf.read_paths(
            frame.with_columns(t=pl.Series(["2024-02-28"] * 2)),
            roles,
            columns=sf.ColumnDetails(units={"t": "hours"}),
        )
    with pytest.raises(
        ParameterError, match="unit must be seconds, minutes, hours or days, not 'weeks'"
    ):
        sf.read_paths(frame, roles, columns=sf.ColumnDetails(units={"t": "weeks"}))
    with pytest.raises(ParameterError, match="only a column with role 'time' has a unit"):
        sf.read_paths(frame, roles, columns=sf.ColumnDetails(units={"p": "minutes"}))


def test_the_invented_city_is_the_same_everywhere():
    assert (
        examples.mobility(20, seed=3)
        .to_tables()["data"]
        .equals(examples.mobility(20, seed=3).to_tables()["data"])
    )
    assert examples.mobility(20, places="names").counts()["people"] == 20
    with pytest.raises(ParameterError, match="coordinates"):
        examples.mobility(3, places="maps")
