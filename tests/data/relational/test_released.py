"""Releases of several tables: what is written joins, shows no key, keeps its promises and is found
out where it was changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files, registry
from sfumato.core.recipe import Recipe, columns_in_recipe
from sfumato.core.shape import Shape
from sfumato.errors import ParameterError, RecipeError, ReleaseRefused
from tests.data.relational.random_relations import relations

RECIPE = """
sfumato: 1
tables:
  people:
    file: people.csv
    key: person_id
    columns:
      person_id: {role: drop}
      name: {role: drop}
      age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 20, 40]}}}
      sex: {role: quasi, hierarchy: {suppress: {}}}
      region: {role: quasi, hierarchy: {tree: {nested: {"*": {coast: [harbour, cliffs], inland: [hills, river, plain]}}}}}
      diagnosis: {role: sensitive}
  visits:
    key: visit_id
    belongs_to: {people: person_id}
    columns:
      ward: {role: quasi, hierarchy: {suppress: {}}}
      month: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [3, 6]}}}
      cost: {role: keep, kind: numeric}
  prescriptions:
    file: rx.csv
    belongs_to: {visits: visit_id}
    orphans: drop
    columns:
      drug: {role: sensitive}
      days: {role: keep, kind: numeric, missing_values: [99]}
meet:
  - k_anonymity: {k: 3, table: people}
  - alpha_k_anonymity: {sensitive: diagnosis, alpha: 0.9, k: 2, values: [gout], table: people}
  - k_anonymity: {k: 4, table: visits}
steps:
  - cap_rows: {table: visits, at_most: 3}
  - global_recoding: {suppress: tuple, budget: 0.2, table: people}
  - global_recoding: {suppress: tuple, budget: 0.2, table: visits}
  - key_pseudonyms
contract:
  - means: {columns: [cost], table: visits, at_most: 0.9}
"""


@pytest.fixture
def folder(tmp_path):
    tables = examples.clinic_tables()
    files = {"people": "people.csv", "visits": "visits.csv", "prescriptions": "rx.csv"}
    (tmp_path / "clinic").mkdir()
    for name, file in files.items():
        tables[name].write_csv(tmp_path / "clinic" / file)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def out(folder):
    release = sf.run(folder / "clinic", folder / "recipe.yaml", seed=5, seconds=1)
    return release.write(folder / "out")


def keys_of(tables):
    return {
        str(key)
        for name, column in (("people", "person_id"), ("visits", "visit_id"))
        for key in tables[name][column]
    }


def shown_in(folder):
    return "\n".join(file.read_text() for file in Path(folder).rglob("*") if file.is_file())


def test_from_files_to_a_verified_folder(folder, out):
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    assert certificate["shape"] == "tables"
    assert sorted(certificate["files"]) == [
        "people.csv",
        "prescriptions.csv",
        "report.html",
        "visits.csv",
    ]
    found = sf.verify(out / "share")
    assert found.result == "not all verified"
    assert {c.name for c in found.claims if c.status == "holds"} >= {
        "every key names a row",
        "3-anonymity in people",
        "4-anonymity in visits",
    }
    assert (
        next(c.status for c in found.claims if c.name.startswith("alpha k anonymity"))
        == "needs original"
    )
    with_all = sf.verify(out / "share", original=folder / "clinic", owner=out / "owner")
    assert with_all.holds
    assert "produced again from recipe and seed, byte for byte" in [
        c.detail for c in with_all.claims
    ]


def test_no_key_and_no_listed_value_is_shared(folder, out):
    shared = shown_in(out / "share")
    tables = examples.clinic_tables()
    assert not [key for key in keys_of(tables) if key in shared]
    assert (
        "gout"
        not in (out / "share" / "certificate.json")
        .read_text()
        .replace('"gout"', "gout")
        .split("sentence")[0]
    )
    assert not any(name in shared for name in tables["people"]["name"])


def test_the_owner_keeps_who_is_who(folder, out):
    kept = pl.read_parquet(out / "owner" / "alignment_visits.parquet")
    shared = pl.read_csv(out / "share" / "visits.csv")
    original = pl.read_csv(folder / "clinic" / "visits.csv")
    assert kept["pseudonym"].to_list() == shared["visit_id"].to_list()
    assert (
        kept["original_key"].cast(pl.Int64).to_list()
        == original["visit_id"][kept["original_row"]].to_list()
    )
    assert shared["cost"].to_list() == original["cost"][kept["original_row"]].to_list()


def test_check_judges_the_files_of_a_folder(folder, out):
    assert all(sf.check(out / "share", folder / "recipe.yaml"))
    tables = {
        name: pl.read_csv(out / "share" / f"{name}.csv")
        for name in ("people", "visits", "prescriptions")
    }
    assert all(sf.check(tables, folder / "recipe.yaml"))
    with pytest.raises(ReleaseRefused, match="direct identifiers: name"):
        sf.check(
            {**tables, "people": tables["people"].with_columns(name=pl.lit("x"))},
            folder / "recipe.yaml",
        )
    found = sf.check(folder / "clinic", recipe_without_names(folder))
    assert not all(found)


def recipe_without_names(folder):
    tables = pl.read_csv(folder / "clinic" / "people.csv").drop("name")
    tables.write_csv(folder / "clinic" / "people.csv")
    return folder / "recipe.yaml"


def edited(out, table, change):
    """Change a shared file, and make the certificate fit its bytes, as a forger would."""
    from sfumato.release.manifest import manifest_of, sha256_of
    from sfumato.release.signatures import digest_of

    share = out / "share"
    file = share / f"{table}.csv"
    change(pl.read_csv(file)).write_csv(file)
    certificate = json.loads((share / "certificate.json").read_text())
    section = certificate["tables"][table]
    section["sha256"], section["rows"] = sha256_of(file), pl.read_csv(file).height
    certificate["counts"]["people" if table == "people" else f"rows_of_{table}"] = section["rows"]
    certificate["files"] = manifest_of(share)
    certificate["digest"] = digest_of({k: v for k, v in certificate.items() if k != "digest"})
    (share / "certificate.json").write_text(json.dumps(certificate))
    return sf.verify(share)


def test_keys_that_name_nobody_are_found_out(out):
    found = edited(
        out,
        "visits",
        lambda f: f.with_columns(pl.Series("person_id", ["bbbbbbbbbbbbbbbb", *f["person_id"][1:]])),
    )
    assert not found.holds
    assert any("belong to no row of 'people'" in claim.detail for claim in found.claims)


def test_keys_that_come_twice_are_found_out(out):
    found = edited(out, "people", lambda f: pl.concat([f, f.head(1)]))
    assert any("another row" in claim.detail for claim in found.claims)
    assert not found.holds


def test_broken_promises_are_found_out(out):
    found = edited(
        out, "visits", lambda f: f.with_columns(pl.Series("ward", ["unheard of", *f["ward"][1:]]))
    )
    assert [c.status for c in found.claims if c.name == "4-anonymity in visits"] == ["fails"]


def test_a_table_that_is_not_certified_is_found_out(out):
    from sfumato.release.signatures import digest_of

    share = out / "share"
    certificate = json.loads((share / "certificate.json").read_text())
    del certificate["tables"]["prescriptions"]
    del certificate["counts"]["rows_of_prescriptions"]
    certificate["digest"] = digest_of({k: v for k, v in certificate.items() if k != "digest"})
    (share / "certificate.json").write_text(json.dumps(certificate))
    found = sf.verify(share)
    assert "the table of prescriptions is not certified, though the release has one" in [
        c.detail for c in found.claims
    ]


# Recipes.


def test_a_recipe_and_its_objects_are_the_same(folder):
    recipe = recipe_files.load_any(folder / "recipe.yaml")
    assert isinstance(recipe, Recipe)
    assert recipe.shape is Shape.TABLES
    assert list(recipe.tables) == ["people", "visits", "prescriptions"]
    again = recipe_files.any_from_dict(recipe_files.to_dict(recipe), base=folder)
    assert again == recipe
    moved = recipe_files.to_dict(recipe, base=folder / "clinic")
    assert moved["tables"]["prescriptions"]["file"] == "../rx.csv"
    assert (
        recipe_files.any_from_dict(
            recipe_files.read_yaml(recipe_files.dump(recipe), "again"), base=folder
        )
        == recipe
    )


def test_a_certificate_shows_no_listed_values_and_no_files(folder):
    shown = recipe_files.public_dict(recipe_files.load_any(folder / "recipe.yaml"))
    assert shown["meet"][1]["alpha_k_anonymity"]["values"] == recipe_files.KEPT
    assert shown["tables"]["people"]["columns"]["region"]["hierarchy"] == {
        "tree": recipe_files.KEPT
    }
    assert not any("file" in table for table in shown["tables"].values())
    assert recipe_files.keeps_back("models", shown["meet"][1], Shape.TABLES)
    assert not recipe_files.keeps_back("models", shown["meet"][0], Shape.TABLES)
    assert columns_in_recipe(shown)["visits"]["person_id"] == {"role": "key", "of": "people"}


def test_values_that_a_step_aims_with_stay_with_the_owner(folder):
    aim = (
        "aim: [{k_anonymity: 2}, {alpha_k_anonymity: {sensitive: diagnosis, alpha: 0.9, k: 2,"
        " values: [gout]}}]"
    )
    text = RECIPE.replace(
        "budget: 0.2, table: people}", "budget: 0.2, table: people, " + aim + "}", 1
    )
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(text, "recipe"))
    shown = recipe_files.public_dict(recipe)
    assert (
        shown["steps"][1]["global_recoding"]["aim"][1]["alpha_k_anonymity"]["values"]
        == recipe_files.KEPT
    )
    assert "gout" not in json.dumps(shown)
    assert "gout" in json.dumps(recipe_files.to_dict(recipe))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"shape": "table", "tables": {}}, "'tables' belongs to data of shape tables"),
        ({"tables": {}}, "'tables' must map names to tables"),
        ({"tables": {"people": 3}}, "'people' must describe the"),
        (
            {"tables": {"people": {"columns": {}}}, "columns": {"a": "quasi"}},
            "columns in 'tables'",
        ),
        (
            {"tables": {"people": {"columns": {"a": {"role": "qasi"}}}}},
            "table 'people', column 'a': role 'qasi'",
        ),
        (
            {"tables": {"people": {"belongs_to": ["x"], "columns": {}}}},
            "belongs_to must name a table and the column",
        ),
        (
            {
                "tables": {
                    "people": {
                        "key": "id",
                        "columns": {"a": {"role": "quasi", "missing_values": [1]}},
                    },
                    "rows": {
                        "belongs_to": {"people": "id"},
                        "columns": {"a": {"role": "quasi", "missing_values": [2]}},
                    },
                }
            },
            "different missing_values in two tables",
        ),
        (
            {"tables": {"people": {"columns": {}}}, "meet": [{"k_anonymity": 3}]},
            "say which: 'k_anonymity: {…, table: NAME}'",
        ),
    ],
)
def test_recipes_that_say_nothing_clear_are_refused(document, told):
    with pytest.raises(RecipeError, match=told):
        recipe_files.any_from_dict(document)


def test_a_model_can_be_asked_for_in_one_line():
    asked = registry.ask("k_anonymity:5,table=visits", Shape.TABLES)
    assert asked.model == registry.build(
        "models", {"k_anonymity": {"k": 5, "table": "visits"}}, shape=Shape.TABLES
    )
    assert asked.left_open == ()


def test_codes_for_missing_values_are_those_of_a_column(folder):
    file = folder / "clinic" / "rx.csv"
    table = pl.read_csv(file).with_columns(pl.Series("days", [99, *pl.read_csv(file)["days"][1:]]))
    table.write_csv(file)
    people = sf.read_tables(folder / "clinic", folder / "recipe.yaml")
    assert people["prescriptions"].frame["days"].null_count() == 1


# Where tables are.


def test_tables_of_a_database(tmp_path):
    import sqlite3

    tables = examples.clinic_tables(20)
    with sqlite3.connect(tmp_path / "clinic.db") as database:
        for name, table in tables.items():
            kinds = [
                "REAL" if t.is_float() else "INTEGER" if t.is_integer() else "TEXT"
                for t in table.dtypes
            ]
            database.execute(
                f"CREATE TABLE {name}"
                f" ({', '.join(f'{c} {k}' for c, k in zip(table.columns, kinds, strict=True))})"
            )
            database.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * table.width)})", table.rows()
            )
    said = recipe_files.read_yaml(RECIPE, "recipe")["tables"]
    found = sf.read_tables(f"sqlite:///{tmp_path / 'clinic.db'}", said)
    assert found.counts() == sf.read_tables(tables, said).counts()
    assert found["visits"].owner.tolist() == sf.read_tables(tables, said)["visits"].owner.tolist()


def test_files_are_found_from_the_recipe_where_no_folder_is_given(folder):
    text = RECIPE.replace("file: people.csv", "file: clinic/people.csv").replace(
        "file: rx.csv", "file: clinic/rx.csv"
    )
    (folder / "recipe.yaml").write_text(text)
    with pytest.raises(ParameterError, match="no file for visits"):
        sf.read_tables(None, folder / "recipe.yaml")
    (folder / "recipe.yaml").write_text(
        text.replace("  visits:\n", "  visits:\n    file: clinic/visits.csv\n")
    )
    assert sf.read_tables(None, folder / "recipe.yaml").people == 60


# Whatever the tables are.

STEPS = [
    "cap_rows: {table: table1, at_most: 2}",
    "sample: {fraction: 0.7, table: people}",
    "sample: {fraction: 0.8, unit: row, table: table1}",
    "sample: {fraction: 0.8, unit: row, table: table1, drop: people}",
    "coarsen_counts: {table: table1, to: [1, 3]}",
    "drop_people: {table: table1, more_than: 4}",
    "key_pseudonyms: {split: true}",
]


@given(
    relations(least_people=6),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3, unique=True),
    st.sampled_from(["csv", "parquet"]),
)
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_is_written_joins_and_shows_no_key(tmp_path_factory, drawn, steps, kind):
    steps = sorted(steps, key=STEPS.index)
    split = steps[-1] == STEPS[-1]
    meet = "[{k_anonymity: {k: 1, table: people}}]"
    document = recipe_files.read_yaml(
        f"{{meet: {meet}, steps: [{', '.join(f'{{{step}}}' for step in steps)}]}}", "drawn"
    )
    recipe = recipe_files.any_from_dict({"tables": drawn.said, **document})
    folder = tmp_path_factory.mktemp("drawn") / "out"
    try:
        release = sf.run(
            drawn.frames, recipe, seed=3, seconds=0, options=sf.RunOptions(format=kind)
        )
    except ReleaseRefused as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert "left no" in refused  # a table of which nothing is left
        return
    release.write(folder, format=kind)
    read = pl.read_csv if kind == "csv" else pl.read_parquet
    written = {name: read(folder / "share" / f"{name}.{kind}") for name in drawn.said}
    for name, said in drawn.said.items():
        assert written[name][said["key"]].is_unique().all()
        for parent, column in said.get("belongs_to", {}).items():
            there = set(written[parent][drawn.said[parent]["key"]])
            joined = set(written[name][column]) & there
            assert joined == (set() if split and parent == "people" else set(written[name][column]))
    assert not [
        c
        for frame in written.values()
        for c in frame.columns
        if drawn.keys & set(map(str, frame[c]))
    ]
    told = b"".join(file.read_bytes() for file in (folder / "share").iterdir())
    assert not [key for key in drawn.keys if key.encode() in told]
    assert sf.verify(folder / "share").holds
    _aligned_with_the_original(drawn, folder, written)


def _aligned_with_the_original(drawn, folder, written):
    for name, frame in written.items():
        kept = pl.read_parquet(folder / "owner" / f"alignment_{name}.parquet")
        original = drawn.frames[name][kept["original_row"]]
        assert kept["original_key"].to_list() == original[drawn.said[name]["key"]].to_list()
        assert frame["secret"].to_list() == original["secret"].to_list()
