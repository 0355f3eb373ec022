"""Pictures of a story: cards, maps of pairs, bars of what is gone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.blocks import ChartBlock
from sfumato.core.chart_drawing import _width, draw_chart, labels
from sfumato.release.report.charts import (
    MOST_COLUMNS,
    chart_distribution,
    chart_missing_cells,
    chart_pairs,
)
from tests.release.report import samples

HOSTILE = [
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    "\u202eمريض\u202c",
    "\U0001f9d1\u200d\U0001f52c 漢字",
    "a" * 400,
    "'\"&;]]>",
    "${7*7} {{ 7*7 }} datum.x",
]


def svg_of(chart: ChartBlock) -> str:
    return draw_chart(chart).svg()


def texts(svg: str) -> list[str]:
    return [
        "".join(node.itertext()) for node in ET.fromstring(svg).iter() if node.tag.endswith("text")
    ]


def card(bins, before, after, column="age"):
    return {
        "column": column,
        "roles": ["quasi"],
        "loss": 0,
        "distance": 0,
        "bins": bins,
        "before": before,
        "after": after,
    }


def test_a_card_tells_its_numbers():
    drawn = chart_distribution(card(["young", "old"], [0.25, 0.75], [0.5, 0.5]))
    assert (
        drawn.alternative_text
        == "Distribution of age. young: 25 % before, 50 % after; old: 75 % before, 50 % after."
    )
    assert {"young", "old"} <= set(texts(svg_of(drawn)))


def test_bars_are_as_high_as_their_shares():
    """Half the share, half the height: what the eye reads is what the numbers say."""
    drawn = svg_of(chart_distribution(card(["a", "b"], [0.8, 0.2], [0.4, 0.6])))
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)"', drawn)]
    tallest = max(heights)
    assert sorted(h / tallest * 0.8 for h in heights) == pytest.approx(
        [0.2, 0.4, 0.6, 0.8], abs=0.005
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    pictures = [
        chart_distribution(card([name, "b"], [0.5, 0.5], [0.5, 0.5], column=name)),
        chart_pairs("pairs", [name, "b", "c"], [0.1, 0.2, 0.3], "Pairs."),
        chart_missing_cells({name: 0.5, "b": 0.25}),
    ]
    for picture in pictures:
        root = ET.fromstring(svg_of(picture))
        kinds = {node.tag.split("}")[-1] for node in root.iter()}
        assert kinds <= {"svg", "g", "path", "rect", "text", "line", "defs", "clipPath", "tspan"}
        assert not [
            a
            for node in root.iter()
            for a in node.attrib
            if a.startswith("on") or a.endswith("href")
        ]
        assert name in picture.alternative_text
        assert len(max(texts(svg_of(picture)), key=len)) < 40


def test_one_bin_no_bin_and_nothing_in_it():
    assert (
        "all: 100 % before, 100 % after"
        in chart_distribution(card(["all"], [1], [1])).alternative_text
    )
    assert (
        "gone: 100 % before, 0 % after"
        in chart_distribution(card(["gone"], [1.0], [0.0])).alternative_text
    )
    assert chart_distribution(card([], [], [])).alternative_text == "Distribution of age. ."
    ET.fromstring(svg_of(chart_distribution(card(["zero"], [0.0], [0.0]))))


def test_map_has_a_square_for_every_pair_that_moved():
    drawn = chart_pairs("pairs", ["a", "b", "c"], [0.5, 0.0, 0.25], "Moved.")
    assert drawn.alternative_text == "Moved. b and a: 0.5; c and b: 0.25; c and a: 0."
    assert "Largest: b and a, 0.5." in drawn.caption
    assert len(re.findall(r'<path[^>]*fill="#0b5394"', svg_of(drawn))) == 2


def test_more_and_less_differ_without_colour():
    drawn = chart_pairs("pairs", ["a", "b", "c"], [0.5, -0.5, -0.25], "V.", signed=True)
    assert len(re.findall(r'<path[^>]*fill="#0b5394"', svg_of(drawn))) == 1
    assert len(re.findall(r'<path[^>]*fill="white"[^>]*stroke="#1b2430"', svg_of(drawn))) == 2
    assert "hollow: less" in drawn.caption
    assert "Largest: b and a, 0.5." in drawn.caption or "c and a, -0.5" in drawn.caption


def test_names_that_are_equal_once_shortened_have_places_of_their_own():
    names = [f"a_very_long_common_beginning_{i}" for i in range(4)]
    drawn = chart_pairs("pairs", names, [0.5] * 6, "Moved.")
    places = set(re.findall(r'<path d="M([-\d.,]+)L', svg_of(drawn)))
    assert len(places) == 6


@pytest.mark.parametrize("columns", [[], ["only"]])
def test_no_map_without_a_pair(columns):
    assert chart_pairs("pairs", columns, [], "Moved.") is None


def test_nothing_moved():
    drawn = chart_pairs("pairs", ["a", "b"], [0.0], "Moved.")
    assert "b and a: 0" in drawn.alternative_text
    assert "#0b5394" not in svg_of(drawn)


def test_many_pairs_are_counted_in_words():
    names = [f"c{i}" for i in range(12)]
    words = chart_pairs("pairs", names, [i / 100 for i in range(66)], "Moved.").alternative_text
    assert words.count(" and ") == 12
    assert "54 pairs are nearer to 0" in words


def test_what_is_gone():
    drawn = chart_missing_cells({"a": 0.25, "b": 1.0, "c": 0.0})
    assert drawn.alternative_text == "Suppressed cells. b: 100 %; a: 25 %; c: 0 %."
    assert chart_missing_cells({"a": 0.0}) is None
    assert chart_missing_cells({}) is None
    many = chart_missing_cells({f"c{i:02d}": (i + 1) / 100 for i in range(60)})
    assert f"{60 - MOST_COLUMNS} columns with smaller shares are not shown." in many.caption
    assert len([t for t in texts(svg_of(many)) if re.fullmatch(r"c\d\d", t)]) == MOST_COLUMNS


def test_columns_that_lost_equally_little_share_a_bar():
    names = [f"a_column_with_a_long_name_{i}" for i in range(41)]
    drawn = chart_missing_cells(dict.fromkeys(names, 0.019) | {"education": 1.0})
    assert [t for t in texts(svg_of(drawn)) if t not in ("column", "suppressed")] == [
        "education",
        "41 other columns",
        "100 %",
        "1.9 %",
    ]
    assert "41 columns with the same share have one bar." in drawn.caption
    assert all(name in drawn.alternative_text for name in names)
    assert "all 41 columns" in texts(svg_of(chart_missing_cells(dict.fromkeys(names, 0.019))))


def test_different_columns_and_bins_have_different_labels():
    columns = ["country_of_birth_father", "country_of_birth_mother", "country_of_birth_self", "age"]
    said = texts(svg_of(chart_pairs("pairs", columns, [0.1] * 6, "")))
    assert len(set(said)) == len(columns)
    bins = [
        "Child 18+ ever married, in a subfamily",
        "Child 18+ ever married, not in one",
        "Child 18+ never married",
        "x" * 60,
    ]
    said = [
        t
        for t in texts(svg_of(chart_distribution(card(bins, [0.25] * 4, [0.25] * 4))))
        if "%" not in t
    ]
    assert len(set(said)) == len(bins)


@given(
    st.lists(st.text(max_size=40), max_size=8, unique_by=lambda t: labels([t], 100)[0]),
    st.integers(8, 20),
)
def test_labels_tell_apart_what_is_different_and_stay_short(names, most):
    shown = labels(names, most)
    assert len(set(shown)) == len(names)
    assert all(_width(label) <= most for label in shown)


def test_same_story_same_pictures():
    def drawn():
        told = samples.story()
        return [svg_of(chart_distribution(c)) for c in told["cards"]]

    assert drawn() == drawn()
