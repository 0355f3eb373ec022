"""The charts behind the pictures: rows of bars or boxes with a label on the left and numbers on the
right.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from sfumato.release.report.drawing import AFTER, ALARM, BEFORE, INK, SOFT, Align, Drawing, Pen

WIDTH, ROW, LETTER = 500, 26, 8.5
NARROWEST_PLOT = 140
HEADING = -0.95
"""Where headings stand; the rows are at 0, 1, 2 …"""
MOST_BOXES = 20
LONGEST_LABEL = 18
DASHED = Pen(stroke=INK, width=1.5, dashed=True)


@dataclasses.dataclass(frozen=True)
class Line:
    """One row of bars: a label, the released value and, where there is one, the original value,
    with their texts.
    """

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
    """Where things are: labels on the left, bars in the plot, one or two columns of numbers on the
    right.

    ``texts`` are all texts of each column from left to right, ``last`` is the place of the lowest
    row.
    """

    texts: Sequence[Sequence[str]]
    last: int

    @functools.cached_property
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
        """Room for the bars: what is left of the usual width, or a little when the texts take it
        all.
        """
        return max(NARROWEST_PLOT, WIDTH - self.gutter - self.numbers)

    @property
    def height(self) -> int:
        """Height of all rows and the heading."""
        return ROW * (self.last + 2)

    def y(self, row: float) -> float:
        """Where the middle of a row is."""
        return (row + 1.3) * ROW

    def drawing(self) -> Drawing:
        """An empty drawing with room for the texts."""
        return Drawing(
            self.plot, self.height, left=self.gutter, right=self.numbers, top=4, bottom=4
        )


def bar_chart(
    lines: Sequence[Line], heading: tuple[str, str], *, most: float, divider: Divider | None = None
) -> Drawing:
    """Horizontal bars from 0 to ``most``; two bars a row where there is a before, the light one
    behind.

    ``heading`` stands over the labels and over the numbers of a chart with one bar a row.
    """
    two = any(line.before is not None for line in lines)
    rows = [(i + (divider is not None and i >= divider.row), line) for i, line in enumerate(lines)]
    frame = _frame_of(lines, heading, rows[-1][0])
    drawing = frame.drawing()
    scale = frame.plot / most
    if two:
        _bars(drawing, frame, [(y, (line.before or 0) * scale, BEFORE) for y, line in rows], 0.38)
    colours = [(y, line.after * scale, ALARM if line.alarm else AFTER) for y, line in rows]
    _bars(drawing, frame, colours, 0.2 if two else 0.38)
    drawing.rule((0, frame.y(-0.5)), (0, frame.y(frame.last + 0.5)), Pen(stroke=SOFT))
    _labels(drawing, frame, [(y, line.label) for y, line in rows], heading[0])
    if two:
        _two_columns(drawing, frame, rows)
    else:
        _one_column(drawing, frame, [(y, line.after_text) for y, line in rows], heading[1])
    if divider is not None:
        at = frame.y(divider.row)
        drawing.rule((0, at), (frame.plot + frame.numbers, at), DASHED)
        drawing.text(-10, at, divider.label, align="right", bold=True)
    return drawing


def level_chart(
    levels: Sequence[tuple[str, int, int]], heading: tuple[str, str], words: Sequence[str]
) -> Drawing:
    """A row of boxes for each (name, level, top): one box a level, filled up to the level."""
    names = [name for name, _, _ in levels]
    frame = Frame([[heading[0], *names], [heading[1], *words]], len(levels) - 1)
    drawing = frame.drawing()
    for row, (_, level, top) in enumerate(levels):
        _boxes(drawing, frame, row, level, top)
    _labels(drawing, frame, list(enumerate(names)), heading[0])
    _one_column(drawing, frame, list(enumerate(words)), heading[1])
    return drawing


def add_threshold(
    drawing: Drawing, share: float, label: str, *, lines: Sequence[Line], through: int
) -> None:
    """A dashed upright line through the first rows of a bar chart of shares, made of these
    lines.
    """
    frame = _frame_of(lines, ("", ""), len(lines) - 1)
    at = frame.plot * share
    drawing.rule((at, frame.y(-0.5)), (at, frame.y(through - 0.5)), DASHED)
    drawing.text(at, frame.y(-0.8), label, align="center")


def _frame_of(lines: Sequence[Line], heading: tuple[str, str], last: int) -> Frame:
    labels = [heading[0], *(line.label for line in lines)]
    after = [heading[1], *(line.after_text for line in lines)]
    if all(line.before is None for line in lines):
        return Frame([labels, after], last)
    return Frame(
        [labels, ["before", *(line.before_text for line in lines)], ["after", *after]], last
    )


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

    Where texts begin alike they are cut in the middle, and numbered where that does not help
    either.

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
    """Labels that different texts share get the number of their text among those; the first stays
    as it is.
    """
    texts_of: dict[str, list[str]] = {}
    for text, label in zip(texts, shown, strict=True):
        if text not in texts_of.setdefault(label, []):
            texts_of[label].append(text)
    place = {(label, text): i for label, same in texts_of.items() for i, text in enumerate(same, 1)}
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
    """How many of the first letters fit into a width; no more of a long text than that is looked
    at.
    """
    widths = itertools.accumulate(map(_letter_width, letters))
    return sum(1 for _ in itertools.takewhile(lambda width: width <= most, widths))


def _bars(
    drawing: Drawing, frame: Frame, bars: Sequence[tuple[float, float, str]], half: float
) -> None:
    for row, length, colour in bars:
        drawing.rect(0, frame.y(row - half), length, 2 * half * ROW, Pen(colour))


def _boxes(drawing: Drawing, frame: Frame, row: int, level: int, top: int) -> None:
    """One box a level; where there are too many to see, one for what is gone and one for what is
    left.
    """
    if top == 0:
        return
    many = top > MOST_BOXES
    shares = [0.0, level / top, 1.0] if many else [i / top for i in range(top + 1)]
    filled = 1 if many else level
    for i, (left, right) in enumerate(pairwise(shares)):
        if right > left:
            pen = Pen(AFTER if i < filled else "white", SOFT)
            drawing.rect(
                frame.plot * left + 2,
                frame.y(row - 0.3),
                frame.plot * (right - left) - 4,
                0.6 * ROW,
                pen,
            )


def _labels(
    drawing: Drawing, frame: Frame, texts: Sequence[tuple[float, str]], heading: str
) -> None:
    _column(drawing, frame, texts, -10, "right")
    drawing.text(-10, frame.y(HEADING), heading, SOFT, align="right")


def _one_column(
    drawing: Drawing, frame: Frame, texts: Sequence[tuple[float, str]], heading: str
) -> None:
    _column(drawing, frame, texts, frame.plot + 12, "left")
    drawing.text(frame.plot + 12, frame.y(HEADING), heading, SOFT)


def _two_columns(drawing: Drawing, frame: Frame, rows: Sequence[tuple[float, Line]]) -> None:
    middle, end = frame.plot + frame.widths[1], frame.plot + frame.numbers
    before = [(HEADING, "before"), *((y, line.before_text) for y, line in rows)]
    _column(drawing, frame, before, middle, "right", SOFT)
    _column(drawing, frame, [(HEADING, "after")], end, "right", SOFT)
    _column(drawing, frame, [(y, line.after_text) for y, line in rows], end, "right")


def _column(
    drawing: Drawing,
    frame: Frame,
    texts: Sequence[tuple[float, str]],
    x: float,
    align: Align,
    colour: str = INK,
) -> None:
    for row, words in texts:
        drawing.text(x, frame.y(row), words, colour, align=align)
