"""What a result says, as a list of blocks: described once, drawn as text, in colour, as HTML and in
the workbench.

A result offers ``blocks()``. The text here serves ``str()``; ``core/block_html.py`` serves
notebooks and pages, ``interfaces/cli/console.py`` the terminal, ``interfaces/web/pages/blocks.py``
the workbench. A block holds words and numbers and no markup, except that a part of a sentence
between backticks is code: ``Run `sfumato attack` before sharing``. A chart is described by its
series and axes and drawn by ``core/chart_drawing.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from sfumato.core.words import number, percent

Tone = Literal["plain", "strong", "quiet", "warning"]


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """A cell that holds a share from 0 to 1: a percentage, with a bar beside it where a renderer
    draws bars.
    """

    value: float
    bar: bool = True


Cell = str | int | float | bool | Share | None
"""What a table holds: words, a number, a share; None where there is nothing to say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 1 is that of the whole result."""

    text: str
    level: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    text: str
    tone: Tone = "plain"


@dataclasses.dataclass(frozen=True, slots=True)
class ListBlock:
    """Short entries, one below the other."""

    entries: tuple[str, ...]
    title: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows under a header. Without words in the header, rows are terms and what is said of them;
    ``figures``: they are the few numbers that matter most.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    figures: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictBlock:
    """Whether something holds; None: it is unknown, which is not a pass. A ``headline`` judges the
    whole result.
    """

    holds: bool | None
    title: str
    sentence: str = ""
    headline: bool = False

    @property
    def mark(self) -> str:
        """A sign that can be read without colour."""
        if self.holds is None:
            return "?"
        return "✓" if self.holds else "✗"

    @property
    def text(self) -> str:
        """The whole in one line, without the mark."""
        if self.sentence:
            return f"{self.title}: {self.sentence}"
        return self.title


@dataclasses.dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text that a program reads."""

    text: str
    language: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One value of a series: ``y`` at ``x``; None where the value is unknown.

    On an axis with names, a coordinate is the position of the name: 0 is the first. ``low`` and
    ``high`` are an interval around ``y``. ``label`` is written beside the mark (``27 (54.5 %)``),
    ``name`` is what a pointer shows. ``alarm``: the value breaks a promise or a limit.
    """

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    label: str = ""
    name: str = ""
    size: float = 1.0
    alarm: bool = False


MarkKind = Literal["bar", "tick", "limit", "line", "staircase", "dot", "ring", "chosen"]
Part = Literal["before", "after"]


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together. ``mark`` says how each is shown: a short ``tick`` across a bar,
    a ``limit`` that a bar should not pass, a filled ``dot`` or a hollow ``ring``, a ``line`` or a
    ``staircase`` (across, then up or down) through all points, the ``chosen`` one of many.
    """

    name: str
    points: tuple[Point, ...]
    mark: MarkKind = "bar"
    part: Part = "after"


@dataclasses.dataclass(frozen=True, slots=True)
class ChartAxis:
    """What an axis measures. ``names`` make it an axis of categories; ``share``: numbers are
    written as percentages; ``limits`` are its ends.
    """

    title: str = ""
    names: tuple[str, ...] = ()
    share: bool = False
    limits: tuple[float, float] | None = None
    logarithmic: bool = False

    def text(self, value: float | None) -> str:
        """A coordinate in words."""
        if value is None:
            return "unknown"
        if self.names:
            return self.names[round(value)]
        return percent(value) if self.share else number(value)


@dataclasses.dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A labelled line across a chart at a coordinate of one axis; ``names`` are how many categories
    it crosses, all if None.
    """

    axis: Literal["x", "y"]
    at: float
    label: str
    names: int | None = None


ChartKind = Literal["bars", "columns", "levels", "lines", "scatter", "map", "intervals"]


@dataclasses.dataclass(frozen=True, slots=True)
class ChartBlock:
    """A chart: what is measured, not how it is drawn. A renderer needs nothing else, draws every
    series over the two axes, and shows ``alternative_text`` and ``data_table()`` to readers who do
    not see the drawing. ``dataclasses.asdict`` gives plain JSON.

    ``bars`` lie and ``columns`` stand over the names of ``x``, with lengths ``y``. ``levels`` are
    bars of whole steps: ``y`` of ``high``. ``lines`` and ``scatter`` have numbers on both axes. A
    ``map`` has names on both axes and the value of each pair of names in ``size``, which may be
    negative. ``intervals`` are marks with their interval over the names of ``x``.
    ``caption`` says how to read the chart, ``title`` stands above it; ``name`` is that of its file.
    """

    name: str
    kind: ChartKind
    x: ChartAxis
    y: ChartAxis
    series: tuple[Series, ...]
    alternative_text: str
    caption: str = ""
    lines: tuple[ReferenceLine, ...] = ()
    title: str = ""

    def data_table(self) -> TableBlock:
        """The numbers of the chart: a row for each name on the x axis, or else for each point."""
        # A map has names on both axes: one row a name could not hold its values.
        if self.x.names and self.kind != "map":
            header = (self.x.title or "name", *(series.name for series in self.series))
            rows = [[name, *[None] * len(self.series)] for name in self.x.names]
            for column, series in enumerate(self.series, 1):
                for point in series.points:
                    # On an axis with names a coordinate is the place of the name.
                    rows[round(point.x)][column] = self._value_text(point)
            return TableBlock(header, tuple(tuple(row) for row in rows))
        header = ("series", self.x.title or "x", self.y.title or "y", "value")
        points = []
        for series in self.series:
            for point in series.points:
                if self.kind == "map":
                    value = number(point.size)
                else:
                    value = point.name
                x, y = self.x.text(point.x), self._value_text(point)
                points.append((series.name, x, y, value))
        return TableBlock(header, tuple(points))

    def _value_text(self, point: Point) -> str:
        if point.label and self.x.names:
            return point.label
        text = self.y.text(point.y)
        if point.low is None or point.high is None:
            return text
        return f"{text} ({self.y.text(point.low)} to {self.y.text(point.high)})"


@dataclasses.dataclass(frozen=True, slots=True)
class FoldBlock:
    """Blocks behind a click where there is something to click on; all of them elsewhere."""

    title: str
    blocks: tuple[Block, ...]
    unfolded: bool = False


Block = (
    Heading | Paragraph | ListBlock | TableBlock | VerdictBlock | CodeBlock | ChartBlock | FoldBlock
)
_SIGNS: dict[Tone, str] = {"plain": "", "strong": "", "quiet": "", "warning": "! "}


def cell_text(cell: Cell) -> str:
    """A cell in words.

    >>> [cell_text(cell) for cell in ("age", 1200, 0.25, Share(0.25), True, None)]
    ['age', '1,200', '0.25', '25 %', 'yes', '–']
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Share):
        return percent(cell.value)
    return number(cell)


def numeric_columns(table: TableBlock) -> list[bool]:
    """The columns that hold numbers and nothing else, which are aligned to the right."""
    columns = []
    for index in range(len(table.header)):
        cells = [row[index] for row in table.rows if row[index] is not None]
        columns.append(
            bool(cells)
            and all(isinstance(cell, int | float | Share) for cell in cells)
            # True and False are numbers to Python, and words to a reader.
            and not any(isinstance(cell, bool) for cell in cells)
        )
    return columns


def render_text(blocks: Iterable[Block]) -> str:
    """The blocks as plain text, as wide as their words need.

    >>> verdict = VerdictBlock(True, "2-anonymity", "no class is smaller")
    >>> print(render_text([Heading("visits.csv", 1), verdict]))
    visits.csv
    ✓ 2-anonymity: no class is smaller
    >>> print(render_text([TableBlock(("column", "values"), (("age", 10), ("postcode", 1200)))]))
    column    values
    age           10
    postcode   1,200
    """
    lines: list[str] = []
    for block in blocks:
        lines += _text_lines(block)
    return "\n".join(lines).strip("\n")


def _text_lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            if level > 1:
                yield ""
            yield text
        case Paragraph(text, tone):
            yield _SIGNS[tone] + text
        case VerdictBlock():
            yield f"{block.mark} {block.text}"
        case ListBlock(entries, title):
            if title:
                yield title
            for entry in entries:
                yield f"  {entry}"
        case TableBlock():
            yield from _table_lines(block)
        case CodeBlock(text, _):
            for line in text.splitlines():
                yield f"    {line}"
        case ChartBlock():
            yield block.alternative_text
        case FoldBlock(title, inner, _):
            yield ""
            yield title
            for part in inner:
                yield from _text_lines(part)


def _table_lines(table: TableBlock) -> Iterator[str]:
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    if any(table.header):
        rows.insert(0, list(table.header))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = numeric_columns(table)
    if table.caption:
        yield table.caption
    for row in rows:
        yield _padded(row, widths, numeric)


def _padded(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = []
    for words, width, to_the_right in zip(row, widths, numeric, strict=True):
        cells.append(words.rjust(width) if to_the_right else words.ljust(width))
    return "  ".join(cells).rstrip()
