"""Every relative link of README and docs leads to a file, and to a heading or label in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in p.parts),
]
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)


def without_code(text: str) -> str:
    """A page without its code, in which brackets are no links."""
    return re.sub(r"^ *(```|~~~).*?^ *\1|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """What a link may name after ``#``: labels, and headings in small letters with hyphens."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    slugs = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(text)
    }
    return slugs | set(LABEL.findall(text))


def dead_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    dead = []
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (
            anchor and anchor not in anchors(file.read_text(encoding="utf-8"))
        ):
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n\n[a](#a-title) [b](#b) [c](other.md) `[d](none.md)`\n")
    assert dead_links(page) == ["#b", "other.md"]
