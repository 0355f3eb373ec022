"""Blocks as HTML, for pages and notebooks: every text escaped, so that a column may be called
anything.

The elements have classes and no style. Pages bring their own style sheet; a notebook, which may be
dark, gets the few rules of ``notebook.css``.
"""

from __future__ import annotations

import abc
import dataclasses
import re
import secrets
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from sfumato.core.blocks import (
    Block,
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

WIDGET_STYLE = (
    ".sfumato thead button { all: unset; cursor: pointer; font-weight: 600 }"
    ".sfumato thead button:focus-visible { outline: 2px solid }"
    '.sfumato th[aria-sort="ascending"] button::after { content: " ▲" }'
    '.sfumato th[aria-sort="descending"] button::after { content: " ▼" }'
)
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

    def show(self) -> Widget:
        """The same for a notebook, with tables that a click sorts and that can be searched; it
        needs no server.
        """
        return Widget(self.blocks())


@dataclasses.dataclass(frozen=True, repr=False)
class Widget:
    """Blocks that a notebook draws and that answer to clicks, in plain HTML with a script of their
    own; as text elsewhere.
    """

    blocks: Sequence[Block]

    def __repr__(self) -> str:
        return render_text(self.blocks)

    def _repr_html_(self) -> str:
        """The blocks with a script that finds them by a name of their own: a notebook shows many.

        >>> from sfumato.core.blocks import Paragraph
        >>> html = Widget([Paragraph("</script><script>alert(1)</script>")])._repr_html_()
        >>> html.count("<script>"), html.count("</script>")
        (1, 1)
        """
        name = f"sfumato-{secrets.token_hex(8)}"
        script = Path(__file__).with_name("widget.js").read_text("utf-8")
        function = "\n".join(line for line in script.splitlines() if not line.startswith("//"))
        return (
            f'<style>{WIDGET_STYLE}</style><div id="{name}">{render_notebook(self.blocks)}</div>'
            f"<script>({function})(document.getElementById({name!r}));</script>"
        )


def render_notebook(blocks: Iterable[Block]) -> str:
    """The blocks for a notebook, below whose headings theirs are."""
    html = render_html(blocks, top_level=3, most_rows=MOST_ROWS)
    style = Path(__file__).with_name("notebook.css").read_text("utf-8")
    return f'<style>{style}</style><div class="sfumato">{html}</div>'


def render_html(
    blocks: Iterable[Block], *, top_level: int = 1, most_rows: int | None = None
) -> str:
    """The blocks as elements; ``top_level`` is the rank of a heading of level 1, ``most_rows`` how
    much of a table is shown.

    >>> render_html([Paragraph("a < b", "quiet")])
    '<p class="quiet">a &lt; b</p>'
    """
    from sfumato.core.chart_drawing import draw_chart

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
                # A notebook has headings of its own: there a headline is a paragraph.
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
                html += _table(block, most_rows)
            case CodeBlock(text):
                html += f"<pre>{escape(text)}</pre>"
            case ChartBlock():
                html += f'<figure class="{block.kind}">'
                if block.title:
                    rank = top_level + 2
                    html += f"<h{rank}><bdi>{escape(block.title)}</bdi></h{rank}>"
                html += f'<div role="img" aria-label="{escape(block.alternative_text)}">'
                # An element of a page needs no namespace.
                html += draw_chart(block).svg().replace(_NAMESPACE, "", 1) + "</div>"
                if block.caption:
                    html += f"<figcaption>{inline(block.caption)}</figcaption>"
                html += "</figure>"
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


def _table(table: TableBlock, most_rows: int | None) -> str:
    """A table, or terms with what is said of them where the header is empty; a first cell that
    begins with ✗ marks its row.
    """
    rows = table.rows[:most_rows]
    if not any(table.header):
        html = '<dl class="figures">' if table.figures else '<dl class="list">'
        for term, *cells in rows:
            words = "<br>".join(inline(cell_text(cell)) for cell in cells)
            html += f"<div><dt>{inline(cell_text(term))}</dt><dd>{words}</dd></div>"
        return html + "</dl>"
    numeric = numeric_columns(table)
    html = "<table>"
    if table.caption:
        html += f"<caption>{inline(table.caption)}</caption>"
    html += "<thead><tr>"
    for head, right in zip(table.header, numeric, strict=True):
        side = ' class="number"' if right else ""
        html += f'<th scope="col"{side}>{inline(head)}</th>'
    html += "</tr></thead><tbody>"
    for row in rows:
        title = cell_text(row[0])
        html += '<tr class="broken">' if title.startswith("✗") else "<tr>"
        html += f'<th scope="row"><bdi>{inline(title)}</bdi></th>'
        for head, cell, right in zip(table.header[1:], row[1:], numeric[1:], strict=True):
            side = ' class="number"' if right else ""
            html += f'<td{side} data-label="{escape(head)}">{inline(cell_text(cell))}'
            if isinstance(cell, Share) and cell.bar:
                # A bar never leaves its cell.
                html += f'<span class="bar" style="--share: {min(1.0, cell.value):.3f}"></span>'
            html += "</td>"
        html += "</tr>"
    html += "</tbody>"
    hidden = len(table.rows) - len(rows)
    if hidden:
        span = len(table.header)
        html += f'<tfoot><tr><td colspan="{span}">… and {number(hidden)} more</td></tr></tfoot>'
    return html + "</table>"
