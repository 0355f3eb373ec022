"""``sfumato protect``: exit codes, what it asks and writes, and what it leaves alone."""

from __future__ import annotations

import json
import shlex

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.decision.record import read_decision

CONTEXT = (
    "--recipient",
    "internal",
    "--contract",
    "yes",
    "--sensitivity",
    "low",
    "--population",
    80_000_000,
)
FIRST = ("--first-release", "nothing of these people was released before")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Visits with their roles in a recipe, so that no profile has to guess."""
    folder = tmp_path_factory.mktemp("protect")
    visits = sf.examples.visits(rows=300)
    visits.to_polars().write_csv(folder / "visits.csv")
    return folder / "visits.csv"


DECIDE = ("--decide", "patient=drop")


def test_a_release_and_its_decision(sfumato, table, tmp_path):
    out = tmp_path / "out"
    done = sfumato("protect", table, *CONTEXT, *FIRST, *DECIDE, "--seed", "1", "-o", out)
    assert done.code == 0, done.err
    assert done.out.startswith("Internal use only") or "Meets the terms" in done.out
    assert "next:  sfumato verify" in done.err and str(out / "share" / "report.html") in done.err
    assert (out / "owner" / "recipe.yaml").is_file()
    decision = read_decision(out).decision
    assert sfumato("verify", out / "share", "--original", table, "-q").code in (0, 7)
    again = sfumato("protect", table, *CONTEXT, *FIRST, *DECIDE, "--seed", "1", "-o", out)
    assert again.code == 2 and "--force" in again.err
    # What would help is for the owner alone.
    shared = "".join(file.read_text() for file in (out / "share").iterdir())
    assert "--change" not in shared
    assert decision.tier.rank >= decision.requested.rank


def test_json_is_the_decision(sfumato, table, tmp_path):
    out = tmp_path / "out"
    done = sfumato("protect", table, *CONTEXT, *FIRST, *DECIDE, "--seed", "1", "-o", out, "--json")
    document = json.loads(done.out)
    assert document["sfumato_protection"] == 1 and document["folder"] == str(out)
    assert document["decision"]["requested"] == "internal"


def test_a_lower_tier_than_asked_for_ends_with_1_and_says_what_would_help(sfumato, table, tmp_path):
    asked = ("--recipient", "researchers", "--contract", "yes", "--sensitivity", "low")
    more = ("--population", 80_000_000, "--seed", "1", "-o", tmp_path / "out")
    done = sfumato("protect", table, *asked, *DECIDE, *more)
    # Whether these people were released before is not said, so it stays inside.
    assert done.code == 1, done.out
    assert "--first-release" in done.out


def test_a_change_is_applied_and_recorded(sfumato, table, tmp_path):
    out = tmp_path / "out"
    done = sfumato(
        *("protect", table, *CONTEXT, *FIRST, *DECIDE, "--seed", "1", "-o", out, "-q"),
        *("--change", "drop fee"),
    )
    assert done.code in (0, 1), done.err
    assert "fee" not in pl.read_csv(out / "share" / "data.csv").columns
    assert "# changed: drop fee" in (out / "owner" / "recipe.yaml").read_text()


@pytest.mark.parametrize(
    "more",
    [
        ("--change", "melt fee"),
        ("--change", "drop nowhere"),
        ("--not-known", "fee"),
        ("--decide", "patient"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_tried(sfumato, table, tmp_path, more):
    done = sfumato("protect", table, *CONTEXT, *more, "-o", tmp_path / "out", "-q")
    assert done.code == 2 and "Traceback" not in done.err
    assert not (tmp_path / "out").exists()


def test_a_column_that_only_its_owner_can_judge_is_never_guessed(sfumato, tmp_path):
    recipe = tmp_path / "roles.yaml"
    recipe.write_text("sfumato: 1\ncolumns: {age: {role: quasi, kind: numeric}, c1: ask}\n")
    table = tmp_path / "t.csv"
    table.write_text("age,c1\n" + "".join(f"{20 + i % 9},x{i % 7}\n" for i in range(60)))
    out = tmp_path / "out"
    done = sfumato("protect", table, *CONTEXT, "-r", recipe, "--no-input", "-o", out)
    assert done.code == 2 and "--decide c1=ROLE" in done.err and not out.exists()


def test_the_next_file_is_done_as_before(sfumato, table, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    more = ("--decide", "patient=person", "--seed", "1", "-q")
    assert sfumato("protect", table, *CONTEXT, *FIRST, *more, "-o", first).code in (0, 1)
    frame = pl.read_csv(table).with_columns(pl.lit("x").alias("note"))
    following = tmp_path / "next.csv"
    frame.write_csv(following)
    asked = ("protect", following, "--after", first, "--seed", "2", "-o", second)
    done = sfumato(*asked)
    assert done.code in (0, 1, 4), done.err
    assert "note" in done.out and "left out" in " ".join(done.out.split())
    if done.code != 4:
        evidence = read_decision(second).evidence
        assert evidence.earlier >= 1 and evidence.compositions
    refused = sfumato(*asked, "--first-release", "no", "--force")
    assert refused.code == 2 and "not the first" in refused.err


def test_protect_is_the_first_command_of_the_help(sfumato):
    words = sfumato("--help").out.split("Everyday")[1].split()
    assert next(word for word in words if word.isalpha()) == "protect"
    assert shlex.split(" ".join(words))
