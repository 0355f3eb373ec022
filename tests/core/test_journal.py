"""The journal: killed at any byte, out of space, raced, edited; what is noticed, and what is
harmless.
"""

from __future__ import annotations

import dataclasses
import errno
import importlib
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import journal as module
from sfumato.core.journal import Entry, Head, Journal, JournalKind
from sfumato.errors import InternalError, OutputError, UnreadableInput
from tests.core.forged_journals import chain_again

pytest.importorskip("fcntl")


@dataclasses.dataclass(frozen=True)
class Purse(Entry):
    coins: int


@dataclasses.dataclass(frozen=True)
class Coin(Entry):
    taken_by: str
    note: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Ballast(Entry):
    large_fields = ("content",)
    content: str
    size: int


COINS = JournalKind("purse", (Purse, Coin, Ballast), "no coin is taken", first=Purse)
LOOSE = JournalKind("heap", (Coin,), "no coin is taken")


def taken(path: Path, kind: JournalKind = COINS, **options: Any) -> list[str]:
    return [coin.taken_by for coin in Journal(path, kind, **options).read().of_type(Coin)]


def take(path: Path, *names: str, kind: JournalKind = COINS, **options: Any) -> None:
    with Journal(path, kind, **options).turn() as journal:
        journal.append(*(Coin(name) for name in names))


@pytest.fixture
def purse(tmp_path: Path) -> Path:
    path = tmp_path / "purse"
    Journal(path, COINS).start(Purse(9))
    for name in ("Ada", "Bo", "Cy é ☃ \u2028"):
        take(path, name)
    return path


# what is there


def test_what_was_written_is_read_and_is_private(purse: Path) -> None:
    assert taken(purse) == ["Ada", "Bo", "Cy é ☃ \u2028"]
    assert stat.S_IMODE(purse.stat().st_mode) == 0o600
    assert [json.loads(line).keys() for line in purse.read_text().split("\n")[:2]] == [
        {"Purse", "hash"},
        {"Coin", "hash"},
    ]
    with pytest.raises(OutputError, match="already"):
        Journal(purse, COINS).start(Purse(1))
    assert [file.name for file in purse.parent.iterdir()] == ["purse"]


def test_a_journal_without_a_first_entry_may_be_empty_or_not_there(tmp_path: Path) -> None:
    assert taken(tmp_path / "heap", LOOSE) == []
    assert not (tmp_path / "heap").exists()
    take(tmp_path / "heap", "Ada", kind=LOOSE)
    assert taken(tmp_path / "heap", LOOSE) == ["Ada"]
    assert stat.S_IMODE((tmp_path / "heap").stat().st_mode) == 0o600


def test_what_is_not_as_declared_is_not_written(purse: Path) -> None:
    before = purse.read_bytes()
    wrong: list[Any] = [Coin(3), Coin(None), Coin("Di", note=[1]), Purse(True), Purse("3")]  # type: ignore[arg-type]
    for entry in wrong:
        with Journal(purse, COINS).turn() as journal, pytest.raises(InternalError):
            journal.append(entry)
    with pytest.raises(InternalError, match="inside a turn"):
        Journal(purse, COINS).append(Coin("Di"))
    assert purse.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        '{"Coin":{"taken_by":"Di","note":{},"more":1}',
        '{"Coin":{"taken_by":3,"note":{}}',
        '{"Coin":{"note":{}}',
        '{"Stone":{"taken_by":"Di","note":{}}',
        '{"Coin":"Di"',
        "[]",
        "",
    ],
)
def test_a_line_that_fits_and_is_no_entry_is_refused(purse: Path, line: str) -> None:
    lines = [*purse.read_text().split("\n")[:-1], line + ',"hash":"' + "0" * 64 + '"}']
    forged, _ = chain_again(lines, COINS)
    purse.write_text("".join(f"{one}\n" for one in forged))
    with pytest.raises(UnreadableInput, match="from line 5 on"):
        taken(purse)


def test_half_a_letter_does_not_spoil_the_file(purse: Path) -> None:
    take(purse, "file \udcff name")
    assert taken(purse)[-1] == "file ? name"


def test_large_entries_are_read_again_from_the_file(purse: Path) -> None:
    with Journal(purse, COINS).turn() as journal:
        journal.append(Ballast("x" * 100_000, 100_000), Coin("Di"))
    read = Journal(purse, COINS).read()
    assert read.entries[4] == Ballast("", 100_000)
    assert read.read_entry(5) == Ballast("x" * 100_000, 100_000)
    assert read.read_entry(6) == Coin("Di")
    content = purse.read_bytes()
    purse.write_bytes(content.replace(b"xx", b"xy", 1))
    with pytest.raises(UnreadableInput, match="from line 5 on"):
        read.read_entry(5)


def test_who_has_read_it_reads_it_again_only_where_it_changed(
    purse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(purse, COINS).read()
    lines = []
    parse = JournalKind.parse
    monkeypatch.setattr(
        JournalKind, "parse", lambda self, body: lines.append(body) or parse(self, body)
    )
    for name in ("Di", "Ed"):
        with journal.turn():
            journal.append(Coin(name))
    assert len(lines) == 2  # each is read back before it is written
    take(purse, "Fay")
    lines.clear()
    with journal.turn():
        assert len(journal.entries) == len(lines) == 7


# killed, out of space


def test_killed_at_any_byte_it_is_as_before_or_as_after(purse: Path) -> None:
    before = purse.read_bytes()
    take(purse, "Di")
    after = purse.read_bytes()
    assert after.startswith(before)
    for size in range(len(before), len(after) + 1):
        purse.write_bytes(after[:size])
        expected = 4 if size == len(after) else 3
        assert len(taken(purse)) == expected, "who only reads leaves out what is being written"
        assert purse.stat().st_size == size
        take(purse, "Ed")
        assert len(taken(purse)) == expected + 1
        assert purse.read_bytes().startswith(before if expected == 3 else after)


@pytest.mark.parametrize("kind", [COINS, LOOSE])
def test_killed_while_it_is_begun_there_is_a_whole_one_or_none(
    tmp_path: Path, kind: JournalKind
) -> None:
    path = tmp_path / "journal"
    Journal(path, kind).start(Purse(1) if kind is COINS else Coin("Ada"))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if kind is COINS:  # these are put in place whole: somebody cut this one
            with pytest.raises(UnreadableInput, match="from line 1 on"):
                take(path, "Bo")
        else:
            take(path, "Bo", kind=kind)
            assert taken(path, kind) == ["Bo"]


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("part", [0, 1, 60, 10_000])
def test_a_full_disk_leaves_it_as_it_was(
    purse: Path, monkeypatch: pytest.MonkeyPatch, call: str, part: int
) -> None:
    before = purse.read_bytes()
    write = os.write

    def full(*arguments: Any) -> int:
        if call == "write":
            write(arguments[0], bytes(arguments[1])[:part])
        raise OSError(errno.ENOSPC, "No space left on device")

    journal = Journal(purse, COINS)
    with journal.turn():
        with monkeypatch.context() as disk:
            disk.setattr(os, call, full)
            with pytest.raises(
                OutputError, match=r"No space left on device\), so no coin is taken"
            ):
                journal.append(Coin("Di"), Coin("Ed"))
        assert len(journal.entries) == 4
        assert taken(purse) == ["Ada", "Bo", "Cy é ☃ \u2028"]
        journal.append(Coin("Fay"))
    assert taken(purse)[3:] == ["Fay"]
    assert purse.read_bytes().startswith(before)


def test_a_disk_that_takes_one_byte_at_a_time(purse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:1]))
    take(purse, "Di")
    assert taken(purse)[-1] == "Di"


# several at once


@pytest.mark.slow
def test_eight_processes_that_die_now_and_then_lose_nothing_and_spend_nothing_twice(
    tmp_path: Path,
) -> None:
    script = Path(__file__).with_name("racing_journals.py")
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, script, tmp_path / "purse"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["deaths"] >= 8
    assert len(result["taken"]) == 200, "no coin more than there are, and every one that was left"
    assert len(set(result["taken"])) == 200
    assert set(result["told"]) <= set(result["taken"]), (
        "what a process was told is written is there"
    )


def test_a_file_that_is_replaced_while_we_wait_is_not_written_to(
    purse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = purse.with_name("other")
    Journal(other, COINS).start(Purse(5))
    hold = module.hold_alone

    def replaced(file: int, name: str, wait: Any) -> None:
        monkeypatch.setattr(module, "hold_alone", hold)
        os.replace(other, purse)
        hold(file, name, wait)

    monkeypatch.setattr(module, "hold_alone", replaced)
    take(purse, "Di")
    assert taken(purse) == ["Di"]


# edited


def refused(path: Path, **options: Any) -> bool:
    try:
        taken(path, **options)
    except UnreadableInput:
        return True
    return False


def test_every_byte_that_is_changed_is_noticed(purse: Path) -> None:
    """Harmless is only the last byte: without its end the last line is one that was being
    written.
    """
    whole = purse.read_bytes()
    for place in range(len(whole)):
        for flip in (1, 0x20, 0x80):
            changed = bytearray(whole)
            changed[place] ^= flip
            purse.write_bytes(changed)
            if place == len(whole) - 1:
                assert taken(purse) == ["Ada", "Bo"]
            else:
                assert refused(purse), place


def test_lines_that_are_moved_repeated_or_taken_out_are_noticed(purse: Path) -> None:
    lines = purse.read_bytes().splitlines(keepends=True)
    edits = {
        "swapped": [lines[0], lines[2], lines[1], lines[3]],
        "repeated": [*lines, lines[3]],
        "an earlier one again": [*lines, lines[1]],
        "taken out": [lines[0], lines[1], lines[3]],
        "the first taken out": lines[1:],
        "all twice": [*lines, *lines],
        "an empty line": [*lines, b"\n"],
        "a blank before": [b" " + lines[0], *lines[1:]],
        "other line ends": [line[:-1] + b"\r\n" for line in lines],
        "nothing": [],
    }
    for edit in edits.values():
        purse.write_bytes(b"".join(edit))
        assert refused(purse), edit


def test_of_another_kind_or_version_it_is_refused(purse: Path) -> None:
    other = JournalKind("other", COINS.types, "no", first=Purse)
    with pytest.raises(UnreadableInput, match="from line 1 on, or it is of another version"):
        Journal(purse, other).read()
    for content in (
        b"",
        b"\n",
        b"{}",
        b'{"ledger": 1}\n',
        b"\xff\xfe\n",
        b"SQLite format 3\0",
        b"\0" * 500,
    ):
        purse.write_bytes(content)
        with pytest.raises(UnreadableInput, match="another version"):
            taken(purse)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / "none", Path("a\0b")):
        for act in (taken, take):
            with pytest.raises(UnreadableInput, match="cannot open the purse"):
                act(path)


def test_lines_that_were_cut_off_are_noticed_where_a_head_is_remembered(tmp_path: Path) -> None:
    """An older copy fits by itself: without a head it is accepted, and the docs say so."""
    path = tmp_path / "purse"
    for beside in (True, False):
        options = {"head_file": tmp_path / "heads" / "head", "head_beside": beside}
        (tmp_path / "heads").mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        options["head_file"].unlink(missing_ok=True)
        Journal(path, COINS, **options).start(Purse(9))
        for name in ("Ada", "Bo", "Cy"):
            take(path, name, **options)
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for count in range(1, 4):
            path.write_bytes(b"".join(lines[:count]))
            assert not refused(path)
            with pytest.raises(UnreadableInput, match="older copy"):
                taken(path, **options)
            with pytest.raises(UnreadableInput, match="older copy"):
                take(path, "Di", **options)
        forged, _ = chain_again(
            [line.decode().replace("Cy", "Di").rstrip("\n") for line in lines], COINS
        )
        path.write_text("".join(f"{line}\n" for line in forged))
        assert not refused(path) and refused(path, **options)
        path.write_bytes(whole)
        assert taken(path, **options) == ["Ada", "Bo", "Cy"]


def test_a_head_beside_is_needed_and_one_apart_is_made_where_it_can_be(purse: Path) -> None:
    head = purse.with_name("head")
    assert refused(purse, head_file=head, head_beside=True)
    assert taken(purse, head_file=head) and json.loads(head.read_text())["entries"] == 4
    for text in ("", "{}", "[]", '{"entries": 0, "hash": ""}', '{"entries": "x", "hash": ""}'):
        head.write_text(text)
        assert refused(purse, head_file=head, head_beside=True)
    head.unlink()
    assert taken(purse, head_file=purse / "no folder" / "head")


def test_a_process_that_died_between_the_line_and_the_head(purse: Path) -> None:
    head = purse.with_name("head")
    taken(purse, head_file=head)
    take(purse, "Di")  # the head is one behind
    assert len(taken(purse, head_file=head, head_beside=True)) == 4
    take(purse, "Ed", head_file=head, head_beside=True)
    assert json.loads(head.read_text())["entries"] == 6


def test_with_a_key_nobody_else_can_write_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "purse"
    Journal(path, COINS, key=b"secret").start(Purse(9))
    take(path, "Ada", key=b"secret")
    assert refused(path) and not refused(path, key=b"secret")
    lines = [line.replace("Ada", "Bo") for line in path.read_text().splitlines()]
    for key in (b"", b"guessed"):
        forged, _ = chain_again(lines, COINS, key)
        path.write_text("".join(f"{line}\n" for line in forged))
        assert refused(path, key=b"secret")


@given(st.lists(st.text(max_size=5), max_size=6), st.integers(0, 8))
def test_heads_say_what_a_journal_begins_with(names: list[str], entries: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heap"
        take(path, *names, kind=LOOSE)
        journal = Journal(path, LOOSE).read()
        hashes = ["", *journal.hashes]
        assert journal.extends(journal.head)
        assert journal.extends(Head(entries, hashes[entries] if entries < len(hashes) else "")) == (
            entries < len(hashes)
        )
        assert journal.extends(Head(entries, "0" * 64)) == (entries == 0)


@pytest.mark.slow
def test_a_hundred_thousand_entries_are_read_within_a_second_of_computing(tmp_path: Path) -> None:
    path = tmp_path / "heap"
    with Journal(path, LOOSE).turn() as journal:
        journal.append(
            *(
                Coin(f"person {number}", {"epsilon": 0.1, "asked": "count"})
                for number in range(100_000)
            )
        )
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        assert len(Journal(path, LOOSE).read().entries) == 100_000
        best = min(best, time.process_time() - start)
    assert best <= 1.0, best


def test_the_table_of_stores_is_that_of_the_code() -> None:
    root = Path(__file__).parents[2]
    text = (root / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition("## The journal")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\S+?)\.py` \| [^|]* \| ([^|]*) \|", section, re.MULTILINE)
    documented = {
        f"sfumato.{path.replace('/', '.')}": re.findall(r"`(\w+)`", types) for path, types in rows
    }
    sources = [
        file for file in (root / "src").rglob("*.py") if "= JournalKind(" in file.read_text("utf-8")
    ]
    stores = {".".join(file.relative_to(root / "src").with_suffix("").parts) for file in sources}
    assert set(documented) == stores
    for name, types in documented.items():
        kinds = [
            one
            for one in vars(importlib.import_module(name)).values()
            if isinstance(one, JournalKind)
        ]
        own = [kind for kind in kinds if kind.types[0].__module__ == name]
        assert [[entry_type.__name__ for entry_type in kind.types] for kind in own] == [types]
