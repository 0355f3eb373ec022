"""Putting a folder in the place of another: the old one stands until the new one does, whatever
happens in between.

A release is made in a temporary folder beside its target. Where there is nothing yet (or an empty
folder) one rename puts it in place; of several runs only one can. An earlier release is exchanged
in one act where the system can (Linux). Elsewhere it is put aside first; when the run is killed
between the two renames, the next one puts it back.

A run holds a lock (``.out.sfumato-lock``) while it writes; another one to the same folder waits for
it. What dead runs left, for this target or another in the same parent folder, is swept by the next
run that gets their lock; where a file system knows no locks nothing is swept. A target that is a
symbolic link is followed: the folder it leads to is replaced, the link stays.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from sfumato.core.interrupts import note_done, raise_if_pressed, undisturbed
from sfumato.core.portable import (
    NO_LINK,
    PRIVATE_FOLDER,
    NoLocks,
    as_new,
    lock,
    open_private,
    sync_folder,
)
from sfumato.core.portable import exchanged as _exchanged
from sfumato.core.portable import move as _rename
from sfumato.errors import OutputError

FRESH, OLD, LOCK = "new", "old", "lock"
LEFT_BEHIND = re.compile(r"\.(?P<name>.+)\.sfumato-(?:lock|(?P<kind>new|old)-[0-9a-f]{16})")


def target_of(folder: Path) -> Path:
    """The folder that is meant: a symbolic link is followed, to its end."""
    try:
        has_name = folder.name not in ("", "..") and not folder.is_symlink()
        target = folder if has_name else folder.resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links, a NUL
        raise OutputError(f"{str(folder)!r} is a broken link; choose another output") from None
    if not target.name:
        raise OutputError(f"{folder} cannot be replaced; choose another output")
    return target


def refuse_existing(folder: Path, *, force: bool | None) -> None:
    """Refuse to overwrite, unless told to; and never to replace something that is not a release.
    ``None``: nothing is ever replaced, and no option is named.
    """
    target = target_of(folder)
    if not target.exists() and target.parent.is_dir():
        sweep(target.parent, target.name)  # a killed run may have put an earlier release aside
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputError(f"{folder} exists and is not a folder; choose another output")
    if any(target.iterdir()):
        if not force:
            hint = "" if force is None else ", or replace it with --force"
            raise OutputError(f"{folder} already exists; choose another folder{hint}")
        if not (target / "share" / "certificate.json").is_file():
            raise OutputError(
                f"{folder} is not empty and holds no earlier release, so --force will "
                "not replace it; choose another folder"
            )


@contextlib.contextmanager
def in_place(folder: Path, *, force: bool | None) -> Iterator[Path]:
    """A temporary folder beside the target that takes its place only when all went well.

    An interrupted or failed block leaves the target as it was and nothing beside it.
    """
    target = target_of(folder)
    with telling(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
    with telling(folder), _locked(target):
        refuse_existing(folder, force=force)
        draft = _beside(target, FRESH)
        draft.mkdir(mode=PRIVATE_FOLDER)
        try:
            yield draft
            raise_if_pressed()
            as_new(draft)
            with undisturbed():  # Ctrl-C waits until it is known what stands there
                _move_into_place(draft, target, force=bool(force))
                sync_folder(target.parent)
                note_done(f"the release is in {target}")
        finally:  # a new folder that did not get there, or the old one that was exchanged for it
            with undisturbed():
                shutil.rmtree(draft, ignore_errors=True)


class Workplace:
    """A private folder for what is made before it is put in place: gone when nobody holds it any
    more, or the program ends.

    It lies beside the folder that a release will be written to, so that nothing has to be copied,
    or among temporary files. What a killed run left there is swept by the next one.
    """

    permanent: ClassVar[set[Workplace]] = set()
    """Those that lazy frames of the user read from."""

    def __init__(self, target: Path | None = None) -> None:
        if target is None:
            self.target = Path(tempfile.gettempdir()) / "sfumato-parts"
        else:
            self.target = target_of(target)
        self.clear: Callable[[], Any] = lambda: None

    @functools.cached_property
    def path(self) -> Path:
        """The folder, which is made when it is asked for first."""
        own = self.target.with_name(f"{self.target.name}-{secrets.token_hex(4)}")
        with telling(self.target), contextlib.ExitStack() as resources:
            own.parent.mkdir(parents=True, exist_ok=True)
            sweep(own.parent)
            resources.enter_context(_locked(own))
            folder = _beside(own, FRESH)
            folder.mkdir(mode=PRIVATE_FOLDER)
            self.clear = weakref.finalize(self, _cleared, folder, resources.pop_all())
        return folder

    def __enter__(self) -> Workplace:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        if kind is not None:  # an error may be kept, and with it whoever holds this
            self.clear()

    def clear_now(self) -> None:
        """Remove the folder and all that is in it."""
        self.clear()

    def stay(self) -> None:
        """Keep it until the program ends: somebody has a lazy frame that reads from it."""
        Workplace.permanent.add(self)


def _cleared(folder: Path, resources: contextlib.ExitStack) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    resources.close()


@contextlib.contextmanager
def telling(folder: Path) -> Iterator[None]:
    """Say what could not be written, and why."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            full = " (free some space and run again)"
        else:
            full = ""
        raise OutputError(
            f"cannot write {folder}: {error.strerror or error}{full}; nothing was written"
        ) from None


def sweep(parent: Path, only: str | None = None) -> None:
    """Mend and remove what dead runs left in a folder: a release that was put aside and not
    replaced comes back.
    """
    names = {
        match["name"] for file in parent.iterdir() if (match := LEFT_BEHIND.fullmatch(file.name))
    }
    for name in sorted(names if only is None else names & {only}):
        with contextlib.suppress(OSError), _locked(parent / name, wait=False) as is_locked:
            if is_locked:
                _mend(parent / name)


def _mend(target: Path) -> None:
    for file in sorted(target.parent.iterdir()):
        match = LEFT_BEHIND.fullmatch(file.name)
        if match is None or match["name"] != target.name or match["kind"] is None:
            continue
        if match["kind"] == OLD and not target.exists():
            _rename(file, target)
        else:
            shutil.rmtree(file, ignore_errors=True)


def _move_into_place(draft: Path, target: Path, *, force: bool) -> None:
    """Move the new folder to its place."""
    if force and target.exists() and any(target.iterdir()):
        _exchange(draft, target)
        return
    # Nothing is there, or an empty folder; what somebody else put there meanwhile stays.
    try:
        _rename(draft, target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise OutputError(
            f"{target} already exists: another run finished first; choose another folder, or "
            "replace it with --force"
        ) from None


def _exchange(draft: Path, target: Path) -> None:
    """Let two folders change places; afterwards the old one is where the new one was made."""
    if _exchanged(draft, target):
        return
    aside = _beside(target, OLD)
    _rename(target, aside)
    try:
        _rename(draft, target)
    except OSError:
        _rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.sfumato-{kind}-{secrets.token_hex(8)}")


@contextlib.contextmanager
def _locked(target: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a target; False where there are no locks, or somebody has it and we do not
    wait.

    The lock's file goes with the lock: who waited for one that was removed meanwhile tries again.
    """
    file = target.with_name(f".{target.name}.sfumato-{LOCK}")
    holds_lock = False
    while not holds_lock:
        handle = open_private(file, os.O_RDWR | NO_LINK)
        try:
            is_ours = lock(handle, wait=wait)
        except NoLocks:
            os.close(handle)
            file.unlink(missing_ok=True)
            break
        except BaseException:
            os.close(handle)
            raise
        # Whoever had it removed the file with the lock; then ours is the lock of a file that is
        # gone.
        with contextlib.suppress(FileNotFoundError):
            holds_lock = is_ours and os.path.samestat(os.fstat(handle), file.stat())
        if not holds_lock:
            os.close(handle)
        if not is_ours:
            break
    try:
        yield holds_lock
    finally:
        if holds_lock:
            file.unlink(missing_ok=True)
            os.close(handle)
