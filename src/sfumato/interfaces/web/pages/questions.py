"""The stage *Questions*: ask a table under a budget. Nothing of the data is shown before an answer
that was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number, percent
from sfumato.errors import ParameterError
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED,
    AS_TYPED_IN_AREA,
    button,
    element,
    section,
    text,
)
from sfumato.interfaces.web.pages.tables import VALUE, choice, row, table

if TYPE_CHECKING:
    from nicegui import ui

    from sfumato.interfaces.web.pages.shell import Page

ANSWERED = "answers"
MOST_ANSWERS = 20


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = QuestionStage(page)
    stage.place = page.live(stage.draw, classes="work figured")


class QuestionStage:
    """What one tab is about to ask."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench
        self.place: Any = None
        self.start = {"epsilon": "1", "delta": "0", "contributions": "1", "protects": ""}
        self.asking = {"statement": "", "epsilon": "0.1", "rows": "1000"}
        self.state: dict[str, Any] = {}
        self.expected: Any = None

    @property
    def ledger(self) -> str:
        """Beside the recipe, where ``sfumato query`` looks for it."""
        return str(self.workbench.project.folder / "recipe.ledger")

    @property
    def source(self) -> dict[str, Any]:
        """Where the table is and how it is read."""
        data = self.workbench.project.data
        return {"path": data.path, "options": dict(data.options)}

    async def ask(self, task: str, **given: Any) -> Any:
        """What the bench says of the ledger."""
        return await self.workbench.worker.ask(
            task, recipe=self.workbench.recipe, ledger=self.ledger, **given
        )

    # drawing

    async def draw(self) -> None:
        """Draw all of it."""
        text("What do you want to know?", "h1")
        if not self.workbench.project.has_recipe or self.workbench.opened is None:
            self.page.ask_for_table("Open a table first: there is nobody to ask about yet.")
            return
        self.state = await self.ask("budget_state")
        if not self.state["started"]:
            self._begin()
            return
        self._gauge()
        self._question()
        self._answers()
        self._history()

    def _begin(self) -> None:
        told = (
            "Answers carry noise, so that nobody can tell from them whether one person is in the"
            " table. Each answer costs a part of a budget; "
        )
        text(f"{told}what is spent stays spent, also at the command line.", "p", "lead")
        self.start["protects"] = self.start["protects"] or self.state["protects"][0]
        whom = {
            name: "every row is another person" if name == "row" else f"the persons in {name}"
            for name in self.state["protects"]
        }
        with element("div", "row", "controls", "stacked"):
            _field("ε in total", self.start, "epsilon", "the less, the better people are hidden")
            _field("δ", self.start, "delta", "0, or the probability with which ε may fail")
            choice(
                "protects",
                whom,
                self.start["protects"],
                lambda name: self.start.update(protects=name),
                key="protects",
            )
            _field(
                "rows of one person that count",
                self.start,
                "contributions",
                "where persons have several rows",
            )
        button("Start the budget", self._start, "strongly", key="start budget")

    async def _start(self) -> None:
        given = self.page.attempt(
            lambda: {
                name: _number(self.start[name], name)
                for name in ("epsilon", "delta", "contributions")
            }
        )
        if given is None:
            return
        given |= {
            "protects": self.start["protects"],
            "contributions": int(given["contributions"]),
            "source": self.source,
        }
        if (
            await self.page.wait_for(
                self.workbench.do(
                    "start_budget", "Starting the budget", ledger=self.ledger, **given
                )
            )
            is not None
        ):
            self.workbench.project.tell()

    def _gauge(self) -> None:
        """Spent, this and left; how little is left is no alarm."""
        state = self.state
        this = self.asking["epsilon"]
        with section("The budget", "gauge"):
            self._bar()
            delta = f", δ = {state['delta']:g}" if state["delta"] else ", δ = 0"
            text(self._told(this, delta), "p")
            text(f"It protects {state['whom']}.", "p", "small", "soft")

    def _bar(self) -> None:
        """Spent, this answer, left; the sentence below says the same in numbers."""
        state = self.state
        spent = min(1.0, state["spent"] / state["total"])
        try:
            this = (
                max(0.0, float(self.asking["epsilon"])) / state["total"]
                if state["currency"] == "ε"
                else 0.0
            )
        except ValueError:
            this = 0.0
        with element("div", "budgetbar", aria_hidden="true"):
            element("i", "spent", style=f"width:calc({spent:.4f} * 100%)")
            element("i", "this", style=f"width:calc({min(1.0 - spent, this):.4f} * 100%)")

    def _told(self, this: str, delta: str) -> str:
        state = self.state
        sign = state["currency"]
        left = f"one answer may still cost up to ε = {state['largest_epsilon']:g}"
        return (
            f"Spent {sign} = {state['spent']:g} of {sign} = {state['total']:g}{delta}; this answer"
            f" ε = {this}; {left}."
        )

    def _question(self) -> None:
        state = self.state
        hint = " ".join(("SELECT COUNT(*) FROM", state["dataset"]))
        with section("The question"):
            told = (
                f"One SELECT over the table {state['dataset']} with COUNT, SUM, AVG, VARIANCE or a"
                " quantile. "
            )
            declared = (
                f"Columns with bounds: {', '.join(state['bounded']) or 'none'}. Columns with listed"
                f" values: {', '.join(state['listed']) or 'none'}."
            )
            text(told + declared, "p", "small", "soft")
            with element("label", "block"):
                text("Question (SQL)", "span", "soft", "small")
                area = element(
                    "textarea",
                    "mono",
                    rows=3,
                    spellcheck="false",
                    placeholder=hint,
                    key="statement",
                )
                area.props[AS_TYPED_IN_AREA] = self.asking["statement"]
            area.on(
                "change",
                lambda event: self.asking.update(statement=str(event.args)),
                js_handler=VALUE,
            )
            with element("div", "row", "controls"):
                _field(
                    "ε of this answer",
                    self.asking,
                    "epsilon",
                    "",
                    lambda: self.page.redraw(self.place),
                )
                _field(
                    "records you expect",
                    self.asking,
                    "rows",
                    "your guess; the data are not looked at",
                )
            with element("div", "row"):
                button("How exact would it be?", self._expect, key="expect")
                button("Ask", self._ask, "strongly", key="ask")
                button("Ask again with new noise", lambda: self._ask(fresh=True), key="ask afresh")
            self.expected = element("div", "expected", role="status")

    async def _expect(self) -> None:
        given = self._given(rows=True)
        if given is None:
            return
        found = await self.page.wait_for(self.ask("error_expected", **given))
        if found is None:
            return
        with self.page.client, redrawn(self.expected):
            for one in found:
                words = (
                    f"its rank within {percent(one['error'])} of the rows"
                    if one["rank"]
                    else f"within ±{number(one['error'])}"
                )
                text(f"{one['question']}: {words}, 95 times out of 100.", "p")

    async def _ask(self, *, fresh: bool = False) -> None:
        given = self._given()
        if given is None:
            return
        doing = self.workbench.do(
            "ask_question", "Asking", ledger=self.ledger, source=self.source, fresh=fresh, **given
        )
        found = await self.page.wait_for(doing)
        if found is not None:
            before = self.workbench.findings.get(ANSWERED, [])
            self.workbench.findings[ANSWERED] = [*found["answers"], *before][:MOST_ANSWERS]
            self.workbench.project.tell()

    def _given(self, *, rows: bool = False) -> dict[str, Any] | None:
        names = ("epsilon", "rows") if rows else ("epsilon",)
        found = self.page.attempt(
            lambda: {name: _number(self.asking[name], name) for name in names}
        )
        return None if found is None else {**found, "statement": self.asking["statement"]}

    def _answers(self) -> None:
        for place, one in enumerate(self.workbench.findings.get(ANSWERED, [])):
            with section(one["title"], "answer", level=2):
                text(one["sentence"], "p")
                _values(one, place)

    def _history(self) -> None:
        with section("Paid for so far"):
            if not self.state["history"]:
                text("Nothing yet.", "p", "soft")
            with element("ol"):
                for words in self.state["history"]:
                    text(words, "li")


def _values(one: Mapping[str, Any], place: int) -> None:
    heads = [(", ".join(one["by"]) or "all", False), ("value", True), ("from", True), ("to", True)]
    with table(f"Answer {place + 1}: {one['title']}", heads):
        for at, value in enumerate(one["values"]):
            group = ", ".join(one["groups"][at]) if one["by"] else "all"
            between = [number(one[side][at]) if one[side] else "–" for side in ("low", "high")]
            row([group, number(value), *between], numbers=(False, True, True, True))


def _field(
    label: str,
    where: dict[str, str],
    name: str,
    help_words: str,
    then: Callable[[], None] = lambda: None,
) -> ui.element:
    """A number to be typed, with its help below it."""
    with element("label", "typed") as made:
        text(label, "span", "soft", "small")
        typed = element(
            "input", inputmode="decimal", key=f"field {name}", **{AS_TYPED: where[name]}
        )
        if help_words:
            text(help_words, "span", "soft", "small")

    def changed(event: Any) -> None:
        where[name] = str(event.args)
        then()

    typed.on("change", changed, js_handler=VALUE)
    return made


def _number(words: str, name: str) -> float:
    try:
        return float(words)
    except ValueError:
        raise ParameterError(f"{name} must be a number") from None
