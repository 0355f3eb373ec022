"""What was written by the first version that promised it still loads and verifies.

``stored/`` holds a table, its recipe and two shared folders (one signed), as the version in their
name wrote them; they are never written again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes

STORED = Path(__file__).with_name("stored")


def test_the_stored_recipe_loads_and_runs():
    recipe = recipes.load(STORED / "recipe_1.yaml")
    assert [model.promise for model in recipe.meet] == ["3-anonymity", "2-diversity of illness"]
    assert sf.run(sf.read(STORED / "table.csv"), recipe, seed=1).holds


@pytest.mark.parametrize("name", ["version_3", "version_3_signed"])
def test_the_stored_releases_verify(name):
    signed = name.endswith("signed")
    found = sf.verify(STORED / name, trusted_key=STORED / "office.pub.pem" if signed else None)
    status = {claim.name: claim.status for claim in found.claims}
    assert found.holds and found.signed is signed
    assert (
        status["3-anonymity"]
        == status["2-diversity of illness"]
        == status["class sizes and risks"]
        == "holds"
    )


def test_a_stored_release_that_was_touched_fails(tmp_path):
    share = shutil.copytree(STORED / "version_3_signed", tmp_path / "share")
    text = (share / "certificate.json").read_text(encoding="utf-8")
    (share / "certificate.json").write_text(
        text.replace('"rows": 59', '"rows": 58'), encoding="utf-8"
    )
    status = {claim.name: claim.status for claim in sf.verify(share).claims}
    assert (
        status["certificate unedited"]
        == status["signature"]
        == status["rows and columns"]
        == "fails"
    )
