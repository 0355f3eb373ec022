"""The pseudonym vault: which pseudonym belongs to whom, kept apart from the data; going back to
people (logged), and a new key for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from sfumato.core import environment
from sfumato.core.encoding import SEPARATOR
from sfumato.core.files import read_plain, write_whole
from sfumato.core.journal import Entry, Head, Journal, JournalKind
from sfumato.core.keys import KeyReference
from sfumato.core.options import CommandOption
from sfumato.core.portable import NoLocks, open_private, wait_for
from sfumato.errors import OutputError, ParameterError, UnreadableInput, did_you_mean

__all__ = ["DomainSummary", "VaultAccess", "read_log", "reidentify", "rotate", "summary"]
MAGIC = b"sfumato sealed 1\n"
SALT_BYTES = 16
NONCE_BYTES = 12
MOST_BYTES = (1 << 31) - 1
"""What one AES-GCM call takes: some thirty million people."""
VERSION = 1
LONGEST_REASON = 1000


# Encrypted files: all or nothing is written, and what was changed is not read.
#
# A sealed file is ``magic ‖ salt (16) ‖ nonce (12) ‖ AES-256-GCM ciphertext``. The cipher key is
# HKDF-SHA-256 of the user's key with that salt; salt and nonce are new at every write, and the
# first three parts are authenticated too.


def read_sealed(path: Path, key: bytes) -> bytes:
    """What a sealed file holds; a wrong key and a changed file cannot be distinguished, and are
    refused.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    stored = read_plain(path, limit=MOST_BYTES + 1024, purpose="a vault")
    start = len(MAGIC) + SALT_BYTES
    if not stored.startswith(MAGIC) or len(stored) < start + NONCE_BYTES:
        raise UnreadableInput(
            f"{path} is not a vault, or only a part of one; restore it from a copy"
        )
    head = stored[: start + NONCE_BYTES]
    ciphertext = stored[start + NONCE_BYTES :]
    try:
        cipher = AESGCM(_cipher_key(key, head[len(MAGIC) : start]))
        return cipher.decrypt(head[start:], ciphertext, head)
    except InvalidTag:
        raise UnreadableInput(
            f"the vault {path} does not open: it was sealed with another key, or changed afterwards"
        ) from None


def write_sealed(path: Path, key: bytes, content: bytes) -> None:
    """Seal content into a file; an interrupted write leaves the old file as it was."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(content) > MOST_BYTES:
        raise ParameterError(
            f"the vault {path} would be larger than 2 GiB; use several vaults, one per domain"
        )
    salt = secrets.token_bytes(SALT_BYTES)
    nonce = secrets.token_bytes(NONCE_BYTES)
    head = MAGIC + salt + nonce
    ciphertext = AESGCM(_cipher_key(key, salt)).encrypt(nonce, content, head)
    write_whole(path, head + ciphertext)


def _cipher_key(key: bytes, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"sfumato vault").derive(key)


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Wait until nobody else changes a file, and keep others waiting until done."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = open_private(lock, os.O_RDWR)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        _wait(handle, path)
        yield
    finally:
        os.close(handle)  # which also gives the lock back


def _wait(handle: int, path: Path) -> None:
    try:
        wait_for(handle)
    except NoLocks:
        raise OutputError(
            f"the file system of {path.parent} does not support locks, so two runs could give one "
            "person two pseudonyms; keep the vault on a local disk"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{path} is in use by another process ({error.strerror}); try again later"
        ) from None


@dataclasses.dataclass(frozen=True, repr=False)
class Domain:
    """The pseudonyms of one domain: ``codes`` maps an identity to its pseudonym, ``method`` says
    how they are made.
    """

    method: str
    codes: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Domain({self.method!r}, {len(self.codes):,} pseudonyms)"

    def joined(self, later: Domain) -> Domain:
        """Both together, or an error where they contradict each other."""
        conflicts = sum(
            self.codes.get(identity, code) != code for identity, code in later.codes.items()
        )
        codes = {**self.codes, **later.codes}
        if conflicts or self.method != later.method or len(set(codes.values())) < len(codes):
            raise OutputError(
                "the vault gave the same people other pseudonyms after this release was planned "
                "(another run, or another step of this recipe with the same domain); nothing was "
                "stored. Make the release again, and put columns of one domain into one step"
            )
        return Domain(self.method, codes)


@dataclasses.dataclass(frozen=True, repr=False)
class Vault:
    """What a vault file holds. ``log_entries`` and ``log_head`` tie it to the log of who looked
    into it.
    """

    domains: Mapping[str, Domain] = dataclasses.field(default_factory=dict)
    log_entries: int = 0
    log_head: str = ""

    def __repr__(self) -> str:
        return f"Vault({dict(self.domains)!r})"

    def codes(self, domain: str, method: str) -> Mapping[str, str]:
        """The pseudonyms a domain has so far; a domain keeps to the method it began with."""
        known_domain = self.domains.get(domain)
        if known_domain is None:
            return {}
        if known_domain.method != method:
            raise ParameterError(
                f"the domain {domain!r} of the vault holds pseudonyms made by "
                f"{known_domain.method}, not by {method}; use that method or another domain"
            )
        return known_domain.codes

    def joined(self, domain: str, addition: Domain) -> Vault:
        """A vault with more pseudonyms in one domain."""
        old = self.domains.get(domain)
        return dataclasses.replace(
            self,
            domains={**self.domains, domain: addition if old is None else old.joined(addition)},
        )


def existing(path: Path) -> Path:
    """The path of a vault that is there."""
    if not path.is_file():
        raise UnreadableInput(f"vault {path} does not exist; check the path")
    return path


def read_vault(path: Path, key: bytes) -> Vault:
    """Open a vault; one that does not exist yet is empty."""
    if not path.exists():
        if not path.parent.is_dir():
            raise ParameterError(
                f"folder {path.parent} for the vault does not exist; create it first"
            )
        return Vault()
    stored = json.loads(read_sealed(path, key))
    if stored["sfumato_vault"] != VERSION:
        raise UnreadableInput(
            f"{path} is a vault of version {stored['sfumato_vault']}; this sfumato reads {VERSION}"
        )
    domains = {}
    for name, content in stored["domains"].items():
        codes = dict(zip(content["identities"], content["pseudonyms"], strict=True))
        domains[name] = Domain(content["method"], codes)
    return Vault(domains, stored["log_entries"], stored["log_head"])


def write_vault(path: Path, key: bytes, vault: Vault) -> None:
    """Seal a vault into its file."""
    domains = {}
    for name, d in vault.domains.items():
        domains[name] = {
            "method": d.method,
            "identities": list(d.codes),
            "pseudonyms": list(d.codes.values()),
        }
    content = {
        "sfumato_vault": VERSION,
        "domains": domains,
        "log_entries": vault.log_entries,
        "log_head": vault.log_head,
    }
    write_sealed(path, key, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())


def remember(path: Path, key: bytes, domain: str, addition: Domain) -> None:
    """Add pseudonyms to a vault. What others stored meanwhile is kept; a contradiction is
    refused.
    """
    with only_one(path):
        before = read_vault(path, key)
        after = before.joined(domain, addition)
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


# Who looked into a vault, when and why: a journal. The vault holds the number of its entries and
# the hash of the last, encrypted, so that entries that were cut off, or a log that was written
# again, are noticed by whoever has the key. Never a name or a pseudonym.


@dataclasses.dataclass(frozen=True)
class VaultAccess(Entry):
    """One act: how many pseudonyms were asked for, how many were found, and why."""

    when: str
    who: str
    act: str
    reason: str
    domain: str
    asked: int
    found: int


VAULT_LOG = JournalKind("log", (VaultAccess,), "nothing is done", locked=False)
"""Whoever writes it holds the lock of the vault."""


def log_of(vault: Path) -> Path:
    """Where the log of a vault is: beside it."""
    return vault.with_name(vault.name + ".log")


def access(
    act: str, reason: str, *, domain: str = "", requested: int = 0, identified: int = 0
) -> VaultAccess:
    """What is done now, by the user of this process."""
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise ParameterError(
            f"give a reason of at most {LONGEST_REASON:,} characters: it is kept in the vault's log"
        )
    now = environment.timestamp()
    return VaultAccess(now, _user(), act, reason.strip(), domain, requested, identified)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        if hasattr(os, "getuid"):
            return f"user {os.getuid()}"
        return "unknown"


def read_log(vault: str | Path) -> tuple[VaultAccess, ...]:
    """The entries of a vault's log, without asking whether they are complete."""
    return tuple(Journal(log_of(Path(vault)), VAULT_LOG).read().of_type(VaultAccess))


def _require_complete(log: Journal, vault: Vault) -> None:
    """Raise where a log is not the one the vault knows."""
    if not log.extends(Head(vault.log_entries, vault.log_head)):
        raise UnreadableInput(
            f"the log {log.path} was changed or cut: the vault expects {vault.log_entries:,} "
            "entries. Restore it from a copy"
        )


def append(path: Path, vault: Vault, new: VaultAccess) -> Vault:
    """Write an entry behind the others and make it last; the vault that knows of it is still to be
    written.
    """
    with Journal(log_of(path), VAULT_LOG).turn() as log:
        _require_complete(log, vault)
        log.append(new)
    return dataclasses.replace(vault, log_entries=log.head.entries, log_head=log.head.hash)


# From pseudonyms back to people: one way only, and it is logged before anyone is named.


def reidentify(
    vault: str | Path,
    pseudonyms: Iterable[object],
    *,
    key: KeyReference | Mapping[str, str],
    reason: Annotated[str, CommandOption("the reason; it is kept in the vault's log")],
    domain: Annotated[str, CommandOption("the domain of the pseudonyms")] = "",
) -> dict[str, tuple[str | None, ...] | None]:
    """The values behind pseudonyms, or None for those the vault does not know.

    A person has one value for each column that made the identity. The log says who asked when, why
    and how many; if it cannot be written, nobody is named.
    """
    path = Path(vault)
    codes = list(dict.fromkeys(str(identity) for identity in pseudonyms))
    if not codes:
        raise ParameterError("no pseudonyms are given; name at least one")
    secret = KeyReference.of(key).read()
    with only_one(existing(path)):
        opened = read_vault(path, secret)
        if domain not in opened.domains:
            raise ParameterError(
                f"the vault {path} has no domain {domain!r}.{did_you_mean(domain, opened.domains)}"
            )
        requested = set(codes)
        people = {
            code: identity
            for identity, code in opened.domains[domain].codes.items()
            if code in requested
        }
        act = access(
            "reidentify", reason, domain=domain, requested=len(codes), identified=len(people)
        )
        write_vault(path, secret, append(path, opened, act))
    return {code: parts_of_identity(people[code]) if code in people else None for code in codes}


# A new key for a vault.


def rotate(
    vault: str | Path,
    old_key: KeyReference | Mapping[str, str],
    new_key: KeyReference | Mapping[str, str],
    *,
    reason: Annotated[str, CommandOption("the reason; it is kept in the vault's log")] = "rotation",
) -> int:
    """Seal a vault with a new key; everyone keeps the pseudonym. The number of pseudonyms in it.

    The old key opens the vault no longer, but it still opens old copies. For pseudonyms that cannot
    be linked with earlier ones use another domain.
    """
    path = Path(vault)
    old = KeyReference.of(old_key).read()
    new = KeyReference.of(new_key).read()
    if old == new:
        raise ParameterError("the new key is the old one; make another with 'sfumato key vault'")
    with only_one(existing(path)):
        opened = read_vault(path, old)
        count = sum(len(domain.codes) for domain in opened.domains.values())
        write_vault(
            path,
            new,
            append(path, opened, access("rotate", reason, requested=count, identified=count)),
        )
    return count


# What is in a vault, without anyone in it.


@dataclasses.dataclass(frozen=True)
class DomainSummary:
    """One domain: how its pseudonyms are made, and how many there are."""

    domain: str
    method: str
    pseudonyms: int


def summary(
    vault: str | Path, *, key: KeyReference | Mapping[str, str]
) -> tuple[DomainSummary, ...]:
    """The domains of a vault; its log is checked on the way."""
    path = Path(vault)
    opened = read_vault(existing(path), KeyReference.of(key).read())
    _require_complete(Journal(log_of(path), VAULT_LOG).read(), opened)
    return tuple(
        DomainSummary(name, d.method, len(d.codes)) for name, d in sorted(opened.domains.items())
    )
