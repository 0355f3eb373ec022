"""The panel at the side: the recipe as text, as a script, a command or a notebook, and the
history.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nicegui import ui

from sfumato.core.words import plain_name
from sfumato.errors import RecipeError, SfumatoError
from sfumato.interfaces.web.changes import Change, changes
from sfumato.interfaces.web.exports import KINDS, export_text
from sfumato.interfaces.web.pages.forms import TOO_LONG
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import AS_TYPED_IN_AREA, Words, button, element, hint, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.strip import score_text
from sfumato.interfaces.web.pasted_recipes import recipe_of_text

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Version

BEGUN = "(event) => { event.target.dataset.begun ??= event.target.dataset.version }"
# What was typed, and on which version that was begun: the page may show a later one by now.
TYPED = (
    "(event) => emit(window.sfumato.sent(event.target.value), event.target.dataset.begun ??"
    " event.target.dataset.version)"
)
# Versions that are listed at once.
PAGE = 50
FEW = 3
# Changes that are listed under a version, and in a comparison.
MANY = 200


class Drawer(StageView):
    """One panel a tab, closed at first. It is drawn anew when the recipe changes; text that was
    typed and not applied stays.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.shown = ""
        self.kind = "recipe"
        self.compared: int | None = None
        self.most = PAGE
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
            self._draw_history()

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
                self._draw_changes(changes(project.recipe_of(entry.parent), project.recipe), MANY)

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

    # the history

    def _draw_history(self) -> None:
        project = self.project
        if self.compared is not None:
            self._draw_comparison(self.compared)
        with element(
            "ol", "history", reversed=True, tabindex=0, aria_label="Versions, the newest first"
        ):
            for entry in project.log[::-1][: self.most]:
                self._draw_version(entry)
        older = len(project.log) - self.most
        if older > 0:
            button(
                f"Show {min(older, PAGE):,} older versions",
                lambda: self.change_view(most=self.most + PAGE),
                key="older versions",
            )

    def _draw_version(self, entry: Version) -> None:
        project = self.project
        current = entry.version == project.version
        with element("li", current and "current", **({"aria-current": "true"} if current else {})):
            with element("p", "sentence"):
                text(f"v{entry.version} ", "span", "soft", "number")
                text(entry.sentence, "strong")
            hint(said_of(entry))
            if entry.parent:
                self._draw_changes(
                    changes(project.recipe_of(entry.parent), project.recipe_of(entry.version)), FEW
                )
            if current:
                text("in use", "span", "tag")
                return
            with element("div", "row"):
                number = entry.version
                button(
                    "Go back to here",
                    lambda: self.page.attempt(lambda: project.go_to(number)),
                    "small",
                    key=f"go {number}",
                    label=f"Go back to version {number}",
                )
                button(
                    "Compare with now",
                    lambda: self.change_view(compared=number),
                    "small",
                    key=f"compare {number}",
                    label=f"Compare version {number} with now",
                )

    def _draw_comparison(self, version: int) -> None:
        project = self.project
        with element("section", "comparison"):
            text(f"Version {version} and the current version {project.version}", "h3")
            then = next(entry for entry in project.log if entry.version == version)
            now = project.entry
            if then.effect or (now is not None and now.effect):
                text(f"then: {said_of(then, clock=False)}", "p", "small")
                text(f"now: {said_of(now, clock=False) if now else ''}", "p", "small")
            differences = changes(project.recipe_of(version), project.recipe)
            if not differences:
                text("They are the same.", "p")
            self._draw_changes(differences, MANY)
            button(
                "Close the comparison",
                lambda: self.change_view(compared=None),
                "quiet",
                "small",
                key="close comparison",
            )

    def _draw_changes(self, differences: list[Change], limit: int) -> None:
        if not differences:
            return
        with element("ul", "changes", "small"):
            for change in differences[:limit]:
                with element("li"):
                    text(f"{change.path}: ", "span", "soft")
                    if change.before:
                        text(change.before, "del")
                    text(" → " if change.before and change.after else "", "span", "soft")
                    if change.after:
                        text(change.after, "ins")
            if len(differences) > limit:
                text(f"and {len(differences) - limit:,} more", "li", "soft")


def said_of(entry: Version, *, clock: bool = True) -> str:
    """When a version was made, and what its run gave; an empty effect says that it was not run."""
    when = ""
    if clock:
        when = entry.time.replace("T", " ").removesuffix("+00:00") + " UTC"
    effect = entry.effect
    parts = [when] if when else []
    if "suppressed" in effect:
        parts.append(f"{effect['suppressed']:,} records lost")
    if "score" in effect:
        objective = plain_name(str(effect.get("objective", "loss")))
        parts.append(f"{objective} {score_text(effect['score'])}")
    if "smallest_class" in effect:
        parts.append(f"smallest class {effect['smallest_class']:,}")
    return " · ".join(parts if effect else [*parts, "not run"])
