"""Blocks as plain text: nothing a block says is lost, and numbers line up."""

from __future__ import annotations

import dataclasses
import json

from sfumato.core.blocks import (
    ChartAxis,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Point,
    Series,
    Share,
    TableBlock,
    VerdictBlock,
    render_text,
)


def test_every_block_leaves_its_words() -> None:
    text = render_text(
        [
            Heading("visits.csv", 1),
            VerdictBlock(True, "2-anonymity", "no class is smaller", headline=True),
            VerdictBlock(False, "3-diversity"),
            VerdictBlock(None, "linkage", "not tried"),
            Heading("Risks"),
            TableBlock(("risk", "value"), (("marketer risk", Share(0.125)),), "before"),
            Paragraph("the seed was chosen by hand", "warning"),
            ListBlock(("age", "zip"), "Columns"),
            CodeBlock("sfumato verify .\n"),
            FoldBlock("More", (Paragraph("folded"),)),
        ]
    )
    assert text.splitlines() == [
        "visits.csv",
        "✓ 2-anonymity: no class is smaller",
        "✗ 3-diversity",
        "? linkage: not tried",
        "",
        "Risks",
        "before",
        "risk            value",
        "marketer risk  12.5 %",
        "! the seed was chosen by hand",
        "Columns",
        "  age",
        "  zip",
        "    sfumato verify .",
        "",
        "More",
        "folded",
    ]


def test_columns_of_words_and_numbers_are_aligned_to_their_side() -> None:
    table = TableBlock(
        ("column", "values", "note"), (("age", 5, None), ("postcode", 1200, "coarse"))
    )
    assert render_text([table]).splitlines() == [
        "column    values  note",
        "age            5  –",
        "postcode   1,200  coarse",
    ]


def test_a_table_without_header_is_a_list_of_terms() -> None:
    assert (
        render_text([TableBlock(("", ""), (("name", "visits"), ("rows", 3)))])
        == "name  visits\nrows  3"
    )


def test_a_chart_is_plain_data_with_a_table_of_its_numbers() -> None:
    bars = (Point(0, 0.5, label="50 %"), Point(1, None, alarm=True))
    names = ChartAxis("attack", ("linkage", "skewness"))
    success = Series("success", bars)
    guess = Series("guessing", (Point(0, 0.1, 0.05, 0.2),), "tick")
    chart = ChartBlock(
        "attacks", "bars", names, ChartAxis(share=True), (success, guess), "Attacks."
    )
    plain = json.loads(json.dumps(dataclasses.asdict(chart)))
    assert plain["series"][0]["points"][1]["alarm"] is True
    assert chart.data_table() == TableBlock(
        ("attack", "success", "guessing"),
        (("linkage", "50 %", "10 % (5 % to 20 %)"), ("skewness", "unknown", None)),
    )
    assert render_text([chart]) == "Attacks."


def test_points_of_a_scatter_are_rows_of_their_table() -> None:
    dots = Series("recoding", (Point(0.25, 0.5, name="k=5"),), "dot")
    chart = ChartBlock(
        "candidates",
        "scatter",
        ChartAxis("loss"),
        ChartAxis("risk", share=True),
        (dots,),
        "Candidates.",
    )
    assert chart.data_table().rows == (("recoding", "0.25", "50 %", "k=5"),)
