"""The stage *Promises*: what must hold, by which steps, within which limits, and what must
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
from sfumato.core.recipe import Agreement
from sfumato.core.words import count_of, inflect
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.catalogue import meaning_of, sentence_of, summary_of, title_of
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.forms import form_of
from sfumato.interfaces.web.pages.add_dialog import Adding
from sfumato.interfaces.web.pages.forms import (
    TOGGLED,
    DrawnForm,
    FormOptions,
    adds,
    largest_shown,
)
from sfumato.interfaces.web.pages.parts import (
    VALUE,
    Words,
    button,
    element,
    hint,
    option,
    section,
    text,
)
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import draw_entry
from sfumato.interfaces.web.requests import BoundRequest
from sfumato.methods.formulas.choice_of_k import published_thresholds

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

ON_KEY = "(event) => { if (%s event.key === 'Arrow%s') { event.preventDefault(); emit() } }"
MOVED = "(event) => emit(event.detail.item, event.detail.to)"


@dataclasses.dataclass(frozen=True)
class RecipeSection:
    """A section of the recipe that is a list: its heading, the family that its members come from,
    what is said of an empty one, and the words of the button that adds one.
    """

    title: str
    family: str
    empty: str
    add: str


SECTIONS = {
    "meet": RecipeSection("Promises", "models", "Nothing is promised yet.", "Add a promise"),
    "steps": RecipeSection(
        "Steps, in this order",
        "steps",
        "No step yet: only direct identifiers are dropped.",
        "Add a step",
    ),
    "contract": RecipeSection(
        "Contract: what must survive", "utility", "Nothing is agreed yet.", "Add to the contract"
    ),
}


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = PromiseStage(page)
    page.live(stage.draw, early=True, classes="promises")


class PromiseStage(StageView):
    """The stage in one tab: what is open, and what is being added, outlives the redrawing."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.open: set[str] = set()
        self.adding = {
            field: Adding(self, declared.family, field, declared.add)
            for field, declared in SECTIONS.items()
        }

    async def draw(self) -> None:
        """Draw the sections that the stage declares; what the table of today says is filled in when
        it is known.
        """
        text("What must hold, and how do we get there?", "h1")
        if not self.project.has_recipe:
            self.page.ask_for_table("Open a table first, on the stage Data.")
            return
        problems = element("div", "problems", role="status")
        cards: list[PromiseCard] = []
        for field in self.page.stage.sections:
            if field == "limits":
                with section("Limits", "limits"):
                    self._limits()
                continue
            with section(SECTIONS[field].title, f"section-{field}"):
                if not getattr(self.recipe, field):
                    text(SECTIONS[field].empty, "p", "soft")
                elif field == "meet":
                    cards = [
                        PromiseCard(self, position) for position in range(len(self.recipe.meet))
                    ]
                elif field == "steps":
                    self._steps()
                else:
                    for position, agreement in enumerate(self.recipe.contract):
                        self._agreement(position, agreement)
                self.adding[field].draw()
                if field == "meet":
                    words = "Published thresholds, with their sources"
                    self.details("published", words, self._published, "more")
        if self.workbench.opened is not None:
            await self._fill_in(problems, cards)

    async def _fill_in(self, problems: Any, cards: list[PromiseCard]) -> None:
        bench = self.workbench
        standing = await bench.answer("standing")
        with problems:
            for sentence in standing["problems"]:
                text(sentence, "p", "problem")
        today: Fields = {"sizes": [], "records": []}
        if not standing["problems"]:
            today = await bench.answer("today")
        for card, verdict in zip(cards, standing["promises"], strict=False):
            card.show_verdict(verdict, today)

    # changes of a section

    def edit(self, sentence: str, **changes: Any) -> None:
        """Make a recipe with something changed the one in use."""
        self.page.edit(dataclasses.replace(self.recipe, **changes), sentence)

    def replace_member(self, field: str, position: int, sentence: str, *members: Any) -> None:
        """Put these members in the place of one member of a section; none: it goes."""
        before = getattr(self.recipe, field)
        self.edit(sentence, **{field: (*before[:position], *members, *before[position + 1 :])})

    def remover(self, field: str, position: int, key: str, title: str) -> None:
        """The button that takes a member out of its section."""
        button(
            "Remove",
            lambda: self.replace_member(field, position, f"without {title}"),
            "quiet",
            key=f"{key}-remove",
            label=f"Remove {title}",
        )

    def add(self, field: str, member: Any) -> None:
        """Add a member to a section; how far a metric may be off is set in its card."""
        sentence = f"step: {title_of(member.name)}"
        if field == "meet":
            sentence = f"promise: {member.promise}"
        if field == "contract":
            higher = member.better == "higher"
            if higher:
                member = Agreement(member, at_least=0.9)
            else:
                member = Agreement(member, at_most=0.1)
            sentence = f"contract: {member.promise}"
        self.replace_member(field, len(getattr(self.recipe, field)), sentence, member)

    def _published(self) -> None:
        """Published thresholds, each with its source; they set the class size."""
        hint("None makes a release lawful; they show what others use.")
        with element("ul", "plainlist"):
            for rule in published_thresholds():
                risk = ""
                if rule.risk is not None:
                    risk = f"risk at most {rule.risk:g}, "
                with element("li", "entry"):
                    draw_entry(
                        rule.name,
                        [f"{risk}{rule.source}; {rule.seen}"],
                        f"k = {rule.k}",
                        lambda k=rule.k: self.take(k),
                        key=f"take-{rule.name}-{rule.k}",
                        label=f"Use k = {rule.k} of {rule.name}",
                    )

    def take(self, k: int) -> None:
        """Promise k-anonymity of this size, in place of the one that is promised."""
        model = registry.build("models", {"k_anonymity": k})
        promises = self.recipe.meet
        position = next(
            (at for at, model_in_use in enumerate(promises) if model_in_use.crowd), len(promises)
        )
        self.replace_member("meet", position, f"promise: {model.promise}", model)

    # steps

    def _steps(self) -> None:
        with element("ol", "steps", aria_label="Steps, in their order") as ordered:
            ordered.on("moved", lambda event: self.drop(*event.args), js_handler=MOVED)
            for position, step in enumerate(self.recipe.steps):
                with element("li", "card", data_is=self.step_key(position)):
                    self._step(position, step)

    def _step(self, position: int, step: Any) -> None:
        key, title, count = self.step_key(position), title_of(step.name), len(self.recipe.steps)
        with element("div", "cardhead"):
            if count > 1:
                handle = button(
                    "⠿",
                    lambda: None,
                    "quiet",
                    "handle",
                    key=f"{key}-handle",
                    label=f"Move {title}: drag, or arrow keys",
                    title="drag to another place",
                    data_handle="",
                    aria_keyshortcuts="ArrowUp ArrowDown",
                )
                self._moves_by_keys(handle, position, "")
            text(f"{position + 1}. {title}", "h3")
            with element("div", "buttons"):
                # at the end of the list a button stays, so that it keeps the focus
                self._mover(position, -1, end=position == 0)
                self._mover(position, 1, end=position == count - 1)
                self.remover("steps", position, key, title)
        text(meaning_of(type(step)), "p")

        def become(changed: Any, field: Any) -> None:
            self.replace_member(
                "steps", position, sentence_of(changed.name, field, changed), changed
            )

        self._moves_by_keys(self.settings(key, step, become), position, "event.altKey &&")

    def settings(self, key: str, method: Any, become: Callable[[Any, Any], None]) -> Any:
        """The form of something behind its summary."""
        options = FormOptions(opened=self.open)
        form = DrawnForm(method, self.recipe.schema, key, become, options)
        summary = summary_of(method) or "all as they come"
        return self.details(key, f"Settings: {summary}", form.draw, "more")

    def _mover(self, position: int, by: int, *, end: bool) -> None:
        title = title_of(self.recipe.steps[position].name)
        mover = button(
            "↑" if by < 0 else "↓",
            lambda: self.move(position, by),
            key=f"{self.step_key(position)}-{'up' if by < 0 else 'down'}",
            label=f"{title} {'earlier' if by < 0 else 'later'}",
            aria_keyshortcuts="Alt+ArrowUp Alt+ArrowDown",
            aria_disabled=end,
        )
        self._moves_by_keys(mover, position, "event.altKey &&")

    def _moves_by_keys(self, part: Any, position: int, condition: str) -> None:
        part.on("keydown", lambda: self.move(position, -1), js_handler=ON_KEY % (condition, "Up"))
        part.on("keydown", lambda: self.move(position, 1), js_handler=ON_KEY % (condition, "Down"))

    def step_key(self, position: int) -> str:
        """What a step is known by when it moves: its name, and which one of that name it is."""
        names = [step.name for step in self.recipe.steps]
        return f"step-{names[position]}-{names[:position].count(names[position])}"

    def drop(self, item: str, to: int) -> None:
        """Put a step where it was dragged to: one version."""
        steps = list(self.recipe.steps)
        keys = [self.step_key(position) for position in range(len(steps))]
        if item not in keys or not 0 <= to < len(steps) or keys.index(item) == to:
            return
        step = steps.pop(keys.index(item))
        steps.insert(to, step)
        self.edit(f"{title_of(step.name)}: now step {to + 1}", steps=tuple(steps))

    def move(self, position: int, by: int) -> None:
        """Put a step earlier or later."""
        steps, to = list(self.recipe.steps), position + by
        if not 0 <= to < len(steps):
            return
        steps[position], steps[to] = steps[to], steps[position]
        words = "earlier" if by < 0 else "later"
        self.edit(f"{title_of(steps[to].name)}: {words}", steps=tuple(steps))

    # limits

    def _limits(self) -> None:
        text(
            "What a risk or an attack may be at most, and a utility at least (or at most, where"
            " less is better).",
            "p",
            "help",
        )
        limits = limits_of(self.recipe.limits)
        for position, limit in enumerate(limits):
            self._limit(position, limit)
        with element("div", "limit"):
            with element("select", "input", key="limit-add", aria_label="Add a limit") as select:
                option("add a limit …", "", selected=True)
                for family in registry.MEASURED:
                    for name in registry.family(family):
                        if name not in self.recipe.limits:
                            option(title_of(name), name)
            adds(select, lambda name: self.set_limit(len(limits), Limit(name, 0.2)))

    def _limit(self, position: int, limit: Limit) -> None:
        """One limit: its bound, and the parameters of what is limited."""
        key, title = f"limit-{limit.name}", title_of(limit.name)
        if limit.parameters:
            key, title = (
                f"{key}-{position}",
                f"{title}: {summary_of(registry.build_measured(limit))}",
            )
        with element("div", "limit"):
            text(title, "label", "label", **{"for": key})
            about = {"type": "number", "step": "any", "min": 0, "^value": f"{limit.bound:g}"}
            cell = element("input", "input", key=key, id=key, **about)
            cell.on(
                "change", lambda event: self.bound(position, limit, event.args), js_handler=VALUE
            )
            button(
                "Remove",
                lambda: self.set_limit(position, None),
                "quiet",
                key=f"{key}-out",
                label=f"Remove the limit of {title}",
            )
        try:
            metric = registry.build_measured(limit)
        except SfumatoError:  # a plain number does not say enough: making the release says what
            return

        def become(changed: Any, _: Any) -> None:
            way = "at_most"
            if changed.better == "higher":
                way = "at_least"
            self.set_limit(position, Limit(limit.name, limit.bound, values_of(changed), way))

        if form_of(metric):
            self.settings(key, metric, become)

    def bound(self, position: int, limit: Limit, entered: str) -> None:
        """Set how far something may go; nothing entered takes the limit away."""
        if not entered.strip():
            self.set_limit(position, None)
            return
        try:
            number = float(entered)
        except ValueError:
            self.page.say(f"The limit of {title_of(limit.name)} must be a number.")
            return
        self.set_limit(position, dataclasses.replace(limit, bound=number))

    def set_limit(self, position: int, limit: Limit | None) -> None:
        """Put a limit in the place of another, or take that away."""
        changed = list(limits_of(self.recipe.limits))
        before = changed[position : position + 1]
        changed[position : position + 1] = [] if limit is None else [limit]
        limits = written_limits(changed)
        problems = registry.limit_problems(limits)
        if problems:
            self.page.say("\n".join(problems))
        elif limit is None:
            self.edit(f"no limit of {title_of(before[0].name)}", limits=limits)
        else:
            self.edit(f"limit: {title_of(limit.name)} {limit.bound:g}", limits=limits)

    # contract

    def _agreement(self, position: int, agreement: Agreement) -> None:
        metric = agreement.metric
        key, title = f"contract-{position}", metric.title

        def become(**changes: Any) -> None:
            try:
                changed = dataclasses.replace(agreement, **changes)
            except SfumatoError as error:
                self.page.say(str(error))
            else:
                self.replace_member("contract", position, f"contract: {changed.promise}", changed)

        with element("div", "card", data_is=metric.name):
            with element("div", "cardhead"):
                text(title, "h3")
                self.remover("contract", position, key, f"{title} from the contract")
            text(meaning_of(type(metric)), "p")
            self._bounds(key, agreement, become)
            if form_of(metric):
                self.settings(key, metric, lambda changed_metric, _: become(metric=changed_metric))

    def _bounds(self, key: str, agreement: Agreement, become: Callable[..., None]) -> None:
        """How far a metric may be off, and whether nothing is released where it is further."""
        request = BoundRequest("at_most", agreement.at_most or 0.0, agreement.refuse)
        if agreement.at_least is not None:
            request = BoundRequest("at_least", agreement.at_least, agreement.refuse)

        def changed(request: BoundRequest, _: Any) -> None:
            bounds = {"at_most": None, "at_least": None, request.way: request.bound}
            become(refuse=request.refuse, **bounds)

        ways = {"at_most": "at most", "at_least": "at least"}
        options = FormOptions(folded=False, choices={"way": ways})
        DrawnForm(request, None, key, changed, options).draw()

    def details(self, key: str, summary: str, fill: Callable[[], Any], *classes: str) -> Any:
        """A part that can be opened, and stays so when it is drawn anew; it is filled when it is
        opened first.
        """
        details = element("details", *classes)
        with details:
            text(summary, "summary", key=f"{key}-open")
            inside = element("div")

        def toggle(is_open: bool) -> None:
            (self.open.add if is_open else self.open.discard)(key)
            if is_open and not inside.default_slot.children:
                with inside:
                    fill()

        details.on("toggle", lambda event: toggle(bool(event.args)), js_handler=TOGGLED)
        if key in self.open:
            details.props["open"] = True
            with inside:
                fill()
        return details


class PromiseCard:
    """A promise: what it is, its fields, and how the table stands today."""

    def __init__(self, stage: PromiseStage, position: int) -> None:
        model = self.model = stage.recipe.meet[position]
        key = f"promise-{position}"

        def become(changed: Any, field: Any) -> None:
            stage.replace_member(
                "meet", position, sentence_of(changed.name, field, changed), changed
            )

        options = FormOptions(class_size_field=crowd_field(model), opened=stage.open)
        self.form = DrawnForm(model, stage.recipe.schema, key, become, options)
        with element("article", "card", aria_label=model.promise, data_is=model.name):
            with element("div", "cardhead"):
                text(model.promise, "h3")
                with element("span", "today", role="status"):
                    self.today = Words("today: …")
                stage.remover("meet", position, key, model.promise)
            text(meaning_of(type(model)), "p")
            self.form.draw()
            self.under = element("p", "under", id=f"{key}-under", aria_live="polite")
            with self.under:
                self.sentence = Words("…")
            self.implies = "…"
            words = "What it implies"
            stage.details(f"{key}-implies", words, lambda: text(self.implies, "p"), "more")

    def show_verdict(self, verdict: Fields, today: Fields) -> None:
        """Say how the table stands today."""
        if verdict["problem"]:
            self.today.say("today: not known")
            self.sentence.say(verdict["problem"])
            self.under.classes("problem")
            return
        attained = verdict["attained"]
        if not attained:
            attained = "it does not hold"
            if verdict["holds"]:
                attained = "it holds"
        self.today.say(f"today: {attained} {'✓' if verdict['holds'] else '✗'}")
        sentence = verdict["sentence"]
        self.sentence.say(f"{sentence[:1].upper()}{sentence[1:]}.")
        self.implies = implied(verdict)
        crowd = self.model.crowd
        if crowd is None:
            return
        # the slider counts in the browser, without asking for every position
        under = records_under(today, largest_shown(crowd))
        # where missing values equal every value, classes do not tell how many fail
        if under[crowd] == verdict["records"]:
            self.form.count_under(under)
            records = count_of(under[crowd], "record")
            belong = inflect(under[crowd], "belongs", "belong")
            self.sentence.say(f"{records} {belong} to a class smaller than {crowd}.")


def crowd_field(model: Any) -> str | None:
    """The field that states how many must be alike, of a promise about that and nothing else."""
    if model.crowd is None:
        return None
    names = (field.name for field in dataclasses.fields(model))
    return next((name for name in names if getattr(model, name) == model.crowd), None)


def records_under(today: Fields, largest: int) -> list[int]:
    """Records in classes smaller than 0, 1, 2 … up to a number.

    >>> records_under({"sizes": [1, 3], "records": [7, 6]}, 4)
    [0, 0, 7, 7, 13]
    """
    of_size = dict(zip(today["sizes"], today["records"], strict=True))
    return [0, *itertools.accumulate(of_size.get(size, 0) for size in range(largest))]


def implied(verdict: Fields) -> str:
    """What follows from a promise."""
    names = [title_of(name) for name in verdict["strong_enough"]]
    general = f"At sufficient strength it implies {', '.join(names) or 'no other model'}."
    if not verdict["implies"]:
        return general
    promised = ", ".join(verdict["implies"])
    return f"It implies {promised}, which need not be promised. {general}"
