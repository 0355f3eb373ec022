"""Which pseudonym belongs to whom: kept apart from the data, encrypted, one pseudonym a person and domain.

What goes back from pseudonyms to people is not here but in the room ``sfumato.vault``, where it is logged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfumato.core.encoding import SEPARATOR
from sfumato.core.files import read_plain
from sfumato.errors import OutputError, ParameterError, UnreadableInput

# Encrypted files: all or nothing is written, and what was changed is not read.
#
# A sealed file is ``magic ‖ salt (16) ‖ nonce (12) ‖ AES-256-GCM ciphertext``. The cipher key is HKDF-SHA-256 of the
# user's key with that salt; salt and nonce are new at every write, and the first three parts are authenticated too.

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
        windows = importlib.import_module("msvcrt")
        windows.locking(handle, windows.LK_LOCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX)


VERSION = 1


@dataclasses.dataclass(frozen=True, repr=False)
class Domain:
    """The pseudonyms of one domain: ``codes`` maps an identity to its pseudonym, ``method`` says how they are made."""

    method: str
    codes: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Domain({self.method!r}, {len(self.codes):,} pseudonyms)"

    def joined(self, other: Domain) -> Domain:
        """Both together, or an error where they contradict each other."""
        moved = sum(self.codes.get(identity, code) != code for identity, code in other.codes.items())
        codes = {**self.codes, **other.codes}
        if moved or self.method != other.method or len(set(codes.values())) < len(codes):
            raise OutputError(
                "the vault has given other pseudonyms to the same people since this release was planned (another run, or "
                "another step of this recipe with the same domain); nothing was stored. Make the release again, and put "
                "columns of one domain into one step"
            )
        return Domain(self.method, codes)


@dataclasses.dataclass(frozen=True, repr=False)
class Vault:
    """What a vault file holds. ``log_entries`` and ``log_head`` tie it to the log of who looked into it."""

    domains: Mapping[str, Domain] = dataclasses.field(default_factory=dict)
    log_entries: int = 0
    log_head: str = ""

    def __repr__(self) -> str:
        return f"Vault({dict(self.domains)!r})"

    def codes(self, domain: str, method: str) -> Mapping[str, str]:
        """The pseudonyms a domain has so far; a domain keeps to the method it began with."""
        found = self.domains.get(domain)
        if found is None:
            return {}
        if found.method != method:
            raise ParameterError(
                f"the domain {domain!r} of the vault holds pseudonyms made by {found.method}, not by {method}; "
                "keep to that method or choose another domain"
            )
        return found.codes

    def joined(self, domain: str, more: Domain) -> Vault:
        """A vault with more pseudonyms in one domain."""
        old = self.domains.get(domain)
        return dataclasses.replace(self, domains={**self.domains, domain: more if old is None else old.joined(more)})


def existing(path: Path) -> Path:
    """The path of a vault that is there."""
    if not path.is_file():
        raise UnreadableInput(f"there is no vault {path}")
    return path


def read_vault(path: Path, key: bytes) -> Vault:
    """Open a vault; one that does not exist yet is empty."""
    if not path.exists():
        if not path.parent.is_dir():
            raise ParameterError(f"there is no folder {path.parent} for the vault; make it first")
        return Vault()
    stored = json.loads(read_sealed(path, key))
    if stored["sfumato_vault"] != VERSION:
        raise UnreadableInput(f"{path} is a vault of version {stored['sfumato_vault']}; this sfumato reads {VERSION}")
    domains = {
        name: Domain(found["method"], dict(zip(found["identities"], found["pseudonyms"], strict=True)))
        for name, found in stored["domains"].items()
    }
    return Vault(domains, stored["log_entries"], stored["log_head"])


def write_vault(path: Path, key: bytes, vault: Vault) -> None:
    """Seal a vault into its file."""
    domains = {
        name: {"method": d.method, "identities": list(d.codes), "pseudonyms": list(d.codes.values())}
        for name, d in vault.domains.items()
    }
    content = {
        "sfumato_vault": VERSION,
        "domains": domains,
        "log_entries": vault.log_entries,
        "log_head": vault.log_head,
    }
    write_sealed(path, key, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())


def remember(path: Path, key: bytes, domain: str, more: Domain) -> None:
    """Add pseudonyms to a vault. What others stored meanwhile is kept; a contradiction is refused."""
    with only_one(path):
        before = read_vault(path, key)
        after = before.joined(domain, more)
        if after != before or not path.exists():
            write_vault(path, key, after)


def parts_of_identity(identity: str) -> tuple[str | None, ...]:
    r"""The values an identity is made of: the inverse of :func:`sfumato.core.encoding.joint_label`.

    >>> parts_of_identity("=Ann\x1f=1970-01-01\x1f-")
    ('Ann', '1970-01-01', None)
    """
    if SEPARATOR not in identity:
        return (None if identity == "-" else identity[1:],)
    pieces = re.split(f"({SEPARATOR}+)", identity)
    parts = [""]
    for piece in pieces:
        if not piece.startswith(SEPARATOR):
            parts[-1] += piece
            continue
        parts[-1] += SEPARATOR * (len(piece) // 2)  # pairs are escaped; one left over parts
        if len(piece) % 2:
            parts.append("")
    return tuple(None if part == "-" else part[1:] for part in parts)
