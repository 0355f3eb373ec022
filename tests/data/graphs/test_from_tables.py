"""From file to verified release: edge lists with people beside them, and GraphML; and what is
refused on the way.
"""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest

from sfumato import examples
from sfumato.core import recipe_files
from sfumato.interfaces.cli import main
from sfumato.release.signatures import digest_of

RECIPE = """
sfumato: 1
shape: graph
columns: {person: {role: from}, friend: {role: to}}
people:
  file: people.csv
  columns: {id: {role: person}, name: {role: drop}, sex: {role: quasi}, ill: {role: sensitive}}
meet: [{k_degree: 4}]
steps: [{degree_anonymization: 4}]
"""
GRAPHML = """
sfumato: 1
shape: graph
columns: {source: {role: from}, target: {role: to}}
people: {columns: {id: {role: person}, age: {role: quasi}}}
meet: [{k_neighbour_sets: 3}, {h_refinement_k: {k: 3, rounds: 4}}, {k_neighbourhood: 3}]
steps: [{neighbour_set_blowup: 3}]
"""


@pytest.fixture
def ran(monkeypatch, capfd):
    """A command that must end with some exit code; what it said."""

    def run(*args, code=0):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, args)])
        # The first command of a process decides how wide its lines are: all tests say 80.
        monkeypatch.setenv("COLUMNS", "80")
        try:
            main()
            found = 0
        except SystemExit as stop:
            found = stop.code
        said = capfd.readouterr()
        assert (found or 0) == code, said
        return said.out + said.err

    return run


def curves(out):
    """Pictures of curves, one for each kind of thing that intruders know more and more of."""
    return sorted((out / "owner" / "pictures").glob("curves*.png"))


@pytest.fixture
def folder(tmp_path):
    """Ties and people as a user has them: ids are names, rows in any order, somebody without a
    tie.
    """
    network = examples.social_network(80, 2)
    stream = np.random.default_rng(1)
    names = np.array([f"p{number:03}" for number in stream.permutation(81)])
    ties = pl.DataFrame({"person": names[network.edges[0]], "friend": names[network.edges[1]]})
    ties.sample(fraction=1.0, shuffle=True, seed=2).write_csv(tmp_path / "ties.csv")
    sex, ill = stream.choice(["f", "m"], 81), stream.choice(["yes", "no"], 81)
    people = pl.DataFrame(
        {"id": names, "name": [f"Person {n}" for n in range(81)], "sex": sex, "ill": ill}
    )
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_from_an_edge_list_to_a_verified_release(folder, ran):
    out = folder / "out"
    told = ran("run", folder / "ties.csv", "-r", folder / "recipe.yaml", "-o", out, "--pictures")
    assert "everybody is like at least" in told
    ties, people = (
        pl.read_csv(out / "share" / "data.csv"),
        pl.read_csv(out / "share" / "people.csv"),
    )
    assert people.columns == ["id", "sex", "ill"]
    assert sorted(people["id"]) == list(range(81))
    assert (ties["person"] < ties["friend"]).all()
    counts = pl.concat([ties["person"], ties["friend"].rename("person")]).value_counts()
    both = (
        people.join(counts, left_on="id", right_on="person", how="left")
        .group_by("sex", "count")
        .len()
    )
    assert both["len"].min() >= 4
    shared = (out / "share" / "certificate.json").read_text() + (
        out / "share" / "report.html"
    ).read_text()
    assert "Person 1" not in shared and "p001" not in shared
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in curves(out)) and len(curves(out)) == 3
    assert "vertex refinement" in told and "seed and propagate" in told
    verified = ran("verify", out / "share", "--original", folder / "ties.csv")
    assert "produced again from recipe and seed, byte for byte" in verified
    ran(
        "check",
        out / "share" / "data.csv",
        "-r",
        folder / "recipe.yaml",
        "--people",
        out / "share" / "people.csv",
    )


def test_a_release_that_was_changed_is_found_out(folder, ran):
    out = folder / "out"
    ran("run", folder / "ties.csv", "-r", folder / "recipe.yaml", "-o", out)
    file = out / "share" / "data.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    ran("verify", out / "share", code=1)


def test_the_order_of_rows_gives_the_same_release(folder, ran):
    for name in ("one", "two"):
        ran(
            "run",
            folder / "ties.csv",
            "-r",
            folder / "recipe.yaml",
            "-o",
            folder / name,
            "--seed",
            "7",
        )
        ties = pl.read_csv(folder / "ties.csv")
        ties.reverse().write_csv(folder / "ties.csv")
        pl.read_csv(folder / "people.csv").reverse().write_csv(folder / "people.csv")
    one, two = ((folder / name / "share" / "data.csv").read_text() for name in ("one", "two"))
    assert one == two


def test_from_graphml_to_a_verified_release(tmp_path, ran):
    oracle = nx.Graph()
    characters = nx.les_miserables_graph()
    for number, name in enumerate(characters):
        oracle.add_node(name, age=20 + number % 3 * 10)
    oracle.add_edges_from(characters.edges)
    nx.write_graphml_xml(oracle, tmp_path / "novel.graphml")
    (tmp_path / "recipe.yaml").write_text(GRAPHML)
    out = tmp_path / "out"
    told = ran(
        "run", tmp_path / "novel.graphml", "-r", tmp_path / "recipe.yaml", "-o", out, "--pictures"
    )
    assert told.count("✓") >= 3
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    assert all(verdict["holds"] for verdict in certificate["verdicts"])
    assert certificate["counts"]["people"] == 77
    assert all(p.stat().st_size > 3000 for p in curves(out)) and len(curves(out)) == 3
    assert "Valjean" not in (out / "share" / "report.html").read_text()
    assert "byte for byte" in ran("verify", out / "share", "--original", tmp_path / "novel.graphml")


def test_directed_ties_by_pairs(folder, ran):
    recipe = RECIPE.replace("k_degree: 4", "k_degree: {k: 4, directed: true}").replace(
        "degree_anonymization: 4", "degree_anonymization: {k: 4, directed: true}"
    )
    (folder / "recipe.yaml").write_text(recipe)
    out = folder / "out"
    ran("run", folder / "ties.csv", "-r", folder / "recipe.yaml", "-o", out)
    ties = pl.read_csv(out / "share" / "data.csv")
    people = pl.read_csv(out / "share" / "people.csv")
    counts = [
        ties[name].value_counts().rename({name: "id", "count": name})
        for name in ("person", "friend")
    ]
    both = people.join(counts[0], on="id", how="left").join(counts[1], on="id", how="left")
    assert both.group_by("sex", "person", "friend").len()["len"].min() >= 4
    assert "byte for byte" in ran("verify", out / "share", "--original", folder / "ties.csv")


def test_private_degrees_are_certified_for_one_tie(folder, ran):
    pl.read_csv(folder / "ties.csv").write_parquet(folder / "ties.parquet")
    pl.read_csv(folder / "people.csv").write_parquet(folder / "people.parquet")
    recipe = RECIPE.replace("people.csv", "people.parquet").replace("role: quasi", "role: drop")
    recipe = recipe.replace("role: sensitive", "role: drop").replace("k_degree: 4", "k_degree: 1")
    (folder / "recipe.yaml").write_text(
        recipe.replace("degree_anonymization: 4", "private_degrees: 1.5")
    )
    out = folder / "out"
    ran("run", folder / "ties.parquet", "-r", folder / "recipe.yaml", "-o", out)
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    assert certificate["differential_privacy"]["epsilon"] == 1.5
    assert "one tie" in json.dumps(certificate["plan"], ensure_ascii=False)
    told = ran(
        "verify", out / "share", "--original", folder / "ties.parquet", code=7
    )  # no file shows an ε
    assert "random numbers of the system" in " ".join(told.split())


@pytest.mark.parametrize(
    ("ties", "code", "words"),
    [
        (
            "person,friend\np000,stranger\n",
            5,
            "name somebody who is missing from the table of people",
        ),
        ("person,friend,strength\np000,p001,3\n", 2, "strength"),
        ("person,friend\n,p001\n", 5, "have an empty column of role from"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(folder, ran, ties, code, words):
    (folder / "ties.csv").write_text(ties)
    said = ran(
        "run", folder / "ties.csv", "-r", folder / "recipe.yaml", "-o", folder / "out", code=code
    )
    assert words in said.replace("\n", " ")
    assert "p000" not in said and "stranger" not in said
    assert not (folder / "out").exists()


def test_recipes_of_graphs_are_written_as_they_are_read(tmp_path):
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(RECIPE, "recipe"), base=tmp_path)
    assert [model.k for model in recipe.meet] == [4]
    assert recipe_files.any_from_dict(recipe_files.to_dict(recipe), base=tmp_path) == recipe


def _forged(certificate, how):
    if how == "quasi told plain":
        certificate["people"]["columns"]["sex"]["role"] = "keep"
    elif how == "people not told":
        del certificate["people"]
    elif how == "people told nowhere":
        del certificate["people"], certificate["recipe"]["people"]
    else:
        del certificate["people"]["columns"]["sex"]["role"]
    return certificate


@pytest.mark.parametrize(
    "how", ["quasi told plain", "people not told", "people told nowhere", "no role at all"]
)
def test_a_forged_certificate_cannot_leave_out_what_people_are_known_by(folder, ran, how):
    out = folder / "out"
    ran("run", folder / "ties.csv", "-r", folder / "recipe.yaml", "-o", out, "--attack", "0")
    file = out / "share" / "certificate.json"
    forged = _forged(json.loads(file.read_text()), how)
    file.write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    told = ran("verify", out / "share", code=5 if how == "no role at all" else 1)
    assert (
        "columns match the recipe" in told
        or "it lacks people → columns → sex → role" in " ".join(told.split())
    )
    assert "bug" not in told
