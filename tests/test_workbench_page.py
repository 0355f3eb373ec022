"""The page of the workbench shows the pictures that its tool takes, all of them small; and the tool
reads and writes PNG by its definition.
"""

from __future__ import annotations

import re
import runpy
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "workbench_pictures.py"))
NAMES = [picture.name for picture in TOOL["PICTURES"]]


def test_the_page_shows_every_picture_and_no_other() -> None:
    page = (ROOT / "docs" / "how_to" / "workbench.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"workbench/([\w-]+)\.png", page)) == sorted(NAMES)
    assert sorted(file.stem for file in TOOL["HERE"].iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("picture", TOOL["PICTURES"], ids=NAMES)
def test_a_picture_is_small_and_as_large_as_its_screen(picture) -> None:
    written = (TOOL["HERE"] / f"{picture.name}.png").read_bytes()
    assert len(written) <= TOOL["LARGEST"]
    assert struct.unpack(">II", written[16:24]) == picture.size


def filtered(pixels, kind: int) -> bytes:
    """A PNG whose rows are all written with one filter, from the definition (PNG, section 9)."""
    height, width, size = pixels.shape
    flat = pixels.reshape(height, width * size).astype(int)
    rows = []
    for y in range(height):
        rows.append(kind)
        for x in range(width * size):
            a = flat[y, x - size] if x >= size else 0
            b = flat[y - 1, x] if y else 0
            c = flat[y - 1, x - size] if y and x >= size else 0
            p = a + b - c
            paeth = (
                a
                if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c)
                else b
                if abs(p - b) <= abs(p - c)
                else c
            )
            rows.append((flat[y, x] - [0, a, b, (a + b) // 2, paeth][kind]) % 256)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if size == 3 else 6, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")]
    return TOOL["SIGNATURE"] + b"".join(TOOL["_chunk"](name, content) for name, content in chunks)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("kind", range(5))
def test_pixels_are_read_whatever_their_filter(kind: int, channels: int) -> None:
    pixels = np.random.default_rng(kind).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    assert (TOOL["pixels_of"](filtered(pixels, kind)) == pixels[:, :, :3]).all()


def test_few_colours_stay_as_they_are_and_many_become_near_ones() -> None:
    few = np.array([[[0, 0, 0], [255, 255, 255]], [[11, 83, 148], [255, 255, 255]]], dtype=np.uint8)
    assert (shown(TOOL["with_few_colours"](filtered(few, 0))) == few).all()
    many = np.random.default_rng(1).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    less = shown(TOOL["with_few_colours"](filtered(many, 0)))
    assert len(np.unique(less.reshape(-1, 3), axis=0)) <= TOOL["COLOURS"]
    assert np.abs(less.astype(int) - many).mean() < 40


def shown(png: bytes):
    """The colours of a PNG with a palette."""
    parts, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        content = png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(
            png[at + 4 : at + 8] + content
        )
        parts[png[at + 4 : at + 8]] = content
        at += 12 + length
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)
    return np.frombuffer(parts[b"PLTE"], dtype=np.uint8).reshape(-1, 3)[rows[:, 1:]]
