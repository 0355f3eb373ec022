"""Blocks as HTML, for pages and notebooks: every text escaped, so that a column may be called
anything.

The elements have classes and no style. Pages bring their own style sheet; a notebook, which may be
dark, gets the few rules of ``notebook.css``.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

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
    render_text,
)
from sfumato.core.words import number

MOST_ROWS = 200
"""Rows of a table that a notebook shows."""
STATES = {True: "holds", False: "broken", None: "unknown"}
_CODE = re.compile("`([^`]+)`")
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


class Reportable(abc.ABC):
    """A result that says what it is in blocks: as text, and in a notebook."""

    @abc.abstractmethod
    def blocks(self) -> Sequence[Block]:
        """What the result says, without a data value."""

    def __str__(self) -> str:
        return render_text(self.blocks())

    def _repr_html_(self) -> str:
        return render_notebook(self.blocks())


def render_notebook(blocks: Iterable[Block]) -> str:
    """The blocks for a notebook, below whose headings theirs are."""
    shown = render_html(blocks, top_level=3, most_rows=MOST_ROWS)
    style = Path(__file__).with_name("notebook.css").read_text("utf-8")
    return f'<style>{style}</style><div class="sfumato">{shown}</div>'


def render_html(
    blocks: Iterable[Block], *, top_level: int = 1, most_rows: int | None = None
) -> str:
    """The blocks as elements; ``top_level`` is the rank of a heading of level 1, ``most_rows`` how
    much of a table is shown.

    >>> render_html([VerdictBlock(True, "a < b")])
    '<p class="verdict holds"><span class="mark">✓</span> <span><strong>a &lt; b</strong></span></p>'
    """
    html = ""
    for block in blocks:
        match block:
            case Heading(text, level):
                rank = level + top_level - 1
                html += f"<h{rank}>{inline(text)}</h{rank}>"
            case Paragraph(text, tone):
                role = ' role="note"' if tone == "warning" else ""
                html += f'<p class="{tone}"{role}>{inline(text)}</p>'
            case VerdictBlock(headline=True):
                tag = "h1" if top_level == 1 else "p"
                state = STATES[block.holds]
                html += f'<{tag} class="headline {state}">{inline(block.text)}</{tag}>'
            case VerdictBlock(holds, title, sentence):
                words = f"<strong>{inline(title)}</strong>"
                if sentence:
                    words += f": {inline(sentence)}"
                mark = f'<span class="mark">{block.mark}</span>'
                html += f'<p class="verdict {STATES[holds]}">{mark} <span>{words}</span></p>'
            case ListBlock(entries, title):
                if title:
                    html += f'<p class="strong">{inline(title)}</p>'
                items = "".join(f"<li>{inline(entry)}</li>" for entry in entries)
                html += f"<ul>{items}</ul>"
            case TableBlock():
                html += "".join(_table(block, most_rows))
            case CodeBlock(text):
                html += f"<pre>{escape(text)}</pre>"
            case ChartBlock():
                html += _figure(block, top_level)
            case FoldBlock(title, inner, unfolded):
                content = render_html(inner, top_level=top_level, most_rows=most_rows)
                start = "<details open>" if unfolded else "<details>"
                html += f"{start}<summary>{inline(title)}</summary>{content}</details>"
    return html


def inline(text: str) -> str:
    """A sentence as HTML; what stands between backticks is code.

    >>> inline("run `sfumato attack` & look")
    'run <code>sfumato attack</code> &amp; look'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _figure(chart: ChartBlock, top_level: int) -> str:
    from sfumato.core.chart_drawing import draw_chart

    title = f"<h{top_level + 2}><bdi>{escape(chart.title)}</bdi></h{top_level + 2}>"
    caption = f"<figcaption>{inline(chart.caption)}</figcaption>"
    drawing = f'<div role="img" aria-label="{escape(chart.alternative_text)}">'
    drawing += draw_chart(chart).svg().replace(_NAMESPACE, "", 1) + "</div>"
    kind = f'<figure class="{chart.kind}">'
    return (
        f"{kind}{title if chart.title else ''}{drawing}{caption if chart.caption else ''}</figure>"
    )


def _table(table: TableBlock, most_rows: int | None) -> Iterator[str]:
    """A table, or terms with what is said of them where the header is empty; a first cell that
    begins with ✗ marks its row.
    """
    rows = table.rows[:most_rows]
    if not any(table.header):
        yield '<dl class="figures">' if table.figures else '<dl class="list">'
        for term, *cells in rows:
            words = "<br>".join(inline(cell_text(cell)) for cell in cells)
            yield f"<div><dt>{inline(cell_text(term))}</dt><dd>{words}</dd></div>"
        yield "</dl>"
        return
    numeric = numeric_columns(table)
    yield "<table>"
    if table.caption:
        yield f"<caption>{inline(table.caption)}</caption>"
    yield "<thead><tr>"
    for head, right in zip(table.header, numeric, strict=True):
        side = ' class="number"' if right else ""
        yield f'<th scope="col"{side}>{inline(head)}</th>'
    yield "</tr></thead><tbody>"
    for row in rows:
        yield '<tr class="broken">' if cell_text(row[0]).startswith("✗") else "<tr>"
        yield f'<th scope="row"><bdi>{inline(cell_text(row[0]))}</bdi></th>'
        for head, cell, right in zip(table.header[1:], row[1:], numeric[1:], strict=True):
            side = ' class="number"' if right else ""
            yield f'<td{side} data-label="{escape(head)}">{_cell(cell)}</td>'
        yield "</tr>"
    yield "</tbody>"
    hidden = len(table.rows) - len(rows)
    if hidden:
        span = len(table.header)
        yield f'<tfoot><tr><td colspan="{span}">… and {number(hidden)} more</td></tr></tfoot>'
    yield "</table>"


def _cell(cell: Cell) -> str:
    words = inline(cell_text(cell))
    if isinstance(cell, Share) and cell.bar:
        words += f'<span class="bar" style="--share: {min(1.0, cell.value):.3f}"></span>'
    return words
