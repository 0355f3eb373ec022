"""Ctrl-C ends a command as interrupted, says what stands, and leaves nothing half done; no test
waits for a clock.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill by signal")
STORED = Path(__file__).parents[2] / "release" / "stored"
RUN = ("run", STORED / "table.csv", "-r", STORED / "recipe_1.yaml")


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    """More than a pipe holds is written: when that is done the command is reading, and it waits for
    the end of it.
    """
    out = tmp_path / "out"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sfumato",
            "run",
            "-",
            "-r",
            str(STORED / "recipe_1.yaml"),
            "-o",
            str(out),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"age\n" + b"34\n" * 700_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130 and b"interrupted; nothing was written" in said
    assert list(tmp_path.iterdir()) == []


def test_after_the_move_it_says_that_the_release_stands(sfumato, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "sfumato.interfaces.cli.run.show_blocks", lambda blocks: signal.raise_signal(signal.SIGINT)
    )
    done = sfumato(*RUN, "-o", tmp_path / "out")
    assert done.code == 130 and "interrupted" in done.err and "nothing was written" not in done.err
    assert (
        "the release is in" in done.err
        and (tmp_path / "out" / "share" / "certificate.json").is_file()
    )


@pytest.mark.parametrize("error", [SystemError, RuntimeError, ValueError])
def test_in_a_compiled_loop_it_is_no_bug_of_ours(sfumato, tmp_path, monkeypatch, error):
    """Compiled code gives back another error in the place of KeyboardInterrupt."""

    def kernel(*args, **options):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise error("returned a result with an exception set") from None

    monkeypatch.setattr("sfumato.release.make.make_release", kernel)
    monkeypatch.setattr("sfumato.interfaces.api.make_release", kernel)
    done = sfumato(*RUN, "-o", tmp_path / "out")
    assert (
        done.code == 130
        and "interrupted; nothing was written" in done.err
        and "bug" not in done.err
    )
    assert list(tmp_path.iterdir()) == []


def test_the_same_error_without_ctrl_c_is_a_bug(sfumato, tmp_path, monkeypatch):
    def broken(*args, **options):
        raise SystemError("returned a result with an exception set")

    monkeypatch.setattr("sfumato.interfaces.api.make_release", broken)
    done = sfumato(*RUN, "-o", tmp_path / "out")
    assert done.code == 3 and "bug in sfumato" in done.err


LOST = """
import ctypes, signal, sys
import sfumato.interfaces.api as verbs
from sfumato.interfaces.cli import main

made = verbs.make_release

def make_release(*args, **options):
    release = made(*args, **options)
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()  # the exception ends inside of the callback
    return release

verbs.make_release = make_release
sys.argv = ["sfumato", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_in_a_callback_that_loses_it_nothing_is_written(tmp_path):
    call = [sys.executable, "-c", LOST, *map(str, RUN), "-o", str(tmp_path / "out")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 130 and "interrupted; nothing was written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_attacks_add_is_added_whole(sfumato, tmp_path):
    """A command that changes a written release exchanges the folder: the certificate still covers
    every file.
    """
    assert sfumato(*RUN, "-o", tmp_path / "out", "-q").code == 0
    assert sfumato(
        *("attack", tmp_path / "out", "--original", STORED / "table.csv"),
        *("--attack", "linkage", "--certify", "-q"),
    ).code in (
        0,
        1,
    )
    share = tmp_path / "out" / "share"
    assert "attacks" in json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    assert sfumato("verify", share).code == 7
    assert {file.name for file in tmp_path.iterdir()} == {"out"}


IMPATIENT = """
import atexit, signal, sys
import sfumato.interfaces.cli.app
from sfumato.interfaces import cli

press = lambda: signal.raise_signal(signal.SIGINT)

def build_app(words):
    def app(standalone_mode):
        try:
            press()
        finally:
            press()  # while something is swept away
            print("swept", flush=True)
    return app

sfumato.interfaces.cli.app.build_app = build_app
before = cli.tell
cli.tell = lambda *words: (press(), before(*words))  # while it is told
atexit.register(press)  # when the interpreter ends
cli.program()
"""


def test_who_presses_twice_sees_one_sentence_and_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.count("interrupted; nothing was written") == 1 and "swept" in done.stdout
