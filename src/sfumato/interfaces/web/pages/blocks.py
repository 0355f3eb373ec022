"""Blocks of a result in the workbench; see ``core/blocks.py``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sfumato.core.blocks import (
    Block,
    Cell,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
    VerdictBlock,
    cell_text,
    numeric_columns,
)
from sfumato.core.words import percent
from sfumato.interfaces.web.pages.charts import draw_chart
from sfumato.interfaces.web.pages.parts import Words, element, text
from sfumato.interfaces.web.pages.tables import folded

STATES = {True: "holds", False: "broken", None: "mixed"}
TONES = {"plain": (), "strong": ("strong",), "quiet": ("soft", "small"), "warning": ("problem",)}


def draw_blocks(blocks: Iterable[Block]) -> None:
    """Draw what a result says, one block below the other."""
    for block in blocks:
        _draw_block(block)


def _draw_block(block: Block) -> None:
    match block:
        case Heading(words, level):
            text(words, f"h{level + 1}")
        case Paragraph(words, tone):
            with element("p", *TONES[tone]):
                _inline(f"! {words}" if tone == "warning" else words)
        case VerdictBlock(holds, _, _, True):
            text(block.text, "p", "headline", f"state-{STATES[holds]}", role="status")
        case VerdictBlock():
            _draw_verdict(block)
        case ListBlock(entries, title):
            if title:
                text(title, "h3")
            with element("ul"):
                for entry in entries:
                    text(entry, "li")
        case TableBlock():
            _draw_table(block)
        case CodeBlock(words, _):
            text(words, "pre", "mono", "small")
        case ChartBlock():
            draw_chart(block)
            with folded("The same as a table", key=f"table of {block.alternative_text}"):
                _draw_table(block.data_table())
        case FoldBlock(title, inner, unfolded):
            with folded(title, key=f"fold {title}", unfolded=unfolded):
                draw_blocks(inner)


def _draw_verdict(block: VerdictBlock) -> None:
    words = {True: "holds", False: "does not hold", None: "unknown"}[block.holds]
    with element("p", "verdict", "kept" if block.holds else "broken"):
        text(block.mark, "span", "mark", aria_label=words, role="img")
        with element("span"):
            if block.sentence:
                text(f"{block.title}: ", "span", "strong")
            _inline(block.sentence or block.title)


def _draw_table(block: TableBlock) -> None:
    """A table in a box that scrolls sideways, by keys too."""
    numeric = numeric_columns(block)
    label = block.caption or ", ".join(block.header)
    with (
        element("div", "scroll", tabindex=0, role="region", aria_label=label),
        element("table", "points"),
    ):
        if block.caption:
            text(block.caption, "caption")
        if any(block.header):
            with element("thead"), element("tr"):
                for head, number in zip(block.header, numeric, strict=True):
                    if head:
                        text(head, "th", number and "num", scope="col")
                    else:
                        element("td")  # a screen reader would announce an empty heading
        with element("tbody"):
            for row in block.rows:
                with element("tr"):
                    for position, (cell, number) in enumerate(zip(row, numeric, strict=True)):
                        _draw_cell(cell, head=position == 0, number=number)


def _draw_cell(cell: Cell, *, head: bool, number: bool) -> None:
    about = {"scope": "row"} if head else {}
    with element("th" if head else "td", number and "num", **about):
        if isinstance(cell, Share) and cell.bar:
            meter(cell.value)
        else:
            Words(cell_text(cell))


def meter(share: float) -> None:
    """A share as a bar with its number."""
    element("progress", "share", value=min(1.0, share), max=1, aria_hidden="true")
    text(percent(share))


def _inline(words: str) -> None:
    """A sentence; what stands between backticks is a command."""
    for position, part in enumerate(re.split("`", words)):
        if position % 2:
            text(part, "span", "mono")
        else:
            Words(part)
