"""Releases with pseudonyms, from the table to the certificate and back."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.errors import OutputError, ReleaseRefused

KEY = "a good key of thirty-two letters"
METHODS = {
    "keyed": {"domain": "study"},
    "random_table": {"method": "random_table", "vault": "people.vault"},
    "counter": {"method": "counter", "vault": "people.vault"},
    "format_preserving": {"method": "format_preserving"},
}
EVERY = pytest.mark.parametrize("options", METHODS.values(), ids=METHODS.keys())


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "office.key").write_text(KEY)
    (tmp_path / "office.key").chmod(0o600)


def visits(rows=60):
    """Numbers with leading zeros, a name, two quasi-identifiers."""
    frame = pl.DataFrame(
        {
            "number": [f"{7919 * i % 10**6:09d}" for i in range(rows)],
            "name": [f"Person {i}" for i in range(rows)],
            "age": [20 + i % 3 for i in range(rows)],
            "sex": ["FM"[i % 2] for i in range(rows)],
        }
    )
    roles = sf.read(frame).with_roles(drop=["number", "name"], quasi=["age", "sex"])
    return roles.with_hierarchies(age=sf.suppress(), sex=sf.suppress())


def step(**options):
    return sf.Pseudonymize("number", **{"key": {"file": "office.key"}, **options})


def released(options, rows=60, seed=None):
    return sf.anonymize(
        visits(rows),
        [sf.KAnonymity(3)],
        [step(**options), sf.GlobalRecoding(budget=0.1)],
        seed=seed,
    )


@EVERY
def test_the_claimed_column_is_released_as_pseudonyms_and_checks(options):
    release = released(options)
    people, table = visits(), release.released.to_polars()
    assert table.columns == ["number", "age", "sex"]
    truth = people.column("number").gather(release.released.origin)
    pairs = set(zip(truth.to_list(), table["number"].to_list(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert not {str(b) for _, b in pairs} & set(truth.to_list())
    change = next(c for c in release.columns if c.name == "number")
    assert change.action.startswith("pseudonymized")
    recipe = Recipe(people.schema, (sf.KAnonymity(3),), release.recipe.steps)
    assert all(sf.check(release.released, recipe))
    plain = Recipe(people.schema, (sf.KAnonymity(3),), (sf.GlobalRecoding(budget=0.1),))
    with pytest.raises(ReleaseRefused, match="still holds direct identifiers: number"):
        sf.check(release.released, plain)


@pytest.mark.slow
@EVERY
def test_the_owner_can_make_the_release_again(options, tmp_path, monkeypatch):
    released(options).write("out")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = sf.verify(
        tmp_path / "out" / "share", original=visits(), owner=tmp_path / "out" / "owner"
    )
    assert found.holds, str(found)
    assert (
        next(c for c in found.claims if c.name == "rows are the recoded original").status == "holds"
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random_table", "counter"])
def test_nothing_is_stored_before_the_release_is_written(method, tmp_path):
    release = released({"method": method, "vault": "people.vault"})
    assert not (tmp_path / "people.vault").exists()
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError):
        release.write("taken")
    assert not (tmp_path / "people.vault").exists()
    release.write("out")
    code = release.released.column("number")[0]
    truth = visits().column("number")[int(release.released.origin[0])]
    named = sf.vault.reidentify("people.vault", [code], key={"file": "office.key"}, reason="test")
    assert named == {str(code): (truth,)}


@pytest.mark.slow
def test_a_vault_that_cannot_be_written_stops_the_release(tmp_path):
    first, second = released(METHODS["random_table"]), released(METHODS["random_table"])
    first.write("one")
    with pytest.raises(OutputError, match="nothing was stored"):
        second.write("two")
    assert not (tmp_path / "two").exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".two")]


def test_people_keep_their_pseudonyms_in_the_next_release_by_choice():
    def codes(release):
        origin = visits(90).column("number").gather(release.released.origin)
        return dict(zip(origin.to_list(), release.released.column("number").to_list(), strict=True))

    first = released(METHODS["random_table"], rows=60)
    first.write("one")
    again, apart = (
        released(METHODS["random_table"], rows=90),
        released({"method": "random_table", "key": None}, rows=90),
    )
    old, new = codes(first), codes(again)
    assert len(old) == 60 and len(new) == 90
    assert all(new[person] == old[person] for person in old)
    assert not set(old.values()) & set(codes(apart).values())


def test_neither_key_nor_names_are_in_what_is_written(tmp_path):
    release = released({**METHODS["random_table"], "domain": "study"})
    release.write("out")
    number = visits().column("number")[7]
    for file in [
        *(tmp_path / "out").rglob("*.json"),
        *(tmp_path / "out").rglob("*.html"),
        *(tmp_path / "out").rglob("*.csv"),
    ]:
        text = file.read_text()
        assert KEY not in text and number not in text and "Person 7" not in text, file
    plan = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())["plan"][0]
    assert plan["pseudonyms"]["method"] == "random_table"


def test_a_recipe_file_with_pseudonyms(tmp_path):
    text = """
sfumato: 1
columns:
  name: drop
  born: {role: drop}
  age: {role: quasi, kind: numeric, hierarchy: {suppress: {}}}
meet:
  - k_anonymity: {k: 2}
steps:
  - pseudonymize: {columns: [name, born], together: true, key: {file: office.key}, length: 20}
  - global_recoding: {budget: 0}
"""
    recipe = recipes.parse(text)
    assert recipes.parse(recipes.dump(recipe)) == recipe
    table = sf.read(
        pl.DataFrame({"name": ["Ann", "Ann", "Bo"], "born": [1, 2, 1], "age": [30, 30, 31]})
    )
    release = sf.run(table, recipe, seed=1)
    assert release.released.columns == ["name", "age"]
    assert release.released.column("name").n_unique() == 3
    assert all(sf.check(release.released, recipe))
