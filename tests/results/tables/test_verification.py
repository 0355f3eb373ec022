"""A published table as a folder: what strangers check, what the owner checks, what is not told."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.cli.app import build_app
from sfumato.release.signatures import digest_of


@pytest.fixture(scope="module")
def frame():
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "region": draw.choice(["north", "south", "east"], 200),
            "diagnosis": draw.choice(list("uvwy"), 200, p=[0.5, 0.3, 0.15, 0.05]),
            "cost": draw.lognormal(3, 1.5, 200).round(2),
        }
    )


@pytest.fixture(scope="module")
def written(frame, tmp_path_factory):
    rules = [sf.Threshold(5), sf.PPercent(12.5), sf.Dominance(1, 77)]
    return (
        sf.tabulate(frame, ["region", "diagnosis"], "sum(cost)")
        .protect(rules)
        .write(tmp_path_factory.mktemp("a") / "out")
    )


@pytest.fixture
def copy(written, tmp_path):
    return shutil.copytree(written, tmp_path / "out")


def failing(folder, **options):
    return {
        claim.name
        for claim in sf.verify(folder / "share", **options).claims
        if claim.status == "fails"
    }


def reseal(share):
    """What somebody does who forges: change the certificate and give it a digest that fits."""
    certificate = json.loads((share / "certificate.json").read_text())
    from sfumato.release.manifest import manifest_of, sha256_of

    for section in certificate["aggregates"]["tables"]:
        section["sha256"] = sha256_of(share / section["file"])
    certificate["files"] = manifest_of(share)
    certificate["digest"] = digest_of(certificate)
    (share / "certificate.json").write_text(json.dumps(certificate))


def test_strangers_and_the_owner_find_that_it_holds(written):
    stranger, owner = (
        sf.verify(written / "share"),
        sf.verify(written / "share", owner=written / "owner"),
    )
    assert stranger.headline == "not all verified: 1 of 3 promises needs the original"
    assert owner.holds
    assert {c.name: c.status for c in stranger.claims}["audit"] == "needs original"
    assert {c.name: c.status for c in owner.claims}["audit"] == "holds"


def test_an_edited_cell_is_found(copy):
    table = copy / "share" / "table.csv"
    lines = table.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if n and not line.endswith(",x"))
    lines[at] = lines[at].rpartition(",")[0] + ",1"
    table.write_text("\n".join(lines) + "\n")
    assert {"folder", "table.csv unedited"} <= failing(copy)
    reseal(copy / "share")
    assert "audit" in failing(copy, owner=copy / "owner")


def test_a_cell_that_follows_from_a_sum_is_found(frame, tmp_path):
    folder = sf.tabulate(frame, ["region"]).protect([sf.Threshold(1)]).write(tmp_path / "out")
    assert sf.verify(folder / "share", owner=folder / "owner").holds
    table = folder / "share" / "table.csv"
    lines = table.read_text().splitlines()
    lines[-1] = lines[-1].rpartition(",")[0] + ",x"
    table.write_text("\n".join(lines) + "\n")
    reseal(folder / "share")
    assert failing(folder) == {"suppressed cells", "no cell follows from one sum"}


def test_a_sum_that_does_not_fit_is_found(frame, tmp_path):
    folder = sf.tabulate(frame, ["region"]).protect([sf.Threshold(1)]).write(tmp_path / "out")
    table = folder / "share" / "table.csv"
    table.write_text(table.read_text().replace("Total,200", "Total,201"))
    reseal(folder / "share")
    assert failing(folder) == {"additivity"}


@pytest.mark.parametrize("text", ["", "region,diagnosis,sum(cost)\n", "a,b,c\n" * 20, "\x00"])
def test_a_file_that_is_no_table_ends_in_a_claim(copy, text):
    (copy / "share" / "table.csv").write_text(text)
    assert "readable table" in failing(copy)


def test_a_lock_of_another_table_is_found(copy, frame, tmp_path):
    other = sf.tabulate(frame, ["region"]).protect([sf.Threshold(5)]).write(tmp_path / "other")
    assert failing(copy, owner=other / "owner") == {"audit"}
    (copy / "owner" / "lock.json").write_text("{}")
    assert failing(copy, owner=copy / "owner") == {"audit"}


def test_other_commands_say_that_there_are_no_records(copy):
    from sfumato.release.certificate_files import read_certificate

    with pytest.raises(ParameterError, match="shape aggregates, but this takes table only"):
        read_certificate(copy / "share", "table")


@pytest.mark.parametrize("method", ["rounding", "perturb", "cta"])
def test_changed_tables_are_verified(frame, tmp_path, method):
    made = sf.tabulate(frame, ["region", "diagnosis"]).protect(
        [sf.Threshold(5)], method=method, seed=9
    )
    folder = made.write(tmp_path / "out")
    assert sf.verify(folder / "share", owner=folder / "owner").holds


# The command.


def call(*words):
    """Exit code and output of the command; errors of ours as main gives them out."""
    result = CliRunner().invoke(build_app(["table", "verify"]), [str(word) for word in words])
    if isinstance(result.exception, SfumatoError):
        return result.exception.exit_code, str(result.exception)
    return (
        result.exit_code,
        result.stdout if result.exit_code == 0 else result.output,
    )  # talk goes to stderr


@pytest.fixture
def file(frame, tmp_path):
    frame.write_csv(tmp_path / "data.csv")
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    "what",
    [
        "region × diagnosis: sum(cost)",
        "region x diagnosis: sum(cost)",
        "region*diagnosis:sum(cost)",
    ],
)
def test_the_command_says_what_is_sensitive(file, what):
    code, told = call("table", file, what, "--quiet")
    assert code == 0
    assert "of 20 cells are sensitive" in told


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["regio: count"], 2, "lacks column 'regio'"),
        (["region: average(cost)"], 2, "sum"),
        ([":"], 2, "say what to tabulate"),
        (["region: count", "-o", "out"], 2, "--protect"),
        (["region: count", "--dominance", "2"], 2, "two numbers"),
        (["region: count", "--colluders", "2"], 2, "--colluders goes with"),
        (["region: count", "--protect", "--threshold", "1000"], 4, "nothing can be published"),
        (["region: count", "--protect", "--method", "magic"], 2, "one of"),
    ],
)
def test_wrong_words(file, words, code, told):
    found, said = call("table", file, *words)
    assert (found, told in said) == (code, True), said


def test_the_recipe_says_persons_and_margins(tmp_path):
    """Ten rows of two persons are two persons, and the regions have the margins of their
    hierarchy.
    """
    rows = [(f"n{i % 2}", i % 2, 10) for i in range(10)] + [(f"s{i}", 2 + i, 5) for i in range(2)]
    pl.DataFrame(rows, schema=["region", "person", "cost"], orient="row").write_csv(
        tmp_path / "rows.csv"
    )
    (tmp_path / "recipe.yaml").write_text(
        "columns: {person: person, cost: sensitive, region: {role: quasi, hierarchy: {mask_right:"
        " {length: 2}}}}\n"
    )
    asked = (
        "table",
        tmp_path / "rows.csv",
        "region: sum(cost)",
        "--threshold",
        3,
        "--quiet",
        "--json",
    )
    assert json.loads(call(*asked)[1])["by_rule"] == {
        "threshold": 2
    }  # of rows, only s0 and s1 are alone
    told = json.loads(call(*asked, "-r", tmp_path / "recipe.yaml")[1])
    assert (told["cells"], told["by_rule"]) == (
        7,
        {"threshold": 6},
    )  # all but the total are of one or two persons


def test_columns_that_name_people_make_no_table(file, tmp_path):
    (tmp_path / "recipe.yaml").write_text(
        "columns: {region: drop, diagnosis: quasi, cost: sensitive}\n"
    )
    code, told = call("table", file, "region: count", "-r", tmp_path / "recipe.yaml")
    assert (code, "'region' names people" in told) == (2, True), told


def test_defaults_are_said_to_the_owner_and_secrets_to_nobody_else(file, tmp_path):
    what = (
        "table",
        file,
        "region × diagnosis: sum(cost)",
        "--dominance",
        "2,90",
        "--p-percent",
        10,
    )
    assert "(n = 2, k = 90)" in call(*what)[1]
    assert call(*what, "--threshold", 10, "--protect", "-o", tmp_path / "out")[0] == 0
    public, owner = (
        (tmp_path / "out" / room / "report.html").read_text() for room in ("share", "owner")
    )
    assert all(
        words in owner
        for words in ("n = 2, k = 90", "p = 10, colluders = 1", "t = 10, percent = 10")
    )
    assert "threshold (t = 10)" in public
    assert not any(word in public for word in ("k = 90", "p = 10", "percent = "))
    assert "region × diagnosis" in public
    assert "Every row counted as a person" in public


@pytest.mark.parametrize("method", ["rounding", "perturb"])
def test_the_page_of_a_rounded_table_tells_of_no_suppression(frame, tmp_path, method):
    made = sf.tabulate(frame, ["region", "diagnosis"]).protect(
        [sf.Threshold(3)], method=method, base=5, seed=7
    )
    made.write(tmp_path / "out")
    page = (tmp_path / "out" / "share" / "report.html").read_text()
    assert f"rounded to multiples of 5 ({method})" in page
    assert "suppressed" not in page.split("<h2>Which cells")[0].split("</h1>")[0]
