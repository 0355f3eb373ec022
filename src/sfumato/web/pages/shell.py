"""What every page has: the bar of stages, the strip of figures with undo and redo, what is under way, and the promise that nothing leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.web.pages.parts import Words, button, element, text
from sfumato.web.pages.stages import STAGES, Stage

if TYPE_CHECKING:
    from sfumato.web.workbench import Workbench

HEAD = (
    '<link rel="stylesheet" href="/sfumato/workbench.css"><script type="module" src="/sfumato/focus.js"></script>'
    '<script type="module" src="/sfumato/vega.js"></script>'
)


class Page:
    """One tab on one stage: what its parts are drawn from, and drawn anew with when something changes."""

    def __init__(self, stage: Stage, workbench: Workbench) -> None:
        self.stage = stage
        self.workbench = workbench
        self.client = ui.context.client
        self.version = workbench.project.version
        """The version that this tab shows; an edit of another tab's version is refused."""
        self.messages = element("div", "messages")
        self._leave: list[Callable[[], None]] = []
        self._redraws: dict[int, Callable[[], None]] = {}
        self.client.on_disconnect(self._left)

    def live(
        self, draw: Callable[[], Awaitable[None] | None], *, job: bool = False, tag: str = "div", classes: str = ""
    ) -> ui.element:
        """A part that is drawn now, and again whenever the recipe changes (with ``job``: whenever work goes on or ends).

        ``draw`` fills the part; what it raises of ours is shown in its place.
        """
        place = element(tag, *classes.split())
        drawing: dict[str, Any] = {"task": None, "again": False}

        async def once() -> None:
            with self.client, place:
                place.clear()
                try:
                    answer = draw()
                    if answer is not None:
                        await answer
                except SfumatoError as error:
                    self.complain(str(error))

        async def drawn() -> None:
            drawing["again"] = True
            while drawing["again"]:
                drawing["again"] = False
                await once()
            drawing["task"] = None

        def changed() -> None:
            self.version = self.workbench.project.version
            drawing["again"] = True
            if drawing["task"] is None:
                drawing["task"] = asyncio.get_running_loop().create_task(drawn())

        source = self.workbench if job else self.workbench.project
        self._leave.append(source.listen(changed))
        if not job:
            self._leave.append(self.workbench.listen_opened(changed))
        self._redraws[place.id] = changed
        changed()
        return place

    def redraw(self, place: ui.element) -> None:
        """Draw a live part again although the recipe is the same."""
        self._redraws[place.id]()

    def edit(self, recipe: Any, sentence: str) -> None:
        """Make a recipe the one in use; where it cannot be, say why in place."""
        self.attempt(lambda: self.workbench.edit(recipe, sentence, based_on=self.version))

    def attempt(self, act: Callable[[], Any]) -> Any:
        """Do something that may be refused; what is refused is said at the top of the page."""
        try:
            return act()
        except SfumatoError as error:
            self.say(str(error))
            return None

    async def wait_for(self, doing: Awaitable[Any]) -> Any:
        """Wait for work that may be refused or cancelled; what is refused is said at the top of the page."""
        try:
            return await doing
        except SfumatoError as error:
            self.say(str(error))
            return None

    def say(self, words: str) -> None:
        """Say something at the top of the page, until it is dismissed."""
        with self.client, self.messages:
            self.messages.clear()
            with element("div", "message", role="alert"):
                Words(words)
                button("Dismiss", self.messages.clear, "quiet", key="dismiss")

    def complain(self, words: str) -> None:
        """Say in place what is wrong."""
        text(words, "p", "problem", role="alert")

    def _left(self) -> None:
        for leave in self._leave:
            leave()
        self._leave.clear()


def page_of(stage: Stage, workbench: Workbench, draw: Callable[[Page], Any]) -> Callable[[], Awaitable[None]]:
    """A page: the shell around what a stage draws."""

    async def page() -> None:
        ui.add_head_html(HEAD)
        here = Page(stage, workbench)
        _bar(here)
        here.live(lambda: _strip(here), classes="strip")
        here.messages.move(ui.context.slot.parent)
        body = element("div", "body")
        here.live(lambda: _under_way(here), job=True, classes="underway")
        _foot(here)
        with body:
            answer = draw(here)
            if answer is not None:
                await answer

    return page


def _bar(page: Page) -> None:
    with element("header", "bar"):
        text("sfumato", "span", "brand")
        with element("nav", "stages", aria_label="Stages"):
            for stage in STAGES:
                current = {"aria_current": "page"} if stage is page.stage else {}
                text(stage.name, "a", "stage", href=stage.path, **current)


async def _strip(page: Page) -> None:
    """The figures that are always in sight, and the history."""
    project, opened = page.workbench.project, page.workbench.opened
    if opened is not None:
        _figure("records", f"{opened['records']:,}")
    if project.has_recipe:
        promised = " · ".join(model.promise for model in project.recipe.meet) or "none yet"
        _figure("promise", promised)
    with element("div", "undo"):
        button("Undo", lambda: page.attempt(project.undo), key="undo", disabled=not project.can_undo)
        button("Redo", lambda: page.attempt(project.redo), key="redo", disabled=not project.can_redo)
        entry = project.entry
        if entry is not None:
            text(f"v{entry.version} · {entry.sentence}", "span", "soft", "small", role="status")


def _figure(term: str, value: str) -> None:
    with element("div", "figure"):
        text(term, "span", "soft", "small")
        text(value, "span", "value")


def _under_way(page: Page) -> None:
    job = page.workbench.job
    if job is None:
        return
    with element("div", "job", role="status"):
        text(f"{job.title} · {job.words or '…'} · {job.share:.0%}")
        element("progress", value=job.share, max=1, aria_label=job.title)
        button("Cancel", page.workbench.cancel, key="cancel")


def _foot(page: Page) -> None:
    project = page.workbench.project
    with element("footer", "foot", "soft", "small"):
        Words(f"Everything stays on this machine. Project {project.folder.name}")
