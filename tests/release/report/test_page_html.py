"""A page in one file: sections with anchors, contents where they help, and text that stays text."""

from __future__ import annotations

from sfumato.core.blocks import Block, Heading, Paragraph, VerdictBlock
from sfumato.release.report.page_html import ReportPage, as_shown, render_page


def page(*blocks: Block) -> str:
    return render_page(ReportPage("Title", "above", blocks, "below"))


def test_headings_begin_sections_and_what_comes_before_introduces() -> None:
    html = page(VerdictBlock(True, "it holds", headline=True), Heading("One"), Paragraph("first"))
    assert '<header><h1 class="headline holds">it holds</h1></header>' in html
    assert (
        '<section id="part-1"><h2>One</h2><div><p class="plain">first</p></div></section>' in html
    )
    assert "<nav" not in html


def test_many_sections_have_contents() -> None:
    html = page(*(Heading(f"Part {number}") for number in range(4)))
    assert html.count('<li><a href="#part-') == 4


def test_text_stays_text() -> None:
    hostile = "<script>alert(1)</script>"
    html = render_page(ReportPage(hostile, hostile, [Heading(hostile)], hostile))
    assert "<script" not in html and html.count("&lt;script&gt;") == 4


def test_control_signs_are_spelled_out_and_plain_documents_are_left_alone() -> None:
    plain = {"name": "Zoë", "counts": {"a": [1, "b"]}}
    assert as_shown(plain) == plain
    shown = as_shown({"a\u202e": ["x\x00y"], "path": "c:\\new"})
    assert shown["path"] == "c:\\new"
    assert "\u202e" not in "".join(shown) and all(name.isprintable() for name in shown)
    assert all(entry.isprintable() for entries in shown.values() for entry in entries)
