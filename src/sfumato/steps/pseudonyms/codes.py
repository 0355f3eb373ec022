"""What a method is asked for."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, repr=False)
class Asked:
    """Identities in a fixed order, each once, that need a pseudonym; those of ``known`` have one already.

    ``key`` is empty where a method takes none. ``domain`` parts what shall not be linked.
    """

    identities: Sequence[str]
    known: Mapping[str, str]
    key: bytes
    domain: str
    goal: Goal

    @property
    def fresh(self) -> list[str]:
        """The identities that have no pseudonym yet."""
        return [one for one in self.identities if one not in self.known] if self.known else list(self.identities)

    def ordered(self, fresh_codes: Sequence[str]) -> Sequence[str]:
        """The pseudonyms of all identities in their order, given those of the fresh ones."""
        if not self.known:
            return fresh_codes
        codes = {**self.known, **dict(zip(self.fresh, fresh_codes, strict=True))}
        return [codes[identity] for identity in self.identities]


def refuse_shared(codes: Sequence[str], known: Mapping[str, str], remedy: str) -> None:
    """Raise where two identities would have one pseudonym."""
    shared = len(codes) + len(known) - len({*codes, *known.values()})
    if shared:
        raise ParameterError(f"{shared:,} identities would share a pseudonym with another; {remedy}")


# Digests of many texts at once, and codes written from them.

Encoding = Literal["base32", "hex"]

BLOCK = 64
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LONGEST: dict[Encoding, int] = {"base32": 51, "hex": 64}
"""Characters that the 256 bits of a digest fill."""
BITS: dict[Encoding, int] = {"base32": 5, "hex": 4}


def digests(secret: bytes, texts: Iterable[str]) -> NDArray[np.uint8]:
    """HMAC-SHA-256 of every text, one a row.

    The padded key is hashed once and copied: twice as fast as ``hmac.digest`` for a million short texts.
    """
    if len(secret) > BLOCK:
        secret = hashlib.sha256(secret).digest()
    padded = secret.ljust(BLOCK, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def digest(text: str) -> bytes:
        first = inner.copy()
        first.update(text.encode())
        second = outer.copy()
        second.update(first.digest())
        return second.digest()

    return np.frombuffer(b"".join(map(digest, texts)), dtype=np.uint8).reshape(-1, 32)


def written(found: NDArray[np.uint8], encoding: Encoding, length: int) -> list[str]:
    """The first bits of every digest as text (RFC 4648 alphabets, without padding)."""
    if encoding == "hex":
        text = np.ascontiguousarray(found[:, : (length + 1) // 2]).tobytes().hex()
        width = 2 * ((length + 1) // 2)
    else:
        width = length
        bits = np.unpackbits(found, axis=1)[:, : 5 * length].reshape(len(found), length, 5)
        fives = bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)
        text = np.frombuffer(ALPHABET, dtype=np.uint8)[fives].tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, width * len(found), width)]
