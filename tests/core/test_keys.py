"""Keys: where they are, what is refused, and that none is ever told."""

from __future__ import annotations

import os

import pytest

from sfumato.core.keys import KeyReference, derived, new_key_file, reference_form
from sfumato.errors import OutputError, ParameterError

GOOD = b"a good key of thirty-two letters"


def test_file_and_variable_give_the_same_key(tmp_path, monkeypatch):
    (tmp_path / "k").write_bytes(GOOD + b"\r\n")
    monkeypatch.setenv("THE_KEY", GOOD.decode())
    assert (
        KeyReference.of({"file": str(tmp_path / "k")}).read()
        == KeyReference.of({"env": "THE_KEY"}).read()
        == GOOD
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("sw0rdfish-sw0rdfish", "never write a key into a recipe"),
        (b"sw0rdfish-sw0rdfish", "never write a key into a recipe"),
        (["sw0rdfish-sw0rdfish"], "never write a key into a recipe"),
        ({"value": "sw0rdfish-sw0rdfish"}, "in one of these ways"),
        ({"sw0rdfish-sw0rdfish": None}, "in one of these ways"),
        ({}, "in one of these ways"),
        ({"file": "a", "env": "B"}, "in one of these ways"),
        ({"env": "sw0rdfish-sw0rdfish"}, "must name a variable"),
        ({"env": ""}, "must name a variable"),
        ({"file": 5}, "must name a file"),
    ],
)
def test_what_is_no_reference_is_refused_and_not_repeated(given, told):
    with pytest.raises(ParameterError, match=told) as refused:
        reference_form(given)
    assert "sw0rdfish" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds 0 bytes"),
        (b"fifteen bytes!!", "holds 15 bytes; a key has at least 16"),
        (b"fifteen bytes!!\n\n\n", "holds 15 bytes"),
        (b"abab" * 8, "can be guessed"),
        (b"x" * 5000, "larger than"),
    ],
)
def test_bad_keys(tmp_path, content, told):
    (tmp_path / "k").write_bytes(content)
    with pytest.raises(ParameterError, match=told):
        KeyReference.of({"file": str(tmp_path / "k")}).read()


def test_keys_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ParameterError, match="NO_SUCH_KEY is not set"):
        KeyReference.of({"env": "NO_SUCH_KEY"}).read()
    with pytest.raises(ParameterError, match="No such file"):
        KeyReference.of({"file": str(tmp_path / "none")}).read()
    with pytest.raises(ParameterError, match="cannot read"):
        KeyReference.of({"file": str(tmp_path)}).read()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_key_that_others_can_read_is_noticed(tmp_path):
    file = tmp_path / "k"
    file.write_bytes(GOOD)
    file.chmod(0o644)
    assert "chmod 600" in KeyReference(file).warnings()[0]
    file.chmod(0o600)
    assert KeyReference(file).warnings() == ()


def test_a_new_key_is_long_private_and_never_overwritten(tmp_path):
    file = tmp_path / "new.key"
    new_key_file(file)
    first = KeyReference(file).read()
    assert len(first) == 64 and KeyReference(file).warnings() == ()
    with pytest.raises(OutputError, match="never overwritten"):
        new_key_file(file)
    assert KeyReference(file).read() == first
    with pytest.raises(OutputError, match="cannot write"):
        new_key_file(tmp_path / "no" / "folder" / "k")


def test_derived_keys_differ_by_purpose_and_domain():
    made = {
        derived(GOOD, purpose, domain) for purpose in ("a", "b") for domain in ("", "a", "b", "\0a")
    }
    assert len(made) == 8
    assert all(len(key) == 32 for key in made)
