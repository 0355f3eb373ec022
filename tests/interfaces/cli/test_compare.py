"""``sfumato compare``: its pictures, and attacks with parameters."""

from __future__ import annotations

import json

GRID = """sfumato: 1
columns:
  sex: {role: quasi, hierarchy: {suppress: {}}}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10]}}}
meet:
  - k_anonymity: {k: {vary: [1, 2]}}
steps:
  - global_recoding
"""


def test_pictures_are_the_maps_of_all_other_risks_and_utilities(sfumato, tmp_path):
    table, recipe, out = tmp_path / "people.csv", tmp_path / "grid.yaml", tmp_path / "out"
    table.write_text("sex,age\n" + "".join(f"{'fm'[i % 2]},{20 + i % 7}\n" for i in range(30)))
    recipe.write_text(GRID)
    how = ("compare", table, recipe, "--workers", 1, "--seconds", 2, "-q")
    refused = sfumato(*how, "--pictures")
    assert refused.code == 2 and "--output" in refused.err
    assert sfumato(*how, "--pictures", "-o", out).code == 0
    drawn = {file.name for file in (out / "pictures").iterdir()}
    assert {"linkage-marginal_error.png", "prosecutor_risk-loss.png", "descriptions.txt"} <= drawn
    assert "linkage-loss.png" not in drawn, "that one is map.png"
    assert (out / "pictures" / "linkage-marginal_error.png").read_bytes()[:4] == b"\x89PNG"
    assert (
        "Risk and utility of 2 candidates." in (out / "pictures" / "descriptions.txt").read_text()
    )
    assert sfumato(*how, "-o", out, "--force").code == 0 and not (out / "pictures").exists()


def test_algorithms_are_tried_in_the_place_of_that_of_the_recipe(sfumato, tmp_path):
    table, recipe, out = tmp_path / "people.csv", tmp_path / "grid.yaml", tmp_path / "out"
    table.write_text("sex,age\n" + "".join(f"{'fm'[i % 2]},{20 + i % 7}\n" for i in range(30)))
    recipe.write_text(GRID.replace("k_anonymity: {k: {vary: [1, 2]}}", "k_anonymity: 2"))
    how = ("compare", table, recipe, "--workers", 1, "--seconds", 2, "-q", "--vary", "k=2,3")
    made = sfumato(*how, "--algorithms", "datafly", "--algorithms", "mondrian", "-o", out)
    assert made.code == 0
    told = json.loads((out / "comparison.json").read_text())["candidates"]
    assert [candidate["name"] for candidate in told] == [
        "datafly k=2",
        "datafly k=3",
        "mondrian k=2",
        "mondrian k=3",
    ]
    assert [candidate["numbers"] for candidate in told] == [{"k": 2.0}, {"k": 3.0}] * 2
    assert "as k grows" in (out / "comparison.html").read_text()
    wrong = sfumato(*how, "--algorithms", "mondrain")
    assert wrong.code == 2 and "Did you mean" in wrong.err


def test_candidates_are_attacked_with_parameters(sfumato, visits, recipe):
    asked = (
        "--attack",
        "suda: {most: 2}",
        "--risk",
        "suda: {most: 2}",
        "--seconds",
        5,
        "--sample",
        50,
    )
    done = sfumato("compare", visits, recipe, *asked, "--json", "-q")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["axes"]["risk"] == "suda: {most: 2}"
    assert "suda: {most: 2}" in told["candidates"][0]["risks"]
    wrong = sfumato("compare", visits, recipe, "--attack", "suda: {least: 2}", "-q")
    assert wrong.code == 2 and "no parameter" in wrong.err
