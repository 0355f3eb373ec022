"""A release made on one stage is the release of all of them, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interfaces.web.browser import NEEDS_BROWSER, expect, served
from tests.interfaces.web.people import written

pytestmark = NEEDS_BROWSER


def test_run_look_and_write_speak_of_the_same_version(browser: Any, tmp_path: Path) -> None:
    """Made under Look, then, of the next version, under Write: Run and the strip know both."""
    table, recipe = written(tmp_path, rows=240)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/look")
        page.locator("[data-key=make]").click()
        page.locator("[data-key='tab Columns']").wait_for()
        tab.go("/run")
        expect(page.locator(".outcome .headline")).to_be_visible()
        assert not page.locator(".outcome .old").count()
        # the next version is made by writing it
        tab.go("/promises")
        page.get_by_role("spinbutton").first.fill("4")
        page.keyboard.press("Enter")
        expect(page.locator(".undo .version")).to_contain_text("v2")
        tab.go("/run")
        page.locator(".outcome .old").wait_for()
        tab.go("/write")
        tab.write(2)
        page.get_by_text("To publish: share").first.wait_for()
        tab.go("/run")
        expect(page.locator(".outcome .headline")).to_contain_text("4-anonymity")
        assert not page.locator(".outcome .old").count()
        assert not page.locator(".figure.older").filter(has_text="records lost").count()
        tab.go("/look")
        expect(page.locator(".headline")).to_contain_text("4-anonymity")
