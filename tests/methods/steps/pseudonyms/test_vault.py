"""The vault's file: whole or not at all, and unreadable without its key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import vault as sealed
from sfumato.core.encoding import joint_label
from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.methods.steps.pseudonyms.vault import (
    Domain,
    Vault,
    parts_of_identity,
    read_sealed,
    read_vault,
    remember,
    write_sealed,
    write_vault,
)

KEY = b"a good key of thirty-two letters"
ANN = Domain("keyed", {"=Ann": "X1"})


def test_there_and_back(tmp_path):
    vault = Vault(
        {"": ANN, "übung": Domain("counter", {"=Bö\x1f=1": "1", "-\x1f=2": "2"})}, 3, "ab"
    )
    write_vault(tmp_path / "v", KEY, vault)
    assert read_vault(tmp_path / "v", KEY) == vault
    assert "Ann" not in repr(vault) and "X1" not in repr(vault)


def test_the_file_shows_nothing_and_is_private(tmp_path):
    write_vault(tmp_path / "v", KEY, Vault({"": ANN}))
    first = (tmp_path / "v").read_bytes()
    assert b"Ann" not in first  # two letters alone would stand in random bytes now and then
    write_vault(tmp_path / "v", KEY, Vault({"": ANN}))
    assert (tmp_path / "v").read_bytes()[17:45] != first[17:45], "salt and nonce are new each time"
    if os.name != "nt":
        assert (tmp_path / "v").stat().st_mode & 0o077 == 0


def test_wrong_key(tmp_path):
    write_vault(tmp_path / "v", KEY, Vault({"": ANN}))
    with pytest.raises(UnreadableInput, match="another key"):
        read_vault(tmp_path / "v", KEY + b"!")


@pytest.mark.parametrize("place", [0, 5, 17, 30, 40, 50, -1])
def test_a_changed_byte_is_noticed(tmp_path, place):
    write_vault(tmp_path / "v", KEY, Vault({"": ANN}))
    content = bytearray((tmp_path / "v").read_bytes())
    content[place] ^= 1
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(UnreadableInput):
        read_vault(tmp_path / "v", KEY)


@pytest.mark.parametrize("length", [0, 10, 44, 45, 60])
def test_a_cut_file_is_noticed(tmp_path, length):
    write_vault(tmp_path / "v", KEY, Vault({"": ANN}))
    (tmp_path / "v").write_bytes((tmp_path / "v").read_bytes()[:length])
    with pytest.raises(UnreadableInput):
        read_vault(tmp_path / "v", KEY)


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, fails):
    write_sealed(tmp_path / "v", KEY, b"old")

    def stop(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((sealed.os, "fsync") if fails == "fsync" else (Path, "replace")), stop)
    with pytest.raises(OutputError, match="the file is unchanged"):
        write_sealed(tmp_path / "v", KEY, b"new")
    monkeypatch.undo()
    assert read_sealed(tmp_path / "v", KEY) == b"old"
    assert os.listdir(tmp_path) == ["v"]


def test_ctrl_c_leaves_the_old_file(tmp_path, monkeypatch):
    write_sealed(tmp_path / "v", KEY, b"old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sealed.os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_sealed(tmp_path / "v", KEY, b"new")
    monkeypatch.undo()
    assert read_sealed(tmp_path / "v", KEY) == b"old"
    assert os.listdir(tmp_path) == ["v"]


def test_remembering_adds_and_never_contradicts(tmp_path):
    path = tmp_path / "v"
    remember(path, KEY, "", ANN)
    remember(path, KEY, "", Domain("keyed", {"=Bo": "X2"}))
    before = path.read_bytes()
    remember(path, KEY, "", ANN)
    assert path.read_bytes() == before, "nothing new, nothing written"
    for wrong in ({"=Ann": "X3"}, {"=Cy": "X1"}):
        with pytest.raises(OutputError, match="nothing was stored"):
            remember(path, KEY, "", Domain("keyed", wrong))
    with pytest.raises(OutputError):
        remember(path, KEY, "", Domain("counter", {"=Cy": "3"}))
    assert read_vault(path, KEY).codes("", "keyed") == {"=Ann": "X1", "=Bo": "X2"}


def test_a_domain_keeps_its_method():
    with pytest.raises(ParameterError, match="made by keyed, not by counter"):
        Vault({"a": ANN}).codes("a", "counter")
    assert Vault({"a": ANN}).codes("b", "counter") == {}


def test_no_folder(tmp_path):
    with pytest.raises(ParameterError, match="does not exist"):
        read_vault(tmp_path / "none" / "v", KEY)
    with pytest.raises(UnreadableInput):
        read_vault(tmp_path, KEY)


PART = st.one_of(st.none(), st.text("-=a\x1f", max_size=4))


@given(
    st.lists(PART, min_size=1, max_size=3).filter(lambda parts: any(p is not None for p in parts))
)
def test_identities_can_be_taken_apart(parts):
    assert parts_of_identity(joint_label(tuple(parts))) == tuple(parts)
