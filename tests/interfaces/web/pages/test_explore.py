"""The stages Explore and Look in a browser, by mouse and by keyboard, over a table with markup in a
name and in values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.interfaces.web.browser import DRAWN, NEEDS_BROWSER, Tab, expect, served
from tests.interfaces.web.people import JOB, RECIPE, written

pytestmark = NEEDS_BROWSER

LONG = 120_000
FRONT = ".layer_2_layer_1_marks path"
"""Points that nothing beats: the third series, whose line is drawn apart from its points."""


def button(tab: Tab, words: str) -> Any:
    return tab.page.get_by_role("button", name=words, exact=True)


def card(tab: Tab) -> Any:
    return tab.page.locator("aside.detail h2")


def log(tab: Tab) -> list[dict[str, Any]]:
    lines = (tab.bench.project / "log.jsonl").read_text("utf-8").splitlines()
    return [said["NewVersion"] for said in map(json.loads, lines) if "NewVersion" in said]


def surveyed(tab: Tab) -> None:
    tab.go("/explore")
    button(tab, "Look at all combinations").click()
    tab.page.get_by_text("beaten by none. Further").wait_for(timeout=LONG)
    tab.page.locator(FRONT).first.wait_for()


def test_a_point_is_chosen_by_keyboard_and_by_mouse(browser: Any, tmp_path: Path) -> None:
    table, recipe = written(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        tab.sees("5-anonymity")
        surveyed(tab)
        _by_keyboard(tab)
        _by_mouse(tab)
        tab.clean()
        _candidates(tab)
        tab.clean()


def _by_keyboard(tab: Tab) -> None:
    """Arrows move the ring and the card, Enter uses the point, and the focus stays where it was."""
    page = tab.page
    page.locator("table.points input[type=radio]").first.focus()
    page.keyboard.press("ArrowDown")
    card(tab).get_by_text("Point 2", exact=True).wait_for()
    place = tab.focused()
    page.keyboard.press("Enter")
    card(tab).get_by_text("Point 2, in use").wait_for()
    tab.sees("chosen by hand")
    page.wait_for_function("key => document.activeElement?.dataset?.key === key", arg=place)
    assert len(log(tab)) == 2 and log(tab)[-1]["sentence"].startswith("levels chosen by hand: ")
    assert "levels:" in (tab.bench.project / "recipe.yaml").read_text("utf-8")
    button(tab, "Let the search choose").focus()
    page.keyboard.press("Enter")
    card(tab).get_by_text("Point 1, in use").wait_for()
    assert "levels:" not in (tab.bench.project / "recipe.yaml").read_text("utf-8")


def _by_mouse(tab: Tab) -> None:
    """Hovering shows, one click selects and changes nothing, two use."""
    page, before = tab.page, len(log(tab))
    page.locator(FRONT).nth(3).hover()
    card(tab).get_by_text("Point 4", exact=True).wait_for()
    page.locator("h1").hover()
    card(tab).get_by_text("Point 1, in use").wait_for()
    page.locator(FRONT).nth(2).click()
    page.locator("h1").hover()
    card(tab).get_by_text("Point 3", exact=True).wait_for()
    page.locator("aside.detail").get_by_text(JOB, exact=True).wait_for()
    button(tab, "Why not finer?").click()
    page.get_by_text("one level finer").first.wait_for()
    assert len(log(tab)) == before
    button(tab, "Pin").click()
    page.locator(".pins li").first.wait_for()
    page.locator(FRONT).nth(1).dblclick()
    card(tab).get_by_text("Point 2, in use").wait_for()
    assert len(log(tab)) == before + 1
    page.get_by_label("across").select_option("suppressed")
    page.get_by_text("records lost (worse →)").wait_for()
    page.get_by_label("across").select_option("score")
    page.get_by_text(
        "loss (worse →)"
    ).wait_for()  # drawn anew: what was clicked before that would be gone
    button(tab, "Lattice").click()
    page.get_by_text("sum of levels").wait_for()
    page.locator(".layer_1_marks path").first.click()
    button(tab, "Plane").click()
    page.get_by_text("marketer risk (worse ↑)").wait_for()


def test_all_combinations_are_filtered_and_sorted(browser: Any, tmp_path: Path) -> None:
    """By keyboard: filters, the list, tiles, and the lattice; what is selected stays so."""
    table, recipe = written(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        tab.sees("5-anonymity")
        surveyed(tab)
        page = tab.page
        button(tab, "List").focus()
        page.keyboard.press("Enter")
        tab.sees("combinations 1 to 50 of 100")
        tab.clean()
        page.locator("[data-key=filters]").focus()
        page.keyboard.press("Enter")
        page.locator("[data-key='filter age to']").select_option("1")
        tab.sees("combinations 1 to 40 of 40")
        page.locator("[data-key='filter score']").fill("0.8")
        page.keyboard.press("Tab")
        page.get_by_text("of 100 combinations pass").wait_for()
        page.locator(".points.wide tbody tr").nth(2).wait_for()
        tab.clean()
        _sorted(tab)
        page.locator("[data-key='filter within']").check()
        button(tab, "Clear the filters").click()
        tab.sees("combinations 1 to 50 of 100")
        button(tab, "Order: largest first").click()
        button(tab, "Tiles").click()
        tab.sees("The darker a tile")
        page.locator(".tile input").nth(3).check()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".tile input").nth(4)).to_be_checked()
        tab.clean()
        before = len(log(tab))
        page.keyboard.press("Enter")
        card(tab).get_by_text("in use").wait_for()
        assert len(log(tab)) == before + 1
        button(tab, "Lattice").click()
        tab.sees("sum of levels")
        tab.clean()


def _sorted(tab: Tab) -> None:
    """The other order turns the list around."""
    losses = "() => [...document.querySelectorAll('.points.wide tbody tr')].map((row) => Number(row.cells[5].innerText))"
    rising = tab.page.evaluate(losses)
    assert rising == sorted(rising) and max(rising) <= 0.8
    button(tab, "Order: smallest first").click()
    button(tab, "Order: largest first").wait_for()
    assert tab.page.evaluate(losses) == rising[::-1]


def _candidates(tab: Tab) -> None:
    """A node, a version and another recipe side by side; what came to nothing is unknown and never
    best.
    """
    page = tab.page
    button(tab, "Pin this version").click()
    page.locator(".pins li").nth(1).wait_for()
    page.get_by_text("Pin another recipe").click()
    words = RECIPE.replace("k: 5", "k: 399").replace(
        "budget: 0.05", "budget: 0.0, levels: {sex: 0}"
    )
    page.get_by_label("Paste a recipe (YAML)").fill(words)
    page.keyboard.press("Tab")
    button(tab, "Pin the pasted recipe").click()
    page.locator(".pins li").nth(2).wait_for()
    button(tab, "Compare side by side").click()
    rows = page.get_by_role("region", name="Candidates side by side")
    rows.wait_for(timeout=LONG)
    lost = rows.get_by_role("row", name="marketer risk").locator("td")
    expect(lost.nth(2)).to_have_text("unknown")
    rows.get_by_text("(best)").first.wait_for()


def test_a_release_is_looked_at_from_all_sides(browser: Any, tmp_path: Path) -> None:
    table, recipe = written(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        tab.sees("5-anonymity")
        tab.go("/look")
        button(tab, "Make the release").click()
        tab.page.get_by_text("of 400 records released").wait_for(timeout=LONG)
        tab.page.locator(".cards svg").first.wait_for()
        tab.clean()
        _views(tab)
        _attacks(tab)
        _report(tab)
        _older(tab)


def _views(tab: Tab) -> None:
    page = tab.page
    button(tab, "Pairs").focus()
    page.keyboard.press("Enter")
    page.get_by_label("and", exact=True).select_option(JOB)
    page.locator(".panel svg").get_by_text(JOB, exact=True).first.wait_for()
    tab.focuses("tab Pairs", "other column")
    button(tab, "Rows").click()
    tab.sees("owner's eyes only")
    page.get_by_text("<img src=x onerror=alert(1)>").first.wait_for()
    page.locator("td.changed").first.wait_for()
    button(tab, "Why is record 2 risky?").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Why is record 2 risky?").wait_for()
    tab.focuses("record 1")
    below = "document.querySelector('.why').closest('tr').previousElementSibling.previousElementSibling.innerText"
    assert page.evaluate(below).startswith("2")  # where it was asked for, not above all rows
    button(tab, "Close: why it is risky").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement?.dataset.key === 'record 1'")
    button(tab, "Next →").click()
    tab.sees("records 21 to 40 of 400")
    tab.clean()
    button(tab, "Classes").click()
    tab.sees("Records in the smallest class:")
    _risks(tab)
    button(tab, "Contract").click()
    page.locator(".verdict.kept").first.wait_for()
    button(tab, "Utility").click()
    tab.sees("the utility of this release is unknown")
    button(tab, "Measure").click()
    page.get_by_role("button", name="Measure again").wait_for(timeout=LONG)
    page.get_by_role("region", name="measure, value").wait_for()
    tab.clean()
    _prediction(tab)


def _risks(tab: Tab) -> None:
    """By keyboard: a threshold and the share of the population are entered; what is none is refused."""
    page = tab.page
    button(tab, "Risks").focus()
    page.keyboard.press("Enter")
    tab.sees("Not estimated: enter which share")
    page.locator("[data-key=fraction]").fill("1")
    page.keyboard.press("Tab")
    page.get_by_role("columnheader", name="estimated by").wait_for()
    page.locator("[data-key=threshold]").fill("400")
    page.keyboard.press("Tab")
    page.locator("[role=alert]", has_text="Enter a number up to 100").wait_for()
    button(tab, "Dismiss").click()
    page.locator("[data-key=threshold]").fill("5")
    page.keyboard.press("Tab")
    tab.sees("records whose own risk is above 5")
    tab.clean()


def _prediction(tab: Tab) -> None:
    """A column is chosen and learned from the others; what was learned is still there later."""
    page = tab.page
    button(tab, "Prediction").focus()
    page.keyboard.press("Enter")
    page.get_by_label("predict").select_option("illness")
    learn = page.get_by_role("button", name="Learn illness from the others")
    learn.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Regression").wait_for()
    page.locator(".cards svg").first.wait_for()
    tab.clean()
    button(tab, "Contract").click()
    button(tab, "Prediction").click()
    page.get_by_role("heading", name="Regression").wait_for()


BROKEN = """() => [...document.querySelectorAll(".panel td:nth-child(2) span")].filter(
  (words) => new Set([...words.getClientRects()].map((box) => Math.round(box.top))).size > 1
).length"""
FITS = """() => [...document.querySelectorAll(".panel .scroll")].every(
  (box) => box.scrollWidth <= box.clientWidth)"""


def _attacks(tab: Tab) -> None:
    """Nobody tried: unknown, in words; then they do."""
    button(tab, "Attacks").click()
    tab.sees("Unknown is not a pass")
    tab.page.get_by_label("computing time").select_option("5")
    button(tab, "Let the intruders try").click()
    tab.page.get_by_text("against 400 records").first.wait_for(timeout=LONG)
    tab.clean()
    for width in (1280, 390):
        tab.page.set_viewport_size({"width": width, "height": 860})
        tab.page.evaluate(DRAWN)
        assert not tab.page.evaluate(BROKEN), f"a verdict on several lines at {width}"
        assert tab.page.evaluate(FITS), f"a table of attacks is too wide at {width}"
    tab.page.set_viewport_size({"width": 1280, "height": 860})


def _report(tab: Tab) -> None:
    """The report runs no script, is ours, and is there only for what was drawn."""
    page = tab.page
    button(tab, "Report").click()
    button(tab, "Draw the reports").click()
    frame = page.frame_locator("iframe.report")
    frame.get_by_text("This page stays with the owner").wait_for(timeout=LONG)
    button(tab, "public").click()
    page.wait_for_function("document.querySelector('iframe.report')?.src.endsWith('/1/public')")
    answer = page.request.get(tab.bench.home + "sfumato/release/report/1/public")
    policies = [
        one["value"]
        for one in answer.headers_array
        if one["name"].lower() == "content-security-policy"
    ]
    assert answer.ok and any(
        "sandbox" in policy and "script-src" not in policy for policy in policies
    )
    assert page.locator("iframe.report").get_attribute("sandbox") == ""
    for gone in ("sfumato/release/report/2/public", "sfumato/release/report/1/lock"):
        assert page.request.get(tab.bench.home + gone).status == 404


def _older(tab: Tab) -> None:
    """A point that is used makes the release one of an older version; made again, it loses what the
    point said.
    """
    page = tab.page
    surveyed(tab)
    lost = page.locator("table.points tbody tr").nth(3).locator("td").nth(3).inner_text()
    button(tab, "Use point 4").click()
    tab.sees("chosen by hand")
    tab.go("/look")
    older = page.locator(".work .tag", has_text="for version 1")
    older.wait_for()
    tab.axe()
    button(tab, "Make the release of version 2").click()
    older.wait_for(state="detached", timeout=LONG)
    page.get_by_text(f"of 400 records released, {lost} suppressed").wait_for(timeout=LONG)


def test_a_question_is_asked_under_a_budget(browser: Any, tmp_path: Path) -> None:
    table, recipe = tmp_path / "visits.csv", tmp_path / "visits.yaml"
    table.write_text(
        "sex,cost\n" + "".join(f"{'fm'[i % 2]},{100 + i}\n" for i in range(90)), encoding="utf-8"
    )
    recipe.write_text(
        "sfumato: 1\ncolumns:\n  sex: {role: quasi, domain: [f, m]}\n  cost: {role: sensitive,"
        " kind: numeric, bounds: [0, 500]}\n"
    )
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        tab.sees("90")
        tab.go("/questions")
        button(tab, "Start the budget").click()
        tab.page.get_by_text("Spent ε = 0 of ε = 1, δ = 0").wait_for(timeout=LONG)
        assert tab.page.locator("table").count() == 0, (
            "nothing of the data is seen before an answer"
        )
        tab.page.get_by_label("Question (SQL)").fill(
            "SELECT sex, COUNT(*) FROM recipe GROUP BY sex"
        )
        tab.page.keyboard.press("Tab")
        button(tab, "How exact would it be?").click()
        tab.sees("95 times out of 100")
        button(tab, "Ask").focus()
        tab.page.keyboard.press("Enter")
        tab.page.get_by_text("Spent ε = 0.1 of ε = 1").wait_for(timeout=LONG)
        tab.sees("count by sex (ε = 0.1)")
        expect(tab.page.locator("table tbody tr")).to_have_count(3)
        tab.clean()
