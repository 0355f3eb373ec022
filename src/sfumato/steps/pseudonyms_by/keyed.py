"""Pseudonyms from a key: HMAC-SHA-256."""

from __future__ import annotations

from sfumato.core.keys import derived
from sfumato.steps.pseudonyms_by.asked import Asked, refuse_shared
from sfumato.steps.pseudonyms_by.codes import Encoding, digests, written


def keyed(asked: Asked, encoding: Encoding, length: int) -> list[str]:
    """The first characters of HMAC-SHA-256(derived key, identity), with a check that no two are equal."""
    found = digests(derived(asked.key, "pseudonym", asked.domain), asked.fresh)
    codes = written(found, encoding, length)
    refuse_shared(codes, asked.known, f"raise length above {length}")
    return codes
