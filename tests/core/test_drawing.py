"""Drawings: what is written as SVG is well-formed whatever people call their columns, and the chart
for notebooks is the same picture.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.chart_drawing import draw_chart
from sfumato.core.drawing import (
    AFTER,
    INK,
    OUTLINES,
    SOFT,
    Drawing,
    Mark,
    Pen,
    Ruler,
    Stroke,
    draw_axes,
    plain_numbers,
    rounded_out,
    staircase,
    ticks,
    width_of,
)
from sfumato.core.words import percent_tick
from sfumato.release.report.charts import chart_attacks, chart_class_sizes, chart_levels
from sfumato.release.report.risk_utility import chart_candidates
from tests.release.report import samples
from tests.release.report.samples import owner_page, public_page
from tests.release.report.test_risk_utility import THREE

HOSTILE = '<script>alert(1)</script>&"]]>'


def everything(words: str = "word") -> Drawing:
    """A drawing with one of each thing."""
    made = Drawing(100, 50, left=20, right=5, top=10, bottom=30)
    draw_axes(
        made,
        Ruler([(0, "0"), (100, "1")], title=words, flush=True),
        Ruler([(25, words)]),
    )
    made.rect(0, 0, 40, 10, Pen(AFTER, SOFT, opacity=0.5))
    made.rule((0, 20), (100, 20), Pen(stroke=INK, dashed=True))
    made.drawn.append(Stroke(staircase([(0, 0), (50, 20), (100, 50)]), Pen(stroke=AFTER, width=2)))
    made.drawn += [Mark(50, 25, shape, 100, Pen(AFTER), words) for shape in ("circle", *OUTLINES)]
    made.text(10, 10, words, align="right", bold=True)
    made.text(30, 40, words, SOFT, align="center", angle=315, dx=-4)
    return made


def said(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter() if node.tag.endswith("}text")]


@given(st.text(max_size=40))
def test_any_text_stays_text(words):
    root = ET.fromstring(everything(words).svg(words))
    kinds = {node.tag.split("}")[1] for node in root.iter()}
    assert kinds <= {"svg", "g", "rect", "line", "path", "circle", "text", "title"}
    assert not [
        name
        for node in root.iter()
        for name in node.attrib
        if name.startswith("on") or "href" in name
    ]
    shown = "".join(c if c.isprintable() else " " for c in words)
    assert root.get("aria-label", "") == shown
    assert {node.text or "" for node in root.iter() if node.tag.endswith("}title")} <= {shown}


def test_hostile_names_are_escaped_on_both_pages():
    record = samples.renamed(samples.full_record(), {"age": HOSTILE, "sex": f"{HOSTILE} (2)"})
    for page in (owner_page(record), public_page(record["certificate"])):
        assert "<script" not in page and "&lt;script&gt;" in page
        for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            ET.fromstring(svg)


def test_pages_need_neither_altair_nor_a_converter():
    code = (
        "import sys; from tests.release.report import samples;"
        " record = samples.full_record(); samples.owner_page(record);"
        " samples.public_page(record['certificate']);from sfumato.release.report.risk_utility import"
        " comparison_page; from tests.release.report.test_risk_utility import"
        " THREE;comparison_page(THREE); print({'altair', 'vl_convert'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_here()
    )
    assert done.stdout.strip() == "set()"


def _here() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(filter(None, ["", *sys.path]))}


DRAWINGS = {
    "everything": everything,
    "bars": lambda: draw_chart(chart_class_sizes({"3": 2}, 3, {"1": 4})),
    "levels": lambda: draw_chart(chart_levels([{"levels": {"age": {"level": 2, "top": 4}}}])),
    "attacks": lambda: draw_chart(chart_attacks(samples.full_record()["certificate"]["attacks"])),
    "map": lambda: draw_chart(chart_candidates(THREE)),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_chart_of_a_notebook_is_the_same_picture(name):
    """Vega draws the chart with all words of the SVG in the same places, as many shapes, and in the
    same size.
    """
    import vl_convert

    made = DRAWINGS[name]()
    ours, vegas = (
        made.svg(),
        vl_convert.vegalite_to_svg(made.chart().to_dict(validate=name == "everything")),
    )
    assert sorted(filter(None, said(ours))) == sorted(filter(None, said(vegas)))
    assert [
        ET.fromstring(svg).get(side) for svg in (ours, vegas) for side in ("width", "height")
    ] == [str(side) for side in (*made.extent, *made.extent)]
    assert straight(ours, made) == pytest.approx(straight(vegas, made), abs=0.02)


def straight(svg: str, made: Drawing) -> list[float]:
    """Where upright words begin, from the left edge of the picture, in order."""
    found = []
    for node in ET.fromstring(svg).iter():
        if node.tag.endswith("}text") and node.text and "rotate" not in node.get("transform", ""):
            place = re.match(r"translate\(([-\d.]+)", node.get("transform", ""))
            found.append(float(place[1]) if place else float(node.get("x")) + made.left)
    return sorted(found)


spans = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


@given(spans, st.integers(3, 10))
def test_ticks_are_round_few_and_within(span, count):
    low, high = span
    found = ticks(low, high, count)
    assert count / 2.5 <= len(found) <= 2.5 * count
    steps = [b - a for a, b in itertools.pairwise(found)]
    assert all(step == pytest.approx(steps[0], rel=1e-3) for step in steps)
    assert f"{steps[0]:.3e}"[:5] in {"1.000", "2.000", "5.000"}
    room = 1e-6 * (high - low)
    assert all(low - room <= tick <= high + room for tick in found)
    assert low > found[0] - steps[0] - room and high < found[-1] + steps[0] + room, (
        "none is left out at the ends"
    )
    assert len(set(plain_numbers(found))) == len(found)


@given(spans)
def test_a_rounded_range_holds_the_range(span):
    low, high = rounded_out(*span)
    room = 1e-6 * (span[1] - span[0])
    assert low <= span[0] + room and high >= span[1] - room
    assert high - low <= 1.6 * (span[1] - span[0])


@given(st.floats(0, 1))
def test_percentages_are_read_back(share):
    tick = percent_tick(share)
    assert float(tick.rstrip("%")) == pytest.approx(100 * share, abs=1e-6)
    assert not re.search(r"\.\d*0%$|\.%$", tick)


def test_words_of_an_axis_do_not_run_into_each_other():
    words = [(40.0 * i, f"{10**8 * i:,}") for i in range(8)]
    made = Drawing(300, 100)
    draw_axes(made, Ruler(words))
    shown = [one for one in made.drawn if hasattr(one, "words")]
    assert 1 < len(shown) < 8
    for a, b in itertools.pairwise(shown):
        assert b.x - a.x >= (width_of(a.words, a.size) + width_of(b.words, b.size)) / 2


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=9))
def test_a_staircase_has_no_slopes_and_every_corner(corners):
    way = staircase(corners)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(way))
    assert way[::2] == tuple(corners)


def test_marks_of_one_size_are_equally_wide():
    for corners in OUTLINES.values():
        assert max(max(map(abs, corner)) for corner in corners) == 1
    assert 'r="5"' in Mark(0, 0, "circle", 100, Pen(INK)).svg()
