"""The stage *Data*: open a table, see its columns, say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.web.pages.parts import button, text

if TYPE_CHECKING:
    from sfumato.web.pages.shell import Page


def draw(page: Page) -> None:
    """Draw the stage."""
    page.live(lambda: _opened(page) if page.workbench.opened else _empty(page))


def _empty(page: Page) -> None:
    text("Open a table", "h1")
    button("Try the invented hospital", lambda: page.wait_for(page.workbench.open(example="hospital")), key="hospital")


async def _opened(page: Page) -> None:
    text("What are the columns?", "h1")
    today = await page.workbench.answer("today")
    text(f"{sum(today['records']):,} records, {today['records'][0]:,} of them alone", "p")
