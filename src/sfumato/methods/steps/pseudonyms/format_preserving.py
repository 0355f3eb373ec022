"""Pseudonyms that keep the form of a value: a digit stays a digit, a letter a letter."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sfumato.core.groups import group_starts
from sfumato.core.keys import derived, digests
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


Encoding = Literal["base32", "hex"]
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LONGEST: dict[Encoding, int] = {"base32": 51, "hex": 64}
"""Characters that the 256 bits of a digest fill."""
BITS: dict[Encoding, int] = {"base32": 5, "hex": 4}
CLASSES = frozenset({"Nd", "Lu", "Ll", "Lt", "Lm", "Lo"})
"""Digits and letters of any script; all other characters stay."""
SMALL = 1 << 16
ROUNDS = 12
WIDEST = 1 << 48
"""Halves below this are computed in machine words, many values at once."""


# What a method is asked for.


@dataclasses.dataclass(frozen=True, repr=False)
class PseudonymRequest:
    """Identities in a fixed order, each once, that need a pseudonym; those of ``known`` have one
    already.

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
        if self.known:
            return [identity for identity in self.identities if identity not in self.known]
        return list(self.identities)

    def ordered(self, fresh_codes: Sequence[str]) -> Sequence[str]:
        """The pseudonyms of all identities in their order, given those of the fresh ones."""
        if not self.known:
            return fresh_codes
        codes = {**self.known, **dict(zip(self.fresh, fresh_codes, strict=True))}
        return [codes[identity] for identity in self.identities]


def refuse_shared(codes: Sequence[str], stored_codes: Mapping[str, str], remedy: str) -> None:
    """Raise where two identities would have one pseudonym."""
    shared = len(codes) + len(stored_codes) - len({*codes, *stored_codes.values()})
    if shared:
        raise ParameterError(
            f"{shared:,} identities would share a pseudonym with another; {remedy}"
        )


# Digests of many texts at once, and codes written from them.


def encode_digests(digest_bytes: NDArray[np.uint8], encoding: Encoding, length: int) -> list[str]:
    """The first bits of every digest as text (RFC 4648 alphabets, without padding)."""
    if encoding == "hex":
        needed_bytes = np.ascontiguousarray(digest_bytes[:, : (length + 1) // 2])
        text = needed_bytes.tobytes().hex()
        width = 2 * ((length + 1) // 2)
    else:
        width = length
        all_bits = np.unpackbits(digest_bytes, axis=1)
        bits = all_bits[:, : 5 * length].reshape(len(digest_bytes), length, 5)
        fives = bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)
        text = np.frombuffer(ALPHABET, dtype=np.uint8)[fives].tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, width * len(digest_bytes), width)]


# What a character may become when the form of a value is kept.


def alphabet_of(character: str) -> str:
    """The characters of the same class near a character: digits, small or capital letters of its
    script.

    ASCII letters and digits stay ASCII. Elsewhere the characters of the same category in the same
    block of 256 code points count, as the Unicode database 3.2 has them: it comes with every Python
    and never changes, so neither do the pseudonyms. A character that is kept has an alphabet of
    itself alone.

    >>> alphabet_of("7"), alphabet_of("q"), alphabet_of("-"), "é" in alphabet_of("ü")
    ('0123456789', 'abcdefghijklmnopqrstuvwxyz', '-', True)
    """
    category = unicodedata.ucd_3_2_0.category(character)
    if category not in CLASSES:
        return character
    if 0x80 <= ord(character) < 0x100:
        low = 0x80
    else:
        low = ord(character) & ~0xFF
    high = 0x80 if low == 0 else (low & ~0xFF) + 0x100
    return _alphabet(category, low, high)


@cache
def _alphabet(category: str, low: int, high: int) -> str:
    return "".join(
        chr(c) for c in range(low, high) if unicodedata.ucd_3_2_0.category(chr(c)) == category
    )


class CharacterTable:
    """Per code point that occurs: the number of its alphabet, its place in it, and how many
    characters that has.
    """

    def __init__(self, points: NDArray[np.uint32]) -> None:
        self.points = np.unique(points)
        alphabets = [alphabet_of(chr(point)) for point in self.points.tolist()]
        self.alphabets = sorted(set(alphabets))
        number = {alphabet: i for i, alphabet in enumerate(self.alphabets)}
        positions = []
        for alphabet, p in zip(alphabets, self.points.tolist(), strict=True):
            positions.append(alphabet.index(chr(p)))
        self.numbers = np.array([number[a] for a in alphabets], dtype=np.int64)
        self.places = np.array(positions, dtype=np.int64)
        self.sizes = np.array([len(a) for a in alphabets], dtype=np.int64)
        self.first = np.array([ord(a[0]) for a in alphabets], dtype=np.int64)
        starts = group_starts([len(a) for a in self.alphabets])
        self.starts = starts[self.numbers]
        code_points = []
        for a in self.alphabets:
            for c in a:
                code_points.append(ord(c))
        self.flat = np.array(code_points, dtype=np.uint32)

    def rows(self, points: NDArray[np.uint32]) -> Ints:
        """The row of this table for each code point."""
        return np.searchsorted(self.points, points).astype(np.int64)


# Keyed permutations of small and middle-sized domains.
#
# Up to 2^16 values are put in the order of their AES-256 images: every permutation can come out.
# Larger domains are products
# :math:`\mathbb Z_a \times \mathbb Z_b`, and a Feistel network of twelve rounds permutes them, each
# round adding a keyed function of one half to the other (Black & Rogaway 2002,
# doi:10.1007/3-540-45760-7_9). As the halves are products of whole characters,
# :math:`a \cdot b` is the size of the domain and nothing has to be walked.


def aes_blocks(
    key: bytes, tweaks: NDArray[np.uint64], numbers: Ints, turn: int
) -> NDArray[np.uint64]:
    """AES-256 of one block a number, (tweak: 8 bytes ‖ turn: 2 ‖ number: 6), as two words a row."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    blocks = np.empty((len(numbers), 2), dtype=">u8")
    blocks[:, 0] = tweaks
    blocks[:, 1] = numbers.astype(np.uint64) | np.uint64(turn << 48)
    # every block is a message of its own that occurs once a turn: AES is used as a keyed function
    # here, not as a mode
    sealed = Cipher(AES256(key), ECB()).encryptor().update(blocks.tobytes())  # noqa: S305
    return np.frombuffer(sealed, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def keyed_permutation(key: bytes, tweak: int, size: int) -> Ints:
    """A permutation of 0 … size − 1, for sizes up to 2^16."""
    images = aes_blocks(key, np.full(size, tweak, dtype=np.uint64), np.arange(size), ROUNDS)
    sort_keys = images[:, 1], images[:, 0]
    return np.lexsort(sort_keys).astype(np.int64)


def feistel(
    key: bytes,
    tweaks: NDArray[np.uint64],
    halves: tuple[Ints, Ints],
    sizes: tuple[Ints, Ints],
) -> tuple[Ints, Ints]:
    """Permute many pairs at once, each within the product of its two sizes.

    A keyed number modulo *a* is the sum of two independent words modulo *a*: its distance from
    uniform is below 2·(a/2^64)², under 2^−31 for the widest half.
    """
    mixed = [half.copy() for half in halves]
    limits = [size.astype(np.uint64) for size in sizes]
    for turn in range(ROUNDS):
        side = turn % 2
        other_side = 1 - turn % 2
        words = aes_blocks(key, tweaks, mixed[other_side], turn)
        size = limits[side]
        first_shift = words[:, 0] % size
        second_shift = words[:, 1] % size
        moved_once = mixed[side].astype(np.uint64) + first_shift
        shifted = (moved_once + second_shift) % size
        mixed[side] = shifted.astype(np.int64)
    return mixed[0], mixed[1]


def feistel_wide(
    key: bytes, tweak: bytes, halves: tuple[int, int], sizes: tuple[int, int]
) -> tuple[int, int]:
    """Permute one pair of halves of any size; HMAC-SHA-256 is the keyed function."""
    mixed = list(halves)
    for turn in range(ROUNDS):
        side = turn % 2
        other_side = 1 - turn % 2
        width = (sizes[other_side].bit_length() + 7) // 8
        message = tweak + bytes([turn]) + mixed[other_side].to_bytes(width, "big")
        wide_number = _wide_number(key, message, sizes[side].bit_length() + 64)
        mixed[side] = (mixed[side] + wide_number) % sizes[side]
    return mixed[0], mixed[1]


def _wide_number(key: bytes, message: bytes, bits: int) -> int:
    blocks = range((bits + 255) // 256)
    return int.from_bytes(
        b"".join(hmac.digest(key, bytes([n]) + message, hashlib.sha256) for n in blocks), "big"
    )


class FormKeys(NamedTuple):
    """Keys for three uses: to tell forms apart, for values that fit machine words, and for longer
    ones.
    """

    forms: bytes
    blocks: bytes
    wide: bytes


def format_preserving(values: Sequence[str], key: bytes, domain: str) -> list[str]:
    """Every value permuted among all values of its form; the values must be different.

    The form is the class of every character, and the characters that are neither letters nor
    digits. Each form has a keyed permutation of its own, so different values stay different and
    what comes out has the form that went in.
    """
    keys = FormKeys(
        *(derived(key, f"format, {purpose}", domain) for purpose in ("forms", "blocks", "wide"))
    )
    by_length: dict[int, list[int]] = {}
    for position, value in enumerate(values):
        by_length.setdefault(len(value), []).append(position)
    pseudonyms = list(values)
    for length, positions in by_length.items():
        if length:
            of_length = _of_one_length([values[p] for p in positions], length, keys)
            for position, value in zip(positions, of_length, strict=True):
                pseudonyms[position] = value
    return pseudonyms


def _of_one_length(values: Sequence[str], length: int, keys: FormKeys) -> list[str]:
    """All values of a length at once: a matrix of characters, whatever their forms."""
    points = np.frombuffer("".join(values).encode("utf-32-le"), dtype="<u4").reshape(
        len(values), length
    )
    table = CharacterTable(points)
    rows = table.rows(points)
    sizes = table.sizes[rows]
    form = np.where(sizes > 1, table.first[rows], points).astype("<u4")
    tweaks, form_number = _tweaks(form, keys.forms)
    varying = sizes > 1
    places_so_far = np.cumsum(varying, axis=1)
    left_half = varying & (places_so_far <= varying.sum(axis=1, keepdims=True) // 2)
    masks = (left_half, varying & ~left_half)
    with np.errstate(over="ignore"):
        widths = [np.where(mask, sizes, 1).astype(np.float64).prod(axis=1) for mask in masks]
    positions = table.places[rows].copy()
    small = widths[0] <= SMALL / widths[1]
    wide = np.maximum(widths[0], widths[1]) >= WIDEST
    _permute_small(positions, sizes, np.flatnonzero(small), (keys.blocks, tweaks, form_number))
    middle_sized = np.flatnonzero(~small & ~wide)
    _permute_many(positions, sizes, masks, middle_sized, (keys.blocks, tweaks))
    _permute_wide(positions, sizes, masks, np.flatnonzero(wide), (keys.wide, tweaks))
    text = table.flat[table.starts[rows] + positions].astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + length] for start in range(0, len(text), length)]


def _tweaks(form: NDArray[np.uint32], secret: bytes) -> tuple[NDArray[np.uint64], Ints]:
    """Per value 64 keyed bits of its form, and the number of the form."""
    width = form.shape[1] * 4
    whole = np.ascontiguousarray(form).tobytes()
    numbers: dict[bytes, int] = {}
    of_row = []
    for s in range(0, len(whole), width):
        of_row.append(numbers.setdefault(whole[s : s + width], len(numbers)))
    keyed = digests(secret, (number.decode("utf-32-le") for number in numbers))[:, :8]
    words = np.ascontiguousarray(keyed).view(">u8").ravel().astype(np.uint64)
    index = np.array(of_row, dtype=np.int64)
    return words[index], index


def _rank_characters(positions: Ints, sizes: Ints, mask: Flags) -> Ints:
    """The characters under a mask as one number a row, first character first."""
    rank = np.zeros(len(positions), dtype=np.int64)
    for c in range(positions.shape[1]):
        longer_rank = rank * sizes[:, c] + positions[:, c]
        rank = np.where(mask[:, c], longer_rank, rank)
    return rank


def _unrank(
    positions: Ints,
    sizes: Ints,
    mask: Flags,
    rank: Ints,
) -> None:
    """Write numbers back as characters: the inverse of ranking."""
    for c in reversed(range(positions.shape[1])):
        last_digits = rank % sizes[:, c]
        positions[:, c] = np.where(mask[:, c], last_digits, positions[:, c])
        rank = np.where(mask[:, c], rank // sizes[:, c], rank)


def _permute_small(
    positions: Ints,
    sizes: Ints,
    rows: Ints,
    keyed: tuple[bytes, NDArray[np.uint64], Ints],
) -> None:
    secret, tweaks, form_number = keyed
    order = rows[np.argsort(form_number[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(form_number[order], prepend=-1))
    for members in np.split(order, starts[1:]) if len(order) else ():
        inside = positions[members]
        mask = sizes[members] > 1
        size = int(sizes[members[0]].prod())
        if size > 1:
            permutation = keyed_permutation(secret, int(tweaks[members[0]]), size)
            _unrank(
                inside,
                sizes[members],
                mask,
                permutation[_rank_characters(inside, sizes[members], mask)],
            )
            positions[members] = inside


def _permute_many(
    positions: Ints,
    sizes: Ints,
    masks: tuple[Flags, Flags],
    rows: Ints,
    keyed: tuple[bytes, NDArray[np.uint64]],
) -> None:
    if not len(rows):
        return
    inside = positions[rows]
    within = sizes[rows]
    (left_half, right) = (masks[0][rows], masks[1][rows])
    left_limits = np.where(left_half, within, 1).prod(axis=1)
    right_limits = np.where(right, within, 1).prod(axis=1)
    limits = (left_limits, right_limits)
    halves = (_rank_characters(inside, within, left_half), _rank_characters(inside, within, right))
    permuted = feistel(keyed[0], keyed[1][rows], halves, limits)
    for mask, rank in zip((left_half, right), permuted, strict=True):
        _unrank(inside, within, mask, rank)
    positions[rows] = inside


def _permute_wide(
    positions: Ints,
    sizes: Ints,
    masks: tuple[Flags, Flags],
    rows: Ints,
    keyed: tuple[bytes, NDArray[np.uint64]],
) -> None:
    """Long values, one by one: their halves do not fit a machine word."""
    for row in rows.tolist():
        columns = [mask[row].nonzero()[0].tolist() for mask in masks]
        radices = [[int(sizes[row, c]) for c in side] for side in columns]
        halves = [0, 0]
        limits = [1, 1]
        for side in (0, 1):
            for c, radix in zip(columns[side], radices[side], strict=True):
                halves[side] = halves[side] * radix + int(positions[row, c])
                limits[side] *= radix
        tweak = int(keyed[1][row]).to_bytes(8, "big")
        permuted = feistel_wide(keyed[0], tweak, (halves[0], halves[1]), (limits[0], limits[1]))
        for side in (0, 1):
            rank = permuted[side]
            for c, radix in zip(reversed(columns[side]), reversed(radices[side]), strict=True):
                rank, positions[row, c] = divmod(rank, radix)
