"""Another project in the same workbench by a click; a new address for a workbench that runs, for
its owner alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import recipe_files
from sfumato.interfaces.web import login_links
from sfumato.interfaces.web.folders import remember
from sfumato.interfaces.web.login_links import ANSWER, KNOCK, answered, new_address
from sfumato.interfaces.web.project import Opened, Project
from tests.interfaces.web.browser import NEEDS_BROWSER, SOURCE, Served, served, stranger
from tests.interfaces.web.people import written

# Knocking, without a browser.


def test_who_knocks_is_answered_by_files_that_only_the_owner_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_links, "PATIENCE", 120.0)
    given: list[str] = []

    def renew() -> str:
        given.append(f"http://127.0.0.1:1/?token={len(given)}")
        seen.extend(stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir())
        return given[-1]

    seen: list[int] = []
    assert not answered(tmp_path, renew) and not given
    with login_links.at_the_door(lambda: tmp_path, renew):
        assert new_address(tmp_path) == given[0] and new_address(tmp_path) == given[1]
    assert not list(tmp_path.iterdir()), "nothing is left"
    assert set(seen) <= {0o600}


def test_nobody_answers_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_links, "PATIENCE", 0.0)
    assert new_address(tmp_path) is None and not list(tmp_path.iterdir())
    assert new_address(tmp_path / "gone") is None


def test_knocks_of_others_are_not_answered(tmp_path: Path) -> None:
    """A file that others may write, one of another user, a link, a word that is none: no address is
    made of them.
    """

    def never() -> str:
        raise AssertionError("an address was given")

    knock = tmp_path / KNOCK
    knock.write_text("0123456789abcdef")
    knock.chmod(0o666)
    assert not answered(tmp_path, never)
    knock.unlink()
    (tmp_path / "word").write_text("0123456789abcdef")
    (tmp_path / "word").chmod(0o600)
    knock.symlink_to(tmp_path / "word")
    assert not answered(tmp_path, never)
    knock.unlink()
    knock.write_text("../../etc/passwd")
    knock.chmod(0o600)
    assert not answered(tmp_path, never) and not list(tmp_path.glob(f"{ANSWER}*"))
    if os.geteuid() == 0:
        knock.write_text("0123456789abcdef")
        knock.chmod(0o600)
        os.chown(knock, 12345, 12345)
        assert not answered(tmp_path, never)


def test_an_answer_of_somebody_else_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_links, "PATIENCE", 0.4)
    monkeypatch.setattr(login_links.secrets, "token_hex", lambda n: "0123456789abcdef")
    (tmp_path / f"{ANSWER}0123456789abcdef").write_text("http://elsewhere")
    (tmp_path / f"{ANSWER}0123456789abcdef").chmod(0o644)
    assert new_address(tmp_path) is None


# With a browser.


PATIENT = (
    "from sfumato.interfaces.web import login_links as knocking; knocking.PATIENCE = 120.0; from"
    " sfumato.interfaces.cli import main; main()"
)


def again(bench: Served, *words: str) -> subprocess.CompletedProcess[str]:
    """The command once more, by somebody who waits for an answer also where the machine is busy."""
    command = [
        sys.executable,
        "-c",
        PATIENT,
        "serve",
        *words,
        "--project",
        str(bench.project),
        "--no-browser",
    ]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=env
    )


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_a_closed_browser_gets_a_new_address_and_old_ones_stay_dead(
    browser: Any, tmp_path: Path
) -> None:
    table, recipe = written(tmp_path)
    with served(tmp_path, table, recipe=recipe) as bench:
        with bench.tab(browser) as tab:
            tab.page.locator("table.columns tbody tr").nth(5).wait_for()
        with stranger(browser) as page:
            assert page.goto(bench.address).status == 401 and "once more" in page.inner_text("body")
        first, second = again(bench), again(bench, str(table))
        assert first.returncode == second.returncode == 0, first.stderr + second.stderr
        addresses = [one.stdout.strip() for one in (first, second)]
        assert len({*addresses, bench.address}) == 3 and "new address" in second.stderr
        with stranger(browser) as page:
            assert page.goto(addresses[0]).status == 401, "only the newest is good"
            assert page.goto(bench.address).status == 401
        bench.address = addresses[1]
        with bench.tab(browser) as tab:
            tab.page.locator("table.columns tbody tr").nth(5).wait_for()
        with stranger(browser) as page:
            assert page.goto(addresses[1]).status == 401, "and that once"
        assert stat.S_IMODE(bench.project.stat().st_mode) == 0o700
        assert again(bench, "-r", str(recipe)).returncode == 2
        other = again(
            bench, str(recipe.with_name("people.yaml").with_suffix(".csv")), "--delimiter", ";"
        )
        assert other.returncode == 2 and "takes no other options" in other.stderr
    assert not (bench.project / "open.html").exists() and not list(bench.project.glob(f"{ANSWER}*"))


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_a_project_is_opened_by_a_click_or_says_why_not(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, recipe = written(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for name in ("moved", "damaged", "held", "two", "one"):
        with contextlib.closing(Project.open(tmp_path / name)) as made:
            made.edit(recipe_files.load(recipe), "Opened people.csv", based_on=0)
            made.set_data(Opened(path=str(table), name="people.csv"))
        remember(tmp_path / name, "people.csv", 400)
    (tmp_path / "damaged" / "log.jsonl").write_text("{\n")
    (tmp_path / "moved").rename(tmp_path / "elsewhere")
    held = Project.open(tmp_path / "held")
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        page, second = tab.page, tab.another()
        tab.sees("Projects you had open")
        tab.clean()
        page.get_by_text("the project no longer exists").wait_for()
        for name, why in (
            ("held", "open in another workbench"),
            ("damaged", "was changed after it was written, from line 1 on"),
        ):
            page.get_by_role("button", name=f"in {tmp_path / name}").click()
            page.get_by_text(why).first.wait_for()
        (tmp_path / "two").rename(tmp_path / "two, too")
        page.get_by_role("button", name=f"in {tmp_path / 'two'}").click()
        tab.sees("There is no project in")
        page.get_by_role(
            "button", name=f"Forget the project of people.csv in {tmp_path / 'moved'}"
        ).click()
        page.get_by_role(
            "button", name=f"Forget the project of people.csv in {tmp_path / 'moved'}"
        ).wait_for(state="detached")
        page.get_by_role("button", name=f"in {tmp_path / 'one'}").focus()
        page.keyboard.press("Enter")
        for seen in (page, second.page):
            seen.locator("footer", has_text=f"project {tmp_path / 'one'}").wait_for()
            seen.locator("table.columns tbody tr").nth(5).wait_for()
        Project.open(bench.project).close()  # the one before is free again
        with pytest.raises(Exception, match="open in another workbench"):
            Project.open(tmp_path / "one")
        page.get_by_role("group", name="role of illness").get_by_role("button", name="keep").click()
        page.locator(".undo .version", has_text="v2 ").wait_for()
        assert (tmp_path / "one" / "history" / "0002.yaml").exists()
        bench.project = tmp_path / "one"
        assert again(bench).returncode == 0
        page.get_by_text("Open another project").click()
        tab.clean()
        assert bench.stop() == 130
        tab.problems.clear()
    held.close()
