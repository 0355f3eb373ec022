"""Charts of blocks, drawn in the browser by Vega-Lite from the same description as in a report.

Colours are tokens of the style sheet, so that dark follows without a redraw; shape doubles colour.
Names and values of a table are data of the picture and never part of an expression, which Vega
would evaluate: names are listed as the domain of a scale, and titles are cut to one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from nicegui.element import Element

from sfumato.core.blocks import ChartAxis, ChartBlock, Point, Series
from sfumato.core.words import percent
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.parts import Words, element, text

Spec = Fields
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
ACCENT, ALARM, SOFT = "var(--accent)", "var(--alarm)", "var(--soft)"
LINE, INK, PAPER = "var(--line)", "var(--ink)", "var(--paper)"
DOTS, RINGS = "var(--dots, #7ba7cf)", "var(--rings, #8c95a1)"
TEXT = {"labelColor": SOFT, "titleColor": SOFT, "titleFontWeight": "normal", "titleFontSize": 12}
LOOK = {
    "background": None,
    "aria": False,  # the label of the picture and the table of its numbers speak for it
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **TEXT,
        "gridColor": LINE,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "labelFontSize": 12,
    },
}
LONGEST_TITLE = 60
# Names that no longer fit below each other at their full length.
MANY_NAMES = 10
HEIGHTS = {"columns": 190, "map": 300, "scatter": 340, "lines": 340}
OUTLINED: Spec = {"fill": "transparent", "stroke": RINGS, "strokeWidth": 1.5}
# Lines of what was and what is: told apart by dashes too.
LINES: dict[str, Spec] = {
    "before": {"stroke": INK, "strokeWidth": 1.5, "strokeDash": [5, 4]},
    "after": {"stroke": ACCENT, "strokeWidth": 2},
}
MARKS: dict[str, Spec] = {
    "bar": {"type": "bar", "fill": ACCENT, "opacity": 0.85},
    "tick": {"type": "tick", "color": INK, "thickness": 2},
    "limit": {"type": "tick", "color": ALARM, "thickness": 3},
    "line": {"type": "line", "stroke": LINE, "strokeWidth": 1},
    "staircase": {
        "type": "line",
        "stroke": ACCENT,
        "strokeWidth": 2,
        "interpolate": "step-after",
        "point": {"fill": ACCENT, "size": 75},
    },
    "dot": {"type": "point", "fill": DOTS, "stroke": ACCENT, "strokeWidth": 0.5},
    "ring": {"type": "point", "stroke": RINGS, "fill": PAPER, "strokeWidth": 1.5},
    "chosen": {"type": "point", "shape": "diamond", "fill": ALARM, "stroke": PAPER},
}
# What stands before the name of a series in the legend.
SIGNS = {"staircase": "●", "dot": "•", "ring": "○", "chosen": "◆", "tick": "|", "limit": "|"}


class ChartWidget(Element, component=Path(__file__).parent / "files" / "chart.js"):
    """A chart that tells ``look``, ``pick`` and ``use`` with the series and the point that is
    meant. Arrow keys walk along its points.
    """

    def __init__(self, block: ChartBlock) -> None:
        super().__init__()
        self._props["spec"] = vega_spec(block)
        self._props["label"] = block.alternative_text

    def ring(self, points: Sequence[Point]) -> None:
        """Put a ring around some points, in place."""
        self._props["added"] = {"ring": [{"x": point.x, "y": point.y} for point in points]}
        self.update()


def draw_chart(block: ChartBlock) -> ChartWidget:
    """Draw a chart with its legend; its numbers stand behind a click."""
    with element("figure", "chart"):
        if block.title:
            text(block.title, "p", "strong")
        widget = ChartWidget(block)
        widget.classes("picture")
        named_series = [series for series in block.series if series.name and series.points]
        if len(named_series) > 1:
            with element("ul", "legend", "small", "soft"):
                for series in named_series:
                    with element("li"):
                        sign = f"sign-{series.mark}"
                        text(sign_of(series), "span", "sign", sign, aria_hidden="true")
                        Words(series.name)
        if block.caption:
            text(block.caption, "figcaption", "small", "soft")
    return widget


def sign_of(series: Series) -> str:
    """The sign of a series in the legend."""
    if series.mark == "bar":
        return "□" if series.part == "before" else "■"
    if series.mark == "line":
        return "- -" if series.part == "before" else "—"
    return SIGNS.get(series.mark, "–")


def vega_spec(block: ChartBlock) -> Spec:
    """The chart as plain data for Vega-Lite, as wide as its place."""
    across, up = _axis("x", block.x, _values(block, "x")), _axis("y", block.y, _values(block, "y"))
    if block.kind in ("bars", "levels", "intervals"):  # these lie: names stand at the left
        across, up = up, across
    where = {"x": across, "y": up}
    layers = []
    for position, series in enumerate(block.series):
        layers += _layers(block, position, series, where)
    if block.kind == "scatter":
        ring = {"type": "point", "stroke": INK, "size": 400, "strokeWidth": 2, "fill": None}
        layers.append({"data": {"name": "ring", "values": []}, "mark": ring, "encoding": where})
    for line in block.lines:
        rule = {"type": "rule", "stroke": ALARM, "strokeDash": [4, 3]}
        layers.append({"mark": rule, "encoding": {line.axis: {"datum": line.at}}})
    height = HEIGHTS.get(block.kind, 40 + 24 * max(1, len(block.x.names)))
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "config": LOOK,
        "layer": layers,
    }


def _values(block: ChartBlock, axis: str) -> list[float]:
    values = [getattr(point, axis) for series in block.series for point in series.points]
    return [value for value in values if value is not None]


def _axis(field: str, axis: ChartAxis, values: Sequence[float]) -> Spec:
    encoding: Spec = {"field": field, "title": one_line(axis.title) or None}
    if axis.names:
        look: Spec = {"labelLimit": 90, "labelOverlap": len(axis.names) > MANY_NAMES}
        if field == "x":
            look["labelAngle"] = -35
        encoding |= {"type": "nominal", "field": f"{field}_name", "axis": look}
        encoding["scale"] = {"domain": list(axis.names)}
        return encoding
    scale: Spec = {"zero": False, "nice": True, "padding": 12}
    look = {"format": "~%" if axis.share else "~s", "grid": field == "y", "tickCount": 5}
    if axis.limits is not None:
        scale |= {"domain": list(axis.limits), "nice": False}
    if axis.logarithmic and min(values, default=1.0) > 0:
        scale = {"type": "log", "nice": False, "padding": 12}
        look["values"] = log_ticks(min(values, default=0.01), max(values, default=1.0))
    return {**encoding, "type": "quantitative", "scale": scale, "axis": look}


def _layers(block: ChartBlock, position: int, series: Series, where: Spec) -> list[Spec]:
    mark: Spec = {"opacity": 1, **MARKS[series.mark]}
    encoding = {**where, "tooltip": {"field": "words", "type": "nominal"}}
    rows = [_row(block, position, at, series) for at in range(len(series.points))]
    if series.mark == "bar":
        mark["width" if block.kind == "columns" else "height"] = {"band": 0.5}
        # what was is an outline, wider than what is
        if series.part == "before":
            mark |= {**OUTLINED, "opacity": 1}
            mark["width" if block.kind == "columns" else "height"] = {"band": 0.86}
        for axis in ("x", "y"):
            if where[axis]["type"] == "quantitative":
                encoding[axis] = {**where[axis], "scale": {"zero": True, "nice": True}}
    elif series.mark in ("line", "staircase"):
        if block.kind == "lines" and series.mark == "line":
            mark |= LINES[series.part]
        encoding["order"] = {"field": "order", "type": "quantitative"}
    elif block.kind == "map":
        largest = max((abs(point.size) for point in series.points), default=1.0) or 1.0
        mark |= {"type": "square", "fill": ACCENT, "stroke": None}
        scale = {"domain": [0, largest], "range": [0, 420]}
        encoding["size"] = {"field": "size", "type": "quantitative", "scale": scale, "legend": None}
    else:
        encoding["size"] = {"field": "area", "type": "quantitative", "scale": None}
    layers: list[Spec] = [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]
    alarming = [row for row in rows if row["alarm"]]
    if alarming:
        # over the others, so that shape tells what colour tells
        layers.append({**layers[0], "data": {"values": alarming}})
        layers[-1]["mark"] = {**mark, "stroke": ALARM, "strokeWidth": 2, "fill": PAPER}
    return layers + _beside(rows, where)


def _beside(rows: Sequence[Spec], where: Spec) -> list[Spec]:
    """Intervals and labels of points."""
    layers: list[Spec] = []
    spans = [row for row in rows if row["low"] is not None]
    if spans:
        ends = {"y": {**where["y"], "field": "low"}, "y2": {"field": "high"}}
        rule = {"type": "rule", "stroke": SOFT}
        layers.append({"data": {"values": spans}, "mark": rule, "encoding": {**where, **ends}})
    labelled = [row for row in rows if row["label"]]
    if labelled:
        mark = {"type": "text", "dx": 12, "dy": -10, "fill": INK, "fontWeight": "bold"}
        encoding = {**where, "text": {"field": "label"}}
        layers.append({"data": {"values": labelled}, "mark": mark, "encoding": encoding})
    return layers


def _row(block: ChartBlock, position: int, at: int, series: Series) -> Spec:
    """A point with its place in the block, by which the browser names it, and in words."""
    point = series.points[at]
    row: Spec = {"id": [position, at], "order": at, "x": point.x, "y": point.y}
    row |= {"low": point.low, "high": point.high, "label": point.label, "alarm": point.alarm}
    row |= {"size": abs(point.size), "area": 10 + 30 * math.sqrt(min(40.0, abs(point.size)))}
    if series.mark == "chosen":
        row["area"] = 240
    for name, axis in (("x", block.x), ("y", block.y)):
        value = getattr(point, name)
        if axis.names and value is not None:
            row[f"{name}_name"] = axis.names[round(value)]
    return {**row, "words": point_words(block, series, point)}


def point_words(block: ChartBlock, series: Series, point: Point) -> str:
    """A point as a pointer, or a screen reader, tells it.

    >>> ages = Series("after", (Point(0, 0.25),))
    >>> chart = ChartBlock(
    ...     "chart", "columns", ChartAxis("age", ("young",)), ChartAxis(share=True), (ages,), ""
    ... )
    >>> point_words(chart, ages, ages.points[0])
    'young · after 25 %'
    """
    parts = [point.name] if point.name else []
    x, y = block.x.text(point.x), block.y.text(point.y)
    if block.kind == "map":
        parts += [x, y, percent(point.size)]
    elif block.x.names:
        parts += [x, f"{series.name} {y}".strip()]
    else:
        parts += [f"{_quantity(block.x)} {x}", f"{_quantity(block.y)} {y}"]
    if point.low is not None:
        parts.append(f"{block.y.text(point.low)} to {block.y.text(point.high)}")
    return " · ".join(parts)


def _quantity(axis: ChartAxis) -> str:
    """What an axis shows, without the direction in which it is worse: loss (worse →) is loss."""
    return re.sub(r" \([^()]*[→↑]\)$", "", axis.title)


def log_ticks(smallest: float, largest: float) -> list[float]:
    """Powers of ten within a range, with twos and fives where there would be few.

    >>> log_ticks(0.0001, 0.2), log_ticks(0.05, 1)
    ([0.0001, 0.001, 0.01, 0.1], [0.05, 0.1, 0.2, 0.5, 1.0])
    """
    low, high = math.floor(math.log10(smallest) + 1e-9), math.ceil(math.log10(largest) - 1e-9)
    steps = (1, 2, 5) if math.log10(largest / smallest) < 2.5 else (1,)
    ticks = []
    for power in range(low, high + 1):
        ticks += [round(step * 10.0**power, 12 - power) for step in steps]
    return [tick for tick in ticks if smallest * 0.999 <= tick <= largest * 1.001]


def one_line(title: str) -> str:
    r"""A title of an axis. It becomes part of an expression, whose texts may hold no separator of
    lines.

    >>> one_line("two\u2028lines")
    'two lines'
    """
    words = " ".join(title.split())
    if len(words) <= LONGEST_TITLE:
        return words
    return words[: LONGEST_TITLE - 1] + "…"
