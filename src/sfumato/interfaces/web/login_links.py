"""A new address for a workbench that runs: asked for, and given, by files in the folder of its
project.

The address that was printed is good once, and its cookie goes with the browser. Whoever starts the
workbench of an open project again writes a file ``.knock``, which holds a word of its own; the one
that runs answers with a new address in ``.address-WORD``. Only the owner of the folder can do the
one and read the other: nothing of it goes over the network, and an address that was given before is
not good any more.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.core.files import read_plain, write_whole
from sfumato.core.portable import NO_LINK, is_private, open_private
from sfumato.errors import SfumatoError

KNOCK, ANSWER = ".knock", ".address-"
# What a browser is opened with: it leads to the address, and only its owner can read it.
OPEN = "open.html"
WORD = re.compile(rb"[0-9a-f]{16}")
# Seconds between two looks.
PAUSE = 0.3
# Seconds that an answer is waited for: who runs may be busy.
PATIENCE = 10.0
MOST_BYTES = 4096


def new_address(folder: Path) -> str | None:
    """Ask the workbench that has a project open for a new address; None: nobody answers."""
    word = secrets.token_hex(8)
    knock, answer = folder / KNOCK, folder / f"{ANSWER}{word}"
    try:
        knock.unlink(missing_ok=True)  # of somebody who gave up
        # O_EXCL: a file that somebody else put there is not ours
        handle = open_private(knock, os.O_WRONLY | os.O_EXCL | NO_LINK)
        os.write(handle, word.encode())
        os.close(handle)
    except OSError:
        return None
    until = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < until:
            if is_private(answer):
                return read_plain(answer, limit=MOST_BYTES, purpose="an address").decode()
            time.sleep(PAUSE / 3)
        return None
    except SfumatoError:
        return None
    finally:
        with contextlib.suppress(OSError):
            answer.unlink(missing_ok=True)
            if knock.read_bytes() == word.encode():
                knock.unlink()


def answered(folder: Path, renew: Callable[[], str]) -> bool:
    """Answer who knocked at a project, where it was its owner; whether anybody did."""
    knock = folder / KNOCK
    if not is_private(knock):
        return False
    try:
        word = read_plain(knock, limit=MOST_BYTES, purpose="a knock")
        knock.unlink()
        if WORD.fullmatch(word) is None:
            return False
        write_whole(folder / f"{ANSWER}{word.decode()}", renew().encode())
    except (SfumatoError, OSError):
        return False
    return True


def clear(folder: Path) -> None:
    """Take away what is left of knocks and answers."""
    for leftover in (folder / KNOCK, folder / OPEN, *folder.glob(f"{ANSWER}*")):
        with contextlib.suppress(OSError):
            leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def at_the_door(folder: Callable[[], Path], renew: Callable[[], str]) -> Iterator[None]:
    """Answer whoever knocks, in a thread of its own, until the block is left; ``folder`` tells
    which project is open now.
    """
    leave = threading.Event()

    def listen() -> None:
        while not leave.wait(PAUSE):
            answered(folder(), renew)

    listener = threading.Thread(target=listen, daemon=True, name="sfumato door")
    clear(folder())
    listener.start()
    try:
        yield
    finally:
        leave.set()
        listener.join(5)
        clear(folder())
