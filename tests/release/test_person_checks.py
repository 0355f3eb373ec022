"""Certificates that were edited and sealed again, as whoever has no key can: what the files and the
recipe tell is noticed all the same.
"""

from __future__ import annotations

import contextlib
import csv
import json

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.errors import UnreadableInput
from sfumato.release.manifest import manifest_of, sha256_of
from sfumato.release.signatures import digest_of
from tests.data.relational.test_released import RECIPE
from tests.release.report.samples import draw_page


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    tables = examples.clinic_tables()
    (folder / "recipe.yaml").write_text(RECIPE)
    return sf.run(tables, folder / "recipe.yaml", seed=5, seconds=0)


@pytest.fixture
def share(made, tmp_path):
    return made.write(tmp_path / "out") / "share"


def sealed_again(share, edit):
    """Edit a certificate, and files beside it, and let all digests fit."""
    said = json.loads((share / "certificate.json").read_text())
    edit(said)
    for section in said["tables"].values():
        section["sha256"] = sha256_of(share / section["file"])
    with contextlib.suppress(Exception):  # of some edits no page can be drawn
        (share / "report.html").write_text(draw_page(said), encoding="utf-8")
    said["files"] = manifest_of(share)
    del said["digest"]
    (share / "certificate.json").write_text(json.dumps({**said, "digest": digest_of(said)}))


def failing(share):
    return {
        claim.name: claim.detail for claim in sf.verify(share).claims if claim.status == "fails"
    }


def rewritten(file, change):
    with file.open(newline="") as read:
        rows = list(csv.reader(read))
    with file.open("w", newline="") as written:
        csv.writer(written).writerows([rows[0], *(change(rows[0], row) for row in rows[1:])])


def test_sealed_again_without_an_edit_it_holds(share):
    sealed_again(share, lambda said: None)
    assert failing(share) == {}


def test_a_table_that_is_listed_and_not_judged_is_noticed(share):
    (share / "names.csv").write_text("person_id,name\nx,y\n")
    sealed_again(share, lambda said: None)
    assert failing(share) == {
        "tables judged": "1 more file(s) in the folder, which no promise covers"
    }


def test_a_table_that_is_taken_out_of_certificate_and_recipe_is_noticed_by_its_file(share):
    def edit(said):
        del said["tables"]["prescriptions"], said["recipe"]["tables"]["prescriptions"]
        del said["counts"]["rows_of_prescriptions"]

    sealed_again(share, edit)
    assert list(failing(share)) == ["tables judged"]


def test_a_table_that_is_cut_off_by_no_step_is_noticed(share):
    """Other names for persons that lead back to them would let every table be judged by itself."""

    def edit(said):
        del said["tables"]["visits"]["columns"]["person_id"]["of"]

    rewritten(
        share / "visits.csv",
        lambda head, row: [
            f"x{v}" if c == "person_id" else v for c, v in zip(head, row, strict=True)
        ],
    )
    sealed_again(share, edit)
    assert "visits joins with nobody" in failing(share)["columns match the recipe"]


def test_a_certificate_of_no_table_is_unreadable(share):
    sealed_again(share, lambda said: said["tables"].clear())
    with pytest.raises(UnreadableInput, match="does not describe a table"):
        sf.verify(share)


def in_plan(said, table, step="global_recoding"):
    return next(
        plan for plan in said["plan"] if plan["step"] == step and plan.get("table", table) == table
    )


@pytest.mark.parametrize(
    ("edit", "claim", "words"),
    [
        (
            lambda said: in_plan(said, "people")["levels"]["age"].update(level=4),
            "levels",
            "people.age",
        ),
        (
            lambda said: in_plan(said, "people")["levels"]["age"].update(level=2, top=2),
            "levels",
            "people.age",
        ),
        (
            lambda said: in_plan(said, "visits")["levels"]["month"].update(level=9),
            "levels",
            "visits.month",
        ),
        (
            lambda said: in_plan(said, "people")["levels"].update(diagnosis={"level": 1, "top": 2}),
            "levels",
            "people.diagnosis",
        ),
        (lambda said: in_plan(said, "people").update(table="visits"), "steps", "differ in table"),
        (
            lambda said: in_plan(said, "people").pop("table"),
            "steps",
            "the plan of global_recoding lacks table",
        ),
        (
            lambda said: in_plan(said, "people").pop("levels"),
            "steps",
            "the plan of global_recoding lacks levels",
        ),
        (
            lambda said: in_plan(said, "visits", "cap_rows").pop("at_most"),
            "steps",
            "the plan of cap_rows lacks at_most",
        ),
        (
            lambda said: in_plan(said, "", "key_pseudonyms").pop("split"),
            "steps",
            "the plan of key_pseudonyms lacks split",
        ),
        (
            lambda said: in_plan(said, "people").update(people_dropped=7_000),
            "steps",
            "people were removed by the steps",
        ),
        (
            lambda said: said["verdicts"][0].update(attained=90),
            "3-anonymity in people",
            "certified 90",
        ),
        (
            lambda said: said["verdicts"][0].update(required=2),
            "3-anonymity in people",
            "requires something else than its recipe",
        ),
        (
            lambda said: said["verdicts"][0].update(failing_records=9),
            "3-anonymity in people",
            "the certificate has other values for failing records",
        ),
    ],
)
def test_what_plan_and_verdicts_tell_is_held_against_recipe_and_files(share, edit, claim, words):
    sealed_again(share, edit)
    found = failing(share)
    assert [name for name in found if name != "report"] == [claim]
    assert words in found[claim]


@pytest.mark.parametrize("word", ["sentence", "promise", "note"])
def test_words_have_no_place_in_a_verdict(share, word):
    sealed_again(share, lambda said: said["verdicts"][0].update({word: "1000 are alike"}))
    with pytest.raises(UnreadableInput, match=f"verdicts → 0 → {word}"):
        sf.verify(share)


def test_a_plan_in_one_of_several_tables_tells_a_level_of_every_quasi_identifier(share):
    sealed_again(share, lambda said: in_plan(said, "people")["levels"].pop("age"))
    assert "names no level of" in failing(share)["steps"]
