"""What a check writes for machines and for reviewers, from the command line."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET

import pytest

RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric}
  town: quasi
  ill: sensitive
MORE
meet: [{k_anonymity: {k: 2}}, {l_diversity: {sensitive: ill, l: 2}}]
steps: [global_recoding]
"""
BEFORE = "age,town,ill\n30,Ulm,flu\n30,Ulm,gout\n30,Ulm,flu\n40,Rom,flu\n40,Rom,gout\n"
AFTER = "age,town,ill,no|te\n30,Ulm,flu,a\n30,Ulm,flu,b\n40,Rom,flu,c\n40,Rom,gout,d\n"


@pytest.fixture
def change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "base" / "out"
    base.mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (base / "t.csv").write_text(BEFORE)
    (tmp_path / "out" / "t.csv").write_text(AFTER)
    (tmp_path / "base" / "r.yaml").write_text(RECIPE.replace("MORE", ""))
    (tmp_path / "r.yaml").write_text(RECIPE.replace("MORE", "  no|te: keep"))
    return tmp_path


def test_a_change_is_told_without_a_value(sfumato, change):
    done = sfumato("check", "out/t.csv", "-r", "r.yaml", "--diff", "base")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == "### `out/t.csv`: does not hold: 2-diversity of ill"
    assert "| 2-diversity of ill | ✓ 2 | ✗ 1 |" in lines
    assert "| records | 5 | 4 |" in lines and "| average risk | 40 % | 50 % |" in lines
    assert "New columns: `no\\|te`." in lines
    assert not {"Ulm", "gout", "30"} & set(done.out.replace("|", " ").split())


def test_a_first_version_and_one_that_does_not_fit_are_said(sfumato, change):
    (change / "base" / "out" / "t.csv").unlink()
    done = sfumato("check", "out/t.csv", "-r", "r.yaml", "--diff", "base")
    assert "There is no earlier version" in done.out and done.code == 1
    (change / "base" / "t.csv").write_text("age\n1\n")
    done = sfumato("check", "out/t.csv", "-r", "r.yaml", "--diff", "base/t.csv")
    assert "cannot be judged" in done.out


def test_junit_and_sarif_say_what_the_verdicts_say(sfumato, change):
    written = ("--junit", "j.xml", "--sarif", "s.json")
    assert sfumato("check", "out/t.csv", "-r", "r.yaml", *written).code == 1
    suite = ET.parse(change / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is None for case in suite.iter("testcase")] == [True, False]
    (run,) = json.loads((change / "s.json").read_text("utf-8"))["runs"]
    (result,) = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "l_diversity"
    where = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert where == {"uri": "out/t.csv"}
    assert sfumato("check", "base/out/t.csv", "-r", "base/r.yaml", *written).code == 0
    (run,) = json.loads((change / "s.json").read_text("utf-8"))["runs"]
    assert run["results"] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--diff", "nowhere"), 5),
        (("--diff", "base", "--json"), 2),
        (("--diff", "base", "--original", "out/t.csv"), 2),
        (("--junit", "no/folder/j.xml"), 2),
        (("--junit", "j.xml", "--generalisation-of", "out/t.csv"), 2),
    ],
)
def test_what_cannot_be_told_is_refused(sfumato, change, words, code):
    done = sfumato("check", "out/t.csv", "-r", "r.yaml", *words)
    assert done.code == code and "Ulm" not in done.err


@pytest.mark.parametrize("seed", range(12))
def test_the_heading_is_that_of_counting(sfumato, change, seed):
    draw = random.Random(seed)
    rows = [(draw.choice("34"), draw.choice(["flu", "gout"])) for _ in range(6)]
    lines = [f"{age}0,Ulm,{ill}" for age, ill in rows]
    (change / "out" / "t.csv").write_text("\n".join(["age,town,ill", *lines]) + "\n")
    (change / "r.yaml").write_text(RECIPE.replace("MORE", ""))
    classes = {age: [ill for other, ill in rows if other == age] for age, _ in rows}
    holds = all(len(ills) >= 2 and len(set(ills)) == 2 for ills in classes.values())
    outcome = sfumato("check", "out/t.csv", "-r", "r.yaml", "--diff", "base")
    assert ("every promise holds" in outcome.out) == holds
    assert outcome.code == (0 if holds else 1)


def test_a_recipe_without_promises_holds_nothing(sfumato, change):
    (change / "out" / "t.csv").write_text(BEFORE)
    without = "\n".join(line for line in RECIPE.splitlines() if not line.startswith("meet"))
    (change / "r.yaml").write_text(without.replace("MORE", ""))
    outcome = sfumato("check", "out/t.csv", "-r", "r.yaml", "--diff", "base")
    assert "every promise holds" not in outcome.out
