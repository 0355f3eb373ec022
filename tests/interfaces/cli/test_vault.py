"""``sfumato vault``: keys, the way back, rotation."""

from __future__ import annotations

import io
import json

import pytest

from sfumato.methods.steps.pseudonyms.vault import Domain, remember


@pytest.fixture
def place(tmp_path, sfumato):
    """A folder with a key and a vault of two people."""
    assert sfumato("key", "vault", tmp_path / "k").code == 0
    key = (tmp_path / "k").read_bytes().strip()
    remember(tmp_path / "v", key, "", Domain("random_table", {"=Ann, Dr.": "X1", "=Bo": "X2"}))
    return tmp_path


def test_new_key_is_never_written_over(place, sfumato):
    again = sfumato("key", "vault", place / "k")
    assert again.code == 2 and "never overwritten" in again.err


def test_goes_back(place, sfumato):
    options = ("--key-file", place / "k", "--reason", "ethics vote 7")
    done = sfumato("vault", "reidentify", place / "v", "X1", *options)
    assert (done.code, done.out) == (0, 'X1,"Ann, Dr."\n')
    assert "1 of 1 found; this was logged" in done.err
    done = sfumato("vault", "reidentify", place / "v", "X2", "X3", "--json", *options)
    assert done.code == 1
    assert json.loads(done.out) == {"X2": ["Bo"], "X3": None}


def test_reads_pseudonyms_from_stdin(place, sfumato, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("X1\nX2\n"))
    done = sfumato(
        "vault", "reidentify", place / "v", "-", "--key-file", place / "k", "--reason", "why", "-q"
    )
    assert done.code == 0 and done.out.splitlines() == ['X1,"Ann, Dr."', "X2,Bo"] and done.err == ""


def test_lists_domains_and_log_but_nobody(place, sfumato):
    sfumato(
        "vault", "reidentify", place / "v", "X1", "--key-file", place / "k", "--reason", "[bold]why"
    )
    done = sfumato("vault", "list", place / "v", "--key-file", place / "k")
    assert done.code == 0
    assert (
        "'': 2 pseudonyms, random_table" in done.out
        and "reidentify, 1 of 1 found: [bold]why" in done.out
    )
    found = json.loads(
        sfumato("vault", "list", place / "v", "--key-file", place / "k", "--json").out
    )
    assert found["domains"] == [{"domain": "", "method": "random_table", "pseudonyms": 2}]
    assert found["log"][0]["reason"] == "[bold]why"
    assert "Ann" not in done.out + str(found) and "X1" not in done.out + str(found)


def test_rotates(place, sfumato, monkeypatch):
    monkeypatch.setenv("NEXT_KEY", "another key of thirty-two letter")
    done = sfumato(
        "vault", "rotate", place / "v", "--key-file", place / "k", "--new-key-env", "NEXT_KEY"
    )
    assert done.code == 0 and "2 pseudonyms are sealed" in done.err
    assert sfumato("vault", "list", place / "v", "--key-env", "NEXT_KEY").code == 0
    old = sfumato("vault", "list", place / "v", "--key-file", place / "k")
    assert old.code == 5 and "another key" in old.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("list", "v"), 2, "say where the key is with one of --key-file or --key-env"),
        (("list", "v", "--key-file", "k", "--key-env", "K"), 2, "say where the key is"),
        (("list", "v", "--key-file", "none"), 2, "No such file"),
        (("list", "none", "--key-file", "k"), 5, "does not exist; check the path"),
        (("list", "k", "--key-file", "k"), 5, "is not a vault"),
        (("rotate", "v", "--key-file", "k"), 2, "--new-key-file or --new-key-env"),
        (
            ("rotate", "v", "--key-file", "k", "--new-key-file", "k"),
            2,
            "the new key is the old one",
        ),
        (("reidentify", "v", "X1", "--key-file", "k"), 2, "--reason"),
        (("reidentify", "v", "X1", "--key-file", "k", "--reason", " "), 2, "give a reason"),
        (
            ("reidentify", "v", "X1", "--key-file", "k", "--reason", "r", "--domain", "d"),
            2,
            "has no domain 'd'",
        ),
    ],
)
def test_wrong_usage(place, sfumato, monkeypatch, arguments, code, told):
    monkeypatch.chdir(place)
    done = sfumato("vault", *arguments)
    assert (done.code, done.out) == (code, "")
    assert told in " ".join(done.err.replace("│", " ").split())
