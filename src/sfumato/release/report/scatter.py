"""The picture of a choice: every node of a lattice by what it costs and what it risks.

Filled dots stay within the suppression budget, rings do not; the line joins the nodes within it
that no other one beats in both. So the picture is readable without colour.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.words import number, percent, plain_name
from sfumato.release.report.drawing import (
    AFTER,
    ALARM,
    BEFORE,
    FILLED,
    SOFT,
    Align,
    Drawing,
    Mark,
    Pen,
    Ruler,
    Stroke,
    Text,
    draw_axes,
    percentages,
    plain_numbers,
    staircase,
    ticks,
)
from sfumato.release.report.pictures import Picture

WIDTH, HEIGHT = 424, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 34, 52
LABEL_WIDTH = 46


def loss_risk_map(alternatives: Mapping[str, Any]) -> Picture | None:
    """Score against marketer risk for all nodes, the front and the chosen one; None when only
    neighbours are known.

    Takes the alternatives of a release as plain data. Risks span orders of magnitude, so their axis
    is logarithmic.
    """
    cloud, chosen, front = alternatives["cloud"], alternatives["chosen"], alternatives["trade_off"]
    if not cloud:
        return None
    name = plain_name(alternatives["objective"])
    everything = [*cloud, *front, chosen]
    plane = Plane(
        _domain([dot["score"] for dot in everything]),
        _decades([dot["marketer_risk"] for dot in everything]),
    )
    drawing = Drawing(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)
    draw_axes(drawing, plane.across(f"{name} (worse →)"), plane.up())
    drawing.text(8 - LEFT, -18, "↑ marketer risk (worse)", SOFT)
    drawing.drawn += plane.dots([dot for dot in cloud if not dot["within_budget"]], RING)
    drawing.drawn += plane.dots([dot for dot in cloud if dot["within_budget"]], DOT)
    drawing.drawn += plane.front(front)
    drawing.drawn += plane.marked(chosen, "chosen")
    return Picture(drawing.svg(), _in_words(alternatives, name), _caption(alternatives, name))


@dataclasses.dataclass(frozen=True)
class Plane:
    """Where scores and risks lie: the range of each axis."""

    scores: tuple[float, float]
    risks: tuple[float, float]

    def x(self, score: float) -> float:
        """Where a score is."""
        low, high = self.scores
        return WIDTH * (score - low) / (high - low)

    def y(self, risk: float) -> float:
        """Where a risk is; the axis is logarithmic."""
        low, high = self.risks
        return HEIGHT * (1 - math.log(risk / low) / math.log(high / low))

    def place(self, node: Mapping[str, Any]) -> tuple[float, float]:
        """Where a node is."""
        return self.x(node["score"]), self.y(node["marketer_risk"])

    def across(self, title: str) -> Ruler:
        """The axis of the score."""
        stops = ticks(*self.scores, 6)
        return Ruler(list(zip(map(self.x, stops), plain_numbers(stops), strict=True)), title=title)

    def up(self) -> Ruler:
        """The axis of the risk; what it shows is written above it, so that nobody has to turn the
        head.
        """
        stops = _ticks(*self.risks)
        return Ruler(list(zip(map(self.y, stops), percentages(stops), strict=True)))

    def dots(self, dots: Sequence[Mapping[str, Any]], pen: Pen) -> list[Mark]:
        """Nodes as dots, larger where one stands for more of them."""
        return [
            Mark(*self.place(dot), "circle", 9 + 5 * math.log2(dot["nodes"]), pen) for dot in dots
        ]

    def front(self, front: Sequence[Mapping[str, Any]]) -> list[Stroke | Mark]:
        """The front as a line: what is reachable lies on it, or above and to the right."""
        corners = list(map(self.place, front))
        dots = [Mark(x, y, "circle", 26, Pen(AFTER)) for x, y in corners]
        return [Stroke(staircase(corners), Pen(stroke=AFTER, width=2)), *dots]

    def marked(self, chosen: Mapping[str, Any], label: str) -> list[Mark | Text]:
        """The chosen node and its name, below the front to the left, where no other node is, if
        there is room.
        """
        x, y = self.place(chosen)
        room = x > LABEL_WIDTH
        side: Align = "right" if room else "left"
        halo, ink = Pen("white", "white", 4), Pen(ALARM)
        words = [
            Text(x + 8, y + (18 if room else -14), label, pen, side, bold=True)
            for pen in (halo, ink)
        ]
        return [Mark(x, y, "diamond", 170, Pen(ALARM, "white", 2)), *words]


DOT, RING = Pen(FILLED, AFTER, 0.5), Pen(None, BEFORE, 0.8, opacity=0.7)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From a little below the least score, where the label of the chosen node finds room, to a
    little above the largest.
    """
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
    return [
        step * 10.0**power
        for power in powers
        for step in steps
        if least <= step * 10.0**power <= most
    ]


def _in_words(alternatives: Mapping[str, Any], name: str) -> str:
    chosen, front = alternatives["chosen"], alternatives["trade_off"]
    points = "; ".join(
        f"{number(dot['score'])} and {percent(dot['marketer_risk'])}" for dot in front
    )
    return (
        f"{name.capitalize()} and marketer risk of the nodes. Chosen: {number(chosen['score'])} and"
        f" {percent(chosen['marketer_risk'])}. Nodes within the budget that none beats: {points}."
    )


def _caption(alternatives: Mapping[str, Any], name: str) -> str:
    within, nodes = alternatives["nodes_within_budget"], alternatives["lattice_nodes"]
    return (
        f"All {nodes:,} nodes by {name} and marketer risk; a dot may stand for several. Filled"
        f" dots: the {within:,} within the suppression budget; rings: beyond it. Line: within the"
        f" budget nothing has less {name} and less risk at once."
    )
