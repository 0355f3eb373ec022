"""Journals as somebody makes them who can write the file: lines with hashes that fit."""

from __future__ import annotations

import hashlib

from sfumato.core.journal import END_BYTES, HASH_PART, JournalKind


def chain_again(lines: list[str], kind: JournalKind, key: bytes = b"") -> tuple[list[str], str]:
    """Lines (without their ends) with hashes that fit them, and the last hash."""
    last, forged = f"sfumato journal 1: {kind.name}", []
    for line in lines:
        body = line.encode()[: 1 - END_BYTES]
        last = hashlib.blake2b(last.encode() + body, key=key, digest_size=32).hexdigest()
        forged.append(body.decode() + HASH_PART.format(last).rstrip("\n"))
    return forged, last
