"""The risk–utility map: every candidate by what it risks and what it costs, and the line of those
that none beats.

Means are told apart by shape and candidates by number, so the map is readable without colour.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.blocks import Axis, Cell, ChartBlock, Point, Series, Share, TableBlock
from sfumato.core.words import count_of, inflect, number, percent, plain_name, score
from sfumato.release.report.charts import shortened
from sfumato.release.report.drawing import (
    AFTER,
    ALARM,
    BEFORE,
    FILLED,
    FONT,
    INK,
    SOFT,
    Drawing,
    Mark,
    Pen,
    Ruler,
    Shape,
    Stroke,
    Text,
    draw_axes,
    percentages,
    plain_numbers,
    rounded_out,
    staircase,
    ticks,
    width_of,
)
from sfumato.release.report.measures import attack_line, judges_detail, meaning_of, title_of
from sfumato.release.report.pictures import Picture, png
from sfumato.release.report.rendering import as_shown, as_yaml, rendered

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 560, 360
SHAPES: tuple[Shape, ...] = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
)
EDGE = 5
"""Room that is left around everything."""
LONGEST_MEANS = 40
LEGEND = HEIGHT + 60


def picture_of(comparison: Mapping[str, Any]) -> Picture:
    """The map as a picture with its numbers in words."""
    words = _in_words(comparison)
    return Picture(drawing_of(comparison).svg(words), words, _caption(comparison))


def png_of(comparison: Mapping[str, Any]) -> bytes:
    """The map as a PNG file."""
    return png(drawing_of(comparison).svg())


def comparison_chart(comparison: Mapping[str, Any]) -> ChartBlock:
    """The map as a block: a series for each combination of steps, and the front."""
    dots = dots_of(comparison)
    series = []
    for means in sorted({dot["means"] for dot in dots}):
        points = []
        for dot in dots:
            if dot["means"] == means:
                low, high = dot["between"] or (None, None)
                points.append(
                    Point(
                        dot["x"],
                        dot["y"],
                        low,
                        high,
                        label=dot["number"],
                        name=dot["name"],
                        alarm=not dot["holds"],
                    )
                )
        series.append(Series(means, tuple(points), "dot"))
    front = sorted((dot for dot in dots if dot["front"]), key=lambda dot: (dot["x"], dot["y"]))
    if any("better" in dot["xt"] for dot in front):
        front.reverse()
    corners = tuple(Point(dot["x"], dot["y"], name=dot["name"]) for dot in front)
    series.append(Series("front", corners, "staircase"))
    risk = Axis(plain_name(comparison["axes"]["risk"]) + " (worse ↑)", share=True)
    utility = Axis(dots[0]["xt"] if dots else _called(comparison["axes"]["utility"]))
    return ChartBlock(
        "scatter", utility, risk, tuple(series), _in_words(comparison), _caption(comparison)
    )


def chart_of(comparison: Mapping[str, Any]) -> alt.LayerChart:
    """The map as a chart, for a notebook."""
    return drawing_of(comparison).chart()


def candidate_table(comparison: Mapping[str, Any]) -> TableBlock:
    """Every candidate: ● is on the front; what it risks, what it is worth, and whether its promises
    are kept.
    """
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    header = ("candidate", plain_name(risk), "between", title_of(utility), "records", "promises")
    rows = []
    for one in comparison["candidates"]:
        mark = "●" if one["name"] in comparison["front"] else "○"
        rate, value, ends = (
            one["risks"].get(risk),
            one["utilities"].get(utility),
            one["intervals"].get(risk),
        )
        row: list[Cell] = [
            f"{mark} {one['name']}",
            None,
            None,
            None,
            one["records"],
            "✗ broken, not released",
        ]
        if rate is not None:
            row[1] = Share(rate)
        if ends is not None:
            row[2] = f"{percent(ends[0])} to {percent(ends[1])}"
        if value is not None:
            row[3] = score(value)
        if one["holds"]:
            row[5] = "kept" if one["promises"] else "none"
        rows.append(row)
    shown = [
        place
        for place, head in enumerate(header)
        if head != "between" or any(row[place] for row in rows)
    ]
    cells = tuple(tuple(row[place] for place in shown) for row in rows)
    return TableBlock(tuple(header[place] for place in shown), cells, comparison["name"])


def front_told(comparison: Mapping[str, Any]) -> str:
    """Who is on the front, in a sentence that names what is compared.

    >>> front_told({"axes": {"risk": "linkage", "utility": "loss"}, "front": ["k=5"], "candidates": [{"higher": []}] * 3})
    '1 of 3 candidates is on the front: no other one has less linkage and less loss (LM) at once'
    """
    candidates, front, utility = (
        comparison["candidates"],
        len(comparison["front"]),
        comparison["axes"]["utility"],
    )
    better = "more" if any(utility in one["higher"] for one in candidates) else "less"
    both = f"less {plain_name(comparison['axes']['risk'])} and {better} {_called(utility)} at once"
    if not front:
        return (
            f"None of {_counted(len(candidates))} may be released and was measured, so none is on"
            " the front"
        )
    return (
        f"{front} of {_counted(len(candidates))} {inflect(front, 'is', 'are')} on the front: no"
        f" other one has {both}"
    )


def risk_told(comparison: Mapping[str, Any]) -> str:
    """What the risk of the map is, why it is this one, and how sure it is."""
    risk, candidates = comparison["axes"]["risk"], comparison["candidates"]
    drawn = [one for one in candidates if one.get("drawn")]
    told = [
        (
            f"{plain_name(risk).capitalize()}: {line[:1].lower()}{line[1:]}."
            if (line := attack_line(risk))
            else ""
        )
    ]
    if drawn and risk != "linkage" and len(drawn) < len(candidates):
        told.append(
            f"Linkage is no axis here: the rows of {_counted(len(drawn))} were drawn anew and are"
            f" nobody's, so nobody can be linked to them. {plain_name(risk).capitalize()} is asked"
            " of all candidates, each beside a control: where rows are somebody's, the same person"
            " without the own row; where they were drawn, people who were set aside."
        )
    if risk == "singling_out" and drawn:
        told.append(
            "It starts from a released row and not from a person: where rows are nobody's it says"
            " less."
        )
    if any(risk in one.get("intervals", {}) for one in candidates):
        told.append(
            "Rates come from a sample: candidates whose intervals (95 %) overlap are not told apart"
            " by it; a larger sample and more seconds make them narrower."
        )
    return " ".join(part for part in told if part)


def axis_told(comparison: Mapping[str, Any]) -> str:
    """What a reader must know about the utility of the map before trusting it."""
    utility = comparison["axes"]["utility"]
    name, meaning = _called(utility).capitalize(), meaning_of(utility)
    what = f"{title_of(utility)}: {meaning}." if meaning else f"{name}."
    if judges_detail(utility):
        return (
            f"{what} A release that is coarser, or leaves out more records, never looks better"
            " in it."
        )
    return (
        f"{what} It judges what answers are worth and not detail: a coarser release can look better"
        " in it."
    )


def _counted(candidates: int) -> str:
    return count_of(candidates, "candidate")


def comparison_page(comparison: Mapping[str, Any]) -> str:
    """One page: the map, the table of all candidates, and their recipes."""
    comparison = as_shown(comparison)
    axes, candidates = comparison["axes"], list(enumerate(comparison["candidates"], 1))
    return rendered(
        "comparison.html",
        comparison=comparison,
        picture=picture_of(comparison),
        rows=[(place, one, _means(one), as_yaml(one["recipe"])) for place, one in candidates],
        refused=[(place, one) for place, one in candidates if not one["holds"] and one["reason"]],
        risk=plain_name(axes["risk"]),
        utility=title_of(axes["utility"]),
        risk_key=axes["risk"],
        utility_key=axes["utility"],
        front=set(comparison["front"]),
        said=front_told(comparison),
        axis=axis_told(comparison),
        risk_axis=risk_told(comparison),
    )


def drawing_of(comparison: Mapping[str, Any]) -> Drawing:
    """The map: the front behind, then what keeps its promises, what does not, numbers, and the
    means below.
    """
    dots = dots_of(comparison)
    if not dots:
        return _nothing()
    chart = Map(
        _span([dot["x"] for dot in dots]),
        _span([end for dot in dots for end in (dot["y"], *dot["between"])]),
    )
    numbers, means = chart.numbers(dots), sorted({dot["means"] for dot in dots})
    below = LEGEND - HEIGHT + 16 * ((len(means) + 1) // 2) - 2 + EDGE
    up = chart.up(dots[0]["yt"])
    right, top = _room(numbers)
    drawing = Drawing(WIDTH, HEIGHT, math.ceil(up.title_at + FONT / 2 + EDGE), right, top, below)
    draw_axes(drawing, chart.across(dots[0]["xt"]), up)
    drawing.drawn += [chart.between(dot) for dot in dots if dot["between"]]
    drawing.drawn.append(chart.front([dot for dot in dots if dot["front"]]))
    shapes = {one: SHAPES[i % len(SHAPES)] for i, one in enumerate(means)}
    drawing.drawn += [
        chart.mark(dot, shapes) for dot in sorted(dots, key=lambda dot: not dot["holds"])
    ]
    drawing.drawn += numbers
    _add_legend(drawing, shapes)
    return drawing


def _nothing() -> Drawing:
    """What a map without candidates says."""
    drawing = Drawing(WIDTH, HEIGHT, EDGE, EDGE, EDGE, EDGE)
    drawing.text(WIDTH / 2, HEIGHT / 2, "no candidate could be measured", SOFT, align="center")
    return drawing


def _room(numbers: Sequence[Text]) -> tuple[float, float]:
    """Room on the right and above for numbers that stand over the edge."""
    ends = [
        one.x + {"left": 1, "center": 0.5, "right": 0}[one.align] * width_of(one.words, one.size)
        for one in numbers
    ]
    overhead = [one.size / 2 - one.y for one in numbers]
    return EDGE + max(1.0, max(ends) - WIDTH), EDGE + math.floor(max(6.0, *overhead))


def dots_of(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where every candidate lies that was measured: x its loss, y its risk."""
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    front = set(comparison["front"])
    return [
        {
            "x": one["utilities"][utility],
            "y": one["risks"][risk],
            "between": tuple(one.get("intervals", {}).get(risk, ())),
            "name": one["name"],
            "number": str(place),
            "means": _means(one),
            "holds": bool(one["holds"] and one["promises"]),
            "front": one["name"] in front,
            "xt": _called(utility) + (" (better →)" if utility in one["higher"] else " (worse →)"),
            "yt": plain_name(risk) + " (worse ↑)",
        }
        for place, one in enumerate(comparison["candidates"], 1)
        if risk in one["risks"] and utility in one["utilities"]
    ]


def _called(utility: str) -> str:
    title = title_of(utility)
    return title[:1].lower() + title[1:]


def _means(candidate: Mapping[str, Any]) -> str:
    steps = [
        plain_name(next(iter(step)) if isinstance(step, Mapping) else step)
        for step in candidate["recipe"]["steps"]
    ]
    return " + ".join(steps) or "nothing"


@dataclasses.dataclass(frozen=True)
class Map:
    """Where utility and risk lie: the range of each axis."""

    utility: tuple[float, float]
    risk: tuple[float, float]

    def place(self, dot: Mapping[str, Any]) -> tuple[float, float]:
        """Where a candidate is."""
        return self.x(dot["x"]), self.y(dot["y"])

    def x(self, value: float) -> float:
        """Where a utility is."""
        low, high = self.utility
        return WIDTH * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a risk is."""
        low, high = self.risk
        return HEIGHT * (1 - (value - low) / (high - low))

    def across(self, title: str) -> Ruler:
        """The axis of the utility."""
        stops = ticks(*self.utility, 6)
        places = list(zip(map(self.x, stops), plain_numbers(stops), strict=True))
        return Ruler(places, dashes=BEFORE, title=title, flush=True)

    def up(self, title: str) -> Ruler:
        """The axis of the risk; its title keeps clear of the numbers."""
        stops = ticks(*self.risk, 6)
        words = percentages(stops)
        room = 7 + max(width_of(one, FONT - 1) for one in words) + 8 + FONT / 2
        return Ruler(
            list(zip(map(self.y, stops), words, strict=True)),
            dashes=BEFORE,
            title=title,
            title_at=room,
        )

    def front(self, front: Sequence[Mapping[str, Any]]) -> Stroke:
        """A staircase, with what the front beats behind it: between two candidates there is none,
        so no line joins them.
        """
        better = any("better" in dot["xt"] for dot in front)
        corners = [self.place(dot) for dot in sorted(front, key=lambda dot: (dot["x"], dot["y"]))]
        return Stroke(staircase(corners, first_down=better), Pen(stroke=AFTER, width=2))

    def between(self, dot: Mapping[str, Any]) -> Stroke:
        """Where the risk of a candidate may lie."""
        low, high = dot["between"]
        return Stroke(
            ((self.x(dot["x"]), self.y(low)), (self.x(dot["x"]), self.y(high))), Pen(stroke=SOFT)
        )

    def mark(self, dot: Mapping[str, Any], shapes: Mapping[str, Shape]) -> Mark:
        """A candidate: filled where it keeps its promises."""
        pen = Pen(FILLED, AFTER, 1.6) if dot["holds"] else Pen("white", ALARM, 1.6)
        return Mark(*self.place(dot), shapes[dot["means"]], 130, pen, dot["name"])

    def numbers(self, dots: Sequence[Mapping[str, Any]]) -> list[Text]:
        """The number of each candidate beside its mark, on the first side where no other number is
        in the way.
        """
        texts = []
        for (dx, dy, align), group in _sided(dots, SIDES).items():
            for dot in group:
                x, y = self.place(dot)
                texts.append(Text(x + dx, y + dy, dot["number"], Pen(INK), align, FONT - 1))
        return texts


SIDES = [
    (11, -9, "left"),
    (-11, -9, "right"),
    (11, 11, "left"),
    (-11, 11, "right"),
    (0, -17, "center"),
    (0, 19, "center"),
]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """From 0 to the largest, and on to a round number; a range that is none where nothing differs
    from 0.
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    return rounded_out(low, high if high > low else low + 1.0)


def _add_legend(drawing: Drawing, shapes: Mapping[str, Shape]) -> None:
    """The means by shape in two columns below the map."""
    entries = [(shortened(means, LONGEST_MEANS), shape) for means, shape in shapes.items()]
    second = math.ceil(17 + max(width_of(means, FONT - 1) for means, _ in entries[::2]) + 28)
    for i, (means, shape) in enumerate(entries):
        x, y = (i % 2) * second, LEGEND + 6.75 + 16 * (i // 2)
        drawing.drawn.append(Mark(x + 6.5, y, shape, 100, Pen(FILLED, AFTER, 1.5)))
        drawing.text(x + 17, y, means, size=FONT - 1)


def _sided(
    dots: Sequence[Mapping[str, Any]], sides: Sequence[Any]
) -> dict[Any, list[Mapping[str, Any]]]:
    """Which side each number stands on: the first that keeps its distance from marks and from
    numbers placed before.
    """
    widest, highest = (max([abs(dot[axis]) for dot in dots], default=0) or 1 for axis in ("x", "y"))
    marks = [(dot["x"] / widest * WIDTH, -dot["y"] / highest * HEIGHT) for dot in dots]
    placed: list[tuple[float, float]] = []
    dots_of: dict[Any, list[Mapping[str, Any]]] = {}
    for dot, (x, y) in zip(dots, marks, strict=True):
        taken = [*placed, *((a, b) for a, b in marks if (a, b) != (x, y))]
        wide = 4 * len(dot["number"])
        middles = [
            (x + dx + {"left": wide, "right": -wide}.get(align, 0), y + dy)
            for dx, dy, align in sides
        ]
        clash = [
            (across < 0) + sum(abs(across - a) < 8 + wide and abs(down - b) < 12 for a, b in taken)
            for across, down in middles
        ]
        side = sides[best := clash.index(min(clash))]
        placed.append(middles[best])
        dots_of.setdefault(side, []).append(dot)
    return dots_of


def _in_words(comparison: Mapping[str, Any]) -> str:
    candidates = [
        f"{dot['number']} {dot['name']}: risk {percent(dot['y'])}{_sure(dot['between'])},"
        f" {_called(comparison['axes']['utility'])} "
        f"{number(dot['x'])}{', on the front' if dot['front'] else ''}{'' if dot['holds'] else ', not released'}"
        for dot in dots_of(comparison)
    ]
    return f"Risk and utility of {len(candidates)} candidates. {'; '.join(candidates)}."


def _sure(between: Sequence[float]) -> str:
    return f" (between {percent(between[0])} and {percent(between[1])})" if between else ""


def _caption(comparison: Mapping[str, Any]) -> str:
    front = len(comparison["front"])
    sampled = any(dot["between"] for dot in dots_of(comparison))
    return (
        "Each mark is a candidate, by number; its shape says by what means it was made. Filled: it"
        " keeps its promises; hollow: "
        f"it does not, or promises nothing. Line: the front, {front} that no other candidate beats"
        " in both "
        f"{plain_name(comparison['axes']['risk'])} and {_called(comparison['axes']['utility'])}."
        f"{' Thin upright lines: between what the risk lies (95 %).' if sampled else ''}"
    )
