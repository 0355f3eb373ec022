"""What all stages have in one tab: the page, and through it the workbench, project and recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Project


class StageView:
    """A stage in one tab; what it remembers outlives its redrawing."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench
        self.place: Any = None  # the live part that is drawn again when another view is asked for

    def change_view(self, **changes: Any) -> None:
        """Draw the stage again with something changed, such as ``view="Lattice"``."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.page.redraw(self.place)

    @property
    def project(self) -> Project:
        """The project that is open."""
        return self.workbench.project

    @property
    def recipe(self) -> Recipe:
        """The recipe in use."""
        return self.workbench.recipe
