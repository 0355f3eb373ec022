"""The page of messages holds every sentence of the source."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "messages_page.py"))


def test_the_page_is_that_of_the_source():
    assert TOOL["PAGE"].read_text(encoding="utf-8") == TOOL["page"](), (
        "run python tools/messages_page.py"
    )


def test_messages_are_texts_of_four_words_with_names_filled_in():
    source = '''
"""A documentation string is no message of the product."""
LIMIT = 5
"""Nor is the text below a constant that documents it."""
def check(rows, name):
    if rows < LIMIT:
        raise ValueError(f"{name!r} has only {len(rows):,} rows; give more of them")
    return "two words"
'''
    assert list(TOOL["messages_of"](ast.parse(source))) == [
        "{name} has only {rows} rows; give more of them"
    ]
