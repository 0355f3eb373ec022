"""The stage Decide in a browser, and the decision in the strip of every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, expect, served
from tests.interfaces.web.people import written

pytestmark = NEEDS_BROWSER


ABOVE = "document.querySelector('.body').getBoundingClientRect().top"
CARDS = ("limiting", "helpful")


def decision(tab: Tab) -> Any:
    return tab.page.locator(".figure.decided")


def test_a_decision_is_in_sight_and_each_change_is_one_button(browser: Any, tmp_path: Path) -> None:
    """Asked for, the decision stands in the strip of every page with its reason; a change that was
    measured makes a version, and the strip says that the decision is about the one before.
    """
    table, recipe = written(tmp_path, rows=240)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        expect(decision(tab)).to_contain_text("not decided yet")
        page.locator("[data-key=decision]").click()
        page.get_by_label("Who receives it?").select_option("researchers")
        page.locator("[data-key=context-contract-yes]").check(force=True)
        page.locator("[data-key=decide]").click()
        expect(decision(tab)).to_contain_text("do not share")
        expect(decision(tab)).to_contain_text("Not for internal use: ")
        expect(decision(tab)).to_contain_text("Kept: ")
        expect(page.locator(".limiting")).to_contain_text("1 in ")
        first = page.locator(".helpful .change button").first
        first.wait_for()
        assert 1 <= page.locator(".helpful .change").count() <= 3
        tab.clean()
        # narrow: what stands above takes an eighth of the screen at most; wide: side by side
        page.set_viewport_size({"width": 390, "height": 860})
        page.wait_for_function(f"() => {ABOVE} <= 860 / 8")
        page.set_viewport_size({"width": 1920, "height": 900})
        limiting, helpful = (page.locator(f".{name}").bounding_box() for name in CARDS)
        assert limiting["x"] + limiting["width"] <= helpful["x"]
        # on another page the reason leads back to it
        tab.go("/run")
        page.locator("[data-key=reason]").click()
        page.wait_for_url("**/decide")
        # answers change: the same evidence, decided again
        page.locator("summary[data-key=context]").click()
        page.locator("[data-key=context-sensitivity-medium]").check(force=True)
        expect(decision(tab)).to_contain_text("for other answers")
        page.locator("[data-key=decide]").click()
        page.locator(".figure.decided:not(.older)").wait_for()
        page.locator(".helpful .change button").first.click()
        expect(decision(tab)).to_contain_text("for version 1")
        expect(page.locator(".decision .tag")).to_contain_text("the recipe changed meanwhile")
