"""The stage *Write*: where the release goes, what of it may be given away, and what its certificate says when it is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.web.pages.drawer import VALUE
from sfumato.web.pages.parts import Words, button, element, section, text
from sfumato.web.take_away import KINDS
from sfumato.web.worker import TaskFailed

if TYPE_CHECKING:
    from sfumato.web.pages.shell import Page

FORMATS = {
    "": "as the table that was read",
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "jsonl": "JSON lines",
    "excel": "Excel",
}
CHECKED = "(event) => emit(event.target.checked)"
MARKS = {"holds": "✓", "fails": "✗", "needs original": "?"}
MEANINGS = {
    "certificate.json": "what is promised, and every file of this folder",
    "report.html": "the same for people, with pictures",
    "lock.json": "what is needed to make it again",
    "alignment.parquet": "which row came from which",
    "release.json": "all that was found",
    "history.jsonl": "how the recipe came to be what it is",
}


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

    def draw(self) -> None:
        """Draw the page; the form and the result are drawn anew apart from each other."""
        text("Where shall the release go?", "h1")
        self.page.live(self._form)
        self.result = self.page.live(self._result)

    def _form(self) -> None:
        workbench = self.page.workbench
        project = workbench.project
        if workbench.opened is None or not project.has_recipe:
            text("Open a table first: there is nothing to write yet.", "p", "soft")
            return
        with element("form", "form").on(
            "submit", self._write, js_handler="(event) => {event.preventDefault(); emit()}"
        ):
            folder = self.said["folder"] or str(project.folder / "releases" / f"version-{project.version}")
            self._field(
                "folder", "Folder", folder, "It is made; one that is there is refused, so that nothing is lost."
            )
            with element("label", "labelled"):
                text("Format of the data")
                with element("select", "select", key="format") as chosen:
                    for name, words in FORMATS.items():
                        picked = {"selected": True} if name == self.said["format"] else {}
                        text(words, "option", value=name, **picked)
                chosen.on("change", lambda event: self._said("format", str(event.args)), js_handler=VALUE)
            self._field(
                "sign",
                "Key to sign with",
                self.said["sign"],
                "An Ed25519 private key (PEM), as 'sfumato keygen' makes it; empty: not signed.",
            )
            self._check("force", "Replace an earlier release in that folder")
            self._check("pictures", "Write the pictures of both reports as files too")
            self._check("defuse", "CSV: disarm cells that a spreadsheet would run as formulas")
            made = button(f"Write the release of version {project.version}", lambda: None, "strongly", key="write")
            made.props["type"] = "submit"
        with section("Or make it elsewhere", "elsewhere"), element("div", "row"):
            for kind, parcel in KINDS.items():
                text(
                    parcel.title,
                    "a",
                    "button",
                    href=f"/sfumato/take/{parcel.file}",
                    download=parcel.file,
                    **{"data-key": f"take {kind}", "aria-label": f"Save: {parcel.title}"},
                )

    def _field(self, name: str, label: str, value: str, meaning: str) -> None:
        with element("label", "labelled"):
            text(label)
            how = {"type": "text", "spellcheck": "false", "autocomplete": "off"}
            made = element("input", "field", key=name, defaultValue=value, **how)
            made.on("input", lambda event: self._said(name, str(event.args)), js_handler=VALUE)
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
        self.written = None
        self.page.redraw(self.result)
        self.written = await self.page.wait_for(self._made_and_written(self.page.workbench.project.version))
        self.page.redraw(self.result)

    async def _made_and_written(self, version: int) -> dict[str, Any]:
        workbench, key = self.page.workbench, str(version)
        said = {name: value or None for name, value in self.said.items() if name in ("format", "sign")}
        said |= {name: self.said[name] for name in ("force", "pictures", "defuse")}
        folder = self.said["folder"] or str(workbench.project.folder / "releases" / f"version-{version}")
        given: dict[str, Any] = {**said, "key": key, "folder": folder}
        try:
            return await self._written(given)
        except TaskFailed as error:
            if error.kind != "NotMade":
                raise
        made = await workbench.do("make", "Making the release", version=version, key=key)
        if made.get("made") is False:
            raise TaskFailed(
                "Unsatisfiable", f"{made.get('message', 'nothing satisfies the recipe')} Run offers what to change."
            )
        return await self._written(given)

    async def _written(self, given: dict[str, Any]) -> dict[str, Any]:
        """Write what was made; the history as it is at this moment goes with it."""
        workbench = self.page.workbench
        return dict(await workbench.do("write", "Writing the release", history=workbench.project.history, **given))

    def _result(self) -> None:
        if self.written is None:
            return
        found = self.written
        with section("Written", "written"):
            text(found["headline"], "p", "lead")
            text(found["folder"], "p", "mono", "small")
            with element("div", "pair"):
                _files("To publish: share", found["share"])
                _files("To keep: owner", found["owner"])
            text("What its certificate says, computed again from the files", "h3")
            with element("ul", "claims"):
                for claim in found["claims"]:
                    with element("li", claim["status"].replace(" ", "-")):
                        text(MARKS[claim["status"]], "span", "mark", aria_label=claim["status"], role="img")
                        text(claim["name"], "strong")
                        Words(f" {claim['detail']}")


def _files(title: str, files: list[dict[str, Any]]) -> None:
    with element("div"):
        text(title, "h3")
        with element("ul", "files"):
            for file in files:
                with element("li"):
                    text(file["name"], "span", "mono")
                    text(f" {size(file['bytes'])}", "span", "soft", "small", "number")
                    text(
                        MEANINGS.get(file["name"], "the released table" if file["name"].startswith("data") else ""),
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
