"""A folder takes the place of another, or nothing happens: killed at every point, raced for,
interrupted, linked.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sfumato.core import exchange, interrupts
from sfumato.core.portable import NoLocks
from sfumato.errors import OutputError

needs_posix = pytest.mark.skipif(os.name != "posix", reason="kills and locks as POSIX has them")

DRIVER = """
import os, signal, sys
from pathlib import Path
from sfumato.core import exchange

target, point, atomic = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "atomic"

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying_after(act, times):
    left = [times]
    def run(*args, **options):
        done = act(*args, **options)
        left[0] -= 1
        if not left[0]:
            die()
        return done
    return run

if not atomic:
    exchange._exchanged = lambda one, other: False
if point == "moved":
    exchange._exchanged = dying_after(exchange._exchanged, 1) if atomic else exchange._exchanged
    exchange._rename = dying_after(exchange._rename, 1 if atomic else 2)
if point == "put aside":
    exchange._rename = dying_after(exchange._rename, 1)
with exchange.in_place(target, force=True) as made:
    (made / "share").mkdir()
    (made / "share" / "certificate.json").write_text("killed")
    if point == "writing":
        die()
    if point == "cleaning":
        exchange.shutil.rmtree = lambda *args, **options: die()
sys.exit("not killed")
"""


def write(target: Path, word: str, *, force: bool = True) -> None:
    with exchange.in_place(target, force=force) as made:
        (made / "share").mkdir()
        (made / "share" / "certificate.json").write_text(word)


def held(target: Path) -> str | None:
    file = target / "share" / "certificate.json"
    return file.read_text() if file.exists() else None


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def killed(target: Path, point: str, way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(target), point, way], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@needs_posix
@pytest.mark.parametrize(
    ("point", "way", "left"),
    [
        ("writing", "atomic", "old"),
        ("moved", "atomic", "killed"),
        ("cleaning", "atomic", "killed"),
        ("writing", "two renames", "old"),
        ("put aside", "two renames", None),
        ("moved", "two renames", "killed"),
        ("cleaning", "two renames", "killed"),
    ],
)
def test_a_killed_run_leaves_the_old_release_or_the_new_one(tmp_path, point, way, left):
    if way == "atomic" and not exchange._exchanged(
        _folder(tmp_path / "a"), _folder(tmp_path / "b")
    ):
        pytest.skip("this system exchanges nothing in one act")
    for name in ("a", "b"):
        (tmp_path / name).rmdir() if (tmp_path / name).exists() else None
    out = tmp_path / "out"
    write(out, "old")
    killed(out, point, way)
    assert held(out) == left and len(names(tmp_path)) > 1
    with pytest.raises(OutputError, match="already exists"):
        exchange.refuse_existing(out, force=False)
    assert held(out) == (left or "old")
    write(out, "next")
    assert held(out) == "next" and names(tmp_path) == {"out"}


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@needs_posix
def test_what_a_dead_run_left_is_swept_by_a_run_to_another_folder(tmp_path):
    killed(tmp_path / "first", "writing", "two renames")
    assert len(names(tmp_path)) == 2  # the folder it wrote to, and its lock
    write(tmp_path / "second", "new")
    assert names(tmp_path) == {"second"}


@needs_posix
def test_what_a_living_run_writes_is_not_swept(tmp_path):
    with exchange.in_place(tmp_path / "first", force=False) as made:
        (made / "share").mkdir()
        write(tmp_path / "second", "new")
        assert made.is_dir()
    assert names(tmp_path) == {"first", "second"}


def test_what_only_looks_alike_is_not_swept(tmp_path):
    for name in (".out.sfumato-new-1", ".out-old-12345678", ".sfumato-new-0123456789abcdef"):
        (tmp_path / name).mkdir()
    before = names(tmp_path)
    write(tmp_path / "out", "new")
    assert names(tmp_path) == before | {"out"}


def no_locks(handle: int, *, wait: bool = True) -> bool:
    """A file system without locks."""
    raise NoLocks


@pytest.mark.parametrize("locks", [True, False])
def test_of_several_runs_to_one_folder_one_succeeds(tmp_path, monkeypatch, locks):
    if not locks:
        monkeypatch.setattr(exchange, "lock", no_locks)
    out, ready, outcomes = tmp_path / "out", threading.Barrier(8), []

    def run(number: int) -> None:
        try:
            with exchange.in_place(out, force=False) as made:
                if not locks:
                    ready.wait()  # all have seen that nothing is there
                (made / "share").mkdir()
                (made / "share" / "certificate.json").write_text(str(number))
            outcomes.append(number)
        except OutputError as error:
            outcomes.append(str(error))

    runs = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    winners = [one for one in outcomes if isinstance(one, int)]
    assert len(outcomes) == 8 and len(winners) == 1 and held(out) == str(winners[0])
    assert all("already exists" in one for one in outcomes if isinstance(one, str))
    assert names(tmp_path) == {"out"}


def fail_half_way(target: Path, error: Exception) -> None:
    with exchange.in_place(target, force=True) as made:
        (made / "x").write_text("half")
        raise error


@pytest.mark.parametrize("way", ["atomic", "two renames"])
def test_a_failed_block_leaves_the_old_release(tmp_path, monkeypatch, way):
    if way != "atomic":
        monkeypatch.setattr(exchange, "_exchanged", lambda one, other: False)
    write(tmp_path / "out", "old")
    with pytest.raises(RuntimeError):
        fail_half_way(tmp_path / "out", RuntimeError())
    with pytest.raises(OutputError, match="nothing was written"):
        fail_half_way(tmp_path / "out", OSError(28, "No space left on device"))
    assert held(tmp_path / "out") == "old" and names(tmp_path) == {"out"}


def test_the_old_release_comes_back_when_the_new_one_cannot_be_moved(tmp_path, monkeypatch):
    write(tmp_path / "out", "old")
    monkeypatch.setattr(exchange, "_exchanged", lambda one, other: False)
    rename = exchange._rename

    def refusing(one: Path, other: Path) -> None:
        if ".sfumato-new-" in one.name:
            raise PermissionError(13, "Permission denied")
        rename(one, other)

    monkeypatch.setattr(exchange, "_rename", refusing)
    with pytest.raises(OutputError, match="nothing was written"):
        write(tmp_path / "out", "new")
    assert held(tmp_path / "out") == "old" and names(tmp_path) == {"out"}


@pytest.mark.parametrize("there", ["a release", "an empty folder", "nothing"])
def test_a_symbolic_link_is_followed(tmp_path, there):
    real = tmp_path / "disk" / "real"
    real.parent.mkdir()
    if there == "a release":
        write(real, "old")
    elif there == "an empty folder":
        real.mkdir()
    (tmp_path / "out").symlink_to(real, target_is_directory=True)
    write(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink() and held(real) == "new"
    assert names(tmp_path) == {"disk", "out"} and names(real.parent) == {"real"}


def test_links_that_lead_nowhere_or_to_a_file_are_refused(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "file").write_text("")
    (tmp_path / "out").symlink_to(tmp_path / "file")
    for name in ("circle", "out"):
        with pytest.raises(OutputError):
            write(tmp_path / name, "new")
    with pytest.raises(OutputError, match="cannot be replaced"):
        exchange.refuse_existing(Path("/"), force=True)


def test_the_folder_one_stands_in(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(Path("."), "new")
    assert held(tmp_path / "here") == "new"


@pytest.mark.parametrize("force", [True, False])
def test_ctrl_c_while_the_folder_is_moved_waits_and_is_told(tmp_path, monkeypatch, force):
    if force:
        write(tmp_path / "out", "old")
    for name in ("_rename", "_exchanged"):
        act = getattr(exchange, name)
        monkeypatch.setattr(
            exchange, name, lambda *two, act=act: (signal.raise_signal(signal.SIGINT), act(*two))[1]
        )
    with interrupts.watching():
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "out", "new", force=force)
        assert interrupts.pressed() and interrupts.finished_acts() == (
            f"the release is in {tmp_path / 'out'}",
        )
    assert held(tmp_path / "out") == "new" and names(tmp_path) == {"out"}


def lose_an_interrupt(target: Path) -> None:
    with exchange.in_place(target, force=False), contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)  # as inside of a callback from compiled code


def test_ctrl_c_that_was_lost_is_raised_before_anything_stands(tmp_path):
    with interrupts.watching():
        with pytest.raises(KeyboardInterrupt):
            lose_an_interrupt(tmp_path / "out")
        assert interrupts.finished_acts() == ()
    assert names(tmp_path) == set() and not interrupts.pressed()


@needs_posix
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_what_the_owner_keeps_only_the_owner_reads(tmp_path, umask):
    import sfumato as sf

    stored = Path(__file__).parents[1] / "release" / "stored"
    release = sf.run(sf.read(stored / "table.csv"), stored / "recipe_1.yaml", seed=1)
    before = os.umask(umask)
    try:
        release.write(tmp_path / "out", options=sf.WriteOptions(pictures=True))
    finally:
        os.umask(before)
    owner = tmp_path / "out" / "owner"
    kept = [owner, *owner.rglob("*")]
    assert len([file for file in kept if file.suffix == ".png"]) > 3
    for file in kept:
        assert stat.S_IMODE(file.stat().st_mode) == (0o700 if file.is_dir() else 0o600), file.name


def test_what_is_never_replaced_names_no_option(tmp_path):
    write(tmp_path / "out", "old")
    with pytest.raises(OutputError, match=r"choose another folder, or replace it with --force$"):
        exchange.refuse_existing(tmp_path / "out", force=False)
    with pytest.raises(OutputError, match=r"choose another folder$"):
        exchange.refuse_existing(tmp_path / "out", force=None)
