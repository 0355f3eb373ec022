"""The stage *Decide*: who may have the release, what limits that, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.interfaces.web.decisions import (
    begin_decision,
    is_deciding,
    known_decision,
    state_of_decision,
)
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.parts import button, element, hint, section, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import badge
from sfumato.interfaces.web.release_runs import decisions_of
from sfumato.interfaces.web.requests import ContextRequest

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = DecideStage(page)
    text("Who may have the release?", "h1")
    page.live(stage.draw_context)
    page.live(stage.draw_start, classes="start")
    stage.place = page.live(stage.draw_decision, classes="decision")
    page.leaving(page.workbench.work.listen(stage.work_changed))


class DecideStage(StageView):
    """The stage in one tab."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.busy = False

    def work_changed(self) -> None:
        """Draw the decision anew where one begins or ends."""
        busy = is_deciding(self.workbench)
        if busy != self.busy:
            self.busy = busy
            self.page.redraw(self.place)

    def draw_context(self) -> None:
        """The questions about the context; the project keeps the answers."""
        if not self.workbench.ready:
            self.page.ask_for_table("Open a table first, on the stage Data.")
            return
        answered = bool(self.project.context)
        attributes: Fields = {} if answered else {"open": True}
        with element("details", "options", "context", **attributes):
            words = "Who receives it, and what you assume"
            text(words, "summary", key="context")
            hint("What you leave unknown counts as the worst case. Nothing is checked for you.")
            values = ContextRequest.fields_of(self.project.context)
            options = FormOptions(values=values, folded=False)
            DrawnForm(ContextRequest, None, "context", self._answered, options).draw()

    def _answered(self, request: ContextRequest, _: Any) -> None:
        self.page.attempt(lambda: self.project.set_context(request.document()))

    def draw_start(self) -> None:
        """The button, which names the version it is about."""
        if not self.workbench.ready:
            return
        version = self.project.version
        words = f"Decide about version {version}"
        if state_of_decision(self.workbench, version) == "current":
            words = f"Decide about version {version} again"
        button(words, self.start, "strongly", key="decide")
        hint(
            "The release is made if necessary, written to a private folder, read back, attacked "
            "and removed. That takes from seconds to minutes."
        )

    def start(self) -> None:
        """Begin to decide; it goes on when this tab is closed."""
        begin_decision(self.workbench)

    def draw_decision(self) -> None:
        """What was decided last, and whether it is about the version in use."""
        if not self.workbench.ready:
            return
        decisions, version = decisions_of(self.workbench), self.project.version
        number = version if version in decisions else max(decisions, default=None)
        if number is None:
            known = known_decision(self.project)
            words = "Nothing is decided yet. Until then nobody should have it."
            if known is not None:
                words = f"Version {known.version} was decided on before: {known.words}. "
                words += f"{known.reason} Decide again to see what would help."
            text(words, "p", "soft")
            return
        decision = decisions[number]
        if "tier" not in decision:
            self.page.complain(decision["said"])
            return
        outdated = ""
        if number != version:
            outdated = f"for version {number}; the recipe changed meanwhile"
        elif state_of_decision(self.workbench, version) == "outdated":
            outdated = "for other answers; decide again"
        with element("div", outdated and "old"):
            if outdated:
                badge(outdated)
            draw_blocks(decision["head"])
            with element("div", "sidebyside"):
                if decision["limit"] is not None:
                    with section("What limits it", "card", "limiting", level=2):
                        draw_blocks(decision["limit"])
                    with section("What would help", "card", "helpful", level=2):
                        self._draw_changes(decision, number)
            draw_blocks(decision["rest"])

    def _draw_changes(self, decision: Fields, number: int) -> None:
        """The changes that were measured, each with its button."""
        if "changes" not in decision:
            words = decision.get("said") or "Single changes are being tried. This takes a while."
            text(words, "p", "soft", role="status")
            return
        if not decision["changes"]:
            text("No single change that was tried helps. Choose other promises or steps.", "p")
        for position, change in enumerate(decision["changes"]):
            with element("div", "change"):
                text(change["words"], "p", "strong")
                if change["leaves"]:
                    hint(f"measured: {change['leaves']}")
                button(
                    "Apply",
                    lambda change=change: self.take(change, number),
                    key=f"change-{position}",
                    label=f"Apply: {change['words']}",
                )

    def take(self, change: Fields, number: int) -> None:
        """Make one of the measured changes; only to the version it was measured for."""
        if number != self.project.version:
            self.page.say("The recipe changed meanwhile. Decide again to get its changes.")
            return
        if "answers" in change:
            answers = {**self.project.context, **change["answers"]}
            self.page.attempt(lambda: self.project.set_context(answers))
        elif change["recipe"] is not None:
            self.page.edit(change["recipe"], change["sentence"])
