"""The panel at the side: the recipe as text, as a script, a command or a notebook, and the
history.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nicegui import ui

from sfumato.errors import RecipeError, SfumatoError
from sfumato.interfaces.web.changes import changes
from sfumato.interfaces.web.exports import KINDS, export_text
from sfumato.interfaces.web.pages.forms import TOO_LONG
from sfumato.interfaces.web.pages.history import MANY, VersionHistory, draw_changes
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import AS_TYPED_IN_AREA, Words, button, element, hint, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pasted_recipes import recipe_of_text

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

BEGUN = "(event) => { event.target.dataset.begun ??= event.target.dataset.version }"
# What was typed, and on which version that was begun: the page may show a later one by now.
TYPED = (
    "(event) => emit(window.sfumato.sent(event.target.value), event.target.dataset.begun ??"
    " event.target.dataset.version)"
)


class Drawer(StageView):
    """One panel a tab, closed at first. It is drawn anew when the recipe changes; text that was
    typed and not applied stays.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.shown = ""
        self.kind = "recipe"
        self.history = VersionHistory(self)
        self.draft: str | None = None
        self.reading = False
        # The version that the draft was begun on.
        self.begun = 0
        self._switches: dict[str, list[ui.element]] = {}

    def attach(self) -> None:
        """Put the panel here."""
        self.aside = element(
            "aside", "drawer", id="drawer", tabindex=-1, aria_label="Recipe and history"
        )
        with self.aside:
            self.place = self.page.live(self._draw)
        self._tell()

    def switch(self, view: str, words: str, *classes: str) -> None:
        """A button that opens or closes the panel with the recipe or the history."""
        opener = button(
            words, lambda: self.toggle(view), *classes, key=f"open {view}", aria_controls="drawer"
        )
        opener.props["aria-expanded"] = "true" if self.shown == view else "false"
        self._switches.setdefault(view, []).append(opener)

    def toggle(self, view: str) -> None:
        """Open the panel with this, or close it when this is what it shows."""
        self.shown = "" if self.shown == view else view
        self._tell()
        if self.shown:
            self.aside.run_method("focus")

    def close(self) -> None:
        """Close the panel; the focus goes back to what opened it."""
        opener = next(
            (
                switch
                for switch in self._switches.get(self.shown, ())[::-1]
                if not switch.is_deleted
            ),
            None,
        )
        self.shown = ""
        self._tell()
        if opener is not None:
            opener.run_method("focus")

    def _tell(self) -> None:
        for view, openers in self._switches.items():
            self._switches[view] = [opener for opener in openers if not opener.is_deleted]
            for opener in self._switches[view]:
                opener.props["aria-expanded"] = "true" if self.shown == view else "false"
                opener.update()
        if self.shown:
            self.aside.classes(add="open")
        else:
            self.aside.classes(remove="open")
        self.page.redraw(self.place)

    def _draw(self) -> None:
        if not self.shown:
            return
        with element("div", "drawerhead"):
            text("Take it away" if self.shown == "recipe" else "History", "h2")
            button("Close", self.close, "quiet", key="close drawer", label="Close the panel")
        if not self.project.has_recipe:
            text("There is no recipe yet; open a table first.", "p", "soft")
        elif self.shown == "recipe":
            self._draw_kinds()
        else:
            self.history.draw()

    # the recipe, as text and as what it can become

    def _draw_kinds(self) -> None:
        with element("div", "segments", role="group", aria_label="Show it as"):
            for kind in KINDS:
                pressed = kind == self.kind
                button(
                    KINDS[kind].title,
                    lambda kind=kind: self.change_view(kind=kind),
                    key=f"as {kind}",
                    aria_pressed=pressed,
                )
        hint(KINDS[self.kind].meaning)
        name, words = export_text(self.project, self.kind)
        if self.kind == "recipe":
            self._draw_editor(words)
        else:
            with element(
                "pre", "code", "mono", id="taken", tabindex=0, aria_label=KINDS[self.kind].title
            ):
                Words(words)
        with element("div", "row"):
            if self.kind == "recipe":
                button("Apply", self._apply, "strongly", key="apply")
                if self.draft is not None:
                    button(
                        "Load the current recipe",
                        lambda: self.change_view(draft=None),
                        key="forget draft",
                    )
            button("Copy", lambda: None, key="copy", data_copies="taken")
            text(
                "Save",
                "a",
                "button",
                href=f"sfumato/take/{name}",
                download=name,
                **{"data-key": "save"},
            )
            element("span", "soft", "small", id="copied", role="status")
        if self.kind == "recipe":
            self._draw_last_change()

    def _draw_editor(self, words: str) -> None:
        project = self.project
        changed = self.draft is not None and self.begun != project.version
        if changed:
            self.page.complain(
                "The recipe changed while you were typing. Apply is refused until you load the "
                "current recipe."
            )
        current = words if self.draft is None else self.draft
        about = {
            "id": "taken",
            "rows": 24,
            "spellcheck": "false",
            "wrap": "off",
            "aria-label": "The recipe as text",
        }
        area = element("textarea", "code", "mono", key="recipe text", data_draft=True, **about)
        area.props[AS_TYPED_IN_AREA] = current
        area.props["data-version"] = project.version
        area.on("input", js_handler=BEGUN)
        area.on(
            "change",
            lambda event: self._typed(event.args[0], words, int(event.args[1])),
            js_handler=TYPED,
        )
        self.problems = element("div", "problems")

    def _draw_last_change(self) -> None:
        project = self.project
        entry = project.entry
        if entry is not None and entry.parent:
            with element("details", "lastchange"):
                text("What the last change did", "summary", key="last change")
                draw_changes(changes(project.recipe_of(entry.parent), project.recipe), MANY)

    def _typed(self, words: str | None, before: str, version: int) -> None:
        if words is None:
            self._wrong([TOO_LONG])
            return
        if self.draft is None:
            self.begun = version
        self.draft = None if words == before else words
        if self.draft is not None and self.begun != self.project.version:
            self.page.redraw(
                self.place
            )  # it was changed while this was on its way: that is told now

    async def _apply(self) -> None:
        """Make what was typed the recipe in use, as one version; all that is wrong with it is said
        at once, under the text.
        """
        workbench, draft = self.workbench, self.draft
        if draft is None or self.reading:
            return
        self.reading = True
        try:
            recipe = await recipe_of_text(draft, base=workbench.project.folder)
            self.draft = None
            try:
                workbench.edit(recipe, "Recipe edited as text", based_on=self.begun)
            except SfumatoError:
                self.draft = draft
                raise
            self.page.redraw(self.place)
        except SfumatoError as error:
            self._wrong(error.problems if isinstance(error, RecipeError) else [str(error)])
        finally:
            self.reading = False

    def _wrong(self, problems: Iterable[str]) -> None:
        """Say under the text what is wrong with it."""
        with (
            self.page.client,
            redrawn(self.problems),
            element("div", "problem", role="alert"),
            element("ul"),
        ):
            for line in problems:
                text(line.removeprefix("the recipe: "), "li")
