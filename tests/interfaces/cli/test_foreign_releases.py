"""``attack`` and ``evaluate`` on tables that were made elsewhere."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.core.test_alignment import ROLES, copies_among_strangers, people


@pytest.fixture
def call(sfumato, tmp_path):
    """The command in a folder with an original, a control group, a synthetic and a masked table,
    and a recipe.
    """
    everyone = people(900)
    everyone[:600].write_csv(tmp_path / "o.csv")
    everyone[600:].write_csv(tmp_path / "held.csv")
    copies_among_strangers(everyone[:600]).write_csv(tmp_path / "synthetic.csv")
    everyone[:600].with_columns(age=pl.col("age") // 10 * 10)[::-2].write_csv(
        tmp_path / "masked.csv"
    )
    lines = [f"  {name}: {{role: {role}}}" for role, names in ROLES.items() for name in names]
    recipe = [
        "sfumato: 1",
        "columns:",
        *lines,
        "limits: {copied_records: 0.1}",
        "steps: []",
        "meet: []",
    ]
    (tmp_path / "roles.yaml").write_text("\n".join(recipe) + "\n")

    def run(command, released, *words):
        where = [
            str(tmp_path / word) if word.endswith((".csv", ".yaml")) else word for word in words
        ]
        return sfumato(command, tmp_path / released, *where)

    return run


def test_the_command_asks_how_rows_belong_together(call):
    found = call("attack", "synthetic.csv", "--original", "o.csv", "-r", "roles.yaml")
    assert found.code == 2 and "say with --align" in found.err
    found = call("evaluate", "synthetic.csv", "--original", "o.csv", "-r", "roles.yaml")
    assert found.code == 2 and "say with --align" in found.err


def test_the_command_sees_copies_and_keeps_the_limit_of_the_recipe(call):
    words = [
        "--original",
        "o.csv",
        "-r",
        "roles.yaml",
        "--align",
        "none",
        "--control",
        "held.csv",
        "--json",
    ]
    found = call("attack", "synthetic.csv", *words, "--attack", "copied_records")
    assert found.code == 1  # 0.2 where the recipe allows 0.1
    tried = json.loads(found.out)["tried"]
    assert tried[0]["value"] == pytest.approx(0.2, abs=0.03)


def test_the_command_aligns_by_a_column(call):
    words = ["--original", "o.csv", "-r", "roles.yaml", "--align", "id", "--json"]
    found = call("attack", "masked.csv", *words, "--attack", "linkage")
    assert json.loads(found.out)["records"] == 300 and found.code == 0
    assert call("evaluate", "masked.csv", *words).code == 0


@pytest.mark.parametrize("more", [["--certify"], ["--sign", "key.yaml"]])
def test_what_is_about_a_folder_is_refused(call, more):
    words = ["--original", "o.csv", "-r", "roles.yaml", "--align", "id"]
    assert call("evaluate", "masked.csv", *words, *more).code == 2
