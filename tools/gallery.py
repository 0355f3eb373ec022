"""Make the pictures of the gallery: ``python tools/gallery.py [PAGE ...]``, all of them without
names.

Every page of docs/tutorials/gallery calls one thing ``picture``, which it got by ``plot()``. Its Python is
run as a reader would run it, and what the name then holds is written as SVG. Seeds make the same
picture every time, but for answers with noise: that has no seed.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1] / "docs" / "tutorials" / "gallery"
PICTURES = HERE / "pictures"
LARGEST = 60_000
"""Bytes a picture may have."""
BLOCKS = re.compile(r"^(?:```python|<!-- setup)\n(.*?)^(?:```|-->)$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, Path]:
    """The pages that have a picture, by name."""
    return {page.stem: page for page in sorted(HERE.glob("*.md")) if page.stem != "index"}


def target(name: str) -> Path:
    """Where the picture of a page is."""
    return PICTURES / f"{name}.svg"


def code_of(text: str) -> list[str]:
    """The Python of a page from top to bottom, prompts and their output taken away."""
    return [statements(block) for block in BLOCKS.findall(text)]


def statements(block: str) -> str:
    r"""What is typed in a block.

    >>> statements(">>> 1 + 1\\n2\\n")
    '1 + 1\\n'
    """
    if not re.search(r"^\s*>>>", block, re.MULTILINE):
        return block
    typed = doctest.DocTestParser().get_examples(block)
    return "".join(example.source for example in typed if example.exc_msg is None)


def picture_of(text: str) -> Any:
    """What a page calls ``picture``; the page runs in an empty folder."""
    namespace: dict[str, Any] = {"__name__": "gallery"}
    quiet = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), quiet:
        for block in code_of(text):
            exec(block, namespace)
    return namespace["picture"]


def svg_of(chart: Any) -> str:
    """A chart as SVG."""
    import vl_convert

    return vl_convert.vegalite_to_svg(chart.to_dict(validate=False)) + "\n"


def main() -> int:
    """Write the pictures of the pages that are named; 1 when one is too large."""
    wanted = {
        name: page for name, page in pages().items() if not sys.argv[1:] or name in sys.argv[1:]
    }
    PICTURES.mkdir(exist_ok=True)
    for name, page in wanted.items():
        target(name).write_text(
            svg_of(picture_of(page.read_text(encoding="utf-8"))), encoding="utf-8"
        )
        print(f"{name}: {target(name).stat().st_size:,} bytes")
    return int(any(target(name).stat().st_size > LARGEST for name in wanted))


if __name__ == "__main__":
    sys.exit(main())
