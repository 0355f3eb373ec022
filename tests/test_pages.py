"""Pages of the documentation say whom they are for, and stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "_build" not in path.parts
}
INCLUDED = "```{include}"
WRITTEN = "<!-- Written by tools/"
MOST_WORDS = 46_000
"""Words that people write, all pages together: explain once, and link."""


def written_by_people(page: str) -> str:
    """A page without code, comments and the parts that tools write from docstrings."""
    if WRITTEN in page:
        return ""
    page = re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", "", page, flags=re.DOTALL)
    page = re.sub(r"^ *(```|~~~).*?^ *\1", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)


def first_paragraph(page: str) -> str:
    """The text below the title, without the note of the tool that wrote the page."""
    parts = [part for part in page.split("\n\n")[1:] if not part.startswith("<!--")]
    return parts[0]


@pytest.mark.parametrize("name", [name for name in PAGES if INCLUDED not in PAGES[name]])
def test_a_page_begins_with_whom_it_is_for(name: str) -> None:
    assert PAGES[name].startswith("# ")
    assert first_paragraph(PAGES[name]).startswith("For ")


def test_pages_stay_short() -> None:
    words = [
        word
        for page in PAGES.values()
        for word in written_by_people(page).split()
        if re.search(r"\w", word)
    ]
    assert len(words) <= MOST_WORDS
