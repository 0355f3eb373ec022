"""Several tables from the shell: profile, run, check, verify, assess, attack, evaluate, explain;
and what goes wrong.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files
from sfumato.interfaces.cli import main
from tests.data.relational.test_released import RECIPE


@pytest.fixture
def folder(tmp_path):
    tables = examples.clinic_tables(200)
    for name, file in {
        "people": "people.csv",
        "visits": "visits.csv",
        "prescriptions": "rx.csv",
    }.items():
        tables[name].write_csv(tmp_path / file)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capfd):
    """Run ``sfumato`` with arguments: exit code, results and talk."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def test_every_command_takes_several_tables(folder, sfumato):
    recipe, out = folder / "recipe.yaml", folder / "out"
    code, told, talk = sfumato("run", folder, "-r", recipe, "-o", out, "--json", "--attack", "1")
    assert code == 0, talk
    summary = json.loads(told)
    assert summary["holds"]
    assert summary["shape"] == "tables"
    assert summary["counts"]["people"] + summary["suppressed"] == 200
    assert sfumato("verify", out / "share")[0] == 7, "limits need the original"
    code, told, _ = sfumato("verify", out / "share", "--original", folder, "--owner", out / "owner")
    assert (code, "byte for byte" in told) == (0, True)
    assert sfumato("check", out / "share", "-r", recipe)[0] == 0
    code, told, _ = sfumato(
        "assess",
        folder,
        "-r",
        recipe,
        "--json",
        "--seconds",
        "1",
        "--model",
        "k_anonymity:900,table=visits",
    )
    assert (code, [v["holds"] for v in json.loads(told)["verdicts"]][-1]) == (0, False)
    assert sfumato("attack", out, "--original", folder, "--seconds", "1", "--json")[0] in (0, 1)
    code, told, _ = sfumato("evaluate", out, "--original", folder, "--json")
    assert code == 0
    assert {m["name"] for m in json.loads(told)["measures"]} >= {
        "rows_kept",
        "rows_per_person",
        "cells_unchanged",
    }
    code, told, _ = sfumato("explain", out)
    assert code == 0
    assert "cap rows: Nobody keeps more than" in told
    assert "for data of shape tables" in sfumato("explain", "cap_rows")[1]
    keys = pl.read_csv(folder / "people.csv")["person_id"]
    everything = "".join(
        sfumato(*command)[1] for command in (("explain", out), ("verify", out / "share"))
    )
    assert not any(key in everything for key in keys)


@pytest.mark.parametrize(
    ("spoil", "code", "told"),
    [
        (lambda f: (f / "rx.csv").unlink(), 5, "this file does not exist; check the path"),
        (lambda f: (f / "visits.csv").unlink(), 5, "holds no table 'visits'"),
        (
            lambda f: (f / "visits.parquet").write_bytes((f / "visits.csv").read_bytes()),
            5,
            "2 files called visits",
        ),
        (
            lambda f: pl.read_csv(f / "people.csv").head(9).write_csv(f / "people.csv"),
            2,
            "belong to no row of 'people'",
        ),
        (
            lambda f: pl.read_csv(f / "visits.csv").drop("visit_id").write_csv(f / "visits.csv"),
            2,
            "no column 'visit_id'",
        ),
        (lambda f: pl.read_csv(f / "visits.csv").head(0).write_csv(f / "visits.csv"), 2, "no rows"),
        (
            lambda f: (f / "recipe.yaml").write_text(RECIPE.replace("k: 3", "k: 300")),
            4,
            "global_recoding, table 'people'",
        ),
        (
            lambda f: (f / "recipe.yaml").write_text(
                RECIPE.replace("table: visits, at", "table: visit, at")
            ),
            2,
            "Did you mean 'visits'",
        ),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(folder, sfumato, spoil, code, told):
    keys = pl.read_csv(folder / "people.csv")["person_id"]
    spoil(folder)
    found, results, talk = sfumato(
        "run", folder, "-r", folder / "recipe.yaml", "-o", folder / "out"
    )
    assert (found, results) == (code, ""), talk
    assert told in talk
    assert not (folder / "out").exists()
    assert not any(key in talk for key in keys)


def test_a_file_is_no_folder(folder, sfumato):
    code, _, talk = sfumato(
        "run", folder / "people.csv", "-r", folder / "recipe.yaml", "-o", folder / "out"
    )
    assert code == 5
    assert "is not a folder" in talk
    code, _, talk = sfumato(
        "run",
        folder,
        "-r",
        folder / "recipe.yaml",
        "-o",
        folder / "out",
        "--people",
        folder / "people.csv",
    )
    assert code == 2
    assert "one of the tables" in talk


# Keys that are found.


def test_a_folder_is_profiled_into_a_recipe_that_runs(folder, sfumato):
    (folder / "recipe.yaml").unlink()
    (folder / "notes.txt").write_text("Who came when, and why.\n")
    code, text, _ = sfumato("profile", folder)
    assert code == 0
    assert "key: person_id  # guess: 200 different values in 200 rows, none missing" in text
    assert (
        "belongs_to: {people: person_id}  # guess: 100 % of its values are a person_id of people"
        in text
    )
    assert "belongs_to: {visits: visit_id}" in text
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(text, "proposed"), base=folder)
    assert list(recipe.tables) == ["people", "visits", "rx"]
    release = sf.run(folder, recipe, seed=1, seconds=0)
    assert release.holds
    several = sfumato("profile", folder / "people.csv", folder / "rx.csv", folder / "visits.csv")[1]
    assert several.split("tables:")[1] == text.split("tables:")[1]
    told = json.loads(sfumato("profile", folder, "--json")[1])
    assert [table["name"] for table in told["tables"]] == ["people", "visits", "rx"]
    values = set(pl.read_csv(folder / "people.csv")["person_id"])
    assert not any(value in text for value in values)


def test_parts_of_one_table_are_one_and_two_files_of_one_name_are_refused(folder, sfumato):
    (folder / "recipe.yaml").unlink()
    (folder / "visits.parquet").write_bytes(b"")
    code, _, talk = sfumato("profile", folder)
    assert code == 5
    assert "files whose names" in talk
    parts = folder / "parts"
    parts.mkdir()
    for number in range(2):
        pl.read_csv(folder / "people.csv").slice(100 * number, 100).write_parquet(
            parts / f"part{number}.parquet"
        )
    code, text, _ = sfumato("profile", parts)
    assert code == 0
    assert "tables:" not in text


def guessed(**frames):
    found = sf.profile(frames)
    return {
        t.name: (t.key and t.key.column, t.parent and (t.parent.table, t.parent.column))
        for t in found.tables
    }, found


def test_numbers_that_agree_by_chance_are_no_keys():
    orders = pl.DataFrame(
        {
            "order_id": range(50),
            "customer_id": [i % 20 for i in range(50)],
            "amount": [i % 7 for i in range(50)],
        }
    )
    customers = pl.DataFrame({"customer_id": range(20), "age": range(30, 50), "rank": range(20)})
    keys, _ = guessed(orders=orders, customers=customers)
    assert keys == {
        "customers": ("customer_id", None),
        "orders": ("order_id", ("customers", "customer_id")),
    }


def test_the_nearest_table_counts_and_further_keys_are_dropped():
    patients = pl.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 3]})
    stays = pl.DataFrame({"stay_no": [1, 2, 3, 4], "patient": ["a", "b", "b", "c"]})
    drugs = pl.DataFrame({"stay_no": [1, 1, 4], "patient": ["a", "a", "c"], "dose": [1, 2, 2]})
    keys, found = guessed(drugs=drugs, patients=patients, stays=stays)
    assert keys["patients"] == ("id", None)
    assert keys["stays"] == ("stay_no", ("patients", "patient"))
    assert keys["drugs"] == (None, ("stays", "stay_no"))
    (patient,) = [c for c in found.tables[-1].columns if c.name == "patient"]
    assert patient.roles == ("drop",)


def test_orphans_are_proposed_to_be_dropped_and_strangers_left_out():
    people = pl.DataFrame({"person_id": [f"p{i}" for i in range(40)], "age": range(40)})
    visits = pl.DataFrame({"person_id": [f"p{i % 41}" for i in range(41)], "ward": ["x"] * 41})
    more = pl.DataFrame({"person_id": ["p1", "p1"], "ward": ["y", "y"]})
    weather = pl.DataFrame({"day": range(12), "rain": [0.5] * 12})
    keys, found = guessed(weather=weather, visits=pl.concat([visits, more]), people=people)
    assert keys["visits"] == (None, ("people", "person_id"))
    assert found.tables[1].parent.share == pytest.approx(42 / 43)
    assert found.apart == ("weather",)
    from sfumato.guidance.profiling.related_text import relations_text

    text = relations_text(found, {})
    assert "orphans: drop  # guess: 2.3 % of the rows" in text
    assert "# weather is left out" in text


def test_tables_without_a_key_are_nobodys():
    with pytest.raises(sf.errors.SchemaError, match="no table has a column of different values"):
        guessed(a=pl.DataFrame({"x": [1, 1]}), b=pl.DataFrame({"x": [1, 1]}))


def test_of_two_columns_with_keys_of_one_table_the_one_of_the_same_name_is_taken_and_the_other_dropped(
    tmp_path, sfumato
):
    pupils = [f"{number:05d}" for number in range(0, 90_000, 1_500)]
    pl.DataFrame({"pupil": pupils, "sex": ["f", "m"] * 30}).write_csv(tmp_path / "pupils.csv")
    courses = {
        "tutor_pupil": 2 * (pupils[7:] + pupils[:7]),
        "pupil": 2 * pupils,
        "course": ["maths", "music", "latin"] * 40,
    }
    pl.DataFrame(courses).write_csv(tmp_path / "courses.csv")
    code, text, _ = sfumato("profile", tmp_path)
    assert code == 0
    assert (
        "belongs_to: {pupils: pupil}  # guess: 100 % of its values are a pupil of pupils, and it"
        " has the same name" in text
    )
    assert "tutor_pupil: {role: drop}  # guess: its values are keys of pupils" in text
    assert "role: ask" not in text  # the word tells what a course is: nobody has to decide on it
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(text, "proposed"), base=tmp_path)
    assert sf.run(tmp_path, recipe, seed=1, seconds=0).data["courses"].columns == [
        "pupil",
        "course",
    ]
