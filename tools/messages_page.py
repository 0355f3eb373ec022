"""Collect every sentence that the product can print into docs/reference/messages.md:
``python tools/messages_page.py``.

A message is a text of four words or more in the source that is no documentation string. Values that
are filled in are shown by their name, ``{column}``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "sfumato"
PAGE = ROOT / "docs" / "reference" / "messages.md"
FEWEST_WORDS = 4
SENTENCE = re.compile(rf"(?:[^\W\d_][\w'’-]*\W?\s+\W?){{{FEWEST_WORDS - 1},}}[^\W\d_]")
INTRODUCTION = """# Messages

<!-- Written by tools/messages_page.py; change the messages and run it again. -->

For editors and translators: every sentence that sfumato can print, by module. Names in braces are
filled in; they are names of columns, numbers and options, never a value of the data.
"""


def text_of(node: ast.expr) -> str | None:
    """The text of a string or f-string, with the names of what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append("{" + _name_of(part.value) + "}")
        else:
            parts.append(text_of(part) or "")
    return "".join(parts)


def _name_of(node: ast.expr) -> str:
    """The last name in an expression: ``column`` for ``repr(self.column)``."""
    names = re.findall(r"[A-Za-z]\w*", re.sub(r"(['\"]).*?\1", "", ast.unparse(node)))
    return names[-1] if names else "…"


def messages_of(tree: ast.Module) -> Iterator[str]:
    """The messages of a module, in the order of its lines."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        # A text that stands alone documents what is above it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skipped:
            text = text_of(node)
            if text is not None and SENTENCE.search(text):
                texts.append((node.lineno, node.col_offset, " ".join(text.split())))
    for _, _, text in sorted(texts):
        yield text


def page() -> str:
    """The whole page."""
    sections = [INTRODUCTION]
    for path in sorted(SOURCE.rglob("*.py")):
        messages = list(dict.fromkeys(messages_of(ast.parse(path.read_text(encoding="utf-8")))))
        if messages:
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            lines = "\n".join(f"    {message}" for message in messages)
            sections.append(f"## `{name}`\n\n{lines}\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
