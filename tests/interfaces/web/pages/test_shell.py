"""The frame around all stages, in a browser: figures, undo, history, the recipe as text and to take
away, writing, two tabs, dark.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, expect, served

pytestmark = NEEDS_BROWSER
HOSTILE = '<img src=x onerror=alert(1)>"\' onclick="alert(1)'
RECIPE = """\
sfumato: 1
columns:
  age: {{role: quasi, kind: numeric, hierarchy: {{intervals: {{widths: [5, 10, 20]}}}}}}
  {column}: {{role: quasi, hierarchy: {{suppress: {{}}}}}}
  ill: sensitive
meet:
  - k_anonymity: {{k: {k}}}
steps:
  - global_recoding: {{budget: 0.1}}
"""


def files(folder: Path) -> tuple[Path, Path]:
    table, recipe = folder / "visits.csv", folder / "visits.yaml"
    name = '"' + HOSTILE.replace('"', '""') + '"'
    rows = [f"{20 + i % 40},{'fm'[i % 2]},flu" for i in range(120)]
    table.write_text("\n".join([f"age,{name},ill", *rows]) + "\n", encoding="utf-8")
    recipe.write_text(RECIPE.format(column=json.dumps(HOSTILE), k=3), encoding="utf-8")
    return table, recipe


def version(tab: Tab, number: int) -> None:
    tab.page.locator(".undo .version", has_text=re.compile(rf"^v{number} ")).wait_for()


def test_the_bundled_table_is_opened_and_nothing_is_asked_of_others(
    browser: Any, tmp_path: Path
) -> None:
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        assert (
            tab.page.title() == "Data · sfumato"
            and tab.page.locator("html").get_attribute("lang") == "en-US"
        )
        tab.page.keyboard.press("Tab")
        tab.page.wait_for_function("document.activeElement?.textContent === 'Skip to the work'")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_function("document.activeElement?.id === 'work'")
        tab.open_hospital()
        tab.sees("5-anonymity")
        tab.clean()
        tab.page.get_by_label("Colours").select_option("dark")
        tab.page.wait_for_selector("body.body--dark")
        tab.go("/write")
        tab.page.wait_for_selector("body.body--dark")  # in all pages


def test_versions_are_made_undone_compared_and_taken_away(browser: Any, tmp_path: Path) -> None:
    table, recipe = files(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.sees("3-anonymity")
        page.locator(".figure", has_text="records").get_by_text("120", exact=True).wait_for()
        page.locator(".figure", has_text="in classes under 3 today").locator(
            ".value", has_text="0"
        ).wait_for()

        # the recipe as text: everything wrong with it at once, nothing changed, then one version
        page.get_by_role("button", name="⟨⟩ Recipe").focus()
        page.keyboard.press("Enter")
        area = page.get_by_label("The recipe as text")
        area.wait_for()
        assert HOSTILE in json.loads(re.search(r'^  (".*"):', area.input_value(), re.MULTILINE)[1])
        good = area.input_value()
        area.fill(good.replace("k: 3", "k: 0").replace("global_recoding", "global_recodding"))
        page.get_by_role("button", name="Apply").click()
        wrong = page.locator(".problem li")
        wrong.nth(1).wait_for()
        expect(wrong).to_contain_text(["k", "global_recoding"])
        version(tab, 1)
        tab.clean()
        area.fill(good.replace("k: 3", "k: 7"))
        page.get_by_role("button", name="Apply").click()
        version(tab, 2)
        tab.sees("7-anonymity")
        page.get_by_text("What the last change did").click()
        page.locator(".changes li", has_text="meet · k_anonymity · k").wait_for()

        # taken away: what is copied and saved is what is shown
        for kind, has in (
            ("Python", "sf.KAnonymity(k=7)"),
            ("Command line", "sfumato run"),
            ("Notebook", '"nbformat": 4'),
        ):
            page.get_by_role("button", name=kind, exact=True).click()
            page.locator("pre.code", has_text=has).wait_for()
            page.get_by_role("button", name="Copy").click()
            page.get_by_text("Copied.").wait_for()
            shown = page.locator("pre.code").text_content()
            page.wait_for_function(
                "async (has) => (await navigator.clipboard.readText()).includes(has)", arg=has
            )
            with page.expect_download() as saved:
                page.get_by_role("link", name="Save", exact=True).click()
            assert Path(saved.value.path()).read_text("utf-8") == shown
        tab.clean()

        # keys undo and redo, but not while somebody types
        page.keyboard.press("Escape")
        page.locator("aside.open").wait_for(state="detached")
        tab.focuses("open recipe")
        page.keyboard.press("Control+z")
        version(tab, 1)
        page.keyboard.press("Control+Shift+Z")
        version(tab, 2)
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        page.get_by_role("button", name="Recipe", exact=True).click()
        area.click()
        page.keyboard.press("Control+z")
        page.wait_for_timeout(300)
        version(tab, 2)
        page.keyboard.press("Escape")

        # another tab follows; an edit that was begun before is refused and kept
        other = tab.another()
        version(other, 2)
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        area.fill(good.replace("k: 3", "k: 9"))
        page.keyboard.press("Tab")
        other.page.get_by_role("button", name="Undo").click()
        version(other, 1)
        version(tab, 1)
        page.get_by_text("changed while you were typing").wait_for()
        expect(area).to_have_value(re.compile("k: 9"))
        page.get_by_role("button", name="Apply").click()
        page.get_by_text("changed in another tab").wait_for()
        version(tab, 1)
        page.get_by_role("button", name="Load the current recipe").click()
        page.wait_for_function("document.querySelector('textarea').value.includes('k: 3')")
        page.keyboard.press("Escape")

        # the history: what changed, from what to what; back to a version, and a comparison with now
        page.locator(".undo .version").click()
        page.locator("ol.history li", has_text="Recipe edited as text").get_by_text(
            "7", exact=True
        ).wait_for()
        page.get_by_role("button", name="Compare version 2 with now").click()
        page.locator(".comparison li", has_text="meet · k_anonymity · k").wait_for()
        tab.clean()
        page.get_by_role("button", name="Go back to version 2").focus()
        page.keyboard.press("Enter")
        version(tab, 2)
        page.keyboard.press("Escape")
        log = (bench.project / "log.jsonl").read_text()
        assert "onerror" not in log and len(log.splitlines()) == 2


def test_a_release_is_made_and_written_once_and_its_history_goes_with_it(
    browser: Any, tmp_path: Path
) -> None:
    table, recipe = files(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        page, out = tab.page, tmp_path / "out <b>"
        tab.go("/write")
        page.get_by_role("textbox", name="Folder").fill(str(out))
        page.get_by_role("button", name="Write the release of version 1").focus()
        page.keyboard.press("Enter")
        page.locator("[role=alert]", has_text="Tick what is said under").wait_for()
        assert not out.exists()
        tab.write(1)
        tab.sees("To publish")
        assert sorted(file.name for file in (out / "share").iterdir()) == [
            "certificate.json",
            "data.csv",
            "report.html",
        ]
        page.locator(".written .verdict.kept").nth(5).wait_for()
        assert not page.locator(".written .verdict.broken").count()
        history = [
            json.loads(line) for line in (out / "owner" / "history.jsonl").read_text().splitlines()
        ]
        assert history[0]["NewVersion"]["sentence"] == "Began with the recipe visits.yaml"
        assert "suppressed" in history[-1]["VersionEffect"]["effect"]
        page.locator(".figure", has_text="records lost").locator(
            ".value", has_text=re.compile(r"^\d")
        ).wait_for()
        tab.clean()
        page.get_by_role("button", name="Write the release of version 1").click()
        page.locator(
            "[role=alert]", has_text="tick “Replace an earlier release"
        ).wait_for()  # nothing that stands is
        page.get_by_label("Replace an earlier release").check()
        page.get_by_role("button", name="Write the release of version 1").click()
        tab.sees("To publish")
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save: Notebook").click()
        assert json.loads(Path(saved.value.path()).read_text("utf-8"))["nbformat"] == 4
        bench.stop()
        tab.problems.clear()
