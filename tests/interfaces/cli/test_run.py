"""The main way through the command line, as a user walks it."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest

from sfumato.core import recipe_files as recipes


def test_profile_proposes_a_recipe_that_loads(sfumato, visits, tmp_path):
    done = sfumato("profile", visits)
    assert done.code == 0
    proposed = recipes.parse(done.out)
    assert "patient_name" in proposed.schema.dropped_columns and "age" in proposed.schema.quasi
    assert "# guess" in done.out


@pytest.mark.slow
def test_a_proposed_recipe_runs_as_it_is(sfumato, visits, tmp_path):
    file = tmp_path / "proposed.yaml"
    file.write_text(sfumato("profile", visits, "--quiet").out)
    assert sfumato("run", visits, "-r", file, "-o", tmp_path / "out").code in (0, 4)


def test_assess_tells_the_risk(sfumato, visits, recipe):
    done = sfumato("assess", visits, "-r", recipe)
    assert done.code == 0
    assert "the smallest class has 1" in done.out and "✗ 5-anonymity" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines() if "anonymity" not in line)


def test_assess_by_columns_alone(sfumato, visits):
    done = sfumato("assess", visits, "--quasi", "age", "--quasi", "sex", "--json")
    found = json.loads(done.out)
    table = pl.read_csv(visits)
    sizes = table.group_by("age", "sex").len()["len"]
    assert found["classes"] == len(sizes) and found["smallest_class"] == sizes.min()


@pytest.mark.slow
def test_run_check_verify_explain(sfumato, visits, recipe, tmp_path):
    out = tmp_path / "out"
    done = sfumato("run", visits, "-r", recipe, "-o", out)
    assert done.code == 0 and "✓ 5-anonymity" in done.out
    assert {p.name for p in (out / "share").iterdir()} == {
        "data.csv",
        "certificate.json",
        "report.html",
    }
    assert {p.name for p in (out / "owner").iterdir()} == {
        "lock.json",
        "alignment.parquet",
        "release.json",
        "report.html",
    }
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe).code == 0
    assert sfumato("verify", out / "share").code == 7
    whole = sfumato("verify", out / "share", "--original", visits, "--json")
    claims = json.loads(whole.out)["claims"]
    assert whole.code == 0 and {c["status"] for c in claims} == {"holds"}
    assert "suppressed" in sfumato("explain", out).out


def test_the_released_file_keeps_its_promise_by_naive_counting(sfumato, visits, recipe, tmp_path):
    sfumato("run", visits, "-r", recipe, "-o", tmp_path / "out")
    table = pl.read_csv(tmp_path / "out" / "share" / "data.csv", infer_schema=False)
    quasi = list(recipes.load(recipe).schema.quasi)
    assert table.group_by(quasi).len()["len"].min() >= 5
    assert not set(recipes.load(recipe).schema.dropped_columns) & set(table.columns)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_marks_a_rehearsal(
    sfumato, visits, recipe, tmp_path
):
    for name in ("a", "b"):
        assert sfumato("run", visits, "-r", recipe, "-o", tmp_path / name, "--seed", "2a").code == 0
    files = [(tmp_path / name / "share" / "data.csv").read_bytes() for name in ("a", "b")]
    assert files[0] == files[1]
    assert (
        json.loads((tmp_path / "a" / "share" / "certificate.json").read_text())["rehearsal"] is True
    )


@pytest.mark.slow
def test_stdin_to_stdout(visits, recipe):
    command = [sys.executable, "-m", "sfumato", "run", "-", "-r", str(recipe), "-o", "-", "--quiet"]
    done = subprocess.run(command, input=visits.read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[0].split(",")[0] == "age" and not done.stderr


@pytest.mark.slow
def test_other_formats_out(sfumato, visits, recipe, tmp_path):
    assert (
        sfumato("run", visits, "-r", recipe, "-o", tmp_path / "p", "--format", "parquet").code == 0
    )
    assert pl.read_parquet(tmp_path / "p" / "share" / "data.parquet").height > 500
    assert sfumato("verify", tmp_path / "p" / "share", "--original", visits).code == 0


@pytest.mark.slow
def test_signature(sfumato, visits, recipe, tmp_path):
    key, other = tmp_path / "office.pem", tmp_path / "other.pem"
    assert sfumato("key", "sign", key).code == 0 and sfumato("key", "sign", other).code == 0
    assert key.stat().st_mode & 0o077 == 0
    assert sfumato("run", visits, "-r", recipe, "-o", tmp_path / "out", "--sign", key).code == 0
    share = tmp_path / "out" / "share"
    assert sfumato("verify", share, "--key", tmp_path / "office.pub.pem").code == 0
    assert sfumato("verify", share, "--key", tmp_path / "other.pub.pem").code == 1
    assert sfumato("key", "sign", key).code == 2


@pytest.mark.slow
def test_list_and_explain_cover_every_name(sfumato):
    listed = json.loads(sfumato("list", "--json").out)
    for family in ("models", "steps", "hierarchies", "risk", "objectives"):
        assert listed[family]
        for entry in listed[family]:
            told = sfumato("explain", entry["name"])
            assert told.code == 0 and entry["name"] in told.out and ":math:" not in told.out


def test_the_demo_leaves_its_table_and_replaces_none(sfumato, tmp_path):
    file = tmp_path / "visits.csv"
    assert sfumato("demo", "--table", file).code == 0
    left = pl.read_csv(file, infer_schema=False)
    assert (
        left.height == 3000
        and "admission_date" in left.columns
        and list(tmp_path.iterdir()) == [file]
    )
    file.write_text("mine")
    again = sfumato("demo", "--table", file)
    assert again.code == 2 and "already exists" in again.err and file.read_text() == "mine"


@pytest.mark.slow
def test_demo(sfumato, tmp_path):
    for _ in range(2):  # the second run replaces the first
        done = sfumato("demo", "-o", tmp_path / "demo")
        assert done.code == 0 and "✓ 5-anonymity" in done.out
    assert (tmp_path / "demo" / "share" / "report.html").is_file()
    first, second = done.out.split("3  A second release")
    assert "✗ linkage" in first and "finds people" in first
    assert "✗ linkage" not in second and "none of these intruders succeeds" in second
    released = pl.read_csv(tmp_path / "demo" / "share" / "data.csv", infer_schema=False)
    assert all(
        released[name].n_unique() > 3 for name in ("zip", "nationality", "occupation", "age")
    )


def test_version_and_help(sfumato):
    assert sfumato("--version").out.startswith("sfumato ")
    told = sfumato("--help")
    assert told.code == 0 and all(
        c in told.out
        for c in ("profile", "assess", "run", "check", "verify", "explain", "list", "demo")
    )


def test_assess_class_by_class(sfumato, visits, recipe):
    shown = sfumato(
        "assess", visits, "-r", recipe, "--by-class", "--model", "l_diversity:diagnosis,2"
    )
    assert shown.code == 0, shown.err
    assert "2-diversity of diagnosis" in shown.out
    plain = sfumato("assess", visits, "-r", recipe, "--by-class", "--json")
    assert '"classes"' in plain.out
    sizes = sfumato("assess", visits, "--quasi", "sex", "--by-class")
    assert sizes.code == 0, sizes.err
