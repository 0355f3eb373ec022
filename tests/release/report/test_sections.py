"""Sections that pages share say the same as text and as HTML."""

from __future__ import annotations

import html
import re

from sfumato.core.block_html import render_html
from sfumato.core.blocks import ChartBlock, render_text
from sfumato.core.shape import Shape
from sfumato.release.report.pages import charts_of, describe_owner_page, describe_shared_page
from sfumato.release.report.sections import attack_blocks, recipe_blocks, verdict_blocks
from tests.release.report import samples


def test_text_and_page_say_the_same_words() -> None:
    certificate = samples.full_record()["certificate"]
    for blocks in (
        verdict_blocks(certificate, certificate["attacks"]),
        attack_blocks(certificate["attacks"], Shape.TABLE),
        recipe_blocks(certificate),
    ):
        told = [block for block in blocks if not isinstance(block, ChartBlock)]
        page = html.unescape(re.sub(r"<[^>]+>", " ", render_html(told)))
        text = render_text(told).replace("`", " ")
        assert sorted(re.findall(r"\w+", page)) == sorted(re.findall(r"\w+", text))


def test_charts_of_a_page_have_names_of_their_own() -> None:
    record = samples.full_record()
    shared = charts_of(describe_shared_page(record["certificate"]).blocks)
    owner = charts_of(describe_owner_page(record).blocks)
    assert {"class_sizes", "levels", "attacks"} <= set(shared)
    assert {"risks", "class_sizes", "associations", "column_01_age"} <= set(owner)
    assert not {"risks", "associations"} & set(shared), "nothing of the original is shared"


def test_a_promise_that_fails_in_one_of_many_columns_is_shown_by_itself() -> None:
    certificate = samples.full_record()["certificate"]
    verdict = certificate["verdicts"][0]
    many = [{**verdict, "promise": f"2-diversity of c{i}", "holds": i != 3} for i in range(9)]
    text = render_text(verdict_blocks({**certificate, "verdicts": many}, None, is_first=False))
    assert "2-diversity of 8 columns holds" in text
    assert "9 columns" not in text
    assert "✗ 2-diversity of c3" in text
