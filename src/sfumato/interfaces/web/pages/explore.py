"""The stage *Explore*: every combination of levels by what it costs and what it risks, and
candidates side by side.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.step import Span
from sfumato.core.words import join_words, number, percent
from sfumato.errors import SfumatoError
from sfumato.interfaces.web import choices, pinned_candidates
from sfumato.interfaces.web.catalogue import title_of
from sfumato.interfaces.web.pages import candidates, specs
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import ChartWidget, Words, button, element, section, text
from sfumato.interfaces.web.pages.tables import badge, choice, pips, table, tabs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Project

AXES = {
    "score": "loss",
    "marketer_risk": "marketer risk",
    "prosecutor_risk": "prosecutor risk",
    "suppressed": "records lost",
    "class_size": "average class",
}
MOST_SHOWN = 60
"""Points that the table has at most."""
Point = dict[str, Any]


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = Explore(page)
    stage.place = page.live(stage.draw, classes="work figured")


def before(project: Project, version: int) -> list[Recipe]:
    """The recipes that a version came from, newest first."""
    parents = {entry.version: entry.parent for entry in project.log}
    found, at = [], parents.get(version, 0)
    while at:
        found.append(project.recipe_of(at))
        at = parents.get(at, 0)
    return found


class Explore:
    """What one tab looks at: which axes, which point is chosen, and what is told of it."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench
        self.axes = ("score", "marketer_risk")
        self.view = "Plane"
        self.pinning = {"version": "", "recipe": ""}
        self.levels: dict[str, int] | None = None
        """The point that is selected."""
        self.found: dict[str, Any] = {}
        self.examples: dict[str, list[str | None]] = {}
        self.chart: ChartWidget | None = None
        self.card: Any = None
        self.places: dict[int, dict[str, Any]] = {}
        self.near: list[Point] = []
        self.place: Any = None

    # asking

    @property
    def open_recipe(self) -> Recipe:
        """The recipe with the choice left to the search."""
        project = self.workbench.project
        return choices.left_open(project.recipe, before(project, project.version))

    async def ask(self, task: str, **given: Any) -> Any:
        """What the bench says of the recipe in use; it is not remembered here, since it changes
        with what is surveyed.
        """
        recipes: dict[str, Any] = {"recipe": self.workbench.recipe, "open_recipe": self.open_recipe}
        return await self.workbench.worker.ask(task, **recipes, **given)

    async def survey(self) -> None:
        """Look at all combinations."""
        version = self.workbench.project.version
        doing = self.workbench.do(
            "survey", "Looking at all combinations", open_recipe=self.open_recipe, made_for=version
        )
        if await self.page.wait_for(doing) is not None:
            self.workbench.project.tell()

    # drawing

    async def draw(self) -> None:
        """Draw all of it; what is selected stays so."""
        text("Which trade do you want?", "h1")
        if not self.workbench.project.has_recipe or self.workbench.opened is None:
            text("Open a table first: there is nothing to trade yet.", "p")
            text("Open a table", "a", "button", href="./", key="to data")
            return
        found = await self.ask("front", across=self.axes[0], up=self.axes[1])
        if found["lattice"] and found["known"]:
            self.examples = await self.workbench.answer("level_examples")
        # from here to the end nothing waits: what is seen and what is meant by it change together
        self.found = found
        if not self.found["lattice"]:
            self._no_lattice()
        elif not self.found["known"]:
            self._not_yet()
        else:
            self._landscape()
        candidates.draw(self.page, self.pinning)

    def _no_lattice(self) -> None:
        names = ", ".join(title_of(step.name) for step in self.workbench.recipe.steps) or "no step"
        text(
            f"This recipe works by {names}. No step of it gives whole columns a level, so there are"
            " no levels to choose from.",
            "p",
        )
        text(
            "Recode whole columns to see every choice on a map, or compare this recipe with others"
            " below.",
            "p",
        )
        with element("div", "row"):
            button("Recode whole columns instead", self._recode, key="recode")
            button(
                "Pin this, and the same by recoding whole columns", self._pin_both, key="pin both"
            )

    def _recoded(self) -> Recipe:
        """The recipe by global recoding: it takes the place of the last step that decides from
        classes.
        """
        recipe = self.workbench.recipe
        step = registry.build("steps", "global_recoding")
        place = max(
            (i for i, one in enumerate(recipe.steps) if one.span is Span.CLASSES),
            default=len(recipe.steps),
        )
        return dataclasses.replace(
            recipe, steps=(*recipe.steps[:place], step, *recipe.steps[place + 1 :])
        )

    def _recode(self) -> None:
        self.page.edit(self._recoded(), "recode whole columns (global recoding)")

    def _pin_both(self) -> None:
        project = self.workbench.project
        candidates.pin(self.page, pinned_candidates.of_version(project, project.version))
        candidates.pin(
            self.page, pinned_candidates.of_recipe("by global recoding", self._recoded())
        )

    def _not_yet(self) -> None:
        text(
            "Every combination of levels costs something and risks something. Nothing has been"
            " looked at yet.",
            "p",
        )
        button("Look at all combinations", self.survey, "strongly", key="survey")

    def _landscape(self) -> None:
        found = self.found
        text(self._told(), "p", "lead", *([] if found["fresh"] else ["old"]))
        if not found["fresh"]:
            with element("div", "row"):
                badge(f"for version {found['version']}")
                button(
                    f"Look again for version {self.workbench.project.version}",
                    self.survey,
                    "strongly",
                    key="survey",
                )
        if self.workbench.recipe.limits or self.workbench.recipe.contract:
            words = (
                "Limits and the contract are not asked of these points: a run asks them, and so"
                " does the comparison of candidates below."
            )
            text(words, "p", "soft", "small")
        self._choose_first()
        self._controls()
        with element("div", "two", *([] if found["fresh"] else ["old"])):
            with element("div"):
                self._picture()
                self._legend()
            self.card = element("aside", "detail", aria_label="The point", aria_live="polite")
            with element("div"):
                self._table()
        self._show(self.selected)

    def _told(self) -> str:
        found = self.found
        promise = (
            join_words(model.promise for model in self.workbench.recipe.meet) or "what is promised"
        )
        if not found["whole"]:
            return (
                "There are too many combinations to look at all of them: here are the one in use"
                f" and its neighbours. At most {found['budget']:,} records may be lost."
            )
        within = (
            f"{found['within']:,} keep {promise} and lose no more than the {found['budget']:,}"
            " records you allow"
        )
        ways = (
            f"{len(found['front']):,} of them nothing beats"
            if found["front"]
            else "look at those that lose more, or promise less"
        )
        return (
            f"Of {found['nodes']:,} combinations of levels, {within}; {ways}. Further left keeps"
            " more, further down risks less."
        )

    def _controls(self) -> None:
        with element("div", "row", "controls"):
            if self.found["few"]:
                tabs("Picture", ["Plane", "Lattice"], self.view, self._turn)
            if self.view == "Plane" or not self.found["few"]:
                choice("across", AXES, self.axes[0], lambda name: self._axis(0, name), key="across")
                choice("up", AXES, self.axes[1], lambda name: self._axis(1, name), key="up")
            if self.found["by_hand"]:
                badge("chosen by hand")
                button("Let the search choose", self._leave_open, key="search chooses")

    def _turn(self, view: str) -> None:
        self.view = view
        self.page.redraw(self.place)

    def _axis(self, place: int, name: str) -> None:
        across, up = (name, self.axes[1]) if place == 0 else (self.axes[0], name)
        if across == up:  # both axes cannot be the same: the one that is taken changes sides
            across, up = self.axes[1], self.axes[0]
        self.axes, self.near = (across, up), []
        self.page.redraw(self.place)

    # the picture

    def _picture(self) -> None:
        lattice = self.view == "Lattice" and self.found["few"]
        spec, label = self._lattice() if lattice else self._plane()
        self.chart = ChartWidget(spec, label)
        self.chart.classes("picture")
        self.chart.on("look", lambda event: self._look(int(event.args)))
        self.chart.on("pick", lambda event: self._pick(int(event.args)))
        self.chart.on("use", lambda event: self._use(self.found["points"][int(event.args)]))
        self.chart.on("leave", lambda: self._show(self.selected))

    def _plane(self) -> tuple[dict[str, Any], str]:
        points, front = self.found["points"], self.found["front"]
        self.places = {at: {"id": at, **self._place(point)} for at, point in points.items()}
        sizes = self.found["dots"]
        dots = [
            {
                **self.places[at],
                "size": 22 + 9 * min(6.0, times**0.5),
                "within": points[at]["within_budget"],
            }
            for at, times in sizes.items()
        ]
        in_use = self.places.get(self.found["in_use"])
        titles = (f"{self._name(0)} (worse →)", f"{self._name(1)} (worse ↑)")
        stairs = [self.places[at] for at in front] if self.found["whole"] else []
        words = (
            f"{len(dots)} dots for {self.found['nodes']:,} combinations by {self._name(0)} and"
            f" {self._name(1)}; the table below has the points that nothing beats"
        )
        return specs.plane(dots, stairs, in_use, self.axes, titles), words

    def _lattice(self) -> tuple[dict[str, Any], str]:
        points = self.found["points"]
        rows: dict[int, list[int]] = {}
        for at, point in points.items():
            rows.setdefault(sum(point["levels"].values()), []).append(at)
        self.places = {
            at: {"id": at, "x": place - (len(row) - 1) / 2, "y": height}
            for height, row in rows.items()
            for place, at in enumerate(row)
        }
        by_levels = {tuple(sorted(point["levels"].items())): at for at, point in points.items()}
        lines = []
        for at, point in points.items():
            for column, level in point["levels"].items():
                above = by_levels.get(tuple(sorted({**point["levels"], column: level + 1}.items())))
                if above is not None:
                    there = self.places[above]
                    lines.append({**self.places[at], "x2": there["x"], "y2": there["y"]})
        nodes = [
            {**place, "within": points[at]["within_budget"], "in_use": at == self.found["in_use"]}
            for at, place in self.places.items()
        ]
        return (
            specs.lattice(nodes, lines),
            (
                f"The lattice of {len(nodes)} combinations, finest below; the table has the points"
                " that nothing beats"
            ),
        )

    def _place(self, point: Point) -> dict[str, float]:
        return {"x": point[self.axes[0]], "y": point[self.axes[1]]}

    def _name(self, place: int) -> str:
        return self._called(self.axes[place])

    def _called(self, axis: str) -> str:
        return str(self.found["objective"]).replace("_", " ") if axis == "score" else AXES[axis]

    def _legend(self) -> None:
        with element("ul", "legend", "small", "soft"):
            for sign, words in (
                ("◆", "in use"),
                ("●", "nothing beats it"),
                ("•", "keeps the budget"),
                ("○", "loses more than you allow"),
            ):
                with element("li"):
                    text(sign, "span", "sign", aria_hidden="true")
                    Words(words)

    # the table

    def _table(self) -> None:
        heads = [
            ("point", False),
            (self._called("score"), True),
            ("marketer risk", True),
            ("prosecutor risk", True),
        ]
        heads += [("records lost", True), ("average class", True), ("use", True)]
        shown = self.found["front"][:MOST_SHOWN]
        if not shown:
            return
        with table("Points that nothing beats", heads):
            for place, at in enumerate(shown, 1):
                self._row(place, at, self.found["points"][at])
        if len(self.found["front"]) > MOST_SHOWN:
            text(f"The first {MOST_SHOWN} of {len(self.found['front']):,}.", "p", "soft", "small")

    def _row(self, place: int, at: int, point: Point) -> None:
        used = at == self.found["in_use"]
        with element("tr", *(["on"] if used else [])):
            with element("th", scope="row"), element("label", "radio"):
                picked = {"checked": True} if point["levels"] == self.levels else {}
                radio = element(
                    "input", type="radio", name="point", value=at, key=f"point {at}", **picked
                )
                Words(str(place))
            radio.on("change", lambda _, a=at: self._pick(a))
            radio.on("keydown.enter", lambda _, p=point: self._use(p))
            for words in (
                number(point["score"]),
                percent(point["marketer_risk"]),
                percent(point["prosecutor_risk"]),
            ):
                text(words, "td", "num")
            for words in (f"{point['suppressed']:,}", number(round(point["class_size"], 1))):
                text(words, "td", "num")
            with element("td", "num"):
                if used:
                    badge("in use")
                else:
                    button(
                        "use",
                        lambda _, p=point: self._use(p),
                        "quiet",
                        key=f"use {at}",
                        label=f"Use point {place}",
                    )

    # the card

    @property
    def selected(self) -> Point | None:
        """The point that is selected, where it is known."""
        return self._with(self.levels)

    def _with(self, levels: Mapping[str, int] | None) -> Point | None:
        every = [*self.found["points"].items(), *((one["id"], one) for one in self.near)]
        return next(({**point, "id": at} for at, point in every if point["levels"] == levels), None)

    def _choose_first(self) -> None:
        """Where nothing is selected, what is in use is; else the first point that nothing beats."""
        if self.selected is None:
            first = self.found["in_use"] if self.found["in_use"] in self.found["points"] else None
            first = first if first is not None else next(iter(self.found["front"]), None)
            self.levels = None if first is None else dict(self.found["points"][first]["levels"])

    def _look(self, at: int) -> None:
        self._show({**self.found["points"][at], "id": at}, looked=True)

    async def _pick(self, at: int) -> None:
        """Select a point; one that stands for several shows the others."""
        point = self.found["points"][at]
        self.levels, self.near = dict(point["levels"]), []
        if self.found["fresh"] and self.found["dots"].get(at, 1) > 1 and self.view == "Plane":
            x, y = point[self.axes[0]], point[self.axes[1]]
            try:
                self.near = await self.ask(
                    "nodes_near", across=self.axes[0], up=self.axes[1], x=x, y=y
                )
            except SfumatoError as error:
                self.page.say(str(error))
        self._show(self.selected)

    def _pick_near(self, point: Point) -> None:
        self.levels = dict(point["levels"])
        self._show(self.selected)

    def _show(self, point: Point | None, *, looked: bool = False) -> None:
        """Tell about a point in the card, and put the ring around it."""
        if self.card is None:
            return
        if self.chart is not None:
            place = (
                None
                if point is None
                else self.places.get(point["id"]) or {"id": point["id"], **self._place(point)}
            )
            self.chart.add("ring", [] if place is None else [place])
        with self.page.client, redrawn(self.card):
            if point is None:
                text("Choose a point in the picture or the table.", "p", "soft")
            else:
                self._point(point, looked=looked)

    def _point(self, point: Point, *, looked: bool) -> None:
        used = point["id"] == self.found["in_use"]
        rank = (
            self.found["front"].index(point["id"]) + 1
            if point["id"] in self.found["front"]
            else None
        )
        name = f"Point {rank}" if rank else "A combination of levels"
        text(f"{name}{', in use' if used else ''}", "h2")
        with element("dl", "list"):
            for column, level in point["levels"].items():
                self._level(column, level)
        told = (
            f"{point['suppressed']:,} records lost · average class"
            f" {number(round(point['class_size'], 1))}"
        )
        text(told, "p")
        told = (
            f"{self._called('score')} {number(point['score'])} · marketer risk"
            f" {percent(point['marketer_risk'])}"
        )
        text(
            f"{told} · best guess for the least protected {percent(point['prosecutor_risk'])}",
            "p",
            "small",
            "soft",
        )
        if not point["classes"]:
            text("Nothing would be left to release.", "p", "alarm")
        elif not point["within_budget"]:
            over = point["suppressed"] - self.found["budget"]
            text(f"This loses {over:,} records more than you allow.", "p", "alarm")
        if not looked:
            self._acts(point, used=used)
            self._neighbours(point)

    def _level(self, column: str, level: int) -> None:
        top = self.found["tops"].get(column, level)
        told = self.examples.get(column, [])
        example = told[level] if level < len(told) else None
        words = (
            "as it is"
            if level == 0
            else (
                "nothing left of it"
                if level == top
                else f"e.g. {example}"
                if example
                else f"level {level}"
            )
        )
        with element("div"):
            text(column, "dt")
            with element("dd"):
                pips(level, top)
                text(f"level {level} of {top}", "span", "unseen")
                text(words, "span", "soft", "small")

    def _acts(self, point: Point, *, used: bool) -> None:
        with element("div", "row"):
            words = (
                "Use"
                if point["within_budget"]
                else f"Use, and allow {point['suppressed']:,} lost records"
            )
            if self.found["fresh"] and point["classes"]:
                button(
                    words,
                    lambda: self._use(point),
                    "strongly",
                    key="use",
                    disabled=used and self.found["by_hand"],
                )
                button("Pin", lambda: self._pin(point), key="pin")
                button("Why not finer?", lambda: self._why(point), key="why")

    def _neighbours(self, point: Point) -> None:
        others = [one for one in self.near if one["levels"] != point["levels"]]
        if not others:
            return
        text("Other combinations at the same place", "h3")
        with element("ul", "plain", "near"):
            for one in others:
                moved = [
                    f"{c} {level}"
                    for c, level in one["levels"].items()
                    if level != point["levels"].get(c)
                ]
                with element("li"):
                    button(
                        ", ".join(moved) or "the same levels",
                        lambda _, o=one: self._pick_near(o),
                        "quiet",
                        key=f"near {one['id']}",
                    )
                    text(f"{one['suppressed']:,} lost", "span", "small", "soft")

    # what a point can do

    def _use(self, point: Point) -> None:
        if not self.found["fresh"]:
            self.page.say("These are the figures of an older version. Look again first.")
            return
        if not point["classes"]:
            self.page.say("Nothing would be left to release at these levels.")
            return
        self.levels = dict(point["levels"])
        recipe = self.workbench.recipe
        changed = choices.with_node(
            recipe, point["levels"], lost=point["suppressed"], records=self.found["records"]
        )
        more = "" if point["within_budget"] else f", {point['suppressed']:,} records may be lost"
        told = ", ".join(f"{column} {level}" for column, level in point["levels"].items())
        self.page.edit(changed, f"levels chosen by hand: {told}{more}")

    def _leave_open(self) -> None:
        self.levels = None
        self.page.edit(self.open_recipe, "the search chooses the levels")

    def _pin(self, point: Point) -> None:
        project = self.workbench.project
        changed = choices.with_node(
            project.recipe, point["levels"], lost=point["suppressed"], records=self.found["records"]
        )
        figures = {name: point[name] for name in AXES}
        candidates.pin(
            self.page, pinned_candidates.of_node(project.version, point["levels"], changed, figures)
        )

    async def _why(self, point: Point) -> None:
        told = await self.page.wait_for(self.ask("reasons", levels=dict(point["levels"])))
        if told is None:
            return
        with self.page.client, self.card, section("Why not finer?", "why", level=3):
            if told["choice"]:
                text(told["choice"], "p")
            with element("ul", "reasons", tabindex=0):
                for words in told["finer"] or [
                    (
                        "Nothing can be finer: every column is as it is, or as fine as the recipe"
                        " allows."
                    )
                ]:
                    text(words, "li")
            if told["choice"]:
                for words in told["outlook"]:
                    text(words, "p", "small", "soft")
