"""Entering all pages in the application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from sfumato.interfaces.web.pages import assets, release_views, shell, upload_route
from sfumato.interfaces.web.pages.stages import all_stages

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench


def enter(app: Any, workbench: Workbench) -> None:
    """Enter all pages in the application."""
    assets.enter(app, workbench)
    upload_route.enter(app, workbench)
    release_views.enter(app, workbench)
    for stage in all_stages():
        draw = stage.import_module().draw
        ui.page(stage.path, title=f"{stage.name} · sfumato")(shell.page_of(stage, workbench, draw))
