"""The risk–utility map: every candidate by what it risks and what it costs, and the line of those that none beats.

Means are told apart by shape and candidates by number, so the map is readable without colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report import vega as alt
from sfumato.report.charts import AFTER, ALARM, BEFORE, FONT, INK, SOFT, data_of, svg_of
from sfumato.report.measures import judges_detail, meaning_of, title_of
from sfumato.report.pages import as_shown, as_yaml, rendered
from sfumato.report.pictures import Picture, png
from sfumato.report.wording import humanised, number, percent

WIDTH, HEIGHT = 560, 360
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
GRID = "#e6eaee"


def picture_of(comparison: Mapping[str, Any]) -> Picture:
    """The map as a picture with its numbers in words."""
    return Picture(svg_of(chart_of(comparison)), _in_words(comparison), _caption(comparison))


def png_of(comparison: Mapping[str, Any]) -> bytes:
    """The map as a PNG file."""
    return png(svg_of(chart_of(comparison, background="white")))


def svg_on_white(comparison: Mapping[str, Any]) -> str:
    """The map for a notebook, which may be dark."""
    return svg_of(chart_of(comparison, background="white"))


def front_told(comparison: Mapping[str, Any]) -> str:
    """Who is on the front, in a sentence that names what is compared.

    >>> front_told({"axes": {"risk": "linkage", "utility": "loss"}, "front": ["k=5"], "candidates": [{"higher": []}] * 3})
    '1 of 3 candidates is on the front: no other one has less linkage and less loss (LM) at once'
    """
    candidates, front, utility = comparison["candidates"], len(comparison["front"]), comparison["axes"]["utility"]
    better = "more" if any(utility in one["higher"] for one in candidates) else "less"
    both = f"less {humanised(comparison['axes']['risk'])} and {better} {_called(utility)} at once"
    if not front:
        return f"None of {_counted(len(candidates))} may be released and was measured, so none is on the front"
    return (
        f"{front} of {_counted(len(candidates))} {'is' if front == 1 else 'are'} on the front: no other one has {both}"
    )


def axis_told(comparison: Mapping[str, Any]) -> str:
    """What a reader must know about the utility of the map before trusting it."""
    utility = comparison["axes"]["utility"]
    name, meaning = _called(utility).capitalize(), meaning_of(utility)
    what = f"{title_of(utility)}: {meaning}." if meaning else f"{name}."
    if judges_detail(utility):
        return f"{what} A release that is coarser, or leaves out more records, never looks better in it."
    return f"{what} It judges what answers are worth and not detail: a coarser release can look better in it."


def _counted(candidates: int) -> str:
    return f"{candidates} {'candidate' if candidates == 1 else 'candidates'}"


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
        risk=humanised(axes["risk"]),
        utility=title_of(axes["utility"]),
        risk_key=axes["risk"],
        utility_key=axes["utility"],
        front=set(comparison["front"]),
        said=front_told(comparison),
        axis=axis_told(comparison),
    )


def chart_of(comparison: Mapping[str, Any], *, background: str = "transparent") -> alt.LayerChart:
    """The map as a chart."""
    dots = dots_of(comparison)
    front = [dot for dot in dots if dot["front"]]
    layers = [
        _line(sorted(front, key=lambda dot: (dot["x"], dot["y"])), dots),
        _points([dot for dot in dots if dot["holds"]], dots, filled=True),
        _points([dot for dot in dots if not dot["holds"]], dots, filled=False),
        _numbers(dots),
    ]
    chart = alt.LayerChart(layer=layers if dots else [_nothing()], width=WIDTH, height=HEIGHT)
    chart.config = alt.Config(font="sans-serif", aria=False, background=background, view=alt.ViewConfig(stroke=None))
    return chart


def _nothing() -> alt.Chart:
    """What a map without candidates says; an empty legend would have no size that can be drawn."""
    mark = data_of([{"text": "no candidate could be measured"}]).mark_text(fontSize=FONT, color=SOFT)
    x, y = alt.XValue(WIDTH / 2), alt.YValue(HEIGHT / 2)  # type: ignore[no-untyped-call]
    made: alt.Chart = mark.encode(x, y, alt.Text("text", type="nominal"))
    return made


def dots_of(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where every candidate lies that was measured: x its loss, y its risk."""
    risk, utility = comparison["axes"]["risk"], comparison["axes"]["utility"]
    front = set(comparison["front"])
    return [
        {
            "x": one["utilities"][utility],
            "y": one["risks"][risk],
            "name": one["name"],
            "number": str(place),
            "means": _means(one),
            "holds": bool(one["holds"] and one["promises"]),
            "front": one["name"] in front,
            "xt": _called(utility) + (" (better →)" if utility in one["higher"] else " (worse →)"),
            "yt": humanised(risk) + " (worse ↑)",
        }
        for place, one in enumerate(comparison["candidates"], 1)
        if risk in one["risks"] and utility in one["utilities"]
    ]


def _called(utility: str) -> str:
    title = title_of(utility)
    return title[:1].lower() + title[1:]


def _means(candidate: Mapping[str, Any]) -> str:
    steps = [
        humanised(next(iter(step)) if isinstance(step, Mapping) else step) for step in candidate["recipe"]["steps"]
    ]
    return " + ".join(steps) or "nothing"


def _x(dots: Sequence[Mapping[str, Any]]) -> alt.X:
    title = dots[0]["xt"] if dots else ""
    return alt.X("x", type="quantitative", axis=alt.Axis(title=title, tickCount=6, **_AXIS), scale=_span(dots, "x"))


def _y(dots: Sequence[Mapping[str, Any]]) -> alt.Y:
    axis = alt.Axis(title=dots[0]["yt"] if dots else "", format="~%", tickCount=6, **_AXIS)
    return alt.Y("y", type="quantitative", axis=axis, scale=_span(dots, "y"))


def _span(dots: Sequence[Mapping[str, Any]], axis: str) -> alt.Scale:
    """From 0 to the largest; a range must be given where nothing was measured, or the picture has no size."""
    values = [dot[axis] for dot in dots]
    low, high = min([0.0, *values]), max([0.0, *values])
    return alt.Scale(domain=[low, high if high > low else low + 1.0], nice=True)


def _line(front: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A staircase, with what the front beats behind it: between two candidates there is none, so no line joins them."""
    better = any("better" in dot["xt"] for dot in front)
    pen: dict[str, Any] = {"color": AFTER, "strokeWidth": 2, "interpolate": "step-before" if better else "step-after"}
    made: alt.Chart = data_of(front).mark_line(**pen).encode(_x(every), _y(every))
    return made


def _points(dots: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]], *, filled: bool) -> alt.Chart:
    known = sorted({dot["means"] for dot in every})
    shape = alt.Shape(
        "means",
        type="nominal",
        scale=alt.Scale(domain=known, range=[SHAPES[i % len(SHAPES)] for i in range(len(known))]),
        legend=alt.Legend(
            title=None,
            orient="bottom",
            columns=2,
            columnPadding=28,
            labelLimit=260,
            labelFontSize=FONT - 1,
            labelColor=INK,
        ),
    )
    pen: dict[str, Any] = {"size": 130, "strokeWidth": 1.6, "stroke": AFTER if filled else ALARM, "opacity": 1}
    made: alt.Chart = (
        data_of(dots)
        .mark_point(filled=filled, fill="#7ba7cf" if filled else "white", **pen)
        .encode(_x(every), _y(every), shape, alt.Tooltip("name", type="nominal"))
    )
    return made


def _numbers(dots: Sequence[Mapping[str, Any]]) -> alt.LayerChart:
    """The number of each candidate beside its mark, on the first side where no other number is in the way."""
    sides = [
        (11, -9, "left"),
        (-11, -9, "right"),
        (11, 11, "left"),
        (-11, 11, "right"),
        (0, -17, "center"),
        (0, 19, "center"),
    ]
    layers: list[alt.Chart] = []
    for (dx, dy, align), group in _sided(dots, sides).items():
        pen: dict[str, Any] = {"fontSize": FONT - 1, "dx": dx, "dy": dy, "align": align, "color": INK}
        layers.append(data_of(group).mark_text(**pen).encode(_x(dots), _y(dots), alt.Text("number", type="nominal")))
    return alt.LayerChart(layer=layers)


def _sided(dots: Sequence[Mapping[str, Any]], sides: Sequence[Any]) -> dict[Any, list[Mapping[str, Any]]]:
    """Which side each number stands on: the first that keeps its distance from marks and from numbers placed before."""
    widest, highest = (max([abs(dot[axis]) for dot in dots], default=0) or 1 for axis in ("x", "y"))
    marks = [(dot["x"] / widest * WIDTH, -dot["y"] / highest * HEIGHT) for dot in dots]
    placed: list[tuple[float, float]] = []
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for dot, (x, y) in zip(dots, marks, strict=True):
        taken = [*placed, *((a, b) for a, b in marks if (a, b) != (x, y))]
        wide = 4 * len(dot["number"])
        middles = [(x + dx + {"left": wide, "right": -wide}.get(align, 0), y + dy) for dx, dy, align in sides]
        clash = [
            (across < 0) + sum(abs(across - a) < 8 + wide and abs(down - b) < 12 for a, b in taken)
            for across, down in middles
        ]
        side = sides[best := clash.index(min(clash))]
        placed.append(middles[best])
        found.setdefault(side, []).append(dot)
    return found


_AXIS: dict[str, Any] = {
    "labelColor": INK, "titleColor": SOFT, "labelFontSize": FONT - 1, "titleFontSize": FONT, "titleFontWeight": 400,
    "grid": True, "gridColor": GRID, "domainColor": SOFT, "tickColor": BEFORE, "titlePadding": 8,
}  # fmt: skip


def _in_words(comparison: Mapping[str, Any]) -> str:
    told = [
        f"{dot['number']} {dot['name']}: risk {percent(dot['y'])}, {_called(comparison['axes']['utility'])} "
        f"{number(dot['x'])}{', on the front' if dot['front'] else ''}{'' if dot['holds'] else ', not released'}"
        for dot in dots_of(comparison)
    ]
    return f"Risk and utility of {len(told)} candidates. {'; '.join(told)}."


def _caption(comparison: Mapping[str, Any]) -> str:
    front = len(comparison["front"])
    return (
        "Each mark is a candidate, by number; its shape says by what means it was made. Filled: it keeps its promises; hollow: "
        f"it does not, or promises nothing. Line: the front, {front} that no other candidate beats in both "
        f"{humanised(comparison['axes']['risk'])} and {_called(comparison['axes']['utility'])}."
    )
