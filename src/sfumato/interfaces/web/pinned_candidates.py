"""Candidates to be compared: what is kept of one, and the figures of all side by side."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import Block, ChartAxis, ChartBlock, Point, Series, TableBlock
from sfumato.core.words import count_of, number, percent, plain_name
from sfumato.interfaces.web.fields import Fields
from sfumato.release.report.measures import title_of

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.project import Project

RISKS = ("linkage", "marketer_risk", "prosecutor_risk")
LOSSES = ("loss", "squared_error", "marginal_error")
Pin = Fields
Line = tuple[str, list[str], set[int]]


def of_version(project: Project, version: int) -> Pin:
    """A version of the history as a candidate."""
    sentence = next(entry.sentence for entry in project.log if entry.version == version)
    return {"kind": "version", "version": version, "title": f"version {version}: {sentence}"}


def of_node(
    version: int, levels: Mapping[str, int], recipe: Recipe, figures: Mapping[str, float]
) -> Pin:
    """A node of the lattice of a version as a candidate."""
    levels_in_words = ", ".join(f"{column} {level}" for column, level in levels.items())
    plain = {
        "kind": "node",
        "version": version,
        "title": f"levels {levels_in_words}",
        "figures": dict(figures),
    }
    return {**plain, "recipe": recipes.to_dict(recipe, base=recipe.base)}


def of_recipe(name: str, recipe: Recipe) -> Pin:
    """Another recipe as a candidate."""
    return {"kind": "recipe", "title": name, "recipe": recipes.to_dict(recipe, base=recipe.base)}


def recipe_of(project: Project, candidate: Pin) -> Recipe:
    """The recipe of a candidate."""
    if candidate["kind"] == "version":
        return project.recipe_of(candidate["version"])
    return recipes.from_dict(candidate["recipe"], base=project.folder, name=candidate["title"])


def letter(position: int) -> str:
    """What a candidate is called in pictures and tables.

    >>> letter(0), letter(2)
    ('A', 'C')
    """
    return chr(ord("A") + position)


def digest_of(pins: Sequence[Pin], register: Mapping[str, str]) -> str:
    """What tells one set of candidates, and the register that is asked about them, from another."""
    return hashlib.sha256(
        json.dumps([list(pins), dict(register)], sort_keys=True).encode()
    ).hexdigest()


def comparison_blocks(comparison: Mapping[str, Any]) -> list[Block]:
    """The candidates on one map and side by side."""
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    points = {}
    for candidate in comparison["candidates"]:
        if risk in candidate["risks"] and utility in candidate["utilities"]:
            x, y = candidate["utilities"][utility], candidate["risks"][risk]
            points[candidate["name"]] = Point(
                x, y, label=candidate["name"], alarm=not candidate["holds"], size=4.0
            )
    front = [points[name] for name in comparison["front"] if name in points]
    front.sort(key=lambda point: point.x)
    corners = tuple(dataclasses.replace(point, label="") for point in front)
    blocks: list[Block] = []
    if points:
        names = ", ".join(comparison["front"]) or "none"
        words = f"Map of {len(points)} candidates by risk and loss; on the front: {names}"
        blocks.append(
            ChartBlock(
                "candidates",
                "scatter",
                ChartAxis(f"{title_of(utility)} (worse →)"),
                ChartAxis(f"{plain_name(risk)} (worse ↑)", share=True),
                (Series("front", corners, "staircase"), Series("", (*points.values(),), "dot")),
                words,
                "Filled: its promises hold. Hollow: they do not. Line: no other candidate is "
                "better in both.",
            )
        )
    header = ["figure"]
    for candidate, title in zip(comparison["candidates"], comparison["titles"], strict=False):
        header.append(f"{candidate['name']} · {title}")
    rows = []
    for title, cells, best in figures_of(comparison):
        marked = [f"{cell} (best)" if at in best else cell for at, cell in enumerate(cells)]
        rows.append((title, *marked))
    return [*blocks, TableBlock(tuple(header), tuple(rows), "Candidates side by side")]


def figures_of(comparison: Mapping[str, Any]) -> list[Line]:
    """The rows of the comparison: title, a cell a candidate, and which of them are best; what is
    unknown is never best.
    """
    candidates = comparison["candidates"]
    details = [comparison["more"][candidate["name"]] for candidate in candidates]
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    released = [
        "yes" if candidate["holds"] else f"no: {candidate['reason']}" for candidate in candidates
    ]
    lines: list[Line] = [("may be released", released, set())]
    for name in dict.fromkeys((risk, *RISKS)):
        risks = [candidate["risks"].get(name) for candidate in candidates]
        lines.append(_figure(plain_name(name), risks, candidates, in_words=percent))
    for name in dict.fromkeys((utility, *LOSSES)):
        higher = any(name in candidate["higher"] for candidate in candidates)
        utilities = [candidate["utilities"].get(name) for candidate in candidates]
        lines.append(_figure(title_of(name), utilities, candidates, best=max if higher else min))
    # of a candidate without risks nothing came out
    lost = [candidate["suppressed"] if candidate["risks"] else None for candidate in candidates]
    lines.append(_figure("records lost", lost, candidates))
    return [
        *lines,
        _together(details, comparison["registered"]),
        *_levels(details),
        *_contracts(details),
    ]


def _figure(
    title: str,
    values: Sequence[float | None],
    candidates: Sequence[Any],
    *,
    in_words: Callable[[float], str] = number,
    best: Callable[[list[float]], float] = min,
) -> Line:
    """One figure of all candidates; best is the least (or most) of those that are known and may be
    released.

    Where all are alike, none is best.
    """
    pairs = list(zip(values, candidates, strict=True))
    eligible = [value for value, candidate in pairs if value is not None and candidate["holds"]]
    positions = set()
    if len(set(eligible)) > 1:
        for position, (value, candidate) in enumerate(pairs):
            if value is not None and candidate["holds"] and abs(value - best(eligible)) < 1e-12:
                positions.add(position)
    return title, ["unknown" if value is None else in_words(value) for value in values], positions


def _together(details: Sequence[Any], standing: int | None) -> Line:
    """What each would tell together with earlier releases, as *Write* would say it, or that nobody
    was asked.
    """
    if standing is None:
        cells = ["not asked: no register is named under Write"] * len(details)
        return "with earlier releases", cells, set()
    title = f"with the {count_of(standing, 'release')} of the register"
    return title, ["; ".join(candidate["together"]) or "unknown" for candidate in details], set()


def _levels(details: Sequence[Any]) -> Iterator[Line]:
    """The level of each column in each candidate."""
    for column in dict.fromkeys(column for candidate in details for column in candidate["levels"]):
        cells = []
        for candidate in details:
            level, top = candidate["levels"].get(column, (None, None))
            words = "no one level"
            if level is not None:
                words = f"{level} of {top}"
            cells.append("synthetic" if candidate["drawn"] else words)
        yield f"level of {column}", cells, set()


def _contracts(details: Sequence[Any]) -> Iterator[Line]:
    """What each contract says, where there is any."""
    cells = []
    for candidate in details:
        checks = [
            f"{'✓' if check['holds'] else '✗'} {check['sentence']}"
            for check in candidate["contract"]
        ]
        cells.append("; ".join(checks) or "none")
    if any(candidate["contract"] for candidate in details):
        yield "contract", cells, set()
