"""The stages Data and Hierarchies in a browser: their gestures by mouse and by keys alone, with
names that would like to be markup.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import polars as pl

from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, expect, served

pytestmark = NEEDS_BROWSER

HOSTILE = "<img src=x onerror=alert(1)>\"'&"
RECIPE = f"""
sfumato: 1
columns:
  name: {{role: drop}}
  age: {{role: quasi, kind: numeric, hierarchy: {{intervals: {{widths: [5, 10, 20]}}}}}}
  '{HOSTILE.replace("'", "''")}':
    role: quasi
    hierarchy: {{tree: {{nested: {{'*': {{'</script><b>care': [nurse, midwife], trade: [cook, smith]}}}}}}}}
  illness: {{role: sensitive}}
meet: [k_anonymity: 5]
steps: [global_recoding: {{budget: 0.2}}]
"""


def table(folder: Path) -> Path:
    jobs = ["nurse", "midwife", "cook", "smith", HOSTILE, "nurse", "cook"]
    rows = 400
    frame = pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "age": [20 + (7 * i) % 60 for i in range(rows)],
            HOSTILE: [jobs[i % 7] for i in range(rows)],
            "illness": [["flu", "<b>gout</b>"][i % 2] for i in range(rows)],
        }
    )
    path = folder / "people.csv"
    frame.write_csv(path)
    return path


def test_columns_get_roles_and_rows_are_looked_at(browser: Any, tmp_path: Path) -> None:
    """The way of a newcomer: browse to a file, read it otherwise, give roles by mouse and keys,
    look at rows, undo.
    """
    path = table(tmp_path)
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        page = tab.page
        tab.sees("Which table do you want to make safe to share?")
        tab.clean()
        page.get_by_label("path of the table on this machine").fill(str(tmp_path / "nowhere.csv"))
        page.keyboard.press("Enter")
        tab.sees("this file does not exist; check the path")
        page.get_by_role("button", name="Browse").click()
        page.get_by_role("button", name=path.name, exact=True).click()
        page.locator("table.columns tbody tr").nth(3).wait_for()
        expect(page.locator("h1")).to_have_count(1)
        _roles(tab)
        _rows(tab)
        tab.clean()


def _roles(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("button", name="Accept all 4 guesses").click()
    page.locator(".guess").first.wait_for(state="detached")
    illness = page.get_by_role("group", name="role of illness")
    illness.get_by_role("button", name="quasi").focus()
    page.keyboard.press("Enter")
    page.locator('[aria-label="role of illness"] [aria-pressed=true]', has_text="quasi").wait_for()
    tab.focuses("role quasi illness")
    tab.sees("illness: quasi")
    page.get_by_label("select age").focus()
    page.keyboard.press("Space")
    page.get_by_label("select illness").click(modifiers=["Shift"])
    tab.sees("3 columns selected")
    page.get_by_label("select illness").focus()
    page.keyboard.press("k")
    tab.sees("No column is a quasi-identifier yet")
    page.get_by_role("button", name="Undo").click()
    tab.sees("3 columns together single out")
    page.get_by_label("find a column").fill("ill")
    expect(page.locator("table.columns tbody tr")).to_have_count(1)
    page.get_by_label("find a column").fill("")
    page.get_by_label("another role for illness").select_option("ask")
    tab.sees("1 column waits for your decision")
    page.get_by_label("another role for illness").select_option("stratum")


def _rows(tab: Tab) -> None:
    page = tab.page
    assert page.get_by_text("Person 0", exact=True).count() == 0
    page.get_by_role("button", name="show column name").click()
    page.get_by_text("Person 0", exact=True).wait_for()
    page.get_by_role("button", name="last page of rows").click()
    page.get_by_text("Person 399", exact=True).wait_for()
    page.get_by_role("button", name="sort by age").click()
    page.locator("th[aria-sort=ascending]").wait_for()
    expect(page.locator("table.grid td").nth(1)).to_have_text("20")
    page.get_by_text(HOSTILE).first.wait_for()
    page.get_by_text("<b>gout</b>").first.wait_for()
    page.reload()
    page.get_by_role("button", name="show column name").wait_for()
    assert page.get_by_text("Person 0", exact=True).count() == 0


COUNTED = """(told) => [...document.querySelectorAll("table.columns tbody tr:first-child .num")]
    .map((one) => one.innerText.trim()).join(" ") === told"""
"""Whether the first column has so many missing and distinct values."""


def test_codes_are_read_as_missing_and_what_is_selected_stays_at_hand(
    browser: Any, tmp_path: Path
) -> None:
    """Counts follow how the table is read, there and back; what can be done with selected columns
    is in sight however far down they are.
    """
    path = tmp_path / "wide.csv"
    ages = ["-9" if i % 4 == 0 else str(20 + (7 * i) % 60) for i in range(200)]
    pl.DataFrame(
        {"age": ages, **{f"answer {n}": [(i * n) % 7 for i in range(200)] for n in range(1, 30)}}
    ).write_csv(path)
    with served(tmp_path, path) as bench, bench.tab(browser) as tab:
        page = tab.page
        page.get_by_role("button", name="Read them as missing").click()
        page.wait_for_function(COUNTED, arg="50 45")
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function(COUNTED, arg="– 46")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 860})
            last = page.get_by_label("select answer 29", exact=True)
            last.scroll_into_view_if_needed()
            last.check()
            clear = page.get_by_role("group", name="role of the selected columns").get_by_role(
                "button", name="Clear"
            )
            page.wait_for_function(f"(one) => ({IN_SIGHT})(one)", arg=clear.element_handle())
            clear.click()


def test_a_file_is_dropped_and_kept_in_the_project(browser: Any, tmp_path: Path) -> None:
    path = table(tmp_path)
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        tab.page.set_input_files("input[type=file]", str(path))
        tab.page.locator("table.columns tbody tr").nth(3).wait_for()
        kept = bench.project / "uploads" / path.name
        assert kept.read_bytes() == path.read_bytes() and kept.stat().st_mode & 0o077 == 0


def test_levels_are_chosen_and_groups_changed(browser: Any, tmp_path: Path) -> None:
    """Levels by mouse, widths by a slider, values moved by keys and by hand, a file looked at
    before it is used.
    """
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE, "utf-8")
    with served(tmp_path, table(tmp_path), recipe=recipe) as bench, bench.tab(browser) as tab:
        page = tab.page
        page.locator("table.columns tbody tr").nth(3).wait_for()
        tab.go("/hierarchies")
        page.locator(".level").nth(4).wait_for()
        _levels(tab)
        tab.clean()
        _groups(tab)
        tab.clean()
        _file(tab, tmp_path)


IN_SIGHT = """(one) => {
    const box = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2));
}"""
"""Whether somebody sees an element where it stands: it is on the screen, and nothing is before it.
"""
DRAWN = """([words, number]) => {
    const version = document.querySelector(".undo .version")?.innerText ?? "";
    const drawn = document.querySelector(".work")?.dataset.version;
    return version.includes(words) && version.match(/v([0-9]+)/)?.[1] === number && drawn === number;
}"""


def _done(tab: Tab, words: str, *, number: int) -> None:
    """Wait until a change is in the history under its number, and the stage is drawn for it."""
    tab.page.wait_for_function(DRAWN, arg=[words, str(number)])


def _levels(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("button", name="use level 2").click()
    page.locator(".level.chosen", has_text="in use").wait_for()
    _done(tab, "age: level 2", number=2)
    expect(page.locator(".pick.on")).to_have_text(re.compile(r"^\s*age\s*2/4\s*$"))
    page.get_by_role("button", name="Let the search choose").click()
    _done(tab, "age: the search chooses the level", number=3)
    page.get_by_role("rowheader", name="level 1: width 5").wait_for()
    together = page.locator(".growth tbody tr").first.inner_text()
    page.locator('[data-key="classes of"]').select_option("alone")
    page.wait_for_function(
        "(before) => document.querySelector('.growth tbody tr').innerText !== before", arg=together
    )
    assert page.locator(".growth tbody tr").first.inner_text().split() == [
        "unchanged",
        "60",
        "6",
        "6.7",
    ]
    page.locator('[data-key="classes of"]').select_option("all")
    page.wait_for_function(
        "(before) => document.querySelector('.growth tbody tr').innerText === before", arg=together
    )
    slider = page.locator('[data-key="builder-widths 1"]')
    slider.focus()
    page.keyboard.press("ArrowRight")
    _done(tab, "age: intervals of numbers 6, 12, 24", number=4)
    page.wait_for_function("document.activeElement?.dataset.key === 'builder-widths 1'")
    page.get_by_label("preset 10 50").click()
    _done(tab, "age: intervals of numbers 10, 50", number=5)
    widths = page.locator('[data-key="builder-widths"]')
    widths.fill("5 7")
    widths.press("Enter")
    tab.sees("must be growing multiples")
    page.get_by_role("button", name="Undo").click()
    _done(tab, "age: intervals of numbers 6, 12, 24", number=4)


def _groups(tab: Tab) -> None:
    page = tab.page
    page.locator(".pick", has_text="onerror").click()
    page.locator(".group.lost", has_text="onerror").wait_for()
    tab.sees("1 value is in no group")
    chip = page.locator(".group.lost .chip")
    chip.focus()
    page.keyboard.press("Enter")
    page.get_by_label("group to move to").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".group.lost").wait_for(state="detached")
    page.get_by_role("group", name="trade").locator(".chip", has_text="onerror").wait_for()
    _done(tab, "moved 1 value", number=6)
    page.get_by_role("group", name="trade").locator(".chip", has_text="smith").drag_to(
        page.locator(".group", has_text="nurse")
    )
    page.locator(".group", has_text="nurse").locator(".chip", has_text="smith").wait_for()
    _done(tab, "moved 1 value", number=7)
    name = page.get_by_label("name of the group trade")
    name.fill("crafts")
    name.press("Enter")
    page.get_by_role("group", name="crafts").wait_for()
    _done(tab, "renamed a group", number=8)
    for value in ("nurse", "cook"):
        page.locator(".chip", has_text=value).click()
    page.get_by_role("button", name="Move to …").click()
    page.get_by_label("or a new group called").fill("both")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="both").locator(".chip").nth(1).wait_for()
    _done(tab, "moved 2 values to another group", number=9)
    assert "both" not in tab.page.locator(".undo").inner_text()


def _file(tab: Tab, folder: Path) -> None:
    page = tab.page
    file = folder / "jobs.csv"
    file.write_text("nurse,care,*\nmidwife,care,*\ncook,trade,*\n", "utf-8")
    page.get_by_label("path of a hierarchy file on this machine").fill(str(file))
    page.get_by_role("button", name="Look at it").click()
    tab.sees("This is a preview")
    tab.sees("2 values are in no group")
    page.wait_for_function(
        "document.activeElement?.dataset.key === 'put under other'"
    )  # far above what was pressed
    assert page.get_by_role("button", name="Use it").evaluate(IN_SIGHT)
    page.get_by_role("button", name="List them").click()
    page.get_by_label("values in no group").get_by_text("smith").wait_for()
    page.get_by_role("button", name="Put them under Other").click()
    page.locator('[data-key="builder"]').wait_for()
    tab.sees("a file of 3 values")
    page.locator(".level", has_text="Other").first.wait_for()
    page.get_by_role("button", name="Save this hierarchy as a file").click()
    tab.sees("it contains values")
    tab.go("/hierarchies")
    page.locator(".pick", has_text="onerror").click()
    page.get_by_role("button", name="Edit the groups by hand").click()
    page.wait_for_function("document.activeElement?.dataset.key === 'groups of level 1'")
    assert page.locator('[data-key="groups of level 1"]').evaluate(IN_SIGHT)
    _pasted(tab)


def _pasted(tab: Tab) -> None:
    """Cells of a spreadsheet, by keyboard: what is no hierarchy leaves no file, and what is one is
    looked at before it is used.
    """
    page = tab.page
    tab.go("/hierarchies")
    page.locator(".pick", has_text="onerror").click()
    page.locator(".pick.on", has_text="onerror").wait_for()
    page.locator("h1", has_text="onerror").wait_for()
    page.locator('[data-key="paste hierarchy"]').focus()
    page.keyboard.press("Enter")
    kept = tab.bench.project / "hierarchies"
    before = set(kept.iterdir())
    cells, look = page.locator('[data-key="hierarchy cells"]'), '[data-key="import pasted"]'
    cells.fill("nurse\tcare\t*\nnurse\ttrade\t*")
    page.locator(look).press("Enter")
    page.locator("[role=alert]", has_text="needs one parent").first.wait_for()
    assert set(kept.iterdir()) == before
    page.get_by_role("button", name="Dismiss").click()
    cells.fill("nurse\tcare; help, and more\t*\n\nmidwife\tcare; help, and more\t*\n")
    page.locator(look).press("Enter")
    tab.sees("This is a preview")
    page.locator(".level", has_text="care; help, and more").first.wait_for()
    (file,) = set(kept.iterdir()) - before
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text("utf-8").splitlines()[1] == 'midwife;"care; help, and more";*'
    tab.clean()
