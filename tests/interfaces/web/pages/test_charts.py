"""Charts of blocks in the workbench: every mark has words, names keep their order, and unknown
values break a line.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nicegui")

from sfumato.core.blocks import ChartAxis, ChartBlock, Point, Series
from sfumato.interfaces.web.pages.charts import sign_of, vega_spec

SIZES = ChartAxis("size of the class", ("1", "2–4", "10–19", "5–9"))
BEFORE = Series("before", tuple(Point(i, 10 * i) for i in range(4)), "bar", "before")
AFTER = Series("after", tuple(Point(i, i) for i in range(4)), "bar", "after")
CLASSES = ChartBlock("chart", "columns", SIZES, ChartAxis("records"), (BEFORE, AFTER), "classes")


def rows_of(spec: dict[str, Any], layer: int = 0) -> list[dict[str, Any]]:
    """What a layer draws."""
    rows: list[dict[str, Any]] = spec["layer"][layer]["data"]["values"]
    return rows


def test_names_stand_in_the_order_of_the_block() -> None:
    spec = vega_spec(CLASSES)
    across = spec["layer"][0]["encoding"]["x"]
    assert across["scale"]["domain"] == list(SIZES.names) and "sort" not in across
    assert [row["x_name"] for row in rows_of(spec)] == list(SIZES.names)


def test_every_mark_says_its_values_to_pointers_and_keys() -> None:
    spec = vega_spec(CLASSES)
    assert rows_of(spec, 1)[2]["words"] == "10–19 · after 2"
    assert rows_of(spec, 1)[2]["id"] == [1, 2], "the browser names a mark by its place in the block"
    assert spec["layer"][1]["encoding"]["tooltip"]["field"] == "words"


def test_before_is_outlined_and_after_is_filled() -> None:
    before, after = (layer["mark"] for layer in vega_spec(CLASSES)["layer"])
    assert before["fill"] == "transparent" and after["fill"] == "var(--accent)"
    assert [sign_of(series) for series in CLASSES.series] == ["□", "■"]


def test_bars_lie_and_columns_stand() -> None:
    lying = ChartBlock("chart", "bars", SIZES, ChartAxis("records"), (AFTER,), "classes")
    encoding = vega_spec(lying)["layer"][0]["encoding"]
    assert (encoding["y"]["type"], encoding["x"]["type"]) == ("nominal", "quantitative")


def test_points_have_rings_intervals_labels_and_alarms() -> None:
    points = (Point(0.1, 0.2, 0.1, 0.3, label="A"), Point(0.4, 0.5, alarm=True))
    risk = ChartAxis("risk", share=True, logarithmic=True)
    block = ChartBlock(
        "chart", "scatter", ChartAxis("loss (worse →)"), risk, (Series("c", points, "dot"),), "map"
    )
    dots, alarms, spans, labels, ring = vega_spec(block)["layer"]
    assert len(dots["data"]["values"]) == 2 and len(alarms["data"]["values"]) == 1
    assert spans["mark"]["type"] == "rule" and labels["mark"]["type"] == "text"
    assert ring["data"]["name"] == "ring" and not ring["data"]["values"]
    assert dots["encoding"]["y"]["scale"]["type"] == "log"
    assert rows_of(vega_spec(block))[0]["words"] == "loss 0.1 · risk 20 % · 10 % to 30 %"
