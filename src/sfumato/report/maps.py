"""Pictures of a story: a card for each column, maps of pairs of columns, attacks with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.report.charts import AFTER, ALARM, BEFORE, FONT, INK, SOFT, Line, bar_chart, shortened, svg_of
from sfumato.report.pictures import Picture
from sfumato.report.wording import humanised, number, percent

if TYPE_CHECKING:
    import altair as alt

CARD_WIDTH, CARD_HEIGHT = 250, 92
CELL = 30


def card_picture(card: Mapping[str, Any]) -> Picture:
    """A column before (wide light bars) and after (narrow dark ones)."""
    import altair as alt

    rows = [
        {"bin": name, "place": i, "before": before, "after": after}
        for i, (name, before, after) in enumerate(zip(card["bins"], card["before"], card["after"], strict=True))
    ]
    step = CARD_WIDTH / max(1, len(rows))
    most = max([max(row["before"], row["after"]) for row in rows], default=1.0) or 1.0
    x = alt.X("place", type="ordinal", axis=None, scale=alt.Scale(padding=0.1))
    y = alt.Scale(domain=[0, most], nice=False)
    axis = alt.Axis(
        format="~%", tickCount=3, title=None, labelColor=SOFT, labelFontSize=11, grid=True, gridColor="#e6eaee"
    )
    light = (
        _data(rows)
        .mark_bar(color=BEFORE, size=step * 0.86)
        .encode(x, alt.Y("before", type="quantitative", scale=y, axis=axis))
    )
    dark = (
        _data(rows)
        .mark_bar(color=AFTER, size=step * 0.42)
        .encode(x, alt.Y("after", type="quantitative", scale=y, axis=axis))
    )
    chart = alt.LayerChart(layer=[light, dark], width=CARD_WIDTH, height=CARD_HEIGHT)
    chart.config = _config()
    words = "; ".join(f"{r['bin']}: {percent(r['before'])} before, {percent(r['after'])} after" for r in rows)
    caption = f"{card['bins'][0]} … {card['bins'][-1]}" if len(rows) > 1 else (card["bins"] or ["–"])[0]
    return Picture(svg_of(chart), f"Distribution of {card['column']}. {words}.", caption)


def pair_map(columns: Sequence[str], values: Sequence[float], what: str, *, signed: bool = False) -> Picture | None:
    """A triangle of squares, one for every two columns; the larger the square, the larger the number. None without pairs."""
    import altair as alt

    if len(columns) < 2:
        return None
    cells = [(i, j) for i in range(len(columns)) for j in range(i)]
    rows = [
        {"a": shortened(columns[i]), "b": shortened(columns[j]), "value": v, "size": abs(v), "sign": v < 0}
        for (i, j), v in zip(cells, values, strict=True)
    ]
    names = [shortened(c) for c in columns]
    axis: dict[str, Any] = {
        "title": None,
        "labelColor": INK,
        "labelFontSize": 12,
        "domain": False,
        "ticks": False,
        "labelLimit": 150,
    }
    x = alt.X("b", type="nominal", scale=alt.Scale(domain=names[:-1]), axis=alt.Axis(labelAngle=-35, **axis))
    y = alt.Y("a", type="nominal", scale=alt.Scale(domain=names[1:]), axis=alt.Axis(**axis))
    most = max([abs(v) for v in values], default=0.0) or 1.0
    size = alt.Size(
        "size",
        type="quantitative",
        legend=None,
        scale=alt.Scale(domain=[0, max(most, 0.05)], range=[0, (CELL * 0.9) ** 2]),
    )
    color = alt.Color("sign", type="nominal", legend=None, scale=alt.Scale(domain=[False, True], range=[AFTER, ALARM]))
    squares = _data(rows).mark_square(opacity=1).encode(x, y, size, color)
    chart = alt.LayerChart(layer=[squares], width=CELL * (len(names) - 1), height=CELL * (len(names) - 1))
    chart.config = _config()
    order = sorted(zip(cells, values, strict=True), key=lambda c: -abs(c[1]))
    words = "; ".join(f"{columns[i]} and {columns[j]}: {number(v)}" for (i, j), v in order[:12])
    (i, j), largest = order[0]
    caption = f"{what} Largest: {columns[i]} and {columns[j]}, {number(largest)}."
    if signed:
        caption += " Blue: they go together more than before; brown: less."
    return Picture(svg_of(chart), f"{what} {words}.", caption)


def gone_bars(shares: Mapping[str, float]) -> Picture | None:
    """The share of cells of each column of which nothing is left; None where nothing is gone."""
    if not any(shares.values()):
        return None
    order = sorted(shares, key=lambda c: (-shares[c], c))[:24]
    lines = [Line(shortened(c), shares[c], percent(shares[c])) for c in order]
    chart = bar_chart(lines, ("column", "gone"), most=1.0)
    words = "; ".join(f"{c}: {percent(shares[c])}" for c in order)
    caption = "The share of the original cells of which nothing is left: suppressed, generalised to the top, or in a dropped record."
    return Picture(svg_of(chart), f"Cells that are gone. {words}.", caption)


def attack_picture(attacks: Mapping[str, Any]) -> Picture | None:
    """Every attack as a bar with its interval, a tick for guessing and a line for what is allowed."""
    import altair as alt

    tried = attacks.get("tried", [])
    if not tried:
        return None
    rows = [
        {
            "name": f"{t['intruder']}: {shortened(t['attack'].replace('_', ' '), 26)}",
            "value": t["value"],
            "low": t["interval"][0] if t["interval"] else t["value"],
            "high": t["interval"][1] if t["interval"] else t["value"],
            "guess": t["baseline"],
            "limit": t["threshold"] if t["limit"] is None else t["limit"],
            "bad": t["exceeds"],
            "text": percent(t["value"]),
        }
        for t in tried
    ]
    order = [row["name"] for row in rows]
    y = alt.Y(
        "name",
        type="nominal",
        sort=order,
        axis=alt.Axis(title=None, labelLimit=320, labelFontSize=FONT - 1, labelColor=INK, domain=False, ticks=False),
    )
    axis = alt.Axis(
        title="rate of success",
        format="~%",
        values=[0, 0.25, 0.5, 0.75, 1],
        labelColor=SOFT,
        titleColor=SOFT,
        gridColor="#e6eaee",
    )
    scale = alt.Scale(domain=[0, 1])

    def x(field: str) -> alt.X:
        return alt.X(field, type="quantitative", scale=scale, axis=axis)

    color = alt.Color("bad", type="nominal", legend=None, scale=alt.Scale(domain=[False, True], range=[AFTER, ALARM]))
    bars = _data(rows).mark_bar(height=12).encode(x("value"), y, color)
    spans = _data(rows).mark_rule(color=INK, strokeWidth=2).encode(x("low"), alt.X2("high"), y)
    guesses = (
        _data([r for r in rows if r["guess"] is not None])
        .mark_tick(color=BEFORE, thickness=3, size=18)
        .encode(x("guess"), y)
    )
    limits = _data(rows).mark_tick(color=INK, thickness=1.5, size=22).encode(x("limit"), y)
    texts = (
        _data(rows)
        .mark_text(align="left", dx=6, dy=-9, fontSize=11, color=INK)
        .encode(x("value"), y, alt.Text("text", type="nominal"))
    )
    chart = alt.LayerChart(layer=[bars, guesses, limits, spans, texts], width=300, height=30 * len(rows))
    chart.config = _config()
    words = "; ".join(_attack_words(t) for t in tried)
    caption = (
        "Bars: how often each attack succeeds, with its interval. Light tick: what guessing gives. Thin tick: what is allowed. "
        "Brown: more than allowed beyond guessing."
    )
    return Picture(svg_of(chart), f"Attacks. {words}.", caption)


def _attack_words(tried: Mapping[str, Any]) -> str:
    between = ""
    if tried["interval"]:
        between = f" ({percent(tried['interval'][0])} to {percent(tried['interval'][1])})"
    guess = "" if tried["baseline"] is None else f", guessing {percent(tried['baseline'])}"
    return f"{tried['intruder']}, {humanised(tried['attack'])}: {percent(tried['value'])}{between}{guess}"


def _config() -> alt.Config:
    import altair as alt

    return alt.Config(font="sans-serif", aria=False, background="transparent", view=alt.ViewConfig(stroke=None))


def _data(values: Sequence[Mapping[str, Any]]) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.Data(values=[dict(value) for value in values]))  # type: ignore[no-untyped-call]
