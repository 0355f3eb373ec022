"""Noisy answers as a picture."""

from __future__ import annotations

from sfumato.core.chart_drawing import draw_chart
from sfumato.core.drawing import Drawing, Mark, Rect, Text
from sfumato.release.report.charts import chart_answer

WARDS = {
    "question": "count by ward",
    "groups": [["surgery"], ["(outside)"]],
    "values": [500.0, -8.0],
    "low": [470.0, -38.0],
    "high": [530.0, 22.0],
    "epsilon": 0.1,
    "rho": None,
}


def answer_drawing(answer) -> Drawing:
    return draw_chart(chart_answer(answer))


def words(drawing):
    return [one.words for one in drawing.drawn if isinstance(one, Text)]


def test_marks_lie_in_the_middle_of_their_intervals():
    drawing = answer_drawing(WARDS)
    marks = [one for one in drawing.drawn if isinstance(one, Mark)]
    bars = [one for one in drawing.drawn if isinstance(one, Rect)]
    assert len(marks) == len(bars) == 2
    assert all(
        abs(mark.x - (bar.x + bar.width / 2)) < 1e-9 for mark, bar in zip(marks, bars, strict=True)
    )
    assert all(bar.x >= 0 and bar.x + bar.width <= drawing.width for bar in bars)


def test_numbers_cost_and_zero_are_told():
    assert {
        "surgery",
        "(outside)",
        "500 ± 30",
        "-8 ± 30",
        "count by ward, at a cost of ε = 0.1",
        "0",
    } <= set(words(answer_drawing(WARDS)))


def test_an_answer_without_groups_or_interval_is_one_mark():
    quantile = {
        **WARDS,
        "groups": [],
        "values": [12.5],
        "low": [],
        "high": [],
        "epsilon": None,
        "rho": 0.05,
    }
    drawing = answer_drawing({**quantile, "question": "median of stay"})
    assert not any(isinstance(one, Rect) for one in drawing.drawn)
    assert {"median of stay, at a cost of ρ = 0.05", "12"} <= set(words(drawing))


def test_small_noise_keeps_its_digits():
    share = {**WARDS, "groups": [["a"]], "values": [0.5], "low": [0.45], "high": [0.55]}
    assert "0.50 ± 0.05" in words(answer_drawing(share))


def test_nothing_but_zero_can_be_drawn():
    assert "0" in words(
        answer_drawing({**WARDS, "groups": [["a"]], "values": [0.0], "low": [0.0], "high": [0.0]})
    )
