"""Pseudonyms that keep the form of a value: a digit stays a digit, a letter a letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sfumato.core.keys import derived
from sfumato.steps.pseudonyms_by.alphabets import CharacterTable
from sfumato.steps.pseudonyms_by.codes import digests
from sfumato.steps.pseudonyms_by.permutation import SMALL, WIDEST, feistel, feistel_wide, shuffled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FormKeys(NamedTuple):
    """Keys for three uses: to tell forms apart, for values that fit machine words, and for longer ones."""

    forms: bytes
    blocks: bytes
    wide: bytes


def format_preserving(values: Sequence[str], key: bytes, domain: str) -> list[str]:
    """Every value permuted among all values of its form; the values must be different.

    The form is the class of every character, and the characters that are neither letters nor digits. Each form has a keyed
    permutation of its own, so different values stay different and what comes out has the form that went in.
    """
    keys = FormKeys(*(derived(key, f"format, {purpose}", domain) for purpose in ("forms", "blocks", "wide")))
    by_length: dict[int, list[int]] = {}
    for position, value in enumerate(values):
        by_length.setdefault(len(value), []).append(position)
    found = list(values)
    for length, positions in by_length.items():
        if length:
            made = _of_one_length([values[p] for p in positions], length, keys)
            for position, value in zip(positions, made, strict=True):
                found[position] = value
    return found


def _of_one_length(values: Sequence[str], length: int, keys: FormKeys) -> list[str]:
    """All values of a length at once: a matrix of characters, whatever their forms."""
    import numpy as np

    points = np.frombuffer("".join(values).encode("utf-32-le"), dtype="<u4").reshape(len(values), length)
    table = CharacterTable(points)
    rows = table.rows(points)
    sizes = table.sizes[rows]
    form = np.where(sizes > 1, table.first[rows], points).astype("<u4")
    tweaks, form_number = _tweaks(form, keys.forms)
    varying = sizes > 1
    left = varying & (np.cumsum(varying, axis=1) <= varying.sum(axis=1, keepdims=True) // 2)
    masks = (left, varying & ~left)
    with np.errstate(over="ignore"):
        widths = [np.where(mask, sizes, 1).astype(np.float64).prod(axis=1) for mask in masks]
    places = table.places[rows].copy()
    small = widths[0] <= SMALL / widths[1]
    wide = np.maximum(widths[0], widths[1]) >= WIDEST
    _permute_small(places, sizes, np.flatnonzero(small), (keys.blocks, tweaks, form_number))
    _permute_many(places, sizes, masks, np.flatnonzero(~small & ~wide), (keys.blocks, tweaks))
    _permute_wide(places, sizes, masks, np.flatnonzero(wide), (keys.wide, tweaks))
    text = table.flat[table.starts[rows] + places].astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + length] for start in range(0, len(text), length)]


def _tweaks(form: NDArray[np.uint32], secret: bytes) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Per value 64 keyed bits of its form, and the number of the form."""
    import numpy as np

    width = form.shape[1] * 4
    whole = np.ascontiguousarray(form).tobytes()
    numbers: dict[bytes, int] = {}
    of_row = [numbers.setdefault(whole[s : s + width], len(numbers)) for s in range(0, len(whole), width)]
    keyed = digests(secret, (one.decode("utf-32-le") for one in numbers))[:, :8]
    words = np.ascontiguousarray(keyed).view(">u8").ravel().astype(np.uint64)
    index = np.array(of_row, dtype=np.int64)
    return words[index], index


def _ranked(places: NDArray[np.int64], sizes: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The characters under a mask as one number a row, first character first."""
    import numpy as np

    rank = np.zeros(len(places), dtype=np.int64)
    for c in range(places.shape[1]):
        rank = np.where(mask[:, c], rank * sizes[:, c] + places[:, c], rank)
    return rank


def _unrank(
    places: NDArray[np.int64], sizes: NDArray[np.int64], mask: NDArray[np.bool_], rank: NDArray[np.int64]
) -> None:
    """Write numbers back as characters: the inverse of ranking."""
    import numpy as np

    for c in reversed(range(places.shape[1])):
        places[:, c] = np.where(mask[:, c], rank % sizes[:, c], places[:, c])
        rank = np.where(mask[:, c], rank // sizes[:, c], rank)


def _permute_small(
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rows: NDArray[np.int64],
    keyed: tuple[bytes, NDArray[np.uint64], NDArray[np.int64]],
) -> None:
    import numpy as np

    secret, tweaks, form_number = keyed
    order = rows[np.argsort(form_number[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(form_number[order], prepend=-1))
    for members in np.split(order, starts[1:]) if len(order) else ():
        inside, mask = places[members], sizes[members] > 1
        size = int(sizes[members[0]].prod())
        if size > 1:
            permutation = shuffled(secret, int(tweaks[members[0]]), size)
            _unrank(inside, sizes[members], mask, permutation[_ranked(inside, sizes[members], mask)])
            places[members] = inside


def _permute_many(
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    masks: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    rows: NDArray[np.int64],
    keyed: tuple[bytes, NDArray[np.uint64]],
) -> None:
    import numpy as np

    if not len(rows):
        return
    inside, within, (left, right) = places[rows], sizes[rows], (masks[0][rows], masks[1][rows])
    limits = (np.where(left, within, 1).prod(axis=1), np.where(right, within, 1).prod(axis=1))
    halves = (_ranked(inside, within, left), _ranked(inside, within, right))
    moved = feistel(keyed[0], keyed[1][rows], halves, limits)
    for mask, rank in zip((left, right), moved, strict=True):
        _unrank(inside, within, mask, rank)
    places[rows] = inside


def _permute_wide(
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    masks: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    rows: NDArray[np.int64],
    keyed: tuple[bytes, NDArray[np.uint64]],
) -> None:
    """Long values, one by one: their halves do not fit a machine word."""
    for row in rows.tolist():
        columns = [mask[row].nonzero()[0].tolist() for mask in masks]
        radices = [[int(sizes[row, c]) for c in side] for side in columns]
        halves, limits = [0, 0], [1, 1]
        for side in (0, 1):
            for c, radix in zip(columns[side], radices[side], strict=True):
                halves[side] = halves[side] * radix + int(places[row, c])
                limits[side] *= radix
        tweak = int(keyed[1][row]).to_bytes(8, "big")
        moved = feistel_wide(keyed[0], tweak, (halves[0], halves[1]), (limits[0], limits[1]))
        for side in (0, 1):
            rank = moved[side]
            for c, radix in zip(reversed(columns[side]), reversed(radices[side]), strict=True):
                rank, places[row, c] = divmod(rank, radix)
