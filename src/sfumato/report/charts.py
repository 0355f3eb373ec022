"""The charts behind the pictures: rows of bars or boxes with a label on the left and numbers on the right.

Positions are fixed here and not measured from fonts, so the same numbers give the same SVG on every machine.
Encoding channels are written out (``alt.X2("zero")``, not ``"zero"``): Altair is slow at guessing them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from sfumato.report import vega as alt

INK, SOFT, BEFORE, AFTER, ALARM = "#1b2430", "#566070", "#8c95a1", "#0b5394", "#a33b00"
WIDTH, ROW, FONT, LETTER = 500, 26, 14, 8.5
NARROWEST_PLOT = 140
HEADING = -0.95
"""Where headings stand; the rows are at 0, 1, 2 …"""
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


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where things are: labels on the left, bars in the plot, one or two columns of numbers on the right.

    ``texts`` are all texts of each column from left to right, ``last`` is the place of the lowest row.
    """

    texts: Sequence[Sequence[str]]
    last: int

    @property
    def widths(self) -> list[int]:
        """Room for each column of texts, from the longest of them."""
        return [14 + round(LETTER * max(_width(text) for text in column)) for column in self.texts]

    @property
    def gutter(self) -> int:
        """Room for the labels."""
        return self.widths[0]

    @property
    def numbers(self) -> int:
        """Room for the numbers."""
        return sum(self.widths[1:])

    @property
    def plot(self) -> int:
        """Room for the bars: what is left of the usual width, or a little when the texts take it all."""
        return max(NARROWEST_PLOT, WIDTH - self.gutter - self.numbers)

    @property
    def height(self) -> int:
        """Height of all rows and the heading."""
        return ROW * (self.last + 2)

    def y(self, field: str) -> alt.Y:
        """The channel that puts a row number in its place."""
        scale = alt.Scale(domain=[-1.3, self.last + 0.7], range=[0, self.height], nice=False, zero=False)
        return alt.Y(field, type="quantitative", axis=None, scale=scale)

    def x(self, field: str, most: float) -> alt.X:
        """The channel that spreads 0 to ``most`` over the plot."""
        return alt.X(field, type="quantitative", axis=None, scale=alt.Scale(domain=[0, most], range=[0, self.plot]))


def bar_chart(
    lines: Sequence[Line], heading: tuple[str, str], *, most: float, divider: Divider | None = None
) -> alt.LayerChart:
    """Horizontal bars from 0 to ``most``; two bars a row where there is a before, the light one behind.

    ``heading`` stands over the labels and over the numbers of a chart with one bar a row.
    """
    two = any(line.before is not None for line in lines)
    rows = [(i + (divider is not None and i >= divider.row), line) for i, line in enumerate(lines)]
    frame = _frame_of(lines, heading, rows[-1][0])
    layers = [_bars(frame, [(y, line.before or 0, BEFORE) for y, line in rows], 0.38, most)] if two else []
    colours = [(y, line.after, ALARM if line.alarm else AFTER) for y, line in rows]
    layers.append(_bars(frame, colours, 0.2 if two else 0.38, most))
    layers.append(_rule(frame, (0, 0), (-0.5, frame.last + 0.5), colour=SOFT))
    layers += _labels(frame, [(y, line.label) for y, line in rows], heading[0])
    layers += (
        _two_columns(frame, rows) if two else _one_column(frame, [(y, line.after_text) for y, line in rows], heading[1])
    )
    if divider is not None:
        layers.append(_rule(frame, (0, frame.plot + frame.numbers), (divider.row, divider.row), dashed=True))
        layers.append(_text(frame, [(divider.row, divider.label)], -10, "right", bold=True))
    return _framed(frame, layers)


def level_chart(
    levels: Sequence[tuple[str, int, int]], heading: tuple[str, str], words: Sequence[str]
) -> alt.LayerChart:
    """A row of boxes for each (name, level, top): one box a level, filled up to the level."""
    names = [name for name, _, _ in levels]
    frame = Frame([[heading[0], *names], [heading[1], *words]], len(levels) - 1)
    boxes = [box for row, (_, level, top) in enumerate(levels) for box in _boxes(frame, row, level, top)]
    mark = data_of(boxes).mark_rect(stroke=SOFT, strokeWidth=1)
    drawn = _placed(mark, frame.x("left", frame.plot), alt.X2("right"), frame.y("top"), alt.Y2("bottom"), _fill())
    labels = _labels(frame, list(enumerate(names)), heading[0])
    return _framed(frame, [drawn, *labels, *_one_column(frame, list(enumerate(words)), heading[1])])


def with_threshold(
    chart: alt.LayerChart, share: float, label: str, *, lines: Sequence[Line], through: int
) -> alt.LayerChart:
    """A bar chart of shares, made of these lines, with a dashed upright line through its first rows."""
    frame = _frame_of(lines, ("", ""), len(lines) - 1)
    at = frame.plot * share
    return (
        chart + _rule(frame, (at, at), (-0.5, through - 0.5), dashed=True) + _text(frame, [(-0.8, label)], at, "center")
    )


def _frame_of(lines: Sequence[Line], heading: tuple[str, str], last: int) -> Frame:
    labels = [heading[0], *(line.label for line in lines)]
    after = [heading[1], *(line.after_text for line in lines)]
    if all(line.before is None for line in lines):
        return Frame([labels, after], last)
    return Frame([labels, ["before", *(line.before_text for line in lines)], ["after", *after]], last)


def svg_of(chart: alt.LayerChart) -> str:
    """A chart as SVG; equal charts on two pages are rendered once."""
    return _rendered(json.dumps(chart.to_dict(validate=False), sort_keys=True))


@functools.lru_cache(maxsize=32)
def _rendered(specification: str) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(json.loads(specification))


def shortened(text: str, most: int = LONGEST_LABEL) -> str:
    """A label of at most so many small letters' width, on one line.

    >>> shortened("a_very_long_name_of_a_column")
    'a_very_long_name_…'
    """
    shown = "".join(c if c.isprintable() else " " for c in text).strip()
    if _width(shown) <= most:
        return shown
    return shown[: _fitting(shown, most - 1)] + "…"


def labels(texts: Sequence[str], most: int = LONGEST_LABEL) -> list[str]:
    """Labels of at most so many letters' width that tell apart what is different.

    Where texts begin alike they are cut in the middle, and numbered where that does not help either.

    >>> labels(["country_of_birth_father", "country_of_birth_mother", "age"])
    ['country_…h_father', 'country_…h_mother', 'age']
    >>> labels(["a" * 30 + "x" * 30, "a" * 30 + "y" + "x" * 30], 9)
    ['aaaa…xxxx', 'aaaa… (2)']
    """
    ends = _told_apart(texts, [shortened(text, most) for text in texts])
    middles = [short or _cut_inside(text, most) for text, short in zip(texts, ends, strict=True)]
    return _numbered(texts, middles, most)


def _told_apart(texts: Sequence[str], shown: Sequence[str]) -> list[str | None]:
    """The labels that only one text has, None for the others."""
    owners: dict[str, set[str]] = {}
    for text, label in zip(texts, shown, strict=True):
        owners.setdefault(label, set()).add(text)
    return [label if len(owners[label]) == 1 else None for label in shown]


def _cut_inside(text: str, most: int) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text).strip()
    if _width(shown) <= most:
        return shown
    half = (most - 1) / 2
    tail = len(shown) - _fitting(reversed(shown), half)
    return f"{shown[: _fitting(shown, half)]}…{shown[tail:]}"


def _numbered(texts: Sequence[str], shown: Sequence[str], most: int) -> list[str]:
    """Labels that different texts share get the number of their text among those; the first stays as it is."""
    known: dict[str, list[str]] = {}
    for text, label in zip(texts, shown, strict=True):
        if text not in known.setdefault(label, []):
            known[label].append(text)
    place = {(label, text): i for label, same in known.items() for i, text in enumerate(same, 1)}
    marks = [f" ({place[label, text]})" for text, label in zip(texts, shown, strict=True)]
    return [
        label if mark == " (1)" else shortened(label, most - len(mark)) + mark
        for label, mark in zip(shown, marks, strict=True)
    ]


def _width(text: str) -> float:
    """Roughly how many small letters a text is wide, in any font."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1.25 if letter.isupper() else 1


def _fitting(letters: Iterable[str], most: float) -> int:
    """How many of the first letters fit into a width; no more of a long text than that is looked at."""
    widths = itertools.accumulate(map(_letter_width, letters))
    return sum(1 for _ in itertools.takewhile(lambda width: width <= most, widths))


def _bars(frame: Frame, bars: Sequence[tuple[float, float, str]], half: float, most: float) -> alt.Chart:
    rows = [{"x": value, "zero": 0, "top": y - half, "bottom": y + half, "fill": colour} for y, value, colour in bars]
    mark = data_of(rows).mark_rect()
    return _placed(mark, frame.x("x", most), alt.X2("zero"), frame.y("top"), alt.Y2("bottom"), _fill())


def _boxes(frame: Frame, row: int, level: int, top: int) -> list[dict[str, Any]]:
    """One box a level; where there are too many to see, one for what is gone and one for what is left."""
    if top == 0:
        return []
    many = top > MOST_BOXES
    shares = [0.0, level / top, 1.0] if many else [i / top for i in range(top + 1)]
    filled = 1 if many else level
    place = {"top": row - 0.3, "bottom": row + 0.3}
    return [
        {
            "left": frame.plot * left + 2,
            "right": frame.plot * right - 2,
            "fill": AFTER if i < filled else "white",
            **place,
        }
        for i, (left, right) in enumerate(pairwise(shares))
        if right > left
    ]


def _labels(frame: Frame, texts: Sequence[tuple[float, str]], heading: str) -> list[alt.Chart]:
    return [_text(frame, texts, -10, "right"), _text(frame, [(HEADING, heading)], -10, "right", colour=SOFT)]


def _one_column(frame: Frame, texts: Sequence[tuple[float, str]], heading: str) -> list[alt.Chart]:
    start = frame.plot + 12
    return [_text(frame, texts, start, "left"), _text(frame, [(HEADING, heading)], start, "left", colour=SOFT)]


def _two_columns(frame: Frame, rows: Sequence[tuple[float, Line]]) -> list[alt.Chart]:
    middle, end = frame.plot + frame.widths[1], frame.plot + frame.numbers
    return [
        _text(frame, [(HEADING, "before"), *((y, line.before_text) for y, line in rows)], middle, "right", colour=SOFT),
        _text(frame, [(HEADING, "after")], end, "right", colour=SOFT),
        _text(frame, [(y, line.after_text) for y, line in rows], end, "right"),
    ]


def _text(
    frame: Frame,
    texts: Sequence[tuple[float, str]],
    x: float,
    align: Literal["left", "center", "right"],
    *,
    colour: str = INK,
    bold: bool = False,
) -> alt.Chart:
    rows = [{"y": y, "text": text} for y, text in texts]
    mark = data_of(rows).mark_text(
        align=align, baseline="middle", fontSize=FONT, color=colour, fontWeight=600 if bold else 400
    )
    at = alt.XValue(x)  # type: ignore[no-untyped-call]
    return _placed(mark, at, frame.y("y"), alt.Text("text", type="nominal"))


def _rule(
    frame: Frame, x: tuple[float, float], y: tuple[float, float], *, dashed: bool = False, colour: str = INK
) -> alt.Chart:
    pen = {"strokeDash": [5, 4], "strokeWidth": 1.5} if dashed else {"strokeWidth": 1}
    mark = data_of([{"y": y[0], "y2": y[1]}]).mark_rule(color=colour, **pen)
    start, end = alt.XValue(x[0]), alt.X2Value(x[1])  # type: ignore[no-untyped-call]
    return _placed(mark, start, end, frame.y("y"), alt.Y2("y2"))


def _framed(frame: Frame, layers: Sequence[alt.Chart]) -> alt.LayerChart:
    fixed = alt.AutoSizeParams(type="none")
    chart = alt.LayerChart(layer=list(layers), width=frame.plot, height=frame.height, autosize=fixed)
    chart.padding = {"left": frame.gutter, "right": frame.numbers, "top": 4, "bottom": 4}
    view = alt.ViewConfig(stroke=None)
    chart.config = alt.Config(font="sans-serif", aria=False, background="transparent", view=view)
    return chart


def _fill() -> alt.Fill:
    return alt.Fill("fill", type="nominal", scale=None, legend=None)


def data_of(values: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of some rows, written into the page itself."""
    data = alt.Data(values=[dict(value) for value in values])  # type: ignore[no-untyped-call]
    return alt.Chart(data)


def _placed(mark: alt.Chart, *channels: Any) -> alt.Chart:
    placed: alt.Chart = mark.encode(*channels)
    return placed
