"""Opening a table: by its path, from a folder, dropped here, or the invented hospital; and how it
is read.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.source import Intake
from sfumato.core.words import size_in_words
from sfumato.errors import SfumatoError
from sfumato.interfaces.web import uploads
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.folders import forget_recent, recent
from sfumato.interfaces.web.forms import read_form
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import AS_TYPED, VALUE, button, element, hint, section, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import choice
from sfumato.interfaces.web.pages.widgets import Drop
from sfumato.interfaces.web.requests import ReadingRequest
from sfumato.interfaces.web.reviewed_columns import check, forget

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

MOST_PROJECTS = 6
# What the project keeps of how a table is read; all else stands in the recipe.
NOT_IN_RECIPE = ("format", "table")
PARTS = {"sheet": "Sheet", "table": "Table of the database"}


class Opening(StageView):
    """Ways to open a table. What fails is said in place, and how the file is read can be said
    then.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        # What stands in the form of how the file is read.
        self.values: Fields = {}
        # The sheet or the table of a database that was chosen.
        self.part: dict[str, str] = {}
        self.path = ""

    def draw(self) -> None:
        """The page of a workbench without a table."""
        text("Which table do you want to make safe to share?", "h1")
        text("It is read on this machine and stays here.", "p", "soft")
        if self.workbench.trouble:
            self.page.complain(self.workbench.trouble)
        self._draw_reopening()
        self.problem = element("div", "notes")
        with element("div", "openings"):
            with section("Open a table, a database or a project of ARX"):
                self._path()
                self.folder = element("div", "folder")
            with section("Or send it here"):
                self._drop()
                hint("A copy is kept in the folder of the project, for your eyes only.")
            with section("Or look around first"):
                button(
                    "Try the invented hospital",
                    lambda: self.page.wait_for(self.workbench.open(example="hospital")),
                    key="hospital",
                )
                hint("3,000 stays of people who do not exist.")
            self._recent()
        self._options("How is the file written?")

    def draw_reading(self, opened: Fields) -> None:
        """How the open table was read, and another way; another table."""
        data = self.project.data
        text(_read_as(opened), "p", "soft")
        self.problem = element("div", "notes")
        if data.path is not None:
            self.path = data.path
            self._options("Read it otherwise", opened)
        with element("details", "options"):
            text("Open another table", "summary", key="another table")
            hint("The recipe stays. New columns will wait for a role.")
            self._path(empty=True)
            self.folder = element("div", "folder")
            self._drop()
        if recent(besides=self.project.folder):
            with element("details", "options"):
                text("Open another project", "summary", key="another project")
                hint("The current project is kept.")
                self._projects()

    # parts

    def _draw_reopening(self) -> None:
        """The table that the project is about, where it is not open."""
        data = self.project.data
        if data.path is None and data.example is None:
            return
        with element("p", "lead"):
            text(f"This project is about {data.name or 'a table'}. ")
            button(
                "Open it again", lambda: self.page.wait_for(self.workbench.reopen()), key="reopen"
            )

    def _recent(self) -> None:
        if recent(besides=self.project.folder):
            with section("Projects you had open"):
                self._projects()

    def _projects(self) -> None:
        """Projects that were open before, each behind a button; one that is not where it was says
        so and can be taken off the list.
        """
        self.refused = element("div", "notes")
        self.projects = element("div")
        self._list_projects()

    def _list_projects(self) -> None:
        about: Fields = {"tabindex": 0, "aria_label": "recent projects"}
        with (
            self.page.client,
            redrawn(self.projects),
            element("ul", "entries", "projects", **about),
        ):
            for project in recent(besides=self.project.folder)[:MOST_PROJECTS]:
                self._project(project)

    def _project(self, project: Fields) -> None:
        folder, records = project["folder"], project.get("records")
        name = str(project.get("name") or Path(folder).name)
        with element("li"):
            if project["there"]:
                button(
                    name,
                    lambda: self._move_to(folder),
                    "quiet",
                    key=f"project {folder}",
                    label=f"Open the project of {name} in {folder}",
                )
                if isinstance(records, int):
                    text(f"{records:,} records", "span", "soft", "small")
            else:
                text(f"{name}: the project no longer exists, or was moved", "span", "soft")
                button(
                    "Forget it",
                    lambda: self._forget(folder),
                    "quiet",
                    "small",
                    key=f"forget {folder}",
                    label=f"Forget the project of {name} in {folder}",
                )
            text(folder, "span", "mono", "small", "soft")

    def _forget(self, folder: str) -> None:
        forget_recent(folder)
        self._list_projects()

    def _move_to(self, folder: str) -> None:
        """Open another project in this workbench; why it cannot be is said above the list."""
        try:
            self.workbench.move_to(Path(folder))
        except SfumatoError as error:
            with self.page.client, redrawn(self.refused):
                self.page.complain(str(error))
            self._list_projects()

    def _path(self, *, empty: bool = False) -> None:
        with element("form", "tools") as form:
            self.field = element("span", "field-place")
            self._show_path("" if empty else self.path)
            element_open = button("Open", lambda: None, "strongly", key="open path")
            element_open.props["type"] = "submit"
            button("Browse …", lambda: self._browse(self.path or None), key="browse")
        form.on("submit.prevent", self._open_named)

    def _show_path(self, path: str) -> None:
        """The field of the path, with another one in it."""
        with self.page.client, redrawn(self.field):
            entry = element(
                "input",
                "field",
                "wide",
                key="path",
                type="text",
                aria_label="path of the table on this machine",
                placeholder="/home/me/visits.csv",
                autocomplete="off",
                spellcheck="false",
                **{AS_TYPED: path},
            )
            entry.on("input", self._typed, js_handler=VALUE)

    def _typed(self, event: Any) -> None:
        self.path = str(event.args)

    def _drop(self) -> None:
        drop = Drop(
            words="Choose a file",
            field="upload table",
            accept=",".join(sorted(uploads.SUFFIXES)),
            most=uploads.MOST_BYTES,
        )
        drop.on("done", lambda event: self._sent(str(event.args)))

    def _options(self, words: str, opened: Fields | None = None) -> None:
        """How the file is read; of an open table it can be read again otherwise."""
        with element("details", "options") as self.details:
            text(words, "summary", key="reading options")
            if opened is not None:
                self._part_of(opened)
            options = FormOptions(values=self.values, folded=False)
            DrawnForm(ReadingRequest, None, "reading", lambda *_: None, options).draw()
            hint("Where you choose nothing, sfumato finds out.")
            if opened is not None:
                button("Read it again", self._open_path, key="read again")

    def _part_of(self, opened: Fields) -> None:
        """Which sheet or table is open, and the others; they are chosen in the same place."""
        kind, names = opened["parts"]["kind"], opened["parts"]["names"]
        if len(names) < 2:
            return
        now = self.project.data.options.get("table", names[0])
        if kind == "sheet":
            now = opened["sheet"] or names[0]
        self.part = {kind: now}
        offered = {name: name for name in names}

        def choose(name: str) -> None:
            self.part = {kind: name}

        choice(PARTS[kind], offered, now, choose, key=f"reading {kind}")

    def _ask_part(self, location: Fields, choose: Callable[[str], Any]) -> None:
        """A file that holds several: let one be chosen."""
        kind, names = location["kind"], location["names"]
        with self.page.client, redrawn(self.folder):
            holder, words = ("file", "sheets") if kind == "sheet" else ("database", "tables")
            text(
                f"This {holder} holds {len(names):,} {words}. Which one?",
                "p",
                "strong",
                role="status",
            )
            with element("ul", "entries", tabindex=0, aria_label=words):
                for name in names:
                    self._entry(name, lambda n=name: choose(n), f"{kind} {name}")

    async def _browse(self, path: str | None) -> None:
        """Show what is in a folder of this machine."""
        listing = await self.page.wait_for(asyncio.to_thread(uploads.listing, path))
        if listing is None:
            return
        with self.page.client, redrawn(self.folder):
            text(listing.path, "p", "mono", "small")
            with element("ul", "entries", tabindex=0, aria_label="files and folders"):
                if listing.above is not None:
                    self._entry(
                        "↑ the folder above", lambda: self._browse(listing.above), "folder above"
                    )
                for name in listing.folders:
                    self._entry(
                        f"{name}/",
                        lambda n=name: self._browse(str(Path(listing.path) / n)),
                        f"folder {name}",
                    )
                for name, size in listing.files:
                    self._entry(
                        name,
                        lambda n=name: self._open_chosen(listing.path, n),
                        f"file {name}",
                        size_in_words(size),
                    )
            if not listing.files:
                hint("No file here has the suffix of a table.")
            if listing.omitted:
                hint(f"… and {listing.omitted:,} more")

    def _entry(self, words: str, act: Any, key: str, note: str = "") -> None:
        with element("li"):
            button(words, act, "quiet", key=key)
            if note:
                text(note, "span", "soft", "small")

    # acts

    async def _open_named(self) -> None:
        """Open what was named anew: which sheet or table of it is meant is asked, also where one of
        it is open.
        """
        self.part = {}
        await self._open_path()

    async def _open_chosen(self, folder: str, name: str) -> None:
        self.path = str(Path(folder) / name)
        self._show_path(self.path)
        await self._open_named()

    async def _sent(self, name: str) -> None:
        path = self.page.attempt(lambda: uploads.uploaded_file(self.project.folder, name))
        if path is not None:
            self.path = str(path)
            await self._open_path()

    async def _open_path(self) -> None:
        """Open what stands in the field, read as was said; what fails is said in place, with the
        options open.
        """
        if not self.path.strip():
            self._complain("Name a file first, or browse to it.")
            return
        try:
            if self.path.strip().lower().endswith(uploads.ARX):
                await self._import_arx(self.path.strip())
                return
            location = await self.workbench.do(
                "look_at_path", "Looking at the file", path=self.path.strip()
            )
            options = read_form(ReadingRequest, self.values).options()
            if location["path"] == self.project.data.path:
                options |= self.part  # what was chosen in one file says nothing of another
            part = self._known_part(location, options)
            if part is None:
                self._ask_part(location, lambda name: self._open_part(location, name))
            else:
                await self._open_found(location["path"], {**options, **part})
        except SfumatoError as error:
            self._complain(str(error))

    async def _import_arx(self, path: str) -> None:
        """Take over a project of ARX: its recipe is the next version, its table is opened."""
        folder = uploads.fresh(self.project.folder, "arx")
        project = await self.workbench.do(
            "import_arx", "Reading the project of ARX", path=path, folder=str(folder)
        )
        if project["table"] is None and self.workbench.opened is None:
            self._complain("This ARX project has no table. Open its table first, then the project.")
            return
        self.page.edit(project["recipe"], f"Took over the ARX project {project['title']}")
        if project["table"] is not None:
            await self.workbench.open(path=project["table"])
        # its owner decided on these in ARX
        check(self.project, list(project["recipe"].schema.attributes))
        self.project.tell()
        if project["not_taken"]:
            self.page.say("Not taken over from ARX: " + "; ".join(project["not_taken"]))

    def _known_part(self, location: Fields, options: Fields) -> dict[str, str] | None:
        """The sheet or table that is meant, where that is clear: it was chosen, the recipe names
        it, or there is one. None: ask.
        """
        kind, names = location["kind"], location["names"]
        if not kind:
            return {}
        recipe_sheet = None
        if kind == "sheet" and self.project.has_recipe:
            recipe_sheet = self.recipe.intake.sheet
        requested = options.get(kind)
        if requested is not None or recipe_sheet in names:
            if requested is None:
                return {}
            return {kind: requested}
        if len(names) == 1:
            if kind == "table" or recipe_sheet is not None:
                return {kind: names[0]}
            return {}
        return None

    async def _open_part(self, location: Fields, name: str) -> None:
        try:
            self.part = {}
            options = read_form(ReadingRequest, self.values).options()
            await self._open_found(location["path"], {**options, location["kind"]: name})
        except SfumatoError as error:
            self._complain(str(error))

    async def _open_found(self, path: str, options: Fields) -> None:
        is_other_table = path != self.project.data.path
        await self.workbench.open(path=path, options=options)
        if is_other_table:
            forget(self.project)
        self._write_down(options)

    def _write_down(self, options: Fields) -> None:
        """A recipe that was there before says from now on how the table is read."""
        reading_options = {
            name: value for name, value in options.items() if name not in NOT_IN_RECIPE
        }
        recipe, data = self.recipe, self.project.data
        intake = dataclasses.replace(
            Intake.of(reading_options), missing_in=recipe.intake.missing_in
        )
        if reading_options:  # from now on the recipe says it, so that Undo takes it back
            project_options = {
                name: value for name, value in options.items() if name not in reading_options
            }
            self.project.set_data(dataclasses.replace(data, options=project_options))
        if intake != recipe.intake and (reading_options or recipe.intake.options()):
            self.page.edit(
                dataclasses.replace(recipe, intake=intake), "Another way to read the table"
            )

    def _complain(self, words: str) -> None:
        with self.page.client:
            with redrawn(self.problem):
                self.page.complain(words)
            self.details.props["open"] = True
            self.details.update()


def _read_as(opened: Fields) -> str:
    """How a table was read, in a line."""
    format_, how = opened.get("format", ""), opened.get("read_as", {})
    words = f"{opened.get('name', 'the table')}, {opened.get('records', 0):,} rows"
    if format_ == "frame":
        return words
    if format_ != "csv":
        return f"{words}, {format_}"
    sign = str(how.get("delimiter"))
    between = {",": "comma", ";": "semicolon", "\t": "tab"}.get(sign, sign)
    first = "no names"
    if how.get("header"):
        first = "names in the first line"
    return f"{words}, read as CSV: {between} between cells, {how.get('encoding')}, {first}"
