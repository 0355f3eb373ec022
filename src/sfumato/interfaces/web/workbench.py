"""The state of an open workbench: the project, the worker, what is under way, and answers that were
asked for before.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, SfumatoError, UnreadableInput
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.folders import remember
from sfumato.interfaces.web.listeners import Listeners
from sfumato.interfaces.web.login_links import clear
from sfumato.interfaces.web.project import Opened, Project
from sfumato.interfaces.web.tasks import TASKS
from sfumato.interfaces.web.worker import BenchProcess

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Intake

KEPT_ANSWERS = 300
# Work that belongs to opening a table: where a process dies of it, the next one would too.
OPENING = ("open_data", "propose")
MOST_DEATHS = 3
TOO_OFTEN = (
    f"The process that holds the data ended {MOST_DEATHS} times, perhaps because memory ran out. "
    "The table is not opened again automatically: free memory, or open a smaller one."
)
# Processes that may die within so many seconds before the table is left alone until somebody asks
# for it.
LATELY = 120.0
# Seconds between two words of progress that pages are told.
PAUSE = 0.2


@dataclasses.dataclass
class Underway:
    """Long work under way: which task, for which version, since when, how far, in words."""

    task: str
    title: str
    version: int
    started: float
    share: float = 0.0
    words: str = ""


class Workbench:
    """What all tabs share. Every edit goes through :meth:`edit`; every number
    through :meth:`answer` or :meth:`do`.
    """

    def __init__(
        self, project: Project, *, first: Mapping[str, Any] | None = None, local: bool = True
    ) -> None:
        """``first``: the table to open when the server is up, as :meth:`open` takes it; by default
        the one of the project.

        ``local``: only this machine can reach the pages.
        """
        self.project = project
        self.local = local
        # Light, dark, or as the system has it; the same in all tabs.
        self.colours = "system"
        self.worker = BenchProcess(on_fresh=self._fresh)
        self._jobs: list[Underway] = []
        # What ``open_data`` answered: records, columns, notes, whether it ``changed`` since; None:
        # no table is open.
        self.opened: Fields | None = None
        # The levels that a search chose, by the version it was made for.
        self.searched: dict[int, dict[str, int]] = {}
        # Why the table could not be opened again; empty: it could, or there is none.
        self.trouble = ""
        # Whether a table that nobody chose on a page is being opened: the one named at the start,
        # or that of the project.
        self.reading = False
        self._first = first
        self._read_as: Intake | None = None
        # What long work found and pages of all tabs show, by what it is about; gone with the table.
        self.findings: Fields = {}
        self._answers: OrderedDict[tuple[Any, ...], asyncio.Future[Any]] = OrderedDict()
        # What stages keep for all tabs, by a name of theirs.
        self.remembered: Fields = {}
        # told when work begins, goes on or ends; a table was opened or is gone; another project was
        # opened
        self.work, self.openings, self.moves = Listeners(), Listeners(), Listeners()
        self._last_told = 0.0
        self._died: list[float] = []
        self._opening: asyncio.Task[Any] | None = None
        self._leave = project.listen(self._recipe_changed)

    def close(self) -> None:
        """End the worker and let go of the project."""
        self._leave()
        self.worker.close()
        self.project.close()

    # the recipe

    @property
    def recipe(self) -> Recipe:
        """The recipe in use."""
        return self.project.recipe

    def edit(self, recipe: Recipe, sentence: str, *, based_on: int | None = None) -> int:
        """Make a recipe the one in use; ``based_on`` is the version that the page showed when the
        user began.
        """
        return self.project.edit(
            recipe, sentence, based_on=self.project.version if based_on is None else based_on
        )

    # the data

    @property
    def ready(self) -> bool:
        """Whether there is a table and a recipe for it."""
        return self.opened is not None and self.project.has_recipe

    async def begin(self) -> None:
        """Open the table that was named at the start, else the one of the project; what goes wrong
        is told on the first page.
        """
        await self._try(self.open(**self._first) if self._first else self.reopen())

    async def _try(self, opening: Awaitable[None]) -> None:
        """Open a table that nobody waits for: what goes wrong is kept to be told."""
        self.trouble, self.reading = "", True
        try:
            await opening
        except SfumatoError as error:
            self.trouble = str(error)
        finally:
            self.reading = False
            if self.opened is None:
                self.openings.tell()

    async def open(
        self,
        *,
        path: str | None = None,
        example: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a table; a project without a recipe gets the proposed one as its first version,
        another one keeps its recipe.

        Where the project was about a table of other content, that is said (``opened["changed"]``):
        its numbers are of another table, which may be one from elsewhere (``opened["other"]``).
        """
        before = self.project.data
        data = Opened(path=path, example=example, options=dict(options or {}))
        opened = await self._read(data)
        opened["changed"] = before.digest is not None and before.digest != opened["digest"]
        # another table, or another sheet of the same file
        opened["other"] = (before.path, before.example, before.options.get("table")) != (
            (path, example, data.options.get("table"))
        )
        self.project.set_data(
            dataclasses.replace(data, digest=opened["digest"], name=opened["name"])
        )
        if opened["changed"]:
            self.project.forget_effects()
        if not self.project.has_recipe:
            proposed = await self.do("propose", "Looking at the columns")
            self.project.edit(proposed["recipe"], f"Opened {opened['name']}", based_on=0)
        self._read_as = self.project.recipe.intake
        self.opened, self.trouble = opened, ""
        self._answers.clear()
        self.searched.clear()
        # the list of projects on the first page
        remember(self.project.folder, opened["name"], opened["records"])
        self.openings.tell()

    async def reopen(self) -> None:
        """Open the table that the project is about; one that changed since keeps the recipe and
        drops the numbers.
        """
        data = self.project.data
        if data.path is not None or data.example is not None:
            await self.open(path=data.path, example=data.example, options=data.options)

    async def _read(self, data: Opened) -> Fields:
        """Read a table as it was said, else as the recipe says."""
        recipe = None
        if self.project.has_recipe:
            recipe = self.project.recipe
        how: Fields = {
            "path": data.path,
            "example": data.example,
            "options": dict(data.options),
        }
        if recipe is not None:
            how["recipe"] = recipe
        self.findings.clear()
        return dict(await self.do("open_data", "Reading the table", **how))

    def move_to(self, folder: Path) -> None:
        """Let go of the project and open another one in its place, with its table; all tabs are
        told to load anew.

        What is refused (it is open elsewhere, gone or damaged, or work is under way) leaves
        everything as it is.
        """
        if self.job is not None:
            raise ParameterError(
                f"{self.job.title} is running. Cancel it or wait until it ends, then open the "
                "other project."
            )
        if not (folder / "project.json").is_file():
            raise UnreadableInput(
                f"There is no project in {folder} any more. If it was moved: sfumato serve"
                " --project FOLDER, with its new folder."
            )
        project = Project.open(folder)
        self._leave()
        before, self.project = self.project, project
        self._leave = project.listen(self._recipe_changed)
        clear(before.folder)  # while it is still ours
        before.close()
        self.opened, self._read_as, self.trouble = None, None, ""
        for store in (self.searched, self.findings, self._answers, self.remembered):
            store.clear()
        self.reading = True
        self._open_again()
        self.moves.tell()

    def _recipe_changed(self) -> None:
        """A recipe that says something else about reading has the table read again."""
        if (
            self._read_as is None
            or not self.project.has_recipe
            or self.project.recipe.intake == self._read_as
        ):
            return
        self._read_as = self.project.recipe.intake
        self._open_again()

    def _fresh(self, by_user: bool) -> None:
        """A new process holds no data: let it read them again, unless reading them is what ended
        the one before, or one dies after the other.
        """
        reading = self.job is not None and self.job.task in OPENING
        now = time.monotonic()
        self._died = [when for when in self._died if now - when < LATELY] + (
            [] if by_user else [now]
        )
        self.opened = None
        self._answers.clear()
        if len(self._died) >= MOST_DEATHS:
            self._died.clear()
            self.trouble = TOO_OFTEN
        elif not reading:
            self._open_again()
        self.openings.tell()

    def _open_again(self) -> None:
        self._opening = asyncio.get_running_loop().create_task(self._try(self.reopen()))

    # questions

    async def answer(self, task: str, *, version: int | None = None, **arguments: Any) -> Any:
        """What a quick task says of a version of the recipe (by default the one in use); asked
        once, then remembered.
        """
        number = self.project.version if version is None else version
        key = (task, number if TASKS[task].recipe else 0, repr(sorted(arguments.items())))
        if key not in self._answers:
            # the future is kept, not its result: who asks meanwhile waits for the same one
            self._answers[key] = asyncio.ensure_future(self._ask(task, number, arguments))
            while len(self._answers) > KEPT_ANSWERS:
                self._answers.popitem(last=False)
        self._answers.move_to_end(key)
        try:
            # a page that is drawn anew gives up waiting; others may wait for the same answer
            return await asyncio.shield(self._answers[key])
        except Exception:
            self._answers.pop(key, None)  # what failed is asked again
            raise

    async def do(
        self, task: str, title: str, *, version: int | None = None, **arguments: Any
    ) -> Any:
        """Do long work that tells how far it is; one at a time, the next one waits.

        What a task answers as its ``effect`` (numbers by name: suppressed, loss, risk …) is noted
        with the version it was done for.
        """
        number = self.project.version if version is None else version
        job = Underway(task, title, number, time.monotonic())

        def progress(share: float, words: str) -> None:
            job.share, job.words = share, words
            # a search tells of every node it looks at
            if time.monotonic() - self._last_told >= PAUSE:
                self._last_told = time.monotonic()
                self.work.tell()

        self._jobs.append(job)
        self.work.tell()
        try:
            answer = await self._ask(task, number, arguments, on_progress=progress)
        finally:
            self._jobs.remove(job)
            self.work.tell()
        if isinstance(answer, dict) and isinstance(answer.get("effect"), dict):
            self.project.note(number, answer["effect"])
        return answer

    @property
    def job(self) -> Underway | None:
        """The long work under way; what waits for it comes later."""
        return self._jobs[0] if self._jobs else None

    async def cancel(self) -> None:
        """End the long work under way."""
        if self.job is not None:
            await self.worker.cancel(self.job.task)

    async def _ask(self, task: str, version: int, arguments: Fields, **how: Any) -> Any:
        recipe: Fields = {"recipe": self.project.recipe_of(version)} if TASKS[task].recipe else {}
        return await self.worker.ask(task, **how, **recipe, **arguments)
