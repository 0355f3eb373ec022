"""Pages: blocks in a single file that needs no network; only the panel that checks a release has a
script.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from sfumato.core.block_html import inline, render_html
from sfumato.core.blocks import Block, Heading
from sfumato.core.fields import Document, Fields
from sfumato.errors import printable

STYLE_SHEETS = ("tokens.css", "style.css", "dark.css")
FEWEST_SECTIONS = 4
"""A page with fewer sections needs no list of contents."""


@dataclasses.dataclass(frozen=True)
class ReportPage:
    """A title, a line above everything, blocks, and a line below. Blocks up to the first heading of
    level 2 introduce the page; each such heading begins a section. ``checks`` adds the panel that
    checks the release.
    """

    title: str
    above: str
    blocks: Sequence[Block]
    below: str
    checks: bool = False


def render_page(page: ReportPage) -> str:
    """The page as HTML."""
    introduction: list[Block] = []
    sections: list[tuple[str, list[Block]]] = []
    for block in page.blocks:
        if isinstance(block, Heading) and block.level == 2:
            sections.append((block.text, []))
        elif sections:
            sections[-1][1].append(block)
        else:
            introduction.append(block)
    contents, body, policy, script = "", "", "", ""
    for number, (title, blocks) in enumerate(sections, 1):
        contents += f'<li><a href="#part-{number}">{inline(title)}</a></li>'
        body += (
            f'<section id="part-{number}"><h2>{inline(title)}</h2>'
            f"<div>{render_html(blocks)}</div></section>\n"
        )
    if page.checks:
        from sfumato.release.report import check_panel

        contents += f'<li><a href="#check">{check_panel.TITLE}</a></li>'
        body += (
            f'<section id="check"><h2>{check_panel.TITLE}</h2>'
            f"<div>{check_panel.panel_html()}</div></section>\n"
        )
        policy = check_panel.script_policy()
        script = f"<script>{check_panel.read_script()}</script>\n"
    if len(sections) + page.checks < FEWEST_SECTIONS:
        contents = ""
    else:
        contents = f'<nav aria-label="On this page"><ul>{contents}</ul></nav>\n'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy"'
        f" content=\"default-src 'none'; style-src 'unsafe-inline'{policy}\">\n"
        f"<title>{escape(page.title)}</title>\n<style>\n{_style()}</style>\n</head>\n"
        f'<body>\n<main>\n<p class="above">{inline(page.above)}</p>\n'
        f"<header>{render_html(introduction)}</header>\n{contents}{body}"
        f"<footer>{inline(page.below)}</footer>\n</main>\n{script}</body>\n</html>\n"
    )


@functools.cache
def _style() -> str:
    folder = Path(__file__).parent / "style"
    return "".join((folder / name).read_text("utf-8") for name in STYLE_SHEETS)


def as_shown(document: Fields) -> Document:
    """The document as its file would hold it, so that a page can be made again from the file alone;
    control signs spelled out.
    """
    text = json.dumps(document, ensure_ascii=False)
    # Most documents hold no control signs: then nothing need be spelled out.
    if text.isprintable() and not re.search(r"\\[ubfnrt]", text):
        plain: Document = json.loads(text)
    else:
        plain = json.loads(text, object_pairs_hook=_spell_out)
    return plain


def _spell_out(pairs: list[tuple[str, Any]]) -> Document:
    return {printable(name): _spell_value(value) for name, value in pairs}


def _spell_value(value: object) -> Any:
    if isinstance(value, list):
        return [_spell_value(entry) for entry in value]
    return printable(value) if isinstance(value, str) else value


def as_yaml(document: Fields) -> str:
    """A recipe as people write it."""
    return _yaml_of(json.dumps(document))


@functools.lru_cache(maxsize=8)
def _yaml_of(document: str) -> str:
    """The same of JSON: both pages of a release show one recipe."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 88
    buffer = io.StringIO()
    yaml.dump(json.loads(document), buffer)
    return buffer.getvalue()
