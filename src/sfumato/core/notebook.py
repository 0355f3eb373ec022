"""Tables for notebooks: plain HTML, every text escaped, so that a column may be called anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

MOST_ROWS = 200


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption; numbers are aligned to the right, and rows beyond the first two hundred are counted.

    >>> html_table("<b>", ["name"], [["a & b"]])
    '<table><caption>&lt;b&gt;</caption><thead><tr><th scope="col">name</th></tr></thead><tbody><tr><td>a &amp; b</td></tr></tbody></table>'
    """
    all_rows = list(rows)
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in all_rows[:MOST_ROWS])
    left = len(all_rows) - MOST_ROWS
    foot = f'<tfoot><tr><td colspan="{len(heads)}">… and {left:,} more</td></tr></tfoot>' if left > 0 else ""
    heading = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{heading}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>{foot}</table>"


def html_list(title: str, entries: Iterable[str]) -> str:
    """A titled list; nothing without entries."""
    items = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f"<p>{escape(title)}</p><ul>{items}</ul>" if items else ""


def html_verdicts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    """Promises with what was attained; nothing without any."""
    rows = [
        ("✓ holds" if v["holds"] else "✗ does not hold", v["promise"], v["sentence"], v["attained"], v["required"])
        for v in verdicts
    ]
    return html_table("", ("", "promise", "what it says", "attained", "required"), rows) if rows else ""


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | float):
        told = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
        return f'<td style="text-align: right">{told}</td>'
    return f"<td>{'–' if value is None else escape(str(value))}</td>"
