"""Naive pseudonyms, straight from the definitions: one value at a time, one character at a time."""

from __future__ import annotations

import base64
import functools
import hmac
import math

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ROUNDS = 12


def derived_key(key: bytes, purpose: str, domain: str) -> bytes:
    return hmac.new(
        key, b"sfumato " + purpose.encode() + b"\0" + domain.encode(), "sha256"
    ).digest()


def keyed_code(
    key: bytes, domain: str, value: str, length: int = 16, *, encoding: str = "base32"
) -> str:
    """The first characters of HMAC(HMAC(key, purpose and domain), "=" and value)."""
    digest = hmac.new(
        derived_key(key, "pseudonym", domain), b"=" + value.encode(), "sha256"
    ).digest()
    text = base64.b32encode(digest).decode() if encoding == "base32" else digest.hex()
    return text[:length]


def alphabet(character: str) -> str:
    """ASCII only."""
    for known in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if character in known:
            return known
    return character


def permuted(key: bytes, domain: str, value: str) -> str:
    """A value among all of its form: sorted images for small forms, Feistel rounds for larger
    ones.
    """
    forms, blocks, wide = (
        derived_key(key, f"format, {use}", domain) for use in ("forms", "blocks", "wide")
    )
    alphabets = [alphabet(c) for c in value]
    form = "".join(a[0] for a in alphabets)
    tweak = hmac.new(forms, form.encode(), "sha256").digest()[:8]
    varying = [i for i, a in enumerate(alphabets) if len(a) > 1]
    sides = [varying[: len(varying) // 2], varying[len(varying) // 2 :]]
    size = math.prod(len(alphabets[i]) for i in varying)
    if size <= 1 << 16:
        return rewritten(
            value, alphabets, varying, shuffle(blocks, tweak, size)[rank(value, alphabets, varying)]
        )
    halves = [rank(value, alphabets, side) for side in sides]
    sizes = [math.prod(len(alphabets[i]) for i in side) for side in sides]
    for turn in range(ROUNDS):
        side, other = turn % 2, 1 - turn % 2
        if max(sizes) < 1 << 48:
            block = aes(blocks, tweak, turn, halves[other])
            moved = int.from_bytes(block[:8], "big") + int.from_bytes(block[8:], "big")
        else:
            moved = wide_number(wide, tweak, turn, halves[other], sizes[other], sizes[side])
        halves[side] = (halves[side] + moved) % sizes[side]
    for side, number in zip(sides, halves, strict=True):
        value = rewritten(value, alphabets, side, number)
    return value


@functools.cache
def shuffle(key: bytes, tweak: bytes, size: int) -> list[int]:
    """The numbers below a size in the order of their images."""
    return sorted(range(size), key=lambda number: aes(key, tweak, ROUNDS, number))


def aes(key: bytes, tweak: bytes, turn: int, number: int) -> bytes:
    block = tweak + turn.to_bytes(2, "big") + number.to_bytes(6, "big")
    return Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block)


def wide_number(key: bytes, tweak: bytes, turn: int, half: int, half_size: int, size: int) -> int:
    message = tweak + bytes([turn]) + half.to_bytes((half_size.bit_length() + 7) // 8, "big")
    wanted = math.ceil((size.bit_length() + 64) / 256)
    return int.from_bytes(
        b"".join(hmac.new(key, bytes([n]) + message, "sha256").digest() for n in range(wanted)),
        "big",
    )


def rank(value: str, alphabets: list[str], places: list[int]) -> int:
    number = 0
    for i in places:
        number = number * len(alphabets[i]) + alphabets[i].index(value[i])
    return number


def rewritten(value: str, alphabets: list[str], places: list[int], number: int) -> str:
    characters = list(value)
    for i in reversed(places):
        number, place = divmod(number, len(alphabets[i]))
        characters[i] = alphabets[i][place]
    return "".join(characters)
