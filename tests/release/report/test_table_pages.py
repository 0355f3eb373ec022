"""The picture of a choice shows every node, the front and the chosen one."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET

import pytest

from sfumato.core.chart_drawing import chart_png, draw_chart
from sfumato.core.drawing import decades
from sfumato.release.report.charts import chart_alternatives
from tests.release.report import samples
from tests.release.report.samples import owner_page


def option(score, risk, *, age=1, sex=0, within=True, suppressed=3):
    return {
        "levels": {"age": age, "sex": sex},
        "score": score,
        "suppressed": suppressed,
        "classes": 4,
        "class_size": 5.0,
        "precision": 0.5,
        "discernibility": 100.0,
        "marketer_risk": risk,
        "prosecutor_risk": 0.2,
        "within_budget": within,
    }


CHOSEN = option(0.25, 0.1)
ALTERNATIVES = {
    "objective": "loss",
    "minimal": False,
    "records": 23,
    "budget": 5,
    "lattice_nodes": 10,
    "nodes_within_budget": 6,
    "whole": True,
    "tops": {"age": 3, "sex": 1},
    "chosen": CHOSEN,
    "neighbours": [
        {
            "column": "age",
            "change": -1,
            "option": option(0.2, 0.2, age=0, within=False, suppressed=9),
        },
        {"column": "age", "change": 1, "option": option(0.5, 0.05, age=2, suppressed=1)},
    ],
    "budgets": [],
    "next_better": None,
    "overlooked": None,
    "front": [CHOSEN],
    "trade_off": [CHOSEN, option(0.5, 0.05, age=2), option(1.0, 0.01, age=3, sex=1)],
    "cloud": [
        {"score": 0.2, "marketer_risk": 0.2, "nodes": 4, "within_budget": False},
        {"score": 0.25, "marketer_risk": 0.1, "nodes": 1, "within_budget": True},
        {"score": 0.6, "marketer_risk": 0.08, "nodes": 5, "within_budget": True},
    ],
    "reasons": {
        "choice": "The choice.",
        "neighbours": ["One.", "Two."],
        "outlook": ["Another budget."],
    },
}


def elements(svg, tag):
    return [node for node in ET.fromstring(svg).iter() if node.tag.endswith("}" + tag)]


def texts(svg):
    return [node.text or "" for node in elements(svg, "text")]


def test_numbers_are_told_in_words():
    picture = chart_alternatives(ALTERNATIVES)
    assert "Chosen: 0.25 and 10 %." in picture.alternative_text
    assert "0.25 and 10 %; 0.5 and 5 %; 1 and 1 %." in picture.alternative_text
    assert "All 10 nodes" in picture.caption and "the 6 within" in picture.caption


def test_dots_within_the_budget_are_filled_and_those_beyond_are_rings():
    svg = draw_chart(chart_alternatives(ALTERNATIVES)).svg()
    dots = elements(svg, "circle")
    assert len([dot for dot in dots if dot.get("fill") == "#7ba7cf"]) == 2
    assert (
        len([dot for dot in dots if dot.get("stroke") == "#8c95a1" and dot.get("fill") == "none"])
        == 1
    )
    assert len([path for path in elements(svg, "path") if path.get("fill") == "#a33b00"]) == 1
    assert "chosen" in texts(svg) and "loss (worse →)" in texts(svg)


def test_the_front_goes_down_in_steps():
    svg = draw_chart(chart_alternatives(ALTERNATIVES)).svg()
    line = next(
        p
        for p in elements(svg, "path")
        if p.get("stroke-width") == "2" and p.get("stroke") == "#0b5394"
    )
    steps = [
        tuple(map(float, pair.split(","))) for pair in re.findall(r"[-\d.]+,[-\d.]+", line.get("d"))
    ]
    assert [x for x, _ in steps] == sorted(x for x, _ in steps)
    assert [y for _, y in steps] == sorted(y for _, y in steps), (
        "risk falls: further down the picture"
    )
    assert len(steps) == 5


def test_places_follow_the_numbers():
    svg = draw_chart(chart_alternatives(ALTERNATIVES)).svg()
    dots = [dot for dot in elements(svg, "circle") if dot.get("fill") == "#7ba7cf"]
    first, second = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in dots]
    shape = next(path.get("d") for path in elements(svg, "path") if path.get("fill") == "#a33b00")
    (left, y), _, (right, _), _ = [
        tuple(map(float, pair.split(","))) for pair in re.findall(r"[-\d.]+,[-\d.]+", shape)
    ]
    assert first == pytest.approx(((left + right) / 2, y), abs=0.02), (
        "the chosen node is one of the dots"
    )
    assert second[0] > first[0] and second[1] > first[1]


def test_without_a_cloud_there_is_no_picture():
    assert chart_alternatives({**ALTERNATIVES, "cloud": []}) is None


@pytest.mark.parametrize("risks", [(0.5, 0.5), (1.0, 1.0), (1e-6, 1.0), (0.04, 0.05)])
@pytest.mark.parametrize("scores", [(0.5, 0.5), (-300.0, -2.0), (0.0, 1e9)])
def test_any_range_can_be_drawn(risks, scores):
    nodes = [
        {"score": s, "marketer_risk": r, "nodes": 1, "within_budget": True}
        for s, r in zip(scores, risks, strict=True)
    ]
    chosen = option(scores[0], risks[0])
    picture = chart_alternatives(
        {**ALTERNATIVES, "cloud": nodes, "chosen": chosen, "trade_off": [chosen]}
    )
    svg = draw_chart(picture).svg()
    assert "NaN" not in svg and chart_png(picture).startswith(b"\x89PNG")
    assert any("%" in text for text in texts(svg))


@pytest.mark.parametrize(("least", "most"), [(1e-5, 0.5), (0.011, 0.02), (0.03, 0.09), (0.2, 1.1)])
def test_there_are_a_fewdecades(least, most):
    ticks = decades(least, most)
    assert (
        1 <= len(ticks) <= 9
        and all(least <= tick <= most for tick in ticks)
        and ticks == sorted(ticks)
    )


def record(**changes):
    return samples.owner_record() | {"alternatives": copy.deepcopy(ALTERNATIVES) | changes}


def test_the_owners_page_tells_what_else_was_possible():
    page = owner_page(record())
    for part in (
        "Alternatives",
        "The choice.",
        "Another budget.",
        "finer, level 0",
        "coarser, level 2",
    ):
        assert part in page
    assert "age 1 → 2" in page and "as chosen" in page
    assert "Best trade-offs within the budget" in page


def test_the_table_of_a_long_front_keeps_its_ends():
    front = [option(0.25 + i / 100, 0.1 / (i + 1), suppressed=i) for i in range(60)]
    page = owner_page(record(trade_off=front))
    assert "10 of 60" in page and "0.2500" in page and "0.8400" in page


def test_a_record_without_alternatives_has_no_such_section():
    for made in (
        samples.owner_record(),
        samples.owner_record() | {"alternatives": None},
        samples.empty_record(),
    ):
        assert "Alternatives" not in owner_page(made)


def test_hostile_names_stay_text():
    hostile = "</bdi><script>alert(1)</script>"
    page = owner_page(samples.renamed(record(), {"age": hostile}))
    assert "<script" not in page
