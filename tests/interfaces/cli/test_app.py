"""The command line in our own words: wrong usage, closed pipes, names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.main import get_command

from sfumato.interfaces import cli
from sfumato.interfaces.cli.app import COMMANDS, GROUPS, PANELS, build_app

RECIPE = """
columns: {age: {role: quasi, kind: numeric}, sex: {role: quas}, zip: {role: quas}}
meet: [k-anonymity]
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run"], "<data> is missing"),
        (["run", "x.csv"], "--output or -o is missing"),
        (["run", "x.csv", "-o", "out"], "give a recipe with -r recipe"),
        (["check", "x.csv"], "--recipe or -r is missing"),
        (["chek"], "command 'chek' does not exist. Did you mean 'check'?"),
        (
            ["run", "x.csv", "--recpe", "r"],
            "option --recpe does not exist. Did you mean '--recipe'?",
        ),
        (["run", "x.csv", "-r"], "-r needs a value after it"),
        (["explain", "k_anonymity", "--risk", "much"], "--risk: a number is needed"),
        (
            ["assess", "x.csv", "--threshold", "5"],
            "--threshold: it should be less than or equal to 1",
        ),
        (["list", "models", "steps"], "sfumato list takes fewer arguments; remove steps"),
        (["policy", "foo"], "command 'foo' does not exist. There are: lint, compile"),
    ],
)
def test_wrong_usage_is_told_in_our_words(sfumato, words, told):
    found = sfumato(*words)
    assert found.code == 2
    assert told in found.err
    for theirs in ("Usage:", "Missing", "No such", "Input should", "╭"):
        assert theirs not in found.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keygen office.pem", "key sign"),
        ("vault new-key office.key", "key vault"),
        ("party keys --name a", "key party"),
        ("check-sql -r r.yaml --table t", "check --sql"),
        ("choose-k --risk 0.1", "explain k_anonymity --risk"),
        ("plan --n 10 --k 2 --t 2", "explain bucketize --plan"),
        ("hierarchy x.csv age", "profile --column"),
        ("integral x.csv --mean age", "outputs stable"),
    ],
)
def test_an_old_name_is_answered_with_the_new_one(sfumato, old, new):
    found = sfumato(*old.split())
    assert found.code == 2 and not found.out
    assert found.err.count("\n") == 1 and found.err.endswith(
        f"is now called sfumato {new}; use that\n"
    )


def test_anonymize_is_run():
    commands = get_command(build_app()).commands
    same = commands["anonymize"]
    assert same.hidden and [one.opts for one in same.params] == [
        one.opts for one in commands["run"].params
    ]


def shown(*words):
    """The help of a command on a terminal of 80 columns."""
    narrow = {**os.environ, "COLUMNS": "80"}
    asked = [sys.executable, "-m", "sfumato", *words, "--help"]
    return subprocess.run(
        asked, env=narrow, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


def test_the_help_of_run_is_short_and_everyday_options_come_first():
    text = shown("run")
    assert len(text.splitlines()) <= 70
    panels = (
        "Options",
        "How the release is written",
        "Which data",
        "Register of releases",
        "How the file is read",
    )
    assert [text.index(f"─ {panel} ─") for panel in panels] == sorted(
        text.index(f"─ {panel} ─") for panel in panels
    )
    everyday, _, reading = text.partition("─ How the file is read ─")
    for option in (
        "--delimiter",
        "--encoding",
        "--decimal",
        "--header",
        "--sheet",
        "--missing",
        "--rename-duplicates",
    ):
        assert option in reading and option not in everyday


def test_commands_are_grouped():
    listed = [name for names in PANELS.values() for name in names]
    assert sorted(listed) == sorted({*COMMANDS, *GROUPS})
    text = shown()
    places = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("check -r r.yaml", "name the released table"),
        ("check --sql -r r.yaml", "--sql needs a recipe and the name of the table only"),
        (
            "check x.csv --sql -r r.yaml --table t",
            "--sql needs a recipe and the name of the table only",
        ),
        ("check --sql -r r.yaml --table t --encoding utf-8", "--sql needs a recipe"),
        ("profile x.csv --rule suppress", "belong to --column"),
        ("profile x.csv y.csv --column age --rule suppress", "--column looks at one table"),
        ("explain k_anonymity --plan", "figures go with k_anonymity"),
        ("explain bucketize --n 5", "figures go with k_anonymity"),
        ("explain l_diversity --risk 0.1", "figures go with k_anonymity"),
    ],
)
def test_options_that_do_not_go_together_are_refused(sfumato, words, told):
    found = sfumato(*words.split())
    assert found.code == 2 and told in " ".join(found.err.split())


@pytest.mark.parametrize(
    "words", [["list"], ["list", "--json"], ["--help"], ["explain", "k_anonymity"]]
)
def test_a_reader_who_left_ends_it_quietly(words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "sfumato", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_name_in_two_families_is_explained_in_both_and_can_be_chosen(sfumato):
    both = sfumato("explain", "records_at_risk").out
    assert "as a model (sfumato explain models/records_at_risk)" in both
    assert "as a risk (sfumato explain risk/records_at_risk)" in both
    one = sfumato("explain", "models/records-at-risk").out
    assert "What kind of promise" in one and "as a risk" not in one
    assert sfumato("explain", "risk/k_anonymity").code == 2


def test_hyphens_are_understood_wherever_a_name_is_taken(sfumato, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("age,sex\n" + "30,f\n40,m\n" * 5)
    assert "at least k records" in sfumato("explain", "k-anonymity").out
    asked = sfumato("assess", table, "--quasi", "age", "--model", "k-anonymity:5", "-q")
    assert "5-anonymity" in asked.out
    recipe = tmp_path / "t.yaml"
    recipe.write_text(
        "columns: {age: {role: quasi, kind: numeric}, sex: keep}\nmeet: [{k-anonymity: 5}]\n"
        "steps: [{global-recoding: {objective: class-size}}]\nlimits: {records-at-risk: 0.5}\n"
    )
    made = sfumato("run", table, "-r", recipe, "-o", tmp_path / "out", "-q")
    assert made.code == 0, made.err
    assert (
        sfumato(
            "attack", tmp_path / "out", "--original", table, "--attack", "singling-out", "-q"
        ).code
        == 0
    )


def test_the_same_sentence_about_several_columns_is_said_once(sfumato, tmp_path):
    recipe = tmp_path / "t.yaml"
    recipe.write_text(RECIPE)
    told = sfumato("run", tmp_path / "t.csv", "-r", recipe, "-o", tmp_path / "out").err
    assert told.count("role 'quas' is not known") == 1
    assert "columns 'sex', 'zip': role 'quas' is not known. Did you mean 'quasi'?" in told
    assert "k must be given" in told and "Field required" not in told


def test_choose_k_with_a_table(sfumato, tmp_path):
    table, recipe = tmp_path / "t.csv", tmp_path / "t.yaml"
    table.write_text("age\n" + "30\n40\n" * 10)
    recipe.write_text(
        "columns: {age: {role: quasi, kind: numeric}}\nmeet: [{k_anonymity: 2}]\nsteps:"
        " [global_recoding]\n"
    )
    found = sfumato("explain", "k_anonymity", table, "-r", recipe, "--risk", "0.1", "-q")
    assert found.code == 0, found.err
    assert "k = 10: 0 of 20 records" in found.out
    assert "Choose k = 10" in found.out
    assert sfumato("explain", "k_anonymity", table).code == 2
    assert sfumato("explain", "k_anonymity", table, "-r", recipe, "--k", "5").code == 2


def test_polars_gives_memory_back_unless_the_user_says_how_it_is_kept(monkeypatch):
    name = "_RJEM_MALLOC_CONF"
    monkeypatch.delenv(name, raising=False)
    cli._set_up_libraries()
    assert "muzzy_decay_ms:0" in os.environ[name]
    monkeypatch.setenv(name, "narenas:1")
    cli._set_up_libraries()
    assert os.environ[name] == "narenas:1"
