"""Every single field of a certificate, edited and sealed again: ``verify`` finds it false, or names
its section as unknown.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.release.manifest import FILE, REPORT
from sfumato.release.sealing import seal_certificate
from sfumato.release.signatures import digest_of
from sfumato.release.verification import Verification
from sfumato.release.verify_checks import CANNOT_BE_CHECKED
from tests.golden.case import run_case
from tests.golden.cases import CASES

Path_ = tuple[str | int, ...]


def leaves(node: Any, path: Path_ = ()) -> Iterator[Path_]:
    if isinstance(node, dict | list) and node:
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*path, key))
    else:
        yield path


def edited(node: Any, path: Path_) -> Any:
    """A copy of a document with another value of the same type in one place."""
    document = copy.deepcopy(node)
    part = document
    for key in path[:-1]:
        part = part[key]
    value = part[path[-1]]
    if isinstance(value, bool):
        value = not value
    elif isinstance(value, int):
        value += 1
    elif isinstance(value, float):
        value = value + 0.001 if value < 0.5 else value - 0.001
    elif isinstance(value, str):
        value = f"{value}x"
    elif value is None:
        value = 1.0
    else:
        value = [*value, "x"] if isinstance(value, list) else {"x": 1}
    part[path[-1]] = value
    return document


COLUMNS = {
    "age": {
        "role": "quasi",
        "kind": "numeric",
        "hierarchy": {"intervals": {"widths": [5, 10, 20]}},
    },
    "sex": {"role": "quasi", "hierarchy": "suppress"},
    "ward": {"role": "quasi", "hierarchy": "suppress"},
    "diagnosis": "sensitive",
    "cost": {"role": "keep", "kind": "numeric"},
}
RECIPE = {
    "sfumato": 1,
    "columns": COLUMNS,
    "meet": [{"k_anonymity": {"k": 3}}, {"t_closeness": {"sensitive": "diagnosis", "t": 0.9}}],
    "steps": [{"global_recoding": {"budget": 0.05}}],
    "limits": {"loss": 0.99, "uniqueness": 0.001, "homogeneity": 1.0},
    "contract": [{"loss": {"at_most": 0.99}}, {"completeness": {"at_least": 0.1}}],
    "accept": {"diagnosis": {"implies": "ward", "because": "wards treat what they are for"}},
}
SEED = "c0ffee11d15ea5ec0ffee11d15ea5e77"


def write_table(folder: Path) -> tuple[Path, dict[str, Any]]:
    """A release of one table with limits, a contract and attacks."""
    (folder / "recipe.yaml").write_text(json.dumps(RECIPE))
    people = sf.examples.hospital(rows=120).to_polars().select(list(COLUMNS))
    people.write_csv(folder / "people.csv")
    table = sf.read(folder / "people.csv", recipe=folder / "recipe.yaml")
    release = sf.run(table, folder / "recipe.yaml", seed=SEED)
    release.attacked(only=("linkage", "homogeneity", "composition")).write(folder / "out")
    return folder / "out" / "share", {"original": table, "owner": folder / "out" / "owner"}


def write_golden(folder: Path, name: str, **beside: str) -> tuple[Path, dict[str, Any]]:
    """A golden release, and what its owner verifies it with."""
    run_case(CASES[name], folder)
    return folder / "out" / "share", {key: folder / value for key, value in beside.items()}


def write_outputs(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Outputs of researchers; the owner's folder is that of the session."""
    run_case(CASES["outputs: a session reviewed and released"], folder)
    return folder / "out", {"owner": folder / "outputs"}


RELEASES: dict[str, Callable[[Path], tuple[Path, dict[str, Any]]]] = {
    "table": write_table,
    "synthetic table": lambda folder: write_golden(
        folder, "synthesis by trees", original="table.csv", owner="out/owner"
    ),
    "insensitive microaggregation": lambda folder: write_golden(
        folder, "insensitive microaggregation", original="table.csv", owner="out/owner"
    ),
    "baskets": lambda folder: write_golden(
        folder, "baskets: grouped recoding", original="data/baskets.csv", owner="out/owner"
    ),
    "graph": lambda folder: write_golden(
        folder, "graph: degrees", original="data/friends.csv", owner="out/owner"
    ),
    "tables": lambda folder: write_golden(
        folder, "tables: placed steps", original="data", owner="out/owner"
    ),
    "counts": lambda folder: write_golden(folder, "results: counts", owner="out/owner"),
    "outputs": write_outputs,
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request, tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    """A shared folder without a page, which would only repeat the fields, and the owner's view."""
    share, beside = RELEASES[request.param](tmp_path_factory.mktemp("leaf"))
    certificate = json.loads((share / FILE).read_text())
    if "recipe" in certificate:  # the lock of a table of counts names the digest
        (share / REPORT).unlink()
        seal_certificate(share, certificate, None)
    return share, beside


@pytest.fixture(autouse=True)
def folder_of_release(release, monkeypatch):
    """A lock names a second file from the folder in which the release was made."""
    share, _ = release
    monkeypatch.chdir(share.parent if share.name == "out" else share.parents[1])


def is_unchecked(path: Path_) -> bool:
    """Whether a field is one of those that nobody can check."""
    return any(fnmatch.fnmatch(".".join(map(str, path)), one) for one in CANNOT_BE_CHECKED)


def names_section(verification: Verification, section: str) -> bool:
    """Whether a claim that does not hold is about a section, or names it."""
    return any(
        claim.status != "holds"
        and section in (claim.section, *claim.name.split(), *WORD.findall(claim.detail))
        for claim in verification.claims
    )


WORD = re.compile(r"\w+")


def believed(share: Path, folder: Path, beside: dict[str, Any]) -> list[str]:
    """The fields that can be edited without a word about their section."""
    certificate = json.loads((share / FILE).read_text())
    passed = []
    for path in leaves(certificate):
        if path[0] in ("digest", "sfumato_certificate") or is_unchecked(path):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(share, folder)
        document = edited(certificate, path)
        if path[0] == "files":
            document["digest"] = digest_of(document)
            (folder / FILE).write_text(json.dumps(document))
        else:
            seal_certificate(folder, document, None)
        try:
            verification = sf.verify(folder, **beside)
        except SfumatoError:
            continue
        if verification.exit_code not in (1, 7) or not names_section(verification, str(path[0])):
            passed.append(".".join(map(str, path)))
    return passed


def test_an_honest_certificate_holds_beside_its_original(release):
    share, beside = release
    verification = sf.verify(share, **beside)
    assert [claim for claim in verification.claims if claim.status == "fails"] == []


@pytest.mark.slow
def test_no_field_can_be_edited_alone(release, tmp_path):
    share, _ = release
    passed = believed(share, tmp_path / "edited", {})
    assert not passed, "\n".join(passed)


@pytest.mark.slow
def test_no_field_can_be_edited_beside_the_original(release, tmp_path):
    share, beside = release
    passed = believed(share, tmp_path / "edited", beside)
    assert not passed, "\n".join(passed)
