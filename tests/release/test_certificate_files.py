"""A certificate is read as it was meant or refused: by strict parsing, by a manifest, and by a
fuzzer that mutates a real one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.errors import UnreadableInput
from sfumato.release.certificate_files import parse_certificate, read_certificate
from sfumato.release.documents import plain_json
from sfumato.release.signatures import digest_of, new_key, signed

STORED = Path(__file__).with_name("stored")


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """A release written now, with its key beside it: ``out`` and ``office.pem``."""
    folder = tmp_path_factory.mktemp("released")
    new_key(folder / "office.pem")
    release = sf.run(sf.read(STORED / "table.csv"), recipes.load(STORED / "recipe_1.yaml"), seed=1)
    release.write(folder / "out", sign=folder / "office.pem")
    return folder


@pytest.fixture
def share(released, tmp_path) -> Path:
    return shutil.copytree(released / "out" / "share", tmp_path / "share")


def status(folder: Path, **options: Any) -> dict[str, str]:
    return {claim.name: claim.status for claim in sf.verify(folder, **options).claims}


def edited(share: Path, change, *, sign: Path | None = None) -> None:
    """Change a certificate and give it a fresh digest, and a signature where there is a key."""
    certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    certificate.pop("signature", None)
    change(certificate)
    certificate["digest"] = digest_of(certificate)
    if sign is not None:
        certificate = signed(certificate, sign)
    (share / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")


def test_a_release_of_today_has_the_newest_version_and_verifies(released):
    certificate = read_certificate(released / "out" / "share")
    assert certificate["sfumato_certificate"] == 3
    found = sf.verify(released / "out" / "share", trusted_key=released / "office.pub.pem")
    assert found.holds and found.signed
    assert {c.name: c.status for c in found.claims}["folder"] == "holds"


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_key_given_twice_is_refused_though_the_signature_is_trusted(share, released, where):
    text = (share / "certificate.json").read_text(encoding="utf-8")
    rows = '"suppressed_records": 0,'
    text = (
        text.replace("{", "{" + rows, 1)
        if where == "before"
        else text[: text.rindex("}")] + f", {rows[:-1]}}}"
    )
    (share / "certificate.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableInput, match="says one thing twice"):
        sf.verify(share, trusted_key=released / "office.pub.pem")


def changed(key: str, value: Any, inside: str | None = None):
    def change(certificate):
        (certificate if inside is None else certificate[inside])[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            changed("sfumato_certificate", 4),
            "version 4; this sfumato reads version 3: install a newer one",
        ),
        (
            changed("sfumato_certificate", 2),
            ", which newer versions do not read; make the release again",
        ),
        (
            changed("sfumato_certificate", 1),
            ", which newer versions do not read; make the release again",
        ),
        (changed("sfumato_certificate", 0), "not a certificate"),
        (changed("sfumato_certificate", True), "not a certificate"),
        (changed("sfumato_certificate", "3"), "not a certificate"),
        (changed("verdicts", {}), "verdicts should be a valid list"),
        (changed("verdicts", [1]), "verdicts → 0 should be"),
        (changed("rows", "59", "data"), "data → rows should be a valid integer"),
        (changed("rows", True, "data"), "data → rows should be a valid integer"),
        (changed("rows", -1, "data"), "data → rows should be greater than or equal to 0"),
        (changed("shuffled", 1), "shuffled should be a valid boolean"),
        (changed("roles", {"age": "quasi"}), "roles → age should be a valid list"),
        (
            changed("audited_by", "the authority"),
            ", which no certificate of this kind does",
        ),
        (
            changed("note", "approved", "classes"),
            ", which no certificate of this kind does",
        ),
        (changed("implied", None), "implied should be"),
        (lambda c: c.pop("plan"), "lacks plan"),
        (lambda c: c.pop("files"), "lacks files"),
        (changed("suppressed_records", float("nan")), "a number that is not valid"),
        (changed("x", "\ud800"), "not Unicode"),
        (changed("file", "certificate.json", "data"), "does not name a data file"),
        (changed("file", "a\0b", "data"), "cannot be read"),
        (changed("file", "..", "data"), "not a plain file"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(share, change, said):
    certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    change(certificate)
    (share / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    with pytest.raises(UnreadableInput) as refused:
        sf.verify(share)
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "not valid JSON"),
        (
            '{"sfumato_certificate": 3, "x": ' + "[" * 100 + "]" * 100 + "}",
            "nested more than 64 levels deep",
        ),
        ('{"sfumato_certificate": 3, "x": 1e999}', "a number that is not valid"),
        ('{"sfumato_certificate": 3, "x": ' + "9" * 5000 + "}", "a number that is not valid"),
        ("\ufeff{}", "not valid JSON"),
        ("[]", "not a certificate"),
        ("", "not valid JSON"),
    ],
)
def test_text_that_is_no_certificate(text, said):
    with pytest.raises(UnreadableInput, match=said):
        parse_certificate(text.encode(), "certificate.json")


def test_a_certificate_that_is_not_utf8_or_too_large(share, monkeypatch):
    (share / "certificate.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UnreadableInput, match="not valid JSON"):
        sf.verify(share)
    monkeypatch.setattr("sfumato.release.certificate_files.MAX_BYTES", 100)
    (share / "certificate.json").write_bytes(b" " * 101)
    with pytest.raises(UnreadableInput, match="larger than"):
        sf.verify(share)


def test_an_empty_promise_is_no_promise(share, released):
    def nothing(certificate):
        certificate["verdicts"], certificate["limits"] = [], []
        certificate["recipe"]["meet"] = []
        certificate["recipe"].pop("limits")

    edited(share, nothing, sign=released / "office.pem")
    found = sf.verify(share)
    assert not found.holds and "an empty promise is not a promise" in str(found)


def test_limits_alone_cannot_be_verified_from_the_file(tmp_path):
    recipe = recipes.load(STORED / "recipe_1.yaml")
    table = sf.read(STORED / "table.csv")
    release = sf.anonymize(
        table.with_schema(recipe.schema),
        [],
        [sf.Microaggregate(["cost"], k=3)],
        limits={"linkage": 1.0},
        seed=1,
    )
    release.write(tmp_path / "out")
    alone = sf.verify(tmp_path / "out" / "share")
    assert not alone.holds and "1 of 1 promise needs the original" in alone.headline
    assert not [claim for claim in alone.claims if claim.status == "fails"]
    full = sf.verify(tmp_path / "out" / "share", original=table, owner=tmp_path / "out" / "owner")
    assert (
        full.holds
        and {c.name: c.status for c in full.claims}["linkage, against the original"] == "holds"
    )


def test_a_limit_left_out_of_the_verdicts_is_noticed(share):
    edited(share, changed("limits", []))
    assert status(share)["limits"] == "fails"


def test_a_verdict_about_another_promise_is_noticed(share):
    edited(share, lambda c: c["recipe"]["meet"].__setitem__(0, {"k_map": {"k": 3}}))
    assert not sf.verify(share).holds


@pytest.mark.parametrize(
    "what", ["extra", "nested", "gone", "changed", "same size", "link", "folder link"]
)
def test_the_folder_is_as_it_was_certified(share, tmp_path, what):
    report = share / "report.html"
    if what == "extra":
        (share / "names.csv").write_text("Ada\n")
    elif what == "nested":
        (share / "pictures").mkdir()
        (share / "pictures" / "x.png").write_bytes(b"")
    elif what == "gone":
        report.unlink()
    elif what == "changed":
        report.write_text("<p>all is well</p>")
    elif what == "same size":
        report.write_bytes(report.read_bytes()[::-1])
    elif what == "link":
        report.rename(tmp_path / "report.html")
        report.symlink_to(tmp_path / "report.html")
    else:
        (share / "more").symlink_to(tmp_path, target_is_directory=True)
    found = sf.verify(share)
    assert not found.holds and {c.name for c in found.claims if c.status == "fails"} == {"folder"}


def test_names_of_extra_files_are_shown_escaped(share):
    (share / "a\x1b[2J\n").write_text("")
    detail = next(c.detail for c in sf.verify(share).claims if c.name == "folder")
    assert "\x1b" not in detail and "\n" not in detail


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["data.csv", "certificate.json", "more"])
def test_a_pipe_in_the_folder_is_not_waited_for(share, name):
    (share / name).unlink(missing_ok=True)
    os.mkfifo(share / name)
    with contextlib.suppress(UnreadableInput):
        assert not sf.verify(share).holds


def test_pictures_are_listed_too(tmp_path):
    release = sf.run(sf.read(STORED / "table.csv"), recipes.load(STORED / "recipe_1.yaml"), seed=1)
    release.write(tmp_path / "out", options=sf.WriteOptions(pictures=True))
    share = tmp_path / "out" / "share"
    listed = set(read_certificate(share)["files"])
    assert {"data.csv", "report.html", "pictures/class_sizes.png"} <= listed
    assert listed == {f.relative_to(share).as_posix() for f in share.rglob("*") if f.is_file()} - {
        "certificate.json"
    }


def test_a_hierarchy_that_names_a_file_is_never_opened_by_who_verifies(share, tmp_path):
    def spy(certificate):
        certificate["recipe"]["columns"]["illness"]["hierarchy"] = {
            "file": {"path": str(tmp_path / "secret.csv")}
        }

    edited(share, spy)
    assert {
        c.name for c in sf.verify(share).claims if c.status == "fails"
    } == set()  # reading it would fail


def test_numbers_that_json_does_not_know_are_written_as_null():
    assert plain_json({"a": float("inf"), "b": [float("nan"), 1.5]}) == {
        "a": None,
        "b": [None, 1.5],
    }


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "quasi",
            "*",
            "stays with the owner",
            "../x",
            "k_anonymity",
            "l_diversity",
            "csv",
            "parquet",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | st.just("k_anonymity"), inner, max_size=3)
    ),
    max_leaves=6,
)


UNREAD = ("utility", "story", "versions")
"""Parts that nobody reads when verifying."""


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every place of a document: its container and its key."""
    keys = (
        [k for k in node if k not in UNREAD]
        if isinstance(node, dict)
        else range(len(node))
        if isinstance(node, list)
        else []
    )
    return [place for key in keys for place in ((node, key), *places(node[key]))]


@given(data=st.data())
def test_a_mutated_certificate_is_judged_or_refused(released, tmp_path_factory, data):
    """Never a traceback, and never a pass when a digest that somebody else made fits no promise of
    the file.
    """
    share = shutil.copytree(released / "out" / "share", tmp_path_factory.mktemp("fuzz") / "share")
    certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(certificate)))
        act = data.draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if act == "replace":
            container[key] = data.draw(JSON)
        elif act == "remove":
            del container[key]
        elif isinstance(container, dict):
            container[data.draw(st.text(max_size=6))] = data.draw(JSON)
        else:
            container.append(data.draw(JSON))
    certificate["digest"] = digest_of(certificate)
    (share / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    with contextlib.suppress(UnreadableInput):
        found = sf.verify(share)
        assert {claim.status for claim in found.claims} <= {"holds", "fails", "needs original"}
    shutil.rmtree(share)


@given(data=st.data())
def test_damaged_bytes_end_in_a_sentence(released, data):
    content = bytearray((released / "out" / "share" / "certificate.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableInput):
        assert parse_certificate(bytes(content), "certificate.json")["sfumato_certificate"] == 3
