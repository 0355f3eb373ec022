"""A project keeps every version, whatever is done with it and wherever it is cut off."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import journal
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.interfaces.web import project as module
from sfumato.interfaces.web.decisions import context_mark, known_decision
from sfumato.interfaces.web.exports import export_text
from sfumato.interfaces.web.folders import project_of
from sfumato.interfaces.web.project import Opened, Outdated, Project, VersionDecision
from tests.core.forged_journals import chain_again


def recipe(k: int) -> Recipe:
    return recipes.parse(
        f"{{columns: {{age: {{role: quasi}}}}, meet: [{{k_anonymity: {{k: {k}}}}}]}}"
    )


def k_of(project: Project) -> int:
    (model,) = project.recipe.meet
    assert model.crowd is not None
    return model.crowd


@dataclasses.dataclass
class Naive:
    """The rule in a few lines: versions with their parents, and which one is in use."""

    made: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # k, parent
    at: int = 0

    def edit(self, k: int) -> None:
        if not self.at or self.made[self.at - 1][0] != k:
            self.made.append((k, self.at))
            self.at = len(self.made)

    def undo(self) -> None:
        if self.at and self.made[self.at - 1][1]:
            self.at = self.made[self.at - 1][1]

    def redo(self) -> None:
        self.at = max(
            (n for n, (_, parent) in enumerate(self.made, 1) if parent == self.at), default=self.at
        )

    def go_to(self, version: int) -> None:
        if self.made:
            self.at = version % len(self.made) + 1


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.integers(2, 6)),
        st.tuples(st.sampled_from(["undo", "redo", "reopen"]), st.just(0)),
        st.tuples(st.just("go_to"), st.integers(0, 20)),
    ),
    max_size=14,
)


def done(project: Project, act: str, value: int) -> Project:
    if act == "edit":
        project.edit(recipe(value), f"k = {value}", based_on=project.version)
    elif act == "go_to":
        if project.log:
            project.go_to(value % len(project.log) + 1)
    elif act == "reopen":
        project.close()
        return Project.open(project.folder)
    else:
        getattr(project, act)()
    return project


@given(acts=ACTS)
def test_the_history_is_that_of_a_naive_model(acts: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project, naive = Project.open(Path(folder) / "project"), Naive()
        for act, value in acts:
            project = done(project, act, value)
            if act != "reopen":
                getattr(naive, act)(*([value] if act in ("edit", "go_to") else []))
            assert project.version == naive.at
            assert [
                (project.recipe_of(e.version).meet[0].crowd, e.parent) for e in project.log
            ] == naive.made
            assert project.can_undo == bool(naive.at and naive.made[naive.at - 1][1])
            if naive.at:
                assert k_of(project) == naive.made[naive.at - 1][0]
                assert recipes.load(project.folder / "recipe.yaml") == dataclasses.replace(
                    project.recipe, base=project.folder
                )
        project.close()


class Killed(BaseException):
    """The machine stopped here."""


@given(
    acts=st.lists(
        st.sampled_from(["edit", "undo", "redo", "note", "data"]), min_size=1, max_size=6
    ),
    after=st.integers(0, 20),
    cut=st.integers(1, 30),
)
def test_a_project_that_was_cut_off_between_two_writes_is_opened_again(
    acts: list[str], after: int, cut: int
) -> None:
    """Files are written whole or not at all; a line of the log may be cut anywhere."""
    writes = 0

    def whole(path: Path, content: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes > after:
            (path.parent / f".{path.name}-draft").write_bytes(content[:cut])
            raise Killed
        plain(path, content)

    def line(file: int, text: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes > after:
            os.write(file, bytes(text)[:cut])
            raise Killed
        write_through(file, text)

    plain, write_through = module.write_whole, journal._write_through
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        project = Project.open(folder)
        patch.setattr(module, "write_whole", whole)
        patch.setattr(journal, "_write_through", line)
        known: list[int] = []
        try:
            for number, act in enumerate(acts):
                if act == "edit":
                    known.append(project.edit(recipe(2 + number), "k", based_on=project.version))
                elif act == "note":
                    if project.version:
                        project.note(project.version, {"loss": number})
                elif act == "data":
                    project.set_data(Opened(path=f"/data/{number}.csv"))
                else:
                    getattr(project, act)()
        except Killed:
            pass
        patch.undo()
        project.close()
        again = Project.open(folder)
        assert {entry.version for entry in again.log} >= set(known)
        assert again.version in (0, *(entry.version for entry in again.log))
        if again.has_recipe:
            assert recipes.load(again.folder / "recipe.yaml").meet == again.recipe.meet
        number = again.edit(recipe(100), "after the crash", based_on=again.version)
        again.note(number, {"loss": 1})
        again.close()
        last = Project.open(folder)
        assert last.version == number and k_of(last) == 100 and last.entry is not None
        assert last.entry.effect == {"loss": 1} and not list(Path(folder).rglob(".*"))
        last.close()


def test_an_edit_of_a_version_that_is_no_longer_in_use_is_refused(tmp_path: Path) -> None:
    project = Project.open(tmp_path)
    first = project.edit(recipe(2), "k = 2", based_on=0)
    project.edit(recipe(3), "k = 3", based_on=first)
    with pytest.raises(Outdated, match="another tab"):
        project.edit(recipe(4), "k = 4", based_on=first)
    assert project.version == 2 and k_of(project) == 3


def test_two_workbenches_do_not_open_the_same_project(tmp_path: Path) -> None:
    first = Project.open(tmp_path)
    with pytest.raises(OutputError, match="open in another workbench"):
        Project.open(tmp_path)
    first.close()
    Project.open(tmp_path).close()


def test_only_the_owner_can_look_into_a_project(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        project = Project.open(tmp_path / "project")
        project.edit(recipe(2), "k = 2", based_on=0)
        project.set_data(Opened(path="/data/visits.csv"))
        project.note(1, {"loss": 0.5})
        project.close()
    finally:
        os.umask(before)
    for file in (tmp_path / "project", *(tmp_path / "project").rglob("*")):
        assert stat.S_IMODE(file.stat().st_mode) == (0o700 if file.is_dir() else 0o600), file


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)
def test_a_second_user_cannot_open_a_project() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        Project.open(Path(folder) / "project").close()
        done = subprocess.run(
            ["/bin/ls", f"{folder}/project"],
            user=65534,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0 and not done.stdout


def test_a_folder_of_other_things_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("mine")
    (tmp_path / "lock").write_text("mine")
    mode = tmp_path.stat().st_mode
    with pytest.raises(OutputError, match="contains other files"):
        Project.open(tmp_path)
    assert (
        sorted(file.name for file in tmp_path.iterdir()) == ["lock", "thesis.doc"]
        and tmp_path.stat().st_mode == mode
    )
    with pytest.raises(OutputError, match="is a file"):
        Project.open(tmp_path / "lock")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("project.json", "{", "not a project of sfumato, or damaged"),
        (
            "project.json",
            '{"sfumato_project": 99, "data": {}, "at": 1, "pins": []}',
            "another version",
        ),
        (
            "project.json",
            '{"sfumato_project": 1, "data": {}, "at": 7, "pins": []}',
            "is missing from the log; the project is damaged",
        ),
        (
            "project.json",
            '{"sfumato_project": 1, "data": {"who": 1}, "at": 1, "pins": []}',
            "damaged",
        ),
        ("project.json", '{"sfumato_project": 1, "data": {}, "at": "1", "pins": []}', "damaged"),
        ("log.jsonl", "nonsense\n", "from line 1 on"),
        (
            "log.jsonl",
            '{"version": 1, "parent": 9, "sentence": "", "time": ""}\n',
            "from line 1 on",
        ),
        ("history/0001.yaml", "meet: [nonsense: {}]", "version 1 cannot be read"),
    ],
)
def test_a_damaged_project_is_named_and_not_touched(
    tmp_path: Path, file: str, content: str, says: str
) -> None:
    project = Project.open(tmp_path)
    project.edit(recipe(2), "k = 2", based_on=0)
    project.close()
    (tmp_path / file).write_text(content)
    with pytest.raises(UnreadableInput, match=says):
        Project.open(tmp_path)
    assert (tmp_path / file).read_text() == content
    (tmp_path / "lock").unlink()  # and the lock was given back


@pytest.mark.parametrize(
    "wrong",
    [
        '{"NewVersion":{"version":2,"parent":9,"sentence":"","time":""}',
        '{"NewVersion":{"version":1,"parent":0,"sentence":"","time":""}',
        '{"NewVersion":{"version":0,"parent":0,"sentence":"","time":""}',
        '{"VersionEffect":{"version":9,"effect":{}}',
        '{"VersionEffect":{"version":1,"effect":{"loss":["Ada"]}}',
    ],
)
def test_entries_that_do_not_go_with_those_before_are_refused(tmp_path: Path, wrong: str) -> None:
    project = Project.open(tmp_path)
    project.edit(recipe(2), "k = 2", based_on=0)
    project.close()
    lines = [
        *(tmp_path / "log.jsonl").read_text().splitlines(),
        wrong + ',"hash":"' + "0" * 64 + '"}',
    ]
    forged, _ = chain_again(lines, module.PROJECT_LOG)
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in forged))
    with pytest.raises(UnreadableInput, match="from line 2 on"):
        Project.open(tmp_path)


def test_effects_are_kept_with_their_version_and_forgotten_with_the_table(tmp_path: Path) -> None:
    project = Project.open(tmp_path)
    project.edit(recipe(2), "k = 2", based_on=0)
    project.note(1, {"loss": 0.5})
    project.note(
        1, {"loss": 0.5, "suppressed": 3, "holds": True, "objective": "loss", "score": None}
    )
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 3
    project.forget_effects()
    assert project.log[0].effect == {}
    project.close()
    again = Project.open(tmp_path)
    assert again.log[0].effect == {} and len((tmp_path / "log.jsonl").read_text().splitlines()) == 4
    with pytest.raises(ParameterError, match="no version 9"):
        again.go_to(9)
    again.close()


def test_a_recipe_that_is_taken_away_finds_its_files_from_any_folder(tmp_path: Path) -> None:
    """Hierarchy files and populations lie with the project; the text is saved elsewhere, and typed
    back it is the same recipe.
    """
    folder, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    with contextlib.closing(Project.open(folder)) as project:
        (folder / "hierarchies").mkdir()
        (folder / "hierarchies" / "age.csv").write_text("1;young;*\n9;old;*\n", "utf-8")
        text = """{columns: {age: {role: quasi, hierarchy: {file: {path: hierarchies/age.csv}}}, zip: {role: quasi, hierarchy: {suppress: {}}}},
            meet: [{k_map: {k: 2, population: people.csv}}]}"""
        project.edit(recipes.parse(text, base=folder), "Opened", based_on=0)
        name, saved = export_text(project, "recipe")
        elsewhere.mkdir()
        (elsewhere / name).write_text(saved, "utf-8")
        read = recipes.load(elsewhere / name)
        assert read.schema["age"].hierarchy.path == folder / "hierarchies" / "age.csv"  # type: ignore[union-attr]
        assert read.meet[0].population == str(folder / "people.csv")
        assert recipes.parse(saved, base=folder).schema == project.recipe.schema
        assert "hierarchies/age.csv" in (folder / "recipe.yaml").read_text("utf-8")
        assert str(folder) not in (folder / "recipe.yaml").read_text("utf-8")


def test_what_a_killed_workbench_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    """Drafts, and files that were sent and never opened; never what somebody put there."""
    folder = tmp_path / "project"
    project = Project.open(folder)
    uploads = folder / "uploads"
    uploads.mkdir()
    for name in ("opened.csv", "never.csv", ".0123.part"):
        (uploads / name).write_text("a\n1\n", encoding="utf-8")
    project.set_data(Opened(path=str(uploads / "opened.csv"), digest="0", name="opened.csv"))
    project.set_data(Opened(path="/elsewhere/other.csv", digest="1", name="other.csv"))
    project.close()
    for name in (".decision-ab12cd34", "sfumato-ab12cd34", "sfumato-notes", ".mine-too"):
        (folder / name).mkdir()
        (folder / name / "data.csv").write_text("a\n1\n", encoding="utf-8")
    Project.open(folder).close()
    assert {path.name for path in uploads.iterdir()} == {"opened.csv"}
    left = {path.name for path in folder.iterdir()}
    assert {"sfumato-notes", ".mine-too"} <= left
    assert not left & {".decision-ab12cd34", "sfumato-ab12cd34"}


def test_project_folders_and_their_parent_are_their_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = project_of(None)
    folder.parent.mkdir(parents=True, mode=0o755)
    Project.open(folder).close()
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]


def test_a_decision_is_about_the_release_it_was_made_for(tmp_path: Path) -> None:
    """Other answers, another version, or the same version made again: each says so."""
    project = Project.open(tmp_path / "project")
    project.edit(recipes.parse("{columns: {age: keep}}"), "one", based_on=0)
    assert known_decision(project) is None
    decision = VersionDecision(1, "contract", "a reason", "all", context_mark(project))
    project.note_decision(decision)

    def outdated() -> str:
        known = known_decision(project)
        assert known is not None and known.words == "under contract"
        return known.outdated

    assert outdated() == ""
    project.set_context({"recipient": "public"})
    assert outdated() == "for other answers"
    project.set_context({})
    project.edit(recipes.parse("{columns: {age: quasi}}"), "two", based_on=1)
    assert outdated() == "for version 1"
    project.undo()
    assert outdated() == ""
    project.forget_decision(1)
    assert outdated() == "for an earlier release"
    project.close()
    again = Project.open(tmp_path / "project")
    assert again.log[0].decision == dataclasses.replace(decision, context="")
    again.forget_effects()
    assert known_decision(again) is None
    again.close()
