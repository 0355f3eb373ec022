"""How many people are alone by how much an intruder knows of them: one line an attack, before
(dashed, light) and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number, percent, plain_name
from sfumato.release.report.attacks import attack_label
from sfumato.release.report.charts import labels
from sfumato.release.report.drawing import (
    AFTER,
    BEFORE,
    FONT,
    FRAME,
    INK,
    SOFT,
    Drawing,
    Mark,
    Pen,
    Ruler,
    Shape,
    Stroke,
    draw_axes,
    percentages,
)
from sfumato.release.report.pictures import Picture

if TYPE_CHECKING:
    import altair as alt

Curve = tuple[str, str, list[tuple[float, float]]]
"""The name of an attack, what is known, and its points."""

WIDTH, HEIGHT, SIZE = 430, 230, FONT - 1
SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
MOST = len(SHAPES)
TOP = 30
TITLE, BOTH = "people who are alone", ": dashed before, solid after"


def curves_in(attacks: Mapping[str, Any] | None) -> list[Curve]:
    """The curves that findings draw (``details["curve"]``), by attack."""
    curves: list[Curve] = []
    for tried in (attacks or {}).get("tried", []):
        drawn = (tried.get("details") or {}).get("curve")
        if isinstance(drawn, Mapping) and drawn.get("points"):
            points = [(float(known), float(share)) for known, share in drawn["points"]]
            curves.append((attack_label(tried), str(drawn.get("known", "facts known")), points))
    return curves


def kinds_of(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    """What is known, in words: attacks that know the same share a picture."""
    return list(dict.fromkeys(words for _, words, _ in [*curves_in(after), *curves_in(before)]))


def curve_drawing(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, known: str
) -> Drawing:
    """The curves of attacks that know the same, before and after."""
    was, now = (
        [curve for curve in curves_in(found) if curve[1] == known] for found in (before, after)
    )
    return _drawn(list(dict.fromkeys(name for name, _, _ in [*now, *was]))[:MOST], was, now, known)


def curves_on_white(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> alt.LayerChart | None:
    """The curves that most attacks share, for a notebook, which may be dark; None where no attack
    draws one.
    """
    kinds = kinds_of(before, after)
    return curve_drawing(before, after, kinds[0]).chart() if kinds else None


def curve_pictures(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, Picture]:
    """The curves as pictures with their numbers in words, one for each thing that is known; none
    where no attack draws one.
    """
    kinds = kinds_of(before, after)
    names = ["curves", *(f"curves_{i}" for i in range(2, len(kinds) + 1))]
    return {name: _picture(before, after, known) for name, known in zip(names, kinds, strict=False)}


def _picture(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, known: str
) -> Picture:
    told = [
        (when, curve)
        for when, found in (("before", before), ("after", after))
        for curve in curves_in(found)
    ]
    mine = [(when, name, points) for when, (name, words, points) in told if words == known]
    words = "; ".join(
        f"{plain_name(name)}, {when}: {_points_told(points)}" for when, name, points in mine
    )
    both = (
        " Solid and dark: the release; dashed and light: the data before."
        if before is not None
        else ""
    )
    caption = f"The share of people who are alone for somebody who knows so much of them.{both}"
    drawing = curve_drawing(before, after, known)
    return Picture(drawing.svg(), f"Share of people who are alone, by {known}. {words}.", caption)


def _points_told(points: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{number(known)}: {percent(share)}" for known, share in points)


def _drawn(names: Sequence[str], was: Sequence[Curve], now: Sequence[Curve], known: str) -> Drawing:
    every = sorted({x for _, _, points in [*was, *now] for x, _ in points})
    legend = 22 * len(names)
    drawing = Drawing(WIDTH, HEIGHT, left=56, right=24, top=TOP, bottom=62 + legend)
    draw_axes(drawing, _across(every, known), _upwards())
    drawing.text(0, -TOP / 2, TITLE + (BOTH if was and now else ""), SOFT, size=SIZE)
    for place, name in enumerate(names):
        shape = SHAPES[place]
        for curves, pen in (
            (was, Pen(stroke=BEFORE, width=2, dashed=True)),
            (now, Pen(stroke=AFTER, width=2)),
        ):
            for points in (points for other, _, points in curves if other == name):
                _line(drawing, points, every, shape, pen)
    for place, (name, words) in enumerate(
        zip(names, labels([plain_name(n) for n in names], 48), strict=True)
    ):
        at = HEIGHT + 62 + 22 * place
        drawing.drawn.append(Mark(6, at, SHAPES[place], 64, Pen(SOFT), plain_name(name)))
        drawing.text(18, at, words, size=SIZE)
    return drawing


def _line(
    drawing: Drawing,
    points: Sequence[tuple[float, float]],
    every: Sequence[float],
    shape: Shape,
    pen: Pen,
) -> None:
    places = tuple(
        (_x(known, every), HEIGHT * (1 - min(1.0, max(0.0, share)))) for known, share in points
    )
    if len(places) > 1:
        drawing.drawn.append(Stroke(places, pen))
    for (known, share), (x, y) in zip(points, places, strict=True):
        title = f"{number(known)}: {percent(share)}"
        drawing.drawn.append(Mark(x, y, shape, 64, Pen(pen.stroke), title))


def _x(known: float, every: Sequence[float]) -> float:
    low, high = every[0], every[-1]
    return WIDTH / 2 if high == low else 14 + (WIDTH - 28) * (known - low) / (high - low)


def _across(every: Sequence[float], title: str) -> Ruler:
    step = max(1, len(every) // 10)
    ticks = [(_x(known, every), number(known)) for known in every[::step]]
    return Ruler(ticks, SIZE - 1, INK, FRAME, FRAME, title=title, title_size=SIZE, title_at=34)


def _upwards() -> Ruler:
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    ticks = [
        (HEIGHT * (1 - share), words)
        for share, words in zip(shares, percentages(shares), strict=True)
    ]
    return Ruler(ticks, SIZE - 1, SOFT, FRAME, FRAME)
