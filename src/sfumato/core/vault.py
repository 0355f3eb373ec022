"""Which pseudonym belongs to whom: kept apart from the data, encrypted, one pseudonym a person and domain.

What goes back from pseudonyms to people is not here but in the room ``sfumato.vault``, where it is logged.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path

from sfumato.core.encoding import SEPARATOR
from sfumato.core.sealed import only_one, read_sealed, write_sealed
from sfumato.errors import OutputError, ParameterError, UnreadableInput

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
