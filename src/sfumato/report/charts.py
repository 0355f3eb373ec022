"""The charts behind the pictures: rows of bars or boxes with a label on the left and numbers on the right.

Positions are fixed here and not measured from fonts, so the same numbers give the same SVG on every machine.
Encoding channels are written out (``alt.X2("zero")``, not ``"zero"``): Altair is slow at guessing them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import altair as alt

INK, SOFT, BEFORE, AFTER, ALARM = "#1b2430", "#566070", "#a3abb6", "#0b5394", "#a33b00"
WIDTH, ROW, FONT = 560, 26, 14
GUTTER, NUMBERS = 150, 150
PLOT = WIDTH - GUTTER - NUMBERS
COLUMN_ENDS = (PLOT + 72, PLOT + NUMBERS - 4)
"""Where the two columns of numbers end; a single one starts beside the bars."""
MOST_BOXES = 20
LONGEST_LABEL = 18


@dataclasses.dataclass(frozen=True)
class Line:
    """One row of bars: a label, the released value and, where there is one, the original value, with their texts."""

    label: str
    after: float
    after_text: str
    before: float | None = None
    before_text: str = ""
    alarm: bool = False


@dataclasses.dataclass(frozen=True)
class Divider:
    """A labelled dashed line across the chart, above the row with this index."""

    row: int
    label: str


def bar_chart(lines: Sequence[Line], heading: tuple[str, str], *, most: float, divider: Divider | None = None) -> alt.LayerChart:
    """Horizontal bars from 0 to ``most``; two bars a row where there is a before, the light one behind.

    ``heading`` stands over the labels and over the numbers of a chart with one bar a row.
    """
    two = any(line.before is not None for line in lines)
    places = [i + (divider is not None and i >= divider.row) for i in range(len(lines))]
    rows = [{**dataclasses.asdict(line), "y": y} for line, y in zip(lines, places, strict=True)]
    layers = [_bars(rows, "before", 0.38, most, places)] if two else []
    layers.append(_bars(rows, "after", 0.2 if two else 0.38, most, places))
    layers.append(_rule((0, 0), (-0.5, places[-1] + 0.5), places, colour=SOFT))
    layers += _labels([(row["y"], row["label"]) for row in rows], heading[0], places)
    layers += _two_columns(rows, places) if two else _one_column([(r["y"], r["after_text"]) for r in rows], heading[1], places)
    if divider is not None:
        layers.append(_rule((0, PLOT + NUMBERS), (divider.row, divider.row), places, dashed=True))
        layers.append(_text([(divider.row, divider.label)], places, -10, "right", bold=True))
    return _framed(layers, places)


def level_chart(levels: Sequence[tuple[str, int, int]], heading: tuple[str, str], words: Sequence[str]) -> alt.LayerChart:
    """A row of boxes for each (name, level, top): one box a level, filled up to the level."""
    import altair as alt

    places = list(range(len(levels)))
    boxes = [box for i, (_, level, top) in enumerate(levels) for box in _boxes(i, level, top)]
    across = alt.X("left", type="quantitative", axis=None, scale=alt.Scale(domain=[0, PLOT], range=[0, PLOT]))
    mark = _data(boxes).mark_rect(stroke=SOFT, strokeWidth=1)
    drawn = mark.encode(across, alt.X2("right"), _y("top", places), alt.Y2("bottom"), _fill())
    labels = _labels([(i, name) for i, (name, _, _) in enumerate(levels)], heading[0], places)
    return _framed([drawn, *labels, *_one_column(list(enumerate(words)), heading[1], places)], places)


def with_threshold(chart: alt.LayerChart, share: float, label: str, *, rows: int, of: int) -> alt.LayerChart:
    """A chart of shares with a dashed upright line through its first rows."""
    places, at = list(range(of)), PLOT * share
    line = _rule((at, at), (-0.5, rows - 0.5), places, dashed=True)
    return chart + line + _text([(-0.8, label)], places, at, "center")


def svg_of(chart: alt.LayerChart) -> str:
    """A chart as SVG; equal charts on two pages are rendered once."""
    return _rendered(json.dumps(chart.to_dict(validate=False), sort_keys=True))


@functools.lru_cache(maxsize=32)
def _rendered(specification: str) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(json.loads(specification))


def shortened(text: str, most: int = LONGEST_LABEL) -> str:
    """A label of at most so many narrow characters, on one line; wide ones (CJK) count twice.

    >>> shortened("a_very_long_name_of_a_column")
    'a_very_long_name_…'
    """
    shown = "".join(c if c.isprintable() else " " for c in text)
    widths = [2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown]
    if sum(widths) <= most:
        return shown
    fitting = [i for i in range(len(shown)) if sum(widths[:i]) < most]
    return shown[: fitting[-1]] + "…"


def _bars(rows: Sequence[Mapping[str, Any]], field: str, half: float, most: float, places: Sequence[int]) -> alt.Chart:
    import altair as alt

    bars = [
        {"x": row[field] or 0, "zero": 0, "top": row["y"] - half, "bottom": row["y"] + half, "fill": _colour(row, field)}
        for row in rows
    ]
    x = alt.X("x", type="quantitative", axis=None, scale=alt.Scale(domain=[0, most], range=[0, PLOT]))
    return _data(bars).mark_rect().encode(x, alt.X2("zero"), _y("top", places), alt.Y2("bottom"), _fill())


def _colour(row: Mapping[str, Any], field: str) -> str:
    if field == "before":
        return BEFORE
    return ALARM if row["alarm"] else AFTER


def _boxes(row: int, level: int, top: int) -> list[dict[str, Any]]:
    """One box a level; where there are too many to see, one for what is gone and one for what is left."""
    many = top > MOST_BOXES
    ends = [0.0, PLOT * level / top, float(PLOT)] if many else [PLOT * i / top for i in range(top + 1)]
    filled = 1 if many else level
    return [
        {"left": left + 2, "right": right - 2, "top": row - 0.3, "bottom": row + 0.3, "fill": AFTER if i < filled else "white"}
        for i, (left, right) in enumerate(zip(ends, ends[1:], strict=False))
        if right > left
    ]


def _labels(texts: Sequence[tuple[float, str]], heading: str, places: Sequence[int]) -> list[alt.Chart]:
    short = [(y, shortened(text)) for y, text in texts]
    return [_text(short, places, -10, "right"), _text([(-0.95, heading)], places, -10, "right", colour=SOFT)]


def _one_column(texts: Sequence[tuple[float, str]], heading: str, places: Sequence[int]) -> list[alt.Chart]:
    start = PLOT + 12
    return [_text(texts, places, start, "left"), _text([(-0.95, heading)], places, start, "left", colour=SOFT)]


def _two_columns(rows: Sequence[Mapping[str, Any]], places: Sequence[int]) -> list[alt.Chart]:
    first, second = COLUMN_ENDS
    before = [(-0.95, "before"), *((row["y"], row["before_text"]) for row in rows)]
    after = [(row["y"], row["after_text"]) for row in rows]
    return [
        _text(before, places, first, "right", colour=SOFT),
        _text([(-0.95, "after")], places, second, "right", colour=SOFT),
        _text(after, places, second, "right"),
    ]


def _text(
    texts: Sequence[tuple[float, str]],
    places: Sequence[int],
    x: float,
    align: Literal["left", "center", "right"],
    *,
    colour: str = INK,
    bold: bool = False,
) -> alt.Chart:
    import altair as alt

    rows = [{"y": y, "text": text} for y, text in texts]
    mark = _data(rows).mark_text(align=align, baseline="middle", fontSize=FONT, color=colour, fontWeight=600 if bold else 400)
    return mark.encode(alt.XValue(x), _y("y", places), alt.Text("text", type="nominal"))


def _rule(
    x: tuple[float, float], y: tuple[float, float], places: Sequence[int], *, dashed: bool = False, colour: str = INK
) -> alt.Chart:
    import altair as alt

    mark = _data([{"y": y[0], "y2": y[1]}]).mark_rule(
        color=colour, strokeDash=[5, 4] if dashed else [], strokeWidth=1.5 if dashed else 1
    )
    return mark.encode(alt.XValue(x[0]), alt.X2Value(x[1]), _y("y", places), alt.Y2("y2"))


def _framed(layers: Sequence[alt.Chart], places: Sequence[int]) -> alt.LayerChart:
    import altair as alt

    padding = {"left": GUTTER, "right": NUMBERS, "top": 4, "bottom": 4}
    size = {"width": PLOT, "height": _height(places)}
    chart = alt.layer(*layers, **size, padding=padding, autosize=alt.AutoSizeParams(type="none"))
    view = alt.ViewConfig(stroke=None)
    chart.config = alt.Config(font="sans-serif", aria=False, background="transparent", view=view)
    return chart


def _height(places: Sequence[int]) -> int:
    return ROW * (places[-1] + 2)


def _y(field: str, places: Sequence[int]) -> alt.Y:
    import altair as alt

    scale = alt.Scale(domain=[-1.3, places[-1] + 0.7], range=[0, _height(places)], nice=False, zero=False)
    return alt.Y(field, type="quantitative", axis=None, scale=scale)


def _fill() -> alt.Fill:
    import altair as alt

    return alt.Fill("fill", type="nominal", scale=None, legend=None)


def _data(values: Sequence[Mapping[str, Any]]) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.Data(values=[dict(value) for value in values]))
