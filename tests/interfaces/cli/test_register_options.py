"""``sfumato register``, ``run --register`` and ``run --like``, as somebody at a terminal meets
them.
"""

from __future__ import annotations

import json
import random
import shutil

import polars as pl
import pytest

from sfumato.errors import ReleaseRefused
from sfumato.interfaces.api import RunOptions
from sfumato.interfaces.cli.register_options import RegisterOptions, open_memory
from sfumato.release.register.store import open_register

GRID = [(f"Secretname{i}{j}", i, j, "abc"[(i * j) % 3]) for i in range(5) for j in range(5)]
SHOWS = """
sfumato: 1
columns:
  id: drop
  a: {{role: quasi, hierarchy: {{suppress: {{}}}}}}
  b: {{role: quasi, hierarchy: {{suppress: {{}}}}}}
  d: sensitive
meet: [k_anonymity: 5]
steps:
  - global_recoding: {{levels: {{{hidden}: [1, 1]}}}}
{limits}
"""
MONTHLY = """
sfumato: 1
columns:
  id: keep
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  place: {role: quasi, hierarchy: {tree: {nested: {"*": {south: [p0, p1], north: [p2, p3]}}}}}
  d: sensitive
meet: [k_anonymity: 5]
steps:
  - pseudonymize: {columns: [id], key: {file: KEY}}
  - global_recoding: {}
"""


@pytest.fixture
def here(tmp_path, monkeypatch, sfumato):
    """A folder with the table, recipes that show one column each, and a register."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(GRID, schema=["id", "a", "b", "d"], orient="row").write_csv("grid.csv")
    for shown, hidden in ("ab", "ba"):
        (tmp_path / f"{shown}.yaml").write_text(SHOWS.format(hidden=hidden, limits=""))
        (tmp_path / f"{shown}0.yaml").write_text(
            SHOWS.format(hidden=hidden, limits="limits: {composition: 0}")
        )
    assert sfumato("register", "start", "r.db").code == 0
    return tmp_path


def states():
    with open_register("r.db") as held:
        return [entry.state for entry in held.entries]


def shows_nobody(done):
    assert "Secretname" not in done.out + done.err
    return done


def test_two_releases_each_5_anonymous_that_single_people_out_together_are_refused_with_the_count(
    here, sfumato
):
    first = shows_nobody(
        sfumato("run", "grid.csv", "-r", "a0.yaml", "-o", "one", "--register", "r.db", "--to", "x")
    )
    assert first.code == 0
    assert "as release 1" in first.err
    second = shows_nobody(
        sfumato("run", "grid.csv", "-r", "b0.yaml", "-o", "two", "--register", "r.db", "--to", "y")
    )
    assert second.code == 1
    assert "25 of 25" in second.err
    assert not (here / "two").exists()
    assert states() == ["released"]
    told = sfumato(
        "run", "grid.csv", "-r", "b.yaml", "-o", "two", "--register", "r.db", "--to", "y", "--json"
    )
    assert told.code == 0  # no limit: told, not refused
    assert json.loads(told.out)["register"]["together"]["alone"] == 25
    assert sfumato("register", "check", "r.db", "two", "--original", "grid.csv").code == 1
    assert states() == ["released", "released"]
    listed = json.loads(shows_nobody(sfumato("register", "list", "r.db", "--json")).out)["releases"]
    assert [(e["recipient"], e["people"], e["k"], len(e["certificate"])) for e in listed] == [
        ("x", 25, 5, 64),
        ("y", 25, 5, 64),
    ]


def test_verify_does_not_claim_what_only_the_register_knows(here, sfumato):
    sfumato("run", "grid.csv", "-r", "a0.yaml", "-o", "one", "--register", "r.db", "--to", "x")
    for more in ((), ("--original", "grid.csv", "--owner", "one/owner")):
        done = sfumato("verify", "one/share", "--json", *more)
        assert done.code == 7, "what only the register knows stays open"
        claims = [c for c in json.loads(done.out)["claims"] if c["name"].startswith("composition")]
        assert [c["status"] for c in claims] == ["needs original"]
        assert "register check" in claims[0]["detail"]


def test_a_limit_on_all_releases_needs_a_register(here, sfumato):
    done = sfumato("run", "grid.csv", "-r", "a0.yaml", "-o", "one")
    assert (done.code, "--register" in done.err) == (2, True)
    for more in (("--to", "x"), ("--register", "r.db"), ("--person", "id")):
        assert sfumato("run", "grid.csv", "-r", "a.yaml", "-o", "one", *more).code == 2
    assert (
        sfumato(
            "run", "grid.csv", "-r", "a.yaml", "-o", "-", "--register", "r.db", "--to", "x"
        ).code
        == 2
    )
    assert states() == []


def test_a_limit_cannot_be_passed_by_racing(here):
    """Both were judged before either was registered."""
    from sfumato import read, run
    from sfumato.core import recipe_files

    releases = {}
    for name in "ab":
        remembered = open_memory(RegisterOptions(here / "r.db", name), "out")
        recipe = recipe_files.load(here / f"{name}0.yaml")
        releases[name] = (
            remembered,
            run(
                read("grid.csv", recipe=recipe),
                recipe,
                options=RunOptions(memory=remembered.memory),
            ),
        )
    first, release = releases["a"]
    with first.registered(release, here / "one") as written:
        written(release.write(here / "one"))
    second, release = releases["b"]
    with pytest.raises(ReleaseRefused, match="25 of 25"), second.registered(release, here / "two"):
        pytest.fail("it was let in")
    assert states() == ["released"]


def test_a_release_that_may_stand_is_never_withdrawn(here):
    """Ctrl-C after the folder stands, before the register is told: it counts. Where nothing stands
    it does not.
    """
    from sfumato import read, run
    from sfumato.core import recipe_files

    recipe = recipe_files.load(here / "a.yaml")
    release = run(read("grid.csv", recipe=recipe), recipe)

    def interrupted(folder, *, writes, elsewhere):
        remembered = open_memory(RegisterOptions(here / "r.db", "x"), "out")
        with remembered.registered(release, here / folder, elsewhere=elsewhere):
            if writes:
                release.write(here / folder)
            raise KeyboardInterrupt

    for folder, writes, elsewhere in (
        ("one", True, False),
        ("two", False, False),
        ("three", False, True),
    ):
        with pytest.raises(KeyboardInterrupt):
            interrupted(folder, writes=writes, elsewhere=elsewhere)
    assert states() == ["planned", "withdrawn", "planned"]


def test_a_run_that_cannot_be_written_counts_no_more(here, sfumato, monkeypatch):
    from sfumato.errors import OutputError
    from sfumato.release import publish

    def full(*_, **__):
        raise OutputError("no space left")

    monkeypatch.setattr(publish, "publish", full)
    assert (
        sfumato(
            "run", "grid.csv", "-r", "a.yaml", "-o", "one", "--register", "r.db", "--to", "x"
        ).code
        == 2
    )
    assert states() == ["withdrawn"]


def test_add_check_and_withdraw(here, sfumato):
    sfumato("run", "grid.csv", "-r", "a.yaml", "-o", "one")
    sfumato("run", "grid.csv", "-r", "b.yaml", "-o", "two")
    assert sfumato("register", "check", "r.db", "one", "--original", "grid.csv").code == 0
    assert (
        shows_nobody(
            sfumato("register", "add", "r.db", "one", "--original", "grid.csv", "--to", "x")
        ).code
        == 0
    )
    again = sfumato("register", "add", "r.db", "one", "--original", "grid.csv", "--to", "x")
    assert (again.code, "registered already" in again.err) == (2, True)
    assert (
        sfumato("register", "check", "r.db", "one", "--original", "grid.csv").code == 0
    )  # not beside itself
    assert sfumato("register", "check", "r.db", "two", "--original", "grid.csv").code == 1
    assert sfumato("register", "withdraw", "r.db", "1").code == 0
    assert sfumato("register", "withdraw", "r.db", "1").code == 2
    assert sfumato("register", "check", "r.db", "two", "--original", "grid.csv").code == 0
    with open_register("r.db") as held:
        import hashlib

        assert held.entries[0].input == hashlib.sha256((here / "grid.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list", "nothing.db"), 5),
        (("list", "grid.csv"), 2),
        (("check", "r.db", "nowhere", "--original", "grid.csv"), 5),
        (("withdraw", "r.db", "7"), 2),
        (("start", "r.db"), 2),
        (("list", "r.db", "--key", "nothing"), 5),
    ],
)
def test_bad_input(here, sfumato, arguments, code):
    done = sfumato("register", *arguments)
    assert done.code == code
    assert "Traceback" not in done.err


# Next month's file.


def month(path, rows, seed, more=()):
    draw = random.Random(seed)
    made = [
        (
            f"Secretname{draw.randrange(200)}",
            draw.randrange(20, 80),
            f"p{draw.randrange(4)}",
            draw.choice("abc"),
        )
        for _ in range(rows)
    ]
    pl.DataFrame([*made, *more], schema=["id", "age", "place", "d"], orient="row").write_csv(path)


@pytest.fixture
def november(here, sfumato):
    (here / "key").write_text("0123456789abcdef" * 4)
    (here / "key").chmod(0o600)
    (here / "monthly.yaml").write_text(MONTHLY.replace("KEY", str(here / "key")))
    month("november.csv", 300, 1)
    assert sfumato("run", "november.csv", "-r", "monthly.yaml", "-o", "nov").code == 0
    return here


def levels(folder):
    plan = json.loads((folder / "share" / "certificate.json").read_text())["plan"]
    return {c: told["level"] for step in plan for c, told in step.get("levels", {}).items()}


def test_the_next_month_has_the_same_levels_and_pseudonyms(november, sfumato):
    month("december.csv", 900, 2)  # with three times the rows a search would choose finer levels
    assert shows_nobody(sfumato("run", "december.csv", "--like", "nov", "-o", "dec")).code == 0
    assert levels(november / "dec") == levels(november / "nov")
    assert sfumato("run", "december.csv", "-r", "monthly.yaml", "-o", "anew").code == 0
    assert levels(november / "anew") != levels(november / "nov")
    known = {}
    for name in ("nov", "dec"):
        rows = (
            pl.read_parquet(november / name / "owner" / "alignment.parquet").to_series(-1).to_list()
        )
        before = pl.read_csv(f"{'november' if name == 'nov' else 'december'}.csv")["id"]
        after = pl.read_csv(november / name / "share" / "data.csv")["id"]
        for released, row in enumerate(rows):
            assert known.setdefault(before[row], after[released]) == after[released]
    assert (
        sfumato("verify", "dec/share", "--original", "december.csv", "--owner", "dec/owner").code
        == 0
    )


def test_what_no_longer_holds_is_said_and_nothing_is_written(november, sfumato):
    month("few.csv", 12, 3)
    few = shows_nobody(sfumato("run", "few.csv", "--like", "nov", "-o", "dec"))
    assert few.code == 4
    assert "5-anonymity" in few.err
    month("odd.csv", 300, 4, [("Secretname7", 33, "Secretplace", "a")])
    odd = sfumato("run", "odd.csv", "--like", "nov", "-o", "dec")
    assert odd.code == 2
    assert "'place'" in odd.err
    assert "Secretplace" not in odd.err
    pl.read_csv("november.csv").drop("place").write_csv("narrow.csv")
    assert sfumato("run", "narrow.csv", "--like", "nov", "-o", "dec").code == 2
    assert not (november / "dec").exists()


def test_what_can_only_decide_anew_is_named(november, sfumato):
    recipe = MONTHLY.replace("KEY", str(november / "key"))
    (november / "local.yaml").write_text(recipe.replace("global_recoding", "mondrian"))
    tree = recipe.index("{tree"), recipe.index("}}}}}") + 4
    (november / "frequent.yaml").write_text(
        recipe[: tree[0]] + "{frequency: {keep: [2]}}" + recipe[tree[1] :]
    )
    for name, word in (("local", "mondrian"), ("frequent", "'place'")):
        assert sfumato("run", "november.csv", "-r", f"{name}.yaml", "-o", name).code == 0
        done = sfumato("run", "november.csv", "--like", name, "-o", f"{name}2")
        assert done.code == 0
        told = " ".join(done.err.split())
        assert word in told.partition("cannot repeat its decisions on other rows")[0]


def test_folders_that_say_nothing_of_use(november, sfumato):
    def damaged(change):
        shutil.copytree("nov", "bad")
        change(november / "bad")
        done = sfumato("run", "november.csv", "--like", "bad", "-o", "dec")
        shutil.rmtree("bad")
        assert "Traceback" not in done.err
        return done.code

    def without_steps(folder):
        lock = json.loads((folder / "owner" / "lock.json").read_text())
        lock["recipe"]["steps"] = []
        (folder / "owner" / "lock.json").write_text(json.dumps(lock))

    def other_levels(folder):
        file = folder / "share" / "certificate.json"
        file.write_text(file.read_text().replace('"level": ', '"level": 1'))

    assert damaged(lambda folder: (folder / "owner" / "lock.json").write_text("{")) == 5
    assert damaged(lambda folder: (folder / "owner" / "lock.json").write_text("[]")) == 5
    assert damaged(lambda folder: shutil.rmtree(folder / "owner")) == 5
    assert damaged(lambda folder: (folder / "share" / "certificate.json").unlink()) == 5
    assert damaged(without_steps) == 5
    assert damaged(other_levels) == 5
    assert (
        sfumato("run", "november.csv", "--like", "state", "-o", "dec").code == 5
    )  # of no tool at all
    assert (
        sfumato("run", "november.csv", "--like", "nov", "-r", "monthly.yaml", "-o", "dec").code == 2
    )
    assert not (november / "dec").exists()
