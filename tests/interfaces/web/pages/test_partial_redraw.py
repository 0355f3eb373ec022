"""How the pages feel in the hand: gestures while parts are drawn anew, one gesture one version,
dragging, and hostile text.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.interfaces.web.browser import MILLISECONDS, NEEDS_BROWSER, Served, Tab, expect, served

pytestmark = NEEDS_BROWSER
RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 20]}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  ill: sensitive
  cost: {role: keep, kind: numeric}
meet:
- k_anonymity: {k: 5}
steps:
- round: {columns: [cost], base: 10}
- global_recoding: {budget: 0.02}
limits: {linkage: 0.2}
contract:
- means: {columns: [cost], at_most: 0.1}
"""
OTHERS_EDIT = """() => {
  let turn = 0;
  const version = () => document.querySelector("button.version").textContent.split(" ")[0];
  const again = () => {
    const field = document.getElementById("limit-linkage"), before = version();
    field.value = (0.2 + (++turn % 50) / 100).toFixed(2);
    field.dispatchEvent(new Event("change", { bubbles: true }));
    const seen = () => {
      window.others = version() === before ? setTimeout(seen, 20) : setTimeout(again, 60 + 200 * Math.random());
    };
    seen();
  };
  again();
}"""
"""Another tab that edits all the time, as quickly as it sees what it did: every edit draws the
pages of all tabs anew.
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    draw = np.random.default_rng(3)
    table, recipe = tmp_path / "people.csv", tmp_path / "recipe.yaml"
    columns = {
        "age": draw.integers(20, 80, 300),
        "zip": draw.integers(10_000, 10_090, 300).astype(str),
        "ill": draw.choice(["flu", "ulcer"], 300),
        "cost": draw.integers(1, 900, 300),
    }
    pl.DataFrame(columns).write_csv(table)
    recipe.write_text(RECIPE, encoding="utf-8")
    return table, recipe


def sentences(bench: Served) -> list[str]:
    lines = (bench.project / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        str(json.loads(line).get("NewVersion", {}).get("sentence", ""))
        for line in lines
        if line.endswith("}")
    ]


def until(tab: Tab, holds: Callable[[], bool], what: str) -> None:
    """Wait for something that is seen outside of the page."""
    end = time.monotonic() + MILLISECONDS / 1000
    while not holds():
        assert time.monotonic() < end, what
        tab.page.wait_for_timeout(20)


def editing(tab: Tab) -> Tab:
    """A second tab, in which the recipe can be changed."""
    other = tab.another()
    other.go("/promises")
    other.sees("today: k = 1")
    return other


def test_no_gesture_is_lost_while_parts_are_drawn_anew(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    chance = random.Random(5)
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page, recipe = tab.page, bench.project / "recipe.yaml"
        tab.go("/promises")
        tab.sees("today: k = 1")
        other = editing(tab)
        other.page.evaluate(OTHERS_EDIT)
        page.bring_to_front()

        def made(begins: str) -> int:
            return sum(sentence.startswith(begins) for sentence in sentences(bench))

        def pause(most: int) -> None:
            page.wait_for_timeout(chance.random() * most)

        def click() -> str:
            earlier = page.get_by_role("button", name="Round earlier")

            def shown() -> bool:
                text = recipe.read_text(encoding="utf-8")
                first = text.index("round") < text.index("global_recoding")
                return (earlier.get_attribute("aria-disabled") == "true") == first

            until(tab, shown, "the order of the steps was not shown")
            here = page.locator(".steps .cardhead", has_text="Round").locator(
                ".button[aria-disabled=false]"
            )
            here.evaluate("one => one.scrollIntoView({ block: 'center' })")
            box = here.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.mouse.down()
            pause(180)
            page.mouse.up()
            return "Round:"

        def tick() -> str:
            box = page.locator("[data-key=contract-0-refuse]")
            until(
                tab,
                lambda: box.is_checked() == ("refuse: true" in recipe.read_text(encoding="utf-8")),
                "not settled",
            )
            box.focus()
            page.keyboard.down(" ")
            pause(120)
            page.keyboard.up(" ")
            return "contract:"

        def write(k: int) -> str:
            field = page.locator("#promise-0-k")
            field.focus()
            page.keyboard.press("Control+a")
            for key in (*str(k), "7", "Backspace"):
                page.keyboard.press(key)
                pause(80)
            assert field.input_value() == str(k)
            page.keyboard.press("Enter")
            return f"k-anonymity: k = {k}"

        for place in range(15):
            pause(200)
            gesture = (click, tick, lambda place=place: write(100 + place))[place % 3]
            before = {begins: made(begins) for begins in ("Round:", "contract:")}
            begins = gesture()
            wanted = before.get(begins, 0) + 1
            until(
                tab, lambda b=begins, n=wanted: made(b) == n, f"gesture {place} was lost: {begins}"
            )
        other.page.evaluate("clearTimeout(window.others)")
        page.wait_for_function("document.getElementById('promise-0-k').value === '114'")


def test_keys_that_pass_through_values_make_one_version(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        kind = page.get_by_label("kind of age")
        kind.focus()
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        chosen = kind.input_value()
        assert chosen != "numeric"
        assert len(sentences(bench)) == 1
        page.keyboard.press("Enter")
        tab.sees("v2 ·")
        assert sentences(bench)[1:] == [f"age: {chosen}"]
        tab.focuses("kind age")
        kind.locator("option[selected]").and_(page.locator(f"[value={chosen}]")).wait_for(
            state="attached"
        )

        # Escape takes it back, and leaving the list is meant
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Escape")
        expect(kind).to_have_value(chosen)
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")
        tab.sees("v3 ·")
        assert len(sentences(bench)) == 3

        # long lists are skipped by a link, and what can be chosen from a list has a name
        page.get_by_role("link", name="Skip the columns").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/#*")
        page.keyboard.press("Tab")
        tab.focuses("first page")
        tab.go("/hierarchies")
        page.get_by_role("option", name="is a value of its own").wait_for(state="attached")
        expect(page.get_by_label("widths: level 1")).to_have_attribute("aria-valuetext", "5")

        # a slider that is moved by keys rests first; a mouse means what it clicks
        tab.go("/promises")
        tab.sees("today: k = 1")
        page.get_by_label("k, slider").focus()
        page.clock.install()
        page.clock.pause_at(
            page.evaluate("Date.now()") + 1000
        )  # it does not rest between two keys, however slow the machine is
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert len(sentences(bench)) == 3
        page.clock.resume()
        tab.sees("v4 ·")
        assert sentences(bench)[3:] == ["k-anonymity: k = 10"]
        page.get_by_label("at most or at least").select_option("at_least")
        tab.sees("v5 ·")


def test_steps_are_dragged_with_a_mouse_and_a_finger(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/promises")
        tab.sees("1. Round")
        handle = page.get_by_role("button", name="Move Round:")

        def ends() -> tuple[float, float, float]:
            handle.evaluate("one => one.scrollIntoView({ block: 'center' })")
            mine, there = handle.bounding_box(), page.locator("ol.steps > li").nth(1).bounding_box()
            return mine["x"] + 8, mine["y"] + 8, there["y"] + there["height"] - 8

        x, y, to = ends()
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, to, steps=5)
        page.locator(".dropafter").wait_for()
        assert len(sentences(bench)) == 1
        page.mouse.up()
        tab.sees("2. Round")
        assert sentences(bench)[1:] == ["Round: now step 2"]
        page.wait_for_function("document.activeElement?.dataset.key === 'step-round-0-handle'")

        # its twin by keys; Escape lets go where it was
        page.keyboard.press("ArrowUp")
        tab.sees("1. Round")
        x, y, to = ends()
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, to, steps=5)
        page.locator(".dropafter").wait_for()
        page.keyboard.press("Escape")
        page.mouse.up()
        expect(page.locator(".dropafter, .dragged")).to_have_count(0)
        assert len(sentences(bench)) == 3

        finger = tab.context.new_cdp_session(page)
        x, y, to = ends()
        for kind, at in (("Start", y), ("Move", (y + to) / 2), ("Move", to), ("End", None)):
            points = [] if at is None else [{"x": x, "y": at}]
            finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        tab.sees("2. Round")
        assert sentences(bench)[3:] == ["Round: now step 2"]
        tab.clean()


def test_hostile_text_is_refused_in_place(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.sees("5-anonymity")
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        area = page.get_by_label("The recipe as text")
        for hostile, words in (
            ("[" * 20_000, "more than 100 deep"),
            ("a: " + "x" * 900_000, "line 1 is longer than"),
            ("a: &a [x, x]\nb: &b [" + "*a, " * 9 + "]\n", "is not a recipe"),
        ):
            area.fill(hostile)
            page.get_by_role("button", name="Apply").click()
            page.locator(".problem li", has_text=words).wait_for()
        tab.sees("v1 ·")


SPECIAL = "ObjectSomeValuesFrom(spl:hasPurpose dpv:ResearchAndDevelopment)"
DEAF = "() => { window.late = []; window.socket.onevent = (packet) => window.late.push(packet); }"
HEARS = (
    "() => { delete window.socket.onevent; for (const one of window.late.splice(0))"
    " window.socket.onevent(one); }"
)


def test_a_drawing_from_before_does_not_undo_what_was_entered(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go("/write")
        tab.sees("release of version 1")
        other = editing(tab)
        folder = page.get_by_label("Folder", exact=True)
        folder.focus()
        page.keyboard.press("Control+a")
        other.page.get_by_role("button", name="Remove Round").click()
        page.wait_for_function("document.activeElement.value.endsWith('version-2')")
        page.keyboard.insert_text("elsewhere")
        assert folder.input_value() == "elsewhere"

        page.evaluate(DEAF)
        other.page.get_by_role("button", name="Undo").click()
        page.wait_for_function("JSON.stringify(window.late).includes('release of version 1')")
        page.get_by_label("CSV: disarm cells").check()
        page.get_by_label("Format of the data").select_option("parquet")
        folder.fill(str(tmp_path / "there"))
        page.keyboard.press("Tab")
        page.wait_for_function("JSON.stringify(window.late).includes('there')")
        page.evaluate(HEARS)
        tab.sees("release of version 1")
        assert page.get_by_label("CSV: disarm cells").is_checked()
        assert page.get_by_label("Format of the data").input_value() == "parquet"
        assert folder.input_value() == str(tmp_path / "there")
        page.get_by_label("CSV: disarm cells").uncheck()
        page.wait_for_function(
            "document.querySelector('[data-key=write-defuse]').defaultChecked === false"
        )
        assert not page.get_by_label("CSV: disarm cells").is_checked()
        assert sentences(bench)[1:] == ["without Round"]


ENTER = """() => [...document.querySelectorAll("#work [data-drawn]:not([data-draft])")].filter((one) => one.offsetParent && !one.disabled).map((one) => {
  if (one.type === "checkbox") one.checked = !one.checked;
  else if (one.type === "radio") one.checked = true;
  else if (one.tagName === "SELECT") one.selectedIndex = (one.selectedIndex + 1) % one.options.length;
  else one.value = one.type === "number" || one.inputMode === "decimal" ? "7" : "entered";
  one.dispatchEvent(new Event("input", { bubbles: true }));
  one.dispatchEvent(new Event("change", { bubbles: true }));
  return one.dataset.key;
})"""
SHOWN = """(keys) => keys.map((key) => {
  const one = document.querySelector(`[data-drawn][data-key="${key}"]`);
  return one && [key, one.type === "checkbox" || one.type === "radio" ? one.checked : one.value, one.value !== one.defaultValue];
}).filter(Boolean)"""
HEARS_EARLIER = (
    "(count) => { for (const one of window.late.splice(0, count))"
    " Object.getPrototypeOf(window.socket).onevent.call(window.socket, one); }"
)


@pytest.mark.parametrize(
    ("path", "opens"),
    [
        ("/write", "Record it in a register"),
        ("/policies", ""),
        ("/questions", ""),
        ("/explore", "Pin another recipe"),
    ],
)
def test_nothing_entered_is_set_back_however_late_the_server_hears(
    path: str, opens: str, browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Every field of a page is filled while a drawing from before is on its way, and that is shown
    long before the server hears of any.
    """
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.go(path)
        other = editing(tab)
        page.bring_to_front()
        page.wait_for_function("document.querySelectorAll('#work [data-drawn]').length > 0")
        if opens:
            page.get_by_text(opens).click()
        page.evaluate(DEAF)
        other.page.get_by_role("button", name="Remove Round").click()
        page.wait_for_function("JSON.stringify(window.late).includes('v2 ')")
        earlier = page.evaluate("window.late.length")
        keys = page.evaluate(ENTER)
        assert keys
        wanted = page.evaluate(SHOWN, keys)
        page.evaluate(HEARS_EARLIER, earlier)
        tab.sees("v2 ·")
        page.wait_for_timeout(2_500)  # no patience ends: what was entered is not heard of yet
        assert page.evaluate(SHOWN, keys) == wanted
        page.wait_for_function("JSON.stringify(window.late).includes('data-heard')")
        page.evaluate(HEARS)
        there = [one for one in page.evaluate(SHOWN, keys) if one]
        assert [one[:2] for one in there] == [
            one[:2] for one in wanted if one[0] in [key for key, *_ in there]
        ]


def test_words_and_clicks_on_write_and_policies_stay_and_what_comes_too_late_is_told(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.sees("5-anonymity")
        other = editing(tab)
        other.page.evaluate(OTHERS_EDIT)
        page.bring_to_front()

        def slowly(field: Any, words: str) -> None:
            field.fill(
                words[:-12]
                # in one go: what nobody has typed in yet follows the version, and loses its
                # selection
            )
            for letter in words[-12:]:
                page.keyboard.press(letter)
                page.wait_for_timeout(15)
            assert field.input_value() == words
            page.keyboard.press("Tab")

        tab.go("/policies")
        slowly(page.get_by_label("Text of the policy"), SPECIAL)
        page.get_by_role("button", name="Read the text").click()
        tab.sees("It says what may be done with data")
        slowly(page.get_by_label("Who receives it"), "the university")
        page.get_by_label("Text of the policy").fill('"' * 400_000)
        page.keyboard.press("Tab")
        tab.sees("longer than a page can send")
        page.get_by_role("button", name="Dismiss").click()
        expect(page.get_by_label("Who receives it")).to_have_value("the university")

        tab.go("/write")
        page.get_by_text("Record it in a register").click()
        slowly(page.get_by_label("Who receives the release"), "the university")
        page.get_by_role("button", name="Ask the register first").click()
        page.locator("[role=alert]", has_text="name the file").wait_for()
        slowly(page.get_by_label("Folder", exact=True), str(out))
        page.get_by_label("CSV: disarm cells").check()
        expect(page.get_by_label("Who receives the release")).to_have_value("the university")
        other.page.evaluate("clearTimeout(window.others)")
        slowly(page.get_by_label("Who receives the release"), " ")
        until(
            tab,
            lambda: (
                "university" not in (bench.project / "project.json").read_text(encoding="utf-8")
            ),
            "kept",
        )
        tab.write()
        tab.sees("To publish")
        assert (out / "share" / "data.csv").is_file()
        expect(page.get_by_label("CSV: disarm cells")).to_be_checked()

        tab.go("/promises")
        tab.sees("today: k = 1")
        page.evaluate(DEAF)
        made = len(sentences(bench))
        other.page.get_by_role("button", name="Remove Round").click()
        until(tab, lambda: len(sentences(bench)) == made + 1, "the other tab removes a step")
        page.wait_for_function("JSON.stringify(window.late).includes('without Round')")
        page.wait_for_timeout(3_000)  # the parts of the version before are gone for the server, too
        page.get_by_role("button", name="Remove Round").click()
        page.wait_for_function("JSON.stringify(window.late).includes('at the same moment')")
        page.evaluate(HEARS)
        tab.sees("so nothing was done")
        page.get_by_role("button", name="Remove Round").wait_for(state="detached")
        assert len(sentences(bench)) == made + 1


def test_a_text_that_was_begun_before_a_change_is_told_so_whatever_comes_first(
    browser: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(tmp_path, files[0], recipe=files[1]) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.sees("5-anonymity")
        other = editing(tab)
        page.bring_to_front()
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        area = page.get_by_label("The recipe as text")
        area.wait_for()
        page.evaluate(DEAF)
        other.page.get_by_role("button", name="Remove Round").click()
        until(tab, lambda: len(sentences(bench)) == 2, "the other tab removes a step")
        area.fill(area.input_value() + "# mine\n")
        page.keyboard.press("Tab")
        page.evaluate(HEARS)
        tab.sees("changed while you were typing")
        expect(area).to_have_value(re.compile("# mine"))
