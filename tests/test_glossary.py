"""Words that the glossary replaces are not used: not in README and docs, and less and less in src.

The last column of each table of docs/glossary.md lists them. Pages and parts of pages that tools
write from docstrings count as src.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
# How often each word may occur in strings of src. When a word becomes rarer, lower its number:
# python -m tests.test_glossary
COUNTS = Path(__file__).with_name("glossary_counts.json")
WRITTEN = "<!-- Written by tools/"
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path != GLOSSARY and "_build" not in path.parts
}


def replaced_words(glossary: str) -> list[str]:
    """The words of the last columns, which are separated by commas."""
    rows = [line for line in glossary.splitlines() if line.startswith("|")]
    cells = [row.strip("|").split("|")[-1].strip() for row in rows]
    words = [word.strip() for cell in cells for word in cell.split(",")]
    return [word for word in words if word not in ("", "not") and not word.startswith("---")]


WORDS = replaced_words(GLOSSARY.read_text(encoding="utf-8"))


def pattern(word: str) -> re.Pattern[str]:
    """A word, or several with any blanks between them, in small letters or capitals."""
    return re.compile(r"\b" + r"\s+".join(map(re.escape, word.split())) + r"\b", re.IGNORECASE)


def prose(page: str) -> str:
    """A page without code, comments, link targets and the parts that tools write."""
    page = re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", "", page, flags=re.DOTALL)
    page = re.sub(r"^ *(```|~~~).*?^ *\1", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    return re.sub(r"`[^`\n]+`|\]\([^)]*\)", "", page)


def source_strings() -> Iterator[str]:
    """Every string of the package: docstrings, messages and parts of messages."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def count_in_source() -> dict[str, int]:
    """How often each replaced word occurs in strings of the package."""
    text = "\n".join(source_strings())
    return {word: len(pattern(word).findall(text)) for word in WORDS}


@pytest.mark.parametrize("name", PAGES)
def test_pages_use_the_words_of_the_glossary(name: str) -> None:
    page = PAGES[name].read_text(encoding="utf-8")
    if WRITTEN in page:
        pytest.skip("written from docstrings, which are counted below")
    assert not [word for word in WORDS if pattern(word).search(prose(page))]


def test_replaced_words_become_rarer_in_the_source() -> None:
    allowed = json.loads(COUNTS.read_text(encoding="utf-8"))
    assert set(allowed) == set(WORDS), "run python -m tests.test_glossary"
    more = {word: count for word, count in count_in_source().items() if count > allowed[word]}
    assert not more, "use the word of docs/glossary.md instead"


def test_the_glossary_is_short_and_names_each_word_once() -> None:
    assert len(WORDS) == len(set(WORDS)) >= 20
    first_table = GLOSSARY.read_text(encoding="utf-8").split("\nPlain words")[0]
    assert len(re.findall(r"^\| ", first_table, re.MULTILINE)) - 1 <= 60


def test_a_replaced_word_is_found_in_prose_only() -> None:
    page = "It was told\nso. `told`\n\n```text\ntold\n```\n<!-- told -->\n[a](told.md)\n"
    assert pattern("told").findall(prose(page)) == ["told"]
    assert pattern("drawn anew").search("Drawn\nanew")
    assert replaced_words("| word | not |\n|---|---|\n| a | b c, d |\n| e | |\n") == ["b c", "d"]


if __name__ == "__main__":
    COUNTS.write_text(json.dumps(count_in_source(), indent=1) + "\n", encoding="utf-8")
