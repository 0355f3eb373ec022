"""What systems do differently, on a system that is simulated: no flock, no file modes, no exchange
of folders.
"""

from __future__ import annotations

import errno
import os
import types

import pytest

from sfumato import vault
from sfumato.core import exchange, portable
from sfumato.core.budget import Budget
from sfumato.core.declared import Relation
from sfumato.core.keys import KeyReference, new_key_file
from sfumato.core.ledger import Ledger, Terms
from sfumato.errors import MissingExtra, OutputError
from sfumato.interfaces.cli import main
from sfumato.release.register.store import open_register, start_register


@pytest.fixture
def windows(monkeypatch):
    """A system as Windows is: what was locked through msvcrt is noted."""
    locked = []
    msvcrt = types.SimpleNamespace(
        LK_LOCK=1, locking=lambda handle, how, size: locked.append((how, size))
    )
    found = portable.importlib.import_module

    def module(name):
        if name == "fcntl":
            raise ImportError(name)
        return msvcrt if name == "msvcrt" else found(name)

    monkeypatch.setattr(portable, "importlib", types.SimpleNamespace(import_module=module))
    monkeypatch.setattr(portable, "IS_POSIX", False)
    monkeypatch.setattr(portable, "_renameat2", lambda: None)
    monkeypatch.setattr(exchange, "_exchanged", portable.exchanged)
    return locked


@pytest.fixture
def without_locks(monkeypatch):
    """A file system that does not support locks, as some network folders."""

    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    fcntl = types.SimpleNamespace(LOCK_EX=2, LOCK_NB=4, flock=refuse)
    monkeypatch.setattr(portable, "_fcntl", lambda: fcntl)


def test_a_system_that_can_promises_all(monkeypatch):
    monkeypatch.setattr(portable, "IS_POSIX", True)
    monkeypatch.setattr(portable, "_fcntl", types.SimpleNamespace)
    monkeypatch.setattr(portable, "_renameat2", lambda: print)
    assert portable.cannot_promise("modes", "locks", "exchange") == ()


def test_a_system_that_cannot_says_so(windows):
    assert len(portable.cannot_promise("modes", "locks", "exchange")) == 3
    assert portable.cannot_promise("locks") == (portable.LACKING["locks"],)
    assert portable.cannot_promise() == ()


def test_no_lock_is_no_lock_that_was_got(windows, tmp_path):
    with (tmp_path / "file").open("w") as file, pytest.raises(portable.NoLocks):
        portable.lock(file.fileno())


def test_neither_is_one_of_a_disk_without_locks(without_locks, tmp_path):
    with (tmp_path / "file").open("w") as file, pytest.raises(portable.NoLocks):
        portable.lock(file.fileno(), wait=False)


def test_a_busy_lock_is_told(monkeypatch, tmp_path):
    pytest.importorskip("fcntl")
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as other:
        assert portable.lock(one.fileno())
        assert not portable.lock(other.fileno(), wait=False)


def test_a_folder_is_replaced_without_locks_and_without_exchange(windows, tmp_path):
    for word in ("old", "new"):
        with exchange.in_place(tmp_path / "out", force=True) as made:
            (made / "share").mkdir()
            (made / "share" / "certificate.json").write_text(word)
    assert (tmp_path / "out" / "share" / "certificate.json").read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_taken(windows, tmp_path):
    (tmp_path / "out").mkdir()
    with exchange.in_place(tmp_path / "out", force=False) as made:
        (made / "file").touch()
    assert (tmp_path / "out" / "file").is_file()


def test_a_ledger_is_refused_without_locks(windows, tmp_path):
    terms = Terms("people", Budget(1.0), Relation())
    ledger = Ledger.start(tmp_path / "ledger.jsonl", terms)
    with pytest.raises(MissingExtra, match="file locks"), ledger.hold():
        pass


def test_a_register_waits_by_a_byte(windows, tmp_path):
    register = start_register(tmp_path / "releases.db")
    with register.turn():
        assert windows == [(1, 1)]
    with open_register(tmp_path / "releases.db") as again:
        assert again.entries == ()


def test_a_vault_waits_by_a_byte(windows, tmp_path):
    with vault.only_one(tmp_path / "people.vault"):
        assert windows == [(1, 1)]


def test_a_vault_is_not_written_on_a_disk_without_locks(without_locks, tmp_path):
    with (
        pytest.raises(OutputError, match="does not support locks"),
        vault.only_one(tmp_path / "people.vault"),
    ):
        pass


def test_without_modes_nobody_is_told_to_set_one(windows, tmp_path):
    new_key_file(tmp_path / "key")
    os.chmod(tmp_path / "key", 0o644)
    assert KeyReference(file=tmp_path / "key").warnings() == ()


def test_the_command_line_tells_what_the_system_cannot_promise(
    windows, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr("sys.argv", ["sfumato", "key", "vault", str(tmp_path / "key")])
    with pytest.raises(SystemExit):
        main()
    assert portable.LACKING["modes"] in " ".join(capfd.readouterr().err.split())


def test_memory_is_kept_where_the_c_library_can_be_told_to(monkeypatch):
    assert portable.keep_memory() in (True, False)
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert portable.keep_memory() is False
