"""The stage *Promises*: what must hold, by which means, within which limits, and what must
survive.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.limits import Limit, limits_of, written_limits
from sfumato.core.parameters import values_of
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.words import count_of, inflect
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.catalogue import meaning_of, sentence_of, summary_of, title_of
from sfumato.interfaces.web.forms import form_of
from sfumato.interfaces.web.pages.add_dialog import Adding
from sfumato.interfaces.web.pages.forms import TOGGLED, VALUE, DrawnForm, adds, most_shown, option
from sfumato.interfaces.web.pages.parts import Words, button, element, section, text
from sfumato.methods.formulas.choice_of_k import published_thresholds

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

ALT_UP, ALT_DOWN = (
    (
        "(event) => { if (event.altKey && event.key === 'ArrowUp') { event.preventDefault();"
        " emit() } }"
    ),
    (
        "(event) => { if (event.altKey && event.key === 'ArrowDown') { event.preventDefault();"
        " emit() } }"
    ),
)

UP, DOWN = (
    "(event) => { if (event.key === 'ArrowUp') { event.preventDefault(); emit() } }",
    "(event) => { if (event.key === 'ArrowDown') { event.preventDefault(); emit() } }",
)
MOVED = "(event) => emit(event.detail.item, event.detail.to)"


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = PromiseStage(page)
    page.live(stage.draw, early=True, classes="promises")


class PromiseStage:
    """The stage in one tab: what is open, and what is being added, outlives the redrawing."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.open: set[str] = set()
        self.adding = {
            "meet": Adding(self, "models", "meet", "Add a promise", self.add_model),
            "steps": Adding(self, "steps", "steps", "Add a step", self.add_step),
            "contract": Adding(
                self, "utility", "contract", "Add to the contract", self.add_agreement
            ),
        }

    @property
    def recipe(self) -> Recipe:
        """The recipe in use."""
        return self.page.workbench.recipe

    async def draw(self) -> None:
        """Draw everything; what the table of today says is filled in when it is known."""
        text("What must hold, and how do we get there?", "h1")
        if not self.page.workbench.project.has_recipe:
            self.page.ask_for_table("Open a table first, on the stage Data.")
            return
        problems = element("div", "problems", role="status")
        with section("Promises", "promised"):
            cards = [self._card(place, model) for place, model in enumerate(self.recipe.meet)]
            if not cards:
                text("Nothing is promised yet.", "p", "soft")
            self.adding["meet"].draw()
            self._published()
        with section("Means, in this order", "means"):
            self._steps()
            self.adding["steps"].draw()
        with section("Limits", "limits"):
            self._limits()
        with section("Contract: what must survive", "contract"):
            for place, agreement in enumerate(self.recipe.contract):
                self._agreement(place, agreement)
            self.adding["contract"].draw()
        if self.page.workbench.opened is not None:
            await self._fill_in(problems, cards)

    async def _fill_in(self, problems: Any, cards: list[PromiseCard]) -> None:
        bench = self.page.workbench
        standing = await bench.answer("standing")
        with problems:
            for sentence in standing["problems"]:
                text(sentence, "p", "problem")
        today = (
            {"sizes": [], "records": []} if standing["problems"] else await bench.answer("today")
        )
        for card, told in zip(cards, standing["promises"], strict=False):
            card.stands(told, today)

    # promises

    def _card(self, place: int, model: Any) -> PromiseCard:
        def become(made: Any, field: Any) -> None:
            meet = (*self.recipe.meet[:place], made, *self.recipe.meet[place + 1 :])
            self.edit(sentence_of(made.name, field, made), meet=meet)

        def gone() -> None:
            meet = self.recipe.meet[:place] + self.recipe.meet[place + 1 :]
            self.edit(f"without {model.promise}", meet=meet)

        return PromiseCard(self, f"promise-{place}", model, become, gone)

    def add_model(self, made: Any) -> None:
        """Promise something more."""
        self.edit(f"promise: {made.promise}", meet=(*self.recipe.meet, made))

    def _published(self) -> None:
        """Published thresholds, each with its source; they set the class size."""

        def fill() -> None:
            text("None makes a release lawful; they say what others take.", "p", "soft", "small")
            with element("ul", "plainlist"):
                for rule in published_thresholds():
                    with element("li", "entry"):
                        with element("div"):
                            text(rule.name, "span", "strong")
                            risk = "" if rule.risk is None else f"risk at most {rule.risk:g}, "
                            text(f"{risk}{rule.source}; {rule.seen}", "p", "help")
                        label = f"Use k = {rule.k} of {rule.name}"
                        button(
                            f"k = {rule.k}",
                            lambda k=rule.k: self.take(k),
                            key=f"take-{rule.name}-{rule.k}",
                            label=label,
                        )

        self.details("published", "Published thresholds, with their sources", fill, "more")

    def take(self, k: int) -> None:
        """Promise k-anonymity of this size, in place of the one that is promised."""
        made = registry.build("models", {"k_anonymity": k})
        place = next((i for i, model in enumerate(self.recipe.meet) if model.crowd), None)
        before = self.recipe.meet
        meet = (*before, made) if place is None else (*before[:place], made, *before[place + 1 :])
        self.edit(f"promise: {made.promise}", meet=meet)

    # means

    def _steps(self) -> None:
        steps = self.recipe.steps
        if not steps:
            text(
                "No step yet: nothing is changed but that direct identifiers are dropped.",
                "p",
                "soft",
            )
            return
        with element("ol", "steps", aria_label="Steps, in their order") as listed:
            listed.on("moved", lambda event: self.moved(*event.args), js_handler=MOVED)
            for place, step in enumerate(steps):
                with element("li", "card", data_is=self.step_key(place)):
                    self._step(place, step, last=place == len(steps) - 1)

    def _step(self, place: int, step: Any, *, last: bool) -> None:
        def become(made: Any, field: Any) -> None:
            self.edit(
                sentence_of(made.name, field, made),
                steps=(*self.recipe.steps[:place], made, *self.recipe.steps[place + 1 :]),
            )

        def gone() -> None:
            self.edit(
                f"without {title_of(step.name)}",
                steps=self.recipe.steps[:place] + self.recipe.steps[place + 1 :],
            )

        key, title = self.step_key(place), title_of(step.name)
        with element("div", "cardhead"):
            if len(self.recipe.steps) > 1:
                self._handle(place, title)
            text(f"{place + 1}. {title}", "h3")
            with element("div", "buttons"):
                for sign, by, word, end in (
                    ("↑", -1, "earlier", place == 0),
                    ("↓", 1, "later", last),
                ):
                    self._mover(sign, by, f"{title} {word}", place, end=end)
                button("Remove", gone, "quiet", key=f"{key}-remove", label=f"Remove {title}")
        text(meaning_of(type(step)), "p")
        told = summary_of(step)
        form = DrawnForm(step, self.recipe.schema, key, become, opened=self.open)
        opened = self.details(key, f"Settings: {told or 'all as they come'}", form.draw, "more")
        opened.on("keydown", lambda: self.move(place, -1), js_handler=ALT_UP)
        opened.on("keydown", lambda: self.move(place, 1), js_handler=ALT_DOWN)

    def _mover(self, sign: str, by: int, label: str, place: int, *, end: bool) -> None:
        """A button that moves a step; at the end of the list it stays, so that it keeps the focus,
        and does nothing.
        """
        about = {
            "aria_keyshortcuts": "Alt+ArrowUp Alt+ArrowDown",
            "aria_disabled": "true" if end else "false",
        }
        key = f"{self.step_key(place)}-{'up' if by < 0 else 'down'}"
        made = button(sign, lambda: self.move(place, by), key=key, label=label, **about)
        made.on("keydown", lambda: self.move(place, -1), js_handler=ALT_UP)
        made.on("keydown", lambda: self.move(place, 1), js_handler=ALT_DOWN)

    def _handle(self, place: int, title: str) -> None:
        """What a step is dragged by; with the focus on it, arrow keys move the step too."""
        about = {
            "data_handle": "",
            "title": "drag to another place",
            "aria_keyshortcuts": "ArrowUp ArrowDown",
        }
        label = f"Move {title}: drag, or arrow keys"
        made = button(
            "⠿",
            lambda: None,
            "quiet",
            "handle",
            key=f"{self.step_key(place)}-handle",
            label=label,
            **about,
        )
        made.on("keydown", lambda: self.move(place, -1), js_handler=UP)
        made.on("keydown", lambda: self.move(place, 1), js_handler=DOWN)

    def moved(self, item: str, to: int) -> None:
        """Put a step where it was dragged to: one version."""
        steps = list(self.recipe.steps)
        place = next((at for at in range(len(steps)) if self.step_key(at) == item), None)
        if place is None or not 0 <= to < len(steps) or place == to:
            return
        step = steps.pop(place)
        steps.insert(to, step)
        self.edit(f"{title_of(step.name)}: now step {to + 1}", steps=tuple(steps))

    def step_key(self, place: int) -> str:
        """What a step is known by when it moves: its name, and which one of that name it is."""
        names = [step.name for step in self.recipe.steps]
        return f"step-{names[place]}-{names[:place].count(names[place])}"

    def move(self, place: int, by: int) -> None:
        """Put a step earlier or later."""
        steps, to = list(self.recipe.steps), place + by
        if not 0 <= to < len(steps):
            return
        steps[place], steps[to] = steps[to], steps[place]
        self.edit(
            f"{title_of(steps[to].name)}: {'earlier' if by < 0 else 'later'}", steps=tuple(steps)
        )

    def add_step(self, made: Any) -> None:
        """One step more, at the end."""
        self.edit(f"step: {title_of(made.name)}", steps=(*self.recipe.steps, made))

    # limits

    def _limits(self) -> None:
        text(
            "What a risk or an attack may be at most, and a utility at least (or at most, where"
            " less is better).",
            "p",
            "help",
        )
        for place, limit in enumerate(limits_of(self.recipe.limits)):
            self._limit(place, limit)
        left = [
            n
            for part in registry.MEASURED
            for n in registry.family(part)
            if n not in self.recipe.limits
        ]
        with element("div", "limit"):
            with element("select", "input", key="limit-add", aria_label="Add a limit") as made:
                option("add a limit …", "", chosen=True)
                for name in left:
                    option(title_of(name), name)
            adds(
                made, lambda name: self.limit(len(limits_of(self.recipe.limits)), Limit(name, 0.2))
            )

    def _limit(self, place: int, limit: Limit) -> None:
        """One limit: its bound, and the parameters of what is limited."""
        called, title = f"limit-{limit.name}", title_of(limit.name)
        if limit.parameters:
            called, title = f"{called}-{place}", f"{title}: {summary_of(registry.measured(limit))}"
        with element("div", "limit"):
            text(title, "label", "label", **{"for": called})
            about = {"type": "number", "step": "any", "min": 0, "^value": f"{limit.bound:g}"}
            cell = element("input", "input", key=called, id=called, **about)
            cell.on("change", lambda event: self.bound(place, limit, event.args), js_handler=VALUE)
            label = f"Remove the limit of {title}"
            button(
                "Remove", lambda: self.limit(place, None), "quiet", key=f"{called}-out", label=label
            )
        try:
            metric = registry.measured(limit)
        except (
            SfumatoError
        ):  # it needs a parameter that a plain number does not give: making the release says which
            return
        if not form_of(metric):
            return

        def become(made: Any, _: Any) -> None:
            way = "at_least" if made.better == "higher" else "at_most"
            self.limit(place, Limit(limit.name, limit.bound, values_of(made), way))

        form = DrawnForm(metric, self.recipe.schema, called, become, opened=self.open)
        self.details(
            called, f"Settings: {summary_of(metric) or 'all as they come'}", form.draw, "more"
        )

    def bound(self, place: int, limit: Limit, entered: str) -> None:
        """Set how far something may go; nothing entered takes the limit away."""
        if not entered.strip():
            self.limit(place, None)
            return
        try:
            number = float(entered)
        except ValueError:
            self.page.say(f"A limit of {title_of(limit.name)} is a number.")
            return
        self.limit(place, dataclasses.replace(limit, bound=number))

    def limit(self, place: int, limit: Limit | None) -> None:
        """Put a limit in the place of another, or take that away."""
        several = list(limits_of(self.recipe.limits))
        gone = several[place : place + 1]
        several[place : place + 1] = [] if limit is None else [limit]
        limits = written_limits(several)
        problems = registry.limit_problems(limits)
        if problems:
            self.page.say("\n".join(problems))
            return
        if limit is None:
            self.edit(f"no limit of {title_of(gone[0].name)}", limits=limits)
            return
        self.edit(f"limit: {title_of(limit.name)} {limit.bound:g}", limits=limits)

    # contract

    def _agreement(self, place: int, agreement: Agreement) -> None:
        def become(**changed: Any) -> None:
            lines = list(self.recipe.contract)
            try:
                lines[place] = dataclasses.replace(lines[place], **changed)
            except SfumatoError as error:
                self.page.say(str(error))
                return
            self.edit(f"contract: {lines[place].promise}", contract=tuple(lines))

        def gone() -> None:
            self.edit(
                f"contract: without {title_of(agreement.metric.name)}",
                contract=self.recipe.contract[:place] + self.recipe.contract[place + 1 :],
            )

        key, title = f"contract-{place}", agreement.metric.title
        with element("div", "card", data_is=agreement.metric.name):
            with element("div", "cardhead"):
                text(title, "h3")
                button(
                    "Remove",
                    gone,
                    "quiet",
                    key=f"{key}-remove",
                    label=f"Remove {title} from the contract",
                )
            text(meaning_of(type(agreement.metric)), "p")
            bounds(key, agreement, become)
            if form_of(agreement.metric):
                schema, taken = self.recipe.schema, (lambda made, _: become(metric=made))
                form = DrawnForm(agreement.metric, schema, key, taken, opened=self.open)
                told = summary_of(agreement.metric) or "all as they come"
                self.details(key, f"Settings: {told}", form.draw, "more")

    def add_agreement(self, made: Any) -> None:
        """One line more in the contract; how far it may be off is set in its card."""
        agreement = (
            Agreement(made, at_least=0.9)
            if made.better == "higher"
            else Agreement(made, at_most=0.1)
        )
        self.edit(f"contract: {agreement.promise}", contract=(*self.recipe.contract, agreement))

    # what all of them need

    def edit(self, sentence: str, **changed: Any) -> None:
        """Make a recipe with something changed the one in use."""
        self.page.edit(dataclasses.replace(self.recipe, **changed), sentence)

    def details(self, key: str, summary: str, fill: Callable[[], Any], *classes: str) -> Any:
        """A part that can be opened, and stays so when it is drawn anew; it is filled when it is
        opened first.
        """
        made = element("details", *classes)
        with made:
            text(summary, "summary", key=f"{key}-open")
            inside = element("div")

        def toggled(is_open: bool) -> None:
            self.toggled(key, is_open)
            if is_open and not inside.default_slot.children:
                with inside:
                    fill()

        made.on("toggle", lambda event: toggled(bool(event.args)), js_handler=TOGGLED)
        if key in self.open:
            made.props["open"] = True
            with inside:
                fill()
        return made

    def toggled(self, key: str, is_open: bool) -> None:
        """Remember what is open."""
        (self.open.add if is_open else self.open.discard)(key)


def bounds(key: str, agreement: Agreement, become: Callable[..., None]) -> None:
    """How far a metric may be off, and whether nothing is released where it is further."""
    least = agreement.at_least is not None
    with element("div", "limit"):
        with element("select", "input", key=f"{key}-way", aria_label="at most or at least") as way:
            option("at most", "at_most", chosen=not least)
            option("at least", "at_least", chosen=least)
        value = agreement.at_least if least else agreement.at_most
        about = {"type": "number", "step": "any", "^value": f"{value:g}", "aria_label": "Bound"}
        cell = element("input", "input", key=f"{key}-bound", **about)
        with element("label", "switch"):
            on = {"checked": True} if agreement.refuse else {}
            refuse = element("input", type="checkbox", key=f"{key}-refuse", **on)
            text("release nothing where it is broken", "span")

    def number(entered: str) -> None:
        if entered:
            become(**{"at_least" if least else "at_most": float(entered)})

    def turned(word: str) -> None:
        become(**{word: value, "at_most" if word == "at_least" else "at_least": None})

    cell.on("change", lambda event: number(event.args), js_handler=VALUE)
    way.on("change", lambda event: turned(event.args), js_handler=VALUE)
    refuse.on(
        "change",
        lambda event: become(refuse=bool(event.args)),
        js_handler="(event) => emit(event.target.checked)",
    )


class PromiseCard:
    """A promise: what it is, its fields, and how the table stands today."""

    def __init__(
        self,
        stage: PromiseStage,
        key: str,
        model: Any,
        become: Callable[[Any, Any], None],
        gone: Callable[[], None],
    ) -> None:
        self.model, self.key = model, key
        crowd = crowd_field(model)
        self.form = DrawnForm(
            model, stage.recipe.schema, key, become, crowd=crowd, opened=stage.open
        )
        with element("article", "card", aria_label=model.promise, data_is=model.name):
            with element("div", "cardhead"):
                text(model.promise, "h3")
                with element("span", "today", role="status"):
                    self.today = Words("today: …")
                button(
                    "Remove", gone, "quiet", key=f"{key}-remove", label=f"Remove {model.promise}"
                )
            text(meaning_of(type(model)), "p")
            self.form.draw()
            self.under = element("p", "under", id=f"{key}-under", aria_live="polite")
            with self.under:
                self.told = Words("…")
            self.implies = ""
            stage.details(
                f"{key}-implies", "What it implies", lambda: text(self.implies or "…", "p"), "more"
            )

    def stands(self, told: dict[str, Any], today: dict[str, Any]) -> None:
        """Say how the table stands today."""
        if told["problem"]:
            self.today.say("today: not known")
            self.told.say(told["problem"])
            self.under.classes("problem")
            return
        mark = "✓" if told["holds"] else "✗"
        self.today.say(
            f"today: {told['attained'] or ('it holds' if told['holds'] else 'it does not hold')}"
            f" {mark}"
        )
        sentence = told["sentence"]
        self.told.say(f"{sentence[:1].upper()}{sentence[1:]}.")
        crowd = self.model.crowd
        under = smaller(today, most_shown(crowd)) if crowd else []
        if (
            crowd and under[crowd] == told["records"]
        ):  # not where missing values are like any other: classes do not tell
            self.form.counts(under)
            self.told.say(under_told(under[crowd], crowd))
        self.implies = implied(told)


def crowd_field(model: Any) -> str | None:
    """The field that states how many must be alike, of a promise about that and nothing else."""
    if model.crowd is None:
        return None
    names = (field.name for field in dataclasses.fields(model))
    return next((name for name in names if getattr(model, name) == model.crowd), None)


def smaller(today: dict[str, Any], most: int) -> list[int]:
    """Records in classes smaller than 0, 1, 2 … up to a number.

    >>> smaller({"sizes": [1, 3], "records": [7, 6]}, 4)
    [0, 0, 7, 7, 13]
    """
    of_size = dict(zip(today["sizes"], today["records"], strict=True))
    return [0, *itertools.accumulate(of_size.get(size, 0) for size in range(most))]


def under_told(records: int, k: int) -> str:
    """How many records stand in small classes."""
    return (
        f"{count_of(records, 'record')} {inflect(records, 'stands', 'stand')} in a class smaller"
        f" than {k}."
    )


def implied(told: dict[str, Any]) -> str:
    """What follows from a promise."""
    here = (
        f"It makes {', '.join(told['implies'])} hold too, which need not be promised. "
        if told["implies"]
        else ""
    )
    names = [title_of(name) for name in told["strong_enough"]]
    return f"{here}When strong enough it implies {', '.join(names) or 'no other model'}."
