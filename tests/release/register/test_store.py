"""The file of a register: who may open it, what is noticed, and what is left when a process dies or two write at once."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.release.register import store
from sfumato.release.register.store import RegisteredPeople, open_register, start_register

ENTRY = {"created": "2026-01-01T00:00:00+00:00", "recipient": "a university", "source": "visits.csv", "certificate": ""}
ENTRY |= {"input": "", "person": ["id"], "records": 2, "k": 2, "classes": True, "epsilon": None, "delta": None}
ENTRY |= {"people": 2, "folder": "out", "note": ""}


def planned(register, persons=("a", "b"), classes=(0, 0)):
    """Plan a release of some persons."""
    hashes = np.sort(register.hashed(list(persons)))
    with register.turn():
        return register.plan(ENTRY, RegisteredPeople(hashes, np.array(classes, dtype=np.int64)))


@pytest.fixture
def register(tmp_path):
    with start_register(tmp_path / "releases.db") as held:
        yield held


@pytest.fixture
def path(register):
    """A register with a release that was written, one that was planned only, and one that was withdrawn."""
    first, second, third = (planned(register) for _ in range(3))
    with register.turn():
        register.now_is(first, "released", certificate="c" * 64)
        register.now_is(third, "withdrawn")
    assert (first, second, third) == (1, 2, 3)
    register.close()
    return register.path


def edited(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_what_was_written_is_read(path):
    with open_register(path) as held:
        assert [(e.number, e.state, e.certificate[:1]) for e in held.entries] == [
            (1, "released", "c"),
            (2, "planned", ""),
            (3, "withdrawn", ""),
        ]
        assert [e.number for e in held.standing] == [1, 2]  # planned counts: the process may have died after it wrote
        people = held.people(1)
        assert np.array_equal(people.hashes, np.sort(held.hashed(["a", "b"])))
        assert people.classes.tolist() == [0, 0]
        assert held.entries[0].to_dict()["person"] == ("id",)


def test_it_is_for_its_owner_alone_and_shows_nobody(path):
    for file in (path, store.key_file(path)):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    planned(held := open_register(path), ("Ada Lovelace", "b"))
    held.close()
    assert b"Lovelace" not in path.read_bytes()


@pytest.mark.parametrize("which", ["releases.db", "releases.db.key"])
def test_nobody_else_may_read_it(path, which):
    (path.parent / which).chmod(0o644)
    with pytest.raises(ParameterError, match="others may read"):
        open_register(path)


def test_another_key_would_know_nobody_again(path, tmp_path):
    start_register(tmp_path / "other.db").close()
    with pytest.raises(ParameterError, match="another key"):
        open_register(path, key=tmp_path / "other.db.key")


def test_a_key_that_is_gone_or_too_short(path, tmp_path):
    short = tmp_path / "short.key"
    short.write_bytes(b"secret")
    short.chmod(0o600)
    with pytest.raises(ParameterError, match="too short"):
        open_register(path, key=short)
    with pytest.raises(ParameterError, match="too short"):
        start_register(tmp_path / "new.db", key=short)
    assert not (tmp_path / "new.db").exists()
    store.key_file(path).unlink()
    with pytest.raises(UnreadableInput, match="no such file"):
        open_register(path)


def test_a_register_is_never_replaced(path):
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="there already"):
        start_register(path)
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".*"))


def test_two_registers_with_one_key_know_people_under_different_hashes(tmp_path):
    with (
        start_register(tmp_path / "a.db") as one,
        start_register(tmp_path / "b.db", key=tmp_path / "a.db.key") as other,
    ):
        assert one.hashed(["p"]) != other.hashed(["p"])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = replace(body, 'visits', 'others') WHERE number = 2",
        "UPDATE events SET people = NULL WHERE number = 1",
        "UPDATE events SET people = x'00' WHERE number = 2",
        "UPDATE events SET hash = previous WHERE number = 3",
        "UPDATE events SET previous = hash WHERE number = 3",
        "DELETE FROM events WHERE number = 1",
        "DELETE FROM events WHERE number = 2",
        "DELETE FROM events WHERE number = 5",
        "DELETE FROM events",
        "INSERT INTO events SELECT 6, body, people, hash, hash FROM events WHERE number = 5",
        "UPDATE events SET number = 9 WHERE number = 5",
        "UPDATE register SET id = 'another'",
        "UPDATE register SET mark = 'another'",
        "INSERT INTO register VALUES ('a', 'b')",
        "DELETE FROM register",
        "DROP TABLE events",
        "PRAGMA application_id = 1",
    ],
)
def test_what_another_hand_changed_is_noticed(path, statement):
    edited(path, statement)
    with pytest.raises((UnreadableInput, ParameterError)):
        open_register(path)


def test_every_byte_of_what_was_registered_counts(path):
    """Flip a byte of every row's text, people and hashes: the file is not opened, or SQLite itself says that it is damaged."""
    whole = path.read_bytes()
    rows = sqlite3.connect(path).execute("SELECT body, people, previous, hash FROM events").fetchall()
    parts = [part.encode() if isinstance(part, str) else part for row in rows for part in row if part is not None]
    tried = 0
    for part in set(parts) - {b"0" * 64}:
        start = whole.find(part)
        for place in {start, start + len(part) // 2, start + len(part) - 1}:
            flipped = bytearray(whole)
            flipped[place] ^= 1
            path.write_bytes(flipped)
            with pytest.raises(UnreadableInput):
                open_register(path)
            tried += 1
    assert tried > 20


def test_rows_that_were_chained_again_without_the_key_do_not_fit(path, state):
    shutil.rmtree(state)  # even where nothing is remembered
    rows = sqlite3.connect(path).execute("SELECT number, body, people FROM events ORDER BY number").fetchall()
    previous = store.START
    for number, body, people in rows:
        own = store.chained(b"guessed", previous, body, people)
        edited(path, "UPDATE events SET previous = ?, hash = ? WHERE number = ?", previous, own, number)
        previous = own
    with pytest.raises(UnreadableInput, match="another hand"):
        open_register(path)


def test_an_older_copy_put_back_is_noticed(path, tmp_path):
    older = tmp_path / "older"
    shutil.copy(path, older)
    with open_register(path) as held:
        planned(held)
    shutil.copy(older, path)
    with pytest.raises(UnreadableInput, match="older copy"):
        open_register(path)


def test_an_older_copy_that_went_on_otherwise_is_noticed(path, tmp_path, monkeypatch):
    older = tmp_path / "older"
    shutil.copy(path, older)
    with open_register(path) as held:
        planned(held, ("a", "b"))
    shutil.copy(older, path)
    with monkeypatch.context() as elsewhere:  # another machine, with the right key
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        with open_register(path) as held:
            planned(held, ("c", "d"))
            planned(held, ("c", "d"))
    with pytest.raises(UnreadableInput, match="another register"):
        open_register(path)


def test_what_was_seen_is_never_forgotten_for_less(path, state):
    seen = next(state.iterdir())
    known = json.loads(seen.read_text())
    with open_register(path) as slow, open_register(path) as fast:
        planned(fast)
        slow._connection.execute("BEGIN")  # it has read the file before the other wrote
        assert json.loads(seen.read_text())["number"] == known["number"] + 1
        slow._connection.execute("ROLLBACK")
        slow._remember()
    assert json.loads(seen.read_text())["number"] == known["number"] + 1


def test_without_a_state_folder_it_works(path, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with open_register(path) as held:
        assert len(held.entries) == 3


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\0" + b"\0" * 100, os.urandom(5000)])
def test_a_file_that_is_no_register(path, content):
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match="no register"):
        open_register(path)


def test_a_cut_file(path):
    whole = path.read_bytes()
    for size in (100, 4096, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableInput):
            open_register(path)


def test_there_is_no_such_register(tmp_path):
    with pytest.raises(UnreadableInput, match="register start"):
        open_register(tmp_path / "nothing.db")
    with pytest.raises(OutputError, match=r"cannot (make|write)"):
        start_register(tmp_path / "no" / "folder.db")


def test_versions(path, monkeypatch):
    edited(path, "PRAGMA user_version = 2")
    with pytest.raises(UnreadableInput, match="Use a newer one"):
        open_register(path)
    edited(path, "PRAGMA user_version = 0")
    with pytest.raises(UnreadableInput, match="version 0, which"):
        open_register(path)
    edited(path, "PRAGMA user_version = 1")
    monkeypatch.setattr(store, "VERSION", 2)
    monkeypatch.setitem(store.MIGRATIONS, 1, lambda c: c.execute("CREATE TABLE notes (text TEXT)"))
    for _ in range(2):
        with open_register(path) as held:
            assert len(held.entries) == 3
            assert held._connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    monkeypatch.setattr(store, "VERSION", 1)
    with pytest.raises(UnreadableInput, match="version 2"):
        open_register(path)


def test_a_migration_that_changes_or_fails_leaves_the_file_as_it_was(path, monkeypatch):
    before = list(sqlite3.connect(path).execute("SELECT * FROM events"))
    monkeypatch.setattr(store, "VERSION", 2)

    def changes(connection):
        connection.execute("UPDATE events SET hash = 'x' WHERE number = 2")

    def fails(connection):
        connection.execute("DELETE FROM events")
        raise RuntimeError("power cut")

    for step, error in ((changes, UnreadableInput), (fails, RuntimeError)):
        monkeypatch.setitem(store.MIGRATIONS, 1, step)
        with pytest.raises(error):
            open_register(path)
        assert list(sqlite3.connect(path).execute("SELECT * FROM events")) == before
        assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (1,)


def test_two_who_bring_it_up_to_date_at_once_do_it_once(path, monkeypatch):
    monkeypatch.setattr(store, "VERSION", 2)
    monkeypatch.setitem(store.MIGRATIONS, 1, lambda c: c.execute("CREATE TABLE notes (text TEXT)"))
    slow = sqlite3.connect(path, isolation_level=None)
    open_register(path).close()
    store._migrated(slow, store.MIGRATIONS[1], 1)  # it had read version 1 before
    assert not slow.in_transaction


def test_states_go_one_way(path):
    with open_register(path) as held:
        with pytest.raises(ParameterError, match="stays so"), held.turn():
            held.now_is(3, "released")
        with pytest.raises(ParameterError, match="no release 9"), held.turn():
            held.now_is(9, "released")
        with pytest.raises(ParameterError, match="no release 4"):
            held.people(4)
        with held.turn():
            held.now_is(1, "withdrawn")
        assert [e.number for e in held.standing] == [2]


def test_a_turn_that_fails_leaves_nothing(path):
    with open_register(path) as held:

        def dies():
            with held.turn():
                held.plan(ENTRY, RegisteredPeople(held.hashed(["z"]), np.zeros(1, dtype=np.int64)))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            dies()
        assert len(held.entries) == 3
        planned(held)


def test_a_register_that_is_held_or_cannot_be_written(path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.01)
    busy = pytest.raises(OutputError, match="held by another process")
    with open_register(path) as one, open_register(path) as other, one.turn(), busy:
        planned(other)
    with open_register(path) as held:
        held._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(OutputError, match="cannot write"):
            planned(held)
        held._connection.execute("PRAGMA query_only = OFF")
        pages = held._connection.execute("PRAGMA page_count").fetchone()[0]
        held._connection.execute(f"PRAGMA max_page_count = {pages}")  # as on a full disk
        with pytest.raises(OutputError, match="full"):
            planned(held, [f"person {i}" for i in range(3000)], range(3000))
        assert len(held.entries) == 3
    with open_register(path) as held:
        assert len(held.entries) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("what", ["crashes", "races"])
def test_processes_that_die_and_processes_that_race(tmp_path, what):
    script = Path(__file__).with_name("crashing_registers.py")
    done = subprocess.run([sys.executable, script, what, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if what == "crashes":
        assert found["killed"] > 20
        assert {"nothing", "planned", "released"} <= set(found["left"])
        assert found["wrong"] == []
    else:
        assert found == {"let": 1, "standing": 1, "others": 5, "appended": 60, "chain": "fits"}
