"""Certificates that were edited and sealed again, as whoever has no key can: what the files and the recipe tell is noticed all the same."""

from __future__ import annotations

import csv
import json

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.errors import UnreadableInput
from sfumato.release.documents import digest_of
from sfumato.release.manifest import manifest_of, sha256_of
from tests.relations.test_released import RECIPE


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
    said["files"] = manifest_of(share)
    del said["digest"]
    (share / "certificate.json").write_text(json.dumps({**said, "digest": digest_of(said)}))


def failing(share):
    return {claim.name: claim.detail for claim in sf.verify(share).claims if claim.status == "fails"}


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
    assert failing(share) == {"tables judged": "1 more file(s) in the folder, which no promise is about"}


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

    rewritten(share / "visits.csv", lambda head, row: [f"x{v}" if c == "person_id" else v for c, v in zip(head, row, strict=True)])  # fmt: skip
    sealed_again(share, edit)
    assert "visits joins with nobody" in failing(share)["columns are what the recipe says"]


def test_a_certificate_of_no_table_is_unreadable(share):
    sealed_again(share, lambda said: said["tables"].clear())
    with pytest.raises(UnreadableInput, match="describes no table"):
        sf.verify(share)
