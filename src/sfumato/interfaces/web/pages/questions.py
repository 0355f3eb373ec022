"""The stage *Questions*: ask a table under a budget. Nothing of the data is shown before an answer
that was paid for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.schema import UNITS, Schema
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import button, element, hint, section, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.requests import BudgetRequest, QuestionRequest

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

ANSWERED = "answers"
MOST_ANSWERS = 20


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = QuestionStage(page)
    stage.place = page.live(stage.draw, classes="work figured")


class QuestionStage(StageView):
    """What one tab is about to ask."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.start: Fields = {}
        # What stands in the two forms.
        self.asking: Fields = {}
        self.question = QuestionRequest()
        self.state: Fields = {}
        self.expected: Any = None

    @property
    def ledger(self) -> str:
        """Beside the recipe, where ``sfumato query`` looks for it."""
        return str(self.project.folder / "recipe.ledger")

    async def ask(self, task: str, **arguments: Any) -> Any:
        """What the bench says of the ledger."""
        recipe = self.recipe
        return await self.workbench.worker.ask(task, recipe=recipe, ledger=self.ledger, **arguments)

    async def do(self, task: str, title: str, **arguments: Any) -> Any:
        """Spend from the ledger, or begin it; the table is read cell by cell for that."""
        data = self.project.data
        source = {"path": data.path, "options": dict(data.options)}
        work = self.workbench.do(task, title, ledger=self.ledger, source=source, **arguments)
        return await self.page.wait_for(work)

    # drawing

    async def draw(self) -> None:
        """Draw all of it."""
        text("What do you want to know?", "h1")
        if not self.workbench.ready:
            self.page.ask_for_table("Open a table first; there is nobody to ask about yet.")
            return
        self.state = await self.ask("budget_state")
        if not self.state["started"]:
            self._draw_start()
            return
        self._draw_budget()
        self._draw_question()
        for answer in self.workbench.findings.get(ANSWERED, []):
            with element("section", "answer"):
                draw_blocks(answer)
        draw_blocks(self.state["history"])

    def _draw_start(self) -> None:
        text(
            "Answers carry noise, so that nobody can infer from them whether a person is in the "
            "table. Each answer costs a part of a budget; what is spent stays spent, also on the "
            "command line.",
            "p",
            "lead",
        )
        attributes = self.recipe.schema.attributes
        units = {
            name: attribute
            for name, attribute in attributes.items()
            if UNITS & set(attribute.roles)
        }
        options = FormOptions(at_once=False, values=self.start, folded=False)
        form = DrawnForm(BudgetRequest, Schema(units), "budget", self._start, options)
        form.draw()
        button("Start the budget", form.submit, "strongly", key="start budget")

    async def _start(self, request: BudgetRequest, _: Any) -> None:
        state = await self.do("start_budget", "Starting the budget", request=request)
        if state is not None:
            self.project.tell()

    def _draw_budget(self) -> None:
        """Spent, this answer and left; how little is left is no alarm."""
        state = self.state
        sign, total, this = state["currency"], state["total"], self.question.epsilon
        spent = min(1.0, state["spent"] / total)
        share = 0.0
        if sign == "ε":
            share = min(1.0 - spent, this / total)
        with section("The budget", "gauge"):
            with element("div", "budgetbar", aria_hidden="true"):
                element("i", "spent", style=f"width:calc({spent:.4f} * 100%)")
                element("i", "this", style=f"width:calc({share:.4f} * 100%)")
            text(
                f"Spent {sign} = {state['spent']:g} of {sign} = {total:g}, δ = {state['delta']:g};"
                f" this answer ε = {this:g}; one answer may still cost up to"
                f" ε = {state['largest_epsilon']:g}.",
                "p",
            )
            hint(f"It protects {state['whom']}.")

    def _draw_question(self) -> None:
        state = self.state
        bounded, listed = (", ".join(state[name]) or "none" for name in ("bounded", "listed"))
        with section("The question"):
            hint(
                f"One SELECT over the table {state['dataset']} with COUNT, SUM, AVG, VARIANCE or a"
                f" quantile. Columns with bounds:"
                f" {bounded}. Columns with listed values: {listed}."
            )
            options = FormOptions(values=self.asking, folded=False)
            form = DrawnForm(QuestionRequest, None, "ask", self._changed, options)
            form.draw()
            with element("div", "row"):
                button("How exact would it be?", lambda: self._expect(form), key="expect")
                button("Ask", lambda: self._ask(form), "strongly", key="ask")
                words = "Ask again with new noise"
                button(words, lambda: self._ask(form, fresh=True), key="ask afresh")
            self.expected = element("div", "expected", role="status")

    def _changed(self, question: QuestionRequest, _: Any) -> None:
        if question.epsilon != self.question.epsilon:
            self.page.redraw(self.place)
        self.question = question

    async def _expect(self, form: DrawnForm) -> None:
        question = form.read()
        if question is None:
            return
        errors = await self.page.wait_for(self.ask("error_expected", question=question))
        if errors is not None:
            with self.page.client, redrawn(self.expected):
                draw_blocks(errors)

    async def _ask(self, form: DrawnForm, *, fresh: bool = False) -> None:
        question = form.read()
        if question is None:
            return
        answers = await self.do("ask_question", "Asking", question=question, fresh=fresh)
        if answers is not None:
            before = self.workbench.findings.get(ANSWERED, [])
            self.workbench.findings[ANSWERED] = [*answers, *before][:MOST_ANSWERS]
            self.project.tell()
