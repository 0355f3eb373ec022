"""How a hierarchy is made: the kind, its fields as they are declared, presets, and sliders for the widths of intervals."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sfumato import registry
from sfumato.hierarchies.dates import Dates, Level
from sfumato.hierarchies.intervals import Intervals
from sfumato.web.forms import FormError, FormField, form_of, read_form, spoken, values_entered
from sfumato.web.pages.parts import button, element, text

if TYPE_CHECKING:
    from sfumato.core.schema import Schema

TITLES = {
    "intervals": "Intervals of numbers",
    "mask_right": "Hide characters from the right",
    "mask_left": "Hide characters from the left",
    "dates": "Periods of dates",
    "tree": "Groups by hand",
    "order": "Neighbours in an order",
    "suppress": "All or nothing",
    "file": "A file",
    "table": "A table of paths",
    "frequency": "Keep what is frequent",
    "classification": "A public classification",
    "like": "A rule from examples",
    "grouped": "Groups that keep a sensitive column",
}
"""What kinds of hierarchies are called; plug-ins by their own name."""

NICE = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    50,
    100,
    200,
    250,
    500,
    1000,
    2000,
    5000,
)
"""Widths that a slider offers for the finest level; others can be typed."""
MOST_TIMES = 20
FEW = 3
"""So many fields stand side by side; of more, those as they usually are can be opened."""
VALUE = "(e) => emit(e.target.value)"
CHECKED = "(e) => emit(e.target.checked)"
PERIODS: tuple[tuple[Level, ...], ...] = (
    ("month", "year"),
    ("month", "quarter", "year", "decade"),
    ("quarter", "year"),
    ("week",),
    ("year", "decade"),
)

Try = Callable[[Any, bool], Awaitable[None]]
"""Called with a hierarchy, and whether it is meant (or only looked at while a slider moves)."""


class Builder:
    """The fields of one hierarchy. What cannot be is said at its field, and the last one that could be stays."""

    def __init__(self, column: str, hierarchy: Any, schema: Schema, use: Try) -> None:
        self.column, self.hierarchy, self.schema, self.use = column, hierarchy, schema, use
        self.problems: dict[str, Any] = {}

    def draw(self, choose: Callable[[str], Awaitable[None]]) -> None:
        """Draw the kind and the fields; ``choose`` is called with another kind."""
        with element("div", "builder"):
            self._kind(choose)
            if self.hierarchy is None:
                return
            secret = set(type(self.hierarchy).secret) - {"values", "path"}
            fields = [field for field in form_of(self.hierarchy, self.schema) if field.name not in secret]
            usual = [field for field in fields if field.value == field.default and not field.required]
            for field in fields:
                if field not in usual or len(fields) <= FEW:
                    self._field(field)
            if usual and len(fields) > FEW:
                with element("details", "options"):
                    text("More settings", "summary", key="more settings")
                    with element("div", "optionrow"):
                        for field in usual:
                            self._field(field)
        self.problems[""] = element("div", "notes")
        if isinstance(self.hierarchy, Intervals):
            self._sliders(self.hierarchy)
        self._presets()

    def _kind(self, choose: Callable[[str], Awaitable[None]]) -> None:
        now = None if self.hierarchy is None else self.hierarchy.name
        with element("label", "option"):
            text("Made by", "span", "small", "soft")
            with element("select", "field", key="builder") as select:
                if now is None:
                    text("nothing yet", "option", value="", selected=True)
                for name in registry.family("hierarchies"):
                    chosen = {"selected": True} if name == now else {}
                    text(TITLES.get(name, spoken(name)), "option", value=name, **chosen)
        select.on("change", lambda event: choose(str(event.args)), js_handler=VALUE)

    def _field(self, field: FormField) -> None:
        with element("label" if field.kind != "many" else "fieldset", "option"):
            text(field.label, "span" if field.kind != "many" else "legend", "small", "soft")
            self._widget(field)
            if field.help:
                text(field.help, "span", "hint", "soft")
            self.problems[field.name] = element("span", "notes")

    def _widget(self, field: FormField) -> None:
        key = f"field {field.name}"
        if field.kind in ("segments", "select", "column"):
            self._select(field, key)
        elif field.kind == "many":
            self._many(field)
        elif field.kind in ("texts", "yaml", "mapping"):
            area = element("textarea", "field", "mono", key=key, rows=4, cols=26, defaultValue=field.text)
            area.props["spellcheck"] = "false"
            area.on("change", lambda event: self._entered(field.name, event.args), js_handler=VALUE)
        else:
            kind = "number" if field.kind == "number" else "text"
            limits = {name: value for name, value in (("min", field.low), ("max", field.high)) if value is not None}
            entry = element("input", "field", key=key, type=kind, defaultValue=field.text, autocomplete="off", **limits)
            entry.on("change", lambda event: self._entered(field.name, event.args), js_handler=VALUE)

    def _select(self, field: FormField, key: str) -> None:
        with element("select", "field", key=key) as select:
            if field.optional or field.value is None:
                text("–", "option", value="")
            for choice in field.choices:
                chosen = {"selected": True} if choice.value == field.value else {}
                text(choice.words, "option", value=choice.value, **chosen)
        select.on("change", lambda event: self._entered(field.name, event.args), js_handler=VALUE)

    def _many(self, field: FormField) -> None:
        """Boxes to tick; the order is that of the choices."""
        now = set(field.chosen)

        def ticked(word: str, on: bool) -> Any:
            chosen = [c.value for c in field.choices if (on if c.value == word else c.value in now)]
            return self._entered(field.name, chosen or None)

        with element("span", "ticks"):
            for choice in field.choices:
                with element("label", "tickbox"):
                    marked = {"checked": True} if choice.value in now else {}
                    box = element("input", key=f"field {field.name} {choice.value}", type="checkbox", **marked)
                    box.on(
                        "change", lambda event, word=choice.value: ticked(word, bool(event.args)), js_handler=CHECKED
                    )
                    text(choice.words, "span", "small")

    async def _entered(self, name: str, value: Any) -> None:
        """A field was changed: the hierarchy that comes of it, or what is wrong with it, at its field."""
        for place in self.problems.values():
            place.clear()
        values = {**values_entered(self.hierarchy, self.schema), name: value}
        try:
            made = read_form(type(self.hierarchy), values)
        except FormError as error:
            for field, words in error.problems.items():
                with self.problems.get(field, self.problems[""]):
                    text(words, "span", "problem", "small", role="alert")
            return
        await self.use(made, True)

    # widths by hand

    def _sliders(self, hierarchy: Intervals) -> None:
        widths = [float(width) for width in hierarchy.widths]
        times = [round(b / a) for a, b in itertools.pairwise(widths)]
        nice = sorted({*NICE, widths[0]})
        state: dict[str, Any] = {"finest": widths[0], "times": times}

        def made() -> Intervals:
            sizes = [state["finest"]]
            for factor in state["times"]:
                sizes.append(round(sizes[-1] * factor, 6))
            return dataclasses.replace(hierarchy, widths=tuple(_whole(size) for size in sizes))

        async def finest(event: Any, meant: bool) -> None:
            state["finest"] = nice[min(len(nice) - 1, max(0, int(event.args)))]
            await self.use(made(), meant)

        async def factor(event: Any, place: int, meant: bool) -> None:
            state["times"][place] = min(MOST_TIMES, max(2, int(event.args)))
            await self.use(made(), meant)

        async def resized(more: bool) -> None:
            state["times"] = [*times, 2] if more else times[:-1]
            await self.use(made(), True)

        with element("div", "sliders"):
            _slider("finest width", f"{_whole(widths[0])}", 0, len(nice) - 1, nice.index(widths[0]), "width 1", finest)
            for place, now in enumerate(times):

                async def moved(event: Any, meant: bool, place: int = place) -> None:
                    await factor(event, place, meant)

                words = f"× {now} = {_whole(widths[place + 1])}"
                _slider(f"level {place + 2}", words, 2, max(MOST_TIMES, now), now, f"width {place + 2}", moved)
            with element("div", "tools"):
                button("Add a level", lambda: resized(True), "quiet", key="add width")
                if times:
                    button("Remove the coarsest", lambda: resized(False), "quiet", key="remove width")

    def _presets(self) -> None:
        offered: list[tuple[str, Any]] = []
        if isinstance(self.hierarchy, Intervals):
            base = _whole(float(self.hierarchy.widths[0]))
            ladders = ((5, 10, 20), (3, 6, 12, 24), (10, 50), (base, base * 2, base * 4), (base, base * 5, base * 25))
            offered = [
                (
                    " ".join(map(str, some)),
                    dataclasses.replace(self.hierarchy, widths=some, open_below=None, open_above=None),
                )
                for some in dict.fromkeys(ladders)
            ]
        elif isinstance(self.hierarchy, Dates):
            offered = [(", ".join(some), dataclasses.replace(self.hierarchy, levels=some)) for some in PERIODS]
        if not offered:
            return
        with element("div", "tools"):
            text("Presets", "span", "soft", "small")
            for words, hierarchy in offered:
                button(words, lambda h=hierarchy: self.use(h, True), key=f"preset {words}", label=f"preset {words}")


def _slider(
    title: str, words: str, low: int, high: int, now: int, key: str, moved: Callable[[Any, bool], Awaitable[None]]
) -> None:
    with element("label", "widthbar"):
        text(title, "span", "small", "soft")
        bar = element("input", key=key, type="range", min=low, max=high, step=1, value=now)
        shown = text(words, "output", "small")
    bar.on("input", lambda event: moved(event, False), js_handler=VALUE, throttle=0.15)
    bar.on("change", lambda event: moved(event, True), js_handler=VALUE)
    shown.props["aria-live"] = "off"


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
