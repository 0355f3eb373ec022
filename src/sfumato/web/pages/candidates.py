"""Candidates side by side: a node, a version of the history or another recipe is pinned; all are made, attacked and measured alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato import recipe_files as recipes
from sfumato.report.measures import title_of
from sfumato.web.pages import specs
from sfumato.web.pages.parts import Chart, Words, button, element, section, text
from sfumato.web.pages.tables import VALUE, badge, choice, folded, number, percent, table

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.web.pages.shell import Page
    from sfumato.web.project import Project

MOST_PINS = 8
COMPARED = "compared"
RISKS = ("linkage", "marketer_risk", "prosecutor_risk")
LOSSES = ("loss", "squared_error", "marginal_error")
FILE = (
    "(event) => { const file = event.target.files[0]; if (file) file.text().then((words) => emit(words, file.name)); }"
)
Pin = dict[str, Any]


def of_version(project: Project, version: int) -> Pin:
    """A version of the history as a candidate."""
    sentence = next(entry.sentence for entry in project.log if entry.version == version)
    return {"kind": "version", "version": version, "title": f"version {version}: {sentence}"}


def of_node(version: int, levels: Mapping[str, int], recipe: Recipe, figures: Mapping[str, float]) -> Pin:
    """A node of the lattice of a version as a candidate."""
    told = ", ".join(f"{column} {level}" for column, level in levels.items())
    plain = {"kind": "node", "version": version, "title": f"levels {told}", "figures": dict(figures)}
    return {**plain, "recipe": recipes.to_dict(recipe, base=recipe.base)}


def of_recipe(name: str, recipe: Recipe) -> Pin:
    """Another recipe as a candidate."""
    return {"kind": "recipe", "title": name, "recipe": recipes.to_dict(recipe, base=recipe.base)}


def pin(page: Page, candidate: Pin) -> None:
    """Keep a candidate; the same one twice is one."""
    pins = page.workbench.project.pins
    if candidate in pins:
        page.say("This is pinned already.")
    elif len(pins) >= MOST_PINS:
        page.say(f"At most {MOST_PINS} candidates can be pinned. Take one out first.")
    else:
        page.workbench.project.set_pins((*pins, candidate))


def recipe_of(project: Project, candidate: Pin) -> Recipe:
    """The recipe of a candidate."""
    if candidate["kind"] == "version":
        return project.recipe_of(candidate["version"])
    return recipes.from_dict(candidate["recipe"], base=project.folder, name=candidate["title"])


def letter(place: int) -> str:
    """What a candidate is called in pictures and tables.

    >>> letter(0), letter(2)
    ('A', 'C')
    """
    return chr(ord("A") + place)


def draw(page: Page) -> None:
    """The candidates that are pinned, how to pin more, and the comparison where there is one."""
    project = page.workbench.project
    with section("Candidates", "candidates"):
        if not project.pins:
            text("Pin points, versions or other recipes, and compare them side by side on one map.", "p", "soft")
        _pinned(page)
        _more(page)
        found = page.workbench.findings.get(COMPARED)
        if found is not None:
            _compared(page, found)


def _pinned(page: Page) -> None:
    project = page.workbench.project
    with element("ol", "pins"):
        for place, one in enumerate(project.pins):
            with element("li"):
                badge(letter(place))
                text(one["title"], "span", "title")
                words = f"Take {letter(place)} out"
                button("Take out", lambda _, p=place: _take_out(page, p), "quiet", key=f"take out {place}", label=words)
    if project.pins:
        button("Compare side by side", lambda: _compare(page), "primary", key="compare")


def _take_out(page: Page, place: int) -> None:
    pins = page.workbench.project.pins
    page.workbench.project.set_pins((*pins[:place], *pins[place + 1 :]))


def _more(page: Page) -> None:
    project = page.workbench.project
    chosen = {"version": str(project.version), "recipe": ""}
    with element("div", "row", "controls"):
        versions = {str(entry.version): f"{entry.version}: {entry.sentence}" for entry in reversed(project.log)}
        choice("version", versions, chosen["version"], lambda name: chosen.update(version=name), key="pin version")
        button(
            "Pin this version", lambda: pin(page, of_version(project, int(chosen["version"]))), key="pin the version"
        )
    with folded("Pin another recipe", key="another recipe"):
        with element("label", "block"):
            text("Paste a recipe (YAML)", "span", "soft", "small")
            area = element("textarea", "mono", rows=7, spellcheck="false", key="recipe text")
        area.on("change", lambda event: chosen.update(recipe=str(event.args)), js_handler=VALUE)
        with element("div", "row"):
            button(
                "Pin the pasted recipe", lambda: _pin_text(page, chosen["recipe"], "a pasted recipe"), key="pin pasted"
            )
            with element("label", "file"):
                text("or choose a file ", "span", "soft", "small")
                file = element("input", type="file", accept=".yaml,.yml", key="recipe file")
            file.on("change", lambda event: _pin_text(page, *map(str, event.args)), js_handler=FILE)


def _pin_text(page: Page, words: str, name: str) -> None:
    project = page.workbench.project

    def read() -> None:
        pin(page, of_recipe(name, recipes.parse(words, base=project.folder, name=name)))

    page.attempt(read)


async def _compare(page: Page) -> None:
    project, workbench = page.workbench.project, page.workbench
    made = page.attempt(lambda: [(letter(place), recipe_of(project, one)) for place, one in enumerate(project.pins)])
    if made is None:
        return
    about = digest_of(project.pins)
    found = await page.wait_for(workbench.do("compare", "Comparing candidates", pins=made))
    if found is not None:
        workbench.findings[COMPARED] = {**found, "about": about, "titles": [one["title"] for one in project.pins]}
        project.tell()


def digest_of(pins: Sequence[Pin]) -> str:
    """What tells one set of candidates from another."""
    return hashlib.sha256(json.dumps(list(pins), sort_keys=True).encode()).hexdigest()


# The comparison.


def _compared(page: Page, found: Mapping[str, Any]) -> None:
    old = found["about"] != digest_of(page.workbench.project.pins)
    with element("div", "compared", *(["old"] if old else [])):
        if old:
            badge("for the candidates pinned before")
        rows, front = _placed(found)
        risk, utility = found["axes"]["risk"], found["axes"]["utility"]
        if rows:
            titles = (f"{title_of(utility)} (worse →)", f"{_words(risk)} (worse ↑)")
            Chart(specs.candidates(rows, front, titles), _in_words(found)).classes("picture")
            text(
                "Filled: keeps its promises. Hollow: does not. Line: no other candidate is better in both.",
                "p",
                "small",
                "soft",
            )
        _side_by_side(found)


def _placed(found: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Candidates on the map, and those of the front by rising loss; one that lacks a figure is on no map."""
    risk, utility = found["axes"]["risk"], found["axes"]["utility"]
    rows = [
        {"letter": one["name"], "x": one["utilities"][utility], "y": one["risks"][risk], "holds": one["holds"]}
        for one in found["candidates"]
        if risk in one["risks"] and utility in one["utilities"]
    ]
    front = sorted((row for row in rows if row["letter"] in found["front"]), key=lambda row: row["x"])
    return rows, front


def _in_words(found: Mapping[str, Any]) -> str:
    front = ", ".join(found["front"]) or "none"
    return f"Map of {len(found['candidates'])} candidates by risk and loss; on the front: {front}. The table below has the same figures."


def _side_by_side(found: Mapping[str, Any]) -> None:
    names = [one["name"] for one in found["candidates"]]
    heads = [
        ("figure", False),
        *((f"{name} · {title}", False) for name, title in zip(names, found["titles"], strict=False)),
    ]
    with table("Candidates side by side", heads, "aside"):
        for title, cells, best in figures_of(found):
            with element("tr"):
                text(title, "th", scope="row")
                for place, words in enumerate(cells):
                    with element("td"):
                        if place in best:
                            text(words, "strong")
                            text(" (best)", "span", "unseen")
                        else:
                            Words(words)


Line = tuple[str, list[str], set[int]]


def figures_of(found: Mapping[str, Any]) -> list[Line]:
    """The rows of the comparison: title, a cell a candidate, and which of them are best; what is unknown is never best."""
    every = found["candidates"]
    risk, utility = found["axes"]["risk"], found["axes"]["utility"]
    lines = [("may be released", ["yes" if one["holds"] else f"no: {one['reason']}" for one in every], set[int]())]
    lines += [
        _figure(_words(name), [one["risks"].get(name) for one in every], every, share=True)
        for name in dict.fromkeys((risk, *RISKS))
    ]
    for name in dict.fromkeys((utility, *LOSSES)):
        higher = any(name in one["higher"] for one in every)
        lines.append(_figure(title_of(name), [one["utilities"].get(name) for one in every], every, higher=higher))
    lost = [None if not one["risks"] else one["suppressed"] for one in every]
    lines.append(_figure("records lost", lost, every))
    return [*lines, *_levels(found), *_contracts(found)]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _figure(
    title: str, values: Sequence[float | None], every: Sequence[Any], *, share: bool = False, higher: bool = False
) -> Line:
    """One figure of all candidates; best is the least (or most) of those that are known and may be released.

    Where all are alike, none is best.
    """
    known = [value for value, one in zip(values, every, strict=True) if value is not None and one["holds"]]
    wanted = None if len(set(known)) < 2 else max(known) if higher else min(known)
    best = {
        place
        for place, (value, one) in enumerate(zip(values, every, strict=True))
        if wanted is not None and one["holds"] and value is not None and abs(value - wanted) < 1e-12
    }
    return title, [percent(value) if share else number(value) for value in values], best


def _levels(found: Mapping[str, Any]) -> list[Line]:
    more = [found["more"][one["name"]] for one in found["candidates"]]
    columns = dict.fromkeys(column for one in more for column in one["levels"])
    lines = []
    for column in columns:
        cells = ["drawn anew" if one["drawn"] else _rung(one["levels"].get(column)) for one in more]
        lines.append((f"level of {column}", cells, set[int]()))
    return lines


def _rung(rung: Sequence[int] | None) -> str:
    return "no one level" if rung is None else f"{rung[0]} of {rung[1]}"


def _contracts(found: Mapping[str, Any]) -> list[Line]:
    every = [found["more"][one["name"]]["contract"] for one in found["candidates"]]
    if not any(every):
        return []
    cells = [
        "; ".join(f"{'✓' if kept['holds'] else '✗'} {kept['sentence']}" for kept in one) or "none" for one in every
    ]
    return [("contract", cells, set[int]())]
