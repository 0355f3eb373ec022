"""A whole job without a mouse: from an empty page to a written folder, with few stops on the
way.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sfumato.core import recipe_files
from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, served
from tests.interfaces.web.people import JOB, people

pytestmark = NEEDS_BROWSER
HERE = """() => {
  const one = document.activeElement;
  return [one?.dataset.key, one?.id, one?.getAttribute("href"), one?.type].filter((name) => name);
}"""
MOST_TABS = 60
"""What the whole job may take; the first stop of every page skips to the work."""


class Keys:
    """Hands on a keyboard."""

    def __init__(self, tab: Tab) -> None:
        self.tab, self.page, self.tabs = tab, tab.page, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def to(self, wanted: str, most: int = 25) -> None:
        """Walk with Tab until this has the focus."""
        met: list[list[str]] = []
        for _ in range(most):
            self.press("Tab")
            self.tabs += 1
            met.append(self.page.evaluate(HERE))
            if wanted in met[-1]:
                return
        raise AssertionError(f"{wanted} was not reached: {met}")

    def to_work(self) -> None:
        """The first stop of a page skips to the work."""
        self.to("#work", 1)
        self.press("Enter")
        self.page.wait_for_function("document.activeElement?.id === 'work'")

    def next_stage(self, path: str) -> None:
        self.press("Alt+PageDown")
        self.page.wait_for_url(re.compile(rf"{path}$"))
        self.tab.ready()

    def type(self, words: str) -> None:
        self.press("Control+a")
        self.page.keyboard.type(words)

    def version(self, number: int) -> None:
        self.page.locator(".undo .version", has_text=re.compile(rf"^v{number} ")).wait_for()

    def shows(self, selector: str) -> None:
        self.page.wait_for_selector(selector, state="attached")


def test_from_an_empty_page_to_a_written_folder_by_keys_alone(browser: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "people.csv", tmp_path / "out"
    people(400).drop(JOB).write_csv(path)
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        keys = Keys(tab)
        keys.shows("[data-key=path]")
        keys.to_work()
        keys.to("path", 3)
        keys.type(str(path))
        keys.press("Enter")
        keys.shows("[data-key='select sex']")
        keys.version(1)

        tab.page.wait_for_function("document.activeElement?.dataset.key === 'find a column'")
        keys.to("select name")
        keys.press("ArrowDown", "ArrowDown")
        tab.focuses("select sex")
        keys.press("s")
        keys.version(2)

        keys.next_stage("/hierarchies")
        keys.shows("[data-key=recode], [data-key='use level 1']")
        keys.to_work()
        if tab.page.locator("[data-key=recode]").count():
            keys.to("recode")
            keys.press("Enter")
            keys.version(3)
        keys.shows("[data-key='use level 1']")
        before = recipe_files.load(bench.project / "recipe.yaml")
        keys.to("use level 1")
        keys.press("Enter")
        keys.version(4)
        assert recipe_files.load(bench.project / "recipe.yaml").steps != before.steps

        keys.next_stage("/promises")
        keys.shows("#promise-0-k")
        keys.to_work()
        keys.to("promise-0-k", 6)
        keys.type("4")
        keys.press("Enter")
        keys.version(5)

        keys.next_stage("/run")
        keys.shows("[data-key=make]")
        keys.to_work()
        keys.to("make", 2)
        keys.press("Enter")
        tab.page.get_by_text("not attacked yet").first.wait_for()

        keys.next_stage("/explore")
        keys.shows("[data-key=survey]")
        keys.to_work()
        keys.to("survey", 2)
        keys.press("Enter")
        keys.shows("table.points input[type=radio]")
        keys.to("radio")
        keys.press("ArrowDown", "Enter")
        keys.version(6)

        for stage in ("/look", "/decide", "/write"):
            keys.next_stage(stage)
        keys.shows("[data-key=write-folder]")
        keys.to_work()
        keys.to("write-folder", 2)
        keys.type(str(out))
        keys.press("Enter")
        refused = tab.page.locator("[role=alert]", has_text="Tick what is said under")
        refused.or_(tab.page.locator("section.written")).first.wait_for()
        if refused.count():
            for warning in tab.page.locator(".warning input").all():
                warning.focus()
                keys.press("Space")
            tab.page.locator("[data-key=write-folder]").focus()
            keys.press("Enter")
        tab.sees("To publish")
        assert (out / "share" / "certificate.json").is_file()
        assert {4} == {
            model.crowd for model in recipe_files.load(bench.project / "recipe.yaml").meet
        }
        assert keys.tabs <= MOST_TABS, keys.tabs
        tab.clean()
