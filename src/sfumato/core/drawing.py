"""Drawings: bars, rules, marks and texts at places that are given, written as SVG, or as an Altair
chart where one is asked for.

Nothing is measured from fonts, so the same numbers give the same SVG on every machine. Places are
pixels from the upper left corner of the plot; a drawing knows how much room is around it.
"""

from __future__ import annotations

import dataclasses
import functools
import html
import itertools
import math
import string
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.fields import Document
from sfumato.errors import require

if TYPE_CHECKING:
    import altair as alt

INK, SOFT, BEFORE, AFTER, ALARM = "#1b2430", "#566070", "#8c95a1", "#0b5394", "#a33b00"
GRID, FILLED, FRAME = "#e6eaee", "#7ba7cf", "#888"
FONT = 14
DASHES = "5,4"
Align = Literal["left", "center", "right"]
ANCHORS: Mapping[Align, str] = {"left": "start", "center": "middle", "right": "end"}


@dataclasses.dataclass(frozen=True, slots=True)
class Pen:
    """How a shape is filled and outlined; None is no ink."""

    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    opacity: float = 1.0
    dashed: bool = False

    def as_mark(self) -> Document:
        """The pen in Vega-Lite."""
        if self.dashed:
            dash = {"strokeDash": [int(part) for part in DASHES.split(",")]}
        else:
            dash = {}
        ink = {
            "fill": self.fill,
            "stroke": self.stroke,
            "strokeWidth": self.width if self.stroke else 0,
        }
        return {**ink, "opacity": self.opacity, **dash}


@functools.cache
def _ink(pen: Pen) -> str:
    """A pen in SVG; a drawing has few different ones."""
    text = f' fill="{pen.fill or "none"}"'
    if pen.stroke:
        text += f' stroke="{pen.stroke}" stroke-width="{pen.width:g}"'
    if pen.dashed:
        text += f' stroke-dasharray="{DASHES}"'
    if pen.opacity != 1:
        text += f' opacity="{pen.opacity:g}"'
    return text


@dataclasses.dataclass(frozen=True, slots=True)
class Rect:
    """An upright rectangle."""

    x: float
    y: float
    width: float
    height: float
    pen: Pen

    def svg(self) -> str:
        """The rectangle in SVG."""
        position = (
            f'x="{round(self.x, 2):g}" y="{round(self.y, 2):g}" width="{round(self.width, 2):g}"'
            f' height="{round(self.height, 2):g}"'
        )
        return f"<rect {position}{_ink(self.pen)}/>"

    def as_mark(self) -> Document:
        """What all rectangles of one layer of a chart share."""
        return {"type": "rect", **self.pen.as_mark()}

    def as_rows(self) -> list[Document]:
        """The rectangle as data of a chart."""
        return [{"x": self.x, "y": self.y, "x2": self.x + self.width, "y2": self.y + self.height}]


@dataclasses.dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    pen: Pen

    def svg(self) -> str:
        """The line in SVG: a straight one as a line, others as a path."""
        if len(self.points) == 2:
            (x1, y1), (x2, y2) = self.points
            position = (
                f'x1="{round(x1, 2):g}" y1="{round(y1, 2):g}" x2="{round(x2, 2):g}"'
                f' y2="{round(y2, 2):g}"'
            )
            return f"<line {position}{_ink(self.pen)}/>"
        path = "L".join(f"{round(x, 2):g},{round(y, 2):g}" for x, y in self.points)
        if path:
            return f'<path d="M{path}"{_ink(self.pen)}/>'
        return ""

    def as_mark(self) -> Document:
        """A layer of its own: two lines in one would be joined."""
        return {"type": "line", **self.pen.as_mark()}

    def as_rows(self) -> list[Document]:
        """The points of the line in their order."""
        return [{"x": x, "y": y, "order": i} for i, (x, y) in enumerate(self.points)]


Shape = Literal[
    "circle",
    "square",
    "diamond",
    "cross",
    "triangle-up",
    "triangle-down",
    "triangle-left",
    "triangle-right",
]
_TALL = math.sqrt(3) / 2
OUTLINES: Mapping[Shape, Sequence[tuple[float, float]]] = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "diamond": [(-1, 0), (0, -1), (1, 0), (0, 1)],
    "cross": [
        (-1, -0.4),
        (-1, 0.4),
        (-0.4, 0.4),
        (-0.4, 1),
        (0.4, 1),
        (0.4, 0.4),
        (1, 0.4),
        (1, -0.4),
        (0.4, -0.4),
        (0.4, -1),
        (-0.4, -1),
        (-0.4, -0.4),
    ],
    "triangle-up": [(0, -_TALL), (-1, _TALL), (1, _TALL)],
    "triangle-down": [(0, _TALL), (-1, -_TALL), (1, -_TALL)],
    "triangle-left": [(-_TALL, 0), (_TALL, -1), (_TALL, 1)],
    "triangle-right": [(_TALL, 0), (-_TALL, -1), (-_TALL, 1)],
}
"""Corners of each shape for a half width of 1; a circle has none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """A shape around a place. ``size`` is the square of its width; ``title`` is shown to who points
    at it.
    """

    x: float
    y: float
    shape: Shape
    size: float
    pen: Pen
    title: str = ""

    def svg(self) -> str:
        """The mark in SVG."""
        # The size is the square of the width.
        half = math.sqrt(self.size) / 2
        ink = _ink(self.pen)
        if self.shape == "circle":
            kind, position = (
                "circle",
                f'cx="{round(self.x, 2):g}" cy="{round(self.y, 2):g}" r="{round(half, 2):g}"',
            )
        else:
            corners = []
            for a, b in OUTLINES[self.shape]:
                corners.append(f"{round(self.x + half * a, 2):g},{round(self.y + half * b, 2):g}")
            path = "L".join(corners)
            kind, position = "path", f'd="M{path}Z"'
        if self.title:
            end = f"><title>{escaped(self.title)}</title></{kind}>"
        else:
            end = "/>"
        return f"<{kind} {position}{ink}{end}"

    def as_mark(self) -> Document:
        """What all marks of one layer of a chart share."""
        return {"type": "point", "shape": self.shape, **self.pen.as_mark()}

    def as_rows(self) -> list[Document]:
        """The mark as data of a chart."""
        return [{"x": self.x, "y": self.y, "size": self.size, "title": self.title}]


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """Words beside a place, in the middle of it from above to below; turned around it and then
    moved by ``dx`` where they stand aslant.
    """

    x: float
    y: float
    words: str
    pen: Pen
    align: Align = "left"
    size: float = FONT
    bold: bool = False
    angle: float = 0.0
    dx: float = 0.0

    def svg(self) -> str:
        """The words in SVG. Where a line of text has its middle differs between browsers, so
        letters are put on their base line.
        """
        down = round(0.3 * self.size)
        position = f'x="{round(self.x + self.dx, 2):g}" y="{round(self.y + down, 2):g}"'
        if self.angle:
            turned = f"translate({round(self.x, 2):g},{round(self.y, 2):g}) rotate({self.angle:g})"
            position = f'transform="{turned}" x="{round(self.dx, 2):g}" y="{down}"'
        look = f' text-anchor="{ANCHORS[self.align]}" font-size="{self.size:g}"{_ink(self.pen)}'
        weight = ' font-weight="600"' if self.bold else ""
        return f"<text {position}{look}{weight}>{escaped(self.words)}</text>"

    def as_mark(self) -> Document:
        """What all texts of one layer of a chart share."""
        look = {
            "align": self.align,
            "baseline": "middle",
            "fontSize": self.size,
            "fontWeight": 600 if self.bold else 400,
        }
        return {
            "type": "text",
            **self.pen.as_mark(),
            **look,
            "angle": self.angle % 360,
            "dx": self.dx,
        }

    def as_rows(self) -> list[Document]:
        """The words as data of a chart."""
        return [{"x": self.x, "y": self.y, "words": self.words}]


Drawn = Rect | Stroke | Mark | Text


@dataclasses.dataclass
class Drawing:
    """What is drawn, from behind to front, in a plot with room around it; the ground is that of the
    page if none is given.
    """

    width: float
    height: float
    left: float = 0
    right: float = 0
    top: float = 0
    bottom: float = 0
    ground: str = ""
    drawn: list[Drawn] = dataclasses.field(default_factory=list)

    @property
    def extent(self) -> tuple[int, int]:
        """Width and height of the whole picture."""
        width = math.ceil(self.left + self.width + self.right)
        height = math.ceil(self.top + self.height + self.bottom)
        return width, height

    def rect(self, x: float, y: float, width: float, height: float, pen: Pen) -> None:
        """Add a rectangle."""
        self.drawn.append(Rect(x, y, width=width, height=height, pen=pen))

    def rule(self, start: tuple[float, float], end: tuple[float, float], pen: Pen) -> None:
        """Add a straight line."""
        self.drawn.append(Stroke((start, end), pen))

    def text(self, x: float, y: float, words: str, colour: str = INK, **look: Any) -> None:
        """Add words; ``look`` as :class:`Text` names it."""
        self.drawn.append(Text(x, y, words, Pen(colour), **look))

    def svg(self, label: str = "") -> str:
        """The drawing as SVG; ``label`` tells who cannot see it what it shows, where no page around
        it does.
        """
        width, height = self.extent
        accessibility = ' aria-hidden="true"'
        if label:
            quoted = escaped(label).replace('"', "&quot;")
            accessibility = f' role="img" aria-label="{quoted}"'
        # A page may widen a drawing a little, but a small one stays small.
        natural = f' style="--natural: {round(1.15 * width)}px"'
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0'
            f' 0 {width} {height}"{natural}{accessibility}>'
        )
        if self.ground:
            ground = f'<rect width="100%" height="100%" fill="{self.ground}"/>'
        else:
            ground = ""
        position = f'transform="translate({round(self.left, 2):g},{round(self.top, 2):g})"'
        shapes = "".join(shape.svg() for shape in self.drawn)
        return (
            f'{opening}{ground}<g {position} font-family="sans-serif"'
            f' stroke-miterlimit="10">{shapes}</g></svg>'
        )

    def chart(self) -> alt.LayerChart:
        """The drawing as an Altair chart on white: a notebook may be dark."""
        altair = require("altair", extra="charts", to="plot charts in a notebook")
        width, height = self.extent
        view = {"autosize": "none", "padding": 0, "width": width, "height": height}
        config = {
            "font": "sans-serif",
            "aria": False,
            "background": "white",
            "view": {"stroke": None},
        }
        plain = {**view, "config": config, "layer": list(self._layers())}
        chart: alt.LayerChart = altair.LayerChart.from_dict(plain, validate=False)
        return chart

    def _layers(self) -> Iterator[Document]:
        """Neighbours of one look share a layer; every line has one of its own."""
        width, height = self.extent
        # Lines have their number in the key, so that no two share a layer; all other shapes share
        # -1.
        numbered = enumerate(self.drawn)
        alike = itertools.groupby(
            numbered,
            lambda n: (n[0] if isinstance(n[1], Stroke) else -1, n[1].as_mark()),
        )
        for (_, mark), group in alike:
            rows = [row for _, shape in group for row in shape.as_rows()]
            # Places begin left of and above the plot, where axes have their words.
            channels = {"x": _pixels("x", -self.left, width), "y": _pixels("y", -self.top, height)}
            yield {
                "data": {"values": rows},
                "mark": mark,
                "encoding": channels | _CHANNELS[mark["type"]],
            }


_CHANNELS: Mapping[str, Document] = {
    "rect": {"x2": {"field": "x2"}, "y2": {"field": "y2"}},
    "line": {"order": {"field": "order", "type": "quantitative"}},
    "point": {
        "size": {"field": "size", "type": "quantitative", "scale": None, "legend": None},
        "tooltip": {"field": "title", "type": "nominal"},
    },
    "text": {"text": {"field": "words", "type": "nominal"}},
}


def _pixels(axis: str, start: float, length: float) -> Document:
    """The channel that takes places as they are."""
    scale = {"domain": [start, start + length], "range": [0, length], "nice": False, "zero": False}
    return {"field": axis, "type": "quantitative", "axis": None, "scale": scale}


def escaped(words: str) -> str:
    r"""Words as they may stand in SVG: nothing in them opens or closes an element, and signs that
    XML cannot hold are blanks.

    >>> escaped('<b>"a" & b</b>'), escaped("tab\tnull\x00")
    ('&lt;b&gt;"a" &amp; b&lt;/b&gt;', 'tab null ')
    """
    if not words.isprintable():
        words = "".join(c if c.isprintable() else " " for c in words)
    return html.escape(words, quote=False)


def staircase(corners: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The way from corner to corner without slopes: across and then up or down.

    >>> staircase([(0, 1), (2, 3)])
    ((0, 1), (2, 1), (2, 3))
    """
    way = list(corners[:1])
    for (_, y), corner in itertools.pairwise(corners):
        way += [(corner[0], y), corner]
    return tuple(way)


# Axes.


@dataclasses.dataclass(frozen=True)
class Ruler:
    """Places along one side of a plot with their words; ``flush``: words at the ends of a lying
    axis stay within the plot.
    """

    ticks: Sequence[tuple[float, str]]
    title: str = ""
    size: float = FONT - 2
    flush: bool = False


def draw_axes(drawing: Drawing, across: Ruler | None = None, up: Ruler | None = None) -> None:
    """A lying axis at the foot and an upright one on the left, their grid behind everything; lines
    lie in the middle of pixels and are sharp.
    """
    width, height = drawing.width, drawing.height
    if across:
        for at, _ in across.ticks:
            line = math.floor(at + 0.5) + 0.5
            drawing.rule((line, 0.5), (line, height + 5.5), Pen(stroke=GRID))
    if up:
        for at, words in up.ticks:
            line = math.floor(at + 0.5) + 0.5
            drawing.rule((0.5, line), (width + 0.5, line), Pen(stroke=GRID))
            drawing.rule((-4.5, line), (0.5, line), Pen(stroke=FRAME))
            drawing.text(-6.5, at + 0.5, words, SOFT, align="right", size=up.size)
        drawing.rule((0.5, height + 0.5), (0.5, 0.5), Pen(stroke=FRAME))
    if not across:
        return
    foot, size = height + 0.5, across.size
    below = 7 + round(0.79 * size) - round(0.3 * size)  # the letters hang from there
    # Every second, fourth … tick has words where those of all would run into each other.
    labelled = []
    for at, words in across.ticks:
        labelled.append((at, words, width_of(words, size) / 2))
    while any(
        end - start < half + next_half
        for (start, _, half), (end, _, next_half) in itertools.pairwise(labelled)
    ):
        labelled = labelled[::2]
    for at, words, _ in labelled:
        side: Align = "center"
        if across.flush and at <= 1:
            side = "left"
        elif across.flush and at >= width - 1:
            side = "right"
        drawing.text(at + 0.5, foot + below, words, SOFT, align=side, size=size)
    drawing.rule((0.5, foot), (width + 0.5, foot), Pen(stroke=FRAME))
    if across.title:
        drawing.text(width / 2, foot + 35, across.title, SOFT, align="center", size=FONT - 1)


def width_of(words: str, size: float) -> float:
    """About how wide words are in a usual font without serifs.

    >>> round(width_of("100 %", 13), 1), round(width_of("global recoding", 13), 1)
    (36.9, 88.2)
    """
    width = sum(_LETTER_WIDTHS.get(letter, 0.667) for letter in words)
    if not words.isascii():
        # Wide signs of East Asia take a full square: 0.667 and a third.
        width += sum(unicodedata.east_asian_width(letter) in "WF" for letter in words) / 3
    return size * width


_LETTER_WIDTHS = {
    **dict.fromkeys(string.printable, 0.556),
    **dict.fromkeys(string.ascii_uppercase, 0.667),
    **dict.fromkeys("ijl'", 0.222),
    **dict.fromkeys(" .,:;|!ftI/", 0.278),
    **dict.fromkeys("r()-", 0.333),
    **dict.fromkeys("cksvxyz", 0.5),
    **dict.fromkeys("mMW", 0.833),
    "%": 0.889,
    "w": 0.722,
}
"""Widths of letters in Helvetica, relative to the size of the font."""


def step_of(low: float, high: float, count: int) -> float:
    """The distance of about so many round places in a range: 1, 2 or 5 times a power of ten.

    >>> step_of(0, 1, 6), step_of(0, 0.9, 3), step_of(0, 12345, 6)
    (0.2, 0.2, 2000.0)
    """
    raw = (high - low) / count
    power = math.floor(math.log10(raw))
    over = raw / 10.0**power
    # Steps change where the next one is nearer on a logarithmic scale.
    factor = 1
    for step, border in ((2, 2), (5, 10), (10, 50)):
        if over >= math.sqrt(border):
            factor = step
    # Division is exact where a factor of 0.1 is not: 2 / 10 is 0.2.
    if power >= 0:
        return factor * 10.0**power
    return factor / 10.0**-power


def ticks(low: float, high: float, count: int) -> list[float]:
    """About so many round places within a range.

    >>> ticks(0, 0.7, 3), ticks(-300, -2, 6)
    ([0.0, 0.2, 0.4, 0.6], [-300.0, -250.0, -200.0, -150.0, -100.0, -50.0])
    """
    step = step_of(low, high, count)
    digits = max(0, -math.floor(math.log10(step)))
    # 1e-9 forgives rounding: 0.3 / 0.1 is a little less than 3.
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, digits) for i in range(first, last + 1)]


def rounded_out(low: float, high: float) -> tuple[float, float]:
    """The range that begins and ends at round places.

    >>> rounded_out(0, 0.87), rounded_out(0, 10300)
    ((0.0, 0.9), (0.0, 11000.0))
    """
    # A wider range may ask for a larger step, which widens it again: three rounds settle it.
    for _ in range(3):
        step = step_of(low, high, 10)
        digits = max(0, -math.floor(math.log10(step)))
        steps_below = math.floor(low / step + 1e-9)
        steps_above = math.ceil(high / step - 1e-9)
        low, high = (round(steps_below * step, digits), round(steps_above * step, digits))
    return low, high


def plain_numbers(values: Sequence[float]) -> list[str]:
    """Evenly spaced numbers with as many digits as tell them apart.

    >>> plain_numbers([-0.5, 0.0, 0.5]), plain_numbers([0.0, 2000.0])
    (['−0.5', '0.0', '0.5'], ['0', '2,000'])
    """
    step = min((b - a for a, b in itertools.pairwise(values)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value:,.{digits}f}".replace("-", "−") for value in values]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten within a range, with twos and fives where there would be few.

    >>> decades(0.004, 0.3)
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
    """
    steps = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    stops = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for step in steps:
            stop = float(f"{step}e{power}")
            if low <= stop <= high:
                stops.append(stop)
    return stops
