"""How a hierarchy is made: the kind, its fields as they are declared, presets, and sliders for the
widths of intervals.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.periods import Level
from sfumato.interfaces.web.forms import spoken
from sfumato.interfaces.web.pages.forms import VALUE, DrawnForm
from sfumato.interfaces.web.pages.parts import AS_TYPED, button, element, text
from sfumato.methods.hierarchies.date_periods import Dates
from sfumato.methods.hierarchies.number_intervals import Intervals

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
PERIODS: tuple[tuple[Level, ...], ...] = (
    ("month", "year"),
    ("month", "quarter", "year", "decade"),
    ("quarter", "year"),
    ("week",),
    ("year", "decade"),
)

SAID = """(event) => {
  const bar = event.target;
  const said = bar.dataset.sizes ? bar.dataset.sizes.split('|')[bar.value] : '× ' + bar.value;
  bar.setAttribute('aria-valuetext', said);
  window.sfumato.say(bar.parentElement.querySelector('output'), said);
}"""
"""What a slider stands at is said while it moves; the server says the rest."""

Try = Callable[[Any, bool], Awaitable[None]]
"""Called with a hierarchy, and whether it is meant (or only looked at while a slider moves)."""


class Builder:
    """The fields of one hierarchy. What cannot be is said at its field, and the last one that could
    be stays.
    """

    def __init__(self, hierarchy: Any, schema: Schema, use: Try, opened: set[str]) -> None:
        self.hierarchy, self.schema, self.use = hierarchy, schema, use
        self.opened = opened
        """Parts of the form that are open, on every column of this tab."""

    def draw(self, choose: Callable[[str], Awaitable[None]]) -> None:
        """Draw the kind and the fields; ``choose`` is called with another kind."""
        with element("div", "builder"):
            self._kind(choose)
        if self.hierarchy is None:
            return
        secret = set(type(self.hierarchy).secret) - {"values", "path"}
        DrawnForm(
            self.hierarchy,
            self.schema,
            "builder",
            lambda made, _field: self.use(made, True),
            opened=self.opened,
            without=secret,
        ).draw()
        if isinstance(self.hierarchy, Intervals):
            self._sliders(self.hierarchy)
        self._presets()

    def _kind(self, choose: Callable[[str], Awaitable[None]]) -> None:
        now = None if self.hierarchy is None else self.hierarchy.name
        with element("div", "formfield"):
            text("Made by", "label", "label", **{"for": "builder"})
            with element("select", "input", key="builder", id="builder") as select:
                if now is None:
                    text("nothing yet", "option", value="", selected=True)
                for name in registry.family("hierarchies"):
                    chosen = {"selected": True} if name == now else {}
                    text(TITLES.get(name, spoken(name)), "option", value=name, **chosen)
        select.on("change", lambda event: choose(str(event.args)), js_handler=VALUE)

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
            sizes = [f"{_whole(width)}" for width in nice]
            at = nice.index(widths[0])
            _slider("finest width", sizes[at], 0, len(nice) - 1, at, "width 1", finest, sizes)
            for place, now in enumerate(times):

                async def moved(event: Any, meant: bool, place: int = place) -> None:
                    await factor(event, place, meant)

                words = f"× {now} = {_whole(widths[place + 1])}"
                _slider(
                    f"level {place + 2}",
                    words,
                    2,
                    max(MOST_TIMES, now),
                    now,
                    f"width {place + 2}",
                    moved,
                )
            with element("div", "tools"):
                button("Add a level", lambda: resized(True), "quiet", key="add width")
                if times:
                    button(
                        "Remove the coarsest", lambda: resized(False), "quiet", key="remove width"
                    )

    def _presets(self) -> None:
        offered: list[tuple[str, Any]] = []
        if isinstance(self.hierarchy, Intervals):
            base = _whole(float(self.hierarchy.widths[0]))
            ladders = (
                (5, 10, 20),
                (3, 6, 12, 24),
                (10, 50),
                (base, base * 2, base * 4),
                (base, base * 5, base * 25),
            )
            offered = [
                (
                    " ".join(map(str, some)),
                    dataclasses.replace(
                        self.hierarchy, widths=some, open_below=None, open_above=None
                    ),
                )
                for some in dict.fromkeys(ladders)
            ]
        elif isinstance(self.hierarchy, Dates):
            offered = [
                (", ".join(some), dataclasses.replace(self.hierarchy, levels=some))
                for some in PERIODS
            ]
        if not offered:
            return
        with element("div", "tools"):
            text("Presets", "span", "soft", "small")
            for words, hierarchy in offered:
                button(
                    words,
                    lambda h=hierarchy: self.use(h, True),
                    key=f"preset {words}",
                    label=f"preset {words}",
                )


def _slider(
    title: str,
    words: str,
    low: int,
    high: int,
    now: int,
    key: str,
    moved: Callable[[Any, bool], Awaitable[None]],
    sizes: Sequence[str] = (),
) -> None:
    """A slider; ``sizes`` are what its places are called, where that is not their number."""
    with element("label", "widthbar"):
        text(title, "span", "small", "soft")
        bar = element("input", key=key, type="range", min=low, max=high, step=1, **{AS_TYPED: now})
        shown = text(words, "output", "small")
    bar.props["aria-valuetext"] = words
    if sizes:
        bar.props["data-sizes"] = "|".join(sizes)
    bar.on("input", js_handler=SAID)
    bar.on("input", lambda event: moved(event, False), js_handler=VALUE, throttle=0.15)
    bar.on("change", lambda event: moved(event, True), js_handler=VALUE)
    shown.props["aria-live"] = "off"


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
