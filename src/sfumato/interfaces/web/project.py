"""A project: a folder with the recipe, all its versions, and a log of what changed and what it did.

::

    project/            readable by its owner only
      project.json      where the data are, their digest, which version is in use, what is pinned
      recipe.yaml       the version in use, as the command line takes it
      history/0001.yaml every version, never changed
      log.jsonl         a journal: an entry a version (time, parent, sentence), and entries that say
      what it did to risk and loss releases/         what was written
      lock              held while a workbench has the project open

Undo moves the pointer, an edit after that is a branch, and redo follows the newest child. No data
value stands in the log.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core import recipe_files as recipes
from sfumato.core.exchange import sweep
from sfumato.core.files import MEGABYTE, read_plain, require_plain, write_whole
from sfumato.core.journal import Entry, Journal, JournalKind
from sfumato.core.portable import NO_LINK, PRIVATE_FOLDER, NoLocks, lock, open_private
from sfumato.core.recipe import Recipe
from sfumato.core.yaml_text import write_yaml
from sfumato.errors import OutputError, ParameterError, SfumatoError, UnreadableInput
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.folders import PROJECTS, home
from sfumato.interfaces.web.listeners import Listeners
from sfumato.interfaces.web.uploads import FOLDER as UPLOADS
from sfumato.interfaces.web.uploads import at_home, remove_unopened

FORMAT = 1
# In place of the mark of a decision whose release was made again: no mark is empty.
REMADE = ""
TIERS = ("publication", "contract", "internal", "none")
REGISTER = ("file", "to", "person", "key")
MOST_BYTES = 64 * MEGABYTE
FOLDERS = ("history", "releases")
LOG = "log.jsonl"
# Folders in which releases are drafted for a moment: names that ``tempfile`` makes.
DRAFTS = re.compile(r"(sfumato-|\.decision-)[a-z0-9_]{8}")
# What a folder may hold that was meant for a project and left before it became one.
OURS = (*FOLDERS, "arx", "uploads", "hierarchies", "lock", LOG, "recipe.yaml", "open.html")


class Outdated(ParameterError):
    """An edit was made on a version that is no longer the one in use: another tab was faster."""


class Held(OutputError):
    """Another workbench has the project open."""


@dataclasses.dataclass(frozen=True)
class NewVersion(Entry):
    """A version of the recipe was made: what was changed, when, and from which version."""

    version: int
    parent: int
    sentence: str
    time: str


@dataclasses.dataclass(frozen=True)
class VersionEffect(Entry):
    """What came of a version, in numbers."""

    version: int
    effect: Mapping[str, bool | int | float | str | None]


@dataclasses.dataclass(frozen=True)
class VersionDecision(Entry):
    """Who may have the release of a version: the tier, the reason that limits it, what was kept,
    and a mark of the answers it was decided under.
    """

    version: int
    tier: str
    reason: str
    kept: str
    context: str


@dataclasses.dataclass(frozen=True)
class VersionName(Entry):
    """What the owner calls a version; empty: nothing any more."""

    version: int
    name: str


@dataclasses.dataclass(frozen=True)
class EffectsForgotten(Entry):
    """The table is another one: what came of versions before says nothing of it."""

    time: str


# Whoever writes it holds the lock of the project.
PROJECT_LOG = JournalKind(
    "log",
    (NewVersion, VersionEffect, VersionDecision, VersionName, EffectsForgotten),
    "the project is not opened",
    locked=False,
)


@dataclasses.dataclass(frozen=True)
class Version:
    """A version of the recipe: what was changed, when, from which version, and what came of it
    (risk, loss …; numbers only), who may have its release, and what the owner calls it.
    """

    version: int
    parent: int
    sentence: str
    time: str
    effect: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    decision: VersionDecision | None = None
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Opened:
    """The data of a project: a path or the name of a bundled example, how it was read, and what was
    found when it was.
    """

    path: str | None = None
    example: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    digest: str | None = None
    name: str = ""


class Project(Listeners):
    """The recipe in use and its history. One process has it open; what changes it is told to all
    who listen.
    """

    def __init__(self, folder: Path, handle: int, state: Mapping[str, Any]) -> None:
        super().__init__()
        self.folder = folder
        self._handle = handle
        self._journal = Journal(folder / LOG, PROJECT_LOG).read()
        self._entries = _versions(self._journal)
        self._at: int = state.get("at", 0)
        self.data = Opened(**state.get("data", {}))
        self.pins: tuple[Fields, ...] = tuple(state.get("pins", ()))
        # The register that releases of this project are written down in (``file``, ``to``,
        # ``person``, ``key``); empty: none.
        self.register: dict[str, str] = dict(state.get("register", {}))
        # Names of files that were sent here and opened; None: a project of before this was noted.
        self._opened_uploads: list[str] | None = state.get("opened_uploads", None if state else [])
        # What the owner answered about who receives a release, as a file of answers has it.
        self.context: Fields = dict(state.get("context", {}))
        self._recipes: dict[int, Recipe] = {}

    @classmethod
    def open(cls, folder: str | Path) -> Project:
        """Open the project in a folder, or begin one there."""
        path = at_home(str(folder)).absolute()
        _make(path)
        handle = _take_lock(path / "lock")
        try:
            project = cls(path, handle, _state(path / "project.json"))
            project._mend()
        except BaseException:
            if handle >= 0:
                os.close(handle)
            raise
        return project

    def _mend(self) -> None:
        """Put right what a crash between two writes left; what cannot be put right is said."""
        if self._at and self._at not in self._entries:
            raise UnreadableInput(
                f"{self.folder}: version {self._at} is missing from the log; the project is damaged"
            )
        self._remove_leftovers()
        if not self._at:
            return
        try:
            self.recipe_of(self._at)
            text = self._file(self._at).read_bytes()
        except (SfumatoError, OSError) as error:
            raise UnreadableInput(
                f"{self.folder}: version {self._at} cannot be read: {error}"
            ) from None
        current = self.folder / "recipe.yaml"
        if not current.is_file() or current.read_bytes() != text:
            write_whole(current, text)

    def _remove_leftovers(self) -> None:
        """Remove what a killed workbench left: drafts of files and releases, and files that were
        sent and never opened. We hold the lock, so nobody works on them.
        """
        for folder in (self.folder, self.folder / "history"):
            for leftover in folder.glob(".*-*"):
                if leftover.is_file():
                    leftover.unlink(missing_ok=True)
        for folder in self.folder.iterdir():
            if DRAFTS.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
        sweep(self.folder / "releases")
        if self._opened_uploads is not None:
            remove_unopened(self.folder, self._opened_uploads)

    def close(self) -> None:
        """Let others open it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    # what there is

    @property
    def version(self) -> int:
        """The number of the version in use; 0: there is none yet."""
        return self._at

    @property
    def recipe(self) -> Recipe:
        """The recipe in use."""
        if not self._at:
            raise ParameterError("the project has no recipe yet; open a table first")
        return self.recipe_of(self._at)

    @property
    def has_recipe(self) -> bool:
        """Whether there is a recipe to edit."""
        return self._at > 0

    def recipe_of(self, version: int) -> Recipe:
        """The recipe of a version."""
        if version not in self._entries:
            raise ParameterError(f"the project has no version {version}")
        if version not in self._recipes:
            require_plain(self._file(version), limit=MOST_BYTES, purpose="a recipe")
            document = recipes.read_document(self._file(version))
            self._recipes[version] = recipes.from_dict(
                document, base=self.folder, name=f"version {version}"
            )
        return self._recipes[version]

    @property
    def log(self) -> tuple[Version, ...]:
        """All versions, oldest first."""
        return tuple(self._entries[number] for number in sorted(self._entries))

    @property
    def history(self) -> str:
        """The log as it is written, which goes with a release as what led to it."""
        file = self.folder / LOG
        if file.exists():
            return file.read_text(encoding="utf-8")
        return ""

    @property
    def entry(self) -> Version | None:
        """The version in use."""
        return self._entries.get(self._at)

    @property
    def can_undo(self) -> bool:
        """Whether there is a version before this one."""
        entry = self.entry
        return entry is not None and entry.parent > 0

    @property
    def can_redo(self) -> bool:
        """Whether a version was made from this one."""
        return self._newest_child() is not None

    # what changes it

    def edit(self, recipe: Recipe, sentence: str, *, based_on: int) -> int:
        """Make a recipe the one in use, as a new version; the number of that. A recipe that changes
        nothing makes none.
        """
        if based_on != self._at:
            raise Outdated(
                "The recipe was changed in another tab. Load the current recipe, and change it "
                "again."
            )
        if recipe.base == self.folder:
            rebased = dataclasses.replace(recipe, base=self.folder)
        else:
            rebased = self._rebase(recipe)
        text = write_yaml(recipes.to_dict(rebased, base=self.folder))
        # the same text is no new version: undo would do nothing
        if self._at and text == self._file(self._at).read_text(encoding="utf-8"):
            return self._at
        version = max(self._entries, default=0) + 1
        # the version first, then the log, then the pointer: a crash between two of them leaves the
        # old version in use
        write_whole(self._file(version), text.encode())
        self._append(NewVersion(version, self._at, sentence, _now()))
        self._point_to(version)
        return version

    def undo(self) -> None:
        """Go back to the version that this one was made from."""
        if (entry := self.entry) is not None and entry.parent:
            self._point_to(entry.parent)

    def redo(self) -> None:
        """Go to the newest version that was made from this one."""
        if (child := self._newest_child()) is not None:
            self._point_to(child)

    def go_to(self, version: int) -> None:
        """Make an older version the one in use."""
        self.recipe_of(version)
        self._point_to(version)

    def note(self, version: int, effect: Mapping[str, Any]) -> None:
        """Write down what a version did to risk and loss; numbers and words of ours only."""
        entry = self._entries[version]
        changed = {name: value for name, value in effect.items() if entry.effect.get(name) != value}
        if changed:
            self._append(VersionEffect(version, changed))
            self.tell()

    def note_decision(self, decision: VersionDecision) -> None:
        """Write down who may have the release of a version; the same decision is written once."""
        if self._entries[decision.version].decision != decision:
            self._append(decision)
            self.tell()

    def forget_decision(self, version: int) -> None:
        """The release of a version is another one: what was decided is about the one before."""
        decision = self._entries[version].decision
        if decision is not None:
            self.note_decision(dataclasses.replace(decision, context=REMADE))

    def set_name(self, version: int, name: str) -> None:
        """Call a version something."""
        if self._entries[version].name != name.strip():
            self._append(VersionName(version, name.strip()))
            self.tell()

    def forget_effects(self) -> None:
        """The table is another one: what versions did to the one before says nothing of it."""
        self._append(EffectsForgotten(_now()))
        self.tell()

    def set_data(self, data: Opened) -> None:
        """Say which table the project is about."""
        self.data = data
        path = Path(data.path or "")
        if path.parent == self.folder / UPLOADS and self._opened_uploads is not None:
            self._opened_uploads = sorted({*self._opened_uploads, path.name})
        self._save()
        self.tell()

    def set_pins(self, pins: tuple[Fields, ...]) -> None:
        """Keep candidates to be looked at side by side."""
        self.pins = pins
        self._save()
        self.tell()

    def set_register(self, register: Mapping[str, str]) -> None:
        """Say which register releases are written down in, and who receives them; what is empty is
        left out.
        """
        fields = {
            name: register[name].strip() for name in REGISTER if register.get(name, "").strip()
        }
        if fields != self.register:
            self.register = fields
            self._save()
            self.tell()

    def set_context(self, context: Mapping[str, Any]) -> None:
        """Say who receives a release, and what the owner assumes: what a decision is made under."""
        if dict(context) != self.context:
            self.context = dict(context)
            self._save()
            self.tell()

    # files

    def _file(self, version: int) -> Path:
        return self.folder / "history" / f"{version:04}.yaml"

    def _rebase(self, recipe: Recipe) -> Recipe:
        """A recipe from another folder as it reads from this one: files of hierarchies are found
        from here.
        """
        document = recipes.to_dict(recipe, base=self.folder)
        return recipes.from_dict(document, base=self.folder, name="the recipe")

    def _newest_child(self) -> int | None:
        return max(
            (entry.version for entry in self._entries.values() if entry.parent == self._at),
            default=None,
        )

    def _point_to(self, version: int) -> None:
        """Make a version the one in use. Where that cannot be written down, the one before
        stays it: nobody works on what is lost later.
        """
        before = self._at
        write_whole(
            self.folder / "recipe.yaml",
            read_plain(self._file(version), limit=MOST_BYTES, purpose="a recipe"),
        )
        self._at = version
        try:
            self._save()
        except OutputError:
            self._at = before
            raise
        self.tell()

    def _save(self) -> None:
        state: Fields = {
            "sfumato_project": FORMAT,
            "at": self._at,
            "data": dataclasses.asdict(self.data),
            "pins": list(self.pins),
            "register": self.register,
            "context": self.context,
        }
        if self._opened_uploads is not None:
            state["opened_uploads"] = self._opened_uploads
        write_whole(
            self.folder / "project.json", json.dumps(state, indent=1, ensure_ascii=False).encode()
        )

    def _append(self, entry: Entry) -> None:
        """Add an entry to the log, and to what is known of the versions."""
        self._journal.add(entry)
        _enter(self._entries, entry)


def _make(path: Path) -> None:
    """Make the folder of a project, or let only its owner look into it; a folder of somebody else's
    things is refused.
    """
    try:
        names = {entry.name for entry in path.iterdir()} if path.exists() else set()
        if "project.json" not in names and not all(
            name in OURS or name.startswith(".") for name in names
        ):
            raise OutputError(
                f"{path} contains other files and no project; name an empty folder, or one that "
                "does not exist"
            )
        if path.parent == home() / PROJECTS:
            path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            path.parent.chmod(PRIVATE_FOLDER)
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        # a folder that was there before may be open to others
        path.chmod(PRIVATE_FOLDER)
        for name in FOLDERS:
            (path / name).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    except NotADirectoryError:
        raise OutputError(f"{path} is a file; a project is a folder") from None
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"cannot open a project in {path}: {error.strerror}; --project names another folder"
        ) from None


def _take_lock(path: Path) -> int:
    """The lock of a project, held until it is closed; -1 where the system has no locks."""
    try:
        handle = open_private(path, os.O_RDWR | NO_LINK)
    except OSError as error:
        raise OutputError(f"cannot open {path}: {error.strerror}") from None
    try:
        free = lock(handle, wait=False)
    except NoLocks:
        os.close(handle)
        return -1
    if not free:
        os.close(handle)
        raise Held(
            f"{path.parent} is open in another workbench; use that one, or end it first (Ctrl-C in "
            "its terminal)"
        )
    return handle


def _state(path: Path) -> Fields:
    if not path.exists():
        return {}
    try:
        state = json.loads(read_plain(path, limit=MOST_BYTES, purpose="a project"))
        if state["sfumato_project"] != FORMAT:
            raise UnreadableInput(
                f"{path} was written by another version of sfumato; open it with that one"
            )
        if not (
            _whole(state["at"])
            and _about(Opened(**state["data"]))
            and all(map(_pinned, state["pins"]))
            and _kept_in(state)
        ):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableInput(f"{path} is not a project of sfumato, or damaged") from None
    return dict(state)


def data_in(folder: Path) -> Opened:
    """The table that a project is about, without opening it."""
    return Opened(**_state(folder / "project.json").get("data", {}))


def _whole(number: Any) -> bool:
    """Whether this numbers a version, or says that there is none."""
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _about(data: Any) -> bool:
    """Whether this can be what is kept of a table."""
    words = (data.path, data.example, data.digest)
    return (
        isinstance(data.options, dict)
        and isinstance(data.name, str)
        and all(word is None or isinstance(word, str) for word in words)
    )


def _kept_in(state: Mapping[str, Any]) -> bool:
    """Whether this can be what is kept of a register and of the answers; projects of before say
    nothing.
    """
    register = state.get("register", {})
    uploads = state.get("opened_uploads", [])
    if not isinstance(uploads, list) or not all(isinstance(name, str) for name in uploads):
        return False
    if not isinstance(state.get("context", {}), dict):
        return False
    return isinstance(register, dict) and all(
        name in REGISTER and isinstance(value, str) for name, value in register.items()
    )


def _pinned(pin: Any) -> bool:
    """Whether this can be a candidate that was pinned: a version of the history, or a recipe of its
    own.
    """
    if not isinstance(pin, dict) or not isinstance(pin.get("title"), str):
        return False
    if pin.get("kind") == "version":
        return _whole(pin.get("version"))
    return pin.get("kind") in ("node", "recipe") and isinstance(pin.get("recipe"), dict)


def _versions(journal: Journal) -> dict[int, Version]:
    """The versions of a log, each with what came of it."""
    versions: dict[int, Version] = {}
    for number, entry in enumerate(journal.entries, start=1):
        try:
            _enter(versions, entry)
        except (KeyError, ValueError):
            raise journal.damaged(number) from None
    return versions


def _enter(versions: dict[int, Version], entry: Entry) -> None:
    """Enter what an entry of a log says, which must go with those before it."""
    if isinstance(entry, EffectsForgotten):
        versions.update(
            {
                number: dataclasses.replace(version, effect={}, decision=None)
                for number, version in versions.items()
            }
        )
    elif isinstance(entry, VersionEffect):
        if any(
            isinstance(value, str) and name != "objective" for name, value in entry.effect.items()
        ):
            raise ValueError  # all but the name of what the search made small are numbers
        earlier = versions[entry.version]
        versions[entry.version] = dataclasses.replace(
            earlier, effect={**earlier.effect, **entry.effect}
        )
    elif isinstance(entry, VersionName):
        versions[entry.version] = dataclasses.replace(versions[entry.version], name=entry.name)
    elif isinstance(entry, VersionDecision):
        if entry.tier not in TIERS:
            raise ValueError
        versions[entry.version] = dataclasses.replace(versions[entry.version], decision=entry)
    elif isinstance(entry, NewVersion):
        if (
            entry.version < 1
            or entry.version in versions
            or not (entry.parent == 0 or entry.parent in versions)
        ):
            raise ValueError
        versions[entry.version] = Version(entry.version, entry.parent, entry.sentence, entry.time)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
