"""Blocks in a notebook: all words are there, escaped, and numbers stand on the right."""

from __future__ import annotations

from sfumato.core.block_html import MOST_ROWS, render_html, render_notebook
from sfumato.core.blocks import (
    Block,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
    VerdictBlock,
)

HOSTILE = "<script>alert(1)</script>"


def test_every_block_escapes_its_words() -> None:
    blocks: list[Block] = [
        Heading(HOSTILE),
        Paragraph(HOSTILE),
        VerdictBlock(True, HOSTILE, HOSTILE),
        VerdictBlock(None, HOSTILE, headline=True),
        ListBlock((HOSTILE,), HOSTILE),
        TableBlock((HOSTILE,), ((HOSTILE,),), HOSTILE),
        CodeBlock(HOSTILE),
        FoldBlock(HOSTILE, (Paragraph(HOSTILE),)),
    ]
    for block in blocks:
        shown = render_html([block])
        assert "<script" not in shown and "&lt;script&gt;" in shown


def test_shares_are_percentages_on_the_right_and_commands_are_code() -> None:
    shown = render_html(
        [
            TableBlock(("risk", "value"), (("marketer risk", Share(0.125)),)),
            Paragraph("run `sfumato`"),
        ]
    )
    assert "12.5 %" in shown and shown.count('class="number"') == 2
    assert "run <code>sfumato</code>" in shown


def test_rows_beyond_the_most_are_counted() -> None:
    rows = tuple((str(place),) for place in range(MOST_ROWS + 7))
    assert "… and 7 more" in render_notebook([TableBlock(("column",), rows)])
