"""Sessions that break off: a process that dies while one is begun, a disk that is full, a folder
that is moved, several who begin at once.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, SfumatoError
from sfumato.results.checking.log import BEGINNING, LOG, OutputLog

PEOPLE = pl.DataFrame({"who": np.arange(200), "g": ["a", "b"] * 100})
ENDS = """
import os, sys
from pathlib import Path
from tests.results.checking.test_log import count_in
left = [int(sys.argv[2])]
def dying(real):
    def inner(*args, **more):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return real(*args, **more)
    return inner
Path.replace, os.write = dying(Path.replace), dying(os.write)
count_in(sys.argv[1], 2)
"""


def count_in(folder, times=1):
    with sf.output_session(folder, PEOPLE, unit="who") as session:
        for _ in range(times):
            session.count(["g"])
    return len(session)


def full_at(monkeypatch, turn):
    """A disk that is full at the n-th file or line that is written."""
    left = [turn]

    def limited(real):
        def inner(*args, **more):
            left[0] -= 1
            if left[0] == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args, **more)

        return inner

    monkeypatch.setattr(Path, "replace", limited(Path.replace))
    monkeypatch.setattr(os, "write", limited(os.write))


@pytest.mark.parametrize("turn", range(1, 10))
def test_a_full_disk_is_named_and_the_session_goes_on_after(tmp_path, monkeypatch, turn):
    with monkeypatch.context() as full:
        full_at(full, turn)
        with pytest.raises(OutputError, match="No space left"):
            count_in(tmp_path / "out", 2)
    before = len(OutputLog.at(tmp_path / "out").outputs) if (tmp_path / "out" / LOG).exists() else 0
    assert count_in(tmp_path / "out") == before + 1
    assert OutputLog.at(tmp_path / "out").reviewed(1).as_checked


@pytest.mark.parametrize("turn", [1, 2, 3, 4, 6, 7])
def test_a_process_that_dies_leaves_a_folder_that_goes_on(tmp_path, turn):
    here = Path(__file__).parents[3]
    paths = os.pathsep.join([str(here), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", ENDS, str(tmp_path / "out"), str(turn)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=here,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 9
    before = len(OutputLog.at(tmp_path / "out").outputs) if (tmp_path / "out" / LOG).exists() else 0
    assert count_in(tmp_path / "out") == before + 1


def moved_away(place, to, *, after):
    with sf.output_session(place, PEOPLE, unit="who") as session:
        if after:
            session.count(["g"])
        shutil.move(place, to)
        if not after:
            session.count(["g"])


def test_a_folder_that_is_moved_while_a_session_is_open(tmp_path):
    with pytest.raises(OutputError, match="in its current folder"):
        moved_away(tmp_path / "out", tmp_path / "there", after=True)
    with pytest.raises(SfumatoError, match="cannot open"):
        moved_away(tmp_path / "other", tmp_path / "gone", after=False)
    assert count_in(tmp_path / "there") == 2


def test_one_session_is_begun_in_a_folder(tmp_path, monkeypatch):
    """Somebody else begins one between looking and writing."""
    from sfumato.results.checking import log

    held = log.hold_alone

    def begun_meanwhile(file, name):
        monkeypatch.setattr(log, "hold_alone", held)
        os.unlink(tmp_path / "out" / BEGINNING)
        count_in(tmp_path / "out")
        held(file, name)

    monkeypatch.setattr(log, "hold_alone", begun_meanwhile)
    with pytest.raises(OutputError, match="somebody else just started"):
        count_in(tmp_path / "out")
    assert count_in(tmp_path / "out") == 2


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        count_in(tmp_path)
    assert (tmp_path / "files" / "mine.txt").read_text() == "mine"
