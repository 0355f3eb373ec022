"""From a file to a release that verifies, in one browser: every stage, every version undone and
done again, a project closed and opened, a run that is cancelled; and the command line makes the
same release of the saved recipe.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import recipe_files
from sfumato.guidance.profiling.yaml_text import recipe_text
from sfumato.interfaces.api import profile, read
from sfumato.interfaces.web.pages.stages import STAGES
from tests.interfaces.web.browser import NEEDS_BROWSER, Served, Tab, expect, served

pytestmark = NEEDS_BROWSER

PEOPLE = 1_500
JOBS = ["nurse", "cook", "teacher", "smith", "driver", "clerk"]
UNLIKE = ("created", "digest", "input_commitment", "files", "salt", "attacks")
"""What may differ between two makings of one release: the time, the salt and what is computed with
it, and intruders that tried it.
"""


def table(folder: Path) -> Path:
    """The same invented people every time."""
    draw = np.random.default_rng(11)
    places = zip(
        draw.choice(["101", "102", "203", "415"], PEOPLE), draw.integers(0, 30, PEOPLE), strict=True
    )
    frame = pl.DataFrame(
        {
            "name": [f"Person {row:04d}" for row in range(PEOPLE)],
            "age": draw.normal(47, 17, PEOPLE).clip(18, 97).astype(int),
            "sex": draw.choice(["female", "male"], PEOPLE),
            "zip": [f"{place}{end:02d}" for place, end in places],
            "job": draw.choice(JOBS, PEOPLE),
            "admitted": [
                str(np.datetime64("2024-01-01") + int(day)) for day in draw.integers(0, 730, PEOPLE)
            ],
            "illness": draw.choice(["flu", "asthma", "fracture", "diabetes"], PEOPLE),
            "cost": (draw.gamma(2.0, 900.0, PEOPLE) + 50).astype(int),
        }
    )
    path = folder / "people.csv"
    frame.write_csv(path)
    return path


def button(tab: Tab, words: str) -> Any:
    return tab.page.get_by_role("button", name=words, exact=True)


def version(tab: Tab, number: int) -> None:
    tab.page.locator(".undo .version", has_text=re.compile(rf"^v{number} ")).wait_for()


def sentences(bench: Served) -> list[str]:
    """What the log says of the versions, the first one first."""
    lines = map(json.loads, (bench.project / "log.jsonl").read_text("utf-8").splitlines())
    return [line["NewVersion"]["sentence"] for line in lines if "NewVersion" in line]


def in_use(bench: Served) -> Any:
    """The recipe that is in use, read back from its file."""
    return recipe_files.parse(
        (bench.project / "recipe.yaml").read_text("utf-8"), base=bench.project
    )


def sfumato(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_from_a_file_to_a_release_and_back(browser: Any, tmp_path: Path) -> None:
    path, out = table(tmp_path), tmp_path / "out"
    with served(tmp_path) as bench, bench.tab(browser, excuse=("ERR_CONNECTION",)) as tab:
        _open_and_describe(tab, path)
        _promise(tab)
        _run(tab, 7)
        _explore(tab)
        _run(tab, 9)
        _attack(tab)
        _write(tab, out)
        _verifies(out, path)
        _made_elsewhere(bench, path, out, tmp_path)
        _every_page_is_clean(tab)
        _undone_and_done_again(tab, path)
        before = sentences(bench)
        assert bench.stop() == 130
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        _is_all_there(tab, before)
        _cancelled(tab)


def _open_and_describe(tab: Tab, path: Path) -> None:
    """A file, two roles, a hierarchy: three versions and the first."""
    page = tab.page
    page.get_by_label("path of the table on this machine").fill(str(path))
    page.keyboard.press("Enter")
    page.locator("table.columns tbody tr").nth(7).wait_for()
    version(tab, 1)
    page.get_by_role("group", name="role of cost").get_by_role("button", name="keep").click()
    version(tab, 2)
    page.get_by_role("group", name="role of admitted").get_by_role("button", name="keep").click()
    version(tab, 3)
    tab.go("/hierarchies")
    page.get_by_label("preset 3 6 12 24").click()
    version(tab, 4)
    page.locator(".level").nth(5).wait_for()


def _promise(tab: Tab) -> None:
    """Whole columns instead of cells, and five that look alike."""
    tab.go("/explore")
    button(tab, "Recode whole columns instead").click()
    version(tab, 5)
    tab.go("/promises")
    for number, k in ((6, "3"), (7, "5")):
        field = tab.page.locator("#promise-0-k")
        field.fill(k)
        field.press("Enter")
        version(tab, number)
    tab.sees("5-anonymity")


def _run(tab: Tab, number: int) -> None:
    version(tab, number)
    tab.go("/run")
    button(tab, "Make the release").click()
    tab.page.get_by_text("the recipe changed meanwhile").wait_for(state="detached")
    tab.page.get_by_text("not attacked yet").first.wait_for()
    lost = tab.page.locator(".figure", has_text="records lost").locator(".value")
    lost.get_by_text(re.compile(r"^[\d,]+$")).wait_for()


def _explore(tab: Tab) -> None:
    """Another point than the search chose is pinned and used, and the search is left its choice in
    between.
    """
    tab.go("/explore")
    button(tab, "Look at all combinations").click()
    tab.page.locator("table.points input[type=radio]").nth(1).check()
    tab.page.locator("aside.detail h2").get_by_text("Point 2", exact=True).wait_for()
    button(tab, "Pin").click()
    tab.page.locator(".pins li").first.wait_for()
    button(tab, "Use point 3").click()
    version(tab, 8)
    button(tab, "Use point 2").click()
    version(tab, 9)
    assert in_use(tab.bench).steps[-1].levels


def _attack(tab: Tab) -> None:
    tab.go("/look")
    tab.page.get_by_text(f"of {PEOPLE:,} records released").wait_for()
    button(tab, "Attacks").click()
    tab.sees("Unknown is not a pass")
    tab.page.get_by_label("computing time").select_option("5")
    button(tab, "Let the intruders try").click()
    tab.page.get_by_text(re.compile(r"people against [\d,]+ records")).first.wait_for()


def _write(tab: Tab, out: Path) -> None:
    page = tab.page
    tab.go("/write")
    page.get_by_role("textbox", name="Folder").fill(str(out))
    tab.write(9)
    tab.sees("To publish")
    page.locator(".written .verdict.kept").nth(5).wait_for()
    assert not page.locator(".written .verdict.broken").count()
    expect(page.get_by_role("textbox", name="Folder"), "what was typed stays").to_have_value(
        str(out)
    )


def _verifies(out: Path, path: Path) -> None:
    """Whoever has the folder can compute it again, and counts five that look alike."""
    assert {file.name for file in (out / "share").iterdir()} == {
        "certificate.json",
        "data.csv",
        "report.html",
    }
    assert {file.name for file in (out / "owner").iterdir()} >= {
        "lock.json",
        "history.jsonl",
        "alignment.parquet",
    }
    alone = sfumato("verify", str(out / "share"))
    assert alone.returncode == 7, alone.stdout + alone.stderr
    released = pl.read_csv(out / "share" / "data.csv", infer_schema=False)
    assert "name" not in released.columns
    assert released.group_by("age", "sex", "zip", "job").len()["len"].min() >= 5
    shared = b"".join(file.read_bytes() for file in (out / "share").iterdir())
    assert b"Person 0" not in shared and str(path).encode() not in shared


def _made_elsewhere(bench: Served, path: Path, out: Path, folder: Path) -> None:
    """The command line makes the same of the saved recipe and the seed of the lock: the data to the
    byte, all else but time and salt.
    """
    lock = json.loads((out / "owner" / "lock.json").read_text("utf-8"))
    again = folder / "again"
    recipe = str(bench.project / "recipe.yaml")
    done = sfumato("run", str(path), "-r", recipe, "-o", str(again), "--seed", lock["seed"])
    assert done.returncode == 0, done.stderr
    for name in ("share/data.csv", "owner/alignment.parquet"):
        assert (again / name).read_bytes() == (out / name).read_bytes(), name
    for name in ("share/certificate.json", "owner/lock.json"):
        ours, theirs = (json.loads((place / name).read_text("utf-8")) for place in (out, again))
        assert {**ours, **dict.fromkeys(UNLIKE)} == {**theirs, **dict.fromkeys(UNLIKE)}, name
        assert ours.get("files", {}).get("data.csv") == theirs.get("files", {}).get("data.csv")


def _every_page_is_clean(tab: Tab) -> None:
    for stage in STAGES:
        tab.go(stage.path)
        tab.page.locator(".undo .version").wait_for()
        expect(tab.page.locator("h1"), stage.name).to_have_count(1)
        tab.clean()


def _undone_and_done_again(tab: Tab, path: Path) -> None:
    """Back over every version to the recipe that was proposed, and forward again; none is changed
    by it.
    """
    bench = tab.bench
    before = {file.name: file.read_bytes() for file in (bench.project / "history").iterdir()}
    assert sorted(before) == [f"{number:04d}.yaml" for number in range(1, 10)]
    for number in range(8, 0, -1):
        button(tab, "Undo").click()
        version(tab, number)
        assert in_use(bench) == recipe_files.parse(
            before[f"{number:04d}.yaml"].decode(), base=bench.project
        )
    expect(button(tab, "Undo")).to_be_disabled()
    proposed = recipe_files.parse(recipe_text(profile(read(str(path)))))
    assert in_use(bench) == proposed
    for number in range(2, 10):
        tab.page.keyboard.press("Control+Shift+Z")
        version(tab, number)
    expect(button(tab, "Redo")).to_be_disabled()
    assert {
        file.name: file.read_bytes() for file in (bench.project / "history").iterdir()
    } == before


def _is_all_there(tab: Tab, before: list[str]) -> None:
    """The project as it was left: the table, the version in use, every sentence, the pin."""
    page = tab.page
    version(tab, 9)
    page.locator(".figure", has_text="records").get_by_text(f"{PEOPLE:,}", exact=True).wait_for()
    page.locator("table.columns tbody tr").nth(7).wait_for()
    assert sentences(tab.bench) == before and len(before) == 9
    page.locator(".undo .version").click()
    # Changes of one place that follow each other are one entry, which says the last of them.
    entries = [
        sentence
        for sentence, later in zip(before, [*before[1:], ""], strict=True)
        if sentence.partition(":")[0] != later.partition(":")[0]
    ]
    page.locator("ol.history li").nth(len(entries) - 1).wait_for()
    expect(page.locator("ol.history .sentence strong")).to_have_text(entries[::-1])
    page.keyboard.press("Escape")
    tab.go("/explore")
    page.locator(".pins li").first.wait_for()


LONG = """\
sfumato: 1
columns:
  name: {role: quasi, hierarchy: {mask_right: {length: 11}}}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: [2, 4, 8, 16, 32]}}
  sex: {role: quasi, hierarchy: suppress}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  job: {role: quasi, hierarchy: {frequency: {keep: [5, 4, 3, 2]}}}
  admitted: {role: quasi, kind: date, hierarchy: dates}
  illness: {role: quasi, hierarchy: {frequency: {keep: [3, 2]}}}
  cost: {role: quasi, kind: numeric, hierarchy: {intervals: [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120]}}
meet:
- k_anonymity: {k: 5}
steps:
- global_recoding: {algorithm: anytime, effort: 100000000}
"""
"""A search of millions of nodes, which does not end by itself within any patience of a test."""


def _cancelled(tab: Tab) -> None:
    """A run that would last is ended by its button; nothing of it is left, and the version before
    runs again.
    """
    page = tab.page
    tab.go("/run")
    button(tab, "⟨⟩ Recipe").click()
    page.get_by_label("The recipe as text").fill(LONG)
    button(tab, "Apply").click()
    version(tab, 10)
    page.keyboard.press("Escape")
    button(tab, "Make the release").click()
    tab.sees("Making the release for version 10")
    button(tab, "Cancel the run").click()
    tab.sees("Cancelled. Nothing was written.")
    page.get_by_text("Making the release for version 10").wait_for(state="detached")
    assert not list((tab.bench.project / "releases").iterdir())
    button(tab, "Undo").click()
    _run(tab, 9)
