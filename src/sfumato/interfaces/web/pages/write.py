"""The stage *Write*: where the release goes, what of it may be given away, and what its certificate
says when it is read back.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.exports import KINDS
from sfumato.interfaces.web.pages.current_release import made_first
from sfumato.interfaces.web.pages.drawer import VALUE
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import AS_TYPED, Words, button, element, section, text
from sfumato.release.verification import MARKS

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

FORMATS = {
    "": "as the table that was read",
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "jsonl": "JSON lines",
    "excel": "Excel",
}
CHECKED = "(event) => emit(event.target.checked)"
MEANINGS = {
    "certificate.json": "what is promised, and every file of this folder",
    "report.html": "the same for people, with pictures",
    "lock.json": "what is needed to make it again",
    "alignment.parquet": "which row came from which",
    "release.json": "all that was found",
    "history.jsonl": "how the recipe came to be what it is",
}


REPLACE = "Replace an earlier release in that folder"
REGISTER_FIELDS = (
    (
        "register file",
        "Register",
        "The file of a register, or of a new one that is begun below; empty: none is asked.",
    ),
    (
        "register to",
        "Who receives the release",
        "As it shall stand in the register: the university of …",
    ),
    (
        "register person",
        "Columns that tell people apart",
        "With commas between; empty: the person column, else all direct identifiers.",
    ),
    ("register key", "Key of the register", "Where it is not beside the register, as FILE.key."),
)


def draw(page: Page) -> None:
    """Draw the stage."""
    WriteForm(page).draw()


class WriteForm:
    """The form and what came of it; what was typed stays while the recipe changes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: dict[str, Any] = {
            "folder": "",
            "format": "",
            "sign": "",
            "force": False,
            "pictures": False,
            "defuse": False,
        }
        self.written: dict[str, Any] | None = None
        self.asked: dict[str, Any] | None = None
        self.begun: dict[str, Any] | None = None
        self.open = False
        """The part about the register was shown open: it stays so."""
        self.problem = ""
        self.shows: tuple[Any, ...] | None = None

    def draw(self) -> None:
        """Draw the page; the form and the result are drawn anew apart from each other."""
        text("Where shall the release go?", "h1")
        self.place = element("div")
        self.page.live(self._changed)
        self.result = self.page.live(self._result)
        self.page.live(self._elsewhere)

    def _changed(self) -> None:
        """Draw the form anew where it is about another version; what is typed in it is not
        disturbed otherwise.
        """
        project = self.page.workbench.project
        shows = (
            self.page.workbench.opened is None,
            project.has_recipe,
            project.version,
            dict(project.register),
        )
        if shows != self.shows:
            self.shows = shows
            with self.page.client, redrawn(self.place):
                self._form()

    def _form(self) -> None:
        workbench = self.page.workbench
        project = workbench.project
        if workbench.opened is None or not project.has_recipe:
            text("Open a table first: there is nothing to write yet.", "p", "soft")
            return
        with element("form", "form").on(
            "submit", self._write, js_handler="(event) => {event.preventDefault(); emit()}"
        ):
            folder = self.said["folder"] or str(
                project.folder / "releases" / f"version-{project.version}"
            )
            self._field(
                "folder",
                "Folder",
                folder,
                "It is made; one that is there is refused, so that nothing is lost.",
            )
            with element("label", "labelled"):
                text("Format of the data")
                with element("select", "select", key="format") as chosen:
                    for name, words in FORMATS.items():
                        picked = {"selected": True} if name == self.said["format"] else {}
                        text(words, "option", value=name, **picked)
                chosen.on(
                    "change", lambda event: self._said("format", str(event.args)), js_handler=VALUE
                )
            self._field(
                "sign",
                "Key to sign with",
                self.said["sign"],
                "An Ed25519 private key (PEM), as 'sfumato key sign' makes it; empty: not signed.",
            )
            self._check("force", REPLACE)
            self._check("pictures", "Write the pictures of both reports as files too")
            self._check("defuse", "CSV: disarm cells that a spreadsheet would run as formulas")
            self._register()
            made = button(
                f"Write the release of version {project.version}",
                lambda: None,
                "strongly",
                key="write",
            )
            made.props["type"] = "submit"

    def _register(self) -> None:
        """Where releases are remembered; the project keeps it, and so do the command and the
        script.
        """
        said = self.page.workbench.project.register
        self.open = self.open or bool(said)
        shown: dict[str, Any] = {"open": True} if self.open else {}
        with element("details", "options", **shown):
            text("Remember it in a register", "summary", key="register")
            text(
                "What this release tells together with all earlier ones is looked at first, and it"
                " is added to them.",
                "p",
                "soft",
                "small",
            )
            for name, label, meaning in REGISTER_FIELDS:
                self._field(
                    name,
                    label,
                    said.get(name.removeprefix("register "), ""),
                    meaning,
                    self._registered,
                )
            with element("p", "tools"):
                button("Ask the register first", self._ask, key="ask register")
                button("Begin a new register there", self._begin, key="begin register")

    def _registered(self, name: str, value: str) -> None:
        project = self.page.workbench.project
        self.page.attempt(
            lambda: project.set_register(
                {**project.register, name.removeprefix("register "): value}
            )
        )

    @property
    def _kept_in(self) -> dict[str, str] | None:
        return dict(self.page.workbench.project.register) or None

    def _clear(self) -> None:
        self.written = self.asked = self.begun = None
        self.problem = ""
        self.page.redraw(self.result)

    async def _begin(self) -> None:
        """Make a new register in the file that is named, and its key."""
        self._clear()
        given = {"register": self._kept_in or {}}
        self.begun = await self._told(self._do("begin_register", "Beginning a register", given))
        if self.begun is not None:
            self._registered("register file", self.begun["file"])
        self.page.redraw(self.result)

    async def _ask(self) -> None:
        """Say what all releases tell together, and write nothing."""
        self._clear()
        version = self.page.workbench.project.version
        given = {"key": str(version), "register": self._kept_in or {}}
        self.asked = await self._told(
            made_first(
                self.page.workbench,
                version,
                lambda: self._do("ask_register", "Asking the register", given),
            )
        )
        self.page.redraw(self.result)

    async def _told(self, doing: Awaitable[dict[str, Any]]) -> dict[str, Any] | None:
        """Wait for work; what is refused is said under the form."""
        try:
            return await doing
        except SfumatoError as error:
            self.problem = str(error).replace("replace it with --force", f"tick “{REPLACE}”")
            return None

    async def _do(self, task: str, title: str, given: dict[str, Any]) -> dict[str, Any]:
        return dict(await self.page.workbench.do(task, title, **given))

    def _elsewhere(self) -> None:
        if not self.page.workbench.project.has_recipe:
            return
        with section("Or make it elsewhere", "elsewhere"), element("div", "row"):
            for kind, parcel in KINDS.items():
                text(
                    parcel.title,
                    "a",
                    "button",
                    href=f"sfumato/take/{parcel.file}",
                    download=parcel.file,
                    **{"data-key": f"take {kind}", "aria-label": f"Save: {parcel.title}"},
                )

    def _field(
        self,
        name: str,
        label: str,
        value: str,
        meaning: str,
        keep: Callable[[str, str], None] | None = None,
    ) -> None:
        with element("label", "labelled"):
            text(label)
            made = element(
                "input",
                "field",
                key=name,
                type="text",
                **{AS_TYPED: value},
                spellcheck="false",
                autocomplete="off",
            )
            keep = keep or self._said
            kind = "input" if keep == self._said else "change"
            made.on(kind, lambda event: keep(name, str(event.args)), js_handler=VALUE)
        text(meaning, "p", "soft", "small", "meaning")

    def _check(self, name: str, label: str) -> None:
        with element("label", "check"):
            ticked = {"checked": True} if self.said[name] else {}
            made = element("input", key=name, type="checkbox", **ticked)
            made.on("change", lambda event: self._said(name, bool(event.args)), js_handler=CHECKED)
            text(label)

    def _said(self, name: str, value: Any) -> None:
        self.said[name] = value

    async def _write(self) -> None:
        """Write the release of the version in use, which is made first where it is not yet."""
        self._clear()
        self.written = await self._told(self._made_and_written(self.page.workbench.project.version))
        self.page.redraw(self.result)

    async def _made_and_written(self, version: int) -> dict[str, Any]:
        workbench = self.page.workbench
        said = {
            name: value or None for name, value in self.said.items() if name in ("format", "sign")
        }
        said |= {name: self.said[name] for name in ("force", "pictures", "defuse")}
        folder = self.said["folder"] or str(
            workbench.project.folder / "releases" / f"version-{version}"
        )
        given: dict[str, Any] = {
            **said,
            "key": str(version),
            "folder": folder,
            "register": self._kept_in,
        }
        title = "Writing the release"
        # the history as it is at the moment of writing goes with it
        return await made_first(
            self.page.workbench,
            version,
            lambda: self._do("write", title, {**given, "history": workbench.project.history}),
        )

    def _result(self) -> None:
        if self.problem:
            self.page.complain(self.problem)
        if self.begun is not None:
            with section("A new register", "written"):
                text(
                    f"{self.begun['file']} was begun. Nothing stands in it yet.", "p", role="status"
                )
                text(
                    f"Keep {self.begun['key']} apart from the register if others can read your"
                    " folders, and keep a copy: with another key nobody would be known again.",
                    "p",
                )
                for note in self.begun["notes"]:
                    text(note, "p", "soft", "small")
        if self.asked is not None:
            with section("All releases together", "written"):
                _together(self.asked)
                text(
                    "Nothing was written yet, neither here nor in the register.",
                    "p",
                    "soft",
                    "small",
                )
        if self.written is None:
            return
        found = self.written
        with section("Written", "written"):
            text(found["headline"], "p", "lead")
            text(found["folder"], "p", "mono", "small")
            if found["register"] is not None:
                text("What all releases of the register tell together", "h3")
                _together(found["register"])
                kept = found["register"]
                text(f"Kept as release {kept['number']} of the register, to {kept['to']}.", "p")
            with element("div", "pair"):
                _files("To publish: share", found["share"])
                _files("To keep: owner", found["owner"])
            text("What its certificate says, computed again from the files", "h3")
            with element("ul", "claims"):
                for claim in found["claims"]:
                    with element("li", claim["status"].replace(" ", "-")):
                        text(
                            MARKS[claim["status"]],
                            "span",
                            "mark",
                            aria_label=claim["status"],
                            role="img",
                        )
                        text(claim["name"], "strong")
                        Words(f" {claim['detail']}")
            text("Whoever gets the folder share can check it alone:", "p", "soft", "small")
            text(
                f"sfumato verify {shlex.quote(str(Path(found['folder']) / 'share'))}",
                "p",
                "mono",
                "small",
            )


def _together(found: dict[str, Any]) -> None:
    """What a release tells together with earlier ones; what is unknown is no pass."""
    with element("ul", "claims"):
        for sentence in found["sentences"]:
            with element("li", "fails" if found["alarm"] else "holds"):
                mark, words = ("!", "take care") if found["alarm"] else ("✓", "holds")
                text(mark, "span", "mark", aria_label=words, role="img")
                Words(f"{sentence[:1].upper()}{sentence[1:]}")


def _files(title: str, files: list[dict[str, Any]]) -> None:
    with element("div"):
        text(title, "h3")
        with element("ul", "files"):
            for file in files:
                with element("li"):
                    text(file["name"], "span", "mono")
                    text(f" {size(file['bytes'])}", "span", "soft", "small", "number")
                    text(
                        MEANINGS.get(
                            file["name"],
                            "the released table" if file["name"].startswith("data") else "",
                        ),
                        "span",
                        "soft",
                        "small",
                    )


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(999), size(4_200), size(2_500_000)
    ('999 B', '4 kB', '2.5 MB')
    """
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
