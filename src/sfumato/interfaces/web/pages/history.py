"""The history of a recipe at the side of every page: versions in groups, each with what it changed,
a name where it has one, and any two of them compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sfumato.core.words import count_of, plain_name
from sfumato.interfaces.web.changes import Change, changes
from sfumato.interfaces.web.decisions import SHORT_NAMES
from sfumato.interfaces.web.pages.parts import AS_TYPED, VALUE, button, element, hint, text
from sfumato.interfaces.web.pages.strip import score_text
from sfumato.interfaces.web.pages.tables import choice

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.drawer import Drawer
    from sfumato.interfaces.web.project import Project, Version

# Groups of versions that are shown at once.
PAGE = 50
# Changes of a version that are shown, and of two versions that are compared.
FEW, MANY = 3, 200
NUMBERS = re.compile(r"[\d.,%\s]+")
LONGEST_NAME = 80


class VersionHistory:
    """The history in one tab; what is open outlives the redrawing."""

    def __init__(self, drawer: Drawer) -> None:
        self.drawer = drawer
        self.most = PAGE
        # The older and the newer version that are compared; a newer one of None is the one in use.
        self.compared: int | None = None
        self.against: int | None = None
        # Groups that are shown version by version, each by its newest.
        self.open: set[int] = set()

    @property
    def project(self) -> Project:
        """The project that is open."""
        return self.drawer.project

    def _show(self, **changed: object) -> None:
        """Draw the history again with something changed."""
        for name, value in changed.items():
            setattr(self, name, value)
        self.drawer.page.redraw(self.drawer.place)

    def draw(self) -> None:
        """All versions, the newest first; gestures of one kind that follow each other are one
        entry.
        """
        if self.compared is not None:
            self._draw_comparison(self.compared)
        groups = list(groups_of(self.project.log[::-1], self.project.version))
        with element(
            "ol", "history", reversed=True, tabindex=0, aria_label="Versions, the newest first"
        ):
            for group in groups[: self.most]:
                self._draw_group(group)
        older = len(groups) - self.most
        if older > 0:
            button(
                f"Show {min(older, PAGE):,} older versions",
                lambda: self._show(most=self.most + PAGE),
                key="older versions",
            )

    def _draw_group(self, group: list[Version]) -> None:
        newest = group[0].version
        if newest in self.open:
            for entry in group:
                self._draw_version(entry, entry.parent)
            return
        self._draw_version(group[0], group[-1].parent, steps=group[1:])

    def _draw_version(self, entry: Version, parent: int, *, steps: Iterable[Version] = ()) -> None:
        """A version, and the steps that led to it in one gesture."""
        project, number = self.project, entry.version
        current = number == project.version
        steps = list(steps)
        with element("li", current and "current", **({"aria-current": "true"} if current else {})):
            with element("p", "sentence"):
                text(f"v{number} ", "span", "soft", "number")
                if entry.name:
                    text(f"{entry.name}: ", "span", "strong")
                text(entry.sentence, "strong")
            hint(said_of(entry))
            if parent:
                draw_changes(changes(project.recipe_of(parent), project.recipe_of(number)), FEW)
            if steps:
                words = f"Show {count_of(len(steps), 'step')} before it, from v{steps[-1].version}"
                show = f"steps {number}"
                button(
                    words, lambda: self._show(open={*self.open, number}), "quiet", "small", key=show
                )
            if current:
                text("in use", "span", "tag")
            with element("div", "row"):
                self._draw_name(entry)
                if current:
                    return
                button(
                    "Go back to here",
                    lambda: self.drawer.page.attempt(lambda: project.go_to(number)),
                    "small",
                    key=f"go {number}",
                    label=f"Go back to version {number}",
                )
                button(
                    "Compare with now",
                    lambda: self._show(compared=number, against=None),
                    "small",
                    key=f"compare {number}",
                    label=f"Compare version {number} with now",
                )

    def _draw_name(self, entry: Version) -> None:
        """A field for the name of a version."""
        number = entry.version
        field = element(
            "input",
            "field",
            key=f"name {number}",
            aria_label=f"Name of version {number}",
            placeholder="name",
            maxlength=LONGEST_NAME,
            **{AS_TYPED: entry.name},
        )
        field.on(
            "change",
            lambda event: self.drawer.page.attempt(
                lambda: self.project.set_name(number, str(event.args)[:LONGEST_NAME])
            ),
            js_handler=VALUE,
        )

    def _draw_comparison(self, version: int) -> None:
        """What differs between two versions: of any, else of the one in use."""
        project = self.project
        entries = {entry.version: entry for entry in project.log}
        other = project.version if self.against is None else self.against
        with element("section", "comparison"):
            now = "the current version" if other == project.version else "version"
            text(f"Version {version} and {now} {other}", "h3")
            offered = {
                str(number): f"v{number} {entry.name or entry.sentence}"
                for number, entry in reversed(entries.items())
                if number != version
            }
            choice(
                "compare with",
                offered,
                str(other),
                lambda number: self._show(against=int(number)),
                key="compare with",
            )
            then, later = entries[version], entries[other]
            if then.effect or later.effect:
                text(f"v{version}: {said_of(then, clock=False)}", "p", "small")
                text(f"v{other}: {said_of(later, clock=False)}", "p", "small")
            differences = changes(project.recipe_of(version), project.recipe_of(other))
            if not differences:
                text("They are the same.", "p")
            draw_changes(differences, MANY)
            button(
                "Close the comparison",
                lambda: self._show(compared=None),
                "quiet",
                "small",
                key="close comparison",
            )


def groups_of(newest_first: Iterable[Version], current: int) -> Iterator[list[Version]]:
    """Versions that follow each other and differ in a number of one sentence, such as those of a
    slider, as one group; one that is in use, was run or has a name stands by itself.
    """
    group: list[Version] = []
    for entry in newest_first:
        joins = (
            group
            and group[-1].parent == entry.version
            and _gesture(group[-1].sentence) == _gesture(entry.sentence)
            and not (entry.version == current or entry.effect or entry.name or entry.decision)
        )
        if group and not joins:
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _gesture(sentence: str) -> str:
    """A sentence without its numbers.

    >>> _gesture("age: level 2") == _gesture("age: level 3"), _gesture("3-anonymity")
    (True, ' -anonymity')
    """
    return NUMBERS.sub(" ", sentence)


def draw_changes(differences: list[Change], limit: int) -> None:
    """Where two recipes differ: before, after."""
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
    """When a version was made, what its run gave, and who may have it; an empty effect says that it
    was not run.
    """
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
    if entry.decision is not None:
        parts.append(f"decision: {SHORT_NAMES[entry.decision.tier]}")
    return " · ".join(parts if effect else [*parts, "not run"])
