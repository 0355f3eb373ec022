"""The history at the side: gestures in groups, names of versions, any two versions compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="pip install 'sfumato[web]': nicegui is not installed")

from sfumato.interfaces.web.pages.history import groups_of
from sfumato.interfaces.web.project import Version
from tests.interfaces.web.browser import NEEDS_BROWSER, expect, served
from tests.interfaces.web.people import written


def versions(*sentences: str, **named: str) -> list[Version]:
    """Versions in a line, newest first; ``v2="a name"`` names one."""
    entries = [
        Version(number, number - 1, sentence, "2026", name=named.get(f"v{number}", ""))
        for number, sentence in enumerate(sentences, 1)
    ]
    return entries[::-1]


def test_moves_of_one_slider_are_one_entry() -> None:
    moves = versions("Opened", *(f"{k}-anonymity" for k in range(2, 202)), "zip: keep")
    groups = list(groups_of(moves, 202))
    assert [len(group) for group in groups] == [1, 200, 1]
    assert [entry for group in groups for entry in group] == moves


def test_what_is_in_use_named_or_branched_stands_by_itself() -> None:
    moves = versions("Opened", "k 2", "k 3", "k 4", "k 5", v3="kept")
    assert [[e.version for e in group] for group in groups_of(moves, 5)] == [[5, 4], [3, 2], [1]]
    assert [[e.version for e in group] for group in groups_of(moves, 4)] == [[5], [4], [3, 2], [1]]
    branched = [Version(3, 1, "k 4", "2026"), *versions("k 2", "k 3")]
    assert [len(group) for group in groups_of(branched, 3)] == [1, 2]


@NEEDS_BROWSER[0]
@NEEDS_BROWSER[1]
def test_a_version_is_named_and_compared_with_any_other(browser: Any, tmp_path: Path) -> None:
    table, recipe = written(tmp_path, rows=120)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/promises")
        field = page.locator("#promise-0-k")
        for number, k in ((2, "4"), (3, "3"), (4, "6")):
            field.fill(k)
            field.press("Enter")
            expect(page.locator(".undo .version")).to_contain_text(f"v{number}")
        page.locator(".undo .version").click()
        items = page.locator("ol.history > li")
        expect(items).to_have_count(2)
        page.locator("[data-key='steps 4']").click()
        expect(items).to_have_count(4)
        name = page.get_by_label("Name of version 2")
        name.fill("<b>for the ministry")
        name.press("Tab")
        expect(items.nth(2)).to_contain_text("<b>for the ministry")
        page.locator("[data-key='compare 3']").click()
        page.locator("[data-key='compare with']").select_option("2")
        expect(page.locator(".comparison .changes")).to_contain_text("3")
        expect(page.locator(".comparison .changes ins")).to_have_text("4")
        tab.clean()
