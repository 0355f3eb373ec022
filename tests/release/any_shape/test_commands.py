"""The commands about people who are no table: the same words, dispatched by the recipe or the
certificate.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.release.any_shape.conftest import HELD


@pytest.fixture
def out(sfumato, data, recipe, tmp_path):
    code, _, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "--seed", "5", "-q")
    assert code == 0, err
    return tmp_path / "out"


def test_run_tells_counts_promises_attacks_and_what_is_unknown(sfumato, data, recipe, tmp_path):
    code, shown, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out")
    assert code == 0 and "share" in err and "keep" in err
    for part in (
        "company of 2",
        "1 of 6 people removed",
        "letters",
        "100 %",
        "60 %",
        "blind is unknown",
        "letters lost",
    ):
        assert part in shown
    code, shown, _ = sfumato(
        "run", data, "-r", recipe, "-o", tmp_path / "json", "--json", "--attack", "0", "-q"
    )
    told = json.loads(shown)
    assert code == 0 and told["counts"] == {"people": 5, "letters": 3} and told["attacks"] is None
    assert not any(name in shown for name in HELD)


def test_run_refuses_what_does_not_hold_and_leaves_nothing(sfumato, data, recipe, tmp_path):
    recipe.write_text(recipe.read_text().replace("- drop_rare", "- drop_rare: {k: 1}"))
    code, _, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "-q")
    assert code == 1 and "company of 2" in err and not (tmp_path / "out").exists()


def test_verify_check_and_replay(sfumato, out, data, recipe):
    assert sfumato("verify", out / "share")[0] == 7  # the rest needs the original
    code, shown, _ = sfumato("verify", out / "share", "--original", data, "--json")
    claims = {claim["name"]: claim["status"] for claim in json.loads(shown)["claims"]}
    assert code == 0 and set(claims.values()) == {"holds"}
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe)[0] == 0
    code, _, err = sfumato("check", data, "-r", recipe)
    assert code == 1 and "direct identifiers: name" in err
    bare = data.with_name("bare.csv")
    pl.read_csv(data).drop("name").write_csv(bare)
    code, shown, _ = sfumato("check", bare, "-r", recipe, "--json")
    assert code == 1 and json.loads(shown)["verdicts"][0]["attained"] == 1
    (out / "share" / "data.csv").write_text("who,letter\n1,a\n")
    code, shown, _ = sfumato("verify", out / "share")
    assert code == 1 and "✗ counts" in shown


def test_assess_says_the_risk_today(sfumato, data, recipe):
    code, shown, _ = sfumato("assess", data, "-r", recipe, "--model", "company:1")
    assert (
        code == 0
        and "✗ company of 2" in shown
        and "✓ company of 1" in shown
        and "neighbour" in shown
    )
    assert "against 6 people" in shown and "released" not in shown
    code, shown, _ = sfumato("assess", data, "-r", recipe, "--json", "--seconds", "0")
    assert code == 0 and json.loads(shown)["attacks"] is None
    code, _, err = sfumato("assess", data, "-r", recipe, "--model", "company")
    assert code == 2 and "k must be given" in err


def test_attack_and_evaluate_add_what_they_find(sfumato, out, data, tmp_path, recipe):
    code, shown, _ = sfumato("attack", out, "--original", data, "--attack", "alone", "--certify")
    assert code == 0 and "1 attack, tried on" in shown and "against 5 people" in shown
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    assert [t["attack"] for t in certificate["attacks"]["tried"]] == ["alone"] and not certificate[
        "attacks"
    ]["skipped"]
    code, shown, _ = sfumato(
        "evaluate", out, "--original", data, "--metric", "letters_lost", "--certify"
    )
    assert code == 0 and "5 of 6 people released" in shown
    assert sfumato("verify", out / "share", "--original", data)[0] == 0
    code, _, err = sfumato("attack", out, "--original", recipe, "--attack", "alone")
    assert code != 0 and "Traceback" not in err
    sfumato("run", data, "-r", recipe, "-o", tmp_path / "second", "-q")
    code, shown, _ = sfumato(
        "attack", out, "--original", data, "--others", tmp_path / "second", "--json"
    )
    assert code == 0 and "second" in [t["attack"] for t in json.loads(shown)["tried"]]


def test_an_attack_beyond_its_limit_ends_with_1(sfumato, data, recipe, tmp_path):
    recipe.write_text(recipe.read_text() + "limits: {alone: 0.7}\n")
    assert sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "-q")[0] == 0
    lock = tmp_path / "out" / "owner" / "lock.json"
    lock.write_text(lock.read_text().replace("0.7", "0.5"))
    assert sfumato("attack", tmp_path / "out", "--original", data, "-q")[0] == 1


def test_list_and_explain_name_the_shape(sfumato, out):
    code, shown, _ = sfumato("list", "models")
    assert (
        code == 0
        and "models, shape: baskets" in shown
        and "company" in shown
        and "k_anonymity" in shown
    )
    listed = json.loads(sfumato("list", "steps", "--json")[1])["steps"]
    assert {"drop_rare"} <= {one["name"] for one in listed if one["shape"] == "baskets"}
    code, shown, _ = sfumato("explain", "company")
    assert (
        code == 0
        and "for data of shape baskets" in shown
        and "judged on: the release alone" in shown
    )
    code, shown, _ = sfumato("explain", out)
    assert code == 0 and "5 people, 3 letters are shared; 1 people were removed" in shown


def test_what_is_about_tables_is_refused_by_name(sfumato, data, recipe, out, tmp_path):
    code, _, err = sfumato("compare", data, recipe)
    assert code == 2 and "for data of shape baskets" in err
    code, _, err = sfumato(
        "run",
        data,
        "-r",
        recipe,
        "-o",
        tmp_path / "x",
        "--engine",
        "polars",
        "--into",
        "sqlite:///x.db",
    )
    assert code == 2 and "not available for data of shape" in err
    code, _, err = sfumato("run", data, "-r", recipe, "-o", "-")
    assert code == 2 and "this takes one table only" in err
    code, _, err = sfumato("assess", data, "-r", recipe, "--record", "1")
    assert code == 2 and "not available for data of shape" in err
    code, _, err = sfumato("attack", out, "--original", data, "--knows", "letter")
    assert code == 2 and "not available for data of shape" in err
    table = tmp_path / "table.yaml"
    table.write_text(
        "columns: {who: quasi, letter: keep, name: drop}\nmeet: [{k_anonymity: 2}]\nsteps:"
        " [mondrian]\n"
    )
    code, _, err = sfumato("run", data, "-r", table, "-o", tmp_path / "x", "--people", data)
    assert code == 2 and "not available for data of shape" in err


def test_bad_input_is_named(sfumato, data, recipe, tmp_path):
    cases = {
        "letter\na\n": (2, "lacks columns"),
        "name,who,letter,extra\nA,1,a,2\n": (2, "has no role"),
        "name,who,letter\nA,1,\nB,2,a\n": (2, "are empty"),
        "name,who,letter\n": (5, ""),
        "": (5, "empty"),
    }
    for number, (content, (code, words)) in enumerate(cases.items()):
        file = tmp_path / f"bad{number}.csv"
        file.write_text(content)
        found, _, err = sfumato("run", file, "-r", recipe, "-o", tmp_path / "out", "-q")
        assert words in err and "Traceback" not in err and found in (code, 2), (content, found, err)
    assert not (tmp_path / "out").exists()
    code, _, err = sfumato("run", tmp_path / "nowhere.csv", "-r", recipe, "-o", tmp_path / "out")
    assert code == 5 and "this file does not exist; check the path" in err
    recipe.write_text(recipe.read_text().replace("- company: {k: 2}", "- k_anonymity: {k: 2}"))
    code, _, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out")
    assert code == 2 and "for shape: baskets; it serves table" in err
    recipe.write_text(
        recipe.read_text()
        .replace("shape: baskets\n", "")
        .replace("k_anonymity: {k: 2}", "company: {k: 2}")
    )
    code, _, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out")
    assert code == 2 and "(say 'shape: baskets' for such data)" in err


@pytest.mark.parametrize("file", ["release.json", "lock.json", "alignment.parquet"])
def test_a_damaged_owner_folder_is_named(sfumato, out, data, file):
    (out / "owner" / file).write_bytes(b"{]")
    code, _, err = sfumato("attack", out, "--original", data)
    assert code == 5 and file in err
