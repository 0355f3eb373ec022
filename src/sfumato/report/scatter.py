"""The picture of a choice: every node of a lattice by what it costs and what it risks.

Filled dots stay within the suppression budget, rings do not; the line joins the nodes within it that no other one beats
in both. So the picture is readable without colour.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report import vega as alt
from sfumato.report.charts import AFTER, ALARM, BEFORE, FONT, INK, SOFT, data_of, svg_of
from sfumato.report.pictures import Picture
from sfumato.report.wording import humanised, number, percent

WIDTH, HEIGHT = 424, 300
PADDING = {"left": 64, "right": 12, "top": 34, "bottom": 52}
LABEL_WIDTH = 46
GRID = "#e6eaee"
FILLED = "#7ba7cf"


def loss_risk_map(alternatives: Mapping[str, Any]) -> Picture | None:
    """Score against marketer risk for all nodes, the front and the chosen one; None when only neighbours are known.

    Takes the alternatives of a release as plain data. Risks span orders of magnitude, so their axis is logarithmic.
    """
    cloud, chosen, front = alternatives["cloud"], alternatives["chosen"], alternatives["trade_off"]
    if not cloud:
        return None
    name = humanised(alternatives["objective"])
    everything = [*cloud, *front, chosen]
    plane = Plane(
        _domain([dot["score"] for dot in everything]), _decades([dot["marketer_risk"] for dot in everything]), name
    )
    layers = [
        plane.heading(),
        plane.dots([dot for dot in cloud if not dot["within_budget"]], filled=False),
        plane.dots([dot for dot in cloud if dot["within_budget"]], filled=True),
        plane.staircase(front),
        *plane.marked(chosen, "chosen"),
    ]
    return Picture(svg_of(_framed(layers)), _in_words(alternatives, name), _caption(alternatives, name))


@dataclasses.dataclass(frozen=True)
class Plane:
    """Where scores and risks lie: the range of each axis, and what the score is called."""

    scores: tuple[float, float]
    risks: tuple[float, float]
    name: str

    def x(self) -> alt.X:
        """The channel of the score."""
        axis = alt.Axis(title=f"{self.name} (worse →)", tickCount=6, **_AXIS)
        scale = alt.Scale(domain=list(self.scores), nice=False, zero=False)
        return alt.X("x", type="quantitative", axis=axis, scale=scale)

    def y(self) -> alt.Y:
        """The channel of the risk."""
        axis = alt.Axis(title=None, values=_ticks(*self.risks), format="~%", **_AXIS)
        scale = alt.Scale(type="log", domain=list(self.risks), nice=False)
        return alt.Y("y", type="quantitative", axis=axis, scale=scale)

    def heading(self) -> alt.Chart:
        """What the upright axis shows, written above it so that nobody has to turn the head."""
        mark = data_of([{"text": "↑ marketer risk (worse)"}]).mark_text(align="left", fontSize=FONT, color=SOFT)
        x, y = alt.XValue(8 - PADDING["left"]), alt.YValue(-18)  # type: ignore[no-untyped-call]
        return _placed(mark, x, y, alt.Text("text", type="nominal"))

    def dots(self, found: Sequence[Mapping[str, Any]], *, filled: bool) -> alt.Chart:
        """Nodes as dots, larger where one stands for more of them."""
        rows = [
            {"x": dot["score"], "y": dot["marketer_risk"], "size": 9 + 5 * math.log2(dot["nodes"])} for dot in found
        ]
        dots = data_of(rows)
        if filled:
            mark = dots.mark_point(fill=FILLED, stroke=AFTER, strokeWidth=0.5, filled=True, opacity=1)
        else:
            mark = dots.mark_point(stroke=BEFORE, strokeWidth=0.8)
        return _placed(mark, self.x(), self.y(), alt.Size("size", type="quantitative", scale=None, legend=None))

    def staircase(self, front: Sequence[Mapping[str, Any]]) -> alt.Chart:
        """The front as a line: what is reachable lies on it, or above and to the right."""
        rows = [{"x": dot["score"], "y": dot["marketer_risk"]} for dot in front]
        point: dict[str, Any] = {"filled": True, "size": 26, "color": AFTER}
        mark = data_of(rows).mark_line(interpolate="step-after", color=AFTER, strokeWidth=2, point=point)
        return _placed(mark, self.x(), self.y())

    def marked(self, chosen: Mapping[str, Any], label: str) -> list[alt.Chart]:
        """The chosen node and its name, below the front to the left, where no other node is, if there is room."""
        row = [{"x": chosen["score"], "y": chosen["marketer_risk"], "text": label}]
        diamond = data_of(row).mark_point(
            shape="diamond", size=170, fill=ALARM, stroke="white", strokeWidth=2, opacity=1
        )
        room = WIDTH * (chosen["score"] - self.scores[0]) / (self.scores[1] - self.scores[0]) > LABEL_WIDTH
        side: dict[str, Any] = {"align": "right", "dx": 8, "dy": 18} if room else {"align": "left", "dx": 8, "dy": -14}
        pen: dict[str, Any] = {"fontSize": FONT, "fontWeight": 600, "baseline": "middle", **side}
        halo = data_of(row).mark_text(stroke="white", strokeWidth=4, color="white", **pen)
        text = data_of(row).mark_text(color=ALARM, **pen)
        words = alt.Text("text", type="nominal")
        return [_placed(diamond, self.x(), self.y()), *(_placed(t, self.x(), self.y(), words) for t in (halo, text))]


_AXIS: dict[str, Any] = {
    "labelColor": INK, "titleColor": SOFT, "labelFontSize": FONT - 1, "titleFontSize": FONT, "titleFontWeight": 400,
    "grid": True, "gridColor": GRID, "domainColor": SOFT, "tickColor": SOFT, "titlePadding": 8, "labelFlush": False,
}  # fmt: skip


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From a little below the least score, where the label of the chosen node finds room, to a little above the largest."""
    least, most = min(values), max(values)
    room = (most - least) or 1.0
    return least - 0.08 * room, most + 0.03 * room


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """From a little below the least risk to a little above the largest, on a logarithmic axis."""
    least, most = min(values), max(values)
    room = max((most / least) ** 0.04, 1.15)
    return least / room, min(most * room, 1.0) if most < 1.0 else room


def _ticks(least: float, most: float) -> list[float]:
    """Powers of ten within a range, with twos and fives where there would be few."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = (1, 2, 5) if math.log10(most / least) < 2.5 else (1,)
    return [step * 10.0**power for power in powers for step in steps if least <= step * 10.0**power <= most]


def _in_words(alternatives: Mapping[str, Any], name: str) -> str:
    chosen, front = alternatives["chosen"], alternatives["trade_off"]
    points = "; ".join(f"{number(dot['score'])} and {percent(dot['marketer_risk'])}" for dot in front)
    return (
        f"{name.capitalize()} and marketer risk of the nodes. Chosen: {number(chosen['score'])} and "
        f"{percent(chosen['marketer_risk'])}. Nodes within the budget that none beats: {points}."
    )


def _caption(alternatives: Mapping[str, Any], name: str) -> str:
    within, nodes = alternatives["nodes_within_budget"], alternatives["lattice_nodes"]
    return (
        f"All {nodes:,} nodes by {name} and marketer risk; a dot may stand for several. Filled dots: the {within:,} within the "
        f"suppression budget; rings: beyond it. Line: within the budget nothing has less {name} and less risk at once."
    )


def _framed(layers: Sequence[alt.Chart]) -> alt.LayerChart:
    chart = alt.LayerChart(layer=list(layers), width=WIDTH, height=HEIGHT, autosize=alt.AutoSizeParams(type="none"))
    chart.padding = PADDING
    view = alt.ViewConfig(stroke=None)
    chart.config = alt.Config(font="sans-serif", aria=False, background="transparent", view=view)
    return chart


def _placed(mark: alt.Chart, *channels: Any) -> alt.Chart:
    placed: alt.Chart = mark.encode(*channels)
    return placed
