"""The file of a register: who may open it, what is noticed, and what is left when a process dies or
two write at once.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.release.register import store
from sfumato.release.register.store import RegisteredPeople, open_register, start_register
from tests.core.forged_journals import chain_again

ENTRY = {
    "created": "2026-01-01T00:00:00+00:00",
    "recipient": "a university",
    "source": "visits.csv",
    "certificate": "",
}
ENTRY |= {
    "input": "",
    "person": ["id"],
    "records": 2,
    "k": 2,
    "classes": True,
    "epsilon": None,
    "delta": None,
}
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
    """A register with a release that was written, one that was planned only, and one that was
    withdrawn.
    """
    first, second, third = (planned(register) for _ in range(3))
    with register.turn():
        register.now_is(first, "released", certificate="c" * 64)
        register.now_is(third, "withdrawn")
    assert (first, second, third) == (1, 2, 3)
    register.close()
    return register.path


def lines_of(path):
    return path.read_text().splitlines()


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def test_what_was_written_is_read(path):
    with open_register(path) as held:
        assert [(e.number, e.state, e.certificate[:1]) for e in held.entries] == [
            (1, "released", "c"),
            (2, "planned", ""),
            (3, "withdrawn", ""),
        ]
        assert [e.number for e in held.standing] == [
            1,
            2,
        ]  # planned counts: the process may have died after it wrote
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
    with pytest.raises(UnreadableInput, match="does not exist"):
        open_register(path)


def test_a_register_is_never_replaced(path):
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="already exists"):
        start_register(path)
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".*"))


def test_two_registers_with_one_key_know_people_under_different_hashes(tmp_path):
    with (
        start_register(tmp_path / "a.db") as one,
        start_register(tmp_path / "b.db", key=tmp_path / "a.db.key") as other,
    ):
        assert one.hashed(["p"]) != other.hashed(["p"])


EDITS = {
    "a word": lambda lines: [*lines[:2], lines[2].replace("visits", "others"), *lines[3:]],
    "people": lambda lines: [lines[0], lines[1].replace('"hashes":"', '"hashes":"A'), *lines[2:]],
    "a state": lambda lines: [*lines[:5], lines[5].replace("withdrawn", "released")],
    "the first release is gone": lambda lines: [lines[0], *lines[2:]],
    "one in the middle is gone": lambda lines: [*lines[:3], *lines[4:]],
    "the last is gone": lambda lines: lines[:-1],
    "all are gone": lambda lines: lines[:1],
    "repeated": lambda lines: [*lines, lines[-1]],
    "swapped": lambda lines: [*lines[:4], lines[5], lines[4]],
    "another id": lambda lines: [lines[0].replace('"id":"', '"id":"0'), *lines[1:]],
    "another mark": lambda lines: [lines[0].replace('"mark":"', '"mark":"0'), *lines[1:]],
    "the start is gone": lambda lines: lines[1:],
    "started twice": lambda lines: [lines[0], *lines],
    "nothing": lambda lines: [],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_what_another_hand_changed_is_noticed(path, edit):
    write_lines(path, edit(lines_of(path)))
    with pytest.raises((UnreadableInput, ParameterError)):
        open_register(path)


def test_every_byte_of_what_was_registered_counts(path):
    """Flip a byte: the file is not opened. The very last is the end of the last line: without it
    the head is missing one.
    """
    whole = path.read_bytes()
    for place in [*range(0, len(whole), 7), len(whole) - 1]:
        flipped = bytearray(whole)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises((UnreadableInput, ParameterError)):
            open_register(path)


def test_lines_that_were_chained_again_without_the_key_do_not_fit(path, state):
    shutil.rmtree(state)  # even where nothing is remembered
    lines = [line.replace("visits", "others") for line in lines_of(path)]
    for key in (b"", b"guessed"):
        write_lines(path, chain_again(lines, store.REGISTER, key)[0])
        with pytest.raises(UnreadableInput, match="was changed after it was written"):
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
    with pytest.raises(UnreadableInput, match="another one"):
        open_register(path)


def test_what_was_seen_is_never_forgotten_for_less(path, state):
    seen = next(state.iterdir())
    known = json.loads(seen.read_text())
    with open_register(path) as slow, open_register(path) as fast:
        planned(fast)
        assert json.loads(seen.read_text())["entries"] == known["entries"] + 1
        slow.journal._remember_head()  # it has read the file before the other wrote
    assert json.loads(seen.read_text())["entries"] == known["entries"] + 1


def test_without_a_state_folder_it_works(path, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with open_register(path) as held:
        assert len(held.entries) == 3


@pytest.mark.parametrize(
    "content", [b"", b"x", b"SQLite format 3\0" + b"\0" * 100, os.urandom(5000)]
)
def test_a_file_that_is_no_register(path, content):
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match="not a register"):
        open_register(path)


def test_a_cut_file(path):
    whole = path.read_bytes()
    for size in (1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableInput):
            open_register(path)


def test_there_is_no_such_register(tmp_path):
    with pytest.raises(UnreadableInput, match="register start"):
        open_register(tmp_path / "nothing.db")
    with pytest.raises(OutputError, match=r"cannot (make|write)"):
        start_register(tmp_path / "no" / "folder.db")


def test_states_go_one_way(path):
    with open_register(path) as held:
        with pytest.raises(ParameterError, match="which is final"), held.turn():
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


def test_a_full_disk_writes_nothing_down(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_register(path) as held:
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", full)
            with pytest.raises(OutputError, match="No space left"):
                planned(held, [f"person {i}" for i in range(3000)], range(3000))
        assert len(held.entries) == 3
        assert planned(held) == 6
    with open_register(path) as held:
        assert len(held.entries) == 4


def test_who_plans_waits_for_the_other(path):
    """Two registers in one process stand for two processes: the second plans when the turn of the
    first is over.
    """
    order = []
    with open_register(path) as one, open_register(path) as other:
        waiting = threading.Thread(target=lambda: order.append(planned(other)))
        with one.turn():
            waiting.start()
            order.append(
                one.plan(ENTRY, RegisteredPeople(one.hashed(["z"]), np.zeros(1, dtype=np.int64)))
            )
        waiting.join(60)
    assert order == [6, 7]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("what", ["crashes", "races"])
def test_processes_that_die_and_processes_that_race(tmp_path, what):
    script = Path(__file__).with_name("crashing_registers.py")
    done = subprocess.run(
        [sys.executable, script, what, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if what == "crashes":
        assert found["killed"] > 20
        assert {"nothing", "planned", "released"} <= set(found["left"])
        assert found["wrong"] == []
    else:
        assert found == {"let": 1, "standing": 1, "others": 7, "appended": 80, "chain": "fits"}
