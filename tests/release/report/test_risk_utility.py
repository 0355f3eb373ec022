"""The risk–utility map and the page of a comparison."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from sfumato.core.chart_drawing import chart_png, draw_chart, plot_chart
from sfumato.core.drawing import Text
from sfumato.errors import printable
from sfumato.guidance.comparison import CandidateOutcome, Comparison
from sfumato.release.report.risk_utility import (
    chart_candidates,
    comparison_page,
)
from tests.core.test_chart_drawing import HOSTILE
from tests.release.report.test_pages import Page


def outcome(
    name,
    risk,
    loss,
    *,
    holds=True,
    promises=("5-anonymity",),
    step="global_recoding",
    higher=(),
    reason="",
):
    measured = {} if risk is None else {"linkage": risk}
    return CandidateOutcome(
        name=name,
        holds=holds,
        reason=reason,
        records=90,
        suppressed=10,
        promises=promises,
        risks=measured,
        utilities={} if loss is None else {"loss": loss},
        higher=higher,
        recipe={"sfumato": 1, "columns": {}, "meet": [], "steps": [{step: {}}]},
        seconds=0.5,
    )


def comparison(*outcomes, name="visits.csv"):
    return Comparison(name, tuple(outcomes), "linkage", "loss").to_dict()


THREE = comparison(
    outcome("safe", 0.1, 0.8),
    outcome("useful", 0.5, 0.2, step="rank_swap", promises=()),
    outcome("beaten", 0.6, 0.9),
    outcome("impossible", None, None, holds=False, reason="nothing keeps 50-anonymity <here>"),
)


def test_numbers_are_told():
    drawn = chart_candidates(THREE)
    assert "Risk and utility of 3 candidates." in drawn.alternative_text
    assert "1 safe: risk 10 %, loss (LM) 0.8, on the front" in drawn.alternative_text
    assert "3 beaten: risk 60 %, loss (LM) 0.9" in drawn.alternative_text
    assert "3 beaten: risk 60 %, loss (LM) 0.9, on" not in drawn.alternative_text
    assert "impossible" not in drawn.alternative_text


def test_a_candidate_without_promises_is_hollow():
    points = [point for series in chart_candidates(THREE).series[1:] for point in series.points]
    assert {point.name: point.alarm for point in points} == {
        "safe": False,
        "useful": True,
        "beaten": False,
    }


def svg_of(found):
    chart = chart_candidates(found)
    return draw_chart(chart).svg(chart.alternative_text)


def points_of_the_line(svg):
    path = re.search(r'<path d="([^"]+)"[^>]*stroke="#0b5394" stroke-width="2"', svg)
    return [tuple(map(float, p.split(","))) for p in re.findall(r"[ML]([\d.]+,[\d.]+)", path[1])]


def test_the_front_is_a_staircase_over_what_it_beats():
    """Between two candidates the line must not promise risks that neither reaches: it stays at the
    higher risk first.
    """
    (x0, y0), (x1, y1), (x2, y2) = points_of_the_line(svg_of(THREE))
    assert (
        x0 < x1 == x2 and y0 == y1 < y2
    )  # right at the risk of the useful one, then down to the safe one


def test_the_staircase_turns_round_where_more_is_better():
    higher = {"higher": ("loss",)}
    found = comparison(outcome("safe", 0.1, 0.2, **higher), outcome("useful", 0.5, 0.8, **higher))
    (x0, y0), (x1, y1), (x2, y2) = points_of_the_line(svg_of(found))
    assert x0 > x1 == x2 and y0 == y1 < y2


def test_page_lists_every_candidate_with_reason_and_recipe():
    text = comparison_page(THREE)
    page = Page(text)
    assert "4 candidates for visits.csv" in page.text
    assert "candidate linkage Loss (LM) records" in page.text
    assert "4. impossible: Nothing keeps 50-anonymity <here>." in page.text
    assert (
        "2 of 4 candidates are on the front: no other candidate has less linkage and less loss"
        " (LM)" in page.text
    )
    assert page.text.count("●") == 2 and "● 1. safe" in page.text
    assert page.tags.count("pre") == 4 and "rank_swap" in page.text
    assert page.labels == [chart_candidates(THREE).alternative_text]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    found = comparison(
        outcome(name, 0.1, 0.2), outcome("b", None, None, holds=False, reason=name), name=name
    )
    page = Page(comparison_page(found))
    assert not {"script", "img"} & set(page.tags)
    assert re.sub(r"\s+", " ", printable(name)) in page.text
    assert printable(name) in page.labels[0]
    ET.fromstring(svg_of(found))


@pytest.mark.parametrize(
    "outcomes",
    [(), (outcome("none", None, None, holds=False, reason="no"),), (outcome("one", 0, 0),)],
)
def test_nothing_or_one_thing_to_compare(outcomes):
    found = comparison(*outcomes)
    page = Page(comparison_page(found))
    assert f"{len(outcomes) or 'no'} candidate" in page.text
    ET.fromstring(svg_of(found))
    assert chart_png(chart_candidates(found)).startswith(b"\x89PNG")


def test_numbers_keep_apart():
    """Candidates around one place: no number hides another."""
    found = comparison(*(outcome(f"c{i}", 0.5, 0.5 + i / 100) for i in range(6)))
    drawing = draw_chart(chart_candidates(found))
    numbers = [one for one in drawing.drawn if isinstance(one, Text) and one.words in "123456"]
    assert len(numbers) == len({(one.x, one.y, one.align) for one in numbers}) == 6


def test_same_comparison_same_page():
    assert comparison_page(THREE) == comparison_page(
        comparison(*[CandidateOutcome.from_dict(c) for c in THREE["candidates"]])
    )


def test_the_map_has_a_ground_and_a_name_in_a_notebook():
    chart = chart_candidates(THREE)
    assert plot_chart(chart).to_dict(validate=False)["config"]["background"] == "white"
    names = [point.name for series in chart.series[1:] for point in series.points]
    assert sorted(names) == ["beaten", "safe", "useful"]
    assert chart.series[0].mark == "staircase"


def test_the_map_is_told_once_on_a_page_and_by_itself_in_a_file():
    alone, page = ET.fromstring(svg_of(THREE)), comparison_page(THREE)
    assert (
        alone.get("role") == "img"
        and alone.get("aria-label") == chart_candidates(THREE).alternative_text
    )
    assert page.count("Risk and utility of 3 candidates.") == 1


def test_who_points_at_a_mark_sees_the_name_of_its_candidate():
    titles = [
        node.text for node in ET.fromstring(svg_of(THREE)).iter() if node.tag.endswith("title")
    ]
    assert sorted(titles) == ["beaten", "safe", "useful"]
