from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from sfumato.core.blocks import ChartBlock
from sfumato.core.chart_drawing import LONGEST_NAME, chart_png, draw_chart, shortened
from sfumato.release.report.charts import chart_class_sizes, chart_levels, chart_risks

SIZES = {"1": 3, "2": 1, "5": 2, "12": 1}  # 3 + 2 + 10 + 12 = 27 records
BEFORE = {"1": 20, "9": 1}  # 20 + 9 = 29 records
RISKS = {"prosecutor_risk": 0.25, "marketer_risk": 0.031, "unique_records": 0.0}
PLAN = [
    {
        "step": "global_recoding",
        "levels": {"age": {"level": 2, "top": 4}, "sex": {"level": 0, "top": 1}},
    }
]


def svg_of(chart: ChartBlock) -> str:
    return draw_chart(chart).svg()


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter() if node.tag.endswith("}text")]


def bars(svg: str, colour: str) -> list[float]:
    """Widths of the bars of one colour, from top to bottom."""
    boxes = [
        n for n in ET.fromstring(svg).iter() if n.tag.endswith("}rect") and n.get("fill") == colour
    ]
    return [float(node.get("width")) for node in boxes]


def test_histogram_shows_records_not_classes():
    picture = chart_class_sizes(SIZES, k=None)
    assert (
        "1: 3 (11.1 %); 2: 2 (7.4 %); 3: 0; 4: 0; 5–9: 10 (37.0 %); 10–19: 12 (44.4 %)."
        in picture.alternative_text
    )
    assert {"3 (11.1 %)", "2 (7.4 %)", "10 (37.0 %)", "12 (44.4 %)", "10–19"} <= set(
        texts(svg_of(picture))
    )


def test_bars_are_as_long_as_their_numbers():
    widths = bars(svg_of(chart_class_sizes(SIZES, k=None)), "#0b5394")
    assert widths == pytest.approx([max(widths) * n / 12 for n in (3, 2, 0, 0, 10, 12)], abs=0.01)
    assert max(widths) > 100


def test_histogram_can_count_persons_and_classes():
    assert chart_class_sizes(SIZES, k=None, unit="persons").alternative_text.startswith(
        "Number of persons"
    )
    classes = chart_class_sizes(SIZES, k=None, unit="classes")
    assert (
        "1: 3 (42.9 %); 2: 1 (14.3 %); 3: 0; 4: 0; 5–9: 2 (28.6 %); 10–19: 1 (14.3 %)."
        in classes.alternative_text
    )
    assert "overlap" in classes.caption


def test_k_line_is_named_and_below_it_is_an_alarm():
    picture = chart_class_sizes(SIZES, k=5)
    assert "k = 5" in texts(svg_of(picture))
    assert "The promised k is 5." in picture.alternative_text
    assert len(bars(svg_of(picture), "#a33b00")) == 2, "the records in classes of 1 and 2"
    assert "#a33b00" not in svg_of(chart_class_sizes({"5": 2, "12": 1}, k=5))


def test_before_stands_beside_after():
    picture = chart_class_sizes(SIZES, k=5, before=BEFORE)
    assert "1: 20 before, 3 after; 2: 0 before, 2 after;" in picture.alternative_text
    assert "5–9: 9 before, 10 after" in picture.alternative_text
    assert {"before", "after", "20", "9"} <= set(texts(svg_of(picture)))
    assert "Wide light bar: before" in picture.caption


def test_an_empty_table_has_a_picture():
    assert "1: 0; 2: 0; 3: 0." in chart_class_sizes({}, k=3).alternative_text
    assert "1: 0." in chart_class_sizes({}, k=None).alternative_text


def test_risks_are_told_in_words():
    picture = chart_risks(
        {"prosecutor_risk": 1.0, "marketer_risk": 0.9, "unique_records": 0.4}, RISKS, 0.25
    )
    assert (
        "Prosecutor risk: 100 % before, 25 % after; Marketer risk: 90 % before, 3.1 % after; Unique"
        " records: 40 % before, 0 % after." in (picture.alternative_text)
    )
    assert "1/k = 25 %" in texts(svg_of(picture))
    assert bars(svg_of(picture), "#8c95a1") == pytest.approx(
        [max(bars(svg_of(picture), "#8c95a1")) * share for share in (1.0, 0.9, 0.4)], abs=0.01
    )


def test_risks_need_no_before_and_no_threshold():
    picture = chart_risks(None, RISKS, None)
    assert "Prosecutor risk: 25 %;" in picture.alternative_text
    assert "before" not in picture.alternative_text + picture.caption
    assert "1/k" not in "".join(texts(svg_of(picture)))
    assert chart_risks(None, {}, 0.2) is None


def test_levels_fill_boxes():
    picture = chart_levels(PLAN)
    assert "age: level 2 of 4; sex: exact." in picture.alternative_text
    assert len(bars(svg_of(picture), "#0b5394")) == 2
    assert len(bars(svg_of(picture), "white")) == 3, "two left of age, one of sex"
    assert chart_levels([]) is None
    assert chart_levels([{"step": "rank_swap", "columns": ["cost"]}]) is None


def test_many_columns_are_cut_in_the_picture_and_all_in_words():
    levels = {f"c{i}": {"level": i % 5, "top": 40 if i % 2 else 4} for i in range(200)}
    picture = chart_levels([{"step": "global_recoding", "levels": levels}])
    assert "24 most changed of 200" in picture.caption
    assert all(f"c{i}: " in picture.alternative_text for i in range(200))
    assert ET.fromstring(svg_of(picture)).get("height") == str(26 * 25 + 4)


def test_a_column_without_levels_above_it_is_drawn():
    assert (
        "zip: as it is."
        in chart_levels([{"step": "x", "levels": {"zip": {"level": 0, "top": 0}}}]).alternative_text
    )


@pytest.mark.parametrize(
    "name",
    [
        "</text><script>alert(1)</script>",
        '"><img src=x>',
        "a & b",
        "tab\tnew\nline\x00",
        "漢字" * 30,
        "",
    ],
)
def test_hostile_column_names_stay_text(name):
    svg = svg_of(chart_levels([{"step": "x", "levels": {name: {"level": 1, "top": 2}}}]))
    elements = {node.tag.split("}")[1] for node in ET.fromstring(svg).iter()}
    assert elements <= {"svg", "g", "path", "text", "rect", "line"}
    assert shortened(name, LONGEST_NAME) in texts(svg)


@pytest.mark.parametrize(
    ("text", "short"),
    [("short", "short"), ("x" * 30, "x" * 17 + "…"), ("漢" * 20, "漢" * 8 + "…"), ("", "")],
)
def test_labels_are_shortened(text, short):
    assert shortened(text) == short


def test_no_letter_is_outside_the_picture():
    """Room is reserved for every label and number: nothing starts left of the picture or ends right
    of it.
    """
    sizes = {"1": 10**7, "2500000": 3, "99999999": 1}
    for picture in (chart_class_sizes(sizes, 11), chart_class_sizes(sizes, 11, sizes)):
        root = ET.fromstring(svg_of(picture))
        gutter = float(re.search(r"translate\(([\d.]+)", svg_of(picture))[1])
        for node in root.iter():
            if node.tag.endswith("}text") and node.text:
                x = gutter + float(node.get("x"))
                wide = 7.5 * len(node.text)
                start = x - wide if node.get("text-anchor") == "end" else x
                assert start >= 0, node.text
                assert start + wide <= float(root.get("width")) + 1, node.text


CODE = """
import hashlib
from sfumato.core.chart_drawing import draw_chart
from sfumato.release.report.charts import *
pictures = [chart_class_sizes({"1": 3, "7": 2}, 5, {"1": 9}), chart_risks({"a": 1}, {"a": .5}, .2), chart_levels([{"levels": {"é": {"level": 1, "top": 3}}}])]
print(hashlib.sha256("".join(draw_chart(p).svg() for p in pictures).encode()).hexdigest())
"""


@pytest.mark.slow
def test_same_picture_in_every_process():
    """No random ids, no dependence on hash order."""
    found = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_png():
    assert chart_png(chart_levels(PLAN)).startswith(b"\x89PNG\r\n")
