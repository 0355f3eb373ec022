"""Bad input is normal: a clear message, the right exit code, nothing half-written, no value of a
person.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

RECIPE = """
sfumato: 1
columns:
  name: drop
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10]}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
meet: [{k_anonymity: {k: 2}}]
steps: [{global_recoding: {budget: 0.0}}]
"""
TABLE = "name,age,zip\nSENTINELANN,31,53711\nSENTINELBOB,34,53712\nSENTINELCID,38,53799\nSENTINELDOT,52,53710\n"


def written(folder: Path, table: str = TABLE, recipe: str = RECIPE) -> tuple[Path, Path]:
    data, file = folder / "visits.csv", folder / "visits.yaml"
    data.write_bytes(table.encode() if isinstance(table, str) else table)
    file.write_text(recipe)
    return data, file


CASES = {
    "unknown column in the recipe": (
        TABLE,
        RECIPE.replace("zip:", "zipcode:"),
        2,
        "Did you mean 'zip'?",
    ),
    "column without a role": (
        TABLE.replace("zip\n", "town\n", 1),
        RECIPE,
        2,
        "'town' of visits.csv has no role",
    ),
    "duplicate column names": (
        TABLE.replace("name,age,zip", "age,age,zip"),
        RECIPE,
        5,
        "the same name",
    ),
    "hierarchy misses values": (
        TABLE.replace(",31,", ",thirty,"),
        RECIPE,
        2,
        "column 'age': intervals: 1 of 4 distinct values",
    ),
    "k larger than the table": (TABLE, RECIPE.replace("k: 2", "k: 9"), 4, "nearest miss"),
    "zero rows": ("name,age,zip\n", RECIPE, 2, "no rows"),
    "empty file": ("", RECIPE, 5, "empty"),
    "one row": ("name,age,zip\nSENTINELANN,31,53711\n", RECIPE, 4, "1 of 1 records"),
    "ragged row": (TABLE + "x,1\n", RECIPE, 5, "line 6"),
    "not YAML": (TABLE, "columns: [", 2, "line 1"),
    "recipe of another shape": (TABLE, "- 1\n", 2, "mapping"),
    "unknown model": (
        TABLE,
        RECIPE.replace("k_anonymity", "k_anonimity"),
        2,
        "Did you mean 'k_anonymity'?",
    ),
    "unknown parameter": (TABLE, RECIPE.replace("{k: 2}", "{kk: 2}"), 2, "kk"),
    "parameter out of range": (TABLE, RECIPE.replace("budget: 0.0", "budget: 1.5"), 2, "budget"),
    "unknown objective": (
        TABLE,
        RECIPE.replace("budget: 0.0", "objective: los"),
        2,
        "Did you mean 'loss'?",
    ),
    "no promise": (
        TABLE,
        RECIPE.replace("meet: [{k_anonymity: {k: 2}}]", "meet: []"),
        2,
        "name a promise",
    ),
    "no step": (
        TABLE,
        RECIPE.replace("steps: [{global_recoding: {budget: 0.0}}]", "steps: []"),
        2,
        "name a step",
    ),
    "level bounds of an unknown column": (
        TABLE,
        RECIPE.replace("budget: 0.0", "levels: {agee: 1}"),
        2,
        "Did you mean 'age'?",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_run_refuses_with_the_right_code(name, sfumato, tmp_path):
    table, recipe, code, says = CASES[name]
    data, file = written(tmp_path, table, recipe)
    before = data.read_bytes()
    done = sfumato("run", data, "-r", file, "-o", tmp_path / "out")
    assert (done.code, done.out) == (code, ""), done.err
    assert says in " ".join(done.err.split()), done.err
    assert "SENTINEL" not in done.err and "53711" not in done.err
    assert data.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == [
        "visits.csv",
        "visits.yaml",
    ]


def test_all_values_missing_is_one_class(sfumato, tmp_path):
    data, file = written(tmp_path, "name,age,zip\n,,\n,,\n,,\n")
    done = sfumato("run", data, "-r", file, "-o", tmp_path / "out")
    assert done.code == 0, done.err


def test_everything_wrong_is_told_at_once(sfumato, tmp_path):
    data, file = written(
        tmp_path,
        TABLE,
        RECIPE.replace("k: 2", "k: 0").replace("quasi, hierarchy", "quasy, hierarchy"),
    )
    told = sfumato("run", data, "-r", file, "-o", tmp_path / "out").err
    assert "quasy" in told and "k should be" in told


def test_existing_output_is_refused_before_the_table_is_read(sfumato, tmp_path):
    data, file = written(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("keep me")
    assert sfumato("run", tmp_path / "absent.csv", "-r", file, "-o", tmp_path / "out").code == 2
    assert (
        sfumato("run", data, "-r", file, "-o", tmp_path / "out", "--force").code == 2
    )  # no release: not replaced
    assert (tmp_path / "out" / "precious.txt").read_text() == "keep me"
    assert sfumato("run", data, "-r", file, "-o", data).code == 2


@pytest.mark.slow
def test_force_replaces_an_earlier_release(sfumato, tmp_path):
    data, file = written(tmp_path)
    assert sfumato("run", data, "-r", file, "-o", tmp_path / "out").code == 0
    first = (tmp_path / "out" / "owner" / "lock.json").read_text()
    assert sfumato("run", data, "-r", file, "-o", tmp_path / "out").code == 2
    assert sfumato("run", data, "-r", file, "-o", tmp_path / "out", "--force").code == 0
    assert (tmp_path / "out" / "owner" / "lock.json").read_text() != first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "visits.csv", "visits.yaml"]


@pytest.mark.parametrize("target", ["a directory", "absent", "unreadable recipe"])
def test_unreadable_input(target, sfumato, tmp_path):
    data, file = written(tmp_path)
    if target == "unreadable recipe":
        assert sfumato("run", data, "-r", tmp_path / "no.yaml", "-o", tmp_path / "out").code == 2
        return
    source = tmp_path / "absent.csv"
    if target == "a directory":
        source = tmp_path / "empty"
        source.mkdir()
    done = sfumato("run", source, "-r", file, "-o", tmp_path / "out")
    assert done.code == 5 and done.err.startswith("error:")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_no_permission(sfumato, tmp_path):
    data, file = written(tmp_path)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert sfumato("run", data, "-r", file, "-o", locked / "out").code == 2


def test_disk_full_leaves_nothing(sfumato, tmp_path, monkeypatch):
    data, file = written(tmp_path)

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.release.publish.owner_record", full)
    done = sfumato("run", data, "-r", file, "-o", tmp_path / "out")
    assert (
        done.code == 2
        and "No space left" in done.err
        and "free some space" in " ".join(done.err.split())
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["visits.csv", "visits.yaml"]


def test_interrupt_during_the_write_leaves_nothing(sfumato, tmp_path, monkeypatch):
    data, file = written(tmp_path)

    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.release.sealing.render_page", interrupt)
    assert sfumato("run", data, "-r", file, "-o", tmp_path / "out").code == 130
    assert sorted(p.name for p in tmp_path.iterdir()) == ["visits.csv", "visits.yaml"]


def test_a_bug_is_code_3_and_shows_no_value(sfumato, tmp_path, monkeypatch):
    data, file = written(tmp_path)

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("SENTINELANN")

    monkeypatch.setattr("sfumato.interfaces.api.make_release", broken)
    done = sfumato("run", data, "-r", file, "-o", tmp_path / "out")
    assert done.code == 3 and "bug in sfumato" in done.err and "SENTINEL" not in done.err


def test_check_fails_on_a_broken_promise_and_on_names_left(sfumato, tmp_path):
    data, file = written(tmp_path)
    assert sfumato("check", data, "-r", file).code == 1
    data.write_text("age,zip\n31,53711\n31,53711\n52,53710\n")
    done = sfumato("check", data, "-r", file, "--json")
    assert done.code == 1 and '"holds": false' in done.out
    data.write_text("age,zip\n31,53711\n31,53711\n")
    assert sfumato("check", data, "-r", file).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["assess", "x.csv"],
        ["verify", "nowhere"],
        ["explain", "k_anonimity"],
        ["list", "modls"],
        ["run", "x.csv"],
    ],
)
def test_wrong_usage(arguments, sfumato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sfumato(*arguments).code in (2, 5)
