"""Fail when a built page would fetch anything from the network: scripts, styles, fonts, pictures,
frames.

Links a reader may click are fine. Usage: ``python tools/check_offline.py docs/_build/html``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

FETCHING_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "modulepreload",
    "manifest",
    "preconnect",
    "dns-prefetch",
}
REMOTE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
REMOTE_IN_CSS = re.compile(
    r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s;]+)""", re.IGNORECASE
)


class Assets(HTMLParser):
    """Collects the remote addresses that opening a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.remote: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes that make a browser fetch something."""
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        fetched = [given[name] for name in ("src", "poster", "data") if name in given]
        fetched += [part.strip().split(" ")[0] for part in given.get("srcset", "").split(",")]
        if tag == "link" and FETCHING_LINKS & set(given.get("rel", "").lower().split()):
            fetched.append(given.get("href", ""))
        self.remote += [address for address in fetched if REMOTE.match(address)]
        self.remote += REMOTE_IN_CSS.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Look into inline styles."""
        if self._in_style:
            self.remote += REMOTE_IN_CSS.findall(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an inline style."""
        if tag == "style":
            self._in_style = False


def remote_assets(page: str) -> list[str]:
    """The remote addresses that opening this HTML text would fetch."""
    parser = Assets()
    parser.feed(page)
    parser.close()
    return parser.remote


def findings(folder: Path) -> Iterator[str]:
    """One line for each remote asset of the pages and style sheets below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".html":
            remote = remote_assets(path.read_text(encoding="utf-8"))
        elif path.suffix == ".css":
            remote = REMOTE_IN_CSS.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        yield from (f"{path}: {address}" for address in remote)


def main() -> int:
    """Print what was found; 1 when there was any, 2 when there is nothing to look at."""
    folder = Path(sys.argv[1])
    pages = len(list(folder.rglob("*.html")))
    if not pages:
        print(f"{folder} holds no HTML page")
        return 2
    found = list(findings(folder))
    print(
        "\n".join(found)
        if found
        else f"{folder}: {pages} pages, none fetches anything from the network"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
