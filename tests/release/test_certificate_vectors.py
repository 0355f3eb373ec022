"""Certificates have one meaning: every checker finds in the published vectors what they say."""

from __future__ import annotations

import base64
import csv
import json
import runpy
import shutil
import subprocess
import sys

import pytest

import sfumato as sf
from tests.release.random_releases import (
    ROOT,
    alone_says,
    disagreements,
    forge,
    main_says,
    random_release,
    seal,
    sfumato_verify,
)

PAGES = ROOT / "docs" / "reference" / "certificates"
VECTORS = json.loads((PAGES / "vectors" / "vectors.json").read_text("utf-8"))
UNREAD = ("parquet",)
"""Vectors whose data a checker without libraries does not read."""
RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
"""Public key, message and signature of section 7.1."""


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["folder"])
def test_the_main_verifier_finds_what_a_vector_says(vector):
    result, claims = main_says(PAGES / "vectors" / vector["folder"])
    assert result == vector["result"]
    assert {name: claims.get(name) for name in vector["claims"]} == vector["claims"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["folder"])
def test_the_file_without_dependencies_finds_what_a_vector_says(vector):
    result, claims = alone_says(PAGES / "vectors" / vector["folder"])
    assert result == vector["result"]
    if vector["folder"] not in UNREAD:
        assert {name: claims.get(name) for name in vector["claims"]} == vector["claims"]


def test_vectors_are_as_varied_as_the_page_says():
    assert {vector["result"] for vector in VECTORS} == {"false", "refused", "not all verified"}
    assert {v["folder"] for v in VECTORS} == {
        p.name for p in (PAGES / "vectors").iterdir() if p.is_dir()
    }
    statuses = [status for vector in VECTORS for status in vector["claims"].values()]
    assert {"holds", "fails", "needs original"} == set(statuses)


@pytest.mark.parametrize(("key", "message", "signature"), RFC_8032)
def test_signatures_are_those_of_rfc_8032(key, message, signature):
    holds = sfumato_verify.ed25519_holds
    public, text, value = map(bytes.fromhex, (key, message, signature))
    assert holds(public, text, value)
    assert not holds(public, text + b"x", value)
    assert not holds(public, text, value[:-1] + bytes([value[-1] ^ 1]))
    # a signature whose second half is beyond the order is another spelling of it
    half = int.from_bytes(value[32:], "little") + sfumato_verify.ORDER
    assert not holds(public, text, value[:32] + half.to_bytes(32, "little"))
    assert not holds(b"\xff" * 32, text, value)


def test_a_trusted_key_vouches_and_another_does_not(tmp_path):
    share = PAGES / "vectors" / "signed"
    pem = PAGES / "vectors" / "signed.pub.pem"
    key = sfumato_verify.public_key(pem)
    document = json.loads((share / "certificate.json").read_text("utf-8"))
    assert base64.b64encode(key).decode() == document["signature"]["public_key"]
    assert sf.verify(share, trusted_key=pem).result == "verified"
    assert sfumato_verify.main([str(share), "--key", str(pem)]) == 0
    claims = sfumato_verify.verify(share, bytes(32))
    assert sfumato_verify.result_of(claims) == "false"


def test_random_releases_and_forgeries_are_judged_alike(tmp_path):
    """A bounded sample; the page says of what. Longer runs are made before a version."""
    problems, checked = [], 0
    for seed in range(1000, 1012):
        share = random_release(seed, tmp_path / str(seed))
        if share is None:
            continue
        forged = [forge(seed * 10 + j, share, tmp_path / str(seed) / f"f{j}") for j in range(3)]
        for name, folder in [("true", share), *forged]:
            found = disagreements(main_says(folder), alone_says(folder))
            problems += [(seed, name, problem) for problem in found]
            checked += 1
    assert problems == [] and checked > 24


def test_what_a_certificate_leaves_out_is_judged_alike(tmp_path):
    """Neither labels nor types of columns must be there: without them nothing is said of them."""
    release = sf.anonymize(sf.examples.ancona(), [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    for part in ("labels", "types"):
        release.write(tmp_path / part)
        share = tmp_path / part / "share"
        certificate = json.loads((share / "certificate.json").read_text("utf-8"))
        if part == "labels":
            del certificate["labels"]
        else:
            certificate["data"]["form"]["types"] = {}
        seal(certificate, share)
        assert main_says(share)[0] == "not all verified"
        result, claims = alone_says(share)
        assert result == "not all verified"
        assert "fails" not in claims.values()


def _holds_a_number(verdict, recipe, form):
    verdict["holds"], verdict["attained"] = 2.125, True


def _counts_are_truths(verdict, recipe, form):
    verdict["failing_classes"] = False


def _no_sensitive_column(verdict, recipe, form):
    recipe["meet"] = [{"delta_disclosure": {"delta": 3.0, "absent": "skip"}}]
    verdict.update(model="delta_disclosure", required=3.0)


def _other_null(verdict, recipe, form):
    form["null"] = "NA"


def _other_quote(verdict, recipe, form):
    form["quote"] = "'"


@pytest.mark.parametrize(
    "edit", [_holds_a_number, _counts_are_truths, _no_sensitive_column, _other_null, _other_quote]
)
def test_odd_fields_are_no_pass_anywhere(edit, tmp_path):
    share = tmp_path / "share"
    shutil.copytree(PAGES / "vectors" / "k", share)
    certificate = json.loads((share / "certificate.json").read_text("utf-8"))
    assert alone_says(share)[0] == "not all verified"
    edit(certificate["verdicts"][0], certificate["recipe"], certificate["data"]["form"])
    seal(certificate, share)
    assert main_says(share)[0] in ("false", "refused")
    assert alone_says(share)[0] in ("false", "refused")


@pytest.mark.parametrize("sign", [b'"', b"\r"])
def test_files_that_programs_read_differently_are_false_everywhere(sign, tmp_path):
    share = tmp_path / "share"
    shutil.copytree(PAGES / "vectors" / "k", share)
    certificate = json.loads((share / "certificate.json").read_text("utf-8"))
    file = share / certificate["data"]["file"]
    content = file.read_bytes()
    middle = content.index(b"\n") + 2  # within the first value
    file.write_bytes(content[:middle] + sign + content[middle:])
    seal(certificate, share)
    assert main_says(share)[1]["readable data"] == "fails"
    assert alone_says(share)[1]["readable data"] == "fails"


def test_the_comparison_notices_what_differs():
    """The comparison itself: a claim that is called true where it is false."""
    main, other = ("false", {"folder": "fails"}), ("not all verified", {"folder": "holds"})
    assert disagreements(main, other) != []
    assert disagreements(main, ("false", {"folder": "fails"})) == []
    assert disagreements(("not all verified", {"promise 1": "needs original"}), other) != []


def test_the_file_needs_nothing_but_python(tmp_path):
    copy = shutil.copy(ROOT / "verifier" / "sfumato_verify.py", tmp_path / "check.py")
    command = [sys.executable, "-I", "-S", str(copy), str(PAGES / "vectors" / "k"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["result"] == "not all verified"


def test_a_checker_beside_the_data_is_that_of_this_version(tmp_path):
    release = sf.anonymize(sf.examples.ancona(), [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "out", options=sf.WriteOptions(with_verifier=True))
    share = tmp_path / "out" / "share"
    copy = share / "sfumato_verify.py"
    assert copy.read_bytes() == (ROOT / "verifier" / "sfumato_verify.py").read_bytes()
    assert main_says(share)[1]["verifier"] == "holds"
    assert alone_says(share)[1]["folder"] == "holds"
    # another program in its place, with all digests mended
    copy.write_text("print('verified')\n", encoding="utf-8")
    certificate = json.loads((share / "certificate.json").read_text("utf-8"))
    seal(certificate, share)
    said = {claim.name: claim.detail for claim in sf.verify(share).claims}
    assert main_says(share)[1]["verifier"] == "needs original"
    assert "do not run it" in said["verifier"]


def test_no_checker_is_beside_the_data_unless_asked(tmp_path):
    release = sf.anonymize(sf.examples.ancona(), [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "out")
    assert "verifier" not in main_says(tmp_path / "out" / "share")[1]
    assert not list((tmp_path / "out" / "share").glob("*.py"))


def test_the_published_schema_is_that_of_the_model():
    tool = runpy.run_path(str(ROOT / "tools" / "certificate_schema.py"))
    text = (PAGES / "certificate.schema.json").read_text("utf-8")
    assert tool["schema"]() == text, "run python tools/certificate_schema.py"


def test_the_small_checker_leaves_limits_of_the_process(tmp_path):
    limit = csv.field_size_limit()
    file = tmp_path / "data.csv"
    file.write_text("age,note\n30," + "x" * (limit + 1) + "\n", "utf-8")
    columns = sfumato_verify.csv_columns(file, {"types": {}})
    assert len(columns["note"][0]) == limit + 1
    assert csv.field_size_limit() == limit
