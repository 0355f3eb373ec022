"""Pictures of a story: a card for each column, maps of pairs of columns, bars of what is gone.

What grows and what shrinks is told by filled and hollow squares, so the maps are readable without
colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.words import number, percent
from sfumato.release.report.charts import LETTER, Line, bar_chart, labels
from sfumato.release.report.drawing import (
    AFTER,
    BEFORE,
    FRAME,
    INK,
    SOFT,
    Drawing,
    Mark,
    Pen,
    Ruler,
    draw_axes,
    percentages,
    ticks,
)
from sfumato.release.report.pictures import Picture

CARD_WIDTH, CARD_HEIGHT, UNDER_CARD = 214, 92, 72
LONGEST_BIN = 11
CELL = 30
MOST_PAIRS_IN_WORDS = 12
MOST_GONE = 24
MORE, LESS = Pen(AFTER), Pen("white", INK, 1.5)
FEWEST_ALIKE = 4
"""So many columns with one and the same small share are one bar."""


def card_picture(card: Mapping[str, Any]) -> Picture:
    """A column before (wide light bars) and after (narrow dark ones), with the name of each bin
    under it.
    """
    drawing = Drawing(CARD_WIDTH, CARD_HEIGHT, left=38, right=4, top=8, bottom=UNDER_CARD)
    most = max([*card["before"], *card["after"]], default=1.0) or 1.0
    shares = ticks(0, most, 3)
    places = [CARD_HEIGHT * (1 - share / most) for share in shares]
    labelled = list(zip(places, percentages(shares), strict=True))
    draw_axes(drawing, up=Ruler(labelled, size=11, words=SOFT, lines=FRAME, dashes=FRAME))
    middles = _middles(len(card["bins"]))
    for key, colour, wide in (("before", BEFORE, 0.86), ("after", AFTER, 0.42)):
        _card_bars(
            drawing,
            [share / most for share in card[key]],
            colour,
            wide * CARD_WIDTH / max(1, len(middles)),
        )
    for x, name in zip(middles, labels(card["bins"], LONGEST_BIN), strict=True):
        drawing.text(x, CARD_HEIGHT + 8, name, SOFT, align="right", size=10.5, angle=315, dx=-4)
    words = "; ".join(
        f"{name}: {percent(before)} before, {percent(after)} after"
        for name, before, after in zip(card["bins"], card["before"], card["after"], strict=True)
    )
    return Picture(drawing.svg(), f"Distribution of {card['column']}. {words}.", "")


def _middles(bins: int) -> list[float]:
    """The middle of each bin: equal steps, and a tenth of one left free at both ends."""
    step = CARD_WIDTH / (bins + 0.1)
    return [step * (place + 0.55) for place in range(bins)]


def _card_bars(drawing: Drawing, shares: Sequence[float], colour: str, width: float) -> None:
    for x, share in zip(_middles(len(shares)), shares, strict=True):
        drawing.rect(
            x - width / 2, CARD_HEIGHT * (1 - share), width, CARD_HEIGHT * share, Pen(colour)
        )


def pair_map(
    columns: Sequence[str], values: Sequence[float], what: str, *, signed: bool = False
) -> Picture | None:
    """A triangle of squares, one for every two columns; the larger the square, the larger the
    number. None without pairs.
    """
    if len(columns) < 2:
        return None
    cells = [(i, j) for i in range(len(columns)) for j in range(i)]
    order = sorted(zip(cells, values, strict=True), key=lambda c: -abs(c[1]))
    words = "; ".join(
        f"{columns[i]} and {columns[j]}: {number(v)}" for (i, j), v in order[:MOST_PAIRS_IN_WORDS]
    )
    if len(order) > MOST_PAIRS_IN_WORDS:
        words += f"; {len(order) - MOST_PAIRS_IN_WORDS} pairs are nearer to 0"
    (i, j), largest = order[0]
    caption = f"{what} Largest: {columns[i]} and {columns[j]}, {number(largest)}."
    if signed:
        caption += " Filled: they go together more than before; hollow: less."
    return Picture(_triangle(columns, cells, values).svg(), f"{what} {words}.", caption)


def _triangle(
    columns: Sequence[str], cells: Sequence[tuple[int, int]], values: Sequence[float]
) -> Drawing:
    """Squares by the place of their columns: two names may be equal once they are shortened."""
    size, names = CELL * (len(columns) - 1), labels(columns)
    room = round(14 + LETTER * max(len(name) for name in names))
    drawing = Drawing(size, size, left=room, right=10, top=6, bottom=round(18 + room * 0.6))
    most = max(0.05, *(abs(v) for v in values))
    squares = [(cell, v) for cell, v in zip(cells, values, strict=True) if v]
    for (i, j), value in sorted(squares, key=lambda square: square[1] < 0):
        area = (CELL * 0.85) ** 2 * abs(value) / most
        drawing.drawn.append(
            Mark(CELL * (j + 0.5), CELL * (i - 0.5), "square", area, LESS if value < 0 else MORE)
        )
    for i, name in enumerate(names[1:]):
        drawing.text(-8, CELL * (i + 0.5), name, align="right", size=12)
    for j, name in enumerate(names[:-1]):
        drawing.text(CELL * (j + 0.5) + 4, size + 10, name, align="right", size=12, angle=325)
    return drawing


def gone_bars(shares: Mapping[str, float]) -> Picture | None:
    """The share of cells of each column of which nothing is left; None where nothing is gone."""
    if not any(shares.values()):
        return None
    order = sorted(shares, key=lambda c: (-shares[c], c))
    alike = _alike(shares)
    own = [c for c in order if c not in alike]
    shown = own[:MOST_GONE]
    lines = [
        Line(name, shares[c], percent(shares[c]))
        for name, c in zip(labels(shown), shown, strict=True)
    ]
    if alike:
        least = shares[alike[0]]
        lines.append(
            Line(
                f"{'all' if not own else ''} {len(alike)} {'other ' * bool(own)}columns".strip(),
                least,
                percent(least),
            )
        )
    chart = bar_chart(lines, ("column", "gone"), most=1.0)
    words = "; ".join(f"{c}: {percent(shares[c])}" for c in order)
    caption = (
        "The share of the original cells of which nothing is left: suppressed, generalised to the"
        " top, or in a dropped record."
    )
    if alike:
        caption += f" {len(alike)} columns lost equally little and share a bar."
    if len(own) > len(shown):
        caption += f" Left out are {len(own) - len(shown)} columns that lost less than those shown."
    return Picture(chart.svg(), f"Cells that are gone. {words}.", caption)


def _alike(shares: Mapping[str, float]) -> list[str]:
    """The columns that lost least and all as much, as by dropped records alone, where they are too
    many for bars of their own.
    """
    least = min(shares.values())
    columns = sorted(c for c, share in shares.items() if abs(share - least) < 1e-12)
    return columns if len(columns) >= FEWEST_ALIKE else []
