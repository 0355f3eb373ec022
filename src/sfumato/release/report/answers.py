"""Noisy answers as marks with the interval that holds the noise: one row a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number
from sfumato.release.report.charts import LETTER, ROW, WIDTH, labels
from sfumato.release.report.drawing import (
    AFTER,
    FONT,
    FRAME,
    INK,
    SOFT,
    Drawing,
    Mark,
    Pen,
    Ruler,
    draw_axes,
    rounded_out,
    ticks,
)

if TYPE_CHECKING:
    import altair as alt

TOP = 24
LONGEST = 26


def answer_drawing(answer: Mapping[str, Any]) -> Drawing:
    """An answer (as ``Answer.to_dict`` tells it) as a mark a group, with its interval where it has
    one and zero on the axis.
    """
    names = labels(
        [", ".join(group) or answer["question"] for group in answer["groups"] or [[]]], LONGEST
    )
    values = answer["values"]
    lows, highs = (answer[end] or values for end in ("low", "high"))
    texts = [_told(value, low, high) for value, low, high in zip(values, lows, highs, strict=True)]
    gutter, numbers = (18 + round(LETTER * max(map(len, column))) for column in (names, texts))
    plot = max(140, WIDTH + 60 - gutter - numbers)
    least, most = min(0.0, *lows), max(0.0, *highs)
    least, most = rounded_out(least, most) if most > least else (0.0, 1.0)
    scale = plot / (most - least)
    drawing = Drawing(plot, ROW * len(names), left=gutter, right=numbers, top=TOP, bottom=34)
    draw_axes(
        drawing, _across([(scale * (at - least), number(at)) for at in ticks(least, most, 4)])
    )
    for place, (value, low, high) in enumerate(zip(values, lows, highs, strict=True)):
        _row(drawing, ROW * (place + 0.5), *(scale * (at - least) for at in (value, low, high)))
        drawing.text(-10, ROW * (place + 0.5), names[place], align="right", size=FONT - 1)
        drawing.text(plot + 12, ROW * (place + 0.5), texts[place], size=FONT - 1)
    drawing.text(
        0, -TOP / 2, f"{answer['question']}, at a cost of {_cost(answer)}", SOFT, size=FONT - 1
    )
    return drawing


def answer_chart(answer: Mapping[str, Any]) -> alt.LayerChart:
    """The same as a chart, for a notebook.

    >>> told = {"question": "count", "groups": [], "values": [12.0], "low": [2.0], "high": [22.0], "epsilon": 0.3, "rho": None}
    >>> answer_chart(told).to_dict(validate=False)["config"]["background"]
    'white'
    """
    return answer_drawing(answer).chart()


def _row(drawing: Drawing, y: float, value: float, low: float, high: float) -> None:
    if high > low:
        drawing.rect(low, y - 4, high - low, 8, Pen(AFTER, opacity=0.25))
    drawing.drawn.append(Mark(value, y, "diamond", 81, Pen(AFTER)))


def _told(value: float, low: float, high: float) -> str:
    """A value and how far the noise may have moved it, without digits that the noise drowns."""
    off = max(high - value, value - low)
    digits = 0 if off >= 1 or off == 0 else 2
    shown = f"{value:,.{digits}f}"
    return shown if off == 0 else f"{shown} ± {off:,.{digits}f}"


def _cost(answer: Mapping[str, Any]) -> str:
    return (
        f"ε = {answer['epsilon']:g}" if answer["epsilon"] is not None else f"ρ = {answer['rho']:g}"
    )


def _across(marks: Sequence[tuple[float, str]]) -> Ruler:
    return Ruler(marks, FONT - 2, INK, FRAME, FRAME)
