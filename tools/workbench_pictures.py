"""Make the pictures of the workbench: ``python tools/workbench_pictures.py [PICTURE ...]``, all of
them without names.

They are taken of a workbench with the invented hospital table, as a browser draws it, and put into
docs/how_to/workbench. Chromium and ``pip install 'sfumato[web,services]'`` are needed. A picture has at
most 128 colours: pages are flat, and files stay small.
"""

from __future__ import annotations

import dataclasses
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.interfaces.web.browser import Tab, open_browser, served  # noqa: E402

HERE = ROOT / "docs" / "how_to" / "workbench"
LARGEST = 150_000
"""Bytes a picture may have."""
COLOURS = 128
SIGNATURE = b"\x89PNG\r\n\x1a\n"
WIDE, TALL, NARROW = (1280, 800), (1280, 1000), (390, 800)
RECIPE = """\
sfumato: 1
columns:
  patient_name: drop
  insurance_number: drop
  email: drop
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  sex: {role: quasi, hierarchy: suppress}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  marital_status: {role: quasi, hierarchy: {frequency: {keep: [3, 2]}}}
  nationality: {role: quasi, hierarchy: {frequency: {keep: [8, 2]}}}
  occupation: keep
  admission_date: {role: keep, kind: date}
  ward: keep
  length_of_stay: {role: keep, kind: numeric}
  diagnosis: sensitive
  cost: {role: sensitive, kind: numeric}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {budget: 0.05}
"""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A page as it is pictured: its address, what is done there first, how large the screen is,
    light or dark.
    """

    name: str
    path: str
    prepare: Callable[[Tab], Any]
    size: tuple[int, int] = WIDE
    dark: bool = False


def button(tab: Tab, words: str) -> Any:
    """A button by all of its words."""
    return tab.page.get_by_role("button", name=words, exact=True)


def data(tab: Tab) -> None:
    """Columns with their roles and shapes."""
    tab.page.locator("table.columns tbody tr").nth(13).wait_for()
    tab.page.locator("table.columns svg").nth(5).wait_for()


def hierarchies(tab: Tab) -> None:
    """The levels of age, side by side."""
    tab.page.locator(".level").nth(4).wait_for()


def promises(tab: Tab) -> None:
    """5-anonymity with its slider."""
    tab.page.get_by_text("to a class smaller than 5.").wait_for()
    tab.page.get_by_text("today: k = ").first.wait_for()


def run(tab: Tab) -> None:
    """What came out."""
    button(tab, "Make the release").click()
    tab.page.locator(".outcome .headline").wait_for()
    tab.page.get_by_text("combinations of levels").wait_for()


def explore(tab: Tab) -> None:
    """The plane, with a point that is chosen."""
    tab.page.locator("[data-key=survey], .picture svg").first.wait_for()
    if tab.page.locator("[data-key=survey]").count():
        button(tab, "Look at all combinations").click()
    tab.page.locator(".picture svg").first.wait_for()
    tab.page.locator("table.points input[type=radio]").nth(2).check()
    tab.page.locator("aside.detail h2").get_by_text("Point 3", exact=True).wait_for()


def look(tab: Tab) -> None:
    """Columns before and after."""
    tab.page.locator(".cards svg").nth(1).wait_for()


def attacks(tab: Tab) -> None:
    """What intruders found."""
    button(tab, "Attacks").click()
    tab.page.get_by_label("computing time").select_option("5")
    button(tab, "Let the intruders try").click()
    tab.page.get_by_text("Nobody has attacked this release yet").wait_for(state="detached")


def decide(tab: Tab) -> None:
    """Who may have it, what limits that, and what would help."""
    tab.page.get_by_label("Who receives it?").select_option("researchers")
    tab.page.locator("[data-key=context-contract-yes]").check(force=True)
    tab.page.locator("[data-key=context-sensitivity-low]").check(force=True)
    button(tab, "Decide about version 1").click()
    tab.page.locator(".helpful .change button").first.wait_for()


def write(tab: Tab) -> None:
    """Files to publish, files to keep, and what the certificate says."""
    tab.page.get_by_label("Replace an earlier release").check()
    tab.write(1)
    tab.page.get_by_text("To publish").first.wait_for()


def recipe(tab: Tab) -> None:
    """The recipe as a Python script, at the side."""
    button(tab, "⟨⟩ Recipe").click()
    button(tab, "Python").click()
    tab.page.locator("pre.code").wait_for()


PICTURES = (
    Picture("data", "/", data),
    Picture("hierarchies", "/hierarchies", hierarchies, size=TALL),
    Picture("promises", "/promises", promises),
    Picture("run", "/run", run),
    Picture("explore", "/explore", explore, size=TALL),
    Picture("explore-dark", "/explore", explore, size=TALL, dark=True),
    Picture("look", "/look", look),
    Picture("attacks", "/look", attacks),
    Picture("decide", "/decide", decide, size=TALL),
    Picture("write", "/write", write, size=(1280, 1620)),
    Picture("recipe", "/run", recipe),
    Picture("hierarchies-narrow", "/hierarchies", hierarchies, size=NARROW),
)


def main(names: list[str]) -> int:
    """Take the pictures that are named, in their order; later ones need what earlier ones made."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        table, said = _hospital(Path(folder))
        with (
            served(Path(folder), table, recipe=said, project=Path(folder) / "visits") as bench,
            bench.tab(browser) as tab,
        ):
            tab.page.get_by_text("3,000", exact=True).first.wait_for()
            for picture in PICTURES:
                if not names or picture.name in names:
                    taken(tab, picture)
    return 0


def _hospital(folder: Path) -> tuple[Path, Path]:
    from sfumato import examples

    table, said = folder / "visits.csv", folder / "visits.yaml"
    examples.load("hospital").to_polars().write_csv(table)
    said.write_text(RECIPE, encoding="utf-8")
    return table, said


def taken(tab: Tab, picture: Picture) -> None:
    """Take one picture and write it, with as few colours as it may have."""
    width, height = picture.size
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.page.emulate_media(color_scheme="dark" if picture.dark else "light")
    tab.go(picture.path)
    tab.page.locator(".undo .version").wait_for()
    picture.prepare(tab)
    tab.page.wait_for_timeout(500)  # what is drawn last: bars that grow, the ring of a point
    tab.page.evaluate("window.scrollTo(0, 0)")
    small = with_few_colours(tab.page.screenshot())
    if len(small) > LARGEST:
        raise SystemExit(f"{picture.name}: {len(small):,} bytes are more than {LARGEST:,}")
    (HERE / f"{picture.name}.png").write_bytes(small)
    print(f"{picture.name}: {len(small):,} bytes")


# a PNG with a palette, without more packages


def with_few_colours(png: bytes) -> bytes:
    """The same picture with at most 128 colours: the commonest stay, others become the nearest of
    them.
    """
    pixels = pixels_of(png)
    height, width, _ = pixels.shape
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    found, places, counts = np.unique(packed.ravel(), return_inverse=True, return_counts=True)
    channels = np.stack([found >> 16 & 255, found >> 8 & 255, found & 255], axis=1).astype(np.int32)
    kept = channels[_spread(channels, counts)]
    near = np.array([np.abs(kept - one).sum(axis=1).argmin() for one in channels], dtype=np.uint8)
    return indexed(near[places].reshape(height, width), kept.astype(np.uint8))


def _spread(channels: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the colours that stay: the commonest first, but none near one that stays
    already.

    How near is near grows until they are few enough, so that no colour becomes one that is farther
    than that.
    """
    near = 18
    while True:
        chosen: list[int] = []
        for place in np.argsort(-counts, kind="stable"):
            if not chosen or np.abs(channels[chosen] - channels[place]).sum(axis=1).min() > near:
                chosen.append(int(place))
            if len(chosen) > COLOURS:
                break
        else:
            return np.array(chosen, dtype=np.int64)
        near += 6


def pixels_of(png: bytes) -> NDArray[np.uint8]:
    """Red, green and blue of a PNG with 8 bits a channel that is not interlaced, as browsers write
    it.
    """
    width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    if png[:8] != SIGNATURE or depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError("not a PNG as a browser writes it")
    size = 3 if kind == 2 else 4
    rows = np.frombuffer(zlib.decompress(_data(png)), dtype=np.uint8).reshape(
        height, 1 + width * size
    )
    above = np.zeros(width * size, dtype=np.uint8)
    lines = [above := _unfiltered(int(row[0]), row[1:], above, size) for row in rows]
    return np.stack(lines).reshape(height, width, size)[:, :, :3]


def _data(png: bytes) -> bytes:
    parts, at = [], 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            parts.append(png[at + 8 : at + 8 + length])
        at += 12 + length
    return b"".join(parts)


def _unfiltered(
    kind: int, row: NDArray[np.uint8], above: NDArray[np.uint8], size: int
) -> NDArray[np.uint8]:
    """A row of pixels from what is written of it: differences to the left, above, to both, or to
    the best of three.
    """
    if kind == 0:
        return row.copy()
    if kind == 2:
        return row + above
    if kind == 1:
        return np.cumsum(row.reshape(-1, size), axis=0, dtype=np.uint8).ravel()
    line, up = bytearray(row.tobytes()), above.tobytes()
    for at in range(len(line)):
        left = line[at - size] if at >= size else 0
        corner = up[at - size] if at >= size else 0
        line[at] = (
            line[at] + ((left + up[at]) // 2 if kind == 3 else _paeth(left, up[at], corner)) & 255
        )
    return np.frombuffer(bytes(line), dtype=np.uint8)


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def indexed(places: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    """A PNG of places in a palette."""
    height, width = places.shape
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), places]).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", head),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
