"""Pictures of a story: a card for each column, maps of pairs of columns, bars of what is gone.

What grows and what shrinks is told by filled and hollow squares, so the maps are readable without colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report import vega as alt
from sfumato.report.charts import AFTER, BEFORE, INK, LETTER, SOFT, Line, bar_chart, data_of, labels, svg_of
from sfumato.report.pictures import Picture
from sfumato.report.wording import number, percent

CARD_WIDTH, CARD_HEIGHT, UNDER_CARD = 214, 92, 72
LONGEST_BIN = 11
CELL = 30
MOST_PAIRS_IN_WORDS = 12
MOST_GONE = 24
FEWEST_ALIKE = 4
"""So many columns with one and the same small share are one bar."""
GRID = "#e6eaee"


def card_picture(card: Mapping[str, Any]) -> Picture:
    """A column before (wide light bars) and after (narrow dark ones), with the name of each bin under it."""
    rows = [
        {"place": i, "bin": name, "before": before, "after": after}
        for i, (name, before, after) in enumerate(
            zip(labels(card["bins"], LONGEST_BIN), card["before"], card["after"], strict=True)
        )
    ]
    step = CARD_WIDTH / max(1, len(rows))
    layers = [_card_bars(rows, "before", BEFORE, step * 0.86), _card_bars(rows, "after", AFTER, step * 0.42)]
    chart = alt.LayerChart(layer=[*layers, _bin_names(rows)], width=CARD_WIDTH, height=CARD_HEIGHT)
    chart.config = _config()
    _fixed(chart, left=38, right=4, top=8, bottom=UNDER_CARD)
    words = "; ".join(
        f"{name}: {percent(before)} before, {percent(after)} after"
        for name, before, after in zip(card["bins"], card["before"], card["after"], strict=True)
    )
    return Picture(svg_of(chart), f"Distribution of {card['column']}. {words}.", "")


def _card_bars(rows: Sequence[Mapping[str, Any]], field: str, colour: str, width: float) -> alt.Chart:
    most = max([max(row["before"], row["after"]) for row in rows], default=1.0) or 1.0
    axis = alt.Axis(format="~%", tickCount=3, title=None, labelColor=SOFT, labelFontSize=11, gridColor=GRID)
    y = alt.Y(field, type="quantitative", scale=alt.Scale(domain=[0, most], nice=False), axis=axis)
    made: alt.Chart = data_of(rows).mark_bar(color=colour, size=width).encode(_card_x(), y)
    return made


def _bin_names(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    mark = data_of(rows).mark_text(align="right", baseline="middle", angle=315, fontSize=10.5, color=SOFT, dx=-4)
    y = alt.YValue(CARD_HEIGHT + 8)  # type: ignore[no-untyped-call]
    made: alt.Chart = mark.encode(_card_x(), y, alt.Text("bin", type="nominal"))
    return made


def _card_x() -> alt.X:
    return alt.X("place", type="ordinal", axis=None, scale=alt.Scale(padding=0.1))


def pair_map(columns: Sequence[str], values: Sequence[float], what: str, *, signed: bool = False) -> Picture | None:
    """A triangle of squares, one for every two columns; the larger the square, the larger the number. None without pairs."""
    if len(columns) < 2:
        return None
    cells = [(i, j) for i in range(len(columns)) for j in range(i)]
    order = sorted(zip(cells, values, strict=True), key=lambda c: -abs(c[1]))
    words = "; ".join(f"{columns[i]} and {columns[j]}: {number(v)}" for (i, j), v in order[:MOST_PAIRS_IN_WORDS])
    if len(order) > MOST_PAIRS_IN_WORDS:
        words += f"; {len(order) - MOST_PAIRS_IN_WORDS} pairs are nearer to 0"
    (i, j), largest = order[0]
    caption = f"{what} Largest: {columns[i]} and {columns[j]}, {number(largest)}."
    if signed:
        caption += " Filled: they go together more than before; hollow: less."
    return Picture(svg_of(_triangle(columns, cells, values)), f"{what} {words}.", caption)


def _triangle(columns: Sequence[str], cells: Sequence[tuple[int, int]], values: Sequence[float]) -> alt.LayerChart:
    """Squares by the place of their columns: two names may be equal once they are shortened."""
    rows = [{"a": i, "b": j, "size": abs(v), "less": v < 0} for (i, j), v in zip(cells, values, strict=True)]
    size = CELL * (len(columns) - 1)
    names = labels(columns)
    layers = [
        _squares([row for row in rows if not row["less"]], values, size, filled=True),
        _squares([row for row in rows if row["less"]], values, size, filled=False),
        _names([(-8, CELL * (i - 0.5), name) for i, name in enumerate(names) if i], size, angle=0),
        _names([(CELL * (j + 0.5) + 4, size + 10, name) for j, name in enumerate(names[:-1])], size, angle=325),
    ]
    chart = alt.LayerChart(layer=layers, width=size, height=size)
    chart.config = _config()
    room = round(14 + LETTER * max(len(name) for name in names))
    _fixed(chart, left=room, right=10, top=6, bottom=round(18 + room * 0.6))
    return chart


def _squares(rows: Sequence[Mapping[str, Any]], values: Sequence[float], extent: float, *, filled: bool) -> alt.Chart:
    most = max(0.05, *(abs(v) for v in values))
    drawn = [
        {"x": CELL * (row["b"] + 0.5), "y": CELL * (row["a"] - 0.5), "size": row["size"]} for row in rows if row["size"]
    ]
    size = alt.Scale(domain=[0, most], range=[0, (CELL * 0.85) ** 2])
    pen: dict[str, Any] = {"fill": AFTER} if filled else {"fill": "white", "stroke": INK, "strokeWidth": 1.5}
    made: alt.Chart = (
        data_of(drawn)
        .mark_square(opacity=1, **pen)
        .encode(*_pixels(extent), alt.Size("size", type="quantitative", legend=None, scale=size))
    )
    return made


def _names(texts: Sequence[tuple[float, float, str]], extent: float, *, angle: float) -> alt.Chart:
    rows = [{"x": x, "y": y, "text": text} for x, y, text in texts]
    mark = data_of(rows).mark_text(align="right", baseline="middle", angle=angle, fontSize=12, color=INK)
    made: alt.Chart = mark.encode(*_pixels(extent), alt.Text("text", type="nominal"))
    return made


def _pixels(extent: float) -> tuple[alt.X, alt.Y]:
    """Channels that take places as they are."""
    at = alt.Scale(domain=[0, extent], range=[0, extent], nice=False, zero=False)
    return alt.X("x", type="quantitative", axis=None, scale=at), alt.Y("y", type="quantitative", axis=None, scale=at)


def gone_bars(shares: Mapping[str, float]) -> Picture | None:
    """The share of cells of each column of which nothing is left; None where nothing is gone."""
    if not any(shares.values()):
        return None
    order = sorted(shares, key=lambda c: (-shares[c], c))
    alike = _alike(shares)
    own = [c for c in order if c not in alike]
    shown = own[:MOST_GONE]
    lines = [Line(name, shares[c], percent(shares[c])) for name, c in zip(labels(shown), shown, strict=True)]
    if alike:
        least = shares[alike[0]]
        lines.append(
            Line(
                f"{'all' if not own else ''} {len(alike)} {'other ' * bool(own)}columns".strip(), least, percent(least)
            )
        )
    chart = bar_chart(lines, ("column", "gone"), most=1.0)
    words = "; ".join(f"{c}: {percent(shares[c])}" for c in order)
    caption = "The share of the original cells of which nothing is left: suppressed, generalised to the top, or in a dropped record."
    if alike:
        caption += f" {len(alike)} columns lost equally little and share a bar."
    if len(own) > len(shown):
        caption += f" Left out are {len(own) - len(shown)} columns that lost less than those shown."
    return Picture(svg_of(chart), f"Cells that are gone. {words}.", caption)


def _alike(shares: Mapping[str, float]) -> list[str]:
    """The columns that lost least and all as much, as by dropped records alone, where they are too many for bars of their own."""
    least = min(shares.values())
    found = sorted(c for c, share in shares.items() if abs(share - least) < 1e-12)
    return found if len(found) >= FEWEST_ALIKE else []


def _fixed(chart: alt.LayerChart, **padding: float) -> None:
    """Places come from here and not from fonts, so the same numbers give the same SVG on every machine."""
    chart.autosize = alt.AutoSizeParams(type="none")
    chart.padding = padding


def _config() -> alt.Config:
    return alt.Config(font="sans-serif", aria=False, background="transparent", view=alt.ViewConfig(stroke=None))
