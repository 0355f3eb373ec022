"""The stage *Run*: make the release, follow the search, and read what came out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sfumato.core.blocks import Block, Cell, Heading, ListBlock, Paragraph, TableBlock
from sfumato.core.words import count_of, join_words
from sfumato.interfaces.web.catalogue import title_of
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import Words, button, element, text
from sfumato.interfaces.web.pages.sensitive_columns import SensitiveColumns
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.strip import UnderWay
from sfumato.interfaces.web.release_runs import begin, outcomes_of

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.workbench import Underway


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = RunStage(page)
    with element("div", "run"):
        text("Does the recipe lead to a release?", "h1")
        page.live(stage.draw_start, early=True, classes="start")
        page.live(SensitiveColumns(page).draw)
        RunUnderWay(page)
        page.live(stage.draw_outcome, classes="outcome")


class RunStage(StageView):
    """The stage in one tab."""

    @property
    def outcomes(self) -> dict[int, Fields]:
        """What came of the versions that were run, by number."""
        outcomes: dict[int, Fields] = outcomes_of(self.workbench)
        return outcomes

    async def draw_start(self) -> None:
        """The button, and how much there is to search."""
        if not self.workbench.ready:
            self.page.ask_for_table("Open a table first, on the stage Data.")
            return
        with element("div", "startrow"):
            button("Make the release", self.start, "strongly", key="make")
            beside = element("span", "soft", role="status")
            with beside:
                count_words = Words("…")
        count = (await self.workbench.answer("combinations"))["combinations"]
        count_words.say("" if count is None else f"{count_of(count, 'combination')} of levels")

    def start(self) -> None:
        """Begin a run of the version in use; it goes on when this tab is closed."""
        begin(self.workbench)

    def draw_outcome(self) -> None:
        """What came out of the newest run, and for which version."""
        outcomes = self.outcomes
        version = self.project.version
        number = version if version in outcomes else max(outcomes, default=None)
        if number is None:
            if self.workbench.ready:
                draw_blocks(plan_blocks(self.recipe))
            return
        outcome = outcomes[number]
        old = number != version
        with element("div", old and "old"):
            if old:
                text(
                    f"for version {number}; the recipe changed meanwhile",
                    "p",
                    "soft",
                    role="status",
                )
            self._outcome(outcome, number)

    def _outcome(self, outcome: Fields, number: int) -> None:
        if outcome.get("said"):
            text(
                outcome["said"],
                "p",
                *(["problem"] if outcome.get("failed") else ["strong"]),
                role="status",
            )
        elif outcome["made"]:
            show(outcome)
        else:
            with element("section", "card"):
                draw_blocks(outcome["blocks"])
                with element("div", "buttons"):
                    for at, way in enumerate(outcome["ways"]):
                        button(
                            way["words"], lambda way=way: self.take(way, number), key=f"way-{at}"
                        )

    def take(self, way: Fields, number: int) -> None:
        """Make one of the offered changes; only to the version it was worked out for."""
        if number != self.project.version:
            self.page.say("The recipe changed meanwhile. Run it again to get its changes.")
            return
        self.page.edit(way["recipe"], way["sentence"])


class RunUnderWay(UnderWay):
    """How far the run is: its version, how much is decided, in words, since when, and a way to end
    it.
    """

    def update(self) -> None:
        """Show the run as it is now; other work is shown at the foot of the page alone."""
        job = self.workbench.job
        if job is None or job.task == "make":
            super().update()
        elif self.shown is not None:
            self.shown = None
            with self.page.client, redrawn(self.place):
                pass

    def _draw(self, job: Underway) -> None:
        begun = time.time() - (time.monotonic() - job.started)
        with element("div", "card", "runjob"):
            text(f"Making the release for version {job.version}", "h2")
            self.bar = element("progress", max=1, aria_label="Progress of the run")
            with element("p"):
                with element("span"):
                    self.words = Words("")
                element("span", "soft", "number", data_started=int(begun * 1000))
            button(
                "Cancel",
                self.workbench.cancel,
                key="cancel-run",
                data_is=begun,
                label="Cancel the run",
            )


# what will be done, and what came out


def plan_blocks(recipe: Recipe) -> list[Block]:
    """What a run will do, before there is one: columns by what becomes of them, steps, promises."""
    schema = recipe.schema
    roles = (
        ("dropped", schema.dropped_columns),
        ("made coarser or suppressed", schema.quasi),
        ("sensitive", schema.sensitive),
    )
    rows: list[tuple[Cell, ...]] = [
        (words, len(columns), join_words(columns)) for words, columns in roles if columns
    ]
    steps = [title_of(step.name) for step in recipe.steps]
    promises = [model.promise for model in recipe.meet]
    conditions = [
        ("Steps, in this order", steps or ["no step: only columns are dropped"]),
        ("Promises", promises or ["nothing is promised yet"]),
    ]
    blocks: list[Block] = [
        Heading("What the run will do"),
        TableBlock(("columns", "how many", "which"), tuple(rows)),
    ]
    blocks += [ListBlock(tuple(entries), title) for title, entries in conditions]
    closing = "Then everything is judged again. Nothing is written."
    return [*blocks, Paragraph(closing, "quiet")]


def show(outcome: Fields) -> None:
    """A release as the command line tells it: the headline first."""
    draw_blocks(outcome["blocks"])
    with element("p", "next"):
        text("Decide who may have it →", "a", "button", "strongly", href="decide", key="to decide")
        for words, path in (
            ("Explore others", "explore"),
            ("Look at it", "look"),
            ("Write it", "write"),
        ):
            text(words, "a", "link", href=path)
