"""``sfumato profile --column``: a look at a hierarchy with counts, for its owner."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "work.csv"
    codes = ["62.01"] * 5 + ["62.02"] * 3 + ["47.11"] * 2 + ["x1"]
    pl.DataFrame({"nace": codes, "age": [20, 21, 22, 30, 31, 32, 40, 41, 42, 43, 44]}).write_csv(
        file
    )
    return file


def test_levels_nodes_and_counts(sfumato, table):
    done = sfumato(
        "profile",
        table,
        "--column",
        "nace",
        "--rule",
        "classification: {of: nace, other: unknown}",
        "--json",
    )
    assert done.code == 0
    shown = json.loads(done.out)
    assert shown["hierarchy"] == {
        "classification": {"of": "nace", "version": "2", "other": "unknown"}
    }
    figures = [
        [level[key] for key in ("nodes", "smallest", "median", "largest")]
        for level in shown["levels"]
    ]
    assert figures == [[4, 1, 2.5, 5], [3, 1, 2, 8], [3, 1, 2, 8], [3, 1, 2, 8], [1, 11, 11, 11]]
    sections = {
        node["label"]: (node["records"], node["values"]) for node in shown["levels"][3]["labels"]
    }
    assert sections == {"J": (8, 2), "G": (2, 1), "unknown": (1, 1)}


def test_what_is_not_covered_is_counted(sfumato, table):
    done = sfumato("profile", table, "--column", "nace", "--rule", "classification: nace")
    assert done.code == 0
    assert "not covered: 1 distinct values, 1 records" in done.out
    assert "x1" not in done.out + done.err
    assert "62.01" not in done.out  # the lowest level is counted, not listed
    assert "for the owner only" in done.err
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_the_hierarchy_of_a_recipe_and_the_rule_of_an_example(sfumato, visits, recipe):
    done = sfumato("profile", visits, "--column", "zip", "-r", recipe, "--json")
    assert [level["level"] for level in json.loads(done.out)["levels"]] == [0, 1, 2, 3, 4, 5]
    inferred = sfumato("profile", visits, "--column", "zip", "--rule", 'like: "53711 → 537"')
    assert "level 1: the first 3 of 5 characters" in inferred.out


def test_few_labels_are_shown_unless_all_are_asked_for(sfumato, table):
    few = sfumato(
        "profile", table, "--column", "age", "--rule", "intervals: {widths: [2]}", "--show", 2
    )
    assert "more" in few.out
    every = sfumato(
        "profile", table, "--column", "age", "--rule", "intervals: {widths: [2]}", "--show", 0
    )
    assert "more" not in every.out
    assert every.out.count("-") == 7  # 20-21 … 44-45


def test_it_is_written_down_and_read_back(sfumato, table, tmp_path):
    target = tmp_path / "nace.csv"
    done = sfumato(
        "profile", table, "--column", "nace", "--rule", "classification: nace", "--output", target
    )
    assert done.code == 0
    assert target.read_text().splitlines()[0] == "47.11;47.1;47;G;*"
    assert sf.read_hierarchy(target).paths(["62.02"], [1]).rows == (
        ("62.02", "62.0", "62", "J", "*"),
    )


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["nace"], 2, "give either a recipe"),
        (["nix", "--rule", "suppress"], 2, "lacks column 'nix'"),
        (["nace", "--rule", "sup: {"], 2, "not valid YAML"),
        (["nace", "--rule", "clasification: nace"], 2, "Did you mean 'classification'"),
        (["nace", "--rule", "grouped: age"], 2, "distinct values are not numbers"),
        (
            ["nace", "--rule", "suppress", "--output", "no/such/folder/h.csv"],
            None,
            "cannot be written",
        ),
    ],
)
def test_wrong_usage(sfumato, table, arguments, code, why):
    done = sfumato("profile", table, "--column", *arguments)
    assert done.code == code if code is not None else done.code > 0
    assert why in " ".join(done.err.split())
    assert "62.01" not in done.out + done.err


def test_a_recipe_without_a_hierarchy_for_the_column(sfumato, visits, recipe):
    done = sfumato("profile", visits, "--column", "ward", "-r", recipe)
    assert done.code == 2
    assert "no hierarchy; name one with --rule" in done.err
