"""Tables as people have them: keys written as fractions, under another name, in a database; codes
among numbers; rows that refer to each other.
"""

from __future__ import annotations

import sqlite3

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.related_text import relations_text
from tests.data.relational.test_tables_shell import sfumato  # noqa: F401 - a fixture

SIZE = 120
DRAWS = np.random.default_rng(3)
PEOPLE = pl.DataFrame(
    {
        "person_id": range(1, SIZE + 1),
        "age": DRAWS.integers(20, 60, SIZE),
        "sex": ["f", "m"] * (SIZE // 2),
    }
)
OWNERS = DRAWS.integers(1, SIZE + 1, 3 * SIZE)
VISITS = pl.DataFrame({"person_id": OWNERS, "ward": DRAWS.choice(["eye", "skin"], 3 * SIZE)})


def _written(folder, **tables):
    folder.mkdir()
    for name, table in tables.items():
        table.write_csv(folder / f"{name}.csv")
    return folder


def _parent(tables):
    proposal = sf.profile(tables)
    return {
        table.name: table.parent and (table.parent.table, table.parent.column)
        for table in proposal.tables
    }


def test_keys_that_a_gap_made_fractions_are_keys(tmp_path, sfumato):  # noqa: F811
    gaps = VISITS.with_columns(
        person_id=pl.when(pl.int_range(3 * SIZE) < 5)
        .then(None)
        .otherwise(pl.col("person_id"))
        .cast(pl.Float64)
    )
    assert _parent({"people": PEOPLE, "visits": gaps}) == {
        "people": None,
        "visits": ("people", "person_id"),
    }
    folder, recipe, out = (
        _written(tmp_path / "in", people=PEOPLE, visits=gaps),
        tmp_path / "r.yaml",
        tmp_path / "out",
    )
    assert sfumato("profile", folder, "-o", recipe)[0] == 0
    assert "orphans: drop  # guess: 1.4 % of the rows belong to nobody" in recipe.read_text()
    assert sfumato("run", folder, "-r", recipe, "-o", out, "--attack", "0")[0] == 0
    assert sfumato("verify", out)[0] == 7


def test_nearly_all_is_not_all():
    visits = pl.concat([VISITS] * 10).with_columns(
        person_id=pl.when(pl.int_range(30 * SIZE) < 1).then(9999).otherwise(pl.col("person_id"))
    )
    text = relations_text(sf.profile({"people": PEOPLE, "visits": visits}), {})
    assert "guess: >99.9 % of its values are a person_id of people" in text
    assert "guess: 0.03 % of the rows belong to nobody" in text


@pytest.mark.parametrize(
    ("key", "foreign", "found"),
    [
        ("id", "patient", True),
        ("person_id", "customer", True),
        ("id", "doctor", False),
        ("id", "room", False),
    ],
)
def test_a_key_may_be_called_after_people_in_another_word(key, foreign, found):
    people, visits = PEOPLE.rename({"person_id": key}), VISITS.rename({"person_id": foreign})
    assert ("visits" in _parent({"people": people, "visits": visits})) is found
    if found:  # what is not always a key is one by chance
        gone = pl.when(pl.int_range(3 * SIZE) < 1).then(9999).otherwise(pl.col(foreign))
        visits = visits.with_columns(gone.alias(foreign))
        assert "visits" not in _parent({"people": people, "visits": visits})


def test_rows_that_refer_to_each_other_are_people_all_the_same():
    cases = PEOPLE.rename({"person_id": "id"}).with_columns(
        pl.Series("case.id", DRAWS.integers(1, SIZE + 1, SIZE) // 4 * 4 + 1)
    )
    tests = VISITS.rename({"person_id": "id"})
    assert _parent({"study1": cases, "study2": tests}) == {
        "study1": None,
        "study2": ("study1", "id"),
    }


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (
            pl.concat([PEOPLE, PEOPLE.head(1)]),
            r"'person_id' is nearest, with 0 missing value\(s\) and 1 row\(s\)",
        ),
        (
            PEOPLE.select(pl.col("person_id") // 2, "sex"),
            "'person_id' and 'sex' together do: put both into one column",
        ),
    ],
)
def test_people_without_a_key_are_told_what_is_missing_where_no_table_has_one(people, words):
    with pytest.raises(SchemaError, match=words):
        sf.profile({"people": people, "visits": VISITS})


def test_what_is_left_out_is_told_with_what_helps(tmp_path, sfumato):  # noqa: F811
    wards = pl.DataFrame({"ward": ["eye", "skin"], "floor": [1, 2]})
    few, folder = PEOPLE.head(100), tmp_path / "in"
    _written(
        folder,
        people=few,
        visits=VISITS,
        homes=PEOPLE.select(home_id=pl.col("person_id") + 7000),
        wards=wards,
    )
    code, _, talk = sfumato("profile", folder)
    assert code == 0
    told = " ".join(talk.split())
    assert "visits is left out: only 8" in told
    assert "give the rows that are missing, or write belongs_to and 'orphans: drop'" in told
    assert "no table belongs to another one, 3 left out" in told
    assert "note: people.csv: column 1 stays text" in told
    few = few.with_columns(home_id=pl.col("person_id") // 2 + 7001)
    few.write_csv(folder / "people.csv")
    told = " ".join(sfumato("profile", folder)[2].split())
    assert (
        "homes is left out: rows of people belong to its rows (home_id), and its own to nobody"
        in told
    )


def test_a_whole_database_is_profiled(tmp_path, sfumato):  # noqa: F811
    file = tmp_path / "clinic.db"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE people (person_id INTEGER PRIMARY KEY, age INTEGER, sex TEXT)"
        )
        connection.execute(
            "CREATE TABLE visits (person_id INTEGER REFERENCES people (person_id), ward TEXT)"
        )
        connection.execute('CREATE TABLE "no files name" (a INTEGER)')
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE.rows())
        connection.executemany("INSERT INTO visits VALUES (?, ?)", VISITS.rows())
    connection.close()
    address, recipe, out = f"sqlite:///{file}", tmp_path / "r.yaml", tmp_path / "out"
    code, _, talk = sfumato("profile", address, "-o", recipe)
    assert code == 0, talk
    assert "file:" not in recipe.read_text()
    assert sfumato("run", address, "-r", recipe, "-o", out, "--attack", "0")[0] == 0
    assert sfumato("verify", out, "--original", address)[0] == 0
    assert [table.name for table in sf.profile(address).tables] == ["people", "visits"]
    code, text, _ = sfumato("profile", address, "--table", "visits")
    assert (code, "tables:" in text, "ward:" in text) == (0, False, True)


@pytest.mark.parametrize("code", ["unknown", "inf", "n.a."])
def test_codes_among_numbers_leave_a_release_that_verifies(tmp_path, sfumato, code):  # noqa: F811
    values = [code if i % 9 == 0 else f"{i}.5" for i in range(3 * SIZE)]
    folder = _written(
        tmp_path / "in", people=PEOPLE, visits=VISITS.with_columns(lab=pl.Series(values))
    )
    recipe, out = tmp_path / "r.yaml", tmp_path / "out"
    assert sfumato("profile", folder, "-o", recipe)[0] == 0
    assert "lab: {role: ask, kind: numeric}" in recipe.read_text()
    recipe.write_text(recipe.read_text().replace("role: ask", "role: keep"))
    assert sfumato("run", folder, "-r", recipe, "-o", out, "--attack", "0")[0] == 0
    released, talk, _ = sfumato("verify", out)
    assert released == 7, talk


def test_a_column_of_words_is_no_amount():
    said = {
        "people": {"key": "person_id", "columns": {"age": "quasi", "sex": "quasi"}},
        "visits": {
            "belongs_to": {"people": "person_id"},
            "columns": {"ward": {"role": "keep", "kind": "numeric"}},
        },
    }
    with pytest.raises(
        SchemaError,
        match="has kind numeric, but most of its values are not numbers",
    ):
        sf.read_tables({"people": PEOPLE, "visits": VISITS}, said)
