"""Candidates side by side: a node, a version of the history or another recipe is pinned; all are
made, attacked and measured alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED_IN_AREA,
    VALUE,
    button,
    element,
    section,
    text,
)
from sfumato.interfaces.web.pages.tables import badge, choice, folded
from sfumato.interfaces.web.pasted_recipes import recipe_of_text
from sfumato.interfaces.web.pinned_candidates import (
    Pin,
    comparison_blocks,
    digest_of,
    letter,
    of_recipe,
    of_version,
    recipe_of,
)

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

MOST_PINS = 8
COMPARED = "compared"
FILE = (
    "(event) => { const file = event.target.files[0]; if (file) file.text().then((words) =>"
    " emit(words, file.name)); }"
)


def pin(page: Page, candidate: Pin) -> None:
    """Keep a candidate; the same one twice is one."""
    pins = page.workbench.project.pins
    if candidate in pins:
        page.say("This candidate is pinned already.")
    elif len(pins) >= MOST_PINS:
        page.say(f"At most {MOST_PINS} candidates can be pinned. Remove one first.")
    else:
        page.workbench.project.set_pins((*pins, candidate))


def draw(page: Page, draft: dict[str, str]) -> None:
    """The candidates that are pinned, how to pin more, and the comparison where there is one.

    ``draft`` is what somebody chose to pin, a ``version`` ("": the one in use) or the text of a
    ``recipe``; it outlives this drawing.
    """
    project = page.workbench.project
    with section("Candidates", "candidates"):
        if not project.pins:
            text(
                "Pin points, versions or other recipes, and compare them side by side on one map.",
                "p",
                "soft",
            )
        _pinned(page)
        _draw_pinning(page, draft)
        comparison = page.workbench.findings.get(COMPARED)
        if comparison is not None:
            _compared(page, comparison)


def _pinned(page: Page) -> None:
    project = page.workbench.project
    if not project.pins:
        return
    with element("ol", "pins"):
        for position, candidate in enumerate(project.pins):
            with element("li"):
                badge(letter(position))
                text(candidate["title"], "span", "title")
                words = f"Take {letter(position)} out"
                button(
                    "Take out",
                    lambda _, p=position: _take_out(page, p),
                    "quiet",
                    key=f"take out {position}",
                    label=words,
                )
    button("Compare side by side", lambda: _compare(page), "strongly", key="compare")


def _take_out(page: Page, position: int) -> None:
    pins = page.workbench.project.pins
    page.workbench.project.set_pins((*pins[:position], *pins[position + 1 :]))


def _draw_pinning(page: Page, draft: dict[str, str]) -> None:
    project = page.workbench.project

    def version() -> int:
        return int(draft["version"] or project.version)

    with element("div", "row", "controls"):
        versions = {
            str(entry.version): f"{entry.version}: {entry.sentence}"
            for entry in reversed(project.log)
        }
        choice(
            "version",
            versions,
            str(version()),
            lambda name: draft.update(version=name),
            key="pin version",
        )
        button(
            "Pin this version",
            lambda: pin(page, of_version(project, version())),
            key="pin the version",
        )
    with folded("Pin another recipe", key="another recipe"):
        with element("label", "block"):
            text("Paste a recipe (YAML)", "span", "soft", "small")
            about = {"rows": 7, "spellcheck": "false", AS_TYPED_IN_AREA: draft["recipe"]}
            area = element("textarea", "mono", key="pin recipe text", **about)
        area.on("change", lambda event: draft.update(recipe=str(event.args)), js_handler=VALUE)
        with element("div", "row"):
            button(
                "Pin the pasted recipe",
                lambda: _pin_text(page, draft["recipe"], "a pasted recipe"),
                key="pin pasted",
            )
            with element("label", "file"):
                text("or choose a file ", "span", "soft", "small")
                file = element("input", type="file", accept=".yaml,.yml", key="recipe file")
            file.on("change", lambda event: _pin_text(page, *map(str, event.args)), js_handler=FILE)


async def _pin_text(page: Page, words: str, name: str) -> None:
    recipe = await page.wait_for(
        recipe_of_text(words, base=page.workbench.project.folder, name=name)
    )
    if recipe is not None:
        pin(page, of_recipe(name, recipe))


async def _compare(page: Page) -> None:
    project, workbench = page.workbench.project, page.workbench
    recipes = page.attempt(
        lambda: [
            (letter(position), recipe_of(project, candidate))
            for position, candidate in enumerate(project.pins)
        ]
    )
    if recipes is None:
        return
    about, register = digest_of(project.pins, project.register), dict(project.register) or None
    comparison = await page.wait_for(
        workbench.do("compare", "Comparing candidates", pins=recipes, register=register)
    )
    if comparison is not None:
        workbench.findings[COMPARED] = {
            **comparison,
            "about": about,
            "titles": [candidate["title"] for candidate in project.pins],
        }
        project.tell()


# The comparison.


def _compared(page: Page, comparison: Fields) -> None:
    project = page.workbench.project
    old = comparison["about"] != digest_of(project.pins, project.register)
    with element("div", "compared", old and "old"):
        if old:
            badge("for the candidates or the register as they were")
        draw_blocks(comparison_blocks(comparison))
