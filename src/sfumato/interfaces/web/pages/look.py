"""The stage *Look*: what was released, beside what it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages import release_views
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.parts import button, element, hint, text, until_drawn
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import badge, choice, pager, tabs
from sfumato.interfaces.web.release_runs import make_version

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

# Columns that are drawn at once.
AT_ONCE = 6


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = LookStage(page)
    stage.place = page.live(stage.draw, early=lambda: stage.changed, classes="work figured")


class LookStage(StageView):
    """What one tab looks at: which release, which view of it, and where in that."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.tab = page.stage.views[0][0]
        # The version whose release is shown; 0: the newest.
        self.version = 0
        self.release: Fields = {}
        self.first = {"columns": 0, "rows": 0}
        self.pair: list[str] = []
        # The column that is predicted.
        self.target = ""
        self.which = "all"
        self.row: int | None = None
        self.page_of_report = "owner"
        self.seconds = 20
        # Risks, in percent: what a record may have, and the share of the population in the file.
        self.threshold, self.fraction = 20.0, 0.0
        self.drawn: tuple[str, int] | None = None

    async def ask(self, task: str, **arguments: Any) -> Any:
        """What the bench says of the release that is shown."""
        return await self.workbench.worker.ask(task, of=self.version, **arguments)

    @property
    def changed(self) -> bool:
        """Whether another view or another release is asked for than what is drawn: then that is
        said at once, and what was there is gone.
        """
        return self.drawn != (self.tab, self.project.version)

    async def make(self) -> None:
        """Make the release of the recipe in use."""
        version = self.project.version
        outcome = await self.page.wait_for(make_version(self.workbench, version))
        if outcome is None:
            return
        if not outcome.get("made", True):
            message = outcome.get("message", "Nothing could be released.")
            self.page.say(f"{message} The stage Run says what would help.")
            return
        self.version = version

    def known_as(self, subject: str) -> str:
        """What is found about a release is known by when that was made: made again it is another
        one.
        """
        return f"{subject} {self.version} {self.release['created']}"

    # drawing

    async def draw(self) -> None:
        """Draw all of it."""
        project = self.project
        drawn_for = (self.tab, project.version)
        text("What would others get?", "h1")
        if not self.workbench.ready:
            self.page.ask_for_table("Open a table first; there is nothing to look at yet.")
            return
        with until_drawn():
            versions = await self.workbench.worker.ask("made_versions")
            if versions:
                if project.version in versions:
                    self.version = project.version
                elif self.version not in versions:
                    self.version = versions[-1]
                self.release = await self.ask("look")
        if not versions:
            text(
                "There is no release yet. A release is made from the current recipe; nothing is "
                "written.",
                "p",
            )
            button("Make the release", self.make, "strongly", key="make")
            return
        draw_blocks(self.release["blocks"])
        old = self.version != project.version
        if old:
            with element("div", "row"):
                badge(f"for version {self.version}")
                words = f"Make the release of version {project.version}"
                button(words, self.make, "strongly", key="make")
        views = dict(self.page.stage.views)
        tabs("Views of the release", list(views), self.tab, lambda name: self.change_view(tab=name))
        with element("div", "panel", old and "old"), until_drawn():
            task = views[self.tab]
            if task in OWN_VIEWS:
                await OWN_VIEWS[task](self)
            else:
                draw_blocks(await self.ask(task))
        self.drawn = drawn_for


async def _columns(stage: LookStage) -> None:
    """Every column before and after, a few at a time."""
    names, first = stage.release["shown"], stage.first["columns"]
    cards = await stage.ask("look_columns", names=names[first : first + AT_ONCE])
    if len(names) > AT_ONCE:
        pager("columns", (first, AT_ONCE, len(names)), lambda at: turn(stage, "columns", at))
    hint(
        "Grey outline: before. Blue: after; coarse values are spread over the values they may "
        "stand for."
    )
    with element("div", "cards"):
        for blocks in cards:
            with element("section", "card"):
                draw_blocks(blocks)


def turn(stage: LookStage, part: str, first: int) -> None:
    """Go to another page of columns or rows."""
    stage.change_view(first={**stage.first, part: first})


async def _pairs(stage: LookStage) -> None:
    """Two columns together, before and after."""
    names = stage.release["shown"]
    if len(names) < 2:
        text("Two columns are needed to look at them together.", "p")
        return
    if len(set(stage.pair)) != 2 or not set(stage.pair) <= set(names):
        stage.pair = names[:2]
    first, second = stage.pair
    options = {name: name for name in names}

    def choose(position: int, name: str) -> None:
        # both cannot be the same: one that is taken changes sides
        pair = [second, first]
        if name not in pair:
            pair = [name, second] if position == 0 else [first, name]
        stage.change_view(pair=pair)

    with element("div", "row", "controls"):
        choice("columns", options, first, lambda name: choose(0, name), key="one column")
        choice("and", options, second, lambda name: choose(1, name), key="other column")
    draw_blocks(await stage.ask("look_pair", first=first, second=second))


# Views that have controls of their own; the others show the blocks of their task.
OWN_VIEWS = {
    "look_columns": _columns,
    "look_pair": _pairs,
    "look_rows": release_views.rows,
    "look_risks": release_views.risks,
    "look_attacks": release_views.attacks,
    "measure": release_views.utility,
    "look_prediction": release_views.prediction,
    "draft_reports": release_views.report,
}
