"""Secret keys: named in a recipe, never written in one."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Fields
from sfumato.core.portable import open_private, open_to_others
from sfumato.errors import OutputError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_BYTES = 16
MOST_BYTES = 4096
FEWEST_DIFFERENT = 5
"""A key of 16 random hexadecimal digits has this many different ones but for once in millions."""
NEW_KEY_BYTES = 32
FORM = "{file: path/of/the.key} or {env: NAME_OF_A_VARIABLE}"


@dataclasses.dataclass(frozen=True)
class KeyReference:
    """Where a key is: in a file, or in an environment variable. The key itself is read when it is
    needed.

    Line ends at the end of the file or the variable do not belong to the key, so one key gives the
    same pseudonyms from either place.

    >>> KeyReference.of({"env": "PSEUDONYM_KEY"})
    KeyReference(file=None, env='PSEUDONYM_KEY')
    """

    file: Path | None = None
    env: str | None = None

    @classmethod
    def of(cls, reference: KeyReference | Fields) -> KeyReference:
        """A reference from its recipe form, ``{file: path}`` or ``{env: NAME}``."""
        if isinstance(reference, KeyReference):
            return reference
        plain = reference_form(reference)
        return cls(Path(plain["file"]) if "file" in plain else None, plain.get("env"))

    @property
    def place(self) -> str:
        """Where the key is, in words."""
        if self.env is None:
            return f"the key file {self.file}"
        return f"the environment variable {self.env}"

    def read(self) -> bytes:
        """The key."""
        key = (self._from_file() if self.env is None else self._from_environment()).rstrip(b"\r\n")
        if len(key) < LEAST_BYTES:
            raise ParameterError(
                f"{self.place} holds {len(key)} bytes; a key has at least {LEAST_BYTES}. "
                "Make one with 'sfumato key vault'"
            )
        if len(set(key)) < FEWEST_DIFFERENT:
            raise ParameterError(
                f"{self.place} repeats a few bytes and can be guessed. Make a random key "
                "with 'sfumato key vault'"
            )
        return key

    def _from_environment(self) -> bytes:
        value = os.environ.get(str(self.env))
        if value is None:
            raise ParameterError(
                f"the environment variable {self.env} is not set; it must hold the key"
            )
        # A variable may hold bytes that are no text; they come back as they were.
        return value.encode("utf-8", "surrogateescape")

    def _from_file(self) -> bytes:
        try:
            with Path(str(self.file)).open("rb") as handle:
                # One byte more than allowed tells that the file is too large.
                content = handle.read(MOST_BYTES + 1)
        except OSError as error:
            raise ParameterError(f"cannot read {self.place}: {error.strerror}") from None
        if len(content) > MOST_BYTES:
            raise ParameterError(
                f"{self.place} is larger than {MOST_BYTES:,} bytes and cannot be a key; "
                "name the key file"
            )
        return content

    def warnings(self) -> tuple[str, ...]:
        """What is unwise about where the key is kept."""
        if self.file is None or not self.file.exists():
            return ()
        if open_to_others(self.file):
            return (
                (
                    f"{self.place} can be read by other users of this machine; restrict it: chmod "
                    f"600 {self.file}"
                ),
            )
        return ()


def reference_form(reference: object) -> dict[str, str]:
    """The recipe form of a key reference, or an error that explains it and does not repeat what was
    given.
    """
    if not isinstance(reference, Mapping):
        raise ParameterError(
            "never write a key into a recipe, where it would be copied along; write where it is: "
            f"{FORM}"
        )
    if len(reference) != 1 or not set(reference) <= {"file", "env"}:
        raise ParameterError(f"say where the key is, in one of these ways: {FORM}")
    ((where, value),) = reference.items()
    text = str(value) if isinstance(value, str | Path) else ""
    if not text or (where == "env" and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)):
        raise ParameterError(
            f"{where} must name a {'file' if where == 'file' else 'variable'}: {FORM}"
        )
    return {where: text}


def derived(key: bytes, purpose: str, domain: str = "") -> bytes:
    r"""A key of 32 bytes for one purpose and one domain: HMAC-SHA-256(key, purpose ‖ 0 ‖ domain).

    Who has one derived key can compute neither the key nor any other derived key.

    >>> derived(b"k" * 16, "pseudonym", "a") == derived(b"k" * 16, "pseudonym", "b")
    False
    """
    # The zero byte parts purpose and domain: "ab" and "c" is not "a" and "bc".
    message = f"sfumato {purpose}".encode() + b"\0" + domain.encode("utf-8", "surrogatepass")
    return hmac.digest(key, message, hashlib.sha256)


BLOCK = 64
"""Bytes that SHA-256 takes at once."""


def digests(secret: bytes, texts: Iterable[str]) -> NDArray[np.uint8]:
    """HMAC-SHA-256 of every text, one a row.

    The padded key is hashed once and copied: twice as fast as ``hmac.digest`` for a million short
    texts.
    """
    # HMAC hashes keys that are longer than a block.
    if len(secret) > BLOCK:
        secret = hashlib.sha256(secret).digest()
    padded = secret.ljust(BLOCK, b"\0")
    # 0x36 and 0x5C are the inner and outer pads of HMAC (RFC 2104).
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def digest(text: str) -> bytes:
        first = inner.copy()
        first.update(text.encode())
        second = outer.copy()
        second.update(first.digest())
        return second.digest()

    joined = b"".join(map(digest, texts))
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, 32)


def new_key_file(path: Path) -> None:
    """Write a random key of 32 bytes (as hexadecimal text), readable by its owner only; never over
    another file.
    """
    try:
        handle = open_private(path, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(NEW_KEY_BYTES) + "\n")
    except FileExistsError:
        raise OutputError(
            f"{path} already exists, and a key is never overwritten; choose another path"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
