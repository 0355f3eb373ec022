"""The stages Promises, Run and Policies in a browser: by mouse and by keyboard alone, with names
that are hostile.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, expect, served

pytestmark = NEEDS_BROWSER

EVIL = '"><img src=x onerror="window.hit=1"> é'
"""A name that would be an element, an attribute or a script wherever it is not text."""
RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 20]}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  EVIL: sensitive
  cost: {role: keep, kind: numeric}
meet:
- k_anonymity: {k: 5}
steps:
- global_recoding: {budget: 0.02}
"""


@pytest.fixture
def table(tmp_path: Path) -> tuple[Path, Path]:
    draw = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 80, 500),
            "zip": draw.integers(10_000, 10_090, 500).astype(str),
            EVIL: draw.choice(["<b>flu</b>", "' or 1=1", "ulcer"], 500),
            "cost": draw.integers(1, 900, 500),
        }
    )
    data, recipe = tmp_path / "people.csv", tmp_path / "recipe.yaml"
    frame.write_csv(data)
    name = EVIL.replace("'", "''")
    recipe.write_text(RECIPE.replace("EVIL", f"'{name}'"), encoding="utf-8")
    return data, recipe


def version_is(tab: Tab, number: int) -> None:
    """Wait until a version is the one in use."""
    tab.page.get_by_text(f"v{number} ·").first.wait_for()


def test_promises_by_mouse_and_by_keys(
    browser: Any, table: tuple[Path, Path], tmp_path: Path
) -> None:
    data, recipe = table
    with served(tmp_path, data, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/promises")
        tab.sees("today: k = 1")
        told = page.locator(".under").first
        page.get_by_text("to a class smaller than 5.").wait_for()
        before = told.inner_text()

        # the count follows the drag, and the recipe changes on release only
        slider = page.get_by_label("k, slider")
        slider.evaluate(
            "one => { one.value = 30; one.dispatchEvent(new Event('input', {bubbles: true})) }"
        )
        expect(told).to_have_text(re.compile(r"to a class smaller than 30\.\s*$"))
        assert int(told.inner_text().split(" ")[0]) >= int(before.split(" ")[0])
        expect(page.locator("#promise-0-k")).to_have_value("30")
        version_is(tab, 1)
        slider.evaluate(
            "one => { one.value = 6; one.dispatchEvent(new Event('change', {bubbles: true})) }"
        )
        version_is(tab, 2)
        tab.sees("k-anonymity: k = 6")

        # by keys alone: an arrow on the slider, and the focus stays there
        page.get_by_label("k, slider").focus()
        page.keyboard.press("ArrowRight")
        version_is(tab, 3)
        page.wait_for_function("document.activeElement?.dataset.key === 'promise-0-k-slider'")

        # what is wrong stands at its field, what was typed stays, and so does the recipe
        number = page.locator("#promise-0-k")
        number.fill("0")
        number.press("Enter")
        tab.sees("Should be greater than or equal to 1.")
        expect(number).to_have_value("0")
        version_is(tab, 3)

        # a promise from the searchable list, whose column has a name that would be markup
        page.get_by_text("Add a promise", exact=True).click()
        page.get_by_label("Add a promise: search").fill("well-represented")
        page.get_by_text("1 found").wait_for()
        page.get_by_role("button", name="Add l-diversity").click()
        version_is(tab, 4)
        page.get_by_role("heading", name=f"3-diversity of {EVIL}").wait_for()
        tab.sees("today: l = ")
        assert page.evaluate("window.hit") is None
        page.wait_for_function(
            "!document.querySelector('[data-key=add-meet-open]').closest('details').open"
        )
        page.get_by_text("Add a promise", exact=True).click()
        page.get_by_label("Add a promise: search").wait_for()

        # a published threshold, with its source
        page.get_by_text("Published thresholds, with their sources").click()
        tab.sees("ARX source code")
        page.get_by_role("button", name="Use k = 11 of EMA").click()
        page.get_by_role("heading", name="11-anonymity").wait_for()
        tab.clean()


def test_means_limits_and_contract(browser: Any, table: tuple[Path, Path], tmp_path: Path) -> None:
    data, recipe = table
    with served(tmp_path, data, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/promises")
        tab.sees("1. Global recoding")

        # a step that asks for something: its form stays until it is complete
        page.get_by_text("Add a step", exact=True).click()
        page.get_by_role("button", name="Add Round", exact=True).click()
        page.get_by_role("button", name="Add a step", exact=True).click()
        tab.sees("Must be given.")
        expect(page.locator(".draft .problem:visible")).to_have_text(
            ["Must be given.", "Must be given."]
        )
        page.get_by_label("Add a column to columns").select_option("cost")
        page.locator(".draft .chip", has_text="cost").wait_for()
        page.locator("#add-steps-draft-base").fill("10")
        page.get_by_role("button", name="Add a step", exact=True).click()
        tab.sees("2. Round")
        version_is(tab, 2)

        # Alt and an arrow move it; the focus goes with it
        page.get_by_role("button", name="Round earlier").focus()
        page.keyboard.press("Alt+ArrowUp")
        tab.sees("1. Round")
        page.wait_for_function("document.activeElement?.dataset.key === 'step-round-0-up'")
        page.keyboard.press("Alt+ArrowDown")
        tab.sees("2. Round")

        # its settings: a share in percent
        page.get_by_text("Settings: all as they come").click()
        page.locator("summary", has_text="more settings").first.click()
        budget = page.locator("#step-global_recoding-0-budget")
        budget.fill("140")
        budget.press("Enter")
        tab.sees("Should be at most 100 %.")
        budget.fill("4.1")
        budget.press("Enter")
        tab.sees("Settings: budget 4.1 %")
        page.wait_for_function(
            "document.activeElement?.dataset.key === 'step-global_recoding-0-budget'"
        )

        page.get_by_label("Add a limit").select_option("linkage")
        page.get_by_role("button", name="Remove the limit of Linkage").wait_for()
        page.get_by_text("Add to the contract", exact=True).click()
        page.get_by_role("button", name="Add Means", exact=True).click()
        page.get_by_role("button", name="Remove Means from the contract").wait_for()
        page.get_by_role("button", name="Remove Round").click()
        page.get_by_text("2. Round").wait_for(state="detached")
        tab.clean()
        text = (bench.project / "recipe.yaml").read_text(encoding="utf-8")
        assert "budget: 0.041" in text
        assert "linkage: 0.2" in text
        assert "means:" in text
        assert "round" not in text


def test_a_run_goes_on_without_its_tab_and_stays_with_its_version(
    browser: Any, table: tuple[Path, Path], tmp_path: Path
) -> None:
    data, recipe = table
    with served(tmp_path, data, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/run")
        tab.sees("24 combinations of levels")
        page.get_by_role("button", name="Make the release").focus()
        page.keyboard.press("Enter")
        page.get_by_text("Making the release").or_(
            page.get_by_text("records released")
        ).first.wait_for()
        other = tab.another()
        page.close()
        other.go("/run")
        other.sees("records released")
        other.sees("Why this and not another")
        other.page.get_by_text("not attacked yet").first.wait_for()
        other.clean()

        # another version: what came out is of the old one, and says so
        other.go("/promises")
        other.page.get_by_label("k, slider").focus()
        other.page.keyboard.press("ArrowRight")
        version_is(other, 2)
        other.go("/run")
        other.sees("for version 1; the recipe changed meanwhile")
        assert '"suppressed"' in (bench.project / "log.jsonl").read_text(encoding="utf-8")


def test_where_nothing_satisfies_one_click_helps(
    browser: Any, table: tuple[Path, Path], tmp_path: Path
) -> None:
    data, recipe = table
    hard = recipe.read_text(encoding="utf-8").replace(
        "{budget: 0.02}", "{budget: 0, levels: {age: 1, zip: 1}}"
    )
    recipe.write_text(hard, encoding="utf-8")
    with served(tmp_path, data, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/run")
        page.get_by_role("button", name="Make the release").click()
        tab.sees("Nothing satisfies the recipe")
        tab.sees("The closest combination would suppress")
        tab.clean()
        page.get_by_role("button", name="Let the search choose the levels").click()
        version_is(tab, 2)
        page.get_by_role("button", name="Make the release").click()
        tab.sees("records released")


def test_a_policy_becomes_one_version(
    browser: Any, table: tuple[Path, Path], tmp_path: Path
) -> None:
    from sfumato.policy.dialects.dialect_detection import preset, write_policy

    data, recipe = table
    file = tmp_path / "policy.json"
    file.write_text(write_policy(preset("public_release_009"), "ours"), encoding="utf-8")
    with served(tmp_path, data, recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/policies")
        page.get_by_role("button", name="Open the file").click()
        tab.sees("give the path of a policy, or its text")
        page.locator("#policy-path").fill(str(file))
        page.get_by_role("button", name="Open the file").press("Enter")
        tab.sees("what has no counterpart here")
        page.get_by_role("button", name="Compile it to a recipe").click()
        page.get_by_role("button", name="Use this recipe").wait_for()
        page.locator(".diffline.added", has_text="k_anonymity: {k: 12}").first.wait_for()
        tab.clean()
        page.get_by_role("button", name="Use this recipe").click()
        version_is(tab, 2)
        tab.sees("It is already the recipe in use.")
