"""From a file to a verified release, as the command line makes it."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sfumato import examples
from sfumato.interfaces.cli import main

RECIPE = """
sfumato: 1
shape: baskets
columns:
  name: drop
  person: person
  item: {role: item, hierarchy: {tree: {nested: {"*": {P: {A: [a1, a2, a3], B: [b1, b2]}, C: [c1, c2]}}}}}
meet:
  - km_anonymity: {k: 2, m: 2}
steps:
  - item_recoding
limits: {known_items: 0.2}
contract:
  - item_ncp: {at_most: 0.5}
"""


@pytest.fixture
def sfumato(monkeypatch, capfd, tmp_path):
    """Run ``sfumato`` with arguments in an empty folder: exit code and all it says."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return code, said.out + said.err

    return run


def rows() -> pl.DataFrame:
    data = examples.baskets().to_tables()["data"]
    return data.with_columns(name=pl.format("Person No {}", "person"))


def test_from_csv_to_a_verified_release(sfumato, tmp_path):
    rows().write_csv("baskets.csv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    code, said = sfumato("run", "baskets.csv", "-r", "recipe.yaml", "-o", "out", "--pictures")
    assert code == 0, said
    assert "2²-anonymity" in said
    data = pl.read_csv("out/share/data.csv")
    assert data.columns == ["person", "item"]
    assert set(data["item"]) == {"A", "B", "C"}
    assert "Person No" not in (tmp_path / "out/share/report.html").read_text()
    page = (tmp_path / "out/owner/report.html").read_text()
    assert "items known" in page  # the picture: who is alone by what is known, before and after
    assert (tmp_path / "out/share/pictures/curves.png").stat().st_size > 1000
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert certificate["counts"] == {"people": 10, "items": 3, "occurrences": 24, "empty": 0}
    assert not any(f'"{leaf}"' in json.dumps(certificate) for leaf in examples.baskets().labels)
    code, said = sfumato("verify", "out/share", "--original", "baskets.csv", "--owner", "out/owner")
    assert code == 0, said
    assert "byte for byte" in said
    assert sfumato("check", "out/share/data.csv", "-r", "recipe.yaml")[0] == 0
    assert sfumato("attack", "out", "--original", "baskets.csv")[0] == 0
    assert sfumato("evaluate", "out", "--original", "baskets.csv")[0] == 0
    rows().drop("name").write_csv("open.csv")
    code, said = sfumato("check", "open.csv", "-r", "recipe.yaml")
    assert code == 1, said


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_lists_of_items(sfumato, tmp_path, suffix):
    people = (
        rows()
        .group_by("person", maintain_order=True)
        .agg("item", pl.col("name").first(), (pl.col("person").first() % 2).alias("age"))
    )
    write = {"parquet": people.write_parquet, "jsonl": people.write_ndjson}[suffix]
    write(f"baskets.{suffix}")
    recipe = (
        RECIPE.replace("meet:", "  age: quasi\nmeet:")
        .replace("km_anonymity", "k_km_anonymity")
        .replace("item_recoding", "grouped_recoding")
    )
    (tmp_path / "recipe.yaml").write_text(recipe)
    code, said = sfumato("run", f"baskets.{suffix}", "-r", "recipe.yaml", "-o", "out")
    assert code == 0, said
    read = {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[suffix](f"out/share/data.{suffix}")
    assert read.schema["item"] == pl.List(pl.String)
    assert read.height == 10
    code, said = sfumato(
        "verify", "out/share", "--original", f"baskets.{suffix}", "--owner", "out/owner"
    )
    assert code == 0, said


def test_people_beside(sfumato, tmp_path):
    examples.baskets().to_tables()["data"].write_csv("items.csv")
    pl.DataFrame(
        {"person": range(1, 12), "age": [20 + i % 3 for i in range(11)], "name": ["n"] * 11}
    ).write_csv("people.csv")
    recipe = (
        RECIPE.replace("  name: drop\n", "")
        .replace("km_anonymity", "k_km_anonymity")
        .replace("item_recoding", "grouped_recoding")
    )
    recipe += (
        "people:\n  file: people.csv\n  columns: {person: person, age: {role: quasi, kind: numeric},"
        " name: drop}\n"
    )
    (tmp_path / "recipe.yaml").write_text(recipe)
    code, said = sfumato("run", "items.csv", "-r", "recipe.yaml", "-o", "out")
    assert code == 0, said
    assert pl.read_csv("out/share/people.csv").columns == ["person", "age"]
    assert sfumato("verify", "out/share")[0] == 7  # its limits on attacks compare with the original


def test_baskets_taken_apart(sfumato, tmp_path):
    rows().write_csv("baskets.csv")
    recipe = (
        RECIPE.partition("limits:")[0]
        .replace("km_anonymity", "disassociated_km")
        .replace("item_recoding", "disassociation: {size: 5}")
    )
    (tmp_path / "recipe.yaml").write_text(recipe)
    code, said = sfumato("run", "baskets.csv", "-r", "recipe.yaml", "-o", "out")
    assert code == 0, said
    assert pl.read_csv("out/share/data.csv").columns == ["cluster", "chunk", "record", "item"]
    code, said = sfumato("verify", "out/share", "--original", "baskets.csv", "--owner", "out/owner")
    assert code == 0, said


def test_secret_items_stay_with_the_owner(sfumato, tmp_path):
    rows().write_csv("baskets.csv")
    recipe = RECIPE.partition("limits:")[0].replace("item_recoding", "suppress_items")
    recipe = recipe.replace(
        "km_anonymity: {k: 2, m: 2}", "hkp_coherence: {h: 0.5, k: 2, p: 2, private: [c1, c2]}"
    )
    (tmp_path / "recipe.yaml").write_text(recipe)
    code, said = sfumato("run", "baskets.csv", "-r", "recipe.yaml", "-o", "out")
    assert code == 0, said
    assert '"c1"' not in (tmp_path / "out/share/certificate.json").read_text()
    code, said = sfumato("verify", "out/share", "--original", "baskets.csv", "--owner", "out/owner")
    assert code == 0, said


BAD = {
    "k above people": (
        RECIPE.replace("k: 2, m: 2", "k: 11, m: 1"),
        rows(),
        4,
        "fewer than the k = 11",
    ),
    "a hierarchy that misses items": (RECIPE.replace("a1, a2, a3", "a1"), rows(), 2, "not covered"),
    "no item at all": (
        RECIPE,
        rows().with_columns(item=pl.lit(None, dtype=pl.String)),
        2,
        "none of the 10 people has an item",
    ),
    "one person": (RECIPE, rows().filter(pl.col("person") == 1), 4, "1 people have an item"),
    "a step for tables": (RECIPE.replace("item_recoding", "mondrian"), rows(), 2, "serves table"),
}


@pytest.mark.parametrize(("recipe", "table", "code", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named_and_nothing_is_written(sfumato, tmp_path, recipe, table, code, message):
    table.write_csv("baskets.csv")
    (tmp_path / "recipe.yaml").write_text(recipe)
    found, said = sfumato("run", "baskets.csv", "-r", "recipe.yaml", "-o", "out")
    assert (found, message in " ".join(said.split())) == (code, True), said
    assert not (tmp_path / "out").exists()
