"""The stage *run*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.web.pages.parts import text

if TYPE_CHECKING:
    from sfumato.web.pages.shell import Page


def draw(page: Page) -> None:
    """Draw the stage."""
    text("Run", "h1")
