"""A release that is written on the page is registered as the command line does it: the same entry,
the same people, the same refusal.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import recipe_files
from sfumato.core.blocks import Paragraph, VerdictBlock
from sfumato.core.randomness import Seed
from sfumato.errors import OutputError, ParameterError, SfumatoError, UnreadableInput
from sfumato.interfaces.api import read
from sfumato.interfaces.scripts import Errand, to_command, to_python
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.pinned_candidates import figures_of
from sfumato.interfaces.web.project import Project, data_in
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.tasks import explore, run, write
from sfumato.release.register.store import open_register, start_register
from tests.interfaces.web.browser import NEEDS_BROWSER, SOURCE, expect, served

UNLIKE = ("created", "certificate", "folder")
"""What two entries of one release may differ in: the time, the digest of a certificate with its
salt, and where it lies.
"""
RECIPE = """\
sfumato: 1
columns:
  id: drop
  town: {{role: quasi, hierarchy: {{suppress: {{}}}}}}
  job: {{role: quasi, hierarchy: {{suppress: {{}}}}}}
  diagnosis: sensitive
meet:
- k_anonymity: 5
steps:
- global_recoding: {{levels: {{{hidden}: [1, 1]}}}}
"""
REGISTER_SHOWN = "(file) => document.querySelector('[data-key=register-file]').value === file"
LIMIT = "limits: {composition: 0}\n"


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """25 people in five towns with five jobs, and a register in which their towns were given
    away.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rows = [(f"person {i}{j}", i, j, "abc"[(i * j) % 3]) for i in range(5) for j in range(5)]
    (tmp_path / "people.csv").write_text(
        "id,town,job,diagnosis\n" + "".join(f"{a},t{b},j{c},{d}\n" for a, b, c, d in rows)
    )
    (tmp_path / "town.yaml").write_text(RECIPE.format(hidden="job"))
    (tmp_path / "job.yaml").write_text(RECIPE.format(hidden="town") + LIMIT)
    start_register(tmp_path / "releases.db").close()
    return tmp_path


def sfumato(folder: Path, *words: str, state: str = "state") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(folder / state)}
    command = [sys.executable, "-m", "sfumato", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=env, cwd=folder
    )


def entries(register: Path) -> list[Any]:
    """All releases of a register with their people."""
    with pytest.MonkeyPatch.context() as apart, contextlib.ExitStack() as after:
        apart.setenv(
            "XDG_STATE_HOME", f"{register}.seen"
        )  # a copy is another register where both were seen
        held = after.enter_context(open_register(register))
        return [
            ({**one.to_dict(), **dict.fromkeys(UNLIKE)}, held.people(one.number).packed())
            for one in held.entries
        ]


def sentences_in(answer: dict[str, Any]) -> list[str]:
    """What a register says of a release."""
    return [block.title for block in answer["blocks"] if isinstance(block, VerdictBlock)]


def bench_of(folder: Path, recipe: str, **how: Any) -> tuple[Bench, Any]:
    bench = Bench(table=read(folder / "people.csv"))  # type: ignore[arg-type]
    return bench, run.make(
        bench, lambda *_: None, recipe=recipe_files.parse(recipe), key="1", **how
    )


def test_the_register_is_asked_before_anything_is_written(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"file": str(clinic / "releases.db"), "to": "the press"}
    bench, made = bench_of(clinic, RECIPE.format(hidden="job"))
    assert made["made"]
    quietly = lambda *_: None  # noqa: E731
    asked = write.ask_register(bench, quietly, key="1", register=said)
    assert sentences_in(asked) == ["No earlier release of the register is about the same people"]
    assert not entries(clinic / "releases.db")
    given: dict[str, Any] = {"key": "1", "history": "", "register": said}
    (clinic / "full").mkdir()
    (clinic / "full" / "thesis.doc").write_text("mine")
    with pytest.raises(Exception, match="full"):
        write.write(bench, quietly, request=WriteRequest(str(clinic / "full")), **given)
    assert not entries(clinic / "releases.db"), "what is refused is not even planned"
    written = write.write(bench, quietly, request=WriteRequest(str(clinic / "out")), **given)
    texts = [block.text for block in written["blocks"] if isinstance(block, Paragraph)]
    assert "Registered as release 1, to the press." in texts
    assert entries(clinic / "releases.db")[0][0]["state"] == "released"
    with pytest.raises(ParameterError, match="name the register under Write"):
        bench_of(clinic, RECIPE.format(hidden="town") + LIMIT)
    with pytest.raises(Exception, match="25 of 25"):
        bench_of(clinic, RECIPE.format(hidden="town") + LIMIT, register=said)
    for wrong, error, why in (
        ({"file": str(clinic / "none.db"), "to": "x"}, UnreadableInput, "sfumato register start"),
        ({"file": str(clinic / "releases.db")}, ParameterError, "who receives"),
        ({"to": "x"}, ParameterError, "name the file"),
    ):
        with pytest.raises(error, match=why):
            write.write(
                bench,
                quietly,
                request=WriteRequest(str(clinic / "no")),
                key="1",
                history="",
                register=wrong,
            )


def test_a_register_is_begun_as_the_command_begins_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def begin(**register: str) -> dict[str, Any]:
        return write.begin_register(Bench(), lambda *_: None, register=register)

    told = begin(file="page.db", to="whoever")
    assert sfumato(tmp_path, "register", "start", "command.db").returncode == 0
    assert told["file"] == str(tmp_path / "page.db") and told["key"] == str(
        tmp_path / "page.db.key"
    )
    for end in ("", ".key"):
        page, command = (tmp_path / f"{name}.db{end}" for name in ("page", "command"))
        assert (
            page.stat().st_mode == command.stat().st_mode
            and page.stat().st_size == command.stat().st_size
        )
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    (tmp_path / "gone.db").symlink_to(tmp_path / "nowhere")
    for wrong, error, why in (
        ({"file": "page.db"}, ParameterError, "never replaced"),
        ({"file": "gone.db"}, ParameterError, "never replaced"),
        ({"file": str(tmp_path)}, ParameterError, "never replaced"),
        ({"file": "no folder/a.db"}, OutputError, "cannot write"),
        ({"file": "other.db", "key": "state"}, SfumatoError, "state"),
        ({"key": "page.db.key"}, ParameterError, "name the file"),
    ):
        with pytest.raises(error, match=why):
            begin(**wrong)
    (tmp_path / "gone.db").unlink()
    (tmp_path / "gone.db.key").unlink(missing_ok=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before
    told = begin(file="second.db", key="page.db.key")  # a key that is there is used, and stays
    assert (
        told["key"] == str(tmp_path / "page.db.key") and not (tmp_path / "second.db.key").exists()
    )
    assert (tmp_path / "page.db.key").read_bytes() == before["page.db.key"]
    open_register(tmp_path / "second.db", key=tmp_path / "page.db.key").close()


def test_a_project_keeps_its_register(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    project.set_register({"file": " releases.db ", "to": "the press", "person": ""})
    project.close()
    again = Project.open(tmp_path / "project")
    assert (
        again.register == {"file": "releases.db", "to": "the press"}
        and data_in(tmp_path / "project").path is None
    )
    again.close()
    state = json.loads((tmp_path / "project" / "project.json").read_text())
    for wrong in ({"file": 1}, {"other": "x"}, []):
        (tmp_path / "project" / "project.json").write_text(json.dumps({**state, "register": wrong}))
        with pytest.raises(UnreadableInput, match="damaged"):
            Project.open(tmp_path / "project")
    del state["register"]
    (tmp_path / "project" / "project.json").write_text(json.dumps(state))
    Project.open(tmp_path / "project").close()  # of a version before


def test_script_and_command_register_too(clinic: Path) -> None:
    """The script and the command each write the same entry into a copy of the register."""
    errand = Errand(
        "people.csv", seed="ab" * 16, register={"file": "one.db", "to": "the press", "person": "id"}
    )
    for name in ("one.db", "two.db"):
        shutil.copy(clinic / "releases.db", clinic / name)
        shutil.copy(clinic / "releases.db.key", clinic / f"{name}.key")
    recipe = recipe_files.load(clinic / "town.yaml")
    (clinic / "release.py").write_text(to_python(recipe, errand))
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(clinic / "state one")}
    done = subprocess.run(
        [sys.executable, "release.py"],
        cwd=clinic,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no earlier release of the register" in done.stdout
    words = shlex.split(to_command(errand, "town.yaml"))[1:]
    words = [{"one.db": "two.db", "out": "by command"}.get(word, word) for word in words]
    assert sfumato(clinic, *words, state="state two").returncode == 0
    assert entries(clinic / "one.db") == entries(clinic / "two.db") != []


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_the_page_registers_as_the_command_line_does(browser: Any, clinic: Path) -> None:
    """Refused in place with the limit, told with what it gives away without it, and entered as the
    command line enters it.
    """
    words = ("--register", "releases.db", "--to", "the university")
    assert (
        sfumato(clinic, "run", "people.csv", "-r", "town.yaml", "-o", "out_town", *words).returncode
        == 0
    )
    for end in ("", ".key"):
        shutil.copy(clinic / f"releases.db{end}", clinic / f"copy.db{end}")
    state = {"XDG_STATE_HOME": str(clinic / "state")}
    with (
        served(clinic, clinic / "people.csv", recipe=clinic / "job.yaml", **state) as bench,
        bench.tab(browser) as tab,
    ):
        page = tab.page
        tab.go("/write")
        page.get_by_text("Record it in a register").click()
        page.get_by_label("Who receives the release").fill("the newspaper")
        page.get_by_label("Register", exact=True).fill("new.db")
        page.get_by_role("button", name="Ask the register first").click()
        page.locator("[role=alert]", has_text="start it there, under Write").wait_for()
        page.get_by_role("button", name="Start a new register there").click()
        page.get_by_role("status").get_by_text("was started").wait_for()
        tab.sees(f"Keep {clinic / 'new.db.key'} apart")
        page.wait_for_function(REGISTER_SHOWN, arg=str(clinic / "new.db"))
        assert [(clinic / f"new.db{end}").stat().st_mode & 0o777 for end in ("", ".key")] == [
            0o600,
            0o600,
        ]
        tab.clean()
        held = (clinic / "new.db").read_bytes()
        page.get_by_role("button", name="Start a new register there").click()
        page.locator("[role=alert]", has_text="never replaced").wait_for()
        assert (clinic / "new.db").read_bytes() == held
        page.get_by_role("button", name="Ask the register first").click()
        tab.sees("No earlier release of the register is about the same people")
        other = tab.another()
        other.go("/write")
        page.get_by_label("Register", exact=True).fill(str(clinic / "releases.db"))
        page.keyboard.press("Tab")
        other.page.wait_for_function(REGISTER_SHOWN, arg=str(clinic / "releases.db"))
        other.page.close()
        page.get_by_label("Folder", exact=True).fill(str(clinic / "out"))
        page.get_by_role("button", name="Write the release").click()
        page.locator("[role=alert]", has_text="25 of 25").wait_for()
        assert not (clinic / "out").exists() and len(entries(clinic / "releases.db")) == 1
        tab.clean()
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        page.get_by_label("The recipe as text").fill(RECIPE.format(hidden="town"))
        page.get_by_role("button", name="Apply").click()
        page.locator(".undo .version", has_text="v2 ").wait_for()
        page.get_by_role("button", name="Command line").click()
        page.get_by_text("--to 'the newspaper'").wait_for()
        page.keyboard.press("Escape")
        expect(page.get_by_label("Who receives the release")).to_have_value("the newspaper")
        page.get_by_role("button", name="Ask the register first").click()
        tab.sees("people are unique in all of them together")
        tab.sees("Nothing was written yet")
        page.get_by_label("Folder", exact=True).fill(str(clinic / "out"))
        tab.write(2)
        tab.sees("Registered as release 3, to the newspaper.")
        tab.clean()
        recipe = bench.project / "recipe.yaml"
        seed = json.loads((clinic / "out" / "owner" / "lock.json").read_text())["seed"]
        words = ("--register", "copy.db", "--to", "the newspaper", "--seed", seed)
        done = sfumato(
            clinic,
            "run",
            "people.csv",
            "-r",
            str(recipe),
            "-o",
            "again",
            *words,
            state="state copy",
        )
        assert done.returncode == 0, done.stderr
        assert (
            entries(clinic / "releases.db") == entries(clinic / "copy.db")
            and len(entries(clinic / "copy.db")) == 2
        )
        assert (clinic / "out" / "share" / "data.csv").read_bytes() == (
            clinic / "again" / "share" / "data.csv"
        ).read_bytes()
    with served(clinic, **state) as bench, bench.tab(browser) as tab:
        tab.go("/write")
        expect(tab.page.get_by_label("Register", exact=True)).to_have_value(
            str(clinic / "releases.db")
        )


def test_candidates_are_held_against_the_register_as_write_holds_them(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By recoding, masking and drawing, with a limit and without one: the comparison says what
    Write would say, and enters nothing.
    """
    monkeypatch.setattr(
        explore, "fair_terms", lambda candidates, terms: terms
    )  # attacks on drawn rows take their time
    seed = Seed.of(3)
    monkeypatch.setattr(Seed, "of", lambda *_: seed)  # what is drawn is drawn alike
    said = {"file": str(clinic / "releases.db"), "to": "the press"}
    quietly = lambda *_: None  # noqa: E731
    bench, _ = bench_of(clinic, RECIPE.format(hidden="job"))
    given: dict[str, Any] = {"history": "", "register": said}
    write.write(bench, quietly, request=WriteRequest(str(clinic / "out")), key="1", **given)
    recoded = RECIPE.format(hidden="town")
    head, _ = recoded.split("meet:")
    texts = {
        "recoded": recoded,
        "masked": (
            head + "meet:\n- k_anonymity: 2\nsteps:\n- pram: {columns: [job], retain: 0.7}\n-"
            " global_recoding: {}\n"
        ),
        "drawn": (
            head + "steps:\n- synthesize: {}\nlimits: {copied_records: 1, recognised_members: 1}\n"
        ),
    }
    pins = [(name, recipe_files.parse(text)) for name, text in texts.items()]
    for name, text in texts.items():
        limited = (
            text.replace("copied_records: 1", "copied_records: 1, composition: 0")
            if "limits" in text
            else text + LIMIT
        )
        pins.append((f"{name}, limited", recipe_files.parse(limited)))
    asked = explore.compare(bench, quietly, pins=pins, register={"file": said["file"]})
    alone = explore.compare(bench, quietly, pins=pins)
    assert asked["registered"] == 1 and alone["registered"] is None
    for place, (name, recipe) in enumerate(pins):
        outcome, told = asked["candidates"][place], asked["more"][name]["together"]
        if "limited" in name:
            assert (
                not outcome["holds"]
                and "people whom all releases together single out" in outcome["reason"]
            )
            with pytest.raises(SfumatoError) as refused:
                run.make(bench, quietly, recipe=recipe, key=name, register=said)
            assert outcome["reason"].split("people whom")[1] in str(refused.value), name
            assert (
                not alone["candidates"][place]["holds"]
                and "register" in alone["candidates"][place]["reason"]
            )
        else:
            made = run.make(bench, quietly, recipe=recipe, key=name, register=said)
            assert outcome["holds"] == made["effect"]["holds"]
            answer = write.ask_register(bench, quietly, key=name, register=said)
            assert [word.lower() for word in sentences_in(answer)] == [
                word.lower() for word in told
            ], name
    lines = {title: cells for title, cells, _ in figures_of(asked)}
    assert "people are unique" in lines["with the 1 release of the register"][0]
    lines = {title: cells for title, cells, _ in figures_of(alone)}
    assert set(lines["with earlier releases"]) == {"not asked: no register is named under Write"}
    assert len(entries(clinic / "releases.db")) == 1
