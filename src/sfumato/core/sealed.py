"""Encrypted files: all or nothing is written, and what was changed is not read.

A sealed file is ``magic ‖ salt (16) ‖ nonce (12) ‖ AES-256-GCM ciphertext``. The cipher key is HKDF-SHA-256 of the
user's key with that salt; salt and nonce are new at every write, and the first three parts are authenticated too.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.core.files import read_plain
from sfumato.errors import OutputError, ParameterError, UnreadableInput

MAGIC = b"sfumato sealed 1\n"
SALT_BYTES = 16
NONCE_BYTES = 12
MOST_BYTES = (1 << 31) - 1
"""What one AES-GCM call takes: some thirty million people."""


def read_sealed(path: Path, key: bytes) -> bytes:
    """What a sealed file holds; a wrong key and a changed file cannot be told apart, and are refused."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    stored = read_plain(path, most=MOST_BYTES + 1024, what="a vault")
    start = len(MAGIC) + SALT_BYTES
    if not stored.startswith(MAGIC) or len(stored) < start + NONCE_BYTES:
        raise UnreadableInput(f"{path} is not a vault, or only the beginning of one")
    head, rest = stored[: start + NONCE_BYTES], stored[start + NONCE_BYTES :]
    try:
        return AESGCM(_cipher_key(key, head[len(MAGIC) : start])).decrypt(head[start:], rest, head)
    except InvalidTag:
        raise UnreadableInput(
            f"the vault {path} does not open: it was sealed with another key, or it was changed since"
        ) from None


def write_sealed(path: Path, key: bytes, content: bytes) -> None:
    """Seal content into a file; an interrupted write leaves the old file as it was."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(content) > MOST_BYTES:
        raise ParameterError(f"the vault {path} would be larger than 2 GiB; use several vaults, one a domain")
    salt, nonce = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(NONCE_BYTES)
    head = MAGIC + salt + nonce
    write_whole(path, head + AESGCM(_cipher_key(key, salt)).encrypt(nonce, content, head))


def _cipher_key(key: bytes, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"sfumato vault").derive(key)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, readable by its owner only."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; it is as it was") from None
    finally:
        Path(name).unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be opened."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Wait until nobody else changes a file, and keep others waiting until done."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        _wait_for(handle)
        yield
    finally:
        os.close(handle)  # which also gives the lock back


def _wait_for(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no fcntl
        import importlib

        windows = importlib.import_module("msvcrt")
        windows.locking(handle, windows.LK_LOCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX)
