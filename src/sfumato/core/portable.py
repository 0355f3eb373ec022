"""What systems do differently: locks, file modes, folders exchanged in one act, folders made to
last, signals, memory.

Nothing else asks which system this is. What one cannot promise is said by :func:`cannot_promise`,
in the words in which the command line tells it, and nothing pretends: a lock that is not there is
no lock that was got.

==============================  =====  =====  ======================================================
what                            Linux  macOS  Windows
==============================  =====  =====  ======================================================
lock a file (``lock``)          flock  flock  no: :class:`NoLocks`
wait for a file (``wait_for``)  flock  flock  one byte is locked, for as long as Windows lets us
                                              wait
modes of files and folders      yes    yes    no: who may read the folder may read what lies in it
exchange two folders            yes    no     no: moved in two steps
make a rename last              yes    yes    no: left to the file system
Ctrl-C noted and kept waiting   yes    yes    yes, in the main thread
keep memory (``keep_memory``)   glibc  no     no: left to the C library
what one thread computed        yes    no     no: the time that passed is told
==============================  =====  =====  ======================================================
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Literal

PRIVATE_FILE, PRIVATE_FOLDER, PUBLIC_FOLDER = 0o600, 0o700, 0o755
EVERYBODY = 0o666
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Flag for opening: a symbolic link is not followed, where the system can tell."""
AT_CWD, EXCHANGE = -100, 2
"""Arguments of renameat2: paths as they are seen from here, and both ends change places."""
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
BUSY = {errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN}
WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}

LOCKED_BYTE = 1 << 40

MMAP_THRESHOLD, TRIM_THRESHOLD, ARENA_MAX = -3, -1, -8
"""Settings of mallopt: blocks of this size on are mapped one by one, so much free memory is kept,
and threads share so many heaps.
"""
KEPT_BYTES = 1 << 30

IS_POSIX = os.name != "nt"

SignalHandler = Callable[[int, FrameType | None], Any]

Promise = Literal["modes", "locks", "exchange"]
LACKING: dict[Promise, str] = {
    "modes": (
        "this system has no file modes: files for the owner alone are protected only by who may "
        "open their folder"
    ),
    "locks": (
        "this system has no file locks: two runs into the same folder do not wait for each other"
    ),
    "exchange": (
        "this system cannot exchange two folders atomically: if the machine stops at that moment, "
        "the earlier release remains beside its place under a name that begins with a dot, and "
        "the next run restores it"
    ),
}


class NoLocks(Exception):
    """Neither this system nor this file system knows locks: nobody can be kept out."""


def cannot_promise(*promises: Promise) -> tuple[str, ...]:
    """Of what is wanted, what this system cannot promise, in sentences; empty where it can promise
    all of it.

    A file system may still know less than its system: a network folder without locks, say.
    """
    missing: list[Promise] = []
    if "modes" in promises and not IS_POSIX:
        missing.append("modes")
    if "locks" in promises and _fcntl() is None:
        missing.append("locks")
    if "exchange" in promises and _renameat2() is None:
        missing.append("exchange")
    return tuple(LACKING[promise] for promise in missing)


# Locks. They belong to the open file: closing it, or dying, gives them back.


def _fcntl() -> Any:
    """The module with ``flock``, or None."""
    try:
        return importlib.import_module("fcntl")
    except ImportError:
        return None


def lock(handle: int, *, wait: bool = True) -> bool:
    """Take the lock of an open file; False: somebody else has it and we do not
    wait. :class:`NoLocks` where there are none.
    """
    fcntl = _fcntl()
    if fcntl is None:
        raise NoLocks
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            raise NoLocks from error
        if error.errno in BUSY:
            return False
        raise
    return True


def unlock(handle: int) -> None:
    """Let go of the lock of an open file, also where a child process has it open."""
    fcntl = _fcntl()
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


def wait_for(handle: int) -> None:
    """Wait until nobody else holds an open file: by its lock, or on Windows by a lock on one byte.

    The second is enough where all who come are ours; it is given up with an OSError after ten
    seconds. The byte lies far behind the end of the file, so that others can read all of it
    meanwhile.
    """
    if _fcntl() is not None:
        lock(handle)
        return
    windows: Any = importlib.import_module("msvcrt")
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    windows.locking(handle, windows.LK_LOCK, 1)


# Modes of files and folders.


def open_private(path: Path, flags: int) -> int:
    """Open a file that is made, where there is none, for its owner alone."""
    return os.open(path, flags | os.O_CREAT, PRIVATE_FILE)


def keep_private(folder: Path) -> None:
    """Let only the owner look into a folder and read its files, whatever the umask says."""
    folder.chmod(PRIVATE_FOLDER)
    for file in folder.rglob("*"):
        file.chmod(PRIVATE_FOLDER if file.is_dir() else PRIVATE_FILE)


def open_to_others(file: Path) -> bool:
    """Whether other users of this machine may read a file, as far as its mode says; False where
    files have none.
    """
    return IS_POSIX and bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def is_private(path: Path) -> bool:
    """Whether a path is a plain file of this user that nobody else may read or write; a link is
    none. Where files have no modes or owners, those are not asked.
    """
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    return not IS_POSIX or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


def as_new(file: Path) -> None:
    """Give a file or folder that was made for its owner alone the mode of any new one: all that the
    umask does not take away.
    """
    mask = os.umask(0)  # there is no way to read it but to set it
    os.umask(mask)
    file.chmod((PUBLIC_FOLDER if file.is_dir() else EVERYBODY) & ~mask)


# Folders.


def exchanged(folder: Path, target: Path) -> bool:
    """Whether the system exchanged two folders in one act (renameat2, Linux); False where it
    cannot.
    """
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(AT_CWD, os.fsencode(folder), AT_CWD, os.fsencode(target), EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def _renameat2() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None


def move(folder: Path, target: Path) -> None:
    """Rename a folder to where nothing is, or an empty folder, which Windows wants gone first."""
    if not IS_POSIX and target.exists():
        target.rmdir()
    folder.rename(target)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder last through a power cut, where the system lets a folder be
    opened.
    """
    if not IS_POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Signals: only the main thread may look at their handlers.


def interrupt_handler() -> SignalHandler | None:
    """What Ctrl-C calls now; None outside of the main thread, or where it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None


def interrupts_for_good(handler: SignalHandler) -> None:
    """Let Ctrl-C call something else until the process ends."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def interrupts_to(handler: SignalHandler | None) -> Iterator[None]:
    """Let Ctrl-C call something else during a block; None leaves it as it is."""
    if handler is None:
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def endings_to(handlers: Mapping[str, SignalHandler]) -> Iterator[None]:
    """Let signals that ask a program to end (``SIGTERM``, ``SIGHUP``) call something during a
    block; those the system has not are left out.
    """
    numbers = {
        name: number for name in handlers if (number := getattr(signal, name, None)) is not None
    }
    before = {number: signal.signal(number, handlers[name]) for name, number in numbers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def keep_memory() -> bool:
    """Let memory that one array gave back serve the next; whether the C library can be told to. For
    processes of our own only.

    By default each large array is mapped from the system and given back, and the system clears
    every page of the next one again: a third of the time of a run over ten million rows. Threads
    share one heap: a heap of their own holds no block beyond 64 MB, so they map every large array.
    """
    import ctypes

    try:
        settle: Any = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # Windows, macOS, musl
        return False
    settings = {MMAP_THRESHOLD: KEPT_BYTES, TRIM_THRESHOLD: KEPT_BYTES, ARENA_MAX: 1}
    return all(bool(settle(setting, value)) for setting, value in settings.items())


def return_free_memory() -> None:
    """Give memory that the C library holds for later back to the system: after work on many rows it
    keeps hundreds of megabytes.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


# Threads.


def computed(thread: threading.Thread, begun: float) -> float:
    """Seconds that a thread computed; where the system does not tell, those since ``begun`` by
    ``time.monotonic``.
    """
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
    except (AttributeError, OSError):
        return time.monotonic() - begun


def raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an error in another thread, at its next line of Python; one call of a library that
    lasts is not ended.
    """
    import ctypes

    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(error)
        )
