"""The gallery: every page calls one thing its picture, and every picture is there, shown and
small.
"""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "gallery.py"))
PAGES = {name: page.read_text(encoding="utf-8") for name, page in TOOL["pages"]().items()}
INDEX = (TOOL["HERE"] / "index.md").read_text(encoding="utf-8")


def test_the_tool_makes_the_pictures_that_are_there():
    assert len(PAGES) >= 9
    assert {path.name for path in TOOL["PICTURES"].iterdir()} == {
        TOOL["target"](name).name for name in PAGES
    }


@pytest.mark.parametrize("name", PAGES)
def test_a_page_makes_and_shows_its_own_picture(name):
    assert (
        sum(
            len(re.findall(r"^picture = ", block, re.MULTILINE))
            for block in TOOL["code_of"](PAGES[name])
        )
        == 1
    )
    assert re.findall(r"pictures/(\w+)\.svg", PAGES[name]) == [name]
    assert "## Read next" in PAGES[name]
    assert (
        f"]({name}.md)" in INDEX
        and f"pictures/{name}.svg" in INDEX
        and re.search(rf"^{name}$", INDEX, re.MULTILINE)
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_small_and_whole(name):
    path = TOOL["target"](name)
    assert path.stat().st_size <= TOOL["LARGEST"]
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg") and float(root.get("width", 0)) > 300


def test_what_a_page_calls_its_picture_is_drawn():
    page = (
        "```python\nfrom sfumato.core.drawing import Drawing\npaper = Drawing(40,"
        " 30)\npaper.text(5, 5, 'seen')\n```\n\n```python\n>>> 1 + 1\n2\n>>> picture ="
        " paper.chart()\n\n```\n"
    )
    drawn = TOOL["svg_of"](TOOL["picture_of"](page))
    assert 'width="40"' in drawn and ">seen</text>" in drawn


def test_prompts_and_their_output_are_taken_away():
    assert (
        TOOL["statements"](">>> for x in (1, 2):\n...     print(x)\n1\n2\n")
        == "for x in (1, 2):\n    print(x)\n"
    )
    assert (
        TOOL["statements"](
            ">>> 1 / 0\nTraceback (most recent call last):\n...\nZeroDivisionError: ...\n"
        )
        == ""
    )
