"""The stage *Write*: where the release goes, what of it may be given away, and what its certificate
says when it is read back.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web.decisions import state_of_decision
from sfumato.interfaces.web.exports import KINDS
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import (
    CHECKED,
    button,
    element,
    hint,
    section,
    text,
)
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.release_runs import made_first
from sfumato.interfaces.web.requests import RegisterRequest, WriteRequest
from sfumato.interfaces.web.uploads import fresh
from sfumato.interfaces.web.worker import TaskFailed

if TYPE_CHECKING:
    from sfumato.core.blocks import Block
    from sfumato.interfaces.web.pages.shell import Page

SUBMIT = "(event) => {event.preventDefault(); emit()}"


def draw(page: Page) -> None:
    """Draw the stage."""
    WriteForm(page).draw()


class WriteForm(StageView):
    """The form and what came of it; what was typed stays while the recipe changes."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.values: Fields = {}
        # The folder that was filled in for another version.
        self.suggested = ""
        self.blocks: list[Block] = []
        # The part about the register was shown open: it stays so.
        self.open = False
        self.problem = ""
        self.shows: tuple[Any, ...] | None = None
        # Warnings that were ticked, each of a version.
        self.ticked: set[tuple[int, str]] = set()
        self.before: Any = None

    def draw(self) -> None:
        """Draw the page; the form and the result are drawn anew apart from each other."""
        text("Where do you want to write the release?", "h1")
        self.before = self.page.live(self._draw_before)
        self.place = element("div")
        self.page.live(self._changed)
        self.result = self.page.live(self._draw_result)
        self.page.live(self._draw_elsewhere)

    @property
    def register(self) -> dict[str, str]:
        """The register that the project keeps."""
        return dict(self.project.register)

    def _changed(self) -> None:
        """Draw the form anew where it is about another version; what is typed in it is not
        disturbed otherwise.
        """
        workbench = self.workbench
        project = workbench.project
        shows = (workbench.opened is None, project.has_recipe, project.version, self.register)
        if shows != self.shows:
            self.shows = shows
            with self.page.client, redrawn(self.place):
                self._draw_form()

    def _draw_form(self) -> None:
        workbench = self.workbench
        version = workbench.project.version
        if not workbench.ready:
            text("Open a table first; there is nothing to write yet.", "p", "soft")
            return
        if self.values.get("folder", "") in ("", self.suggested):
            folder = fresh(workbench.project.folder / "releases", f"version-{version}")
            self.values["folder"] = self.suggested = str(folder)
        options = FormOptions(at_once=False, values=self.values, folded=False)
        form = DrawnForm(WriteRequest, None, "write", self._write, options)
        with element("form", "form").on("submit", form.submit, js_handler=SUBMIT):
            form.draw()
            self._draw_register()
            words = f"Write the release of version {version}"
            button(words, lambda: None, "strongly", key="write").props["type"] = "submit"

    def _draw_register(self) -> None:
        """Where releases are remembered; the project keeps it, and so do the command and the
        script.
        """
        self.open = self.open or bool(self.register)
        attributes: Fields = {"open": True} if self.open else {}
        with element("details", "options", **attributes):
            text("Record it in a register", "summary", key="register")
            hint(
                "sfumato first checks what this release reveals together with all earlier ones, "
                "then adds it to them."
            )
            options = FormOptions(values=self.register, folded=False)
            DrawnForm(RegisterRequest, None, "register", self._registered, options).draw()
            with element("p", "tools"):
                button("Ask the register first", self._ask, key="ask register")
                button("Start a new register there", self._start_register, key="begin register")

    def _registered(self, request: RegisterRequest, _: Any) -> None:
        register = {name: getattr(request, name) for name in ("file", "to", "person", "key")}
        self.page.attempt(lambda: self.project.set_register(register))

    async def _start_register(self) -> None:
        """Make a new register in the file that is named, and its key."""
        workbench = self.workbench
        work = workbench.do("begin_register", "Starting a register", register=self.register)
        answer = await self._wait(work)
        if answer is not None:
            register = {**self.register, "file": answer["file"]}
            self.page.attempt(lambda: workbench.project.set_register(register))

    async def _ask(self) -> None:
        """Say what all releases reveal together, and write nothing."""
        workbench = self.workbench
        version = workbench.project.version

        async def ask() -> Any:
            return await workbench.do(
                "ask_register", "Asking the register", key=str(version), register=self.register
            )

        await self._wait(made_first(workbench, version, ask))

    async def _draw_before(self) -> None:
        """What is known of the release, and what its owner must take note of."""
        workbench = self.workbench
        if not workbench.ready:
            return
        version = self.project.version
        with section("Before you write", "before"):
            try:
                known = await self._ask_before(version)
            except TaskFailed as error:
                if error.kind != "NotMade":
                    raise
                text(f"The release of version {version} is made first.", "p", "soft")
                return
            draw_blocks(known["blocks"])
            for position, warning in enumerate(known["warnings"]):
                with element("label", "check", "warning"):
                    checked = (version, warning) in self.ticked
                    box = element(
                        "input", type="checkbox", key=f"warning-{position}", checked=checked
                    )
                    box.on(
                        "change",
                        lambda event, warning=warning: self._tick(version, warning, event.args),
                        js_handler=CHECKED,
                    )
                    text(warning)
            if known["warnings"]:
                hint("Tick each one: you know it and write the release all the same.")

    def _tick(self, version: int, warning: str, checked: bool) -> None:
        if checked:
            self.ticked.add((version, warning))
        else:
            self.ticked.discard((version, warning))

    async def _ask_before(self, version: int) -> Fields:
        """What is known before the release of a version is written."""
        known: Fields = await self.workbench.worker.ask(
            "before_writing",
            recipe=self.project.recipe_of(version),
            key=str(version),
            decided=self._is_decided(version),
            register=self.register or None,
        )
        return known

    def _is_decided(self, version: int) -> bool:
        return state_of_decision(self.workbench, version) == "current"

    async def _write(self, request: WriteRequest, _: Any) -> None:
        """Write the release of the version in use, which is made first where it is not yet."""
        workbench = self.workbench
        version, register = workbench.project.version, self.register or None

        async def write() -> Any:
            known = await workbench.do(
                "before_writing",
                "Checking the release",
                key=str(version),
                decided=self._is_decided(version),
                register=register,
            )
            if any((version, warning) not in self.ticked for warning in known["warnings"]):
                raise ParameterError("Tick what is said under “Before you write”, then write it.")
            # the history as it is at the moment of writing goes with it
            return await workbench.do(
                "write",
                "Writing the release",
                key=str(version),
                history=workbench.project.history,
                register=register,
                request=request,
                decided=self._is_decided(version),
            )

        await self._wait(made_first(workbench, version, write))
        self.page.redraw(self.before)

    async def _wait(self, work: Awaitable[Fields]) -> Fields | None:
        """Wait for work and show what came of it; what is refused is said under the form."""
        self.blocks, self.problem = [], ""
        self.page.redraw(self.result)
        answer = None
        try:
            answer = await work
            self.blocks = answer["blocks"]
        except SfumatoError as error:
            replace = WriteRequest.__pydantic_fields__["force"].title  # type: ignore[attr-defined]
            self.problem = str(error).replace("replace it with --force", f"tick “{replace}”")
        self.page.redraw(self.result)
        return answer

    def _draw_elsewhere(self) -> None:
        if not self.project.has_recipe:
            return
        with section("Or make it elsewhere", "elsewhere"), element("div", "row"):
            for kind, parcel in KINDS.items():
                about = {"data-key": f"take {kind}", "aria-label": f"Save: {parcel.title}"}
                about |= {"href": f"sfumato/take/{parcel.file}", "download": parcel.file}
                text(parcel.title, "a", "button", **about)

    def _draw_result(self) -> None:
        if self.problem:
            self.page.complain(self.problem)
        if self.blocks:
            with element("section", "written", role="status"):
                draw_blocks(self.blocks)
