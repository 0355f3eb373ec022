"""``sfumato policy`` as a user walks through it."""

from __future__ import annotations

import json

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.errors import ReleaseRefused
from sfumato.policy.dialects.dialect_detection import write_policy
from tests.policy.written_policies import PEOPLE, k_anonymity, personal, study, three_policies

USE = ("--purpose", "research", "--recipient", "university")


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "people.csv"
    rows = zip(*PEOPLE.values(), strict=True)
    file.write_text(
        "\n".join([",".join(PEOPLE), *(",".join(map(str, row)) for row in rows)]) + "\n"
    )
    return file


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "study.json"
    file.write_text(write_policy(study(), "ours"))
    return file


def test_lint(sfumato, policy, table, tmp_path):
    assert sfumato("policy", "lint", policy, "--data", table).code == 0
    wrong = tmp_path / "wrong.json"
    wrong.write_text(policy.read_text().replace('"minimum": 1', '"minimum": 3'))
    done = sfumato("policy", "lint", wrong)
    assert done.code == 1 and "min_above_max" in done.out and "line " in done.out
    found = json.loads(sfumato("policy", "lint", wrong, policy, "--json").out)
    assert found[str(policy)] == [] and {f["rule"] for f in found[str(wrong)]} == {
        "min_above_max",
        "min_above_hierarchy",
    }
    assert sfumato("policy", "lint", tmp_path / "absent.json").code == 5


def test_compile_prints_a_recipe_that_runs(sfumato, policy, table, tmp_path):
    done = sfumato("policy", "compile", table, "-p", policy, *USE)
    assert done.code == 0
    assert recipes.parse(done.out).schema.quasi == ("Age", "Zipcode")
    file = tmp_path / "recipe.yaml"
    file.write_text(done.out)
    assert sfumato("run", table, "-r", file, "-o", tmp_path / "out").code == 0


def test_run_comply_and_drift(sfumato, policy, table, tmp_path):
    out = tmp_path / "out"
    done = sfumato("policy", "run", table, "-p", policy, *USE, "-o", out)
    assert done.code == 0 and "3-anonymity" in done.out
    assert (out / "owner" / "compliance.json").is_file()
    kept = sfumato("policy", "comply", out / "share", "-p", policy, *USE)
    assert kept.code == 0 and "forbids" in kept.out
    policy.write_text(write_policy(study(models=(k_anonymity(4),)), "ours"))
    later = sfumato("policy", "comply", out / "share", "-p", policy, *USE)
    assert later.code == 1
    assert (
        "4-anonymity does not hold" in later.out
        and "changed after the release: purpose research, models" in later.out
    )
    told = json.loads(sfumato("policy", "comply", out / "share", "-p", policy, *USE, "--json").out)
    assert told["holds"] is False and told["reasons"]


def test_people_s_own_policies(sfumato, table, tmp_path):
    folder = tmp_path / "policies"
    folder.mkdir()
    for name, own in three_policies().items():
        (folder / f"{name}.json").write_text(write_policy(own, "lpl-a"))
    out = tmp_path / "out"
    assert sfumato("policy", "run", table, "-p", folder, "--by", "Name", *USE, "-o", out).code == 0
    assert sfumato("policy", "comply", out / "share", "-p", folder, *USE).code == 0
    assert sfumato("policy", "run", table, "-p", folder, *USE, "-o", tmp_path / "no").code == 2
    assert not (tmp_path / "no").exists()
    (folder / "Axel.json").write_text(write_policy(personal("26", "53711", age_level=2), "lpl-a"))
    assert sfumato("policy", "comply", out / "share", "-p", folder, *USE).code == 1


def test_what_is_not_allowed_leaves_nothing_behind(sfumato, policy, table, tmp_path):
    done = sfumato(
        "policy",
        "run",
        table,
        "-p",
        policy,
        "--purpose",
        "research",
        "--recipient",
        "press",
        "-o",
        tmp_path / "out",
    )
    assert done.code == 1 and "not allowed" in done.err and not (tmp_path / "out").exists()
    assert sfumato("policy", "compile", table, "-p", policy, "--purpose", "ads").code == 1


def test_presets(sfumato, policy, table, tmp_path):
    out = tmp_path / "out"
    sfumato("policy", "run", table, "-p", policy, *USE, "-o", out)
    done = sfumato("policy", "comply", out / "share", "-p", "preset:sdc_practice_3", *USE)
    assert (
        done.code == 0
        and "meets the numeric part of" in done.out
        and "compliant" not in done.out.lower()
    )
    assert (
        sfumato("policy", "comply", out / "share", "-p", "preset:cms_minimum_cell", *USE).code == 1
    )
    zips = sfumato(
        "policy",
        "comply",
        out / "share",
        "-p",
        "preset:hipaa_safe_harbor",
        *USE,
        "--zip",
        "Zipcode",
        "--age",
        "Age",
    )
    assert zips.code == 0
    assert sfumato("policy", "comply", out / "share", "-p", "preset:nothing", *USE).code == 2


def test_special_policies(sfumato, policy, table, tmp_path):
    out = tmp_path / "out"
    sfumato("policy", "run", table, "-p", policy, *USE, "-o", out)
    consent = tmp_path / "consent.owl"
    consent.write_text("ObjectSomeValuesFrom(spl:hasPurpose dpv:ResearchAndDevelopment)")
    allowed = ("--purpose", "dpv:AcademicResearch")
    assert sfumato("policy", "lint", consent).code == 0
    assert sfumato("policy", "comply", out / "share", "-p", consent, *allowed).code == 0
    done = sfumato("policy", "comply", out / "share", "-p", consent, "--purpose", "dpv:Marketing")
    assert done.code == 1 and "dpv:Marketing is not dpv:ResearchAndDevelopment" in done.out
    assert sfumato("policy", "compile", table, "-p", consent, *allowed).code == 2


def test_export(sfumato, policy, table, tmp_path):
    schema = json.loads(sfumato("policy", "export", "--to", "schema").out)
    assert schema["title"] == "sfumato policy"
    assert json.loads(sfumato("policy", "export", policy, "--to", "dpv").out)["@graph"]
    assert sfumato("policy", "export", policy, "--to", "lpl-a").code == 2  # several rows of entries
    own = tmp_path / "own.json"
    own.write_text(write_policy(personal("25", "53711"), "ours"))
    assert sfumato("policy", "export", own, "--to", "lpl-xml").out.startswith("<?xml")
    out = tmp_path / "out"
    sfumato("policy", "run", table, "-p", policy, *USE, "-o", out)
    told = json.loads(sfumato("policy", "export", out / "share", "--to", "dpv").out)
    assert told["dpv:hasPurpose"] == {"@id": "sf:research"}
    assert sfumato("policy", "export", out / "share", "--to", "ours").code == 2
    assert sfumato("policy", "export", "--to", "ours").code == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--on-conflict", "shrug"),
        ("--meet", "k_anonymity"),
        ("--today", "soon"),
        ("--key", "env:NO_SUCH_KEY_IS_SET"),
    ],
)
def test_wrong_options(sfumato, policy, table, tmp_path, options):
    if options[0] == "--key":
        policy.write_text(
            policy.read_text().replace(
                '"models"', '"pseudonymizations": [{"name": "HMAC", "data": ["Name"]}], "models"'
            )
        )
        done = sfumato("policy", "run", table, "-p", policy, *USE, *options, "-o", tmp_path / "out")
        assert done.code == 2 and not (tmp_path / "out").exists()
    else:
        assert sfumato("policy", "compile", table, "-p", policy, *USE, *options).code == 2


def test_every_use_at_once(sfumato, policy, table, tmp_path):
    out = tmp_path / "all"
    done = sfumato("policy", "run", table, "-p", policy, "--all", "-o", out)
    assert done.code == 0 and "university" in done.out and "3 columns of 3 records" in done.out
    told = json.loads((out / "uses.json").read_text())["uses"]
    assert [(use["purpose"], use["state"]) for use in told] == [("research", "released")]
    again = sfumato("policy", "run", table, "-p", policy, "--all", "-o", out)
    assert again.code != 0 and "choose another" in again.err
    for extra in (("--seed", "1"), ("--recipient", "university"), ("--purpose", "research")):
        other = tmp_path / "other"
        assert sfumato("policy", "run", table, "-p", policy, "--all", "-o", other, *extra).code == 2
        assert not other.exists()
    assert sfumato("policy", "run", table, "-p", policy, "-o", tmp_path / "none").code == 2


def test_a_use_whose_promises_cannot_be_kept_leaves_the_others(sfumato, table, tmp_path):
    file = tmp_path / "strict.json"
    file.write_text(write_policy(study(models=(k_anonymity(4),)), "ours"))
    done = sfumato("policy", "run", table, "-p", file, "--all", "-o", tmp_path / "all")
    assert done.code == ReleaseRefused.exit_code and "no release" in done.out
