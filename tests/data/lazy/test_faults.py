"""Faults while a large table is released: named errors, nothing half-written, and the same release
as without them.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars, parts
from sfumato.data.lazy import run as large
from sfumato.errors import OutputError, UnreadableInput
from tests.data.lazy.test_refusals import in_parts, people
from tests.interfaces.cli import conftest
from tests.release.test_lazy_release import RECIPE

command = conftest.sfumato  # a fixture
MOMENTS = 30


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table in parts and a recipe; batches and parts are small."""
    monkeypatch.setattr(on_polars, "BATCH", 100)
    monkeypatch.setattr(on_duckdb, "BATCH", 100)
    monkeypatch.setattr(parts, "ROWS", 150)
    (tmp_path / "r.yaml").write_text(RECIPE)
    in_parts(people(), tmp_path / "in")
    return tmp_path


def run(place: Path, engine: str = "polars") -> Path:
    table = sf.read(place / "in", engine=engine)
    return sf.run(table, place / "r.yaml", seed=5, options=sf.RunOptions(into=place / "out")).write(
        place / "out"
    )


def left(place: Path) -> list[str]:
    gc.collect()
    return sorted(file.name for file in place.iterdir())


def digest(place: Path) -> str:
    return str(
        json.loads((place / "out" / "share" / "certificate.json").read_text())["data"]["sha256"]
    )


@pytest.mark.parametrize("kind", ["write_ipc", "write_parquet"])
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        pl.exceptions.ComputeError("No space left on device"),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_full_disk_is_told_and_leaves_nothing(
    kind: str, error: Exception, after: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = getattr(pl.DataFrame, kind), list[int]()

    def full(self: pl.DataFrame, file: Any, **options: Any) -> Any:
        written.append(1)
        if len(written) > after:
            raise error
        return write(self, file, **options)

    with monkeypatch.context() as patched:
        patched.setattr(pl.DataFrame, kind, full)
        with pytest.raises(OutputError, match="the disk for temporary parts is full"):
            run(place)
    assert left(place) == ["in", "r.yaml"]
    whole = digest(run(place).parent)
    assert left(place) == ["in", "out", "r.yaml"]
    assert len(whole) == 64


def test_a_disk_that_is_full_when_the_release_is_put_in_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", full)
        patched.setattr("shutil.copy2", full)
        with pytest.raises(OutputError, match="free some space"):
            run(place)
    assert left(place) == ["in", "r.yaml"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_that_are_lost_while_they_are_written_end_the_release(
    engine: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(engine)
    write = large.write_parts

    def losing(*args: Any, **options: Any) -> list[Path]:
        made = write(*args, **options)
        pl.read_parquet(made[0])[1:].write_parquet(made[0])
        return made

    monkeypatch.setattr(large, "write_parts", losing)
    with pytest.raises(OutputError, match="rows were released, but"):
        run(place, engine)
    assert left(place) == ["in", "r.yaml"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_part_that_cannot_be_read_is_named_and_nothing_is_written(
    engine: str, place: Path, command: Any
) -> None:
    pytest.importorskip(engine)
    part = place / "in" / "part-1.parquet"
    good = part.read_bytes()
    for bad in (good[: len(good) // 2], good[:40] + bytes(len(good) - 80) + good[-40:], b""):
        part.write_bytes(bad)
        done = command(
            "run", place / "in", "-r", place / "r.yaml", "-o", place / "out", "--engine", engine
        )
        assert done.code == 5, done.err
        assert "Traceback" not in done.err
        assert left(place) == ["in", "r.yaml"]


def test_a_part_whose_cells_are_damaged_is_told_without_a_value(place: Path, command: Any) -> None:
    part = place / "in" / "part-1.parquet"
    good = bytearray(part.read_bytes())
    good[8:400] = bytes(392)
    part.write_bytes(bytes(good))
    done = command(
        "run", place / "in", "-r", place / "r.yaml", "-o", place / "out", "--engine", "polars"
    )
    assert done.code == 5, done.err
    assert "Person" not in done.err
    assert left(place) == ["in", "r.yaml"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    "change",
    [pl.col("age").cast(pl.Int16), pl.lit(1).alias("more"), pl.col("age").cast(pl.String)],
    ids=["width", "one more", "text"],
)
def test_parts_that_differ_are_refused(
    engine: str, change: pl.Expr, place: Path, command: Any
) -> None:
    pytest.importorskip(engine)
    part = place / "in" / "part-2.parquet"
    pl.read_parquet(part).with_columns(change).write_parquet(part)
    done = command(
        "run", place / "in", "-r", place / "r.yaml", "-o", place / "out", "--engine", engine
    )
    assert done.code == 5
    assert "part-2.parquet differs from part-0.parquet" in " ".join(done.err.split())


def test_columns_in_another_order_are_refused(place: Path) -> None:
    part = place / "in" / "part-2.parquet"
    frame = pl.read_parquet(part)
    frame.select(reversed(frame.columns)).write_parquet(part)
    with pytest.raises(UnreadableInput, match="order of its columns"):
        sf.read(place / "in", engine="polars")


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_values_in_the_names_of_folders_are_not_lost_without_a_word(
    engine: str, tmp_path: Path
) -> None:
    for year in (2020, 2021):
        in_parts(people(), tmp_path / f"year={year}")
    table = sf.read(tmp_path, engine=engine)
    assert "year" in table.columns and table.records == 2 * people().height
    # Files by a pattern are read without the names of their folders.
    with pytest.raises(UnreadableInput, match="values of year"):
        sf.read(str(tmp_path / "*" / "*.parquet"), engine=engine)


def test_an_empty_part_makes_no_difference(place: Path) -> None:
    whole = run(place)
    first = digest(place)
    people().head(0).write_parquet(place / "in" / "part-3.parquet")
    table = sf.read(place / "in", engine="polars")
    again = sf.run(
        table, place / "r.yaml", seed=5, options=sf.RunOptions(into=place / "again")
    ).write(place / "again")
    assert json.loads((again / "share" / "certificate.json").read_text())["data"]["sha256"] == first
    assert whole.is_dir()


KILLED = """
import importlib, os, signal, sys, shutil
from pathlib import Path
import polars as pl
import sfumato as sf
from sfumato.data.lazy import on_polars, parts
on_polars.BATCH, parts.ROWS, parts.WORKERS = 100, 150, 1
place = Path(sys.argv[1])
moment = happened = 0

def counted(work):
    def counting(*given, **options):
        global happened
        happened += 1
        if happened == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*given, **options)
    return counting

for owner, name in [(pl.DataFrame, "write_ipc"), (pl.DataFrame, "write_parquet"), (os, "link"), (os, "fsync"), (os, "mkdir"),
                    (Path, "write_bytes"), (Path, "rename"), (Path, "unlink"), (shutil, "rmtree")]:
    setattr(owner, name, counted(getattr(owner, name)))

for name in sys.argv[2:]:
    importlib.import_module(name)

def run():
    global happened
    happened = 0  # what happened while modules were imported is not the run's
    table = sf.read(place / "in", engine="polars")
    release = sf.run(table, place / "r.yaml", seed=5, options=sf.RunOptions(into=place / "out"))
    release.write(place / "out", force=True)
"""

ONCE = (
    KILLED
    + """
run()
print(happened)
print(*(name for name in sys.modules if name.startswith("sfumato")))
"""
)

OFTEN = (
    KILLED
    + """
for line in sys.stdin:
    child = os.fork()
    if not child:
        moment = int(line)
        run()
        os._exit(0)  # it should have been killed
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
)


def run_once(place: Path, *modules: str) -> tuple[int, list[str]]:
    """A run in a process of its own that has imported some modules before: its acts on the disk,
    and the modules that it loaded.
    """
    command = [sys.executable, "-c", ONCE, str(place), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    events, modules = done.stdout.splitlines()
    return int(events), modules.split()


@contextlib.contextmanager
def killing(place: Path, modules: list[str]) -> Iterator[Callable[[int], int]]:
    """Runs that are killed at a moment: children of one process that has imported everything and
    run nothing. The exit code of each.
    """
    command = [sys.executable, "-c", OFTEN, str(place), *modules]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None

        def killed_at(moment: int) -> int:
            parent.stdin.write(f"{moment}\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield killed_at


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_run_that_is_killed_leaves_no_release_or_a_whole_one(place: Path) -> None:
    """Killed before one of its acts on the disk, thirty times; earlier releases stand, and the next
    run sweeps what was left.
    """
    _, modules = run_once(place)  # what is kept for later runs is written by the first
    shutil.rmtree(place / "out")
    events, _ = run_once(place, *modules)
    whole = digest(place)
    with killing(place, modules) as killed_at:
        for turn in range(MOMENTS):
            moment = 1 + turn * (events - 1) // (MOMENTS - 1)
            if turn % 2:
                shutil.rmtree(place / "out", ignore_errors=True)
            stood = (place / "out").is_dir()
            assert killed_at(moment) == -9
            assert (place / "out").is_dir() or not stood, (
                f"an earlier release is gone after {moment}"
            )
            if (place / "out").is_dir():
                claims = sf.verify(place / "out" / "share").claims
                assert claims and not [claim for claim in claims if claim.status == "fails"]
                assert digest(place) == whole
    run_once(place)
    assert left(place) == ["in", "out", "r.yaml"]
    assert digest(place) == whole
