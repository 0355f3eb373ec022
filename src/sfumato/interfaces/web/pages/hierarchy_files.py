"""Hierarchies that come as a file, and go as one: what an import covers is shown before it replaces
anything.
"""

from __future__ import annotations

import asyncio
import csv
import io
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.files import write_whole
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.interfaces.web import uploads
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.forms import starting_values
from sfumato.interfaces.web.pages.forms import LONG_VALUE, TOO_LONG, DrawnForm, FormOptions
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED,
    AS_TYPED_IN_AREA,
    VALUE,
    button,
    element,
    hint,
    section,
    text,
)
from sfumato.interfaces.web.pages.tables import folded
from sfumato.interfaces.web.pages.widgets import Drop

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.hierarchies import HierarchyStage

FOLDER = "hierarchies"
MOST_BYTES = 256 * 1024**2


class HierarchyFiles:
    """The part of the stage where hierarchies come and go as files of ARX's format."""

    def __init__(self, stage: HierarchyStage) -> None:
        self.stage = stage
        self.path, self.pasted = "", ""

    def draw(self, column: str) -> None:
        """Draw it."""
        with section("As a file"):
            hint("One line per value: value;level 1;…;top, as ARX writes it.")
            with element("form", "tools") as form:
                field = element(
                    "input",
                    "field",
                    "wide",
                    key="hierarchy path",
                    type="text",
                    autocomplete="off",
                    **{AS_TYPED: self.path},
                    aria_label="path of a hierarchy file on this machine",
                    placeholder="/home/me/hierarchies/age.csv",
                )
                field.on(
                    "input", lambda event: setattr(self, "path", str(event.args)), js_handler=VALUE
                )
                look = button("Look at it", lambda: None, key="import path")
                look.props["type"] = "submit"
            form.on(
                "submit.prevent",
                lambda: self.stage.page.wait_for(self._import(uploads.at_home(self.path.strip()))),
            )
            drop = Drop(
                words="Choose a file", field="upload hierarchy", accept=".csv,.txt", most=MOST_BYTES
            )
            drop.on("done", lambda event: self._sent(str(event.args)))
            self._draw_paste(column)
            if self.stage.recipe.schema[column].hierarchy is not None:
                with element("p", "tools"):
                    button(
                        "Save this hierarchy as a file",
                        lambda: self.stage.page.wait_for(self._export(column)),
                        key="export",
                    )
            self.more = element("div", "notes", role="status")

    def _draw_paste(self, column: str) -> None:
        """Where cells that were copied from a spreadsheet are pasted."""
        with folded(
            "Paste it from a spreadsheet", key="paste hierarchy", unfolded=bool(self.pasted)
        ):
            with element("label", "block"):
                text("One row per value: value, level 1, …, top", "span", "soft", "small")
                about = {"rows": 8, "spellcheck": "false", AS_TYPED_IN_AREA: self.pasted}
                area = element("textarea", "input", "mono", key="hierarchy cells", **about)
            area.on("change", self._typed, js_handler=LONG_VALUE)
            button(
                "Look at what was pasted",
                lambda: self.stage.page.wait_for(self._paste(column)),
                key="import pasted",
            )

    def _typed(self, event: Any) -> None:
        if event.args is None:
            self.stage.page.say(TOO_LONG)
        else:
            self.pasted = str(event.args)

    async def _paste(self, column: str) -> None:
        """Look at cells as at a file of them, which the project keeps."""
        cells = file_text(self.pasted)
        if not cells:
            raise UnreadableInput("Paste the cells of the hierarchy first.")
        folder = uploads.folder_of(self.stage.project.folder, FOLDER)
        path = uploads.fresh(folder, f"{_file_name(column)}.csv")
        await asyncio.to_thread(write_whole, path, cells.encode())
        try:
            await self._import(path)
        except SfumatoError:
            path.unlink(missing_ok=True)
            raise

    def ask(self, builder: str) -> None:
        """A kind of hierarchy that cannot begin without a word: its form, and a look at it."""
        cls = registry.family("hierarchies")[builder]
        schema = self.stage.recipe.schema
        with self.stage.page.client, redrawn(self.stage.asking):
            form = DrawnForm(
                cls,
                schema,
                "asked",
                lambda hierarchy, _: self.stage.use(hierarchy),
                FormOptions(at_once=False, values=starting_values(cls, schema)),
            )
            form.draw()
            button("Look at it", form.submit, key="look at asked")

    async def _sent(self, name: str) -> None:
        path = self.stage.page.attempt(
            lambda: uploads.uploaded_file(self.stage.project.folder, name)
        )
        if path is not None:
            await self.stage.page.wait_for(self._import(path))

    async def _import(self, path: Path) -> None:
        """Look at a file: it is copied into the project, and in use only when somebody says so."""
        if not path.is_file():
            raise UnreadableInput(
                f"{path.name or 'this'}: this file does not exist; check the path"
            )
        how = await self.stage.workbench.answer("delimiter_of", path=str(path.absolute()))
        copy = await asyncio.to_thread(self._copied, path)
        options = {
            name: how[name]
            for name, usual in (("delimiter", ";"), ("encoding", "utf-8"))
            if how[name] != usual
        }
        spec: Fields = {"file": {"path": str(copy), **options}}
        await self.stage.look_at(spec, f"a file of {how['listed']:,} values")

    def _copied(self, path: Path) -> Path:
        folder = uploads.folder_of(self.stage.project.folder, FOLDER)
        copies = [file for file in folder.iterdir() if file.read_bytes() == path.read_bytes()]
        if copies:
            return copies[0]
        copy = uploads.fresh(folder, path.name)
        shutil.copyfile(path, copy)
        copy.chmod(0o600)
        return copy

    async def _export(self, column: str) -> None:
        """Write the hierarchy down in the folder of the project."""
        folder = uploads.folder_of(self.stage.project.folder, FOLDER)
        path = uploads.fresh(folder, f"{_file_name(column)}.csv")
        try:
            answer = await self.stage.workbench.worker.ask(
                "export_hierarchy", recipe=self.stage.recipe, column=column, path=str(path)
            )
        except SfumatoError as error:
            self.stage.page.say(str(error))
            return
        path.chmod(0o600)
        from nicegui import ui

        with self.stage.page.client, redrawn(self.more):
            text(
                f"Wrote {answer['values']:,} values to {answer['path']}. It contains "
                "values of the data, so keep it private.",
                "p",
            )
            button("Download it", lambda: ui.download.file(path), key="download hierarchy")


def file_text(cells: str) -> str:
    r"""Cells of a spreadsheet, with tabs between them, as a file of ARX's format; text without tabs
    is such a file already.

    >>> file_text("nurse\tcare; help\t*\n\n")
    'nurse;"care; help";*\n'
    """
    lines = [line for line in cells.splitlines() if line.strip()]
    if not any("\t" in line for line in lines):
        return "".join(f"{line}\n" for line in lines)
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(
        csv.reader(lines, delimiter="\t")
    )
    return text.getvalue()


def _file_name(column: str) -> str:
    """A column as part of the name of a file.

    >>> _file_name("job <b>")
    'job-b'
    """
    return re.sub(r"[^\w.-]+", "-", column).strip("-.") or "column"
