"""The journal, attacked from its documented claims: what fell once, and random kills."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import journal as module
from sfumato.core.journal import Journal
from sfumato.errors import InternalError, OutputError, UnreadableInput
from tests.core.test_journal import COINS, Coin, Purse, take, taken


def begin(folder: Path, coins: int = 3, **options: Any) -> Path:
    path = folder / "purse"
    Journal(path, COINS, **options).start(Purse(coins))
    return path


def test_a_head_that_cannot_be_written_leaves_no_entry(tmp_path, monkeypatch) -> None:
    """An error says that nothing is there: else who tries again writes it twice."""
    beside = {"head_file": tmp_path / "head", "head_beside": True}
    path = begin(tmp_path, **beside)

    def full(file: Path, content: bytes) -> None:
        raise OutputError(f"cannot write {file}: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_whole", full)
        with pytest.raises(OutputError, match="no coin is taken"):
            take(path, "Ada", **beside)
    assert taken(path, **beside) == []
    take(path, "Bo", **beside)
    assert taken(path, **beside) == ["Bo"]


def test_an_edit_that_sets_the_clock_of_the_file_back_is_noticed(tmp_path) -> None:
    path = begin(tmp_path)
    take(path, "Ada")
    journal, status = Journal(path, COINS).read(), path.stat()
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"Ada", b"Bob"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(UnreadableInput, match="line 2"):
        journal.read()


def test_nothing_is_written_after_half_a_line(tmp_path, monkeypatch) -> None:
    """The disk is full in the middle of a line, and the line cannot be cut off."""
    path, write = begin(tmp_path), os.write
    outcomes = iter([10, None])

    def half(file: int, data: bytes) -> int:
        size = next(outcomes)
        if size is None:
            raise OSError(28, "No space left on device")
        return write(file, bytes(data)[:size])

    def stuck(file: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with Journal(path, COINS).turn() as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            patch.setattr(os, "ftruncate", stuck)
            with pytest.raises(OutputError):
                journal.append(Coin("Ada"))
        with pytest.raises(InternalError):
            journal.append(Coin("Bo"))
    take(path, "Cy")
    assert taken(path) == ["Cy"]


def test_a_child_that_was_forked_in_a_turn_does_not_keep_the_lock(tmp_path) -> None:
    path = begin(tmp_path)
    with Journal(path, COINS).turn():
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        started = time.monotonic()
        take(path, "Ada")
        assert time.monotonic() - started < 30
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("head", [b'{"entries":1e400,"hash":"x"}', b"[" * 100_000, b"\xff", b"[]"])
def test_a_damaged_head_is_a_sentence(tmp_path, head: bytes) -> None:
    beside = {"head_file": tmp_path / "head", "head_beside": True}
    path = begin(tmp_path, **beside)
    (tmp_path / "head").write_bytes(head)
    with pytest.raises(UnreadableInput, match="missing or damaged"):
        taken(path, **beside)


@pytest.mark.slow
def test_eight_processes_killed_at_random_lose_nothing_and_take_no_coin_twice(tmp_path) -> None:
    path, coins = begin(tmp_path, coins=150), 150
    running: dict[int, int] = {}

    def start(number: int) -> None:
        child = os.fork()
        if child == 0:
            try:
                _take_coins(path, number)
            finally:
                os._exit(1)
        running[child] = number

    for number in range(8):
        start(number)
    draw, kills = random.Random(5), 0
    while running:
        time.sleep(draw.random() * 0.02)
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            number = running.pop(child)
            if os.WIFSIGNALED(status):
                start(number)
        elif kills < 40:
            os.kill(draw.choice(list(running)), signal.SIGKILL)
            kills += 1
    told = [line for file in tmp_path.glob("told *") for line in file.read_text().splitlines()]
    names = taken(path)
    assert len(names) == len(set(names)) == coins
    assert set(told) <= set(names)


def _take_coins(path: Path, number: int) -> None:
    """Take coins until none is left, and say so after each."""
    journal, turn = Journal(path, COINS), 0
    told = os.open(path.with_name(f"told {number}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        turn += 1
        name = f"{number} {os.getpid()} {turn}"
        with journal.turn():
            if len(journal.of_type(Coin)) >= journal.of_type(Purse)[0].coins:
                os._exit(0)
            journal.append(Coin(name))
        os.write(told, f"{name}\n".encode())
