"""Tables for notebooks: plain HTML with its style inline, every text escaped, so that a column may be called anything.

Colours are those of the notebook, which may be dark, but for the mark of a headline, which reads on both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

MOST_ROWS = 200
GOOD, BAD = "#2f7fc1", "#c8641a"
_TABLE = "border-collapse: collapse; margin: 0 0 1em; font-size: 0.95em"
_HEAD = "text-align: left; padding: 0.2em 1em 0.2em 0; border-bottom: 1px solid; font-weight: 600"
_CELL = "text-align: {align}; padding: 0.2em 1em 0.2em 0; vertical-align: top"
_CAPTION = "caption-side: top; text-align: left; padding: 0.3em 0; opacity: 0.8"


def html_headline(text: str, *, good: bool) -> str:
    """The verdict in one line, over everything else; only one without reservation has the good colour.

    >>> html_headline("a < b", good=True).count("a &lt; b")
    1
    """
    line = f"border-left: 5px solid {GOOD if good else BAD}; padding: 0.2em 0 0.2em 0.7em; margin: 0.3em 0 0.8em"
    return f'<p style="{line}; font-size: 1.25em; font-weight: 600">{escape(text)}</p>'


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption; numbers are aligned to the right, and rows beyond the first two hundred are counted.

    >>> print(html_table("<b>", ["name"], [["a & b"]]).replace(f' style="{_TABLE}"', ""))  # doctest: +ELLIPSIS
    <table><caption style=...>&lt;b&gt;</caption><thead><tr><th scope="col" ...>name</th>...<td ...>a &amp; b</td></tr></tbody></table>
    """
    all_rows = list(rows)
    top = "".join(f'<th scope="col" style="{_HEAD}">{escape(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in all_rows[:MOST_ROWS])
    left = len(all_rows) - MOST_ROWS
    foot = f'<tfoot><tr><td colspan="{len(heads)}">… and {left:,} more</td></tr></tfoot>' if left > 0 else ""
    heading = f'<caption style="{_CAPTION}">{escape(caption)}</caption>' if caption else ""
    return f'<table style="{_TABLE}">{heading}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>{foot}</table>'


def html_list(title: str, entries: Iterable[str]) -> str:
    """A titled list; nothing without entries."""
    items = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f'<p style="margin: 0">{escape(title)}</p><ul style="margin: 0 0 1em">{items}</ul>' if items else ""


def html_verdicts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    """Promises with what was attained; nothing without any."""
    rows = [
        ("✓ holds" if v["holds"] else "✗ does not hold", v["promise"], v["sentence"], v["attained"], v["required"])
        for v in verdicts
    ]
    return html_table("", ("", "promise", "what it says", "attained", "required"), rows) if rows else ""


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return _told("yes" if value else "no", "left")
    if isinstance(value, int | float):
        return _told(f"{value:,}" if isinstance(value, int) else f"{value:,.4g}", "right")
    return _told("–" if value is None else escape(str(value)), "left")


def _told(text: str, align: str) -> str:
    return f'<td style="{_CELL.format(align=align)}">{text}</td>'
