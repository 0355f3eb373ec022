"""Certificates of one shape of data that pretend to be about another, and what every shape is held
to.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.shape import Shape
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.certificate import DOCUMENTS
from sfumato.release.signatures import digest_of
from sfumato.release.verify_checks import CHECKS, ELSEWHERE, WITHOUT_CHECK
from tests.release.test_certificate_files import STORED

BASKETS = """
shape: baskets
columns: {who: person, item: item}
meet: [{km_anonymity: {k: 2, m: 1}}]
steps: [suppress_items]
"""
ITEMS = {"a": "xyz", "b": "xy", "c": "yz", "d": "xz", "e": "q"}

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release of a table and one of baskets, with what they were made from."""
    place = tmp_path_factory.mktemp("shapes")
    table = sf.run(sf.read(STORED / "table.csv"), recipes.load(STORED / "recipe_1.yaml"), seed=1)
    table.write(place / "table")
    rows = [f"{who},{item}" for who, items in ITEMS.items() for item in items]
    (place / "items.csv").write_text("\n".join(["who,item", *rows]) + "\n")
    (place / "items.yaml").write_text(BASKETS)
    sf.run(place / "items.csv", place / "items.yaml", seed=1, seconds=0).write(place / "baskets")
    return {"table": place / "table", "baskets": place / "baskets", "items": place / "items.csv"}


def forged(folder: Path, target: Path, change: Change, *, other_version: bool) -> Path:
    """A copy of a shared folder with another certificate and a digest that fits it."""
    share = shutil.copytree(folder / "share", target / "share")
    certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    change(certificate)
    if other_version:  # then words and unknown statements are not looked at
        certificate["versions"]["sfumato"] = "0.0.1"
    certificate["digest"] = digest_of(certificate)
    (share / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    return share


def is_accepted(share: Path) -> bool:
    try:
        return sf.verify(share).result != "false"
    except UnreadableInput:
        return False


SAY_MORE: dict[str, dict[str, Any]] = {
    "table": {
        "shape": "baskets",
        "counts": {"people": 3},
        "suppressed_people": 0,
        "tables": {"data": {"file": "report.html"}},
        "people": {"file": "data.csv"},
    },
    "baskets": {
        "shape": "table",
        "classes": {"count": 1, "smallest": 5, "sizes": {"5": 1}, "risks": {}},
        "roles": {"who": ["keep"]},
        "missing_rule": {},
        "suppressed_records": 0,
        "synthetic": {"rows": 4},
        "story": {"cards": []},
        "sampled": {"records": 1, "of": 2},
        "implied": {"compared": 0, "unknown": 0, "accepted": []},
        "tables": {"data": {"file": "report.html"}},
    },
}


@pytest.mark.parametrize("other_version", [False, True])
@pytest.mark.parametrize(
    ("kind", "section"), [(kind, section) for kind in SAY_MORE for section in SAY_MORE[kind]]
)
def test_a_section_of_another_shape_is_refused(
    folders: dict[str, Path], tmp_path: Path, kind: str, section: str, other_version: bool
) -> None:
    added = {section: SAY_MORE[kind][section]}
    share = forged(
        folders[kind], tmp_path, lambda said: said.update(added), other_version=other_version
    )
    with pytest.raises(UnreadableInput):
        sf.verify(share)


@pytest.mark.parametrize("shape", [*Shape, "aggregates", "nothing"])
@pytest.mark.parametrize("kind", ["table", "baskets"])
def test_a_certificate_of_another_shape_than_its_files_is_not_accepted(
    folders: dict[str, Path], tmp_path: Path, kind: str, shape: str
) -> None:
    if shape == kind:
        return
    share = forged(
        folders[kind], tmp_path, lambda said: said.update(shape=str(shape)), other_version=True
    )
    assert not is_accepted(share)


@pytest.mark.parametrize("kind", ["table", "baskets"])
def test_a_certificate_that_lacks_a_section_is_not_accepted(
    folders: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    said = json.loads((folders[kind] / "share" / "certificate.json").read_text(encoding="utf-8"))
    needed = [
        section
        for section in said
        if section not in ("utility", "story", "attacks", "implied", "labels", "digest")
    ]
    for place, section in enumerate(needed):

        def leave_out(body: dict[str, Any], gone: str = section) -> None:
            del body[gone]

        share = forged(folders[kind], tmp_path / str(place), leave_out, other_version=False)
        assert not is_accepted(share), section


def test_one_file_is_no_table_in_parts(folders: dict[str, Path], tmp_path: Path) -> None:
    share = forged(
        folders["table"], tmp_path, lambda said: said["data"].update(parts=2), other_version=False
    )
    assert {claim.name: claim.status for claim in sf.verify(share).claims}[
        "readable data"
    ] == "fails"


def test_an_original_of_another_shape_is_refused(folders: dict[str, Path]) -> None:
    baskets = sf.read_data(folders["items"], "baskets", {"person": "who", "item": "item"})
    with pytest.raises(ParameterError, match="of shape baskets"):
        sf.verify(folders["table"] / "share", original=baskets)


def test_a_lock_of_another_shape_makes_nothing_again(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    owner = shutil.copytree(folders["baskets"] / "owner", tmp_path / "owner")
    lock = json.loads((owner / "lock.json").read_text(encoding="utf-8"))
    lock["recipe"] = json.loads(
        (folders["table"] / "owner" / "lock.json").read_text(encoding="utf-8")
    )["recipe"]
    (owner / "lock.json").write_text(json.dumps(lock), encoding="utf-8")
    original = sf.read_data(folders["items"], "baskets", {"person": "who", "item": "item"})
    found = sf.verify(folders["baskets"] / "share", original=original, owner=owner)
    claim = {claim.name: claim for claim in found.claims}["people are the recoded original"]
    assert (claim.status, claim.detail) == ("fails", "the lock is for data of shape table")


def test_a_population_goes_with_tables(folders: dict[str, Path]) -> None:
    with pytest.raises(
        ParameterError, match="population is not available for data of shape baskets"
    ):
        sf.verify(folders["baskets"] / "share", population=sf.read(STORED / "table.csv"))


def test_both_releases_verify_with_their_originals(folders: dict[str, Path]) -> None:
    originals = {"table": STORED / "table.csv", "baskets": folders["items"]}
    for kind, original in originals.items():
        found = sf.verify(folders[kind] / "share", original=original, owner=folders[kind] / "owner")
        assert found.holds, str(found)
        assert all(claim.status == "holds" for claim in found.claims), str(found)


def test_every_section_of_every_document_has_its_checks_or_a_reason() -> None:
    assert set(Shape) < set(DOCUMENTS)
    places = (set(CHECKS), set(ELSEWHERE), set(WITHOUT_CHECK))
    sections = {section for document in DOCUMENTS.values() for section in document.model_fields}
    assert sections == set.union(*places)
    assert sum(map(len, places)) == len(sections)  # none is in two of them


def test_every_check_is_called_by_one_section() -> None:
    listed = [
        check for section, checks in CHECKS.items() if section != "tables" for check in checks
    ]
    assert len(set(listed)) == len(listed)
