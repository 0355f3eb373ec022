"""Pictures of the workbench in Vega-Lite, as plain data. Colours are tokens of the style, so that
dark follows without a redraw; shape doubles colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

ACCENT, ALARM, SOFT, LINE, INK = (
    "var(--accent)",
    "var(--alarm)",
    "var(--soft)",
    "var(--line)",
    "var(--ink)",
)
PAPER, DOTS, RINGS = "var(--paper)", "var(--dots, #7ba7cf)", "var(--rings, #8c95a1)"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
LOOK = {
    "background": None,
    "aria": False,  # the picture as a whole says what it shows, and a table has the figures
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "gridColor": LINE,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "titleFontWeight": "normal",
    },
    "header": {"labelColor": INK, "titleColor": SOFT},
}
HEIGHT = 340
LONGEST_TITLE = 60
MANY = 10
"""Bins whose names no longer fit all."""
RISKS = ("marketer_risk", "prosecutor_risk", "linkage")


def framed(spec: Mapping[str, Any], height: int = HEIGHT) -> dict[str, Any]:
    """A picture as wide as its place."""
    size = {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
    }
    return {"$schema": SCHEMA, **size, "config": LOOK, **spec}


def axis(field: str, title: str, name: str, values: Sequence[float] = ()) -> dict[str, Any]:
    """An axis; risks are shares that span orders of magnitude, with a tick at every power of ten,
    and more where these are few.
    """
    risk = name in RISKS
    scale: dict[str, Any] = {"zero": False, "nice": True}
    look: dict[str, Any] = {
        "grid": field == "y",
        "format": "~%" if risk else "~s" if name == "suppressed" else "~r",
    }
    if risk:
        scale = {"type": "log", "nice": False, "padding": 10}
        look["values"] = ticks(min(values, default=0.01), max(values, default=1.0))
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": look}


def ticks(least: float, most: float) -> list[float]:
    """Powers of ten within a range, with twos and fives where there would be few.

    >>> ticks(0.0001, 0.2), ticks(0.05, 1)
    ([0.0001, 0.001, 0.01, 0.1], [0.05, 0.1, 0.2, 0.5, 1.0])
    """
    low, high = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    steps = (1, 2, 5) if math.log10(most / least) < 2.5 else (1,)
    every = [
        round(step * 10.0**power, 12 - power) for power in range(low, high + 1) for step in steps
    ]
    return [tick for tick in every if least * 0.999 <= tick <= most * 1.001]


def plane(
    dots: Sequence[Mapping[str, Any]],
    front: Sequence[Mapping[str, Any]],
    in_use: Mapping[str, Any] | None,
    axes: tuple[str, str],
    titles: tuple[str, str],
) -> dict[str, Any]:
    """All nodes by two of their figures: rings beyond the budget, dots within it, the staircase
    that nothing beats, and ◆ in use.
    """
    x, y = ([one[name] for one in dots] for name in ("x", "y"))
    where = {"x": axis("x", titles[0], axes[0], x), "y": axis("y", titles[1], axes[1], y)}
    size = {"field": "size", "type": "quantitative", "scale": None}
    within, beyond = ([dot for dot in dots if dot["within"] is wanted] for wanted in (True, False))
    layers = [
        _marks(
            "beyond",
            beyond,
            {"type": "point", "stroke": RINGS, "strokeWidth": 1},
            {**where, "size": size},
        ),
        _marks(
            "within",
            within,
            {"type": "point", "fill": DOTS, "stroke": PAPER, "strokeWidth": 0.5},
            {**where, "size": size},
        ),
        _marks(
            "stairs",
            front,
            {"type": "line", "stroke": ACCENT, "strokeWidth": 2, "interpolate": "step-after"},
            where,
        ),
        _marks(
            "front",
            front,
            {"type": "point", "fill": ACCENT, "stroke": PAPER, "size": 75, "strokeWidth": 1},
            where,
        ),
        _marks(
            "in_use",
            [in_use] if in_use else [],
            {
                "type": "point",
                "shape": "diamond",
                "fill": ALARM,
                "stroke": PAPER,
                "size": 240,
                "strokeWidth": 1.5,
            },
            where,
        ),
        _marks(
            "ring",
            [],
            {"type": "point", "stroke": INK, "size": 380, "strokeWidth": 2, "fill": None},
            where,
        ),
    ]
    return framed({"layer": layers})


def _marks(
    name: str, rows: Sequence[Mapping[str, Any]], mark: Mapping[str, Any], where: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "data": {"name": name, "values": [dict(row) for row in rows]},
        "mark": {"opacity": 1, **mark, "tooltip": None},
        "encoding": dict(where),
    }


def lattice(
    nodes: Sequence[Mapping[str, Any]], lines: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The lattice itself: a row for each sum of levels, finest below; a line joins nodes that are
    one level of one column apart.
    """
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"padding": 14}}
    sums = [one["y"] for one in nodes]
    domain = {"domain": [min(sums) - 0.6, max(sums) + 0.6], "nice": False}
    y: dict[str, Any] = {
        "field": "y",
        "type": "quantitative",
        "title": "sum of levels (coarser ↑)",
        "scale": domain,
    }
    y["axis"] = {"grid": False, "values": sorted(set(sums)), "format": "d"}
    where = {"x": x, "y": y}
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    within, beyond = ([one for one in nodes if one["within"] is wanted] for wanted in (True, False))
    layers = [
        _marks("lines", lines, {"type": "rule", "stroke": LINE}, {**where, **ends}),
        _marks(
            "beyond", beyond, {"type": "point", "stroke": RINGS, "fill": PAPER, "size": 90}, where
        ),
        _marks(
            "within", within, {"type": "point", "fill": DOTS, "stroke": ACCENT, "size": 110}, where
        ),
        _marks(
            "in_use",
            [one for one in nodes if one["in_use"]],
            {"type": "point", "shape": "diamond", "fill": ALARM, "stroke": PAPER, "size": 260},
            where,
        ),
        _marks(
            "ring",
            [],
            {"type": "point", "stroke": INK, "size": 420, "strokeWidth": 2, "fill": None},
            where,
        ),
    ]
    return framed({"layer": layers})


def hint(field: str, title: str, number: str = "") -> dict[str, Any]:
    """A line of what is told beside the mouse: a number in a format, or else words."""
    how = {"type": "quantitative", "format": number} if number else {"type": "nominal"}
    return {"field": field, "title": title, **how}


def bars(rows: Sequence[Mapping[str, Any]], height: int = 170) -> dict[str, Any]:
    """Shares before and after, bin by bin: outlined bars before, filled ones after. Rows have
    ``bin``, ``place``, ``before`` and ``after``.
    """
    names: dict[str, Any] = {
        "field": "bin",
        "type": "nominal",
        "sort": {"field": "place"},
        "title": None,
    }
    names["axis"] = {"labelAngle": -35, "labelLimit": 90, "labelOverlap": len(rows) > MANY}
    share: dict[str, Any] = {
        "type": "quantitative",
        "title": None,
        "axis": {"format": "~%", "tickCount": 4},
    }
    before: dict[str, Any] = {
        "type": "bar",
        "fill": "transparent",
        "stroke": RINGS,
        "strokeWidth": 1.5,
        "width": {"band": 0.86},
    }
    after: dict[str, Any] = {"type": "bar", "fill": ACCENT, "opacity": 0.85, "width": {"band": 0.5}}
    both: dict[str, Any] = {
        "tooltip": [
            hint("bin", "value"),
            hint("before", "before", ".1%"),
            hint("after", "after", ".1%"),
        ]
    }
    layers: list[dict[str, Any]] = [
        {"mark": after, "encoding": {"x": names, "y": {"field": "after", **share}, **both}},
        {"mark": before, "encoding": {"x": names, "y": {"field": "before", **share}, **both}},
    ]
    return framed({"data": {"values": [dict(row) for row in rows]}, "layer": layers}, height)


def named(title: str) -> str:
    r"""The name of a column as the title of an axis. It becomes part of an expression, whose texts
    may hold no separator of lines.

    >>> named("two\u2028lines")
    'two lines'
    """
    words = " ".join(title.split())
    return words if len(words) <= LONGEST_TITLE else words[: LONGEST_TITLE - 1] + "…"


def heat(rows: Sequence[Mapping[str, Any]], titles: tuple[str, str], most: float) -> dict[str, Any]:
    """A table of two columns as squares, the larger the more records; rows have ``x``, ``y``, their
    places ``i`` and ``j``, and ``share``.

    Values are data and no part of the picture: a list of them to sort by would become an
    expression.
    """
    look: dict[str, Any] = {"labelLimit": 90, "grid": True}
    names: dict[str, Any] = {"type": "nominal", "axis": look}
    across = {**names, "field": "x", "sort": {"field": "i"}, "title": named(titles[0])}
    across["axis"] = {**look, "labelAngle": -35}
    up = {**names, "field": "y", "sort": {"field": "j"}, "title": named(titles[1])}
    size = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, most or 1], "range": [0, 420]},
        "legend": None,
    }
    mark = {"type": "square", "fill": ACCENT, "stroke": None, "opacity": 0.9}
    told = [
        hint("x", named(titles[0])),
        hint("y", named(titles[1])),
        hint("share", "of the records", ".1%"),
    ]
    spec = {
        "data": {"values": [dict(row) for row in rows]},
        "mark": mark,
        "encoding": {"x": across, "y": up, "size": size, "tooltip": told},
    }
    return framed(spec, 300)


def columns_of_two(rows: Sequence[Mapping[str, Any]], title: str) -> dict[str, Any]:
    """Records by class size, before and after, side by side; rows have ``bin``, ``place``, ``when``
    and ``records``.
    """
    names = {
        "field": "bin",
        "type": "nominal",
        "sort": {"field": "place"},
        "title": "size of the class",
    }
    names["axis"] = {"labelAngle": 0}
    legend = {"title": None, "orient": "top-right"}
    fill, stroke = (
        {
            "field": "when",
            "type": "nominal",
            "scale": {"domain": ["before", "after"], "range": both},
            "legend": legend,
        }
        for both in (["transparent", ACCENT], [RINGS, ACCENT])
    )
    encoding = {
        "x": names,
        "xOffset": {"field": "when", "sort": ["before", "after"]},
        "y": {
            "field": "records",
            "type": "quantitative",
            "title": title,
            "axis": {"format": "~s", "tickCount": 5},
        },
        "fill": fill,
        "stroke": stroke,
        "tooltip": [
            hint("bin", "size of the class"),
            hint("when", "when"),
            hint("records", title, ","),
        ],
    }
    return framed(
        {
            "data": {"values": [dict(row) for row in rows]},
            "mark": "bar",
            "encoding": encoding,
        },
        260,
    )


def candidates(
    rows: Sequence[Mapping[str, Any]], front: Sequence[Mapping[str, Any]], titles: tuple[str, str]
) -> dict[str, Any]:
    """Candidates by what is lost and what is risked: filled ones keep their promises, hollow ones
    do not; the letter says which it is.
    """
    where = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "title": titles[0],
            "scale": {"zero": False, "padding": 25},
            "axis": {"grid": False},
        },
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": titles[1],
            "scale": {"zero": True, "nice": True},
            "axis": {"format": "~%"},
        },
    }
    held, broken = ([row for row in rows if row["holds"] is wanted] for wanted in (True, False))
    words = {"text": {"field": "letter"}, **where}
    layers = [
        _marks(
            "stairs",
            front,
            {"type": "line", "stroke": ACCENT, "strokeWidth": 2, "interpolate": "step-after"},
            where,
        ),
        _marks(
            "held", held, {"type": "point", "fill": ACCENT, "stroke": PAPER, "size": 120}, where
        ),
        _marks(
            "broken",
            broken,
            {"type": "point", "stroke": RINGS, "strokeWidth": 2, "fill": PAPER, "size": 120},
            where,
        ),
        _marks(
            "letters",
            rows,
            {
                "type": "text",
                "dx": 12,
                "dy": -10,
                "fill": INK,
                "fontWeight": "bold",
                "fontSize": 13,
            },
            words,
        ),
    ]
    return framed({"layer": layers}, 280)
