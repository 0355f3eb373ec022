"""The stage *Look*: what was released, beside what it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number, percent
from sfumato.interfaces.web.pages import release_views, specs
from sfumato.interfaces.web.pages.parts import (
    ChartWidget,
    button,
    element,
    section,
    text,
    until_drawn,
)
from sfumato.interfaces.web.pages.tables import badge, choice, folded, pager, row, table, tabs

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

TABS = ("Columns", "Pairs", "Rows", "Classes", "Attacks", "Utility", "Contract", "Report")
SIGNS = {"holds": "✓", "mixed": "!", "broken": "✗", "open": "?"}
AT_ONCE = 6
"""Columns that are drawn at once."""


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = LookStage(page)
    stage.place = page.live(stage.draw, early=lambda: stage.changed, classes="work figured")


class LookStage:
    """What one tab looks at: which release, which view of it, and where in that."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench
        self.tab = TABS[0]
        self.version = 0
        """The version whose release is shown; 0: the newest."""
        self.told: dict[str, Any] = {}
        self.first = {"columns": 0, "rows": 0}
        self.two: list[str] = []
        self.which = "all"
        self.row: int | None = None
        self.page_of_report = "owner"
        self.seconds = 20
        self.drawn: tuple[str, int] | None = None
        self.place: Any = None

    async def ask(self, task: str, **given: Any) -> Any:
        """What the bench says of the release that is shown."""
        return await self.workbench.worker.ask(task, of=self.version, **given)

    @property
    def changed(self) -> bool:
        """Whether another view or another release is asked for than what is drawn: then that is
        said at once, and what was there is gone.
        """
        return self.drawn != (self.tab, self.workbench.project.version)

    def again(self, **changes: Any) -> None:
        """Draw again with something changed."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.page.redraw(self.place)

    async def make(self) -> None:
        """Make the release of the recipe in use."""
        version = self.workbench.project.version
        doing = self.workbench.do(
            "make",
            "Making the release",
            key=str(version),
            register=self.workbench.project.register or None,
        )
        made = await self.page.wait_for(doing)
        if made is not None and not made.get("made", True):
            self.page.say(
                f"{made.get('message', 'Nothing could be made.')} The stage Run says what would"
                " help."
            )
        elif made is not None:
            self.version = version
            self.workbench.project.note(version, made.get("effect", {}))
            self.workbench.project.tell()

    def known_as(self, what: str) -> str:
        """What is found about a release is known by when that was made: made again it is another
        one.
        """
        return f"{what} {self.version} {self.told['created']}"

    # drawing

    async def draw(self) -> None:
        """Draw all of it."""
        asked = (self.tab, self.workbench.project.version)
        text("What would others get?", "h1")
        project = self.workbench.project
        if not project.has_recipe or self.workbench.opened is None:
            self.page.ask_for_table("Open a table first: there is nothing to look at yet.")
            return
        with until_drawn():
            made = await self.workbench.worker.ask("made_versions")
            if made:
                now = project.version
                self.version = (
                    now if now in made else self.version if self.version in made else made[-1]
                )
                self.told = await self.ask("look")
        if not made:
            text(
                "Nothing has been made yet. A release is made from the recipe as it is; nothing is"
                " written.",
                "p",
            )
            button("Make the release", self.make, "strongly", key="make")
            return
        self._head(made)
        tabs("Views of the release", TABS, self.tab, lambda name: self.again(tab=name))
        with (
            element("div", "panel", *([] if self.version == project.version else ["old"])),
            until_drawn(),
        ):
            await VIEWS[self.tab](self)
        self.drawn = asked

    def _head(self, made: list[int]) -> None:
        project, told = self.workbench.project, self.told
        with element("p", "verdict", told["state"]):
            text(SIGNS[told["state"]], "span", "sign", aria_hidden="true")
            text(f"{told['headline']}.")
        text(f"{told['told']}.", "p", "lead")
        if self.version != project.version:
            with element("div", "row"):
                badge(f"for version {self.version}")
                button(
                    f"Make the release of version {project.version}",
                    self.make,
                    "strongly",
                    key="make",
                )
        for words in told["warnings"]:
            text(words, "p", "alarm")


async def _columns(stage: LookStage) -> None:
    """Every column before and after, a few at a time."""
    names, first = stage.told["shown"], stage.first["columns"]
    cards = await stage.ask("look_columns", names=names[first : first + AT_ONCE])
    if len(names) > AT_ONCE:
        pager(
            "columns",
            first,
            AT_ONCE,
            len(names),
            lambda at: stage.again(first={**stage.first, "columns": at}),
        )
    text(
        "Grey outline: before. Blue: after; what was made coarser is spread over what it may stand"
        " for.",
        "p",
        "small",
        "soft",
    )
    with element("div", "cards"):
        for card in cards:
            _card(
                card, next((c for c in stage.told["changes"] if c["column"] == card["column"]), {})
            )
    gone = [change["column"] for change in stage.told["changes"] if change["after"] is None]
    if gone:
        text(f"Not released: {', '.join(gone)}.", "p", "soft")


def _card(card: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    rows = [
        {"bin": name, "place": place, "before": was, "after": now}
        for place, (name, was, now) in enumerate(
            zip(card["bins"], card["before"], card["after"], strict=True)
        )
    ]
    with section(card["column"], "card"):
        told = (
            f"{change.get('action', '')} · {change.get('before', 0):,} → {change.get('after', 0):,}"
            " values"
        )
        text(told, "p", "small", "soft")
        label = f"{card['column']} before and after; the table below it has the shares"
        ChartWidget(specs.bars(rows), label).classes("small-picture")
        text(
            f"loss {number(card['loss'])} · distribution moved by {percent(card['distance'])}",
            "p",
            "small",
        )
        with folded("The same as a table", key=f"table of {card['column']}"):
            _shares(card, rows)


def _shares(card: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    with table(
        f"{card['column']}, share of the records",
        [("value", False), ("before", True), ("after", True)],
    ):
        for one in rows:
            row(
                [one["bin"], percent(one["before"]), percent(one["after"])],
                numbers=(False, True, True),
            )


async def _pairs(stage: LookStage) -> None:
    """Two columns together, before and after."""
    names = stage.told["shown"]
    if len(names) < 2:
        text("There are no two columns to look at together.", "p")
        return
    stage.two = [name for name in stage.two if name in names] if len(set(stage.two)) == 2 else []
    one, other = stage.two if len(stage.two) == 2 else names[:2]
    with element("div", "row", "controls"):
        options = {name: name for name in names}
        choice(
            "columns",
            options,
            one,
            lambda name: _two(stage, (one, other), 0, name),
            key="one column",
        )
        choice(
            "and",
            options,
            other,
            lambda name: _two(stage, (one, other), 1, name),
            key="other column",
        )
    found = await stage.ask("look_pair", one=one, other=other)
    told = (
        f"Going together (Cramér's V): {number(found['association_before'])} before,"
        f" {number(found['association_after'])} after. "
    )
    text(f"{told}The table moved by {percent(found['table_distance'])}.", "p")
    most = max(
        (share for when in ("before", "after") for line in found[when] for share in line),
        default=0.0,
    )
    with element("div", "cards"):
        for when in ("before", "after"):
            _heat(found, when, (one, other), most)
    with folded("The same as a table", key="table of both"):
        _both(found, one, other)


def _two(stage: LookStage, two: tuple[str, str], place: int, name: str) -> None:
    """Choose one of two columns; both cannot be the same: one that is taken changes sides."""
    one, other = (name, two[1]) if place == 0 else (two[0], name)
    stage.again(two=[one, other] if one != other else [two[1], two[0]])


def _heat(found: Mapping[str, Any], when: str, titles: tuple[str, str], most: float) -> None:
    across, up = found["names"]
    rows = [
        {"x": x, "y": y, "i": i, "j": j, "share": found[when][i][j]}
        for i, x in enumerate(across)
        for j, y in enumerate(up)
    ]
    with section(when.capitalize(), "card"):
        label = (
            f"{titles[0]} and {titles[1]} {when}: the larger a square, the more records; the table"
            " has the shares"
        )
        ChartWidget(specs.heat(rows, titles, most), label).classes("picture")


def _both(found: Mapping[str, Any], one: str, other: str) -> None:
    across, up = found["names"]
    with table(
        "Share of the records", [(one, False), (other, False), ("before", True), ("after", True)]
    ):
        for i, x in enumerate(across):
            for j, y in enumerate(up):
                shares = [percent(found[when][i][j]) for when in ("before", "after")]
                row([x, y, *shares], numbers=(False, False, True, True))


async def _classes(stage: LookStage) -> None:
    """Who is alike: records by the size of their class."""
    found = await stage.ask("look_classes")
    was, now = found["figures"]["before"], found["figures"]["after"]
    told = (
        f"The smallest class has {now['smallest']:,} records, {was['smallest']:,} before;"
        f" {now['unique']:,} records are alone, {was['unique']:,} before."
    )
    text(told, "p")
    rows = [
        {"bin": name, "place": place, "when": when, "records": found[when][place]}
        for place, name in enumerate(found["bins"])
        for when in ("before", "after")
    ]
    ChartWidget(
        specs.columns_of_two(rows, "records"),
        "Records by the size of their class, before and after; the table has the same",
    ).classes("picture")
    with table(
        "Records by the size of their class",
        [("size of the class", False), ("before", True), ("after", True)],
    ):
        for place, name in enumerate(found["bins"]):
            row(
                [name, f"{found['before'][place]:,}", f"{found['after'][place]:,}"],
                numbers=(False, True, True),
            )
    if found["risks"]:
        text("Risks that follow", "h2")
        with table(
            "Risks that follow",
            [("risk", False), ("before", True), ("after", True), ("meaning", False)],
        ):
            for name, before, after, meaning in found["risks"]:
                row(
                    [name.replace("_", " "), percent(before), percent(after), meaning],
                    numbers=(False, True, True, False),
                )
    else:
        text(
            "Rows were drawn anew and are nobody's: class sizes put nobody at risk, and tell of no"
            " safety either.",
            "p",
        )


async def _contract(stage: LookStage) -> None:
    """What was promised, limited and agreed, and whether it holds."""
    told = stage.told
    _kept(
        "Promises",
        [(one["holds"], f"{one['promise']}: {one['sentence']}") for one in told["promises"]],
        "Nothing was promised.",
    )
    _kept(
        "Limits",
        [(one["holds"], one["sentence"]) for one in told["limits"]],
        "The recipe sets no limit.",
    )
    _kept(
        "Contract",
        [_agreed(one) for one in told["contract"]],
        "Nobody agreed on what must survive.",
    )
    with section("What happened to each column"):
        heads = [
            ("column", False),
            ("role", False),
            ("what happened", False),
            ("values before", True),
            ("after", True),
        ]
        with table("Columns", heads):
            for one in told["changes"]:
                after = "–" if one["after"] is None else f"{one['after']:,}"
                cells = [one["column"], one["roles"], one["action"], f"{one['before']:,}", after]
                row(cells, numbers=(False, False, False, True, True))


def _agreed(one: Mapping[str, Any]) -> tuple[bool, str]:
    rest = "" if one["holds"] or one["refuses"] else " (reported, not refused)"
    return one["holds"], f"{one['sentence']}{rest}"


def _kept(title: str, lines: list[tuple[bool, str]], nothing: str) -> None:
    with section(title):
        if not lines:
            text(nothing, "p", "soft")
        with element("ul", "verdicts"):
            for holds, words in lines:
                with element("li", *([] if holds else ["alarm"])):
                    text("✓ holds: " if holds else "✗ does not hold: ", "span", "strong")
                    text(words)


VIEWS = {
    "Columns": _columns,
    "Pairs": _pairs,
    "Rows": release_views.rows,
    "Classes": _classes,
    "Attacks": release_views.attacks,
    "Utility": release_views.utility,
    "Contract": _contract,
    "Report": release_views.report,
}
