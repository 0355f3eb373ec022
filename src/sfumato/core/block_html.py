"""Blocks as HTML for notebooks: plain, with its style inline, every text escaped, so that a column
may be called anything.

Colours are those of the notebook, which may be dark, but for the mark of a headline, which reads on
both.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Sequence
from html import escape

from sfumato.core.blocks import (
    Block,
    Cell,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    TableBlock,
    VerdictBlock,
    cell_text,
    numeric_columns,
    render_text,
)

MOST_ROWS = 200
GOOD, BAD = "#2f7fc1", "#c8641a"
_TABLE = "border-collapse: collapse; margin: 0 0 1em; font-size: 0.95em"
_HEAD = (
    "text-align: {align}; padding: 0.2em 1em 0.2em 0; border-bottom: 1px solid; font-weight: 600"
)
_CELL = "text-align: {align}; padding: 0.2em 1em 0.2em 0; vertical-align: top"
_CAPTION = "caption-side: top; text-align: left; padding: 0.3em 0; opacity: 0.8"
_TONES = {
    "plain": "",
    "strong": "font-weight: 600",
    "quiet": "opacity: 0.8",
    "warning": f"color: {BAD}",
}
_CODE = re.compile("`([^`]+)`")


class Reportable(abc.ABC):
    """A result that says what it is in blocks: as text, and in a notebook."""

    @abc.abstractmethod
    def blocks(self) -> Sequence[Block]:
        """What the result says, without a data value."""

    def __str__(self) -> str:
        return render_text(self.blocks())

    def _repr_html_(self) -> str:
        return render_html(self.blocks())


def render_html(blocks: Iterable[Block]) -> str:
    """The blocks for a notebook.

    >>> render_html([VerdictBlock(True, "a < b", headline=True)]).count("a &lt; b")
    1
    """
    return "".join(map(_block, blocks))


def inline(text: str) -> str:
    """A sentence as HTML; what stands between backticks is code.

    >>> inline("run `sfumato attack` & look")
    'run <code>sfumato attack</code> &amp; look'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level + 2}>{inline(text)}</h{level + 2}>"
        case Paragraph(text, tone):
            return f'<p style="margin: 0 0 0.5em; {_TONES[tone]}">{inline(text)}</p>'
        case VerdictBlock(holds, _, _, True):
            colour = GOOD if holds else BAD
            line = (
                f"border-left: 5px solid {colour}; padding: 0.2em 0 0.2em 0.7em; margin: 0.3em 0"
                " 0.8em"
            )
            return (
                f'<p style="{line}; font-size: 1.25em; font-weight: 600">{inline(block.text)}</p>'
            )
        case VerdictBlock(_, title, sentence, _):
            about = f": {inline(sentence)}" if sentence else ""
            return (
                f'<p style="margin: 0 0 0.5em">{block.mark}'
                f" <strong>{inline(title)}</strong>{about}</p>"
            )
        case ListBlock(entries, title):
            items = "".join(f"<li>{inline(entry)}</li>" for entry in entries)
            return (
                f'<p style="margin: 0">{inline(title)}</p><ul style="margin: 0 0 1em">{items}</ul>'
            )
        case TableBlock():
            return _table(block)
        case CodeBlock(text, _):
            return f"<pre>{escape(text)}</pre>"
        case ChartBlock():
            label = escape(block.alternative_text)
            return (
                f'<figure style="margin: 0 0 1em" aria-label="{label}">{_table(block.data_table())}'
                f"<figcaption>{inline(block.caption)}</figcaption></figure>"
            )
        case FoldBlock(title, inner, _):
            return f"<details><summary>{inline(title)}</summary>{render_html(inner)}</details>"


def _table(table: TableBlock) -> str:
    """A table with a caption; rows beyond the first two hundred are counted."""
    sides = ["right" if numeric else "left" for numeric in numeric_columns(table)]
    top = ""
    for head, side in zip(table.header, sides, strict=True):
        top += f'<th scope="col" style="{_HEAD.format(align=side)}">{inline(head)}</th>'
    body = "".join(f"<tr>{_cells(row, sides)}</tr>" for row in table.rows[:MOST_ROWS])
    left = len(table.rows) - MOST_ROWS
    foot = ""
    if left > 0:
        foot = f'<tfoot><tr><td colspan="{len(table.header)}">… and {left:,} more</td></tr></tfoot>'
    caption = (
        f'<caption style="{_CAPTION}">{inline(table.caption)}</caption>' if table.caption else ""
    )
    head = f"<thead><tr>{top}</tr></thead>" if any(table.header) else ""
    drawn = f'<table style="{_TABLE}">{caption}{head}<tbody>{body}</tbody>{foot}</table>'
    return f'<div style="overflow-x: auto">{drawn}</div>'


def _cells(row: Iterable[Cell], sides: Iterable[str]) -> str:
    cells = []
    for cell, side in zip(row, sides, strict=True):
        cells.append(f'<td style="{_CELL.format(align=side)}">{inline(cell_text(cell))}</td>')
    return "".join(cells)
