"""The stage *Explore*: every combination of levels by what it costs and what it risks, and
candidates side by side.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.blocks import ChartAxis, ChartBlock, MarkKind, Point, Series
from sfumato.core.words import join_words, number, percent, plain_name
from sfumato.errors import SfumatoError
from sfumato.interfaces.web import choices, edits, pinned_candidates
from sfumato.interfaces.web.catalogue import title_of
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages import candidates, landscape_views
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.charts import ChartWidget, draw_chart
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import Words, button, element, hint, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import badge, choice, pips, table, tabs

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Project

# What a combination of levels is measured by.
AXES = {
    "score": ChartAxis("loss"),
    "marketer_risk": ChartAxis("marketer risk", share=True, logarithmic=True),
    "prosecutor_risk": ChartAxis("prosecutor risk", share=True, logarithmic=True),
    "suppressed": ChartAxis("records lost"),
    "class_size": ChartAxis("average class"),
}
# Points that the table has at most.
MOST_SHOWN = 60
VIEWS = ("Plane", "Lattice", "Tiles", "List")
Node = Fields


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = Explore(page)
    stage.place = page.live(stage.draw, classes="work figured")


def before(project: Project, version: int) -> list[Recipe]:
    """The recipes that a version came from, newest first."""
    parents = {entry.version: entry.parent for entry in project.log}
    recipes, at = [], parents.get(version, 0)
    while at:
        recipes.append(project.recipe_of(at))
        at = parents.get(at, 0)
    return recipes


def _levels_in_use(landscape: Fields) -> dict[str, int] | None:
    """The levels in use, else those of the first point that nothing beats, where one is known."""
    points = landscape["points"]
    for at in (landscape["in_use"], *landscape["front"]):
        if at in points:
            return dict(points[at]["levels"])
    return None


class Explore(StageView):
    """What one tab looks at: which axes, which point is chosen, and what is told of it."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.axes = ("score", "marketer_risk")
        self.view = "Plane"
        self.pinning = {"version": "", "recipe": ""}
        # The point that is selected.
        self.levels: dict[str, int] | None = None
        self.found: Fields = {}
        self.examples: dict[str, list[str | None]] = {}
        self.chart: ChartWidget | None = None
        self.card: Any = None
        # The numbers of the nodes that the series of the picture show.
        self.drawn: list[list[int]] = []
        self.near: list[Node] = []
        # Which combinations are shown, and where in the list of them one is.
        self.filters, self.filters_open = landscape_views.Filters(), False
        self.sort, self.falling, self.first = "score", False, 0
        self.listing: Fields = {}
        # The nodes that the lattice is drawn of.
        self.lattice: dict[int, Node] = {}

    # asking

    @property
    def open_recipe(self) -> Recipe:
        """The recipe with the choice left to the search."""
        project = self.project
        return choices.left_open(project.recipe, before(project, project.version))

    async def ask(self, task: str, **arguments: Any) -> Any:
        """What the bench says of the recipe in use; it is not remembered here, since it changes
        with what is surveyed.
        """
        recipes: Fields = {"recipe": self.recipe, "open_recipe": self.open_recipe}
        return await self.workbench.worker.ask(task, **recipes, **arguments)

    async def survey(self) -> None:
        """Look at all combinations."""
        version = self.project.version
        doing = self.workbench.do(
            "survey", "Looking at all combinations", open_recipe=self.open_recipe, made_for=version
        )
        if await self.page.wait_for(doing) is not None:
            self.project.tell()

    # drawing

    async def draw(self) -> None:
        """Draw all of it; what is selected stays so."""
        text("Which trade-off do you want?", "h1")
        if not self.workbench.ready:
            text("Open a table first; there is nothing to trade off yet.", "p")
            text("Open a table", "a", "button", href="./", key="to data")
            return
        landscape = await self.ask("front", axes=self.axes, filters=self.filters.plain)
        listing: Fields = {}
        lattice: dict[int, Node] = {}
        if landscape["lattice"] and landscape["known"]:
            self.examples = await self.workbench.answer("level_examples")
            listing, lattice = await self._ask_view(landscape)
        # from here to the end nothing waits: what is seen and what is meant by it change together
        self.found, self.listing, self.lattice = landscape, listing, lattice
        if listing or lattice:
            landscape["points"] |= listing.get("points", {}) | lattice
        if not self.found["lattice"]:
            self._no_lattice()
        elif not self.found["known"]:
            self._not_yet()
        else:
            self._landscape()
        candidates.draw(self.page, self.pinning)

    async def _ask_view(self, landscape: Fields) -> tuple[Fields, dict[int, Node]]:
        """What the view needs besides the plane: a page of the list, or the nodes of the
        lattice.
        """
        if not landscape["fresh"]:
            return {}, {}
        if self.view in landscape_views.ON_PAGE:
            part = (self.first, landscape_views.ON_PAGE[self.view])
            order = (self.sort, self.falling)
            filters = self.filters.plain
            return await self.ask("list_nodes", filters=filters, order=order, part=part), {}
        if self.view != "Lattice":
            return {}, {}
        if landscape["few"] or not landscape["whole"]:
            return {}, dict(landscape["points"])
        middle = self.levels or _levels_in_use(landscape)
        if middle is None:
            return {}, {}
        filters = self.filters.plain
        return {}, await self.ask("nodes_around", filters=filters, levels=middle)

    def _no_lattice(self) -> None:
        names = ", ".join(title_of(step.name) for step in self.recipe.steps) or "no step"
        text(
            f"This recipe works by {names}. None of its steps gives whole columns a level, so "
            "there are no levels to choose from.",
            "p",
        )
        text(
            "Recode whole columns to see every choice on a map, or compare this recipe with others"
            " below.",
            "p",
        )
        with element("div", "row"):
            recode = edits.with_recoding(self.recipe)
            button("Recode whole columns instead", lambda: self.page.edit(*recode), key="recode")
            button(
                "Pin this recipe, and the same with recoding of whole columns",
                self._pin_both,
                key="pin both",
            )

    def _pin_both(self) -> None:
        project = self.project
        candidates.pin(self.page, pinned_candidates.of_version(project, project.version))
        candidates.pin(
            self.page,
            pinned_candidates.of_recipe(
                "by recoding whole columns", edits.with_recoding(self.recipe).recipe
            ),
        )

    def _not_yet(self) -> None:
        text(
            "Every combination of levels has a cost and a risk. None has been examined yet.",
            "p",
        )
        button("Look at all combinations", self.survey, "strongly", key="survey")

    def _landscape(self) -> None:
        landscape = self.found
        text(self._summary(), "p", "lead", not landscape["fresh"] and "old")
        if not landscape["fresh"]:
            with element("div", "row"):
                badge(f"for version {landscape['version']}")
                button(
                    f"Look again for version {self.project.version}",
                    self.survey,
                    "strongly",
                    key="survey",
                )
        if self.recipe.limits or self.recipe.contract:
            words = (
                "Limits and the contract are not checked for these points: a run checks them, and "
                "so does the comparison of candidates below."
            )
            hint(words)
        self._choose_first()
        axes = {name: self._named_axis(name) for name in AXES}
        if landscape["fresh"]:
            landscape_views.draw_filters(self, axes)
        self._controls()
        listed = landscape["fresh"] and self.view in landscape_views.ON_PAGE
        with element("div", "two", not landscape["fresh"] and "old"):
            with element("div"):
                if listed:
                    self.chart, self.drawn = None, []
                    landscape_views.draw_listing(self, axes)
                else:
                    self._picture()
            self.card = element("aside", "detail", aria_label="The point", aria_live="polite")
            if not listed:
                with element("div"):
                    self._table()
        self._show(self.selected)

    def _summary(self) -> str:
        landscape = self.found
        promise = join_words(model.promise for model in self.recipe.meet) or "what is promised"
        if not landscape["whole"]:
            return (
                "There are too many combinations to examine all: these are the current one and "
                f"its neighbours. At most {landscape['budget']:,} records may be lost."
            )
        which = ""
        if self.filters.used:
            which = " that pass the filters"
        within = (
            f"{landscape['within']:,}{which} hold {promise} and lose no more than the "
            f"{landscape['budget']:,} records you allow"
        )
        ways = "look at combinations that lose more, or promise less"
        if landscape["front"]:
            ways = f"{len(landscape['front']):,} of them are beaten by none"
        return (
            f"Of {landscape['nodes']:,} combinations of levels, {within}; {ways}. Further left"
            " keeps more, further down risks less."
        )

    def _controls(self) -> None:
        with element("div", "row", "controls"):
            if self.found["fresh"]:
                tabs("Picture", VIEWS, self.view, lambda view: self.change_view(view=view, first=0))
            if self.view == "Plane" or not self.found["fresh"]:
                names = {name: axis.title for name, axis in AXES.items()}
                across, up = self.axes
                choice("across", names, across, lambda name: self._axis(0, name), key="across")
                choice("up", names, up, lambda name: self._axis(1, name), key="up")
            if self.found["by_hand"]:
                badge("chosen by hand")
                button("Let the search choose", self._leave_open, key="search chooses")

    def _axis(self, position: int, name: str) -> None:
        if position == 0:
            across, up = (name, self.axes[1])
        else:
            across, up = (self.axes[0], name)
        if across == up:  # both axes cannot be the same: the one that is taken changes sides
            across, up = self.axes[1], self.axes[0]
        self.change_view(axes=(across, up), near=[])

    # the picture

    def _picture(self) -> None:
        self.drawn = []
        if self.draws_lattice and not self.found["few"]:
            hint(
                f"The {len(self.lattice):,} combinations nearest to the point that was selected, of"
                f" {self.found['nodes']:,}."
            )
            button(
                "Draw those around the point that is selected now",
                self.change_view,
                key="draw around",
            )
        self.chart = draw_chart(self._lattice() if self.draws_lattice else self._plane())
        self.chart.on("look", lambda event: self._look(self._node_at(event.args)))
        self.chart.on("pick", lambda event: self.pick(self._node_at(event.args)))
        self.chart.on("use", lambda event: self.use(self._node(self._node_at(event.args))))
        self.chart.on("leave", lambda: self._show(self.selected))

    def _node_at(self, position: list[int]) -> int:
        series, point = position
        return self.drawn[series][point]

    def _node(self, at: int) -> Node:
        node: Node = self.found["points"][at]
        return node

    def _series(self, name: str, nodes: list[int], mark: MarkKind) -> Series:
        """Nodes that are drawn alike; the larger a dot, the more of them lie there."""
        self.drawn.append(nodes)
        sizes: dict[int, int] = {}
        if not self.draws_lattice:
            sizes = self.found["dots"]
        points = []
        for at in nodes:
            x, y = self._coordinates(self._node(at))
            points.append(Point(x, y, size=sizes.get(at, 1)))
        return Series(name, tuple(points), mark)

    def _groups(self, nodes: list[int], front: list[int]) -> list[Series]:
        """Nodes beyond the budget and within it, those that nothing beats, and the one in use."""
        within = [at for at in nodes if self._node(at)["within_budget"]]
        beyond = [at for at in nodes if not self._node(at)["within_budget"]]
        nodes_of_picture = self.found["points"]
        if self.draws_lattice:
            nodes_of_picture = self.lattice
        in_use = [at for at in [self.found["in_use"]] if at in nodes_of_picture]
        return [
            self._series("loses more than you allow", beyond, "ring"),
            self._series("keeps the budget", within, "dot"),
            self._series("nothing beats it", front, "staircase"),
            self._series("in use", in_use, "chosen"),
        ]

    def _plane(self) -> ChartBlock:
        across, up = (self._named_axis(name) for name in self.axes)
        front = self.found["front"] if self.found["whole"] else []
        groups = self._groups(list(self.found["dots"]), front)
        words = (
            f"{len(self.found['dots'])} dots for {self.found['nodes']:,} combinations by "
            f"{across.title} and {up.title}; the table below lists the points that none beats"
        )
        x = dataclasses.replace(across, title=f"{across.title} (worse →)")
        y = dataclasses.replace(up, title=f"{up.title} (worse ↑)")
        return ChartBlock("combinations", "scatter", x, y, tuple(groups), words)

    @property
    def draws_lattice(self) -> bool:
        """Whether the picture is the lattice; else it is the plane."""
        return self.view == "Lattice" and bool(self.lattice)

    def _lattice(self) -> ChartBlock:
        """A row for each sum of levels, finest below; a line joins nodes that are one level of one
        column apart.
        """
        nodes = self.lattice
        by_levels = {tuple(sorted(node["levels"].items())): at for at, node in nodes.items()}
        edges: list[int] = []
        corners: list[Point] = []
        for at, node in nodes.items():
            for column, level in node["levels"].items():
                coarser = {**node["levels"], column: level + 1}
                above = by_levels.get(tuple(sorted(coarser.items())))
                if above is not None:
                    edges += [at, above, at]
                    start, end = self._coordinates(node), self._coordinates(nodes[above])
                    corners += [Point(*start), Point(*end), Point(start[0], None)]
        self.drawn.append(edges)
        lines = Series("", tuple(corners), "line")
        words = (
            f"The lattice of {len(nodes)} combinations, finest below; the table lists the points "
            "that none beats"
        )
        series = (lines, *self._groups(list(nodes), []))
        y = ChartAxis("sum of levels (coarser ↑)")
        return ChartBlock("lattice", "scatter", ChartAxis(), y, series, words)

    def _coordinates(self, node: Node) -> tuple[float, float]:
        """Where a node is drawn; in the lattice, nodes with the same sum of levels stand side by
        side.
        """
        if not self.draws_lattice:
            return node[self.axes[0]], node[self.axes[1]]
        height = sum(node["levels"].values())
        every = [node_of_lattice["levels"] for node_of_lattice in self.lattice.values()]
        row = [levels for levels in every if sum(levels.values()) == height]
        return row.index(node["levels"]) - (len(row) - 1) / 2, height

    @property
    def score_title(self) -> str:
        """What is minimised."""
        return self._named_axis("score").title

    def _named_axis(self, name: str) -> ChartAxis:
        if name != "score":
            return AXES[name]
        return dataclasses.replace(AXES[name], title=plain_name(str(self.found["objective"])))

    # the table

    def _table(self) -> None:
        heads = [("point", False)]
        heads += [(self._named_axis(name).title, True) for name in (*AXES,)]
        heads.append(("use", True))
        best_nodes = self.found["front"][:MOST_SHOWN]
        if not best_nodes:
            return
        with table("Points that none beats", heads):
            for rank, at in enumerate(best_nodes, 1):
                self._row(rank, at, self.found["points"][at])
        if len(self.found["front"]) > MOST_SHOWN:
            hint(f"The first {MOST_SHOWN} of {len(self.found['front']):,}.")

    def _row(self, rank: int, at: int, point: Node) -> None:
        used = at == self.found["in_use"]
        with element("tr", used and "on"):
            with element("th", scope="row"), element("label", "radio"):
                picked = {"checked": True} if point["levels"] == self.levels else {}
                radio = element(
                    "input", type="radio", name="point", value=at, key=f"point {at}", **picked
                )
                Words(str(rank))
            radio.on("change", lambda _, a=at: self.pick(a))
            radio.on("keydown.enter", lambda _, p=point: self.use(p))
            for name, axis in AXES.items():
                text(axis.text(point[name]), "td", "num")
            with element("td", "num"):
                if used:
                    badge("in use")
                else:
                    button(
                        "use",
                        lambda _, p=point: self.use(p),
                        "quiet",
                        key=f"use {at}",
                        label=f"Use point {rank}",
                    )

    # the card

    @property
    def selected(self) -> Node | None:
        """The point that is selected, where it is known."""
        for at, point in self.found["points"].items():
            if point["levels"] == self.levels:
                return {**point, "id": at}
        return next((node for node in self.near if node["levels"] == self.levels), None)

    def _choose_first(self) -> None:
        """Where nothing is selected, what is in use is; else the first point that nothing beats."""
        if self.selected is None:
            first = None
            if self.found["in_use"] in self.found["points"]:
                first = self.found["in_use"]
            if first is None:
                first = next(iter(self.found["front"]), None)
            self.levels = None
            if first is not None:
                self.levels = dict(self.found["points"][first]["levels"])

    def _look(self, at: int) -> None:
        self._show({**self._node(at), "id": at}, preview=True)

    async def pick(self, at: int) -> None:
        """Select a point; one that stands for several shows the others."""
        point = self._node(at)
        self.levels, self.near = dict(point["levels"]), []
        if self.found["fresh"] and self.found["dots"].get(at, 1) > 1 and self.view == "Plane":
            try:
                self.near = await self.ask(
                    "nodes_near", axes=self.axes, at=self._coordinates(point)
                )
            except SfumatoError as error:
                self.page.say(str(error))
        self._show(self.selected)

    def _pick_near(self, point: Node) -> None:
        self.levels = dict(point["levels"])
        self._show(self.selected)

    def _show(self, point: Node | None, *, preview: bool = False) -> None:
        """Tell about a point in the card, and put the ring around it."""
        if self.card is None:
            return
        if self.chart is not None:
            rings = []
            if point is not None and (not self.draws_lattice or point["id"] in self.lattice):
                rings.append(Point(*self._coordinates(point)))
            self.chart.ring(rings)
        with self.page.client, redrawn(self.card):
            if point is None:
                text("Choose a point in the picture or the table.", "p", "soft")
            else:
                self._point(point, preview=preview)

    def _point(self, point: Node, *, preview: bool) -> None:
        used = point["id"] == self.found["in_use"]
        rank = None
        if point["id"] in self.found["front"]:
            rank = self.found["front"].index(point["id"]) + 1
        name = "A combination of levels"
        if rank:
            name = f"Point {rank}"
        text(f"{name}{', in use' if used else ''}", "h2")
        with element("dl", "list"):
            for column, level in point["levels"].items():
                self._level(column, level)
        summary = (
            f"{point['suppressed']:,} records lost · average class"
            f" {number(round(point['class_size'], 1))}"
        )
        text(summary, "p")
        summary = (
            f"{self._named_axis('score').title} {number(point['score'])} · marketer risk"
            f" {percent(point['marketer_risk'])}"
        )
        hint(f"{summary} · best guess for the least protected {percent(point['prosecutor_risk'])}")
        if not point["classes"]:
            text("Nothing would remain to release.", "p", "alarm")
        elif not point["within_budget"]:
            over = point["suppressed"] - self.found["budget"]
            text(f"This loses {over:,} records more than you allow.", "p", "alarm")
        if not preview:
            self._acts(point, used=used)
            self._neighbours(point)

    def _level(self, column: str, level: int) -> None:
        top = self.found["tops"].get(column, level)
        labels = self.examples.get(column, [])
        example = None
        if level < len(labels):
            example = labels[level]
        words = f"e.g. {example}" if example else f"level {level}"
        if level == 0:
            words = "unchanged"
        elif level == top:
            words = "fully suppressed"
        with element("div"):
            text(column, "dt")
            with element("dd"):
                pips(level, top)
                text(f"level {level} of {top}", "span", "unseen")
                text(words, "span", "soft", "small")

    def _acts(self, point: Node, *, used: bool) -> None:
        with element("div", "row"):
            words = "Use"
            if not point["within_budget"]:
                words = f"Use it, and allow {point['suppressed']:,} lost records"
            if self.found["fresh"] and point["classes"]:
                button(
                    words,
                    lambda: self.use(point),
                    "strongly",
                    key="use",
                    disabled=used and self.found["by_hand"],
                )
                button("Pin", lambda: self._pin(point), key="pin")
                button("Why not finer?", lambda: self._why(point), key="why")

    def _neighbours(self, point: Node) -> None:
        neighbours = [node for node in self.near if node["levels"] != point["levels"]]
        if not neighbours:
            return
        text("Other combinations at the same place", "h3")
        with element("ul", "plain", "near"):
            for node in neighbours:
                differences = [
                    f"{c} {level}"
                    for c, level in node["levels"].items()
                    if level != point["levels"].get(c)
                ]
                with element("li"):
                    button(
                        ", ".join(differences) or "the same levels",
                        lambda _, o=node: self._pick_near(o),
                        "quiet",
                        key=f"near {node['id']}",
                    )
                    text(f"{node['suppressed']:,} lost", "span", "small", "soft")

    # what a point can do

    def use(self, point: Node) -> None:
        """Make the levels of a point those of the recipe."""
        if not self.found["fresh"]:
            self.page.say("These figures are of an older version. Look again first.")
            return
        if not point["classes"]:
            self.page.say("At these levels nothing would remain to release.")
            return
        self.levels = dict(point["levels"])
        recipe = self.recipe
        changed = choices.with_node(
            recipe, point["levels"], lost=point["suppressed"], records=self.found["records"]
        )
        allowance = ""
        if not point["within_budget"]:
            allowance = f", {point['suppressed']:,} records may be lost"
        levels = ", ".join(f"{column} {level}" for column, level in point["levels"].items())
        self.page.edit(changed, f"levels chosen by hand: {levels}{allowance}")

    def _leave_open(self) -> None:
        self.levels = None
        self.page.edit(self.open_recipe, "the search chooses the levels")

    def _pin(self, point: Node) -> None:
        project = self.project
        changed = choices.with_node(
            project.recipe, point["levels"], lost=point["suppressed"], records=self.found["records"]
        )
        figures = {name: point[name] for name in AXES}
        candidates.pin(
            self.page, pinned_candidates.of_node(project.version, point["levels"], changed, figures)
        )

    async def _why(self, point: Node) -> None:
        reasons = await self.page.wait_for(self.ask("reasons", levels=dict(point["levels"])))
        if reasons is not None:
            with self.page.client, self.card, element("section", "why", "reasons", tabindex=0):
                draw_blocks(reasons)
