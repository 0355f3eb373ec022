"""Files that are not what they were taken for: no message shows what stands in them."""

from __future__ import annotations

import json
import os

import pytest

PEOPLE = [
    ("Alice", "Berlin", "flu"),
    ("Bob", "Paris", "asthma"),
    ("Carol", "Rome", "gout"),
    ("Dave", "Oslo", "angina"),
]
WORDS = [word for row in PEOPLE for word in row]
RECIPE = """
sfumato: 1
columns:
  name: drop
  town: {role: quasi, hierarchy: suppress}
  illness: sensitive
meet:
  - k_anonymity: {k: 2}
steps:
  - global_recoding: {budget: 0.5}
"""


@pytest.fixture
def headless(tmp_path):
    """A table of text without a line that names its columns: every line could be one."""
    file = tmp_path / "people.csv"
    file.write_text("".join(",".join(row) + "\n" for row in PEOPLE), encoding="utf-8")
    return file


@pytest.fixture
def recipe(tmp_path):
    file = tmp_path / "people.yaml"
    file.write_text(RECIPE, encoding="utf-8")
    return file


def shown(done) -> list[str]:
    return [word for word in WORDS if word in done.out + done.err]


def test_the_first_record_is_not_told_as_names_of_columns(sfumato, headless, recipe, tmp_path):
    for command in (
        ("run", headless, "-r", recipe, "-o", tmp_path / "out"),
        ("check", headless, "-r", recipe),
        ("assess", headless, "-r", recipe),
        ("assess", headless, "--quasi", "town"),
    ):
        done = sfumato(*command)
        assert done.code in (2, 5) and not shown(done), command
        assert "'town'" in done.err, command


def test_not_even_as_columns_without_a_role_or_as_notes(sfumato, headless, recipe):
    headless.write_text(headless.read_text().replace(",", " ,"), encoding="utf-8")
    done = sfumato("run", headless, "-r", recipe, "-o", headless.parent / "out", "--header")
    assert done.code == 2 and not shown(done)
    assert (
        "columns 1, 2, 3 of people.csv have no role" in done.err
        and "0 of the 3 columns asked for are among its 3" in done.err
    )


def test_blanks_before_quotes_are_told_by_position(sfumato, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('Alice, "Berlin"\nBob, "Paris"\n', encoding="utf-8")
    assert not shown(sfumato("assess", file, "--quasi", "town", "--header"))


def test_a_confirmed_header_is_worth_a_suggestion(sfumato, recipe, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("name,towns,illness\nAlice,Berlin,flu\n", encoding="utf-8")
    done = sfumato("run", file, "-r", recipe, "-o", tmp_path / "out")
    assert done.code == 2 and "people.csv has no column 'town'. Did you mean 'towns'?" in done.err
    assert "column 'towns' of people.csv has no role" in done.err and not shown(done)


SECRET = (
    "root:$6$xyz:19000:0:99999:7:::\nalice:$6$abc:19000:0:99999:7:::\nbob:!:19000:0:99999:7:::\n"
)


@pytest.fixture
def shadow(tmp_path):
    file = tmp_path / "shadow"
    file.write_text(SECRET, encoding="utf-8")
    return file


def silent_about(done) -> bool:
    return not [
        word for word in ("alice", "bob", "$6$", "19000", "99999") if word in done.out + done.err
    ]


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "name,town,illness\n" + "".join(",".join(row) + "\n" for row in PEOPLE * 3),
        encoding="utf-8",
    )
    return file


def test_a_population_that_is_no_table(sfumato, table, shadow, tmp_path):
    named = tmp_path / "r.yaml"
    named.write_text(
        RECIPE.replace("k_anonymity: {k: 2}", f"k_map: {{k: 2, population: {shadow}}}"),
        encoding="utf-8",
    )
    plain = tmp_path / "plain.yaml"
    plain.write_text(RECIPE.replace("k_anonymity: {k: 2}", "k_map: {k: 2}"), encoding="utf-8")
    for options in (("-r", named), ("-r", plain, "--population", shadow)):
        done = sfumato("run", table, *options, "-o", tmp_path / "out")
        assert (
            done.code in (2, 5) and silent_about(done) and "shadow lacks column 'town'" in done.err
        )


@pytest.mark.parametrize("delimiter", [";", ":"])
def test_a_hierarchy_that_is_none(sfumato, table, shadow, tmp_path, delimiter):
    named = tmp_path / "r.yaml"
    told = f"hierarchy: {{file: {{path: {shadow}, delimiter: '{delimiter}'}}}}"
    named.write_text(RECIPE.replace("hierarchy: suppress", told), encoding="utf-8")
    done = sfumato("run", table, "-r", named, "-o", tmp_path / "out")
    assert done.code in (2, 5) and silent_about(done)


def test_a_recipe_a_policy_and_a_key_that_are_none(sfumato, table, shadow, tmp_path):
    for command in (
        ("run", table, "-r", shadow, "-o", tmp_path / "out"),
        ("policy", "lint", shadow),
        ("run", shadow, "-r", shadow, "-o", tmp_path / "out"),
        ("verify", shadow.parent, "--key", shadow),
    ):
        done = sfumato(*command)
        assert done.code in (1, 2, 5) and silent_about(done), command


def test_a_repeated_key_of_a_recipe_is_told_without_its_values(sfumato, table, tmp_path):
    (tmp_path / "twice.yaml").write_text("name: Alice\nname: Bob\n", encoding="utf-8")
    done = sfumato("run", table, "-r", tmp_path / "twice.yaml", "-o", tmp_path / "out")
    assert done.code == 2 and "name" in done.err and not shown(done)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("what", ["pipe", "device", "folder", "large"])
@pytest.mark.parametrize("place", ["hierarchy", "population", "--population"])
def test_what_is_no_plain_file_is_refused_before_it_is_read(
    sfumato, table, tmp_path, monkeypatch, what, place
):
    path = tmp_path / "odd"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"x" * 11)
        monkeypatch.setattr("sfumato.release.make.MOST_BYTES", 10)
        monkeypatch.setattr("sfumato.methods.hierarchies.file.MOST_BYTES", 10)
    text = RECIPE
    if place == "hierarchy":
        text = text.replace("hierarchy: suppress", f"hierarchy: {{file: {{path: {path}}}}}")
    elif place == "population":
        text = text.replace("k_anonymity: {k: 2}", f"k_map: {{k: 2, population: {path}}}")
    (tmp_path / "r.yaml").write_text(text, encoding="utf-8")
    beside = ("--population", path) if place == "--population" else ()
    done = sfumato("run", table, "-r", tmp_path / "r.yaml", "-o", tmp_path / "out", *beside)
    said = {"pipe": "a pipe", "device": "a device", "folder": "a folder", "large": "larger than"}[
        what
    ]
    assert done.code == 5 and said in done.err


def test_a_recipe_that_never_ends_is_refused(sfumato, table, tmp_path):
    (tmp_path / "r.yaml").symlink_to("/dev/zero")
    done = sfumato("run", table, "-r", tmp_path / "r.yaml", "-o", tmp_path / "out")
    assert done.code == 2 and "and cannot be a recipe" in done.err


def test_the_rule_in_json(sfumato, headless, recipe):
    """What is printed for machines is held to the same rule."""
    done = sfumato("check", headless, "-r", recipe, "--json")
    assert not shown(done)
    assert not done.out or json.loads(done.out)
