"""Rows of the table, a page at a time: for the owner's eyes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import AS_TYPED, Words, button, element, text
from sfumato.interfaces.web.pages.widgets import RowGrid

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

PAGE = "(event) => emit(Number(event.target.value) || 1)"


class RowPages:
    """A page of rows, and what this tab was asked to show of it. Nothing of that is kept: another
    visit begins anew.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.at = 1
        self.sort: str | None = None
        self.descending = False
        self.shown: list[str] = []

    def draw(self) -> None:
        """Draw the frame; :meth:`fill` puts the rows in."""
        with element("div", "tools"):
            text("owner's eyes only", "span", "tag")
            self._turner("First", lambda: 1)
            self._turner("Previous", lambda: self.at - 1)
            self.number = element("span")
            with element("span", "soft", "small"):
                self.of = Words("of …")
            self._turner("Next", lambda: self.at + 1)
            self._turner("Last", lambda: -1)
        self.grid = RowGrid(
            label="rows of the table", columns=[], numbers=[], cells=[], sort="", descending=False
        )
        self.grid.on("sort", lambda event: self._sorted(event.args))
        self.grid.on("show", lambda event: self._show(event.args))
        self.grid.on("hide", lambda event: self._hide(event.args))

    def _turner(self, words: str, page: Callable[[], int]) -> None:
        """A button that leads to another page."""
        name = f"{words.lower()} page"
        button(words, lambda: self._go(page()), "quiet", key=name, label=f"{name} of rows")

    async def fill(self) -> None:
        """Ask for the rows; the answer is shown and not remembered."""
        arguments: Fields = {
            "sort": self.sort,
            "descending": self.descending,
            "revealed": list(self.shown),
        }
        at = self.at if self.at > 0 else 1 << 40
        recipe = self.page.workbench.recipe
        answer = await self.page.workbench.worker.ask("rows", recipe=recipe, page=at, **arguments)
        self.at, self.sort = answer["page"], answer["sort"]
        with self.page.client:
            columns = [
                {**column, "shown": column["name"] in self.shown} for column in answer["columns"]
            ]
            self.grid.fill(
                columns=columns,
                numbers=answer["numbers"],
                cells=answer["cells"],
                sort=self.sort or "",
                descending=self.descending,
            )
            self._number(answer["pages"])
            self.of.say(f"of {answer['pages']:,} · {answer['records']:,} rows")

    def _number(self, pages: int) -> None:
        """The page that is shown, to be typed over."""
        about = {
            "type": "number",
            "min": 1,
            "max": pages,
            "aria_label": "page of rows",
            AS_TYPED: self.at,
        }
        with redrawn(self.number):
            entry = element("input", "field", "short", key="page of rows", **about)
            entry.on("change", lambda event: self._go(event.args), js_handler=PAGE)

    async def _go(self, page: int) -> None:
        self.at = page if page > 0 or page == -1 else 1
        await self.page.wait_for(self.fill())

    async def _sorted(self, column: str) -> None:
        if self.sort == column and self.descending:
            self.sort, self.descending = None, False
        else:
            self.descending = self.sort == column
            self.sort = column
        await self._go(1)

    async def _show(self, column: str) -> None:
        self.shown.append(column)
        await self._go(self.at)

    async def _hide(self, column: str) -> None:
        self.shown = [name for name in self.shown if name != column]
        await self._go(self.at)
