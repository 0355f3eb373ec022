"""The contents of a page: every section gets an anchor, and a list of them stands where the template asks for it."""

from __future__ import annotations

import re

PLACE = "<!-- contents -->"
"""What people wrote is escaped before it reaches a page, so only a template can hold this."""
_SECTION = re.compile(r"<section>\s*<h2>(.*?)</h2>")
FEWEST = 4


def with_contents(page: str) -> str:
    """The page with anchors, and with its contents where there are enough sections to need them.

    They follow from the page itself, so no section is forgotten and none is listed that is not there.

    >>> with_contents("<section><h2>One</h2></section>")
    '<section id="part-1"><h2>One</h2></section>'
    """
    titles = _SECTION.findall(page)
    places = iter(range(1, len(titles) + 1))
    anchored = _SECTION.sub(lambda found: f'<section id="part-{next(places)}">{found[0][len("<section>") :]}', page)
    return anchored.replace(PLACE, _listed(titles) if len(titles) >= FEWEST else "", 1)


def _listed(titles: list[str]) -> str:
    entries = "".join(f'<li><a href="#part-{i}">{title}</a></li>' for i, title in enumerate(titles, 1))
    return f'<nav class="contents" aria-label="On this page"><ul>{entries}</ul></nav>'
