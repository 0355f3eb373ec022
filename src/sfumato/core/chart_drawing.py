"""Charts drawn from their description: rows of bars, levels or intervals, planes of lines or dots,
standing columns, and maps of pairs of names.

Every chart can be read without colour: what was before is wide and light, or dashed; what breaks a
limit has a sign in its label; series of a scatter have shapes of their own.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import unicodedata
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from sfumato.core.blocks import ChartAxis, ChartBlock, Point, Series
from sfumato.core.drawing import (
    AFTER,
    ALARM,
    BEFORE,
    FILLED,
    FONT,
    INK,
    SOFT,
    Align,
    Drawing,
    Mark,
    Pen,
    Ruler,
    Shape,
    Stroke,
    Text,
    decades,
    draw_axes,
    plain_numbers,
    rounded_out,
    staircase,
    ticks,
    width_of,
)
from sfumato.core.words import percent_tick
from sfumato.errors import require

if TYPE_CHECKING:
    import altair as alt

WIDTH, ROW, NARROWEST_PLOT = 560, 26, 140
LONGEST_NAME, LONGEST_LEGEND = 38, 48
MOST_BOXES = 20
"""With more levels than this, one box shows what is gone and one what is left."""
DASHED = Pen(stroke=INK, width=1.5, dashed=True)
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


def draw_chart(chart: ChartBlock) -> Drawing:
    """The drawing of a chart."""
    if chart.kind in ("bars", "levels", "intervals"):
        return _draw_rows(chart)
    if chart.kind == "columns":
        return _draw_columns(chart)
    if chart.kind == "map":
        return _draw_map(chart)
    return _draw_plane(chart)


def plot_chart(chart: ChartBlock) -> alt.LayerChart:
    """The chart for a notebook, as an Altair chart on white."""
    return draw_chart(chart).chart()


def require_png() -> ModuleType:
    """What draws PNG files, or the extra that brings it."""
    return require("vl_convert", extra="charts", to="draw pictures as PNG")


def chart_png(chart: ChartBlock, *, scale: float = 2.0) -> bytes:
    """The chart as a PNG file, on white: a page lends its ground to an SVG, a file has none."""
    converter = require_png()
    drawing = draw_chart(chart)
    drawing.ground = "white"
    picture: bytes = converter.svg_to_png(drawing.svg(), scale=scale)
    return picture


# Rows: names on the left, bars in the plot, one or two columns of numbers on the right.


def _draw_rows(chart: ChartBlock) -> Drawing:
    names = labels(chart.x.names, LONGEST_NAME)
    columns = [series for series in chart.series if series.mark in ("bar", "dot")]
    texts = []
    for series in columns:
        numbers = [point.label or chart.y.text(point.y) for point in series.points]
        texts.append([series.name, *numbers])
    gutter = 14 + _room([chart.x.title, *names], FONT)
    widths = [16 + _room(column, FONT) for column in texts]
    plot = max(NARROWEST_PLOT, WIDTH - gutter - sum(widths))

    # A reference line on the axis of names takes a row: names from there on move down.
    dividers = [line for line in chart.lines if line.axis == "x"]
    above = [sum(line.at <= index for line in dividers) for index in range(len(names))]
    rows = [ROW * (index + 0.5 + lines) for index, lines in enumerate(above)]
    height = ROW * (len(names) + len(dividers))
    foot = 46 if chart.y.title else 4
    drawing = Drawing(plot, height, left=gutter, right=sum(widths), top=ROW, bottom=foot)

    # From 0 to the largest value, rounded where an axis shows it.
    ends = [0.0]
    for series in chart.series:
        for point in series.points:
            ends += [end for end in (point.y, point.low, point.high) if end is not None]
    low, high = chart.y.limits or (min(ends), max(ends))
    if high == low:
        high = low + 1.0
    elif chart.y.limits is None and chart.y.title:
        low, high = rounded_out(low, high)
    scale = plot / (high - low)
    if chart.y.title:
        stops = ticks(low, high, 4)
        positions = [(scale * (stop - low), stop) for stop in stops]
        draw_axes(drawing, Ruler(_tick_labels(chart.y, positions), chart.y.title, flush=True))
    for series in chart.series:
        for point in series.points:
            _draw_in_row(
                drawing,
                rows[round(point.x)],
                point,
                series=series,
                chart=chart,
                measure=(low, scale),
            )
    if chart.kind != "intervals":
        drawing.rule((0, 0), (0, height), Pen(stroke=SOFT))

    # Words: names, numbers and their headings.
    drawing.text(-10, -ROW / 2, chart.x.title, SOFT, align="right")
    for y, name in zip(rows, names, strict=True):
        drawing.text(-10, y, name, align="right")
    edge: float = plot
    for column, width, series in zip(texts, widths, columns, strict=True):
        edge += width
        colour = SOFT if series.part == "before" else INK
        drawing.text(edge, -ROW / 2, column[0], SOFT, align="right")
        for point, words in zip(series.points, column[1:], strict=True):
            drawing.text(edge, rows[round(point.x)], words, colour, align="right")
    for line in chart.lines:
        if line.axis == "x":
            y = ROW * (line.at + 0.5)
            drawing.rule((0, y), (plot + sum(widths), y), DASHED)
            drawing.text(-10, y, line.label, align="right", bold=True)
            continue
        x = scale * (line.at - low)
        if line.names is None:
            end = height
        else:
            end = ROW * line.names
        drawing.rule((x, 0), (x, end), DASHED)
        half = width_of(line.label, FONT) / 2
        middle = min(max(x, half), plot - half)
        drawing.text(middle, -ROW / 2, line.label, align="center")
    return drawing


def _draw_in_row(
    drawing: Drawing,
    y: float,
    point: Point,
    series: Series,
    chart: ChartBlock,
    measure: tuple[float, float],
) -> None:
    """One value of a row; ``measure`` is the value at the left edge and the pixels of one unit."""
    low, scale = measure
    if point.y is None:
        return
    if chart.kind == "levels":
        level, top = round(point.y), round(point.high or 0)
        if top:
            shares = [index / top for index in range(top + 1)]
        else:
            shares = []
        filled = level
        if top > MOST_BOXES:
            shares, filled = [0.0, level / top, 1.0], 1
        for index, (start, end) in enumerate(itertools.pairwise(shares)):
            if end > start:
                pen = Pen(AFTER if index < filled else "white", SOFT)
                width = drawing.width * (end - start) - 4
                drawing.rect(drawing.width * start + 2, y - 0.3 * ROW, width, 0.6 * ROW, pen)
        return
    x = min(drawing.width, max(0.0, scale * (point.y - low)))
    colour = ALARM if point.alarm else AFTER
    match series.mark:
        case "bar":
            half = 0.38 * ROW
            if series.part == "before":
                colour = BEFORE
            elif any(entry.part == "before" for entry in chart.series):
                half = 0.2 * ROW
            drawing.rect(0, y - half, x, 2 * half, Pen(colour))
            if point.low is not None and point.high is not None:
                low_end = scale * (point.low - low)
                high_end = scale * (point.high - low)
                ends = ((low_end, y), (high_end, y))
                drawing.rule(*ends, Pen(stroke=INK, width=2))
        case "tick":
            drawing.rect(x - 2.5, y - 6.5, 5, 13, Pen(BEFORE, opacity=0.7))
        case "limit":
            drawing.rect(x - 0.75, y - 11, 1.5, 22, Pen(INK, opacity=0.7))
        case _:
            if point.low is not None and point.high is not None and point.high > point.low:
                length = scale * (point.high - point.low)
                drawing.rect(scale * (point.low - low), y - 4, length, 8, Pen(AFTER, opacity=0.25))
            drawing.drawn.append(Mark(x, y, shape="diamond", size=81, pen=Pen(AFTER)))


# Columns: bars that stand, with the names below them; small, for many beside each other.

COLUMNS_WIDTH, COLUMNS_HEIGHT, LONGEST_BIN = 214, 92, 11


def _draw_columns(chart: ChartBlock) -> Drawing:
    names = labels(chart.x.names, LONGEST_BIN)
    below = 20 + round(0.75 * _room(["", *names], 10.5))
    drawing = Drawing(COLUMNS_WIDTH, COLUMNS_HEIGHT, left=38, right=4, top=8, bottom=below)
    values = []
    for series in chart.series:
        for point in series.points:
            values.append(point.y or 0.0)
    highest = max(values, default=0.0) or 1.0
    stops = ticks(0, highest, 3)
    positions = [(COLUMNS_HEIGHT * (1 - stop / highest), stop) for stop in stops]
    draw_axes(drawing, up=Ruler(_tick_labels(chart.y, positions), size=11))
    step = COLUMNS_WIDTH / (len(chart.x.names) + 0.1)
    for series in chart.series:
        if series.part == "before":
            colour, width = BEFORE, 0.86
        else:
            colour, width = AFTER, 0.42
        for point in series.points:
            height = COLUMNS_HEIGHT * (point.y or 0.0) / highest
            x = step * (point.x + 0.55 - width / 2)
            drawing.rect(x, COLUMNS_HEIGHT - height, width * step, height, Pen(colour))
    for index, name in enumerate(names):
        look = {"align": "right", "size": 10.5, "angle": 315, "dx": -4}
        drawing.text(step * (index + 0.55), COLUMNS_HEIGHT + 8, name, SOFT, **look)
    return drawing


# Maps: a square for every two names. Filled squares are positive, hollow ones negative.

CELL, LONGEST_MAP_NAME = 30, 18


def _draw_map(chart: ChartBlock) -> Drawing:
    down, across = labels(chart.y.names, LONGEST_MAP_NAME), labels(chart.x.names, LONGEST_MAP_NAME)
    room = 14 + _room([*down, *across], 12)
    width, height = CELL * len(across), CELL * len(down)
    bottom = round(18 + room * 0.6)
    drawing = Drawing(width, height, left=room, right=10, top=6, bottom=bottom)
    points = []
    for series in chart.series:
        for point in series.points:
            if point.size:
                points.append(point)
    largest = max([0.05, *(abs(point.size) for point in points)])
    for point in points:
        area = (CELL * 0.85) ** 2 * abs(point.size) / largest
        if point.size < 0:
            pen = Pen("white", INK, 1.5)
        else:
            pen = Pen(AFTER)
        row_place = (point.y or 0) + 0.5
        x, y = CELL * (point.x + 0.5), CELL * row_place
        drawing.drawn.append(Mark(x, y, shape="square", size=area, pen=pen))
    for index, name in enumerate(down):
        drawing.text(-8, CELL * (index + 0.5), name, align="right", size=12)
    for index, name in enumerate(across):
        x = CELL * (index + 0.5) + 4
        drawing.text(x, height + 10, name, align="right", size=12, angle=325)
    return drawing


# Planes: numbers on both axes.

PLANE_HEIGHT, PLANE_WIDTH = 300, 460


@dataclasses.dataclass(frozen=True)
class AxisScale:
    """Where the numbers of an axis lie between two pixels."""

    axis: ChartAxis
    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a number."""
        if self.axis.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ruler(self, count: int) -> Ruler:
        """About so many round numbers of the axis, where they lie."""
        if self.axis.logarithmic:
            stops = decades(self.low, self.high)
        else:
            stops = ticks(self.low, self.high, count)
        return Ruler(_tick_labels(self.axis, [(self.place(stop), stop) for stop in stops]))


def _scale_of(axis: ChartAxis, values: Sequence[float], start: float, end: float) -> AxisScale:
    if axis.limits is not None:
        low, high = axis.limits
    elif axis.logarithmic:
        room = max((max(values) / min(values)) ** 0.04, 1.15)
        low, high = min(values) / room, max(values) * room
    else:
        low, high = min(0.0, *values), max(0.0, *values)
        low, high = rounded_out(low, high if high > low else low + 1.0)
    return AxisScale(axis, low, high=high, start=start, end=end)


def _draw_plane(chart: ChartBlock) -> Drawing:
    points = []
    for series in chart.series:
        for point in series.points:
            if point.y is not None:
                points.append(point)
    if not points:
        drawing = Drawing(PLANE_WIDTH, 60)
        drawing.text(PLANE_WIDTH / 2, 30, "nothing could be measured", SOFT, align="center")
        return drawing
    heights = []
    for point in points:
        heights += [end for end in (point.y, point.low, point.high) if end is not None]
    x = _scale_of(chart.x, [point.x for point in points], 0, PLANE_WIDTH)
    y = _scale_of(chart.y, heights, PLANE_HEIGHT, 0)
    # The legend names the series with points apart from each other, each with its shape.
    legend_names = [series.name for series in chart.series if series.mark in ("dot", "line")]
    if len(legend_names) < 2 and chart.kind == "scatter":
        legend_names = []
    shapes = dict(zip(dict.fromkeys(legend_names), itertools.cycle(SHAPES), strict=False))
    drawing = Drawing(PLANE_WIDTH, PLANE_HEIGHT, left=64, right=24, top=38)
    drawing.bottom = 56 + 22 * len(shapes)
    across = dataclasses.replace(x.ruler(6), title=chart.x.title)
    draw_axes(drawing, across, y.ruler(6))
    drawing.text(-56, -24, chart.y.title, SOFT)
    for series in chart.series:
        _draw_series(drawing, series, (x, y), shapes.get(series.name, "circle"))
    labelled = [point for point in points if point.label]
    if labelled:
        drawing.drawn += _point_labels(labelled, x, y)
    for index, (name, shape) in enumerate(shapes.items()):
        at = PLANE_HEIGHT + 62 + 22 * index
        drawing.drawn.append(Mark(6, at, shape=shape, size=64, pen=Pen(FILLED, AFTER, 1.5)))
        drawing.text(18, at, shortened(name, LONGEST_LEGEND), size=FONT - 1)
    return drawing


def _draw_series(
    drawing: Drawing, series: Series, scales: tuple[AxisScale, AxisScale], shape: Shape
) -> None:
    x, y = scales
    points = []
    for point in series.points:
        if point.y is not None:
            points.append((x.place(point.x), y.place(point.y)))
    before = series.part == "before"
    pen = Pen(stroke=BEFORE if before else AFTER, width=2, dashed=before)
    if series.mark == "line" and len(points) > 1:
        drawing.drawn.append(Stroke(tuple(points), pen))
    if series.mark == "staircase":
        drawing.drawn.append(Stroke(staircase(points), pen))
        drawing.drawn += [Mark(*point, "circle", 26, Pen(AFTER)) for point in points]
    for point in series.points:
        if point.low is not None and point.high is not None:
            across = x.place(point.x)
            low_end = y.place(point.low)
            high_end = y.place(point.high)
            ends = ((across, low_end), (across, high_end))
            drawing.drawn.append(Stroke(ends, Pen(stroke=SOFT)))
    for point, (across, top) in zip(series.points, points, strict=True):
        # A mark with a label is large; others grow with what they stand for.
        if point.label:
            area = 130.0
        else:
            area = 9 + 5 * math.log2(max(1.0, point.size))
        match series.mark:
            case "line":
                title = f"{x.axis.text(point.x)}: {y.axis.text(point.y)}"
                mark = Mark(across, top, shape=shape, size=64, pen=Pen(pen.stroke), title=title)
            case "ring":
                ring = Pen(None, BEFORE, 0.8, opacity=0.7)
                mark = Mark(across, top, shape="circle", size=area, pen=ring, title=point.name)
            case "dot":
                if point.alarm:
                    ink = Pen("white", ALARM, 1.6)
                else:
                    ink = Pen(FILLED, AFTER, 1.6)
                if not point.label:
                    ink = dataclasses.replace(ink, width=0.5)
                mark = Mark(across, top, shape=shape, size=area, pen=ink, title=point.name)
            case "chosen":
                mark = Mark(
                    across,
                    top,
                    shape="diamond",
                    size=170,
                    pen=Pen(ALARM, "white", 2),
                    title=point.name,
                )
                # The name stands below and left, where a front leaves room, or else on the right.
                room = across > width_of(series.name, FONT)
                side: Align = "right" if room else "left"
                down = top + (18 if room else -14)
                for halo in (Pen("white", "white", 4), Pen(ALARM)):
                    words = Text(
                        across + 8, down, words=series.name, pen=halo, align=side, bold=True
                    )
                    drawing.drawn.append(words)
            case _:
                continue
        drawing.drawn.append(mark)


SIDES: tuple[tuple[float, float, Align], ...] = (
    (11, -9, "left"),
    (-11, -9, "right"),
    (11, 11, "left"),
    (-11, 11, "right"),
    (0, -17, "center"),
    (0, 19, "center"),
)


def _point_labels(points: Sequence[Point], x: AxisScale, y: AxisScale) -> list[Text]:
    """The label of each point, on the first side where fewest marks and labels are in the way."""
    marks = [(x.place(point.x), y.place(point.y or 0.0)) for point in points]
    occupied = list(marks)
    texts = []
    for point, (across, top) in zip(points, marks, strict=True):
        half = width_of(point.label, FONT - 1) / 2
        clashes = []
        for dx, dy, align in SIDES:
            middle = across + dx + {"left": half, "right": -half, "center": 0}[align]
            near = []
            for a, b in occupied:
                if (
                    (a, b) != (across, top)
                    and abs(a - middle) < 8 + half
                    and abs(b - top - dy) < 12
                ):
                    near.append((a, b))
            clashes.append((len(near) + (middle < half), middle, top + dy))
        best = clashes.index(min(clashes, key=lambda clash: clash[0]))
        dx, dy, align = SIDES[best]
        occupied.append(clashes[best][1:])
        texts.append(
            Text(across + dx, top + dy, words=point.label, pen=Pen(INK), align=align, size=FONT - 1)
        )
    return texts


def _room(texts: Iterable[str], size: float) -> int:
    """Pixels for the longest text, in fonts that are wider than usual too."""
    return math.ceil(1.15 * max(width_of(text, size) for text in texts))


def _tick_labels(
    axis: ChartAxis, positions: Sequence[tuple[float, float]]
) -> list[tuple[float, str]]:
    stops = [stop for _, stop in positions]
    if axis.share:
        words = [percent_tick(stop) for stop in stops]
    else:
        words = plain_numbers(stops)
    return [(at, word) for (at, _), word in zip(positions, words, strict=True)]


# Names that fit.


def shortened(text: str, longest: int = LONGEST_MAP_NAME) -> str:
    """A label of at most so many small letters' width, on one line.

    >>> shortened("a_very_long_name_of_a_column")
    'a_very_long_name_…'
    """
    label = "".join(c if c.isprintable() else " " for c in text).strip()
    # No letter is wider than two small ones: a short text need not be measured.
    if 2 * len(label) <= longest or _width(label) <= longest:
        return label
    return label[: _fitting(label, longest - 1)] + "…"


def labels(texts: Sequence[str], longest: int = LONGEST_MAP_NAME) -> list[str]:
    """Labels of at most so many letters' width that distinguish what is different.

    Texts that begin alike are cut in the middle, and numbered where that does not help either.

    >>> labels(["country_of_birth_father", "country_of_birth_mother", "age"])
    ['country_…h_father', 'country_…h_mother', 'age']
    >>> labels(["a" * 30 + "x" * 30, "a" * 30 + "y" + "x" * 30], 9)
    ['aaaa…xxxx', 'aaaa… (2)']
    """
    shortened_texts = [shortened(text, longest) for text in texts]
    if len(set(shortened_texts)) == len(set(texts)):
        return shortened_texts
    owners = _texts_of(texts, shortened_texts)
    for index, (text, label) in enumerate(zip(texts, shortened_texts, strict=True)):
        if len(owners[label]) > 1:
            shortened_texts[index] = _cut_inside(text, longest)
    owners = _texts_of(texts, shortened_texts)
    for index, (text, label) in enumerate(zip(texts, shortened_texts, strict=True)):
        number = owners[label].index(text) + 1
        if number > 1:
            mark = f" ({number})"
            shortened_texts[index] = shortened(label, longest - len(mark)) + mark
    return shortened_texts


def _texts_of(texts: Sequence[str], label_of_text: Sequence[str]) -> dict[str, list[str]]:
    """The different texts of each label."""
    owners: dict[str, list[str]] = {}
    for text, label in zip(texts, label_of_text, strict=True):
        if text not in owners.setdefault(label, []):
            owners[label].append(text)
    return owners


def _cut_inside(text: str, longest: int) -> str:
    label = "".join(c if c.isprintable() else " " for c in text).strip()
    if _width(label) <= longest:
        return label
    half = (longest - 1) / 2
    tail = len(label) - _fitting(reversed(label), half)
    return f"{label[: _fitting(label, half)]}…{label[tail:]}"


def _width(text: str) -> float:
    """Roughly how many small letters a text is wide, in any font."""
    if text.isascii():
        return len(text) + 0.25 * sum(letter.isupper() for letter in text)
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    return 1.25 if letter.isupper() else 1


def _fitting(letters: Iterable[str], width_limit: float) -> int:
    """How many of the first letters fit into a width."""
    widths = itertools.accumulate(map(_letter_width, letters))
    return sum(1 for _ in itertools.takewhile(lambda width: width <= width_limit, widths))
