"""Rough treatment: names that no file system takes, folders with broken links, projects edited by
hand, a disk that is full.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import ChartAxis, ChartBlock, Point, Series
from sfumato.core.recipe import Recipe
from sfumato.errors import OutputError, SfumatoError, UnreadableInput
from sfumato.interfaces.web import project as projects
from sfumato.interfaces.web.project import Project
from tests.core.forged_journals import chain_again

NEEDS_PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def recipe(k: int = 2) -> Recipe:
    return recipes.parse(
        f"{{columns: {{age: {{role: quasi}}}}, meet: [{{k_anonymity: {{k: {k}}}}}]}}"
    )


def begun(folder: Path) -> Path:
    project = Project.open(folder / "project")
    project.edit(recipe(), "Began", based_on=0)
    project.close()
    return folder / "project"


# files that are sent


# folders that are looked into


# projects edited by hand


def state(**said: object) -> str:
    return json.dumps({"sfumato_project": 1, "at": 1, "data": {}, "pins": [], **said})


def chained(*lines: str) -> str:
    """Lines of a log with hashes that fit them."""
    forged, _ = chain_again(
        [f'{line},"hash":"{"0" * 64}"}}' for line in lines], projects.PROJECT_LOG
    )
    return "".join(f"{line}\n" for line in forged)


LINE = '{"NewVersion":{"version":1,"parent":0,"sentence":"s","time":"t"}'
DAMAGED = {
    "nested state": ("project.json", "[" * 100_000),
    "nested log": ("log.jsonl", "[" * 100_000 + "\n"),
    "nested entry": ("log.jsonl", chained('{"NewVersion":' + "[" * 100_000)),
    "log of before": ("log.jsonl", '{"version": 1, "parent": 0, "sentence": "s", "time": "t"}\n'),
    "version that is a truth": ("project.json", state(at=True)),
    "version below none": ("project.json", state(at=-1)),
    "path that is a number": ("project.json", state(data={"path": 5})),
    "options that are a list": ("project.json", state(data={"path": "/x", "options": [1]})),
    "name that is a table": ("project.json", state(data={"name": {"a": 1}})),
    "pin of nothing": ("project.json", state(pins=[{}])),
    "pin without a recipe": ("project.json", state(pins=[{"kind": "node", "title": "x"}])),
    "entry that is a truth": ("log.jsonl", chained(LINE.replace("1,", "true,", 1))),
    "entry below none": ("log.jsonl", chained(LINE, LINE.replace("1,", "-1,", 1))),
    "effect in words": (
        "log.jsonl",
        chained(LINE, '{"VersionEffect":{"version":1,"effect":{"suppressed":"<b>"}}'),
    ),
    "effect that is a list": (
        "log.jsonl",
        chained(LINE, '{"VersionEffect":{"version":1,"effect":[1]}'),
    ),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_project_that_was_damaged_by_hand_is_refused_not_crashed_on(
    tmp_path: Path, how: str
) -> None:
    folder = begun(tmp_path)
    name, words = DAMAGED[how]
    (folder / name).write_text(words)
    with pytest.raises(
        UnreadableInput,
        match="damaged" if name == "project.json" else "was changed after it was written",
    ):
        Project.open(folder)
    (folder / name).write_text(state() if name == "project.json" else chained(LINE))
    Project.open(folder).close()  # it was let go


@NEEDS_PIPES
def test_a_pipe_in_a_project_does_not_stop_it_for_ever(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    (folder / "recipe.yaml").unlink()
    os.mkfifo(folder / "recipe.yaml")
    Project.open(folder).close()
    assert (folder / "recipe.yaml").is_file()  # it is made again from the history
    (folder / "history" / "0001.yaml").unlink()
    os.mkfifo(folder / "history" / "0001.yaml")
    with pytest.raises(UnreadableInput, match="pipe"):
        Project.open(folder)


# a disk that is full


def full_after(taken: int) -> Callable[[int, bytes], int]:
    """A disk that takes so many bytes and no more."""
    left = [taken]
    put = os.write

    def write(handle: int, content: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        wrote = put(handle, content[: left[0]])
        left[0] -= wrote
        return wrote

    return write


@pytest.mark.parametrize("taken", [0, 1, 30])
def test_a_line_that_the_disk_took_half_of_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    project = Project.open(begun(tmp_path))
    before = project.history
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_after(taken))
        with pytest.raises(OutputError, match="No space left"):
            project.edit(recipe(3), "k = 3", based_on=1)
        assert project.version == 1 and project.history == before
    assert project.edit(recipe(4), "k = 4", based_on=1) == 2
    project.close()
    again = Project.open(tmp_path / "project")
    assert again.version == 2 and [entry.sentence for entry in again.log] == ["Began", "k = 4"]
    again.close()


def test_a_version_whose_pointer_cannot_be_written_is_not_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.open(begun(tmp_path))

    def full(path: Path, content: bytes) -> None:
        raise OutputError(f"cannot write {path}: no space")

    with monkeypatch.context() as patch:
        patch.setattr(project, "_save", lambda: full(project.folder / "project.json", b""))
        with pytest.raises(SfumatoError):
            project.edit(recipe(3), "k = 3", based_on=1)
    assert project.version == 1
    assert (
        project.edit(recipe(4), "k = 4", based_on=1) == 3
        and project.entry is not None
        and project.entry.parent == 1
    )
    project.close()


# values in pictures


def test_values_and_separators_are_no_part_of_the_expressions_of_a_picture() -> None:
    vl_convert = pytest.importorskip("vl_convert")
    from sfumato.interfaces.web.pages.charts import vega_spec  # draws nothing by itself

    hostile = "two\u2028lines\u2029\n\"'}}"
    series = Series("after", (Point(0, 0, size=1.0),), "dot")
    x, y = ChartAxis(hostile, (hostile,)), ChartAxis("other" * 999, ("b",))
    spec = vega_spec(ChartBlock("chart", "map", x, y, (series,), hostile))
    assert "<svg" in vl_convert.vegalite_to_svg({**spec, "width": 200, "config": {}})
    compiled = json.dumps(
        vl_convert.vegalite_to_vega({**spec, "width": 200})["marks"], ensure_ascii=False
    )
    assert (
        "\u2028" not in compiled
        and "\u2029" not in compiled
        and len(spec["layer"][0]["encoding"]["y"]["title"]) <= 60
    )


# paths that never end
