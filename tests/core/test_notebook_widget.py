"""Widgets of a notebook, in a browser: the blocks of a result, sorted and searched without a
server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core.block_html import Widget
from sfumato.core.blocks import TableBlock, render_text
from tests.interfaces.web.browser import NEEDS_BROWSER, open_browser

HOSTILE = '</script><img src=x onerror="window.attacked = 1">'
CELLS = (
    "import sfumato as sf\ntable = sf.examples.load('hospital')\ntable.show()",
    "release = sf.anonymize(table, 'k_anonymity:5', sf.Mondrian(), seed=1)\nrelease.show()",
)


def outputs(cells: tuple[str, ...]) -> list[str]:
    """What the last line of each cell of a notebook shows, in one namespace."""
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        *lines, last = cell.splitlines()
        exec("\n".join(lines), names)
        shown.append(eval(last, names)._repr_html_())
    return shown


def test_a_widget_says_what_its_result_says() -> None:
    table = sf.examples.load("hospital")
    assert repr(table.show()) == render_text(table.blocks())
    html = table.show()._repr_html_()
    assert "http" not in html and "src=" not in html
    assert html != table.show()._repr_html_(), "each has a name of its own"


@NEEDS_BROWSER[0]
@NEEDS_BROWSER[1]
def test_a_notebook_of_widgets_sorts_and_searches(tmp_path: Path) -> None:
    rows = tuple(
        (name, value) for name, value in zip("cabdefgh", (3, 10, 2, 7, 1, 5, 9, 4), strict=True)
    )
    table = TableBlock(("name", "records"), (*rows, (HOSTILE, 1_000)))
    page_text = "".join([*outputs(CELLS), Widget([table])._repr_html_()])
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{page_text}", encoding="utf-8")
    with open_browser() as browser:
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda asked: problems.append(asked.url))
        page.goto(file.as_uri())
        last = page.locator("table").last
        head = last.get_by_role("button", name="records")
        numbers = "(table) => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent)"
        head.focus()
        page.keyboard.press("Enter")
        assert last.evaluate(numbers) == ["1", "2", "3", "4", "5", "7", "9", "10", "1,000"]
        page.keyboard.press("Enter")
        assert last.evaluate(numbers)[:2] == ["1,000", "10"]
        page.get_by_label("find a row").last.fill("onerror")
        assert last.locator("tbody tr:visible").count() == 1
        assert page.evaluate("window.attacked") is None
        assert page.locator("[id^=sfumato-]").count() == len(CELLS) + 1
        assert problems == [file.as_uri()], json.dumps(problems)
