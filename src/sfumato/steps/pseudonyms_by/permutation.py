r"""Keyed permutations of small and middle-sized domains.

Up to 2^16 values are put in the order of their AES-256 images: every permutation can come out. Larger domains are products
:math:`\mathbb Z_a \times \mathbb Z_b`, and a Feistel network of twelve rounds permutes them, each round adding a keyed function
of one half to the other (Black & Rogaway 2002, doi:10.1007/3-540-45760-7_9). As the halves are products of whole characters,
:math:`a \cdot b` is the size of the domain and nothing has to be walked.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL = 1 << 16
ROUNDS = 12
WIDEST = 1 << 48
"""Halves below this are computed in machine words, many values at once."""


def aes_blocks(key: bytes, tweaks: NDArray[np.uint64], numbers: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
    """AES-256 of one block a number, (tweak: 8 bytes ‖ turn: 2 ‖ number: 6), as two words a row."""
    import numpy as np
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    blocks = np.empty((len(numbers), 2), dtype=">u8")
    blocks[:, 0] = tweaks
    blocks[:, 1] = numbers.astype(np.uint64) | np.uint64(turn << 48)
    # every block is a message of its own that occurs once a turn: AES is used as a keyed function here, not as a mode
    sealed = Cipher(AES256(key), ECB()).encryptor().update(blocks.tobytes())  # noqa: S305
    return np.frombuffer(sealed, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def shuffled(key: bytes, tweak: int, size: int) -> NDArray[np.int64]:
    """A permutation of 0 … size − 1, for sizes up to 2^16."""
    import numpy as np

    images = aes_blocks(key, np.full(size, tweak, dtype=np.uint64), np.arange(size), ROUNDS)
    return np.lexsort((images[:, 1], images[:, 0])).astype(np.int64)


def feistel(
    key: bytes,
    tweaks: NDArray[np.uint64],
    halves: tuple[NDArray[np.int64], NDArray[np.int64]],
    sizes: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Permute many pairs at once, each within the product of its two sizes.

    A keyed number modulo *a* is the sum of two independent words modulo *a*: its distance from uniform is below
    2·(a/2^64)², under 2^−31 for the widest half.
    """
    import numpy as np

    found, limits = [half.copy() for half in halves], [size.astype(np.uint64) for size in sizes]
    for turn in range(ROUNDS):
        side, other = turn % 2, 1 - turn % 2
        words = aes_blocks(key, tweaks, found[other], turn)
        size = limits[side]
        moved = (found[side].astype(np.uint64) + words[:, 0] % size + words[:, 1] % size) % size
        found[side] = moved.astype(np.int64)
    return found[0], found[1]


def feistel_wide(key: bytes, tweak: bytes, halves: tuple[int, int], sizes: tuple[int, int]) -> tuple[int, int]:
    """Permute one pair of halves of any size; HMAC-SHA-256 is the keyed function."""
    found = list(halves)
    for turn in range(ROUNDS):
        side, other = turn % 2, 1 - turn % 2
        width = (sizes[other].bit_length() + 7) // 8
        message = tweak + bytes([turn]) + found[other].to_bytes(width, "big")
        found[side] = (found[side] + _wide_number(key, message, sizes[side].bit_length() + 64)) % sizes[side]
    return found[0], found[1]


def _wide_number(key: bytes, message: bytes, bits: int) -> int:
    blocks = range((bits + 255) // 256)
    return int.from_bytes(b"".join(hmac.digest(key, bytes([n]) + message, hashlib.sha256) for n in blocks), "big")
