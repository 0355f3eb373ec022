"""What every page has: the bar of stages, the strip of figures with undo and redo, what is under
way, and the promise that nothing leaves.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui
from nicegui.logging import log

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.pages.drawer import Drawer
from sfumato.interfaces.web.pages.partial_redraw import beside, exchange_contents
from sfumato.interfaces.web.pages.parts import Words, button, element, text
from sfumato.interfaces.web.pages.stages import Stage, all_stages
from sfumato.interfaces.web.pages.stale_gestures import Arriving
from sfumato.interfaces.web.pages.strip import UnderWay, draw_figures, draw_undo
from sfumato.interfaces.web.pages.tables import choice
from sfumato.interfaces.web.private_logging import bug_sentence

if TYPE_CHECKING:
    from sfumato.interfaces.web.workbench import Workbench

HEAD = (
    '<link rel="stylesheet" href="sfumato/tokens.css"><link rel="stylesheet"'
    ' href="sfumato/dark.css"><link rel="stylesheet" href="sfumato/workbench.css"><link'
    ' rel="stylesheet" href="sfumato/shell.css"><script type="module"'
    ' src="sfumato/focus.js"></script><script type="module" src="sfumato/hands.js"></script><script'
    ' type="module" src="sfumato/drag.js"></script><script type="module"'
    ' src="sfumato/shell.js"></script><script type="module" async src="sfumato/vega.js"></script>'
)
# Seconds that a part waits for its answers before it is shown without them.
AT_ONCE = 0.1
COLOURS = {"system": None, "light": False, "dark": True}


@dataclasses.dataclass(eq=False)
class LivePart:
    """A part that is being drawn: by whom, who still fills in what is shown already, and whether
    once more.
    """

    task: asyncio.Task[None] | None = None
    remainder: asyncio.Task[None] | None = None
    pending: bool = False


class Page:
    """One tab on one stage: what its parts are drawn from, and drawn anew with when something
    changes.
    """

    def __init__(self, stage: Stage, workbench: Workbench) -> None:
        self.stage = stage
        self.workbench = workbench
        self.client = ui.context.client
        # The version that this tab shows; an edit of another tab's version is refused.
        self.version = workbench.project.version
        self.messages = element("div", "messages")
        self._leave: list[Callable[[], None]] = []
        self._redraws: dict[int, Callable[[], None]] = {}
        self.client.on_delete(
            self._on_leave
        )  # a tab that was cut off for a moment comes back and goes on
        self.client.on_exception(self._broken)
        Arriving(self.client, self.say)
        self._leave.append(workbench.moves.listen(self._load_anew))

    def live(
        self,
        draw: Callable[[], Awaitable[None] | None],
        *,
        early: bool | Callable[[], bool] = False,
        tag: str = "div",
        classes: str = "",
    ) -> ui.element:
        """A part that is drawn now, and again whenever the recipe changes; what is the same as
        before stays in its place.

        ``draw`` fills the part; what it raises of ours is shown in its place. What was there stays
        until all is drawn; with ``early`` until the drawing waits for an answer that does not come
        at once.
        """
        container = element(tag, *classes.split())
        drawing = LivePart()

        async def once() -> None:
            drawing_beside = beside(container)
            part = asyncio.ensure_future(self._draw_part(draw, drawing_beside, container))
            soon = early() if callable(early) else early
            if soon or not container.default_slot.children:
                await asyncio.wait(
                    {part}, timeout=AT_ONCE if container.default_slot.children else 0
                )
                exchange_contents(drawing_beside, container)
                drawing.remainder = part
            await asyncio.wait({part})
            drawing.remainder = None

        async def all_of_it() -> None:
            while drawing.pending:
                drawing.pending = False
                await once()
            drawing.task = None

        def changed() -> None:
            self.version = self.workbench.project.version
            drawing.pending = True
            if drawing.task is None:
                drawing.task = asyncio.get_running_loop().create_task(all_of_it())
            elif drawing.remainder is not None:
                # what it waits for is about a recipe that is not in use any more
                drawing.remainder.cancel()

        self._leave.append(self.workbench.project.listen(changed))
        self._leave.append(self.workbench.openings.listen(changed))
        self._redraws[container.id] = changed
        changed()
        return container

    async def _draw_part(
        self, draw: Callable[[], Awaitable[None] | None], drawing: ui.element, container: ui.element
    ) -> None:
        """Draw a part beside the page, then put it into its place, without a moment between in
        which somebody could act on the old one.
        """
        with self.client, drawing:
            try:
                answer = draw()
                if answer is not None:
                    await answer
            except SfumatoError as error:
                self.complain(str(error))
            except Exception as error:  # noqa: BLE001
                # A part that fails is our bug; the others go on, and so does this one later.
                log.exception(error)
                self.complain(f"{bug_sentence(error)} Please report it.")
        exchange_contents(drawing, container)

    def redraw(self, container: ui.element) -> None:
        """Draw a live part again although the recipe is the same."""
        self._redraws[container.id]()

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
        """Wait for work that may be refused or cancelled; what is refused is said at the top of the
        page.
        """
        try:
            return await doing
        except SfumatoError as error:
            self.say(str(error))
            return None

    def say(self, words: str) -> None:
        """Say something at the top of the page, until it is dismissed."""
        with self.client, self.messages:
            self.messages.clear()  # so that the same words twice are said twice
            with element("div", "message", role="alert"):
                Words(words)
                button("Dismiss", self.messages.clear, "quiet", key="dismiss")

    def ask_for_table(self, words: str) -> None:
        """Say in place that there is no table yet and what to do, or that it is being read."""
        if self.workbench.reading:
            text(
                "The table is being read. This page shows it when it is ready.",
                "p",
                "soft",
                role="status",
            )
            return
        text(words, "p", "soft")
        text("Go to Data", "a", "button", href="./", key="to data")

    def complain(self, words: str) -> None:
        """Say in place what is wrong."""
        text(words, "p", "problem", role="alert")

    def leaving(self, leave: Callable[[], None]) -> None:
        """Do this when the tab is gone."""
        self._leave.append(leave)

    def _broken(self, error: Exception) -> None:
        """Show what is wrong: what we refuse in our words, all else as our bug, without what the
        error says, which may quote a person.
        """
        self.say(
            str(error)
            if isinstance(error, SfumatoError)
            else f"{bug_sentence(error)} Please report it."
        )

    def _load_anew(self) -> None:
        """Another project was opened: nothing that this tab shows is of it."""
        with self.client:
            ui.navigate.reload()

    def _on_leave(self) -> None:
        for leave in self._leave:
            leave()
        self._leave.clear()


def page_of(
    stage: Stage, workbench: Workbench, draw: Callable[[Page], Any]
) -> Callable[[], Awaitable[None]]:
    """A page: the shell around what a stage draws."""

    async def page() -> None:
        ui.add_head_html(HEAD)
        text("Skip to the work", "a", "skip", href="#work")
        page_drawn = Page(stage, workbench)
        colours = ui.dark_mode(COLOURS[workbench.colours])
        drawer = Drawer(page_drawn)
        _bar(page_drawn, drawer)
        with element("div", "strip"):
            page_drawn.live(lambda: draw_figures(page_drawn), early=True, classes="figures")
            page_drawn.live(lambda: draw_undo(page_drawn, drawer), classes="undo")
        page_drawn.messages.move(ui.context.slot.parent)
        drawer.attach()
        body = element("div", "body", id="work", tabindex=-1)
        UnderWay(page_drawn)
        _foot(page_drawn, colours)
        with body:
            inside = element("div")
            page_drawn.live(lambda: _onward(page_drawn))
        with inside:
            answer = draw(page_drawn)
            if answer is not None:
                await answer

    return page


def _onward(page: Page) -> None:
    """The way to the stage after this one, once there is a table; after Run, its outcome says where
    to go.
    """
    stages, workbench = all_stages(), page.workbench
    following = stages.index(page.stage) + 1
    if not workbench.ready or not page.stage.leads_on or following == len(stages):
        return
    stage = stages[following]
    with element("p", "next"):
        text(f"Next: {stage.name} →", "a", "button", href=stage.address, key="next stage")


def _bar(page: Page, drawer: Drawer) -> None:
    with element("header", "bar"):
        text("sfumato", "span", "brand")
        with element("nav", "stages", aria_label="Stages", tabindex=0):
            for stage in all_stages():
                current = {"aria_current": "page"} if stage is page.stage else {}
                with text(stage.name, "a", "stage", href=stage.address, **current):
                    if stage.counts:
                        page.live(functools.partial(_count, page, stage), tag="span")
        drawer.switch("recipe", "⟨⟩ Recipe")


async def _count(page: Page, stage: Stage) -> None:
    """How many problems are open at a stage; nothing where there are none, or none can be told."""
    try:
        count = await stage.import_module().open_problems(page.workbench)
    except SfumatoError:
        return
    if count:
        waiting = "1 open problem"
        if count != 1:
            waiting = f"{count:,} open problems"
        text(f"{count:,}", "span", "count", aria_label=waiting, role="img")


def _foot(page: Page, colours: ui.dark_mode) -> None:
    """What stays where, and the choice of light or dark."""
    workbench = page.workbench

    def choose(name: str) -> None:
        workbench.colours = "system"
        if name in COLOURS:
            workbench.colours = name
        colours.value = COLOURS[workbench.colours]

    with element("footer", "foot", "soft", "small"):
        where = "Everybody with this address can work with these data."
        if workbench.local:
            where = "Everything stays on this machine."
        page.live(lambda: _said_of_data(page, where), classes="where")
        names = {"system": "as the system", "light": "light", "dark": "dark"}
        choice("Colours", names, workbench.colours, choose, key="colours")


def _said_of_data(page: Page, where: str) -> None:
    project = page.workbench.project
    about = ""
    if project.data.name:
        about = f" {project.data.name} ·"
    Words(f"{where}{about} project {project.folder}")
