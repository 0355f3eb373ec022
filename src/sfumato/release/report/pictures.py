"""Pictures of a release as SVG, and as Altair charts for who works in a notebook.

Every picture carries its numbers as text, for readers who do not see it, and is readable
without colour: what was before is a wide light bar, what is released a narrow dark one in front of
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, pairwise, takewhile
from typing import TYPE_CHECKING, Any

from sfumato.core.words import percent, score
from sfumato.release.report.charts import (
    Divider,
    Line,
    add_threshold,
    bar_chart,
    labels,
    level_chart,
    shortened,
)
from sfumato.release.report.drawing import Drawing
from sfumato.release.report.measures import title_of
from sfumato.release.report.wording import CHANCES, Counted, level_words, levels_of, risk_name

if TYPE_CHECKING:
    import altair as alt

# Class sizes in bins a reader can take in: fine where people stand alone, coarse where crowds are
# large.

SINGLE = (1, 2, 3, 4)
"""Sizes that get a bin of their own: there each one more person matters."""
ROUND = (5, 10, 20, 50, 100, 200, 500)
"""Borders up to a thousand; from there on every power of ten."""
CLOSE = 0.15
"""A round border this near to k (relative to k) gives way to it, so that no sliver of a bin is left
between.
"""


@dataclasses.dataclass(frozen=True)
class Bin:
    """The class sizes from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def label(self) -> str:
        """What stands beside the bar: ``4``, ``5–9``."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


def bins(largest: int, k: int | None = None) -> tuple[Bin, ...]:
    """Bins 1, 2, 3, 4, 5–9, 10–19, 20–49, 50–99 … 500–999, 1,000–9,999 … that reach ``largest``;
    one of them starts at ``k``.

    >>> [b.label for b in bins(60, k=7)]
    ['1', '2', '3', '4', '5–6', '7–9', '10–19', '20–49', '50–99']
    >>> [b.label for b in bins(0)]
    ['1']
    """
    reach = max(largest, k or 1)
    borders = sorted(
        {*SINGLE, *(b for b in _round_borders(20 * reach) if not _too_near(b, k)), k or 1}
    )
    used = [b for b in borders if b <= reach]
    return tuple(Bin(low, high - 1) for low, high in pairwise([*used, borders[len(used)]]))


def _round_borders(most: int) -> Iterator[int]:
    return takewhile(lambda border: border <= most, chain(ROUND, (10**power for power in count(3))))


def _too_near(border: int, k: int | None) -> bool:
    return k is not None and abs(border - k) <= CLOSE * k


def fill(into: Sequence[Bin], sizes: Mapping[int, int], *, classes: bool = False) -> list[int]:
    """Members of the classes in each bin (size x number of such classes), or the number of
    classes.
    """
    totals = [0] * len(into)
    place = 0
    for size in sorted(sizes):
        while size > into[place].high:
            place += 1
        totals[place] += sizes[size] if classes else size * sizes[size]
    return totals


def as_sizes(sizes: Mapping[str, int] | Mapping[int, int]) -> dict[int, int]:
    """Class sizes as JSON holds them (keys are text) with numbers as keys."""
    return {int(size): int(number) for size, number in sizes.items()}


MOST_COLUMNS = 24
TWO_BARS = " Wide light bar: before; narrow dark bar: after."
COUNTED = {
    "records": "Number of records by the size of the class they stand in.",
    "persons": (
        "Number of persons by the size of their class; who stands in several classes counts in"
        " each."
    ),
    "classes": (
        "Number of classes by how many records an intruder must confuse. With missing values as"
        " wildcards classes overlap, so classes are counted and not records."
    ),
}


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG, its numbers in words for who cannot see it, and a caption that says how to read
    it.
    """

    svg: str
    description: str
    caption: str


def class_size_histogram(
    sizes: Mapping[str, int],
    k: int | None,
    before: Mapping[str, int] | None = None,
    *,
    counted: Counted = "records",
) -> Picture:
    """How many records (persons, classes) stand in classes of which size, with a line at the
    promised k.

    ``sizes`` maps a class size to the number of such classes; ``before`` does so for the original
    table.
    """
    lines, into = _sized(sizes, k, before, counted)
    chart = _size_chart(lines, into, k, counted)
    line_at = "" if k is None else f" The line of the promised k is at {k:,}."
    caption = COUNTED[counted] + ("" if before is None else TWO_BARS)
    if k is not None:
        caption += (
            f" Above the dashed line is the place of classes smaller than the promised {k:,}."
        )
    return Picture(
        chart.svg(), f"Number of {counted} by class size. {_in_words(lines)}.{line_at}", caption
    )


def class_size_chart(
    sizes: Mapping[Any, int], k: int | None = None, *, counted: Counted = "records"
) -> alt.LayerChart:
    """The same as a chart, for a notebook."""
    lines, into = _sized(sizes, k, None, counted)
    return _size_chart(lines, into, k, counted).chart()


def risk_bars(
    before: Mapping[str, float] | None, after: Mapping[str, float], threshold: float | None
) -> Picture | None:
    """Each risk of the release (and of the original) from 0 to 100 %, with the bar that a promise
    sets; None without risks.

    ``threshold`` bounds the chance of picking one record; shares of records have no such bar.
    """
    if not after:
        return None
    chart, lines, bounded = _risk_chart(before, after, threshold)
    words, caption = (
        f"Risks. {_in_words(lines)}.",
        "Bars run from 0 to 100 %." + (TWO_BARS if before else ""),
    )
    if bounded and threshold is not None:
        limit = percent(threshold)
        words += f" The promised k allows a chance of {limit} at most."
        caption += f" Dashed line: {limit}, the highest chance the promised k allows."
    return Picture(chart.svg(), words, caption)


def risk_chart(
    before: Mapping[str, float], after: Mapping[str, float], threshold: float | None
) -> alt.LayerChart:
    """The same as a chart, for a notebook."""
    return _risk_chart(before, after, threshold)[0].chart()


def _risk_chart(
    before: Mapping[str, float] | None, after: Mapping[str, float], threshold: float | None
) -> tuple[Drawing, list[Line], bool]:
    """The chart, its lines, and whether the bar of the promise is drawn."""
    order = sorted(after, key=lambda name: name not in CHANCES)
    lines = [
        _risk_line(name, after[name], None if before is None else before.get(name))
        for name in order
    ]
    chances = sum(name in CHANCES for name in order)
    chart = bar_chart(lines, ("", ""), most=1.0)
    if threshold is None or threshold >= 1 or not chances:
        return chart, lines, False
    add_threshold(chart, threshold, f"1/k = {percent(threshold)}", lines=lines, through=chances)
    return chart, lines, True


def measure_chart(measures: Sequence[tuple[str, float, str]]) -> alt.LayerChart | None:
    """Measures of utility (name, value, which way is better) as bars from 0 to 1; an arrow marks
    what is better when higher.
    """
    if not measures:
        return None
    order = sorted(measures, key=lambda m: m[2] == "higher")
    lines = [
        Line(
            shortened(title_of(name), 28),
            min(max(value, 0.0), 1.0),
            score(value) + (" ↑" if better == "higher" else ""),
        )
        for name, value, better in order
    ]
    return bar_chart(lines, ("", "0 is best; ↑ 1 is best"), most=1.0).chart()


def column_levels(plan: Iterable[Mapping[str, Any]]) -> Picture | None:
    """How much detail each recoded column lost: its level among those of its hierarchy; None
    without such columns.
    """
    levels = levels_of(plan)
    if not levels:
        return None
    order = sorted(levels, key=lambda c: (-levels[c][0] / max(1, levels[c][1]), c))
    shown = order[:MOST_COLUMNS]
    described = [level_words(*levels[column]) for column in shown]
    named = zip(labels(shown), shown, strict=True)
    chart = level_chart(
        [(name, *levels[column]) for name, column in named], ("column", "level"), described
    )
    words = "; ".join(f"{column}: {level_words(*levels[column])}" for column in order)
    caption = "Each box is one level of the column's hierarchy; filled boxes are detail taken away."
    if len(order) > len(shown):
        caption += f" Shown are the {len(shown)} most changed of {len(order)} columns."
    return Picture(chart.svg(), f"Levels of the recoded columns. {words}.", caption)


def png(svg: str, *, scale: float = 2.0) -> bytes:
    """A picture's SVG as a PNG file, on white: pages lend their ground to an SVG, a file has
    none.
    """
    import vl_convert

    start = svg.index(">") + 1
    return vl_convert.svg_to_png(
        f'{svg[:start]}<rect width="100%" height="100%" fill="white"/>{svg[start:]}', scale=scale
    )


def _sized(
    sizes: Mapping[Any, int], k: int | None, before: Mapping[str, int] | None, counted: Counted
) -> tuple[list[Line], Sequence[Bin]]:
    now, then = as_sizes(sizes), None if before is None else as_sizes(before)
    into = bins(max([*now, *(then or ())], default=0), k)
    after = fill(into, now, classes=counted == "classes")
    earlier = None if then is None else fill(into, then, classes=counted == "classes")
    return _size_lines(into, k, after, earlier), into


def _size_chart(
    lines: Sequence[Line], into: Sequence[Bin], k: int | None, counted: Counted
) -> Drawing:
    divider = (
        None
        if k is None
        else Divider(next(i for i, b in enumerate(into) if b.low == k), f"k = {k:,}")
    )
    most = max(1.0, *(max(line.after, line.before or 0) for line in lines))
    return bar_chart(lines, ("class size", counted), most=most, divider=divider)


def _size_lines(
    into: Sequence[Bin], k: int | None, after: Sequence[int], before: Sequence[int] | None
) -> list[Line]:
    """One line a bin. A bin of the release that lies below k and is not empty is drawn as an
    alarm.
    """
    below = [k is not None and b.high < k for b in into]
    if before is not None:
        return [
            Line(b.label, now, f"{now:,}", then, f"{then:,}", alarm=low and now > 0)
            for b, low, now, then in zip(into, below, after, before, strict=True)
        ]
    total = max(1, sum(after))
    return [
        Line(
            b.label, now, f"{now:,} ({percent(now / total)})" if now else "0", alarm=low and now > 0
        )
        for b, low, now in zip(into, below, after, strict=True)
    ]


def _risk_line(name: str, after: float, before: float | None) -> Line:
    return Line(
        shortened(risk_name(name)),
        after,
        percent(after),
        before,
        "" if before is None else percent(before),
    )


def _in_words(lines: Sequence[Line]) -> str:
    def told(line: Line) -> str:
        return (
            line.after_text
            if line.before is None
            else f"{line.before_text} before, {line.after_text} after"
        )

    return "; ".join(f"{line.label}: {told(line)}" for line in lines)
