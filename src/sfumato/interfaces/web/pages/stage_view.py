"""What all stages have in one tab: the page, and through it the workbench, project and recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Project


class StageView:
    """A stage in one tab; what it remembers outlives its redrawing."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench

    @property
    def project(self) -> Project:
        """The project that is open."""
        return self.workbench.project

    @property
    def recipe(self) -> Recipe:
        """The recipe in use."""
        return self.workbench.recipe
