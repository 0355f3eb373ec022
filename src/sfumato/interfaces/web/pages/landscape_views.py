"""Views of the stage *Explore* besides the plane: filters, and all combinations as a list or as
tiles.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.parts import CHECKED, VALUE, Words, button, element, hint, text
from sfumato.interfaces.web.pages.tables import badge, choice, folded, pager, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.core.blocks import ChartAxis
    from sfumato.interfaces.web.pages.explore import Explore

# Combinations on a page of the list, and of the tiles.
ON_PAGE = {"List": 50, "Tiles": 150}
# What bounds are typed for: shares are typed in percent.
PERCENT = 100.0


@dataclasses.dataclass(frozen=True)
class Filters:
    """Which combinations are shown: lowest and highest level by column, bounds by figure, and
    whether they must keep the budget.
    """

    levels: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    at_most: Mapping[str, float] = dataclasses.field(default_factory=dict)
    within: bool = False

    @property
    def plain(self) -> Fields:
        """The filters as the bench takes them."""
        return {
            "levels": {column: list(ends) for column, ends in self.levels.items()},
            "at_most": dict(self.at_most),
            "within": self.within,
        }

    @property
    def used(self) -> int:
        """How many there are."""
        return len(self.levels) + len(self.at_most) + self.within

    def with_level(self, column: str, end: int, level: int, ends: tuple[int, int]) -> Filters:
        """The same with another lowest (0) or highest (1) level; the other end follows where it
        would be beyond. A range of all levels is no filter.

        >>> Filters().with_level("age", 0, 2, (0, 3)).levels
        {'age': (2, 3)}
        """
        low, high = self.levels.get(column, ends)
        changed = (level, max(high, level)) if end == 0 else (min(low, level), level)
        levels = {name: range_ for name, range_ in self.levels.items() if name != column}
        if changed != ends:
            levels[column] = changed
        return dataclasses.replace(self, levels=levels)

    def with_bound(self, name: str, bound: float | None) -> Filters:
        """The same with another bound of a figure; None: with none."""
        at_most = {figure: limit for figure, limit in self.at_most.items() if figure != name}
        if bound is not None:
            at_most[name] = bound
        return dataclasses.replace(self, at_most=at_most)


def typed_bound(entered: str, axis: ChartAxis) -> float | None:
    """The bound that was typed; shares are typed in percent. Raises where it is no number.

    >>> from sfumato.core.blocks import ChartAxis
    >>> typed_bound("20", ChartAxis("marketer risk", share=True)), typed_bound(" ", ChartAxis(""))
    (0.2, None)
    """
    if not entered.strip():
        return None
    bound = float(entered)
    return bound / PERCENT if axis.share else bound


def draw_filters(stage: Explore, axes: Mapping[str, ChartAxis]) -> None:
    """The filters, behind a line that says how many combinations pass."""
    landscape, filters = stage.found, stage.filters
    words = "Filters"
    if filters.used:
        words = f"Filters: {landscape['passing']:,} of {landscape['nodes']:,} combinations pass"
    with folded(words, key="filters", unfolded=stage.filters_open) as details:
        details.on(
            "toggle",
            lambda event: setattr(stage, "filters_open", bool(event.args)),
            js_handler="(event) => emit(event.target.open)",
        )
        with element("div", "row", "controls"):
            for column, ends in landscape["ranges"].items():
                if ends[0] < ends[1]:
                    _levels(stage, column, ends)
        with element("div", "row", "controls"):
            for name, axis in axes.items():
                if name != "class_size":
                    _bound(stage, name, axis)
            with element("label", "switch"):
                box = element("input", key="filter within", type="checkbox", checked=filters.within)
                box.on(
                    "change",
                    lambda event: _set(
                        stage, dataclasses.replace(filters, within=bool(event.args))
                    ),
                    js_handler=CHECKED,
                )
                text("only what keeps the budget")
        button(
            "Clear the filters",
            lambda: _set(stage, Filters()),
            key="clear filters",
            disabled=not filters.used,
        )


def _set(stage: Explore, filters: Filters) -> None:
    stage.change_view(filters=filters, first=0, near=[])


def _levels(stage: Explore, column: str, ends: tuple[int, int]) -> None:
    """From which level of a column to which."""
    low, high = stage.filters.levels.get(column, ends)
    names = {str(level): str(level) for level in range(ends[0], ends[1] + 1)}

    def become(end: int) -> Callable[[str], None]:
        return lambda name: _set(stage, stage.filters.with_level(column, end, int(name), ends))

    with element("fieldset", "levelrange"):
        text(column, "legend", "soft", "small")
        choice("from", names, str(low), become(0), key=f"filter {column} from")
        choice("to", names, str(high), become(1), key=f"filter {column} to")


def _bound(stage: Explore, name: str, axis: ChartAxis) -> None:
    """What a figure may be at most."""
    bound, unit, scale = stage.filters.at_most.get(name), "", 1.0
    if axis.share:
        unit, scale = ", %", PERCENT
    entry = ""
    if bound is not None:
        entry = f"{bound * scale:.10g}"

    def typed(event: Any) -> None:
        try:
            entered = typed_bound(str(event.args), axis)
        except ValueError:
            stage.page.say(f"The bound of {axis.title} must be a number.")
            return
        _set(stage, stage.filters.with_bound(name, entered))

    with element("label", "typed"):
        text(f"{axis.title} at most{unit}", "span", "soft", "small")
        about = {"type": "number", "step": "any", "min": 0, "^value": entry}
        element("input", "input", key=f"filter {name}", **about).on(
            "change", typed, js_handler=VALUE
        )


def draw_listing(stage: Explore, axes: Mapping[str, ChartAxis]) -> None:
    """A page of all combinations that pass, sorted, as a list or as tiles."""
    listing = stage.listing
    names = {name: axis.title for name, axis in axes.items()}
    with element("div", "row", "controls"):
        choice(
            "sorted by",
            names,
            stage.sort,
            lambda name: stage.change_view(sort=name, first=0),
            key="sort",
        )
        button(
            "largest first" if stage.falling else "smallest first",
            lambda: stage.change_view(falling=not stage.falling, first=0),
            key="order",
            label="Order: largest first" if stage.falling else "Order: smallest first",
        )
    if not listing["total"]:
        text("No combination passes the filters.", "p")
        return
    size = ON_PAGE[stage.view]
    pager(
        "combinations",
        (stage.first, size, listing["total"]),
        lambda first: stage.change_view(first=first),
    )
    if stage.view == "Tiles":
        _tiles(stage)
    else:
        _list(stage, axes)


def _radio(stage: Explore, at: int, point: Fields, **about: Any) -> None:
    """What selects a combination; arrow keys go to the next one, Enter uses it."""
    radio = element(
        "input",
        type="radio",
        name="listed",
        value=at,
        key=f"listed {at}",
        checked=point["levels"] == stage.levels,
        **about,
    )
    radio.on("change", lambda _, a=at: stage.pick(a))
    radio.on("keydown.enter", lambda _, p=point: stage.use(p))


def _list(stage: Explore, axes: Mapping[str, ChartAxis]) -> None:
    columns = list(stage.found["ranges"])
    heads = [("place", False), *((column, True) for column in columns)]
    heads += [(axis.title, True) for axis in axes.values()]
    with table("All combinations", [*heads, ("note", False)], "wide"):
        for rank, (at, point) in enumerate(stage.listing["points"].items(), stage.first + 1):
            with element("tr", at == stage.found["in_use"] and "on"):
                with element("th", scope="row"), element("label", "radio"):
                    _radio(stage, at, point)
                    Words(f"{rank:,}")
                for column in columns:
                    text(str(point["levels"][column]), "td", "num")
                for name, axis in axes.items():
                    text(axis.text(point[name]), "td", "num")
                with element("td"):
                    if at == stage.found["in_use"]:
                        badge("in use")
                    elif not point["classes"]:
                        text("nothing left", "span", "small", "soft")
                    elif not point["within_budget"]:
                        text("too many lost", "span", "small", "soft")


def _tiles(stage: Explore) -> None:
    """One tile a combination; the darker, the more is lost. A dashed frame: loses more than is
    allowed.
    """
    hint(
        "The darker a tile, the greater its loss, by fifths of all that pass; a dashed frame: it "
        "loses more records than you allow; ◆: in use."
    )
    score = stage.score_title
    with element("div", "tiles", role="radiogroup", aria_label="All combinations"):
        points = stage.listing["points"].items()
        for (at, point), shade in zip(points, stage.listing["shades"], strict=True):
            levels = ", ".join(f"{column} {level}" for column, level in point["levels"].items())
            words = f"{levels}: {score} {number(point['score'])}, {point['suppressed']:,} lost"
            beyond = not point["within_budget"]
            with element("label", "tile", f"shade{shade}", beyond and "beyond", title=words):
                _radio(stage, at, point, aria_label=words)
                sign = "◆" if at == stage.found["in_use"] else ""
                Words(f"{sign}{'·'.join(str(level) for level in point['levels'].values())}")
